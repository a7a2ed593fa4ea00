//! Rows on their way into a table: from a trigger's look for near rows to their entry in the index
//! no look finds them. So each has a claim, which all sessions see.
//!
//! - A row's *ticket* names a heavyweight lock, which its session takes before anybody knows the
//!   ticket, and gives back after the claim has gone. Who waits for a claim waits for that lock, so
//!   the deadlock detector sees it.
//! - In one hold of the board's lock, a session looks at all claims, and publishes its own if none
//!   is near. If one is, it publishes nothing, waits, and begins again.
//! - A claim is up during no wait, but for those of the executor: for a unique index, or in other
//!   triggers of the row.
//! - A claim ends when the row is in the last of the indexes by which it may be looked for: its
//!   own, told by statement, table and column. Of a row that is not stored, or stored for trial
//!   (ON CONFLICT), it ends when a trigger begins with the statement's next row, before the
//!   statement's triggers AFTER (but not COPY's), or with the statement or (sub)transaction.
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

/// A row, its trigger and the statement that writes it.
#[derive(Clone, Copy)]
pub struct Incoming<'a> {
    pub statement: StatementId,
    /// Tells the triggers of a statement apart. Those of partitions are one.
    pub trigger: u64,
    pub table: pg_sys::Oid,
    /// The indexes by which it may be looked for.
    pub indexes: &'a [pg_sys::Oid],
    pub roots: &'a [pg_sys::Oid],
    pub triggers: TriggerSet,
    pub column: u64,
    pub what: What,
    pub scope: Scope,
    /// The column of the table, and how its value is recognised in an index.
    pub attribute: pg_sys::AttrNumber,
    pub value: Value,
    /// Whether rows near by what they are compared by may be no duplicates: for their texts, or
    /// their times.
    pub is_vague: bool,
}

/// What a row has in the column that it is compared by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Value {
    Fingerprint(Width, Code),
    /// A hash of the text's bytes.
    Text(u64),
}

impl Value {
    /// Whether that is it.
    ///
    /// # Safety
    /// The datum is of the row's column.
    unsafe fn is(&self, datum: pg_sys::Datum) -> bool {
        // SAFETY: as this function's.
        unsafe {
            match *self {
                Value::Fingerprint(width, fp) => width.code(datum) == fp,
                Value::Text(_) => Value::of_text(datum) == *self,
            }
        }
    }

