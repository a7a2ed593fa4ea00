//! The invariants of the trees, checked after every record of the log. The walk over raw pages is
//! written a second time here, so that it does not share the index's faults.

use std::collections::BTreeSet;

use simhash_index::page::{Bounds, Page, is_free};
use simhash_index::{Entry, FIRST_ROOT};

use crate::world::{Image, World};

/// What a record is said to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// One entry more on each page.
    Append,
    /// Anything else: no new entry, and none lost but those of dead rows.
    Structure,
}

fn page(bytes: &[u8], number: u32) -> Result<Page<'_>, String> {
    Page::check::<u64>(bytes).map_err(|damage| format!("page {number}: {damage}"))
}

/// A tree as it is: the numbers of its pages, and the entries of its leaves.
pub struct Tree {
    pub pages: Vec<u32>,
    pub entries: Vec<Entry<u64>>,
}

/// Walks a table's tree level by level. Every page must be what the level above says.
pub fn walk<'a>(image: impl Fn(u32) -> Option<&'a [u8]>, table: u8) -> Result<Tree, String> {
    let mut tree = Tree { pages: Vec::new(), entries: Vec::new() };
    let root = FIRST_ROOT + u32::from(table);
    let mut level = None;
    let mut expected: Vec<(u32, Bounds<u64>)> = vec![(root, Bounds::ALL)];
    loop {
        let mut below = Vec::new();
        for (i, (number, bounds)) in expected.iter().enumerate() {
            let bytes = image(*number).ok_or_else(|| format!("page {number} is beyond the end"))?;
            let page = page(bytes, *number)?;
            let level = *level.get_or_insert(page.level());
            if page.is_deleted() || page.table() != table || page.level() != level {
                return Err(format!("page {number} is not of table {table}, level {level}"));
            }
            if page.bounds::<u64>() != *bounds {
                return Err(format!(
                    "page {number} has the range {:x?}, not {bounds:x?}",
                    page.bounds::<u64>()
                ));
            }
            if page.right() != expected.get(i + 1).map(|next| next.0) {
                return Err(format!("page {number} has the right neighbour {:?}", page.right()));
            }
            tree.pages.push(*number);
            if let Some(entry) = page.entries::<u64>().find(|entry| !bounds.contains(entry)) {
                return Err(format!("page {number} has {entry:x?}, which is out of its range"));
            }
            if level == 0 {
                tree.entries.extend(page.entries::<u64>());
                continue;
            }
            let separators: Vec<Entry<u64>> = page.entries().collect();
            if separators.first() != Some(&bounds.low) || !separators.is_sorted_by(|a, b| a < b) {
                return Err(format!("page {number} has the separators {separators:x?}"));
            }
            for (i, low) in separators.iter().enumerate() {
                let high = separators.get(i + 1).copied().or(bounds.high);
                below.push((page.child(i), Bounds { low: *low, high }));
            }
        }
        match &mut level {
            Some(0) | None => break,
            Some(level) => *level -= 1,
        }
        expected = below;
    }
    let distinct: BTreeSet<u32> = tree.pages.iter().copied().collect();
    if distinct.len() != tree.pages.len() {
        return Err(format!("table {table} has a page twice: {:?}", tree.pages));
    }
    Ok(tree)
}

/// The entries of a live leaf. Other pages have none.
fn leaf_entries(bytes: &[u8], number: u32) -> Result<Vec<Entry<u64>>, String> {
    if is_free(bytes) {
        return Ok(Vec::new());
    }
    let page = page(bytes, number)?;
    Ok(if page.is_leaf() { page.entries().collect() } else { Vec::new() })
}

/// Checks what a record has done to the trees.
pub fn check_record(
    world: &mut World,
    before: &[Image],
    after: &[(u32, Image)],
    change: Change,
) -> Result<(), String> {
    world.facts.records += 1;
    match change {
        Change::Append => check_append(before, after),
        Change::Structure => check_structure(world, before, after),
    }
}

/// Every page is a leaf with one entry more, which is in its range.
fn check_append(before: &[Image], after: &[(u32, Image)]) -> Result<(), String> {
    for (before, (number, after)) in before.iter().zip(after) {
        let page = page(after, *number)?;
        let (was, is) = (leaf_entries(before, *number)?.len(), page.len());
        if page.is_deleted() || !page.is_leaf() || is != was + 1 {
            return Err(format!("an append leaves page {number} with {is} entries, after {was}"));
        }
        let bounds = page.bounds();
        if let Some(entry) = page.entries::<u64>().find(|entry| !bounds.contains(entry)) {
            return Err(format!("an append puts {entry:x?} on page {number}, out of its range"));
        }
    }
    Ok(())
}

/// No entry is new, none is lost but those of dead rows, and the trees of all pages are sound.
fn check_structure(
    world: &mut World,
    before: &[Image],
    after: &[(u32, Image)],
) -> Result<(), String> {
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let mut tables = BTreeSet::new();
    for (before, (number, after)) in before.iter().zip(after) {
        old.extend(leaf_entries(before, *number)?);
        new.extend(leaf_entries(after, *number)?);
        tables.insert(page(after, *number)?.table());
        if !is_free(before) {
            tables.insert(page(before, *number)?.table());
        }
    }
    old.sort_unstable();
    new.sort_unstable();
    let is_of_live_row = |entry: &Entry<u64>| {
        world.rows.of_tid(entry.tid).is_some_and(|row| world.rows.all[row].at.dead.is_none())
    };
    let mut kept = new.iter().peekable();
    for entry in &old {
        if kept.peek() == Some(&entry) {
            kept.next();
        } else if is_of_live_row(entry) {
            return Err(format!("the entry {entry:x?} of a live row is lost"));
        }
    }
    if let Some(entry) = kept.next() {
        return Err(format!("the entry {entry:x?} comes from nowhere"));
    }
    let fresh = before.iter().filter(|before| is_free(before)).count() as u64;
    let freed = after.iter().filter(|(_, after)| is_free(after)).count() as u64;
    world.facts.splits += u64::from(fresh > 0);
    world.facts.removals += u64::from(freed > 0);
    for table in tables {
        world.facts.trees += 1;
        walk(|number| world.pages.get(number as usize).map(|page| &page.image[..]), table)
            .map_err(|what| format!("after a record, in table {table}: {what}"))?;
    }
    Ok(())
}
