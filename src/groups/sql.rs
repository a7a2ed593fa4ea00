//! Statements of our own, run through SPI as the owner of what they read or change.
//!
//! They see what the family's lock allows to be seen: the latest committed rows. At REPEATABLE READ
//! and SERIALIZABLE a row that is changed must be visible to the transaction's own snapshot, too;
//! otherwise PostgreSQL raises 40001. PostgreSQL's foreign keys do both in this way.
//!
//! Nothing here depends on the search path: names have schemas. But the user's own triggers and the
//! functions of his indexes run inside, with the owner's rights. So they do not see the search path
//! of whoever writes to the table.

use std::ffi::{CStr, CString};

use pgrx::{PgSqlErrorCode, pg_sys};

use super::setup::Setup;
use crate::catalog::names::relation_name;
use crate::error::{raise, shown};
use crate::trigger::column::Column;
use crate::trigger::lock;
use crate::types::text::utf8_to_server;

/// Runs something as another role, as foreign keys do: with that role's rights, whatever row-level
/// security it is forced to. The search path is PostgreSQL's schema, then those of the table and of
/// the extension. Settings that are made inside end with it. An ERROR restores all when its
/// (sub)transaction aborts.
pub fn as_role<T>(setup: &Setup, role: pg_sys::Oid, run: impl FnOnce() -> T) -> T {
    let (mut user, mut context) = (pg_sys::InvalidOid, 0);
    let as_foreign_keys =
        (pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_NOFORCE_RLS) as i32;
    // SAFETY: what is taken is given back, or the transaction aborts.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        pg_sys::SetUserIdAndSecContext(role, context | as_foreign_keys);
        let settings = pg_sys::NewGUCNestLevel();
        set_search_path(setup);
        let result = run();
        pg_sys::AtEOXact_GUC(false, settings);
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}

/// Runs something that the owner's triggers and functions take part in, for a caller who may be
/// somebody else. Then nothing may be left for later, for it would run with the caller's rights.
/// PostgreSQL refuses deferred triggers, cursors WITH HOLD and their like in such an operation.
/// Settings, such as a search path, end with it.
pub fn restricted<T>(owner: pg_sys::Oid, run: impl FnOnce() -> T) -> T {
    let (mut user, mut context) = (pg_sys::InvalidOid, 0);
    // SAFETY: what is taken is given back, or the transaction aborts.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        if user == owner {
            return run();
        }
        let limits = pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
        pg_sys::SetUserIdAndSecContext(user, context | limits);
        let settings = pg_sys::NewGUCNestLevel();
        let result = run();
        pg_sys::AtEOXact_GUC(false, settings);
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}

/// # Safety
/// A level of settings was begun, and is ended later.
unsafe fn set_search_path(setup: &Setup) {
    // SAFETY: as this function's; names are palloc'd, and the path is copied.
    unsafe {
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(setup.table));
        let mut path = b"pg_catalog, ".to_vec();
        if !schema.is_null() {
            path.extend(CStr::from_ptr(pg_sys::quote_identifier(schema)).to_bytes());
            path.extend(b", ");
        }
        path.extend(setup.schema.quoted_name().to_bytes());
        path.extend(b", pg_temp");
        let path = CString::new(path).unwrap_or_default();
        pg_sys::set_config_option(
            c"search_path".as_ptr(),
            path.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
    }
}

/// A parameter of a statement: its type, and its value or NULL.
pub type Parameter = (pg_sys::Oid, Option<pg_sys::Datum>);

struct Plan {
    plan: pg_sys::SPIPlanPtr,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<std::ffi::c_char>,
}

/// # Safety
/// SPI is connected.
unsafe fn prepare(source: &str, parameters: &[Parameter]) -> Plan {
    let text = CString::new(&*utf8_to_server(source)).unwrap_or_default();
    let mut types: Vec<_> = parameters.iter().map(|&(of, _)| of).collect();
    let null = pg_sys::Datum::null();
    let values = parameters.iter().map(|&(_, value)| value.unwrap_or(null)).collect();
    let nulls = parameters.iter().map(|(_, value)| if value.is_some() { b' ' } else { b'n' });
    // SAFETY: as this function's.
    let plan =
        unsafe { pg_sys::SPI_prepare(text.as_ptr(), types.len() as i32, types.as_mut_ptr()) };
    if plan.is_null() {
        raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("could not plan {source}"), "");
    }
    Plan { plan, values, nulls: nulls.map(|null| null as std::ffi::c_char).collect() }
}

fn connect() {
    // SAFETY: SPI_finish ends it, or the abort of the transaction.
    if unsafe { pg_sys::SPI_connect() } != pg_sys::SPI_OK_CONNECT as i32 {
        raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "could not connect to SPI".into(), "");
    }
}

/// Runs a statement that changes rows. Returns how many. `repeatable`: at the higher isolation
/// levels the transaction's own snapshot must show the rows.
pub fn execute(source: &str, parameters: &[Parameter], repeatable: bool) -> u64 {
    // SAFETY: the sequence that PostgreSQL documents for SPI. The snapshot is registered while it
    // is used.
    unsafe {
        connect();
        let mut plan = prepare(source, parameters);
        let snapshot = lock::snapshot();
        let own = if repeatable && pg_sys::XactIsoLevel >= pg_sys::XACT_REPEATABLE_READ as i32 {
            pg_sys::GetTransactionSnapshot()
        } else {
            std::ptr::null_mut()
        };
        let (values, nulls) = (plan.values.as_mut_ptr(), plan.nulls.as_ptr());
        let result =
            pg_sys::SPI_execute_snapshot(plan.plan, values, nulls, snapshot, own, false, true, 0);
        let changed = pg_sys::SPI_processed;
        lock::release(snapshot);
        if result < 0 {
            raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("could not run {source}"), "");
        }
        pg_sys::SPI_finish();
        changed
    }
}

