//! Estimates how many rows share a passage with a text.

use super::objects::TextCalls;
use crate::planner::expr::Expr;
use crate::planner::handle::Rel;
use crate::planner::measures::Objects;
use crate::planner::rel::RelIndex;
use crate::planner::selectivity::{Clause, Joined, Operands};
use crate::planner::variable::Variable;
use crate::storage::{self, with_key_type};

/// The selectivity if nothing is known, as for two columns of one row.
const UNKNOWN: f64 = 0.01;
/// Without an index: the mean number of rows that share a kept hash with a row, itself included.
const USUAL_RUN: f64 = 1.5;
/// The greatest estimate of the share of rows that share passages with others.
const MOST: f64 = 0.9;

/// The share of a relation's rows, or of pairs of two relations' rows, that share a passage. It is
/// taken to be the mean share of those that have a kept hash in common.
pub fn selectivity(clause: &Clause) -> f64 {
    let Some(calls) = Objects::get().passages() else { return UNKNOWN };
    let Some(operands) = clause.arguments.first::<2>() else { return UNKNOWN };
    match clause.operands(operands.map(|operand| text_of(&calls, operand))) {
        None => UNKNOWN,
        Some(Operands::One(variable, _)) => Side::of(&calls, &variable).share(),
        Some(Operands::Joined(Joined { sides, is_reversed, is_semi })) => {
            let sides = sides.each_ref().map(|side| Side::of(&calls, side));
            if is_semi {
                let inner = &sides[usize::from(!is_reversed)];
                return (inner.run - 1.0).clamp(0.0, MOST);
            }
            sides[0].share().min(sides[1].share())
        }
    }
}

/// One side of the condition: a relation's texts.
struct Side {
    rows: f64,
    /// The mean number of rows that share a kept hash with a row, itself included.
    run: f64,
}

impl Side {
    fn of(calls: &TextCalls, variable: &Variable) -> Self {
        let Some(rel) = variable.rel() else { return Side { rows: 1.0, run: 1.0 } };
        let run = variable.expression().and_then(|text| run_of(calls, rel, text));
        Side { rows: variable.rows(), run: run.unwrap_or(USUAL_RUN) }
    }

    /// The share of its rows that share a passage with a text.
    fn share(&self) -> f64 {
        (self.run / self.rows).min(1.0)
    }
}

/// The text of an operand, which may be a call of text_passage.
fn text_of(calls: &TextCalls, operand: Expr) -> Expr {
    let made_of = operand.arguments_of(calls.make).and_then(|arguments| arguments.get(0));
    made_of.unwrap_or(operand)
}

/// The mean number of rows that share a kept hash with a row, from an index of the relation on the
/// text.
fn run_of(calls: &TextCalls, rel: Rel, text: Expr) -> Option<f64> {
    let mut indexes = rel.indexes().filter_map(RelIndex::own);
    let index = indexes.find(|index| calls.is_of_texts(index.family()) && index.is_on(text))?;
    let run = |opened| {
        let family = storage::meta(opened).family();
        with_key_type!(family, K => storage::open::<K>(opened).expected_run())
    };
    // SAFETY: the result is a number.
    Some(unsafe { index.with_open(run) })
}
