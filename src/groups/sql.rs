//! Builds parts of SQL statements: arrays as parameters, and conditions of equality.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::catalog::cache;
use crate::catalog::names::relation_name;
use crate::error::{raise, shown};
use crate::family::column::Column;
use crate::family::value::Value;

/// A parameter of a statement: its type, and its value; `None` for NULL. Invariant: the value, or
/// its elements, are of that type.
#[derive(Clone, Copy)]
pub struct Parameter {
    of: pg_sys::Oid,
    value: Option<pg_sys::Datum>,
}

impl Parameter {
    /// # Safety
    /// The datum is a value of the type, and lives as long as the parameter is used.
    pub unsafe fn new(of: pg_sys::Oid, value: pg_sys::Datum) -> Self {
        Parameter { of, value: Some(value) }
    }

    pub fn of(self) -> pg_sys::Oid {
        self.of
    }

    /// The parameter as the executor expects it.
    pub fn external(self) -> pg_sys::ParamExternData {
        let (ptype, isnull) = (self.of, self.value.is_none());
        let value = self.value.unwrap_or(pg_sys::Datum::null());
        pg_sys::ParamExternData { value, isnull, pflags: 0, ptype }
    }

    pub fn relation(oid: pg_sys::Oid) -> Self {
        Parameter { of: pg_sys::REGCLASSOID, value: Some(oid.into()) }
    }

    /// An array of values of a type; `None` stands for NULL.
    pub fn array<'a>(of: pg_sys::Oid, values: impl Iterator<Item = Option<Value<'a>>>) -> Self {
        let (mut length, mut by_value, mut alignment) = (0, false, 0);
        let (mut nulls, mut datums) = (Vec::new(), Vec::new());
        for value in values {
            assert!(value.is_none_or(|value| value.base() == of), "a value of the array's type");
            nulls.push(value.is_none());
            datums.push(value.map_or(pg_sys::Datum::null(), Value::datum));
        }
        let (mut count, mut first) = (datums.len() as i32, 1);
        // SAFETY: the values are of the type `of`, and the array has one dimension.
        unsafe {
            pg_sys::get_typlenbyvalalign(of, &mut length, &mut by_value, &mut alignment);
            let array = pg_sys::construct_md_array(
                datums.as_mut_ptr(),
                nulls.as_mut_ptr(),
                1,
                &mut count,
                &mut first,
                of,
                i32::from(length),
                by_value,
                alignment,
            );
            Parameter { of: pg_sys::get_array_type(of), value: Some(array.into()) }
        }
    }
}

/// How SQL writes that a column equals a value of its type, whatever the search path is. Both sides
/// are cast to the operator's input type. Otherwise, for a domain, PostgreSQL could choose another
/// operator of that name, made by a role that may create objects in the schema.
pub struct Equal {
    operator: String,
    cast: String,
}

impl Equal {
    pub fn of(column: &Column) -> Self {
        let operator = column.equality();
        let (mut left, mut right) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
        let read = |row: &cache::Row<pg_sys::FormData_pg_operator>| row.oprnamespace;
        // SAFETY: catalogue look-ups by OID; names are palloc'd, or null if the object is gone.
        let (name, schema) = unsafe {
            let schema = cache::row(pg_sys::SysCacheIdentifier::OPEROID, operator, read);
            let schema = schema.map(|schema| pg_sys::get_namespace_name(schema));
            (pg_sys::get_opname(operator), schema.unwrap_or(std::ptr::null_mut()))
        };
        if name.is_null() || schema.is_null() {
            raise(
                PgSqlErrorCode::ERRCODE_UNDEFINED_FUNCTION,
                format!("type {} has no equality", relation_name(column.base)),
                "",
            )
        }
        // SAFETY: names that end with NUL, and catalogue look-ups.
        unsafe {
            pg_sys::op_input_types(operator, &mut left, &mut right);
            // Only PostgreSQL's own operators take any enum, array or range.
            let cast = if pg_sys::get_typtype(left) as u8 == pg_sys::TYPTYPE_PSEUDO {
                String::new()
            } else {
                // The type without a length: written plainly, "character" and "bit" mean a length
                // of one.
                let as_such = pg_sys::FORMAT_TYPE_FORCE_QUALIFY | pg_sys::FORMAT_TYPE_TYPEMOD_GIVEN;
                let name = pg_sys::format_type_extended(left, -1, as_such as u16);
                format!("::{}", shown(CStr::from_ptr(name)))
            };
            let schema = shown(CStr::from_ptr(pg_sys::quote_identifier(schema)));
            let operator = format!("OPERATOR({schema}.{})", shown(CStr::from_ptr(name)));
            Equal { operator, cast }
        }
    }

    /// The condition that a column of the table `t` equals another column.
    pub fn to(&self, column: &str, other: &str) -> String {
        let Equal { operator, cast } = self;
        format!("t.{column}{cast} {operator} {other}{cast}")
    }
}
