//! Descents: from an entry to the locked leaf that covers it.
//!
//! A leaf found by cached copies may have been split since: then the entry is to the right of it.
//! Or it was taken out of the tree, and perhaps reused: then the descent starts over from the root
//! as it is now. The descent relies only on what a locked page says of itself.

use std::cell::Cell;
use std::rc::Rc;

use crate::damage::Damage;
use crate::index::{Index, Inner, root};
use crate::key::TreeKey;
use crate::page::{Entry, Page};
use crate::store::{Lock, Store};

/// A tree that cannot be descended in this many attempts is damaged, not busy.
pub const ATTEMPTS: usize = 100;

/// How many right links are followed from where a cached copy led.
const PATIENCE: usize = 8;

/// Where a leaf should be, and the parent's copy that says so.
pub struct Place<K, S: Store> {
    pub leaf: u32,
    pub parent: Option<Parent<K, S>>,
}

/// A copy of a leaf's parent.
pub struct Parent<K, S: Store> {
    pub number: u32,
    pub copy: Rc<Inner<K, S::Hint>>,
    /// Which of its children the leaf is.
    pub child: usize,
}

impl<K, S: Store> Parent<K, S> {
    /// The hint where in memory the leaf is.
    pub fn recent(&self) -> &Cell<S::Hint> {
        &self.copy.children[self.child].recent
    }

    /// The hint where in the leaf the next row goes.
    pub fn next(&self) -> &Cell<[u16; 2]> {
        &self.copy.children[self.child].next
    }

    /// Another handle on the same copy.
    pub fn share(&self) -> Self {
        Self { number: self.number, copy: self.copy.clone(), child: self.child }
    }
}

/// A descent that has not reached a leaf's parent yet.
pub struct Descent<K, S: Store> {
    table: u8,
    number: u32,
    /// The level of the page above. None at the root.
    above: Option<u8>,
    /// The page's copy, if it is an inner page.
    copy: Option<Rc<Inner<K, S::Hint>>>,
}

/// What a page is to a search for an entry on its table and level.
enum Arrival {
    Covers,
    GoRight(u32),
    StartOver(Damage),
}

/// Why a leaf could not be locked at once.
pub enum Missed {
    /// It is locked by another process, or by this one.
    Locked,
    /// It is not where it was expected.
    Elsewhere,
}

impl<K: TreeKey, S: Store> Index<K, S> {
    /// Where the leaf of `table` is that covers `target`, by cached copies as far as there are any.
    pub fn locate(&self, table: u8, target: &Entry<K>) -> Place<K, S> {
        let mut descent = self.begin(table, target);
        loop {
            match self.descend(descent, target) {
                Ok(place) => return place,
                Err(deeper) => descent = deeper,
            }
        }
    }

    /// Begins a descent at the root. Several descents may go down side by side: what the next step
    /// of one reads is being fetched while the others take their steps.
    pub fn begin(&self, table: u8, target: &Entry<K>) -> Descent<K, S> {
        self.enter(table, root(table), None, target)
    }

    fn enter(&self, table: u8, number: u32, above: Option<u8>, target: &Entry<K>) -> Descent<K, S> {
        let copy = self.cached(number).or_else(|| self.read_inner(table, number));
        if let Some(copy) = &copy {
            copy.prefetch(target);
        }
        Descent { table, number, above, copy }
    }

    /// One step down: the leaf, or the descent from the next level.
    pub fn descend(
        &self,
        descent: Descent<K, S>,
        target: &Entry<K>,
    ) -> Result<Place<K, S>, Descent<K, S>> {
        let Descent { table, number, above, copy } = descent;
        let Some(copy) = copy else {
            return Ok(Place { leaf: number, parent: None });
        };
        if above.is_some_and(|above| copy.level >= above) {
            // The page was reused, or the copy above it is old. The caller that locks the page
            // finds no leaf there and starts over.
            return Ok(Place { leaf: number, parent: None });
        }
        let child = copy.child_covering(target);
        let next = copy.children[child].number;
        self.expect_page(next, number);
        if copy.level == 1 {
            return Ok(Place { leaf: next, parent: Some(Parent { number, copy, child }) });
        }
        Err(self.enter(table, next, Some(copy.level), target))
    }

    /// The keys of some rows: separators of the first table. There are none while the table is a
    /// single leaf.
    pub fn sample(&self) -> Vec<K> {
        self.separators(0).into_iter().map(|separator| separator.key).collect()
    }

