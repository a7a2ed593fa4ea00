//! The state of the model of groups: writers, rows and locks.

use crate::protocols::explore::NOBODY;
use crate::protocols::mutants::mutants;

mutants! {
    /// The younger of two writers keeps its own gate while it waits.
    GateKept,
    /// No writer gives way.
    NobodyYields,
    /// Gives way only if the gate's holder is older, not if only the gate's own writer is.
    YieldsToHolder,
    /// Searches before it has its gate, and passes rows in progress without keeping their writer's
    /// gate.
    GateLate,
    /// An update opens no gate.
    UpdateUngated,
    /// No search for rows in progress.
    Blind,
    /// The search for rows in progress is the only one, even if a transaction has ended meanwhile.
    OneLook,
    /// The rows that the search for rows in progress relied on may be gone.
    ReliedForgotten,
    /// A writer that joins a group does not lock its id.
    JoinUnlocked,
    /// A writer that joins a group locks the near row, not the group's id.
    JoinLocksRow,
    /// A writer that merges groups does not lock the ids that end.
    MergeUnlocked,
    /// A writer that merges groups shares the locks of the ids that end.
    MergeShares,
    /// Groups that may have come apart are not locked.
    ApartUnlocked,
    /// Groups that another row holds together are not locked.
    BridgedUnlocked,
    /// The id of a group that its rows leave is not locked.
    LeftUnlocked,
    /// No second search once the ids are locked.
    NoSecondLook,
    /// A second search only if the writer had to wait for the lock of an id.
    LooksIfWaited,
    /// Rows are assigned ids without a check that they have not changed.
    ToldUnheld,
    /// A writer that lacks locks of ids takes them while it has others.
    OutOfOrder,
}

pub const WRONG: &str = "ids are not the components";
pub const STRANGERS: &str = "a wait between strangers";
pub const DEADLOCK: &str = "a deadlock among writers of one INSERT each";

/// Rows, places or writers, by their numbers.
pub type Set = u16;

pub fn has(set: Set, member: u8) -> bool {
    set >> member & 1 == 1
}

pub fn each(set: Set) -> impl DoubleEndedIterator<Item = u8> {
    (0..16).filter(move |&member| has(set, member))
}

#[derive(Clone, Debug)]
pub enum Statement {
    Insert(Set),
    Delete(Set),
    /// A row moves to a place.
    Update(u8, u8),
}

/// The writers and rows of one scenario.
#[derive(Clone, Debug)]
pub struct Groups {
    pub mutant: Option<Mutant>,
    pub programs: Vec<Vec<Statement>>,
    /// The place at which each row is, or is inserted.
    pub places: Vec<u8>,
    /// The rows that exist from the start.
    pub old: Set,
    /// What is near each place; a place is near itself.
    pub near: Vec<Set>,
    /// The number of locks for ids. Ids whose locks are the same share a bucket.
    pub buckets: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub writers: Vec<Writer>,
    pub rows: Vec<Row>,
    /// Each writer's gate.
    pub gates: Vec<Gate>,
    /// The locks of ids, by bucket.
    pub locks: Vec<Lock>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    pub is_running: bool,
    pub statement: u8,
    pub at: At,
    /// An earlier statement of this transaction has searched, so the writer cannot give way.
    pub has_looked: bool,
    /// Whether a transaction has ended since the latest look began.
    pub has_ended: bool,
    /// Whether the search for rows in progress suffices, if no transaction ends.
    pub is_all: bool,
    /// The places of rows that the search for rows in progress relied on, if there was one.
    pub relied: Option<Set>,
    /// The rows that it found, for the mutant `OneLook`.
    pub found: Set,
    /// The ids and places that the statement's rows have left.
    pub left: Vec<(u8, u8)>,
    /// The locks of ids that the statement has taken, and those of earlier statements.
    pub shared: Set,
    pub alone: Set,
    pub kept_shared: Set,
    pub kept_alone: Set,
}

/// A writer's next action.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// Between statements.
    Idle,
    /// Writes these rows.
    Rows(Set),
    /// Opens its gate.
    Gate,
    /// Searches for rows in progress near the places of `sought`, in one of the orders in which an
    /// index may return rows, from position `next` on. `strangers` are the writers of the rows in
    /// progress that it has found, and `live` the places of the live rows.
    Dirty { sought: Set, order: u8, next: u8, strangers: Set, live: Set },
    /// Deals with these writers in turn: takes the gate of the first.
    Pass(Set),
    /// Waits for the gate of the first of these writers.
    Block(Set),
    /// Has released all gates, and waits for this one.
    GiveWay(u8),
    /// Searches with a snapshot.
    Look,
    /// Takes locks of ids, shared or exclusive. `has_waited`, for a mutant: it has waited for one.
    Ids { shared: Set, alone: Set, told: Vec<Told>, has_waited: bool },
    /// Locks the rows that are to be assigned ids, from `next` on.
    Hold { next: u8, told: Vec<Told> },
}

/// A row as the search found it, and the id that it is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Told {
    pub row: u8,
    pub version: Version,
    pub id: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub place: u8,
    /// `NOBODY`: none.
    pub id: u8,
    /// One of two sides: where a scan of the index finds it, relative to the version before it.
    pub slot: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub committed: Option<Version>,
    /// The writer that has locked it, or `NOBODY`.
    pub holder: u8,
    /// The holder's version of the row, if it changes the row. `Some(None)` if it deletes it.
    pub pending: Option<Option<Version>>,
}

