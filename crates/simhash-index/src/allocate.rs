//! Where new pages come from: from those that vacuum took out of a tree, else from the end of the
//! file.

use crate::page::is_free;
use crate::store::{Lock, Store};

/// An exclusively locked page that the caller's change must format.
///
/// A crash before that change loses at most this page, until the next vacuum finds it.
pub fn new_page<S: Store>(store: &S) -> S::Exclusive {
    // The map of free pages is not logged, so it may be wrong.
    while let Some(number) = store.free_page() {
        // Another process that has the page locked is taking it, or is reading it by a stale link.
        // Waiting would break the order of locks, and there are other pages.
        if number < store.pages()
            && let Some(page) = store.try_exclusive(store.pin(number, None))
            && is_free(page.bytes())
        {
            return page;
        }
    }
    store.extend()
}
