//! What actors do, and what they must see.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use shuttle::thread;
use simhash_index::mutant::{self, Mutant};
use simhash_index::nearest::NearestOfAny;
use simhash_index::range::{Hit, RangeScan};
use simhash_index::store::Store;
use simhash_index::walk::LeafWalk;
use simhash_index::{Entry, Index};

use crate::failure::{Cancelled, fail};
use crate::program::{Op, Part};
use crate::rows::{Answer, Time, distance};
use crate::store::{Pinned, Shared, SimStore};
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

/// Has the actor copy the upper levels of the trees as they are, where its part leads.
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

/// How many steps an actor keeps leaves pinned in all. The parts of others do not last longer.
const MOST_IDLE: usize = 1500;

/// Plays a part. On a standby, moments are positions in the log.
pub struct Actor<'a, const PAGE: usize> {
    pub index: &'a Sim<PAGE>,
    pub standby: bool,
    /// For how many steps it keeps a leaf pinned.
    pub patience: usize,
    /// How many steps it has spent that way.
    pub idle: Cell<usize>,
    pub excluded: Vec<Excluded>,
}

impl<const PAGE: usize> Actor<'_, PAGE> {
    pub fn play(&mut self, part: &Part) {
        for op in &part.ops {
            self.index.store.note(Step::Op(format!("{op:x?}")));
            self.perform(op);
        }
    }

    pub fn perform(&mut self, op: &Op) {
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

    /// Inserts a row. `None` if the insertion was cancelled, so that the row is dead.
    fn insert(&self, keys: Vec<u64>) -> Option<usize> {
        let world = &self.index.store.world;
        let (row, tid) = {
            let mut world = locked(world);
            let log = world.log_time();
            let row = world.rows.begin(keys.clone(), log);
            (row, world.rows.all[row].tid)
        };
        let done = self.unless_cancelled(|| self.index.insert(&keys, tid));
        let mut world = locked(world);
        let log = world.log_time();
        if done.is_none() {
            world.rows.kill(row, log);
            return None;
        }
        world.rows.commit(row, log);
        Some(row)
    }

    /// Runs something that may be cancelled. If it is, the actor lets go of all that it has.
    fn unless_cancelled<R>(&self, run: impl FnOnce() -> R) -> Option<R> {
        let store = &self.index.store;
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(result) => Some(result),
            Err(payload) if payload.is::<Cancelled>() => {
                let woken = {
                    let mut world = locked(&store.world);
                    world.facts.cancelled += 1;
                    world.release_all(store.actor)
                };
                woken.iter().for_each(thread::Thread::unpark);
                None
            }
            Err(payload) => resume_unwind(payload),
        }
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
        if self.unless_cancelled(|| self.index.vacuum(&|tid| tids.contains(&tid))).is_none() {
            return;
        }
        let mut world = locked(world);
        let log = world.log_time();
        let verdict = world.rows.vacuumed(&dead, log);
        drop(world);
        verdict.unwrap_or_else(|what| fail(what));
    }

    fn range(&self, query: u64, distance: u32, pinned: bool) -> Vec<Hit<u64>> {
        let began = self.now();
        let index = self.index;
        let plan = index.plan(distance, index.leaves_per_table());
        let mut scan = RangeScan::new(plan, query);
        let (mut batch, mut hits) = (Vec::new(), Vec::new());
        while let Some(leaf) = scan.next_leaf(index, distance, &mut batch) {
            self.let_go(leaf, batch.iter().map(|hit| hit.tid), pinned);
            hits.append(&mut batch);
            index.store.check_for_interrupts();
        }
        let reach = Some(distance);
        let answer =
            Answer { query, distance, reach, of_nulls: false, began, ended: self.now(), hits };
        let hits = answer.hits.clone();
        self.judge(answer);
        hits
    }

    /// Unlocks a leaf on which these TIDs were read. If it is to stay pinned, it does for a while.
    fn let_go(&self, leaf: Shared<PAGE>, tids: impl Iterator<Item = u64>, pinned: bool) {
        if pinned {
            let owners = self.owners(tids);
            self.hold(owners, self.index.store.unlock(leaf));
        }
    }

    /// The rows that have these TIDs, which were read on a leaf that is still locked.
    fn owners(&self, tids: impl IntoIterator<Item = u64>) -> Vec<(u64, Option<usize>)> {
        let world = locked(&self.index.store.world);
        tids.into_iter().map(|tid| (tid, world.rows.of_tid(tid))).collect()
    }

    /// Keeps a leaf pinned for a while. Meanwhile no TID that was read there may be reused, except
    /// on a standby, which does not wait for pins.
    fn hold(&self, owners: Vec<(u64, Option<usize>)>, pin: Pinned<PAGE>) {
        let store = &self.index.store;
        let show = |owners| {
            let mut world = locked(&store.world);
            let shown = &mut world.rows.shown;
            shown.resize_with(shown.len().max(store.actor + 1), Vec::new);
            shown[store.actor] = owners;
        };
        if !self.standby {
            show(owners);
        }
        let steps = self.patience.min(MOST_IDLE.saturating_sub(self.idle.get()));
        self.idle.set(self.idle.get() + steps);
        (0..steps).for_each(|_| store.step());
        show(Vec::new());
        drop(pin);
    }

    fn nearest(&self, queries: &[u64], rows: usize, pinned: bool) {
        let began = self.now();
        let index = self.index;
        let mut scan = NearestOfAny::new(index, queries);
        let (mut batch, mut hits) = (Vec::new(), Vec::new());
        let mut complete = true;
        while scan.next_batch(index, &mut batch) {
            for hit in batch.drain(..) {
                hits.push(hit);
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
        let reach = if complete { Some(64) } else { last.checked_sub(1) };
        for &query in queries {
            let mut hits = hits.clone();
            if queries.len() > 1 {
                // A row comes once for each query, at its distance from that query.
                hits.retain(|hit| distance(hit.fingerprint, query) == hit.distance);
                hits.sort_unstable_by_key(|hit| (hit.tid, hit.fingerprint));
                hits.dedup_by_key(|hit| (hit.tid, hit.fingerprint));
            }
            self.judge(Answer { query, distance: 64, reach, of_nulls: false, began, ended, hits });
        }
    }

    /// Pins the leaf of a row that was found a while ago, if the row is still there.
    fn pin_again(&self, entry: &Entry<u64>) {
        (0..self.patience.min(30)).for_each(|_| self.index.store.step());
        let Some(leaf) = self.index.find(0, entry) else { return };
        let owners = self.owners([entry.tid]);
        let is_owner =
            |row: usize| locked(&self.index.store.world).rows.all[row].keys.contains(&entry.key);
        if !self.standby && !owners.iter().all(|(_, owner)| owner.is_some_and(is_owner)) {
            fail(format!("{entry:x?} is found, but its TID is another row's"));
        }
        self.hold(owners, self.index.store.unlock(leaf));
    }

    fn walk(&self, table: u8, pinned: bool) {
        let began = self.now();
        let index = self.index;
        let of_nulls = table == index.null_table();
        let mut walk = LeafWalk::new(table, Entry::MIN);
        let (mut entries, mut hits) = (Vec::new(), Vec::new());
        while let Some(leaf) = walk.next_leaf(index, &mut entries) {
            self.let_go(leaf, entries.iter().map(|entry| entry.tid), pinned);
            for entry in entries.drain(..) {
                let fingerprint = if of_nulls {
                    entry.key
                } else {
                    index.layout.restore(entry.key, u32::from(table))
                };
                let distance = fingerprint.count_ones();
                hits.push(Hit { fingerprint, tid: entry.tid, distance });
            }
            index.store.check_for_interrupts();
        }
        let answer = Answer {
            query: 0,
            distance: 64,
            reach: Some(64),
            of_nulls,
            began,
            ended: self.now(),
            hits,
        };
        self.judge(answer);
    }

    fn judge(&self, answer: Answer) {
        let mut world = locked(&self.index.store.world);
        world.facts.scans += 1;
        let verdict = if self.standby {
            world.rows.by_log().judge(&answer)
        } else {
            world.rows.judge(&answer)
        };
        drop(world);
        if let Err(what) = verdict {
            fail(format!(
                "a scan of {:016x} to {:?} (began {}, ended {}): {what}",
                answer.query, answer.reach, answer.began, answer.ended
            ));
        }
    }
}

/// Of two near rows that were inserted on condition, at least one saw the other.
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
