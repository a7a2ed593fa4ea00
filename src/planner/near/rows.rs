//! How many rows are near a text, and what it costs to find out.
//!
//! Some texts of the column's statistics are looked up in an index of texts ([`sample`]). If there
//! are none, because texts are long or the table was not analysed, the index's keys tell how many
//! rows share one with a row (`expected_run`). What share of these rows is as near as the clause
//! asks was measured on real texts ([`SHARES`]).

use pgrx::pg_sys::VariableStatData as Variable;
use pgrx::{PgList, pg_sys};
use simhash_core::sets::sketch::DEFAULT_SIMILARITY;

use super::objects::NearObjects;
use super::recipe::constant;
use super::sample::{self, Others};
use crate::catalog::Schema;
use crate::catalog::inheritance::is_partitioned;
use crate::planner::index::index_quals;
use crate::planner::measures::{Objects, access_method};
use crate::planner::selectivity::{Clause, is_semi};
use crate::storage::{self, IndexRel, with_key_type};
use crate::types::datum::Decode;
use crate::types::near_text::NearText;

/// The selectivity if nothing is known, as of two columns of one row.
const UNKNOWN: f64 = 0.01;
/// How many rows are near a text, itself included, if there is neither index nor statistics.
const USUAL_ROWS: f64 = 2.0;
/// No more than this share of a table is taken for having near rows, or for having none.
const MOST: f64 = 0.9;

/// Of the other rows that share a key of three components, and of two, with a row: how many are
/// near it from a similarity on. The geometric mean over seven sets of real texts, rounded.
/// Measured in November 2026: descriptions of packages, licences, program code, verses, questions,
/// titles, in English and Chinese, 2,700 to 100,000 of each. The extremes are off by a factor of
/// five.
const SHARES: [(f64, [f64; 2]); 7] = [
    (0.3, [2.0, 0.6]),
    (0.4, [1.6, 0.27]),
    (0.5, [1.2, 0.14]),
    (0.6, [0.8, 0.08]),
    (0.7, [0.55, 0.05]),
    (0.8, [0.35, 0.035]),
    (0.9, [0.2, 0.02]),
];

/// What a call of `near_duplicate` costs, and more for each byte of a text, in units of
/// cpu_operator_cost. The cost of look-ups is the measure: a sequential scan of 80,000 texts of 140
/// or 400 bytes takes as long as 7,500 or 9,500 of them.
const OPERATORS: f64 = 150.0;
const OPERATORS_PER_BYTE: f64 = 1.5;
/// The bytes of a text, if statistics do not say.
const USUAL_WIDTH: f64 = 240.0;

/// A condition that two texts are near.
pub struct Near {
    near: NearObjects,
    texts: [*mut pg_sys::Node; 2],
    /// The greater similarity of both, as far as they are known.
    similarity: Option<f64>,
}

impl Near {
    /// `near_duplicate(a, b, similarity, config)`, of which the clause has the arguments.
    ///
    /// # Safety
    /// The clause is the planner's.
    pub unsafe fn of_call(clause: &Clause) -> Option<Near> {
        // SAFETY: as this function's.
        unsafe {
            let near = Objects::get().near()?;
            let arguments = PgList::<pg_sys::Node>::from_pg(clause.arguments);
            let texts = [arguments.get_ptr(0)?, arguments.get_ptr(1)?];
            let similarity = similarity(clause.root, arguments.get_ptr(2)?);
            Some(Near { near, texts, similarity })
        }
    }

    /// `a ~= b`, of a text and a near_text or of two.
    ///
    /// # Safety
    /// The clause is the planner's.
    unsafe fn of_operands(clause: &Clause) -> Option<Near> {
        // SAFETY: as this function's.
        unsafe {
            let near = Objects::get().near()?;
            let arguments = PgList::<pg_sys::Node>::from_pg(clause.arguments);
            let operands = [arguments.get_ptr(0)?, arguments.get_ptr(1)?]
                .map(|operand| Operand::of(&near, clause.root, unmarked(&near, operand)));
            let known = operands.iter().filter_map(|operand| operand.similarity);
            let similarity = known.reduce(f64::max);
            Some(Near { near, texts: operands.map(|operand| operand.text), similarity })
        }
    }

