//! What an index of texts was made for, and whether that serves a call.

use std::rc::Rc;

use pgrx::{PgList, pg_sys};

use super::objects::NearObjects;
use crate::storage::{self, IndexRel};
use crate::types::ConfigText;
use crate::types::datum::Decode;

/// What a call or an index asks for: the similarity, if that is known, and the configuration.
pub struct Asked<'a> {
    pub similarity: Option<f64>,
    pub config: ConfigText<'a>,
}

/// What the meta page of an index of texts says.
pub struct Recipe {
    /// The least similarity that it serves.
    similarity: f64,
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
            let recipe = meta.is_of_postings().then(|| Recipe {
                similarity: f64::from_bits(meta.similarity),
                note: storage::note(opened),
            });
            pg_sys::index_close(rel, pg_sys::NoLock as pg_sys::LOCKMODE);
            recipe
        }
    }

    /// Whether the index finds what is asked for. A similarity that is known only at run time may
    /// turn out smaller than the index's. Then the scan returns every row.
    pub fn serves(&self, asked: &Asked<'_>) -> bool {
        let is_own = |own| ConfigText::same_sets(own, asked.config.as_str());
        self.note.lines().next().is_some_and(is_own)
            && asked.similarity.is_none_or(|similarity| similarity >= self.similarity)
    }
}

/// A call of `near_duplicate`.
pub struct Call {
    pub texts: [*mut pg_sys::Node; 2],
    pub similarity: *mut pg_sys::Node,
    pub config: *mut pg_sys::Node,
    pub collation: pg_sys::Oid,
}

impl Call {
    /// # Safety
    /// `node` is an expression or null.
    pub unsafe fn of(near: &NearObjects, node: *mut pg_sys::Node) -> Option<Call> {
        // SAFETY: the node is cast only to the type its tag says.
        unsafe {
            if node.is_null() || !pgrx::is_a(node, pg_sys::NodeTag::T_FuncExpr) {
                return None;
            }
            let call = node.cast::<pg_sys::FuncExpr>();
            if (*call).funcid != near.near_duplicate {
                return None;
            }
            let arguments = PgList::<pg_sys::Node>::from_pg((*call).args);
            Some(Call {
                texts: [arguments.get_ptr(0)?, arguments.get_ptr(1)?],
                similarity: arguments.get_ptr(2)?,
                config: arguments.get_ptr(3)?,
                collation: (*call).inputcollid,
            })
        }
    }

    /// What the call asks for. `None` unless the configuration is a constant, or if the similarity
    /// is one that raises an ERROR at run time.
    pub unsafe fn asked<'a>(&self) -> Option<Asked<'a>> {
        // SAFETY: expressions of the types that near_duplicate takes.
        unsafe { asked(self.similarity, self.config) }
    }
}

/// # Safety
/// The expressions are of types double precision and simhash_config.
pub unsafe fn asked<'a>(
    similarity: *mut pg_sys::Node,
    config: *mut pg_sys::Node,
) -> Option<Asked<'a>> {
    // SAFETY: as this function's.
    unsafe {
        let config = ConfigText::decode(constant(config)?);
        let similarity = if pgrx::is_a(similarity, pg_sys::NodeTag::T_Const) {
            let similarity = f64::from_bits(constant(similarity)?.value() as u64);
            simhash_core::sets::sketch::Law::of(similarity)?;
            Some(similarity)
        } else {
            None
        };
        Some(Asked { similarity, config })
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
