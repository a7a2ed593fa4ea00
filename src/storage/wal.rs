//! Changes pages and logs the changes, all in the format of PostgreSQL's Generic WAL but for one
//! record.
//!
//! - [`Change`] serves splits, removals and vacuum. It registers up to four pages, lets the caller
//!   edit private copies, and installs and logs them as one atomic record.
//! - [`append`] adds entries to each of up to four leaves. Generic WAL would find the changed bytes
//!   by comparing whole pages. Here they are known, so the record is assembled from them directly.
//!   It is the same record, and the same code replays it.
//! - [`write_new`] logs a whole page of a build.
//! - [`log_horizon`] logs that entries of rows are removed which a standby's snapshots may still
//!   see, for which Generic WAL has no record. It is a B-tree's `REUSE_PAGE` record and changes no
//!   page.

use pgrx::pg_sys;

use simhash_index::page::write::Addition;
use simhash_index::store::MAX_PAGES;

use super::buffer::Exclusive;
use super::relation::{IndexRel, PageBytes};
use crate::compat;

const _: () = assert!(MAX_PAGES <= pg_sys::MAX_GENERIC_XLOG_PAGES as usize);

/// A change of up to four pages, atomic in memory, on disk and on a standby.
///
/// Nothing changes unless [`Change::commit`] is called.
pub struct Change {
    state: *mut pg_sys::GenericXLogState,
    done: bool,
}

impl Change {
    pub fn start(rel: IndexRel) -> Self {
        // SAFETY: `rel` is open.
        Self { state: unsafe { pg_sys::GenericXLogStart(rel.as_ptr()) }, done: false }
    }

    /// The private copy of a page that this change will install. The borrow keeps the page locked.
    pub fn page<'a>(&'a self, locked: &'a Exclusive) -> &'a mut PageBytes {
        self.register(locked, 0)
    }

    /// Like [`Change::page`], for a page that is rewritten as a whole.
    pub fn new_page<'a>(&'a self, locked: &'a Exclusive) -> &'a mut PageBytes {
        self.register(locked, pg_sys::GENERIC_XLOG_FULL_IMAGE as i32)
    }

    #[allow(clippy::mut_from_ref, reason = "the image is not the locked page")]
    fn register<'a>(&'a self, locked: &'a Exclusive, flags: i32) -> &'a mut PageBytes {
        // SAFETY: the buffer is exclusively locked.
        let image =
            unsafe { pg_sys::GenericXLogRegisterBuffer(self.state, locked.buffer(), flags) };
        // SAFETY: callers register a page once, so each registration makes an image of its own,
        // which lives as long as the state.
        unsafe { &mut *image.cast() }
    }

    /// Installs and logs all pages, which must still be locked.
    pub fn commit(mut self) {
        self.done = true;
        // SAFETY: the state was started and is not finished.
        unsafe { pg_sys::GenericXLogFinish(self.state) };
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        if !self.done && !std::thread::panicking() {
            // SAFETY: the state was started and is not finished.
            unsafe { pg_sys::GenericXLogAbort(self.state) };
        }
    }
}

/// Runs `body` in a critical section: an error inside is a PANIC, since pages and WAL would
/// disagree.
fn critical<R>(body: impl FnOnce() -> R) -> R {
    // SAFETY: the counter is this process's own, and the process has one thread.
    unsafe { pg_sys::CritSectionCount += 1 };
    let result = body();
    // SAFETY: as for the increment.
    unsafe { pg_sys::CritSectionCount -= 1 };
    result
}

/// The longest delta of one addition: its runs, with an offset and a length for each.
const DELTA_BYTES: usize = 4 * Addition::RUNS + Addition::MOST_BYTES;

