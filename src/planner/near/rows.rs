//! Estimates how many rows are near a text, and what it costs to compare two texts.
//!
//! The planner's `README.md` (Estimates of texts) has the method. An index of texts gives the rows
//! that share keys with texts of the column's statistics ([`sample`]), and the mean number of rows
//! that share a key with a row (`expected_run`). [`SHARES`] has the share of the latter that is
//! near.

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

/// The selectivity if nothing is known, as for two columns of one row.
const UNKNOWN: f64 = 0.01;
/// Without an index: the rows near a row, itself included, for each copy of its text.
const USUAL_ROWS: f64 = 2.0;
/// The greatest estimate of the share of rows that have near rows, so that an antijoin keeps some.
const MOST: f64 = 0.9;

/// For each least similarity, and for keys of three components and of two: the number of near rows
/// for each other row that shares a key with a row. Geometric means over seven sets of real texts,
/// rounded. Measured in November 2026: descriptions of packages, licences, program code, verses,
/// questions, titles, in English and Chinese, 2,700 to 100,000 of each. The extremes are off by a
/// factor of five.
const SHARES: [(f64, [f64; 2]); 7] = [
    (0.3, [2.0, 0.6]),
    (0.4, [1.6, 0.27]),
    (0.5, [1.2, 0.14]),
    (0.6, [0.8, 0.08]),
    (0.7, [0.55, 0.05]),
    (0.8, [0.35, 0.035]),
    (0.9, [0.2, 0.02]),
];

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
    texts: [*mut pg_sys::Node; 2],
    /// The greater of the similarities that are known.
    similarity: Option<f64>,
}

impl Near {
    /// The condition of a call `near_duplicate(a, b, similarity, config)`, whose arguments the
    /// clause has.
    ///
    /// # Safety
    /// The clause's fields are the planner's, for a clause of its query.
    pub unsafe fn of_call(clause: &Clause) -> Option<Near> {
        // SAFETY: the planner's list of arguments, which are expressions of its query.
        unsafe {
            let near = Objects::get().near()?;
            let arguments = PgList::<pg_sys::Node>::from_pg(clause.arguments);
            let texts = [arguments.get_ptr(0)?, arguments.get_ptr(1)?];
            let similarity = similarity(clause.root, arguments.get_ptr(2)?);
            Some(Near { near, texts, similarity })
        }
    }

