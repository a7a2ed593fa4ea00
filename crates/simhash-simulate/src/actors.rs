//! Actors perform the operations of their parts, and judge the answers.

mod postings;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use shuttle::thread;
use simhash_index::key::Bytes;
use simhash_index::mutant::{self, Mutant};
use simhash_index::nearest::NearestOfAny;
use simhash_index::page::Page;
use simhash_index::range::{Hit, RangeScan};
use simhash_index::store::{Lock, Store};
use simhash_index::walk::LeafWalk;
use simhash_index::{Entry, Row, Scopes, TreeKey};

use crate::coding::{Coding, Selection};
use crate::failure::{Cancelled, fail};
use crate::opened::{Sim, insert};
use crate::program::{Op, Part};
use crate::rows::{Answer, Found, Of, Rows, SCOPES, Time, distance};
use crate::store::{Pinned, Shared};
use crate::trace::Step;
use crate::world::locked;

/// A row inserted under an exclusion, and the TIDs that its search found near it.
#[derive(Clone, Debug)]
pub struct Excluded {
    pub row: usize,
    pub scope: u8,
    pub near: Near,
    pub saw: BTreeSet<u64>,
}

/// How near another row must not be.
#[derive(Clone, Debug)]
pub enum Near {
    /// Within a distance of a key.
    Within { key: u64, distance: u32 },
    /// At least `shared` of these keys.
    Sharing { keys: Vec<u64>, shared: usize },
}

impl Near {
    /// Whether each of two rows counts the other as near.
    fn is_mutual(&self, other: &Self) -> bool {
        match (self, other) {
            (Near::Within { key: a, distance: one }, Near::Within { key: b, distance: other }) => {
                distance(*a, *b) <= *one.min(other)
            }
            (Near::Sharing { keys: a, shared: one }, Near::Sharing { keys: b, shared: other }) => {
                a.iter().filter(|key| b.contains(key)).count() >= *one.max(other)
            }
            _ => false,
        }
    }
}

/// Has the actor copy the inner pages on the paths of its part's descents, as they are now.
pub fn warm_up<K: TreeKey, const PAGE: usize>(index: &Sim<K, PAGE>, part: &Part) {
    let of = |selection: &Selection| match selection {
        Selection::One(scope) => *scope,
        _ => 0,
    };
    for op in &part.ops {
        let (keys, scope): (&[u64], u8) = match op {
            Op::Insert { keys, scope } => (keys, *scope),
            Op::Exclude { key, scope, .. } => (std::slice::from_ref(key), *scope),
            Op::ExcludeSharing { keys, scope, .. } => (keys, *scope),
            Op::Search { keys, scopes, .. } => (keys, of(scopes)),
            Op::Range { query, scopes, .. } => (std::slice::from_ref(query), of(scopes)),
            Op::Nearest { queries, scopes, .. } => (queries, scopes.first().map_or(0, of)),
            _ => (&[], 0),
        };
        for table in 0..index.null_table() {
            for &key in keys {
                index.locate(table, &index.store.coding.first_with(key, scope, table));
            }
        }
    }
}

/// The most steps in which an actor keeps leaves pinned, in all. The parts of others are shorter.
const MOST_IDLE: usize = 1500;

/// Plays a part. On a standby, moments are positions in the log.
pub struct Actor<'a, K: TreeKey, const PAGE: usize> {
    index: &'a Sim<K, PAGE>,
    standby: bool,
    /// For how many steps it keeps a leaf pinned.
    patience: usize,
    /// How many steps it has spent that way.
    idle: Cell<usize>,
    /// Entries of dead rows that its scans have found, each with its table.
    found_dead: RefCell<Vec<(u8, Entry<K>)>>,
    pub excluded: Vec<Excluded>,
}

impl<'a, K: TreeKey, const PAGE: usize> Actor<'a, K, PAGE> {
    pub fn new(index: &'a Sim<K, PAGE>, standby: bool, patience: usize) -> Self {
        let (idle, found_dead) = (Cell::new(0), RefCell::default());
        Self { index, standby, patience, idle, found_dead, excluded: Vec::new() }
    }

