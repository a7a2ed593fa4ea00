//! Open tables, and the triggers on them, as handles.

use std::ffi::{CStr, CString};
use std::marker::PhantomData;

use pgrx::{PgRelation, pg_sys};

use crate::catalog::relations::{described, indexes};

/// A table or another relation. Invariant: it is open during `'a`.
#[derive(Clone, Copy)]
pub struct Open<'a>(pg_sys::Relation, PhantomData<&'a ()>);

impl<'a> Open<'a> {
    /// # Safety
    /// The relation is open during `'a`.
    pub unsafe fn new(relation: pg_sys::Relation) -> Self {
        Open(relation, PhantomData)
    }

    /// The result of `with` for a relation, which is locked until the transaction ends. `None` if
    /// it is gone.
    pub fn with<T>(oid: pg_sys::Oid, lock: u32, with: impl FnOnce(Open<'_>) -> T) -> Option<T> {
        // SAFETY: any OID and lock may be tried.
        let relation = unsafe { pg_sys::try_relation_open(oid, lock as pg_sys::LOCKMODE) };
        // SAFETY: the relation was opened.
        (!relation.is_null()).then(|| unsafe { Self::close_after(relation, with) })
    }

    /// As [`Open::with`]. Raises PostgreSQL's own ERROR if the relation is gone.
    pub fn existing<T>(oid: pg_sys::Oid, lock: u32, with: impl FnOnce(Open<'_>) -> T) -> T {
        // SAFETY: the relation is opened with this lock, and closed once.
        unsafe { Self::close_after(pg_sys::relation_open(oid, lock as pg_sys::LOCKMODE), with) }
    }

    /// # Safety
    /// The relation was opened, and is closed here or by the transaction's abort.
    unsafe fn close_after<T>(relation: pg_sys::Relation, with: impl FnOnce(Open<'_>) -> T) -> T {
        let result = with(Open(relation, PhantomData));
        // SAFETY: as the caller promises.
        unsafe { pg_sys::relation_close(relation, pg_sys::NoLock as pg_sys::LOCKMODE) };
        result
    }

    pub fn raw(self) -> pg_sys::Relation {
        self.0
    }

    pub fn oid(self) -> pg_sys::Oid {
        // SAFETY: the relation is open.
        unsafe { (*self.0).rd_id }
    }

    /// The relation's row in pg_class.
    pub fn form(self) -> &'a pg_sys::FormData_pg_class {
        // SAFETY: the relation is open.
        unsafe { &*(*self.0).rd_rel }
    }

    /// The name, in the server's encoding.
    pub fn name(self) -> &'a CStr {
        // SAFETY: a name ends with NUL.
        unsafe { CStr::from_ptr(self.form().relname.data.as_ptr()) }
    }

    pub fn is_partitioned(self) -> bool {
        self.form().relkind as u8 == pg_sys::RELKIND_PARTITIONED_TABLE
    }

    /// Whether it is another session's temporary table.
    pub fn is_temporary_elsewhere(self) -> bool {
        // SAFETY: the relation is open.
        let is_local = unsafe { (*self.0).rd_islocaltemp };
        self.form().relpersistence as u8 == pg_sys::RELPERSISTENCE_TEMP && !is_local
    }

    /// The triggers, as a copy in the current memory context: the relation cache may rebuild the
    /// relation's own description meanwhile.
    pub fn triggers(self) -> impl Iterator<Item = On<'a>> {
        // SAFETY: the relation is open. The copy outlives what reads it.
        let all = unsafe { described(pg_sys::CopyTriggerDesc((*self.0).trigdesc)) };
        all.iter().map(move |trigger| On { table: self, trigger })
    }

    /// The indexes. Each is locked until it is dropped.
    pub fn indexes(self) -> impl Iterator<Item = Index> {
        // SAFETY: the relation is open.
        unsafe { indexes(self.0) }.map(Index)
    }

