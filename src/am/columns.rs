//! Encodes the columns that an index compares by equality, and its included columns.
//!
//! The values of the former are a row's *scope*: for each column one byte that says whether it is
//! NULL, and then the bytes of its value, or zeroes. The values of the latter are its *payload*:
//! one bit for each column that says whether it is NULL, and then the bytes of all values, or
//! zeroes.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_index::insert::Beside;
use simhash_index::key::{Bytes, MOST_PAYLOAD, MOST_SCOPE};
use simhash_index::meta::SCOPE_COLUMNS;
use simhash_index::{Meta, TreeKey};

use super::kind::{Searched, code_of};
use super::scope::{ScopeType, check_collation};
use crate::error::{raise, shown};
use crate::storage::IndexRel;
use crate::types::varlena::palloc_parts;

/// The values of a column's first byte in a scope.
const NOT_NULL: u8 = 0;
const NULL: u8 = 1;

/// The most bytes that the values of the included columns may have together.
const MOST_INCLUDED: usize = 32;

/// The values that PostgreSQL passes for a row, one for each column of the index.
#[derive(Clone, Copy)]
pub struct Values<'a> {
    values: &'a [pg_sys::Datum],
    is_null: &'a [bool],
}

impl Values<'_> {
    /// # Safety
    /// The arrays have at least this many elements, which do not change while the result is used.
    pub unsafe fn new(values: *const pg_sys::Datum, is_null: *const bool, columns: usize) -> Self {
        // SAFETY: the arrays have that many elements.
        unsafe {
            Self {
                values: std::slice::from_raw_parts(values, columns),
                is_null: std::slice::from_raw_parts(is_null, columns),
            }
        }
    }

    /// The value of a column, counted from 0; `None` for NULL.
    pub fn get(self, column: usize) -> Option<pg_sys::Datum> {
        (!self.is_null[column]).then(|| self.values[column])
    }
}

/// An included column.
#[derive(Clone, Copy, Debug)]
struct Included {
    length: usize,
    by_value: bool,
}

/// The types of an index's scope columns and included columns, in their order.
#[derive(Clone, Debug)]
pub struct Columns {
    scope: Vec<ScopeType>,
    included: Vec<Included>,
}

impl Columns {
    /// The columns of an existing index.
    pub fn of(rel: IndexRel, meta: &Meta) -> Self {
        let scope = meta.scope_kinds.iter().map_while(|&code| ScopeType::from_code(code)).collect();
        let included = if meta.payload == 0 { Vec::new() } else { included(rel) };
        Self { scope, included }
    }

    /// How many columns are compared by equality. The searched column follows them.
    pub fn scope_columns(&self) -> usize {
        self.scope.len()
    }

    /// The number of all columns.
    pub fn count(&self) -> usize {
        self.scope.len() + 1 + self.included.len()
    }

    /// The length of a payload.
    pub fn payload_bytes(&self) -> usize {
        let values: usize = self.included.iter().map(|column| column.length).sum();
        null_bytes(self.included.len()) + values
    }

    /// The enum types among the columns compared by equality. A label's bytes mean that label in
    /// one enum type only.
    pub fn enums(&self, rel: IndexRel) -> Vec<pg_sys::Oid> {
        let columns = self.scope.iter().enumerate();
        let enums = columns.filter(|&(_, &column)| column == ScopeType::Enum);
        enums.map(|(i, _)| type_of(rel, i)).collect()
    }

    pub fn scope_type(&self, column: usize) -> Option<ScopeType> {
        self.scope.get(column).copied()
    }

    /// What is stored beside each of a row's keys: scope, payload and TID.
    ///
    /// # Safety
    /// There is a value for each column of the index, of its type unless it is NULL.
    pub unsafe fn beside<K: TreeKey>(&self, values: Values<'_>, tid: u64) -> Beside<K> {
        let mut scope = [0; MOST_SCOPE];
        let mut at = 0;
        for (i, column) in self.scope.iter().enumerate() {
            let end = at + stored_bytes(*column);
            // SAFETY: the value is of the column's type.
            unsafe { encode(*column, values.get(i), pg_sys::InvalidOid, &mut scope[at..end]) };
            at = end;
        }
        let mut payload = [0; MOST_PAYLOAD];
        let first = self.scope.len() + 1;
        let mut place = null_bytes(self.included.len());
        for (i, column) in self.included.iter().enumerate() {
            match values.get(first + i) {
                None => payload[i / 8] |= 1 << (i % 8),
                // SAFETY: the value is of the column's type.
                Some(value) => unsafe { column.write(value, &mut payload[place..]) },
            }
            place += column.length;
        }
        Beside {
            scope: K::Scope::load(&scope[..at]),
            payload: K::Payload::load(&payload[..place]),
            tid,
        }
    }

