//! Checks a file at rest: after a schedule, and after a crash at any record of its log.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use simhash_index::check::check_tables;
use simhash_index::page::is_free;
use simhash_index::postings::RECENT;
use simhash_index::{Entry, FIRST_ROOT, Row, TreeKey};

use crate::actors::Actor;
use crate::coding::Coding;
use crate::facts::Facts;
use crate::failure::{Failed, fail};
use crate::opened::{Sim, insert, open};
use crate::program::reader_of;
use crate::random::Random;
use crate::rows::{Rows, SCOPES};
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

/// Checks a file at rest. The trees are sound, every live row is found, and scans, insertion and
/// vacuum work. After a vacuum exactly the live rows are there, and every other page is free.
pub fn settle<K: TreeKey, const PAGE: usize>(
    coding: Coding<K>,
    images: &[Image],
    free: Vec<u32>,
    rows: Rows,
    random: &mut Random,
) -> Facts {
    let quiet = Quiet::<K, PAGE>::open(coding, images, free, rows);
    check_tables(&quiet.index);
    quiet.expect_live_rows();
    quiet.expect_no_strangers();
    quiet.scan(random);
    quiet.insert_more();
    quiet.vacuum();
    check_tables(&quiet.index);
    quiet.expect_nothing_else();
    if quiet.index.is_of_postings() {
        quiet.scan(random);
        quiet.settle_all();
        quiet.scan(random);
    }
    locked(&quiet.world).facts
}

/// A file that only this process uses.
struct Quiet<K: TreeKey, const PAGE: usize> {
    world: Shared,
    index: Sim<K, PAGE>,
}

impl<K: TreeKey, const PAGE: usize> Quiet<K, PAGE> {
    fn open(coding: Coding<K>, images: &[Image], free: Vec<u32>, rows: Rows) -> Self {
        let world = Arc::new(Mutex::new(World::new(images, free, rows)));
        locked(&world).enter_alone();
        let index = open(SimStore::<K, PAGE>::alone(world.clone(), coding), 8);
        Self { world, index }
    }

    fn rows(&self) -> Rows {
        locked(&self.world).rows.clone()
    }

    fn coding(&self) -> &Coding<K> {
        &self.index.store.coding
    }

    fn tree(&self, table: u8) -> Tree<K> {
        let world = locked(&self.world);
        let image = |number| world.pages.get(number as usize).map(|page| &page.image[..]);
        walk(image, &self.index.shape, table)
            .unwrap_or_else(|what| fail(format!("in table {table}: {what}")))
    }

    /// The rows that a table must have for the live rows.
    fn expected(&self, rows: &Rows, table: u8) -> Vec<Row<K>> {
        rows.live().flat_map(|row| self.coding().rows(row, table)).collect()
    }

    fn expect_live_rows(&self) {
        let rows = self.rows();
        for group in self.coding().groups() {
            let trees: Vec<Tree<K>> = group.iter().map(|&table| self.tree(table)).collect();
            for row in self.expected(&rows, group[0]) {
                let all = trees.iter().flat_map(|tree| &tree.rows);
                let times = all.filter(|found| **found == row).count();
                if times != 1 || !group.iter().any(|&table| self.finds(table, &row.entry)) {
                    fail(format!("a live {row:x?} is {times} times in tables {group:?}"));
                }
                for scope in 0..SCOPES {
                    let key = K::new(self.coding().scope(scope), row.entry.key.fingerprint());
                    let entry = Entry { key, ..row.entry };
                    for (tree, &table) in trees.iter().zip(&group) {
                        let is_there = tree.rows.iter().any(|row| row.entry == entry);
                        if self.finds(table, &entry) != is_there {
                            fail(format!("{entry:x?} is in table {table}: {is_there}"));
                        }
                    }
                }
            }
        }
    }

    /// Every entry of a table must be of a row that exists. Of a dead row, some entries may be
    /// missing.
    fn expect_no_strangers(&self) {
        let rows = self.rows();
        for table in self.index.tables() {
            let is_of_row = |found: &Row<K>| {
                rows.of_tid(found.entry.tid)
                    .is_some_and(|row| self.coding().rows(&rows.all[row], table).contains(found))
            };
            if let Some(found) = self.tree(table).rows.iter().find(|found| !is_of_row(found)) {
                fail(format!("table {table} has {found:x?}, which is of no row"));
            }
        }
    }

    fn finds(&self, table: u8, entry: &Entry<K>) -> bool {
        self.index.find(table, entry).is_some()
    }

