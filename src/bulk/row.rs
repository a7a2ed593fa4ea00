//! A row of one of several tables as one number: its table's place in the list of tables, and its
//! TID. Numbers are ordered by table, then by TID.

use pgrx::pg_sys;

use crate::types::tid;

/// The bits of a packed TID.
const TID_BITS: u32 = 48;
/// The most tables.
pub const MOST_TABLES: usize = 1 << (u64::BITS - TID_BITS);

/// The number of a row.
#[inline]
pub fn number(table: usize, tid: u64) -> u64 {
    first_of(table) + tid
}

/// The least number that a row of this table can have.
#[inline]
pub fn first_of(table: usize) -> u64 {
    (table as u64) << TID_BITS
}

/// The place of a row's table in the list of tables.
#[inline]
pub fn table(number: u64) -> usize {
    (number >> TID_BITS) as usize
}

/// A row's packed TID.
#[inline]
pub fn tid(number: u64) -> u64 {
    number & (first_of(1) - 1)
}

/// A row's TID.
pub fn unpack(number: u64) -> pg_sys::ItemPointerData {
    tid::unpack(tid(number))
}
