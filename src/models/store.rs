//! The table simhash_model, read directly: by anyone who may select from it, under whatever search path.

use pgrx::datum::DatumWithOid;
use pgrx::{FromDatum, IntoDatum, PgSqlErrorCode, Spi, pg_sys};
use simhash_core::models::Model;

use super::cache::Schema;
use crate::error::raise;
use crate::types::Text;

const TABLE: &std::ffi::CStr = c"simhash_model";
const NAME: pg_sys::AttrNumber = 1;
const MODEL: i32 = 5;

/// What tells a row from any other that ever had its name: who wrote it, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowIdentity {
    xmin: u32,
    block: u32,
    offset: u16,
}

/// The table's OID; an ERROR if there is none.
fn table(schema: Schema) -> pg_sys::Oid {
    // SAFETY: a catalogue look-up by name and schema.
    let oid = unsafe { pg_sys::get_relname_relid(TABLE.as_ptr(), schema.0) };
    if oid == pg_sys::InvalidOid {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            "the table simhash_model is not in the schema of the extension's functions".into(),
            "",
        )
    }
    oid
}

/// A scan of the table; ended, with what it holds, by [`Scan::end`], or by the transaction's abort.
struct Scan {
    relation: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    scan: pg_sys::SysScanDesc,
}

impl Scan {
    /// Of the rows of one name, or of all.
    fn begin(schema: Schema, name: Option<&str>) -> Self {
        // SAFETY: the sequence that PostgreSQL documents for scans of a table; a table of another shape is not
        // the extension's, and its columns are checked by nothing but their names being ours.
        unsafe {
            let oid = table(schema);
            let allowed =
                pg_sys::pg_class_aclcheck(oid, pg_sys::GetUserId(), pg_sys::ACL_SELECT as pg_sys::AclMode);
            if allowed != pg_sys::AclResult::ACLCHECK_OK {
                pg_sys::aclcheck_error(allowed, pg_sys::ObjectType::OBJECT_TABLE, TABLE.as_ptr());
            }
            let relation = pg_sys::table_open(oid, pg_sys::AccessShareLock as i32);
            let snapshot = pg_sys::RegisterSnapshot(if pg_sys::ActiveSnapshotSet() {
                pg_sys::GetActiveSnapshot()
            } else {
                pg_sys::GetTransactionSnapshot()
            });
            let mut key = pg_sys::ScanKeyData::default();
            let keys = i32::from(name.is_some());
            if let Some(name) = name {
                let name = Text::from(name.to_owned()).into_datum().unwrap_or(pg_sys::Datum::from(0usize));
                let equal = pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber;
                let texteq = pg_sys::Oid::from(pg_sys::F_TEXTEQ);
                pg_sys::ScanKeyInit(&mut key, NAME, equal, texteq, name);
            }
            let scan =
                pg_sys::systable_beginscan(relation, pg_sys::InvalidOid, false, snapshot, keys, &mut key);
            Scan { relation, snapshot, scan }
        }
    }

    fn next(&mut self) -> Option<pg_sys::HeapTuple> {
        // SAFETY: the scan is open.
        let tuple = unsafe { pg_sys::systable_getnext(self.scan) };
        (!tuple.is_null()).then_some(tuple)
    }

    fn column(&self, tuple: pg_sys::HeapTuple, column: i32) -> Option<pg_sys::Datum> {
        let mut is_null = true;
        // SAFETY: the tuple is the scan's present one.
        let datum = unsafe { pg_sys::heap_getattr(tuple, column, (*self.relation).rd_att, &mut is_null) };
        (!is_null).then_some(datum)
    }

    fn end(self) {
        // SAFETY: in the reverse order of begin; the lock stays until the transaction ends, so that the table does.
        unsafe {
            pg_sys::systable_endscan(self.scan);
            pg_sys::UnregisterSnapshot(self.snapshot);
            pg_sys::table_close(self.relation, pg_sys::NoLock as i32);
        }
    }
}

