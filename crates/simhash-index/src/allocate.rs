//! Where new pages come from: pages that vacuum took out of a tree, else the end of the file.

use crate::mutant::{self, Mutant};
use crate::page::is_free;
use crate::store::{Lock, Store};

/// An exclusively locked page to be formatted by the caller's change.
///
/// A crash before that leaks at most this page, until the next vacuum finds it.
pub fn new_page<S: Store>(store: &S) -> S::Exclusive {
    // The map of free pages is not logged, so it may be wrong.
    while let Some(block) = store.free_block() {
        // Another backend that has the page locked is taking it or reading it by a stale link; a page
        // is not worth waiting for, and waiting would break the locking order.
        if block < store.blocks()
            && let Some(page) = store.try_exclusive(store.pin(block, None))
            && (is_free(page.bytes()) || mutant::is(Mutant::FreeMapTrusted))
        {
            return page;
        }
    }
    store.extend()
}
