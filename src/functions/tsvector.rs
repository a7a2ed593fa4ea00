//! `simhash(tsvector)` and `minhash64(tsvector)`: lexemes as features, so that every text search configuration serves.
//!
//! A lexeme weighs the sum over its positions of the label's weight: 10 for A, 4 for B, 2 for C and
//! 1 for D, the proportions of `ts_rank`'s defaults. A lexeme without positions, as `strip()` leaves
//! it, weighs as one D.

use pgrx::{FromDatum, PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::hash::feature_hash;
use simhash_core::sets::minhash::MinHasher;
use simhash_core::simhash::from_features;

use crate::error::raise;
use crate::memory;
use crate::types::text::server_to_utf8;
use crate::types::{Fp64, Fp128, by_datum_argument, sql_type};

/// A `tsvector` argument: its varlena bytes, header and all.
struct TsVector<'a>(&'a [u8]);

sql_type!(TsVector<'_>, "tsvector");
by_datum_argument!(TsVector<'_>);

impl FromDatum for TsVector<'_> {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        if is_null {
            return None;
        }
        memory::prepare();
        // SAFETY: the caller passes a tsvector; detoasting gives a four-byte header, which varsize reads.
        unsafe {
            let varlena = pg_sys::pg_detoast_datum(datum.cast_mut_ptr());
            Some(TsVector(std::slice::from_raw_parts(varlena.cast::<u8>(), pgrx::varlena::varsize(varlena))))
        }
    }
}

/// Where the entries start: after the varlena header and their number.
const ENTRIES_OFFSET: usize = 8;

impl<'a> TsVector<'a> {
    /// Every lexeme with its weight. `None` for bytes that are no tsvector.
    fn lexemes(&self) -> Option<Vec<(&'a [u8], f32)>> {
        let count = usize::try_from(i32::from_ne_bytes(self.array(4)?)).ok()?;
        let words = ENTRIES_OFFSET.checked_add(count.checked_mul(4)?)?;
        (0..count)
            .map(|i| {
                // SAFETY: any four bytes are a WordEntry, a struct of bit fields.
                let entry = unsafe {
                    std::mem::transmute::<[u8; 4], pg_sys::WordEntry>(self.array(ENTRIES_OFFSET + 4 * i)?)
                };
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

    fn lexemes_or_raise(&self) -> Vec<(&'a [u8], f32)> {
        self.lexemes()
            .unwrap_or_else(|| raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed tsvector".into(), ""))
    }

    /// The weight of the positions that follow a lexeme's text: aligned to two bytes, a count, then
    /// 14 bits of position and 2 of label each.
    fn positions_weight(&self, end_of_lexeme: usize) -> Option<u32> {
        let start = end_of_lexeme.next_multiple_of(2);
        let count = u16::from_ne_bytes(self.array(start)?) as usize;
        (1..=count).map(|i| Some(label_weight(u16::from_ne_bytes(self.array(start + 2 * i)?) >> 14))).sum()
    }

    fn array<const N: usize>(&self, start: usize) -> Option<[u8; N]> {
        self.0.get(start..start + N)?.try_into().ok()
    }
}

/// Labels are stored as D = 0 to A = 3.
fn label_weight(label: u16) -> u32 {
    [1, 2, 4, 10][label as usize & 3]
}

fn fingerprint<F: Fingerprint>(document: TsVector<'_>) -> Option<F> {
    let lexemes = document.lexemes_or_raise();
    // SAFETY: what is converted lives as long as this call's memory context.
    let features =
        lexemes.into_iter().map(|(lexeme, weight)| (unsafe { server_to_utf8(lexeme) }.as_bytes(), weight));
    // Weights are sums of labels: finite and positive.
    from_features(features).ok().flatten()
}

/// One bit of each component of the set of lexemes: positions and labels do not count.
fn minhash<F: Fingerprint>(document: TsVector<'_>) -> Option<F> {
    let lexemes = document.lexemes_or_raise();
    // SAFETY: as in `fingerprint`.
    let hashes =
        lexemes.into_iter().map(|(lexeme, _)| feature_hash(unsafe { server_to_utf8(lexeme) }.as_bytes()));
    MinHasher::new(F::BITS as usize).fingerprint(hashes)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash64_tsvector(document: TsVector<'_>) -> Option<Fp64> {
    minhash(document).map(Fp64)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash128_tsvector(document: TsVector<'_>) -> Option<Fp128> {
    minhash(document).map(Fp128)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_tsvector(document: TsVector<'_>) -> Option<Fp64> {
    fingerprint(document).map(Fp64)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash128_tsvector(document: TsVector<'_>) -> Option<Fp128> {
    fingerprint(document).map(Fp128)
}
