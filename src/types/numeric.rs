//! `numeric`, for conversion of fingerprints to and from unsigned numbers of any width.

use std::ffi::{CStr, CString};

use pgrx::fcinfo::direct_function_call_as_datum as call;
use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::base::fingerprint::{parse_decimal, to_decimal};

use super::datum::{Decode, Encode, argument, result, sql_type};
use crate::error::raise;

/// A `numeric` argument or result, as its text form.
pub struct Numeric(String);

sql_type!(Numeric, "numeric");
argument!(Numeric);
result!(Numeric);

impl Numeric {
    /// A fingerprint as an unsigned number.
    pub fn of<F: Fingerprint>(fp: F) -> Self {
        Numeric(to_decimal(fp))
    }

    /// The fingerprint with this number. Raises 22003 unless it is a whole number from 0 to the
    /// width's maximum.
    pub fn fingerprint<F: Fingerprint>(&self, type_name: &str) -> F {
        let (whole, fraction) = self.0.split_once('.').unwrap_or((&self.0, ""));
        let is_whole = fraction.bytes().all(|digit| digit == b'0');
        parse_decimal(whole).filter(|_| is_whole).unwrap_or_else(|| {
            let most = to_decimal(F::MAX);
            raise(
                PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("value \"{}\" is out of range for type {type_name}", self.0),
                &format!("A {type_name} must be a whole number from 0 to {most}."),
            )
        })
    }
}

impl Decode for Numeric {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a numeric, whose output function returns a C string in ASCII.
        let text = unsafe {
            let written = call(pg_sys::numeric_out, &[Some(datum)]);
            written.map_or(c"", |text| CStr::from_ptr(text.cast_mut_ptr()))
        };
        Numeric(text.to_string_lossy().into_owned())
    }
}

impl Encode for Numeric {
    fn encode(self) -> pg_sys::Datum {
        let text = CString::new(self.0).unwrap_or_default();
        let type_ = pg_sys::Datum::from(pg_sys::NUMERICOID);
        let arguments = [Some(text.as_ptr().into()), Some(type_), Some((-1i32).into())];
        // SAFETY: these are the arguments of numeric's input function, which returns a palloc'd
        // numeric.
        unsafe { call(pg_sys::numeric_in, &arguments) }.unwrap_or(pg_sys::Datum::null())
    }
}