    /// The share of a relation's rows, or of the pairs of two, that the clause keeps.
    ///
    /// # Safety
    /// The clause is the planner's.
    pub unsafe fn selectivity(&self, clause: &Clause) -> f64 {
        let mut arguments = PgList::<pg_sys::Node>::new();
        self.texts.into_iter().for_each(|text| arguments.push(text));
        let arguments = arguments.into_pg();
        // SAFETY: operands of the planner's clause.
        unsafe {
            match clause.join {
                Some(join) => self.of_join(clause, arguments, join),
                None => self.of_restriction(clause, arguments),
            }
        }
    }

    unsafe fn of_restriction(&self, clause: &Clause, arguments: *mut pg_sys::List) -> f64 {
        // SAFETY: operands of the planner's clause.
        unsafe {
            let side =
                clause.with_variable(arguments, |variable, _| self.side(clause.root, variable));
            side.map_or(UNKNOWN, |side| side.share_near(true))
        }
    }

    /// The lesser share of the two sides. A text of one table is expected to have its like in the
    /// other, and the larger table to have more of such.
    unsafe fn of_join(
        &self,
        clause: &Clause,
        arguments: *mut pg_sys::List,
        join: *mut pg_sys::SpecialJoinInfo,
    ) -> f64 {
        // SAFETY: operands of the planner's clause.
        unsafe {
            let root = clause.root;
            let read = |left: &mut Variable, right: &mut Variable, reversed| {
                // A row is near itself. That counts unless rows are joined with others of their
                // table.
                let itself = !are_different_rows(root, left.rel, right.rel);
                ([self.side(root, left), self.side(root, right)], itself, reversed)
            };
            let (sides, itself, reversed) = clause.with_variables(arguments, join, read);
            if !is_semi(join) {
                return sides[0].share_near(itself).min(sides[1].share_near(itself));
            }
            let (outer, inner) =
                if reversed { (&sides[1], &sides[0]) } else { (&sides[0], &sides[1]) };
            let near = if itself { (inner.rows / outer.rows).min(1.0) } else { inner.others.any };
            near.min(MOST) * outer.not_null
        }
    }

    unsafe fn side(
        &self,
        root: *mut pg_sys::PlannerInfo,
        variable: *mut pg_sys::VariableStatData,
    ) -> Side {
        // SAFETY: the planner filled the variable in; statistics are read if there are some.
        unsafe {
            let rel = (*variable).rel;
            let rows = if rel.is_null() { 1.0 } else { (*rel).tuples.max(1.0) };
            let mut not_null = 1.0;
            let mut copies = 1.0;
            if !(*variable).statsTuple.is_null() {
                let form = pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_statistic>(
                    (*variable).statsTuple,
                );
                not_null = 1.0 - f64::from((*form).stanullfrac);
                let mut is_default = false;
                let distinct = pg_sys::get_variable_numdistinct(variable, &mut is_default);
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
    }

    /// How many other rows are near a row, by an index on the text.
    unsafe fn others(
        &self,
        root: *mut pg_sys::PlannerInfo,
        variable: *mut pg_sys::VariableStatData,
    ) -> Option<Others> {
        // SAFETY: the relation is the planner's, and so are its indexes, which are locked.
        unsafe {
            let (rel, text) = ((*variable).rel, (*variable).var);
            let index = self.index(rel, text).or_else(|| self.index_of_child(root, rel, text))?;
            let rel = pg_sys::index_open(index, pg_sys::NoLock as pg_sys::LOCKMODE);
            let similarity = self.similarity.unwrap_or(DEFAULT_SIMILARITY);
            let opened = IndexRel::new(rel);
            let others = others_in(&self.near, opened, (*variable).statsTuple, similarity);
            pg_sys::index_close(rel, pg_sys::NoLock as pg_sys::LOCKMODE);
            others
        }
    }

    /// An index of the relation's on the text, or on a near_text of it: one of all rows without
    /// columns before it, if there is one.
    unsafe fn index(
        &self,
        rel: *mut pg_sys::RelOptInfo,
        text: *mut pg_sys::Node,
    ) -> Option<pg_sys::Oid> {
        // SAFETY: as `others`; an index has a family and a key for each of its key columns.
        unsafe {
            let access_method = access_method()?;
            if rel.is_null() || text.is_null() {
                return None;
            }
            let indexes = PgList::<pg_sys::IndexOptInfo>::from_pg((*rel).indexlist);
            let found = indexes.iter_ptr().filter(|&index| {
                let last = (*index).nkeycolumns - 1;
                if (*index).relam != access_method || (*index).hypothetical || last < 0 {
                    return false;
                }
                // From PostgreSQL 16 on, the planner knows those of partitioned tables too.
                if is_partitioned((*index).indexoid) {
                    return false;
                }
                let family = *(*index).opfamily.add(last as usize);
                if self.near.is_of_texts(family) {
                    return pg_sys::match_index_to_operand(text, last, index);
                }
                self.near.is_of_values(family) && self.is_value_of(index, last as usize, text)
            });
            let rank = |index: *mut pg_sys::IndexOptInfo| {
                (!(*index).indpred.is_null(), (*index).nkeycolumns)
            };
            found.min_by_key(|&index| rank(index)).map(|index| (*index).indexoid)
        }
    }

    /// Whether a column of an index is near_text of this text.
    unsafe fn is_value_of(
        &self,
        index: *mut pg_sys::IndexOptInfo,
        column: usize,
        text: *mut pg_sys::Node,
    ) -> bool {
        // SAFETY: as `index`; an index has an expression for each column whose key is 0.
        unsafe {
            let keys = std::slice::from_raw_parts((*index).indexkeys, column + 1);
            let before = keys[..column].iter().filter(|&&key| key == 0).count();
            let expressions = PgList::<pg_sys::Node>::from_pg((*index).indexprs);
            let Some(indexed) = expressions.get_ptr(before).filter(|_| keys[column] == 0) else {
                return false;
            };
            let of = made(&self.near, indexed).map(|[of, ..]| stripped(of));
            of.is_some_and(|of| pg_sys::equal(of.cast(), stripped(text).cast()))
        }
    }

    /// An index of the largest partition that has one.
    unsafe fn index_of_child(
        &self,
        root: *mut pg_sys::PlannerInfo,
        rel: *mut pg_sys::RelOptInfo,
        text: *mut pg_sys::Node,
    ) -> Option<pg_sys::Oid> {
        // SAFETY: the planner's arrays are as long as it says.
        unsafe {
            if rel.is_null() || (*root).append_rel_array.is_null() || text.is_null() {
                return None;
            }
            let members = PgList::<pg_sys::AppendRelInfo>::from_pg((*root).append_rel_list);
            let of_rel =
                members.iter_ptr().filter(|&member| (*member).parent_relid == (*rel).relid);
            let found = of_rel.filter_map(|mut member| {
                let child = *(*root).simple_rel_array.add((*member).child_relid as usize);
                if child.is_null() {
                    return None;
                }
                let of_child = pg_sys::adjust_appendrel_attrs(root, text, 1, &mut member);
                let index = self
                    .index(child, of_child)
                    .or_else(|| self.index_of_child(root, child, of_child))?;
                Some(((*child).tuples, index))
            });
            found.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, index)| index)
        }
    }
}

