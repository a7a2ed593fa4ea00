//! The planner's requests to support functions.

use pgrx::pg_sys;

use super::expr::Expr;
use super::rel::RelIndex;
use super::root::Root;
use super::selectivity::Clause;

/// A request that a support function of ours may answer. An answer that is a number is put where
/// the request has its place.
pub enum Request<'r> {
    Simplify { root: Option<Root>, call: Expr },
    Selectivity { function: pg_sys::Oid, clause: Clause, answer: &'r mut f64 },
    Cost { root: Option<Root>, node: Option<Expr>, startup: &'r mut f64, per_tuple: &'r mut f64 },
    Rows { function: pg_sys::Oid, node: Option<Expr>, answer: &'r mut f64 },
    IndexCondition(IndexCondition<'r>),
}

/// The request for the condition that an index can serve in place of a call.
pub struct IndexCondition<'r> {
    pub root: Root,
    pub call: Expr,
    /// The number of the call's argument that the index is on.
    pub argument: usize,
    pub index: RelIndex,
    /// The number of the index's key column, and its operator family.
    pub column: usize,
    pub family: pg_sys::Oid,
    /// Whether the call has to be evaluated for the rows that the condition finds.
    pub lossy: &'r mut bool,
}

impl Request<'_> {
    /// `None` for a request of another kind.
    ///
    /// # Safety
    /// `request` is a support request of the planner, which nothing else uses while the result
    /// exists.
    pub unsafe fn of(request: *mut pg_sys::Node) -> Option<Self> {
        // SAFETY: the request has the type that its tag says.
        unsafe {
            match (*request).type_ {
                pg_sys::NodeTag::T_SupportRequestSimplify => Self::simplify(&*request.cast()),
                pg_sys::NodeTag::T_SupportRequestSelectivity => {
                    Self::selectivity(&mut *request.cast())
                }
                pg_sys::NodeTag::T_SupportRequestCost => Self::cost(&mut *request.cast()),
                pg_sys::NodeTag::T_SupportRequestRows => Self::rows(&mut *request.cast()),
                pg_sys::NodeTag::T_SupportRequestIndexCondition => {
                    IndexCondition::of(&mut *request.cast()).map(Request::IndexCondition)
                }
                _ => None,
            }
        }
    }
}

impl<'r> Request<'r> {
    unsafe fn simplify(asked: &pg_sys::SupportRequestSimplify) -> Option<Self> {
        // SAFETY: the planner filled the request in.
        let (root, call) = unsafe { (Root::new(asked.root), Expr::new(asked.fcall.cast())) };
        Some(Request::Simplify { root, call: call? })
    }

    unsafe fn selectivity(asked: &'r mut pg_sys::SupportRequestSelectivity) -> Option<Self> {
        let join = if asked.is_join { asked.sjinfo } else { std::ptr::null_mut() };
        // SAFETY: the planner filled the request in.
        let clause = unsafe { Clause::new(asked.root, asked.args, asked.varRelid, join)? };
        let answer = &mut asked.selectivity;
        Some(Request::Selectivity { function: asked.funcid, clause, answer })
    }

    unsafe fn cost(asked: &'r mut pg_sys::SupportRequestCost) -> Option<Self> {
        // SAFETY: the planner filled the request in.
        let (root, node) = unsafe { (Root::new(asked.root), Expr::new(asked.node)) };
        let (startup, per_tuple) = (&mut asked.startup, &mut asked.per_tuple);
        Some(Request::Cost { root, node, startup, per_tuple })
    }

    unsafe fn rows(asked: &'r mut pg_sys::SupportRequestRows) -> Option<Self> {
        // SAFETY: the planner filled the request in.
        let node = unsafe { Expr::new(asked.node) };
        Some(Request::Rows { function: asked.funcid, node, answer: &mut asked.rows })
    }
}

impl<'r> IndexCondition<'r> {
    unsafe fn of(asked: &'r mut pg_sys::SupportRequestIndexCondition) -> Option<Self> {
        // SAFETY: the planner filled the request in.
        let (root, call, index) = unsafe {
            (Root::new(asked.root)?, Expr::new(asked.node)?, RelIndex::new(asked.index)?)
        };
        let argument = usize::try_from(asked.indexarg).ok()?;
        let column = usize::try_from(asked.indexcol).ok()?;
        let (family, lossy) = (asked.opfamily, &mut asked.lossy);
        Some(IndexCondition { root, call, argument, index, column, family, lossy })
    }

    /// Whether an index scan can evaluate an expression before it begins: it is neither volatile
    /// nor of the index's table.
    pub fn can_compute(&self, expression: Expr) -> bool {
        let relations = self.root.relations_in(expression);
        !relations.contains(self.index.table()) && !expression.is_volatile()
    }
}
