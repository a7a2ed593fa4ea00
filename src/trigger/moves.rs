//! Recognises the second half of an UPDATE that moves a row to another partition.
//!
//! Such an UPDATE is a DELETE in one partition and an INSERT into another, and the INSERT fires the
//! trigger again, after the UPDATE has been judged. If the INSERT were judged too, a row that was a
//! duplicate all along could be skipped now, and be lost.
//!
//! So the trigger notes each UPDATE that it lets pass. An INSERT of the same statement is the
//! second half of the noted UPDATE if the old row's header says that this very statement moved the
//! row away. A note ends with its statement, so none outlives the statement's (sub)transaction or
//! portal. Nested statements have notes of their own.

use std::cell::RefCell;
use std::ffi::c_void;

use pgrx::pg_sys;

use super::event::RowPlace;
use crate::call::StatementId;
use crate::storage::row_header;
use crate::types::Code;

/// The rows that one statement updates.
struct Statement {
    id: StatementId,
    /// At most one for each trigger: both halves of a row's move come before the next row.
    noted: Vec<Noted>,
}

/// The values by which the trigger judges a row.
#[derive(PartialEq, Eq)]
pub struct Criteria {
    pub searched: Option<Code>,
    /// The bytes of the values in the scope's columns, and of the text if texts are compared.
    pub values: Vec<Option<Vec<u8>>>,
}

/// A row of a partition whose UPDATE the trigger has let pass.
struct Noted {
    root: pg_sys::Oid,
    /// [`Judge::trigger_id`](super::judge), the same for the copies of a trigger in all partitions.
    trigger: u64,
    place: RowPlace,
    criteria: Criteria,
    /// The statement's own command is this one or an earlier one. Later statements have later
    /// commands.
    command: pg_sys::CommandId,
}

thread_local! {
    static STATEMENTS: RefCell<Vec<Statement>> = const { RefCell::new(Vec::new()) };
}

/// storage/itemptr.h: the offset in t_ctid of a row that was moved to another partition.
const MOVED_OFFSET: u16 = 0xfffd;

/// Notes that the row at `place` may be updated.
///
/// # Safety
/// The statement is still running.
pub unsafe fn note_update(
    statement: StatementId,
    root: pg_sys::Oid,
    trigger: u64,
    place: RowPlace,
    criteria: Criteria,
) {
    let known = STATEMENTS.with_borrow(|all| all.iter().any(|known| known.id == statement));
    if !known {
        // SAFETY: the statement is still running, and `forget` may be called while the process
        // ends.
        unsafe { statement.at_end(forget) };
        STATEMENTS.with_borrow_mut(|all| all.push(Statement { id: statement, noted: Vec::new() }));
    }
    // SAFETY: in a transaction. The call marks the command as used, so that the next command gets
    // another number.
    let command = unsafe { pg_sys::GetCurrentCommandId(true) };
    STATEMENTS.with_borrow_mut(|all| {
        let Some(statement) = all.iter_mut().find(|known| known.id == statement) else {
            return;
        };
        statement.noted.retain(|other| (other.root, other.trigger) != (root, trigger));
        statement.noted.push(Noted { root, trigger, place, criteria, command });
    });
}

unsafe extern "C-unwind" fn forget(memory: *mut c_void) {
    // When the process ends, the notes may be dropped before the memory context.
    let _ = STATEMENTS.try_with(|all| {
        if let Ok(mut all) = all.try_borrow_mut() {
            all.retain(|known| known.id != StatementId::ended(memory));
        }
    });
}

/// Whether this INSERT into another partition is the second half of the UPDATE that the statement
/// noted last. The note is consumed.
///
/// # Safety
/// The call is in a trigger of the INSERT; `statement` is as in [`note_update`].
pub unsafe fn is_second_half(
    statement: StatementId,
    root: pg_sys::Oid,
    trigger: u64,
    table: pg_sys::Oid,
    criteria: impl FnOnce() -> Criteria,
) -> bool {
    let noted = STATEMENTS.with_borrow_mut(|all| {
        let noted = &mut all.iter_mut().find(|known| known.id == statement)?.noted;
        let is_it = |noted: &Noted| (noted.root, noted.trigger) == (root, trigger);
        let at = noted.iter().position(is_it)?;
        Some(noted.swap_remove(at))
    });
    noted.is_some_and(|noted| {
        noted.place.table != table
            && noted.criteria == criteria()
            // SAFETY: the statement has locked the row, so this version stays until the transaction
            // ends.
            && unsafe { has_moved(noted.place, noted.command) }
    })
}

/// Whether this (sub)transaction moved the row to another partition, by that command or an earlier
/// one.
///
/// # Safety
/// The version of the row still exists.
unsafe fn has_moved(place: RowPlace, command: pg_sys::CommandId) -> bool {
    // SAFETY: the version of the row still exists, and the header is a copy.
    unsafe {
        let Some(mut header) = header(place) else { return false };
        let mask = u32::from(header.t_infomask);
        let next = header.t_ctid;
        let moved = next.ip_posid == MOVED_OFFSET
            && (next.ip_blkid.bi_hi, next.ip_blkid.bi_lo) == (u16::MAX, u16::MAX);
        // An aborted transaction leaves a header that looks the same except for the transaction's
        // number, which is compared below.
        if !moved || mask & (pg_sys::HEAP_XMAX_INVALID | pg_sys::HEAP_XMAX_LOCK_ONLY) != 0 {
            return false;
        }
        let by = if mask & pg_sys::HEAP_XMAX_IS_MULTI != 0 {
            pg_sys::HeapTupleGetUpdateXid(&raw mut header)
        } else {
            header.t_choice.t_heap.t_xmax
        };
        by == pg_sys::GetCurrentTransactionIdIfAny()
            && by != pg_sys::InvalidTransactionId
            && pg_sys::HeapTupleHeaderGetCmax(&raw mut header) <= command
    }
}

/// The header of the row at that place.
///
/// # Safety
/// The version of the row still exists, or its table is gone.
unsafe fn header(place: RowPlace) -> Option<pg_sys::HeapTupleHeaderData> {
    let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    // SAFETY: the relation is open while the row is read, and closed below.
    unsafe {
        let relation = pg_sys::try_relation_open(place.table, lock).as_mut()?;
        let header = row_header(relation, place.tid);
        pg_sys::relation_close(relation, pg_sys::NoLock as pg_sys::LOCKMODE);
        header
    }
}
