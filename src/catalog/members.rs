//! The extension's own objects, whatever schema they live in.
//!
//! Invariant: a function is taken for ours only if pg_depend says that it is a member of the
//! extension and if its language is C. The caller compares its symbol and its signature with those
//! that our SQL script gives it. A name, a schema, `prosrc` or membership alone prove nothing:
//! anybody may give names, whoever may create functions in the schema may choose `prosrc`, and the
//! extension's owner may add members. Only a superuser creates functions in C.
//!
//! Everything is looked up without regard to the user's rights. A query that calls a function
//! through a view needs no right on the function's schema.

use std::ffi::CStr;

use pgrx::pg_sys;

use super::cache::{self, Row, valid};

/// The extension, installed in this database.
#[derive(Clone, Copy)]
pub struct Extension(pg_sys::Oid);

/// A function of the extension, written in C, that returns one value.
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
        // SAFETY: a catalogue look-up.
        valid(unsafe { pg_sys::get_extension_oid(c"pg_simhash".as_ptr(), true) }).map(Extension)
    }

    pub fn access_method(self) -> Option<pg_sys::Oid> {
        // SAFETY: a catalogue look-up.
        valid(unsafe { pg_sys::get_am_oid(c"simhash".as_ptr(), true) })
            .filter(|&oid| self.has(pg_sys::AccessMethodRelationId, oid))
    }

    /// All functions of a name.
    pub fn functions(self, name: &CStr) -> Vec<Function> {
        let named = [pg_sys::Datum::from(name.as_ptr())];
        let cache = pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP;
        // SAFETY: a look-up by name.
        let found =
            unsafe { cache::rows(cache, &named, |form: &pg_sys::FormData_pg_proc| form.oid) };
        found.into_iter().filter_map(|oid| self.function(oid)).collect()
    }

    /// A function of the extension's.
    pub fn function(self, oid: pg_sys::Oid) -> Option<Function> {
        if !self.has(pg_sys::ProcedureRelationId, oid) {
            return None;
        }
        // SAFETY: a look-up by OID.
        unsafe { cache::row(pg_sys::SysCacheIdentifier::PROCOID, oid, c_function) }?
    }

    /// The operator of these operand types, if a function of the extension's is behind it.
    pub fn operator(
        self,
        name: &CStr,
        left: pg_sys::Oid,
        right: pg_sys::Oid,
    ) -> Option<pg_sys::Oid> {
        self.operator_returning(name, [left, right], pg_sys::BOOLOID)
    }

    /// The same, of one with another result.
    pub fn operator_returning(
        self,
        name: &CStr,
        [left, right]: [pg_sys::Oid; 2],
        result: pg_sys::Oid,
    ) -> Option<pg_sys::Oid> {
        let keys = [name.as_ptr().into(), left.into(), right.into()];
        let cache = pg_sys::SysCacheIdentifier::OPERNAMENSP;
        // SAFETY: a look-up by name and operand types.
        let found = unsafe {
            cache::rows(cache, &keys, |form: &pg_sys::FormData_pg_operator| {
                (form.oid, form.oprcode)
            })
        };
        let (operator, _) = found.into_iter().find(|&(operator, function)| {
            self.has(pg_sys::OperatorRelationId, operator)
                && self
                    .function(function)
                    .is_some_and(|function| function.is([left, right], result))
        })?;
        Some(operator)
    }

    /// Whether an object is a member.
    fn has(self, class: pg_sys::Oid, object: pg_sys::Oid) -> bool {
        // SAFETY: a catalogue look-up.
        unsafe { pg_sys::getExtensionOfObject(class, object) == self.0 }
    }
}

fn c_function(row: &Row<pg_sys::FormData_pg_proc>) -> Option<Function> {
    // SAFETY: a catalogue look-up by name.
    let c = valid(unsafe { pg_sys::get_language_oid(c"c".as_ptr(), true) });
    if Some(row.prolang) != c || row.proretset {
        return None;
    }
    let source = row.column(pg_sys::Anum_pg_proc_prosrc)?;
    // SAFETY: prosrc is a text, of which text_to_cstring makes a copy; there are as many argument
    // types as pronargs says.
    let (symbol, arguments) = unsafe {
        let symbol = CStr::from_ptr(pg_sys::text_to_cstring(source.cast_mut_ptr()));
        let arguments = row.proargtypes.values.as_slice(row.pronargs.max(0) as usize);
        (symbol.to_bytes().to_vec(), arguments.to_vec())
    };
    Some(Function { oid: row.oid, symbol, arguments, result: row.prorettype })
}
