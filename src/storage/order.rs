//! Checks in tests the lock order that keeps page locks from deadlocking: invariant 5 of
//! [`simhash_index`].
//!
//! The checks run only with the feature `lock-order`; without it they are empty.

use pgrx::pg_sys;

#[cfg(not(feature = "lock-order"))]
mod unchecked {
    use pgrx::pg_sys::Buffer;

    #[inline]
    pub fn locked(_: Buffer) {}
    #[inline]
    pub fn unlocked(_: Buffer) {}
    #[inline]
    pub fn expect_none(_: &str) {}
    #[inline]
    pub fn expect_only(_: impl Iterator<Item = Buffer>) {}
    #[inline]
    pub fn expect_after(_: Buffer, _: impl Fn(&[u8], &[u8]) -> bool) {}
}
#[cfg(not(feature = "lock-order"))]
pub use unchecked::*;

#[cfg(feature = "lock-order")]
mod checked {
    use std::cell::RefCell;

    use pgrx::pg_sys::Buffer;
    use pgrx::{PgSqlErrorCode, pg_sys};

    use crate::error::raise;
    use crate::storage::relation::PageBytes;

    thread_local! {
        /// The buffers that this backend has locked, in the order of locking. A guard removes its
        /// buffer even while an error unwinds.
        static LOCKED: RefCell<Vec<Buffer>> = const { RefCell::new(Vec::new()) };
    }

    pub fn locked(buffer: Buffer) {
        LOCKED.with_borrow_mut(|locked| locked.push(buffer));
    }

    pub fn unlocked(buffer: Buffer) {
        LOCKED.with_borrow_mut(|locked| {
            if let Some(at) = locked.iter().rposition(|&other| other == buffer) {
                locked.remove(at);
            }
        });
    }

    /// Raises an ERROR if any page is locked.
    pub fn expect_none(what: &str) {
        expect(what, <[Buffer]>::is_empty);
    }

    /// Raises an ERROR unless exactly these pages are locked, in this order.
    pub fn expect_only(before: impl Iterator<Item = Buffer>) {
        let before: Vec<Buffer> = before.collect();
        expect("a page below or to the right", |locked| locked == before);
    }

    /// Raises an ERROR unless the lock order allows waiting for this page, locked last, while all
    /// the others are locked.
    pub fn expect_after(buffer: Buffer, may_wait: impl Fn(&[u8], &[u8]) -> bool) {
        // SAFETY: this buffer and every buffer in `LOCKED` are pinned and locked.
        let bytes_of = |buffer| unsafe { &*pg_sys::BufferGetBlock(buffer).cast::<PageBytes>() };
        let page = bytes_of(buffer);
        let is_before = |&other: &Buffer| may_wait(page, bytes_of(other));
        expect("what is neither below nor to the right", |locked| {
            locked.iter().filter(|&&other| other != buffer).all(is_before)
        });
    }

    fn expect(what: &str, holds: impl Fn(&[Buffer]) -> bool) {
        let wrong = LOCKED.with_borrow(|locked| (!holds(locked)).then(|| locked.clone()));
        if let Some(locked) = wrong {
            raise(
                PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                format!("lock order: waits for {what} while buffers {locked:?} are locked"),
                "",
            );
        }
    }
}
#[cfg(feature = "lock-order")]
pub use checked::*;

/// Serves interrupts, so that a cancelled query ends. No page may be locked.
#[inline]
pub fn check_for_interrupts() {
    expect_none("an interrupt");
    // SAFETY: as CHECK_FOR_INTERRUPTS does; the flag is a static that signal handlers set.
    unsafe {
        if std::ptr::read_volatile(&raw const pg_sys::InterruptPending) != 0 {
            pg_sys::ProcessInterrupts();
        }
    }
}
