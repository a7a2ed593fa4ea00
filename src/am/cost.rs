//! The cost model: estimates how many leaves a scan reads, and what they cost.

use pgrx::{PgList, pg_sys};
use simhash_core::search::cost;
use simhash_index::TreeKey;
use simhash_index::index::leaves_per_table;

use super::kind::{Kind, Searched, key_columns, open};
use super::passages::PassageRecipe;
use super::texts::Recipe;
use crate::compat;
use crate::planner::{index_quals, kept_beside, made_radius, number_of_values};
use crate::storage::{Index, IndexRel, family, meta, with_fingerprint_type, with_key_type};
use crate::types::bit_ball::BitBall;
use crate::types::datum::Decode;
use crate::types::strategy;

/// The cost of processing one leaf (500 to 800 popcounts), in units of cpu_operator_cost. Measured:
/// 0.7 microseconds a leaf, and about 0.02 for an operator call.
const OPERATORS_PER_LEAF: f64 = 30.0;
/// The costs of making a sketch of a text of some hundred bytes, of looking one of its keys up on a
/// leaf, and of rechecking a candidate's text, in units of cpu_operator_cost.
const OPERATORS_PER_SKETCH: f64 = 400.0;
const OPERATORS_PER_PROBE: f64 = 15.0;
const OPERATORS_PER_RECHECK: f64 = 300.0;
/// The cost of each further scope of a search for texts, in the same units.
const OPERATORS_PER_SCOPE: f64 = 1000.0;
/// The approximate number of rows on a leaf of the table of rows.
const ROWS_PER_LEAF: f64 = 700.0;
/// The share of pages that a scan reads from disk although earlier scans of the index have read
/// them.
const UNCACHED: f64 = 0.05;
/// A table, or a scope of it, with fewer leaves is not sampled: reading all of them is cheap.
const FEW_LEAVES: f64 = 64.0;
/// The assumed distance per 64 bits, if the planner does not know it.
const UNKNOWN_DISTANCE: u32 = 6;
/// The assumed number of fingerprints in an array, if the planner does not know it.
const USUAL_LEXICONS: f64 = 4.0;
/// The number of rows that an ordered scan is expected to return before it is stopped.
const ORDERED_ROWS: f64 = 10.0;

/// The cost of a plan that would end in an ERROR: an array's order by several distances. It exceeds
/// any sum of disabled plans, such as a sub-select's, which counts once for each row.
const REFUSED: f64 = 1e100;

