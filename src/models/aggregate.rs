//! `simhash_train_agg`: a model from an aggregate's rows, counted in parallel; and `simhash_store_model`, which gives one a name.

use pgrx::datum::Internal;
use pgrx::{PgMemoryContexts, PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::models::Model;
use simhash_core::models::train::{TrainError, Trainer};

use super::cache::Schema;
use super::store;
use super::train::{new_trainer, raise_out_of_memory, raise_train_error};
use crate::error::raise;
use crate::functions::call_site::interrupts;
use crate::guc::work_mem;
use crate::types::{ConfigText, Text};

/// What an aggregate has counted, and the config that it was given, as text.
struct State {
    trainer: Trainer,
    config: String,
}

/// The state that a call was given.
fn given<'a>(state: Internal) -> Option<&'a mut State> {
    // SAFETY: only the functions here make states of this aggregate, and no two references exist at a time.
    state.unwrap().map(|datum| unsafe { &mut *datum.cast_mut_ptr::<State>() })
}

/// The same state, to be passed to the next call.
fn returned(state: Option<&mut State>) -> Internal {
    Internal::from(state.map(|state| pg_sys::Datum::from(std::ptr::from_mut(state))))
}

/// Puts a state where it lives as long as the aggregate.
fn stored<'a>(trainer: Trainer, config: String, fcinfo: pg_sys::FunctionCallInfo) -> &'a mut State {
    let mut context = std::ptr::null_mut();
    // SAFETY: PostgreSQL passes a valid call, and sets the context when it is one of an aggregate.
    unsafe {
        if pg_sys::AggCheckCallContext(fcinfo, &mut context) == 0 {
            raise(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                "function called outside of an aggregate".into(),
                "",
            )
        }
        &mut *PgMemoryContexts::For(context).leak_and_drop_on_delete(State { trainer, config })
    }
}

fn check_memory(trainer: &Trainer) {
    if trainer.memory() > work_mem() {
        raise_out_of_memory(
            "simhash_train_agg",
            "Raise simhash.work_mem, or use simhash_train, which writes to temporary files.",
        )
    }
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash_train_agg_add(
    state: Internal,
    body: Option<Text<'_>>,
    config: Option<ConfigText<'_>>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    let state = given(state);
    let (Some(body), Some(config)) = (body, config) else { return returned(state) };
    let state = state.unwrap_or_else(|| stored(new_trainer(&config), config.as_str().to_owned(), fcinfo));
    if state.config != config.as_str() {
        raise_train_error(TrainError::NotATrainer);
    }
    if let Err(error) = state.trainer.add(body.as_str(), &mut interrupts()) {
        raise_train_error(error);
    }
    if state.trainer.documents().is_multiple_of(256) {
        check_memory(&state.trainer);
    }
    returned(Some(state))
}

#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash_train_agg_combine(state: Internal, other: Internal, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    let (state, other) = (given(state), given(other));
    let Some(other) = other else { return returned(state) };
    let state = match state {
        Some(state) => state,
        None => match Trainer::new(other.trainer.config()) {
            Ok(trainer) => stored(trainer, other.config.clone(), fcinfo),
            Err(error) => raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, error.to_string(), ""),
        },
    };
    if let Err(error) = state.trainer.combine(&other.trainer, &mut interrupts()) {
        raise_train_error(error);
    }
    check_memory(&state.trainer);
    returned(Some(state))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_train_agg_serialize(state: Internal) -> Vec<u8> {
    given(state).map_or_else(Vec::new, |state| state.trainer.to_bytes(&mut interrupts()))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_train_agg_deserialize(
    bytes: &[u8],
    _internal: Internal,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    match Trainer::from_bytes(bytes, &mut interrupts()) {
        Ok(trainer) => {
            let config = trainer.config().to_string();
            returned(Some(stored(trainer, config, fcinfo)))
        }
        Err(_) => {
            raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed state of simhash_train_agg".into(), "")
        }
    }
}

/// The state may be asked again.
#[pg_extern(sql = false, immutable, parallel_safe)]
fn simhash_train_agg_final(state: Internal) -> Option<Vec<u8>> {
    Some(given(state)?.trainer.finish(None, &mut interrupts()).as_bytes().to_vec())
}

/// Returns the number of documents that the model was trained on.
#[pg_extern(sql = false, volatile, strict, parallel_unsafe)]
fn simhash_store_model(name: Text<'_>, model: &[u8], fcinfo: pg_sys::FunctionCallInfo) -> i64 {
    let schema = Schema::of_call(fcinfo);
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
