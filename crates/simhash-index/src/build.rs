//! Building from sorted runs: each table is written from its leaves up.
//!
//! Every page is written once and logged whole. The leaves of a table lie in key order on
//! consecutive pages. Where several processes write a table, each writes a [`Stretch`] of its
//! leaves, whose pages are consecutive in long pieces. The pages of the roots are reserved first
//! and filled last.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::form::{Common, Form};
use crate::index::root;
use crate::key::{Shape, TreeKey};
use crate::meta::Meta;
use crate::page::write::{Downlink, PageMut, Place};
use crate::page::{Bounds, Entry, Row};
use crate::store::Store;

/// Writes the meta page and the empty roots: an index without rows.
pub fn initialize<K: TreeKey, S: Store>(store: &S, meta: Meta, note: &[u8]) {
    let image = meta.to_page(S::PAGE, note);
    assert!(Meta::parse(&image) == Ok(meta), "the meta page is not read as written");
    store.write_new(&store.extend(), &image);
    for table in 0..=meta.blocks as u8 {
        let page = store.extend();
        assert_eq!(store.number(&page), root(table), "the roots follow the meta page");
        let mut image = blank::<S>();
        let place = Place { table, level: 0, bounds: &Bounds::<K>::ALL, right: None };
        PageMut::format(&mut image, &meta.shape(), &place);
        store.write_new(&page, &image);
    }
}

fn blank<S: Store>() -> Vec<u8> {
    vec![0; S::PAGE]
}

/// Hands the rows of all runs, each in ascending order, to `each` in ascending order.
pub fn merge<T: Copy + Ord>(mut runs: Vec<impl Iterator<Item = T>>, mut each: impl FnMut(T)) {
    let mut heap: BinaryHeap<_> = runs
        .iter_mut()
        .enumerate()
        .filter_map(|(run, rows)| rows.next().map(|row| Reverse((row, run))))
        .collect();
    while let Some(mut least) = heap.peek_mut() {
        let Reverse((row, run)) = *least;
        each(row);
        match runs[run].next() {
            Some(row) => *least = Reverse((row, run)),
            None => drop(PeekMut::pop(least)),
        }
    }
}

/// The leaves from one entry of a table to another, which a process writes beside others.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<K> {
    pub low: Entry<K>,
    /// The page of its first leaf.
    pub first: u32,
    /// Where the next stretch begins, and the page of that one's first leaf.
    pub end: Option<(Entry<K>, u32)>,
    /// How many rows it has. Pages for them are reserved together.
    pub rows: u64,
}

/// The most pages that a stretch reserves at once.
const RESERVED: u64 = 256;

/// Writes one table, or a stretch of its leaves, from rows in ascending order.
pub struct Writer<'a, K: TreeKey, S> {
    store: &'a S,
    shape: Shape,
    table: u8,
    fill: usize,
    /// The leaf being filled, its lower bound, and its page if that is reserved already.
    rows: Vec<Row<K>>,
    low: Entry<K>,
    page: Option<u32>,
    /// What these rows have in common.
    common: Common<K>,
    /// The entry and the page behind the last leaf of a stretch.
    end: Option<(Entry<K>, u32)>,
    /// Downlinks of the leaves written so far.
    downlinks: Vec<Downlink<K>>,
    /// Pages that are reserved, descending, and how many more will be needed at least.
    reserved: Vec<u32>,
    needed: u64,
}

impl<'a, K: TreeKey, S: Store> Writer<'a, K, S> {
    /// Fills pages up to `fill` percent.
    pub fn new(store: &'a S, shape: Shape, table: u8, fill: usize) -> Self {
        let shape = shape.at(table);
        Self {
            store,
            shape,
            table,
            fill,
            rows: Vec::new(),
            low: Entry::MIN,
            page: None,
            common: Common::new(Entry::MIN),
            end: None,
            downlinks: Vec::new(),
            reserved: Vec::new(),
            needed: 0,
        }
    }

    /// A writer of some leaves of a table, which ends with [`Writer::finish_stretch`].
    pub fn of_stretch(
        store: &'a S,
        shape: Shape,
        table: u8,
        fill: usize,
        stretch: &Stretch<K>,
    ) -> Self {
        let mut writer = Self::new(store, shape, table, fill);
        writer.low = stretch.low;
        writer.common = Common::new(stretch.low);
        writer.page = Some(stretch.first);
        writer.end = stretch.end;
        // No form of a leaf holds more rows.
        let most = writer.capacity(Form::densest(&writer.shape)) as u64;
        writer.needed = stretch.rows.div_ceil(most).saturating_sub(1);
        writer
    }

