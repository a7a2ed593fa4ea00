//! The steps that one writer can take in a state.

use super::model::{
    At, Change, Claim, Claims, DANGLING, FAR_DEADLOCK, FOR_NOTHING, Frame, Mutant, Op, Row, Rows,
    Seen, State, Status, Stored, Wait, Writer, each, has,
};
use crate::protocols::explore::{Event, NOBODY, Step};

pub struct Turn<'a> {
    of: &'a Claims,
    state: &'a State,
    i: u8,
    steps: &'a mut Vec<Step<State>>,
}

impl<'a> Turn<'a> {
    pub fn new(of: &'a Claims, state: &'a State, i: u8, steps: &'a mut Vec<Step<State>>) -> Self {
        Turn { of, state, i, steps }
    }

    pub fn take(mut self) {
        let writer = &self.state.writers[self.i as usize];
        if writer.status != Status::Running {
            return;
        }
        // The claim of a row that is no longer in hand ends when the statement goes on or ends.
        let is_between = writer.frames.last().is_none_or(|frame| frame.at == At::Inside);
        let is_left = |claim: &&Claim| {
            self.is_own(claim.row) && writer.frames.iter().all(|frame| frame.row != claim.row)
        };
        let left = self.state.claims.iter().find(is_left).copied().filter(|_| is_between);
        if let Some(Claim { row, .. }) = left {
            let of = self.of;
            self.step("ends the claim of {}, which is not on its way", [row, NOBODY], |state| {
                state.end_claims(of, |claim| claim.row == row);
            });
        }
        match writer.frames.last().copied() {
            None => self.between(left.is_some()),
            Some(frame) if left.is_none() => self.in_hand(frame),
            Some(_) => {}
        }
        if self.waits_for(self.i).is_some() {
            self.interrupt();
        }
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.of.mutant == Some(mutant)
    }

    fn is_own(&self, row: u8) -> bool {
        self.of.owner[row as usize] == self.i
    }

    fn row(&self, row: u8) -> Row {
        self.state.rows[row as usize]
    }

    fn step(&mut self, says: &'static str, rows: [u8; 2], change: impl FnOnce(&mut State)) {
        self.step_with(says, rows, None, change);
    }

    fn step_with(
        &mut self,
        says: &'static str,
        rows: [u8; 2],
        fault: Option<&'static str>,
        change: impl FnOnce(&mut State),
    ) {
        let mut state = self.state.clone();
        change(&mut state);
        let event = Event { writer: self.i, says, rows, is_cancel: false };
        self.steps.push(Step { event, state, fault });
    }

    /// A step after which the row in hand has this frame.
    fn go(&mut self, says: &'static str, frame: Frame) {
        self.go_with(says, frame, NOBODY, |_| {});
    }

    fn go_with(
        &mut self,
        says: &'static str,
        frame: Frame,
        other: u8,
        change: impl FnOnce(&mut State),
    ) {
        let i = self.i as usize;
        self.step(says, [frame.row, other], |state| {
            *state.writers[i].frames.last_mut().expect("a row is in hand") = frame;
            change(state);
        });
    }

    /// A step after which the row is no longer in hand.
    fn finish(&mut self, says: &'static str, row: u8, change: impl FnOnce(&mut State)) {
        let i = self.i as usize;
        self.step(says, [row, NOBODY], |state| {
            state.writers[i].frames.pop();
            change(state);
        });
    }

    fn between(&mut self, is_left: bool) {
        let (i, writer) = (self.i as usize, &self.state.writers[self.i as usize]);
        let program = &self.of.programs[i];
        let next = writer.next as usize;
        if let (Some(&op), true) = (program.get(next), !is_left || self.is(Mutant::DroppedRowsLast))
        {
            let frame = match op {
                Op::Insert(row) if has(self.of.unwatched, row) => Frame::new(row, At::Later),
                Op::Insert(row) => Frame::new(row, At::Claim),
                Op::Delete(old) => Frame::new(old, At::Old),
                Op::Update { new, .. } => Frame::new(new, At::Old),
            };
            self.step("begins with {}", [frame.row, NOBODY], |state| {
                state.writers[i].next += 1;
                state.writers[i].frames.push(frame);
            });
        }
        if is_left {
            return;
        }
        if let Some(&Op::Insert(row)) = next.checked_sub(1).and_then(|last| program.get(last))
            && self.row(row).stored == Stored::Index
        {
            let of = self.of;
            self.step("rolls back to the savepoint before {}", [row, NOBODY], |state| {
                state.take_back(of, row);
                note_end(state);
            });
        }
        if next == program.len() {
            self.leave("commits", Status::Committed, None);
            self.leave("aborts", Status::Aborted, None);
        }
    }

