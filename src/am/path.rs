//! An index path of the planner's, as the cost model reads it.

use pgrx::{PgList, pg_sys};

use crate::planner::{Expr, index_quals};

/// An index path whose cost is asked for, and the planner's state. Both are valid while a copy is
/// used, and so are their lists.
#[derive(Clone, Copy)]
pub struct Path {
    root: *mut pg_sys::PlannerInfo,
    path: *mut pg_sys::IndexPath,
}

/// A condition of a path on the column with this number.
pub struct Qual {
    pub column: usize,
    pub info: *mut pg_sys::RestrictInfo,
    pub clause: Expr,
}

impl Path {
    /// # Safety
    /// The path is over an index of this access method. Both are the planner's, and valid while a
    /// copy of the result is used.
    pub unsafe fn new(root: *mut pg_sys::PlannerInfo, path: *mut pg_sys::IndexPath) -> Self {
        Self { root, path }
    }

    pub fn root(self) -> *mut pg_sys::PlannerInfo {
        self.root
    }

    pub fn as_ptr(self) -> *mut pg_sys::IndexPath {
        self.path
    }

    pub fn index(&self) -> &pg_sys::IndexOptInfo {
        // SAFETY: a path has the description of its index.
        unsafe { &*self.data().indexinfo }
    }

    /// The number of the searched column, which is the last key column.
    pub fn searched(self) -> usize {
        self.index().nkeycolumns as usize - 1
    }

    pub fn quals(self) -> Vec<Qual> {
        // SAFETY: the path is the planner's.
        let quals = unsafe { index_quals(self.path) }.into_iter();
        let quals = quals.filter_map(|(column, info)| {
            // SAFETY: a qual's clause is an expression of the planner's.
            let clause = unsafe { Expr::new((*info).clause.cast()) }?;
            Some(Qual { column, info, clause })
        });
        quals.collect()
    }

    /// How many clauses the index serves.
    pub fn conditions(self) -> usize {
        // SAFETY: the path's list of its clauses.
        unsafe { PgList::<pg_sys::IndexClause>::from_pg(self.data().indexclauses) }.len()
    }

    /// By how many distances rows are ordered.
    pub fn orders(self) -> usize {
        // SAFETY: the path's list of its order-bys.
        unsafe { PgList::<pg_sys::Node>::from_pg(self.data().indexorderbys) }.len()
    }

    pub fn is_index_only(self) -> bool {
        self.data().path.pathtype == pg_sys::NodeTag::T_IndexOnlyScan
    }

    fn data(&self) -> &pg_sys::IndexPath {
        // SAFETY: the path is valid while this is used.
        unsafe { &*self.path }
    }
}
