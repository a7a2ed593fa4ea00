//! Functions of the type `hamming_ball_bit`: text and binary forms, constructors, membership. SQL
//! compares it by PostgreSQL's functions for bytea.

use std::ffi::{CStr, CString};

use pgrx::{Internal, PgSqlErrorCode, pg_extern};

use crate::error::raise;
use crate::types::bit_ball::BitBall;
use crate::types::bits::BitString;
use crate::types::message::Message;

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_bit_in(text: &CStr) -> BitBall<'static> {
    BitBall::parse(text)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_bit_out(ball: BitBall<'_>) -> CString {
    ball.to_text()
}

/// The binary form is that of storage.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_bit_recv(buffer: Internal) -> BitBall<'static> {
    let bytes = Message::of_argument(buffer).rest();
    BitBall::from_bytes(bytes).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
            "invalid hamming_ball_bit in a binary message".into(),
            "It must have the centre's length, the centre's bits padded with zeros, and the \
             radius.",
        )
    })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_bit_send(ball: BitBall<'_>) -> Vec<u8> {
    ball.to_bytes()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_bit(center: BitString<'_>, radius: i32) -> BitBall<'_> {
    BitBall::new(center, radius)
}

/// The constructor in rewritten clauses: any radius, as for the balls of fingerprints.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_or_null_bit(center: BitString<'_>, radius: i64) -> Option<BitBall<'_>> {
    BitBall::of_any_radius(center, radius)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_bit_within(bits: BitString<'_>, ball: BitBall<'_>) -> bool {
    ball.contains(&bits)
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_bit_contains(ball: BitBall<'_>, bits: BitString<'_>) -> bool {
    ball.contains(&bits)
}