    /// The bytes of a scope's column for a value; a `value` of `None` is NULL. Returns `None` if no
    /// value of the column is equal to it.
    ///
    /// # Safety
    /// `value` is of the type, or of the column's own type if that is `InvalidOid`.
    pub unsafe fn scope_bytes(
        &self,
        column: usize,
        value: Option<pg_sys::Datum>,
        type_oid: pg_sys::Oid,
    ) -> Option<Vec<u8>> {
        let column = self.scope_type(column)?;
        let mut bytes = vec![0; stored_bytes(column)];
        // SAFETY: `value` is of that type.
        unsafe { encode(column, value, type_oid, &mut bytes) }.then_some(bytes)
    }

    /// Whether any column of a scope is NULL.
    #[inline]
    pub fn has_null<K: TreeKey>(&self, scope: K::Scope) -> bool {
        let mut bytes = [0; MOST_SCOPE];
        scope.store(&mut bytes[..K::Scope::BYTES]);
        let mut at = 0;
        self.scope.iter().any(|column| {
            let first = bytes[at];
            at += stored_bytes(*column);
            first != NOT_NULL
        })
    }

    /// How many bytes a scope's column has.
    pub fn column_bytes(&self, column: usize) -> usize {
        self.scope_type(column).map_or(0, stored_bytes)
    }

    /// Writes the values of a row's scope and payload to their places among those of an index
    /// tuple, allocated in the current memory context. A column whose bytes do not determine its
    /// value becomes NULL: amcanreturn says that it cannot be returned.
    pub fn decode<K: TreeKey>(
        &self,
        scope: K::Scope,
        payload: &[u8],
        values: &mut [pg_sys::Datum],
        is_null: &mut [bool],
    ) {
        let mut bytes = [0; MOST_SCOPE];
        let length = self.scope.iter().map(|column| stored_bytes(*column)).sum();
        scope.store(&mut bytes[..length]);
        let mut at = 0;
        for (i, column) in self.scope.iter().enumerate() {
            let end = at + stored_bytes(*column);
            is_null[i] = bytes[at] != NOT_NULL || !column.is_exact();
            if !is_null[i] {
                values[i] = column.decode(&bytes[at + 1..end]);
            }
            at = end;
        }
        let first = self.scope.len() + 1;
        let mut place = null_bytes(self.included.len());
        for (i, column) in self.included.iter().enumerate() {
            let is_known = payload.len() >= place + column.length;
            is_null[first + i] = !is_known || payload[i / 8] >> (i % 8) & 1 == 1;
            if !is_null[first + i] {
                values[first + i] = column.read(&payload[place..place + column.length]);
            }
            place += column.length;
        }
    }
}

/// The number of a column's bytes in a scope.
fn stored_bytes(column: ScopeType) -> usize {
    1 + column.bytes()
}

/// The number of bytes that say which of some columns are NULL.
const fn null_bytes(columns: usize) -> usize {
    columns.div_ceil(8)
}

/// Writes a scope column's bytes. False if no value of the column is equal to this one.
unsafe fn encode(
    column: ScopeType,
    value: Option<pg_sys::Datum>,
    type_oid: pg_sys::Oid,
    bytes: &mut [u8],
) -> bool {
    match value {
        None => {
            bytes[0] = NULL;
            true
        }
        // SAFETY: the caller's value is of that type.
        Some(value) => unsafe { column.encode(value, type_oid, &mut bytes[1..]) },
    }
}

impl Included {
    /// # Safety
    /// `value` is of the column's type.
    unsafe fn write(self, value: pg_sys::Datum, bytes: &mut [u8]) {
        if self.by_value {
            bytes[..self.length].copy_from_slice(&value.value().to_le_bytes()[..self.length]);
        } else {
            // SAFETY: `value` points to a value of the column's fixed length, of any alignment.
            let value =
                unsafe { std::slice::from_raw_parts(value.cast_mut_ptr::<u8>(), self.length) };
            bytes[..self.length].copy_from_slice(value);
        }
    }

    fn read(self, bytes: &[u8]) -> pg_sys::Datum {
        if !self.by_value {
            return palloc_parts(&[bytes]);
        }
        let mut whole = [0; size_of::<usize>()];
        whole[..bytes.len()].copy_from_slice(bytes);
        let value = usize::from_le_bytes(whole);
        // Integers are sign-extended, as in PostgreSQL's own datums.
        pg_sys::Datum::from(match bytes.len() {
            1 => value,
            2 => value as i16 as usize,
            4 => value as i32 as usize,
            _ => value,
        })
    }
}

