//! Updates that move a row to another partition.
//!
//! Such an UPDATE is a deletion in one partition and an insertion into another, and the insertion
//! fires the trigger again. The update has already been judged. If the insertion were judged too, a
//! row that was a duplicate all along would be skipped now, and be lost.
//!
//! So the trigger notes an update that it lets pass. An insertion of the same statement is the
//! update's second half if the noted row's header says that this very statement moved the row away.
//! Notes end with their statement, so none outlives it, its (sub)transaction or portal. Statements
//! that other triggers run in between have notes of their own.

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
    /// At most one for each trigger: a row's deletion and insertion come before the next row.
    noted: Vec<Noted>,
}

/// What the trigger judges a row by.
#[derive(PartialEq, Eq)]
pub struct Criteria {
    pub searched: Option<Code>,
    /// The bytes of the values in the scope's columns, and of the text if texts are compared.
    pub values: Vec<Option<Vec<u8>>>,
}

/// A row of a partition whose update the trigger let pass.
struct Noted {
    root: pg_sys::Oid,
    /// Every partition's copy of a trigger has the same.
    trigger: u64,
    place: RowPlace,
    criteria: Criteria,
    /// The statement's own command is this or an earlier one. Statements that began later have
    /// later commands.
    command: pg_sys::CommandId,
}

thread_local! {
    static STATEMENTS: RefCell<Vec<Statement>> = const { RefCell::new(Vec::new()) };
}

/// storage/itemptr.h: where the header of a row that moved to another partition points to.
const MOVED_OFFSET: u16 = 0xfffd;

/// Remembers that the row at `place` may be updated.
///
/// # Safety
/// The statement runs.
pub unsafe fn note_update(
    statement: StatementId,
    root: pg_sys::Oid,
    trigger: u64,
    place: RowPlace,
    criteria: Criteria,
) {
    let known = STATEMENTS.with_borrow(|all| all.iter().any(|known| known.id == statement));
    if !known {
        // SAFETY: as this function's.
        unsafe { statement.at_end(forget) };
        STATEMENTS.with_borrow_mut(|all| all.push(Statement { id: statement, noted: Vec::new() }));
    }
    // SAFETY: reads the transaction's state, and marks the command used, so that the next one has
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
    // When the process ends, the notes may go before the memory.
    let _ = STATEMENTS.try_with(|all| {
        if let Ok(mut all) = all.try_borrow_mut() {
            all.retain(|known| known.id != StatementId::ended(memory));
        }
    });
}

/// Whether this insertion into another partition is the second half of the update that the
/// statement noted last. The note is used up.
///
/// # Safety
/// In a trigger of the insertion; `statement` as in [`note_update`].
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
            // SAFETY: the statement locked the row, so this version stays until the transaction
            // ends.
            && unsafe { has_moved(noted.place, noted.command) }
    })
}

/// Whether this (sub)transaction moved the row to another partition, by that command or an earlier
/// one.
///
/// # Safety
/// The row's version is still there.
unsafe fn has_moved(place: RowPlace, command: pg_sys::CommandId) -> bool {
    // SAFETY: as this function's; the header is a copy.
    unsafe {
        let Some(mut header) = header(place) else { return false };
        let mask = u32::from(header.t_infomask);
        let next = header.t_ctid;
        let moved = next.ip_posid == MOVED_OFFSET
            && (next.ip_blkid.bi_hi, next.ip_blkid.bi_lo) == (u16::MAX, u16::MAX);
        // A transaction that was rolled back leaves a header that looks the same, but for the
        // transaction's number, which is checked below.
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
/// The row's version is still there, or its table is gone.
unsafe fn header(place: RowPlace) -> Option<pg_sys::HeapTupleHeaderData> {
    let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    // SAFETY: as this function's; what is opened is closed.
    unsafe {
        let relation = pg_sys::try_relation_open(place.table, lock).as_mut()?;
        let header = row_header(relation, place.tid);
        pg_sys::relation_close(relation, pg_sys::NoLock as pg_sys::LOCKMODE);
        header
    }
}
