//! Names of relations, and identifiers quoted for SQL.

use std::ffi::CStr;

use pgrx::pg_sys;

use crate::error::shown;

/// The name of a relation, or its OID if the relation does not exist.
pub fn relation_name(oid: pg_sys::Oid) -> String {
    // SAFETY: a catalogue look-up in a transaction; the name is a C string or null.
    let name = unsafe {
        let name = pg_sys::get_rel_name(oid);
        (!name.is_null()).then(|| shown(CStr::from_ptr(name)).into_owned())
    };
    name.unwrap_or_else(|| oid.to_u32().to_string())
}

/// The schema-qualified name of a relation, quoted if necessary. `None` if the relation does not
/// exist.
pub fn qualified_name(oid: pg_sys::Oid) -> Option<String> {
    // SAFETY: catalogue look-ups in a transaction; names are C strings or null.
    unsafe {
        let name = pg_sys::get_rel_name(oid);
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(oid));
        if name.is_null() || schema.is_null() {
            return None;
        }
        let name = pg_sys::quote_qualified_identifier(schema, name);
        Some(shown(CStr::from_ptr(name)).into_owned())
    }
}

/// The unqualified name of a table, quoted if necessary.
pub fn table_name(table: pg_sys::Oid) -> String {
    // SAFETY: a catalogue look-up in a transaction; the name is a palloc'd C string or null.
    unsafe {
        let name = pg_sys::get_rel_name(table);
        if name.is_null() {
            return format!("with OID {}", table.to_u32());
        }
        quoted(CStr::from_ptr(name))
    }
}

/// An identifier, quoted if necessary.
pub fn quoted(name: &CStr) -> String {
    // SAFETY: `name` is an identifier in the server's encoding; the result is `name` or palloc'd.
    unsafe { shown(CStr::from_ptr(pg_sys::quote_identifier(name.as_ptr()))).into_owned() }
}
