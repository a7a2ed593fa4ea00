//! `simhash_part_...`: functions that run on the servers of a table's partitions when the table is
//! compared as a whole.

use pgrx::iter::SetOfIterator;
use pgrx::{pg_extern, pg_sys};
use simhash_core::config::Numbers;

use crate::bulk::servers::served;
use crate::types::Text;

type Messages = SetOfIterator<'static, Vec<u8>>;

#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_part_recipe(index: pg_sys::Oid, content: Text<'_>) -> String {
    served::recipe(index, content.as_str())
}

#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_part_rows(index: pg_sys::Oid, with_keys: bool) -> Messages {
    SetOfIterator::new(served::rows(index, with_keys))
}

#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_part_roots(index: pg_sys::Oid, versions: &[u8]) -> Vec<u8> {
    served::roots(index, versions)
}

#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_part_keys(index: pg_sys::Oid, bands: i32, low: i64, high: i64) -> Messages {
    // A `high` of 2^32 does not fit into 32 bits: the range has no upper bound.
    let range = (u32::try_from(low).unwrap_or(0), u32::try_from(high).ok());
    SetOfIterator::new(served::keys(index, usize::try_from(bands).unwrap_or(0), range))
}

#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_part_texts(
    index: pg_sys::Oid,
    roots: &[u8],
    sets: bool,
    numbers: Text<'_>,
    most: i64,
) -> Messages {
    let named = |known: &Numbers| known.to_string() == numbers.as_str();
    let numbers = Numbers::ALL.iter().copied().find(named);
    let most = usize::try_from(most).unwrap_or(0);
    SetOfIterator::new(served::texts(index, roots, sets, numbers, most))
}

#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_part_fingerprints(index: pg_sys::Oid) -> Messages {
    SetOfIterator::new(served::fingerprints(index))
}

#[pg_extern(sql = false, stable, parallel_restricted)]
fn simhash_part_tokens(index: pg_sys::Oid, roots: &[u8], most: i64) -> Messages {
    let most = usize::try_from(most).unwrap_or(0);
    SetOfIterator::new(served::tokens(index, roots, most))
}
