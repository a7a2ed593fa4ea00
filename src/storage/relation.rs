//! The index relation as `storage` uses it: an open `Relation` that is copied freely and never
//! closed here.

use std::ffi::CStr;

use pgrx::{PgList, pg_sys};

use crate::compat;
use crate::error::shown;
use crate::memory;

/// A page as bytes.
pub type PageBytes = [u8; pg_sys::BLCKSZ as usize];

/// An open index. The caller of [`IndexRel::new`] keeps the relation open while any copy is used.
#[derive(Clone, Copy)]
pub struct IndexRel {
    rel: pg_sys::Relation,
    fork: pg_sys::ForkNumber::Type,
    /// See [`IndexRel::with_snapshot`].
    snapshot: pg_sys::Snapshot,
    /// See [`IndexRel::with_table`].
    table: pg_sys::Relation,
}

impl IndexRel {
    /// # Safety
    /// `rel` is an open index of this access method, and stays open while the result is used.
    pub unsafe fn new(rel: pg_sys::Relation) -> Self {
        memory::prepare();
        Self {
            rel,
            fork: pg_sys::ForkNumber::MAIN_FORKNUM,
            snapshot: std::ptr::null_mut(),
            table: std::ptr::null_mut(),
        }
    }

    /// The same index, with the table in which entries of dead rows are looked for; null for none.
    ///
    /// # Safety
    /// `table` is null, or the index's table, and stays open while the result is used.
    pub unsafe fn with_table(self, table: pg_sys::Relation) -> Self {
        Self { table, ..self }
    }

    /// The same index, as a scan by a snapshot reads it; null for none.
    ///
    /// # Safety
    /// `snapshot` is null, or stays valid while the result is used.
    pub unsafe fn with_snapshot(self, snapshot: pg_sys::Snapshot) -> Self {
        Self { snapshot, ..self }
    }

    pub(super) fn snapshot(self) -> pg_sys::Snapshot {
        self.snapshot
    }

    pub(super) fn table(self) -> pg_sys::Relation {
        self.table
    }

    /// The same index by its init fork, to which a crash resets an unlogged index. This fork is
    /// initialised and never read.
    pub fn init_fork(self) -> Self {
        Self { fork: pg_sys::ForkNumber::INIT_FORKNUM, ..self }
    }

    pub fn as_ptr(self) -> pg_sys::Relation {
        self.rel
    }

    pub fn fork(self) -> pg_sys::ForkNumber::Type {
        self.fork
    }

    pub fn name(self) -> String {
        // SAFETY: the name is a C string.
        shown(unsafe { CStr::from_ptr(self.class().relname.data.as_ptr()) }).into_owned()
    }

    pub fn oid(self) -> pg_sys::Oid {
        // SAFETY: `rel` is open, as [`IndexRel::new`] requires.
        unsafe { (*self.rel).rd_id }
    }

    /// The index's OID and the number of its file on disk. A rebuilt index gets another file,
    /// unless PostgreSQL empties it in place (see `cache.rs`).
    pub fn file(self) -> (pg_sys::Oid, u32) {
        // SAFETY: `rel` is open, as [`IndexRel::new`] requires.
        unsafe { (self.oid(), compat::file_number(self.rel)) }
    }

    /// The number of pages.
    pub fn pages(self) -> u32 {
        // SAFETY: `rel` is open, as [`IndexRel::new`] requires.
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.rel, self.fork) }
    }

    /// Whether changes have to be WAL-logged: `RelationNeedsWAL`, but always true for the init
    /// fork.
    pub fn needs_wal(self) -> bool {
        if self.fork == pg_sys::ForkNumber::INIT_FORKNUM {
            return true;
        }
        // SAFETY: reads a setting that only a restart changes.
        let is_minimal = unsafe { pg_sys::wal_level } <= pg_sys::WalLevel::WAL_LEVEL_MINIMAL as i32;
        // SAFETY: `rel` is open, as [`IndexRel::new`] requires.
        let is_new = || unsafe { compat::created_in_this_transaction(self.rel) };
        self.persists_as(pg_sys::RELPERSISTENCE_PERMANENT) && (!is_minimal || !is_new())
    }

    /// Whether the index is temporary: only this backend can see it.
    pub fn is_local(self) -> bool {
        self.persists_as(pg_sys::RELPERSISTENCE_TEMP)
    }

    fn persists_as(self, persistence: u8) -> bool {
        self.class().relpersistence == persistence as std::ffi::c_char
    }

    /// The number of key columns. The searched column is the last one.
    pub fn key_columns(self) -> usize {
        self.form().indnkeyatts as usize
    }

    /// The number of all columns: key columns, and then included ones.
    pub fn columns(self) -> usize {
        self.form().indnatts as usize
    }

    /// The description of a column, counted from 0; `None` if there is no such column.
    pub fn attribute(self, column: usize) -> Option<pg_sys::FormData_pg_attribute> {
        // SAFETY: an open relation has a descriptor, and this one has the column.
        (column < self.columns()).then(|| unsafe { *compat::attribute((*self.rel).rd_att, column) })
    }

    /// The number of the table's column that a column of the index is. 0 for an expression.
    pub fn table_column(self, column: usize) -> pg_sys::AttrNumber {
        // SAFETY: the pg_index row has a number for each column.
        let numbers = unsafe { self.form().indkey.values.as_slice(self.columns()) };
        numbers.get(column).copied().unwrap_or(0)
    }

    /// A copy of a key column's expression; `None` if it has none.
    pub fn expression(self, column: usize) -> Option<*mut pg_sys::Node> {
        if column >= self.columns() || self.table_column(column) != 0 {
            return None;
        }
        // SAFETY: `rel` is open, as [`IndexRel::new`] requires. The list is a copy with a node for
        // each column that is an expression.
        let all = unsafe {
            PgList::<pg_sys::Node>::from_pg(pg_sys::RelationGetIndexExpressions(self.rel))
        };
        all.get_ptr((0..column).filter(|&before| self.table_column(before) == 0).count())
    }

    /// Support function 1 of a key column. An ERROR is raised if its operator class lacks it.
    pub fn support_function(self, column: usize) -> Option<*mut pg_sys::FmgrInfo> {
        let number = (column + 1) as pg_sys::AttrNumber;
        // SAFETY: `rel` is open, as [`IndexRel::new`] requires, and has this key column.
        let function = || unsafe { pg_sys::index_getprocinfo(self.rel, number, 1) };
        (column < self.key_columns()).then(function)
    }

    fn class(&self) -> &pg_sys::FormData_pg_class {
        // SAFETY: an open relation has its pg_class row.
        unsafe { &*(*self.rel).rd_rel }
    }

    fn form(&self) -> &pg_sys::FormData_pg_index {
        // SAFETY: an open index has its pg_index row.
        unsafe { &*(*self.rel).rd_index }
    }
}
