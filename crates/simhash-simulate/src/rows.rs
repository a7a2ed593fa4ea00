//! The model of the indexed rows: which rows there were when, and what a scan had to return, by
//! brute force.

use std::collections::BTreeMap;

/// How many scopes there are.
pub const SCOPES: u8 = 6;

/// For each scope, whether it is selected.
pub type Selected = [bool; SCOPES as usize];

/// The distance by which scans are judged. It does not share the index's code.
pub fn distance(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

/// A moment in the order of events, or a position in the log.
pub type Time = usize;

/// When things happened to a row. `None`: not yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Its insertion began.
    pub begun: Time,
    /// Its insertion has returned.
    pub committed: Option<Time>,
    /// It was deleted, or its insertion was undone.
    pub dead: Option<Time>,
    /// Vacuum has taken it out of the index, so its TID may be reused.
    pub gone: Option<Time>,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub tid: u64,
    /// Empty for a row in the table of NULLs.
    pub keys: Vec<u64>,
    pub scope: u8,
    /// Unique among all rows, and encoded in the payload.
    pub number: u32,
    pub at: Times,
    /// The same as positions in the log: 0 is before the first record, n + 1 after n records.
    pub log: Times,
}

impl Row {
    /// The row's key in a table of all rows: NULL, without keys, or with some.
    pub fn presence(&self) -> u64 {
        if self.keys.is_empty() { u64::from(self.number % 2) } else { 2 }
    }

    /// Whether the row was there at any time of a scan.
    pub fn was_there(&self, began: Time, ended: Time) -> bool {
        self.at.begun <= ended && self.at.gone.is_none_or(|gone| gone >= began)
    }

    /// Whether the snapshot of a scan that began then sees the row.
    pub fn is_seen(&self, began: Time) -> bool {
        self.at.committed.is_some_and(|time| time <= began)
            && self.at.dead.is_none_or(|dead| dead > began)
    }

    /// Whether no snapshot sees the row, neither now nor later, if the oldest was taken at that
    /// time.
    pub fn is_dead_to_all(&self, oldest: Time) -> bool {
        self.at.dead.is_some_and(|dead| self.at.committed.is_none() || dead <= oldest)
    }

    pub fn is_live(&self) -> bool {
        self.at.committed.is_some() && self.at.dead.is_none()
    }
}

#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub all: Vec<Row>,
    /// The row that has a TID, by slot.
    slots: Vec<Option<usize>>,
    /// Which heap pages have TIDs that need more than three bytes: bit `i` of the low four stands
    /// for every fourth page from page `i` on. The bits from 4 on say why. 0: page numbers too
    /// great for four bytes. 1: offsets too great for four bytes. 2: four bytes suffice.
    far: u8,
    clock: Time,
    /// How many rows there ever were.
    numbers: u32,
    /// For each actor: the TIDs that its scan has read on a leaf that it keeps pinned, and the rows
    /// that had them.
    pub shown: Vec<Vec<(u64, Option<usize>)>>,
}

/// What is added to the number of a far page, or to its offsets.
const FAR_PAGE: u64 = 1 << 21;
const FAR_OFFSET: u64 = 1 << 11;
/// The same, if four bytes suffice.
const MIDDLE_PAGE: u64 = 1 << 20;
const MIDDLE_OFFSET: u64 = 1 << 3;

impl Rows {
    /// No rows yet. `far` says which TIDs they will have.
    pub fn with_far(far: u8) -> Self {
        Self { far, ..Self::default() }
    }

    /// The TID of a slot. A heap page has four rows, with offsets from 1.
    fn tid(&self, slot: usize) -> u64 {
        let (page, offset) = ((slot / 4) as u64, (slot % 4 + 1) as u64);
        match (self.far >> (page % 4) & 1, self.far >> 4) {
            (0, _) => page << 16 | offset,
            (_, 0) => (page | FAR_PAGE) << 16 | offset,
            (_, 1) => page << 16 | offset | FAR_OFFSET,
            _ => (page | MIDDLE_PAGE) << 16 | offset | MIDDLE_OFFSET,
        }
    }

