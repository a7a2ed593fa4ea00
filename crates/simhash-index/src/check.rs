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
            if level == 0 {
                check_leaf(&page, &expected.bounds).unwrap_or_else(|damage| damaged(damage));
            } else {
                check_inner(&page, &expected.bounds, &mut below)
                    .unwrap_or_else(|damage| damaged(damage));
            }
        }
        if level == 0 {
            return;
        }
        level -= 1;
        pages = below;
    }
}

fn check_leaf<K: TreeKey>(page: &Page<'_>, bounds: &Bounds<K>) -> Result<(), Damage> {
    let mut last = None;
    for (i, entry) in page.entries::<K>().enumerate() {
        let descends = i < page.ordered() && last.is_some_and(|last| entry < last);
        if !bounds.contains(&entry) || descends {
            return Err(Damage::Order(i));
        }
        last = Some(entry);
    }
    Ok(())
}

fn check_inner<K: TreeKey>(
    page: &Page<'_>,
    bounds: &Bounds<K>,
    below: &mut Vec<Expected<K>>,
) -> Result<(), Damage> {
    if page.is_empty() {
        return Err(Damage::Other("it has no children"));
    }
    for i in 0..page.len() {
        let low: Entry<K> = page.entry(i);
        let high = if i + 1 < page.len() { Some(page.entry(i + 1)) } else { bounds.high };
        let first_is_low = i > 0 || low == bounds.low;
        if !first_is_low || !bounds.contains(&low) || high.is_some_and(|high| high <= low) {
            return Err(Damage::Order(i));
        }
        below.push(Expected { number: page.child(i), bounds: Bounds { low, high } });
    }
    Ok(())
}