    /// Separators of a table's leaves, from at most 16 of its inner pages. Pages are evenly spaced,
    /// and so are the separators of a page. There are none while the table is a single leaf.
    pub fn separators(&self, table: u8) -> Vec<Entry<K>> {
        const PAGES: usize = 16;
        const EACH: usize = 16;
        let Some(top) = self.copy_of(table, root(table)) else {
            return Vec::new();
        };
        if top.level == 1 {
            return top.some_separators(PAGES * EACH).collect();
        }
        let pages = PAGES.min(top.children.len());
        let children = (0..pages).map(|i| top.children[i * top.children.len() / pages].number);
        children
            .inspect(|&child| self.expect_page(child, root(table)))
            .filter_map(|child| self.copy_of(table, child))
            .flat_map(|copy| copy.some_separators(EACH).collect::<Vec<_>>())
            .collect()
    }

    /// About the number of leaves of a table.
    pub fn table_leaves(&self, table: u8) -> u32 {
        let (mut leaves, mut number) = (1u32, root(table));
        let mut above = None;
        while let Some(copy) = self.copy_of(table, number) {
            if above.is_some_and(|above| copy.level >= above) {
                // The page was reused, or the copy above it is old.
                break;
            }
            above = Some(copy.level);
            leaves = leaves.saturating_mul(copy.children.len() as u32);
            if copy.level == 1 {
                break;
            }
            let middle = copy.children[copy.children.len() / 2].number;
            self.expect_page(middle, number);
            number = middle;
        }
        leaves
    }

    /// A copy of an inner page of a table. `None` when it is none.
    pub fn copy_of(&self, table: u8, number: u32) -> Option<Rc<Inner<K, S::Hint>>> {
        self.cached(number).or_else(|| self.read_inner(table, number))
    }

    /// Copies an inner page. `None` when it is no inner page of `table`, or no longer. Then the
    /// caller treats it as a leaf, and the lock shows whether it is one.
    fn read_inner(&self, table: u8, number: u32) -> Option<Rc<Inner<K, S::Hint>>> {
        let guard = self.store.read(number);
        let page = Page::check::<K>(guard.bytes(), &self.shape).ok()?;
        let usable =
            page.table() == table && !page.is_leaf() && !page.is_deleted() && !page.is_empty();
        usable.then(|| self.keep(number, &page))
    }

    /// As [`Index::cover`], for a caller that has other leaves locked. It waits for no page: the
    /// page that a copy names may have been reused, so the caller may have it locked itself, or its
    /// holder may wait for the caller.
    pub fn cover_at_once(
        &self,
        table: u8,
        target: &Entry<K>,
        place: &Place<K, S>,
    ) -> Result<(S::Exclusive, u32), Missed> {
        let mut number = place.leaf;
        let mut recent = place.parent.as_ref().map(Parent::recent);
        for _ in 0..=PATIENCE {
            let pin = self.store.pin(number, recent.take());
            let Some(guard) = self.store.try_exclusive(pin) else { return Err(Missed::Locked) };
            match self.arrive(table, number, guard.bytes(), target).0 {
                Arrival::Covers => {
                    if number != place.leaf
                        && let Some(parent) = &place.parent
                    {
                        self.forget(parent.number);
                    }
                    return Ok((guard, number));
                }
                Arrival::GoRight(right) => {
                    self.expect_page(right, number);
                    number = right;
                }
                Arrival::StartOver(_) => break,
            }
        }
        Err(Missed::Elsewhere)
    }

    /// The locked leaf of `table` that covers `target`, and its number. `hint` is where to look
    /// first. It may wait, so the caller must have no page locked.
    pub fn cover<G: Lock<S>>(
        &self,
        table: u8,
        target: &Entry<K>,
        hint: Option<Place<K, S>>,
    ) -> (G, u32) {
        let mut hint = hint;
        let mut last = None;
        for attempt in 0..ATTEMPTS {
            let place = hint.take().unwrap_or_else(|| self.locate(table, target));
            // A long way to the right means that the copy is old, and a descent from the root is
            // shorter. After a fresh descent the way is followed to its end.
            let steps = if attempt == 0 { PATIENCE } else { usize::MAX };
            match self.cover_from::<G>(table, target, &place, steps) {
                Ok((guard, number)) => {
                    if number != place.leaf
                        && let Some(parent) = place.parent
                    {
                        self.forget(parent.number);
                    }
                    return (guard, number);
                }
                Err(found) => last = Some(found),
            }
            self.forget_all();
            self.store.check_for_interrupts();
        }
        let (number, damage) = last.unwrap_or((root(table), Damage::Other("it cannot be reached")));
        self.store.damaged(number, &damage)
    }

