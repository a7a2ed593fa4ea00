//! The invariants of the trees, by a walk of its own over raw pages: after every record of the log.

use std::collections::BTreeSet;

use simhash_index::page::{Bounds, Page, is_free};
use simhash_index::{Entry, FIRST_ROOT};

use crate::world::{Image, World};

/// What a record is said to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// One entry more on each page.
    Append,
    /// Anything else: no entry more, and none less but those of dead rows.
    Structure,
}

/// What was seen on the way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    pub records: u64,
    pub trees: u64,
    pub splits: u64,
    pub removals: u64,
    pub scans: u64,
    pub crashes: u64,
    pub cancelled: u64,
}

impl Facts {
    pub fn add(&mut self, other: &Self) {
        let Self { records, trees, splits, removals, scans, crashes, cancelled } = other;
        self.records += records;
        self.trees += trees;
        self.splits += splits;
        self.removals += removals;
        self.scans += scans;
        self.crashes += crashes;
        self.cancelled += cancelled;
    }
}

fn page(bytes: &[u8], block: u32) -> Result<Page<'_>, String> {
    Page::check::<u64>(bytes).map_err(|damage| format!("block {block}: {damage}"))
}

/// A tree as it is: its blocks and its leaves' entries.
pub struct Tree {
    pub blocks: Vec<u32>,
    pub entries: Vec<Entry<u64>>,
}

/// Walks a table's tree level by level; every page must be what the level above says.
pub fn walk<'a>(image: impl Fn(u32) -> Option<&'a [u8]>, table: u8) -> Result<Tree, String> {
    let mut tree = Tree { blocks: Vec::new(), entries: Vec::new() };
    let root = FIRST_ROOT + u32::from(table);
    let mut level = None;
    let mut expected: Vec<(u32, Bounds<u64>)> = vec![(root, Bounds::ALL)];
    loop {
        let mut below = Vec::new();
        for (i, (block, bounds)) in expected.iter().enumerate() {
            let bytes = image(*block).ok_or_else(|| format!("block {block} is beyond the end"))?;
            let page = page(bytes, *block)?;
            let level = *level.get_or_insert(page.level());
            if page.is_deleted() || page.table() != table || page.level() != level {
                return Err(format!("block {block} is not of table {table}, level {level}"));
            }
            if page.bounds::<u64>() != *bounds {
                return Err(format!(
                    "block {block} has the range {:x?}, not {bounds:x?}",
                    page.bounds::<u64>()
                ));
            }
            if page.right() != expected.get(i + 1).map(|next| next.0) {
                return Err(format!("block {block} has the right neighbour {:?}", page.right()));
            }
            tree.blocks.push(*block);
            if let Some(entry) = page.entries::<u64>().find(|entry| !bounds.contains(entry)) {
                return Err(format!("block {block} has {entry:x?}, which is out of its range"));
            }
            if level == 0 {
                tree.entries.extend(page.entries::<u64>());
                continue;
            }
            let separators: Vec<Entry<u64>> = page.entries().collect();
            if separators.first() != Some(&bounds.low) || !separators.is_sorted_by(|a, b| a < b) {
                return Err(format!("block {block} has the separators {separators:x?}"));
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
    let distinct: BTreeSet<u32> = tree.blocks.iter().copied().collect();
    if distinct.len() != tree.blocks.len() {
        return Err(format!("table {table} has a block twice: {:?}", tree.blocks));
    }
    Ok(tree)
}

/// The entries of a live leaf; none of any other page.
fn leaf_entries(bytes: &[u8], block: u32) -> Result<Vec<Entry<u64>>, String> {
    if is_free(bytes) {
        return Ok(Vec::new());
    }
    let page = page(bytes, block)?;
    Ok(if page.is_leaf() { page.entries().collect() } else { Vec::new() })
}

/// Checks what a record has done to the trees.
pub fn check_record<const PAGE: usize>(
    world: &mut World,
    before: &[Image],
    after: &[(u32, Image)],
    change: Change,
) -> Result<(), String> {
    world.facts.records += 1;
    let (mut old, mut new) = (Vec::new(), Vec::new());
    let mut tables = BTreeSet::new();
    for (before, (block, after)) in before.iter().zip(after) {
        old.extend(leaf_entries(before, *block)?);
        new.extend(leaf_entries(after, *block)?);
        let page = page(after, *block)?;
        tables.insert(page.table());
        if !is_free(before) {
            tables.insert(self::page(before, *block)?.table());
        }
        if change == Change::Append {
            let (was, is) = (leaf_entries(before, *block)?.len(), page.len());
            if page.is_deleted() || !page.is_leaf() || is != was + 1 {
                return Err(format!("an append leaves block {block} with {is} entries, after {was}"));
            }
            let bounds = page.bounds();
            if let Some(entry) = page.entries::<u64>().find(|entry| !bounds.contains(entry)) {
                return Err(format!("an append puts {entry:x?} on block {block}, out of its range"));
            }
        }
    }
    if change == Change::Append {
        return Ok(());
    }
    old.sort_unstable();
    new.sort_unstable();
    let mut kept = new.iter().peekable();
    for entry in &old {
        if kept.peek() == Some(&entry) {
            kept.next();
        } else if world.rows.of_tid(entry.tid).is_some_and(|row| world.rows.all[row].at.dead.is_none()) {
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
        walk(|block| world.pages.get(block as usize).map(|page| &page.image[..]), table)
            .map_err(|what| format!("after a record, in table {table}: {what}"))?;
    }
    Ok(())
}