#[allow(clippy::too_many_arguments, reason = "PostgreSQL's signature")]
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amcostestimate(
    root: *mut pg_sys::PlannerInfo,
    path: *mut pg_sys::IndexPath,
    loop_count: f64,
    startup: *mut pg_sys::Cost,
    total: *mut pg_sys::Cost,
    selectivity: *mut pg_sys::Selectivity,
    correlation: *mut f64,
    pages: *mut f64,
) {
    // SAFETY: PostgreSQL passes a path over an index of this access method, and pointers for the
    // results. The planner has locked the index.
    unsafe {
        let mut generic = pg_sys::GenericCosts::default();
        pg_sys::genericcostestimate(root, path, loop_count, &mut generic);
        let kept = kept_beside(root, path);
        generic.indexSelectivity *= kept;
        generic.numIndexTuples = (generic.numIndexTuples * kept).max(1.0);
        let info = (*path).indexinfo;
        let rel = pg_sys::index_open((*info).indexoid, pg_sys::NoLock as pg_sys::LOCKMODE);
        let index = IndexRel::new(rel);
        let ordered = !(*path).indexorderbys.is_null();
        let searched = key_columns(rel) - 1;
        if meta(index).is_of_postings() {
            let scan = TextScan::of(root, path, searched, index);
            pg_sys::index_close(rel, pg_sys::NoLock as pg_sys::LOCKMODE);
            (*startup, *total) = scan.costs(&generic);
            *selectivity = generic.indexSelectivity;
            *correlation = 0.0;
            *pages = scan.pages();
            return;
        }
        let (leaves, many_keys) = with_key_type!(family(index), K => {
            let index = open::<K>(index);
            let per_table = leaves_per_table(index.layout, (*info).pages);
            let held = Searched::of(&index);
            let Reach { distance, probes } = least_reach(root, path, held, searched);
            let part = Part::of_scopes(root, path, searched, per_table);
            let Leaves { first, all } = leaves_read(&index, distance, &part, ordered);
            (Leaves { first: first * probes, all: all * probes }, held.kind.has_many_keys())
        });
        pg_sys::index_close(rel, pg_sys::NoLock as pg_sys::LOCKMODE);

        let leaf = OPERATORS_PER_LEAF * pg_sys::cpu_operator_cost
            + UNCACHED * generic.spc_random_page_cost;
        let rows = generic.numIndexTuples;
        let conditions = pg_sys::list_length((*path).indexclauses).max(1);
        let row = pg_sys::cpu_index_tuple_cost + f64::from(conditions) * pg_sys::cpu_operator_cost;
        // An index-only scan for a bare count(*) is slow in two cases. On a standby it looks every
        // row up (see amcanreturn). Over arrays it remembers every row, to count it once.
        let slow = (*path).path.pathtype == pg_sys::NodeTag::T_IndexOnlyScan
            && (pg_sys::RecoveryInProgress() || many_keys);
        let leaf = if many_keys && pg_sys::list_length((*path).indexorderbys) > 1 {
            compat::disable(path);
            REFUSED
        } else if slow {
            pg_sys::disable_cost
        } else {
            leaf
        };
        *startup = if ordered { leaves.first * leaf } else { leaf };
        *total = (*startup).max(leaves.all * leaf) + rows * row;
        *selectivity = generic.indexSelectivity;
        // The order of the index says nothing about places in the heap.
        *correlation = 0.0;
        *pages = leaves.all.max(1.0);
    }
}

/// The recipe of an index of texts, whichever its kind.
enum AnyRecipe {
    Near(Recipe, u32),
    Passages(PassageRecipe),
}

impl AnyRecipe {
    fn of(rel: IndexRel) -> Self {
        let meta = meta(rel);
        if meta.is_of_passages() {
            return AnyRecipe::Passages(PassageRecipe::of(rel));
        }
        AnyRecipe::Near(Recipe::of(rel), meta.bands)
    }

    /// Whether the keys can find the rows that meet a clause.
    ///
    /// # Safety
    /// `clause` is an index qual on the text.
    unsafe fn tells(&self, clause: *mut pg_sys::Node) -> bool {
        // SAFETY: `clause` is an index qual on the text.
        unsafe {
            match self {
                AnyRecipe::Near(recipe, _) => recipe.tells(clause),
                AnyRecipe::Passages(recipe) => recipe.tells(clause),
            }
        }
    }

    /// Whether the planner knows everything that the costs depend on.
    ///
    /// # Safety
    /// `quals` are index quals on the text.
    unsafe fn is_sure_of(&self, quals: &[*mut pg_sys::Node]) -> bool {
        match self {
            AnyRecipe::Near(..) => true,
            AnyRecipe::Passages(recipe) => {
                // SAFETY: `quals` are index quals on the text.
                quals.iter().all(|&qual| unsafe { recipe.is_sure_of(qual) })
            }
        }
    }

    /// How many keys a search looks up.
    ///
    /// # Safety
    /// `quals` are index quals on the text.
    unsafe fn keys_of(&self, quals: &[*mut pg_sys::Node]) -> f64 {
        match self {
            AnyRecipe::Near(_, bands) => f64::from(*bands),
            AnyRecipe::Passages(recipe) => {
                // SAFETY: `quals` are index quals on the text.
                let keys = quals.iter().map(|&qual| unsafe { recipe.keys_of(qual) });
                keys.fold(1.0, f64::max)
            }
        }
    }
}

