//! Estimates how many rows are near a text, and what it costs to compare two texts.
//!
//! The planner's `README.md` (Estimates of texts) has the method. An index of texts gives the rows
//! that share keys with texts of the column's statistics ([`sample`]), and the mean number of rows
//! that share a key with a row (`expected_run`). [`near_share`] has the share of the latter that is
//! near.

use pgrx::pg_sys;
use simhash_core::sets::near_share::near_share;
use simhash_core::sets::sketch::DEFAULT_SIMILARITY;

use super::objects::NearObjects;
use super::sample::{self, Others};
use crate::catalog::Schema;
use crate::catalog::cache::valid;
use crate::planner::expr::{Constant, Expr};
use crate::planner::handle::Rel;
use crate::planner::index::index_quals;
use crate::planner::measures::Objects;
use crate::planner::rel::{OwnIndex, RelIndex};
use crate::planner::root::Root;
use crate::planner::selectivity::{Clause, Joined, Operands};
use crate::planner::variable::{Statistics, Variable};
use crate::storage::{self, IndexRel, with_key_type};
use crate::types::datum::Decode;
use crate::types::near_text::NearText;

/// The selectivity if nothing is known, as for two columns of one row.
const UNKNOWN: f64 = 0.01;
/// Without an index: the rows near a row, itself included, for each copy of its text.
const USUAL_ROWS: f64 = 2.0;
/// The greatest estimate of the share of rows that have near rows, so that an antijoin keeps some.
const MOST: f64 = 0.9;

/// The cost of a call of `near_duplicate`, and what each byte of a text adds, in units of
/// cpu_operator_cost. They are measured against look-ups in an index: a sequential scan of 80,000
/// texts of 140 or 400 bytes takes as long as 7,500 or 9,500 of them.
const OPERATORS: f64 = 150.0;
const OPERATORS_PER_BYTE: f64 = 1.5;
/// The bytes of a text without statistics.
const USUAL_WIDTH: f64 = 240.0;

/// A condition that two texts are near.
pub struct Near {
    near: NearObjects,
    texts: [Expr; 2],
    /// The greater of the similarities that are known.
    similarity: Option<f64>,
}

impl Near {
    /// The condition of a call `near_duplicate(a, b, similarity, config)`, whose arguments the
    /// clause has.
    pub fn of_call(clause: &Clause) -> Option<Near> {
        let near = Objects::get().near()?;
        let [a, b, least] = clause.arguments.first()?;
        Some(Near { near, texts: [a, b], similarity: similarity(clause.root, least) })
    }

    /// The condition `a ~= b`, of a text and a near_text, or of two near_texts.
    fn of_operands(clause: &Clause) -> Option<Near> {
        let near = Objects::get().near()?;
        let operands: [Expr; 2] = clause.arguments.first()?;
        let operands = operands.map(|operand| asked(&near, clause.root, unmarked(&near, operand)));
        let similarity = operands.iter().filter_map(|(_, similarity)| *similarity).reduce(f64::max);
        Some(Near { near, texts: operands.map(|(text, _)| text), similarity })
    }

    /// The share of a relation's rows, or of pairs of two relations' rows, that the clause keeps.
    pub fn selectivity(&self, clause: &Clause) -> f64 {
        match clause.operands(self.texts) {
            None => UNKNOWN,
            Some(Operands::One(variable, _)) => self.side(clause.root, &variable).share_near(true),
            Some(Operands::Joined(joined)) => self.of_join(clause.root, &joined),
        }
    }

    /// The lesser share of the two sides: each text of one table is expected to have near texts in
    /// the other, and the larger table to have more of them.
    fn of_join(&self, root: Root, joined: &Joined) -> f64 {
        let [a, b] = &joined.sides;
        // A row is near itself. That counts unless the query joins different rows of one table.
        let itself = !are_different_rows(root, a.rel(), b.rel());
        let sides = [self.side(root, a), self.side(root, b)];
        if !joined.is_semi {
            return sides[0].share_near(itself).min(sides[1].share_near(itself));
        }
        let (outer, inner) =
            if joined.is_reversed { (&sides[1], &sides[0]) } else { (&sides[0], &sides[1]) };
        let near = if itself { (inner.rows / outer.rows).min(1.0) } else { inner.others.any };
        near.min(MOST) * outer.not_null
    }

    fn side(&self, root: Root, variable: &Variable) -> Side {
        let rows = variable.rows();
        let mut not_null = 1.0;
        let mut copies = 1.0;
        if let Some(statistics) = variable.statistics() {
            not_null = 1.0 - statistics.nulls();
            let (distinct, is_default) = variable.distinct();
            if !is_default && distinct >= 1.0 {
                copies = (rows * not_null / distinct).max(1.0);
            }
        }
        let others = self.others(root, variable).unwrap_or_else(|| {
            let mean = USUAL_ROWS * copies - 1.0;
            Others { mean, any: mean.min(MOST) }
        });
        Side { rows, not_null, others }
    }

