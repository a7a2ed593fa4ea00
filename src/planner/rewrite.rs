//! The hook that rewrites a query's quals before the planner distributes them.
//!
//! Invariant: a rewritten clause is true for exactly the rows for which the user's clause is true.
//! It may be NULL where the user's clause is false. So only quals are rewritten, and in them only
//! clauses at the top or under AND and OR, where NULL and false have the same effect.

use std::sync::OnceLock;

use pgrx::{PgList, pg_guard, pg_sys};

use super::balls::OwnBall;
use super::index::{appended, is_indexed, member_is_indexed, of_member};
use super::measures::Measure;
use super::near::constraint;
use super::nodes::{Rewritten, both, int8_const, within_ball, within_call};
use super::order;
use super::pattern::{Comparison, Pattern};
use super::values::Values;
use crate::compat;
use crate::guc;
use crate::memory;

// The order of steps in PostgreSQL 14 to 19: the hook runs for the relations of the jointree, quals
// are distributed, the hook runs for partitions and for members of UNION ALL.

/// The hook that was installed before, which is called first.
static PREVIOUS: OnceLock<compat::RelationHook> = OnceLock::new();

/// Must be called once, from `_PG_init`.
pub fn install() {
    // SAFETY: a backend is single-threaded, and hooks are set while a library is loaded.
    unsafe {
        let hook = compat::relation_hook();
        PREVIOUS.get_or_init(|| *hook);
        *hook = Some(relation_hook);
    }
}

#[cfg(not(feature = "pg19"))]
#[pg_guard]
unsafe extern "C-unwind" fn relation_hook(
    root: *mut pg_sys::PlannerInfo,
    relation: pg_sys::Oid,
    inherited: bool,
    rel: *mut pg_sys::RelOptInfo,
) {
    // SAFETY: the arguments are the planner's, and are passed on unchanged.
    unsafe {
        if let Some(Some(previous)) = PREVIOUS.get() {
            pg_sys::ffi::pg_guard_ffi_boundary(|| previous(root, relation, inherited, rel));
        }
        look_at(root, rel);
    }
}

/// From PostgreSQL 19 on, the hook is also called for relations that are no tables.
#[cfg(feature = "pg19")]
#[pg_guard]
unsafe extern "C-unwind" fn relation_hook(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    entry: *mut pg_sys::RangeTblEntry,
) {
    // SAFETY: the arguments are the planner's, and are passed on unchanged.
    unsafe {
        if let Some(Some(previous)) = PREVIOUS.get() {
            pg_sys::ffi::pg_guard_ffi_boundary(|| previous(root, rel, entry));
        }
        if (*entry).rtekind == pg_sys::RTEKind::RTE_RELATION {
            look_at(root, rel);
        }
    }
}

/// Rewrites the query's quals and order at its first relation. For each relation it rewrites the
/// predicates of its indexes, and the quals of its UNION ALL. The relation has no quals of its own
/// yet.
unsafe fn look_at(root: *mut pg_sys::PlannerInfo, rel: *mut pg_sys::RelOptInfo) {
    // SAFETY: the arguments are the hook's.
    unsafe {
        if !guc::rewrite_enabled() {
            return;
        }
        memory::prepare();
        let jointree = (*(*root).parse).jointree;
        if jointree.is_null() {
            return;
        }
        let rewriter = Rewriter { root, member: None };
        if is_first(root, rel) {
            rewriter.jointree(jointree.cast());
            order::by_operators(root);
        }
        rewriter.index_predicates(rel);
        members_of_union(root, rel);
    }
}

/// Whether a relation is the first of the query that the planner looks up. Then no qual has been
/// distributed, and all relations of the query are in its range table and locked. A relation enters
/// the planner's array after its hook has run, and a partition is looked up after its parent.
unsafe fn is_first(root: *mut pg_sys::PlannerInfo, rel: *mut pg_sys::RelOptInfo) -> bool {
    // SAFETY: the arguments are the hook's, and the array's members are null or relations.
    unsafe {
        let looked_at = |relid: usize| {
            let other = *(*root).simple_rel_array.add(relid);
            !other.is_null() && (*other).rtekind == pg_sys::RTEKind::RTE_RELATION
        };
        (*rel).reloptkind == pg_sys::RelOptKind::RELOPT_BASEREL
            && !(1..(*root).simple_rel_array_size as usize).any(looked_at)
    }
}

