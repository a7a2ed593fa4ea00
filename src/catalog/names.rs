//! Names of relations and columns, and identifiers quoted for SQL.

use std::ffi::{CStr, CString, c_char};

use pgrx::pg_sys;

use crate::error::shown;

/// A copy of a name that PostgreSQL returned. `None` for null.
///
/// # Safety
/// The name is null, or ends with NUL.
unsafe fn copied(name: *const c_char) -> Option<CString> {
    // SAFETY: the name is not null, so it ends with NUL.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_owned())
}

/// The name of a relation in the server's encoding. `None` if the relation does not exist.
pub fn server_name(oid: pg_sys::Oid) -> Option<CString> {
    // SAFETY: a catalogue look-up in a transaction; the name is a C string or null.
    unsafe { copied(pg_sys::get_rel_name(oid)) }
}

/// The name of a column in the server's encoding. `None` if there is no such column.
pub fn column_name(table: pg_sys::Oid, number: pg_sys::AttrNumber) -> Option<CString> {
    // SAFETY: a catalogue look-up in a transaction; the name is a C string or null.
    unsafe { copied(pg_sys::get_attname(table, number, true)) }
}

/// The name of a relation, or its OID if the relation does not exist.
pub fn relation_name(oid: pg_sys::Oid) -> String {
    let name = server_name(oid).map(|name| shown(&name).into_owned());
    name.unwrap_or_else(|| oid.to_u32().to_string())
}

/// The schema-qualified name of a relation, quoted if necessary. `None` if the relation does not
/// exist.
pub fn qualified_name(oid: pg_sys::Oid) -> Option<String> {
    let name = server_name(oid)?;
    // SAFETY: catalogue look-ups in a transaction; the name is a C string or null.
    let schema = unsafe { copied(pg_sys::get_namespace_name(pg_sys::get_rel_namespace(oid))) }?;
    let (schema, name) = (schema.as_ptr(), name.as_ptr());
    // SAFETY: both are C strings, and so is the result.
    let name = unsafe { CStr::from_ptr(pg_sys::quote_qualified_identifier(schema, name)) };
    Some(shown(name).into_owned())
}

/// The unqualified name of a table, quoted if necessary.
pub fn table_name(table: pg_sys::Oid) -> String {
    let name = server_name(table).map(|name| quoted(&name));
    name.unwrap_or_else(|| format!("with OID {}", table.to_u32()))
}

/// An identifier, quoted if necessary.
pub fn quoted(name: &CStr) -> String {
    // SAFETY: `name` is an identifier in the server's encoding; the result is `name` or palloc'd.
    unsafe { shown(CStr::from_ptr(pg_sys::quote_identifier(name.as_ptr()))).into_owned() }
}
