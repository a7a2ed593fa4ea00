//! Claims for rows that are being written. Between a trigger's search for near rows and a row's
//! entry in the index, no search finds that row. During that time it has a claim, which all
//! sessions see.
//!
//! - A claim's *ticket* names a heavyweight lock. The session takes the lock before any other
//!   session can see the ticket, and releases it after it has removed the claim. Another session
//!   waits for the claim by waiting for that lock, so the deadlock detector sees the wait.
//! - In one hold of the board's lock, a session checks all claims, and publishes its own if none is
//!   near. Otherwise it publishes nothing, waits, and begins again.
//! - While a session waits, it has no claim published. The exceptions are waits of the executor:
//!   for a unique index, or in other triggers of the row.
//! - A claim ends when its row is in the last index that a search may use. The row is recognised by
//!   statement, table, column and value. If the row is not stored, or is stored speculatively (ON
//!   CONFLICT), the claim ends at the first of these: a trigger begins with the statement's next
//!   row, the AFTER triggers of the statement are about to run (except for COPY), the statement
//!   ends, the (sub)transaction ends.
//!
//! src/trigger/README.md says why that is enough.

pub mod board;

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::c_void;
use std::sync::OnceLock;

use pgrx::{PgSqlErrorCode, pg_guard, pg_sys};

use self::board::{Claim, Published, Scope, TriggerSet, What};
use crate::advisory::{Class, Lock, SHARE};
use crate::call::{StatementId, trigger_depth};
use crate::error::raise;
use crate::types::hash::hash_of;
use crate::types::varlena::with_packed_bytes;
use crate::types::{Code, Width};

/// A row, the trigger that claims it, and the statement that writes it.
#[derive(Clone, Copy)]
pub struct Incoming<'a> {
    pub statement: StatementId,
    /// Distinguishes the triggers of a statement. A trigger's clones on partitions have the same
    /// value.
    pub trigger: u64,
    pub table: pg_sys::Oid,
    /// The indexes that a search for the row may use.
    pub indexes: &'a [pg_sys::Oid],
    pub roots: &'a [pg_sys::Oid],
    pub triggers: TriggerSet,
    pub column: u64,
    pub what: What,
    pub scope: Scope,
    /// The table's column, and the row's value in it, by which the row is recognised in an index.
    pub attribute: pg_sys::AttrNumber,
    pub value: Value,
    /// Whether a near row may still not be a duplicate, because texts or times are compared as
    /// well.
    pub is_vague: bool,
}

/// A row's value in the column by which it is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Value {
    Fingerprint(Width, Code),
    /// A hash of the text's bytes.
    Text(u64),
}

impl Value {
    /// Whether `datum` has this value.
    ///
    /// # Safety
    /// `datum` belongs to the row's column and is not NULL.
    unsafe fn is(&self, datum: pg_sys::Datum) -> bool {
        // SAFETY: `datum` is of the type that the value was made of.
        unsafe {
            match *self {
                Value::Fingerprint(width, fp) => width.code(datum) == fp,
                Value::Text(_) => Value::of_text(datum) == *self,
            }
        }
    }

