//! Checks the invariants of the trees after every record of the log. The walk over raw pages is an
//! implementation of its own, so that it does not share the index's faults.

use std::collections::BTreeSet;

use simhash_index::page::{Bounds, Page, is_free};
use simhash_index::postings::{RECENT, ROWS};
use simhash_index::{Entry, FIRST_ROOT, Row, Shape, TreeKey};

use crate::coding::Coding;
use crate::world::{Image, World};

/// What a record claims to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// One row more on each page, or one posting or more.
    Append,
    /// Anything else: no new row, and none lost but dead ones.
    Structure,
}

fn page<'a, K: TreeKey>(bytes: &'a [u8], shape: &Shape, number: u32) -> Result<Page<'a>, String> {
    Page::check::<K>(bytes, shape).map_err(|damage| format!("page {number}: {damage}"))
}

/// A tree as it is: the numbers of its pages, and the rows of its leaves.
pub struct Tree<K: TreeKey> {
    pub pages: Vec<u32>,
    pub rows: Vec<Row<K>>,
}

/// Walks a table's tree level by level. Every page must be what the level above says.
pub fn walk<'a, K: TreeKey>(
    image: impl Fn(u32) -> Option<&'a [u8]>,
    shape: &Shape,
    table: u8,
) -> Result<Tree<K>, String> {
    let mut tree = Tree { pages: Vec::new(), rows: Vec::new() };
    let root = FIRST_ROOT + u32::from(table);
    let mut level = None;
    let mut expected: Vec<(u32, Bounds<K>)> = vec![(root, Bounds::ALL)];
    loop {
        let mut below = Vec::new();
        for (i, (number, bounds)) in expected.iter().enumerate() {
            let bytes = image(*number).ok_or_else(|| format!("page {number} is beyond the end"))?;
            let page = page::<K>(bytes, shape, *number)?;
            let level = *level.get_or_insert(page.level());
            if page.is_deleted() || page.table() != table || page.level() != level {
                return Err(format!("page {number} is not of table {table}, level {level}"));
            }
            if page.bounds::<K>() != *bounds {
                return Err(format!(
                    "page {number} has the range {:x?}, not {bounds:x?}",
                    page.bounds::<K>()
                ));
            }
            if page.right() != expected.get(i + 1).map(|next| next.0) {
                return Err(format!("page {number} has the right neighbour {:?}", page.right()));
            }
            tree.pages.push(*number);
            if let Some(entry) = page.entries::<K>().find(|entry| !bounds.contains(entry)) {
                return Err(format!("page {number} has {entry:x?}, which is out of its range"));
            }
            if level == 0 {
                check_leaf(&page, bounds).map_err(|wrong| format!("page {number} {wrong}"))?;
                tree.rows.extend(page.rows::<K>());
                continue;
            }
            let separators: Vec<Entry<K>> = page.entries().collect();
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

/// Checks what a leaf claims about its rows.
fn check_leaf<K: TreeKey>(page: &Page<'_>, bounds: &Bounds<K>) -> Result<(), &'static str> {
    let scope = bounds.low.key.scope();
    if page.form().uniform && page.entries::<K>().any(|entry| entry.key.scope() != scope) {
        return Err("is uniform and has rows of two scopes");
    }
    if !page.entries::<K>().take(page.ordered()).is_sorted() {
        return Err("says that entries ascend which do not");
    }
    Ok(())
}

/// The rows of a live leaf. Other pages have none.
fn leaf_rows<K: TreeKey>(bytes: &[u8], shape: &Shape, number: u32) -> Result<Vec<Row<K>>, String> {
    if is_free(bytes) {
        return Ok(Vec::new());
    }
    let page = page::<K>(bytes, shape, number)?;
    Ok(if page.is_leaf() { page.rows().collect() } else { Vec::new() })
}

/// Checks what a record has done to the trees.
pub fn check_record<K: TreeKey>(
    world: &mut World,
    coding: &Coding<K>,
    before: &[Image],
    after: &[(u32, Image)],
    change: Change,
) -> Result<(), String> {
    world.facts.records += 1;
    match change {
        Change::Append => check_append(world, coding, before, after),
        Change::Structure => check_structure(world, coding, before, after),
    }
}

/// Every page must be a leaf with one row more, in its range, which belongs to the row of that TID.
/// A leaf of recent postings may have several more, none of which it had before.
fn check_append<K: TreeKey>(
    world: &World,
    coding: &Coding<K>,
    before: &[Image],
    after: &[(u32, Image)],
) -> Result<(), String> {
    let shape = &coding.meta.shape();
    for (before, (number, after)) in before.iter().zip(after) {
        let page = page::<K>(after, shape, *number)?;
        let (was, is) = (leaf_rows::<K>(before, shape, *number)?, page.rows::<K>());
        let is: Vec<Row<K>> = is.collect();
        let of_postings = coding.meta.is_of_postings() && page.table() != ROWS;
        let grown = is.len() == was.len() + 1 || of_postings && is.len() > was.len();
        if page.is_deleted() || !page.is_leaf() || !grown || of_postings && page.table() != RECENT {
            let (is, was) = (is.len(), was.len());
            return Err(format!("an append leaves page {number} with {is} rows, after {was}"));
        }
        let bounds = page.bounds();
        if let Some(entry) = page.entries::<K>().find(|entry| !bounds.contains(entry)) {
            return Err(format!("an append puts {entry:x?} on page {number}, out of its range"));
        }
        if !is.starts_with(&was) {
            return Err(format!("an append changes other rows of page {number}"));
        }
        let owner = |row: &Row<K>| world.rows.of_tid(row.entry.tid);
        let is_right = |added: &Row<K>| {
            owner(added)
                .is_some_and(|row| coding.rows(&world.rows.all[row], page.table()).contains(added))
        };
        for (i, added) in is.iter().enumerate().skip(was.len()) {
            if !is_right(added) || of_postings && is[..i].contains(added) {
                return Err(format!("an append puts {added:x?} on page {number}, which is no row"));
            }
        }
    }
    Ok(())
}

/// No row may be new, only dead ones may be lost, and the trees of all pages must be sound.
fn check_structure<K: TreeKey>(
    world: &mut World,
    coding: &Coding<K>,
    before: &[Image],
    after: &[(u32, Image)],
) -> Result<(), String> {
    let shape = &coding.meta.shape();
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let mut tables = BTreeSet::new();
    let table_of = |image: &Image, number| page::<K>(image, shape, number).map(|page| page.table());
    for (before, (number, after)) in before.iter().zip(after) {
        old.extend(leaf_rows::<K>(before, shape, *number)?);
        new.extend(leaf_rows::<K>(after, shape, *number)?);
        tables.insert(table_of(after, *number)?);
        if !is_free(before) {
            tables.insert(table_of(before, *number)?);
        }
    }
    old.sort_unstable();
    new.sort_unstable();
    let is_live = |row: &Row<K>| {
        world.rows.of_tid(row.entry.tid).is_some_and(|row| world.rows.all[row].at.dead.is_none())
    };
    let mut kept = new.iter().peekable();
    for row in &old {
        if kept.peek() == Some(&row) {
            kept.next();
        } else if is_live(row) {
            return Err(format!("a live row's {row:x?} is lost"));
        }
    }
    if let Some(row) = kept.next() {
        return Err(format!("{row:x?} comes from nowhere"));
    }
    let settles = coding.meta.is_of_postings() && tables.len() > 1;
    world.facts.settled += u64::from(settles);
    let fresh = before.iter().filter(|before| is_free(before)).count() as u64;
    let freed = after.iter().filter(|(_, after)| is_free(after)).count() as u64;
    world.facts.splits += u64::from(fresh > 0);
    world.facts.removals += u64::from(freed > 0);
    if let ([before], [(number, after)]) = (before, after) {
        let form = |image| page::<K>(image, shape, *number).map(|page| page.form());
        world.facts.reshaped += u64::from(form(before)? != form(after)?);
    }
    for table in tables {
        world.facts.trees += 1;
        let image = |number| world.pages.get(number as usize).map(|page| &page.image[..]);
        walk::<K>(image, shape, table)
            .map_err(|what| format!("after a record, in table {table}: {what}"))?;
    }
    Ok(())
}
