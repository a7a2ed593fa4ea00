//! The cost model: estimates how many leaves a scan reads, and what they cost.

use pgrx::{PgList, pg_sys};
use simhash_core::search::cost;
use simhash_index::TreeKey;
use simhash_index::index::leaves_per_table;

use super::kind::{Kind, Searched, open};
use super::passages::PassageRecipe;
use super::path::{Path, Qual};
use super::texts::Recipe;
use crate::compat;
use crate::planner::{Constant, Expr, kept_beside, made_radius, number_of_values};
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
    let mut generic = pg_sys::GenericCosts::default();
    // SAFETY: PostgreSQL passes a path over an index of this access method; both are the planner's
    // until this returns.
    let (path, kept) = unsafe {
        pg_sys::genericcostestimate(root, path, loop_count, &mut generic);
        (Path::new(root, path), kept_beside(root, path))
    };
    generic.indexSelectivity *= kept;
    generic.numIndexTuples = (generic.numIndexTuples * kept).max(1.0);
    let costs = Costs::of(path, &generic);
    // SAFETY: PostgreSQL passes pointers for the results.
    unsafe {
        (*startup, *total) = (costs.startup, costs.total);
        *selectivity = generic.indexSelectivity;
        // The order of the index says nothing about places in the heap.
        *correlation = 0.0;
        *pages = costs.pages;
    }
}

/// What a scan costs.
struct Costs {
    startup: f64,
    total: f64,
    /// How many pages it reads.
    pages: f64,
}

impl Costs {
    fn of(path: Path, generic: &pg_sys::GenericCosts) -> Self {
        let lock = pg_sys::NoLock as pg_sys::LOCKMODE;
        // SAFETY: the planner has locked the index, which is of this access method.
        let rel = unsafe { pg_sys::index_open(path.index().indexoid, lock) };
        // SAFETY: the index is open until it is closed below.
        let index = unsafe { IndexRel::new(rel) };
        let costs = if meta(index).is_of_postings() {
            // SAFETY: the index is the path's.
            unsafe { TextScan::of(path, index) }.costs(generic)
        } else {
            with_key_type!(family(index), K => LeafScan::of(path, &open::<K>(index)))
                .costs(path, generic)
        };
        // SAFETY: it was opened above, and is not used any more.
        unsafe { pg_sys::index_close(rel, lock) };
        costs
    }
}

/// A scan of an index of fingerprints.
struct LeafScan {
    leaves: Leaves,
    has_many_keys: bool,
    ordered: bool,
}

impl LeafScan {
    fn of<K: TreeKey>(path: Path, index: &Index<K>) -> Self {
        let (held, ordered) = (Searched::of(index), path.orders() > 0);
        let Reach { distance, probes } = least_reach(path, held);
        let part = Part::of_scopes(path, leaves_per_table(index.layout, path.index().pages));
        let Leaves { first, all } = leaves_read(index, distance, &part, ordered);
        let leaves = Leaves { first: first * probes, all: all * probes };
        Self { leaves, has_many_keys: held.kind.has_many_keys(), ordered }
    }

