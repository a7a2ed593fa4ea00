//! Building from sorted runs: each table is written from its leaves up.
//!
//! Every page is written once and logged whole. The leaves of a table lie in key order on
//! consecutive pages. The pages of the roots are reserved first and filled last.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::index::root;
use crate::key::{Shape, TreeKey};
use crate::meta::Meta;
use crate::mutant::{self, Mutant};
use crate::page::{Bounds, Downlink, Entry, Form, PageMut, Place, Row};
use crate::split::form;
use crate::store::Store;

/// Writes the meta page and the empty roots: an index without rows.
pub fn initialize<K: TreeKey, S: Store>(store: &S, meta: Meta, note: &[u8]) {
    store.write_new(&store.extend(), &meta.to_page(S::PAGE, note));
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

/// Writes one table from rows in ascending order.
pub struct Writer<'a, K: TreeKey, S> {
    store: &'a S,
    shape: Shape,
    table: u8,
    fill: usize,
    /// The leaf being filled, and its lower bound.
    rows: Vec<Row<K>>,
    low: Entry<K>,
    /// The form of a leaf with these rows.
    form: Form,
    /// Downlinks of the leaves written so far.
    downlinks: Vec<Downlink<K>>,
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
            form: Self::first_form(&shape),
            downlinks: Vec::new(),
        }
    }

    /// Adds a row, which must not be below any row added before.
    pub fn push(&mut self, row: Row<K>) {
        let has_scope = row.entry.key.scope() == self.low.key.scope();
        let Form { uniform, short } = self.form;
        let form = Form {
            uniform: uniform && has_scope,
            short: short && self.shape.shortens(row.entry.tid),
        };
        let counted = Form { uniform: uniform && mutant::is(Mutant::BuildCutsLate), ..form };
        let counted = Form { uniform: form.uniform || counted.uniform, ..counted };
        if self.rows.len() >= self.capacity(counted) {
            self.write_leaf(Some(row.entry));
            self.form.short = self.shape.shortens(row.entry.tid);
        } else {
            self.form = form;
        }
        self.rows.push(row);
    }

    /// The form of a leaf before its first row.
    fn first_form(shape: &Shape) -> Form {
        Form { uniform: true, short: shape.is_of_postings() }
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
                page.set_rows(&self.rows, form(&self.shape, &self.rows, &self.low));
            });
            return self.write_root(&image);
        }
        self.write_leaf(None);
        let mut level = 1;
        while self.downlinks.len() > self.shape.inner_capacity(S::PAGE) {
            self.write_level(level);
            level += 1;
        }
        let place = Place { table: self.table, level, bounds: &Bounds::ALL, right: None };
        let image = self.image(&place, |page| page.set_downlinks(&self.downlinks));
        self.write_root(&image);
    }

    /// Writes the leaf. `next` is the first entry of the one after it.
    fn write_leaf(&mut self, next: Option<Entry<K>>) {
        self.store.check_for_interrupts();
        let bounds = Bounds { low: self.low, high: next };
        let rows = std::mem::take(&mut self.rows);
        let child = self.write_page(0, &bounds, |page| {
            page.set_rows(&rows, form(&self.shape, &rows, &bounds.low));
        });
        self.rows = rows;
        self.rows.clear();
        self.form = Self::first_form(&self.shape);
        self.downlinks.push(Downlink { separator: self.low, child });
        self.low = next.unwrap_or(Entry::MIN);
    }

    fn write_level(&mut self, level: u8) {
        let per_page = (self.shape.inner_capacity(S::PAGE) * self.fill / 100).max(2);
        let below = std::mem::take(&mut self.downlinks);
        let pages: Vec<&[Downlink<K>]> = below.chunks(per_page).collect();
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
        bounds: &Bounds<K>,
        fill: impl FnOnce(&mut PageMut<'_>),
    ) -> u32 {
        let locked = self.store.extend();
        let number = self.store.number(&locked);
        let right = bounds.high.map(|_| number + 1);
        let image = self.image(&Place { table: self.table, level, bounds, right }, fill);
        self.store.write_new(&locked, &image);
        number
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
