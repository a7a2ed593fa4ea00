//! A model of live groups (`src/groups`: settle.rs, locks.rs, search.rs, bridges.rs, assign.rs).
//!
//! Writers insert, update and delete rows at *places*: fingerprints or texts. Two places are near
//! or not, and several rows can be at one place. Writers are ordered as their transaction IDs are.
//! Every wait may be cancelled, and every transaction may abort when its statements have ended.
//! Until then it stands for a prepared transaction. A deadlock detector aborts any member of a
//! cycle.
//!
//! What must hold:
//! - Whenever a transaction ends, two committed rows have the same id exactly if they are
//!   connected, and a row with no near row has none.
//! - A writer and the one that it waits for have rows in one component, unless ids share a bucket.
//! - Transactions of one INSERT each do not deadlock.
//! - No writer waits for ever, and every order of steps ends.
//!
//! Not modelled: the lock of all groups, savepoints, REPEATABLE READ, crashes, settling later,
//! scopes, texts compared after fingerprints, nested statements, ids whose rows' keys are taken
//! (`take_over`), and how far bridges are followed: here the rows near a place that a row has left
//! stay together only if another row is there. A search with a snapshot is one step, which reads
//! rows, takes groups in and looks ids up.

mod model;
mod plan;
mod scenarios;
mod turn;

use self::model::{Gate, Groups, Lock, Row, Set, State, Statement, Version, Writer, each, has};
use self::turn::Turn;
use crate::protocols::explore::{NOBODY, Protocol, Step, writer_name};

pub use self::model::Mutant;
pub use self::scenarios::scenarios;

impl Protocol for Groups {
    type State = State;

    fn start(&self) -> State {
        let old = each(self.old).map(|row| self.places[row as usize]);
        let places = old.fold(0, |set, place| set | 1 << place);
        let component = self.components(places);
        let row = |row: u8| {
            let place = self.places[row as usize];
            let of = |other: &u8| {
                component[self.places[*other as usize] as usize] == component[place as usize]
            };
            let mut others = each(self.old).filter(of);
            let (first, is_lone) = (others.next().unwrap_or(NOBODY), others.next().is_none());
            let id = if is_lone { NOBODY } else { first };
            let committed = has(self.old, row).then_some(Version { place, id, slot: 0 });
            Row { committed, holder: NOBODY, pending: None }
        };
        State {
            writers: vec![Writer::default(); self.programs.len()],
            rows: (0..self.places.len() as u8).map(row).collect(),
            gates: vec![Gate { holder: NOBODY, queue: Vec::new() }; self.programs.len()],
            locks: vec![Lock { shared: 0, alone: NOBODY }; self.buckets as usize],
        }
    }

    fn is_over(&self, state: &State) -> bool {
        state.writers.iter().all(|writer| !writer.is_running)
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step<State>>) {
        for writer in 0..self.programs.len() as u8 {
            Turn::new(self, state, writer, steps).take();
        }
    }

    fn name(&self, row: u8) -> String {
        format!("{row}")
    }

    fn describe(&self) -> String {
        let row = |row: u8| format!("{row}@{}", self.places[row as usize]);
        let rows = |set: Set| each(set).map(row).collect::<Vec<_>>().join("+");
        let mut parts = vec![format!("there: {}", rows(self.old))];
        for (writer, program) in (0..).zip(&self.programs) {
            let statement = |statement: &Statement| match *statement {
                Statement::Insert(set) => format!("insert {}", rows(set)),
                Statement::Delete(set) => format!("delete {}", rows(set)),
                Statement::Update(row, place) => format!("update {row} to @{place}"),
            };
            let statements: Vec<String> = program.iter().map(statement).collect();
            parts.push(format!("{}: {}", writer_name(writer), statements.join(", ")));
        }
        let places = 0..self.near.len() as u8;
        let pairs = places.flat_map(|a| each(self.near[a as usize]).map(move |b| (a, b)));
        let pairs = pairs.filter(|(a, b)| a < b).map(|(a, b)| format!("@{a}~@{b}"));
        parts.push(format!("near: {}", pairs.collect::<Vec<_>>().join(" ")));
        if self.buckets < self.places.len() as u8 {
            parts.push(format!("{} buckets", self.buckets));
        }
        parts.join("; ")
    }
}
