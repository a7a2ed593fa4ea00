//! `simhash_blocks`: the keys to repartition by.

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern};
use simhash_core::fingerprint::parse_hex;
use simhash_core::search::{BlockLayout, Key};

use crate::error::{raise, raise_invalid_text};
use crate::types::{Fp64, Fp128, Text};

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
fn simhash_blocks_64(
    fp: Fp64,
    count: i32,
) -> TableIterator<'static, (name!(block, i16), name!(key, i64))> {
    TableIterator::new(blocks(fp.0, count, 1))
}

/// For a quoted literal, which does not say its width: its length does.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_blocks_text(
    fp: Text<'_>,
) -> TableIterator<'static, (name!(block, i16), name!(key, i64))> {
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
        _ => raise_invalid_text(
            "fingerprint64",
            fp,
            "Give a fingerprint of 16 or of 32 hexadecimal digits.",
        ),
    }
}

/// At least two blocks, for a key has 64 bits at most.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_blocks_128(
    fp: Fp128,
    count: i32,
) -> TableIterator<'static, (name!(block, i16), name!(key, i64))> {
    TableIterator::new(blocks(fp.0, count, 2))
}
