//! Who writes to groups at the same time: nobody waits but for rows near his own.
//!
//! Order: the column's lock ([`share`]), gates, ids, rows. All last until the transaction or
//! subtransaction ends.
//!
//! - *The column's*, one for each column of ids. Whoever changes a group shares it. Who has it alone
//!   finds all groups anew.
//! - *[`Gates`]*: a lock on a transaction's number. Who holds another's gate makes it wait before it
//!   looks. Rows that are not committed are seen by those only who look at everything that is in the
//!   index. Of two transactions with near rows in progress, one has to look after the other has
//!   ended: the one whose gate the other one holds.
//! - *[`Ids`].* Shared if rows join a group that keeps its id. Alone if the id ends or passes to
//!   another group, or if its group may be divided. The key of a row without near rows stands for an
//!   id: who gives the row its first one has it alone.
//!
//! docs/design/groups.md says why that is enough.

use pgrx::pg_sys;

use super::keys::{Key, Keys};
use super::setup::Setup;
use crate::advisory::{Class, EXCLUSIVE, Lock, SHARE};

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

    /// Takes those that are missing, in ascending order. Returns whether any was.
    pub fn take(&mut self, setup: &Setup, keys: &Keys, wanted: &[(Key, Use)]) -> bool {
        let mut missing = [None; BUCKETS];
        for &(id, using) in wanted {
            // SAFETY: an id is a value of the key's type.
            let hash = unsafe { setup.key.column.hash(keys.value(id)) };
            let bucket = hash as usize % BUCKETS;
            if self.0[bucket] < Some(using) {
                missing[bucket] = missing[bucket].max(Some(using));
            }
        }
        let mut any = false;
        for (bucket, using) in missing.into_iter().enumerate() {
            let Some(using) = using else { continue };
            let mode = if using == Use::Joined { SHARE } else { EXCLUSIVE };
            let column = (setup.cluster.column.number as u32) << 16;
            Lock::new(Class::Ids, setup.table.to_u32(), column | bucket as u32).take(mode);
            (self.0[bucket], any) = (Some(using), true);
        }
        any
    }
}

thread_local! {
    /// The latest transaction that has looked at rows in progress.
    static LOOKED: std::cell::Cell<pg_sys::TransactionId> =
        const { std::cell::Cell::new(pg_sys::InvalidTransactionId) };
}

/// The gates that a transaction holds: its own, so that whoever is near it waits before he looks,
/// and those of others in progress, whose rows it passes by. They will look once it has ended.
pub struct Gates {
    own: pg_sys::TransactionId,
    kept: Vec<pg_sys::TransactionId>,
    /// Nothing of this transaction was looked at before: it can give way.
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
    pub fn take_own() -> Self {
        // SAFETY: a transaction that has written has a number.
        let own = unsafe { pg_sys::GetTopTransactionId() };
        let gates = Gates { own, kept: Vec::new(), can_yield: LOOKED.get() != own };
        gate(own).take(EXCLUSIVE);
        gates
    }

    /// Deals with transactions in progress that have near rows, by their gates:
    /// - One that is free is kept: its transaction will look after this one has ended.
    /// - One that an older transaction holds: this one gives way if it can, and looks again.
    /// - One that is held otherwise is waited for, and kept.
    pub fn deal_with(&mut self, writers: &[pg_sys::TransactionId]) -> Then {
        for &writer in writers {
            if self.kept.contains(&writer) {
                continue;
            }
            pgrx::check_for_interrupts!();
            let gate = gate(writer);
            if !gate.try_take(EXCLUSIVE) {
                // SAFETY: compares two numbers.
                let is_older = |holder| unsafe { pg_sys::TransactionIdPrecedes(holder, self.own) };
                if self.can_yield && gate.holder(EXCLUSIVE).is_some_and(is_older) {
                    self.give_way(&gate);
                    return Then::LookAgain;
                }
                gate.take(EXCLUSIVE);
            }
            self.kept.push(writer);
        }
        Then::GoOn
    }

    fn give_way(&mut self, to: &Lock) {
        for kept in self.kept.drain(..).chain([self.own]) {
            gate(kept).release(EXCLUSIVE);
        }
        to.take(EXCLUSIVE);
        to.release(EXCLUSIVE);
        gate(self.own).take(EXCLUSIVE);
    }

    /// The statement is done. What comes after it in this transaction cannot give way.
    pub fn note_looked(self) {
        LOOKED.set(self.own);
    }
}

fn gate(transaction: pg_sys::TransactionId) -> Lock {
    Lock::new(Class::Gate, transaction.into_inner(), 0)
}
