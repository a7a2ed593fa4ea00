//! The schema that the extension is in.

use std::ffi::CStr;

use pgrx::pg_sys;

use super::cache::{self, valid};

/// The extension's schema. Its table of models and its types are found there, whatever the search
/// path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema(pg_sys::Oid);

impl Schema {
    /// The schema of the function that is being called.
    pub fn of_call(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: PostgreSQL passes a valid call; the look-up is in a system cache.
        unsafe {
            let flinfo = (*fcinfo).flinfo;
            Schema(if flinfo.is_null() {
                pg_sys::InvalidOid
            } else {
                pg_sys::get_func_namespace((*flinfo).fn_oid)
            })
        }
    }

    /// The schema of a function.
    pub fn of_function(function: pg_sys::Oid) -> Self {
        // SAFETY: a catalogue look-up.
        Schema(unsafe { pg_sys::get_func_namespace(function) })
    }

    /// The type of that name in it.
    pub fn type_named(self, name: &CStr) -> Option<pg_sys::Oid> {
        let keys = [pg_sys::Datum::from(name.as_ptr()), pg_sys::Datum::from(self.0)];
        // SAFETY: a look-up by name and schema.
        unsafe {
            cache::oid(pg_sys::SysCacheIdentifier::TYPENAMENSP, pg_sys::Anum_pg_type_oid, &keys)
        }
    }

    /// The table of that name in it.
    pub fn table_named(self, name: &CStr) -> Option<pg_sys::Oid> {
        // SAFETY: a look-up by name and schema.
        valid(unsafe { pg_sys::get_relname_relid(name.as_ptr(), self.0) })
    }

    /// Its name, quoted as an identifier if need be, in the server's encoding.
    pub fn quoted_name<'a>(self) -> &'a CStr {
        // SAFETY: the schema exists, for a function of it was called; the name is palloc'd.
        unsafe { CStr::from_ptr(pg_sys::quote_identifier(pg_sys::get_namespace_name(self.0))) }
    }
}
