//! Estimates how many rows share a passage with a text.

use pgrx::{PgList, pg_sys};

use super::objects::TextCalls;
use crate::catalog::inheritance::is_partitioned;
use crate::planner::measures::{Objects, access_method};
use crate::planner::selectivity::{Clause, is_semi};
use crate::storage::{self, IndexRel, with_key_type};

/// The selectivity if nothing is known, as for two columns of one row.
const UNKNOWN: f64 = 0.01;
/// Without an index: the mean number of rows that share a kept hash with a row, itself included.
const USUAL_RUN: f64 = 1.5;
/// The greatest estimate of the share of rows that share passages with others.
const MOST: f64 = 0.9;

/// The share of a relation's rows, or of pairs of two relations' rows, that share a passage. It is
/// taken to be the mean share of those that have a kept hash in common.
///
/// # Safety
/// The clause's fields are the planner's, for a clause of its query.
pub unsafe fn selectivity(clause: &Clause) -> f64 {
    // SAFETY: the planner's list of operands, which are expressions of its query.
    unsafe {
        let Some(calls) = Objects::get().passages() else { return UNKNOWN };
        let arguments = PgList::<pg_sys::Node>::from_pg(clause.arguments);
        let mut texts = PgList::<pg_sys::Node>::new();
        for argument in arguments.iter_ptr().take(2) {
            texts.push(text_of(&calls, argument));
        }
        let texts = texts.into_pg();
        let Some(join) = clause.join else {
            let side = clause.with_variable(texts, |variable, _| Side::of(&calls, variable));
            return side.map_or(UNKNOWN, |side| side.share());
        };
        let (sides, reversed) = clause.with_variables(texts, join, |left, right, reversed| {
            ([Side::of(&calls, left), Side::of(&calls, right)], reversed)
        });
        if is_semi(join) {
            let inner = &sides[usize::from(!reversed)];
            return (inner.run - 1.0).clamp(0.0, MOST);
        }
        sides[0].share().min(sides[1].share())
    }
}

/// One side of the condition: a relation's texts.
struct Side {
    rows: f64,
    /// The mean number of rows that share a kept hash with a row, itself included.
    run: f64,
}

impl Side {
    unsafe fn of(calls: &TextCalls, variable: &pg_sys::VariableStatData) -> Self {
        // SAFETY: the planner filled the variable in.
        unsafe {
            let rel = variable.rel;
            if rel.is_null() {
                return Side { rows: 1.0, run: 1.0 };
            }
            let run = run_of(calls, rel, variable.var).unwrap_or(USUAL_RUN);
            Side { rows: (*rel).tuples.max(1.0), run }
        }
    }

    /// The share of its rows that share a passage with a text.
    fn share(&self) -> f64 {
        (self.run / self.rows).min(1.0)
    }
}

/// The text of an operand, which may be a call of text_passage.
unsafe fn text_of(calls: &TextCalls, operand: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: `operand` is an expression, and is cast only to the type its tag says.
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

/// The mean number of rows that share a kept hash with a row, from an index of the relation on the
/// text.
unsafe fn run_of(
    calls: &TextCalls,
    rel: *mut pg_sys::RelOptInfo,
    text: *mut pg_sys::Node,
) -> Option<f64> {
    // SAFETY: the relation and its indexes are the planner's, which has locked them.
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
                // From PostgreSQL 16 on, the list also has partitioned indexes, which have no
                // pages.
                && !is_partitioned((*index).indexoid)
        })?;
        let rel = pg_sys::index_open((*index).indexoid, pg_sys::NoLock as pg_sys::LOCKMODE);
        let opened = IndexRel::new(rel);
        let family = storage::meta(opened).family();
        let run = with_key_type!(family, K => storage::open::<K>(opened).expected_run());
        pg_sys::index_close(rel, pg_sys::NoLock as pg_sys::LOCKMODE);
        Some(run)
    }
}
