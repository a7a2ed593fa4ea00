//! Runs a query that the caller passed as text, and reads its rows through a cursor in batches.
//!
//! The query runs as the calling role and sees what a new statement of the same transaction would
//! see.

use std::ffi::{CStr, CString};

use pgrx::{FromDatum, PgMemoryContexts, PgSqlErrorCode, pg_sys};

use crate::error::{raise, shown};
use crate::types::Text;
use crate::types::text::utf8_to_server;

/// A column that the query must yield.
pub struct Column<'a> {
    pub name: &'a str,
    /// The allowed types, as an error message names them.
    pub types: &'a str,
    pub accepts: &'a dyn Fn(pg_sys::Oid) -> bool,
}

/// A row. References to its values are valid until the next row. Values stay compressed or TOASTed
/// until a caller reads them.
pub struct Row<'a> {
    tuple: pg_sys::HeapTuple,
    descriptor: pg_sys::TupleDesc,
    types: &'a [pg_sys::Oid],
}

impl Row<'_> {
    /// The value of a column, counted from 0.
    pub fn datum(&self, column: usize) -> Option<pg_sys::Datum> {
        let mut is_null = true;
        // SAFETY: tuple and descriptor belong to this row. SPI counts columns from 1.
        let datum = unsafe {
            pg_sys::SPI_getbinval(self.tuple, self.descriptor, column as i32 + 1, &mut is_null)
        };
        (!is_null).then_some(datum)
    }

    /// The value of a column that has the representation of text.
    pub fn text(&self, column: usize) -> Option<Text<'_>> {
        // SAFETY: `is_text` accepted the column's type. The value lives as long as the row.
        self.datum(column).and_then(|datum| unsafe { Text::from_datum(datum, false) })
    }

    /// The value of a column of an integer type.
    pub fn integer(&self, column: usize) -> Option<i64> {
        self.datum(column).map(|datum| match self.types[column] {
            pg_sys::INT2OID => i64::from(datum.value() as i16),
            pg_sys::INT4OID => i64::from(datum.value() as i32),
            _ => datum.value() as i64,
        })
    }

    /// The types of the columns.
    pub fn types(&self) -> &[pg_sys::Oid] {
        self.types
    }
}

pub fn is_text(oid: pg_sys::Oid) -> bool {
    matches!(oid, pg_sys::TEXTOID | pg_sys::VARCHAROID | pg_sys::BPCHAROID)
}

pub fn is_integer(oid: pg_sys::Oid) -> bool {
    matches!(oid, pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID)
}

/// Runs `query` and passes every row to `sink`. Raises an ERROR unless the query returns `columns`.
/// Returns the columns' types.
pub fn for_each_row(
    query: &str,
    columns: &[Column<'_>],
    sink: &mut dyn FnMut(&Row<'_>),
) -> Vec<pg_sys::Oid> {
    each_row(query, columns, false, sink)
}

/// As [`for_each_row`], but the query uses the snapshot of the calling statement.
pub fn for_each_row_of_statement(
    query: &str,
    columns: &[Column<'_>],
    sink: &mut dyn FnMut(&Row<'_>),
) {
    each_row(query, columns, true, sink);
}

fn each_row(
    query: &str,
    columns: &[Column<'_>],
    is_read_only: bool,
    sink: &mut dyn FnMut(&Row<'_>),
) -> Vec<pg_sys::Oid> {
    const BATCH: std::ffi::c_long = 100;
    let source = CString::new(&*utf8_to_server(query)).unwrap_or_default();
    let (none, no_text) = (std::ptr::null_mut(), std::ptr::null());
    // The calls are in the order that PostgreSQL documents for SPI cursors. An ERROR unwinds
    // through here, and the abort of the (sub)transaction then closes the portal and SPI.
    // SAFETY: begins a use of SPI, which ends below.
    if unsafe { pg_sys::SPI_connect() } != pg_sys::SPI_OK_CONNECT as i32 {
        raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "could not connect to SPI".into(), "");
    }
    // SAFETY: SPI is connected, and the source ends with NUL.
    let plan = unsafe { pg_sys::SPI_prepare(source.as_ptr(), 0, std::ptr::null_mut()) };
    // SAFETY: the plan is one of SPI's.
    if plan.is_null() || !unsafe { pg_sys::SPI_is_cursor_plan(plan) } {
        raise_unfit(query, "it is not one query that returns rows", columns);
    }
    // SAFETY: the plan has no parameters.
    let portal = unsafe { pg_sys::SPI_cursor_open(no_text, plan, none, no_text, is_read_only) };
    // SAFETY: the portal is open, and its descriptor null or valid.
    let types = unsafe { check_columns(query, (*portal).tupDesc, columns) };
    // Holds what detoasting and conversion allocate for one row; reset after each row.
    let mut scratch = PgMemoryContexts::new("rows of a pg_simhash query");
    loop {
        // SAFETY: the portal is open. A table of rows has as many as SPI says.
        let (table, descriptor, rows) = unsafe {
            pg_sys::SPI_cursor_fetch(portal, true, BATCH);
            let (table, count) = (pg_sys::SPI_tuptable, pg_sys::SPI_processed as usize);
            if count == 0 || table.is_null() {
                break;
            }
            (table, (*table).tupdesc, std::slice::from_raw_parts((*table).vals, count))
        };
        for &tuple in rows {
            let row = Row { tuple, descriptor, types: &types };
            // SAFETY: nothing of a row's outlives the reset: `sink` gets references to it only.
            unsafe { scratch.switch_to(|_| sink(&row)) };
            // SAFETY: `sink` has returned, and keeps no reference to the row.
            unsafe { scratch.reset() };
            pgrx::check_for_interrupts!();
        }
        // SAFETY: the rows are not used any more.
        unsafe { pg_sys::SPI_freetuptable(table) };
    }
    // A child of SPI's context, so it must be deleted before SPI_finish deletes that.
    drop(scratch);
    // SAFETY: the portal is open, and nothing of it or of SPI is used any more.
    unsafe {
        pg_sys::SPI_cursor_close(portal);
        pg_sys::SPI_finish();
    }
    types
}

/// Checks the query's columns and returns their types.
unsafe fn check_columns(
    query: &str,
    descriptor: pg_sys::TupleDesc,
    columns: &[Column<'_>],
) -> Vec<pg_sys::Oid> {
    // SAFETY: `descriptor` is null or belongs to an open portal.
    let count = unsafe { descriptor.as_ref() }.map_or(0, |descriptor| descriptor.natts as usize);
    if count != columns.len() {
        let plural = if count == 1 { "" } else { "s" };
        raise_unfit(query, &format!("it returns {count} column{plural}"), columns);
    }
    columns
        .iter()
        .enumerate()
        .map(|(i, column)| {
            // SAFETY: the portal is open; SPI counts columns from 1.
            let oid = unsafe { pg_sys::SPI_gettypeid(descriptor, i as i32 + 1) };
            if !(column.accepts)(oid) {
                // SAFETY: format_type_be returns a palloc'd C string.
                let found = shown(unsafe { CStr::from_ptr(pg_sys::format_type_be(oid)) });
                raise_unfit(query, &format!("its column {} is of type {found}", i + 1), columns);
            }
            oid
        })
        .collect()
}

fn raise_unfit(query: &str, why: &str, columns: &[Column<'_>]) -> ! {
    let shown: String = query.chars().take(100).collect();
    let wanted: Vec<String> = columns.iter().map(|c| format!("{} {}", c.name, c.types)).collect();
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("invalid query \"{shown}\": {why}"),
        &format!("It must be one query that returns ({}).", wanted.join(", ")),
    )
}
