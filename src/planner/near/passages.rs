//! How many rows share a passage with a text.

use pgrx::{PgList, pg_sys};

use super::objects::TextCalls;
use crate::planner::measures::{Objects, access_method};
use crate::planner::selectivity::Clause;
use crate::planner::statistics::release;
use crate::storage::{self, IndexRel, with_key_type};

/// The selectivity if nothing is known, as of two columns of one row.
const UNKNOWN: f64 = 0.01;
/// How many rows share a passage with a text, if no index says it.
const USUAL_ROWS: f64 = 2.0;

/// The share of a relation's rows, or of the pairs of two, that share a passage: as many as have a
/// kept hash in common, on average.
///
/// # Safety
/// The clause is the planner's.
pub unsafe fn selectivity(clause: &Clause) -> f64 {
    // SAFETY: as this function's; structures are filled in before they are read, and released.
    unsafe {
        let Some(calls) = Objects::get().passages() else { return UNKNOWN };
        let arguments = PgList::<pg_sys::Node>::from_pg(clause.arguments);
        let mut texts = PgList::<pg_sys::Node>::new();
        for argument in arguments.iter_ptr().take(2) {
            texts.push(text_of(&calls, argument));
        }
        let texts = texts.into_pg();
        if let Some(join) = clause.join {
            let mut sides: [pg_sys::VariableStatData; 2] = std::mem::zeroed();
            let [left, right] = &mut sides;
            let mut reversed = false;
            pg_sys::get_join_variables(clause.root, texts, join, left, right, &mut reversed);
            let shares = sides.each_ref().map(|side| share(&calls, side));
            sides.iter().for_each(|side| release(side));
            return shares[0].min(shares[1]);
        }
        let mut variable: pg_sys::VariableStatData = std::mem::zeroed();
        let (mut other, mut on_left) = (std::ptr::null_mut(), false);
        let found = pg_sys::get_restriction_variable(
            clause.root,
            texts,
            clause.relation,
            &mut variable,
            &mut other,
            &mut on_left,
        );
        if !found {
            return UNKNOWN;
        }
        let share = share(&calls, &variable);
        release(&variable);
        share
    }
}

/// The text of an operand, which may be a call that makes a text_passage.
unsafe fn text_of(calls: &TextCalls, operand: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: an expression, cast only to the type its tag says.
    unsafe {
        if !pgrx::is_a(operand, pg_sys::NodeTag::T_FuncExpr) {
            return operand;
        }
        let call = operand.cast::<pg_sys::FuncExpr>();
        let arguments = PgList::<pg_sys::Node>::from_pg((*call).args);
        let is_made = (*call).funcid == calls.make;
        arguments.get_ptr(0).filter(|_| is_made).unwrap_or(operand)
    }
}

/// The share of a variable's relation that shares a passage with a text.
unsafe fn share(calls: &TextCalls, variable: &pg_sys::VariableStatData) -> f64 {
    // SAFETY: the planner filled the variable in.
    unsafe {
        let rel = variable.rel;
        if rel.is_null() {
            return UNKNOWN;
        }
        let rows = (*rel).tuples.max(1.0);
        let near = run_of(calls, rel, variable.var).map_or(USUAL_ROWS, |run| 1.0 + run);
        (near / rows).min(1.0)
    }
}

/// How many rows have a kept hash of a row, by an index of the relation's on the text.
unsafe fn run_of(
    calls: &TextCalls,
    rel: *mut pg_sys::RelOptInfo,
    text: *mut pg_sys::Node,
) -> Option<f64> {
    // SAFETY: the relation is the planner's, and so are its indexes, which are locked.
    unsafe {
        let access_method = access_method()?;
        let indexes = PgList::<pg_sys::IndexOptInfo>::from_pg((*rel).indexlist);
        let index = indexes.iter_ptr().find(|&index| {
            let last = (*index).nkeycolumns - 1;
            (*index).relam == access_method
                && !(*index).hypothetical
                && last >= 0
                && calls.is_of_texts(*(*index).opfamily.add(last as usize))
                && pg_sys::match_index_to_operand(text, last, index)
        })?;
        let rel = pg_sys::index_open((*index).indexoid, pg_sys::NoLock as pg_sys::LOCKMODE);
        let opened = IndexRel::new(rel);
        let family = storage::meta(opened).family();
        let run = with_key_type!(family, K => storage::open::<K>(opened).expected_run());
        pg_sys::index_close(rel, pg_sys::NoLock as pg_sys::LOCKMODE);
        Some(run)
    }
}
