//! The locks of families, and a snapshot of everything that came before.
//!
//! Who takes a family's lock alone is its only writer until the transaction ends. Order: the locks
//! of the family's topmost parents, ascending, then the snapshot. Other transactions that put rows
//! in held the lock until they had committed. So whoever holds the lock alone sees their rows, and
//! no row can come in unseen. Those who share it keep out of each other's way by
//! [claims](crate::claims).

use pgrx::pg_sys;

/// Distinguishes these locks from those of `pg_advisory_lock`, which have 1 or 2 in this field.
const ADVISORY_CLASS: u16 = 0x7368;
const SHARE: pg_sys::LOCKMODE = pg_sys::ShareLock as pg_sys::LOCKMODE;
const EXCLUSIVE: pg_sys::LOCKMODE = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;

/// Takes the lock of a topmost parent alone.
pub fn alone(root: pg_sys::Oid) {
    take(EXCLUSIVE, root);
}

/// Takes the lock of a topmost parent with others.
pub fn shared(root: pg_sys::Oid) {
    take(SHARE, root);
}

/// Changes of the catalogue that came while the lock was waited for become known.
fn take(mode: pg_sys::LOCKMODE, root: pg_sys::Oid) {
    // SAFETY: a lock's tag is a plain struct; the lock is released when the transaction or
    // subtransaction ends.
    unsafe {
        let tag = pg_sys::LOCKTAG {
            locktag_field1: pg_sys::MyDatabaseId.to_u32(),
            locktag_field2: pg_sys::RelationRelationId.to_u32(),
            locktag_field3: root.to_u32(),
            locktag_field4: ADVISORY_CLASS,
            locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        };
        let result = pg_sys::LockAcquire(&tag, mode, false, false);
        if result == pg_sys::LockAcquireResult::LOCKACQUIRE_OK {
            pg_sys::AcceptInvalidationMessages();
        }
    }
}

/// A snapshot of this instant, at every isolation level, with the rows that this command has
/// written so far. [`release`] unregisters it, or the transaction's abort.
pub fn snapshot() -> pg_sys::Snapshot {
    // SAFETY: called by a trigger, so in a transaction that may write.
    unsafe {
        pg_sys::CommandCounterIncrement();
        pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot())
    }
}

/// A snapshot of everything: of rows in transactions in progress, too. It needs no registration.
pub fn everything() -> pg_sys::SnapshotData {
    let snapshot_type = pg_sys::SnapshotType::SNAPSHOT_DIRTY;
    pg_sys::SnapshotData { snapshot_type, ..Default::default() }
}

/// A count that is another one whenever a transaction that has written has ended meanwhile. While
/// it stays, what is committed stays.
pub fn completions() -> u64 {
    // SAFETY: called by a trigger; the snapshot is PostgreSQL's own, and the count is read at once.
    unsafe { (*pg_sys::GetLatestSnapshot()).snapXactCompletionCount }
}

pub fn release(snapshot: pg_sys::Snapshot) {
    // SAFETY: it came from `snapshot`.
    unsafe { pg_sys::UnregisterSnapshot(snapshot) };
}
