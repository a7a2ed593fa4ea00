//! The extension's own objects, in whatever schema they are.
//!
//! Invariant: a function counts as ours only if pg_depend says that it is a member of the extension
//! and if its language is C. The caller compares its symbol and its signature with those in our SQL
//! script. A name, a schema, `prosrc` or membership alone prove nothing: any role can choose names,
//! a role that may create functions in the schema can choose `prosrc`, and the extension's owner
//! can add members. Only a superuser can create functions in C.
//!
//! All look-ups ignore the user's privileges. A query that calls a function through a view needs no
//! privilege on the function's schema.

use std::ffi::CStr;

use pgrx::pg_sys;

use super::cache::{self, Row, valid};

/// The extension as installed in this database.
#[derive(Clone, Copy)]
pub struct Extension(pg_sys::Oid);

/// A C function of the extension that returns a single value.
pub struct Function {
    pub oid: pg_sys::Oid,
    pub symbol: Vec<u8>,
    pub arguments: Vec<pg_sys::Oid>,
    pub result: pg_sys::Oid,
}

impl Function {
    pub fn is<const N: usize>(&self, arguments: [pg_sys::Oid; N], result: pg_sys::Oid) -> bool {
        self.arguments == arguments && self.result == result
    }
}

impl Extension {
    pub fn installed() -> Option<Self> {
        // SAFETY: a catalogue look-up in a transaction.
        valid(unsafe { pg_sys::get_extension_oid(c"pg_simhash".as_ptr(), true) }).map(Extension)
    }

    pub fn access_method(self) -> Option<pg_sys::Oid> {
        // SAFETY: a catalogue look-up in a transaction.
        valid(unsafe { pg_sys::get_am_oid(c"simhash".as_ptr(), true) })
            .filter(|&oid| self.has(pg_sys::AccessMethodRelationId, oid))
    }

    /// All functions of the extension with this name.
    pub fn functions(self, name: &CStr) -> Vec<Function> {
        let named = [pg_sys::Datum::from(name.as_ptr())];
        let cache = pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP;
        let oid = |form: &pg_sys::FormData_pg_proc| form.oid;
        // SAFETY: the cache's first key is the name, and its catalogue is pg_proc.
        let found = unsafe { cache::rows(cache, &named, oid) };
        found.into_iter().filter_map(|oid| self.function(oid)).collect()
    }

    /// The function with this OID if it belongs to the extension.
    pub fn function(self, oid: pg_sys::Oid) -> Option<Function> {
        if !self.has(pg_sys::ProcedureRelationId, oid) {
            return None;
        }
        cache::by_oid(oid, c_function)?
    }

    /// The boolean operator with these operand types, if it and its function belong to the
    /// extension.
    pub fn operator(
        self,
        name: &CStr,
        left: pg_sys::Oid,
        right: pg_sys::Oid,
    ) -> Option<pg_sys::Oid> {
        self.operator_returning(name, [left, right], pg_sys::BOOLOID)
    }

    /// As [`operator`](Self::operator), with another result type.
    pub fn operator_returning(
        self,
        name: &CStr,
        [left, right]: [pg_sys::Oid; 2],
        result: pg_sys::Oid,
    ) -> Option<pg_sys::Oid> {
        let keys = [name.as_ptr().into(), left.into(), right.into()];
        let cache = pg_sys::SysCacheIdentifier::OPERNAMENSP;
        let read = |form: &pg_sys::FormData_pg_operator| (form.oid, form.oprcode);
        // SAFETY: the cache's first keys are name and operand types, and its catalogue is
        // pg_operator.
        let found = unsafe { cache::rows(cache, &keys, read) };
        let (operator, _) = found.into_iter().find(|&(operator, function)| {
            self.has(pg_sys::OperatorRelationId, operator)
                && self
                    .function(function)
                    .is_some_and(|function| function.is([left, right], result))
        })?;
        Some(operator)
    }

    /// Whether an object is a member of the extension.
    fn has(self, class: pg_sys::Oid, object: pg_sys::Oid) -> bool {
        // SAFETY: a catalogue look-up in a transaction.
        unsafe { pg_sys::getExtensionOfObject(class, object) == self.0 }
    }
}

fn c_function(row: &Row<pg_sys::FormData_pg_proc>) -> Option<Function> {
    // SAFETY: a catalogue look-up in a transaction.
    let c = valid(unsafe { pg_sys::get_language_oid(c"c".as_ptr(), true) });
    if Some(row.prolang) != c || row.proretset {
        return None;
    }
    let source = row.column(pg_sys::Anum_pg_proc_prosrc)?;
    // SAFETY: prosrc is a text, which text_to_cstring copies.
    let symbol = unsafe { CStr::from_ptr(pg_sys::text_to_cstring(source.cast_mut_ptr())) };
    // SAFETY: proargtypes has `pronargs` elements.
    let arguments = unsafe { row.proargtypes.values.as_slice(row.pronargs.max(0) as usize) };
    let (symbol, arguments) = (symbol.to_bytes().to_vec(), arguments.to_vec());
    Some(Function { oid: row.oid, symbol, arguments, result: row.prorettype })
}
