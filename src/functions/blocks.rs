//! `simhash_blocks`: the blocks of a fingerprint, as keys to repartition by.

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern};
use simhash_core::base::bits::B256;
use simhash_core::base::fingerprint::parse_prefixed_hex;
use simhash_core::base::key::Key;
use simhash_core::search::BlockLayout;

use crate::error::{raise, raise_invalid_text};
use crate::types::{Fp64, Fp128, Fp256, Text};

fn blocks<F: Key>(fp: F, blocks: i32) -> Vec<(i16, i64)> {
    // A key is a bigint, so a block has 64 bits at most.
    let least = F::BITS / 64;
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
        .map(|block| (block as i16, layout.block(fp, block).word(0) as i64))
        .collect()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_blocks_64(
    fp: Fp64,
    count: i32,
) -> TableIterator<'static, (name!(block, i16), name!(key, i64))> {
    TableIterator::new(blocks(fp.0, count))
}

/// For a quoted literal, which has no type. Its length gives the width.
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
    let narrow = parse_prefixed_hex::<u64>(fp).map(|fp| blocks(fp, count.unwrap_or(4)));
    narrow
        .or_else(|| parse_prefixed_hex::<u128>(fp).map(|fp| blocks(fp, count.unwrap_or(8))))
        .or_else(|| parse_prefixed_hex::<B256>(fp).map(|fp| blocks(fp, count.unwrap_or(16))))
        .unwrap_or_else(|| {
            raise_invalid_text(
                "fingerprint64",
                fp,
                "Give a fingerprint of 16, 32 or 64 hexadecimal digits.",
            )
        })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_blocks_128(
    fp: Fp128,
    count: i32,
) -> TableIterator<'static, (name!(block, i16), name!(key, i64))> {
    TableIterator::new(blocks(fp.0, count))
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn simhash_blocks_256(
    fp: Fp256,
    count: i32,
) -> TableIterator<'static, (name!(block, i16), name!(key, i64))> {
    TableIterator::new(blocks(fp.0, count))
}