    /// The transaction ends, and with it its claims.
    fn leave(&mut self, says: &'static str, status: Status, fault: Option<&'static str>) {
        let (of, i, is_cancel) = (self.of, self.i, says == "is cancelled");
        let mut state = self.state.clone();
        state.writers[i as usize] = Writer { status, next: 0, frames: Vec::new() };
        for row in 0..of.owner.len() as u8 {
            let it = &mut state.rows[row as usize];
            if status == Status::Aborted && of.owner[row as usize] == i {
                *it = Row::default();
            } else if it.changed_by == i + 1 {
                let is_gone = it.is_deleted && status == Status::Committed;
                (it.changed_by, it.is_deleted) = (0, false);
                if is_gone {
                    *it = Row::default();
                }
            }
        }
        state.end_claims(of, |claim| of.owner[claim.row as usize] == i);
        state.end_waits(|wait| match wait {
            Wait::Writer(writer, _) => writer == i,
            Wait::Trial(row) => of.owner[row as usize] == i,
            _ => false,
        });
        note_end(&mut state);
        let fault = fault.or_else(|| of.judge(&state));
        let event = Event { writer: i, says, rows: [NOBODY; 2], is_cancel };
        self.steps.push(Step { event, state, fault });
    }

    fn in_hand(&mut self, frame: Frame) {
        match frame.at {
            At::Old => self.lock_old(frame),
            At::Claim | At::Drawn => self.claim(frame),
            At::Look => self.look(frame),
            At::Snapshot => self.look_with_snapshot(frame),
            At::Withdraw => self.withdraw(frame),
            At::Wait => self.wake(frame),
            At::Skip => {
                let of = self.of;
                self.finish("withdraws the claim of {} and skips it", frame.row, |state| {
                    state.end_claims(of, |claim| claim.row == frame.row);
                });
            }
            At::Later | At::Inside => self.later(frame),
            At::Check | At::Heap => self.store(frame),
            At::UniqueWait => {
                if frame.wait == Some(Wait::Over) {
                    let at = if self.is_on_trial(frame.row) { At::Check } else { At::Heap };
                    self.go("looks at the key of {} again", Frame { at, wait: None, ..frame });
                }
            }
            At::Unique => self.enter(frame, At::Unique),
            At::Entered => self.entered(frame),
            At::Trial => self.trial(frame),
            At::Looked | At::Published | At::Unlocked => self.claim_wrongly(frame),
        }
    }

    /// An UPDATE or DELETE waits for the writer that changes the row. If the row is gone, it does
    /// nothing.
    fn lock_old(&mut self, frame: Frame) {
        let (old, change) = match self.op() {
            Op::Update { old, change, .. } => (old, Some(change)),
            Op::Delete(old) => (old, None),
            Op::Insert(_) => unreachable!("it has no old version"),
        };
        let Row { stored, changed_by, .. } = self.row(old);
        let (i, is_others) = (self.i, changed_by > 0 && changed_by != self.i + 1);
        if frame.wait.is_some_and(|wait| wait != Wait::Over) {
            return;
        }
        if stored == Stored::No {
            return self.finish("finds its row gone", NOBODY, |_| {});
        }
        if is_others {
            let wait = Some(Wait::Writer(changed_by - 1, old));
            return self.go_with("waits to change a row", Frame { wait, ..frame }, old, |_| {});
        }
        let Some(change) = change else {
            return self.finish("deletes {}", old, |state| {
                let row = &mut state.rows[old as usize];
                (row.changed_by, row.is_deleted) = (i + 1, true);
            });
        };
        let is_claimed = match change {
            Change::Other => false,
            Change::Key => !self.is(Mutant::RenamesUnclaimed),
            Change::Text => true,
        };
        let at = if is_claimed { At::Claim } else { At::Later };
        self.go_with(
            "locks the version before {}",
            Frame { at, wait: None, ..frame },
            NOBODY,
            |s| {
                s.rows[old as usize].changed_by = i + 1;
            },
        );
    }

    /// The statement of the outermost row in hand.
    fn op(&self) -> Op {
        let next = self.state.writers[self.i as usize].next as usize;
        self.of.programs[self.i as usize][next - 1]
    }