    /// The condition `a ~= b`, of a text and a near_text, or of two near_texts.
    ///
    /// # Safety
    /// The clause's fields are the planner's, for a clause of its query.
    unsafe fn of_operands(clause: &Clause) -> Option<Near> {
        // SAFETY: the planner's list of operands, which are expressions of its query.
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

    /// The share of a relation's rows, or of pairs of two relations' rows, that the clause keeps.
    ///
    /// # Safety
    /// The clause's fields are the planner's, for a clause of its query.
    pub unsafe fn selectivity(&self, clause: &Clause) -> f64 {
        let mut arguments = PgList::<pg_sys::Node>::new();
        self.texts.into_iter().for_each(|text| arguments.push(text));
        let arguments = arguments.into_pg();
        // SAFETY: the texts are operands of the planner's clause.
        unsafe {
            match clause.join {
                Some(join) => self.of_join(clause, arguments, join),
                None => self.of_restriction(clause, arguments),
            }
        }
    }

    unsafe fn of_restriction(&self, clause: &Clause, arguments: *mut pg_sys::List) -> f64 {
        // SAFETY: `arguments` has the two texts of the planner's clause.
        unsafe {
            let side =
                clause.with_variable(arguments, |variable, _| self.side(clause.root, variable));
            side.map_or(UNKNOWN, |side| side.share_near(true))
        }
    }

    /// The lesser share of the two sides: each text of one table is expected to have near texts in
    /// the other, and the larger table to have more of them.
    unsafe fn of_join(
        &self,
        clause: &Clause,
        arguments: *mut pg_sys::List,
        join: *mut pg_sys::SpecialJoinInfo,
    ) -> f64 {
        // SAFETY: `arguments` has the two texts of the planner's clause.
        unsafe {
            let root = clause.root;
            let read = |left: &mut Variable, right: &mut Variable, reversed| {
                // A row is near itself. That counts unless the query joins different rows of one
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
        // SAFETY: the planner filled the variable in, and statistics are read only if there are
        // some.
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

    /// The other rows that are near a row, from an index on the text.
    unsafe fn others(
        &self,
        root: *mut pg_sys::PlannerInfo,
        variable: *mut pg_sys::VariableStatData,
    ) -> Option<Others> {
        // SAFETY: the relation and its indexes are the planner's, which has locked them.
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

    /// An index of the relation on the text, or on near_text of it. One without a predicate is
    /// preferred, then one with few key columns.
    unsafe fn index(
        &self,
        rel: *mut pg_sys::RelOptInfo,
        text: *mut pg_sys::Node,
    ) -> Option<pg_sys::Oid> {
        // SAFETY: the relation and its indexes are the planner's. An index has a family and a key
        // for each of its key columns.
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
                // From PostgreSQL 16 on, the list also has partitioned indexes, which have no
                // pages.
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
        // SAFETY: the index is the planner's. It has an expression for each column whose key is 0.
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
        // SAFETY: the planner's array of relations has an entry for each child in its list.
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

/// The other rows of an index that are near a row. `None` if the index is not of texts.
///
/// # Safety
/// `index` is open. `statistics` is the row of pg_statistic of its column, or null.
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
        // SAFETY: `index` is open and of texts, and `statistics` is its column's row or null.
        let found = unsafe { sample::found(index, statistics, schema) };
        found.map_or(expected, |found| found.others(similarity, expected))
    })
}

/// The selectivity of `a ~= b`, of a text and a near_text or of two.
///
/// # Safety
/// The clause's fields are the planner's, for a clause of its query.
pub unsafe fn selectivity(clause: &Clause) -> f64 {
    // SAFETY: the clause's operands are expressions of the planner's query.
    unsafe {
        if is_beside(clause) {
            return 1.0;
        }
        Near::of_operands(clause).map_or(UNKNOWN, |near| near.selectivity(clause))
    }
}

/// Marks an operand by a cast to its own type: its clause repeats a call of near_duplicate beside
/// it. Together they keep as many rows as the call alone, so the clause has the selectivity 1. See
/// [`kept_beside`].
///
/// # Safety
/// `value` is an expression of the type near_text.
pub unsafe fn beside(near: &NearObjects, value: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: makeRelabelType only builds the node, and `value` has the type already.
    unsafe {
        let form = pg_sys::CoercionForm::COERCE_IMPLICIT_CAST;
        let none = pg_sys::InvalidOid;
        pg_sys::makeRelabelType(value.cast(), near.value, -1, none, form).cast()
    }
}

/// The selectivity of the marked clauses of an index path. PostgreSQL takes it for 1.
///
/// # Safety
/// `path` is the planner's, and `root` its state.
pub unsafe fn kept_beside(root: *mut pg_sys::PlannerInfo, path: *mut pg_sys::IndexPath) -> f64 {
    // SAFETY: the path and its index are the planner's, and a node is cast only to the type its tag
    // says.
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
    // SAFETY: the clause's operands are expressions of the planner's query.
    unsafe {
        let Some(near) = Objects::get().near() else { return false };
        let arguments = PgList::<pg_sys::Node>::from_pg(clause.arguments);
        arguments.iter_ptr().any(|argument| unmarked(&near, argument) != argument)
    }
}

/// An operand without the mark of [`beside`].
unsafe fn unmarked(near: &NearObjects, node: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: `node` is an expression, and is cast only to the type its tag says.
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

    /// The share of its rows that are near a text.
    fn share_near(&self, itself: bool) -> f64 {
        (self.near(itself) / self.rows).min(1.0) * self.not_null
    }
}

/// Whether two relations are one table and the query joins different rows of it. This is assumed if
/// another condition joins them, such as `a.id < b.id`.
unsafe fn are_different_rows(
    root: *mut pg_sys::PlannerInfo,
    a: *mut pg_sys::RelOptInfo,
    b: *mut pg_sys::RelOptInfo,
) -> bool {
    // SAFETY: the relations are of the query, whose range table has an entry for each.
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

/// An operand of `~=`: its text, or a value that has it, and its similarity if that is known.
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
        // SAFETY: `operand` is an expression of the query, and a constant is read by its type.
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

/// Whether a type is near_text.
pub fn is_near_text(type_oid: pg_sys::Oid) -> bool {
    Objects::get().near().is_some_and(|near| near.value == type_oid)
}

/// As [`made`], of the extension that is installed.
///
/// # Safety
/// `node` is an expression or null.
pub unsafe fn near_text_call(node: *mut pg_sys::Node) -> Option<[*mut pg_sys::Node; 3]> {
    let near = Objects::get().near()?;
    // SAFETY: `node` is an expression or null.
    unsafe { made(&near, node) }
}

/// The text, the similarity and the configuration of a call of near_text.
///
/// # Safety
/// `node` is an expression or null.
pub unsafe fn made(near: &NearObjects, node: *mut pg_sys::Node) -> Option<[*mut pg_sys::Node; 3]> {
    // SAFETY: `node` is an expression or null, and is cast only to the type its tag says.
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

/// The expression under a change of type that leaves its bits alone.
unsafe fn stripped(node: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: `node` is an expression, and is cast only to the type its tag says.
    unsafe {
        if pgrx::is_a(node, pg_sys::NodeTag::T_RelabelType) {
            (*node.cast::<pg_sys::RelabelType>()).arg.cast()
        } else {
            node
        }
    }
}

/// The similarity, if it is constant or can be estimated as a constant, such as a known parameter.
unsafe fn similarity(root: *mut pg_sys::PlannerInfo, similarity: *mut pg_sys::Node) -> Option<f64> {
    // SAFETY: `similarity` is an expression of the query, of type double precision.
    unsafe {
        let datum = constant(pg_sys::estimate_expression_value(root, similarity))?;
        Some(f64::from_bits(datum.value() as u64))
    }
}

/// The entry of [`SHARES`] for a similarity, interpolated linearly.
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

/// The cost of executing a call or an operator clause once, by the width of its columns.
///
/// # Safety
/// `root` is the planner's state or null, `node` an expression of its query or null.
pub unsafe fn work(root: *mut pg_sys::PlannerInfo, node: *mut pg_sys::Node) -> Option<f64> {
    // SAFETY: `node` is an expression of the query that `root` plans, and is cast only to the type
    // its tag says.
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

/// The mean width of a column, from its statistics.
unsafe fn column_width(root: *mut pg_sys::PlannerInfo, node: *mut pg_sys::Node) -> Option<f64> {
    // SAFETY: `node` is an expression, and is cast only to the type its tag says. The range table
    // has an entry for each index in an expression of the query.
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
