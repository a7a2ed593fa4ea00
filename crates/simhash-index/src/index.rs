//! An open index: its meta data and the upper levels of its trees as this backend last saw them.
//!
//! Copies of inner pages are kept until they prove stale, so that a probe touches shared pages only
//! for its leaf. A stale copy is slow, never wrong: every leaf says which table and key range it
//! holds, and whoever arrives checks. A copy is dropped when a leaf reached through it turned out to
//! have been split, and everything is when a leaf was no longer where a copy said.
//!
//! That holds of a file that never shrinks and whose meta page never changes.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use simhash_core::search::key::{Spread, not_above};
use simhash_core::search::{BlockLayout, Key, Plan, cost};
use simhash_core::simd::prefetch::prefetch;

use crate::damage::Damage;
use crate::meta::Meta;
use crate::mutant::{self, Mutant};
use crate::page::{Bounds, Entry, Page};
use crate::store::Store;
use crate::{FIRST_ROOT, META_BLOCK};

/// A private copy of an inner page.
pub struct Inner<F, H> {
    pub level: u8,
    pub bounds: Bounds<F>,
    /// The separators, keys and TIDs apart: a search runs over the keys.
    spread: Spread,
    keys: Box<[F]>,
    tids: Box<[u64]>,
    pub children: Box<[Child<H>]>,
}

/// A downlink, and two hints: where the child was found last, checked by whoever pins it, and where the
/// next key appended to it may go.
pub struct Child<H> {
    pub block: u32,
    pub recent: Cell<H>,
    pub next_key: Cell<u16>,
}

impl<F: Key, H: Default> Inner<F, H> {
    /// Copies a page; fails if its separators do not ascend, for searches rely on it.
    fn copy(page: &Page<'_>) -> Result<Self, Damage> {
        let child = |i| Child { block: page.child(i), recent: Cell::default(), next_key: Cell::new(0) };
        let bounds: Bounds<F> = page.bounds();
        let keys: Box<[F]> = (0..page.len()).map(|i| page.key(i)).collect();
        let tids: Box<[u64]> = (0..page.len()).map(|i| page.tid(i)).collect();
        let separator = |i| Entry { key: keys[i], tid: tids[i] };
        if let Some(i) = (1..page.len()).find(|&i| separator(i - 1) >= separator(i)) {
            return Err(Damage::Order(i));
        }
        if !page.is_empty() && (separator(0) != bounds.low || bounds.is_before(&separator(page.len() - 1))) {
            return Err(Damage::Other("its separators are not within its bounds"));
        }
        Ok(Self {
            level: page.level(),
            bounds,
            spread: Spread::of(&keys),
            keys,
            tids,
            children: (0..page.len()).map(child).collect(),
        })
    }

    fn separator(&self, child: usize) -> Entry<F> {
        Entry { key: self.keys[child], tid: self.tids[child] }
    }

    /// At most `count` separators, evenly spaced.
    pub fn some_keys(&self, count: usize) -> impl Iterator<Item = F> {
        let count = count.min(self.keys.len());
        (0..count).map(move |i| self.keys[i * self.keys.len() / count])
    }

    /// Gets what a search for `target` will read first on its way into the processor's caches.
    pub fn prefetch(&self, target: &Entry<F>) {
        let guess = self.spread.guess(target.key);
        if let (Some(key), Some(child)) = (self.keys.get(guess), self.children.get(guess)) {
            prefetch(key);
            prefetch(child);
        }
    }

    /// The index of the child that covers `target`, or of the first.
    pub fn child_covering(&self, target: &Entry<F>) -> usize {
        let mut after = not_above(&self.keys, self.spread.guess(target.key), target.key);
        if mutant::is(Mutant::TiesIgnored) {
            return after.saturating_sub(1);
        }
        // TIDs, which lie elsewhere, count among equal keys only.
        while after > 0 && self.keys[after - 1] == target.key && self.tids[after - 1] > target.tid {
            after -= 1;
        }
        after.saturating_sub(1)
    }

    /// As [`Inner::child_covering`], for a target that lies a little after child `from`.
    pub fn child_covering_from(&self, from: usize, target: &Entry<F>) -> usize {
        const NEAR: usize = 4;
        let next = from + 1;
        let ahead = (next..self.keys.len().min(next + NEAR)).take_while(|&i| self.separator(i) <= *target);
        match ahead.count() {
            NEAR => self.child_covering(target),
            ahead => from + ahead,
        }
    }

    /// The upper bound of a child, as far as this copy knows.
    pub fn end_of(&self, child: usize) -> Option<Entry<F>> {
        if child + 1 < self.keys.len() { Some(self.separator(child + 1)) } else { self.bounds.high }
    }
}

/// Block numbers are small integers; one multiplication spreads them.
#[derive(Default)]
struct BlockHasher(u64);