/// Runs a statement that defines something, as the current role.
pub fn run(source: &str) {
    let text = CString::new(&*utf8_to_server(source)).unwrap_or_default();
    // SAFETY: as in execute.
    unsafe {
        connect();
        if pg_sys::SPI_execute(text.as_ptr(), false, 0) < 0 {
            raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("could not run {source}"), "");
        }
        pg_sys::SPI_finish();
    }
}

/// A row of a query. Its values live until the next row.
pub struct Row {
    tuple: pg_sys::HeapTuple,
    descriptor: pg_sys::TupleDesc,
}

impl Row {
    /// The value of a column, counted from 1; `None` for NULL.
    pub fn value(&self, column: i32) -> Option<pg_sys::Datum> {
        let mut is_null = true;
        // SAFETY: tuple and descriptor are those of this row.
        let value =
            unsafe { pg_sys::SPI_getbinval(self.tuple, self.descriptor, column, &mut is_null) };
        (!is_null).then_some(value)
    }
}

/// Hands every row of a query to `sink`, in the memory context of the caller.
pub fn query(source: &str, parameters: &[Parameter], sink: &mut dyn FnMut(&Row)) {
    const BATCH: std::ffi::c_long = 1000;
    // SAFETY: as in execute. A read-only cursor sees what the active snapshot does.
    unsafe {
        let outer = pg_sys::CurrentMemoryContext;
        connect();
        let mut plan = prepare(source, parameters);
        let snapshot = lock::snapshot();
        pg_sys::PushActiveSnapshot(snapshot);
        let (values, nulls) = (plan.values.as_mut_ptr(), plan.nulls.as_ptr());
        let portal = pg_sys::SPI_cursor_open(std::ptr::null(), plan.plan, values, nulls, true);
        loop {
            pg_sys::SPI_cursor_fetch(portal, true, BATCH);
            let (table, count) = (pg_sys::SPI_tuptable, pg_sys::SPI_processed as usize);
            if count == 0 || table.is_null() {
                break;
            }
            let own = pg_sys::MemoryContextSwitchTo(outer);
            for &tuple in std::slice::from_raw_parts((*table).vals, count) {
                sink(&Row { tuple, descriptor: (*table).tupdesc });
                pgrx::check_for_interrupts!();
            }
            pg_sys::MemoryContextSwitchTo(own);
            pg_sys::SPI_freetuptable(table);
        }
        pg_sys::SPI_cursor_close(portal);
        pg_sys::PopActiveSnapshot();
        lock::release(snapshot);
        pg_sys::SPI_finish();
    }
}

/// An array of values of a type, with NULLs.
///
/// # Safety
/// The values are of the type.
pub unsafe fn array(of: pg_sys::Oid, values: &[Option<pg_sys::Datum>]) -> Parameter {
    let (mut length, mut by_value, mut alignment) = (0, false, 0);
    let null = pg_sys::Datum::null();
    let mut nulls: Vec<bool> = values.iter().map(Option::is_none).collect();
    let mut values: Vec<_> = values.iter().map(|value| value.unwrap_or(null)).collect();
    let (mut count, mut first) = (values.len() as i32, 1);
    // SAFETY: as this function's; the array has one dimension.
    unsafe {
        pg_sys::get_typlenbyvalalign(of, &mut length, &mut by_value, &mut alignment);
        let array = pg_sys::construct_md_array(
            values.as_mut_ptr(),
            nulls.as_mut_ptr(),
            1,
            &mut count,
            &mut first,
            of,
            i32::from(length),
            by_value,
            alignment,
        );
        (pg_sys::get_array_type(of), Some(pg_sys::Datum::from(array)))
    }
}

/// How SQL writes the equality of a column's type, whatever the search path.
pub fn equality(column: &Column) -> String {
    let operator = column.equality();
    // SAFETY: catalogue look-ups; names are palloc'd, or null if there are none.
    unsafe {
        let name = pg_sys::get_opname(operator);
        let schema = operator_schema(operator);
        if name.is_null() || schema.is_null() {
            raise(
                PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION,
                format!("type {} has no equality", relation_name(column.base)),
                "",
            )
        }
        let schema = pg_sys::quote_identifier(schema);
        format!("OPERATOR({}.{})", shown(CStr::from_ptr(schema)), shown(CStr::from_ptr(name)))
    }
}

unsafe fn operator_schema(operator: pg_sys::Oid) -> *mut std::ffi::c_char {
    use crate::catalog::cache;
    // SAFETY: look-ups by OID.
    unsafe {
        let read = |row: &cache::Row<pg_sys::FormData_pg_operator>| row.oprnamespace;
        let schema = cache::row(pg_sys::SysCacheIdentifier::OPEROID, operator, read);
        schema.map_or(std::ptr::null_mut(), |schema| pg_sys::get_namespace_name(schema))
    }
}
