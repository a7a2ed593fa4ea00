//! The extension's own objects that concern texts, as [`crate::catalog::members`] knows them.

use pgrx::pg_sys;

use crate::catalog::members::{Extension, Function};
use crate::types::strategy;

/// `near_duplicate`, and what its calls become.
#[derive(Clone, Copy, Debug)]
pub struct NearObjects {
    /// `near_duplicate(text, text, double precision, simhash_config) -> boolean`.
    pub near_duplicate: pg_sys::Oid,
    /// `near_text(text, double precision, simhash_config) -> near_text`.
    pub make: pg_sys::Oid,
    /// The type near_text.
    pub value: pg_sys::Oid,
    /// `text ~= near_text`.
    pub on_text: pg_sys::Oid,
    /// `near_text ~= near_text`.
    pub on_values: pg_sys::Oid,
}

impl NearObjects {
    /// `None` if something is missing.
    pub fn look_up(extension: Extension) -> Option<Self> {
        let text = pg_sys::TEXTOID;
        let calls = extension.functions(c"near_duplicate");
        let (near_duplicate, config) = calls.iter().find_map(|call| {
            let &[_, _, _, config] = call.arguments.as_slice() else { return None };
            let is_ours = is_symbol(call, b"near_duplicate")
                && call.is([text, text, pg_sys::FLOAT8OID, config], pg_sys::BOOLOID);
            is_ours.then_some((call.oid, config))
        })?;
        let makers = extension.functions(c"near_text");
        let make = makers.iter().find(|make| {
            is_symbol(make, b"near_text") && make.arguments == [text, pg_sys::FLOAT8OID, config]
        })?;
        let value = make.result;
        Some(NearObjects {
            near_duplicate,
            make: make.oid,
            value,
            on_text: extension.operator(c"~=", text, value)?,
            on_values: extension.operator(c"~=", value, value)?,
        })
    }

    /// Whether an operator family answers `text ~= near_text`.
    pub fn is_of_texts(&self, family: pg_sys::Oid) -> bool {
        is_near(self.on_text, family)
    }

    /// Whether an operator family answers `near_text ~= near_text`.
    pub fn is_of_values(&self, family: pg_sys::Oid) -> bool {
        is_near(self.on_values, family)
    }
}

/// Whether a function's symbol is `name`, as pgrx names it, or begins with it.
fn is_symbol(function: &Function, name: &[u8]) -> bool {
    function.symbol.strip_prefix(name).is_some_and(|rest| rest.starts_with(b"_"))
}

fn is_near(operator: pg_sys::Oid, family: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up.
    unsafe { pg_sys::get_op_opfamily_strategy(operator, family) == i32::from(strategy::NEAR) }
}
