//! Who writes to groups at the same time: nobody waits but for rows near his own.
//!
//! Order: the lock of all groups ([`share`]), gates, ids, rows. All last until the transaction or
//! subtransaction ends. No function of SQL takes or gives back locks with these tags.
//!
//! - *Of all groups.* Whoever changes a group shares it. Who has it alone finds all groups anew.
//! - *[`Gates`].* Rows that are not committed are seen by those only who look at everything that is
//!   in the index. Of two transactions with near rows in progress, one has to look after the other
//!   has ended: the one whose gate the other one holds.
//! - *[`Ids`].* Who gives a row an id shares it. Who ends one, gives it to other rows, or divides
//!   its group, has it alone. So has who gives a row without near rows its first id: the row's key
//!   stands for an id then.
//!
//! docs/design/groups.md says why that is enough.

use pgrx::pg_sys;

use super::keys::Key;
use super::keys::Keys;
use super::setup::Setup;
use crate::compat;

/// Distinguish these locks from those of `pg_advisory_lock`, which have 1 or 2 in this field.
const ALL: u16 = 0x736b;
const ID: u16 = 0x736c;
const GATE: u16 = 0x736d;

const SHARE: pg_sys::LOCKMODE = pg_sys::ShareLock as pg_sys::LOCKMODE;
const EXCLUSIVE: pg_sys::LOCKMODE = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;

fn tag(first: u32, second: u32, class: u16) -> pg_sys::LOCKTAG {
    pg_sys::LOCKTAG {
        // SAFETY: reads the session's database.
        locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
        locktag_field2: first,
        locktag_field3: second,
        locktag_field4: class,
        locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
        locktag_lockmethodid: pg_sys::DEFAULT_LOCKMETHOD as u8,
    }
}

/// Takes a lock. False if it `waits` for nobody and somebody has it.
fn take(tag: &pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE, waits: bool) -> bool {
    // SAFETY: a lock's tag is a plain struct.
    let result = unsafe { pg_sys::LockAcquire(tag, mode, false, !waits) };
    if result == pg_sys::LockAcquireResult::LOCKACQUIRE_OK {
        // SAFETY: in a transaction. What changed in the catalogue before becomes known.
        unsafe { pg_sys::AcceptInvalidationMessages() };
    }
    result != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
}

fn all(setup: &Setup) -> pg_sys::LOCKTAG {
    tag(setup.table.to_u32(), setup.cluster.column.number as u32, ALL)
}

/// Keeps all groups of a table from being found anew by somebody else.
pub fn share(setup: &Setup) {
    take(&all(setup), SHARE, true);
}

/// Keeps everybody else from changing groups.
pub fn alone(setup: &Setup) {
    take(&all(setup), EXCLUSIVE, true);
}

/// The same if nobody has to be waited for.
pub fn try_alone(setup: &Setup) -> bool {
    take(&all(setup), EXCLUSIVE, false)
}

/// How many locks the ids of a column have. Two ids in one bucket are one to others: they wait for
/// nothing once in so many times, and a load takes no more locks than that.
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
            take(&tag(setup.table.to_u32(), column | bucket as u32, ID), mode, true);
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
    pub fn open() -> Self {
        // SAFETY: a transaction that has written has a number.
        let own = unsafe { pg_sys::GetTopTransactionId() };
        let gates = Gates { own, kept: Vec::new(), can_yield: LOOKED.get() != own };
        take(&gate(own), EXCLUSIVE, true);
        gates
    }

    /// Deals with transactions in progress that have near rows. Of two, the younger one gives way
    /// if it can.
    pub fn pass(&mut self, strangers: &[pg_sys::TransactionId]) -> Then {
        for &stranger in strangers {
            if !self.kept.contains(&stranger) {
                pgrx::check_for_interrupts!();
                let gate = gate(stranger);
                if !take(&gate, EXCLUSIVE, false) {
                    let holder = compat::holder_of(&gate, EXCLUSIVE);
                    // SAFETY: compares two numbers.
                    let is_older =
                        |holder| unsafe { pg_sys::TransactionIdPrecedes(holder, self.own) };
                    if self.can_yield && holder.is_some_and(is_older) {
                        self.give_way(&gate);
                        return Then::LookAgain;
                    }
                    take(&gate, EXCLUSIVE, true);
                }
                self.kept.push(stranger);
            }
        }
        Then::GoOn
    }

    fn give_way(&mut self, to: &pg_sys::LOCKTAG) {
        // SAFETY: this call has taken these locks, once each.
        unsafe {
            for kept in self.kept.drain(..).chain([self.own]) {
                pg_sys::LockRelease(&gate(kept), EXCLUSIVE, false);
            }
            take(to, EXCLUSIVE, true);
            pg_sys::LockRelease(to, EXCLUSIVE, false);
        }
        take(&gate(self.own), EXCLUSIVE, true);
    }

    /// The statement is done. What comes after it in this transaction cannot give way.
    pub fn passed(self) {
        LOOKED.set(self.own);
    }
}

fn gate(transaction: pg_sys::TransactionId) -> pg_sys::LOCKTAG {
    tag(transaction.into_inner(), 0, GATE)
}
