//! Names of relations, and identifiers as SQL has them.

use std::ffi::CStr;

use pgrx::pg_sys;

use crate::error::shown;

/// The name of a relation, or its OID if there is no such relation.
pub fn relation_name(oid: pg_sys::Oid) -> String {
    // SAFETY: a catalogue look-up; the name is a C string if there is one.
    let name = unsafe {
        let name = pg_sys::get_rel_name(oid);
        (!name.is_null()).then(|| shown(CStr::from_ptr(name)).into_owned())
    };
    name.unwrap_or_else(|| oid.to_u32().to_string())
}

/// The name of a relation with its schema, quoted if need be. None if there is no such relation.
pub fn qualified_name(oid: pg_sys::Oid) -> Option<String> {
    // SAFETY: catalogue look-ups; names are C strings, or null if there are none.
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

/// The name of a relation as SQL has it: with its schema where the name alone means another one, or
/// none.
pub fn name_in_sql(oid: pg_sys::Oid) -> Option<String> {
    // SAFETY: a catalogue look-up.
    if !unsafe { pg_sys::RelationIsVisible(oid) } {
        return qualified_name(oid);
    }
    // SAFETY: a name is a C string if there is one.
    unsafe {
        let name = pg_sys::get_rel_name(oid);
        (!name.is_null()).then(|| quoted(CStr::from_ptr(name)))
    }
}

/// The name of a table as SQL has it.
pub fn table_name(table: pg_sys::Oid) -> String {
    // SAFETY: a name of a locked table, palloc'd, in the server's encoding.
    unsafe {
        let name = pg_sys::get_rel_name(table);
        if name.is_null() {
            return format!("with OID {}", table.to_u32());
        }
        quoted(CStr::from_ptr(name))
    }
}

/// An identifier as SQL has it.
pub fn quoted(name: &CStr) -> String {
    // SAFETY: an identifier in the server's encoding; the result is that or palloc'd.
    unsafe { shown(CStr::from_ptr(pg_sys::quote_identifier(name.as_ptr()))).into_owned() }
}