/// The included columns: those after the key columns.
fn included(rel: IndexRel) -> Vec<Included> {
    let columns = (rel.key_columns()..rel.columns()).filter_map(|i| rel.attribute(i));
    let included = columns.map(|column| Included {
        length: usize::try_from(column.attlen).unwrap_or(0),
        by_value: column.attbyval,
    });
    included.collect()
}

/// The type of a column; for a domain its base type.
fn type_of(rel: IndexRel, column: usize) -> pg_sys::Oid {
    let declared = rel.attribute(column).map_or(pg_sys::InvalidOid, |column| column.atttypid);
    // SAFETY: a catalogue look-up in a transaction.
    unsafe { pg_sys::getBaseType(declared) }
}

/// The content of a new index's meta page. Raises an ERROR if its columns are not allowed.
pub fn new_meta(rel: IndexRel, searched: Searched, blocks: impl FnOnce() -> u32) -> Meta {
    let mut scope_kinds = [0; SCOPE_COLUMNS];
    let columns = rel.key_columns() - 1;
    if columns > SCOPE_COLUMNS {
        raise(
            PgSqlErrorCode::ERRCODE_TOO_MANY_COLUMNS,
            format!(
                "index \"{}\" has too many columns before its last key column: {columns}",
                rel.name()
            ),
            &format!("At most {SCOPE_COLUMNS} columns can be compared by equality."),
        );
    }
    let mut scope = 0;
    for (i, code) in scope_kinds.iter_mut().enumerate().take(columns) {
        let column = new_scope_column(rel, i);
        scope += stored_bytes(column);
        *code = column as u32;
    }
    let payload = new_payload(rel);
    Meta {
        kind: searched.kind as u32,
        bits: searched.bits,
        blocks: blocks(),
        scope: scope as u32,
        payload: payload as u32,
        scope_kinds,
        ..Meta::default()
    }
}

fn new_scope_column(rel: IndexRel, column: usize) -> ScopeType {
    let Some(column_type) = ScopeType::from_code(code_of(rel, column)) else {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!(
                "column {} of index \"{}\" cannot be compared by equality",
                column + 1,
                rel.name()
            ),
            "Only the last key column is searched by distance: put the fingerprint last.",
        )
    };
    check_base_type(rel, column);
    if column_type == ScopeType::Text {
        // SAFETY: an open index has a collation for each key column, of which this is one, since
        // it has a code. A catalogue look-up in a transaction.
        unsafe { check_collation(*(*rel.as_ptr()).rd_indcollation.add(column)) };
    }
    column_type
}

/// Raises 0A000 for a column whose type has an equality of its own although its values have the
/// layout of the operator class's type. An example is citext, for which PostgreSQL uses the
/// operator class of text.
fn check_base_type(rel: IndexRel, column: usize) {
    let (number, keys) = (column + 1, rel.key_columns());
    // SAFETY: an open index has the input type of each key column's operator class.
    let declared = unsafe { std::slice::from_raw_parts((*rel.as_ptr()).rd_opcintype, keys) };
    let (declared, base) = (declared[column], type_of(rel, column));
    let is_declared = base == declared
        || declared == pg_sys::ANYENUMOID
        || declared == pg_sys::TEXTOID && base == pg_sys::VARCHAROID;
    if is_declared {
        return;
    }
    // SAFETY: format_type_be returns a palloc'd C string.
    let [base, declared] = [base, declared]
        .map(|one| unsafe { shown(CStr::from_ptr(pg_sys::format_type_be(one))).into_owned() });
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!(
            "column {number} of index \"{}\" is of type {base}, but its operator class is for type \
             {declared}",
            rel.name()
        ),
        if declared == "text" {
            "Index an expression of type text, such as lower(column::text) for a citext."
        } else {
            "Index an expression of the operator class's type, or give another operator class."
        },
    )
}

/// The length of a new index's payload. Raises an ERROR if a column is of variable length, or the
/// columns are too long together.
fn new_payload(rel: IndexRel) -> usize {
    let columns = included(rel);
    if columns.is_empty() {
        return 0;
    }
    let values: usize = columns.iter().map(|column| column.length).sum();
    let nulls = null_bytes(columns.len());
    let hint = format!(
        "Included columns must be of types of fixed length (bigint, integer, uuid, timestamptz, \
         ...), with at most {MOST_INCLUDED} bytes in total."
    );
    if let Some(place) = columns.iter().position(|column| column.length == 0) {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!(
                "included column {} of index \"{}\" must be of a type of fixed length",
                place + 1,
                rel.name()
            ),
            &hint,
        );
    }
    if values > MOST_INCLUDED {
        raise(
            PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            format!("included columns of index \"{}\" are too large: {values} bytes", rel.name()),
            &hint,
        );
    }
    nulls + values
}
