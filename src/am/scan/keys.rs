//! Reads a scan's keys and order-bys, once when the scan starts.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::base::key::Key;
use simhash_index::postings::Presence;
use simhash_index::{Scopes, TreeKey};

use super::scopes::ScopeConditions;
use crate::am::asked::{Asked, Wanted};
use crate::am::columns::Columns;
use crate::am::keys::{Condition, Keys};
use crate::am::kind::Searched;
use crate::am::text_keys::TextKeys;
use crate::error::raise;
use crate::storage::{Index, check_for_interrupts};
use crate::types::array::elements;
use crate::types::strategy;

/// What a scan has to return: which rows, and in which order.
pub struct Request<K: TreeKey> {
    pub driver: Driver<K::Fingerprint>,
    /// The scopes to search, one after the other.
    pub scopes: Vec<Scopes<K::Scope>>,
    /// A row that the driver finds also has to meet one condition of each of these. Empty where a
    /// row may have several keys: the executor rechecks these conditions.
    pub filters: Vec<Vec<Condition<K::Fingerprint>>>,
    /// Whether rows without a fingerprint follow the others. For an index of texts: whether all
    /// rows of the table of rows do.
    pub nulls: bool,
    /// Which rows of the table of rows are left out.
    pub unwanted: Unwanted,
    /// Whether the executor has to recheck conditions on texts.
    pub asks_text: bool,
    /// The query of each order-by; `None` for NULL, whose distances are all NULL.
    pub orders: Vec<Option<K::Fingerprint>>,
}

/// Which rows of the table of rows a scan of an index of texts leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwanted {
    None,
    Nulls,
    AllButNulls,
}

impl Unwanted {
    /// Whether a row with this key in the table of rows is left out.
    pub fn contains<F: Key>(self, key: F) -> bool {
        match self {
            Unwanted::None => false,
            Unwanted::Nulls => key == Presence::Null.key(),
            Unwanted::AllButNulls => key != Presence::Null.key(),
        }
    }
}

/// How the rows that have a fingerprint are found.
pub enum Driver<F> {
    /// No such row is wanted.
    Nothing,
    /// Rows with a key that meets any of these conditions.
    Within(Vec<Condition<F>>),
    /// All rows, the nearest to any of `queries` first. Rows at the same distance are ordered by
    /// their distances to `then`.
    Nearest { queries: Keys<F>, then: Vec<F> },
    /// Texts that have enough keys of any of these searches.
    Texts(Vec<Wanted<F>>),
}

/// All scan keys on the searched column together.
struct Conditions<F> {
    /// A row has to meet one condition of each of these, with any of its keys.
    all_of: Vec<Vec<Condition<F>>>,
    only_nulls: bool,
    not_null: bool,
}

impl<K: TreeKey> Request<K> {
    const NOTHING: Self = Self {
        driver: Driver::Nothing,
        scopes: Vec::new(),
        filters: Vec::new(),
        nulls: false,
        unwanted: Unwanted::None,
        asks_text: false,
        orders: Vec::new(),
    };

    /// Reads what a scan of `index` has to return.
    ///
    /// # Safety
    /// `desc` is a scan of this index; its arrays are as long as it says.
    pub unsafe fn read(
        desc: &pg_sys::IndexScanDescData,
        index: &Index<K>,
        searched: Searched,
        columns: &Columns,
        texts: Option<&mut TextKeys>,
    ) -> Self {
        // SAFETY: the descriptor's arrays are as long as it says.
        let keys = unsafe { slice(desc.keyData, desc.numberOfKeys) };
        // SAFETY: the descriptor's arrays are as long as it says.
        let order_bys = unsafe { slice(desc.orderByData, desc.numberOfOrderBys) };
        if let Some(texts) = texts {
            // SAFETY: PostgreSQL passes keys of this index's operators.
            return unsafe { Self::read_texts(keys, columns, texts) }.unwrap_or(Self::NOTHING);
        }
        // SAFETY: PostgreSQL passes keys of this index's operators.
        let read = unsafe { Conditions::read(keys, searched, columns) };
        let Some((conditions, of_scopes)) = read else {
            return Self::NOTHING;
        };
        let asks_text = of_scopes.is_lossy;
        let scopes = of_scopes.scopes::<K>();
        let nulls = conditions.allow_nulls(searched);
        if conditions.only_nulls {
            return Self { nulls, scopes, asks_text, ..Self::NOTHING };
        }
        if order_bys.len() > 1 && searched.kind.is_lossy() {
            raise_several_orders(index);
        }
        // SAFETY: PostgreSQL passes order-bys of this index's operators.
        let (orders, nearest) = unsafe { read_orders(order_bys, searched) };
        let (driver, mut filters) = match nearest {
            Some(nearest) => (nearest, conditions.all_of),
            None => tightest(conditions.all_of),
        };
        if searched.kind.has_many_keys() {
            filters.clear();
        }
        Self { driver, scopes, filters, nulls, orders, asks_text, ..Self::NOTHING }
    }

