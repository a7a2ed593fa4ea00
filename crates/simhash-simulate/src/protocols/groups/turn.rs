//! The steps that one writer can take in a state.

use super::model::{
    At, DEADLOCK, Gate, Groups, Mutant, STRANGERS, Set, State, Statement, Told, Version, Writer,
    each, has,
};
use super::plan::{Plan, plan};
use crate::protocols::explore::{Event, NOBODY, Step};

pub struct Turn<'a> {
    of: &'a Groups,
    state: &'a State,
    i: u8,
    steps: &'a mut Vec<Step<State>>,
}

/// The number of orders in which an index may return rows. In each, slot 1 of a row precedes slot
/// 0.
const ORDERS: u8 = 2;

impl<'a> Turn<'a> {
    pub fn new(of: &'a Groups, state: &'a State, i: u8, steps: &'a mut Vec<Step<State>>) -> Self {
        Turn { of, state, i, steps }
    }

    pub fn take(mut self) {
        let writer = self.writer();
        if !writer.is_running {
            return;
        }
        let awaited = self.awaited(self.i);
        if awaited != 0 {
            return self.interrupt(awaited);
        }
        match &writer.at {
            At::Idle => self.begin(),
            &At::Rows(rows) => self.write(rows),
            At::Gate if self.must_queue(self.i) => self.queue(self.i),
            At::Gate => self.open_gate(),
            At::Dirty { .. } => self.read(writer.at.clone()),
            &At::Pass(rest) => self.pass(rest),
            &At::Block(rest) => {
                let stranger = each(rest).next().expect("there is one");
                if self.must_queue(stranger) {
                    self.queue(stranger);
                } else {
                    let next = self.passed(rest);
                    self.go_with_gate("has the gate that it waited for", next, stranger);
                }
            }
            &At::GiveWay(to) if self.must_queue(to) => self.queue(to),
            &At::GiveWay(to) => {
                let i = self.i;
                self.step("need wait no longer", NOBODY, |state| {
                    if state.gates[to as usize].holder == i {
                        state.gates[to as usize].release();
                    }
                    state.writers[i as usize].at = At::Gate;
                });
            }
            At::Look => self.look(),
            At::Ids { .. } => self.lock_id(writer.at.clone()),
            At::Hold { next, told } => self.hold(*next as usize, told),
        }
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.of.mutant == Some(mutant)
    }