    /// The older version of a row in hand.
    fn old(&self, row: u8) -> Option<u8> {
        match self.op() {
            Op::Update { old, new, .. } if new == row => Some(old),
            _ => None,
        }
    }

    fn is_on_trial(&self, row: u8) -> bool {
        self.of.on_conflict >> self.i & 1 == 1 && self.old(row).is_none()
    }

    /// The rows with which a trigger compares a row. An INSERT leaves out rows with the same key,
    /// and an UPDATE the older version of its row.
    fn sought(&self, frame: Frame) -> Rows {
        let near = self.of.near[frame.row as usize][frame.trigger as usize];
        match self.old(frame.row) {
            Some(old) => near & !(1 << old),
            None => near & !self.of.same[frame.row as usize],
        }
    }

    fn claims_near(&self, frame: Frame) -> Vec<Claim> {
        let Frame { row, trigger, .. } = frame;
        let near = self.of.near[row as usize][trigger as usize];
        let is_near = |claim: &&Claim| match claim.trigger == trigger {
            true => has(near, claim.row),
            // Claims of different triggers say nothing about each other.
            false => self.is(Mutant::KindsMixed) && claim.row != row,
        };
        let is_hidden = |row: u8| {
            let frames = &self.state.writers[self.of.owner[row as usize] as usize].frames;
            frames.iter().any(|frame| frame.row == row && frame.at == At::Drawn)
        };
        self.state.claims.iter().filter(is_near).copied().filter(|c| !is_hidden(c.row)).collect()
    }

    /// In one hold of the lock: reads all claims, and publishes one if none is near.
    fn claim(&mut self, frame: Frame) {
        let Frame { row, trigger, .. } = frame;
        let (of, own) = (self.of, Claim { row, trigger });
        if self.is(Mutant::LooksAfterwards) {
            let at = At::Published;
            return self.go_with("publishes {}", Frame { at, ..frame }, NOBODY, |state| {
                state.claims.push(own);
            });
        }
        if self.is(Mutant::TicketOutside) && frame.at == At::Claim {
            let at = At::Drawn;
            return self.go_with("draws a ticket for {}", Frame { at, ..frame }, NOBODY, |state| {
                state.claims.push(own);
            });
        }
        let (mine, others): (Vec<_>, Vec<_>) =
            self.claims_near(frame).into_iter().partition(|claim| self.is_own(claim.row));
        if let Some(outer) = mine.first().map(|claim| claim.row) {
            if self.is(Mutant::OwnSkips) {
                let is_there = |row| of.is_there(self.state, row, self.i);
                let is_right = each(of.near_by_any(row)).any(is_there);
                let fault = (!is_right).then_some(FOR_NOTHING);
                let i = self.i as usize;
                return self.step_with("skips {} for its own {}", [row, outer], fault, |state| {
                    state.writers[i].frames.pop();
                });
            }
            if !self.is(Mutant::OwnUnseen) {
                return self.leave("is near its own row on its way: ERROR", Status::Aborted, None);
            }
        }
        let others = self.before(frame, others);
        if !others.is_empty() {
            return others.into_iter().for_each(|other| self.wait_for(frame, other));
        }
        if self.is(Mutant::PublishesLate) {
            return self.go("finds no claim near {}", Frame { at: At::Looked, ..frame });
        }
        let mut next = self.looking(frame);
        if self.is(Mutant::LocksAfterwards) {
            next.at = At::Unlocked;
        }
        let is_drawn = frame.at == At::Drawn;
        self.go_with("finds no claim near {}: publishes its own", next, NOBODY, |state| {
            if !is_drawn {
                state.claims.push(own);
            }
        });
    }

    /// If the ticket was drawn before, only claims with earlier tickets matter.
    fn before(&self, frame: Frame, mut others: Vec<Claim>) -> Vec<Claim> {
        if frame.at == At::Drawn {
            let own = Claim { row: frame.row, trigger: frame.trigger };
            let place = |claim| self.state.claims.iter().position(|&other| other == claim);
            others.retain(|&claim| place(claim) < place(own));
        }
        others
    }

