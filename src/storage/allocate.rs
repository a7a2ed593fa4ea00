//! Where new pages come from: pages that vacuum took out of a tree, else the end of the file.

use pgrx::pg_sys;

use super::page::is_free;
use super::{Exclusive, IndexRel, Pinned};

/// An exclusively locked page to be formatted by the caller's [`super::wal::Change`].
///
/// A crash before that leaks at most this page, until the next vacuum finds it.
pub fn new_page(rel: IndexRel) -> Exclusive {
    while let Some(page) = recycled(rel) {
        if is_free(page.bytes()) {
            return page;
        }
    }
    extend(rel, pg_sys::ForkNumber::MAIN_FORKNUM)
}

/// A page that the free space map names. The map is not WAL-logged, so it may be wrong: the page may
/// be in use, or gone. `None` when the map has no more.
fn recycled(rel: IndexRel) -> Option<Exclusive> {
    loop {
        // SAFETY: the relation is open.
        let block = unsafe { pg_sys::GetFreeIndexPage(rel.as_ptr()) };
        if block == pg_sys::InvalidBlockNumber {
            return None;
        }
        // Another backend that has the page locked is taking it or reading it by a stale link; a page
        // is not worth waiting for, and waiting would break the locking order.
        if block < rel.blocks()
            && let Some(page) = Pinned::read(rel, block).try_exclusive()
        {
            return Some(page);
        }
    }
}

/// A new page at the end of a fork, all zeroes.
pub fn extend(rel: IndexRel, fork: pg_sys::ForkNumber::Type) -> Exclusive {
    let lock = !rel.is_local();
    let mode = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
    // SAFETY: the relation is open; the extension lock is what lets P_NEW be used, and the buffer
    // comes back pinned and exclusively locked.
    unsafe {
        if lock {
            pg_sys::LockRelationForExtension(rel.as_ptr(), mode);
        }
        let buffer = pg_sys::ReadBufferExtended(
            rel.as_ptr(),
            fork,
            pg_sys::InvalidBlockNumber,
            pg_sys::ReadBufferMode::RBM_ZERO_AND_LOCK,
            std::ptr::null_mut(),
        );
        if lock {
            pg_sys::UnlockRelationForExtension(rel.as_ptr(), mode);
        }
        Exclusive::from_locked(buffer)
    }
}
