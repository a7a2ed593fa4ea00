//! Splits: a full page makes room for one more entry.
//!
//! A split, its new right page and the parent's new downlink are one record, so no crash and no
//! reader ever sees a page without its downlink. The parent must have room for that, so a full
//! parent is split first, from the top down. The root of a table stays on its page. When it is
//! full, it hands its contents to two new pages and becomes their parent.

use simhash_core::search::Key;

use crate::allocate::new_page;
use crate::damage::Damage;
use crate::index::{Index, root};
use crate::mutant::{self, Mutant};
use crate::page::{Bounds, Downlink, Entry, Page, PageMut};
use crate::store::{Extent, Lock, Store};
use crate::tree::ATTEMPTS;

/// The contents of a full page, cut in two.
struct Halves<T, F> {
    left: Vec<T>,
    right: Vec<T>,
    /// The least entry that belongs on the right.
    separator: Entry<F>,
}

/// The contents of a full leaf or inner page, cut in two.
enum Cut<F> {
    Leaf(Halves<Entry<F>, F>),
    Inner(Halves<Downlink<F>, F>),
}

/// What became of a root that was to be split.
enum Root {
    Split,
    HasRoom,
    /// It is at a higher level by now.
    HasGrown,
}

impl<F: Key, S: Store> Index<F, S> {
    /// Makes room for `target` on its leaf of `table`. The caller must have no page locked. Others
    /// may take the room again before the caller comes back to it. Returns the leaf's number if it
    /// had room already.
    pub fn make_room(&self, table: u8, target: &Entry<F>) -> Option<u32> {
        self.make_room_at(table, target, 0)
    }

    fn make_room_at(&self, table: u8, target: &Entry<F>, level: u8) -> Option<u32> {
        for _ in 0..ATTEMPTS {
            let Some((parent, parent_number)) = self.cover_level(table, target, level + 1) else {
                match self.split_root(table, target, level) {
                    Root::HasRoom => return Some(root(table)),
                    Root::Split => return None,
                    Root::HasGrown => continue,
                }
            };
            let parent_page = self.checked(parent_number, parent.bytes());
            if !parent_page.has_room() {
                drop(parent);
                self.make_room_at(table, target, level + 1);
                continue;
            }
            let position = parent_page.child_covering(target);
            let number = parent_page.child(position);
            self.expect_page(number, parent_number);
            let full = self.store.exclusive_after(number, &[&parent]);
            let page = self.checked(number, full.bytes());
            self.expect_child(&parent_page, position, &page);
            if page.has_room() {
                return Some(number);
            }
            self.split_child(&parent, parent_number, position, full, target);
            return None;
        }
        self.store.damaged(root(table), &Damage::Other("its tree cannot be descended"))
    }

    /// Raises an ERROR unless `page` is what its parent's downlink says.
    pub fn expect_child(&self, parent: &Page<'_>, position: usize, page: &Page<'_>) {
        let number = parent.child(position);
        if page.is_deleted() || page.table() != parent.table() || page.level() + 1 != parent.level()
        {
            self.store.damaged(number, &Damage::Place { table: page.table(), level: page.level() });
        }
        let next = position + 1;
        let high =
            if next < parent.len() { Some(parent.entry(next)) } else { parent.bounds().high };
        if page.bounds::<F>() != (Bounds { low: parent.entry(position), high }) {
            let damage = Damage::Other("its bounds are not those that its parent gives it");
            self.store.damaged(number, &damage);
        }
    }

    /// Splits `full`, which is the child at `position` of `parent`.
    fn split_child(
        &self,
        parent: &S::Exclusive,
        parent_number: u32,
        position: usize,
        mut full: S::Exclusive,
        target: &Entry<F>,
    ) {
        let full_number = self.store.number(&full);
        let page = self.checked(full_number, full.bytes());
        let (table, level, bounds, right) =
            (page.table(), page.level(), page.bounds::<F>(), page.right());
        let cut = cut(&page, target);
        let separator = cut.separator();
        if mutant::is(Mutant::ReleasedEarly) {
            drop(full);
            full = self.store.exclusive_after(full_number, &[parent]);
        }
        let new = new_page(&self.store);
        let new_number = self.store.number(&new);
        let parent_page = self.checked(parent_number, parent.bytes());
        let mut downlinks = downlinks(&parent_page);
        downlinks.insert(position + 1, Downlink { separator, child: new_number });

        let upper = Bounds { low: separator, high: bounds.high };
        let fill = |new: &mut [u8], full: &mut [u8]| {
            cut.fill_right(&mut PageMut::format(new, table, level, &upper, right));
            let mut left = PageMut::existing(full);
            cut.fill_left(&mut left);
            let beside =
                if mutant::is(Mutant::NewPageNotLinked) { right } else { Some(new_number) };
            left.set_high(beside.map(|_| separator), beside);
        };
        let fresh = if mutant::is(Mutant::NewPageInParts) { Extent::Parts } else { Extent::Whole };
        let [new, full, parent] = [(&new, fresh), (&full, Extent::Parts), (parent, Extent::Parts)];
        if mutant::is(Mutant::SplitInTwo) {
            self.store.change([new, full], |[new, full]| fill(new, full));
            self.store
                .change([parent], |[parent]| PageMut::existing(parent).set_downlinks(&downlinks));
        } else {
            self.store.change([new, full, parent], |[new, full, parent]| {
                fill(new, full);
                PageMut::existing(parent).set_downlinks(&downlinks);
            });
        }
        self.forget(parent_number);
    }

