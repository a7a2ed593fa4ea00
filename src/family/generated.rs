//! Finds the columns from which a generated column is computed.

use std::ffi::CStr;

use pgrx::pg_sys;

use super::column::Column;
use super::on::Open;

/// Whether a generated column is computed from another column. True for an expression that reads
/// the whole row.
pub fn is_computed_from(table: Open<'_>, column: &Column, other: pg_sys::AttrNumber) -> bool {
    // SAFETY: the relation is open, and the expression is over its columns, as relation 1.
    let inputs = unsafe {
        let node = pg_sys::build_column_default(table.raw(), i32::from(column.number));
        inputs(table.oid(), node)
    };
    inputs.is_none_or(|inputs| inputs.iter().any(|input| input.number == other))
}

/// The columns that an expression reads. `None` if it reads the whole row or a system column.
///
/// # Safety
/// The expression is over columns of the table, as relation 1.
pub unsafe fn inputs(table: pg_sys::Oid, expression: *mut pg_sys::Node) -> Option<Vec<Column>> {
    // SAFETY: the expression is over columns of the table; the set is made and read here.
    unsafe {
        let mut set = std::ptr::null_mut();
        pg_sys::pull_varattnos(expression, 1, &mut set);
        let mut columns = Vec::new();
        let mut member = -1;
        loop {
            member = pg_sys::bms_next_member(set, member);
            if member < 0 {
                return Some(columns);
            }
            let number = member + pg_sys::FirstLowInvalidHeapAttributeNumber;
            if number <= 0 {
                return None;
            }
            let name = pg_sys::get_attname(table, number as pg_sys::AttrNumber, false);
            columns.extend(Column::named(table, CStr::from_ptr(name)));
        }
    }
}
