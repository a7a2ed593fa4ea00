//! The snapshots of the triggers: of all rows committed at this instant, or a dirty one.
//!
//! A dirty snapshot (PostgreSQL's SNAPSHOT_DIRTY) also shows rows of transactions in progress.
//! After each row, the snapshot's own fields say which transaction is writing that row. It may miss
//! a row that is updated meanwhile: the scan passes the new version before it is stored, and the
//! old one after it is gone.

use pgrx::pg_sys;

/// A snapshot, valid until it is released, or until the transaction's abort.
pub struct Snapshot {
    raw: pg_sys::Snapshot,
    is_registered: bool,
}

impl Snapshot {
    /// A snapshot of this instant, at every isolation level, with the rows that this transaction
    /// has written so far.
    pub fn latest() -> Self {
        // SAFETY: a trigger calls this, so in a transaction that may write.
        let raw = unsafe {
            pg_sys::CommandCounterIncrement();
            pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot())
        };
        Snapshot { raw, is_registered: true }
    }

    /// A dirty snapshot. It needs no registration.
    pub fn everything() -> Self {
        // SAFETY: a snapshot of zeros and a type, as InitDirtySnapshot leaves it.
        let raw = unsafe {
            let raw = pg_sys::palloc0(size_of::<pg_sys::SnapshotData>());
            let raw = raw.cast::<pg_sys::SnapshotData>();
            (*raw).snapshot_type = pg_sys::SnapshotType::SNAPSHOT_DIRTY;
            raw
        };
        Snapshot { raw, is_registered: false }
    }

    /// PostgreSQL's snapshot that shows every version of a row.
    pub fn any() -> Self {
        Snapshot { raw: &raw mut pg_sys::SnapshotAnyData, is_registered: false }
    }

    pub fn raw(&self) -> pg_sys::Snapshot {
        self.raw
    }

    /// For a dirty snapshot, the other transaction in progress that is writing the row returned
    /// last, and its token if it has inserted that row speculatively.
    pub fn writer(&self) -> Option<(pg_sys::TransactionId, u32)> {
        // SAFETY: the snapshot is valid until it is released.
        let data = unsafe { &*self.raw };
        let is_dirty = data.snapshot_type == pg_sys::SnapshotType::SNAPSHOT_DIRTY;
        let is_busy = is_dirty && data.xmin != pg_sys::InvalidTransactionId;
        is_busy.then_some((data.xmin, data.speculativeToken))
    }

    pub fn release(self) {
        if self.is_registered {
            // SAFETY: `latest` has registered it.
            unsafe { pg_sys::UnregisterSnapshot(self.raw) };
        }
    }
}

/// A count that changes whenever a transaction that has written ends. While it is unchanged, the
/// set of committed rows is unchanged.
pub fn completions() -> u64 {
    // SAFETY: a trigger calls this. The snapshot is PostgreSQL's own, and the count is read at
    // once.
    unsafe { (*pg_sys::GetLatestSnapshot()).snapXactCompletionCount }
}