/// A scan of an index of texts.
struct TextScan {
    /// How many look-ups of a key it makes. 0 if it walks the table of rows.
    probes: f64,
    /// How many scopes it searches.
    scopes: f64,
    /// The index's pages: the most that it can read, however many look-ups it makes.
    index_pages: f64,
    /// Rows of the scopes that it searches.
    rows: f64,
    /// Whether it rechecks every row's text.
    looks_at_all: bool,
}

impl TextScan {
    /// # Safety
    /// The path is the planner's, over this open index; the text is in this column of the index.
    unsafe fn of(
        root: *mut pg_sys::PlannerInfo,
        path: *mut pg_sys::IndexPath,
        column: usize,
        rel: IndexRel,
    ) -> Self {
        let recipe = AnyRecipe::of(rel);
        // SAFETY: the closure gets index quals on the text only.
        let told = |clause: *mut pg_sys::Node| unsafe { recipe.tells(clause) };
        // SAFETY: the path is the planner's; a clause is read only as the type that its tag names.
        let (quals, is_told) = unsafe {
            let of_text = index_quals(path).into_iter().filter(|(of, _)| *of == column);
            let quals = of_text.map(|(_, qual)| (*qual).clause.cast());
            let tests = |&qual: &*mut pg_sys::Node| pgrx::is_a(qual, pg_sys::NodeTag::T_NullTest);
            let quals: Vec<*mut pg_sys::Node> = quals.filter(|qual| !tests(qual)).collect();
            let is_told = quals.iter().any(|&qual| told(qual));
            (quals, is_told)
        };
        let asks_text = !quals.is_empty();
        // SAFETY: the path is the planner's, and so is its index's description.
        let (part, pages) = unsafe {
            let pages = f64::from((*(*path).indexinfo).pages);
            (Part::of_scopes(root, path, column, pages), pages)
        };
        // SAFETY: `quals` are index quals on the text. While something is unknown, no page count
        // bounds the cost, so that the sizes of indexes do not decide between them.
        let (keys, index_pages) = unsafe {
            let is_sure = recipe.is_sure_of(&quals);
            (recipe.keys_of(&quals), if is_sure { pages.max(1.0) } else { f64::INFINITY })
        };
        let probes = if is_told { 2.0 * keys * part.scopes } else { 0.0 };
        let looks_at_all = asks_text && !is_told;
        let Part { scopes, rows, .. } = part;
        Self { probes, scopes, index_pages, rows, looks_at_all }
    }

    fn pages(&self) -> f64 {
        if self.probes > 0.0 {
            self.probes.min(self.index_pages)
        } else {
            (self.rows / ROWS_PER_LEAF).max(1.0)
        }
    }

    /// The startup cost and the total cost.
    unsafe fn costs(&self, generic: &pg_sys::GenericCosts) -> (f64, f64) {
        // SAFETY: reads settings of this backend.
        let (operator, tuple) =
            unsafe { (pg_sys::cpu_operator_cost, pg_sys::cpu_index_tuple_cost) };
        let page = UNCACHED * generic.spc_random_page_cost;
        let rows = generic.numIndexTuples;
        if self.probes == 0.0 {
            let leaf = OPERATORS_PER_LEAF * operator + page;
            let looked_at = if self.looks_at_all { self.rows } else { 0.0 };
            let looking = looked_at * (tuple + OPERATORS_PER_RECHECK * operator);
            return (leaf, self.pages() * leaf + rows * tuple + looking);
        }
        let probing = OPERATORS_PER_SKETCH * operator
            + self.probes * OPERATORS_PER_PROBE * operator
            + (self.scopes - 1.0) * OPERATORS_PER_SCOPE * operator
            + self.pages() * page;
        (probing, probing + rows * (tuple + OPERATORS_PER_RECHECK * operator))
    }
}

/// How many leaves a scan reads before the first rows, and to its end.
struct Leaves {
    first: f64,
    all: f64,
}

