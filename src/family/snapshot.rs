//! The snapshots of the triggers: of all rows committed at this instant, or a dirty one.
//!
//! A dirty snapshot (PostgreSQL's SNAPSHOT_DIRTY) also shows rows of transactions in progress.
//! After each row, the snapshot's own fields say which transaction is writing that row. It may miss
//! a row that is updated meanwhile: the scan passes the new version before it is stored, and the
//! old one after it is gone.

use pgrx::pg_sys;

/// A snapshot of this instant, at every isolation level, with the rows that this transaction has
/// written so far. [`release`] or the transaction's abort unregisters it.
pub fn snapshot() -> pg_sys::Snapshot {
    // SAFETY: a trigger calls this, so in a transaction that may write.
    unsafe {
        pg_sys::CommandCounterIncrement();
        pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot())
    }
}

/// A dirty snapshot. It needs no registration.
pub fn everything() -> pg_sys::SnapshotData {
    let snapshot_type = pg_sys::SnapshotType::SNAPSHOT_DIRTY;
    pg_sys::SnapshotData { snapshot_type, ..Default::default() }
}

/// A count that changes whenever a transaction that has written ends. While it is unchanged, the
/// set of committed rows is unchanged.
pub fn completions() -> u64 {
    // SAFETY: a trigger calls this. The snapshot is PostgreSQL's own, and the count is read at
    // once.
    unsafe { (*pg_sys::GetLatestSnapshot()).snapXactCompletionCount }
}

pub fn release(snapshot: pg_sys::Snapshot) {
    // SAFETY: `snapshot` has registered it.
    unsafe { pg_sys::UnregisterSnapshot(snapshot) };
}