    /// `None` if no row can meet the keys.
    ///
    /// # Safety
    /// The keys are of an index of texts with these columns.
    unsafe fn read_texts(
        keys: &[pg_sys::ScanKeyData],
        columns: &Columns,
        texts: &mut TextKeys,
    ) -> Option<Self> {
        let mut scopes = ScopeConditions::new(columns);
        let mut all = TextConditions { unwanted: Unwanted::None, asks_text: false, any_of: None };
        for key in keys {
            let column = usize::try_from(key.sk_attno - 1).unwrap_or(0);
            let possible = if column < columns.scope_columns() {
                // SAFETY: the key is of an operator of this column.
                unsafe { scopes.add(column, key) }
            } else {
                // SAFETY: the key is of an operator of the last key column.
                unsafe { all.add(key, texts) }
            };
            if !possible {
                return None;
            }
        }
        let TextConditions { unwanted, mut asks_text, any_of } = all;
        asks_text |= scopes.is_lossy;
        let nulls = any_of.is_none();
        let driver = any_of.map_or(Driver::Nothing, Driver::Texts);
        let scopes = scopes.scopes::<K>();
        Some(Self { driver, scopes, nulls, unwanted, asks_text, ..Self::NOTHING })
    }
}

/// All scan keys on a text together.
struct TextConditions<F> {
    unwanted: Unwanted,
    asks_text: bool,
    /// A row has to have enough keys of one of these. `None` if no condition can be searched by.
    any_of: Option<Vec<Wanted<F>>>,
}

impl<F: Key> TextConditions<F> {
    /// Adds a scan key. False if no row can meet it.
    ///
    /// # Safety
    /// `key` is of an operator of the index's last key column.
    unsafe fn add(&mut self, key: &pg_sys::ScanKeyData, texts: &mut TextKeys) -> bool {
        let flags = key.sk_flags as u32;
        let unwanted = if flags & pg_sys::SK_SEARCHNULL != 0 {
            Unwanted::AllButNulls
        } else {
            // No other condition is true of NULL.
            Unwanted::Nulls
        };
        if self.unwanted != Unwanted::None && self.unwanted != unwanted {
            return false;
        }
        self.unwanted = unwanted;
        if flags & (pg_sys::SK_SEARCHNULL | pg_sys::SK_SEARCHNOTNULL) != 0 {
            return true;
        }
        if flags & pg_sys::SK_ISNULL != 0 {
            return false;
        }
        self.asks_text = true;
        let mut any_of = Vec::new();
        let mut add = |argument| {
            // SAFETY: `argument` is of the operator's right-hand type and not NULL.
            match unsafe { texts.asked(key, argument) } {
                Asked::Nothing => true,
                Asked::Keys(wanted) => {
                    any_of.extend(wanted);
                    true
                }
                Asked::Everything => false,
            }
        };
        let is_told = if flags & pg_sys::SK_SEARCHARRAY == 0 {
            add(key.sk_argument)
        } else {
            // SAFETY: the argument is an array of the operator's right-hand type.
            let given = unsafe { elements(key.sk_argument) }.1.into_iter().flatten();
            given.inspect(|_| check_for_interrupts()).all(add)
        };
        if !is_told {
            return true;
        }
        let possible = !any_of.is_empty();
        // Only the strictest of several conditions is searched by: the one whose searches require
        // the largest share of their keys on average, divided by the number of searches.
        let strictness = |any_of: &[Wanted<F>]| {
            any_of.iter().map(|wanted| wanted.shared as f64 / wanted.keys.len() as f64).sum::<f64>()
                / (any_of.len() * any_of.len()).max(1) as f64
        };
        let is_stricter =
            self.any_of.as_ref().is_none_or(|other| strictness(&any_of) > strictness(other));
        if is_stricter {
            self.any_of = Some(any_of);
        }
        possible
    }
}

