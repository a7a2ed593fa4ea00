//! The aggregates `minhash_agg` and `minhash_union`: signatures of sets that are spread over rows.
//!
//! The state lives in the aggregate's memory context. A parallel plan passes it on as bytea. Rows
//! without a set (NULL, or no shingle) create no state, so every plan checks the same rows.

use pgrx::datum::Internal;
use pgrx::{PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::sketches::minhash::Union;

use super::minhash::{Maker, check_alike};
use crate::call::{AggregateState, Call, aggregate_context, interrupts};
use crate::error::raise;
use crate::types::minhash::Signature;
use crate::types::{ConfigText, Text};

/// The defaults of `minhash`, as in the SQL script.
const PERMUTATIONS: i32 = 128;
const CONFIG: &str = "{}";

/// The union of at least one set. Its values are in the aggregate's memory context as well. So
/// PostgreSQL counts them in a group's memory, and spills groups to temporary files when they need
/// too much.
struct State {
    origin: u64,
    components: usize,
    least: *mut u32,
}

// SAFETY: only the functions of this file make states of these two aggregates, and both have this
// state type.
unsafe impl AggregateState for State {}

impl State {
    /// The union of one set, allocated for as long as the aggregate lives.
    fn of<'a>(signature: &Signature, call: &Call<'_>) -> &'a mut State {
        let context = aggregate_context(call);
        let (origin, components) = signature.kind();
        let bytes = components * size_of::<u32>();
        // SAFETY: the context exists, and zeros are values.
        let least = unsafe { pg_sys::MemoryContextAllocZero(context, bytes) }.cast();
        let state = State { origin, components, least }.kept(call);
        Union::of_nothing(state.least_mut()).add(&signature.components);
        state
    }

    fn kind(&self) -> (u64, usize) {
        (self.origin, self.components)
    }

    fn least_mut(&mut self) -> &mut [u32] {
        // SAFETY: `State::of` allocated `components` values and wrote them all.
        unsafe { std::slice::from_raw_parts_mut(self.least, self.components) }
    }

    fn union(&mut self) -> Union<'_> {
        Union::held_in(self.least_mut())
    }

    fn signature(&mut self) -> Signature {
        Signature { origin: self.origin, components: self.union().signature() }
    }
}

fn accumulate(
    state: Internal,
    row: (Option<Text<'_>>, Option<i32>, Option<&str>),
    mut call: Call<'_>,
) -> Internal {
    let mut state = State::given(state);
    if let (Some(body), Some(permutations), Some(config)) = row {
        let Maker { simhasher, minhasher, origin } =
            Maker::of_site(&mut call, permutations, config);
        let (body, interrupt) = (body.as_str(), &mut interrupts());
        match &mut state {
            Some(state) if state.kind() == (*origin, minhasher.components()) => {
                state.union().add_text(minhasher, simhasher, body, interrupt);
            }
            _ => {
                if let Some(components) = minhasher.text_signature(simhasher, body, interrupt) {
                    let signature = Signature { origin: *origin, components };
                    state = Some(united(state, &signature, &call));
                }
            }
        }
    }
    State::returned(state)
}

/// Adds a set to the state. Raises 22023 if its signature has another number of components or
/// another config.
fn united<'a>(
    state: Option<&'a mut State>,
    signature: &Signature,
    call: &Call<'_>,
) -> &'a mut State {
    let Some(state) = state else { return State::of(signature, call) };
    check_alike("unite", state.kind(), signature.kind());
    state.union().add(&signature.components);
    state
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_agg_add(state: Internal, body: Option<Text<'_>>, call: Call<'_>) -> Internal {
    accumulate(state, (body, Some(PERMUTATIONS), Some(CONFIG)), call)
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_agg_add_permutations(
    state: Internal,
    body: Option<Text<'_>>,
    permutations: Option<i32>,
    call: Call<'_>,
) -> Internal {
    accumulate(state, (body, permutations, Some(CONFIG)), call)
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_agg_add_config(
    state: Internal,
    body: Option<Text<'_>>,
    permutations: Option<i32>,
    config: Option<ConfigText<'_>>,
    call: Call<'_>,
) -> Internal {
    accumulate(state, (body, permutations, config.as_ref().map(ConfigText::as_str)), call)
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_union_add(state: Internal, signature: Option<Signature>, call: Call<'_>) -> Internal {
    let state = State::given(state);
    let Some(signature) = signature else { return State::returned(state) };
    State::returned(Some(united(state, &signature, &call)))
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_agg_combine(state: Internal, other: Internal, call: Call<'_>) -> Internal {
    let (state, other) = (State::given(state), State::given(other));
    let Some(other) = other else { return State::returned(state) };
    State::returned(Some(united(state, &other.signature(), &call)))
}

/// SQL declares the result as bytea, which has the layout of a signature.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_agg_serialize(state: Internal) -> Option<Signature> {
    State::given(state).map(State::signature)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_agg_deserialize(bytes: &[u8], _internal: Internal, call: Call<'_>) -> Internal {
    let signature = Signature::from_bytes(bytes).unwrap_or_else(|| {
        raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed state of minhash_agg".into(), "")
    });
    State::returned(Some(State::of(&signature, &call)))
}

/// The state stays valid: PostgreSQL may go on with it, as in a window.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn minhash_agg_final(state: Internal) -> Option<Signature> {
    State::given(state).map(State::signature)
}
