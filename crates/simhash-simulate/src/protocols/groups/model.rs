//! What groups are made of: writers, rows, locks.

use crate::protocols::explore::NOBODY;
use crate::protocols::mutants::mutants;

mutants! {
    /// The younger of two writers keeps its own gate while it waits.
    GateKept,
    /// Nobody gives way.
    NobodyYields,
    /// Gives way only if who holds the gate is older, though somebody older may wait for it.
    YieldsToHolder,
    /// Looks before it has its gate, and passes rows in progress by without keeping their writer's.
    GateLate,
    /// An update opens no gate.
    UpdateUngated,
    /// No look at rows in progress.
    Blind,
    /// The look at rows in progress is the only one, whoever has ended meanwhile.
    OneLook,
    /// What the look at rows in progress relied on may be gone.
    ReliedForgotten,
    /// Who joins a group does not lock its id.
    JoinUnlocked,
    /// Who joins a group locks the row that he is near, not the group's id.
    JoinLocksRow,
    /// Who connects groups does not lock the ids that end.
    MergeUnlocked,
    /// Who connects groups shares the ids that end.
    MergeShares,
    /// Groups that may have come apart are not locked.
    ApartUnlocked,
    /// Groups that something else holds together are not locked.
    BridgedUnlocked,
    /// The id of a group that its rows leave is not locked.
    LeftUnlocked,
    /// No second look once the ids are locked.
    NoSecondLook,
    /// A second look only if a lock of an id had to be waited for.
    LooksIfWaited,
    /// Rows are told without a look at whether they are where they were.
    ToldUnheld,
    /// Who misses locks of ids takes these while it has others.
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

/// Writers of one scenario.
#[derive(Clone, Debug)]
pub struct Groups {
    pub mutant: Option<Mutant>,
    pub programs: Vec<Vec<Statement>>,
    /// Where each row is, or comes to.
    pub places: Vec<u8>,
    /// The rows that are there before.
    pub old: Set,
    /// What is near each place; a place is near itself.
    pub near: Vec<Set>,
    /// Ids are told apart by so many locks.
    pub buckets: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub writers: Vec<Writer>,
    pub rows: Vec<Row>,
    /// Each writer's gate.
    pub gates: Vec<Gate>,
    /// Those of the ids.
    pub locks: Vec<Lock>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    pub is_running: bool,
    pub statement: u8,
    pub at: At,
    /// A statement of this transaction has looked before: it cannot give way.
    pub has_looked: bool,
    /// Whether a transaction has ended since the latest look began.
    pub has_ended: bool,
    /// Whether the look at rows in progress is all there is to know.
    pub is_all: bool,
    /// The places that it has relied on, if there was such a look.
    pub relied: Option<Set>,
    /// Of `OneLook`: what it has found.
    pub found: Set,
    /// The ids and places that the statement's rows have left.
    pub left: Vec<(u8, u8)>,
    /// The locks of ids that the statement has taken, and those that earlier ones have.
    pub shared: Set,
    pub alone: Set,
    pub kept_shared: Set,
    pub kept_alone: Set,
}

/// Where a writer is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// Between statements.
    Idle,
    /// Writes these rows,
    Rows(Set),
    /// opens its gate,
    Gate,
    /// and looks at rows in progress near its places, in one of the orders in which an index may
    /// have them, and so far. It has seen rows of these writers, and at these places live ones.
    Dirty { sought: Set, order: u8, next: u8, strangers: Set, live: Set },
    /// Has still to deal with these writers: takes the gate of the first,
    Pass(Set),
    /// or waits for it,
    Block(Set),
    /// or has given all gates up before it waits for that one.
    GiveWay(u8),
    /// Looks with a snapshot.
    Look,
    /// Takes locks of ids, shared or alone. Whether it has waited for one, for a mutant.
    Ids { shared: Set, alone: Set, told: Vec<Told>, has_waited: bool },
    /// Holds the rows that are to be told, from one on.
    Hold { next: u8, told: Vec<Told> },
}

/// A row as it was found, and the id that it is to have.
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
    /// Whether it lies before or behind the version that it follows, to whom reads an index.
    pub slot: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub committed: Option<Version>,
    /// Who has locked it; `NOBODY`: nobody.
    pub holder: u8,
    /// What that one makes of it, if it changes it: `Some(None)` if it is deleted.
    pub pending: Option<Option<Version>>,
}

/// A lock that is given to those who wait for it in the order in which they came.
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
    /// Who keeps a writer from it.
    pub fn others(self, writer: u8, is_alone: bool) -> Set {
        let alone = if self.alone == NOBODY { 0 } else { 1 << self.alone };
        let all = if is_alone { self.shared | alone } else { alone };
        all & !(1 << writer)
    }
}

impl Row {
    /// What a snapshot of a writer shows.
    pub fn seen_by(&self, writer: u8) -> Option<Version> {
        match self.pending {
            Some(pending) if self.holder == writer => pending,
            _ => self.committed,
        }
    }
}

impl State {
    /// A statement gives back the locks of ids that it has taken.
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

    /// Of each of these places the least one that it is connected with.
    pub fn components(&self, places: Set) -> Vec<u8> {
        connected(&self.near, places)
    }

    /// What is wrong with the ids of committed rows.
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

    /// Whether no row that one writer has to do with is connected with one of the other, by all
    /// rows that there ever were, wherever they were.
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

/// Of each of these places the least one that it is connected with.
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