    /// As [`Index::cover`], for a reader of the table's rows. Raises an ERROR if the snapshot is
    /// too old for the leaf.
    pub fn read_leaf(
        &self,
        table: u8,
        target: &Entry<K>,
        hint: Option<Place<K, S>>,
    ) -> (S::Shared, u32) {
        let (leaf, number) = self.cover::<S::Shared>(table, target, hint);
        self.store.expect_recent(leaf.bytes());
        (leaf, number)
    }

    /// The locked leaf that holds exactly this entry, if there is one, and where it is on the leaf.
    pub fn find(&self, table: u8, entry: &Entry<K>) -> Option<(S::Shared, usize)> {
        let (leaf, number) = self.cover::<S::Shared>(table, entry, None);
        let page = self.checked(number, leaf.bytes());
        let mut positions = Vec::new();
        page.within_of(entry, &mut positions);
        let is_entry =
            |&i: &usize| page.tid(i) == entry.tid && page.scope::<K>(i) == entry.key.scope();
        let found = positions.into_iter().map(|i| i as usize).find(is_entry)?;
        Some((leaf, found))
    }

    fn cover_from<G: Lock<S>>(
        &self,
        table: u8,
        target: &Entry<K>,
        place: &Place<K, S>,
        mut steps: usize,
    ) -> Result<(G, u32), (u32, Damage)> {
        let mut number = place.leaf;
        let mut recent = place.parent.as_ref().map(Parent::recent);
        let mut previous = None;
        loop {
            let guard = G::wait(&self.store, self.store.pin(number, recent.take()));
            let (arrival, low) = self.arrive(table, number, guard.bytes(), target);
            match arrival {
                Arrival::Covers => return Ok((guard, number)),
                Arrival::GoRight(right) if previous.is_none_or(|left| low > left) && steps > 0 => {
                    steps -= 1;
                    self.expect_page(right, number);
                    previous = Some(low);
                    number = right;
                }
                Arrival::GoRight(_) => return Err((number, Damage::Link(number))),
                Arrival::StartOver(damage) => return Err((number, damage)),
            }
            drop(guard);
            self.store.check_for_interrupts();
        }
    }

    fn arrive(
        &self,
        table: u8,
        number: u32,
        bytes: &[u8],
        target: &Entry<K>,
    ) -> (Arrival, Entry<K>) {
        let page = match Page::check::<K>(bytes, &self.shape) {
            Ok(page) => page,
            // A page allocated by a split that a crash undid.
            Err(Damage::Empty) => return (Arrival::StartOver(Damage::Empty), Entry::MIN),
            Err(damage) => self.store.damaged(number, &damage),
        };
        let bounds = page.bounds();
        let is_elsewhere = page.table() != table || *target < bounds.low;
        let arrival = if page.is_deleted() || !page.is_leaf() || is_elsewhere {
            Arrival::StartOver(Damage::Place { table: page.table(), level: page.level() })
        } else if bounds.is_before(target) {
            page.right().map_or(Arrival::Covers, Arrival::GoRight)
        } else {
            Arrival::Covers
        };
        (arrival, bounds.low)
    }

    /// The exclusively locked page of `level` of `table` that covers `target`, found without cached
    /// copies. `None` when the tree is not that high.
    pub fn cover_level(
        &self,
        table: u8,
        target: &Entry<K>,
        level: u8,
    ) -> Option<(S::Exclusive, u32)> {
        for _ in 0..ATTEMPTS {
            self.store.check_for_interrupts();
            let top = root(table);
            let guard = self.store.read(top);
            let page = self.checked(top, guard.bytes());
            let mut reached = page.level();
            if reached < level {
                return None;
            }
            let mut number = top;
            let mut next = (reached > level).then(|| page.child(page.child_covering(target)));
            drop(guard);
            while let Some(child) = next.take() {
                self.expect_page(child, number);
                number = child;
                reached -= 1;
                if reached > level {
                    let guard = self.store.read(number);
                    let page = self.checked(number, guard.bytes());
                    if !self.is_on(&page, table, reached, target) {
                        break;
                    }
                    next = Some(page.child(page.child_covering(target)));
                }
            }
            if reached != level {
                continue;
            }
            let guard = self.store.lock(number);
            let page = self.checked(number, guard.bytes());
            if self.is_on(&page, table, level, target) {
                return Some((guard, number));
            }
        }
        self.store.damaged(root(table), &Damage::Other("its tree cannot be descended"))
    }

    fn is_on(&self, page: &Page<'_>, table: u8, level: u8, target: &Entry<K>) -> bool {
        !page.is_deleted()
            && page.table() == table
            && page.level() == level
            && page.bounds().contains(target)
            && (level == 0 || !page.is_empty())
    }
}