impl Hasher for BlockHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 << 8 | u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
    fn write_u32(&mut self, block: u32) {
        self.0 = u64::from(block).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// How many copies a backend keeps, and how many it may, of all indexes together.
#[derive(Debug)]
pub struct Budget {
    copies: Cell<usize>,
    limit: usize,
}

impl Budget {
    pub const fn new(limit: usize) -> Self {
        Self { copies: Cell::new(0), limit }
    }
}

/// What a backend remembers of one index.
pub struct Cache<F, H> {
    meta: Meta,
    layout: BlockLayout,
    /// The file is known to have so many blocks.
    blocks: Cell<u32>,
    /// The tables worth probing, and the size of the file when that was found out.
    selective: RefCell<(u32, Rc<[u32]>)>,
    inner: RefCell<Copies<F, H>>,
    budget: Rc<Budget>,
}

type Copies<F, H> = HashMap<u32, Rc<Inner<F, H>>, BuildHasherDefault<BlockHasher>>;

impl<F: Key, H> Cache<F, H> {
    /// Nothing but the meta page's contents. An ERROR if these are not of keys of this type.
    pub fn new<S: Store>(store: &S, meta: Meta, budget: Rc<Budget>) -> Self {
        let layout =
            BlockLayout::new::<F>(meta.blocks).filter(|_| meta.bits == F::BITS).unwrap_or_else(|| {
                let damage = Damage::Other("its kind of key or number of blocks is impossible");
                store.damaged(META_BLOCK, &damage)
            });
        Self {
            meta,
            layout,
            blocks: Cell::new(0),
            selective: RefCell::new((0, Rc::new([]))),
            inner: RefCell::default(),
            budget,
        }
    }

    pub fn meta(&self) -> Meta {
        self.meta
    }

    fn forget_count(&self, copies: usize) {
        self.budget.copies.set(self.budget.copies.get() - copies);
    }
}

impl<F, H> Drop for Cache<F, H> {
    fn drop(&mut self) {
        let copies = self.inner.get_mut().len();
        self.budget.copies.set(self.budget.copies.get() - copies);
    }
}

/// An open index with keys of type `F`.
pub struct Index<F, S: Store> {
    pub store: S,
    pub layout: BlockLayout,
    cache: Rc<Cache<F, S::Hint>>,
}

impl<F, S: Store> Clone for Index<F, S> {
    fn clone(&self) -> Self {
        Self { store: self.store.clone(), layout: self.layout, cache: self.cache.clone() }
    }
}

impl<F: Key, S: Store> Index<F, S> {
    /// An index of which so much is known.
    pub fn new(store: S, cache: Rc<Cache<F, S::Hint>>) -> Self {
        Self { store, layout: cache.layout, cache }
    }

    pub fn meta(&self) -> Meta {
        self.cache.meta
    }

    /// The table of NULL rows, ordered by TID.
    pub fn null_table(&self) -> u8 {
        self.layout.blocks() as u8
    }

    /// All tables, that of NULLs last.
    pub fn tables(&self) -> std::ops::RangeInclusive<u8> {
        0..=self.null_table()
    }

    /// The leaves of one table, about.
    pub fn leaves_per_table(&self) -> f64 {
        leaves_per_table(self.layout, self.store.blocks())
    }

    /// The plan that finds everything within `distance` with the least expected work.
    pub fn plan(&self, distance: u32, leaves: f64) -> Plan {
        cost::cheapest_over::<F>(self.layout, distance, leaves, &self.selective_tables())
    }

    /// The tables worth probing: by a sample of rows, taken again when the file has doubled.
    fn selective_tables(&self) -> Rc<[u32]> {
        let blocks = self.store.blocks();
        let (known_for, tables) = self.cache.selective.borrow().clone();
        if !tables.is_empty() && blocks / 2 <= known_for {
            return tables;
        }
        let tables: Rc<[u32]> = cost::selective_tables(self.layout, &self.sample()).into();
        *self.cache.selective.borrow_mut() = (blocks, tables.clone());
        tables
    }

    /// An ERROR if a link read from `from` leads beyond the end of the file.
    pub fn expect_block(&self, block: u32, from: u32) {
        if block >= self.cache.blocks.get() {
            self.cache.blocks.set(self.store.blocks());
            if block >= self.cache.blocks.get() {
                self.store.damaged(from, &Damage::Link(block));
            }
        }
    }

    /// An inner page's cached copy, if there is one.
    pub fn cached(&self, block: u32) -> Option<Rc<Inner<F, S::Hint>>> {
        self.cache.inner.borrow().get(&block).cloned()
    }

    /// Copies an inner page, keeping the copy if there is room; an ERROR if its separators are out of
    /// order. What is known of other indexes makes room.
    pub fn keep(&self, block: u32, page: &Page<'_>) -> Rc<Inner<F, S::Hint>> {
        let copy = Inner::copy(page).unwrap_or_else(|damage| self.store.damaged(block, &damage));
        let copy = Rc::new(copy);
        let Budget { copies, limit } = &*self.cache.budget;
        if copies.get() >= *limit {
            self.store.forget_others();
        }
        if copies.get() < *limit && self.cache.inner.borrow_mut().insert(block, copy.clone()).is_none() {
            copies.set(copies.get() + 1);
        }
        copy
    }

    /// Drops the copy of one page.
    pub fn forget(&self, block: u32) {
        if self.cache.inner.borrow_mut().remove(&block).is_some() {
            self.cache.forget_count(1);
        }
    }

    /// Drops all copies of this index's pages.
    pub fn forget_all(&self) {
        let mut inner = self.cache.inner.borrow_mut();
        self.cache.forget_count(inner.len());
        inner.clear();
    }
}

/// The leaves of one table, about: the file's pages but for the meta page and the roots, shared out evenly.
pub fn leaves_per_table(layout: BlockLayout, pages: u32) -> f64 {
    let overhead = FIRST_ROOT + layout.blocks() + 1;
    (f64::from(pages.saturating_sub(overhead)) / f64::from(layout.blocks())).max(1.0)
}

/// The block of a table's root.
pub fn root(table: u8) -> u32 {
    FIRST_ROOT + u32::from(table)
}