    pub fn play(&mut self, part: &Part) {
        for op in &part.ops {
            self.index.store.note(Step::Op(format!("{op:x?}")));
            self.perform(op);
            self.bury();
        }
    }

    pub fn perform(&mut self, op: &Op) {
        let store = &self.index.store;
        match op {
            Op::Idle(steps) => (0..*steps).for_each(|_| store.step()),
            Op::Insert { keys, scope } => drop(self.insert(keys.clone(), *scope)),
            Op::Exclude { key, distance, scope } => self.exclude(*key, *distance, *scope),
            Op::Delete(number) => self.delete(|live| vec![live[number % live.len()]]),
            Op::Clear(scope) => self.clear(*scope),
            Op::Vacuum => self.vacuum(),
            Op::Range { query, distance, scopes, pinned } => {
                drop(self.range(*query, *distance, scopes, *pinned));
            }
            Op::Nearest { queries, limit, scopes, rows, pinned } => {
                self.nearest((queries, *limit), scopes, *rows, *pinned);
            }
            Op::Walk { table, scope, pinned } => self.walk(*table, *scope, *pinned),
            Op::Search { keys, shared, scopes, rows } => {
                drop(self.search(keys, *shared, scopes, *rows));
            }
            Op::ExcludeSharing { keys, shared, scope } => {
                self.exclude_sharing(keys, *shared, *scope);
            }
            Op::Look { place, key } => self.look(*place, *key),
            Op::Settle(place) => self.settle(*place),
            Op::SettleAll => {
                self.unless_cancelled(|| self.index.settle_all());
            }
        }
    }

    fn coding(&self) -> &Coding<K> {
        &self.index.store.coding
    }

    fn now(&self) -> Time {
        let mut world = locked(&self.index.store.world);
        if self.standby { world.replayed + 1 } else { world.rows.now() }
    }

    /// Takes a snapshot for a scan, and returns its time.
    fn begin_scan(&self) -> Time {
        let mut world = locked(&self.index.store.world);
        let now = if self.standby { world.replayed + 1 } else { world.rows.now() };
        world.begin_scan(self.index.store.actor, now);
        now
    }

    /// Ends a scan, and returns whether its answer can be judged: on a standby, a replayed record
    /// may have ended the scan first.
    fn end_scan(&self) -> bool {
        let mut world = locked(&self.index.store.world);
        let is_ended = world.end_scan(self.index.store.actor);
        world.facts.scans += u64::from(!is_ended);
        world.facts.ended += u64::from(is_ended);
        !is_ended
    }

    /// Remembers those of the entries found, each with its table, that belong to dead rows.
    fn note_dead(&self, found: impl IntoIterator<Item = (u8, Entry<K>)>) {
        let world = locked(&self.index.store.world);
        let is_dead = |(_, entry): &(u8, Entry<K>)| {
            let row = world.rows.of_tid(entry.tid);
            row.is_some_and(|row| world.rows.all[row].at.dead.is_some())
        };
        self.found_dead.borrow_mut().extend(found.into_iter().filter(is_dead));
    }

    /// A hit's entry in the table that it was found in.
    fn entry_of(&self, hit: &Hit<K>) -> (u8, Entry<K>) {
        let rotated = self.index.layout.rotate(hit.fingerprint, u32::from(hit.table));
        (hit.table, Entry { key: K::new(hit.scope, rotated), tid: hit.tid })
    }

    /// Removes the entries of dead rows that the last operation's scans found. Only actors with odd
    /// numbers do.
    fn bury(&self) {
        let mut found = std::mem::take(&mut *self.found_dead.borrow_mut());
        if self.standby || self.index.store.actor.is_multiple_of(2) {
            return;
        }
        found.sort_unstable();
        found.dedup();
        for table in found.chunk_by(|a, b| a.0 == b.0) {
            let entries: Vec<Entry<K>> = table.iter().map(|(_, entry)| *entry).collect();
            self.unless_cancelled(|| self.index.reclaim_found(table[0].0, &entries, 1));
        }
    }