/// Rewrites clauses of one query level. A second time changes nothing: the result is no pattern,
/// and a pattern that stays beside its rewritten form is left alone.
struct Rewriter {
    root: *mut pg_sys::PlannerInfo,
    /// The member of a UNION ALL for which the clauses are rewritten. The clauses refer to columns
    /// of the union.
    member: Option<*mut pg_sys::AppendRelInfo>,
}

impl Rewriter {
    /// Rewrites the quals of every FROM and JOIN: lists of clauses, implicitly ANDed.
    unsafe fn jointree(&self, node: *mut pg_sys::Node) {
        // SAFETY: the node is cast only to the type its tag says.
        unsafe {
            match (*node).type_ {
                pg_sys::NodeTag::T_FromExpr => {
                    let from = node.cast::<pg_sys::FromExpr>();
                    for item in PgList::<pg_sys::Node>::from_pg((*from).fromlist).iter_ptr() {
                        self.jointree(item);
                    }
                    self.quals(&mut (*from).quals);
                }
                pg_sys::NodeTag::T_JoinExpr => {
                    let join = node.cast::<pg_sys::JoinExpr>();
                    self.jointree((*join).larg);
                    self.jointree((*join).rarg);
                    self.quals(&mut (*join).quals);
                }
                _ => {}
            }
        }
    }

    unsafe fn quals(&self, quals: &mut *mut pg_sys::Node) {
        // SAFETY: after preprocessing, quals are null or a List. Anything else is left alone.
        unsafe {
            if quals.is_null() || !pgrx::is_a(*quals, pg_sys::NodeTag::T_List) {
                return;
            }
            let mut clauses = PgList::<pg_sys::Node>::from_pg(quals.cast());
            self.conjuncts(&mut clauses);
            *quals = clauses.into_pg().cast();
        }
    }

    unsafe fn conjuncts(&self, clauses: &mut PgList<pg_sys::Node>) {
        // SAFETY: the members are expressions of this query level.
        unsafe {
            for i in 0..clauses.len() {
                let Some(clause) = clauses.get_ptr(i) else { continue };
                match self.clause(clause) {
                    None => {}
                    Some(Rewritten::Instead(rewritten)) => clauses.replace_ptr(i, rewritten),
                    Some(Rewritten::Beside(rewritten))
                        if pg_sys::list_member(clauses.as_ptr(), rewritten.cast()) => {}
                    Some(Rewritten::Beside(rewritten)) => {
                        clauses.replace_ptr(i, rewritten);
                        clauses.push(clause);
                    }
                }
            }
        }
    }

    /// The rewritten form of a clause, if it has one. AND and OR are changed in place.
    unsafe fn clause(&self, clause: *mut pg_sys::Node) -> Option<Rewritten> {
        // SAFETY: the clause is an expression of this query level.
        unsafe {
            if clause.is_null() {
                return None;
            }
            if pgrx::is_a(clause, pg_sys::NodeTag::T_BoolExpr) {
                self.arms(clause.cast());
                return None;
            }
            if let Some(rewritten) = self.near(clause) {
                return Some(rewritten);
            }
            if let Some(pattern) = Pattern::of(clause) {
                let Pattern { measure, x, y, .. } = pattern;
                let rewritten = self.within(measure, x, y, || pattern.radius())?;
                return Some(match pattern.comparison {
                    Comparison::Equal => Rewritten::Beside(rewritten),
                    Comparison::Less | Comparison::AtMost => Rewritten::Instead(rewritten),
                });
            }
            let values = Values::of(clause)?;
            let mut is_ball = false;
            let radius = || {
                let reach = values.reach()?;
                is_ball = reach.is_ball;
                Some(int8_const(i64::from(reach.radius)))
            };
            let rewritten = self.within(values.measure, values.x, values.y, radius)?;
            let make = if is_ball { Rewritten::Instead } else { Rewritten::Beside };
            Some(make(rewritten))
        }
    }

    /// Rewrites the arms of an OR, or of an AND inside one. The planner relies on flat expressions,
    /// so an AND never becomes an arm of an AND.
    unsafe fn arms(&self, expression: *mut pg_sys::BoolExpr) {
        // SAFETY: a BoolExpr's arguments are expressions.
        unsafe {
            let mut arms = PgList::<pg_sys::Node>::from_pg((*expression).args);
            match (*expression).boolop {
                pg_sys::BoolExprType::AND_EXPR => self.conjuncts(&mut arms),
                pg_sys::BoolExprType::OR_EXPR => {
                    for i in 0..arms.len() {
                        let Some(arm) = arms.get_ptr(i) else { continue };
                        match self.clause(arm) {
                            None => {}
                            Some(Rewritten::Instead(rewritten)) => arms.replace_ptr(i, rewritten),
                            Some(Rewritten::Beside(rewritten)) => {
                                arms.replace_ptr(i, both(rewritten, arm));
                            }
                        }
                    }
                }
                _ => {}
            }
            (*expression).args = arms.into_pg();
        }
    }

