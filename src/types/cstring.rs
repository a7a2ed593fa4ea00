//! The text form of a value, as an output function returns it.

use pgrx::pg_sys;

use super::datum::{Encode, result, sql_type};
use super::varlena::palloc_parts;

/// A text of any length, in ASCII and without a NUL byte.
pub struct Output(pub Vec<u8>);

sql_type!(Output, "cstring");
result!(Output);

impl Encode for Output {
    fn encode(self) -> pg_sys::Datum {
        palloc_parts(&[&self.0, &[0]])
    }
}
