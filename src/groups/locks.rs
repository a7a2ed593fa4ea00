//! Who writes to groups at the same time: nobody waits but for rows near his own.
//!
//! Order: the column's lock ([`share`]), gates, ids, rows. All last until the transaction or
//! subtransaction ends.
//!
//! - *The column's*, one for each column of ids. Whoever changes a group shares it. Who has it
//!   alone finds all groups anew.
//! - *[`Gates`]*: a lock on a transaction's number. Who holds another's gate makes it wait before
//!   it looks. Rows that are not committed are seen by those only who look at everything that is in
//!   the index. Of two transactions with near rows in progress, one has to look after the other has
//!   ended: the one whose gate the other one holds.
//! - *[`Ids`].* Shared if rows join a group that keeps its id. Alone if the id ends or passes to
//!   another group, or if its group may be divided. The key of a row without near rows stands for
//!   an id: who gives the row its first one has it alone.
//!
//! README.md beside this file says why that is enough.

use std::cell::RefCell;

use pgrx::pg_sys;

use super::keys::{Key, Keys};
use super::setup::{IdColumn, Setup};
use crate::advisory::{Class, EXCLUSIVE, Lock, SHARE};
use crate::types::hash::hash_of;

fn of_column(setup: &Setup) -> Lock {
    Lock::new(Class::IdColumn, setup.table.to_u32(), setup.cluster.column.number as u32)
}

/// Keeps all groups of a column from being found anew by somebody else.
pub fn share(setup: &Setup) {
    of_column(setup).take(SHARE);
}

/// Keeps everybody else from changing groups.
pub fn alone(setup: &Setup) {
    of_column(setup).take(EXCLUSIVE);
}

/// The same if nobody has to be waited for.
pub fn try_alone(setup: &Setup) -> bool {
    of_column(setup).try_take(EXCLUSIVE)
}

/// Ids share so many locks by hash. Two ids of one bucket may exclude each other needlessly, and a
/// load takes no more locks than that.
const BUCKETS: usize = 256;

/// What is done with an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Rows get it.
    Joined,
    /// It ends, or rows may lose it.
    Changed,
}

/// The locks of ids that a call has taken.
pub struct Ids([Option<Use>; BUCKETS]);

impl Ids {
    pub fn none() -> Self {
        Ids([None; BUCKETS])
    }

    /// Takes those that are missing. Returns whether any was. All that a call has are taken in
    /// ascending order: where one is missing below another, all are given back first.
    pub fn take(&mut self, setup: &Setup, keys: &Keys, wanted: &[(Key, Use)]) -> bool {
        let mut needed = [None; BUCKETS];
        for &(id, using) in wanted {
            // SAFETY: an id is a value of the key's type.
            let hash = unsafe { setup.key.column.hash(keys.value(id)) };
            let bucket = hash as usize % BUCKETS;
            needed[bucket] = needed[bucket].max(Some(using));
        }
        let is_missing = |&bucket: &usize| self.0[bucket] < needed[bucket];
        let Some(first) = (0..BUCKETS).find(is_missing) else { return false };
        if self.0[first..].iter().any(Option::is_some) {
            self.release(setup);
        }
        for (bucket, needed) in needed.into_iter().enumerate() {
            if let Some(using) = needed.filter(|_| self.0[bucket] < needed) {
                lock_of(setup, bucket).take(mode(using));
                self.0[bucket] = Some(using);
            }
        }
        true
    }

    /// Gives all back. What was read under them does not count any more.
    pub fn release(&mut self, setup: &Setup) {
        for (bucket, using) in self.0.iter_mut().enumerate() {
            if let Some(using) = using.take() {
                lock_of(setup, bucket).release(mode(using));
            }
        }
    }
}

fn lock_of(setup: &Setup, bucket: usize) -> Lock {
    let column = (setup.cluster.column.number as u32) << 16;
    Lock::new(Class::Ids, setup.table.to_u32(), column | bucket as u32)
}

