//! An open index: its meta data and the upper levels of its trees as this process last saw them.
//!
//! Copies of inner pages are kept until they prove stale, so that a probe touches shared pages only
//! for its leaf. A stale copy is slow, never wrong: every leaf says which table and key range it
//! holds, and every process that locks it checks that. A copy is dropped when a leaf reached
//! through it turns out to have been split. All copies are dropped when a leaf is no longer where a
//! copy says.
//!
//! This relies on a file that never shrinks and a meta page that never changes.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use simhash_core::Fingerprint;
use simhash_core::base::key::{Spread, not_above};
use simhash_core::base::simd::prefetch::prefetch;
use simhash_core::search::{BlockLayout, Crowding, cost};

use crate::damage::Damage;
use crate::key::{Shape, TreeKey};
use crate::meta::{META_PAGE, Meta};
use crate::page::{Bounds, Entry, HEADER, Page};
use crate::store::{Lock, Store};

/// The root of table t is page `FIRST_ROOT + t`, for ever.
pub const FIRST_ROOT: u32 = META_PAGE + 1;

/// A private copy of an inner page.
pub struct Inner<K, H> {
    pub level: u8,
    pub bounds: Bounds<K>,
    /// The separators follow. Keys and TIDs are apart, because a search runs over the keys.
    spread: Spread,
    /// Bytes of a scope, by which `spread` guesses. `None` if all separators have the same scope:
    /// then it guesses by fingerprints.
    scope: Option<usize>,
    keys: Box<[K]>,
    tids: Box<[u64]>,
    pub children: Box<[Child<H>]>,
}

/// The most significant bits of a key, or of its fingerprint.
fn top<K: TreeKey>(key: K, scope: Option<usize>) -> u64 {
    scope.map_or_else(|| Fingerprint::top(key.fingerprint()), |scope| key.top(scope))
}

/// A downlink, with two hints.
pub struct Child<H> {
    pub number: u32,
    /// Where in memory the child was found last. A pin checks whether it is still there.
    pub recent: Cell<H>,
    /// Where the key and the slot of the next row that is appended to the child may go.
    pub next: Cell<[u16; 2]>,
}

impl<K: TreeKey, H: Default> Inner<K, H> {
    /// Copies a page. Fails if its separators do not ascend within its bounds: searches rely on it.
    fn copy(page: &Page<'_>, shape: &Shape) -> Result<Self, Damage> {
        let child = |i| Child {
            number: page.child(i),
            recent: Cell::default(),
            next: Cell::new([HEADER as u16; 2]),
        };
        let bounds: Bounds<K> = page.bounds();
        let keys: Box<[K]> = (0..page.len()).map(|i| page.key(i)).collect();
        let tids: Box<[u64]> = (0..page.len()).map(|i| page.tid(i)).collect();
        let separator = |i| Entry { key: keys[i], tid: tids[i] };
        if let Some(i) = (1..page.len()).find(|&i| separator(i - 1) >= separator(i)) {
            return Err(Damage::Order(i));
        }
        if !page.is_empty()
            && (separator(0) != bounds.low || bounds.is_before(&separator(page.len() - 1)))
        {
            return Err(Damage::Other("its separators are not within its bounds"));
        }
        let scope_at = |key: Option<&K>| key.map(|key| key.scope());
        let is_one = scope_at(keys.first()) == scope_at(keys.last());
        let scope = (!is_one).then_some(shape.scope);
        let end = |key: Option<&K>| key.map_or(0, |&key| top(key, scope));
        Ok(Self {
            level: page.level(),
            bounds,
            spread: Spread::between(end(keys.first()), end(keys.last()), keys.len()),
            scope,
            keys,
            tids,
            children: (0..page.len()).map(child).collect(),
        })
    }

    fn separator(&self, child: usize) -> Entry<K> {
        Entry { key: self.keys[child], tid: self.tids[child] }
    }

    /// At most `count` separators, evenly spaced.
    pub fn some_separators(&self, count: usize) -> impl Iterator<Item = Entry<K>> {
        let count = count.min(self.keys.len());
        (0..count).map(move |i| self.separator(i * self.keys.len() / count))
    }

    fn guess(&self, target: &Entry<K>) -> usize {
        self.spread.guess(top(target.key, self.scope))
    }

    /// Has the processor fetch what a search for `target` will read first.
    pub fn prefetch(&self, target: &Entry<K>) {
        let guess = self.guess(target);
        if let (Some(key), Some(child)) = (self.keys.get(guess), self.children.get(guess)) {
            prefetch(key);
            prefetch(child);
        }
    }

    /// The index of the child that covers `target`, or 0 if `target` is below the first separator.
    pub fn child_covering(&self, target: &Entry<K>) -> usize {
        let mut after = not_above(&self.keys, self.guess(target), target.key);
        // TIDs are stored apart from keys, and decide only among equal keys.
        while after > 0 && self.keys[after - 1] == target.key && self.tids[after - 1] > target.tid {
            after -= 1;
        }
        after.saturating_sub(1)
    }