    /// Adds the step that waits for one of the near claims. They are in no order, so each has such
    /// a step.
    fn wait_for(&mut self, frame: Frame, other: Claim) {
        let Frame { row, trigger, .. } = frame;
        let (of, own) = (self.of, Claim { row, trigger });
        let session = of.owner[other.row as usize];
        let frames = &self.state.writers[session as usize].frames;
        let is_unlocked = frames.iter().any(|f| f.row == other.row && f.at == At::Unlocked);
        let wait = Some(match self.is(Mutant::NamesSession) {
            true => Wait::Session(session),
            false if is_unlocked => Wait::Over,
            false => Wait::Claim(other.row, other.trigger),
        });
        if self.is(Mutant::PublishesAnyway) {
            let next = Frame { at: At::Withdraw, wait, ..frame };
            self.go_with("publishes {} though {} is claimed", next, other.row, |state| {
                state.claims.push(own);
            });
        } else {
            let next = Frame { at: At::Wait, wait, ..frame };
            self.go_with("finds for {} the claim of {}: waits", next, other.row, |state| {
                state.end_claims(of, |claim| *claim == own);
            });
        }
    }

    /// A frame at the start of a search. An update of the key claims its row, but searches nothing.
    fn looking(&self, mut frame: Frame) -> Frame {
        let is_renamed = matches!(self.op(), Op::Update { change: Change::Key, .. });
        let is_renamed = is_renamed && self.old(frame.row).is_some();
        frame.begin_look(if is_renamed { 0 } else { self.sought(frame) });
        if frame.at == At::Later {
            frame = self.looked(frame);
        }
        frame.wait = None;
        frame
    }

    /// The trigger lets the row pass, and the next one runs.
    fn looked(&self, frame: Frame) -> Frame {
        let (trigger, at) = match frame.trigger + 1 < self.of.triggers {
            true => (frame.trigger + 1, At::Claim),
            false => (frame.trigger, At::Later),
        };
        Frame { trigger, at, rest: 0, seen: Seen::None, has_ended: false, ..frame }
    }

    fn claim_wrongly(&mut self, frame: Frame) {
        let Frame { row, trigger, .. } = frame;
        let next = self.looking(frame);
        match frame.at {
            At::Looked => self.go_with("publishes {}", next, NOBODY, |state| {
                state.claims.push(Claim { row, trigger });
            }),
            At::Unlocked => self.go("takes the lock of {}'s ticket", next),
            _ => {
                let others = self.claims_near(frame);
                let other = others.into_iter().find(|claim| !self.is_own(claim.row));
                match other {
                    Some(Claim { row: other, trigger }) => {
                        let wait = Some(Wait::Claim(other, trigger));
                        let next = Frame { at: At::Withdraw, wait, ..frame };
                        self.go_with("finds for {} the claim of {}", next, other, |_| {});
                    }
                    None => self.go("finds no claim near {}", next),
                }
            }
        }
    }

    /// Reads one of the near rows, in any order. Other writers may take steps between two reads.
    fn look(&mut self, frame: Frame) {
        for other in each(frame.rest) {
            let Row { stored, is_trial, is_deleted, changed_by, .. } = self.row(other);
            let rest = frame.rest & !(1 << other);
            let is_own_deletion = is_deleted && changed_by == self.i + 1;
            let mut next = Frame { rest, ..frame };
            if stored == Stored::Index && !is_own_deletion {
                let owner = self.of.owner[other as usize];
                if self.of.is_there(self.state, other, self.i) {
                    (next.seen, next.rest) = (Seen::Row, 0);
                } else if frame.seen == Seen::None && !self.is(Mutant::Blind) {
                    let wait =
                        if is_trial { Wait::Trial(other) } else { Wait::Writer(owner, other) };
                    next.seen = Seen::Busy(wait);
                }
            }
            let has_busy = matches!(next.seen, Seen::Busy(_));
            if has_busy && self.of.links && self.is(Mutant::LinksInProgress) {
                self.go_with("links {} to {}, in progress", self.looked(next), other, |state| {
                    state.rows[frame.row as usize].link = other + 1;
                });
                continue;
            }
            if next.rest == 0 {
                next = self.decide(next);
            }
            self.go_with("looks for {} at {}", next, other, |_| {});
        }
    }

    /// The frame after a search for rows in progress.
    fn decide(&self, frame: Frame) -> Frame {
        match frame.seen {
            Seen::Busy(wait) => Frame { at: At::Withdraw, wait: Some(wait), ..frame },
            Seen::None if !frame.has_ended || self.is(Mutant::OneLook) => self.looked(frame),
            _ => Frame { at: At::Snapshot, ..frame },
        }
    }