    /// Inserts a row. `None` if the insertion was cancelled, so that the row is dead.
    fn insert(&self, keys: Vec<u64>, scope: u8) -> Option<usize> {
        let world = &self.index.store.world;
        let (row, inserted) = {
            let mut world = locked(world);
            let log = world.log_time();
            let row = world.rows.begin(keys, scope, log);
            (row, world.rows.all[row].clone())
        };
        let done = self.unless_cancelled(|| insert(self.index, &inserted));
        let mut world = locked(world);
        let log = world.log_time();
        if done.is_none() {
            world.rows.kill(row, log);
            return None;
        }
        world.rows.commit(row, log);
        Some(row)
    }

    /// Runs something that may be cancelled. If it is, the actor's locks and pins are released.
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

    fn exclude(&mut self, key: u64, distance: u32, scope: u8) {
        let search = || self.range(key, distance, &Selection::One(scope), true);
        let early = mutant::is(Mutant::SearchedFirst).then(search);
        let Some(row) = self.insert(vec![key], scope) else { return };
        let saw = early.unwrap_or_else(search).into_iter().map(|hit| hit.tid).collect();
        self.excluded.push(Excluded { row, scope, near: Near::Within { key, distance }, saw });
    }

    /// Deletes the chosen ones of the live rows, if there are any.
    fn delete(&self, choose: impl FnOnce(&[usize]) -> Vec<usize>) {
        self.index.store.step();
        let mut world = locked(&self.index.store.world);
        let log = world.log_time();
        let live: Vec<usize> =
            (0..world.rows.all.len()).filter(|&row| world.rows.all[row].is_live()).collect();
        if !live.is_empty() {
            choose(&live).into_iter().for_each(|row| world.rows.kill(row, log));
        }
    }

    /// Deletes the live rows of a scope.
    fn clear(&self, scope: u8) {
        let rows = locked(&self.index.store.world).rows.clone();
        self.delete(|live| {
            let is_of_scope =
                |row: &usize| rows.all.get(*row).is_some_and(|row| row.scope == scope);
            live.iter().copied().filter(is_of_scope).collect()
        });
    }

