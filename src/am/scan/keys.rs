//! What a scan is asked for: its scan keys and order-bys, read once when the scan starts.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::search::Key;

use crate::am::keys::{Condition, Keys};
use crate::am::kind::Kind;
use crate::error::raise;
use crate::storage::Index;
use crate::types::strategy;

/// What a scan is asked for: which rows, and in which order.
pub struct Request<F> {
    pub driver: Driver<F>,
    /// Conditions beside the driver's that a row has to meet. Where a row may have several keys
    /// there are none here: the executor checks the rest.
    pub filters: Vec<Condition<F>>,
    /// Whether rows without a fingerprint follow the others.
    pub nulls: bool,
    /// The query of each order-by; none where it is NULL, as all distances to it are.
    pub orders: Vec<Option<F>>,
}

/// What finds the rows that have a fingerprint.
pub enum Driver<F> {
    /// No such row is wanted.
    Nothing,
    /// Rows with a key that meets any of these conditions.
    Within(Vec<Condition<F>>),
    /// All rows, the nearest to any of `queries` first. Rows at the same distance come in the
    /// order of their distances to `then`.
    Nearest { queries: Keys<F>, then: Vec<F> },
}

/// What the scan keys say together.
struct Conditions<F> {
    /// A row has to meet all of these. Always empty where a row may have several keys.
    filters: Vec<Condition<F>>,
    /// A row has to meet one of these, with any of its keys. Empty where a row has one key.
    any_of: Vec<Condition<F>>,
    only_nulls: bool,
    not_null: bool,
}

impl<F: Key> Request<F> {
    const NOTHING: Self =
        Self { driver: Driver::Nothing, filters: Vec::new(), nulls: false, orders: Vec::new() };

    /// Reads what a scan of `index` is asked for.
    ///
    /// # Safety
    /// The descriptor is a scan's of this index; its arrays are as long as it says.
    pub unsafe fn read(desc: pg_sys::IndexScanDesc, index: &Index<F>, kind: Kind) -> Self {
        // SAFETY: as this function's.
        let (keys, order_bys) = unsafe {
            (
                slice((*desc).keyData, (*desc).numberOfKeys),
                slice((*desc).orderByData, (*desc).numberOfOrderBys),
            )
        };
        // SAFETY: the keys are of this index's operators.
        let Some(conditions) = (unsafe { Conditions::read(keys, kind) }) else {
            return Self::NOTHING;
        };
        let nulls = conditions.allow_nulls(kind);
        if conditions.only_nulls {
            return Self { nulls, ..Self::NOTHING };
        }
        if order_bys.len() > 1 && kind.is_lossy() {
            raise_several_orders(index);
        }
        // SAFETY: the order-bys are of this index's operators.
        let (orders, nearest) = unsafe { read_orders(order_bys, kind) };
        let Conditions { filters, any_of, .. } = conditions;
        let (driver, filters) = match nearest {
            Some(nearest) => (nearest, filters),
            None => tightest(filters, any_of),
        };
        Self { driver, filters, nulls, orders }
    }
}

impl<F: Key> Conditions<F> {
    /// None if no row can meet all of the keys.
    ///
    /// # Safety
    /// The keys are of the operators of an index of this kind.
    unsafe fn read(keys: &[pg_sys::ScanKeyData], kind: Kind) -> Option<Self> {
        let (filters, any_of) = (Vec::new(), Vec::new());
        let mut all = Self { filters, any_of, only_nulls: false, not_null: false };
        for key in keys {
            let flags = key.sk_flags as u32;
            if flags & pg_sys::SK_SEARCHNULL != 0 {
                all.only_nulls = true;
                continue;
            }
            if flags & pg_sys::SK_SEARCHNOTNULL != 0 {
                all.not_null = true;
                continue;
            }
            if flags & pg_sys::SK_ISNULL != 0 {
                // No operator here is true of a NULL argument.
                return None;
            }
            // SAFETY: the argument is of the operator's right-hand type and not NULL.
            let conditions = unsafe { kind.conditions(key.sk_strategy, key.sk_argument) };
            if conditions.is_empty() {
                return None;
            }
            if !kind.has_many_keys() {
                all.filters.extend(conditions);
            } else if all.any_of.is_empty() || reach(&conditions) < reach(&all.any_of) {
                all.any_of = conditions;
            }
        }
        Some(all)
    }

    /// Whether a row in the table of NULLs may meet them. A row without a key is there too, though
    /// its array need not be NULL.
    fn allow_nulls(&self, kind: Kind) -> bool {
        let refused = self.not_null && !kind.has_many_keys();
        !refused && self.filters.is_empty() && self.any_of.is_empty()
    }
}

/// The queries of the order-bys, and the driver if one of them is not NULL.
///
/// # Safety
/// The order-bys are of the operators of an index of this kind.
unsafe fn read_orders<F: Key>(
    order_bys: &[pg_sys::ScanKeyData],
    kind: Kind,
) -> (Vec<Option<F>>, Option<Driver<F>>) {
    let mut orders = Vec::new();
    let mut nearest: Option<(Keys<F>, Vec<F>)> = None;
    for key in order_bys {
        let given =
            key.sk_flags as u32 & pg_sys::SK_ISNULL == 0 && key.sk_strategy == strategy::DISTANCE;
        // SAFETY: the order-by argument is of the column's type and not NULL.
        let queries = given.then(|| unsafe { kind.keys::<F>(key.sk_argument) });
        let query = queries.as_ref().and_then(|queries| queries.as_slice().first().copied());
        orders.push(query);
        match (&mut nearest, queries, query) {
            (Some((_, then)), _, Some(query)) => then.push(query),
            (None, Some(queries), Some(_)) => nearest = Some((queries, Vec::new())),
            _ => {}
        }
    }
    (orders, nearest.map(|(queries, then)| Driver::Nearest { queries, then }))
}

/// The driver of a scan without an order, and the filters that are left.
fn tightest<F: Key>(
    mut filters: Vec<Condition<F>>,
    any_of: Vec<Condition<F>>,
) -> (Driver<F>, Vec<Condition<F>>) {
    let everything = Condition { center: F::ZERO, distance: F::BITS };
    let tightest = (0..filters.len()).min_by_key(|&i| filters[i].distance);
    let driver = match tightest {
        Some(i) => vec![filters.swap_remove(i)],
        None if any_of.is_empty() => vec![everything],
        None => any_of,
    };
    (Driver::Within(driver), filters)
}

/// amcostestimate leaves no reason to plan such a scan. The executor, which knows the distances,
/// would take rows whose first distance is NULL for equal, whatever the second.
fn raise_several_orders<F: Key>(index: &Index<F>) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("index \"{}\" cannot order by several distances", index.store.name()),
        "Let the planner sort: SET enable_seqscan = on; SET enable_sort = on.",
    )
}

/// The greatest distance that one of the conditions allows.
fn reach<F>(conditions: &[Condition<F>]) -> u32 {
    conditions.iter().map(|condition| condition.distance).max().unwrap_or(0)
}

unsafe fn slice<'a>(keys: pg_sys::ScanKey, count: i32) -> &'a [pg_sys::ScanKeyData] {
    if count <= 0 || keys.is_null() {
        return &[];
    }
    // SAFETY: the caller passes an array of this length.
    unsafe { std::slice::from_raw_parts(keys, count as usize) }
}
