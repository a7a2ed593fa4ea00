//! What a generated column is computed from.

use std::ffi::CStr;

use pgrx::pg_sys;

use super::column::Column;

/// Whether a generated column is computed from another one.
///
/// # Safety
/// An open table, whose column this is.
pub unsafe fn is_computed_from(
    relation: pg_sys::Relation,
    column: &Column,
    other: pg_sys::AttrNumber,
) -> bool {
    // SAFETY: as this function's.
    unsafe {
        let node = pg_sys::build_column_default(relation, i32::from(column.number));
        let inputs = inputs((*relation).rd_id, node);
        inputs.is_empty() || inputs.iter().any(|input| input.number == other)
    }
}

/// The columns that an expression reads; none if it reads the whole row.
///
/// # Safety
/// The expression is over columns of the table, as relation 1.
pub unsafe fn inputs(table: pg_sys::Oid, expression: *mut pg_sys::Node) -> Vec<Column> {
    // SAFETY: the set is made and read here.
    unsafe {
        let mut set = std::ptr::null_mut();
        pg_sys::pull_varattnos(expression, 1, &mut set);
        let mut columns = Vec::new();
        let mut member = -1;
        loop {
            member = pg_sys::bms_next_member(set, member);
            if member < 0 {
                return columns;
            }
            let number = member + pg_sys::FirstLowInvalidHeapAttributeNumber;
            if number <= 0 {
                return Vec::new();
            }
            let name = pg_sys::get_attname(table, number as pg_sys::AttrNumber, false);
            columns.extend(Column::named(table, CStr::from_ptr(name)));
        }
    }
}