/// The scopes that a scan searches; the model takes them to be equally large.
struct Part {
    scopes: f64,
    /// Leaves and rows of all of them.
    leaves: f64,
    rows: f64,
}

impl Part {
    /// The part of a table of `leaves` leaves that the path's conditions leave.
    unsafe fn of_scopes(
        root: *mut pg_sys::PlannerInfo,
        path: *mut pg_sys::IndexPath,
        searched: usize,
        leaves: f64,
    ) -> Self {
        // SAFETY: the path is the planner's, and so are the lists of its clauses.
        unsafe {
            let info = (*path).indexinfo;
            let rows = (*info).tuples.max(1.0);
            if searched == 0 {
                return Self { scopes: 1.0, leaves, rows };
            }
            let mut quals = PgList::<pg_sys::RestrictInfo>::new();
            let mut free: Vec<usize> = (0..searched).collect();
            let mut listed = 1.0;
            for (column, qual) in index_quals(path) {
                if column >= searched {
                    continue;
                }
                quals.push(qual);
                let node = (*qual).clause.cast::<pg_sys::Node>();
                if pgrx::is_a(node, pg_sys::NodeTag::T_ScalarArrayOpExpr) {
                    let array = (*node.cast::<pg_sys::ScalarArrayOpExpr>()).args;
                    let array = PgList::<pg_sys::Node>::from_pg(array).get_ptr(1);
                    listed *= array.map_or(1.0, |array| compat::array_length(root, array));
                }
                let test = node.cast::<pg_sys::NullTest>();
                let is_point = !pgrx::is_a(node, pg_sys::NodeTag::T_NullTest)
                    || (*test).nulltesttype == pg_sys::NullTestType::IS_NULL;
                if is_point {
                    free.retain(|&other| other != column);
                }
            }
            let share = if quals.is_empty() {
                1.0
            } else {
                pg_sys::clauselist_selectivity(
                    root,
                    quals.as_ptr(),
                    (*(*info).rel).relid as i32,
                    pg_sys::JoinType::JOIN_INNER,
                    std::ptr::null_mut(),
                )
            };
            let rows = (rows * share).max(1.0);
            let scopes = (listed * values_of(root, info, &free, rows)).clamp(1.0, rows);
            Self { scopes, leaves: (leaves * share).max(1.0), rows }
        }
    }

    /// How many leaves a search within a distance reads.
    fn read<K: TreeKey>(&self, index: &Index<K>, distance: u32) -> f64 {
        let each = self.leaves / self.scopes;
        if each < 1.0 {
            // Several scopes share a leaf, so all leaves are read.
            return self.leaves;
        }
        if each < FEW_LEAVES {
            let distance = distance.min(index.layout.bits());
            let plan = cost::cheapest::<K::Fingerprint>(index.layout, distance, each);
            return self.scopes * cost::expected_leaves::<K::Fingerprint>(&plan, each);
        }
        self.scopes * index.expected_leaves(distance, each)
    }
}

/// How many distinct combinations of values some columns of the index have in this many rows.
unsafe fn values_of(
    root: *mut pg_sys::PlannerInfo,
    info: *mut pg_sys::IndexOptInfo,
    columns: &[usize],
    rows: f64,
) -> f64 {
    if columns.is_empty() {
        return 1.0;
    }
    // SAFETY: the index's target list has an entry for each of its columns.
    unsafe {
        let all = PgList::<pg_sys::TargetEntry>::from_pg((*info).indextlist);
        let entries = columns.iter().filter_map(|&column| all.get_ptr(column));
        let values = entries.map(|entry| number_of_values(root, (*entry).expr.cast()));
        values.product::<f64>().min(rows)
    }
}