/// How many other rows of an index are near a row. `None` if it is no index of texts.
///
/// # Safety
/// The index is open. `statistics` is its column's row of pg_statistic, or null.
pub unsafe fn others_in(
    near: &NearObjects,
    index: IndexRel,
    statistics: pg_sys::HeapTuple,
    similarity: f64,
) -> Option<Others> {
    let meta = storage::meta(index);
    (meta.is_of_postings() && !meta.is_of_passages()).then(|| {
        let run = with_key_type!(meta.family(), K => storage::open::<K>(index).expected_run());
        let mean = (run - 1.0) * share(similarity, usize::from(meta.rows < 3));
        let expected = Others { mean, any: mean.min(MOST) };
        let schema = Schema::of_function(near.near_duplicate);
        // SAFETY: as this function's.
        let found = unsafe { sample::found(index, statistics, schema) };
        found.map_or(expected, |found| found.others(similarity, expected))
    })
}

/// The selectivity of `a ~= b`, of a text and a near_text or of two.
///
/// # Safety
/// The clause is the planner's.
pub unsafe fn selectivity(clause: &Clause) -> f64 {
    // SAFETY: as this function's.
    unsafe {
        if is_beside(clause) {
            return 1.0;
        }
        Near::of_operands(clause).map_or(UNKNOWN, |near| near.selectivity(clause))
    }
}

/// Marks an operand, by a cast to the type that it has: its clause says what a call of
/// near_duplicate beside it says. Together they keep as many rows as the call does, so the clause
/// counts for nothing: see [`kept_beside`].
///
/// # Safety
/// `value` is an expression of the type near_text.
pub unsafe fn beside(near: &NearObjects, value: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: a change of nothing.
    unsafe {
        let form = pg_sys::CoercionForm::COERCE_IMPLICIT_CAST;
        let none = pg_sys::InvalidOid;
        pg_sys::makeRelabelType(value.cast(), near.value, -1, none, form).cast()
    }
}