    /// # Safety
    /// The datum has the representation of text.
    pub unsafe fn of_text(datum: pg_sys::Datum) -> Self {
        // SAFETY: as this function's.
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
    /// The indexes that the row is not in yet.
    missing_indexes: Vec<pg_sys::Oid>,
    /// Whether it is in all of them, on trial.
    is_stored: bool,
    is_vague: bool,
    /// How deep in triggers the row's own was called.
    depth: i32,
    /// The (sub)transaction, by its depth.
    level: i32,
}

thread_local! {
    /// The innermost statement's last.
    static OWN: RefCell<Vec<Own>> = const { RefCell::new(Vec::new()) };
    /// The statements whose end is heard of.
    static STATEMENTS: RefCell<HashSet<StatementId>> = RefCell::default();
}

unsafe extern "C-unwind" {
    // executor/executor.h: pgrx's own binding would catch an ERROR of somebody else's trigger.
    fn standard_ExecutorFinish(query: *mut pg_sys::QueryDesc);
}

static PREVIOUS: OnceLock<pg_sys::ExecutorFinish_hook_type> = OnceLock::new();

/// Must be called once, from `_PG_init`.
pub fn install() {
    // SAFETY: hooks are set and callbacks registered while the library is loaded, in the only
    // thread.
    unsafe {
        board::install();
        PREVIOUS.get_or_init(|| pg_sys::ExecutorFinish_hook);
        pg_sys::ExecutorFinish_hook = Some(executor_finish);
        pg_sys::RegisterXactCallback(Some(transaction_ends), std::ptr::null_mut());
        pg_sys::RegisterSubXactCallback(Some(subtransaction_ends), std::ptr::null_mut());
    }
}

/// The lock of a ticket. The session has its own, for claims may outlive what owns a transaction's
/// locks; the abort of the transaction ends it too.
fn lock(ticket: u64) -> Lock {
    Lock::new(Class::Ticket, (ticket >> 32) as u32, ticket as u32)
}

/// Waits until the claim of a ticket has ended. An ERROR of the wait ends the transaction.
fn wait(ticket: u64) {
    lock(ticket).take(SHARE);
    lock(ticket).release(SHARE);
}

/// Publishes a claim of a row once none is near, and returns its ticket. Calls `prepare` before it
/// waits: what can be done then keeps no one waiting later.
///
/// # Safety
/// Called by the row's trigger, in its statement.
pub unsafe fn claim(row: &Incoming<'_>, mut prepare: impl FnMut()) -> u64 {
    // SAFETY: as this function's.
    unsafe { hear_of_the_end(row.statement) };
    loop {
        pgrx::check_for_interrupts!();
        let Incoming { statement, trigger, table, attribute, value, is_vague, .. } = *row;
        let ticket = board::draw();
        let claims = claims_per_root(row, ticket);
        let missing_indexes = row.indexes.to_vec();
        let depth = trigger_depth();
        let is_no_obstacle = |other| is_no_obstacle(other, row, depth);
        // Nothing can fail between the lock and the note of it.
        OWN.with_borrow_mut(|all| all.reserve(1));
        lock(ticket).take_for_session();
        match board::publish(&claims, is_no_obstacle) {
            Published::Yes => {
                // SAFETY: reads the state of the transaction.
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
        "too many rows are on their way into tables with simhash_dedup".into(),
        "Statements in triggers of statements take room: raise max_connections, \
         or give the trigger 'writers=one'.",
    )
}

fn claims_per_root(row: &Incoming<'_>, ticket: u64) -> Vec<Claim> {
    let Incoming { triggers, column, what, scope, .. } = *row;
    // SAFETY: reads the session's database.
    let database = unsafe { pg_sys::MyDatabaseId };
    let claim =
        |&root: &pg_sys::Oid| Claim { ticket, database, root, triggers, column, what, scope };
    row.roots.iter().map(claim).collect()
}

/// Whether a near claim of this session is no obstacle to a row's. It is one if the row is written
/// by a trigger of the other row, which is on its way.
fn is_no_obstacle(ticket: u64, row: &Incoming<'_>, depth: i32) -> bool {
    OWN.with_borrow(|all| {
        all.iter().find(|own| own.ticket == ticket).is_some_and(|own| {
            // Of the same row, by another trigger; or of one that is not on its way any more.
            own.statement == row.statement
                || own.is_stored
                || depth <= own.depth
                // Nobody knows whether they are duplicates.
                || own.is_vague
                || row.is_vague
        })
    })
}

fn raise_inside() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION,
        "a row is near another one whose insertion it is a part of".into(),
        "A trigger BEFORE INSERT or UPDATE writes a near-duplicate of the row that it was fired \
         for. Write it in a trigger AFTER.",
    )
}

/// Withdraws a claim: its row is not stored, or has to wait.
pub fn withdraw(ticket: u64) {
    end_those(|own| own.ticket == ticket);
}

/// A trigger begins with another row of a statement: what it claimed before is not on its way any
/// more, nor is what was claimed for rows of other tables.
pub fn begin_row(statement: StatementId, trigger: u64, table: pg_sys::Oid) {
    end_those(|own| own.statement == statement && (own.trigger == trigger || own.table != table));
}

/// A row that a trigger of the statement has claimed is on its way into another partition.
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

/// A row that a statement writes was put into an index.
pub struct Entry {
    pub statement: StatementId,
    pub table: pg_sys::Oid,
    pub index: pg_sys::Oid,
    /// The column that the index searches, and the row's value there.
    pub attribute: pg_sys::AttrNumber,
    pub value: pg_sys::Datum,
}

/// Ends the claim of a row that is in the last of its indexes now. `is_on_trial`: whether it was
/// stored speculatively, and may be taken back to be stored again without its triggers.
///
/// # Safety
/// The value is of that column of the table.
pub unsafe fn entered(entry: &Entry, is_on_trial: impl Fn() -> bool) {
    let own = OWN.with_borrow_mut(|all| {
        let is_its = |own: &Own| {
            (own.statement, own.table, own.attribute)
                == (entry.statement, entry.table, entry.attribute)
                // SAFETY: as this function's.
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

/// Whether any row of this session is on its way.
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

/// Takes a claim from the board, and then gives its lock back.
fn end(own: &Own) {
    board::remove(own.ticket);
    lock(own.ticket).release_for_session();
}

/// Called once the statement's rows are written, before its triggers AFTER run. These raise ERRORs
/// past this function: it has nothing that would have to be dropped.
unsafe extern "C-unwind" fn executor_finish(query: *mut pg_sys::QueryDesc) {
    // SAFETY: the query is the executor's, and passed on as it came.
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

/// Sees to it that a statement's claims end with it, where no executor says so: with COPY.
///
/// # Safety
/// The statement runs.
unsafe fn hear_of_the_end(statement: StatementId) {
    if !STATEMENTS.with_borrow_mut(|all| all.insert(statement)) {
        return;
    }
    // SAFETY: as this function's.
    unsafe { statement.at_end(statement_ends) };
}

unsafe extern "C-unwind" fn statement_ends(memory: *mut c_void) {
    let statement = StatementId::ended(memory);
    // When the process ends, what is noted may go before the memory.
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
        // PostgreSQL gives the locks back itself.
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
    // SAFETY: reads the state of the transaction.
    let level = unsafe { pg_sys::GetCurrentTransactionNestLevel() };
    match event {
        // Its statements have ended, one way or the other.
        pg_sys::SubXactEvent::SUBXACT_EVENT_PRE_COMMIT_SUB
        | pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB => end_those(|own| own.level >= level),
        _ => {}
    }
}
