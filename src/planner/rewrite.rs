//! The hook that rewrites a query's quals before the planner distributes them.
//!
//! Invariant: a rewritten clause is true for exactly the rows for which the user's clause is true.
//! It may be NULL where the user's clause is false. So only quals are rewritten, and in them only
//! clauses at the top or under AND and OR, where NULL and false have the same effect.

use std::sync::OnceLock;

use pgrx::{pg_guard, pg_sys};

use super::balls::OwnBall;
use super::distance::Distance;
use super::expr::{Expr, Exprs};
use super::handle::Rel;
use super::handle::members;
use super::index::{is_indexed, member_is_indexed};
use super::near::constraint;
use super::nodes::{Bigint, Rewritten, both};
use super::order;
use super::pattern::{Comparison, Pattern};
use super::root::{Member, Root};
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

/// From PostgreSQL 19 on, the hook is also called for relations that are not tables.
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
///
/// # Safety
/// The arguments are the hook's.
unsafe fn look_at(root: *mut pg_sys::PlannerInfo, rel: *mut pg_sys::RelOptInfo) {
    // SAFETY: the planner's state, and a relation of it.
    let (Some(root), Some(rel)) = (unsafe { Root::new(root) }, unsafe { Rel::new(rel) }) else {
        return;
    };
    if !guc::rewrite_enabled() {
        return;
    }
    memory::prepare();
    // SAFETY: the planner's state has its query.
    let jointree = unsafe { (*root.read().parse).jointree };
    if jointree.is_null() {
        return;
    }
    let rewriter = Rewriter { root, member: None };
    if is_first(root, rel) {
        let mut quals = Vec::new();
        // SAFETY: the planner's jointree.
        unsafe { collect_quals(jointree.cast(), &mut quals) };
        quals.into_iter().for_each(|quals| rewriter.conjuncts(quals));
        order::by_operators(root);
    }
    // Predicates of partial indexes are rewritten so that they still match the query's clauses.
    rel.indexes().for_each(|index| rewriter.conjuncts(index.predicate()));
    members_of_union(root, rel);
}

/// Whether a relation is the first of the query that the planner looks up. Then no qual has been
/// distributed, and all relations of the query are in its range table and locked. A relation enters
/// the planner's array after its hook has run, and a partition is looked up after its parent.
fn is_first(root: Root, rel: Rel) -> bool {
    let mut looked_at = root.numbers().filter_map(|number| root.relation(number));
    rel.read().reloptkind == pg_sys::RelOptKind::RELOPT_BASEREL
        && !looked_at.any(|other| other.read().rtekind == pg_sys::RTEKind::RTE_RELATION)
}

/// The quals of every FROM and JOIN: lists of clauses, implicitly ANDed. After preprocessing, quals
/// are null or a list, and anything else is left alone.
///
/// # Safety
/// `node` is of the planner's jointree.
unsafe fn collect_quals(node: *mut pg_sys::Node, found: &mut Vec<Exprs>) {
    // SAFETY: the node has the type that its tag says, and so have the quals.
    unsafe {
        let quals = match (*node).type_ {
            pg_sys::NodeTag::T_FromExpr => {
                let from = node.cast::<pg_sys::FromExpr>();
                for item in members((*from).fromlist) {
                    collect_quals(item.as_ptr(), found);
                }
                (*from).quals
            }
            pg_sys::NodeTag::T_JoinExpr => {
                let join = node.cast::<pg_sys::JoinExpr>();
                collect_quals((*join).larg, found);
                collect_quals((*join).rarg, found);
                (*join).quals
            }
            _ => return,
        };
        let is_list = pgrx::is_a(quals, pg_sys::NodeTag::T_List);
        found.extend(is_list.then(|| Exprs::new(quals.cast())));
    }
}

/// Rewrites clauses of one query level. A second time changes nothing: the result is no pattern,
/// and a pattern that stays beside its rewritten form is left alone.
struct Rewriter {
    root: Root,
    /// The member of a UNION ALL for which the clauses are rewritten. The clauses refer to columns
    /// of the union.
    member: Option<Member>,
}

impl Rewriter {
    /// Rewrites clauses that are ANDed, in place.
    fn conjuncts(&self, clauses: Exprs) {
        for i in 0..clauses.len() {
            let Some(clause) = clauses.get(i) else { continue };
            match self.clause(clause) {
                None => {}
                // SAFETY: the list has this member, and both clauses are booleans.
                Some(Rewritten::Instead(made)) => unsafe { clauses.replace(i, made) },
                Some(Rewritten::Beside(made)) if clauses.contains(made) => {}
                Some(Rewritten::Beside(made)) => {
                    // SAFETY: the list has this member, and both clauses are booleans.
                    unsafe {
                        clauses.replace(i, made);
                        clauses.push(clause);
                    }
                }
            }
        }
    }

