//! The index relation as `storage` uses it: an open `Relation` that is copied freely and never
//! closed here.

use std::ffi::CStr;

use pgrx::pg_sys;

use crate::compat;
use crate::error::shown;
use crate::memory;

/// A page as bytes.
pub type PageBytes = [u8; pg_sys::BLCKSZ as usize];

/// An open index. The caller of [`IndexRel::new`] keeps the relation open while any copy is used.
#[derive(Clone, Copy)]
pub struct IndexRel {
    rel: pg_sys::Relation,
    fork: pg_sys::ForkNumber::Type,
    /// The snapshot that a scan reads by, or null.
    pub snapshot: pg_sys::Snapshot,
    /// The open table, if entries of dead rows should be looked for; otherwise null.
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

    /// The same index by its init fork, to which a crash resets an unlogged index. This fork is
    /// initialised and never read.
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
        // SAFETY: `rel` is open, as [`IndexRel::new`] requires.
        unsafe { (*self.rel).rd_id }
    }

    /// The index's OID and the number of its file on disk. A rebuilt index gets another file,
    /// unless PostgreSQL empties it in place (see `cache.rs`).
    pub fn file(self) -> (pg_sys::Oid, u32) {
        // SAFETY: `rel` is open, as [`IndexRel::new`] requires.
        unsafe { (self.oid(), compat::file_number(self.rel)) }
    }

    /// The number of pages.
    pub fn pages(self) -> u32 {
        // SAFETY: `rel` is open, as [`IndexRel::new`] requires.
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.rel, self.fork) }
    }

    /// Whether changes have to be WAL-logged: `RelationNeedsWAL`, but always true for the init
    /// fork.
    pub fn needs_wal(self) -> bool {
        if self.fork == pg_sys::ForkNumber::INIT_FORKNUM {
            return true;
        }
        // SAFETY: `rel` is open and has its pg_class row.
        unsafe {
            (*(*self.rel).rd_rel).relpersistence
                == pg_sys::RELPERSISTENCE_PERMANENT as std::ffi::c_char
                && (pg_sys::wal_level > pg_sys::WalLevel::WAL_LEVEL_MINIMAL as i32
                    || !compat::created_in_this_transaction(self.rel))
        }
    }

    /// Whether the index is temporary: only this backend can see it.
    pub fn is_local(self) -> bool {
        // SAFETY: `rel` is open and has its pg_class row.
        unsafe {
            (*(*self.rel).rd_rel).relpersistence == pg_sys::RELPERSISTENCE_TEMP as std::ffi::c_char
        }
    }
}
