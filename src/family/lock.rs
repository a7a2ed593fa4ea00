//! Locks families. A transaction that takes a family's lock exclusively is its only writer until it
//! ends.
//!
//! Order: the locks of the family's topmost parents, ascending, then the snapshot. Other
//! transactions that inserted rows held the lock until they had committed. So a transaction that
//! holds the lock exclusively sees their rows, and no row can be inserted unseen. Transactions that
//! share the lock exclude each other by [claims](crate::claims).

use pgrx::pg_sys;

use crate::advisory::{Class, EXCLUSIVE, Lock, SHARE};

/// Takes the lock of a topmost parent, exclusively if `alone`, otherwise shared.
pub fn take(root: pg_sys::Oid, alone: bool) {
    let lock = Lock::new(Class::Family, pg_sys::RelationRelationId.to_u32(), root.to_u32());
    lock.take(if alone { EXCLUSIVE } else { SHARE });
}
