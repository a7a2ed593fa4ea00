//! Building from sorted runs: each table is written from its leaves up.
//!
//! Every page is written once and logged whole. The leaves of a table lie in key order on
//! consecutive pages. The pages of the roots are reserved first and filled last.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use simhash_core::search::Key;

use crate::index::root;
use crate::meta::Meta;
use crate::page::{Bounds, Downlink, Entry, PageMut, capacity};
use crate::store::Store;

/// Writes the meta page and the empty roots: an index without rows.
pub fn initialize<F: Key, S: Store>(store: &S, meta: Meta) {
    store.write_new(&store.extend(), &meta.to_page(S::PAGE));
    for table in 0..=meta.blocks as u8 {
        let page = store.extend();
        assert_eq!(store.number(&page), root(table), "the roots follow the meta page");
        let mut image = blank::<S>();
        PageMut::format::<F>(&mut image, table, 0, &Bounds::ALL, None);
        store.write_new(&page, &image);
    }
}

fn blank<S: Store>() -> Vec<u8> {
    vec![0; S::PAGE]
}

/// Hands the entries of all runs, each in ascending order, to `each` in ascending order.
pub fn merge<F: Key>(
    mut runs: Vec<impl Iterator<Item = Entry<F>>>,
    mut each: impl FnMut(Entry<F>),
) {
    let mut heap: BinaryHeap<_> = runs
        .iter_mut()
        .enumerate()
        .filter_map(|(run, entries)| entries.next().map(|entry| Reverse((entry, run))))
        .collect();
    while let Some(mut least) = heap.peek_mut() {
        let Reverse((entry, run)) = *least;
        each(entry);
        match runs[run].next() {
            Some(entry) => *least = Reverse((entry, run)),
            None => drop(PeekMut::pop(least)),
        }
    }
}

/// Writes one table from entries in ascending order.
pub struct Writer<'a, F, S> {
    store: &'a S,
    table: u8,
    fill: usize,
    /// The leaf being filled, and its lower bound.
    entries: Vec<Entry<F>>,
    low: Entry<F>,
    leaf_capacity: usize,
    /// Downlinks of the leaves written so far.
    downlinks: Vec<Downlink<F>>,
}

impl<'a, F: Key, S: Store> Writer<'a, F, S> {
    /// Fills pages up to `fill` percent.
    pub fn new(store: &'a S, table: u8, fill: usize) -> Self {
        let leaf_capacity = (capacity::<F>(S::PAGE, 0) * fill / 100).max(2);
        Self {
            store,
            table,
            fill,
            entries: Vec::with_capacity(leaf_capacity),
            low: Entry::MIN,
            leaf_capacity,
            downlinks: Vec::new(),
        }
    }

    /// Adds an entry, which must not be below any entry added before.
    pub fn push(&mut self, entry: Entry<F>) {
        if self.entries.len() == self.leaf_capacity {
            self.write_leaf(Some(entry));
        }
        self.entries.push(entry);
    }

    /// Writes the last leaf and the levels above it, and fills the root.
    pub fn finish(mut self) {
        if self.downlinks.is_empty() {
            let mut image = blank::<S>();
            PageMut::format::<F>(&mut image, self.table, 0, &Bounds::ALL, None)
                .set_entries(&self.entries);
            return self.write_root(&image);
        }
        self.write_leaf(None);
        let mut level = 1;
        while self.downlinks.len() > capacity::<F>(S::PAGE, level) {
            self.write_level(level);
            level += 1;
        }
        let mut image = blank::<S>();
        PageMut::format::<F>(&mut image, self.table, level, &Bounds::ALL, None)
            .set_downlinks(&self.downlinks);
        self.write_root(&image);
    }

    /// Writes the leaf. `next` is the first entry of the one after it.
    fn write_leaf(&mut self, next: Option<Entry<F>>) {
        self.store.check_for_interrupts();
        let bounds = Bounds { low: self.low, high: next };
        let entries = std::mem::take(&mut self.entries);
        let child = self.write_page(0, &bounds, |page| page.set_entries(&entries));
        self.entries = entries;
        self.entries.clear();
        self.downlinks.push(Downlink { separator: self.low, child });
        self.low = next.unwrap_or(Entry::MIN);
    }

    fn write_level(&mut self, level: u8) {
        let per_page = (capacity::<F>(S::PAGE, level) * self.fill / 100).max(2);
        let below = std::mem::take(&mut self.downlinks);
        let pages: Vec<&[Downlink<F>]> = below.chunks(per_page).collect();
        for (i, links) in pages.iter().enumerate() {
            self.store.check_for_interrupts();
            let high = pages.get(i + 1).map(|next| next[0].separator);
            let bounds = Bounds { low: links[0].separator, high };
            let child = self.write_page(level, &bounds, |page| page.set_downlinks(links));
            self.downlinks.push(Downlink { separator: bounds.low, child });
        }
    }

    /// Writes a page at the end of the file, and returns its number. The next page written will be
    /// its right neighbour, unless it is the last of its level.
    fn write_page(
        &self,
        level: u8,
        bounds: &Bounds<F>,
        fill: impl FnOnce(&mut PageMut<'_>),
    ) -> u32 {
        let locked = self.store.extend();
        let number = self.store.number(&locked);
        let right = bounds.high.map(|_| number + 1);
        let mut image = blank::<S>();
        fill(&mut PageMut::format(&mut image, self.table, level, bounds, right));
        self.store.write_new(&locked, &image);
        number
    }

    fn write_root(&self, image: &[u8]) {
        self.store.write_new(&self.store.lock(root(self.table)), image);
    }
}
