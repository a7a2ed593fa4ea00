//! The state of the model of claims: writers, rows and the claims that all see.

use crate::protocols::explore::NOBODY;
use crate::protocols::mutants::mutants;

mutants! {
    /// Claims are read in one hold of the lock, and published in the next.
    PublishesLate,
    /// Publishes in one hold, reads claims in the next, and waits for earlier and later ones.
    LooksAfterwards,
    /// A claim stays while its trigger waits for a transaction.
    KeptInWait,
    /// Goes on after a wait without another search.
    NoLookAfterWait,
    /// A claim ends before the row is in the index.
    EndsEarly,
    /// No search for rows in progress.
    Blind,
    /// A row that had to wait is skipped as a duplicate without another search.
    PresumesDuplicate,
    /// The deadlock detector does not see waits for claims.
    UnseenWait,
    /// Publishes although there is a near claim, and withdraws before it waits.
    PublishesAnyway,
    /// Draws the ticket that decides which writer waits before it holds the lock.
    TicketOutside,
    /// Takes its ticket's lock after it has published.
    LocksAfterwards,
    /// The lock that is waited for names the session, not the ticket.
    NamesSession,
    /// The index entry of a speculative row ends its claim.
    TrialEndsClaim,
    /// The claim of a row that was dropped lasts through further rows of the statement.
    DroppedRowsLast,
    /// Any row's index entry ends the latest claim of its session.
    AnyEntryEnds,
    /// A nested statement reads only the claims of other sessions.
    OwnUnseen,
    /// A nested statement skips a row that is near a claim of the outer one.
    OwnSkips,
    /// The search for rows in progress is the only one, even if a transaction has ended meanwhile.
    OneLook,
    /// Goes on if the row that was found is gone, without a search for those behind it.
    GoneIsNone,
    /// An update of the key claims nothing.
    RenamesUnclaimed,
    /// The claims of different triggers are compared.
    KindsMixed,
    /// Links to a row in progress.
    LinksInProgress,
    /// The claim of a row that is linked ends with the search.
    LinkedUnclaimed,
}

pub const TWO_NEAR: &str = "two near rows are committed";
pub const UNLINKED: &str = "the later of two near rows is not linked";
pub const DANGLING: &str = "a row is linked to one that is not there";
pub const FOR_NOTHING: &str = "a row is skipped for nothing";
pub const FAR_DEADLOCK: &str = "a deadlock over rows that are far";

/// Rows by their numbers.
pub type Rows = u16;

pub fn has(rows: Rows, row: u8) -> bool {
    rows >> row & 1 == 1
}

pub fn each(rows: Rows) -> impl Iterator<Item = u8> {
    (0..16).filter(move |&row| has(rows, row))
}

/// What a writer does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Insert(u8),
    Delete(u8),
    /// Replaces the version `old` of a row by `new`.
    Update {
        old: u8,
        new: u8,
        change: Change,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Of columns that the trigger does not read.
    Other,
    Key,
    Text,
}

