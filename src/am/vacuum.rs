//! VACUUM: dead entries leave the leaves, empty leaves leave the trees, lost pages are found again.
//!
//! Each level is walked along its right links, so no split can carry an entry past the walk. Leaves
//! are taken under a cleanup lock, even those without a dead entry: a scan that keeps a leaf pinned
//! (index-only scans, snapshots other than MVCC) holds TIDs of it that must not be used anew before
//! it has moved on.

use pgrx::pg_sys;
use simhash_core::search::Key;

use super::index::{Index, bits, root};
use super::{unpack_tid, with_key_type};
use crate::compat::{self, vacuum_delay_point};
use crate::storage::damage::{Damage, raise_damage};
use crate::storage::page::{Page, PageMut, is_free};
use crate::storage::wal::Change;
use crate::storage::{Entry, Exclusive, FIRST_ROOT, IndexRel, Pinned, Shared};

/// ambulkdelete.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn ambulkdelete(
    info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
    callback: pg_sys::IndexBulkDeleteCallback,
    callback_state: *mut std::ffi::c_void,
) -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: PostgreSQL passes an open index and, from the second call on, what this returned.
    unsafe {
        let rel = IndexRel::new((*info).index);
        let stats = if stats.is_null() { new_stats() } else { stats };
        let is_dead = |tid: u64| {
            let mut tid = unpack_tid(tid);
            callback.is_some_and(|callback| {
                // VACUUM's looks the TID up; that of CREATE INDEX CONCURRENTLY feeds a sort and may raise.
                pg_sys::ffi::pg_guard_ffi_boundary(|| callback(&mut tid, callback_state))
            })
        };
        let counts = with_key_type!(bits(rel), F => {
            Sweeper { index: Index::<F>::open(rel), seen: vec![false; rel.blocks() as usize], counts: Counts::default() }
                .run(&is_dead)
        });
        (*stats).num_index_tuples = counts.remaining as f64;
        (*stats).tuples_removed += counts.removed as f64;
        compat::count_newly_deleted(&mut *stats, counts.newly_free);
        (*stats).pages_deleted = counts.free + counts.newly_free;
        (*stats).pages_free = counts.free + counts.newly_free;
        (*stats).estimated_count = false;
        stats
    }
}

/// amvacuumcleanup.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amvacuumcleanup(
    info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
) -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: as for ambulkdelete.
    unsafe {
        if (*info).analyze_only {
            return stats;
        }
        let rel = IndexRel::new((*info).index);
        let stats = if stats.is_null() {
            let stats = new_stats();
            (*stats).num_index_tuples = (*info).num_heap_tuples;
            (*stats).estimated_count = true;
            stats
        } else {
            stats
        };
        pg_sys::IndexFreeSpaceMapVacuum(rel.as_ptr());
        (*stats).num_pages = rel.blocks();
        stats
    }
}

unsafe fn new_stats() -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: zeroes are a valid value of this struct of numbers and flags.
    unsafe { pg_sys::palloc0(size_of::<pg_sys::IndexBulkDeleteResult>()).cast() }
}

#[derive(Default)]
struct Counts {
    /// Rows: entries of the first table and of the table of NULLs.
    remaining: u64,
    removed: u64,
    /// Pages taken out of the trees now, and pages that were free before.
    newly_free: u32,
    free: u32,
}

struct Sweeper<F> {
    index: Index<F>,
    /// Blocks known to be part of a tree.
    seen: Vec<bool>,
    counts: Counts,
}

impl<F: Key> Sweeper<F> {
    fn run(mut self, is_dead: &impl Fn(u64) -> bool) -> Counts {
        self.see(0);
        for table in self.index.tables() {
            for level in (1..=self.height(table)).rev() {
                self.walk(table, level, |_, _, _| ());
            }
            let mut empty = Vec::new();
            let counts_rows = table == 0 || table == self.index.null_table();
            let (mut remaining, mut removed) = (0, 0);
            self.walk(table, 0, |index, page, locked| {
                let (left, gone) = clean(index, page, locked, is_dead);
                remaining += left;
                removed += gone;
                if left == 0 {
                    empty.push(page.bounds::<F>().low);
                }
            });
            if counts_rows {
                self.counts.remaining += remaining;
                self.counts.removed += removed;
            }
            for low in empty {
                self.counts.newly_free += self.index.remove_empty(table, &low);
                vacuum_delay_point();
            }
        }
        self.find_lost_pages();
        self.counts
    }

    fn height(&self, table: u8) -> u8 {
        let block = root(table);
        let guard = Shared::read(self.index.rel, block);
        self.index.checked(block, guard.bytes()).level()
    }

    /// Visits the pages of one level from left to right, exclusively locked; leaves under a cleanup
    /// lock.
    fn walk(&mut self, table: u8, level: u8, mut visit: impl FnMut(&Index<F>, &Page<'_>, &Exclusive)) {
        let mut previous = None;
        let mut next = self.first_of(table, level);
        while let Some(block) = next {
            vacuum_delay_point();
            let pin = Pinned::read(self.index.rel, block);
            let locked = if level == 0 { pin.cleanup() } else { pin.exclusive() };
            let page = self.index.checked(block, locked.bytes());
            if previous.is_none() && page.level() > level {
                // The root has grown since it was found to be the first page of this level.
                drop(locked);
                next = self.first_of(table, level);
                continue;
            }
            if page.is_deleted() || page.table() != table || page.level() != level {
                let damage = Damage::Place { table: page.table(), level: page.level() };
                raise_damage(self.index.rel, block, &damage);
            }
            let low = page.bounds::<F>().low;
            if previous.is_some_and(|previous| low <= previous) {
                raise_damage(self.index.rel, block, &Damage::Link(block));
            }
            previous = Some(low);
            next = page.right();
            if let Some(right) = next {
                self.index.expect_block(right, block);
            }
            visit(&self.index, &page, &locked);
            self.see(block);
        }
    }

    fn first_of(&self, table: u8, level: u8) -> Option<u32> {
        self.index.cover_level(table, &Entry::MIN, level).map(|(_, block)| block)
    }

    fn see(&mut self, block: u32) {
        if let Some(seen) = self.seen.get_mut(block as usize) {
            *seen = true;
        }
    }

    /// Pages that no tree holds: removed ones, and ones that a crash left between their allocation and
    /// their first use. Both go to the free space map.
    fn find_lost_pages(&mut self) {
        let rel = self.index.rel;
        for block in FIRST_ROOT..self.seen.len() as u32 {
            if self.seen[block as usize] {
                continue;
            }
            vacuum_delay_point();
            // A page that was split off after its neighbour was visited is not free.
            if is_free(Shared::read(rel, block).bytes()) {
                self.counts.free += 1;
                // SAFETY: the relation is open.
                unsafe { pg_sys::RecordFreeIndexPage(rel.as_ptr(), block) };
            }
        }
    }
}

/// Removes the dead entries of a leaf. Returns the numbers of entries left and removed.
fn clean<F: Key>(
    index: &Index<F>,
    page: &Page<'_>,
    locked: &Exclusive,
    is_dead: &impl Fn(u64) -> bool,
) -> (u64, u64) {
    let dead: Vec<usize> = (0..page.len()).filter(|&i| is_dead(page.tid(i))).collect();
    if !dead.is_empty() {
        let change = Change::start(index.rel);
        PageMut::existing(change.page(locked)).remove::<F>(&dead);
        change.commit();
    }
    ((page.len() - dead.len()) as u64, dead.len() as u64)
}