    /// The rewritten form of a clause, if it has one. AND and OR are changed in place.
    fn clause(&self, clause: Expr) -> Option<Rewritten> {
        if clause.tag() == pg_sys::NodeTag::T_BoolExpr {
            self.arms(clause);
            return None;
        }
        if let Some(rewritten) = self.near(clause) {
            return Some(rewritten);
        }
        if let Some(pattern) = Pattern::of(clause) {
            let rewritten = self.within(pattern.distance, || pattern.radius())?;
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
            Some(Bigint::constant(i64::from(reach.radius)))
        };
        let rewritten = self.within(values.distance, radius)?;
        let make = if is_ball { Rewritten::Instead } else { Rewritten::Beside };
        Some(make(rewritten))
    }

    /// Rewrites the arms of an OR, or of an AND inside one. The planner relies on flat expressions,
    /// so an AND never becomes an arm of an AND.
    fn arms(&self, expression: Expr) {
        match expression.arms() {
            Some((pg_sys::BoolExprType::AND_EXPR, arms)) => self.conjuncts(arms),
            Some((pg_sys::BoolExprType::OR_EXPR, arms)) => {
                for i in 0..arms.len() {
                    let Some(arm) = arms.get(i) else { continue };
                    let Some(rewritten) = self.clause(arm) else { continue };
                    // SAFETY: the list has this member, and both clauses are booleans.
                    unsafe {
                        let arm = match rewritten {
                            Rewritten::Instead(made) => made,
                            Rewritten::Beside(made) => both(made, arm),
                        };
                        arms.replace(i, arm);
                    }
                }
            }
            _ => {}
        }
    }

    /// The form that an index can serve, if there is an index for it and the role may execute its
    /// functions.
    fn within(&self, distance: Distance, radius: impl FnOnce() -> Option<Bigint>) -> Option<Expr> {
        let sides = [distance, distance.mirrored()];
        let [on_x, on_y] = sides.map(|side| self.is_indexed(&side));
        if !on_x && !on_y {
            let balls = sides.map(|side| OwnBall::around(self.root, side));
            if balls.iter().all(Option::is_none) {
                return None;
            }
            let radius = radius()?;
            return balls.into_iter().flatten().find_map(|ball| ball.near(self.root, radius));
        }
        let radius = radius()?;
        let measure = distance.measure();
        let makes = if on_x && on_y { measure.within } else { measure.make_ball };
        if !measure.may_use(self.root, &[measure.hamming, makes]) {
            return None;
        }
        Some(match (on_x, on_y) {
            (true, true) => distance.within_call(radius),
            (true, false) => distance.within_ball(self.root, radius),
            (false, _) => distance.mirrored().within_ball(self.root, radius),
        })
    }

    /// The clause that an index on near_text serves in place of a call of near_duplicate.
    fn near(&self, clause: Expr) -> Option<Rewritten> {
        constraint::rewritten(self.root, clause, |text| match self.member {
            Some(member) => member.translated(text),
            None => Some(text),
        })
    }

    /// Whether an index is on the first side of a distance.
    fn is_indexed(&self, distance: &Distance) -> bool {
        let (side, measure) = (distance.x(), distance.measure());
        match self.member {
            Some(member) => member_is_indexed(self.root, member, side, measure),
            None => is_indexed(self.root, side, measure),
        }
    }
}

/// Rewrites the quals of a flattened UNION ALL, for the first member that has an index. They were
/// distributed before the hook runs for the members, and are copied to each member after it. So
/// they are rewritten in the union's list. A form that would go beside its clause is not used here.
fn members_of_union(root: Root, rel: Rel) {
    let Some(member) = root.member(rel.number()) else { return };
    let Some(parent) = root.relation(member.parent()) else { return };
    if parent.read().rtekind != pg_sys::RTEKind::RTE_SUBQUERY {
        return;
    }
    let rewriter = Rewriter { root, member: Some(member) };
    // SAFETY: the relation's list of RestrictInfos. What one remembers of its clause is reset.
    unsafe {
        for info in members::<pg_sys::RestrictInfo>(parent.read().baserestrictinfo) {
            let info = info.as_ptr();
            let clause = Expr::new((*info).clause.cast());
            let rewritten = clause.and_then(|clause| rewriter.clause(clause));
            if let Some(Rewritten::Instead(rewritten)) = rewritten {
                (*info).clause = rewritten.as_ptr().cast();
                (*info).eval_cost.startup = -1.0;
                (*info).norm_selec = -1.0;
                (*info).outer_selec = -1.0;
            }
        }
    }
}
