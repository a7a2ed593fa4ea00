//! The locks by which concurrent writers keep groups consistent. As a rule, a transaction waits
//! only for transactions that have rows near its own.
//!
//! Order: the column's lock ([`share`]), gates, ids, rows. All last until the transaction or
//! subtransaction ends, unless they are given back earlier.
//!
//! - *The column's lock*, one for each column of ids. A transaction that changes groups shares it.
//!   One that finds all groups anew holds it exclusively.
//! - *[`Gates`]*: a gate is a lock on a transaction's number. A transaction waits at its own gate
//!   before its dirty search while another transaction holds that gate. Only a dirty search sees
//!   rows that are not committed. So of two transactions with near rows in progress, one has to
//!   search after the other has ended: the one whose gate the other holds.
//! - *[`Ids`]*: shared if rows join a group that keeps its id; exclusive if the id ends, passes to
//!   another group, or names a group that may be divided. The key of a row without near rows stands
//!   for an id: a transaction that gives the row its first id locks it exclusively.
//!
//! README.md beside this file says why that is enough.

use pgrx::pg_sys;

use super::keys::{Key, Keys};
use super::setup::{IdColumn, Setup};
use crate::advisory::{Class, EXCLUSIVE, Lock, SHARE};
use crate::types::hash::hash_of;

fn of_column(setup: &Setup) -> Lock {
    Lock::new(Class::IdColumn, setup.table.to_u32(), setup.cluster.column.number as u32)
}

/// Takes the column's lock, shared: no other transaction can find all groups of the column anew.
pub fn share(setup: &Setup) {
    of_column(setup).take(SHARE);
}

/// Takes the column's lock exclusively: no other transaction can change groups of the column.
pub fn alone(setup: &Setup) {
    of_column(setup).take(EXCLUSIVE);
}

/// The same, unless that requires waiting. Returns whether the lock was taken.
pub fn try_alone(setup: &Setup) -> bool {
    of_column(setup).try_take(EXCLUSIVE)
}

/// The number of locks that the ids of a column share, by hash. Two ids in one bucket may exclude
/// each other needlessly, but a load takes at most this many locks.
const BUCKETS: usize = 256;

/// What a statement does with an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Rows get the id.
    Joined,
    /// The id ends, or rows may lose it.
    Changed,
}

/// The id locks that a call has taken, by bucket.
pub struct Ids([Option<Use>; BUCKETS]);

impl Ids {
    pub fn none() -> Self {
        Ids([None; BUCKETS])
    }

    /// Takes the locks that are missing. Returns whether any was. Within one call buckets are
    /// locked in ascending order: if one is missing below a held one, all are given back first.
    pub fn complete(&mut self, setup: &Setup, keys: &Keys, wanted: &[(Key, Use)]) -> bool {
        let mut needed = [None; BUCKETS];
        for &(id, using) in wanted {
            let bucket = setup.key.column.hash(keys.value(id)) as usize % BUCKETS;
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

    /// Gives all id locks back. What was read under them does not count any more.
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

/// The gates of a column that a transaction holds. Its own makes transactions with near rows wait
/// before their dirty search. The others are those of transactions in progress, whose rows it
/// passes over: they will search once it has ended.
pub struct Gates {
    column: IdColumn,
    own: pg_sys::TransactionId,
    kept: Vec<pg_sys::TransactionId>,
    /// Whether this transaction may give way: it held no gate of its own before, so no search of it
    /// counts. A rolled back subtransaction's gates are given back, and its rows are gone.
    can_yield: bool,
}

/// How to go on after a dirty search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    GoOn,
    SearchAgain,
}

impl Gates {
    /// Takes the transaction's own gate, and waits for a transaction that holds it.
    pub fn take_own(setup: &Setup) -> Self {
        // SAFETY: the call is in a transaction, which gets a number if it has none.
        let own = unsafe { pg_sys::GetTopTransactionId() };
        let mut gates = Gates { column: setup.id_column(), own, kept: Vec::new(), can_yield: true };
        gates.can_yield = !gates.gate(own).take_again(EXCLUSIVE);
        gates
    }

    /// Takes the gates of the transactions in progress that have near rows:
    ///
    /// - A free gate is taken. Its transaction will search after this one has ended.
    /// - If the gate is an older transaction's, or an older one holds it, this one gives way if it
    ///   may, and searches again. (The older one may be waiting for its own gate, which a younger
    ///   one holds.)
    /// - Otherwise this transaction waits for the gate, and takes it.
    pub fn deal_with(&mut self, writers: &[pg_sys::TransactionId]) -> Then {
        for &writer in writers {
            if self.kept.contains(&writer) {
                continue;
            }
            let gate = self.gate(writer);
            let mut attempts = 0;
            while !gate.try_take(EXCLUSIVE) {
                pgrx::check_for_interrupts!();
                // SAFETY: `TransactionIdPrecedes` compares two numbers.
                let is_older = |holder| unsafe { pg_sys::TransactionIdPrecedes(holder, self.own) };
                attempts += 1;
                match gate.holder(EXCLUSIVE) {
                    Some(holder) if self.can_yield && (is_older(holder) || is_older(writer)) => {
                        self.give_way(&gate);
                        return Then::SearchAgain;
                    }
                    // The gate was given back between the two calls. An older transaction may take
                    // it now.
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

    /// The gate of a transaction. If two columns have the same hash, they share the gate.
    fn gate(&self, transaction: pg_sys::TransactionId) -> Lock {
        let column = hash_of((self.column.0.to_u32(), self.column.1)) as u32;
        Lock::new(Class::Gate, transaction.into_inner(), column)
    }
}

/// How often a gate is tried whose holder is unknown.
const ATTEMPTS: usize = 100;
