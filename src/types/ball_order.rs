//! Comparison of balls, by centre and then by radius: equality for grouping and replication, order
//! for sorting.

use pgrx::pg_extern;

use super::ball::{Ball64, Ball128};

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_eq(a: Ball64, b: Ball64) -> bool {
    a == b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_ne(a: Ball64, b: Ball64) -> bool {
    a != b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_lt(a: Ball64, b: Ball64) -> bool {
    a < b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_le(a: Ball64, b: Ball64) -> bool {
    a <= b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_gt(a: Ball64, b: Ball64) -> bool {
    a > b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_ge(a: Ball64, b: Ball64) -> bool {
    a >= b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball64_cmp(a: Ball64, b: Ball64) -> i32 {
    a.cmp(&b) as i32
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_eq(a: Ball128, b: Ball128) -> bool {
    a == b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_ne(a: Ball128, b: Ball128) -> bool {
    a != b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_lt(a: Ball128, b: Ball128) -> bool {
    a < b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_le(a: Ball128, b: Ball128) -> bool {
    a <= b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_gt(a: Ball128, b: Ball128) -> bool {
    a > b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_ge(a: Ball128, b: Ball128) -> bool {
    a >= b
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball128_cmp(a: Ball128, b: Ball128) -> i32 {
    a.cmp(&b) as i32
}