    /// The slot of a TID, if there is one.
    fn slot(&self, tid: u64) -> Option<usize> {
        let (page, offset) =
            ((tid >> 16) & (MIDDLE_PAGE - 1), (tid & 0xffff) & (MIDDLE_OFFSET - 1));
        let slot = page as usize * 4 + (offset as usize).checked_sub(1)?;
        (self.tid(slot) == tid).then_some(slot)
    }

    pub fn now(&mut self) -> Time {
        self.clock += 1;
        self.clock
    }

    /// A new row, in the first slot that is free.
    pub fn begin(&mut self, keys: Vec<u64>, scope: u8, log: usize) -> usize {
        let free = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        if free == self.slots.len() {
            self.slots.push(None);
        }
        let begun = self.now();
        self.numbers += 1;
        let times = |begun| Times { begun, ..Times::default() };
        let (at, log) = (times(begun), times(log));
        let tid = self.tid(free);
        self.all.push(Row { tid, keys, scope, number: self.numbers, at, log });
        self.slots[free] = Some(self.all.len() - 1);
        self.all.len() - 1
    }

    pub fn commit(&mut self, row: usize, log: usize) {
        self.all[row].at.committed = Some(self.now());
        self.all[row].log.committed = Some(log);
    }

    pub fn kill(&mut self, row: usize, log: usize) {
        self.all[row].at.dead = Some(self.now());
        self.all[row].log.dead = Some(log);
    }

    /// The rows that a vacuum beginning now removes, if the oldest snapshot was taken at that time.
    pub fn dead(&self, oldest: Time) -> Vec<usize> {
        let is_dead = |row: &&usize| self.all[**row].is_dead_to_all(oldest);
        self.slots.iter().flatten().filter(is_dead).copied().collect()
    }

    /// Records the end of a vacuum that removed these rows: their TIDs may be reused.
    ///
    /// # Errors
    /// When a scan has read one of them on a leaf that it keeps pinned.
    pub fn vacuumed(&mut self, rows: &[usize], log: usize) -> Result<(), String> {
        for &row in rows {
            let tid = self.all[row].tid;
            if self.shown.iter().flatten().any(|&(shown, owner)| shown == tid && owner == Some(row))
            {
                return Err(format!("the TID {tid:x} is handed on while its leaf is pinned"));
            }
            self.all[row].at.gone = Some(self.now());
            self.all[row].log.gone = Some(log);
            let slot = self.slot(tid).expect("a row has one");
            self.slots[slot] = None;
        }
        Ok(())
    }

    /// The last position in the log at which a standby's snapshot may see any of these dead rows. 0
    /// if none ever could.
    pub fn horizon(&self, dead: &[usize]) -> Time {
        let seen = dead.iter().map(|&row| &self.all[row]);
        let seen = seen.filter(|row| row.at.committed.is_some());
        seen.filter_map(|row| row.log.dead).max().unwrap_or(0)
    }

    /// The row that has this TID now.
    pub fn of_tid(&self, tid: u64) -> Option<usize> {
        *self.slots.get(self.slot(tid)?)?
    }

    pub fn live(&self) -> impl Iterator<Item = &Row> {
        self.all.iter().filter(|row| row.is_live())
    }

    /// The rows as a standby sees them: moments are positions in the log.
    pub fn by_log(&self) -> Self {
        let mut rows = self.clone();
        rows.all.iter_mut().for_each(|row| row.at = row.log);
        rows
    }

    /// The rows after a crash that keeps the first `records` records. Insertions that had not
    /// returned by then are undone, and later events have not happened.
    pub fn after_crash(&self, records: usize) -> Self {
        let Self { clock, numbers, far, .. } = *self;
        let mut rows = Self { clock, numbers, far, ..Self::default() };
        let now = records.saturating_add(1);
        let past = |time: Option<Time>| time.filter(|&time| time <= now);
        for row in self.all.iter().filter(|row| past(row.log.gone).is_none()) {
            if row.log.begun >= now && past(row.log.committed).is_none() {
                continue;
            }
            let mut row = row.clone();
            row.log =
                Times { committed: past(row.log.committed), dead: past(row.log.dead), ..row.log };
            if row.log.committed.is_none() || row.log.dead.is_some() {
                row.log.dead = row.log.dead.or(Some(now));
                row.at.dead = row.at.dead.or(Some(self.clock));
            } else {
                row.at.dead = None;
            }
            if row.log.committed.is_none() {
                row.at.committed = None;
            }
            row.at.gone = None;
            row.log.gone = None;
            let slot = self.slot(row.tid).expect("a row has one");
            rows.slots.resize(rows.slots.len().max(slot + 1), None);
            rows.slots[slot] = Some(rows.all.len());
            rows.all.push(row);
        }
        rows
    }

