//! Reads what an index of texts was made for, and decides whether it serves a call.

use std::rc::Rc;

use pgrx::pg_sys;

use super::objects::{Least, TextCalls};
use crate::planner::expr::{Constant, Expr};
use crate::planner::nodes::{call, operation};
use crate::planner::root::Root;
use crate::storage::{self, IndexRel};
use crate::types::ConfigText;
use crate::types::datum::{Decode, Encode};

/// What a call or an index's value asks for: the similarity or the number of words, if that is
/// known, and the configuration.
pub struct Asked<'a> {
    pub of: Least,
    pub least: Option<f64>,
    pub config: ConfigText<'a>,
}

/// What an index of texts was made for, from its meta page and its note.
pub struct Recipe {
    of: Least,
    /// The least similarity or number of words that it serves.
    least: f64,
    /// Its first line is the canonical text of the configuration.
    note: Rc<str>,
}

impl Recipe {
    /// `None` if the index is not of texts.
    pub fn of(index: IndexRel) -> Option<Recipe> {
        let meta = storage::meta(index);
        let (of, least) = match meta.is_of_passages() {
            true => (Least::Words, f64::from(meta.rows)),
            false => (Least::Similarity, f64::from_bits(meta.similarity)),
        };
        meta.is_of_postings().then(|| Recipe { of, least, note: storage::note(index) })
    }

    /// Whether the index serves what is asked for. A similarity that is known only at run time may
    /// be smaller than the index's. Then the scan returns every row.
    pub fn serves(&self, asked: &Asked<'_>) -> bool {
        let is_own = |own| match self.of {
            Least::Similarity => ConfigText::same_sets(own, asked.config.as_str()),
            Least::Words => ConfigText::same_tokens(own, asked.config.as_str()),
        };
        self.of == asked.of
            && self.note.lines().next().is_some_and(is_own)
            && asked.least.is_none_or(|least| least >= self.least)
    }
}

/// A call of `near_duplicate`, or of `shares_passage`. Invariant: the expressions are arguments of
/// such a call.
#[derive(Clone, Copy)]
pub struct Call {
    of: TextCalls,
    texts: [Expr; 2],
    /// The similarity, or the number of words.
    least: Expr,
    config: Expr,
    collation: pg_sys::Oid,
}

impl Call {
    pub fn of(calls: TextCalls, node: Expr) -> Option<Call> {
        let call = node.call()?;
        let [a, b, least, config] = node.arguments_of(calls.function)?.first()?;
        Some(Call { of: calls, texts: [a, b], least, config, collation: call.inputcollid })
    }

    pub fn texts(&self) -> [Expr; 2] {
        self.texts
    }

    /// The similarity, or the number of words.
    pub fn least(&self) -> Expr {
        self.least
    }

    /// The limit and the config of the call. `None` if the config is not constant, or if a constant
    /// limit would raise an ERROR at run time.
    pub fn asked(&self) -> Option<Asked<'_>> {
        // SAFETY: the function takes arguments of these types.
        unsafe { asked(self.of.least, self.least, self.config) }
    }

    /// The same call with another config, if its own is constant.
    pub fn with_config(self, config: ConfigText<'_>) -> Call {
        let copy = self.config.copy();
        if copy.is_constant() {
            // SAFETY: the copy is a Const, and of the type simhash_config.
            unsafe { (*copy.as_ptr().cast::<pg_sys::Const>()).constvalue = config.encode() };
        }
        Call { config: copy, ..self }
    }

    /// One of its texts together with its limit and config: `near_text(body, 0.7, '{}')`, or
    /// `text_passage(body, 25, '{}')`.
    pub fn value(&self, text: usize) -> Expr {
        let arguments = [self.texts[text], self.least, self.config];
        // SAFETY: the function takes a text, a limit and a config of the call's types.
        unsafe { call(self.of.make, self.of.value, &arguments) }
    }

    /// The condition `indexed ~= near_text(other, similarity, config)`, or
    /// `indexed && text_passage(other, words, config)`, for one of the texts. It is true, false or
    /// NULL exactly where the call is.
    pub fn condition(&self, root: Root, indexed: usize) -> Expr {
        let operands = [self.texts[indexed], root.folded(self.value(1 - indexed))];
        // SAFETY: the operator is of a text and such a value.
        unsafe { operation(self.of.on_text, pg_sys::BOOLOID, operands, self.collation) }
    }
}

/// The limit and the config of a call, from its arguments.
///
/// # Safety
/// The expressions have the type of `of`, and simhash_config.
pub unsafe fn asked<'a>(of: Least, least: Expr, config: Expr) -> Option<Asked<'a>> {
    // SAFETY: a constant config is a simhash_config.
    let config = unsafe { ConfigText::decode(config.constant()?.datum()) };
    let least = match least.is_constant() {
        true => Some(known(of, least.constant()?)?),
        false => None,
    };
    Some(Asked { of, least, config })
}

/// The value of a constant limit. `None` if it would raise an ERROR at run time.
fn known(of: Least, value: Constant) -> Option<f64> {
    match of {
        Least::Similarity => {
            let similarity = value.double();
            simhash_core::sets::sketch::Law::of(similarity).map(|_| similarity)
        }
        Least::Words => {
            let words = usize::try_from(value.datum().value() as i32).ok()?;
            simhash_core::passages::WORDS.contains(&words).then_some(words as f64)
        }
    }
}
