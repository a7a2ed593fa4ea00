//! As whom something runs, and parts of statements.

use std::ffi::{CStr, CString};

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::catalog::Schema;
use crate::catalog::names::relation_name;
use crate::error::{raise, shown};
use crate::family::column::Column;

/// Runs something of which no part is anybody's code as another role, past the row-level security
/// that this role forces on itself. An ERROR restores all when its (sub)transaction aborts.
pub fn as_role<T>(role: pg_sys::Oid, run: impl FnOnce() -> T) -> T {
    let (mut user, mut context) = (pg_sys::InvalidOid, 0);
    let as_foreign_keys =
        (pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_NOFORCE_RLS) as i32;
    // SAFETY: what is taken is given back, or the transaction aborts.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        pg_sys::SetUserIdAndSecContext(role, context | as_foreign_keys);
        let result = run();
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}

/// Runs something that code of a table's owner takes part in as that owner, for somebody else.
/// Nothing may be left for later, for it would run with the caller's rights: PostgreSQL refuses
/// deferred triggers, cursors WITH HOLD and their like in such an operation.
pub fn restricted<T>(
    owner: pg_sys::Oid,
    table: pg_sys::Oid,
    schema: Schema,
    run: impl FnOnce() -> T,
) -> T {
    let (mut user, mut context) = (pg_sys::InvalidOid, 0);
    let limits =
        (pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_RESTRICTED_OPERATION) as i32;
    // SAFETY: what is taken is given back, or the transaction aborts.
    unsafe {
        pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
        pg_sys::SetUserIdAndSecContext(owner, context | limits);
        let result = in_search_path(table, schema, run);
        pg_sys::SetUserIdAndSecContext(user, context);
        result
    }
}

/// Runs something that code of a table's owner takes part in. It finds names in PostgreSQL's
/// schema, those of the table and of the extension, whoever calls it from where. Settings that are
/// made inside end with it.
pub fn in_search_path<T>(table: pg_sys::Oid, schema: Schema, run: impl FnOnce() -> T) -> T {
    // SAFETY: the level of settings is ended, here or by the abort of the transaction.
    unsafe {
        let settings = pg_sys::NewGUCNestLevel();
        set_search_path(table, schema);
        let result = run();
        pg_sys::AtEOXact_GUC(false, settings);
        result
    }
}

/// Runs something in which the text form of a value is the same for every session, and says all of
/// it, as pg_dump has it.
pub fn exactly<T>(run: impl FnOnce() -> T) -> T {
    let settings = [
        (c"datestyle", c"ISO"),
        (c"intervalstyle", c"postgres"),
        (c"extra_float_digits", c"3"),
        (c"bytea_output", c"hex"),
        (c"lc_monetary", c"C"),
        // Of what has a name, with its schema.
        (c"search_path", c"pg_catalog"),
    ];
    // SAFETY: the level of settings is ended, here or by the abort of the transaction.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        for (name, value) in settings {
            set(name, value);
        }
        let result = run();
        pg_sys::AtEOXact_GUC(false, level);
        result
    }
}

/// # Safety
/// A level of settings was begun, and is ended later.
unsafe fn set(name: &CStr, value: &CStr) {
    // SAFETY: as this function's; the value is copied.
    unsafe {
        pg_sys::set_config_option(
            name.as_ptr(),
            value.as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SAVE,
            true,
            0,
            false,
        );
    }
}

/// # Safety
/// A level of settings was begun, and is ended later.
unsafe fn set_search_path(table: pg_sys::Oid, extension: Schema) {
    // SAFETY: as this function's; names are palloc'd, and the path is copied.
    unsafe {
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(table));
        let schema = (!schema.is_null()).then(|| CStr::from_ptr(pg_sys::quote_identifier(schema)));
        let mut path = vec![c"pg_catalog"];
        for name in schema.into_iter().chain([extension.quoted_name()]) {
            // Also between quotes PostgreSQL takes this name for that of the session's user.
            if name != c"\"$user\"" && name != c"pg_temp" && !path.contains(&name) {
                path.push(name);
            }
        }
        path.push(c"pg_temp");
        let path: Vec<_> = path.into_iter().map(CStr::to_bytes).collect();
        set(c"search_path", &CString::new(path.join(&b", "[..])).unwrap_or_default());
    }
}

/// A parameter of a statement: its type, and its value or NULL.
pub type Parameter = (pg_sys::Oid, Option<pg_sys::Datum>);

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

/// How SQL writes that a column is equal to something of its type, whatever the search path. What
/// is compared is cast to what the operator takes: for a domain there may be another operator of
/// that name, made by whoever may create something in the same schema.
pub struct Equal {
    operator: String,
    cast: String,
}

impl Equal {
    pub fn of(column: &Column) -> Self {
        let operator = column.equality();
        let (mut left, mut right) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
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
            pg_sys::op_input_types(operator, &mut left, &mut right);
            // Only PostgreSQL's own operators take any enum, array or range.
            let cast = if pg_sys::get_typtype(left) as u8 == pg_sys::TYPTYPE_PSEUDO {
                String::new()
            } else {
                // Of any length: "character" and "bit" are of one.
                let as_such = pg_sys::FORMAT_TYPE_FORCE_QUALIFY | pg_sys::FORMAT_TYPE_TYPEMOD_GIVEN;
                let name = pg_sys::format_type_extended(left, -1, as_such as pg_sys::bits16);
                format!("::{}", shown(CStr::from_ptr(name)))
            };
            let schema = pg_sys::quote_identifier(schema);
            let (schema, name) = (shown(CStr::from_ptr(schema)), shown(CStr::from_ptr(name)));
            Equal { operator: format!("OPERATOR({schema}.{name})"), cast }
        }
    }

    /// The condition that a column of the table `t` is one of another one.
    pub fn to(&self, column: &str, other: &str) -> String {
        let Equal { operator, cast } = self;
        format!("t.{column}{cast} {operator} {other}{cast}")
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