fn mode(using: Use) -> pg_sys::LOCKMODE {
    if using == Use::Joined { SHARE } else { EXCLUSIVE }
}

thread_local! {
    /// The columns whose rows in progress the latest transaction has looked at.
    static LOOKED: RefCell<(pg_sys::TransactionId, Vec<IdColumn>)> =
        const { RefCell::new((pg_sys::InvalidTransactionId, Vec::new())) };
}

/// The gates of a column that a transaction holds: its own, so that whoever is near it waits before
/// he looks, and those of others in progress, whose rows it passes by. They will look once it has
/// ended.
pub struct Gates {
    column: IdColumn,
    own: pg_sys::TransactionId,
    kept: Vec<pg_sys::TransactionId>,
    /// Nothing of this transaction was looked at before for the column: it can give way.
    can_yield: bool,
}

/// What comes after rows in progress were seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    GoOn,
    LookAgain,
}

impl Gates {
    /// Takes the transaction's own gate.
    pub fn take_own(setup: &Setup) -> Self {
        // SAFETY: a transaction that has written has a number.
        let own = unsafe { pg_sys::GetTopTransactionId() };
        let column = setup.id_column();
        let has_looked =
            LOOKED.with_borrow(|(of, columns)| *of == own && columns.contains(&column));
        let gates = Gates { column, own, kept: Vec::new(), can_yield: !has_looked };
        gates.gate(own).take(EXCLUSIVE);
        gates
    }

    /// Deals with transactions in progress that have near rows, by their gates:
    /// - One that is free is kept: its transaction will look after this one has ended.
    /// - One of an older transaction, or that one holds: this one gives way if it can, and looks
    ///   again. (The older one may wait for its own gate, which a younger one keeps.)
    /// - One that is held otherwise is waited for, and kept.
    pub fn deal_with(&mut self, writers: &[pg_sys::TransactionId]) -> Then {
        for &writer in writers {
            if self.kept.contains(&writer) {
                continue;
            }
            let gate = self.gate(writer);
            let mut attempts = 0;
            while !gate.try_take(EXCLUSIVE) {
                pgrx::check_for_interrupts!();
                // SAFETY: compares two numbers.
                let is_older = |holder| unsafe { pg_sys::TransactionIdPrecedes(holder, self.own) };
                attempts += 1;
                match gate.holder(EXCLUSIVE) {
                    Some(holder) if self.can_yield && (is_older(holder) || is_older(writer)) => {
                        self.give_way(&gate);
                        return Then::LookAgain;
                    }
                    // It was given back, and may be taken anew by an older one.
                    None if attempts < ATTEMPTS => {}
                    _ => {
                        gate.take(EXCLUSIVE);
                        break;
                    }
                }
            }
            self.kept.push(writer);
        }
        Then::GoOn
    }

    fn give_way(&mut self, to: &Lock) {
        for kept in std::mem::take(&mut self.kept).into_iter().chain([self.own]) {
            self.gate(kept).release(EXCLUSIVE);
        }
        to.take(EXCLUSIVE);
        to.release(EXCLUSIVE);
        self.gate(self.own).take(EXCLUSIVE);
    }

    /// The gate of a transaction. Of two columns with one number in it, one waits for the other.
    fn gate(&self, transaction: pg_sys::TransactionId) -> Lock {
        let column = hash_of((self.column.0.to_u32(), self.column.1)) as u32;
        Lock::new(Class::Gate, transaction.into_inner(), column)
    }

    /// The statement is done. What comes after it in this transaction cannot give way.
    pub fn note_looked(self) {
        LOOKED.with_borrow_mut(|(of, columns)| {
            if *of != self.own {
                (*of, *columns) = (self.own, Vec::new());
            }
            columns.push(self.column);
        });
    }
}

/// How often a gate is tried that somebody holds of whom nothing is known.
const ATTEMPTS: usize = 100;
