//! Splits: a full page makes room for one more entry.
//!
//! A split, its new right page and the parent's new downlink are one record, so no crash and no
//! reader ever sees a page without its downlink. The parent must have room for that, so a full
//! parent is split first, from the top down. The root of a table stays on its page. When it is
//! full, it hands its contents to two new pages and becomes their parent.
//!
//! A leaf is not split if another form of its rows makes room. The form chosen is the one with the
//! fewest bytes that takes the rows and the entry.

use crate::allocate::new_page;
use crate::damage::Damage;
use crate::form::{Common, Form};
use crate::index::{Index, root};
use crate::key::{Shape, TreeKey};
use crate::page::write::{Downlink, PageMut, Place};
use crate::page::{Bounds, Entry, MAX_LEVEL, Page, Row, may_be_waited_for};
use crate::store::{Extent, Lock, Store};
use crate::tree::ATTEMPTS;

/// The contents of a full page, cut in two.
struct Halves<T, K> {
    left: Vec<T>,
    right: Vec<T>,
    /// The least entry that belongs on the right.
    separator: Entry<K>,
}

/// The contents of a full leaf or inner page, cut in two.
enum Cut<K: TreeKey> {
    Leaf(Halves<Row<K>, K>),
    Inner(Halves<Downlink<K>, K>),
}

/// The state of a root that was to be split.
enum Root {
    Split,
    HasRoom,
    /// It is at a higher level by now.
    HasGrown,
}

impl<K: TreeKey, S: Store> Index<K, S> {
    /// Makes room for `target` on its leaf of `table`. The caller must have no page locked. Others
    /// may take the room again before the caller comes back to it. Returns the leaf's number if it
    /// had room already.
    pub fn make_room(&self, table: u8, target: &Entry<K>) -> Option<u32> {
        self.make_room_at(table, target, 0)
    }

    fn make_room_at(&self, table: u8, target: &Entry<K>, level: u8) -> Option<u32> {
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
            let full = self.exclusive_after(number, &[&parent]);
            let page = self.checked(number, full.bytes());
            self.expect_child(&parent_page, position, &page);
            if page.has_room_for(target) {
                return Some(number);
            }
            if self.reshape(&page, &full, target) {
                return None;
            }
            self.split_child(&parent, parent_number, position, &full, target);
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
        if page.bounds::<K>() != (Bounds { low: parent.entry(position), high }) {
            let damage = Damage::Other("its bounds differ from those in its parent");
            self.store.damaged(number, &damage);
        }
    }

    /// Splits `full`, which is the child at `position` of `parent`.
    fn split_child(
        &self,
        parent: &S::Exclusive,
        parent_number: u32,
        position: usize,
        full: &S::Exclusive,
        target: &Entry<K>,
    ) {
        let full_number = self.store.number(full);
        let page = self.checked(full_number, full.bytes());
        let (table, level, bounds, right) =
            (page.table(), page.level(), page.bounds::<K>(), page.right());
        let parent_page = self.checked(parent_number, parent.bytes());
        self.expect_entries(parent_number, &parent_page);
        let cut = self.cut(full_number, &page, target);
        let separator = cut.separator();
        let new = new_page(&self.store);
        let new_number = self.store.number(&new);
        let mut downlinks = downlinks(&parent_page);
        downlinks.insert(position + 1, Downlink { separator, child: new_number });

        let upper = Bounds { low: separator, high: bounds.high };
        let pages = [(&new, Extent::Whole), (full, Extent::Parts), (parent, Extent::Parts)];
        self.store.change(pages, |[new, full, parent]| {
            let place = Place { table, level, bounds: &upper, right };
            cut.fill_right(&self.shape, &mut self.format(new, &place), &upper.low);
            let mut left = self.edit(full);
            cut.fill_left(&self.shape, &mut left, &bounds.low);
            left.set_high(Some(separator), Some(new_number));
            self.edit(parent).set_downlinks(&downlinks);
        });
        self.forget(parent_number);
    }

    /// Stores the rows of a leaf in another form if that makes room for `target`.
    pub(crate) fn reshape(
        &self,
        page: &Page<'_>,
        locked: &S::Exclusive,
        target: &Entry<K>,
    ) -> bool {
        if !page.is_leaf() {
            return false;
        }
        let form = self.other_form(page, target);
        let capacity = self.shape.at(page.table()).leaf_capacity(S::PAGE, form);
        if form == page.form() || page.len() >= capacity {
            return false;
        }
        self.expect_entries(self.store.number(locked), page);
        let mut rows: Vec<Row<K>> = page.rows().collect();
        rows.sort_unstable();
        let pages = [(locked, Extent::Parts)];
        self.store.change(pages, |[leaf]| self.edit(leaf).set_rows(&rows, form));
        true
    }

    /// The form with the fewest bytes that takes `target` and what is on the leaf.
    fn other_form(&self, page: &Page<'_>, target: &Entry<K>) -> Form {
        let low = page.bounds::<K>().low;
        let whole = page.entries().fold(Common::new(low).with(target), |all, row| all.with(&row));
        whole.form(&self.shape.at(page.table()))
    }

    /// Waits for a page below or to the right of those that are locked. Raises an ERROR if it is
    /// one of them, as only a damaged link says: that wait would have no end.
    pub fn exclusive_after(&self, number: u32, before: &[&S::Exclusive]) -> S::Exclusive {
        if let Some(first) = before.first()
            && before.iter().any(|locked| self.store.number(locked) == number)
        {
            self.store.damaged(self.store.number(first), &Damage::Link(number));
        }
        let shape = self.shape;
        self.store.exclusive_after(number, before, move |page, locked| {
            may_be_waited_for::<K>(page, locked, &shape)
        })
    }

