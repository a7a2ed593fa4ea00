//! `dedup_texts`: finds equal and then near texts of a query, in one pass.

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern};
use simhash_core::methods::bloom::ShapeError;
use simhash_core::methods::dedup::{Deduplicator, Duplicate, Exact};

use super::hashers::method_named;
use crate::call::{Call, interrupts};
use crate::catalog::Schema;
use crate::error::raise;
use crate::guc::work_mem;
use crate::models::fingerprinter;
use crate::query::{Column, for_each_row, is_integer, is_text};
use crate::types::{ConfigText, Text};

/// Not STRICT: a NULL distance leaves the near stage out.
#[pg_extern(sql = false, volatile, parallel_unsafe)]
fn dedup_texts(
    query: Option<Text<'_>>,
    exact: Option<Text<'_>>,
    config: Option<ConfigText<'_>>,
    distance: Option<i32>,
    method: Option<Text<'_>>,
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(id, i64),
        name!(duplicate_of, Option<i64>),
        name!(stage, Text<'static>),
        name!(distance, Option<i32>),
    ),
> {
    let (Some(query), Some(exact), Some(config), Some(method)) = (query, exact, config, method)
    else {
        raise(
            PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
            "query, exact, config and method of dedup_texts must not be NULL".into(),
            "Omit an argument to use its default.",
        )
    };
    let mut stream = Deduplicator::new(exact_named(exact.as_str()), distance.map(checked_distance));
    let mut fingerprinter = fingerprinter(
        method_named(method.as_str()),
        config.config(),
        Schema::of_call(&call),
        u64::BITS,
    );
    let mut interrupt = interrupts();
    let mut duplicates: Vec<(i64, Duplicate)> = Vec::new();
    let columns = [
        Column { name: "id", types: "bigint", accepts: &is_integer },
        Column { name: "body", types: "text", accepts: &is_text },
    ];
    for_each_row(query.as_str(), &columns, &mut |row| {
        let id = row.integer(0).unwrap_or_else(|| {
            raise(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, "id of a text is NULL".into(), "")
        });
        let Some(body) = row.text(1) else { return };
        let body = body.as_str();
        if body.is_empty() {
            return;
        }
        let checked =
            stream.check(id, body, || fingerprinter.fingerprint::<u64>(body, &mut interrupt));
        let found = checked.unwrap_or_else(|error| raise_too_large(&error));
        duplicates.extend(found.map(|duplicate| (id, duplicate)));
        limit_memory(stream.memory() + duplicates.capacity() * size_of::<(i64, Duplicate)>());
    });
    TableIterator::new(duplicates.into_iter().map(|(id, duplicate)| {
        let distance = duplicate.distance.map(|distance| distance as i32);
        (id, duplicate.of, Text::from(duplicate.stage.to_owned()), distance)
    }))
}

fn exact_named(name: &str) -> Exact {
    Exact::from_name(name).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("invalid value \"{name}\" for \"exact\""),
            &format!("Allowed: {}.", Exact::ALL.map(Exact::name).join(", ")),
        )
    })
}

fn checked_distance(distance: i32) -> u32 {
    u32::try_from(distance).ok().filter(|&distance| distance <= 64).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            format!("distance {distance} is out of range for 64 bits"),
            "Allowed: 0 to 64, or NULL to find equal texts only.",
        )
    })
}

fn raise_too_large(error: &ShapeError) -> ! {
    raise(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, error.to_string(), "Use exact => 'hash'.")
}

fn limit_memory(used: usize) {
    let limit = work_mem();
    if used > limit {
        raise(
            PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
            format!(
                "dedup_texts needs more than the {} MB that simhash.work_mem allows",
                limit >> 20
            ),
            "Raise simhash.work_mem, use exact => 'bloom', which needs least, or omit the near \
             stage with distance => NULL.",
        )
    }
}
