//! `bloom_agg`, `bloom_contains` and the union of filters as aggregate and operator.
//!
//! The aggregates' state is in the aggregate's memory context; in a parallel plan it travels as
//! bytea.

use pgrx::datum::Internal;
use pgrx::{PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::sets::bloom::{Shape, ShapeError};

use crate::error::{raise, shown_number};
use crate::types::bloom::{BitsMut, BloomFilter};
use crate::types::{STRETCH, Text};

/// What a filter is sized for when the caller does not say.
const DEFAULT_EXPECTED: i64 = 100_000;
const DEFAULT_RATE: f32 = 0.01;

/// What an aggregate adds to: in its memory context, bits and all, so that PostgreSQL knows how much memory a group takes and
/// writes groups that are too many to temporary files.
struct State {
    shape: Shape,
    count: u64,
    bits: *mut u8,
}

impl State {
    fn bits_mut(&mut self) -> BitsMut<'_> {
        // SAFETY: allocated with the shape's bytes, and all were written.
        let bits = unsafe { std::slice::from_raw_parts_mut(self.bits, self.shape.bytes()) };
        BitsMut { shape: self.shape, count: &mut self.count, bits }
    }

    fn filter(&self) -> BloomFilter<'_> {
        // SAFETY: as above.
        let bits = unsafe { std::slice::from_raw_parts(self.bits, self.shape.bytes()) };
        BloomFilter { shape: self.shape, count: self.count, bits: bits.into() }
    }
}

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

/// An empty state where it lives as long as the aggregate.
fn new_state<'a>(shape: Shape, fcinfo: pg_sys::FunctionCallInfo) -> &'a mut State {
    let mut context = std::ptr::null_mut();
    // SAFETY: PostgreSQL passes a valid call, and sets the context when it is one of an aggregate. What is allocated there is
    // written before it is read, and lives as long as the context.
    unsafe {
        if pg_sys::AggCheckCallContext(fcinfo, &mut context) == 0 {
            raise(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                "function called outside of an aggregate".into(),
                "",
            )
        }
        let bits: *mut u8 = pg_sys::MemoryContextAlloc(context, shape.bytes()).cast();
        for start in (0..shape.bytes()).step_by(STRETCH) {
            pgrx::check_for_interrupts!();
            bits.add(start).write_bytes(0, STRETCH.min(shape.bytes() - start));
        }
        let state: *mut State = pg_sys::MemoryContextAlloc(context, size_of::<State>()).cast();
        state.write(State { shape, count: 0, bits });
        &mut *state
    }
}

fn accumulate(
    state: Internal,
    text: Option<Text<'_>>,
    size: impl FnOnce() -> Shape,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    let state = given(state);
    let Some(text) = text else { return returned(state) };
    let state = state.unwrap_or_else(|| new_state(size(), fcinfo));
    state.bits_mut().insert(text.as_str());
    returned(Some(state))
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
    let state = state.unwrap_or_else(|| new_state(filter.shape, fcinfo));
    state.bits_mut().unite(&filter);
    returned(Some(state))
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_agg_combine(state: Internal, other: Internal, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    let (state, other) = (given(state), given(other));
    let Some(other) = other else { return returned(state) };
    let state = state.unwrap_or_else(|| new_state(other.shape, fcinfo));
    state.bits_mut().unite(&other.filter());
    returned(Some(state))
}

/// As bytea, which is laid out as a filter is.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_agg_serialize(state: Internal) -> Option<BloomFilter<'static>> {
    given(state).map(|state| state.filter())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_agg_deserialize(bytes: &[u8], _internal: Internal, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    match BloomFilter::from_bytes(bytes) {
        Some(filter) => {
            let state = new_state(filter.shape, fcinfo);
            state.bits_mut().unite(&filter);
            returned(Some(state))
        }
        None => raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed state of bloom_agg".into(), ""),
    }
}

/// A copy, for the state lives on and may be asked again.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_agg_final(state: Internal) -> Option<BloomFilter<'static>> {
    // The result is copied into a datum from where it is.
    given(state).map(|state| state.filter())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_contains(filter: BloomFilter<'_>, text: Text<'_>) -> bool {
    filter.contains(text.as_str())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_or(a: BloomFilter<'_>, b: BloomFilter<'_>) -> BloomFilter<'static> {
    let mut sum = a.copied();
    sum.unite(&b);
    sum
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_empty(expected: i64, rate: f32) -> BloomFilter<'static> {
    BloomFilter::empty(shape(expected, rate))
}