impl<F: Key> Conditions<F> {
    /// `None` if no row can meet the keys.
    ///
    /// # Safety
    /// The keys are of an index of this kind with these columns.
    unsafe fn read<'a>(
        keys: &[pg_sys::ScanKeyData],
        searched: Searched,
        columns: &'a Columns,
    ) -> Option<(Self, ScopeConditions<'a>)> {
        let mut all = Self { all_of: Vec::new(), only_nulls: false, not_null: false };
        let mut scopes = ScopeConditions::new(columns);
        for key in keys {
            let column = usize::try_from(key.sk_attno - 1).unwrap_or(0);
            let possible = if column < columns.scope_columns() {
                // SAFETY: the key is of an operator of this column.
                unsafe { scopes.add(column, key) }
            } else {
                // SAFETY: the key is of an operator of the searched column.
                unsafe { all.add(key, searched) }
            };
            if !possible {
                return None;
            }
        }
        Some((all, scopes))
    }

    /// Adds a scan key on the searched column. False if no row can meet it.
    unsafe fn add(&mut self, key: &pg_sys::ScanKeyData, searched: Searched) -> bool {
        let flags = key.sk_flags as u32;
        if flags & pg_sys::SK_SEARCHNULL != 0 {
            self.only_nulls = true;
            return true;
        }
        if flags & pg_sys::SK_SEARCHNOTNULL != 0 {
            self.not_null = true;
            return true;
        }
        if flags & pg_sys::SK_ISNULL != 0 {
            // No operator here is true of a NULL argument.
            return false;
        }
        // SAFETY: the argument is of the operator's right-hand type, and not NULL.
        let conditions = |argument| unsafe { searched.conditions(key.sk_strategy, argument) };
        let any_of = if flags & pg_sys::SK_SEARCHARRAY == 0 {
            conditions(key.sk_argument)
        } else {
            // SAFETY: the argument is an array of the operator's right-hand type, and not NULL.
            let given = unsafe { elements(key.sk_argument) }.1.into_iter().flatten();
            given.inspect(|_| check_for_interrupts()).flat_map(conditions).collect()
        };
        let possible = !any_of.is_empty();
        self.all_of.push(any_of);
        possible
    }

    /// Whether a row in the table of NULLs may meet the conditions. That table also has rows
    /// without a key, whose array need not be NULL.
    fn allow_nulls(&self, searched: Searched) -> bool {
        let refused = self.not_null && !searched.kind.has_many_keys();
        !refused && self.all_of.is_empty()
    }
}

/// The queries of the order-bys, and the driver if any of them is not NULL.
///
/// # Safety
/// The order-bys are of the operators of an index of this kind.
unsafe fn read_orders<F: Key>(
    order_bys: &[pg_sys::ScanKeyData],
    searched: Searched,
) -> (Vec<Option<F>>, Option<Driver<F>>) {
    let mut orders = Vec::new();
    let mut nearest: Option<(Keys<F>, Vec<F>)> = None;
    for key in order_bys {
        let given =
            key.sk_flags as u32 & pg_sys::SK_ISNULL == 0 && key.sk_strategy == strategy::DISTANCE;
        // SAFETY: the order-by argument is of the column's type and not NULL.
        let queries = given.then(|| unsafe { searched.keys::<F>(key.sk_argument) });
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

/// The driver of a scan without an order, and the remaining conditions.
fn tightest<F: Key>(mut all_of: Vec<Vec<Condition<F>>>) -> (Driver<F>, Vec<Vec<Condition<F>>>) {
    let everything = Condition { center: F::ZERO, distance: F::BITS };
    let tightest = (0..all_of.len()).min_by_key(|&i| (reach(&all_of[i]), all_of[i].len()));
    let driver = tightest.map_or_else(|| vec![everything], |i| all_of.swap_remove(i));
    (Driver::Within(driver), all_of)
}

/// Raises an ERROR. amcostestimate makes such a plan so expensive that the planner avoids it. The
/// executor, which knows the true distances, would treat rows whose first distance is NULL as
/// equal, whatever the second.
fn raise_several_orders<K: TreeKey>(index: &Index<K>) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!(
            "index \"{}\" cannot return rows in the order of several distances",
            index.store.name()
        ),
        "Let the planner sort: SET enable_seqscan = on; SET enable_sort = on.",
    )
}

/// The greatest distance that any of the conditions allows.
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