/// The row of that name: which one it is, and the model unless it is the `known` one.
pub fn read(
    schema: Schema,
    name: &str,
    known: Option<RowIdentity>,
) -> Option<(RowIdentity, Option<Box<[u8]>>)> {
    let mut scan = Scan::begin(schema, Some(name));
    let row = scan.next().map(|tuple| {
        // SAFETY: the tuple is valid until the scan goes on.
        let identity = unsafe { identity(tuple) };
        if known == Some(identity) {
            return (identity, None);
        }
        // SAFETY: the column is a bytea.
        let bytes = scan.column(tuple, MODEL).and_then(|datum| unsafe { <&[u8]>::from_datum(datum, false) });
        (identity, Some(bytes.unwrap_or_default().into()))
    });
    scan.end();
    row
}

unsafe fn identity(tuple: pg_sys::HeapTuple) -> RowIdentity {
    // SAFETY: the caller passes a tuple of a table.
    unsafe {
        let place = (*tuple).t_self;
        RowIdentity {
            xmin: std::mem::transmute_copy(&(*(*tuple).t_data).t_choice.t_heap.t_xmin),
            block: u32::from(place.ip_blkid.bi_hi) << 16 | u32::from(place.ip_blkid.bi_lo),
            offset: place.ip_posid,
        }
    }
}

/// The names of models, `most` at most, sorted.
pub fn names(schema: Schema, most: usize) -> Vec<String> {
    let mut scan = Scan::begin(schema, None);
    let mut names = Vec::new();
    while let Some(tuple) = scan.next() {
        let name = scan.column(tuple, NAME.into());
        // SAFETY: the column is a text.
        names.extend(
            name.and_then(|name| unsafe { Text::from_datum(name, false) }).map(|t| t.as_str().to_owned()),
        );
    }
    scan.end();
    names.sort();
    names.truncate(most);
    names
}

/// Raises an ERROR if the name cannot be given to a new model.
pub fn check_new_name(schema: Schema, name: &str) {
    if name.is_empty() {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "the name of a model must not be empty".into(),
            "",
        )
    }
    if read(schema, name, None).is_some() {
        raise(
            PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
            format!("model \"{name}\" already exists"),
            "A model never changes: choose another name.",
        )
    }
}

/// Raises an ERROR if the caller may not insert into the table: before the work of training. Rights to columns suffice.
pub fn check_may_insert(schema: Schema) {
    // SAFETY: catalogue look-ups.
    unsafe {
        let oid = table(schema);
        let (user, insert) = (pg_sys::GetUserId(), pg_sys::ACL_INSERT as pg_sys::AclMode);
        let allowed = pg_sys::AclResult::ACLCHECK_OK;
        let any = pg_sys::AclMaskHow::ACLMASK_ANY;
        let found = pg_sys::pg_class_aclcheck(oid, user, insert);
        if found != allowed && pg_sys::pg_attribute_aclcheck_all(oid, user, insert, any) != allowed {
            pg_sys::aclcheck_error(found, pg_sys::ObjectType::OBJECT_TABLE, TABLE.as_ptr());
        }
    }
}

/// Stores a model, as the caller, who must be allowed to insert into the table.
pub fn insert(schema: Schema, name: &str, model: &Model) {
    // SAFETY: the schema exists, for the function that was called is in it; the name is palloc'd.
    let schema_name =
        unsafe { std::ffi::CStr::from_ptr(pg_sys::quote_identifier(pg_sys::get_namespace_name(schema.0))) };
    // Identifiers are in the server's encoding, which SPI expects; pgrx passes bytes on as they are.
    let Ok(schema_name) = schema_name.to_str() else {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_NAME,
            "the name of the extension's schema is not UTF-8".into(),
            "",
        )
    };
    let statement = format!(
        "INSERT INTO {schema_name}.simhash_model (name, config, documents, terms, model) \
         VALUES ($1, $2::{schema_name}.simhash_config, $3, $4, $5)"
    );
    // SAFETY: the datums are of the types that are given.
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
        raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("could not store model: {error}"), "");
    }
}