    fn vacuum(&self) {
        let world = &self.index.store.world;
        let dead = {
            let mut world = locked(world);
            let dead = world.rows.dead(world.oldest());
            // The heap logs its horizon before the index is vacuumed.
            let horizon = world.rows.horizon(&dead);
            world.log_horizon(horizon);
            dead
        };
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

    fn range(&self, query: u64, distance: u32, scopes: &Selection, pinned: bool) -> Vec<Found> {
        let began = self.begin_scan();
        let (index, coding) = (self.index, self.coding());
        let looked_into = coding.scopes(scopes);
        let plan = index.plan(distance, &index.extent(&looked_into));
        let mut scan = RangeScan::new(plan, coding.fingerprint(query), looked_into);
        let (mut batch, mut hits) = (Vec::new(), Vec::new());
        while let Some(leaf) = scan.next_leaf(index, distance, &mut batch) {
            let page = self.page(&leaf);
            let found = |hit: Hit<K>| self.found(&hit, Some(self.payload(&page, &hit)));
            let first = hits.len();
            self.note_dead(batch.iter().map(|hit| self.entry_of(hit)));
            hits.extend(batch.drain(..).map(found));
            self.let_go(leaf, hits[first..].iter().map(|hit| hit.tid), pinned);
            index.store.check_for_interrupts();
        }
        let answer = Answer {
            query,
            distance,
            reach: Some(distance),
            of: Of::Keys,
            scopes: coding.selected(scopes),
            began,
            ended: self.now(),
            hits,
        };
        if self.end_scan() {
            self.judge(&answer);
        }
        answer.hits
    }

    fn page<'b>(&self, leaf: &'b Shared<K, PAGE>) -> Page<'b> {
        Page::check::<K>(leaf.bytes(), &self.index.shape).unwrap_or_else(|damage| {
            fail(format!("a scan returns a leaf that is damaged: {damage}"))
        })
    }

    /// The number of the row whose payload the leaf has at a hit's position.
    fn payload(&self, leaf: &Page<'_>, hit: &Hit<K>) -> Option<u32> {
        let position = hit.position as usize;
        if position >= leaf.len() || leaf.tid(position) != hit.tid {
            fail(format!("{hit:x?} is not in its place"));
        }
        self.row_of(leaf, position)
    }

    fn row_of(&self, leaf: &Page<'_>, position: usize) -> Option<u32> {
        self.coding().row_of(leaf.payload(position)).unwrap_or_else(|what| fail(what))
    }

    /// A hit in the model's numbers.
    fn found(&self, hit: &Hit<K>, payload: Option<Option<u32>>) -> Found {
        let Hit { fingerprint, tid, distance, .. } = *hit;
        let numbers = self.coding().key(fingerprint).zip(self.coding().number(hit.scope));
        let Some((key, scope)) = numbers else { fail(format!("{hit:x?} is of no row")) };
        Found { tid, key, scope, payload: payload.flatten(), distance }
    }

    /// Unlocks a leaf on which these TIDs were read. If `pinned`, it stays pinned for a while.
    fn let_go(&self, leaf: Shared<K, PAGE>, tids: impl Iterator<Item = u64>, pinned: bool) {
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
    /// on a standby, where replay does not wait for pins.
    fn hold(&self, owners: Vec<(u64, Option<usize>)>, pin: Pinned<K, PAGE>) {
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

    fn nearest(
        &self,
        (queries, limit): (&[u64], u32),
        scopes: &[Selection],
        rows: usize,
        pinned: bool,
    ) {
        let began = self.begin_scan();
        let (index, coding) = (self.index, self.coding());
        let fingerprints: Vec<(K::Fingerprint, u32)> =
            queries.iter().map(|&query| (coding.fingerprint(query), limit)).collect();
        let looked_into: Vec<Scopes<K::Scope>> =
            scopes.iter().map(|scopes| coding.scopes(scopes)).collect();
        let mut scan = NearestOfAny::new(index, &fingerprints, &looked_into);
        let (mut batch, mut hits) = (Vec::new(), Vec::new());
        let mut complete = true;
        while scan.next_batch(index, &mut batch) {
            self.note_dead(batch.iter().map(|hit| self.entry_of(hit)));
            for hit in batch.drain(..) {
                let payload = pinned.then(|| self.pin_again(&hit)).flatten();
                hits.push(self.found(&hit, payload));
            }
            if hits.len() >= rows {
                complete = false;
                break;
            }
            index.store.check_for_interrupts();
        }
        if let Some(two) = hits.windows(2).find(|two| two[0].distance > two[1].distance) {
            fail(format!("the nearest come in the order {two:x?}"));
        }
        let last = hits.last().map_or(0, |hit| hit.distance);
        let ended = self.now();
        let is_judged = self.end_scan();
        let reach = if complete { Some(limit) } else { last.checked_sub(1) };
        let mut selected = [false; SCOPES as usize];
        for selection in scopes {
            let of_one = coding.selected(selection);
            selected.iter_mut().zip(of_one).for_each(|(all, one)| *all |= one);
        }
        for &query in queries {
            let mut hits = hits.clone();
            if queries.len() > 1 {
                // A row is returned once for each query, at its distance from that query.
                hits.retain(|hit| distance(hit.key, query) == hit.distance);
                hits.sort_unstable_by_key(|hit| (hit.tid, hit.key, hit.scope));
                hits.dedup_by_key(|hit| (hit.tid, hit.key, hit.scope));
            }
            let scopes = selected;
            let of = Of::Keys;
            if is_judged {
                self.judge(&Answer { query, distance: 64, reach, of, scopes, began, ended, hits });
            }
        }
    }

    /// Finds the leaf of an earlier hit again, pins it, and reads the payload, if the entry is
    /// still there.
    fn pin_again(&self, hit: &Hit<K>) -> Option<Option<u32>> {
        (0..self.patience.min(30)).for_each(|_| self.index.store.step());
        let (leaf, position) = self.index.find(0, &hit.entry())?;
        let payload = self.row_of(&self.page(&leaf), position);
        let found = self.found(hit, Some(payload));
        let owners = self.owners([hit.tid]);
        let is_owner = |row: usize| {
            let row = &locked(&self.index.store.world).rows.all[row];
            row.keys.contains(&found.key)
                && row.scope == found.scope
                && payload.is_none_or(|payload| row.number == payload)
        };
        if !self.standby && !owners.iter().all(|(_, owner)| owner.is_some_and(is_owner)) {
            fail(format!("{found:x?} is found, but its TID is another row's"));
        }
        self.hold(owners, self.index.store.unlock(leaf));
        Some(payload)
    }

    /// Reads a table, or a scope of it.
    fn walk(&self, table: u8, scope: Option<u8>, pinned: bool) {
        let began = self.begin_scan();
        let (index, coding) = (self.index, self.coding());
        let of = match table == index.null_table() {
            true if index.is_of_postings() => Of::Rows,
            true => Of::Nulls,
            false => Of::Keys,
        };
        let least =
            |scope: u8| Entry::first_with(K::new(coding.scope(scope), K::MIN.fingerprint()));
        let mut walk = LeafWalk::new(table, scope.map_or(Entry::MIN, least));
        let is_in_scope =
            |key: K| scope.is_none_or(|scope| coding.number(key.scope()) == Some(scope));
        let (mut rows, mut hits) = (Vec::new(), Vec::new());
        while walk.position().is_some_and(|position| {
            scope.is_none_or(|scope| position.key.scope() <= coding.scope(scope))
        }) {
            let Some(leaf) = walk.next_leaf(index, &mut rows) else { break };
            rows.retain(|row: &Row<K>| is_in_scope(row.entry.key));
            let first = hits.len();
            self.note_dead(rows.iter().map(|row| (table, row.entry)));
            hits.extend(rows.drain(..).map(|row| self.walked(table, &row)));
            self.let_go(leaf, hits[first..].iter().map(|hit| hit.tid), pinned);
            index.store.check_for_interrupts();
        }
        let scopes = scope.map_or(Selection::All, Selection::One);
        let answer = Answer {
            query: 0,
            distance: 64,
            reach: Some(64),
            of,
            scopes: coding.selected(&scopes),
            began,
            ended: self.now(),
            hits,
        };
        if self.end_scan() {
            self.judge(&answer);
        }
    }

    /// A row that a walk over a table has read, in the model's numbers.
    fn walked(&self, table: u8, row: &Row<K>) -> Found {
        let (coding, Entry { key, tid }) = (self.coding(), row.entry);
        let number = if table == self.index.null_table() {
            coding.presence(key.fingerprint())
        } else {
            coding.key(coding.layout.restore(key.fingerprint(), u32::from(table)))
        };
        let Some((key, scope)) = number.zip(coding.number(key.scope())) else {
            fail(format!("{row:x?} is no row"))
        };
        let mut payload = vec![0; self.index.shape.payload];
        row.payload.store(&mut payload);
        let payload = coding.row_of(&payload).unwrap_or_else(|what| fail(what));
        Found { tid, key, scope, payload, distance: key.count_ones() }
    }

    fn judge(&self, answer: &Answer) {
        let world = locked(&self.index.store.world);
        let verdict =
            if self.standby { world.rows.by_log().judge(answer) } else { world.rows.judge(answer) };
        drop(world);
        if let Err(what) = verdict {
            fail(format!(
                "a scan of {:016x} to {:?} in {:?} (began {}, ended {}): {what}",
                answer.query, answer.reach, answer.scopes, answer.began, answer.ended
            ));
        }
    }
}

/// Checks that of two live rows that were inserted under exclusions and are near each other, at
/// least one's search found the other.
pub fn judge_excluded(excluded: &[Excluded], rows: &Rows) {
    for (i, a) in excluded.iter().enumerate() {
        for b in &excluded[..i] {
            let (row_a, row_b) = (&rows.all[a.row], &rows.all[b.row]);
            if a.scope == b.scope
                && a.near.is_mutual(&b.near)
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