    fn look_with_snapshot(&mut self, frame: Frame) {
        let sought = self.sought(frame);
        let (of, row) = (self.of, frame.row);
        let found = each(sought).find(|&other| of.is_there(self.state, other, self.i));
        match found {
            Some(other) if of.links => {
                let next = self.looked(frame);
                let fault = (of.status(self.state, other) == Status::Aborted).then_some(DANGLING);
                let (i, ends) = (self.i as usize, self.is(Mutant::LinkedUnclaimed));
                self.step_with("links {} to {}", [row, other], fault, |state| {
                    *state.writers[i].frames.last_mut().expect("a row is in hand") = next;
                    state.rows[row as usize].link = other + 1;
                    if ends {
                        state.end_claims(of, |claim| claim.row == row);
                    }
                });
            }
            Some(other) => {
                let next = Frame { at: At::Skip, ..frame };
                self.go_with("snapshot for {}: {} is there", next, other, |_| {});
            }
            None if frame.seen == Seen::Row && !self.is(Mutant::GoneIsNone) => {
                let next = Frame { at: At::Withdraw, wait: None, ..frame };
                self.go("snapshot for {}: what was there is gone", next);
            }
            None => self.go("snapshot for {}: nothing is near", self.looked(frame)),
        }
    }

    /// Withdraws the claim: no claim is published while its trigger waits.
    fn withdraw(&mut self, frame: Frame) {
        let Frame { row, trigger, wait, .. } = frame;
        let of = self.of;
        // A wait for something that has ended meanwhile is over.
        let is_over = match wait {
            None => true,
            Some(Wait::Writer(writer, other)) => {
                self.state.writers[writer as usize].status != Status::Running
                    || self.row(other).stored == Stored::No
            }
            Some(Wait::Trial(other)) => !self.row(other).is_trial,
            Some(wait) => wait == Wait::Over,
        };
        let wait = if is_over { Some(Wait::Over) } else { wait };
        let (next, keeps) = (Frame { at: At::Wait, wait, ..frame }, self.is(Mutant::KeptInWait));
        self.go_with("withdraws the claim of {}, and waits", next, NOBODY, |state| {
            if !keeps {
                state.end_claims(of, |claim| *claim == Claim { row, trigger });
            }
        });
    }

    fn wake(&mut self, frame: Frame) {
        let Frame { row, trigger, .. } = frame;
        if frame.wait != Some(Wait::Over) {
            return;
        }
        let frame = Frame { wait: None, ..frame };
        let is_there = |other| self.of.is_there(self.state, other, self.i);
        if self.is(Mutant::NoLookAfterWait) {
            self.go("goes on with {}", self.looked(frame));
        } else if self.is(Mutant::PresumesDuplicate) {
            let is_right = each(self.sought(frame)).any(is_there);
            let (i, fault) = (self.i as usize, (!is_right).then_some(FOR_NOTHING));
            self.step_with("skips {} without a look", [row, NOBODY], fault, |state| {
                state.writers[i].frames.pop();
            });
        } else if self.state.claims.contains(&Claim { row, trigger }) {
            let next = self.looking(frame);
            self.go("looks again for {}", next);
        } else {
            self.go("begins again with {}", Frame { at: At::Claim, ..frame });
        }
    }

    fn later(&mut self, frame: Frame) {
        let row = frame.row;
        self.finish("drops {} in a later trigger", row, |_| {});
        let inside = self.of.inside[row as usize];
        if inside != NOBODY && frame.at == At::Later {
            let i = self.i as usize;
            let at = if has(self.of.unwatched, inside) { At::Later } else { At::Claim };
            let outer = Frame { at: At::Inside, ..frame };
            self.go_with("begins, in a later trigger of {}, with {}", outer, inside, |state| {
                state.writers[i].frames.push(Frame::new(inside, at));
            });
        } else if self.is_on_trial(row) {
            self.go("turns to the key of {}", Frame { at: At::Check, ..frame });
        } else {
            let (i, old) = (self.i, self.old(row));
            self.go_with("stores {}", Frame { at: At::Heap, ..frame }, NOBODY, |state| {
                state.rows[row as usize].stored = Stored::Heap;
                if let Some(old) = old {
                    let old = &mut state.rows[old as usize];
                    (old.changed_by, old.is_deleted) = (i + 1, true);
                }
            });
        }
    }

