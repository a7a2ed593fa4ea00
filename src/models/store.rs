//! The table simhash_model. It is read directly, so any role with SELECT on it can use its models,
//! whatever the search path.

use std::ffi::CStr;

use pgrx::datum::DatumWithOid;
use pgrx::{FromDatum, PgSqlErrorCode, Spi, pg_sys};
use simhash_core::features::model::Model;

use crate::catalog::scan::{Scan, text_is};
use crate::catalog::{Schema, rights};
use crate::error::raise;
use crate::types::datum::{Decode, Encode};
use crate::types::{Text, tid};

const TABLE: &CStr = c"simhash_model";
const NAME: i32 = 1;
const MODEL: i32 = 5;

/// Distinguishes a row from every other row that ever had its name: the inserting transaction and
/// the TID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowIdentity {
    xmin: u32,
    tid: u64,
}

/// The OID of a table of the extension. Raises an ERROR if it does not exist.
pub fn table(schema: Schema, name: &CStr) -> pg_sys::Oid {
    schema.table_named(name).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!(
                "table {} does not exist in the schema of the extension's functions",
                name.to_string_lossy()
            ),
            "",
        )
    })
}

/// The name of the extension's schema, quoted for a statement. Identifiers are in the server's
/// encoding, which SPI expects, and pgrx passes the bytes on unchanged.
pub fn name_of(schema: Schema) -> &'static str {
    schema.quoted_name().to_str().unwrap_or_else(|_| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_NAME,
            "the name of the extension's schema is not UTF-8".into(),
            "",
        )
    })
}

/// A scan of the rows with one name, or of all. Raises 42501 unless the current role has SELECT on
/// the table.
fn scan(schema: Schema, name: Option<&str>) -> Scan {
    let table = table(schema, TABLE);
    rights::check_select(table, TABLE);
    let key = name.map(|name| text_is(NAME, Text::from(name.to_owned()).encode()));
    // SAFETY: the extension's table has a text column with this number.
    unsafe { Scan::of_table(table, key) }
}

/// The identity of the row with that name, and its model unless it is the `known` row.
pub fn read(
    schema: Schema,
    name: &str,
    known: Option<RowIdentity>,
) -> Option<(RowIdentity, Option<Box<[u8]>>)> {
    let mut scan = scan(schema, Some(name));
    let row = scan.next().map(|tuple| {
        // SAFETY: the tuple is valid until the next call of `next`.
        let identity = unsafe { identity(tuple) };
        if known == Some(identity) {
            return (identity, None);
        }
        // SAFETY: the column is a bytea.
        let bytes = scan
            .column(tuple, MODEL)
            .and_then(|datum| unsafe { <&[u8]>::from_datum(datum, false) });
        (identity, Some(bytes.unwrap_or_default().into()))
    });
    scan.end();
    row
}

/// The identity of a tuple.
///
/// # Safety
/// `tuple` is a valid heap tuple of a table.
pub unsafe fn identity(tuple: pg_sys::HeapTuple) -> RowIdentity {
    // SAFETY: `tuple` is a valid heap tuple, so its header has an xmin.
    let xmin = unsafe { std::mem::transmute_copy(&(*(*tuple).t_data).t_choice.t_heap.t_xmin) };
    // SAFETY: as above.
    RowIdentity { xmin, tid: tid::pack(unsafe { &(*tuple).t_self }) }
}

/// The first `most` names of models, sorted.
pub fn names(schema: Schema, most: usize) -> Vec<String> {
    let mut scan = scan(schema, None);
    let mut names = Vec::new();
    while let Some(tuple) = scan.next() {
        let name = scan.column(tuple, NAME);
        // SAFETY: the column is a text.
        names.extend(name.map(|name| unsafe { Text::decode(name) }.as_str().to_owned()));
    }
    scan.end();
    names.sort();
    names.truncate(most);
    names
}

/// Raises an ERROR if a new model cannot have this name.
pub fn check_new_name(schema: Schema, name: &str) {
    if name.is_empty() {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "the name of a model must not be empty".into(),
            "A config names it: '{\"model\": \"docs\"}'.",
        )
    }
    if read(schema, name, None).is_some() {
        raise(
            PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
            format!("model \"{name}\" already exists"),
            "A model cannot be changed, because fingerprints depend on it: choose another name.",
        )
    }
}

/// Raises an ERROR if the current role may not insert into the table. It is called before the work
/// of training. INSERT on some columns is enough.
pub fn check_may_insert(schema: Schema) {
    rights::check_insert(table(schema, TABLE), TABLE);
}

/// Stores a model as the current role, which needs INSERT on the table.
pub fn insert(schema: Schema, name: &str, model: &Model) {
    let schema_name = name_of(schema);
    let statement = format!(
        "INSERT INTO {schema_name}.simhash_model (name, config, documents, terms, model) \
         VALUES ($1, $2::{schema_name}.simhash_config, $3, $4, $5)"
    );
    // SAFETY: each value has the given type.
    let arguments = unsafe {
        [
            DatumWithOid::new(Text::from(name.to_owned()), pg_sys::TEXTOID),
            DatumWithOid::new(Text::from(model.config().to_string()), pg_sys::TEXTOID),
            DatumWithOid::new(model.documents() as i64, pg_sys::INT8OID),
            DatumWithOid::new(model.terms() as i64, pg_sys::INT8OID),
            DatumWithOid::new(model.as_bytes(), pg_sys::BYTEAOID),
        ]
    };
    if let Err(error) = Spi::run_with_args(&statement, &arguments) {
        raise(
            PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            format!("could not store model: {error}"),
            "",
        );
    }
}
