//! Which rows are connected: rows whose group is open, their neighbours, and the groups that these
//! are in.
//!
//! A row is *fresh* if its group is to be found anew: it came in, changed, or is in a group that is
//! being settled. What its column says does not count. Any other row is *live*: it stands for the
//! whole of its group.
//!
//! Rows and groups are nodes of a forest (union-find): number n has the nodes 2n, the row with that
//! key, and 2n + 1, the group with that id.

use std::collections::HashSet;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::bits::B256;

use super::keys::{Keys, NONE};
use super::neighbours::{Neighbours, Place};
use super::scopes::Scopes;
use super::setup::Setup;
use super::transition::RowValues;
use crate::error::raise;
use crate::family::lock;
use crate::guc::work_mem;
use crate::types::{Code, Width};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No row with that key was seen.
    Absent,
    /// Fresh, and not found yet: it may be gone again.
    Fresh,
    /// Fresh, and found near another row, but not yet where its statement put it.
    Met,
    /// Fresh, and where its statement put it.
    Found,
    Live,
}

/// What the id says that a fresh row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The group that is being settled, of which the row is a member.
    Former,
    /// The group where it was, or one that it was given. Somebody may have seen it since.
    Seen,
    /// Nothing: it was given, and nobody has seen it.
    Unseen,
    /// The group where it is, though somebody may have missed the row since, and taken its id for
    /// what is left.
    Missed,
}

/// What is known of the row with a key.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub kind: Kind,
    /// What its column of ids holds.
    pub stored: u32,
    /// The group that is being settled, of which it is a member.
    pub former: u32,
}

const ABSENT: Row = Row { kind: Kind::Absent, stored: NONE, former: NONE };

/// A fingerprint in a scope, to search for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sought {
    scope: u32,
    fp: B256,
}

/// A row near one of those.
#[derive(Clone, Copy)]
pub struct Near {
    pub key: u32,
    /// What its column of ids holds.
    pub stored: u32,
    pub distance: u32,
    pub place: Place,
}

pub struct Regroup<'a> {
    pub setup: &'a Setup,
    pub keys: Keys,
    pub rows: Vec<Row>,
    /// Live groups.
    pub groups: Vec<u32>,
    /// Rows that are in no group, for want of a fingerprint or a scope.
    pub bare: Vec<u32>,
    links: Vec<u32>,
    fresh: Vec<Sought>,
    /// What rows with a group had before they left it.
    gone: Vec<Sought>,
    /// Ids of fresh rows, by which another part of their statement, or one inside it, may have
    /// connected what is not near. Once all groups are named: the names of those that these ids'
    /// groups are part of.
    pub doubtful: Vec<u32>,
    /// Statements inside have changed groups while rows were told ids. Near rows may have different
    /// ones, so that doubtful groups are not settled later.
    pub is_disturbed: bool,
    /// Rows that were told that they are in no group, while it may not have been so any more.
    pub lone: Vec<u32>,
    scopes: Scopes,
}

impl<'a> Regroup<'a> {
    pub fn new(setup: &'a Setup) -> Self {
        Regroup {
            setup,
            keys: Keys::new(setup.key.column),
            rows: Vec::new(),
            groups: Vec::new(),
            bare: Vec::new(),
            links: Vec::new(),
            fresh: Vec::new(),
            gone: Vec::new(),
            doubtful: Vec::new(),
            is_disturbed: false,
            lone: Vec::new(),
            scopes: Scopes::default(),
        }
    }

    /// The number of a key or an id.
    ///
    /// # Safety
    /// It is a value of the key's type.
    pub unsafe fn number(&mut self, value: pg_sys::Datum) -> u32 {
        // SAFETY: as this function's.
        let number = unsafe { self.keys.number(value) };
        if number as usize == self.rows.len() {
            self.rows.push(ABSENT);
            self.links.extend([2 * number, 2 * number + 1]);
            if number % 1024 == 0 {
                self.check_memory(0);
            }
        }
        number
    }

    /// The number of an id that may be missing.
    ///
    /// # Safety
    /// As [`Regroup::number`].
    pub unsafe fn id(&mut self, value: Option<pg_sys::Datum>) -> u32 {
        // SAFETY: as this function's.
        value.map_or(NONE, |value| unsafe { self.number(value) })
    }

