//! What must hold when all is quiet: after a schedule, and after a crash at any record of its log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use simhash_core::search::BlockLayout;
use simhash_index::check::check_tables;
use simhash_index::page::is_free;
use simhash_index::{Budget, Cache, Entry, FIRST_ROOT, Index, Meta};

use crate::failure::{Failed, fail};
use crate::random::Random;
use crate::rows::{Row, Rows};
use crate::store::SimStore;
use crate::tree::{Facts, walk};
use crate::world::{Image, Record, World, locked};

/// The pages as a replay of some records leaves them.
pub fn replayed(base: &[Image], log: &[Record], page: usize) -> Vec<Image> {
    let mut images = base.to_vec();
    for record in log {
        images.resize_with(images.len().max(record.blocks as usize), || vec![0; page].into());
        for (block, image) in &record.pages {
            images[*block as usize] = image.clone();
        }
    }
    images
}

/// The entries of a row in a table of an index with this layout.
pub fn entries(row: &Row, table: u8, layout: BlockLayout) -> Vec<Entry<u64>> {
    let null_table = layout.blocks() as u8;
    match (row.keys.is_empty(), table == null_table) {
        (true, true) => vec![Entry { key: 0, tid: row.tid }],
        (false, false) => {
            let entry = |key: &u64| Entry { key: layout.rotate(*key, u32::from(table)), tid: row.tid };
            row.keys.iter().map(entry).collect()
        }
        _ => Vec::new(),
    }
}

/// Opens an index as one that nobody else uses.
pub fn open<const PAGE: usize>(store: SimStore<PAGE>, copies: usize) -> Index<u64, SimStore<PAGE>> {
    let meta = Meta::read(&store);
    let cache = Cache::new(&store, meta, Rc::new(Budget::new(copies)));
    Index::new(store, Rc::new(cache))
}

/// Checks a file that nobody uses: the trees are sound, every live row is found, insertion and vacuum go
/// on, and after a vacuum exactly the live rows are there and every other page is free.
pub fn settle<const PAGE: usize>(images: &[Image], free: Vec<u32>, rows: Rows) -> Facts {
    let world = Arc::new(Mutex::new(World::new(images, free, rows)));
    let store = SimStore::<PAGE>::alone(world.clone());
    locked(&world).enter_alone();
    let index = open(store, 8);
    let layout = index.layout;
    check_tables(&index);
    let contents = |table: u8| {
        let world = locked(&world);
        walk(|block| world.pages.get(block as usize).map(|page| &page.image[..]), table)
            .unwrap_or_else(|what| fail(format!("in table {table}: {what}")))
    };
    let rows = locked(&world).rows.clone();
    for table in index.tables() {
        let tree = contents(table);
        for row in rows.live() {
            for entry in entries(row, table, layout) {
                let times = tree.entries.iter().filter(|found| **found == entry).count();
                if times != 1 || index.find(table, &entry).is_none() {
                    fail(format!("a live row's entry {entry:x?} is {times} times in table {table}"));
                }
            }
        }
    }

    // Insertion goes on.
    let more: Vec<Vec<u64>> =
        rows.live().filter(|row| !row.keys.is_empty()).take(2).map(|row| row.keys.clone()).collect();
    for keys in more.into_iter().chain([Vec::new(), vec![u64::MAX / 3]]) {
        let row = locked(&world).rows.begin(keys.clone(), usize::MAX);
        let tid = locked(&world).rows.all[row].tid;
        index.insert(&keys, tid);
        locked(&world).rows.commit(row, usize::MAX);
    }
    // So does vacuum.
    let rows = locked(&world).rows.clone();
    let is_dead = |tid: u64| rows.of_tid(tid).is_none_or(|row| !rows.all[row].is_live());
    let counts = index.vacuum(&is_dead);
    check_tables(&index);
    let entries_of = |table: u8| rows.live().flat_map(|row| entries(row, table, layout)).count() as u64;
    let expected = entries_of(0) + entries_of(index.null_table());
    if counts.remaining != expected {
        fail(format!("vacuum counts {} rows of {expected}", counts.remaining));
    }
    let mut used = vec![false; locked(&world).pages.len()];
    used[..FIRST_ROOT as usize].fill(true);
    for table in index.tables() {
        let mut tree = contents(table);
        let mut expected: Vec<Entry<u64>> = rows.live().flat_map(|row| entries(row, table, layout)).collect();
        expected.sort_unstable();
        tree.entries.sort_unstable();
        if tree.entries != expected {
            fail(format!(
                "after a vacuum table {table} has {} entries of {}: {:x?}",
                tree.entries.len(),
                expected.len(),
                tree.entries
                    .iter()
                    .find(|entry| !expected.contains(entry))
                    .or_else(|| { expected.iter().find(|entry| !tree.entries.contains(entry)) })
            ));
        }
        for block in tree.blocks {
            if std::mem::replace(&mut used[block as usize], true) {
                fail(format!("block {block} is used twice"));
            }
        }
    }
    let world = locked(&world);
    for (block, used) in used.into_iter().enumerate() {
        let (free, noted) = (is_free(&world.pages[block].image), world.free.contains(&(block as u32)));
        let lost = !(free && noted);
        if !used && lost {
            drop(world);
            fail(format!("after a vacuum block {block} is lost: free {free}, noted {noted}"));
        }
    }
    world.facts
}

/// Changes one bit of a page and asks the check what the walk over raw pages says: they must agree.
pub fn judge_check<const PAGE: usize>(images: &[Image], blocks: u32, random: &mut Random) {
    let mut images = images.to_vec();
    let block = random.below(images.len() - FIRST_ROOT as usize) + FIRST_ROOT as usize;
    let mut bytes = images[block].to_vec();
    // The special area says most of a page; the header and the entries have their turn too.
    let from = random.pick(&[0, PAGE - 56, PAGE - 56]);
    let at = from + random.below(PAGE - from);
    bytes[at] ^= 1 << random.below(8);
    images[block] = bytes.into();
    let image = |block: u32| images.get(block as usize).map(|image| &image[..]);
    let walked = (0..=blocks as u8).try_for_each(|table| walk(image, table).map(drop));
    let world = Arc::new(Mutex::new(World::new(&images, Vec::new(), Rows::default())));
    locked(&world).enter_alone();
    let checked = catch_unwind(AssertUnwindSafe(|| check_tables(&open(SimStore::<PAGE>::alone(world), 8))));
    let checked = checked.map_err(|payload| match payload.downcast_ref() {
        Some(Failed(what)) => what.clone(),
        None => fail(format!("the check panics over byte {at} of block {block}")),
    });
    if walked.is_ok() != checked.is_ok() {
        fail(format!(
            "byte {at} of block {block} is changed: the walk says {walked:?}, the check {checked:?}"
        ));
    }
}
