//! A row's address (TID) as one number, as the index stores it: the number of the heap's page times
//! 65536, plus the row's place on that page. Numbers are ordered as TIDs are.

use pgrx::pg_sys;

/// The number of a TID.
#[inline]
pub fn pack(tid: &pg_sys::ItemPointerData) -> u64 {
    u64::from(page(tid)) << 16 | u64::from(tid.ip_posid)
}

/// The TID of a number.
#[inline]
pub fn unpack(tid: u64) -> pg_sys::ItemPointerData {
    pg_sys::ItemPointerData {
        ip_blkid: pg_sys::BlockIdData { bi_hi: (tid >> 32) as u16, bi_lo: (tid >> 16) as u16 },
        ip_posid: tid as u16,
    }
}

/// The page's number and the row's place on the page, of a packed TID.
#[inline]
pub fn parts(tid: u64) -> (u32, u16) {
    ((tid >> 16) as u32, tid as u16)
}

/// The number of the page that a TID is on.
#[inline]
pub fn page(tid: &pg_sys::ItemPointerData) -> u32 {
    u32::from(tid.ip_blkid.bi_hi) << 16 | u32::from(tid.ip_blkid.bi_lo)
}