    /// Takes in a fresh row. `holds`: what an id in its column says.
    ///
    /// # Safety
    /// The values are of the trigger's table.
    pub unsafe fn add(&mut self, row: &RowValues, holds: Holds) {
        // SAFETY: as this function's.
        unsafe {
            let Some(key) = row.key else { return };
            let (key, stored) = (self.number(key), self.id(row.cluster));
            let is_member = matches!(holds, Holds::Former | Holds::Missed);
            let former = if is_member { stored } else { NONE };
            self.rows[key as usize] = Row { kind: Kind::Fresh, stored, former };
            let is_doubtful = matches!(holds, Holds::Seen | Holds::Missed) && stored != NONE;
            self.doubtful.extend(is_doubtful.then_some(stored));
            match self.sought(row) {
                Some(sought) => self.fresh.push(sought),
                None => self.bare.push(key),
            }
        }
    }

    /// Takes in a row as it is now, of a group that is being settled. If it is fresh already, it
    /// stays what it is, and is searched for where it is by now, too: a statement inside this one
    /// may have moved it.
    ///
    /// # Safety
    /// The values are of the trigger's table.
    pub unsafe fn add_present(&mut self, row: &RowValues) {
        // SAFETY: as this function's.
        unsafe {
            let Some(key) = row.key else { return };
            let key = self.number(key);
            if self.rows[key as usize].kind == Kind::Absent {
                return self.add(row, Holds::Former);
            }
            if let Some(sought) = self.sought(row) {
                self.fresh.push(sought);
            } else {
                self.rows[key as usize].stored = self.id(row.cluster);
                self.bare.push(key);
            }
        }
    }

    /// Notes a row that is no longer what it was: what it connected may come apart.
    ///
    /// # Safety
    /// The values are of the trigger's table.
    pub unsafe fn leave(&mut self, row: &RowValues) {
        // A row in no group connected nothing.
        if row.cluster.is_some() {
            // SAFETY: as this function's.
            let sought = unsafe { self.sought(row) };
            self.leave_from(sought);
        }
    }

    /// Notes where rows were that are no longer what they were.
    pub fn leave_from(&mut self, places: impl IntoIterator<Item = Sought>) {
        for place in places {
            self.gone.push(place);
            if self.gone.len().is_multiple_of(1024) {
                self.check_memory(0);
            }
        }
    }

    /// Whether a row is in no group, for want of a fingerprint or a scope.
    ///
    /// # Safety
    /// The values are of the trigger's table.
    pub unsafe fn is_bare(&mut self, row: &RowValues) -> bool {
        // SAFETY: as this function's.
        unsafe { self.sought(row).is_none() }
    }

    /// Whether a row can be in a group, or has an id.
    ///
    /// # Safety
    /// The values are of the trigger's table.
    pub unsafe fn concerns_groups(&mut self, row: &RowValues) -> bool {
        // SAFETY: as this function's.
        row.cluster.is_some() || unsafe { !self.is_bare(row) }
    }

    /// Where a row is searched for, if it can be in a group.
    ///
    /// # Safety
    /// The values are of the trigger's table.
    pub unsafe fn sought(&mut self, row: &RowValues) -> Option<Sought> {
        // SAFETY: as this function's.
        unsafe {
            let fp = row.code(self.setup)?.leading();
            Some(Sought { scope: self.scopes.number(self.setup, &row.scope)?, fp })
        }
    }

    /// Whether rows have come, or changed.
    pub fn has_fresh(&self) -> bool {
        !self.fresh.is_empty() || !self.bare.is_empty()
    }

    /// Whether there may be groups of which not all rows are connected any more.
    pub fn has_left(&self) -> bool {
        !self.gone.is_empty() || !self.doubtful.is_empty()
    }

