//! `bloom_agg`, `bloom_contains` and the union of filters as aggregate and operator.
//!
//! The aggregates' state is a [`BloomFilter`] in the aggregate's memory context; in a parallel plan it travels as
//! bytea.

use std::borrow::Cow;

use pgrx::datum::Internal;
use pgrx::{PgMemoryContexts, PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::sets::bloom::{Shape, ShapeError};

use crate::error::{raise, shown_number};
use crate::types::Text;
use crate::types::bloom::BloomFilter;

/// What a filter is sized for when the caller does not say.
const DEFAULT_EXPECTED: i64 = 100_000;
const DEFAULT_RATE: f32 = 0.01;

type State = BloomFilter<'static>;

fn shape(expected: i64, rate: f32) -> Shape {
    Shape::for_rate(expected, widen(rate)).unwrap_or_else(|error| {
        let hint = match error {
            ShapeError::Expected(_) => "Expect 1 text or more.",
            ShapeError::Rate(_) => "A rate is greater than 0 and less than 1, such as 0.01.",
            ShapeError::TooLarge(_) => {
                "Expect fewer texts, or allow a greater rate: 4294967296 bits are the most."
            }
        };
        let message = match error {
            ShapeError::Rate(_) => format!("{} is not a false-positive rate", shown_number(rate)),
            _ => error.to_string(),
        };
        raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message, hint)
    })
}

/// The shortest decimal number that is `rate` as a real: 0.01, not 0.009999999776.
fn widen(rate: f32) -> f64 {
    rate.to_string().parse().unwrap_or(f64::from(rate))
}

/// The state that an aggregate's call was given.
fn given<'a>(state: Internal) -> Option<&'a mut State> {
    // SAFETY: only the functions here make states of these aggregates, and no two references exist at a time.
    state.unwrap().map(|datum| unsafe { &mut *datum.cast_mut_ptr::<State>() })
}

/// The same state, to be passed to the next call.
fn returned(state: Option<&mut State>) -> Internal {
    Internal::from(state.map(|state| pg_sys::Datum::from(std::ptr::from_mut(state))))
}

/// Puts a state where it lives as long as the aggregate.
fn stored(state: State, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    let mut context = std::ptr::null_mut();
    // SAFETY: PostgreSQL passes a valid call, and sets the context when it is one of an aggregate.
    if unsafe { pg_sys::AggCheckCallContext(fcinfo, &mut context) } == 0 {
        raise(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, "function called outside of an aggregate".into(), "")
    }
    let state = PgMemoryContexts::For(context).leak_and_drop_on_delete(state);
    Internal::from(Some(pg_sys::Datum::from(state)))
}

fn accumulate(
    state: Internal,
    text: Option<Text<'_>>,
    size: impl FnOnce() -> Shape,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    let state = given(state);
    let Some(text) = text else { return returned(state) };
    match state {
        Some(filter) => {
            filter.insert(text.as_str());
            returned(Some(filter))
        }
        None => {
            let mut filter = BloomFilter::empty(size());
            filter.insert(text.as_str());
            stored(filter, fcinfo)
        }
    }
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_agg_add(state: Internal, text: Option<Text<'_>>, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    accumulate(state, text, || shape(DEFAULT_EXPECTED, DEFAULT_RATE), fcinfo)
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_agg_add_expected(
    state: Internal,
    text: Option<Text<'_>>,
    expected: Option<i64>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    accumulate(state, text, || shape(expected.unwrap_or(DEFAULT_EXPECTED), DEFAULT_RATE), fcinfo)
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_agg_add_sized(
    state: Internal,
    text: Option<Text<'_>>,
    expected: Option<i64>,
    rate: Option<f32>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    let size = || shape(expected.unwrap_or(DEFAULT_EXPECTED), rate.unwrap_or(DEFAULT_RATE));
    accumulate(state, text, size, fcinfo)
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_union_add(
    state: Internal,
    filter: Option<BloomFilter<'_>>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    let state = given(state);
    let Some(filter) = filter else { return returned(state) };
    match state {
        Some(sum) => {
            sum.unite(&filter);
            returned(Some(sum))
        }
        None => stored(owned(filter), fcinfo),
    }
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_agg_combine(state: Internal, other: Internal, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    match (given(state), given(other)) {
        (Some(sum), Some(other)) => {
            sum.unite(other);
            returned(Some(sum))
        }
        (None, Some(other)) => stored(other.clone(), fcinfo),
        (state, None) => returned(state),
    }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_agg_serialize(state: Internal) -> Vec<u8> {
    given(state).map_or_else(Vec::new, |filter| filter.to_bytes())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_agg_deserialize(bytes: &[u8], _internal: Internal, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    match BloomFilter::from_bytes(bytes) {
        Some(filter) => stored(owned(filter), fcinfo),
        None => raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed state of bloom_agg".into(), ""),
    }
}

/// A copy, for the state lives on and may be asked again.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_agg_final(state: Internal) -> Option<BloomFilter<'static>> {
    given(state).map(|filter| filter.clone())
}

fn owned(filter: BloomFilter<'_>) -> State {
    BloomFilter { shape: filter.shape, count: filter.count, bits: Cow::Owned(filter.bits.into_owned()) }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_contains(filter: BloomFilter<'_>, text: Text<'_>) -> bool {
    filter.contains(text.as_str())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_or(a: BloomFilter<'_>, b: BloomFilter<'_>) -> BloomFilter<'static> {
    let mut sum = owned(a);
    sum.unite(&b);
    sum
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_empty(expected: i64, rate: f32) -> BloomFilter<'static> {
    BloomFilter::empty(shape(expected, rate))
}
