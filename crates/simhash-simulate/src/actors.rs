//! What actors do, and what they must see.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use simhash_index::mutant::{self, Mutant};
use simhash_index::nearest::NearestOfAny;
use simhash_index::range::RangeScan;
use simhash_index::store::{Lock, Store};
use simhash_index::{Entry, Index};

use crate::failure::{Cancelled, fail};
use crate::program::{Op, Part};
use crate::rows::{Answer, Found, Time, distance};
use crate::store::SimStore;
use crate::trace::Step;
use crate::world::locked;

/// A row that was inserted on condition, and the rows that were seen near it.
#[derive(Clone, Debug)]
pub struct Excluded {
    pub row: usize,
    pub key: u64,
    pub distance: u32,
    pub saw: BTreeSet<u64>,
}

type Sim<const PAGE: usize> = Index<u64, SimStore<PAGE>>;

/// Knows the upper levels of the trees as they are.
pub fn warm_up<const PAGE: usize>(index: &Sim<PAGE>, part: &Part) {
    for op in &part.ops {
        let keys: &[u64] = match op {
            Op::Insert(keys) => keys,
            Op::Exclude(key, _) => std::slice::from_ref(key),
            Op::Range { query, .. } => std::slice::from_ref(query),
            Op::Nearest { queries, .. } => queries,
            _ => &[],
        };
        for table in 0..index.null_table() {
            for &key in keys {
                index.locate(table, &Entry::first_with(index.layout.rotate(key, u32::from(table))));
            }
        }
    }
}

/// Plays a part; on a standby moments are positions in the log.
pub struct Actor<'a, const PAGE: usize> {
    pub index: &'a Sim<PAGE>,
    pub standby: bool,
    pub excluded: Vec<Excluded>,
}

