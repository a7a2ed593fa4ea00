//! The rows of a catalogue, or of a table, that have given values in some of their columns.

use pgrx::pg_sys;

const SHARED: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;

/// A scan. It is ended, with what it holds, by [`Scan::end`] or by the transaction's abort.
pub struct Scan {
    relation: pg_sys::Relation,
    scan: pg_sys::SysScanDesc,
    /// What a table is read by. A catalogue is read as it is now.
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
    // SAFETY: fills the key in.
    unsafe {
        pg_sys::ScanKeyInit(&mut key, column as _, strategy, pg_sys::Oid::from(function), value);
    }
    key
}

impl Scan {
    /// Of a catalogue, by its index if one is given.
    ///
    /// # Safety
    /// The keys' columns are the catalogue's, of the types that are compared. An index is the
    /// catalogue's, on these columns.
    pub unsafe fn of_catalogue<const N: usize>(
        catalogue: pg_sys::Oid,
        index: Option<pg_sys::Oid>,
        mut keys: [pg_sys::ScanKeyData; N],
    ) -> Self {
        // SAFETY: as this function's; the keys are copied.
        unsafe {
            let relation = pg_sys::table_open(catalogue, SHARED);
            let scan = pg_sys::systable_beginscan(
                relation,
                index.unwrap_or(pg_sys::InvalidOid),
                index.is_some(),
                std::ptr::null_mut(),
                N as i32,
                keys.as_mut_ptr(),
            );
            Scan { relation, scan, snapshot: None }
        }
    }

    /// Of a table as the present statement sees it. The lock stays until the transaction ends, so
    /// that the table does.
    ///
    /// # Safety
    /// The key's column is the table's, of the type that is compared.
    pub unsafe fn of_table(table: pg_sys::Oid, key: Option<pg_sys::ScanKeyData>) -> Self {
        // SAFETY: as this function's; the key is copied.
        unsafe {
            let relation = pg_sys::table_open(table, SHARED);
            let snapshot = pg_sys::RegisterSnapshot(if pg_sys::ActiveSnapshotSet() {
                pg_sys::GetActiveSnapshot()
            } else {
                pg_sys::GetTransactionSnapshot()
            });
            let count = i32::from(key.is_some());
            let mut key = key.unwrap_or_default();
            let scan = pg_sys::systable_beginscan(
                relation,
                pg_sys::InvalidOid,
                false,
                snapshot,
                count,
                &mut key,
            );
            Scan { relation, scan, snapshot: Some(snapshot) }
        }
    }

    /// The next row, valid until the scan goes on.
    pub fn next(&mut self) -> Option<pg_sys::HeapTuple> {
        // SAFETY: the scan is open.
        let tuple = unsafe { pg_sys::systable_getnext(self.scan) };
        (!tuple.is_null()).then_some(tuple)
    }

    /// A column of the scan's present row; `None` for NULL.
    pub fn column(&self, tuple: pg_sys::HeapTuple, number: i32) -> Option<pg_sys::Datum> {
        let mut is_null = true;
        // SAFETY: the tuple is of the scan's relation.
        let value =
            unsafe { pg_sys::heap_getattr(tuple, number, (*self.relation).rd_att, &mut is_null) };
        (!is_null).then_some(value)
    }

    /// A column of OIDs.
    pub fn oid(&self, tuple: pg_sys::HeapTuple, number: i32) -> Option<pg_sys::Oid> {
        self.column(tuple, number).map(|value| pg_sys::Oid::from(value.value() as u32))
    }

    /// Ends the scan. The lock on a catalogue goes with it.
    pub fn end(self) {
        // SAFETY: in the reverse order of the beginning.
        unsafe {
            pg_sys::systable_endscan(self.scan);
            let Some(snapshot) = self.snapshot else {
                return pg_sys::table_close(self.relation, SHARED);
            };
            pg_sys::UnregisterSnapshot(snapshot);
            pg_sys::table_close(self.relation, pg_sys::NoLock as pg_sys::LOCKMODE);
        }
    }
}
