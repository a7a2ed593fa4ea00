//! Removal of empty pages, by vacuum only.
//!
//! The key range of an empty leaf goes to its left neighbour under the same parent. Both and the
//! parent change in one record. Entries never move left, so a scan that has passed the neighbour
//! misses nothing. A scan on its way to the removed page finds it deleted, and starts over from its
//! own position. The page can be reused at once, because every page says which range it holds. An
//! inner page that is left with one child hands it to its left neighbour in the same way.

use crate::damage::Damage;
use crate::index::Index;
use crate::key::TreeKey;
use crate::page::write::Downlink;
use crate::page::{Entry, Page};
use crate::split::downlinks;
use crate::store::{Extent, Lock, Store};

impl<K: TreeKey, S: Store> Index<K, S> {
    /// Removes the leaf of `table` that starts at `low`, if it is still empty and has a left
    /// neighbour under its parent. Returns the number of pages freed.
    pub fn remove_empty(&self, table: u8, low: &Entry<K>) -> u32 {
        let mut freed = u32::from(self.merge_left(table, low, 0));
        // The parent may have one child left then, and so may the pages above it.
        let mut level = 1;
        while self.merge_left(table, low, level) {
            freed += 1;
            level += 1;
        }
        freed
    }

    /// Merges the page of `level` that covers `entry` into its left neighbour, if it is a leaf
    /// without entries or an inner page with one child.
    fn merge_left(&self, table: u8, entry: &Entry<K>, level: u8) -> bool {
        let Some((parent, parent_number)) = self.cover_level(table, entry, level + 1) else {
            return false;
        };
        let parent_page = self.checked(parent_number, parent.bytes());
        let position = parent_page.child_covering(entry);
        if position == 0 {
            return false;
        }
        let (left_number, number) = (parent_page.child(position - 1), parent_page.child(position));
        self.expect_page(left_number.max(number), parent_number);
        let left = self.exclusive_after(left_number, &[&parent]);
        let page = self.exclusive_after(number, &[&parent, &left]);
        let left_page = self.checked(left_number, left.bytes());
        let page_page = self.checked(number, page.bytes());
        self.expect_child(&parent_page, position - 1, &left_page);
        self.expect_child(&parent_page, position, &page_page);
        if left_page.right() != Some(number) {
            let damage = Damage::Other("its right link is not the next page of its level");
            self.store.damaged(left_number, &damage);
        }
        if !is_mergeable(&left_page, &page_page) {
            return false;
        }

        self.expect_entries(parent_number, &parent_page);
        self.expect_entries(left_number, &left_page);
        self.expect_entries(number, &page_page);
        let mut remaining = downlinks::<K>(&parent_page);
        remaining.remove(position);
        self.record_merge(&left, &page, &parent, &remaining);
        drop((page, left, parent));
        self.forget_all();
        // A crash before this loses the page until the next vacuum.
        self.store.note_free(number);
        true
    }

    /// Gives the range and the child of `page` to `left`, deletes it, and leaves `parent` with the
    /// downlinks that `remain`: all in one record.
    fn record_merge(
        &self,
        left: &S::Exclusive,
        page: &S::Exclusive,
        parent: &S::Exclusive,
        remain: &[Downlink<K>],
    ) {
        let merged = self.checked(self.store.number(page), page.bytes());
        let kept = self.checked(self.store.number(left), left.bytes());
        let children = match merged.is_leaf() {
            true => Vec::new(),
            false => [downlinks::<K>(&kept), downlinks(&merged)].concat(),
        };
        let (high, right) = (merged.bounds::<K>().high, merged.right());
        let pages = [left, page, parent].map(|locked| (locked, Extent::Parts));
        self.store.change(pages, |[left, page, parent]| {
            let mut survivor = self.edit(left);
            survivor.set_high(high, right);
            if !children.is_empty() {
                survivor.set_downlinks(&children);
            }
            self.edit(page).delete();
            self.edit(parent).set_downlinks(remain);
        });
    }
}

fn is_mergeable(left: &Page<'_>, page: &Page<'_>) -> bool {
    if page.is_leaf() { page.is_empty() } else { page.len() == 1 && left.has_room() }
}
