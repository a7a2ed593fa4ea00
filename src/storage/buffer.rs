//! Guards for pins and locks on shared buffers.
//!
//! Whoever holds a lock waits only for a child or for the right neighbour of a locked page:
//! [`Exclusive::read_after`]. Any other page is locked beside a locked one only if that can be done
//! at once. With the feature `lock-order`, as in tests, any other wait is an ERROR.
//!
//! A guard that is dropped while an error unwinds does nothing: PostgreSQL's abort releases every
//! pin and lock, and the state may already be torn down.

use std::cell::Cell;
use std::mem::ManuallyDrop;

use pgrx::pg_sys;
use simhash_core::base::simd::prefetch::prefetch as prefetch_line;
use simhash_index::store::Fetch;

use super::order;
use super::relation::{IndexRel, PageBytes};
use crate::compat;

/// No buffer.
const NONE: pg_sys::Buffer = pg_sys::InvalidBuffer as pg_sys::Buffer;

/// A pin: the page stays in memory, and a cleanup lock on it has to wait.
pub struct Pinned(pg_sys::Buffer);

/// A pin and a shared lock: the page does not change.
pub struct Shared(pg_sys::Buffer);

/// A pin and an exclusive lock. The page is changed through [`super::wal`] only.
pub struct Exclusive(pg_sys::Buffer);

fn pin(rel: IndexRel, page: u32) -> Pinned {
    // SAFETY: the relation is open; PostgreSQL raises an ERROR if the page does not exist.
    Pinned(unsafe { pg_sys::ReadBuffer(rel.as_ptr(), page) })
}

/// A line of the processor's caches, in bytes.
const LINE: usize = 64;
/// Where a leaf's header and the first of its keys end, in bytes.
const FIRST_KEYS: usize = 512;

/// Starts to fetch a page that will soon be pinned and read: from disk if it is not in memory, else
/// its header, first keys or more of them, and special area into the processor's caches.
pub fn prefetch(
    rel: IndexRel,
    page: u32,
    recent: &Cell<pg_sys::Buffer>,
    special: usize,
    part: Fetch,
) {
    let head = match part {
        Fetch::Head => FIRST_KEYS,
        Fetch::Upto(end) => end.min(size_of::<PageBytes>()),
    };
    prefetch_parts(rel, page, recent, (0..head).step_by(LINE), special);
}

/// As [`prefetch`], for a page of which the header, the special area and the bytes at `parts` will
/// be used.
pub fn prefetch_for_append(
    rel: IndexRel,
    page: u32,
    recent: &Cell<pg_sys::Buffer>,
    parts: [usize; 2],
    special: usize,
) {
    prefetch_parts(rel, page, recent, [0, parts[0], parts[1]].into_iter(), special);
}

/// `special` is the length of the special area.
fn prefetch_parts(
    rel: IndexRel,
    page: u32,
    recent: &Cell<pg_sys::Buffer>,
    parts: impl Iterator<Item = usize>,
    special: usize,
) {
    if recent.get() == NONE {
        // SAFETY: the relation is open.
        let result =
            unsafe { pg_sys::PrefetchBuffer(rel.as_ptr(), pg_sys::ForkNumber::MAIN_FORKNUM, page) };
        recent.set(result.recent_buffer);
    }
    if recent.get() > 0 {
        prefetch_lines(recent.get(), parts, special);
    }
}

/// Asks for parts of a shared buffer, and for its descriptor, which a pin and a lock change.
fn prefetch_lines(buffer: pg_sys::Buffer, parts: impl Iterator<Item = usize>, special: usize) {
    let number = buffer as usize - 1;
    // SAFETY: set when the server started.
    let (descriptors, blocks) = unsafe { (pg_sys::BufferDescriptors, pg_sys::BufferBlocks) };
    prefetch_line(descriptors.wrapping_add(number));
    let size = size_of::<PageBytes>();
    let page = blocks.wrapping_add(number * size);
    for at in parts.chain((size - special.min(size)..size).step_by(LINE)) {
        prefetch_line(page.wrapping_add(at));
    }
}

fn bytes<'a>(buffer: pg_sys::Buffer) -> &'a PageBytes {
    // SAFETY: the callers hold a pin, so the page stays where it is, and a lock that keeps others
    // from changing it. The guard's borrow bounds the lifetime.
    unsafe { &*pg_sys::BufferGetBlock(buffer).cast::<PageBytes>() }
}

impl Pinned {
    /// Pins a page. The buffer in `recent` may still hold it, which spares a search of PostgreSQL's
    /// buffer table.
    #[inline]
    pub fn read(rel: IndexRel, page: u32, recent: Option<&Cell<pg_sys::Buffer>>) -> Self {
        let Some(recent) = recent else {
            return pin(rel, page);
        };
        let buffer = recent.get();
        // SAFETY: the relation is open; the buffer, if there is one, once held this page.
        let pinned = |buffer| unsafe { compat::read_recent_buffer(rel.as_ptr(), page, buffer) };
        if buffer != NONE && pinned(buffer) {
            return Self(buffer);
        }
        let pinned = pin(rel, page);
        recent.set(pinned.0);
        pinned
    }

