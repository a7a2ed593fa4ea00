//! Reads what an index of texts was made for, and decides whether it serves a call.

use std::rc::Rc;

use pgrx::{PgList, pg_sys};

use super::objects::{Least, TextCalls};
use crate::storage::{self, IndexRel};
use crate::types::ConfigText;
use crate::types::datum::Decode;

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
    ///
    /// # Safety
    /// `index` is of this access method, and locked.
    pub unsafe fn of(index: pg_sys::Oid) -> Option<Recipe> {
        // SAFETY: the caller has locked the index, and the relation is closed after its last use.
        unsafe {
            let rel = pg_sys::index_open(index, pg_sys::NoLock as pg_sys::LOCKMODE);
            let opened = IndexRel::new(rel);
            let meta = storage::meta(opened);
            let (of, least) = match meta.is_of_passages() {
                true => (Least::Words, f64::from(meta.rows)),
                false => (Least::Similarity, f64::from_bits(meta.similarity)),
            };
            let note = || storage::note(opened);
            let recipe = meta.is_of_postings().then(|| Recipe { of, least, note: note() });
            pg_sys::index_close(rel, pg_sys::NoLock as pg_sys::LOCKMODE);
            recipe
        }
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

/// A call of `near_duplicate`, or of `shares_passage`.
pub struct Call {
    of: Least,
    pub texts: [*mut pg_sys::Node; 2],
    /// The similarity, or the number of words.
    pub least: *mut pg_sys::Node,
    pub config: *mut pg_sys::Node,
    pub collation: pg_sys::Oid,
}

impl Call {
    /// # Safety
    /// `node` is an expression or null.
    pub unsafe fn of(calls: &TextCalls, node: *mut pg_sys::Node) -> Option<Call> {
        // SAFETY: the node is cast only to the type its tag says.
        unsafe {
            if node.is_null() || !pgrx::is_a(node, pg_sys::NodeTag::T_FuncExpr) {
                return None;
            }
            let call = node.cast::<pg_sys::FuncExpr>();
            if (*call).funcid != calls.function {
                return None;
            }
            let arguments = PgList::<pg_sys::Node>::from_pg((*call).args);
            Some(Call {
                of: calls.least,
                texts: [arguments.get_ptr(0)?, arguments.get_ptr(1)?],
                least: arguments.get_ptr(2)?,
                config: arguments.get_ptr(3)?,
                collation: (*call).inputcollid,
            })
        }
    }

    /// The limit and the config of the call. `None` if the config is not constant, or if a constant
    /// limit would raise an ERROR at run time.
    pub unsafe fn asked<'a>(&self) -> Option<Asked<'a>> {
        // SAFETY: the call's arguments have the types that its function takes.
        unsafe { asked(self.of, self.least, self.config) }
    }
}

/// The limit and the config of a call, from its arguments.
///
/// # Safety
/// The expressions have the type of `of`, and simhash_config.
pub unsafe fn asked<'a>(
    of: Least,
    least: *mut pg_sys::Node,
    config: *mut pg_sys::Node,
) -> Option<Asked<'a>> {
    // SAFETY: the datum of a constant config is a simhash_config, and that of a limit has the type
    // of `of`.
    unsafe {
        let config = ConfigText::decode(constant(config)?);
        let least = if pgrx::is_a(least, pg_sys::NodeTag::T_Const) {
            Some(known(of, constant(least)?.value() as u64)?)
        } else {
            None
        };
        Some(Asked { of, least, config })
    }
}

/// The value of a constant limit. `None` if it would raise an ERROR at run time.
fn known(of: Least, value: u64) -> Option<f64> {
    match of {
        Least::Similarity => {
            let similarity = f64::from_bits(value);
            simhash_core::sets::sketch::Law::of(similarity).map(|_| similarity)
        }
        Least::Words => {
            let words = usize::try_from(value as i32).ok()?;
            simhash_core::passages::WORDS.contains(&words).then_some(words as f64)
        }
    }
}

/// The value of a constant that is not NULL.
///
/// # Safety
/// `node` is an expression.
pub unsafe fn constant(node: *mut pg_sys::Node) -> Option<pg_sys::Datum> {
    // SAFETY: `node` is an expression, and is cast only to the type its tag says.
    unsafe {
        if !pgrx::is_a(node, pg_sys::NodeTag::T_Const) {
            return None;
        }
        let constant = node.cast::<pg_sys::Const>();
        (!(*constant).constisnull).then(|| (*constant).constvalue)
    }
}
