//! The index access method `simhash`: block tables kept as B-link trees in one relation.
//!
//! Where things are: `handler` (what PostgreSQL asks for), `options`, `kind` (columns and their
//! datums), `index` (an open index and its cached upper levels), `tree` (descents), `split` and
//! `remove` (pages come and go), `insert`, `build` with `parallel`, `sort` and `runs`, `scan` over `range`
//! and `nearest`, `vacuum`, `cost`, `validate`, `inspect`, `suggest` (which distance to use), and `bulk` (all pairs of a table,
//! its clusters).

mod build;
pub mod bulk;
mod cost;
mod elsewhere;
mod handler;
mod index;
mod insert;
mod inspect;
mod kind;
mod nearest;
mod opened;
mod options;
mod parallel;
mod range;
mod remove;
mod runs;
mod scan;
mod sort;
mod split;
mod suggest;
mod tree;
mod vacuum;
mod validate;

use pgrx::pg_sys;

pub use options::register as register_options;

/// Strategy numbers of the operator classes.
mod strategy {
    pub const EQUAL: u16 = 1;
    pub const WITHIN: u16 = 2;
    pub const NEAR: u16 = 3;
    pub const DISTANCE: u16 = 4;
    pub const LAST: u16 = DISTANCE;
}

/// Lets a cancelled query end. Not to be called while a page is locked.
fn check_for_interrupts() {
    crate::storage::order::expect_none("an interrupt");
    // SAFETY: PostgreSQL's CHECK_FOR_INTERRUPTS.
    unsafe {
        if std::ptr::read_volatile(&raw const pg_sys::InterruptPending) != 0 {
            pg_sys::ProcessInterrupts();
        }
    }
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
