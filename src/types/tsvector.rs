//! `tsvector`: lexemes with their weights.
//!
//! A lexeme's weight is the sum over its positions of their labels' weights: 10 for A, 4 for B, 2
//! for C and 1 for D, in proportion to `ts_rank`'s defaults. A lexeme without positions, as
//! `strip()` leaves it, has the weight of one D.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::datum::{Decode, argument, sql_type};
use super::text::server_to_utf8;
use super::varlena::aligned_bytes;
use crate::error::raise;

/// A `tsvector` argument: its bytes, including the varlena header.
pub struct TsVector<'a>(&'a [u8]);

sql_type!(TsVector<'_>, "tsvector");
argument!(TsVector<'_>);

impl Decode for TsVector<'_> {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a tsvector, which has a varlena header.
        TsVector(unsafe { aligned_bytes(datum) })
    }
}

/// The offset of the entries: after the varlena header and the number of entries.
const ENTRIES_OFFSET: usize = 8;

impl<'a> TsVector<'a> {
    /// Every lexeme, in UTF-8, with its weight. Raises XX001 if the bytes are not a valid tsvector.
    ///
    /// # Safety
    /// As [`server_to_utf8`].
    pub unsafe fn lexemes(&self) -> impl Iterator<Item = (&'a str, f32)> {
        let entries = self.entries().unwrap_or_else(|| {
            raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed tsvector".into(), "")
        });
        // SAFETY: the caller keeps the tsvector and the current memory context while it uses the
        // lexemes.
        entries.into_iter().map(|(lexeme, weight)| (unsafe { server_to_utf8(lexeme) }, weight))
    }

    /// Every lexeme as it is stored, with its weight. `None` if the bytes are not a valid tsvector.
    fn entries(&self) -> Option<Vec<(&'a [u8], f32)>> {
        let count = usize::try_from(i32::from_ne_bytes(self.array(4)?)).ok()?;
        let words = ENTRIES_OFFSET.checked_add(count.checked_mul(4)?)?;
        (0..count)
            .map(|i| {
                let entry: [u8; 4] = self.array(ENTRIES_OFFSET + 4 * i)?;
                // SAFETY: any four bytes are a valid WordEntry, a struct of bit fields.
                let entry: pg_sys::WordEntry = unsafe { std::mem::transmute(entry) };
                let (length, offset) = (entry.len() as usize, entry.pos() as usize);
                let start = words + offset;
                let lexeme = self.0.get(start..start + length)?;
                let weight = if entry.haspos() == 1 {
                    self.positions_weight(start + length)?
                } else {
                    label_weight(0)
                };
                Some((lexeme, weight as f32))
            })
            .collect()
    }

    /// The weight of the positions after a lexeme's text. They are aligned to two bytes: a count,
    /// then for each position 14 bits of position and 2 bits of label.
    fn positions_weight(&self, end_of_lexeme: usize) -> Option<u32> {
        let start = end_of_lexeme.next_multiple_of(2);
        let count = u16::from_ne_bytes(self.array(start)?) as usize;
        (1..=count)
            .map(|i| Some(label_weight(u16::from_ne_bytes(self.array(start + 2 * i)?) >> 14)))
            .sum()
    }

    fn array<const N: usize>(&self, start: usize) -> Option<[u8; N]> {
        self.0.get(start..start + N)?.try_into().ok()
    }
}

/// Labels are stored as numbers, from D = 0 to A = 3.
fn label_weight(label: u16) -> u32 {
    [1, 2, 4, 10][label as usize & 3]
}