fn leaves_read<K: TreeKey>(
    index: &Index<K>,
    distance: Option<u32>,
    part: &Part,
    ordered: bool,
) -> Leaves {
    let bits = index.layout.bits();
    match distance {
        Some(distance) if !ordered => Leaves { first: 1.0, all: part.read(index, distance) },
        _ if ordered => {
            let near =
                (0..=bits).find(|&d| cost::expected_matches(bits, d, part.rows) >= ORDERED_ROWS);
            let near = near.unwrap_or(bits).min(distance.unwrap_or(bits));
            let first = part.read(index, near);
            let all = distance.map_or(part.leaves, |distance| part.read(index, distance));
            Leaves { first, all: all.max(first) }
        }
        _ => Leaves { first: 1.0, all: part.leaves },
    }
}

/// How far a scan searches, and from how many fingerprints.
struct Reach {
    /// `None` for no bound.
    distance: Option<u32>,
    probes: f64,
}

/// The smallest reach among the path's conditions.
unsafe fn least_reach(
    root: *mut pg_sys::PlannerInfo,
    path: *mut pg_sys::IndexPath,
    held: Searched,
    searched: usize,
) -> Reach {
    let usual = if held.kind.has_many_keys() { USUAL_LEXICONS } else { 1.0 };
    let ordered = Reach { distance: None, probes: usual };
    // SAFETY: the path's clauses are the planner's.
    unsafe {
        let quals = index_quals(path);
        if quals.is_empty() && (*path).indexorderbys.is_null() {
            return Reach { distance: None, probes: 1.0 };
        }
        quals
            .into_iter()
            .filter(|(column, _)| *column == searched)
            .filter_map(|(_, qual)| clause_reach(root, path, held, searched, (*qual).clause.cast()))
            .map(|(distance, probes)| Reach {
                distance: Some(distance),
                probes: probes.unwrap_or(usual),
            })
            .min_by_key(|reach| reach.distance)
            .unwrap_or(ordered)
    }
}

/// A condition's distance, and its number of fingerprints if that is known.
unsafe fn clause_reach(
    root: *mut pg_sys::PlannerInfo,
    path: *mut pg_sys::IndexPath,
    held: Searched,
    searched: usize,
    clause: *mut pg_sys::Node,
) -> Option<(u32, Option<f64>)> {
    // SAFETY: the caller passes an index qual of the path; operator clauses have the indexed column
    // on the left.
    unsafe {
        if !pgrx::is_a(clause, pg_sys::NodeTag::T_OpExpr) {
            return None;
        }
        let operator = clause.cast::<pg_sys::OpExpr>();
        let family = *(*(*path).indexinfo).opfamily.add(searched);
        let number = pg_sys::get_op_opfamily_strategy((*operator).opno, family) as u16;
        if number == strategy::EQUAL {
            return Some((0, None));
        }
        let argument = PgList::<pg_sys::Node>::from_pg((*operator).args).get_ptr(1)?;
        let constant = argument.cast::<pg_sys::Const>();
        let known = pgrx::is_a(argument, pg_sys::NodeTag::T_Const) && !(*constant).constisnull;
        // A constant is decoded by the layout of its type, so the layout has to fit.
        if !known || !held.kind.operand_fits(number, (*constant).consttype) {
            // A ball around a parameter or a column of another table may still have a constant
            // radius.
            let fixed = if number == strategy::NEAR { held.kind.near() } else { None };
            let distance = fixed.or_else(|| made_radius(root, argument));
            return Some((distance.unwrap_or(UNKNOWN_DISTANCE * held.bits / 64), None));
        }
        if held.kind == Kind::Bits {
            // A bit string of another length raises an ERROR in execution, not in planning.
            let constant = (*constant).constvalue;
            let distance =
                if number == strategy::WITHIN { BitBall::decode(constant).radius } else { 0 };
            return Some((distance, Some(1.0)));
        }
        with_fingerprint_type!(held.bits, F => {
            let conditions = held.conditions::<F>(number, (*constant).constvalue);
            let distance = conditions.iter().map(|condition| condition.distance).max().unwrap_or(0);
            Some((distance, Some(conditions.len() as f64)))
        })
    }
}
