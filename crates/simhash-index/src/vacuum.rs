//! VACUUM: dead entries leave the leaves, empty leaves leave the trees, lost pages are found again.
//!
//! Each level is walked along its right links, so no split can carry an entry past the walk. Leaves
//! are locked for cleanup, even those without a dead entry: a scan that keeps a leaf pinned (an
//! index-only scan, or one by a snapshot that is not MVCC) has read TIDs there that must not be
//! reused before the scan has moved on. The root of every table is locked for cleanup too, after
//! the table's leaves: it may have been a leaf when a scan pinned it, and its rows may be elsewhere
//! now.
//!
//! Tables are walked in order. Postings move from the table of recent ones to that of settled ones,
//! which comes after it, so a dead posting is found in one of the two.

use crate::FIRST_ROOT;
use crate::damage::Damage;
use crate::index::{Index, root};
use crate::key::TreeKey;
use crate::page::{Entry, Page, is_free};
use crate::store::{Extent, Lock, Store};

/// What a vacuum did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Rows: entries of the first table and of the table of NULLs.
    pub remaining: u64,
    pub removed: u64,
    /// Pages that this vacuum took out of the trees.
    pub newly_free: u32,
    /// Pages that were free before.
    pub free: u32,
}

struct Sweeper<'a, K, S: Store> {
    index: &'a Index<K, S>,
    /// By number: whether the page is known to be part of a tree.
    seen: Vec<bool>,
    counts: Counts,
}

impl<K: TreeKey, S: Store> Index<K, S> {
    /// Removes every entry of a row that is dead, and notes the pages that are free now.
    pub fn vacuum(&self, is_dead: &impl Fn(u64) -> bool) -> Counts {
        let seen = vec![false; self.store.pages() as usize];
        Sweeper { index: self, seen, counts: Counts::default() }.run(is_dead)
    }
}

impl<K: TreeKey, S: Store> Sweeper<'_, K, S> {
    fn run(mut self, is_dead: &impl Fn(u64) -> bool) -> Counts {
        self.see(0);
        for table in self.index.tables() {
            for level in (1..=self.index.height(table)).rev() {
                self.walk(table, level, |_, _| ());
            }
            let mut empty = Vec::new();
            let index = self.index;
            let counts_rows =
                table == 0 && !self.index.is_of_postings() || table == self.index.null_table();
            let (mut remaining, mut removed) = (0, 0);
            self.walk(table, 0, |page, locked| {
                let (left, gone) = clean(index, page, locked, is_dead);
                remaining += left;
                removed += gone;
                if left == 0 {
                    empty.push(page.bounds::<K>().low);
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

    /// Visits the pages of one level from left to right, each exclusively locked, and leaves locked
    /// for cleanup.
    fn walk(&mut self, table: u8, level: u8, mut visit: impl FnMut(&Page<'_>, &S::Exclusive)) {
        let mut previous = None;
        let mut next = self.first_of(table, level);
        while let Some(number) = next {
            self.index.store.pause();
            let store = &self.index.store;
            let locked =
                if level > 0 { store.lock(number) } else { store.cleanup(store.pin(number, None)) };
            let page = self.index.checked(number, locked.bytes());
            if previous.is_none() && page.level() > level {
                // It was the root, which has grown since it was the first page of this level.
                drop(locked);
                next = self.first_of(table, level);
                continue;
            }
            if page.is_deleted() || page.table() != table || page.level() != level {
                let damage = Damage::Place { table: page.table(), level: page.level() };
                self.index.store.damaged(number, &damage);
            }
            let low = page.bounds::<K>().low;
            if previous.is_some_and(|previous| low <= previous) {
                self.index.store.damaged(number, &Damage::Link(number));
            }
            previous = Some(low);
            next = page.right();
            if let Some(right) = next {
                self.index.expect_page(right, number);
            }
            visit(&page, &locked);
            self.see(number);
        }
    }

    /// Waits for scans that keep the root pinned. A root that was a leaf may have been split since
    /// such a scan read it. Its rows are on other leaves now, on which that scan has no pin.
    fn wait_for_readers_of_root(&self, table: u8) {
        let store = &self.index.store;
        drop(store.cleanup(store.pin(root(table), None)));
    }

    fn first_of(&self, table: u8, level: u8) -> Option<u32> {
        self.index.cover_level(table, &Entry::MIN, level).map(|(_, number)| number)
    }

    fn see(&mut self, number: u32) {
        if let Some(seen) = self.seen.get_mut(number as usize) {
            *seen = true;
        }
    }

    /// Notes the pages that no tree holds as free: those that were removed, and those that a crash
    /// left between their allocation and their first use.
    fn find_lost_pages(&mut self) {
        let store = &self.index.store;
        for number in FIRST_ROOT..self.seen.len() as u32 {
            if self.seen[number as usize] {
                continue;
            }
            self.index.store.pause();
            // A page may have been split off after its neighbour was visited: that one is not free.
            if is_free(store.read(number).bytes()) {
                self.counts.free += 1;
                store.note_free(number);
            }
        }
    }
}

/// Removes the dead entries of a leaf. Returns how many entries are left and how many were removed.
fn clean<K: TreeKey, S: Store>(
    index: &Index<K, S>,
    page: &Page<'_>,
    locked: &S::Exclusive,
    is_dead: &impl Fn(u64) -> bool,
) -> (u64, u64) {
    let dead: Vec<usize> = (0..page.len()).filter(|&i| is_dead(page.tid(i))).collect();
    if !dead.is_empty() {
        let pages = [(locked, Extent::Parts)];
        index.store.change(pages, |[page]| index.edit(page).remove(&dead));
    }
    ((page.len() - dead.len()) as u64, dead.len() as u64)
}
