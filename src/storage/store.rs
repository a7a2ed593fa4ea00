//! Implements `simhash_index`'s [`Store`] with PostgreSQL's shared buffers, heap and WAL.

use std::cell::Cell;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_index::damage::Damage;
use simhash_index::page::write::Addition;
use simhash_index::store::{Dead, Extent, Fetch, Lock, Store};

use super::buffer::{self, Exclusive, Pinned, Shared};
use super::relation::{IndexRel, PageBytes};
use super::{cache, heap, order, wal};
use crate::compat;
use crate::error::raise;

impl Lock<IndexRel> for Shared {
    #[inline]
    fn wait(_: &IndexRel, pin: Pinned) -> Self {
        pin.share()
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        Shared::bytes(self)
    }
}

impl Lock<IndexRel> for Exclusive {
    #[inline]
    fn wait(_: &IndexRel, pin: Pinned) -> Self {
        pin.exclusive()
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        Exclusive::bytes(self)
    }
}

thread_local! {
    static LEAVES: Cell<u64> = const { Cell::new(0) };
}

/// How many leaves this backend has read so far for the rows on them. A leaf counts each time.
pub fn leaves_read() -> u64 {
    LEAVES.get()
}

impl Store for IndexRel {
    const PAGE: usize = size_of::<PageBytes>();
    /// A buffer that may hold the page; 0, `InvalidBuffer`, for none.
    type Hint = pg_sys::Buffer;
    type Pinned = Pinned;
    type Shared = Shared;
    type Exclusive = Exclusive;

    fn pages(&self) -> u32 {
        IndexRel::pages(*self)
    }

    #[inline]
    fn pin(&self, page: u32, hint: Option<&Cell<pg_sys::Buffer>>) -> Pinned {
        Pinned::read(*self, page, hint)
    }

    fn share(&self, pin: Pinned) -> Shared {
        pin.share()
    }

    fn exclusive(&self, pin: Pinned) -> Exclusive {
        pin.exclusive()
    }

    fn exclusive_after(
        &self,
        page: u32,
        before: &[&Exclusive],
        may_wait: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Exclusive {
        Exclusive::read_after(*self, page, before, may_wait)
    }

    fn try_exclusive(&self, pin: Pinned) -> Option<Exclusive> {
        pin.try_exclusive()
    }

    fn cleanup(&self, pin: Pinned) -> Exclusive {
        pin.cleanup()
    }

    fn unlock(&self, shared: Shared) -> Pinned {
        shared.unlock()
    }

    fn number(&self, locked: &Exclusive) -> u32 {
        locked.number()
    }

    fn extend(&self) -> Exclusive {
        buffer::extend(*self)
    }

    fn reserve(&self, count: u32) -> Vec<u32> {
        buffer::reserve(*self, count)
    }

    fn free_page(&self) -> Option<u32> {
        // SAFETY: the index is open, as `IndexRel::new` requires.
        let page = unsafe { pg_sys::GetFreeIndexPage(self.as_ptr()) };
        (page != pg_sys::InvalidBlockNumber).then_some(page)
    }

    fn note_free(&self, page: u32) {
        // SAFETY: the index is open, as `IndexRel::new` requires.
        unsafe { pg_sys::RecordFreeIndexPage(self.as_ptr(), page) };
    }

    fn change<const N: usize>(
        &self,
        pages: [(&Exclusive, Extent); N],
        edit: impl FnOnce([&mut [u8]; N]),
    ) {
        // Otherwise two of the copies would be the same memory.
        debug_assert!(
            (1..N).all(|n| pages[..n].iter().all(|page| page.0.buffer() != pages[n].0.buffer()))
        );
        let change = wal::Change::start(*self);
        edit(pages.map(|(locked, extent)| match extent {
            Extent::Parts => &mut change.page(locked)[..],
            Extent::Whole => &mut change.new_page(locked)[..],
        }));
        change.commit();
    }

    fn append(&self, leaves: &[(Exclusive, Addition)]) {
        wal::append(*self, leaves);
    }

    fn write_new(&self, locked: &Exclusive, image: &[u8]) {
        wal::write_new(*self, locked, image);
    }

    #[inline]
    fn prefetch(&self, page: u32, hint: &Cell<pg_sys::Buffer>, special: usize, part: Fetch) {
        buffer::prefetch(*self, page, hint, special, part);
    }

    #[inline]
    fn prefetch_for_append(
        &self,
        page: u32,
        hint: &Cell<pg_sys::Buffer>,
        parts: [usize; 2],
        special: usize,
    ) {
        buffer::prefetch_for_append(*self, page, hint, parts, special);
    }

    fn knows_rows(&self) -> bool {
        // SAFETY: the table is null or open.
        unsafe { heap::is_heap(self.table()) && !pg_sys::RecoveryInProgress() }
    }

    fn dead(&self, leaf: u32, tids: &[u64]) -> Dead {
        order::expect_none("the heap");
        // SAFETY: `knows_rows` is true, so the table is an open heap. The caller has the leaf
        // pinned, and no page is locked.
        unsafe { heap::dead_rows(self.table(), self.as_ptr(), leaf, tids) }
    }

    fn log_horizon(&self, leaf: u32, horizon: u64) {
        if self.needs_wal() {
            wal::log_horizon(*self, leaf, horizon as u32);
        }
    }

    #[inline]
    fn check_for_interrupts(&self) {
        order::check_for_interrupts();
    }

    fn pause(&self) {
        order::expect_none("a delay");
        compat::vacuum_delay_point();
    }

    #[inline]
    fn expect_recent(&self, page: &[u8]) {
        LEAVES.set(LEAVES.get() + 1);
        // SAFETY: the snapshot is null, or its setter keeps it while the scan reads; the page is
        // locked.
        unsafe { compat::expect_recent_snapshot(self.snapshot(), self.as_ptr(), page.as_ptr()) };
    }

    fn forget_others(&self) {
        cache::forget_others(*self);
    }

    /// Raises ERRCODE_INDEX_CORRUPTED with the index's name and, except for a format of another
    /// version, the block's number.
    #[cold]
    fn damaged(&self, block: u32, damage: &Damage) -> ! {
        if let Damage::Version(version) = damage {
            raise(
                PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED,
                format!(
                    "index \"{}\" has format version {version}, which this version of pg_simhash \
                     does not support",
                    self.name()
                ),
                "REINDEX it, or install the version that wrote it.",
            )
        }
        raise(
            PgSqlErrorCode::ERRCODE_INDEX_CORRUPTED,
            format!("index \"{}\" is damaged at block {block}: {damage}", self.name()),
            "Check the storage, then REINDEX the index.",
        )
    }
}
