//! `simhash_evaluate`: what every distance would find of labelled pairs; `simhash_blocks`: the keys to repartition by.

use pgrx::iter::TableIterator;
use pgrx::{FromDatum, PgSqlErrorCode, name, pg_extern, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::fingerprint::parse_hex;
use simhash_core::search::{BlockLayout, Key};

use super::cursor::{Column, for_each_row};
use crate::error::{raise, raise_invalid_text};
use crate::types::{Fp64, Fp128, Text};

/// How many labelled pairs are how far apart; the last place is for pairs of which one has no fingerprint.
struct Counts {
    duplicates: Vec<u64>,
    others: Vec<u64>,
}

// pgrx reads the columns from the signature and does not follow an alias.
#[allow(clippy::type_complexity)]
#[pg_extern(sql = false, volatile, strict, parallel_unsafe)]
fn simhash_evaluate(
    pairs: Text<'_>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(distance, i32),
        name!(tp, i64),
        name!(fp, i64),
        name!(fn_, i64),
        name!(tn, i64),
        name!(precision, Option<f64>),
        name!(recall, Option<f64>),
        name!(f1, Option<f64>),
    ),
> {
    // SAFETY: PostgreSQL passes a valid call.
    let own_types = unsafe { FingerprintTypes::beside((*(*fcinfo).flinfo).fn_oid) };
    let is_fingerprint = |oid| own_types.width(oid).is_some();
    let mut counts: Option<Counts> = None;
    let width_of = |a, b| {
        let width = own_types.width(a).unwrap_or(64);
        if own_types.width(b) != Some(width) {
            raise(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                "a and b are fingerprints of different widths".into(),
                "Give both in 64 or both in 128 bits.",
            )
        }
        width
    };
    let types = "fingerprint64, fingerprint128 or bigint";
    let columns = [
        Column { name: "a", types, accepts: &is_fingerprint },
        Column { name: "b", types, accepts: &is_fingerprint },
        Column { name: "duplicate", types: "boolean", accepts: &|oid| oid == pg_sys::BOOLOID },
    ];
    let found = for_each_row(pairs.as_str(), &columns, &mut |row| {
        let width = width_of(row.type_of(0), row.type_of(1));
        let counts = counts.get_or_insert_with(|| Counts::new(width));
        let duplicate = row.datum(2).unwrap_or_else(|| {
            raise(PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED, "duplicate is NULL for a pair".into(), "")
        });
        let distance = row.datum(0).zip(row.datum(1)).map(|(a, b)| {
            // SAFETY: the columns' types were checked; a bigint has the representation of a fingerprint64.
            unsafe {
                if width == 128 {
                    Fp128::from_datum(a, false)
                        .zip(Fp128::from_datum(b, false))
                        .map(|(a, b)| a.0.hamming(b.0))
                } else {
                    Fp64::from_datum(a, false).zip(Fp64::from_datum(b, false)).map(|(a, b)| a.0.hamming(b.0))
                }
            }
        });
        counts.add(distance.flatten(), duplicate.value() != 0);
    });
    TableIterator::new(counts.unwrap_or_else(|| Counts::new(width_of(found[0], found[1]))).rows())
}

impl Counts {
    fn new(width: usize) -> Self {
        Counts { duplicates: vec![0; width + 2], others: vec![0; width + 2] }
    }

    fn add(&mut self, distance: Option<u32>, duplicate: bool) {
        let counts = if duplicate { &mut self.duplicates } else { &mut self.others };
        let last = counts.len() - 1;
        counts[distance.map_or(last, |distance| distance as usize)] += 1;
    }

    #[allow(clippy::type_complexity)] // the columns of the function
    fn rows(self) -> impl Iterator<Item = (i32, i64, i64, i64, i64, Option<f64>, Option<f64>, Option<f64>)> {
        let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let (all_duplicates, all_others) =
            (self.duplicates.iter().sum::<u64>(), self.others.iter().sum::<u64>());
        let (mut tp, mut fp) = (0, 0);
        (0..self.duplicates.len() - 1).map(move |distance| {
            tp += self.duplicates[distance];
            fp += self.others[distance];
            let (missed, tn) = (all_duplicates - tp, all_others - fp);
            let f1 = ratio(2 * tp, 2 * tp + fp + missed);
            let (precision, recall) = (ratio(tp, tp + fp), ratio(tp, all_duplicates));
            (distance as i32, tp as i64, fp as i64, missed as i64, tn as i64, precision, recall, f1)
        })
    }
}

/// The extension's fingerprint types, which live in the schema of its functions.
struct FingerprintTypes {
    bits64: pg_sys::Oid,
    bits128: pg_sys::Oid,
}

impl FingerprintTypes {
    /// # Safety
    /// `function` must be one of the extension's functions.
    unsafe fn beside(function: pg_sys::Oid) -> Self {
        // SAFETY: looks names up in the system caches.
        unsafe {
            let schema = pg_sys::get_func_namespace(function);
            let named = |name: &std::ffi::CStr| {
                pg_sys::GetSysCacheOid(
                    pg_sys::SysCacheIdentifier::TYPENAMENSP as i32,
                    pg_sys::Anum_pg_type_oid as pg_sys::AttrNumber,
                    pg_sys::Datum::from(name.as_ptr()),
                    pg_sys::Datum::from(schema),
                    pg_sys::Datum::from(0usize),
                    pg_sys::Datum::from(0usize),
                )
            };
            FingerprintTypes { bits64: named(c"fingerprint64"), bits128: named(c"fingerprint128") }
        }
    }

    /// The width of a type that holds a fingerprint.
    fn width(&self, oid: pg_sys::Oid) -> Option<usize> {
        match oid {
            pg_sys::InvalidOid => None,
            oid if oid == self.bits64 || oid == pg_sys::INT8OID => Some(64),
            oid if oid == self.bits128 => Some(128),
            _ => None,
        }
    }
}

fn blocks<F: Key>(fp: F, blocks: i32, least: u32) -> Vec<(i16, i64)> {
    let layout = u32::try_from(blocks)
        .ok()
        .filter(|&blocks| blocks >= least)
        .and_then(BlockLayout::new::<F>)
        .unwrap_or_else(|| {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("a fingerprint of {} bits cannot be cut into {blocks} blocks", F::BITS),
                &format!("Allowed: {least} to {}.", simhash_core::search::layout::MAX_BLOCKS),
            )
        });
    (0..layout.blocks())
        .map(|block| (block as i16, layout.block(fp, block).to_u128() as u64 as i64))
        .collect()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_blocks_64(fp: Fp64, count: i32) -> TableIterator<'static, (name!(block, i16), name!(key, i64))> {
    TableIterator::new(blocks(fp.0, count, 1))
}

/// A quoted literal says nothing of its width: it is told by its length.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_blocks_text(fp: Text<'_>) -> TableIterator<'static, (name!(block, i16), name!(key, i64))> {
    TableIterator::new(blocks_of_text(fp.as_str(), None))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_blocks_text_count(
    fp: Text<'_>,
    count: i32,
) -> TableIterator<'static, (name!(block, i16), name!(key, i64))> {
    TableIterator::new(blocks_of_text(fp.as_str(), Some(count)))
}

fn blocks_of_text(fp: &str, count: Option<i32>) -> Vec<(i16, i64)> {
    match (parse_hex::<u64>(fp), parse_hex::<u128>(fp)) {
        (Some(narrow), _) => blocks(narrow, count.unwrap_or(4), 1),
        (_, Some(wide)) => blocks(wide, count.unwrap_or(8), 2),
        _ => raise_invalid_text("fingerprint64", fp, "Give a fingerprint of 16 or of 32 hexadecimal digits."),
    }
}

/// At least two blocks, for a key has 64 bits.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_blocks_128(fp: Fp128, count: i32) -> TableIterator<'static, (name!(block, i16), name!(key, i64))> {
    TableIterator::new(blocks(fp.0, count, 2))
}
