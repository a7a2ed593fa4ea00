//! Functions of the type `bloom_filter`: its text and binary forms, membership, and the union of
//! two filters. Aggregates are in `bloom_aggregate`.

use std::ffi::CStr;

use pgrx::{Internal, PgSqlErrorCode, pg_extern};

use crate::error::{raise, raise_invalid_text, shown};
use crate::memory;
use crate::types::Text;
use crate::types::bloom::BloomFilter;
use crate::types::cstring::Output;
use crate::types::message::Message;

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_filter_in(text: &CStr) -> BloomFilter<'static> {
    let shown = shown(text);
    BloomFilter::parse(&shown).unwrap_or_else(|| {
        let shown: String = shown.chars().take(64).collect();
        raise_invalid_text(
            "bloom_filter",
            &shown,
            "A bloom_filter is written as m=bits,k=hashes,count=texts,bits=hexadecimal digits.",
        )
    })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_filter_out(filter: BloomFilter<'_>) -> Output {
    filter.to_text()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_filter_recv(buffer: Internal) -> BloomFilter<'static> {
    from_bytea(Message::of_argument(buffer).rest())
}

/// SQL declares the result as bytea, which has the layout of a filter.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_filter_send(filter: BloomFilter<'_>) -> BloomFilter<'_> {
    filter
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_filter_from_bytea(bytes: &[u8]) -> BloomFilter<'static> {
    from_bytea(bytes)
}

fn from_bytea(bytes: &[u8]) -> BloomFilter<'static> {
    memory::prepare();
    match BloomFilter::from_bytes(bytes) {
        Some(filter) => filter.copied(),
        None => raise(
            PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
            format!("bytea of {} bytes is not a bloom_filter", bytes.len()),
            "Cast a bloom_filter to bytea to see the form.",
        ),
    }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_contains(filter: BloomFilter<'_>, text: Text<'_>) -> bool {
    filter.contains(text.as_str())
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn bloom_or(a: BloomFilter<'_>, b: BloomFilter<'_>) -> BloomFilter<'static> {
    let mut sum = a.copied();
    sum.unite(&b);
    sum
}
