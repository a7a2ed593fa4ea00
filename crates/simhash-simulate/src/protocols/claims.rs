//! A model of the claims of the trigger simhash_dedup (`src/claims`, `find` in
//! `src/trigger/judge.rs`).
//!
//! Writers insert, update and delete rows, some of which are near each other. Wherever it is
//! possible, a later trigger drops a row, a row fails (its savepoint or its transaction is rolled
//! back), a wait is cancelled, or the transaction commits or aborts. A deadlock detector aborts any
//! member of a cycle.
//!
//! What must hold:
//! - No two near rows are committed, or the later of the two is linked.
//! - A row is skipped or linked only for a row that is committed or of its own transaction.
//! - In a deadlock, each row that is waited for is near the waiter's row or has its key, and is
//!   stored or about to be: the search before it is over.
//! - No writer waits for ever, and every order of steps ends.
//!
//! Not modelled: crashes, REPEATABLE READ, the limit on the number of claims, texts that share keys
//! but are not near, and tables whose rows do not all have the same triggers.

mod model;
mod scenarios;
mod turn;

use self::model::{Claims, Op, Row, Rows, State, Status, Stored, Writer, each};
use self::turn::Turn;
use crate::protocols::explore::{NOBODY, Protocol, Step, writer_name};

pub use self::model::Mutant;
pub use self::scenarios::scenarios;

impl Protocol for Claims {
    type State = State;

    fn start(&self) -> State {
        let writer = || Writer { status: Status::Running, next: 0, frames: Vec::new() };
        let row = |&owner: &u8| {
            let stored = if owner == NOBODY { Stored::Index } else { Stored::No };
            Row { stored, ..Row::default() }
        };
        State {
            writers: self.programs.iter().map(|_| writer()).collect(),
            rows: self.owner.iter().map(row).collect(),
            claims: Vec::new(),
        }
    }

    fn is_over(&self, state: &State) -> bool {
        state.writers.iter().all(|writer| writer.status != Status::Running)
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step<State>>) {
        for writer in 0..self.programs.len() as u8 {
            Turn::new(self, state, writer, steps).take();
        }
    }

    fn name(&self, row: u8) -> String {
        let owner = self.owner[row as usize];
        let place = self.owner[..row as usize].iter().filter(|&&other| other == owner).count() + 1;
        match owner {
            NOBODY => format!("old{place}"),
            owner => format!("{}{place}", writer_name(owner).to_ascii_lowercase()),
        }
    }

    fn describe(&self) -> String {
        let mut parts = Vec::new();
        for (writer, program) in self.programs.iter().enumerate() {
            let ops: Vec<String> = program.iter().map(|&op| self.describe_op(op)).collect();
            let says = if self.on_conflict >> writer & 1 == 1 { " on conflict" } else { "" };
            parts.push(format!("{}: {}{says}", writer_name(writer as u8), ops.join(", ")));
        }
        let pairs = |of: &dyn Fn(u8) -> Rows| {
            let rows = 0..self.owner.len() as u8;
            let pairs = rows.flat_map(|a| each(of(a)).map(move |b| (a, b)).filter(|(a, b)| a < b));
            let names = pairs.map(|(a, b)| format!("{}~{}", self.name(a), self.name(b)));
            names.collect::<Vec<_>>().join(" ")
        };
        for trigger in 0..usize::from(self.triggers) {
            parts.push(format!("near: {}", pairs(&|row| self.near[row as usize][trigger])));
        }
        if self.same.iter().any(|&rows| rows != 0) {
            parts.push(format!("same key: {}", pairs(&|row| self.same[row as usize])));
        }
        parts.push(if self.links { "link" } else { "skip" }.to_owned());
        parts.join("; ")
    }
}

impl Claims {
    fn describe_op(&self, op: Op) -> String {
        match op {
            Op::Insert(row) => match self.inside[row as usize] {
                NOBODY => self.name(row),
                inside => format!("{} ({} inside)", self.name(row), self.name(inside)),
            },
            Op::Delete(row) => format!("delete {}", self.name(row)),
            Op::Update { old, new, change } => {
                format!("update {} to {} ({change:?})", self.name(old), self.name(new))
            }
        }
    }
}
