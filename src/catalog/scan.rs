//! Scans of a catalogue or a table for rows with given values in some columns.

use pgrx::pg_sys;

const SHARED: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;

/// A scan. [`Scan::end`] ends it and releases its resources; an abort of the transaction does so as
/// well.
pub struct Scan {
    relation: pg_sys::Relation,
    scan: pg_sys::SysScanDesc,
    /// The snapshot for a table. A catalogue is read with the current catalogue snapshot.
    snapshot: Option<pg_sys::Snapshot>,
}

/// The condition that a column equals an OID.
pub fn oid_is(column: i32, oid: pg_sys::Oid) -> pg_sys::ScanKeyData {
    equals(column, pg_sys::F_OIDEQ, oid.into())
}

/// The condition that a column equals a text.
pub fn text_is(column: i32, text: pg_sys::Datum) -> pg_sys::ScanKeyData {
    equals(column, pg_sys::F_TEXTEQ, text)
}

fn equals(column: i32, function: u32, value: pg_sys::Datum) -> pg_sys::ScanKeyData {
    let mut key = pg_sys::ScanKeyData::default();
    let strategy = pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber;
    let function = pg_sys::Oid::from(function);
    // SAFETY: ScanKeyInit fills in the key.
    unsafe { pg_sys::ScanKeyInit(&mut key, column as _, strategy, function, value) };
    key
}

impl Scan {
    /// Begins a scan of a catalogue, by its index if one is given.
    ///
    /// # Safety
    /// The keys' columns belong to the catalogue and have the compared types. If there is an index,
    /// it belongs to the catalogue and is on these columns. A transaction is in progress.
    pub unsafe fn of_catalogue<const N: usize>(
        catalogue: pg_sys::Oid,
        index: Option<pg_sys::Oid>,
        mut keys: [pg_sys::ScanKeyData; N],
    ) -> Self {
        // SAFETY: the keys fit the catalogue and the index.
        unsafe { Self::begin(pg_sys::table_open(catalogue, SHARED), index, None, &mut keys) }
    }

    /// # Safety
    /// The relation is open, and the snapshot registered, until the scan ends. Keys and index are
    /// as for [`Scan::of_catalogue`].
    unsafe fn begin(
        relation: pg_sys::Relation,
        index: Option<pg_sys::Oid>,
        snapshot: Option<pg_sys::Snapshot>,
        keys: &mut [pg_sys::ScanKeyData],
    ) -> Self {
        let (by, has_index) = (index.unwrap_or(pg_sys::InvalidOid), index.is_some());
        let (count, keys) = (keys.len() as i32, keys.as_mut_ptr());
        let at = snapshot.unwrap_or(std::ptr::null_mut());
        // SAFETY: the keys fit the relation and the index; systable_beginscan copies them.
        let scan = unsafe { pg_sys::systable_beginscan(relation, by, has_index, at, count, keys) };
        Scan { relation, scan, snapshot }
    }

    /// Begins a scan of a table as the current statement sees it. The lock is held until the
    /// transaction ends, so that the table cannot be dropped.
    ///
    /// # Safety
    /// The key's column belongs to the table and has the compared type. A transaction is in
    /// progress.
    pub unsafe fn of_table(table: pg_sys::Oid, mut key: Option<pg_sys::ScanKeyData>) -> Self {
        // SAFETY: a transaction is in progress, as the caller guarantees.
        let relation = unsafe { pg_sys::table_open(table, SHARED) };
        // SAFETY: the active snapshot is one if it is set.
        let active = unsafe { pg_sys::ActiveSnapshotSet().then(|| pg_sys::GetActiveSnapshot()) };
        // SAFETY: a transaction is in progress.
        let current = active.unwrap_or_else(|| unsafe { pg_sys::GetTransactionSnapshot() });
        // SAFETY: the snapshot is valid.
        let snapshot = unsafe { pg_sys::RegisterSnapshot(current) };
        // SAFETY: the key fits the table, which is open.
        unsafe { Self::begin(relation, None, Some(snapshot), key.as_mut_slice()) }
    }

    /// The next row. It is valid until the next call or the end of the scan.
    pub fn next(&mut self) -> Option<pg_sys::HeapTuple> {
        // SAFETY: the scan is open.
        let tuple = unsafe { pg_sys::systable_getnext(self.scan) };
        (!tuple.is_null()).then_some(tuple)
    }

    /// A column of the scan's current row; `None` for NULL.
    pub fn column(&self, tuple: pg_sys::HeapTuple, number: i32) -> Option<pg_sys::Datum> {
        let mut is_null = true;
        // SAFETY: the relation is open.
        let columns = unsafe { (*self.relation).rd_att };
        // SAFETY: the tuple belongs to the scan's relation.
        let value = unsafe { pg_sys::heap_getattr(tuple, number, columns, &mut is_null) };
        (!is_null).then_some(value)
    }

    /// A column of OIDs.
    pub fn oid(&self, tuple: pg_sys::HeapTuple, number: i32) -> Option<pg_sys::Oid> {
        self.column(tuple, number).map(|value| pg_sys::Oid::from(value.value() as u32))
    }

    /// Ends the scan. The lock is released if the scan is of a catalogue.
    pub fn end(self) {
        // SAFETY: the scan was begun with the relation and the snapshot, and ends before them.
        unsafe { pg_sys::systable_endscan(self.scan) };
        let mut lock = SHARED;
        if let Some(snapshot) = self.snapshot {
            // SAFETY: registered for the scan, which has ended.
            unsafe { pg_sys::UnregisterSnapshot(snapshot) };
            lock = pg_sys::NoLock as pg_sys::LOCKMODE;
        }
        // SAFETY: opened for the scan, which has ended.
        unsafe { pg_sys::table_close(self.relation, lock) };
    }
}
