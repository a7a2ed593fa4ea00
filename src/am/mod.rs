//! The index access method `simhash`: what PostgreSQL calls. The trees themselves, and how any number of
//! backends read and write them, are in the crate `simhash-index`.
//!
//! Where things are: `handler` (what PostgreSQL asks for), `options`, `kind` (columns and their
//! datums), `insert`, `build` with `parallel`, `sort` and `runs`, `scan`, `vacuum`, `cost`, `validate`,
//! `inspect`, `suggest` (which distance to use), and `bulk` (all pairs of a table, its clusters).

mod build;
pub mod bulk;
mod cost;
mod elsewhere;
mod handler;
mod insert;
mod inspect;
mod kind;
mod opened;
mod options;
mod parallel;
mod runs;
mod scan;
mod sort;
mod suggest;
mod vacuum;
mod validate;

use pgrx::pg_sys;

pub use options::register as register_options;

use crate::storage::order::check_for_interrupts;

/// Strategy numbers of the operator classes.
mod strategy {
    pub const EQUAL: u16 = 1;
    pub const WITHIN: u16 = 2;
    pub const NEAR: u16 = 3;
    pub const DISTANCE: u16 = 4;
    pub const LAST: u16 = DISTANCE;
}

/// The packed form of a TID: block number times 65536 plus offset.
fn pack_tid(tid: &pg_sys::ItemPointerData) -> u64 {
    let block = u64::from(tid.ip_blkid.bi_hi) << 16 | u64::from(tid.ip_blkid.bi_lo);
    block << 16 | u64::from(tid.ip_posid)
}

pub fn unpack_tid(tid: u64) -> pg_sys::ItemPointerData {
    pg_sys::ItemPointerData {
        ip_blkid: pg_sys::BlockIdData { bi_hi: (tid >> 32) as u16, bi_lo: (tid >> 16) as u16 },
        ip_posid: tid as u16,
    }
}

/// Runs `$body` with `$F` bound to the key type for `$bits` bits.
macro_rules! with_key_type {
    ($bits:expr, $F:ident => $body:expr) => {
        match $bits {
            64 => {
                type $F = u64;
                $body
            }
            _ => {
                type $F = u128;
                $body
            }
        }
    };
}
use with_key_type;
