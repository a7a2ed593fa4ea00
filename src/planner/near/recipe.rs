//! What an index of texts was made for, and whether that serves a call.

use std::rc::Rc;

use pgrx::{PgList, pg_sys};

use super::objects::{Least, TextCalls};
use crate::storage::{self, IndexRel};
use crate::types::ConfigText;
use crate::types::datum::Decode;

/// What a call or an index asks for: the similarity or the number of words, if that is known, and
/// the configuration.
pub struct Asked<'a> {
    pub of: Least,
    pub least: Option<f64>,
    pub config: ConfigText<'a>,
}

/// What the meta page of an index of texts says.
pub struct Recipe {
    of: Least,
    /// The least similarity that it serves, or number of words.
    least: f64,
    /// The canonical text of the configuration is its first line.
    note: Rc<str>,
}

impl Recipe {
    /// `None` if the index is no index of texts.
    ///
    /// # Safety
    /// The index is one of this access method, and locked.
    pub unsafe fn of(index: pg_sys::Oid) -> Option<Recipe> {
        // SAFETY: as this function's; the relation is closed when nothing uses it any more.
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

    /// Whether the index finds what is asked for. A similarity that is known only at run time may
    /// turn out smaller than the index's. Then the scan returns every row.
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

    /// What the call asks for. `None` unless the configuration is a constant, or if the similarity
    /// is one that raises an ERROR at run time.
    pub unsafe fn asked<'a>(&self) -> Option<Asked<'a>> {
        // SAFETY: expressions of the types that the function takes.
        unsafe { asked(self.of, self.least, self.config) }
    }
}

/// # Safety
/// The expressions are of the type of `of`, and simhash_config.
pub unsafe fn asked<'a>(
    of: Least,
    least: *mut pg_sys::Node,
    config: *mut pg_sys::Node,
) -> Option<Asked<'a>> {
    // SAFETY: as this function's.
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

/// What a constant asks for. `None` for what raises an ERROR at run time.
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
    // SAFETY: the node is cast only to the type its tag says.
    unsafe {
        if !pgrx::is_a(node, pg_sys::NodeTag::T_Const) {
            return None;
        }
        let constant = node.cast::<pg_sys::Const>();
        (!(*constant).constisnull).then(|| (*constant).constvalue)
    }
}
