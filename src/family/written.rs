//! New values for some columns of the row that fired a trigger.

use pgrx::pg_sys;

use super::column::Column;
use super::value::Value;

/// New values of some columns.
#[derive(Default)]
pub struct Changes {
    columns: Vec<i32>,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<bool>,
}

impl Changes {
    /// Sets a column to a value of its base type. Raises an ERROR if the column's domain does not
    /// allow the value.
    pub fn set(&mut self, column: &Column, given: Option<Value<'_>>) {
        let is_null = given.is_none();
        let value = given.map_or(pg_sys::Datum::null(), Value::datum);
        if column.declared != column.base {
            // SAFETY: the value is of the domain's base type; nothing is cached between calls.
            unsafe {
                let (context, cached) = (pg_sys::CurrentMemoryContext, std::ptr::null_mut());
                pg_sys::domain_check(value, is_null, column.declared, cached, context);
            }
        }
        self.put(column, given);
    }

    /// The same without that check, for a value that the column has had.
    pub fn put(&mut self, column: &Column, value: Option<Value<'_>>) {
        self.columns.push(i32::from(column.number));
        self.nulls.push(value.is_none());
        self.values.push(value.map_or(pg_sys::Datum::null(), Value::datum));
    }

    /// The row with the new values.
    ///
    /// # Safety
    /// The row has this descriptor, and the columns are its columns.
    pub unsafe fn apply(
        mut self,
        row: pg_sys::HeapTuple,
        descriptor: pg_sys::TupleDesc,
    ) -> pg_sys::HeapTuple {
        if self.columns.is_empty() {
            return row;
        }
        // SAFETY: the row has this descriptor, and each value is of its column's base type.
        unsafe {
            pg_sys::heap_modify_tuple_by_cols(
                row,
                descriptor,
                self.columns.len() as i32,
                self.columns.as_mut_ptr(),
                self.values.as_mut_ptr(),
                self.nulls.as_mut_ptr(),
            )
        }
    }
}
