//! Guards for pins and locks on shared buffers.
//!
//! While a backend holds a page lock, it waits only for a child or the right neighbour of a locked
//! page ([`Exclusive::read_after`]). It locks any other page conditionally. With the feature
//! `lock-order`, as in tests, any other wait is an ERROR.
//!
//! A guard that is dropped while an error unwinds releases nothing: PostgreSQL's abort releases
//! every pin and lock, and the state may already be torn down.

use std::cell::Cell;
use std::mem::ManuallyDrop;

use pgrx::pg_sys;
use simhash_core::base::simd::prefetch::prefetch as prefetch_line;
use simhash_index::store::Fetch;

use super::order;
use super::relation::{IndexRel, PageBytes};
use crate::compat;

const NONE: pg_sys::Buffer = pg_sys::InvalidBuffer as pg_sys::Buffer;

/// A pin: the page stays in memory, and a cleanup lock on it has to wait.
pub struct Pinned(pg_sys::Buffer);

/// A pin and a shared lock: the page does not change.
pub struct Shared(pg_sys::Buffer);

/// A pin and an exclusive lock. The page is changed through [`super::wal`] only.
pub struct Exclusive(pg_sys::Buffer);

fn pin(rel: IndexRel, page: u32) -> Pinned {
    // SAFETY: `rel` is open; PostgreSQL raises an ERROR if the page does not exist.
    Pinned(unsafe { pg_sys::ReadBuffer(rel.as_ptr(), page) })
}

/// The size of a processor's cache line, in bytes.
const LINE: usize = 64;
/// The end of a leaf's header and first keys, in bytes.
const FIRST_KEYS: usize = 512;

/// Starts to fetch a page that will soon be pinned and read. If the page is not in shared buffers,
/// it is read from disk. Otherwise the header, the keys that `part` names and the special area are
/// fetched into the processor's caches.
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

/// Like [`prefetch`], for a page whose header, special area and bytes at `parts` will be used.
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
        // SAFETY: `rel` is open.
        let result =
            unsafe { pg_sys::PrefetchBuffer(rel.as_ptr(), pg_sys::ForkNumber::MAIN_FORKNUM, page) };
        recent.set(result.recent_buffer);
    }
    if recent.get() > 0 {
        prefetch_lines(recent.get(), parts, special);
    }
}

/// Prefetches parts of a shared buffer, and its descriptor, which a pin and a lock change.
fn prefetch_lines(buffer: pg_sys::Buffer, parts: impl Iterator<Item = usize>, special: usize) {
    let number = buffer as usize - 1;
    // SAFETY: both pointers are set when the server starts and never change.
    let (descriptors, blocks) = unsafe { (pg_sys::BufferDescriptors, pg_sys::BufferBlocks) };
    prefetch_line(descriptors.wrapping_add(number));
    let size = size_of::<PageBytes>();
    let page = blocks.wrapping_add(number * size);
    for at in parts.chain((size - special.min(size)..size).step_by(LINE)) {
        prefetch_line(page.wrapping_add(at));
    }
}

/// # Safety
/// `buffer` is pinned, so that the page does not move, and locked, so that no other process changes
/// it, while the result is used.
unsafe fn bytes<'a>(buffer: pg_sys::Buffer) -> &'a PageBytes {
    // SAFETY: the buffer is pinned.
    unsafe { &*pg_sys::BufferGetBlock(buffer).cast::<PageBytes>() }
}

impl Pinned {
    /// Pins a page. If the buffer in `recent` still holds it, no search of PostgreSQL's buffer
    /// table is needed.
    #[inline]
    pub fn read(rel: IndexRel, page: u32, recent: Option<&Cell<pg_sys::Buffer>>) -> Self {
        let Some(recent) = recent else {
            return pin(rel, page);
        };
        let buffer = recent.get();
        // SAFETY: `rel` is open; a buffer in `recent` once held this page.
        let pinned = |buffer| unsafe { compat::read_recent_buffer(rel.as_ptr(), page, buffer) };
        if buffer != NONE && pinned(buffer) {
            return Self(buffer);
        }
        let pinned = pin(rel, page);
        recent.set(pinned.0);
        pinned
    }

