//! The extension's own objects for texts, as [`crate::catalog::members`] identifies them.

use std::ffi::CStr;

use pgrx::pg_sys;

use crate::catalog::members::{Extension, Function};
use crate::types::strategy;

/// A function of two texts that an index of texts serves, and the objects of its condition.
#[derive(Clone, Copy, Debug)]
pub struct TextCalls {
    pub least: Least,
    /// `function(text, text, least, simhash_config) -> boolean`.
    pub function: pg_sys::Oid,
    /// `make(text, least, simhash_config) -> value`.
    pub make: pg_sys::Oid,
    /// The type of a text together with the limit that it is compared by.
    pub value: pg_sys::Oid,
    /// The operator between text and value.
    pub on_text: pg_sys::Oid,
}

/// The lower limit of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Least {
    /// A similarity, as double precision.
    Similarity,
    /// A number of words of a passage, as integer.
    Words,
}

impl TextCalls {
    /// The objects of `shares_passage`. `None` if one is missing.
    pub fn of_passages(extension: Extension) -> Option<Self> {
        Self::look_up(extension, Least::Words, [c"shares_passage", c"text_passage", c"&&"])
    }

    /// The objects of a function, by its name and those of the function that makes values and of
    /// the operator between text and value.
    fn look_up(
        extension: Extension,
        least: Least,
        [function, make, operator]: [&CStr; 3],
    ) -> Option<Self> {
        let (text, limit) = (pg_sys::TEXTOID, least.type_oid());
        let (calls, makers) = (extension.functions(function), extension.functions(make));
        let (function, config) = calls.iter().find_map(|call| {
            let &[_, _, _, config] = call.arguments.as_slice() else { return None };
            let is_ours = is_symbol(call, function.to_bytes())
                && call.is([text, text, limit, config], pg_sys::BOOLOID);
            is_ours.then_some((call.oid, config))
        })?;
        let made = makers.iter().find(|maker| {
            is_symbol(maker, make.to_bytes()) && maker.arguments == [text, limit, config]
        })?;
        let on_text = extension.operator(operator, text, made.result)?;
        Some(TextCalls { least, function, make: made.oid, value: made.result, on_text })
    }

    /// The function of the operator between text and value.
    pub fn operates(&self) -> pg_sys::Oid {
        // SAFETY: a catalogue look-up in a transaction.
        unsafe { pg_sys::get_opcode(self.on_text) }
    }

    /// Whether an operator family serves the operator between text and value.
    pub fn is_of_texts(&self, family: pg_sys::Oid) -> bool {
        is_near(self.on_text, family)
    }
}

impl Least {
    fn type_oid(self) -> pg_sys::Oid {
        match self {
            Least::Similarity => pg_sys::FLOAT8OID,
            Least::Words => pg_sys::INT4OID,
        }
    }
}

/// The objects of `near_duplicate`, and of its rewritten calls.
#[derive(Clone, Copy, Debug)]
pub struct NearObjects {
    /// Those for calls that an index on the text itself serves.
    pub calls: TextCalls,
    /// `near_text ~= near_text`.
    pub on_values: pg_sys::Oid,
}

impl NearObjects {
    /// `None` if an object is missing.
    pub fn look_up(extension: Extension) -> Option<Self> {
        let names = [c"near_duplicate", c"near_text", c"~="];
        let calls = TextCalls::look_up(extension, Least::Similarity, names)?;
        let on_values = extension.operator(c"~=", calls.value, calls.value)?;
        Some(NearObjects { calls, on_values })
    }

    /// Whether an operator family serves `near_text ~= near_text`.
    pub fn is_of_values(&self, family: pg_sys::Oid) -> bool {
        is_near(self.on_values, family)
    }
}

/// Whether a function's symbol begins with `name` and an underscore, as pgrx names it.
fn is_symbol(function: &Function, name: &[u8]) -> bool {
    function.symbol.strip_prefix(name).is_some_and(|rest| rest.starts_with(b"_"))
}

fn is_near(operator: pg_sys::Oid, family: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up in a transaction.
    unsafe { pg_sys::get_op_opfamily_strategy(operator, family) == i32::from(strategy::NEAR) }
}