    /// The other rows that are near a row, from an index on the text.
    fn others(&self, root: Root, variable: &Variable) -> Option<Others> {
        let (rel, text) = (variable.rel()?, variable.expression()?);
        let index = self.index(rel, text).or_else(|| self.index_of_child(root, rel, text))?;
        let similarity = self.similarity.unwrap_or(DEFAULT_SIMILARITY);
        let others = |rel| others_in(&self.near, rel, variable.statistics(), similarity);
        // SAFETY: the result is numbers.
        unsafe { index.with_open(others) }
    }

    /// An index of the relation on the text, or on near_text of it. One without a predicate is
    /// preferred, then one with few key columns.
    fn index(&self, rel: Rel, text: Expr) -> Option<OwnIndex> {
        let found = rel.indexes().filter_map(RelIndex::own).filter(|index| {
            if self.near.calls.is_of_texts(index.family()) {
                return index.is_on(text);
            }
            self.near.is_of_values(index.family()) && self.is_value_of(*index, text)
        });
        found.min_by_key(|index| (index.is_partial(), index.last()))
    }

    /// Whether the last column of an index is near_text of this text.
    fn is_value_of(&self, index: OwnIndex, text: Expr) -> bool {
        let made = index.expression().and_then(|indexed| made(&self.near, indexed));
        made.is_some_and(|[of, ..]| stripped(of).equals(stripped(text)))
    }

    /// An index of the largest partition that has one.
    fn index_of_child(&self, root: Root, rel: Rel, text: Expr) -> Option<OwnIndex> {
        let found = root.members_of(rel.number()).filter_map(|member| {
            let child = root.relation(member.read().child_relid as i32)?;
            let text = member.adjusted(root, text);
            let index =
                self.index(child, text).or_else(|| self.index_of_child(root, child, text))?;
            Some((child.read().tuples, index))
        });
        found.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, index)| index)
    }
}

/// The other rows of an index that are near a row, with the statistics of its column. `None` if the
/// index is not of texts.
pub fn others_in(
    near: &NearObjects,
    index: IndexRel,
    statistics: Option<Statistics<'_>>,
    similarity: f64,
) -> Option<Others> {
    let meta = storage::meta(index);
    (meta.is_of_postings() && !meta.is_of_passages()).then(|| {
        let run = with_key_type!(meta.family(), K => storage::open::<K>(index).expected_run());
        let mean = (run - 1.0) * near_share(similarity, meta.rows);
        let expected = Others { mean, any: mean.min(MOST) };
        let schema = Schema::of_function(near.calls.function);
        let found = sample::found(index, statistics, schema);
        found.map_or(expected, |found| found.others(similarity, expected))
    })
}

/// The selectivity of `a ~= b`, of a text and a near_text or of two.
pub fn selectivity(clause: &Clause) -> f64 {
    if is_beside(clause) {
        return 1.0;
    }
    Near::of_operands(clause).map_or(UNKNOWN, |near| near.selectivity(clause))
}

/// Marks an operand by a cast to its own type: its clause repeats a call of near_duplicate beside
/// it. Together they keep as many rows as the call alone, so the clause has the selectivity 1. See
/// [`kept_beside`].
///
/// # Safety
/// `value` is of the type near_text.
pub unsafe fn beside(near: &NearObjects, value: Expr) -> Expr {
    let (value, none) = (value.as_ptr().cast(), pg_sys::InvalidOid);
    let form = pg_sys::CoercionForm::COERCE_IMPLICIT_CAST;
    // SAFETY: makeRelabelType only builds the node, and `value` has the type already.
    unsafe { Expr::made(pg_sys::makeRelabelType(value, near.calls.value, -1, none, form)) }
}

/// The selectivity of the marked clauses of an index path. PostgreSQL takes it for 1.
///
/// # Safety
/// `path` is the planner's, and `root` its state.
pub unsafe fn kept_beside(root: *mut pg_sys::PlannerInfo, path: *mut pg_sys::IndexPath) -> f64 {
    // SAFETY: the path and its index are the planner's, and its quals are expressions.
    let (root, relation, quals) = unsafe {
        let relation = (*(*(*path).indexinfo).rel).relid as i32;
        let quals = index_quals(path).into_iter();
        let quals = quals.filter_map(|(_, qual)| Expr::new((*qual).clause.cast()));
        (Root::new(root), relation, quals.collect::<Vec<_>>())
    };
    let Some(root) = root else { return 1.0 };
    let operators = quals.into_iter().filter(|qual| qual.tag() == pg_sys::NodeTag::T_OpExpr);
    let arguments = operators.filter_map(Expr::arguments);
    let clauses = arguments.map(|arguments| Clause::restricting(root, arguments, relation));
    let share =
        |clause| Near::of_operands(&clause).map_or(UNKNOWN, |near| near.selectivity(&clause));
    clauses.filter(is_beside).map(share).product()
}