    /// Waits for a shared lock. The caller must hold no page lock.
    pub fn share(self) -> Shared {
        order::expect_none("a page");
        let buffer = ManuallyDrop::new(self).0;
        // SAFETY: the buffer is pinned.
        unsafe { pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as _) };
        order::locked(buffer);
        Shared(buffer)
    }

    /// Waits for an exclusive lock. The caller must hold no page lock.
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

    /// Waits for a cleanup lock: until no other backend has the page pinned. The caller must hold
    /// no page lock.
    pub fn cleanup(self) -> Exclusive {
        order::expect_none("a page");
        let buffer = ManuallyDrop::new(self).0;
        // SAFETY: the buffer is pinned once, by this guard.
        unsafe { pg_sys::LockBufferForCleanup(buffer) };
        order::locked(buffer);
        Exclusive(buffer)
    }

    /// Takes an exclusive lock if no wait is needed.
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
        // SAFETY: this guard pins and locks the buffer, and the result borrows it.
        unsafe { bytes(self.0) }
    }

    /// Releases the lock and keeps the pin.
    pub fn unlock(self) -> Pinned {
        let buffer = ManuallyDrop::new(self).0;
        order::unlocked(buffer);
        // SAFETY: the guard held the lock.
        unsafe { pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as _) };
        Pinned(buffer)
    }
}

impl Exclusive {
    /// Waits for a page while exactly the pages in `before` are locked, in the order of locking.
    /// Each of them is above the page in its tree or to its left on its level, as the locked pages
    /// themselves say: `may_wait` checks that.
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
        // SAFETY: this guard pins and locks the buffer, and the result borrows it.
        unsafe { bytes(self.0) }
    }

    pub fn number(&self) -> u32 {
        // SAFETY: this guard pins the buffer.
        unsafe { pg_sys::BufferGetBlockNumber(self.0) }
    }

    pub(super) fn buffer(&self) -> pg_sys::Buffer {
        self.0
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: this guard holds one pin.
            unsafe { pg_sys::ReleaseBuffer(self.0) }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        order::unlocked(self.0);
        if !std::thread::panicking() {
            // SAFETY: this guard holds one pin and the lock.
            unsafe { pg_sys::UnlockReleaseBuffer(self.0) }
        }
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        order::unlocked(self.0);
        if !std::thread::panicking() {
            // SAFETY: this guard holds one pin and the lock.
            unsafe { pg_sys::UnlockReleaseBuffer(self.0) }
        }
    }
}

/// Adds a page at the end of the file, all zeroes.
pub fn extend(rel: IndexRel) -> Exclusive {
    extending(rel, || new_page(rel))
}

/// Adds consecutive pages at the end of the file, all zeroes and not locked.
pub fn reserve(rel: IndexRel, count: u32) -> Vec<u32> {
    extending(rel, || (0..count).map(|_| new_page(rel).number()).collect())
}

/// Runs `extend` while no other backend can add pages to the relation.
fn extending<R>(rel: IndexRel, extend: impl FnOnce() -> R) -> R {
    if rel.is_local() {
        return extend();
    }
    let mode = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
    // SAFETY: `rel` is open. After an ERROR, the abort releases the lock.
    unsafe {
        pg_sys::LockRelationForExtension(rel.as_ptr(), mode);
        let result = extend();
        pg_sys::UnlockRelationForExtension(rel.as_ptr(), mode);
        result
    }
}

/// Adds a page. The caller holds the relation extension lock, unless the relation is temporary.
fn new_page(rel: IndexRel) -> Exclusive {
    // SAFETY: `rel` is open; RBM_ZERO_AND_LOCK returns the buffer pinned and exclusively locked.
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
