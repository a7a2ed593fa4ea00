//! The extension's schema.

use std::ffi::CStr;

use pgrx::pg_sys;

use super::cache::{self, valid};
use crate::call::Call;

/// The schema in which the extension's tables and types are looked up, whatever the search path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema(pg_sys::Oid);

impl Schema {
    /// The schema of the called function.
    pub fn of_call(call: &Call<'_>) -> Self {
        call.function()
            .map_or(Schema(pg_sys::InvalidOid), |called| Self::of_function(called.fn_oid))
    }

    /// The schema of a function.
    pub fn of_function(function: pg_sys::Oid) -> Self {
        // SAFETY: a catalogue look-up in a transaction.
        Schema(unsafe { pg_sys::get_func_namespace(function) })
    }

    /// The type with that name in this schema.
    pub fn type_named(self, name: &CStr) -> Option<pg_sys::Oid> {
        let keys = [pg_sys::Datum::from(name.as_ptr()), pg_sys::Datum::from(self.0)];
        let types = pg_sys::SysCacheIdentifier::TYPENAMENSP;
        // SAFETY: the cache's keys are name and schema, and its catalogue is pg_type.
        unsafe { cache::oid(types, pg_sys::Anum_pg_type_oid, &keys) }
    }

    /// The table with that name in this schema.
    pub fn table_named(self, name: &CStr) -> Option<pg_sys::Oid> {
        // SAFETY: a catalogue look-up in a transaction; `name` ends with NUL.
        valid(unsafe { pg_sys::get_relname_relid(name.as_ptr(), self.0) })
    }

    /// The schema's name, quoted if necessary, in the server's encoding.
    pub fn quoted_name<'a>(self) -> &'a CStr {
        // SAFETY: the schema exists, because it contains a function that was called; the name is
        // palloc'd.
        unsafe { CStr::from_ptr(pg_sys::quote_identifier(pg_sys::get_namespace_name(self.0))) }
    }
}
