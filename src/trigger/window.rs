//! Windows: with since= only rows of the last days, say, count. A window is counted back from the
//! time of the new row.

use std::ffi::{CStr, CString};

use pgrx::fcinfo::direct_function_call_as_datum as call;
use pgrx::{PgList, PgSqlErrorCode, pg_sys};

use crate::error::with_hint;
use crate::family::column::{Column, Generated, Named};
use crate::family::given::Given;
use crate::family::on::Open;
use crate::family::serving::not_before_of;
use crate::family::value::Value;
use crate::types::text::utf8_to_server;

/// The argument since: the column of a row's time, and how far back rows count.
#[derive(Clone, Debug)]
pub struct Window {
    pub column: Named,
    back: pg_sys::Interval,
}

const SHAPE: &str = "Give the column and how far back its rows count: 'since=created_at 30 days'.";
const BACK: &CStr = c"Give an interval after the column: 'since=created_at 30 days'.";

impl Window {
    pub fn of(given: &Given<'_>) -> Option<Self> {
        let value = given.get("since")?;
        let Some((name, back)) = value.split_once(char::is_whitespace) else {
            given.raise("since", "lacks an interval", SHAPE)
        };
        let named = given.column_named("since", name);
        let column = &named.column;
        if !matches!(column.base, pg_sys::TIMESTAMPTZOID | pg_sys::TIMESTAMPOID | pg_sys::DATEOID) {
            let hint = "A time's column must be of type timestamptz, timestamp or date.";
            given.raise_type("since", column, hint)
        }
        given.refuse_if(
            column.generated != Generated::No,
            "since",
            "names a generated column, which is computed after the trigger",
            "Name a column that is set, for example by DEFAULT now().",
        );
        let back =
            with_hint(PgSqlErrorCode::ERRCODE_INVALID_DATETIME_FORMAT, BACK, || interval(back));
        if !is_positive(back) {
            given.raise_as(
                PgSqlErrorCode::ERRCODE_DATETIME_FIELD_OVERFLOW,
                "since",
                "must have an interval greater than 0",
                "The interval says how far back rows are compared: 'since=created_at 30 days'.",
            )
        }
        Some(Window { column: named, back })
    }

    /// The window of a row with this time. A row without a time gets the transaction's start.
    pub fn before(&self, time: Option<Value<'_>>) -> Since {
        // SAFETY: the functions are those of the column's type, and the interval lives during the
        // call.
        unsafe {
            let time = time.map_or_else(|| now(self.column.column.base), Value::datum);
            let back = pg_sys::Datum::from(&raw const self.back);
            let base = self.column.column.base;
            let minus = match base {
                pg_sys::TIMESTAMPTZOID => pg_sys::timestamptz_mi_interval,
                _ => pg_sys::timestamp_mi_interval,
            };
            let time = instant(base, time);
            let start = call(minus, &[Some(time), Some(back)]).unwrap_or(time);
            Since { column: self.column.column, start: start.value() as i64 }
        }
    }
}

/// Parses an interval. Raises PostgreSQL's own ERROR if it is invalid.
fn interval(text: &str) -> pg_sys::Interval {
    let text = CString::new(&*utf8_to_server(text)).unwrap_or_default();
    // SAFETY: these are the arguments of the type's input function, which returns a palloc'd
    // interval.
    unsafe {
        let type_ = pg_sys::Datum::from(pg_sys::INTERVALOID);
        let arguments = [Some(text.as_ptr().into()), Some(type_), Some((-1i32).into())];
        let read = call(pg_sys::interval_in, &arguments);
        read.map_or_else(Default::default, |read| *read.cast_mut_ptr::<pg_sys::Interval>())
    }
}

fn is_positive(interval: pg_sys::Interval) -> bool {
    let zero = pg_sys::Interval::default();
    let [interval, zero] = [&raw const interval, &raw const zero].map(pg_sys::Datum::from);
    // SAFETY: both intervals live during the call.
    let greater = unsafe { call(pg_sys::interval_gt, &[Some(interval), Some(zero)]) };
    greater.is_some_and(|greater| greater.value() & 0xff != 0)
}