/// The writers and rows of one scenario. Each version of a row is a row here.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    pub mutant: Option<Mutant>,
    pub programs: Vec<Vec<Op>>,
    /// The writer of each row. `NOBODY` if it exists from the start.
    pub owner: Vec<u8>,
    /// The rows near each row, for each of the triggers.
    pub near: Vec<[Rows; 2]>,
    /// The rows with the same unique key as each row.
    pub same: Vec<Rows>,
    pub triggers: u8,
    /// The row that a later BEFORE trigger of each row inserts, or `NOBODY`.
    pub inside: Vec<u8>,
    /// Rows for which the trigger does not fire.
    pub unwatched: Rows,
    /// The writers that say ON CONFLICT DO NOTHING, a bit each.
    pub on_conflict: u8,
    /// Duplicates are linked, not skipped.
    pub links: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct State {
    pub writers: Vec<Writer>,
    pub rows: Vec<Row>,
    /// In the order of publication.
    pub claims: Vec<Claim>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Writer {
    pub status: Status,
    pub next: u8,
    /// The rows in hand. That of the innermost statement is the last.
    pub frames: Vec<Frame>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Running,
    Committed,
    Aborted,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Claim {
    pub row: u8,
    pub trigger: u8,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Row {
    pub stored: Stored,
    /// Inserted speculatively, for ON CONFLICT, and not confirmed yet.
    pub is_trial: bool,
    /// The writer that deletes it, or has locked it to do so, plus one. 0: none.
    pub changed_by: u8,
    pub is_deleted: bool,
    /// The row that it is linked to, plus one. 0: none.
    pub link: u8,
    /// The near rows that were in the index before it, if rows are linked.
    pub before: Rows,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stored {
    #[default]
    No,
    /// In the heap.
    Heap,
    /// Also in the unique index.
    Key,
    /// Also in the extension's index.
    Index,
}

/// A row in hand: its writer is inserting, updating or deleting it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    pub row: u8,
    /// The trigger that runs for it.
    pub trigger: u8,
    pub at: At,
    /// The rows that the search has still to read.
    pub rest: Rows,
    pub seen: Seen,
    /// Whether a transaction has ended since the claim was published.
    pub has_ended: bool,
    /// A conflict was found after the speculative insertion.
    pub conflict: bool,
    pub wait: Option<Wait>,
}

/// The next action for a row in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// Before an UPDATE or DELETE: lock the old version.
    Old,
    /// The trigger publishes its claim.
    Claim,
    /// The trigger searches for rows in progress.
    Look,
    /// The trigger searches with a snapshot.
    Snapshot,
    /// The trigger withdraws its claim, since it found a row in progress or for another reason.
    Withdraw,
    /// The trigger waits, to begin again.
    Wait,
    Skip,
    /// Later triggers run.
    Later,
    /// Later triggers run, after a nested statement.
    Inside,
    /// ON CONFLICT searches the unique index.
    Check,
    Heap,
    Unique,
    /// Waits in the unique index.
    UniqueWait,
    /// The row is in our index, which ends its claims.
    Entered,
    /// The row is in all indexes, speculatively.
    Trial,
    /// The rest are of mutants: a ticket is drawn; claims were read, but none published; published
    /// before reading; published before locking.
    Drawn,
    Looked,
    Published,
    Unlocked,
}

/// What a search has found: a row that is there, or else one in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seen {
    None,
    Busy(Wait),
    Row,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Until a claim has ended.
    Claim(u8, u8),
    /// Until the writer that changes a row has ended.
    Writer(u8, u8),
    /// Until a speculative row is confirmed or taken back.
    Trial(u8),
    /// Until a session has no claims.
    Session(u8),
    Over,
}

impl Frame {
    pub fn new(row: u8, at: At) -> Self {
        let (seen, wait) = (Seen::None, None);
        let (trigger, rest, has_ended, conflict) = Default::default();
        Frame { row, trigger, at, rest, seen, has_ended, conflict, wait }
    }

    pub fn begin_look(&mut self, near: Rows) {
        (self.rest, self.seen, self.has_ended) = (near, Seen::None, false);
        self.at = if near == 0 { At::Later } else { At::Look };
    }

    /// Whether the search of a trigger is over, so that the row may be stored.
    pub fn is_on_its_way(&self, trigger: u8) -> bool {
        use At::{Check, Entered, Heap, Inside, Later, Trial, Unique, UniqueWait};
        self.trigger > trigger
            || matches!(
                self.at,
                Later | Inside | Check | Heap | Unique | UniqueWait | Entered | Trial
            )
    }
}

impl State {
    pub fn is_claimed(&self, row: u8) -> bool {
        self.claims.iter().any(|claim| claim.row == row)
    }

    /// Ends the waits for which `ended` holds.
    pub fn end_waits(&mut self, ended: impl Fn(Wait) -> bool) {
        for frame in self.writers.iter_mut().flat_map(|writer| &mut writer.frames) {
            if frame.wait.is_some_and(&ended) {
                frame.wait = Some(Wait::Over);
            }
        }
    }

    pub fn end_claims(&mut self, of: &Claims, which: impl Fn(&Claim) -> bool) {
        let ended: Vec<Claim> = self.claims.extract_if(.., |claim| which(claim)).collect();
        let claims = &self.claims;
        let has_none = |session| claims.iter().all(|claim| of.owner[claim.row as usize] != session);
        let none: Vec<u8> = (0..self.writers.len() as u8).filter(|&i| has_none(i)).collect();
        self.end_waits(|wait| match wait {
            Wait::Claim(row, trigger) => ended.contains(&Claim { row, trigger }),
            Wait::Session(session) => none.contains(&session),
            _ => false,
        });
    }

    /// Takes a row back, and the row that a nested statement inserted.
    pub fn take_back(&mut self, of: &Claims, row: u8) {
        self.take_back_one(row);
        match of.inside[row as usize] {
            NOBODY => {}
            inside => self.take_back_one(inside),
        }
    }

    pub fn take_back_one(&mut self, row: u8) {
        self.rows[row as usize] = Row::default();
        self.end_waits(|wait| match wait {
            Wait::Trial(of) | Wait::Writer(_, of) => of == row,
            _ => false,
        });
    }
}

impl Claims {
    pub fn status(&self, state: &State, row: u8) -> Status {
        let owner = self.owner[row as usize];
        state.writers.get(owner as usize).map_or(Status::Committed, |writer| writer.status)
    }

    /// Whether a row is in our index, and committed or of this writer, which has not deleted it.
    pub fn is_there(&self, state: &State, row: u8, writer: u8) -> bool {
        let Row { stored, is_deleted, changed_by, .. } = state.rows[row as usize];
        let is_known =
            self.owner[row as usize] == writer || self.status(state, row) == Status::Committed;
        stored == Stored::Index && is_known && !(is_deleted && changed_by == writer + 1)
    }

    /// The rows near a row for any of the triggers.
    pub fn near_by_any(&self, row: u8) -> Rows {
        self.near[row as usize][0] | self.near[row as usize][1]
    }

    /// The rule that the rows break after a transaction has ended, if any.
    pub fn judge(&self, state: &State) -> Option<&'static str> {
        let is_kept = |row: u8| {
            state.rows[row as usize].stored == Stored::Index
                && self.status(state, row) == Status::Committed
                && !state.rows[row as usize].is_deleted
        };
        let rows = 0..self.owner.len() as u8;
        for row in rows.filter(|&row| is_kept(row) && !has(self.unwatched, row)) {
            let Row { link, before, .. } = state.rows[row as usize];
            if link > 0 && self.status(state, link - 1) == Status::Aborted {
                return Some(DANGLING);
            }
            if self.links && link == 0 && each(before).any(is_kept) {
                return Some(UNLINKED);
            }
            if !self.links && each(self.near_by_any(row)).any(is_kept) {
                return Some(TWO_NEAR);
            }
        }
        None
    }
}