    /// Performs the part of a reader.
    fn scan(&self, random: &mut Random) {
        let part = reader_of(self.coding(), &self.rows(), random);
        Actor::new(&self.index, false, 0).play(&part);
    }

    /// Inserts copies of two rows, a row without a key, and one with a new key in each scope.
    fn insert_more(&self) {
        let rows = self.rows();
        let copies = rows
            .live()
            .map(|row| (row.keys.clone(), row.scope))
            .filter(|(keys, _)| !keys.is_empty())
            .take(2);
        let scopes = if self.index.shape.scope == 0 { 0..1 } else { 0..SCOPES };
        let new_key = self.coding().key_of(u64::MAX / 3);
        let new = scopes.clone().map(|scope| (vec![new_key], scope));
        for (keys, scope) in copies.chain([(Vec::new(), scopes.end - 1)]).chain(new) {
            let row = locked(&self.world).rows.begin(keys, scope, usize::MAX);
            let inserted = locked(&self.world).rows.all[row].clone();
            insert(&self.index, &inserted);
            locked(&self.world).rows.commit(row, usize::MAX);
        }
    }

    fn vacuum(&self) {
        let rows = self.rows();
        let is_dead = |tid: u64| rows.of_tid(tid).is_none_or(|row| !rows.all[row].is_live());
        let counts = self.index.vacuum(&is_dead);
        let entries_of = |table: u8| self.expected(&rows, table).len() as u64;
        let of_first = if self.index.is_of_postings() { 0 } else { entries_of(0) };
        let expected = of_first + entries_of(self.index.null_table());
        if counts.remaining != expected {
            fail(format!("vacuum counts {} rows of {expected}", counts.remaining));
        }
        let mut world = locked(&self.world);
        let dead = world.rows.dead(usize::MAX);
        let log = world.log_time();
        world.rows.vacuumed(&dead, log).expect("nobody reads");
    }

    /// Moves all postings to the settled tree.
    fn settle_all(&self) {
        self.index.settle_all();
        check_tables(&self.index);
        if let Some(left) = self.tree(RECENT).rows.first() {
            fail(format!("{left:x?} is recent after all have settled"));
        }
        self.expect_live_rows();
        self.expect_no_strangers();
    }

    /// After a vacuum: no row but the live ones, and no page that is neither used nor free.
    fn expect_nothing_else(&self) {
        let rows = self.rows();
        let mut used = vec![false; locked(&self.world).pages.len()];
        used[..FIRST_ROOT as usize].fill(true);
        for group in self.coding().groups() {
            let trees: Vec<Tree<K>> = group.iter().map(|&table| self.tree(table)).collect();
            let mut there: Vec<Row<K>> = trees.iter().flat_map(|tree| tree.rows.clone()).collect();
            let mut expected = self.expected(&rows, group[0]);
            expected.sort_unstable();
            there.sort_unstable();
            if there != expected {
                let only_one_has = (there.iter().find(|row| !expected.contains(row)))
                    .or_else(|| expected.iter().find(|row| !there.contains(row)));
                fail(format!(
                    "after a vacuum tables {group:?} have {} rows of {}: {only_one_has:x?}",
                    there.len(),
                    expected.len(),
                ));
            }
            for number in trees.into_iter().flat_map(|tree| tree.pages) {
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
pub fn judge_check<K: TreeKey, const PAGE: usize>(
    coding: Coding<K>,
    images: &[Image],
    random: &mut Random,
) {
    let mut images = images.to_vec();
    let number = random.below(images.len() - FIRST_ROOT as usize) + FIRST_ROOT as usize;
    let mut bytes = images[number].to_vec();
    // Most checks are about the special area, so it is chosen more often than the whole page.
    let shape = coding.meta.shape();
    let special = PAGE - shape.special();
    let from = random.pick(&[0, special, special]);
    let at = from + random.below(PAGE - from);
    bytes[at] ^= 1 << random.below(8);
    images[number] = bytes.into();
    let image = |number: u32| images.get(number as usize).map(|image| &image[..]);
    let walked = (0..=coding.layout.blocks() as u8)
        .try_for_each(|table| walk::<K>(image, &shape, table).map(drop));
    let world = Arc::new(Mutex::new(World::new(&images, Vec::new(), Rows::default())));
    locked(&world).enter_alone();
    let checked = catch_unwind(AssertUnwindSafe(|| {
        check_tables(&open(SimStore::<K, PAGE>::alone(world, coding), 8));
    }));
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