/// The share of rows that the clauses of an index path keep which stand beside calls. PostgreSQL
/// takes it for 1.
///
/// # Safety
/// The path is the planner's.
pub unsafe fn kept_beside(root: *mut pg_sys::PlannerInfo, path: *mut pg_sys::IndexPath) -> f64 {
    // SAFETY: as this function's; a node is cast only to the type its tag says.
    unsafe {
        let relation = (*(*(*path).indexinfo).rel).relid as i32;
        let mut share = 1.0;
        for (_, qual) in index_quals(path) {
            let node = (*qual).clause.cast::<pg_sys::Node>();
            if !pgrx::is_a(node, pg_sys::NodeTag::T_OpExpr) {
                continue;
            }
            let arguments = (*node.cast::<pg_sys::OpExpr>()).args;
            let clause = Clause { root, arguments, relation, join: None };
            if is_beside(&clause) {
                let near = Near::of_operands(&clause);
                share *= near.map_or(UNKNOWN, |near| near.selectivity(&clause));
            }
        }
        share
    }
}

unsafe fn is_beside(clause: &Clause) -> bool {
    // SAFETY: the planner's clause.
    unsafe {
        let Some(near) = Objects::get().near() else { return false };
        let arguments = PgList::<pg_sys::Node>::from_pg(clause.arguments);
        arguments.iter_ptr().any(|argument| unmarked(&near, argument) != argument)
    }
}

/// An operand without the mark of [`beside`].
unsafe fn unmarked(near: &NearObjects, node: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: an expression; it is cast only to the type its tag says.
    unsafe {
        if !pgrx::is_a(node, pg_sys::NodeTag::T_RelabelType) {
            return node;
        }
        let relabel = node.cast::<pg_sys::RelabelType>();
        let is_marked = (*relabel).resulttype == near.value
            && pg_sys::exprType((*relabel).arg.cast()) == near.value;
        if is_marked { (*relabel).arg.cast() } else { node }
    }
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

    /// The share of rows that are near a text.
    fn share_near(&self, itself: bool) -> f64 {
        (self.near(itself) / self.rows).min(1.0) * self.not_null
    }
}

/// Whether two relations are one table, of which the query joins different rows: there is another
/// condition on the two, such as `a.id < b.id`.
unsafe fn are_different_rows(
    root: *mut pg_sys::PlannerInfo,
    a: *mut pg_sys::RelOptInfo,
    b: *mut pg_sys::RelOptInfo,
) -> bool {
    // SAFETY: relations of the query, whose range table has an entry for each.
    unsafe {
        if a.is_null() || b.is_null() || (*a).relid == (*b).relid {
            return false;
        }
        let table = |rel: *mut pg_sys::RelOptInfo| {
            ((*rel).relid > 0)
                .then(|| (**(*root).simple_rte_array.add((*rel).relid as usize)).relid)
        };
        if table(a) != table(b) || table(a).is_none_or(|oid| oid == pg_sys::InvalidOid) {
            return false;
        }
        let clauses = PgList::<pg_sys::RestrictInfo>::from_pg((*a).joininfo);
        let both = clauses
            .iter_ptr()
            .filter(|&clause| pg_sys::bms_is_member((*b).relid as i32, (*clause).clause_relids));
        both.count() > 1
    }
}

/// What an operand of `~=` says.
struct Operand {
    text: *mut pg_sys::Node,
    similarity: Option<f64>,
}

impl Operand {
    unsafe fn of(
        near: &NearObjects,
        root: *mut pg_sys::PlannerInfo,
        operand: *mut pg_sys::Node,
    ) -> Operand {
        // SAFETY: an expression of the query.
        unsafe {
            if let Some([text, asked, _]) = made(near, operand) {
                return Operand { text, similarity: similarity(root, asked) };
            }
            let is_value = pg_sys::exprType(operand) == near.value;
            let value = constant(operand).filter(|_| is_value).map(|value| NearText::decode(value));
            Operand { text: operand, similarity: value.map(|value| value.similarity) }
        }
    }
}

/// The text, the similarity and the configuration of a call of near_text.
///
/// # Safety
/// `node` is an expression or null.
pub unsafe fn made(near: &NearObjects, node: *mut pg_sys::Node) -> Option<[*mut pg_sys::Node; 3]> {
    // SAFETY: the node is cast only to the type its tag says.
    unsafe {
        if node.is_null() || !pgrx::is_a(node, pg_sys::NodeTag::T_FuncExpr) {
            return None;
        }
        let call = node.cast::<pg_sys::FuncExpr>();
        if (*call).funcid != near.make {
            return None;
        }
        let arguments = PgList::<pg_sys::Node>::from_pg((*call).args);
        Some([arguments.get_ptr(0)?, arguments.get_ptr(1)?, arguments.get_ptr(2)?])
    }
}

