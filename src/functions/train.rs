//! Functions that train a model: `simhash_train` over a query, `simhash_train_agg` over an
//! aggregate's rows, and `simhash_store_model`, which stores the aggregate's model under a name.

use pgrx::datum::Internal;
use pgrx::{PgMemoryContexts, PgSqlErrorCode, pg_extern};
use simhash_core::features::model::Model;

use crate::call::{AggregateState, Call, aggregate_context};
use crate::catalog::Schema;
use crate::error::raise;
use crate::models::aggregate::Counting;
use crate::models::{store, train};
use crate::types::{ConfigText, Text};

#[pg_extern(sql = false, volatile, strict, parallel_unsafe)]
fn simhash_train(name: Text<'_>, query: Text<'_>, config: ConfigText<'_>, call: Call<'_>) -> i64 {
    train::train(Schema::of_call(&call), name.as_str(), query.as_str(), &config)
}

// SAFETY: only the functions of this file make states of this aggregate.
unsafe impl AggregateState for Counting {}

/// Moves a state into the aggregate's memory context.
fn stored<'a>(counting: Counting, call: &Call<'_>) -> &'a mut Counting {
    let mut context = PgMemoryContexts::For(aggregate_context(call));
    // SAFETY: the context is valid, and drops the state when it is deleted.
    unsafe { &mut *context.leak_and_drop_on_delete(counting) }
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash_train_agg_add(
    state: Internal,
    body: Option<Text<'_>>,
    config: Option<ConfigText<'_>>,
    call: Call<'_>,
) -> Internal {
    let state = Counting::given(state);
    let (Some(body), Some(config)) = (body, config) else { return Counting::returned(state) };
    let state =
        state.unwrap_or_else(|| stored(Counting::new(&config, Schema::of_call(&call)), &call));
    state.add(&body, &config);
    Counting::returned(Some(state))
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash_train_agg_combine(state: Internal, other: Internal, call: Call<'_>) -> Internal {
    let (state, other) = (Counting::given(state), Counting::given(other));
    let Some(other) = other else { return Counting::returned(state) };
    let state =
        state.unwrap_or_else(|| stored(Counting::like(other, Schema::of_call(&call)), &call));
    state.combine(other);
    Counting::returned(Some(state))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_train_agg_serialize(state: Internal) -> Vec<u8> {
    Counting::given(state).map_or_else(Vec::new, |state| state.to_bytes())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_train_agg_deserialize(bytes: &[u8], _internal: Internal, call: Call<'_>) -> Internal {
    Counting::returned(Some(stored(Counting::from_bytes(bytes, Schema::of_call(&call)), &call)))
}

/// The state stays valid: PostgreSQL may go on with it, as in a window.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash_train_agg_final(state: Internal) -> Option<Vec<u8>> {
    Some(Counting::given(state)?.model())
}

/// Returns the number of documents that the model was trained on.
#[pg_extern(sql = false, volatile, strict, parallel_unsafe)]
fn simhash_store_model(name: Text<'_>, model: &[u8], call: Call<'_>) -> i64 {
    let schema = Schema::of_call(&call);
    store::check_new_name(schema, name.as_str());
    let model = Model::from_bytes(model.into()).unwrap_or_else(|error| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("bytea of {} bytes is {error}", model.len()),
            "Give what simhash_train_agg returned.",
        )
    });
    store::insert(schema, name.as_str(), &model);
    model.documents() as i64
}
