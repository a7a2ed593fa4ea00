//! Turns values of columns compared by equality into bytes of a fixed length per type. Equal values
//! have equal bytes, and different values have different ones; for digests of texts and bytea, as
//! far as no collision is known.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::search::scope::{DIGEST, digest, from_ordered, ordered};

use crate::call::interrupts;
use crate::error::{raise, shown};
use crate::types::varlena::{palloc_parts, with_packed_bytes};

/// The type of a column compared by equality. The operator classes' support function 1 returns
/// these numbers. No number is also a [`Kind`](super::kind::Kind).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ScopeType {
    Bool = 16,
    Int2 = 17,
    Int4 = 18,
    Int8 = 19,
    Oid = 20,
    Uuid = 21,
    /// text and varchar, under a deterministic collation: values are equal if and only if their
    /// bytes are.
    Text = 22,
    Bytea = 23,
    Date = 24,
    Timestamp = 25,
    Timestamptz = 26,
    /// Any enum: the OID of its label.
    Enum = 27,
}

impl ScopeType {
    const ALL: [ScopeType; 12] = [
        ScopeType::Bool,
        ScopeType::Int2,
        ScopeType::Int4,
        ScopeType::Int8,
        ScopeType::Oid,
        ScopeType::Uuid,
        ScopeType::Text,
        ScopeType::Bytea,
        ScopeType::Date,
        ScopeType::Timestamp,
        ScopeType::Timestamptz,
        ScopeType::Enum,
    ];

    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| *scope as u32 == code)
    }

    /// The number of bytes of a value that is not NULL.
    pub fn bytes(self) -> usize {
        match self {
            ScopeType::Bool => 1,
            ScopeType::Int2 => 2,
            ScopeType::Int4 | ScopeType::Oid | ScopeType::Date | ScopeType::Enum => 4,
            ScopeType::Int8 | ScopeType::Timestamp | ScopeType::Timestamptz => 8,
            ScopeType::Uuid => 16,
            ScopeType::Text | ScopeType::Bytea => DIGEST,
        }
    }

    /// Whether the bytes determine the value. A digest does not.
    pub fn is_exact(self) -> bool {
        !matches!(self, ScopeType::Text | ScopeType::Bytea)
    }

    /// Whether a type has the length and passing convention of this type's datums.
    pub fn fits(self, type_oid: pg_sys::Oid) -> bool {
        let (mut length, mut by_value) = (0, false);
        // SAFETY: a catalogue look-up in a transaction.
        unsafe { pg_sys::get_typlenbyval(type_oid, &mut length, &mut by_value) };
        (length, by_value)
            == match self {
                ScopeType::Text | ScopeType::Bytea => (-1, false),
                ScopeType::Uuid => (16, false),
                ScopeType::Bool
                | ScopeType::Int2
                | ScopeType::Int4
                | ScopeType::Int8
                | ScopeType::Oid
                | ScopeType::Date
                | ScopeType::Timestamp
                | ScopeType::Timestamptz
                | ScopeType::Enum => (self.bytes() as i16, true),
            }
    }

    /// The integer type of PostgreSQL with this OID. The three integer types can be compared with
    /// one another.
    pub fn of_integers(type_oid: pg_sys::Oid) -> Option<Self> {
        match type_oid {
            pg_sys::INT2OID => Some(ScopeType::Int2),
            pg_sys::INT4OID => Some(ScopeType::Int4),
            pg_sys::INT8OID => Some(ScopeType::Int8),
            _ => None,
        }
    }

    /// Writes the bytes of a value, or of an operator's argument. False, with nothing written, if
    /// no value of the column's type is equal to the argument: an integer outside the type's range.
    ///
    /// # Safety
    /// `datum` is not NULL. If `type_oid` is `InvalidOid`, it is of the column's type. Otherwise it
    /// is of that type, the right-hand type of an operator of the column's operator family.
    pub unsafe fn encode(
        self,
        datum: pg_sys::Datum,
        type_oid: pg_sys::Oid,
        bytes: &mut [u8],
    ) -> bool {
        debug_assert_eq!(bytes.len(), self.bytes(), "room for a value");
        match self {
            ScopeType::Bool => bytes[0] = u8::from(datum.value() != 0),
            ScopeType::Int2 | ScopeType::Int4 | ScopeType::Int8 => {
                // Any other type is the column's own.
                let number = Self::of_integers(type_oid).unwrap_or(self).integer(datum);
                if !self.holds(number) {
                    return false;
                }
                ordered(number, bytes);
            }
            ScopeType::Date => ordered(i64::from(datum.value() as i32), bytes),
            ScopeType::Timestamp | ScopeType::Timestamptz => ordered(datum.value() as i64, bytes),
            ScopeType::Oid | ScopeType::Enum => {
                bytes.copy_from_slice(&(datum.value() as u32).to_be_bytes());
            }
            ScopeType::Uuid => {
                // SAFETY: `datum` points to a uuid: 16 bytes of any alignment.
                let uuid = unsafe { datum.cast_mut_ptr::<[u8; 16]>().read_unaligned() };
                bytes.copy_from_slice(&uuid);
            }
            ScopeType::Text | ScopeType::Bytea => {
                let hash = |value: &[u8]| digest(value, &mut interrupts());
                // SAFETY: `datum` is a text or a bytea, of variable length.
                bytes.copy_from_slice(&unsafe { with_packed_bytes(datum, hash) });
            }
        }
        true
    }

    /// The value of these bytes, which `encode` wrote. A value passed by reference is allocated in
    /// the current memory context.
    ///
    /// # Panics
    /// If the type is not [exact](ScopeType::is_exact).
    pub fn decode(self, bytes: &[u8]) -> pg_sys::Datum {
        debug_assert_eq!(bytes.len(), self.bytes(), "the bytes of a value");
        match self {
            ScopeType::Bool => pg_sys::Datum::from(bytes[0] != 0),
            ScopeType::Int2 => pg_sys::Datum::from(from_ordered(bytes) as i16),
            ScopeType::Int4 | ScopeType::Date => pg_sys::Datum::from(from_ordered(bytes) as i32),
            ScopeType::Int8 | ScopeType::Timestamp | ScopeType::Timestamptz => {
                pg_sys::Datum::from(from_ordered(bytes))
            }
            ScopeType::Oid | ScopeType::Enum => {
                let number = bytes.iter().fold(0, |number, &byte| number << 8 | u32::from(byte));
                pg_sys::Datum::from(number)
            }
            ScopeType::Uuid => palloc_parts(&[bytes]),
            ScopeType::Text | ScopeType::Bytea => unreachable!("a digest does not tell its value"),
        }
    }

    /// The value of a datum of this integer type.
    fn integer(self, datum: pg_sys::Datum) -> i64 {
        match self {
            ScopeType::Int2 => i64::from(datum.value() as i16),
            ScopeType::Int4 => i64::from(datum.value() as i32),
            _ => datum.value() as i64,
        }
    }

    /// Whether this integer type has this number.
    fn holds(self, number: i64) -> bool {
        match self {
            ScopeType::Int2 => i16::try_from(number).is_ok(),
            ScopeType::Int4 => i32::try_from(number).is_ok(),
            _ => true,
        }
    }
}

/// Raises 0A000 for a nondeterministic collation: under it, texts can be equal although their bytes
/// differ. InvalidOid, no collation, is accepted.
///
/// # Safety
/// In a transaction: a catalogue look-up.
pub unsafe fn check_collation(collation: pg_sys::Oid) {
    // SAFETY: catalogue look-ups in a transaction; the name is null or a C string.
    let name = unsafe {
        if collation == pg_sys::InvalidOid || pg_sys::get_collation_isdeterministic(collation) {
            return;
        }
        let name = pg_sys::get_collation_name(collation);
        if name.is_null() { "".into() } else { shown(CStr::from_ptr(name)) }
    };
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!(
            "nondeterministic collations are not supported for access method \"simhash\": \
             \"{name}\""
        ),
        "Use a deterministic collation for the index column, such as COLLATE \"C\", and the same \
         one in the condition.",
    )
}