    /// Judges the answer of a scan. It must have every row that the snapshot sees in the scopes,
    /// within reach, once. It may have only rows that were there at some time of the scan.
    ///
    /// # Errors
    /// What is wrong with the answer.
    pub fn judge(&self, scan: &Answer) -> Result<(), String> {
        let mut found: BTreeMap<(u64, u64, u8), usize> = BTreeMap::new();
        for hit in &scan.hits {
            let right = distance(hit.key, scan.query);
            if right != hit.distance || hit.distance > scan.distance {
                return Err(format!("{hit:x?} is not at its distance from {:016x}", scan.query));
            }
            if !scan.scopes[usize::from(hit.scope)] {
                return Err(format!("{hit:x?} is of a scope that was not asked for"));
            }
            *found.entry((hit.tid, hit.key, hit.scope)).or_default() += 1;
        }
        // How often each may be found: once for each row that was there at any time.
        let mut allowed: BTreeMap<(u64, u64, u8), Vec<u32>> = BTreeMap::new();
        for row in self.all.iter().filter(|row| scan.scopes[usize::from(row.scope)]) {
            let was_there = row.was_there(scan.began, scan.ended);
            let is_seen = row.is_seen(scan.began);
            let keys: &[u64] = match (scan.of, row.keys.is_empty()) {
                (Of::Rows, _) => &[row.presence()],
                (Of::Nulls, true) => &[0],
                (Of::Keys, false) => &row.keys,
                _ => &[],
            };
            for &key in keys {
                let place = (row.tid, key, row.scope);
                if was_there {
                    allowed.entry(place).or_default().push(row.number);
                }
                let had_to_come =
                    is_seen && scan.reach.is_some_and(|reach| distance(key, scan.query) <= reach);
                if had_to_come && !found.contains_key(&place) {
                    return Err(format!("row {:x} with key {key:016x} is missing", row.tid));
                }
            }
        }
        for (place, times) in found {
            let allowed = allowed.get(&place).map_or(0, Vec::len);
            if times > allowed {
                let (tid, key, scope) = place;
                return Err(format!(
                    "row {tid:x} with key {key:016x} in scope {scope} came {times} times, not at \
                     most {allowed}"
                ));
            }
        }
        for hit in &scan.hits {
            let owners = allowed.get(&(hit.tid, hit.key, hit.scope));
            if hit.payload.is_some_and(|row| !owners.is_some_and(|owners| owners.contains(&row))) {
                return Err(format!("{hit:x?} has a payload of none of the rows {owners:?}"));
            }
        }
        Ok(())
    }
}

/// A row that a scan found.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub tid: u64,
    pub key: u64,
    pub scope: u8,
    /// Which row its payload is of. `None` if the scan did not read it, or there is none.
    pub payload: Option<u32>,
    pub distance: u32,
}

/// What a scan reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Rows by their keys.
    Keys,
    /// The table of NULLs, whose rows have the key 0.
    Nulls,
    /// The table of all rows, whose keys are [`Row::presence`].
    Rows,
}

/// What a scan returned.
#[derive(Clone, Debug)]
pub struct Answer {
    pub query: u64,
    /// No hit may be farther away than this.
    pub distance: u32,
    /// All rows within this distance must be there. `None`: none need be.
    pub reach: Option<u32>,
    pub of: Of,
    /// The scopes that it searched.
    pub scopes: Selected,
    pub began: Time,
    pub ended: Time,
    pub hits: Vec<Found>,
}
