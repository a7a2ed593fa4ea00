//! The aggregates `bloom_agg` and `bloom_union`.
//!
//! The state lives in the aggregate's memory context. A parallel plan passes it on as bytea.

use pgrx::datum::Internal;
use pgrx::{PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::methods::bloom::{Shape, ShapeError};

use crate::call::{AggregateState, Call, aggregate_context};
use crate::error::{raise, shown_number};
use crate::types::Text;
use crate::types::bloom::{BitsMut, BloomFilter};
use crate::types::varlena::STRETCH;

/// What a filter is sized for by default.
const DEFAULT_EXPECTED: i64 = 100_000;
const DEFAULT_RATE: f32 = 0.01;

/// The shape of a filter for `expected` texts at that false-positive rate. Raises 22023 if there is
/// none.
fn shape(expected: i64, rate: f32) -> Shape {
    Shape::for_rate(expected, widen(rate)).unwrap_or_else(|error| {
        let hint = match error {
            ShapeError::Expected(_) => "Expect 1 text or more.",
            ShapeError::Rate(_) => "A rate must be greater than 0 and less than 1, such as 0.01.",
            ShapeError::TooLarge(_) => {
                "Expect fewer texts, or allow a greater rate: a filter can have at most 4294967296 \
                 bits."
            }
        };
        let message = match error {
            ShapeError::Rate(_) => {
                format!("false-positive rate {} is out of range", shown_number(rate))
            }
            _ => error.to_string(),
        };
        raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message, hint)
    })
}

/// The shortest decimal number that rounds to `rate` as a real: 0.01, not 0.009999999776.
fn widen(rate: f32) -> f64 {
    rate.to_string().parse().unwrap_or(f64::from(rate))
}

/// The state of the aggregates. The bits are in the aggregate's memory context as well. So
/// PostgreSQL counts them in a group's memory, and spills groups to temporary files when they need
/// too much.
struct State {
    shape: Shape,
    count: u64,
    bits: *mut u8,
}

// SAFETY: only the functions of this file make states of these two aggregates, and both have this
// state type.
unsafe impl AggregateState for State {}

impl State {
    /// An empty state, allocated for as long as the aggregate lives.
    fn new<'a>(shape: Shape, call: &Call<'_>) -> &'a mut State {
        let context = aggregate_context(call);
        // SAFETY: the context exists; palloc raises an ERROR if there is no memory.
        let bits: *mut u8 = unsafe { pg_sys::MemoryContextAlloc(context, shape.bytes()) }.cast();
        for start in (0..shape.bytes()).step_by(STRETCH) {
            pgrx::check_for_interrupts!();
            // SAFETY: within the allocation.
            unsafe { bits.add(start).write_bytes(0, STRETCH.min(shape.bytes() - start)) };
        }
        State { shape, count: 0, bits }.kept(call)
    }

    fn bits_mut(&mut self) -> BitsMut<'_> {
        // SAFETY: `State::new` allocated as many bytes as the shape has, and wrote them all.
        let bits = unsafe { std::slice::from_raw_parts_mut(self.bits, self.shape.bytes()) };
        BitsMut { shape: self.shape, count: &mut self.count, bits }
    }

    fn filter(&self) -> BloomFilter<'_> {
        // SAFETY: `State::new` allocated as many bytes as the shape has, and wrote them all.
        let bits = unsafe { std::slice::from_raw_parts(self.bits, self.shape.bytes()) };
        BloomFilter { shape: self.shape, count: self.count, bits: bits.into() }
    }
}

fn accumulate(
    state: Internal,
    text: Option<Text<'_>>,
    size: impl FnOnce() -> Shape,
    call: Call<'_>,
) -> Internal {
    let state = State::given(state);
    let Some(text) = text else { return State::returned(state) };
    let state = state.unwrap_or_else(|| State::new(size(), &call));
    state.bits_mut().insert(text.as_str());
    State::returned(Some(state))
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_agg_add(state: Internal, text: Option<Text<'_>>, call: Call<'_>) -> Internal {
    accumulate(state, text, || shape(DEFAULT_EXPECTED, DEFAULT_RATE), call)
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_agg_add_expected(
    state: Internal,
    text: Option<Text<'_>>,
    expected: Option<i64>,
    call: Call<'_>,
) -> Internal {
    accumulate(state, text, || shape(expected.unwrap_or(DEFAULT_EXPECTED), DEFAULT_RATE), call)
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_agg_add_sized(
    state: Internal,
    text: Option<Text<'_>>,
    expected: Option<i64>,
    rate: Option<f32>,
    call: Call<'_>,
) -> Internal {
    let size = || shape(expected.unwrap_or(DEFAULT_EXPECTED), rate.unwrap_or(DEFAULT_RATE));
    accumulate(state, text, size, call)
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_union_add(state: Internal, filter: Option<BloomFilter<'_>>, call: Call<'_>) -> Internal {
    let state = State::given(state);
    let Some(filter) = filter else { return State::returned(state) };
    let state = state.unwrap_or_else(|| State::new(filter.shape, &call));
    state.bits_mut().unite(&filter);
    State::returned(Some(state))
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_agg_combine(state: Internal, other: Internal, call: Call<'_>) -> Internal {
    let (state, other) = (State::given(state), State::given(other));
    let Some(other) = other else { return State::returned(state) };
    let state = state.unwrap_or_else(|| State::new(other.shape, &call));
    state.bits_mut().unite(&other.filter());
    State::returned(Some(state))
}

/// SQL declares the result as bytea, which has the layout of a filter.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_agg_serialize(state: Internal) -> Option<BloomFilter<'static>> {
    State::given(state).map(|state| state.filter())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_agg_deserialize(bytes: &[u8], _internal: Internal, call: Call<'_>) -> Internal {
    match BloomFilter::from_bytes(bytes) {
        Some(filter) => {
            let state = State::new(filter.shape, &call);
            state.bits_mut().unite(&filter);
            State::returned(Some(state))
        }
        None => {
            raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed state of bloom_agg".into(), "")
        }
    }
}

/// The state stays valid: PostgreSQL may go on with it, as in a window.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn bloom_agg_final(state: Internal) -> Option<BloomFilter<'static>> {
    // The filter borrows the state's bits. They are copied when it becomes a datum.
    State::given(state).map(|state| state.filter())
}