    /// The form that an index can serve, if there is an index for it and the role may execute its
    /// functions.
    unsafe fn within(
        &self,
        measure: Measure,
        x: *mut pg_sys::Node,
        y: *mut pg_sys::Node,
        radius: impl FnOnce() -> Option<*mut pg_sys::Node>,
    ) -> Option<*mut pg_sys::Node> {
        // SAFETY: expressions of this query level.
        unsafe {
            let (on_x, on_y) = (self.is_indexed(x, &measure), self.is_indexed(y, &measure));
            if !on_x && !on_y {
                let ball = |center| OwnBall::around(self.root, &measure, center);
                let balls = [(ball(x), y), (ball(y), x)];
                if balls.iter().all(|(ball, _)| ball.is_none()) {
                    return None;
                }
                let radius = radius()?;
                let near = |(ball, other): (Option<OwnBall>, _)| {
                    ball?.near(self.root, &measure, other, radius)
                };
                return balls.into_iter().find_map(near);
            }
            let radius = radius()?;
            let makes = if on_x && on_y { measure.within } else { measure.make_ball };
            if !measure.may_use(self.root, &[measure.hamming, makes]) {
                return None;
            }
            Some(match (on_x, on_y) {
                (true, true) => within_call(measure, x, y, radius),
                (true, false) => within_ball(self.root, measure, x, y, radius),
                (false, _) => within_ball(self.root, measure, y, x, radius),
            })
        }
    }

    /// The clause that an index on near_text serves in place of a call of near_duplicate.
    unsafe fn near(&self, clause: *mut pg_sys::Node) -> Option<Rewritten> {
        // SAFETY: a clause of this query level.
        unsafe {
            constraint::rewritten(self.root, clause, |text| match self.member {
                Some(member) => of_member(member, text),
                None => Some(text),
            })
        }
    }

    unsafe fn is_indexed(&self, expression: *mut pg_sys::Node, measure: &Measure) -> bool {
        // SAFETY: an expression of this query level, of the measure's type.
        unsafe {
            match self.member {
                Some(member) => member_is_indexed(self.root, member, expression, measure),
                None => is_indexed(self.root, expression, measure),
            }
        }
    }

    /// Rewrites predicates of partial indexes, so that they still match the query's clauses.
    unsafe fn index_predicates(&self, rel: *mut pg_sys::RelOptInfo) {
        // SAFETY: the index list belongs to this plan; predicates are lists of clauses, implicitly
        // ANDed.
        unsafe {
            for index in PgList::<pg_sys::IndexOptInfo>::from_pg((*rel).indexlist).iter_ptr() {
                let mut predicate = (*index).indpred.cast();
                self.quals(&mut predicate);
                (*index).indpred = predicate.cast();
            }
        }
    }
}

/// Rewrites the quals of a flattened UNION ALL, for the first member that has an index. They were
/// distributed before the hook runs for the members, and are copied to each member after it. So
/// they are rewritten in the union's list. A form that would go beside its clause is not used here.
unsafe fn members_of_union(root: *mut pg_sys::PlannerInfo, rel: *mut pg_sys::RelOptInfo) {
    // SAFETY: a member's parent has its RelOptInfo, and what a RestrictInfo remembers of its clause
    // is reset.
    unsafe {
        let Some(member) = appended(root, (*rel).relid as i32) else { return };
        let parent = *(*root).simple_rel_array.add((*member).parent_relid as usize);
        if parent.is_null() || (*parent).rtekind != pg_sys::RTEKind::RTE_SUBQUERY {
            return;
        }
        let rewriter = Rewriter { root, member: Some(member) };
        for info in PgList::<pg_sys::RestrictInfo>::from_pg((*parent).baserestrictinfo).iter_ptr() {
            if let Some(Rewritten::Instead(rewritten)) = rewriter.clause((*info).clause.cast()) {
                (*info).clause = rewritten.cast();
                (*info).eval_cost.startup = -1.0;
                (*info).norm_selec = -1.0;
                (*info).outer_selec = -1.0;
            }
        }
    }
}