    /// Waits for a shared lock. No page may be locked by the caller.
    pub fn share(self) -> Shared {
        order::expect_none("a page");
        let buffer = ManuallyDrop::new(self).0;
        // SAFETY: the buffer is pinned.
        unsafe { pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as _) };
        order::locked(buffer);
        Shared(buffer)
    }

    /// Waits for an exclusive lock. No page may be locked by the caller.
    pub fn exclusive(self) -> Exclusive {
        order::expect_none("a page");
        self.wait_exclusive()
    }

    fn wait_exclusive(self) -> Exclusive {
        let buffer = ManuallyDrop::new(self).0;
        // SAFETY: the buffer is pinned.
        unsafe { pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as _) };
        order::locked(buffer);
        Exclusive(buffer)
    }

    /// Waits until nobody else has the page pinned. No page may be locked by the caller.
    pub fn cleanup(self) -> Exclusive {
        order::expect_none("a page");
        let buffer = ManuallyDrop::new(self).0;
        // SAFETY: the buffer is pinned once, by this guard.
        unsafe { pg_sys::LockBufferForCleanup(buffer) };
        order::locked(buffer);
        Exclusive(buffer)
    }

    /// An exclusive lock, if it is free at once.
    pub fn try_exclusive(self) -> Option<Exclusive> {
        // SAFETY: the buffer is pinned.
        let locked = unsafe { pg_sys::ConditionalLockBuffer(self.0) };
        locked.then(|| {
            let buffer = ManuallyDrop::new(self).0;
            order::locked(buffer);
            Exclusive(buffer)
        })
    }
}

impl Shared {
    pub fn bytes(&self) -> &PageBytes {
        bytes(self.0)
    }

    /// Gives the lock up, keeps the pin.
    pub fn unlock(self) -> Pinned {
        let buffer = ManuallyDrop::new(self).0;
        order::unlocked(buffer);
        // SAFETY: the guard held the lock.
        unsafe { pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as _) };
        Pinned(buffer)
    }
}

impl Exclusive {
    /// Waits for a page while the pages in `before` are locked, and no others; the one locked last
    /// is named last. Each of them is above the page in the tree or to its left on its level, by
    /// what it says itself under its lock.
    pub fn read_after(
        rel: IndexRel,
        page: u32,
        before: &[&Self],
        may_wait: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Self {
        order::expect_only(before.iter().map(|locked| locked.0));
        let locked = pin(rel, page).wait_exclusive();
        order::expect_after(locked.0, may_wait);
        locked
    }

    /// # Safety
    /// `buffer` is pinned and exclusively locked, and no other guard will release it.
    unsafe fn from_locked(buffer: pg_sys::Buffer) -> Self {
        order::locked(buffer);
        Self(buffer)
    }

    pub fn bytes(&self) -> &PageBytes {
        bytes(self.0)
    }

    /// The page's number.
    pub fn number(&self) -> u32 {
        // SAFETY: the buffer is pinned.
        unsafe { pg_sys::BufferGetBlockNumber(self.0) }
    }

    pub(super) fn buffer(&self) -> pg_sys::Buffer {
        self.0
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: the guard holds one pin.
            unsafe { pg_sys::ReleaseBuffer(self.0) }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        order::unlocked(self.0);
        if !std::thread::panicking() {
            // SAFETY: the guard holds one pin and the lock.
            unsafe { pg_sys::UnlockReleaseBuffer(self.0) }
        }
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        order::unlocked(self.0);
        if !std::thread::panicking() {
            // SAFETY: the guard holds one pin and the lock.
            unsafe { pg_sys::UnlockReleaseBuffer(self.0) }
        }
    }
}

/// A new page at the end of the file, all zeroes.
pub fn extend(rel: IndexRel) -> Exclusive {
    extending(rel, || new_page(rel))
}

/// New pages at the end of the file, consecutive, all zeroes and not locked.
pub fn reserve(rel: IndexRel, count: u32) -> Vec<u32> {
    extending(rel, || (0..count).map(|_| new_page(rel).number()).collect())
}

/// Does something while nobody else adds pages to the relation.
fn extending<R>(rel: IndexRel, extend: impl FnOnce() -> R) -> R {
    if rel.is_local() {
        return extend();
    }
    let mode = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
    // SAFETY: the relation is open. An error gives the lock up with the transaction.
    unsafe {
        pg_sys::LockRelationForExtension(rel.as_ptr(), mode);
        let result = extend();
        pg_sys::UnlockRelationForExtension(rel.as_ptr(), mode);
        result
    }
}

/// A new page. The caller holds the lock that extends the relation.
fn new_page(rel: IndexRel) -> Exclusive {
    // SAFETY: the relation is open; the buffer comes back pinned and exclusively locked.
    unsafe {
        let buffer = pg_sys::ReadBufferExtended(
            rel.as_ptr(),
            rel.fork(),
            pg_sys::InvalidBlockNumber,
            pg_sys::ReadBufferMode::RBM_ZERO_AND_LOCK,
            std::ptr::null_mut(),
        );
        Exclusive::from_locked(buffer)
    }
}