    /// Splits the root if it is at `level` and full.
    fn split_root(&self, table: u8, target: &Entry<F>, level: u8) -> Root {
        let number = root(table);
        let locked = self.store.lock(number);
        let page = self.checked(number, locked.bytes());
        if page.level() != level {
            return Root::HasGrown;
        }
        if page.has_room() {
            return Root::HasRoom;
        }
        let (left, right) = (new_page(&self.store), new_page(&self.store));
        let cut = cut(&page, target);
        let separator = cut.separator();
        let children = [
            Downlink { separator: Entry::MIN, child: self.store.number(&left) },
            Downlink { separator, child: self.store.number(&right) },
        ];

        let lower = Bounds { low: Entry::MIN, high: Some(separator) };
        let upper = Bounds { low: separator, high: None };
        let beside = Some(children[1].child);
        let fill = |left: &mut [u8], right: &mut [u8]| {
            cut.fill_left(&mut PageMut::format(left, table, level, &lower, beside));
            cut.fill_right(&mut PageMut::format(right, table, level, &upper, None));
        };
        let raise = |root: &mut [u8]| {
            PageMut::format::<F>(root, table, level + 1, &Bounds::ALL, None)
                .set_downlinks(&children);
        };
        let pages = [(&left, Extent::Whole), (&right, Extent::Whole), (&locked, Extent::Whole)];
        if mutant::is(Mutant::RootSplitInTwo) {
            self.store.change([pages[2]], |[root]| raise(root));
            self.store.change([pages[0], pages[1]], |[left, right]| fill(left, right));
        } else {
            self.store.change(pages, |[left, right, root]| {
                fill(left, right);
                raise(root);
            });
        }
        self.forget(number);
        Root::Split
    }
}

/// All downlinks of an inner page.
pub fn downlinks<F: Key>(page: &Page<'_>) -> Vec<Downlink<F>> {
    (0..page.len()).map(|i| Downlink { separator: page.entry(i), child: page.child(i) }).collect()
}

/// Cuts the contents of a full page. Entries that arrive in ascending order, such as equal
/// fingerprints by TID, find their page full of smaller ones. Those stay together then, and the
/// target begins a new page.
fn cut<F: Key>(page: &Page<'_>, target: &Entry<F>) -> Cut<F> {
    if page.is_leaf() {
        let mut entries: Vec<Entry<F>> = page.entries().collect();
        entries.sort_unstable();
        let ascending = entries.last().is_none_or(|last| last < target);
        let at = if ascending { entries.len() } else { entries.len() / 2 };
        let right = entries.split_off(at);
        let separator = right.first().copied().unwrap_or(*target);
        Cut::Leaf(Halves { left: entries, right, separator })
    } else {
        let mut links = downlinks(page);
        let ascending = links.last().is_none_or(|last| last.separator <= *target);
        let at = if ascending { links.len() - 1 } else { links.len() / 2 };
        let right = links.split_off(at);
        let separator = right[0].separator;
        Cut::Inner(Halves { left: links, right, separator })
    }
}

impl<F: Key> Cut<F> {
    fn separator(&self) -> Entry<F> {
        match self {
            Cut::Leaf(halves) => halves.separator,
            Cut::Inner(halves) => halves.separator,
        }
    }

    fn fill_left(&self, page: &mut PageMut<'_>) {
        match self {
            Cut::Leaf(halves) => page.set_entries(&halves.left),
            Cut::Inner(halves) => page.set_downlinks(&halves.left),
        }
    }

    fn fill_right(&self, page: &mut PageMut<'_>) {
        match self {
            Cut::Leaf(halves) => page.set_entries(&halves.right),
            Cut::Inner(halves) => page.set_downlinks(&halves.right),
        }
    }
}