    /// Whether it has BEFORE UPDATE row triggers of other functions than `ours`. They can change
    /// columns that the UPDATE does not set.
    pub fn has_row_triggers(self, ours: Option<pg_sys::Oid>) -> bool {
        let before_update =
            pg_sys::TRIGGER_TYPE_ROW | pg_sys::TRIGGER_TYPE_BEFORE | pg_sys::TRIGGER_TYPE_UPDATE;
        self.triggers().any(|On { trigger, .. }| {
            let kind = trigger.tgtype as u32;
            kind & before_update == before_update && ours != Some(trigger.tgfoid)
        })
    }
}

/// A trigger. Invariant: it is one of the table's.
#[derive(Clone, Copy)]
pub struct On<'a> {
    pub table: Open<'a>,
    pub trigger: &'a pg_sys::Trigger,
}

impl<'a> On<'a> {
    /// # Safety
    /// The relation is open during `'a`, and the trigger is one of its.
    pub unsafe fn new(relation: pg_sys::Relation, trigger: &'a pg_sys::Trigger) -> Self {
        On { table: Open(relation, PhantomData), trigger }
    }

    /// The name, in the server's encoding.
    pub fn name(self) -> &'a CStr {
        // SAFETY: a trigger has a name.
        unsafe { CStr::from_ptr(self.trigger.tgname) }
    }

    /// The arguments as they were written, in the server's encoding.
    pub fn arguments(self) -> impl Iterator<Item = &'a CStr> {
        let all = 0..self.trigger.tgnargs.max(0) as usize;
        // SAFETY: the trigger has `tgnargs` arguments, each a C string.
        all.map(move |index| unsafe { CStr::from_ptr(*self.trigger.tgargs.add(index)) })
    }
}

/// An index. Invariant: the relation is one.
pub struct Index(PgRelation);

impl Index {
    pub fn raw(&self) -> pg_sys::Relation {
        self.0.as_ptr()
    }

    pub fn oid(&self) -> pg_sys::Oid {
        self.0.oid()
    }

    /// The index's row in pg_index.
    pub fn form(&self) -> &pg_sys::FormData_pg_index {
        // SAFETY: an open index has its catalogue row.
        unsafe { &*self.0.rd_index }
    }

    /// The access method.
    pub fn method(&self) -> pg_sys::Oid {
        // SAFETY: the relation is open.
        unsafe { (*self.0.rd_rel).relam }
    }

    /// The number of key columns.
    pub fn keys(&self) -> usize {
        self.form().indnkeyatts as usize
    }

    /// The table's column that a key column is, counted from 0; 0 for an expression.
    pub fn column(&self, at: usize) -> pg_sys::AttrNumber {
        assert!(at < self.keys(), "a key column");
        // SAFETY: the row has a number for each column.
        unsafe { *self.form().indkey.values.as_ptr().add(at) }
    }

    /// The operator family and the input type of a key column.
    pub fn operators(&self, at: usize) -> (pg_sys::Oid, pg_sys::Oid) {
        assert!(at < self.keys(), "a key column");
        // SAFETY: an open index has these for each of its key columns.
        unsafe { (*self.0.rd_opfamily.add(at), *self.0.rd_opcintype.add(at)) }
    }

    /// The predicate as it is stored, the text of an expression. The relation cache would fold it,
    /// and so run functions of the index's owner with the privileges of the inserting role.
    pub fn predicate(&self) -> Option<CString> {
        let (mut is_null, cache) = (true, pg_sys::SysCacheIdentifier::INDEXRELID as i32);
        // SAFETY: an open index has a copy of its catalogue row, whose predicate is a text.
        unsafe {
            let number = pg_sys::Anum_pg_index_indpred as pg_sys::AttrNumber;
            let text = pg_sys::SysCacheGetAttr(cache, self.0.rd_indextuple, number, &mut is_null);
            (!is_null).then(|| CStr::from_ptr(pg_sys::text_to_cstring(text.cast_mut_ptr())).into())
        }
    }
}
