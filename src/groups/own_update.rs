//! Recognises our own UPDATEs of ids, which fire the table's triggers as any UPDATE does.

use std::cell::RefCell;
use std::ffi::CString;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::setup::Setup;
use crate::call::trigger_depth;
use crate::catalog::names::relation_name;
use crate::error::raise;

struct Update {
    table: pg_sys::Oid,
    column: CString,
    /// The table and its partitions.
    relations: Vec<pg_sys::Oid>,
    /// The trigger depth from which the UPDATE is run.
    depth: i32,
    /// Whether all rows have been written.
    is_written: bool,
}

thread_local! {
    /// The outermost first.
    static UNDER_WAY: RefCell<Vec<Update>> = const { RefCell::new(Vec::new()) };
}

/// An UPDATE of ids in progress. It ends when this is dropped, even by an ERROR.
pub struct OwnUpdate(());

impl OwnUpdate {
    pub fn begin(setup: &Setup) -> Self {
        let update = Update {
            table: setup.table,
            column: setup.cluster.name.clone(),
            relations: setup.family.relations.clone(),
            depth: trigger_depth(),
            is_written: false,
        };
        UNDER_WAY.with_borrow_mut(|all| all.push(update));
        OwnUpdate(())
    }

    /// Notes that all rows are written. From here on, AFTER triggers change groups as they are now.
    pub fn written(&self) {
        UNDER_WAY.with_borrow_mut(|all| {
            if let Some(last) = all.last_mut() {
                last.is_written = true;
            }
        });
    }
}

impl Drop for OwnUpdate {
    fn drop(&mut self) {
        UNDER_WAY.with_borrow_mut(|all| all.pop());
    }
}

/// Whether the statement that fired this call of a trigger, on that table or a partition of its, is
/// an UPDATE of ours. A statement of a user's trigger that our UPDATE fires is one trigger deeper.
pub fn is_own_update(relation: pg_sys::Oid, column: &std::ffi::CStr) -> bool {
    let depth = trigger_depth() - 1;
    let is_it = |update: &Update| {
        update.depth == depth
            && update.column.as_c_str() == column
            && update.relations.contains(&relation)
    };
    UNDER_WAY.with_borrow(|all| all.iter().any(is_it))
}

/// Raises 27000 while ids are being written: with some ids old and some new, it is unknown which
/// rows are connected.
pub fn refuse_meanwhile(setup: &Setup) {
    let is_it = |update: &Update| {
        !update.is_written && update.table == setup.table && update.column == setup.cluster.name
    };
    if UNDER_WAY.with_borrow(|all| all.iter().any(is_it)) {
        raise(
            PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION,
            format!(
                "groups of table \"{}\" were modified by a trigger while group ids were assigned",
                relation_name(setup.table)
            ),
            "A BEFORE UPDATE trigger must not write rows of this table that have near-duplicates. \
             Write them in an AFTER UPDATE trigger.",
        )
    }
}
