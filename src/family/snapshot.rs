//! What the triggers see: everything that was committed at this instant, or everything.
//!
//! A snapshot of everything (PostgreSQL's SNAPSHOT_DIRTY) shows rows of transactions in progress,
//! too, and after each row says in itself who is writing it. What is updated meanwhile it may miss:
//! it passes the new version before that is there, and the old one when that is gone.

use pgrx::pg_sys;

/// A snapshot of this instant, at every isolation level, with the rows that this command has
/// written so far. [`release`] unregisters it, or the transaction's abort.
pub fn snapshot() -> pg_sys::Snapshot {
    // SAFETY: called by a trigger, so in a transaction that may write.
    unsafe {
        pg_sys::CommandCounterIncrement();
        pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot())
    }
}

/// A snapshot of everything. It needs no registration.
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
