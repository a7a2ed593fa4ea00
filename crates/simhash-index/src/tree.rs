//! Descents: from an entry to the locked leaf that covers it.
//!
//! A leaf found by cached copies may have been split (the entry is to the right), taken out of the
//! tree or used anew (start over from the root as it is now). Only what a locked page says of itself
//! is believed.

use std::cell::Cell;
use std::rc::Rc;

use simhash_core::search::Key;
use simhash_core::simd::popcount::within;

use crate::damage::Damage;
use crate::index::{Index, Inner, root};
use crate::mutant::{self, Mutant};
use crate::page::{Entry, Page};
use crate::store::{Lock, Store};

/// A tree that cannot be descended after so many attempts is damaged, not busy.
pub const ATTEMPTS: usize = 100;

/// How many right links are followed from where a cached copy led.
const PATIENCE: usize = 8;

/// Where a leaf should be, and the parent's copy that says so.
pub struct Place<F, S: Store> {
    pub leaf: u32,
    pub parent: Option<Parent<F, S>>,
}

/// A copy of a leaf's parent.
pub struct Parent<F, S: Store> {
    pub block: u32,
    pub copy: Rc<Inner<F, S::Hint>>,
    /// Which child the leaf is.
    pub child: usize,
}

impl<F, S: Store> Parent<F, S> {
    /// The hint where the leaf's buffer is.
    pub fn recent(&self) -> &Cell<S::Hint> {
        &self.copy.children[self.child].recent
    }

    /// The hint where in the leaf the next key goes.
    pub fn next_key(&self) -> &Cell<u16> {
        &self.copy.children[self.child].next_key
    }

    /// Another handle on the same copy.
    pub fn share(&self) -> Self {
        Self { block: self.block, copy: self.copy.clone(), child: self.child }
    }
}

/// A descent that has not reached a leaf's parent yet.
pub struct Descent<F, S: Store> {
    table: u8,
    block: u32,
    /// The level of the page above.
    above: u8,
    /// The page's copy, if it is an inner page.
    copy: Option<Rc<Inner<F, S::Hint>>>,
}

/// What a page is to someone who looks for an entry on its table and level.
enum Arrival {
    Covers,
    GoRight(u32),
    StartOver(Damage),
}