    /// Hands the rows near each fresh fingerprint to `sink`, as the table is now.
    pub fn each_fresh(&mut self, sink: &mut dyn FnMut(&mut Self, &mut Neighbours<'_>, &[Near])) {
        let fresh = std::mem::take(&mut self.fresh);
        self.each_neighbourhood(fresh, sink);
        // A statement inside this one has changed these rows since, and told them their group:
        // what they are near now was not searched for.
        for key in 0..self.rows.len() as u32 {
            let Row { kind, stored, .. } = self.rows[key as usize];
            if kind == Kind::Met {
                self.rows[key as usize].kind = Kind::Live;
                self.link_group(key, stored);
            }
        }
    }

    /// The groups that rows have left, by the ids that they have now, and the doubtful ones. When a
    /// row leaves a group, each part of what is left has a neighbour of some such row. The id that
    /// a row had would not do: the group may have met another one since, in the same statement.
    pub fn left(&mut self) -> Vec<u32> {
        let mut left: HashSet<u32> = self.doubtful.drain(..).collect();
        let gone = std::mem::take(&mut self.gone);
        self.each_neighbourhood(gone, &mut |_, _, near| {
            left.extend(near.iter().map(|near| near.stored).filter(|&id| id != NONE));
        });
        let mut left: Vec<u32> = left.into_iter().collect();
        left.sort_unstable();
        left
    }

    /// Calls `sink` with the rows near each of some fingerprints.
    fn each_neighbourhood(
        &mut self,
        mut sought: Vec<Sought>,
        sink: &mut dyn FnMut(&mut Self, &mut Neighbours<'_>, &[Near]),
    ) {
        sought.sort_unstable();
        sought.dedup();
        let setup = self.setup;
        let mut near = Vec::new();
        // SAFETY: the family is locked; the snapshot is registered until it is released; the
        // values are of the columns that they are read from.
        unsafe {
            let snapshot = lock::snapshot();
            let mut neighbours = Neighbours::open(setup, snapshot);
            for Sought { scope, fp } in sought {
                let scope = self.scopes.values(scope).to_vec();
                neighbours.of(code(fp, setup.width), &scope, &mut |found| {
                    let (key, stored) = (self.number(found.key), self.id(found.cluster));
                    let (distance, place) = (found.distance, found.place);
                    near.push(Near { key, stored, distance, place });
                });
                sink(self, &mut neighbours, &near);
                near.clear();
            }
            neighbours.close();
            lock::release(snapshot);
        }
    }

    /// Takes in a row that a search has found, with the group that it stands for.
    pub fn take_in(&mut self, &Near { key, stored, distance, .. }: &Near) {
        let row = &mut self.rows[key as usize];
        match row.kind {
            Kind::Fresh | Kind::Met => {
                row.kind = if distance == 0 { Kind::Found } else { Kind::Met };
                // Another call for the same statement, or one inside it, may have told the row
                // another id.
                let known = std::mem::replace(&mut row.stored, stored);
                if known != NONE && stored != NONE && known != stored {
                    self.doubtful.push(stored);
                }
            }
            Kind::Absent => {
                *row = Row { kind: Kind::Live, stored, former: NONE };
                self.link_group(key, stored);
            }
            Kind::Found | Kind::Live => {}
        }
    }

    /// Connects a row with the group that it stands for, if there is one.
    fn link_group(&mut self, key: u32, group: u32) {
        if group != NONE {
            self.groups.push(group);
            self.link(2 * key, 2 * group + 1);
        }
    }

    /// Connects two rows that are taken in.
    pub fn link_rows(&mut self, a: u32, b: u32) {
        self.link(2 * a, 2 * b);
    }

    /// Whether a row that is taken in is connected with another one, by the group of the other if
    /// that stands for its row.
    pub fn is_connected(&mut self, row: u32, other: &Near) -> bool {
        let root = self.root(2 * row);
        let is_live = self.rows[other.key as usize].kind == Kind::Absent && other.stored != NONE;
        root == self.root(2 * other.key) || is_live && root == self.root(2 * other.stored + 1)
    }

    /// Takes in a row that is known to be in its table, and connected with another one.
    pub fn connect(&mut self, key: u32, row: Row, other: u32) {
        self.rows[key as usize] = row;
        self.link(2 * key, 2 * other);
    }

    /// The node that stands for all nodes connected with this one.
    pub fn root(&mut self, mut node: u32) -> u32 {
        while self.links[node as usize] != node {
            let above = self.links[node as usize];
            self.links[node as usize] = self.links[above as usize];
            node = self.links[node as usize];
        }
        node
    }

    fn link(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.links[a.max(b) as usize] = a.min(b);
    }

    /// Raises 53200 if this and what is kept `beside` it, in bytes, is more than may be.
    pub fn check_memory(&self, beside: usize) {
        let of_row = size_of::<Row>() + 4 * size_of::<u32>();
        let used = beside
            + self.keys.memory()
            + self.scopes.memory()
            + self.rows.capacity() * of_row
            + (self.fresh.capacity() + self.gone.capacity()) * size_of::<Sought>()
            + self.doubtful.capacity() * size_of::<u32>();
        if used > work_mem() {
            raise(
                PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
                format!(
                    "simhash_cluster needs more than the {} MB that simhash.work_mem allows: \
                     {} rows so far",
                    work_mem() >> 20,
                    self.rows.len()
                ),
                "Raise simhash.work_mem, or change fewer rows in a statement if it was one.",
            )
        }
    }
}

/// The fingerprint of that width at the most significant end.
fn code(fp: B256, width: Width) -> Code {
    match width {
        Width::Bits64 => Code::new(fp.word(3)),
        Width::Bits128 => Code::new(u128::from(fp.word(3)) << 64 | u128::from(fp.word(2))),
        Width::Bits256 => Code::new(fp),
    }
}
