//! VACUUM: dead entries leave the leaves, empty leaves leave the trees, lost pages are found again.
//!
//! Each level is walked along its right links, so no split can carry an entry past the walk. Leaves
//! are taken under a cleanup lock, even those without a dead entry: a scan that keeps a leaf pinned
//! (index-only scans, snapshots other than MVCC) holds TIDs of it that must not be used anew before
//! it has moved on. So is the root of every table, when its leaves are done: it may have been a leaf, with
//! rows that are elsewhere now.

use simhash_core::search::Key;

use crate::FIRST_ROOT;
use crate::damage::Damage;
use crate::index::{Index, root};
use crate::mutant::{self, Mutant};
use crate::page::{Entry, Page, PageMut, is_free};
use crate::store::{Extent, Lock, Store};

/// What a vacuum did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Rows: entries of the first table and of the table of NULLs.
    pub remaining: u64,
    pub removed: u64,
    /// Pages taken out of the trees now, and pages that were free before.
    pub newly_free: u32,
    pub free: u32,
}

struct Sweeper<'a, F, S: Store> {
    index: &'a Index<F, S>,
    /// Blocks known to be part of a tree.
    seen: Vec<bool>,
    counts: Counts,
}

impl<F: Key, S: Store> Index<F, S> {
    /// Removes every entry of a row that is dead, and notes the pages that are free now.
    pub fn vacuum(&self, is_dead: &impl Fn(u64) -> bool) -> Counts {
        let seen = vec![false; self.store.blocks() as usize];
        Sweeper { index: self, seen, counts: Counts::default() }.run(is_dead)
    }
}

impl<F: Key, S: Store> Sweeper<'_, F, S> {
    fn run(mut self, is_dead: &impl Fn(u64) -> bool) -> Counts {
        self.see(0);
        for table in self.index.tables() {
            for level in (1..=self.height(table)).rev() {
                self.walk(table, level, is_dead, |_, _| ());
            }
            if mutant::is(Mutant::ReadersOfRootTooEarly) {
                drop(self.index.store.cleanup(self.index.store.pin(root(table), None)));
            }
            let mut empty = Vec::new();
            let index = self.index;
            let counts_rows =
                table == 0 || table == self.index.null_table() || mutant::is(Mutant::RowsCountedTwice);
            let (mut remaining, mut removed) = (0, 0);
            self.walk(table, 0, is_dead, |page, locked| {
                let (left, gone) = clean(index, page, locked, is_dead);
                remaining += left;
                removed += gone;
                if left == 0 {
                    empty.push(page.bounds::<F>().low);
                }
            });
            self.wait_for_readers_of_root(table);
            if counts_rows {
                self.counts.remaining += remaining;
                self.counts.removed += removed;
            }
            for low in empty {
                self.counts.newly_free += self.index.remove_empty(table, &low);
                self.index.store.pause();
            }
        }
        self.find_lost_pages();
        self.counts
    }

    fn height(&self, table: u8) -> u8 {
        let block = root(table);
        let guard = self.index.store.read(block);
        self.index.checked(block, guard.bytes()).level()
    }

    /// Visits the pages of one level from left to right, exclusively locked; leaves under a cleanup
    /// lock.
    fn walk(
        &mut self,
        table: u8,
        level: u8,
        is_dead: &impl Fn(u64) -> bool,
        mut visit: impl FnMut(&Page<'_>, &S::Exclusive),
    ) {
        let mut previous = None;
        let mut next = self.first_of(table, level);
        while let Some(block) = next {
            self.index.store.pause();
            let store = &self.index.store;
            let locked = if level > 0 { store.lock(block) } else { self.lock_leaf(table, block, is_dead) };
            let page = self.index.checked(block, locked.bytes());
            if previous.is_none() && page.level() > level {
                // The root has grown since it was found to be the first page of this level.
                drop(locked);
                next = self.first_of(table, level);
                continue;
            }
            if page.is_deleted() || page.table() != table || page.level() != level {
                let damage = Damage::Place { table: page.table(), level: page.level() };
                self.index.store.damaged(block, &damage);
            }
            let low = page.bounds::<F>().low;
            if previous.is_some_and(|previous| low <= previous) {
                self.index.store.damaged(block, &Damage::Link(block));
            }
            previous = Some(low);
            next = page.right();
            if let Some(right) = next {
                self.index.expect_block(right, block);
            }
            if !mutant::is(Mutant::NewPagesSkipped) || (block as usize) < self.seen.len() {
                visit(&page, &locked);
            }
            self.see(block);
        }
    }

    fn lock_leaf(&self, table: u8, block: u32, is_dead: &impl Fn(u64) -> bool) -> S::Exclusive {
        let store = &self.index.store;
        let has_dead = || {
            let leaf = store.read(block);
            let page = self.index.checked(block, leaf.bytes());
            (0..page.len()).any(|i| is_dead(page.tid(i)))
        };
        let is_of_nulls = table == self.index.null_table();
        if mutant::spares_cleanup(is_of_nulls, block as usize >= self.seen.len(), has_dead) {
            return store.lock(block);
        }
        store.cleanup(store.pin(block, None))
    }

    /// A root that was a leaf may have been split under a scan that keeps it pinned: the rows that the scan
    /// read there have moved to other leaves, where nothing tells of it.
    fn wait_for_readers_of_root(&self, table: u8) {
        if mutant::is(Mutant::ReadersOfRootForgotten)
            || mutant::is(Mutant::ReadersOfRootTooEarly)
            || mutant::is(Mutant::ReadersOfNullRootForgotten) && table == self.index.null_table()
        {
            return;
        }
        let store = &self.index.store;
        drop(store.cleanup(store.pin(root(table), None)));
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
        let store = &self.index.store;
        for block in FIRST_ROOT..self.seen.len() as u32 {
            if self.seen[block as usize] {
                continue;
            }
            self.index.store.pause();
            // A page that was split off after its neighbour was visited is not free.
            if is_free(store.read(block).bytes()) {
                self.counts.free += 1;
                store.note_free(block);
            }
        }
    }
}

/// Removes the dead entries of a leaf. Returns the numbers of entries left and removed.
fn clean<F: Key, S: Store>(
    index: &Index<F, S>,
    page: &Page<'_>,
    locked: &S::Exclusive,
    is_dead: &impl Fn(u64) -> bool,
) -> (u64, u64) {
    let dead: Vec<usize> = (0..page.len()).filter(|&i| is_dead(page.tid(i))).collect();
    if !dead.is_empty() {
        let pages = [(locked, Extent::Parts)];
        index.store.change(pages, |[page]| PageMut::existing(page).remove::<F>(&dead));
    }
    ((page.len() - dead.len()) as u64, dead.len() as u64)
}