    /// # Safety
    /// `datum` has the representation of text and is not NULL.
    unsafe fn of_text(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` has a varlena header.
        Value::Text(unsafe { with_packed_bytes(datum, |bytes| hash_of(bytes)) })
    }
}

/// A claim of this session.
struct Own {
    ticket: u64,
    statement: StatementId,
    trigger: u64,
    table: pg_sys::Oid,
    attribute: pg_sys::AttrNumber,
    value: Value,
    /// The indexes that do not contain the row yet.
    missing_indexes: Vec<pg_sys::Oid>,
    /// Whether the row is in all its indexes, stored speculatively.
    is_stored: bool,
    is_vague: bool,
    /// The nesting depth of triggers at which the row was claimed.
    depth: i32,
    /// The nesting level of the (sub)transaction.
    level: i32,
}

thread_local! {
    /// The claims of this session; those of the innermost statement are the last.
    static OWN: RefCell<Vec<Own>> = const { RefCell::new(Vec::new()) };
    /// The statements for whose end a callback is registered.
    static STATEMENTS: RefCell<HashSet<StatementId>> = RefCell::default();
}

unsafe extern "C-unwind" {
    // executor/executor.h. pgrx's own binding would catch an ERROR that a user's trigger raises.
    fn standard_ExecutorFinish(query: *mut pg_sys::QueryDesc);
}

static PREVIOUS: OnceLock<pg_sys::ExecutorFinish_hook_type> = OnceLock::new();

/// Must be called once, from `_PG_init`.
pub fn install() {
    // SAFETY: hooks and callbacks are set while the library is loaded, when the process has a
    // single thread.
    unsafe {
        board::install();
        PREVIOUS.get_or_init(|| pg_sys::ExecutorFinish_hook);
        pg_sys::ExecutorFinish_hook = Some(executor_finish);
        pg_sys::RegisterXactCallback(Some(transaction_ends), std::ptr::null_mut());
        pg_sys::RegisterSubXactCallback(Some(subtransaction_ends), std::ptr::null_mut());
    }
}

/// The lock of a ticket. It is a session lock, because a claim may outlive the resource owner of a
/// transaction's locks. An abort of the transaction also releases it.
fn lock(ticket: u64) -> Lock {
    Lock::new(Class::Ticket, (ticket >> 32) as u32, ticket as u32)
}

/// Waits until the claim with a ticket has ended. An ERROR during the wait aborts the
/// (sub)transaction.
fn wait(ticket: u64) {
    lock(ticket).take(SHARE);
    lock(ticket).release(SHARE);
}

/// Publishes a claim for a row as soon as no near claim is on the board, and returns its ticket.
/// Calls `prepare` before each wait: work done there delays no other session afterwards.
///
/// # Safety
/// The row's trigger calls this, in its statement.
pub unsafe fn claim(row: &Incoming<'_>, mut prepare: impl FnMut()) -> u64 {
    // SAFETY: the statement is running, because its trigger calls this.
    unsafe { hear_of_the_end(row.statement) };
    loop {
        pgrx::check_for_interrupts!();
        let Incoming { statement, trigger, table, attribute, value, is_vague, .. } = *row;
        let ticket = board::draw();
        let claims = claims_per_root(row, ticket);
        let missing_indexes = row.indexes.to_vec();
        let depth = trigger_depth();
        let is_no_obstacle = |other| is_no_obstacle(other, row, depth);
        // Nothing may fail between taking the lock and recording it.
        OWN.with_borrow_mut(|all| all.reserve(1));
        lock(ticket).take_for_session();
        match board::publish(&claims, is_no_obstacle) {
            Published::Yes => {
                // SAFETY: reads the transaction state.
                let level = unsafe { pg_sys::GetCurrentTransactionNestLevel() };
                OWN.with_borrow_mut(|all| {
                    all.push(Own {
                        ticket,
                        statement,
                        trigger,
                        table,
                        attribute,
                        value,
                        missing_indexes,
                        is_stored: false,
                        is_vague,
                        depth,
                        level,
                    });
                });
                return ticket;
            }
            Published::Near(other) => {
                lock(ticket).release_for_session();
                if OWN.with_borrow(|all| all.iter().any(|own| own.ticket == other)) {
                    raise_inside();
                }
                prepare();
                wait(other);
            }
            Published::Full => {
                lock(ticket).release_for_session();
                raise_full();
            }
        }
    }
}

fn raise_full() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        "too many rows are being inserted into tables with simhash_dedup".into(),
        "Nested statements of triggers need shared memory: raise max_connections, or use the \
         trigger's argument 'writers=one'.",
    )
}

fn claims_per_root(row: &Incoming<'_>, ticket: u64) -> Vec<Claim> {
    let Incoming { triggers, column, what, scope, .. } = *row;
    // SAFETY: reads the session's database OID.
    let database = unsafe { pg_sys::MyDatabaseId };
    let claim =
        |&root: &pg_sys::Oid| Claim { ticket, database, root, triggers, column, what, scope };
    row.roots.iter().map(claim).collect()
}

/// Whether a near claim of this session does not prevent a row's claim. It does prevent it if a
/// trigger of the claimed row, which is not stored yet, writes the row.
fn is_no_obstacle(ticket: u64, row: &Incoming<'_>, depth: i32) -> bool {
    OWN.with_borrow(|all| {
        all.iter().find(|own| own.ticket == ticket).is_some_and(|own| {
            // The claim is for the same row, by another trigger, or for a row that is already
            // inserted.
            own.statement == row.statement
                || own.is_stored
                || depth <= own.depth
                // It is not known whether the rows are duplicates.
                || own.is_vague
                || row.is_vague
        })
    })
}

fn raise_inside() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION,
        "row is a near-duplicate of a row that is still being written".into(),
        "A BEFORE trigger writes a near-duplicate of the row that fired it. Write it in an AFTER \
         trigger.",
    )
}

/// Withdraws a claim whose row is not stored, or has to wait.
pub fn withdraw(ticket: u64) {
    end_those(|own| own.ticket == ticket);
}

/// Ends the claims that are obsolete when a trigger begins with another row of a statement: its own
/// claims, and those for rows of other tables.
pub fn begin_row(statement: StatementId, trigger: u64, table: pg_sys::Oid) {
    end_those(|own| own.statement == statement && (own.trigger == trigger || own.table != table));
}

/// Updates the claim of a row that moves to another partition.
pub fn row_moves(
    statement: StatementId,
    trigger: u64,
    (table, attribute): (pg_sys::Oid, pg_sys::AttrNumber),
    indexes: &[pg_sys::Oid],
) {
    OWN.with_borrow_mut(|all| {
        let its = |own: &&mut Own| own.statement == statement && own.trigger == trigger;
        if let Some(own) = all.iter_mut().rev().find(its) {
            (own.table, own.attribute, own.missing_indexes) = (table, attribute, indexes.to_vec());
        }
    });
}

/// A row of a statement that was inserted into an index.
pub struct Entry {
    pub statement: StatementId,
    pub table: pg_sys::Oid,
    pub index: pg_sys::Oid,
    /// The column that the index is on, and the row's value in it.
    pub attribute: pg_sys::AttrNumber,
    pub value: pg_sys::Datum,
}

/// Ends the claim of a row once it is in the last of its indexes. `is_on_trial`: whether the row
/// was stored speculatively, so that it may be removed and stored again without its triggers.
///
/// # Safety
/// `entry.value` belongs to that column of the table and is not NULL.
pub unsafe fn entered(entry: &Entry, is_on_trial: impl Fn() -> bool) {
    let own = OWN.with_borrow_mut(|all| {
        let is_its = |own: &Own| {
            (own.statement, own.table, own.attribute)
                == (entry.statement, entry.table, entry.attribute)
                // SAFETY: the value belongs to the column for which the claim was made.
                && unsafe { own.value.is(entry.value) }
        };
        let mut place = all.len();
        // Several triggers may have claimed the row.
        while let Some(at) = all[..place].iter().rposition(is_its) {
            place = at;
            all[at].missing_indexes.retain(|&index| index != entry.index);
        }
        let is_in_all = |own: &Own| is_its(own) && own.missing_indexes.is_empty() && !own.is_stored;
        if !all.iter().any(is_in_all) {
            return Vec::new();
        }
        if is_on_trial() {
            all.iter_mut().filter(|own| is_in_all(own)).for_each(|own| own.is_stored = true);
            return Vec::new();
        }
        all.extract_if(.., |own| is_in_all(own)).collect()
    });
    own.iter().for_each(end);
}

/// Whether this session has any claim.
#[inline]
pub fn is_any() -> bool {
    OWN.with_borrow(|all| !all.is_empty())
}

fn end_those(which: impl Fn(&Own) -> bool) {
    while let Some(own) = OWN.with_borrow_mut(|all| {
        let place = all.iter().rposition(&which)?;
        Some(all.remove(place))
    }) {
        end(&own);
    }
}

/// Removes a claim from the board, and then releases its lock.
fn end(own: &Own) {
    board::remove(own.ticket);
    lock(own.ticket).release_for_session();
}

/// Runs after the statement's rows are written, before its AFTER triggers. Their ERRORs pass
/// through this function without unwinding, so it must not own anything that has to be dropped.
unsafe extern "C-unwind" fn executor_finish(query: *mut pg_sys::QueryDesc) {
    // SAFETY: the executor passes `query`, and it is passed on unchanged.
    unsafe {
        if is_any() {
            end_of_rows(StatementId::of_query(query));
        }
        match PREVIOUS.get() {
            Some(Some(previous)) => previous(query),
            _ => standard_ExecutorFinish(query),
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn end_of_rows(statement: StatementId) {
    end_those(|own| own.statement == statement);
}

/// Ensures that a statement's claims end with it, even if ExecutorFinish does not run, as for COPY.
///
/// # Safety
/// The statement is running.
unsafe fn hear_of_the_end(statement: StatementId) {
    if !STATEMENTS.with_borrow_mut(|all| all.insert(statement)) {
        return;
    }
    // SAFETY: the statement is running.
    unsafe { statement.at_end(statement_ends) };
}

unsafe extern "C-unwind" fn statement_ends(memory: *mut c_void) {
    let statement = StatementId::ended(memory);
    // When the process exits, the thread-local set may be destroyed before the memory context.
    let noted =
        STATEMENTS.try_with(|all| all.try_borrow_mut().is_ok_and(|mut all| all.remove(&statement)));
    if noted == Ok(true) && is_any() {
        end_those(|own| own.statement == statement);
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn transaction_ends(
    event: pg_sys::XactEvent::Type,
    _argument: *mut c_void,
) {
    use pg_sys::XactEvent::{
        XACT_EVENT_ABORT, XACT_EVENT_COMMIT, XACT_EVENT_PARALLEL_ABORT, XACT_EVENT_PRE_COMMIT,
        XACT_EVENT_PRE_PREPARE, XACT_EVENT_PREPARE,
    };
    match event {
        XACT_EVENT_PRE_COMMIT | XACT_EVENT_PRE_PREPARE => end_those(|_| true),
        // After an abort PostgreSQL releases the locks itself. After a commit no claim is left.
        XACT_EVENT_ABORT | XACT_EVENT_PARALLEL_ABORT | XACT_EVENT_COMMIT | XACT_EVENT_PREPARE => {
            while let Some(own) = OWN.with_borrow_mut(Vec::pop) {
                board::remove(own.ticket);
            }
        }
        _ => {}
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn subtransaction_ends(
    event: pg_sys::SubXactEvent::Type,
    _own: pg_sys::SubTransactionId,
    _parent: pg_sys::SubTransactionId,
    _argument: *mut c_void,
) {
    if !is_any() {
        return;
    }
    // SAFETY: reads the transaction state.
    let level = unsafe { pg_sys::GetCurrentTransactionNestLevel() };
    match event {
        // All statements of the subtransaction have ended.
        pg_sys::SubXactEvent::SUBXACT_EVENT_PRE_COMMIT_SUB
        | pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB => end_those(|own| own.level >= level),
        _ => {}
    }
}