    fn writer(&self) -> &'a Writer {
        &self.state.writers[self.i as usize]
    }

    fn statement(&self) -> &'a Statement {
        &self.of.programs[self.i as usize][self.writer().statement as usize]
    }

    fn step(&mut self, says: &'static str, row: u8, change: impl FnOnce(&mut State)) {
        let mut state = self.state.clone();
        change(&mut state);
        let event = Event { writer: self.i, says, rows: [row, NOBODY], is_cancel: false };
        self.steps.push(Step { event, state, fault: None });
    }

    fn go(&mut self, says: &'static str, row: u8, change: impl FnOnce(&mut Writer)) {
        let i = self.i as usize;
        self.step(says, row, |state| change(&mut state.writers[i]));
    }

    fn begin(&mut self) {
        let program = &self.of.programs[self.i as usize];
        let Some(statement) = program.get(self.writer().statement as usize) else {
            self.leave("commits", true, None);
            return self.leave("aborts", false, None);
        };
        match *statement {
            Statement::Insert(rows) => self.write(rows),
            // It may have to wait for its rows.
            Statement::Delete(rows) => self.go("begins", NOBODY, |w| w.at = At::Rows(rows)),
            Statement::Update(row, _) => self.go("begins", NOBODY, |w| w.at = At::Rows(1 << row)),
        }
    }

    /// The transaction ends, and with it its locks.
    fn leave(&mut self, says: &'static str, commits: bool, fault: Option<&'static str>) {
        let (of, i) = (self.of, self.i);
        let mut state = self.state.clone();
        for row in state.rows.iter_mut().filter(|row| row.holder == i) {
            if let (Some(pending), true) = (row.pending, commits) {
                row.committed = pending;
            }
            (row.holder, row.pending) = (NOBODY, None);
        }
        for gate in &mut state.gates {
            gate.queue.retain(|&writer| writer != i);
            if gate.holder == i {
                gate.release();
            }
        }
        for lock in &mut state.locks {
            lock.shared &= !(1 << i);
            if lock.alone == i {
                lock.alone = NOBODY;
            }
        }
        state.writers.iter_mut().for_each(|writer| writer.has_ended = true);
        let statement = self.writer().statement;
        state.writers[i as usize] = Writer { is_running: false, statement, ..Writer::default() };
        let fault = fault.or_else(|| of.judge(&state));
        let is_cancel = says == "is cancelled";
        let event = Event { writer: i, says, rows: [NOBODY; 2], is_cancel };
        self.steps.push(Step { event, state, fault });
    }

    /// Writes the first of the rows that the statement has still to write.
    fn write(&mut self, rows: Set) {
        let i = self.i;
        let row = each(rows).next().expect("there is one");
        let was = self.state.rows[row as usize].seen_by(i);
        let place = self.of.places[row as usize];
        let is = match (self.statement(), was) {
            (Statement::Insert(_), _) => Some(Version { place, id: NOBODY, slot: 0 }),
            (&Statement::Update(_, place), Some(was)) => {
                let slot = self.slot_after(row);
                Some(Version { place, slot, ..was })
            }
            _ => None,
        };
        let is_insert = matches!(self.statement(), Statement::Insert(_));
        let rest = rows & !(1 << row);
        let left = was.filter(|was| was.id != NOBODY).map(|was| (was.id, was.place));
        let has_left = left.is_some() || !self.writer().left.is_empty();
        let at = match *self.statement() {
            _ if rest != 0 => At::Rows(rest),
            Statement::Insert(_) => At::Gate,
            Statement::Update(..) if was.is_some() && self.is(Mutant::UpdateUngated) => At::Look,
            Statement::Update(..) if was.is_some() => At::Gate,
            _ if has_left => At::Look,
            _ => At::Idle,
        };
        self.step("writes {}", row, |state| {
            if is_insert || was.is_some() {
                let row = &mut state.rows[row as usize];
                (row.holder, row.pending) = (i, Some(is));
            }
            let writer = &mut state.writers[i as usize];
            writer.left.extend(left);
            if at == At::Idle {
                writer.statement += 1;
            }
            writer.at = at;
        });
    }

    /// The slot of the next version of a row: the one that its committed version does not use.
    fn slot_after(&self, row: u8) -> u8 {
        self.state.rows[row as usize].committed.map_or(0, |committed| 1 - committed.slot)
    }

    /// The rows that the statement has written and that are there.
    fn own(&self) -> Set {
        let rows = match *self.statement() {
            Statement::Insert(rows) => rows,
            Statement::Update(row, _) => 1 << row,
            Statement::Delete(_) => 0,
        };
        let is_there = |row: &u8| {
            let row = self.state.rows[*row as usize];
            row.holder == self.i && row.pending.flatten().is_some()
        };
        each(rows).filter(is_there).fold(0, |set, row| set | 1 << row)
    }

    /// Whether another writer holds this gate, and the writer is not in its queue yet.
    fn must_queue(&self, of: u8) -> bool {
        let Gate { holder, queue } = &self.state.gates[of as usize];
        *holder != NOBODY && *holder != self.i && !queue.contains(&self.i)
    }

    fn queue(&mut self, of: u8) {
        let i = self.i;
        self.step("waits for a gate", NOBODY, |state| state.gates[of as usize].queue.push(i));
    }

    fn open_gate(&mut self) {
        let i = self.i as usize;
        if self.is(Mutant::Blind) {
            return self.go("does not look at rows in progress", NOBODY, |w| w.at = At::Look);
        }
        let is_late = self.is(Mutant::GateLate);
        for at in self.dirty() {
            self.step("opens its gate, and looks at rows in progress", NOBODY, |state| {
                if !is_late {
                    state.gates[i].holder = i as u8;
                }
                state.writers[i].begin_look(at);
            });
        }
    }

    /// The start of a search for rows in progress, in each of the orders.
    fn dirty(&self) -> impl Iterator<Item = At> + use<> {
        let places =
            each(self.own()).filter_map(|row| self.state.rows[row as usize].seen_by(self.i));
        let sought = places.fold(0, |set, row| set | 1 << row.place);
        let begin = move |order| At::Dirty { sought, order, next: 0, strangers: 0, live: 0 };
        (0..ORDERS).map(begin)
    }

    /// Reads the next version near the first of the places, if there is one.
    fn read(&mut self, at: At) {
        let At::Dirty { mut sought, order, mut next, mut strangers, mut live } = at else { return };
        let (rows, writer) = (self.state.rows.len() as u8, self.writer());
        let (mut relied, mut found) = (writer.relied.unwrap_or_default(), writer.found);
        let place = each(sought).next().expect("there is one");
        let mut says = "looks on";
        let mut seen = NOBODY;
        // A row that can never be near needs no step.
        while next < 2 * rows && !self.may_be_near(self.item(order, next).0, place) {
            next += 1;
        }
        if next < 2 * rows {
            let (row, slot) = self.item(order, next);
            next += 1;
            let it = &self.state.rows[row as usize];
            let pending = it.pending.flatten().filter(|version| version.slot == slot);
            let is_mine = it.holder == self.i && it.pending.is_some();
            let committed = it.committed.filter(|version| version.slot == slot && !is_mine);
            let near = |version: &Version| {
                self.of.are_near(place, version.place) && !has(live, version.place)
            };
            if pending.filter(near).is_some() && !is_mine {
                strangers |= 1 << it.holder;
                (says, seen) = ("sees {} in progress", row);
            }
            let mine = pending.filter(|_| is_mine && !has(self.own(), row));
            if let Some(version) = committed.or(mine).filter(near) {
                live |= 1 << version.place;
                relied |= 1 << version.place;
                (says, seen) = ("sees {}", row);
                if self.is(Mutant::OneLook) {
                    found |= 1 << row;
                }
                if version.place == place {
                    next = 2 * rows;
                }
            }
        }
        while next < 2 * rows && !self.may_be_near(self.item(order, next).0, place) {
            next += 1;
        }
        if next == 2 * rows {
            (next, live) = (0, 0);
            sought &= !(1 << place);
        }
        let own = if self.is(Mutant::GateLate) { 1 << self.i } else { 0 };
        let at = match (sought, strangers | own) {
            (0, 0) => At::Look,
            (0, strangers) => At::Pass(strangers),
            _ => At::Dirty { sought, order, next, strangers, live },
        };
        self.go(says, seen, |writer| {
            (writer.at, writer.relied, writer.found) = (at, Some(relied), found);
        });
    }

    /// The row and the slot at a position of one of the orders.
    fn item(&self, order: u8, next: u8) -> (u8, u8) {
        let (row, slot) = (next / 2, next % 2);
        let last = self.state.rows.len() as u8 - 1;
        (if order == 1 { last - row } else { row }, 1 - slot)
    }

    fn may_be_near(&self, row: u8, place: u8) -> bool {
        let moves = self.of.programs.iter().flatten().filter_map(|statement| match *statement {
            Statement::Update(of, to) if of == row => Some(to),
            _ => None,
        });
        let mut places = moves.chain([self.of.places[row as usize]]);
        !has(self.own(), row) && places.any(|other| self.of.are_near(place, other))
    }

    /// Deals with the first of the transactions in progress that have near rows.
    fn pass(&mut self, rest: Set) {
        let i = self.i;
        let stranger = each(rest).next().expect("there is one");
        let holder = self.state.gates[stranger as usize].holder;
        if holder == NOBODY || holder == i {
            let next = self.passed(rest);
            return self.go_with_gate("passes a writer by, whose gate it has", next, stranger);
        }
        let is_younger = holder < i || stranger < i && !self.is(Mutant::YieldsToHolder);
        if !self.writer().has_looked && is_younger && !self.is(Mutant::NobodyYields) {
            let keeps = self.is(Mutant::GateKept);
            return self.step("gives its gates up for an older one", NOBODY, |state| {
                for (of, gate) in (0..).zip(&mut state.gates) {
                    if gate.holder == i && !(keeps && of == i) {
                        gate.release();
                    }
                }
                state.writers[i as usize].at = At::GiveWay(stranger);
            });
        }
        self.go("will wait for a gate", NOBODY, |writer| writer.at = At::Block(rest));
    }

    fn go_with_gate(&mut self, says: &'static str, next: impl FnOnce(&mut Writer), of: u8) {
        let (i, keeps) = (self.i, !self.is(Mutant::GateLate));
        self.step(says, NOBODY, |state| {
            let gate = &mut state.gates[of as usize];
            match keeps {
                true => gate.holder = i,
                false if gate.holder == i => gate.release(),
                false => {}
            }
            next(&mut state.writers[i as usize]);
        });
    }

    /// The change when the first of these writers has been passed.
    fn passed(&self, rest: Set) -> impl FnOnce(&mut Writer) + use<> {
        let rest = rest & (rest - 1);
        move |writer| writer.at = if rest == 0 { At::Look } else { At::Pass(rest) }
    }

    /// Searches with a snapshot. The result counts once no lock is missing.
    fn look(&mut self) {
        let writer = self.writer();
        let is_fast = writer.is_all && (!writer.has_ended || self.is(Mutant::OneLook));
        let Plan { joined, changed, told, relied } =
            plan(self.of, self.state, self.i, self.statement());
        let is_relied_on = writer.relied.is_some_and(|known| known & !relied != 0);
        if !is_fast && is_relied_on && !self.is(Mutant::ReliedForgotten) {
            for at in self.dirty() {
                self.go("what it relied on is gone: looks at rows in progress", NOBODY, |writer| {
                    writer.begin_look(at);
                    writer.is_all = false;
                });
            }
            return;
        }
        let buckets = |ids: Set| each(ids).fold(0, |set: Set, id| set | 1 << self.of.bucket(id));
        let alone = buckets(changed) & !writer.alone;
        let shared = buckets(joined) & !buckets(changed) & !writer.shared & !writer.alone;
        let is_missing = shared | alone != 0;
        let at = match is_missing {
            false => At::Hold { next: 0, told },
            // Locks are taken in one order, so a writer that has some gives them back first.
            true if self.is(Mutant::OutOfOrder) => {
                At::Ids { shared, alone, told, has_waited: false }
            }
            true => {
                let alone = alone | writer.alone;
                let shared = (shared | writer.shared) & !alone;
                At::Ids { shared, alone, told, has_waited: false }
            }
        };
        let (i, gives_back) = (self.i, is_missing && !self.is(Mutant::OutOfOrder));
        self.step("looks with a snapshot", NOBODY, |state| {
            if gives_back {
                state.give_back_ids(i);
            }
            let writer = &mut state.writers[i as usize];
            writer.has_ended &= is_fast;
            writer.is_all = false;
            writer.at = at;
        });
    }

    fn lock_id(&mut self, at: At) {
        let At::Ids { mut shared, mut alone, told, has_waited } = at else { return };
        let (i, bucket) = (self.i, each(shared | alone).next().expect("there is one"));
        let is_alone = has(alone, bucket);
        shared &= !(1 << bucket);
        alone &= !(1 << bucket);
        let has_ended = self.writer().has_ended
            && !self.is(Mutant::NoSecondLook)
            && (has_waited || !self.is(Mutant::LooksIfWaited));
        let at = match shared | alone {
            0 if has_ended => At::Look,
            0 => At::Hold { next: 0, told },
            _ => At::Ids { shared, alone, told, has_waited },
        };
        let says = if is_alone { "locks id {} alone" } else { "shares the lock of id {}" };
        self.step(says, bucket, |state| {
            let (lock, writer) =
                (&mut state.locks[bucket as usize], &mut state.writers[i as usize]);
            if is_alone {
                lock.alone = i;
                writer.alone |= 1 << bucket;
            } else {
                lock.shared |= 1 << i;
                writer.shared |= 1 << bucket;
            }
            writer.at = at;
        });
    }

    /// Locks the next of the rows that are to be assigned ids. After the last, assigns them.
    fn hold(&mut self, next: usize, told: &[Told]) {
        let (i, own) = (self.i, self.own());
        let Some(&Told { row, version, .. }) = told.get(next) else { return self.tell(told) };
        let mut told = told.to_vec();
        let is_there = self.state.rows[row as usize].seen_by(i) == Some(version);
        let at = |next: usize, told| At::Hold { next: next as u8, told };
        if has(own, row) || is_there {
            self.step("holds {}", row, |state| {
                state.rows[row as usize].holder = i;
                state.writers[i as usize].at = at(next + 1, told);
            });
        } else if self.is(Mutant::ToldUnheld) {
            told.remove(next);
            self.go("does not find {}", row, |writer| writer.at = at(next, told));
        } else {
            self.step("finds {} changed, and reads again", row, |state| {
                let row = &mut state.rows[row as usize];
                if row.committed.is_some() {
                    row.holder = i;
                }
                state.writers[i as usize].at = At::Look;
            });
        }
    }

    fn tell(&mut self, told: &[Told]) {
        let (i, has_gate) = (self.i, self.own() != 0);
        let slots: Vec<u8> = told.iter().map(|told| self.slot_after(told.row)).collect();
        self.step("tells all rows", NOBODY, |state| {
            for (told, slot) in told.iter().zip(slots) {
                let version = Version { id: told.id, slot, ..told.version };
                state.rows[told.row as usize].pending = Some(Some(version));
            }
            let writer = &mut state.writers[i as usize];
            *writer = Writer {
                statement: writer.statement + 1,
                has_looked: writer.has_looked || has_gate,
                kept_shared: writer.kept_shared | writer.shared,
                kept_alone: writer.kept_alone | writer.alone,
                ..Writer::default()
            };
        });
    }

    /// The writers that a writer waits for.
    fn awaited(&self, i: u8) -> Set {
        let state = self.state;
        let writer = &state.writers[i as usize];
        let one = |other: u8| if other == NOBODY || other == i { 0 } else { 1 << other };
        let gate = |of: u8| {
            let Gate { holder, queue } = &state.gates[of as usize];
            if queue.contains(&i) { one(*holder) } else { 0 }
        };
        match &writer.at {
            At::Rows(rows) => {
                let row = each(*rows).next().unwrap_or_default();
                one(state.rows[row as usize].holder)
            }
            At::Gate => gate(i),
            At::Block(rest) => gate(each(*rest).next().unwrap_or_default()),
            At::GiveWay(to) => gate(*to),
            At::Ids { shared, alone, .. } => {
                let bucket = each(shared | alone).next().unwrap_or_default();
                state.locks[bucket as usize].others(i, has(*alone, bucket))
            }
            At::Hold { next, told } => {
                told.get(*next as usize).map_or(0, |told| one(state.rows[told.row as usize].holder))
            }
            At::Idle | At::Dirty { .. } | At::Pass(_) | At::Look => 0,
        }
    }

    /// A wait is cancelled, or ends in a deadlock.
    fn interrupt(&mut self, awaited: Set) {
        let (mut reached, mut open) = (0, awaited);
        while open != 0 {
            reached |= open;
            open = each(open).fold(0, |set, writer| set | self.awaited(writer)) & !reached;
        }
        let is_strange = |&other: &u8| self.of.are_strangers(self.state, self.i, other);
        let tells_apart = self.of.buckets >= self.of.places.len() as u8;
        if tells_apart && each(awaited).any(|other| is_strange(&other)) {
            self.leave("waits for a stranger", false, Some(STRANGERS));
        }
        if has(reached, self.i) {
            let fault = self.of.is_of_single_inserts().then_some(DEADLOCK);
            self.leave("is ended, for a DEADLOCK", false, fault);
        }
        if let At::Ids { has_waited: false, .. } = self.writer().at
            && self.is(Mutant::LooksIfWaited)
        {
            self.go("waits for an id", NOBODY, |writer| {
                if let At::Ids { has_waited, .. } = &mut writer.at {
                    *has_waited = true;
                }
            });
        }
        self.leave("is cancelled", false, None);
    }
}

impl Writer {
    fn begin_look(&mut self, at: At) {
        self.is_all = self.left.is_empty();
        self.has_ended = false;
        self.relied = Some(0);
        self.found = 0;
        self.at = at;
    }
}
