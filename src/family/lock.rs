//! The locks of families.
//!
//! Who takes a family's lock alone is its only writer until the transaction ends. Order: the locks
//! of the family's topmost parents, ascending, then the snapshot. Other transactions that put rows
//! in held the lock until they had committed. So whoever holds the lock alone sees their rows, and
//! no row can come in unseen. Those who share it keep out of each other's way by
//! [claims](crate::claims).

use pgrx::pg_sys;

use crate::advisory::{Class, EXCLUSIVE, Lock, SHARE};

/// Takes the lock of a topmost parent, alone or with others.
pub fn take(root: pg_sys::Oid, alone: bool) {
    let lock = Lock::new(Class::Family, pg_sys::RelationRelationId.to_u32(), root.to_u32());
    lock.take(if alone { EXCLUSIVE } else { SHARE });
}