    /// A conflict with rows of the same key. `Some(None)` if one is there to stay, `Some(Some(_))`
    /// with the wait for one that may not be.
    fn conflict(&self, row: u8, least: Stored) -> Option<Option<Wait>> {
        let mut wait = None;
        for other in each(self.of.same[row as usize]) {
            let Row { stored, is_trial, is_deleted, changed_by, .. } = self.row(other);
            if stored < least || is_deleted && changed_by == self.i + 1 {
                continue;
            }
            let owner = self.of.owner[other as usize];
            let is_known =
                owner == self.i || self.of.status(self.state, other) == Status::Committed;
            let found = match (is_known, is_deleted) {
                (true, true) => Wait::Writer(changed_by - 1, other),
                (true, false) => return Some(None),
                (false, _) if is_trial => Wait::Trial(other),
                (false, _) => Wait::Writer(owner, other),
            };
            wait = Some(Some(found));
        }
        wait
    }

    fn store(&mut self, frame: Frame) {
        let row = frame.row;
        let on_trial = self.is_on_trial(row);
        let is_checked = frame.at == At::Check;
        let wait_for = |wait| Frame { at: At::UniqueWait, wait: Some(wait), ..frame };
        match self.conflict(row, Stored::Key) {
            Some(None) if is_checked => self.finish("does nothing for {}: conflict", row, |_| {}),
            Some(Some(wait)) if is_checked || !on_trial => {
                self.go("waits for the key of {}", wait_for(wait));
            }
            _ if is_checked => {
                let next = Frame { at: At::Heap, ..frame };
                self.go_with("stores {} on trial", next, NOBODY, |state| {
                    let row = &mut state.rows[row as usize];
                    (row.stored, row.is_trial) = (Stored::Heap, true);
                });
            }
            conflict if on_trial => {
                let next = Frame { at: At::Unique, conflict: conflict.is_some(), ..frame };
                self.go_with("puts {} into the unique index", next, NOBODY, |state| {
                    state.rows[row as usize].stored = Stored::Key;
                });
            }
            None if self.of.same[row as usize] != 0 => {
                let next = Frame { at: At::Unique, ..frame };
                self.go_with("puts {} into the unique index", next, NOBODY, |state| {
                    state.rows[row as usize].stored = Stored::Key;
                });
            }
            None => self.enter(frame, At::Heap),
            Some(_) => {}
        }
        // A unique violation is one of many reasons to fail.
        if !is_checked && !on_trial {
            if self.old(row).is_none() {
                let of = self.of;
                self.finish("fails with {}: back to its savepoint", row, |state| {
                    state.take_back(of, row);
                    state.end_claims(of, |claim| claim.row == row);
                    note_end(state);
                });
            }
            self.leave("fails", Status::Aborted, None);
        }
    }

    /// Puts the row into our index.
    fn enter(&mut self, frame: Frame, at: At) {
        let row = frame.row;
        let (of, on_trial) = (self.of, self.is_on_trial(row));
        if self.is(Mutant::EndsEarly) && self.state.is_claimed(row) {
            return self.go_with("ends the claim of {}", Frame { at, ..frame }, NOBODY, |state| {
                state.end_claims(of, |claim| claim.row == row);
            });
        }
        let old = self.old(row).map(|old| self.row(old));
        let put = |state: &mut State| {
            let is_stored = |&other: &u8| state.rows[other as usize].stored == Stored::Index;
            let before = each(of.near[row as usize][0]).filter(is_stored);
            let before = before.fold(0, |rows, other| rows | 1 << other);
            let row = &mut state.rows[row as usize];
            row.stored = Stored::Index;
            if of.links {
                row.before = before;
                // Updates that are not judged keep the link.
                if let Some(old) = old {
                    (row.before, row.link) = (old.before, old.link);
                }
            }
        };
        let has_claim = self.state.is_claimed(row)
            || self.is(Mutant::AnyEntryEnds)
                && self.state.claims.iter().any(|claim| self.is_own(claim.row));
        let says = "puts {} into the index";
        if on_trial {
            let ends = self.is(Mutant::TrialEndsClaim) && has_claim;
            let at = if ends { At::Entered } else { At::Trial };
            self.go_with(says, Frame { at, ..frame }, NOBODY, put);
        } else if has_claim {
            self.go_with(says, Frame { at: At::Entered, ..frame }, NOBODY, put);
        } else {
            self.finish(says, row, put);
        }
    }

