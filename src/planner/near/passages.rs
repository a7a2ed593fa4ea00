//! How many rows share a passage with a text.

use pgrx::{PgList, pg_sys};

use super::objects::TextCalls;
use crate::catalog::inheritance::is_partitioned;
use crate::planner::measures::{Objects, access_method};
use crate::planner::selectivity::{Clause, is_semi};
use crate::storage::{self, IndexRel, with_key_type};

/// The selectivity if nothing is known, as of two columns of one row.
const UNKNOWN: f64 = 0.01;
/// How many rows have a kept hash of a row, itself included, if no index says it.
const USUAL_RUN: f64 = 1.5;
/// No more than this share of a table is taken for sharing passages with others.
const MOST: f64 = 0.9;

/// The share of a relation's rows, or of the pairs of two, that share a passage: as many as have a
/// kept hash in common, on average.
///
/// # Safety
/// The clause is the planner's.
pub unsafe fn selectivity(clause: &Clause) -> f64 {
    // SAFETY: as this function's.
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
    /// How many rows have a kept hash of a row, itself included.
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
                // From PostgreSQL 16 on, the planner knows those of partitioned tables too.
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
