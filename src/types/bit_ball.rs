//! `hamming_ball_bit`: all bit strings within a radius of a centre of the same length.
//!
//! On disk and on the wire: the centre's length in bits as a four-byte integer, its bits, and the
//! radius as a four-byte integer. The integers are in network order, so comparing the bytes of
//! balls around strings of one length orders them by centre and then by radius. Each ball has
//! exactly one representation.

use std::borrow::Cow;
use std::ffi::{CStr, CString};

use pgrx::{PgSqlErrorCode, pg_sys};

use super::bits::BitString;
use super::datum::{Decode, Encode, argument, result, sql_type};
use super::varlena::{packed_bytes, palloc_varlena};
use crate::error::{raise, raise_invalid_text, shown};

/// The bit strings within `radius` of `center`. The radius is from 0 to the centre's length.
pub struct BitBall<'a> {
    pub center: BitString<'a>,
    pub radius: u32,
}

sql_type!(BitBall<'_>, "hamming_ball_bit");
argument!(BitBall<'_>);
result!(BitBall<'_>);

impl<'a> BitBall<'a> {
    /// Raises 22003 (out of range) if no pair of strings can have this distance.
    pub fn new(center: BitString<'a>, radius: i32) -> Self {
        match u32::try_from(radius) {
            Ok(radius) if radius as usize <= center.length => BitBall { center, radius },
            _ => raise(
                PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                format!("radius {radius} is out of range for a ball of {} bits", center.length),
                &format!("A radius must be a Hamming distance, 0 to {}.", center.length),
            ),
        }
    }

    /// A ball of any radius. With a negative radius no string is within it: `None`. A radius beyond
    /// the centre's length is reduced to the length.
    pub fn of_any_radius(center: BitString<'a>, radius: i64) -> Option<Self> {
        let radius = u64::try_from(radius).ok()?.min(center.length as u64) as u32;
        Some(BitBall { center, radius })
    }

    /// Raises 22026 if the string has another length.
    pub fn contains(&self, bits: &BitString<'_>) -> bool {
        bits.hamming(&self.center) <= self.radius
    }

    /// Reads the form on disk. `None` if the bytes are not a valid ball.
    pub fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (bits, radius) = rest.split_last_chunk()?;
        let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
        let radius = u32::try_from(i32::from_be_bytes(*radius)).ok()?;
        let center = BitString { length, bytes: Cow::Borrowed(bits) };
        let sound = center.is_padded() && radius as usize <= length;
        sound.then_some(BitBall { center, radius })
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.parts(|parts| parts.concat())
    }

    fn parts<T>(&self, take: impl FnOnce(&[&[u8]]) -> T) -> T {
        let length = (self.center.length as i32).to_be_bytes();
        take(&[&length, &self.center.bytes, &self.radius.to_be_bytes()])
    }

    /// Reads `<center,radius>`, with the centre in binary digits; white space is allowed around
    /// each part.
    pub fn parse(text: &CStr) -> BitBall<'static> {
        let shown = shown(text);
        let parts = shown
            .trim()
            .strip_prefix('<')
            .and_then(|rest| rest.strip_suffix('>'))
            .and_then(|inside| inside.split_once(','))
            .and_then(|(center, radius)| {
                Some((BitString::parse(center.trim())?, radius.trim().parse().ok()?))
            });
        let Some((center, radius)) = parts else {
            raise_invalid_text(
                "hamming_ball_bit",
                &shown,
                "A hamming_ball_bit is written as <bits,radius>, such as <00101101,3>.",
            )
        };
        BitBall::new(center, radius)
    }

    pub fn to_text(&self) -> CString {
        let radius = self.radius.to_string();
        let text = [b"<", &self.center.to_text()[..], b",", radius.as_bytes(), b">"].concat();
        CString::new(text).unwrap_or_default()
    }
}

impl Decode for BitBall<'_> {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a hamming_ball_bit, which has a varlena header.
        let bytes = unsafe { packed_bytes(datum) };
        BitBall::from_bytes(bytes).unwrap_or_else(|| {
            raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed hamming_ball_bit".into(), "")
        })
    }
}

impl Encode for BitBall<'_> {
    fn encode(self) -> pg_sys::Datum {
        self.parts(palloc_varlena)
    }
}
