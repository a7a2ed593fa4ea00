//! The models that this backend has used. A cached model is valid as long as the table still has
//! the row from which it was read.

use std::cell::RefCell;
use std::sync::Arc;

use pgrx::PgSqlErrorCode;
use simhash_core::features::model::Model;

use super::store::{self, RowIdentity};
use crate::catalog::Schema;
use crate::error::raise;

struct Entry {
    schema: Schema,
    name: String,
    identity: RowIdentity,
    model: Arc<Model>,
}

/// The number of models kept in memory. The one that was read first is evicted first.
const KEPT: usize = 8;

thread_local! {
    static CACHE: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// The model of that name. Raises an ERROR that lists the existing models if there is none.
pub fn find(schema: Schema, name: &str) -> Arc<Model> {
    let cached = CACHE.with_borrow(|cache| {
        let entry = cache.iter().find(|entry| entry.schema == schema && entry.name == name)?;
        Some((entry.identity, entry.model.clone()))
    });
    let known = cached.as_ref().map(|(identity, _)| *identity);
    let row = store::read(schema, name, known);
    let model = match (row, cached) {
        (Some((_, None)), Some((_, model))) => return model,
        (Some((identity, Some(bytes))), _) => Some((identity, parse(name, bytes))),
        _ => None,
    };
    CACHE.with_borrow_mut(|cache| {
        cache.retain(|entry| entry.schema != schema || entry.name != name);
        if let Some((identity, model)) = &model {
            if cache.len() == KEPT {
                cache.remove(0);
            }
            cache.push(Entry {
                schema,
                name: name.to_owned(),
                identity: *identity,
                model: model.clone(),
            });
        }
    });
    match model {
        Some((_, model)) => model,
        None => raise_unknown(schema, name),
    }
}

fn parse(name: &str, bytes: Box<[u8]>) -> Arc<Model> {
    Model::from_bytes(bytes).map(Arc::new).unwrap_or_else(|error| {
        raise(
            PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
            format!("could not read model \"{name}\": {error}"),
            "Restore it from a backup, or train another model under another name.",
        )
    })
}

fn raise_unknown(schema: Schema, name: &str) -> ! {
    const SHOWN: usize = 20;
    let mut names = store::names(schema, SHOWN + 1);
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    names.truncate(SHOWN);
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let hint = if quoted.is_empty() {
        "No model has been trained in this database: SELECT simhash_train(name, query).".to_owned()
    } else {
        format!("Existing ones: {}{more}.", quoted.join(", "))
    };
    raise(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        format!("model \"{name}\" does not exist"),
        &hint,
    )
}
