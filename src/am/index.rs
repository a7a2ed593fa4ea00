//! An open index: its meta data and the upper levels of its trees as this backend last saw them.
//!
//! Copies of inner pages are kept until they prove stale, so that a probe touches shared buffers only
//! for its leaf. A stale copy is slow, never wrong: every leaf says which table and key range it
//! holds, and whoever arrives checks. A copy is dropped when a leaf reached through it turned out to
//! have been split, and everything is when a leaf was no longer where a copy said.
//!
//! That holds of a file that never shrinks and whose meta page never changes. PostgreSQL empties a file
//! in place only where no other backend can have seen it, and calls ambuild then: that forgets the file.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::search::key::{Spread, not_above};
use simhash_core::search::{BlockLayout, Key, Plan, cost};

use super::kind::Kind;
use crate::storage::buffer::prefetch_value;
use crate::storage::damage::{Damage, raise_damage};
use crate::storage::meta::Meta;
use crate::storage::page::{Bounds, Page};
use crate::storage::{Entry, FIRST_ROOT, IndexRel, META_BLOCK};

/// The most inner pages that a backend keeps copies of, over all indexes: about 48 MB at worst.
const CACHED_PAGES: usize = 4096;
/// The most indexes that a backend remembers.
const CACHED_INDEXES: usize = 256;

/// A private copy of an inner page.
pub struct Inner<F> {
    pub level: u8,
    pub bounds: Bounds<F>,
    /// The separators, keys and TIDs apart: a search runs over the keys.
    spread: Spread,
    keys: Box<[F]>,
    tids: Box<[u64]>,
    pub children: Box<[Child]>,
}

/// A downlink, and two hints: the buffer that last held the child, checked by whoever pins it, and where
/// the next key appended to it may go.
pub struct Child {
    pub block: u32,
    pub recent: Cell<pg_sys::Buffer>,
    pub next_key: Cell<u16>,
}