    fn costs(&self, path: Path, generic: &pg_sys::GenericCosts) -> Costs {
        // SAFETY: reads settings of this backend.
        let (operator, tuple) =
            unsafe { (pg_sys::cpu_operator_cost, pg_sys::cpu_index_tuple_cost) };
        let rows = generic.numIndexTuples;
        let row = tuple + path.conditions().max(1) as f64 * operator;
        // An index-only scan for a bare count(*) is slow in two cases. On a standby it looks every
        // row up (see amcanreturn). Over arrays it remembers every row, to count it once.
        // SAFETY: reads the server's recovery state.
        let is_slow = || self.has_many_keys || unsafe { pg_sys::RecoveryInProgress() };
        let leaf = if self.has_many_keys && path.orders() > 1 {
            // SAFETY: the planner is estimating the cost of its path.
            unsafe { compat::disable(path.as_ptr()) };
            REFUSED
        } else if path.is_index_only() && is_slow() {
            // SAFETY: reads a constant of the planner's.
            unsafe { pg_sys::disable_cost }
        } else {
            OPERATORS_PER_LEAF * operator + UNCACHED * generic.spc_random_page_cost
        };
        let startup = if self.ordered { self.leaves.first * leaf } else { leaf };
        let total = startup.max(self.leaves.all * leaf) + rows * row;
        Costs { startup, total, pages: self.leaves.all.max(1.0) }
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
    unsafe fn tells(&self, clause: Expr) -> bool {
        match self {
            AnyRecipe::Near(recipe, _) => recipe.tells(clause),
            // SAFETY: `clause` is an index qual on the text.
            AnyRecipe::Passages(recipe) => unsafe { recipe.tells(clause) },
        }
    }

    /// Whether the planner knows everything that the costs depend on.
    ///
    /// # Safety
    /// `quals` are index quals on the text.
    unsafe fn is_sure_of(&self, quals: &[Expr]) -> bool {
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
    unsafe fn keys_of(&self, quals: &[Expr]) -> f64 {
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
    /// The path is over this index, which is of texts.
    unsafe fn of(path: Path, rel: IndexRel) -> Self {
        let recipe = AnyRecipe::of(rel);
        let of_text = path.quals().into_iter().filter(|qual| qual.column == path.searched());
        let quals = of_text.map(|qual| qual.clause).filter(|clause| clause.null_test().is_none());
        let quals: Vec<Expr> = quals.collect();
        // SAFETY: `quals` are index quals on the text.
        let is_told = quals.iter().any(|&qual| unsafe { recipe.tells(qual) });
        let pages = f64::from(path.index().pages);
        let Part { scopes, rows, .. } = Part::of_scopes(path, pages);
        // SAFETY: `quals` are index quals on the text.
        let (is_sure, keys) = unsafe { (recipe.is_sure_of(&quals), recipe.keys_of(&quals)) };
        // While something is unknown, no page count bounds the cost, so that the sizes of indexes
        // do not decide between them.
        let index_pages = if is_sure { pages.max(1.0) } else { f64::INFINITY };
        let probes = if is_told { 2.0 * keys * scopes } else { 0.0 };
        let looks_at_all = !quals.is_empty() && !is_told;
        Self { probes, scopes, index_pages, rows, looks_at_all }
    }

    fn pages(&self) -> f64 {
        if self.probes > 0.0 {
            self.probes.min(self.index_pages)
        } else {
            (self.rows / ROWS_PER_LEAF).max(1.0)
        }
    }

    fn costs(&self, generic: &pg_sys::GenericCosts) -> Costs {
        // SAFETY: reads settings of this backend.
        let (operator, tuple) =
            unsafe { (pg_sys::cpu_operator_cost, pg_sys::cpu_index_tuple_cost) };
        let page = UNCACHED * generic.spc_random_page_cost;
        let (rows, pages) = (generic.numIndexTuples, self.pages());
        if self.probes == 0.0 {
            let leaf = OPERATORS_PER_LEAF * operator + page;
            let looked_at = if self.looks_at_all { self.rows } else { 0.0 };
            let looking = looked_at * (tuple + OPERATORS_PER_RECHECK * operator);
            let total = pages * leaf + rows * tuple + looking;
            return Costs { startup: leaf, total, pages };
        }
        let probing = OPERATORS_PER_SKETCH * operator
            + self.probes * OPERATORS_PER_PROBE * operator
            + (self.scopes - 1.0) * OPERATORS_PER_SCOPE * operator
            + pages * page;
        let total = probing + rows * (tuple + OPERATORS_PER_RECHECK * operator);
        Costs { startup: probing, total, pages }
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
    fn of_scopes(path: Path, leaves: f64) -> Self {
        let (index, searched) = (path.index(), path.searched());
        let rows = index.tuples.max(1.0);
        if searched == 0 {
            return Self { scopes: 1.0, leaves, rows };
        }
        let mut quals = PgList::<pg_sys::RestrictInfo>::new();
        let mut free: Vec<usize> = (0..searched).collect();
        let mut listed = 1.0;
        for Qual { column, info, clause } in path.quals() {
            if column >= searched {
                continue;
            }
            quals.push(info);
            if clause.tag() == pg_sys::NodeTag::T_ScalarArrayOpExpr {
                // SAFETY: the array is an expression of the query that is planned.
                let length =
                    |array: Expr| unsafe { compat::array_length(path.root(), array.as_ptr()) };
                listed *= clause.argument(1).map_or(1.0, length);
            }
            let is_null = pg_sys::NullTestType::IS_NULL;
            if clause.null_test().is_none_or(|test| test == is_null) {
                free.retain(|&other| other != column);
            }
        }
        let share = if quals.is_empty() {
            1.0
        } else {
            let (inner, none) = (pg_sys::JoinType::JOIN_INNER, std::ptr::null_mut());
            // SAFETY: the quals are the planner's, of the index's table.
            unsafe {
                let table = (*index.rel).relid as i32;
                pg_sys::clauselist_selectivity(path.root(), quals.as_ptr(), table, inner, none)
            }
        };
        let rows = (rows * share).max(1.0);
        let scopes = (listed * values_of(path, &free, rows)).clamp(1.0, rows);
        Self { scopes, leaves: (leaves * share).max(1.0), rows }
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
fn values_of(path: Path, columns: &[usize], rows: f64) -> f64 {
    if columns.is_empty() {
        return 1.0;
    }
    // SAFETY: the index's target list has an entry for each of its columns.
    let all = unsafe { PgList::<pg_sys::TargetEntry>::from_pg(path.index().indextlist) };
    let entries = columns.iter().filter_map(|&column| all.get_ptr(column));
    // SAFETY: the entry is an expression of the query that is planned.
    let values =
        entries.map(|entry| unsafe { number_of_values(path.root(), (*entry).expr.cast()) });
    values.product::<f64>().min(rows)
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
fn least_reach(path: Path, held: Searched) -> Reach {
    let usual = if held.kind.has_many_keys() { USUAL_LEXICONS } else { 1.0 };
    let quals = path.quals();
    if quals.is_empty() && path.orders() == 0 {
        return Reach { distance: None, probes: 1.0 };
    }
    let reach = |(distance, probes): (u32, Option<f64>)| Reach {
        distance: Some(distance),
        probes: probes.unwrap_or(usual),
    };
    let quals = quals.into_iter().filter(|qual| qual.column == path.searched());
    let reaches = quals.filter_map(|qual| clause_reach(path, held, qual.clause)).map(reach);
    let ordered = Reach { distance: None, probes: usual };
    reaches.min_by_key(|reach| reach.distance).unwrap_or(ordered)
}

/// The distance of a condition on the searched column, and its number of fingerprints if that is
/// known.
fn clause_reach(path: Path, held: Searched, clause: Expr) -> Option<(u32, Option<f64>)> {
    // The indexed column is on the left.
    let argument = clause.right_operand()?;
    let operator = clause.operator()?;
    // SAFETY: the index has an operator family for each key column; a catalogue look-up.
    let number = unsafe {
        let family = *path.index().opfamily.add(path.searched());
        pg_sys::get_op_opfamily_strategy(operator, family) as u16
    };
    if number == strategy::EQUAL {
        return Some((0, None));
    }
    // A constant is decoded by the layout of its type, so the layout has to fit.
    let fits = |constant: &Constant| held.kind.operand_fits(number, constant.type_oid());
    let Some(constant) = argument.constant().filter(fits) else {
        // A ball around a parameter or a column of another table may still have a constant radius.
        let fixed = if number == strategy::NEAR { held.kind.near() } else { None };
        // SAFETY: the argument is an expression of the query that is planned.
        let distance = fixed.or_else(|| unsafe { made_radius(path.root(), argument) });
        return Some((distance.unwrap_or(UNKNOWN_DISTANCE * held.bits / 64), None));
    };
    let value = constant.datum();
    if held.kind == Kind::Bits {
        // A bit string of another length raises an ERROR in execution, not in planning.
        // SAFETY: the constant has the layout of a ball, and is not NULL.
        let radius = || unsafe { BitBall::decode(value) }.radius;
        let distance = if number == strategy::WITHIN { radius() } else { 0 };
        return Some((distance, Some(1.0)));
    }
    with_fingerprint_type!(held.bits, F => {
        // SAFETY: the constant has the layout of the operator's right operand, and is not NULL.
        let conditions = unsafe { held.conditions::<F>(number, value) };
        let distance = conditions.iter().map(|condition| condition.distance).max().unwrap_or(0);
        Some((distance, Some(conditions.len() as f64)))
    })
}