/// The transaction's start, as a value of one of the three types.
unsafe fn now(base: pg_sys::Oid) -> pg_sys::Datum {
    // SAFETY: each function gets a value of its type.
    unsafe {
        let now = pg_sys::Datum::from(pg_sys::GetCurrentTransactionStartTimestamp());
        let converted = match base {
            pg_sys::TIMESTAMPOID => call(pg_sys::timestamptz_timestamp, &[Some(now)]),
            pg_sys::DATEOID => call(pg_sys::timestamptz_date, &[Some(now)]),
            _ => None,
        };
        converted.unwrap_or(now)
    }
}

/// A date as the timestamp at which it begins; other values are unchanged.
unsafe fn instant(base: pg_sys::Oid, value: pg_sys::Datum) -> pg_sys::Datum {
    if base != pg_sys::DATEOID {
        return value;
    }
    // SAFETY: the value is a date.
    unsafe { call(pg_sys::date_timestamp, &[Some(value)]) }.unwrap_or(value)
}

/// The start of the window of one row.
#[derive(Clone, Copy, Debug)]
pub struct Since {
    column: Column,
    /// In microseconds, as in timestamps.
    start: i64,
}

impl Since {
    /// Whether a row with this time is in the window. A row without a time is not.
    pub fn counts(&self, time: Option<Value<'_>>) -> bool {
        let Some(time) = time.filter(|time| time.base() == self.column.base) else { return false };
        // SAFETY: the datum is a value of the column's type.
        let time = unsafe { instant(self.column.base, time.datum()) };
        time.value() as i64 >= self.start
    }

    /// The start as a value of the column's type: for a date, the day that it is in.
    pub fn start(&self) -> Value<'static> {
        let start = pg_sys::Datum::from(self.start);
        // SAFETY: the start is a timestamp, and both types are passed by value.
        unsafe {
            self.column.value(match self.column.base {
                pg_sys::DATEOID => call(pg_sys::timestamp_date, &[Some(start)]).unwrap_or(start),
                _ => start,
            })
        }
    }

    /// Whether the table is a partition whose bounds exclude rows in the window.
    pub fn excludes(&self, table: Open<'_>, column: &Column) -> bool {
        let (none, base) = (pg_sys::InvalidOid, column.base);
        // The look-up of the operator is dearer.
        if !table.form().relispartition {
            return false;
        }
        let Some(not_before) = not_before(base) else { return false };
        let length = if base == pg_sys::DATEOID { 4 } else { 8 };
        // SAFETY: the relation is open. The nodes are made here, or copies in the current memory
        // context: the condition that a row's time is not before the start, and the bounds.
        unsafe {
            let bounds =
                pg_sys::ffi::pg_guard_ffi_boundary(|| RelationGetPartitionQual(table.raw()));
            let time = pg_sys::makeVar(1, column.number, base, -1, none, 0);
            let start = self.start().datum();
            let start = pg_sys::makeConst(base, -1, none, length, start, false, true);
            let (time, start) = (time.cast(), start.cast());
            let condition =
                pg_sys::make_opclause(not_before, pg_sys::BOOLOID, false, time, start, none, none);
            let mut conditions = PgList::<pg_sys::Expr>::new();
            conditions.push(condition);
            pg_sys::predicate_refuted_by(conditions.into_pg(), bounds, false)
        }
    }
}

/// The operator `>=` of a type's default operator class for B-trees.
fn not_before(base: pg_sys::Oid) -> Option<pg_sys::Oid> {
    // SAFETY: catalogue look-ups.
    unsafe {
        let class = pg_sys::GetDefaultOpClass(base, pg_sys::BTREE_AM_OID);
        not_before_of(pg_sys::get_opclass_family(class), base)
    }
}

unsafe extern "C-unwind" {
    // utils/partcache.h, which pgrx does not bind.
    fn RelationGetPartitionQual(relation: pg_sys::Relation) -> *mut pg_sys::List;
}