impl<F: Key> Inner<F> {
    /// Copies a page; fails if its separators do not ascend, for searches rely on it.
    fn copy(page: &Page<'_>) -> Result<Self, Damage> {
        let child = |i| Child {
            block: page.child(i),
            recent: Cell::new(pg_sys::InvalidBuffer as i32),
            next_key: Cell::new(0),
        };
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
            prefetch_value(key);
            prefetch_value(child);
        }
    }

    /// The index of the child that covers `target`, or of the first.
    pub fn child_covering(&self, target: &Entry<F>) -> usize {
        let mut after = not_above(&self.keys, self.spread.guess(target.key), target.key);
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

/// What a backend remembers of one index.
struct Cache<F> {
    meta: Meta,
    /// The file is known to have so many blocks.
    blocks: Cell<u32>,
    /// The tables worth probing, and the size of the file when that was found out.
    selective: RefCell<(u32, Rc<[u32]>)>,
    inner: RefCell<HashMap<u32, Rc<Inner<F>>, BuildHasherDefault<BlockHasher>>>,
}

thread_local! {
    /// By index and file number; one file an index, the one opened last.
    static INDEXES: RefCell<HashMap<(pg_sys::Oid, u32), Rc<dyn Any>>> = RefCell::default();
    static COPIES: Cell<usize> = const { Cell::new(0) };
}

/// An open index with keys of type `F`.
#[derive(Clone)]
pub struct Index<F> {
    pub rel: IndexRel,
    pub kind: Kind,
    pub layout: BlockLayout,
    /// What a reader sees the table's rows by; null for others.
    pub snapshot: pg_sys::Snapshot,
    cache: Rc<Cache<F>>,
}

/// The width of an index's keys, by its meta page.
pub fn bits(rel: IndexRel) -> u32 {
    let known = INDEXES.with_borrow(|indexes| {
        let cache = indexes.get(&rel.file())?;
        cache.downcast_ref::<Cache<u64>>().map(|c| c.meta.bits).or(Some(128))
    });
    known.unwrap_or_else(|| Meta::read(rel).bits)
}

impl<F: Key> Index<F> {
    /// Opens an index whose keys are `F::BITS` wide.
    pub fn open(rel: IndexRel) -> Self {
        let file = rel.file();
        let known = INDEXES.with_borrow(|indexes| indexes.get(&file).cloned());
        let cache = known.and_then(|cache| cache.downcast::<Cache<F>>().ok()).unwrap_or_else(|| {
            let cache = Rc::new(Cache::<F> {
                meta: Meta::read(rel),
                blocks: Cell::new(0),
                selective: RefCell::new((0, Rc::new([]))),
                inner: RefCell::default(),
            });
            INDEXES.with_borrow_mut(|indexes| {
                // Its other files are gone, or come back when a subtransaction is undone.
                indexes.retain(|&(oid, _), _| oid != file.0);
                if indexes.len() >= CACHED_INDEXES {
                    indexes.clear();
                }
                indexes.insert(file, cache.clone());
            });
            cache
        });
        let kind = Kind::from_code(cache.meta.kind).filter(|kind| kind.bits() == F::BITS);
        let layout = BlockLayout::new::<F>(cache.meta.blocks);
        let (Some(kind), Some(layout)) = (kind, layout) else {
            raise_damage(rel, META_BLOCK, &Damage::Other("its kind of key or number of blocks is impossible"))
        };
        Self { rel, kind, layout, snapshot: std::ptr::null_mut(), cache }
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
        leaves_per_table(self.layout, self.rel.blocks())
    }

    /// The plan that finds everything within `distance` with the least expected work.
    pub fn plan(&self, distance: u32, leaves: f64) -> Plan {
        cost::cheapest_over::<F>(self.layout, distance, leaves, &self.selective_tables())
    }

    /// The tables worth probing: by a sample of rows, taken again when the file has doubled.
    fn selective_tables(&self) -> Rc<[u32]> {
        let blocks = self.rel.blocks();
        let (known_for, tables) = self.cache.selective.borrow().clone();
        if !tables.is_empty() && blocks / 2 <= known_for {
            return tables;
        }
        let tables: Rc<[u32]> = cost::selective_tables(self.layout, &self.sample()).into();
        *self.cache.selective.borrow_mut() = (blocks, tables.clone());
        tables
    }

    /// Raises XX002 if a link read from `from` leads beyond the end of the file.
    pub fn expect_block(&self, block: u32, from: u32) {
        if block >= self.cache.blocks.get() {
            self.cache.blocks.set(self.rel.blocks());
            if block >= self.cache.blocks.get() {
                raise_damage(self.rel, from, &Damage::Link(block));
            }
        }
    }

    /// An inner page's cached copy, if there is one.
    pub fn cached(&self, block: u32) -> Option<Rc<Inner<F>>> {
        self.cache.inner.borrow().get(&block).cloned()
    }

    /// Copies an inner page, keeping the copy if there is room; raises XX002 if its separators are out of
    /// order. What is known of other indexes makes room.
    pub fn keep(&self, block: u32, page: &Page<'_>) -> Rc<Inner<F>> {
        let copy = Inner::copy(page).unwrap_or_else(|damage| raise_damage(self.rel, block, &damage));
        let copy = Rc::new(copy);
        if COPIES.get() >= CACHED_PAGES {
            let own = self.rel.file();
            INDEXES.with_borrow_mut(|indexes| indexes.retain(|file, _| *file == own));
        }
        if COPIES.get() < CACHED_PAGES && self.cache.inner.borrow_mut().insert(block, copy.clone()).is_none()
        {
            COPIES.set(COPIES.get() + 1);
        }
        copy
    }

    /// Drops the copy of one page.
    pub fn forget(&self, block: u32) {
        if self.cache.inner.borrow_mut().remove(&block).is_some() {
            COPIES.set(COPIES.get() - 1);
        }
    }

    /// Drops all copies of this index's pages.
    pub fn forget_all(&self) {
        let mut inner = self.cache.inner.borrow_mut();
        forget_count(inner.len());
        inner.clear();
    }
}

impl<F> Drop for Cache<F> {
    fn drop(&mut self) {
        forget_count(self.inner.get_mut().len());
    }
}

fn forget_count(copies: usize) {
    // The counter may be gone already when the process exits.
    let _ = COPIES.try_with(|count| count.set(count.get() - copies));
}

/// Forgets what this backend knows of an index's file: it is being written anew.
pub fn forget_file(rel: IndexRel) {
    INDEXES.with_borrow_mut(|indexes| indexes.remove(&rel.file()));
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
