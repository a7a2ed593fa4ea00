//! The index relation as storage sees it: an open `Relation`, copied freely, never closed here.

use std::ffi::CStr;

use pgrx::pg_sys;

use crate::compat;
use crate::error::shown;
use crate::memory;

/// A page as bytes.
pub type PageBytes = [u8; pg_sys::BLCKSZ as usize];

/// An open index. Whoever makes it keeps the relation open for as long as it is used.
#[derive(Clone, Copy)]
pub struct IndexRel {
    rel: pg_sys::Relation,
    fork: pg_sys::ForkNumber::Type,
    /// The snapshot by which a reader sees the heap's rows; null for everybody else.
    pub snapshot: pg_sys::Snapshot,
    /// The table, which is open, of who has a reason to look for dead rows; null for everybody
    /// else.
    pub table: pg_sys::Relation,
}

impl IndexRel {
    /// # Safety
    /// `rel` is an open index of this access method, and stays open while the result is used.
    pub unsafe fn new(rel: pg_sys::Relation) -> Self {
        memory::prepare();
        Self {
            rel,
            fork: pg_sys::ForkNumber::MAIN_FORKNUM,
            snapshot: std::ptr::null_mut(),
            table: std::ptr::null_mut(),
        }
    }

    /// The fork that a crash resets an unlogged index to. It is initialised and never read.
    pub fn init_fork(self) -> Self {
        Self { fork: pg_sys::ForkNumber::INIT_FORKNUM, ..self }
    }

    pub fn as_ptr(self) -> pg_sys::Relation {
        self.rel
    }

    pub fn fork(self) -> pg_sys::ForkNumber::Type {
        self.fork
    }

    pub fn name(self) -> String {
        // SAFETY: an open relation has its pg_class row, whose name is a C string.
        shown(unsafe { CStr::from_ptr((*(*self.rel).rd_rel).relname.data.as_ptr()) }).into_owned()
    }

    pub fn oid(self) -> pg_sys::Oid {
        // SAFETY: the relation is open.
        unsafe { (*self.rel).rd_id }
    }

    /// The index's OID and the number of its file on disk. A rebuilt index gets another file,
    /// unless PostgreSQL empties it in place (see `cache.rs`).
    pub fn file(self) -> (pg_sys::Oid, u32) {
        // SAFETY: the relation is open.
        unsafe { (self.oid(), compat::file_number(self.rel)) }
    }

    /// The number of pages.
    pub fn pages(self) -> u32 {
        // SAFETY: the relation is open.
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.rel, self.fork) }
    }

    /// Whether changes have to be WAL-logged: what `RelationNeedsWAL` says, but the fork that a
    /// crash resets to is always logged.
    pub fn needs_wal(self) -> bool {
        if self.fork == pg_sys::ForkNumber::INIT_FORKNUM {
            return true;
        }
        // SAFETY: the relation is open.
        unsafe {
            (*(*self.rel).rd_rel).relpersistence
                == pg_sys::RELPERSISTENCE_PERMANENT as std::ffi::c_char
                && (pg_sys::wal_level > pg_sys::WalLevel::WAL_LEVEL_MINIMAL as i32
                    || !compat::created_in_this_transaction(self.rel))
        }
    }

    /// Whether only this backend can see it: a temporary index.
    pub fn is_local(self) -> bool {
        // SAFETY: the relation is open.
        unsafe {
            (*(*self.rel).rd_rel).relpersistence == pg_sys::RELPERSISTENCE_TEMP as std::ffi::c_char
        }
    }
}
