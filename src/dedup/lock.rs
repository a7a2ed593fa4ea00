//! One writer a family at a time, until its transaction ends; and a view of everything that came before.
//!
//! Order: the locks of the family's topmost parents, ascending, then the snapshot. Whoever holds
//! the lock sees all rows that other transactions put in through a trigger, for they held it until
//! they had committed; so nothing can come in unseen.

use pgrx::pg_sys;

/// Tells these locks from `pg_advisory_lock`'s, which have 1 or 2 there.
const ADVISORY_CLASS: u16 = 0x7368;
const EXCLUSIVE: pg_sys::LOCKMODE = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;

/// Waits until no other transaction holds the lock of that topmost parent. What changed meanwhile
/// becomes known.
pub fn take(root: pg_sys::Oid) {
    // SAFETY: a lock's tag is a plain struct; the lock is released when the transaction or subtransaction ends.
    unsafe {
        let tag = pg_sys::LOCKTAG {
            locktag_field1: pg_sys::MyDatabaseId.to_u32(),
            locktag_field2: pg_sys::RelationRelationId.to_u32(),
            locktag_field3: root.to_u32(),
            locktag_field4: ADVISORY_CLASS,
            locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        };
        let result = pg_sys::LockAcquire(&tag, EXCLUSIVE, false, false);
        if result == pg_sys::LockAcquireResult::LOCKACQUIRE_OK {
            pg_sys::AcceptInvalidationMessages();
        }
    }
}

/// A snapshot of this instant at every isolation level, with the rows that this command wrote so far.
/// Unregistered by [`release`], or by the transaction's abort.
pub fn snapshot() -> pg_sys::Snapshot {
    // SAFETY: called by a trigger, so in a transaction that may write.
    unsafe {
        pg_sys::CommandCounterIncrement();
        pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot())
    }
}

pub fn release(snapshot: pg_sys::Snapshot) {
    // SAFETY: it came from `snapshot`.
    unsafe { pg_sys::UnregisterSnapshot(snapshot) };
}