impl<const PAGE: usize> Actor<'_, PAGE> {
    pub fn play(&mut self, part: &Part) {
        for op in &part.ops {
            self.index.store.note(Step::Op(format!("{op:x?}")));
            self.perform(op);
        }
    }

    fn perform(&mut self, op: &Op) {
        let store = &self.index.store;
        match op {
            Op::Idle(steps) => (0..*steps).for_each(|_| store.step()),
            Op::Insert(keys) => drop(self.insert(keys.clone())),
            Op::Exclude(key, distance) => self.exclude(*key, *distance),
            Op::Delete(number) => self.delete(*number),
            Op::Vacuum => self.vacuum(),
            Op::Range { query, distance, pinned } => drop(self.range(*query, *distance, *pinned)),
            Op::Nearest { queries, rows, pinned } => self.nearest(queries, *rows, *pinned),
            Op::Walk { table, pinned } => self.walk(*table, *pinned),
        }
    }

    fn now(&self) -> Time {
        let mut world = locked(&self.index.store.world);
        if self.standby { world.replayed + 1 } else { world.rows.now() }
    }

    /// Inserts a row; `None` if that was cancelled, and the row is dead.
    fn insert(&self, keys: Vec<u64>) -> Option<usize> {
        let world = &self.index.store.world;
        let (row, tid) = {
            let mut world = locked(world);
            let log = world.log_time();
            let row = world.rows.begin(keys.clone(), log);
            (row, world.rows.all[row].tid)
        };
        let result = catch_unwind(AssertUnwindSafe(|| self.index.insert(&keys, tid)));
        let mut world = locked(world);
        let log = world.log_time();
        match result {
            Ok(()) => world.rows.commit(row, log),
            Err(payload) if payload.is::<Cancelled>() => {
                world.rows.kill(row, log);
                world.facts.cancelled += 1;
                return None;
            }
            Err(payload) => {
                drop(world);
                resume_unwind(payload)
            }
        }
        Some(row)
    }

    fn exclude(&mut self, key: u64, distance: u32) {
        let early = mutant::is(Mutant::SearchedFirst).then(|| self.range(key, distance, true));
        let Some(row) = self.insert(vec![key]) else { return };
        let hits = early.unwrap_or_else(|| self.range(key, distance, true));
        let saw = hits.into_iter().map(|hit| hit.tid).collect();
        self.excluded.push(Excluded { row, key, distance, saw });
    }

    fn delete(&self, number: usize) {
        self.index.store.step();
        let mut world = locked(&self.index.store.world);
        let log = world.log_time();
        let live: Vec<usize> =
            (0..world.rows.all.len()).filter(|&row| world.rows.all[row].is_live()).collect();
        if !live.is_empty() {
            world.rows.kill(live[number % live.len()], log);
        }
    }

    fn vacuum(&self) {
        let world = &self.index.store.world;
        let dead = locked(world).rows.dead();
        let tids: BTreeSet<u64> = dead.iter().map(|&row| locked(world).rows.all[row].tid).collect();
        self.index.vacuum(&|tid| tids.contains(&tid));
        let mut world = locked(world);
        let log = world.log_time();
        world.rows.vacuumed(&dead, log);
    }

    fn range(&self, query: u64, distance: u32, pinned: bool) -> Vec<Found> {
        let began = self.now();
        let index = self.index;
        let plan = index.plan(distance, index.leaves_per_table());
        let mut scan = RangeScan::new(plan, query);
        let (mut batch, mut hits) = (Vec::new(), Vec::new());
        while let Some(leaf) = scan.next_leaf(index, distance, &mut batch) {
            let pin = if pinned {
                Some((self.owners(batch.iter().map(|hit| hit.tid)), index.store.unlock(leaf)))
            } else {
                drop(leaf);
                None
            };
            for hit in batch.drain(..) {
                hits.push(Found { tid: hit.tid, key: hit.fingerprint, distance: hit.distance });
            }
            if let Some((owners, pin)) = pin {
                self.expect_owners(&owners);
                drop(pin);
            }
            index.store.check_for_interrupts();
        }
        self.judge(Answer { query, distance, reach: distance, began, ended: self.now(), hits: hits.clone() });
        hits
    }

    /// The rows that have these TIDs, of a locked leaf.
    fn owners(&self, tids: impl IntoIterator<Item = u64>) -> Vec<(u64, Option<usize>)> {
        let world = locked(&self.index.store.world);
        tids.into_iter().map(|tid| (tid, world.rows.of_tid(tid))).collect()
    }

    /// While its leaf is pinned, a TID is not used anew. A standby does not wait for pins.
    fn expect_owners(&self, owners: &[(u64, Option<usize>)]) {
        if self.standby {
            return;
        }
        for &(tid, owner) in owners {
            self.index.store.step();
            if locked(&self.index.store.world).rows.of_tid(tid) != owner {
                fail(format!("the TID {tid:x} is used anew while its leaf is pinned"));
            }
        }
    }

    fn nearest(&self, queries: &[u64], rows: usize, pinned: bool) {
        let began = self.now();
        let index = self.index;
        let mut scan = NearestOfAny::new(index, queries);
        let (mut batch, mut hits) = (Vec::new(), Vec::new());
        let mut complete = true;
        while scan.next_batch(index, &mut batch) {
            for hit in batch.drain(..) {
                hits.push(Found { tid: hit.tid, key: hit.fingerprint, distance: hit.distance });
                if pinned {
                    self.pin_again(&Entry { key: hit.fingerprint, tid: hit.tid });
                }
            }
            if hits.len() >= rows {
                complete = false;
                break;
            }
            index.store.check_for_interrupts();
        }
        if let Some(two) = hits.windows(2).find(|two| two[0].distance > two[1].distance) {
            fail(format!("the nearest come in the order {two:?}"));
        }
        let last = hits.last().map_or(0, |hit| hit.distance);
        let ended = self.now();
        if let [query] = queries {
            if complete {
                self.judge(Answer { query: *query, distance: 64, reach: 64, began, ended, hits });
            } else if let Some(reach) = last.checked_sub(1) {
                self.judge(Answer { query: *query, distance: 64, reach, began, ended, hits });
            }
        } else if complete {
            // Each row comes once for each query, at its distance from that; once is enough.
            for &query in queries {
                let of_query = |hit: &&Found| distance(hit.key, query) == hit.distance;
                let mut hits: Vec<Found> = hits.iter().filter(of_query).copied().collect();
                hits.sort_unstable_by_key(|hit| (hit.tid, hit.key));
                hits.dedup_by_key(|hit| (hit.tid, hit.key));
                self.judge(Answer { query, distance: 64, reach: 64, began, ended, hits });
            }
        }
    }

    /// Pins the leaf of a row that was found a while ago, if it is still there.
    fn pin_again(&self, entry: &Entry<u64>) {
        if let Some(leaf) = self.index.find(0, entry) {
            let owners = self.owners([entry.tid]);
            let pin = self.index.store.unlock(leaf);
            self.expect_owners(&owners);
            drop(pin);
        }
    }

    fn walk(&self, table: u8, pinned: bool) {
        let began = self.now();
        let index = self.index;
        let mut from = Some(Entry::MIN);
        let mut hits = Vec::new();
        while let Some(low) = from {
            let (leaf, block) = index.read_leaf(table, &low, None);
            let page = index.checked(block, leaf.bytes());
            from = page.bounds::<u64>().high;
            let mut tids = Vec::new();
            for entry in page.entries::<u64>().filter(|entry| *entry >= low) {
                tids.push(entry.tid);
                if table < index.null_table() {
                    let key = index.layout.restore(entry.key, u32::from(table));
                    hits.push(Found { tid: entry.tid, key, distance: key.count_ones() });
                }
            }
            if pinned {
                let owners = self.owners(tids);
                let pin = index.store.unlock(leaf);
                self.expect_owners(&owners);
                drop(pin);
            } else {
                drop(leaf);
            }
            index.store.check_for_interrupts();
        }
        if table < index.null_table() {
            self.judge(Answer { query: 0, distance: 64, reach: 64, began, ended: self.now(), hits });
        }
    }

    fn judge(&self, answer: Answer) {
        let mut world = locked(&self.index.store.world);
        world.facts.scans += 1;
        let verdict =
            if self.standby { world.rows.by_log().judge(&answer) } else { world.rows.judge(&answer) };
        drop(world);
        if let Err(what) = verdict {
            fail(format!(
                "a scan of {:016x} to {} (began {}, ended {}): {what}",
                answer.query, answer.reach, answer.began, answer.ended
            ));
        }
    }
}

/// Of two near rows that were inserted on condition, one at least saw the other.
pub fn judge_excluded(excluded: &[Excluded], rows: &crate::rows::Rows) {
    for (i, a) in excluded.iter().enumerate() {
        for b in &excluded[..i] {
            let (row_a, row_b) = (&rows.all[a.row], &rows.all[b.row]);
            let near = distance(a.key, b.key) <= a.distance.min(b.distance);
            if near
                && row_a.is_live()
                && row_b.is_live()
                && !a.saw.contains(&row_b.tid)
                && !b.saw.contains(&row_a.tid)
            {
                fail(format!(
                    "rows {:x} and {:x} are near each other, and neither saw the other",
                    row_a.tid, row_b.tid
                ));
            }
        }
    }
}
