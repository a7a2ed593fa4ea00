//! Functions of the types `hamming_ball64`, `hamming_ball128` and `hamming_ball256`: text and
//! binary forms, constructors, membership. Comparisons are in `order`.

use std::ffi::{CStr, CString};

use pgrx::{Internal, pg_extern};
use simhash_core::base::bits::B256;
use simhash_core::base::fingerprint::parse_prefixed_hex;

use crate::error::raise_invalid_text;
use crate::types::ball::{Ball, Ball64, Ball128, Ball256};
use crate::types::message::{Message, in_network_order};
use crate::types::{Fp64, Fp128, Fp256, Text};

macro_rules! ball_type {
    (
        $type:ident of $fp:ident($bits:ident), $name:literal:
        $in:ident, $out:ident, $recv:ident, $send:ident,
        $make:ident, $make_or_null:ident, $within:ident, $contains:ident, $near:ident
    ) => {
        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $in(text: &CStr) -> $type {
            Ball::parse($name, text)
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $out(ball: $type) -> CString {
            ball.to_text()
        }

        /// The binary form: the centre in network order, then the radius as an int4.
        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $recv(buffer: Internal) -> $type {
            let message = Message::of_argument(buffer);
            let center = message.fingerprint::<$bits>();
            Ball::new(center, i32::from_be_bytes(message.bytes()))
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $send(ball: $type) -> Vec<u8> {
            [&in_network_order(ball.center)[..], &ball.radius.to_be_bytes()].concat()
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $make(center: $fp, radius: i32) -> $type {
            Ball::new(center.0, radius)
        }

        /// The constructor in rewritten clauses, since `hamming(x, y) <= k` may have any `k`. A
        /// negative `k` makes the ball NULL: the clause holds for no pair, and `<@` is true for
        /// none.
        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $make_or_null(center: $fp, radius: i64) -> Option<$type> {
            Ball::of_any_radius(center.0, radius)
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $within(fp: $fp, ball: $type) -> bool {
            ball.contains(fp.0)
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $contains(ball: $type, fp: $fp) -> bool {
            ball.contains(fp.0)
        }

        #[pg_extern(sql = false, immutable, strict, parallel_safe)]
        fn $near(a: $type, b: $type) -> bool {
            a.near(&b)
        }
    };
}

ball_type!(
    Ball64 of Fp64(u64), "hamming_ball64":
    hamming_ball64_in, hamming_ball64_out, hamming_ball64_recv, hamming_ball64_send,
    hamming_ball_64, hamming_ball_or_null_64,
    fingerprint64_within, hamming_ball64_contains, hamming_ball64_near
);
ball_type!(
    Ball128 of Fp128(u128), "hamming_ball128":
    hamming_ball128_in, hamming_ball128_out, hamming_ball128_recv, hamming_ball128_send,
    hamming_ball_128, hamming_ball_or_null_128,
    fingerprint128_within, hamming_ball128_contains, hamming_ball128_near
);
ball_type!(
    Ball256 of Fp256(B256), "hamming_ball256":
    hamming_ball256_in, hamming_ball256_out, hamming_ball256_recv, hamming_ball256_send,
    hamming_ball_256, hamming_ball_or_null_256,
    fingerprint256_within, hamming_ball256_contains, hamming_ball256_near
);

/// For a quoted literal, which has no type: reads it as the usual width, 64 bits.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn hamming_ball_text(center: Text<'_>, radius: i32) -> Ball64 {
    let shown = center.as_str();
    let center = parse_prefixed_hex(shown).unwrap_or_else(|| {
        raise_invalid_text(
            "fingerprint64",
            shown,
            "A fingerprint64 is written as 16 hexadecimal digits; \
             write '...'::fingerprint128 for one of 32, '...'::fingerprint256 for one of 64.",
        )
    });
    Ball::new(center, radius)
}
