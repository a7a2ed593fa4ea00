//! Values of columns: handles that know what a datum is.

use std::ffi::CStr;
use std::marker::PhantomData;

use pgrx::pg_sys;

use crate::types::text::with_text;
use crate::types::varlena::with_packed_bytes;
use crate::types::{Code, Width};

/// A value, not NULL.
///
/// Invariant: the datum is a value of the type `base`, which has that length and passing, and it is
/// valid during `'a`. What is copied for a whole call of a trigger or a function has `'static`, and
/// nothing keeps it longer than that call.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    datum: pg_sys::Datum,
    base: pg_sys::Oid,
    length: i16,
    by_value: bool,
    life: PhantomData<&'a ()>,
}

unsafe extern "C-unwind" {
    // utils/datum.h, which pgrx does not bind.
    fn datum_image_eq(a: pg_sys::Datum, b: pg_sys::Datum, by_value: bool, length: i32) -> bool;
    fn datumCopy(value: pg_sys::Datum, by_value: bool, length: i32) -> pg_sys::Datum;
}

impl<'a> Value<'a> {
    /// # Safety
    /// The datum is a value of the type during `'a`. The type has that length and passing.
    pub unsafe fn new(
        datum: pg_sys::Datum,
        (base, length, by_value): (pg_sys::Oid, i16, bool),
    ) -> Self {
        Value { datum, base, length, by_value, life: PhantomData }
    }

    pub fn oid(oid: pg_sys::Oid) -> Self {
        let (datum, base, life) = (oid.into(), pg_sys::OIDOID, PhantomData);
        Value { datum, base, length: 4, by_value: true, life }
    }

    pub fn tid(tid: &'a pg_sys::ItemPointerData) -> Self {
        let (datum, base, life) =
            (pg_sys::Datum::from(&raw const *tid), pg_sys::TIDOID, PhantomData);
        Value { datum, base, length: 6, by_value: false, life }
    }

    /// A text, copied to the current memory context.
    pub fn text(text: &'a CStr) -> Self {
        // SAFETY: copies a C string.
        let datum = unsafe { pg_sys::cstring_to_text(text.as_ptr()) }.into();
        Value { datum, base: pg_sys::TEXTOID, length: -1, by_value: false, life: PhantomData }
    }

    pub fn datum(self) -> pg_sys::Datum {
        self.datum
    }

    pub fn base(self) -> pg_sys::Oid {
        self.base
    }

    /// The length of a value of its type; negative if it varies.
    pub fn length(self) -> i16 {
        self.length
    }

    /// A copy in the current memory context.
    ///
    /// # Safety
    /// That memory context lives as long as the copy is used.
    pub unsafe fn copy<'m>(self) -> Value<'m> {
        let Value { datum, base, length, by_value, .. } = self;
        // SAFETY: the value has this length and passing.
        let datum = unsafe {
            pg_sys::ffi::pg_guard_ffi_boundary(|| datumCopy(datum, by_value, length.into()))
        };
        Value { datum, base, length, by_value, life: PhantomData }
    }

    /// The value of a fingerprint, of a column that has this width.
    #[inline]
    pub fn code(self, width: Width) -> Code {
        assert_eq!(u32::try_from(self.length), Ok(width.bits() / 8), "a fingerprint's length");
        // SAFETY: the value has as many bytes as such a fingerprint, and any bytes are one.
        unsafe { width.code(self.datum) }
    }

    /// The result of `read` for the value's bytes, without a header. Values with the same bytes are
    /// those that [`same`] accepts.
    pub fn with_bytes<T>(self, read: impl FnOnce(&[u8]) -> T) -> T {
        if self.by_value {
            return read(&self.datum.value().to_le_bytes());
        }
        // SAFETY: the length is that of the value's type.
        unsafe {
            match usize::try_from(self.length) {
                Ok(length) => read(std::slice::from_raw_parts(self.datum.cast_mut_ptr(), length)),
                Err(_) if self.length == -1 => with_packed_bytes(self.datum, read),
                Err(_) => read(CStr::from_ptr(self.datum.cast_mut_ptr()).to_bytes()),
            }
        }
    }

    /// The result of `read` for a text.
    pub fn with_text<T>(self, read: impl FnOnce(&str) -> T) -> T {
        assert_eq!(self.length, -1, "a text's length");
        // SAFETY: a value of variable length is bytes after a header; whether they are characters
        // is checked.
        unsafe { with_text(self.datum, read) }
    }

    pub fn bytes(self) -> Vec<u8> {
        self.with_bytes(<[u8]>::to_vec)
    }

    /// A value of an integer type as one of a wider one; `None` for other types.
    pub fn widened(self, base: pg_sys::Oid) -> Option<Self> {
        let datum = widen(self.base, base, self.datum)?;
        let length = if base == pg_sys::INT4OID { 4 } else { 8 };
        Some(Value { datum, base, length, by_value: true, life: PhantomData })
    }
}

/// Whether two values have the same bytes, toasted or not, or both are NULL. Equal values may have
/// different bytes, but values with the same bytes are equal.
pub fn same(a: Option<Value<'_>>, b: Option<Value<'_>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(Value { datum, base, length, by_value, .. }), Some(b)) if base == b.base => {
            let same = || {
                // SAFETY: both are values of one type, with this length and passing.
                unsafe { datum_image_eq(datum, b.datum, by_value, length.into()) }
            };
            // SAFETY: calls a function of PostgreSQL.
            unsafe { pg_sys::ffi::pg_guard_ffi_boundary(same) }
        }
        _ => false,
    }
}

/// Whether values of one type and modifier are values of another, unchanged or widened.
pub fn fits(from: (pg_sys::Oid, i32), to: (pg_sys::Oid, i32)) -> bool {
    let is_same = from.0 == to.0 && (to.1 < 0 || from.1 == to.1);
    is_same || widen(from.0, to.0, pg_sys::Datum::null()).is_some()
}

/// Converts a value of one integer type to a wider one; `None` for other types.
fn widen(from: pg_sys::Oid, to: pg_sys::Oid, value: pg_sys::Datum) -> Option<pg_sys::Datum> {
    match (from, to) {
        (pg_sys::INT2OID, pg_sys::INT4OID) => Some(i32::from(value.value() as i16).into()),
        (pg_sys::INT2OID, pg_sys::INT8OID) => Some(i64::from(value.value() as i16).into()),
        (pg_sys::INT4OID, pg_sys::INT8OID) => Some(i64::from(value.value() as i32).into()),
        _ => None,
    }
}