/// A lock that waiters get in the order in which they began to wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gate {
    pub holder: u8,
    pub queue: Vec<u8>,
}

impl Gate {
    pub fn release(&mut self) {
        self.holder = if self.queue.is_empty() { NOBODY } else { self.queue.remove(0) };
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lock {
    pub shared: Set,
    pub alone: u8,
}

impl Lock {
    /// The other writers whose locks conflict with this request.
    pub fn others(self, writer: u8, is_alone: bool) -> Set {
        let alone = if self.alone == NOBODY { 0 } else { 1 << self.alone };
        let all = if is_alone { self.shared | alone } else { alone };
        all & !(1 << writer)
    }
}

impl Row {
    /// The version that a snapshot of this writer sees.
    pub fn seen_by(&self, writer: u8) -> Option<Version> {
        match self.pending {
            Some(pending) if self.holder == writer => pending,
            _ => self.committed,
        }
    }
}

impl State {
    /// Releases the locks of ids that the statement has taken.
    pub fn give_back_ids(&mut self, writer: u8) {
        let its = &mut self.writers[writer as usize];
        for bucket in each(std::mem::take(&mut its.shared) & !its.kept_shared) {
            self.locks[bucket as usize].shared &= !(1 << writer);
        }
        for bucket in each(std::mem::take(&mut its.alone) & !its.kept_alone) {
            self.locks[bucket as usize].alone = NOBODY;
        }
    }
}

impl Groups {
    pub fn bucket(&self, id: u8) -> u8 {
        id % self.buckets
    }

    pub fn are_near(&self, a: u8, b: u8) -> bool {
        has(self.near[a as usize], b)
    }

    /// For each of these places, the least place that it is connected with.
    pub fn components(&self, places: Set) -> Vec<u8> {
        connected(&self.near, places)
    }

    /// The rule that the ids of committed rows break, if any.
    pub fn judge(&self, state: &State) -> Option<&'static str> {
        let rows: Vec<Version> = state.rows.iter().filter_map(|row| row.committed).collect();
        let places = rows.iter().fold(0, |set, row| set | 1 << row.place);
        let component = self.components(places);
        let is_wrong = rows.iter().enumerate().any(|(place, a)| {
            let mut is_lone = true;
            let differs = rows.iter().enumerate().any(|(other, b)| {
                let is_one = component[a.place as usize] == component[b.place as usize];
                is_lone &= !is_one || place == other;
                place != other && is_one != (a.id == b.id && a.id != NOBODY)
            });
            differs || is_lone != (a.id == NOBODY)
        });
        is_wrong.then_some(WRONG)
    }

    /// Whether each writer has only one INSERT to do.
    pub fn is_of_single_inserts(&self) -> bool {
        let is_one = |program: &Vec<Statement>| matches!(program[..], [Statement::Insert(_)]);
        self.programs.iter().all(is_one)
    }

    /// Whether no row of one writer's statements is connected with one of the other's, by any rows
    /// that ever existed, at any of their places.
    pub fn are_strangers(&self, state: &State, a: u8, b: u8) -> bool {
        let of = |writer: u8| {
            let program = &self.programs[writer as usize];
            let next = state.writers[writer as usize].statement as usize;
            program[..program.len().min(next + 1)].iter().fold(0, |set, statement| {
                set | match *statement {
                    Statement::Insert(rows) | Statement::Delete(rows) => {
                        each(rows).fold(0, |set, row| set | 1 << self.places[row as usize])
                    }
                    Statement::Update(row, place) => 1 << self.places[row as usize] | 1 << place,
                }
            })
        };
        let there = state.rows.iter().flat_map(|row| [row.committed, row.pending.flatten()]);
        let there = there.flatten().fold(0, |set, row| set | 1 << row.place);
        let begun = (0..)
            .zip(&state.writers)
            .filter(|(_, writer)| writer.at != At::Idle || !writer.is_running);
        let all = begun.fold(there | of(a) | of(b), |set, (writer, _)| set | of(writer));
        let places = all & ((1 << self.near.len()) - 1);
        let mut near = self.near.clone();
        for statement in self.programs.iter().flatten() {
            if let Statement::Update(row, to) = *statement {
                let from = self.places[row as usize];
                near[from as usize] |= 1 << to;
                near[to as usize] |= 1 << from;
            }
        }
        let component = connected(&near, places);
        let reach = |writer| {
            each(of(writer) & places).fold(0, |set: Set, at| set | 1 << component[at as usize])
        };
        reach(a) & reach(b) == 0
    }
}

/// For each of these places, the least place that it is connected with.
pub fn connected(near: &[Set], places: Set) -> Vec<u8> {
    let mut least: Vec<u8> = (0..near.len() as u8).collect();
    for _ in each(places) {
        for a in each(places) {
            for b in each(places & near[a as usize]) {
                least[a as usize] = least[a as usize].min(least[b as usize]);
            }
        }
    }
    least
}

impl Default for Writer {
    fn default() -> Self {
        let (statement, has_looked, has_ended, is_all, found) = Default::default();
        let (relied, left, shared, alone) = Default::default();
        let (kept_shared, kept_alone) = Default::default();
        Writer {
            is_running: true,
            statement,
            at: At::Idle,
            has_looked,
            has_ended,
            is_all,
            relied,
            found,
            left,
            shared,
            alone,
            kept_shared,
            kept_alone,
        }
    }
}