    /// A page about to be changed.
    pub fn edit<'a>(&self, bytes: &'a mut [u8]) -> PageMut<'a> {
        PageMut::existing(bytes, &self.shape)
    }

    /// A page about to be used for something else.
    fn format<'a>(&self, bytes: &'a mut [u8], place: &Place<'_, K>) -> PageMut<'a> {
        PageMut::format(bytes, &self.shape, place)
    }

    /// Splits the root if it is at `level` and full.
    fn split_root(&self, table: u8, target: &Entry<K>, level: u8) -> Root {
        let number = root(table);
        let locked = self.store.lock(number);
        let page = self.checked(number, locked.bytes());
        if page.level() != level {
            return Root::HasGrown;
        }
        // A uniform root with another lower bound would not fit on a page whose bound is the least.
        if page.bounds::<K>() != Bounds::ALL {
            self.store.damaged(number, &Damage::Other("its bounds are not those of a root"));
        }
        if page.has_room_for(target) {
            return Root::HasRoom;
        }
        if self.reshape(&page, &locked, target) {
            return Root::Split;
        }
        if level == MAX_LEVEL {
            self.store.damaged(number, &Damage::Place { table, level });
        }
        let (left, right) = (new_page(&self.store), new_page(&self.store));
        let cut = self.cut(number, &page, target);
        let separator = cut.separator();
        let children = [
            Downlink { separator: Entry::MIN, child: self.store.number(&left) },
            Downlink { separator, child: self.store.number(&right) },
        ];

        let lower = Bounds { low: Entry::MIN, high: Some(separator) };
        let upper = Bounds { low: separator, high: None };
        let beside = Some(children[1].child);
        let pages = [(&left, Extent::Whole), (&right, Extent::Whole), (&locked, Extent::Whole)];
        self.store.change(pages, |[left, right, root]| {
            let place = Place { table, level, bounds: &lower, right: beside };
            cut.fill_left(&self.shape, &mut self.format(left, &place), &lower.low);
            let place = Place { table, level, bounds: &upper, right: None };
            cut.fill_right(&self.shape, &mut self.format(right, &place), &upper.low);
            let place = Place { table, level: level + 1, bounds: &Bounds::ALL, right: None };
            self.format(root, &place).set_downlinks(&children);
        });
        self.forget(number);
        Root::Split
    }

    /// Cuts the contents of a full page. Raises an ERROR if it has an entry twice: the halves would
    /// have no ranges.
    fn cut(&self, number: u32, page: &Page<'_>, target: &Entry<K>) -> Cut<K> {
        self.expect_entries(number, page);
        let cut = cut(page, target);
        let left = [Some(page.bounds().low), cut.last_left()];
        if left.into_iter().flatten().any(|entry| entry >= cut.separator()) {
            self.store.damaged(number, &Damage::Other("it has an entry twice"));
        }
        cut
    }
}

/// All downlinks of an inner page.
pub fn downlinks<K: TreeKey>(page: &Page<'_>) -> Vec<Downlink<K>> {
    (0..page.len()).map(|i| Downlink { separator: page.entry(i), child: page.child(i) }).collect()
}

/// Cuts the contents of a full page. Entries that arrive in ascending order, such as equal
/// fingerprints by TID, find their page full of smaller ones. Those stay together then, and the
/// target begins a new page.
fn cut<K: TreeKey>(page: &Page<'_>, target: &Entry<K>) -> Cut<K> {
    if page.is_leaf() {
        let mut rows: Vec<Row<K>> = page.rows().collect();
        rows.sort_unstable();
        let ascending = rows.last().is_none_or(|last| last.entry < *target);
        let at = if ascending { rows.len() } else { rows.len() / 2 };
        let right = rows.split_off(at);
        let separator = right.first().map_or(*target, |first| first.entry);
        Cut::Leaf(Halves { left: rows, right, separator })
    } else {
        let mut links = downlinks(page);
        let ascending = links.last().is_none_or(|last| last.separator <= *target);
        let at = if ascending { links.len() - 1 } else { links.len() / 2 };
        let right = links.split_off(at);
        let separator = right[0].separator;
        Cut::Inner(Halves { left: links, right, separator })
    }
}

/// The form of a leaf with these rows and this lower bound with the fewest bytes.
pub fn form<K: TreeKey>(shape: &Shape, rows: &[Row<K>], low: &Entry<K>) -> Form {
    Common::of_rows(*low, rows).form(shape)
}

impl<K: TreeKey> Cut<K> {
    fn last_left(&self) -> Option<Entry<K>> {
        match self {
            Cut::Leaf(halves) => halves.left.last().map(|row| row.entry),
            Cut::Inner(halves) => halves.left.last().map(|link| link.separator),
        }
    }

    fn separator(&self) -> Entry<K> {
        match self {
            Cut::Leaf(halves) => halves.separator,
            Cut::Inner(halves) => halves.separator,
        }
    }

    fn fill_left(&self, shape: &Shape, page: &mut PageMut<'_>, low: &Entry<K>) {
        match self {
            Cut::Leaf(halves) => page.set_rows(&halves.left, form(shape, &halves.left, low)),
            Cut::Inner(halves) => page.set_downlinks(&halves.left),
        }
    }

    fn fill_right(&self, shape: &Shape, page: &mut PageMut<'_>, low: &Entry<K>) {
        match self {
            Cut::Leaf(halves) => page.set_rows(&halves.right, form(shape, &halves.right, low)),
            Cut::Inner(halves) => page.set_downlinks(&halves.right),
        }
    }
}