    /// As [`Inner::child_covering`], for a target that is on child `from` or a little after it.
    pub fn child_covering_from(&self, from: usize, target: &Entry<K>) -> usize {
        const NEAR: usize = 4;
        let next = from + 1;
        let ahead =
            (next..self.keys.len().min(next + NEAR)).take_while(|&i| self.separator(i) <= *target);
        match ahead.count() {
            NEAR => self.child_covering(target),
            ahead => from + ahead,
        }
    }

    /// The upper bound of a child, as far as this copy knows.
    pub fn end_of(&self, child: usize) -> Option<Entry<K>> {
        if child + 1 < self.keys.len() { Some(self.separator(child + 1)) } else { self.bounds.high }
    }
}

/// Hashes the numbers of pages. They are small integers, which one multiplication spreads.
#[derive(Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 << 8 | u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
    fn write_u32(&mut self, number: u32) {
        self.0 = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// How many copies a process keeps of the pages of all indexes, and how many it may keep.
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

/// What a process remembers of one index.
pub struct Cache<K, H> {
    meta: Meta,
    layout: BlockLayout,
    /// The file is known to have at least this many pages.
    pages: Cell<u32>,
    sampled: RefCell<Option<Rc<Sampled>>>,
    /// What [`Index::remembered_run`] found, with the pages of the file at that time.
    run: Cell<Option<(u32, f64)>>,
    inner: RefCell<Copies<K, H>>,
    budget: Rc<Budget>,
}

/// The results of a sample of rows.
struct Sampled {
    /// The pages of the file when the sample was taken.
    pages: u32,
    /// The tables worth probing.
    selective: Rc<[u32]>,
    crowding: OnceCell<Crowding>,
    /// The last answer of [`Index::expected_leaves`] for each distance.
    answers: RefCell<Vec<Answer>>,
}

/// How many leaves a scan is expected to read.
struct Answer {
    distance: u32,
    /// The leaves of a table.
    of: f64,
    read: f64,
}

/// An answer is reused for numbers of leaves that differ by at most this share of them.
const SAME: f64 = 1.0 / 32.0;

type Copies<K, H> = HashMap<u32, Rc<Inner<K, H>>, BuildHasherDefault<PageHasher>>;

impl<K: TreeKey, H> Cache<K, H> {
    /// A cache with nothing but the meta page's contents. Raises an ERROR if they are not for keys
    /// of this type.
    pub fn new<S: Store>(store: &S, meta: Meta, budget: Rc<Budget>) -> Self {
        let layout = BlockLayout::of_bits(meta.bits, meta.blocks)
            .filter(|_| meta.bits <= K::Fingerprint::BITS && meta.shape().fits::<K>())
            .unwrap_or_else(|| {
                let damage = Damage::Other("its kind of key or number of blocks is invalid");
                store.damaged(META_PAGE, &damage)
            });
        Self {
            meta,
            layout,
            pages: Cell::new(0),
            sampled: RefCell::default(),
            run: Cell::default(),
            inner: RefCell::default(),
            budget,
        }
    }

    pub fn meta(&self) -> Meta {
        self.meta
    }

    fn give_back(&self, copies: usize) {
        self.budget.copies.set(self.budget.copies.get() - copies);
    }
}

impl<K, H> Drop for Cache<K, H> {
    fn drop(&mut self) {
        let copies = self.inner.get_mut().len();
        self.budget.copies.set(self.budget.copies.get() - copies);
    }
}

/// An open index with keys of type `K`.
pub struct Index<K, S: Store> {
    pub store: S,
    pub layout: BlockLayout,
    pub shape: Shape,
    cache: Rc<Cache<K, S::Hint>>,
}

impl<K, S: Store> Clone for Index<K, S> {
    fn clone(&self) -> Self {
        let Self { store, layout, shape, cache } = self;
        Self { store: store.clone(), layout: *layout, shape: *shape, cache: cache.clone() }
    }
}

impl<K: TreeKey, S: Store> Index<K, S> {
    /// An index with a cache of it.
    pub fn new(store: S, cache: Rc<Cache<K, S::Hint>>) -> Self {
        Self { store, layout: cache.layout, shape: cache.meta.shape(), cache }
    }

    pub fn meta(&self) -> Meta {
        self.cache.meta
    }

    /// Whether the index holds postings, and no block tables.
    pub fn is_of_postings(&self) -> bool {
        self.shape.is_of_postings()
    }

    /// The table of NULLs: of rows without a fingerprint, ordered by TID. In an index of postings
    /// it is that of all rows.
    pub fn null_table(&self) -> u8 {
        self.layout.blocks() as u8
    }

    /// All tables. The table of NULLs is the last.
    pub fn tables(&self) -> std::ops::RangeInclusive<u8> {
        0..=self.null_table()
    }

    /// About the number of leaves of one table.
    pub fn leaves_per_table(&self) -> f64 {
        leaves_per_table(self.layout, self.store.pages())
    }

    /// The tables worth probing, by a sample of rows.
    pub fn selective_tables(&self) -> Rc<[u32]> {
        self.sampled().selective.clone()
    }

    /// About how many leaves a scan reads to find all rows within `distance` of a row, if a table
    /// has `leaves`. A sample shows how much more alike than random the rows are.
    pub fn expected_leaves(&self, distance: u32, leaves: f64) -> f64 {
        let distance = distance.min(self.layout.bits());
        let sampled = self.sampled();
        let known = |answer: &&Answer| {
            answer.distance == distance && (answer.of - leaves).abs() <= SAME * leaves
        };
        if let Some(answer) = sampled.answers.borrow().iter().find(known) {
            return answer.read;
        }
        let plan = cost::cheapest_over::<K::Fingerprint>(
            self.layout,
            distance,
            leaves,
            &sampled.selective,
        );
        let crowding =
            sampled.crowding.get_or_init(|| Crowding::of(self.layout, &self.fingerprints()));
        let read = crowding.expected_leaves::<K::Fingerprint>(&plan, leaves);
        let mut answers = sampled.answers.borrow_mut();
        answers.retain(|answer| answer.distance != distance);
        answers.push(Answer { distance, of: leaves, read });
        read
    }

    /// A figure of an index of postings ([`crate::runs`]). It is remembered until the file has
    /// doubled, and then `find` is called again.
    pub fn remembered_run(&self, find: impl FnOnce(&Self) -> f64) -> f64 {
        let pages = self.store.pages();
        if let Some((_, run)) = self.cache.run.get().filter(|&(then, _)| pages / 2 <= then) {
            return run;
        }
        let run = find(self);
        self.cache.run.set(Some((pages, run)));
        run
    }

    /// A sample is taken again when the file has doubled.
    fn sampled(&self) -> Rc<Sampled> {
        let pages = self.store.pages();
        let known = self.cache.sampled.borrow().clone();
        if let Some(known) = known.filter(|known| pages / 2 <= known.pages) {
            return known;
        }
        let sampled = Rc::new(Sampled {
            pages,
            selective: cost::selective_tables(self.layout, &self.fingerprints()).into(),
            crowding: OnceCell::new(),
            answers: RefCell::default(),
        });
        *self.cache.sampled.borrow_mut() = Some(sampled.clone());
        sampled
    }

    fn fingerprints(&self) -> Vec<K::Fingerprint> {
        self.sample().into_iter().map(K::fingerprint).collect()
    }

    /// Raises an ERROR if a link read on page `from` leads beyond the end of the file.
    pub fn expect_page(&self, number: u32, from: u32) {
        if number >= self.cache.pages.get() {
            self.cache.pages.set(self.store.pages());
            if number >= self.cache.pages.get() {
                self.store.damaged(from, &Damage::Link(number));
            }
        }
    }

    /// The level of a table's root.
    pub fn height(&self, table: u8) -> u8 {
        let number = root(table);
        let guard = self.store.read(number);
        self.checked(number, guard.bytes()).level()
    }

    /// Checks a locked page, and raises an ERROR if it is no tree page.
    pub fn checked<'a>(&self, number: u32, bytes: &'a [u8]) -> Page<'a> {
        Page::check::<K>(bytes, &self.shape)
            .unwrap_or_else(|damage| self.store.damaged(number, &damage))
    }

    /// The cached copy of an inner page, if there is one.
    pub fn cached(&self, number: u32) -> Option<Rc<Inner<K, S::Hint>>> {
        self.cache.inner.borrow().get(&number).cloned()
    }

    /// Copies an inner page, and keeps the copy if there is room. Copies of other indexes make
    /// room. Raises an ERROR if the page's separators are out of order.
    pub fn keep(&self, number: u32, page: &Page<'_>) -> Rc<Inner<K, S::Hint>> {
        let copy = Inner::copy(page, &self.shape)
            .unwrap_or_else(|damage| self.store.damaged(number, &damage));
        let copy = Rc::new(copy);
        let Budget { copies, limit } = &*self.cache.budget;
        if copies.get() >= *limit {
            self.store.forget_others();
        }
        if copies.get() < *limit
            && self.cache.inner.borrow_mut().insert(number, copy.clone()).is_none()
        {
            copies.set(copies.get() + 1);
        }
        copy
    }

    /// Drops the copy of one page.
    pub fn forget(&self, number: u32) {
        if self.cache.inner.borrow_mut().remove(&number).is_some() {
            self.cache.give_back(1);
        }
    }

    /// Drops all copies of this index's pages.
    pub fn forget_all(&self) {
        let mut inner = self.cache.inner.borrow_mut();
        self.cache.give_back(inner.len());
        inner.clear();
    }
}

/// About the number of leaves of one table: an even share of the file's pages, without the meta
/// page and the roots.
pub fn leaves_per_table(layout: BlockLayout, pages: u32) -> f64 {
    let overhead = FIRST_ROOT + layout.blocks() + 1;
    (f64::from(pages.saturating_sub(overhead)) / f64::from(layout.blocks())).max(1.0)
}

/// The number of a table's root page.
pub fn root(table: u8) -> u32 {
    FIRST_ROOT + u32::from(table)
}
