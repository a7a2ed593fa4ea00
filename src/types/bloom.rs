//! `bloom_filter`: a set of texts that answers "maybe" or "certainly not".
//!
//! On disk: the format's version and k (two bytes each), four zero bytes, m and the number of added
//! texts (eight bytes each), all little-endian, then the bits. As bytea: the same bytes. In text:
//! `m=80,k=3,count=2,bits=00ff...`.

use std::borrow::Cow;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::methods::bloom::Shape;

use super::cstring::Output;
use super::datum::{Decode, Encode, argument, result, sql_type};
use super::varlena::{STRETCH, packed_bytes, palloc_varlena};
use crate::error::raise;

/// A filter. `count` is the number of texts added to it, repeated ones included.
#[derive(Clone, Debug)]
pub struct BloomFilter<'a> {
    pub shape: Shape,
    pub count: u64,
    pub bits: Cow<'a, [u8]>,
}

/// A filter that is changed in place.
pub struct BitsMut<'a> {
    pub shape: Shape,
    pub count: &'a mut u64,
    pub bits: &'a mut [u8],
}

impl BitsMut<'_> {
    pub fn insert(self, text: &str) {
        self.shape.insert(self.bits, text.as_bytes());
        *self.count = self.count.saturating_add(1);
    }

    /// Adds the texts of `other`. Raises an ERROR if its shape differs.
    pub fn unite(self, other: &BloomFilter<'_>) {
        if self.shape != other.shape {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!(
                    "cannot unite Bloom filters of {} bits and {} hashes with those of {} bits and \
                     {} hashes",
                    self.shape.bits, self.shape.hashes, other.shape.bits, other.shape.hashes
                ),
                "Make both with the same expected number of texts and the same rate.",
            )
        }
        for (to, from) in self.bits.chunks_mut(STRETCH).zip(other.bits.chunks(STRETCH)) {
            pgrx::check_for_interrupts!();
            to.iter_mut().zip(from).for_each(|(a, b)| *a |= b);
        }
        *self.count = self.count.saturating_add(other.count);
    }
}

/// An empty vector with room for a filter's bits. Raises an ERROR if there is no memory for them.
fn room_for(bytes: usize) -> Vec<u8> {
    let mut bits = Vec::new();
    if bits.try_reserve_exact(bytes).is_err() {
        raise(
            PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
            format!("out of memory for a Bloom filter of {bytes} bytes"),
            "Expect fewer texts, or allow a greater rate.",
        )
    }
    bits
}

sql_type!(BloomFilter<'_>, "bloom_filter");
argument!(BloomFilter<'_>);
result!(BloomFilter<'_>);

const VERSION: u16 = 1;
const HEADER: usize = 24;

impl<'a> BloomFilter<'a> {
    /// A copy that owns its bits.
    pub fn copied(&self) -> BloomFilter<'static> {
        let mut bits = room_for(self.bits.len());
        for stretch in self.bits.chunks(STRETCH) {
            pgrx::check_for_interrupts!();
            bits.extend_from_slice(stretch);
        }
        BloomFilter { bits: Cow::Owned(bits), ..*self }
    }

    pub fn contains(&self, text: &str) -> bool {
        self.shape.contains(&self.bits, text.as_bytes())
    }

    /// Adds the texts of `other`. Raises an ERROR if its shape differs.
    pub fn unite(&mut self, other: &BloomFilter<'_>) {
        let union = BitsMut { shape: self.shape, count: &mut self.count, bits: self.bits.to_mut() };
        union.unite(other);
    }

    /// Reads the form on disk. `None` if the bytes are not a valid filter.
    pub fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        let (header, bits) = bytes.split_first_chunk::<HEADER>()?;
        let (shape, count) = Self::read_header(header)?;
        (bits.len() == shape.bytes() && is_clear_beyond(shape, bits)).then_some(BloomFilter {
            shape,
            count,
            bits: Cow::Borrowed(bits),
        })
    }

    fn read_header(header: &[u8; HEADER]) -> Option<(Shape, u64)> {
        let word = |at: usize| header[at..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
        let (first, bits, count) = (word(0)?, word(8)?, word(16)?);
        let shape = Shape { bits, hashes: (first >> 16) as u32 };
        (first as u16 == VERSION && first >> 32 == 0 && shape.is_valid()).then_some((shape, count))
    }

    fn header(&self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..2].copy_from_slice(&VERSION.to_le_bytes());
        header[2..4].copy_from_slice(&(self.shape.hashes as u16).to_le_bytes());
        header[8..16].copy_from_slice(&self.shape.bits.to_le_bytes());
        header[16..].copy_from_slice(&self.count.to_le_bytes());
        header
    }

    /// Reads the text form. `None` if the text is not valid.
    pub fn parse(text: &str) -> Option<BloomFilter<'static>> {
        let mut parts = text.trim().splitn(4, ',');
        let mut part = |name: &str| parts.next()?.trim().strip_prefix(name)?.strip_prefix('=');
        let shape = Shape { bits: part("m")?.parse().ok()?, hashes: part("k")?.parse().ok()? };
        let count = part("count")?.parse().ok()?;
        let (digits, odd) = part("bits")?.as_bytes().as_chunks::<2>();
        if !shape.is_valid() || digits.len() != shape.bytes() || !odd.is_empty() {
            return None;
        }
        let digit = |d: u8| char::from(d).to_digit(16);
        let mut bits = room_for(digits.len());
        for stretch in digits.chunks(STRETCH / 8) {
            pgrx::check_for_interrupts!();
            for &[high, low] in stretch {
                bits.push((digit(high)? << 4 | digit(low)?) as u8);
            }
        }
        is_clear_beyond(shape, &bits).then_some(BloomFilter {
            shape,
            count,
            bits: Cow::Owned(bits),
        })
    }

    pub fn to_text(&self) -> Output {
        let Shape { bits, hashes } = self.shape;
        let mut text = format!("m={bits},k={hashes},count={},bits=", self.count).into_bytes();
        let hex = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
        text.reserve_exact(2 * self.bits.len());
        for stretch in self.bits.chunks(STRETCH / 8) {
            pgrx::check_for_interrupts!();
            text.extend(stretch.iter().flat_map(|&byte| [hex(byte >> 4), hex(byte & 15)]));
        }
        Output(text)
    }
}

/// Whether no bit of the last byte is set beyond the filter's last one.
fn is_clear_beyond(shape: Shape, bits: &[u8]) -> bool {
    let beyond = shape.bytes() as u64 * 8 - shape.bits;
    bits.last().is_some_and(|last| u64::from(last.leading_zeros()) >= beyond)
}

impl Decode for BloomFilter<'_> {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a bloom_filter, which has a varlena header.
        let bytes = unsafe { packed_bytes(datum) };
        BloomFilter::from_bytes(bytes).unwrap_or_else(|| {
            raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed bloom_filter".into(), "")
        })
    }
}

impl Encode for BloomFilter<'_> {
    fn encode(self) -> pg_sys::Datum {
        palloc_varlena(&[&self.header(), &self.bits])
    }
}
