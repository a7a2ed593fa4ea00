//! What must hold when nobody works: after a schedule, and after a crash at any record of its log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use simhash_core::search::BlockLayout;
use simhash_index::check::check_tables;
use simhash_index::page::is_free;
use simhash_index::{Budget, Cache, Entry, FIRST_ROOT, Index, Meta};

use crate::facts::Facts;
use crate::failure::{Failed, fail};
use crate::random::Random;
use crate::rows::{Row, Rows};
use crate::store::SimStore;
use crate::tree::{Tree, walk};
use crate::world::{Image, Record, Shared, World, locked};

/// The pages as a replay of some records leaves them.
pub fn replayed(base: &[Image], log: &[Record], page: usize) -> Vec<Image> {
    let mut images = base.to_vec();
    for record in log {
        images.resize_with(images.len().max(record.page_count as usize), || vec![0; page].into());
        for (number, image) in &record.pages {
            images[*number as usize] = image.clone();
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
            let entry =
                |key: &u64| Entry { key: layout.rotate(*key, u32::from(table)), tid: row.tid };
            row.keys.iter().map(entry).collect()
        }
        _ => Vec::new(),
    }
}

/// Opens an index that keeps at most `copies` copies of pages.
pub fn open<const PAGE: usize>(store: SimStore<PAGE>, copies: usize) -> Index<u64, SimStore<PAGE>> {
    let meta = Meta::read(&store);
    let cache = Cache::new(&store, meta, Rc::new(Budget::new(copies)));
    Index::new(store, Rc::new(cache))
}

/// Checks a file that nobody uses. The trees are sound, every live row is found, insertion and
/// vacuum go on. After a vacuum exactly the live rows are there, and every other page is free.
pub fn settle<const PAGE: usize>(images: &[Image], free: Vec<u32>, rows: Rows) -> Facts {
    let quiet = Quiet::<PAGE>::open(images, free, rows);
    check_tables(&quiet.index);
    quiet.expect_live_rows();
    quiet.insert_more();
    quiet.vacuum();
    check_tables(&quiet.index);
    quiet.expect_nothing_else();
    locked(&quiet.world).facts
}

/// A file that nobody else uses.
struct Quiet<const PAGE: usize> {
    world: Shared,
    index: Index<u64, SimStore<PAGE>>,
}

impl<const PAGE: usize> Quiet<PAGE> {
    fn open(images: &[Image], free: Vec<u32>, rows: Rows) -> Self {
        let world = Arc::new(Mutex::new(World::new(images, free, rows)));
        locked(&world).enter_alone();
        let index = open(SimStore::<PAGE>::alone(world.clone()), 8);
        Self { world, index }
    }

    fn rows(&self) -> Rows {
        locked(&self.world).rows.clone()
    }

    fn tree(&self, table: u8) -> Tree {
        let world = locked(&self.world);
        walk(|number| world.pages.get(number as usize).map(|page| &page.image[..]), table)
            .unwrap_or_else(|what| fail(format!("in table {table}: {what}")))
    }

    /// The entries that live rows have in a table.
    fn expected(&self, rows: &Rows, table: u8) -> Vec<Entry<u64>> {
        rows.live().flat_map(|row| entries(row, table, self.index.layout)).collect()
    }

    fn expect_live_rows(&self) {
        let rows = self.rows();
        for table in self.index.tables() {
            let tree = self.tree(table);
            for entry in self.expected(&rows, table) {
                let times = tree.entries.iter().filter(|found| **found == entry).count();
                if times != 1 || self.index.find(table, &entry).is_none() {
                    fail(format!(
                        "a live row's entry {entry:x?} is {times} times in table {table}"
                    ));
                }
            }
        }
    }

    /// Inserts copies of two rows, a row without a key, and one with a new key.
    fn insert_more(&self) {
        let rows = self.rows();
        let copies =
            rows.live().map(|row| row.keys.clone()).filter(|keys| !keys.is_empty()).take(2);
        for keys in copies.chain([Vec::new(), vec![u64::MAX / 3]]) {
            let row = locked(&self.world).rows.begin(keys.clone(), usize::MAX);
            let tid = locked(&self.world).rows.all[row].tid;
            self.index.insert(&keys, tid);
            locked(&self.world).rows.commit(row, usize::MAX);
        }
    }

    fn vacuum(&self) {
        let rows = self.rows();
        let is_dead = |tid: u64| rows.of_tid(tid).is_none_or(|row| !rows.all[row].is_live());
        let counts = self.index.vacuum(&is_dead);
        let entries_of = |table: u8| self.expected(&rows, table).len() as u64;
        let expected = entries_of(0) + entries_of(self.index.null_table());
        if counts.remaining != expected {
            fail(format!("vacuum counts {} rows of {expected}", counts.remaining));
        }
    }

    /// After a vacuum: no entry but those of live rows, and no page that is neither used nor free.
    fn expect_nothing_else(&self) {
        let rows = self.rows();
        let mut used = vec![false; locked(&self.world).pages.len()];
        used[..FIRST_ROOT as usize].fill(true);
        for table in self.index.tables() {
            let mut tree = self.tree(table);
            let mut expected = self.expected(&rows, table);
            expected.sort_unstable();
            tree.entries.sort_unstable();
            if tree.entries != expected {
                let only_one_has = (tree.entries.iter().find(|entry| !expected.contains(entry)))
                    .or_else(|| expected.iter().find(|entry| !tree.entries.contains(entry)));
                fail(format!(
                    "after a vacuum table {table} has {} entries of {}: {only_one_has:x?}",
                    tree.entries.len(),
                    expected.len(),
                ));
            }
            for number in tree.pages {
                if std::mem::replace(&mut used[number as usize], true) {
                    fail(format!("page {number} is used twice"));
                }
            }
        }
        let world = locked(&self.world);
        for (number, _) in used.into_iter().enumerate().filter(|(_, used)| !used) {
            let (free, noted) =
                (is_free(&world.pages[number].image), world.free.contains(&(number as u32)));
            if !free || !noted {
                drop(world);
                fail(format!("after a vacuum page {number} is lost: free {free}, noted {noted}"));
            }
        }
    }
}

/// Changes one bit of a page. The index's own check and the walk over raw pages must agree on it.
pub fn judge_check<const PAGE: usize>(images: &[Image], blocks: u32, random: &mut Random) {
    let mut images = images.to_vec();
    let number = random.below(images.len() - FIRST_ROOT as usize) + FIRST_ROOT as usize;
    let mut bytes = images[number].to_vec();
    // The special area says most about a page. The header and the entries have their turn too.
    let from = random.pick(&[0, PAGE - 56, PAGE - 56]);
    let at = from + random.below(PAGE - from);
    bytes[at] ^= 1 << random.below(8);
    images[number] = bytes.into();
    let image = |number: u32| images.get(number as usize).map(|image| &image[..]);
    let walked = (0..=blocks as u8).try_for_each(|table| walk(image, table).map(drop));
    let world = Arc::new(Mutex::new(World::new(&images, Vec::new(), Rows::default())));
    locked(&world).enter_alone();
    let checked =
        catch_unwind(AssertUnwindSafe(|| check_tables(&open(SimStore::<PAGE>::alone(world), 8))));
    let checked = checked.map_err(|payload| match payload.downcast_ref() {
        Some(Failed(what)) => what.clone(),
        None => fail(format!("the check panics over byte {at} of page {number}")),
    });
    if walked.is_ok() != checked.is_ok() {
        fail(format!(
            "byte {at} of page {number} is changed: the walk says {walked:?}, the check {checked:?}"
        ));
    }
}
