//! Removes entries of dead rows before vacuum does.
//!
//! There are two occasions. An insertion of another version of a row, with the keys that the row
//! had before, finds a leaf full: most of its entries may be of older versions. And a scan has been
//! told by the heap that no snapshot can see rows that it has found.
//!
//! # Why it is safe
//! - The leaf is pinned from the moment at which its entries are read until some of them are
//!   removed. Vacuum waits for pins before a TID may be reused. So an entry that is still on the
//!   leaf at the end is of the row that the store was asked about in between. It does not matter
//!   how long ago a scan has found it.
//! - A row is dead if no snapshot can see it, now or later. Readers on a standby may have older
//!   snapshots, so the store first logs a record that ends them.
//! - An entry is removed from one table and stays in the others. An interrupted vacuum leaves an
//!   index in the same state.
//! - A leaf that becomes empty stays in its tree. Only vacuum removes leaves, because it waits for
//!   the scans that keep them pinned.
//!
//! No lock is held while the store is asked, which may take a while. Dead entries are not marked: a
//! mark would be a change of the page without a record, or as expensive as the removal itself.

use crate::index::Index;
use crate::key::TreeKey;
use crate::page::Entry;
use crate::store::{Dead, Extent, Lock, Store};

/// A record is worth it if one in this many entries of a full leaf is removed. Otherwise the leaf
/// is split.
const ONE_IN: usize = 16;

impl<K: TreeKey, S: Store> Index<K, S> {
    /// Makes room on the leaf of `table` that covers `target` and has none. Removes entries of dead
    /// rows among those that share their key with another entry, as versions of a row do. False if
    /// they are too few, or if there was room. The caller must have no page locked.
    pub fn reclaim_versions(&self, table: u8, target: &Entry<K>) -> bool {
        if !self.store.knows_rows() {
            return false;
        }
        let (leaf, number) = self.cover::<S::Shared>(table, target, None);
        let page = self.checked(number, leaf.bytes());
        if page.has_room_for(target) {
            return false;
        }
        let mut entries: Vec<Entry<K>> = page.entries().collect();
        entries.sort_unstable();
        let versions = entries.chunk_by(|a, b| a.key == b.key).filter(|same| same.len() > 1);
        let suspects: Vec<Entry<K>> = versions.flatten().copied().collect();
        let least = page.len().div_ceil(ONE_IN);
        self.remove_dead(table, (leaf, number), &suspects, least)
    }

    /// Removes the entries `found` of `table`, which ascend, from each leaf that has at least
    /// `least` of them, if their rows are dead. The caller must have no page locked.
    pub fn reclaim_found(&self, table: u8, found: &[Entry<K>], least: usize) {
        let mut left = found;
        while self.store.knows_rows()
            && let Some(first) = left.first()
        {
            self.store.check_for_interrupts();
            let (leaf, number) = self.cover::<S::Shared>(table, first, None);
            let page = self.checked(number, leaf.bytes());
            let high = page.high::<K>();
            let here = left.partition_point(|entry| high.is_none_or(|high| *entry < high));
            let (here, after) = left.split_at(here.max(1));
            if here.len() >= least {
                let there = page.entries().filter(|entry| here.binary_search(entry).is_ok());
                let mut suspects: Vec<Entry<K>> = there.collect();
                suspects.sort_unstable();
                self.remove_dead(table, (leaf, number), &suspects, least);
            }
            left = after;
        }
    }

    /// Removes the entries of dead rows among `suspects`, which ascend, from a leaf, if there are
    /// at least `least`. Returns whether there are.
    fn remove_dead(
        &self,
        table: u8,
        (leaf, number): (S::Shared, u32),
        suspects: &[Entry<K>],
        least: usize,
    ) -> bool {
        let least = least.max(1);
        if suspects.len() < least {
            return false;
        }
        let pin = self.store.unlock(leaf);
        let Dead { mut numbers, horizon } = self.ask(number, suspects);
        if numbers.len() < least {
            return false;
        }
        let leaf = self.store.exclusive(pin);
        let page = self.checked(number, leaf.bytes());
        if page.is_deleted() || page.table() != table || !page.is_leaf() {
            return false;
        }
        numbers.sort_unstable();
        let is_dead = |entry: &Entry<K>| {
            suspects.binary_search(entry).is_ok_and(|i| numbers.binary_search(&i).is_ok())
        };
        let entries = page.entries().zip(0..);
        let places: Vec<usize> =
            entries.filter(|(entry, _)| is_dead(entry)).map(|(_, place)| place).collect();
        if places.len() < least {
            return false;
        }
        self.store.log_horizon(number, horizon);
        self.store.change([(&leaf, Extent::Parts)], |[page]| self.edit(page).remove(&places));
        true
    }

    /// Which of these entries of a leaf are of dead rows.
    fn ask(&self, leaf: u32, suspects: &[Entry<K>]) -> Dead {
        let tids: Vec<u64> = suspects.iter().map(|suspect| suspect.tid).collect();
        self.store.dead(leaf, &tids)
    }
}