/// What is under a change of type that changes nothing else.
unsafe fn stripped(node: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: an expression; it is cast only to the type its tag says.
    unsafe {
        if pgrx::is_a(node, pg_sys::NodeTag::T_RelabelType) {
            (*node.cast::<pg_sys::RelabelType>()).arg.cast()
        } else {
            node
        }
    }
}

/// A similarity that is constant, or as good as.
unsafe fn similarity(root: *mut pg_sys::PlannerInfo, similarity: *mut pg_sys::Node) -> Option<f64> {
    // SAFETY: an expression of the query, of type double precision.
    unsafe {
        let datum = constant(pg_sys::estimate_expression_value(root, similarity))?;
        Some(f64::from_bits(datum.value() as u64))
    }
}

/// The share of [`SHARES`] for a similarity, between its entries on a straight line.
fn share(similarity: f64, rows: usize) -> f64 {
    let (first, last) = (SHARES[0], SHARES[SHARES.len() - 1]);
    let pair = SHARES.windows(2).find(|pair| (pair[0].0..pair[1].0).contains(&similarity));
    match pair {
        Some(&[(from, a), (to, b)]) => {
            let way = (similarity - from) / (to - from);
            a[rows] + (b[rows] - a[rows]) * way
        }
        _ if similarity < first.0 => first.1[rows],
        _ => last.1[rows],
    }
}

/// What it costs to execute a call or an operator clause once, by the width of its columns.
///
/// # Safety
/// `root` is the planner's or null, `node` an expression of its query or null.
pub unsafe fn work(root: *mut pg_sys::PlannerInfo, node: *mut pg_sys::Node) -> Option<f64> {
    // SAFETY: as this function's; the node is cast only to the type its tag says.
    unsafe {
        if root.is_null() || node.is_null() {
            return None;
        }
        let arguments = match (*node).type_ {
            pg_sys::NodeTag::T_FuncExpr => (*node.cast::<pg_sys::FuncExpr>()).args,
            pg_sys::NodeTag::T_OpExpr => (*node.cast::<pg_sys::OpExpr>()).args,
            _ => return None,
        };
        let near = Objects::get().near()?;
        let arguments = PgList::<pg_sys::Node>::from_pg(arguments);
        let widths = arguments.iter_ptr().take(2).filter_map(|argument| {
            let argument = unmarked(&near, argument);
            let text = made(&near, argument).map_or(argument, |[text, ..]| text);
            column_width(root, stripped(text))
        });
        let width = widths.reduce(f64::max).unwrap_or(USUAL_WIDTH);
        Some((OPERATORS + OPERATORS_PER_BYTE * width) * pg_sys::cpu_operator_cost)
    }
}

/// The mean width of a column, if statistics say it.
unsafe fn column_width(root: *mut pg_sys::PlannerInfo, node: *mut pg_sys::Node) -> Option<f64> {
    // SAFETY: the node is cast only to the type its tag says; the range table has an entry for each
    // number of an expression of the query.
    unsafe {
        if !pgrx::is_a(node, pg_sys::NodeTag::T_Var) {
            return None;
        }
        let var = node.cast::<pg_sys::Var>();
        if (*var).varlevelsup > 0 || (*var).varattno <= 0 {
            return None;
        }
        let range_table = PgList::<pg_sys::RangeTblEntry>::from_pg((*(*root).parse).rtable);
        let number = usize::try_from((*var).varno as i64 - 1).ok()?;
        let entry = range_table.get_ptr(number)?;
        if (*entry).rtekind != pg_sys::RTEKind::RTE_RELATION {
            return None;
        }
        let width = pg_sys::get_attavgwidth((*entry).relid, (*var).varattno);
        (width > 0).then(|| f64::from(width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fall_with_the_similarity() {
        for rows in 0..2 {
            let all: Vec<f64> =
                (25..=100).map(|percent| share(f64::from(percent) / 100.0, rows)).collect();
            assert!(all.windows(2).all(|pair| pair[0] >= pair[1]), "{all:?}");
        }
        assert!((share(0.75, 0) - 0.45).abs() < 1e-9);
    }
}
