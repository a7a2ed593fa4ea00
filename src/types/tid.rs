//! Row addresses (TIDs) as the numbers that the index stores: the heap's block number times 65536,
//! plus the row's offset number. The numbers have the order of the TIDs.

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

/// The block number and offset number of a packed TID.
#[inline]
pub fn parts(tid: u64) -> (u32, u16) {
    ((tid >> 16) as u32, tid as u16)
}

/// The block number of a TID.
#[inline]
pub fn page(tid: &pg_sys::ItemPointerData) -> u32 {
    u32::from(tid.ip_blkid.bi_hi) << 16 | u32::from(tid.ip_blkid.bi_lo)
}