    fn entered(&mut self, frame: Frame) {
        let (of, row) = (self.of, frame.row);
        let its = |claim: &&Claim| match self.is(Mutant::AnyEntryEnds) {
            true => self.is_own(claim.row),
            false => claim.row == row,
        };
        let ended = self.state.claims.iter().rfind(its).copied();
        let end = |state: &mut State| state.end_claims(of, |claim| Some(*claim) == ended);
        let more = self.state.claims.iter().filter(|claim| claim.row == row).count() > 1;
        let says = "ends the claim of {}";
        if self.is_on_trial(row) {
            self.go_with(says, Frame { at: At::Trial, ..frame }, NOBODY, end);
        } else if more && !self.is(Mutant::AnyEntryEnds) {
            self.go_with(says, frame, NOBODY, end);
        } else {
            self.finish(says, row, end);
        }
    }

    fn trial(&mut self, frame: Frame) {
        let row = frame.row;
        if frame.conflict {
            let next = Frame { at: At::Check, conflict: false, ..frame };
            self.go_with("takes {} back", next, NOBODY, |state| {
                let link = state.rows[row as usize].link;
                state.take_back_one(row);
                state.rows[row as usize].link = link;
            });
        } else {
            self.finish("confirms {}", row, |state| {
                state.rows[row as usize].is_trial = false;
                state.end_waits(|wait| wait == Wait::Trial(row));
            });
        }
    }

    /// What a writer waits for now.
    fn waits_for(&self, i: u8) -> Option<Wait> {
        let frame = self.state.writers[i as usize].frames.last()?;
        let waits = matches!(frame.at, At::Wait | At::UniqueWait | At::Old);
        frame.wait.filter(|&wait| waits && wait != Wait::Over)
    }

    /// The writer that a wait is for.
    fn awaited(&self, wait: Wait) -> u8 {
        match wait {
            Wait::Claim(row, _) | Wait::Trial(row) => self.of.owner[row as usize],
            Wait::Writer(writer, _) | Wait::Session(writer) => writer,
            Wait::Over => NOBODY,
        }
    }

    /// A wait is cancelled, or ends in a deadlock.
    fn interrupt(&mut self) {
        let mut cycle = vec![self.i];
        while let Some(wait) = self.waits_for(cycle[cycle.len() - 1]) {
            if self.is(Mutant::UnseenWait) && matches!(wait, Wait::Claim(..)) {
                break;
            }
            let next = self.awaited(wait);
            if next == self.i {
                let is_due = cycle.iter().all(|&writer| self.is_due(writer));
                let fault = (!is_due).then_some(FAR_DEADLOCK);
                self.leave("is ended, for a DEADLOCK", Status::Aborted, fault);
                break;
            }
            if cycle.contains(&next) {
                break;
            }
            cycle.push(next);
        }
        self.leave("is cancelled", Status::Aborted, None);
    }

    /// Whether the writer's wait is one that a deadlock may contain.
    fn is_due(&self, writer: u8) -> bool {
        let (of, state) = (self.of, self.state);
        let Some(wait) = self.waits_for(writer) else { return true };
        let Some(frame) = state.writers[writer as usize].frames.last() else { return true };
        let is_near = |row: u8| has(of.near_by_any(frame.row) | of.same[frame.row as usize], row);
        let is_on_its_way = |row: u8, trigger: u8| {
            let frames = &state.writers[of.owner[row as usize] as usize].frames;
            frames.iter().any(|frame| frame.row == row && frame.is_on_its_way(trigger))
        };
        let is_stored = |row: u8| self.row(row).stored >= Stored::Key;
        match wait {
            Wait::Claim(row, trigger) => {
                is_near(row) && (is_stored(row) || is_on_its_way(row, trigger))
            }
            Wait::Writer(_, row) | Wait::Trial(row) => frame.at == At::Old || is_near(row),
            Wait::Session(session) => state.claims.iter().any(|claim| {
                of.owner[claim.row as usize] == session
                    && is_near(claim.row)
                    && (is_stored(claim.row) || is_on_its_way(claim.row, claim.trigger))
            }),
            Wait::Over => true,
        }
    }
}

/// Records in searches under way that a transaction or subtransaction has ended: they may have
/// missed its rows.
fn note_end(state: &mut State) {
    for frame in state.writers.iter_mut().flat_map(|writer| &mut writer.frames) {
        frame.has_ended |= matches!(frame.at, At::Look | At::Snapshot);
    }
}
