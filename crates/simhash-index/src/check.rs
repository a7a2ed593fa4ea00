//! The check of an index: every level of its trees is what the level above says of it.

use crate::damage::Damage;
use crate::index::{Index, root};
use crate::key::TreeKey;
use crate::page::{Bounds, Entry, Page};
use crate::store::{Lock, Store};

/// Checks the structure of every table, and raises an ERROR if it is wrong. No process may write
/// meanwhile.
///
/// Tables may differ in dead rows. Vacuum empties one after the other, and an insertion that failed
/// halfway has reached only the first ones.
pub fn check_tables<K: TreeKey, S: Store>(index: &Index<K, S>) {
    let mut seen = vec![false; index.store.pages() as usize];
    for table in index.tables() {
        check_tree(index, table, &mut seen);
    }
}

/// A page to be checked: its number, and the bounds that its parent gives it.
struct Expected<K> {
    number: u32,
    bounds: Bounds<K>,
}

/// Checks a tree level by level against what each level's parents say.
fn check_tree<K: TreeKey, S: Store>(index: &Index<K, S>, table: u8, seen: &mut [bool]) {
    let mut level = index.height(table);
    let mut pages = vec![Expected { number: root(table), bounds: Bounds::<K>::ALL }];
    loop {
        let mut below = Vec::new();
        for (i, expected) in pages.iter().enumerate() {
            index.store.check_for_interrupts();
            let damaged = |damage: Damage| -> ! { index.store.damaged(expected.number, &damage) };
            match seen.get_mut(expected.number as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => damaged(Damage::Other("two downlinks lead to it, or it is beyond the end")),
            }
            let guard = index.store.read(expected.number);
            let page = index.checked(expected.number, guard.bytes());
            if page.is_deleted() || page.table() != table || page.level() != level {
                damaged(Damage::Place { table: page.table(), level: page.level() });
            }
            if page.bounds() != expected.bounds {
                damaged(Damage::Other("its bounds differ from those in its parent"));
            }
            if page.right() != pages.get(i + 1).map(|next| next.number) {
                damaged(Damage::Other("its right link is not the next page of its level"));
            }
            index.expect_entries(expected.number, &page);
            if level > 0 {
                below.extend(children(&page));
            }
        }
        if level == 0 {
            return;
        }
        level -= 1;
        pages = below;
    }
}

/// The pages below an inner page, with the bounds that it gives them.
fn children<K: TreeKey>(page: &Page<'_>) -> impl Iterator<Item = Expected<K>> {
    let lows = (0..page.len()).map(|i| page.entry(i));
    let highs = (1..page.len()).map(|i| Some(page.entry(i))).chain([page.high()]);
    lows.zip(highs).zip(0..).map(|((low, high), i)| {
        let bounds = Bounds { low, high };
        Expected { number: page.child(i), bounds }
    })
}

/// Checks that a page's entries are in its range, and ascend as far as it says. An inner page has
/// one at least, and begins with its lower bound.
fn check_entries<K: TreeKey>(page: &Page<'_>) -> Result<(), Damage> {
    let bounds = page.bounds::<K>();
    let mut last: Option<Entry<K>> = None;
    for (i, entry) in page.entries::<K>().enumerate() {
        let is_in_order = match last {
            Some(last) if page.is_leaf() => i >= page.ordered() || last <= entry,
            Some(last) => last < entry,
            None => page.is_leaf() || entry == bounds.low,
        };
        if !is_in_order || !bounds.contains(&entry) {
            return Err(Damage::Order(i));
        }
        last = Some(entry);
    }
    if page.is_empty() && !page.is_leaf() {
        return Err(Damage::Other("it has no children"));
    }
    Ok(())
}

impl<K: TreeKey, S: Store> Index<K, S> {
    /// Raises an ERROR if entries of a locked page are out of its range or out of order. Whoever
    /// writes them to another page asks: there, no search would find them.
    pub fn expect_entries(&self, number: u32, page: &Page<'_>) {
        if let Err(damage) = check_entries::<K>(page) {
            self.store.damaged(number, &damage);
        }
    }
}