impl<F: Key, S: Store> Index<F, S> {
    /// Checks a locked page; an ERROR if it is no tree page.
    pub fn checked<'a>(&self, block: u32, bytes: &'a [u8]) -> Page<'a> {
        Page::check::<F>(bytes).unwrap_or_else(|damage| self.store.damaged(block, &damage))
    }

    /// The leaf of `table` that covers `target`, by cached copies as far as there are any.
    pub fn locate(&self, table: u8, target: &Entry<F>) -> Place<F, S> {
        let mut descent = self.begin(table, target);
        loop {
            match self.descend(descent, target) {
                Ok(place) => return place,
                Err(deeper) => descent = deeper,
            }
        }
    }

    /// Begins a descent at the root. Several may go down side by side: what the next step of each will
    /// read is on its way while the others take theirs.
    pub fn begin(&self, table: u8, target: &Entry<F>) -> Descent<F, S> {
        self.enter(table, root(table), u8::MAX, target)
    }

    fn enter(&self, table: u8, block: u32, above: u8, target: &Entry<F>) -> Descent<F, S> {
        let copy = self.cached(block).or_else(|| self.read_inner(table, block));
        if let Some(copy) = &copy {
            copy.prefetch(target);
        }
        Descent { table, block, above, copy }
    }

    /// One step down: the leaf, or the descent from the next level.
    pub fn descend(&self, descent: Descent<F, S>, target: &Entry<F>) -> Result<Place<F, S>, Descent<F, S>> {
        let Descent { table, block, above, copy } = descent;
        let Some(copy) = copy else {
            return Ok(Place { leaf: block, parent: None });
        };
        if copy.level >= above {
            // Its block is used anew, or the copy above it is old. Whoever locks the page finds no leaf there and starts over.
            return Ok(Place { leaf: block, parent: None });
        }
        let child = copy.child_covering(target);
        let next = copy.children[child].block;
        self.expect_block(next, block);
        if copy.level == 1 {
            return Ok(Place { leaf: next, parent: Some(Parent { block, copy, child }) });
        }
        Err(self.enter(table, next, copy.level, target))
    }

    /// Some rows' fingerprints: separators of the first table, from at most 16 of its inner pages, evenly
    /// spaced in both. None while the table is a single leaf.
    pub fn sample(&self) -> Vec<F> {
        const PAGES: usize = 16;
        const EACH: usize = 16;
        let Some(top) = self.read_copy(root(0)) else {
            return Vec::new();
        };
        if top.level == 1 {
            return top.some_keys(PAGES * EACH).collect();
        }
        let pages = PAGES.min(top.children.len());
        let children = (0..pages).map(|i| top.children[i * top.children.len() / pages].block);
        children
            .inspect(|&child| self.expect_block(child, root(0)))
            .filter_map(|child| self.read_copy(child))
            .flat_map(|copy| copy.some_keys(EACH).collect::<Vec<F>>())
            .collect()
    }

    fn read_copy(&self, block: u32) -> Option<Rc<Inner<F, S::Hint>>> {
        self.cached(block).or_else(|| self.read_inner(0, block))
    }

    /// Copies an inner page. `None` when it is no inner page of `table` (any more): the caller takes
    /// it for a leaf, and whoever locks it finds out.
    fn read_inner(&self, table: u8, block: u32) -> Option<Rc<Inner<F, S::Hint>>> {
        let guard = self.store.read(block);
        let page = Page::check::<F>(guard.bytes()).ok()?;
        let usable = page.table() == table && !page.is_leaf() && !page.is_deleted() && !page.is_empty();
        usable.then(|| self.keep(block, &page))
    }

    /// As [`Index::cover`] for a caller that has other leaves locked: it waits for no page, for what a
    /// copy says may be a page that is used anew, one that the caller has locked or whose holder waits
    /// for it. `None` when the leaf is locked by anyone, or not where `place` says.
    pub fn cover_at_once(
        &self,
        table: u8,
        target: &Entry<F>,
        place: &Place<F, S>,
    ) -> Option<(S::Exclusive, u32)> {
        let mut block = place.leaf;
        let mut recent = place.parent.as_ref().map(Parent::recent);
        for _ in 0..=PATIENCE {
            let guard = self.store.try_exclusive(self.store.pin(block, recent.take()))?;
            match self.arrive(table, block, guard.bytes(), target).0 {
                Arrival::GoRight(_) if mutant::is(Mutant::HighBoundUnchecked) => return Some((guard, block)),
                Arrival::Covers => {
                    if block != place.leaf
                        && let Some(parent) = &place.parent
                    {
                        self.forget(parent.block);
                    }
                    return Some((guard, block));
                }
                Arrival::GoRight(right) => {
                    self.expect_block(right, block);
                    block = right;
                }
                Arrival::StartOver(_) => return None,
            }
        }
        None
    }

    /// The locked leaf of `table` that covers `target`, and its block. `hint` is where to look first.
    /// It may wait: no page may be locked by the caller.
    pub fn cover<G: Lock<S>>(&self, table: u8, target: &Entry<F>, hint: Option<Place<F, S>>) -> (G, u32) {
        let mut hint = hint;
        let mut last = None;
        for attempt in 0..ATTEMPTS {
            let place = hint.take().unwrap_or_else(|| self.locate(table, target));
            // A long way from where a copy said means an old copy; from a fresh one every step counts.
            let steps = if attempt == 0 { PATIENCE } else { usize::MAX };
            match self.cover_from::<G>(table, target, &place, steps) {
                Ok((guard, block)) => {
                    if block != place.leaf
                        && let Some(parent) = place.parent
                    {
                        self.forget(parent.block);
                    }
                    return (guard, block);
                }
                Err(found) => last = Some(found),
            }
            self.forget_all();
            self.store.check_for_interrupts();
        }
        let (block, damage) = last.unwrap_or((root(table), Damage::Other("it cannot be reached")));
        self.store.damaged(block, &damage)
    }

    /// As [`Index::cover`] for a reader of the table's rows: an ERROR where the snapshot is too old
    /// for the leaf.
    pub fn read_leaf(&self, table: u8, target: &Entry<F>, hint: Option<Place<F, S>>) -> (S::Shared, u32) {
        let (leaf, block) = self.cover::<S::Shared>(table, target, hint);
        self.store.expect_recent(leaf.bytes());
        (leaf, block)
    }

    /// The locked leaf that holds exactly this entry, if there is one.
    pub fn find(&self, table: u8, entry: &Entry<F>) -> Option<S::Shared> {
        let (leaf, block) = self.cover::<S::Shared>(table, entry, None);
        let page = self.checked(block, leaf.bytes());
        let mut positions = Vec::new();
        within(page.keys(), entry.key, 0, &mut positions);
        let found = positions
            .iter()
            .any(|&i| page.tid(i as usize) == entry.tid || mutant::is(Mutant::TidNotCompared));
        found.then_some(leaf)
    }

    fn cover_from<G: Lock<S>>(
        &self,
        table: u8,
        target: &Entry<F>,
        place: &Place<F, S>,
        mut steps: usize,
    ) -> Result<(G, u32), (u32, Damage)> {
        let mut block = place.leaf;
        let mut recent = place.parent.as_ref().map(Parent::recent);
        let mut previous = None;
        loop {
            let guard = G::wait(&self.store, self.store.pin(block, recent.take()));
            let (arrival, low) = self.arrive(table, block, guard.bytes(), target);
            match arrival {
                Arrival::Covers => return Ok((guard, block)),
                Arrival::GoRight(right) if previous.is_none_or(|left| low > left) && steps > 0 => {
                    steps -= 1;
                    self.expect_block(right, block);
                    previous = Some(low);
                    block = right;
                }
                Arrival::GoRight(_) => return Err((block, Damage::Link(block))),
                Arrival::StartOver(damage) => return Err((block, damage)),
            }
            drop(guard);
            self.store.check_for_interrupts();
        }
    }

    fn arrive(&self, table: u8, block: u32, bytes: &[u8], target: &Entry<F>) -> (Arrival, Entry<F>) {
        let page = match Page::check::<F>(bytes) {
            Ok(page) => page,
            // A page allocated by a split that a crash undid.
            Err(Damage::Empty) => return (Arrival::StartOver(Damage::Empty), Entry::MIN),
            Err(damage) => self.store.damaged(block, &damage),
        };
        let bounds = page.bounds();
        let is_elsewhere = page.table() != table || *target < bounds.low;
        let arrival = if page.is_deleted()
            || !page.is_leaf()
            || is_elsewhere && !mutant::is(Mutant::StaleCopyTrusted)
        {
            Arrival::StartOver(Damage::Place { table: page.table(), level: page.level() })
        } else if bounds.is_before(target) && !mutant::is(Mutant::RightLinkIgnored) {
            page.right().map_or(Arrival::Covers, Arrival::GoRight)
        } else {
            Arrival::Covers
        };
        (arrival, bounds.low)
    }

    /// The exclusively locked page of `level` of `table` that covers `target`, found without cached
    /// copies. `None` when the tree is not that high.
    pub fn cover_level(&self, table: u8, target: &Entry<F>, level: u8) -> Option<(S::Exclusive, u32)> {
        for _ in 0..ATTEMPTS {
            self.store.check_for_interrupts();
            let root_block = root(table);
            let guard = self.store.read(root_block);
            let page = self.checked(root_block, guard.bytes());
            let mut reached = page.level();
            if reached < level {
                return None;
            }
            let mut block = root_block;
            let mut next = (reached > level).then(|| page.child(page.child_covering(target)));
            drop(guard);
            while let Some(child) = next.take() {
                self.expect_block(child, block);
                block = child;
                reached -= 1;
                if reached > level {
                    let guard = self.store.read(block);
                    let page = self.checked(block, guard.bytes());
                    if !self.is_on(&page, table, reached, target) {
                        break;
                    }
                    next = Some(page.child(page.child_covering(target)));
                }
            }
            if reached != level {
                continue;
            }
            let guard = self.store.lock(block);
            let page = self.checked(block, guard.bytes());
            if self.is_on(&page, table, level, target) {
                return Some((guard, block));
            }
        }
        self.store.damaged(root(table), &Damage::Other("its tree cannot be descended"))
    }

    fn is_on(&self, page: &Page<'_>, table: u8, level: u8, target: &Entry<F>) -> bool {
        !page.is_deleted()
            && page.table() == table
            && page.level() == level
            && page.bounds().contains(target)
            && (level == 0 || !page.is_empty())
    }
}