fn is_beside(clause: &Clause) -> bool {
    let Some(near) = Objects::get().near() else { return false };
    clause.arguments.iter().any(|argument| marked(&near, argument).is_some())
}

/// The operand under the mark of [`beside`].
fn marked(near: &NearObjects, operand: Expr) -> Option<Expr> {
    let (under, to) = operand.relabelled()?;
    (to == near.calls.value && under.type_oid() == near.calls.value).then_some(under)
}

/// An operand without the mark of [`beside`].
fn unmarked(near: &NearObjects, operand: Expr) -> Expr {
    marked(near, operand).unwrap_or(operand)
}

/// One side of the condition: a relation's texts.
struct Side {
    rows: f64,
    not_null: f64,
    others: Others,
}

impl Side {
    fn near(&self, itself: bool) -> f64 {
        let near = self.others.mean + f64::from(u8::from(itself));
        near.clamp(0.0, self.rows)
    }

    /// The share of its rows that are near a text.
    fn share_near(&self, itself: bool) -> f64 {
        (self.near(itself) / self.rows).min(1.0) * self.not_null
    }
}

/// Whether two relations are one table and the query joins different rows of it. This is assumed if
/// another condition joins them, such as `a.id < b.id`.
fn are_different_rows(root: Root, a: Option<Rel>, b: Option<Rel>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    if a.number() == b.number() {
        return false;
    }
    let table = |rel: Rel| root.entry(rel.number()).map(|entry| entry.read().relid);
    if table(a) != table(b) || table(a).and_then(valid).is_none() {
        return false;
    }
    a.joins_with(b) > 1
}

/// The text of an operand of `~=`, or a value that has it, and its similarity if that is known.
fn asked(near: &NearObjects, root: Root, operand: Expr) -> (Expr, Option<f64>) {
    if let Some([text, asked, _]) = made(near, operand) {
        return (text, similarity(root, asked));
    }
    let is_value = operand.type_oid() == near.calls.value;
    let value = operand.constant().filter(|_| is_value);
    // SAFETY: the constant is a near_text.
    let value = value.map(|value| unsafe { NearText::decode(value.datum()) });
    (operand, value.map(|value| value.similarity))
}

/// Whether a type is near_text.
pub fn is_near_text(type_oid: pg_sys::Oid) -> bool {
    Objects::get().near().is_some_and(|near| near.calls.value == type_oid)
}

/// As [`made`], of the extension that is installed.
pub fn near_text_call(node: Expr) -> Option<[Expr; 3]> {
    made(&Objects::get().near()?, node)
}

/// The text, the similarity and the configuration of a call of near_text.
pub fn made(near: &NearObjects, node: Expr) -> Option<[Expr; 3]> {
    node.arguments_of(near.calls.make)?.first()
}

/// The expression under a change of type that leaves its bits alone.
fn stripped(expression: Expr) -> Expr {
    expression.relabelled().map_or(expression, |(under, _)| under)
}

/// The similarity, if it is constant or can be estimated as a constant, such as a known parameter.
fn similarity(root: Root, similarity: Expr) -> Option<f64> {
    root.estimated(similarity).constant().map(Constant::double)
}

/// The cost of executing a call or an operator clause once, by the width of its columns.
pub fn work(root: Root, node: Expr) -> Option<f64> {
    let arguments = node.arguments()?;
    let near = Objects::get().near()?;
    let widths = arguments.iter().take(2).filter_map(|argument| {
        let argument = unmarked(&near, argument);
        let text = made(&near, argument).map_or(argument, |[text, ..]| text);
        column_width(root, stripped(text))
    });
    let width = widths.reduce(f64::max).unwrap_or(USUAL_WIDTH);
    // SAFETY: reads a setting of this backend.
    Some((OPERATORS + OPERATORS_PER_BYTE * width) * unsafe { pg_sys::cpu_operator_cost })
}

/// The mean width of a column, from its statistics.
fn column_width(root: Root, expression: Expr) -> Option<f64> {
    let var = expression.column()?;
    if var.varlevelsup > 0 || var.varattno <= 0 {
        return None;
    }
    let table = root.in_range_table(i64::from(var.varno) as i32)?.table()?;
    // SAFETY: a catalogue look-up in a transaction.
    let width = unsafe { pg_sys::get_attavgwidth(table, var.varattno) };
    (width > 0).then(|| f64::from(width))
}