    /// Adds a row above all rows added before.
    ///
    /// # Panics
    /// Otherwise.
    pub fn push(&mut self, row: Row<K>) {
        let last = self.rows.last().map(|last| last.entry);
        assert!(last.map_or(self.low <= row.entry, |last| last < row.entry), "rows do not ascend");
        let common = self.common.with(&row.entry);
        if self.rows.len() >= self.capacity(common.form(&self.shape)) {
            self.write_leaf(Some(row.entry));
            self.common.add(&row.entry);
        } else {
            self.common = common;
        }
        self.rows.push(row);
    }

    /// How many rows a leaf gets.
    fn capacity(&self, form: Form) -> usize {
        (self.shape.leaf_capacity(S::PAGE, form) * self.fill / 100).max(2)
    }

    /// Writes the last leaf and the levels above it, and fills the root.
    pub fn finish(mut self) {
        if self.downlinks.is_empty() {
            let place = Place { table: self.table, level: 0, bounds: &Bounds::ALL, right: None };
            let image = self.image(&place, |page| {
                page.set_rows(&self.rows, self.common.form(&self.shape));
            });
            return self.write_root(&image);
        }
        self.write_leaf(None);
        let downlinks = std::mem::take(&mut self.downlinks);
        self.finish_above(downlinks);
    }

    /// Writes the last leaf of a stretch. Returns the downlinks of all its leaves.
    pub fn finish_stretch(mut self) -> Vec<Downlink<K>> {
        self.write_leaf(None);
        debug_assert!(self.reserved.is_empty(), "no more pages are reserved than leaves need");
        self.downlinks
    }

    /// Writes the levels above leaves with these downlinks, which are those of all stretches of
    /// the table, in order, and fills the root.
    pub fn finish_above(mut self, downlinks: Vec<Downlink<K>>) {
        self.downlinks = downlinks;
        let mut level = 1;
        while self.downlinks.len() > self.shape.inner_capacity(S::PAGE) {
            self.write_level(level);
            level += 1;
        }
        let place = Place { table: self.table, level, bounds: &Bounds::ALL, right: None };
        let image = self.image(&place, |page| page.set_downlinks(&self.downlinks));
        self.write_root(&image);
    }

    /// Writes the leaf. `next` is the first entry of the one after it, unless the leaf is the last.
    fn write_leaf(&mut self, next: Option<Entry<K>>) {
        self.store.check_for_interrupts();
        let page = self.page.take();
        let page = page.unwrap_or_else(|| self.reserve());
        let after = match next {
            Some(next) => Some((next, self.reserve())),
            None => self.end,
        };
        let (high, right) = after.unzip();
        let bounds = Bounds { low: self.low, high };
        let form = self.common.form(&self.shape);
        self.write_page(page, (0, &bounds, right), |page| page.set_rows(&self.rows, form));
        self.rows.clear();
        self.downlinks.push(Downlink { separator: self.low, child: page });
        self.low = next.unwrap_or(Entry::MIN);
        self.common = Common::new(self.low);
        self.page = right;
    }

    fn write_level(&mut self, level: u8) {
        let per_page = (self.shape.inner_capacity(S::PAGE) * self.fill / 100).max(2);
        let below = std::mem::take(&mut self.downlinks);
        let mut pages = below.chunks(per_page).peekable();
        let mut number = self.reserve();
        while let Some(links) = pages.next() {
            self.store.check_for_interrupts();
            let after = pages.peek().map(|next| (next[0].separator, self.reserve()));
            let (high, right) = after.unzip();
            let bounds = Bounds { low: links[0].separator, high };
            self.write_page(number, (level, &bounds, right), |page| page.set_downlinks(links));
            self.downlinks.push(Downlink { separator: bounds.low, child: number });
            number = right.unwrap_or(number);
        }
    }

    /// A new page.
    fn reserve(&mut self) -> u32 {
        loop {
            if let Some(page) = self.reserved.pop() {
                return page;
            }
            let count = self.needed.clamp(1, RESERVED);
            self.needed = self.needed.saturating_sub(count);
            self.reserved = self.store.reserve(count as u32);
            self.reserved.reverse();
        }
    }

    fn write_page(
        &self,
        number: u32,
        (level, bounds, right): (u8, &Bounds<K>, Option<u32>),
        fill: impl FnOnce(&mut PageMut<'_>),
    ) {
        let image = self.image(&Place { table: self.table, level, bounds, right }, fill);
        self.store.write_new(&self.store.lock(number), &image);
    }

    fn image(&self, place: &Place<'_, K>, fill: impl FnOnce(&mut PageMut<'_>)) -> Vec<u8> {
        let mut image = blank::<S>();
        fill(&mut PageMut::format(&mut image, &self.shape, place));
        image
    }

    fn write_root(&self, image: &[u8]) {
        self.store.write_new(&self.store.lock(root(self.table)), image);
    }
}