/// Adds rows to each leaf, as one record.
///
/// # Panics
/// With more than four leaves.
pub fn append(rel: IndexRel, leaves: &[(Exclusive, Addition)]) {
    assert!(leaves.len() <= MAX_PAGES, "{} pages in one record", leaves.len());
    let mut deltas = [[0u8; DELTA_BYTES]; MAX_PAGES];
    let mut lengths = [0usize; MAX_PAGES];
    for (i, (_, addition)) in leaves.iter().enumerate() {
        for (offset, bytes) in addition.runs() {
            for part in [&offset.to_ne_bytes()[..], &(bytes.len() as u16).to_ne_bytes(), bytes] {
                deltas[i][lengths[i]..lengths[i] + part.len()].copy_from_slice(part);
                lengths[i] += part.len();
            }
        }
    }
    let log = rel.needs_wal();
    critical(|| {
        for (leaf, addition) in leaves {
            // SAFETY: the page is exclusively locked, and nothing else refers to its bytes now.
            let page = unsafe { &mut *pg_sys::BufferGetBlock(leaf.buffer()).cast::<PageBytes>() };
            for (offset, bytes) in addition.runs() {
                page[usize::from(offset)..][..bytes.len()].copy_from_slice(bytes);
            }
            // SAFETY: the buffer is pinned and exclusively locked.
            unsafe { pg_sys::MarkBufferDirty(leaf.buffer()) };
        }
        if log {
            log_deltas(leaves, &mut deltas, &lengths);
        }
    });
}

fn log_deltas(
    leaves: &[(Exclusive, Addition)],
    deltas: &mut [[u8; DELTA_BYTES]; MAX_PAGES],
    lengths: &[usize; MAX_PAGES],
) {
    // SAFETY: this is a critical section. The record is the one that GenericXLogFinish writes.
    unsafe { pg_sys::XLogBeginInsert() };
    for (i, (leaf, _)) in leaves.iter().enumerate() {
        // SAFETY: the buffer is exclusively locked and marked dirty, and the deltas outlive the
        // insertion.
        unsafe {
            pg_sys::XLogRegisterBuffer(i as u8, leaf.buffer(), pg_sys::REGBUF_STANDARD as u8);
            pg_sys::XLogRegisterBufData(i as u8, deltas[i].as_mut_ptr().cast(), lengths[i] as _);
        }
    }
    // SAFETY: all pages are registered.
    let lsn = unsafe { pg_sys::XLogInsert(pg_sys::RmgrIds::RM_GENERIC_ID as u8, 0) };
    for (leaf, _) in leaves {
        // `PageSetLSN`.
        // SAFETY: the page is exclusively locked, and begins with its header.
        unsafe {
            let header = pg_sys::BufferGetBlock(leaf.buffer()).cast::<pg_sys::PageHeaderData>();
            (*header).pd_lsn = compat::page_lsn(lsn);
        }
    }
}

/// Fills a page that no other process can see yet, and logs it whole.
///
/// # Panics
/// If the image is not as long as a page.
pub fn write_new(rel: IndexRel, locked: &Exclusive, image: &[u8]) {
    let image: &PageBytes = image.try_into().expect("an image of a page's size");
    let log = rel.needs_wal();
    critical(|| {
        // SAFETY: the page is exclusively locked, and nothing else refers to its bytes now.
        unsafe {
            pg_sys::BufferGetBlock(locked.buffer()).cast::<PageBytes>().write(*image);
            pg_sys::MarkBufferDirty(locked.buffer());
            if log {
                pg_sys::log_newpage_buffer(locked.buffer(), true);
            }
        }
    });
}

/// Logs that entries of rows are removed which transactions up to `horizon` could see. A `horizon`
/// of 0 logs nothing.
pub fn log_horizon(rel: IndexRel, leaf: u32, horizon: u32) {
    // SAFETY: reads a setting that only a restart changes.
    let is_replayed = unsafe { pg_sys::wal_level } >= pg_sys::WalLevel::WAL_LEVEL_REPLICA as i32;
    if horizon == 0 || !is_replayed {
        return;
    }
    // SAFETY: `rel` is open; the record outlives the insertion.
    unsafe {
        let (mut record, length) = compat::horizon_record(rel.as_ptr(), leaf, full(horizon));
        pg_sys::XLogBeginInsert();
        pg_sys::XLogRegisterData((&raw mut record).cast(), length as _);
        pg_sys::XLogInsert(pg_sys::RmgrIds::RM_BTREE_ID as u8, XLOG_BTREE_REUSE_PAGE);
    }
}

/// access/nbtxlog.h.
const XLOG_BTREE_REUSE_PAGE: u8 = 0xd0;

/// The full transaction id of a recent `xid`.
fn full(xid: u32) -> u64 {
    // SAFETY: reads shared memory under a lock of its own.
    let next = unsafe { pg_sys::ReadNextFullTransactionId() }.value;
    let (epoch, least) = (next >> 32, next as u32);
    // An id that is numerically greater than the next one belongs to the epoch before.
    (epoch - u64::from(xid > least).min(epoch)) << 32 | u64::from(xid)
}
