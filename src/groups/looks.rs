//! Remembers when groups were read last, to find doubtful ids. A *look* is one call of `settle` or
//! `regroup_all`. Locks keep other sessions out, but not nested statements and other parts of a
//! statement.
//!
//! A changed row keeps the id of its former group until the statement's AFTER trigger runs. A look
//! before that takes the id for the id of rows near the row's new values. Say an UPDATE makes row
//! 1, of group 1, a copy of row 7, and a user's trigger, AFTER UPDATE FOR EACH ROW, inserts a row.
//! The INSERT's AFTER trigger runs first. It finds id 1 near row 7, and connects the two. So group
//! 1 is doubtful when the UPDATE's AFTER trigger runs. Two parts of a WITH can do the same.

use std::cell::RefCell;

use pgrx::pg_sys;

use super::setup::{IdColumn, Setup};

/// The latest look at the groups of a column: its transaction and command.
struct Look {
    column: IdColumn,
    transaction: pg_sys::TransactionId,
    command: pg_sys::CommandId,
}

thread_local! {
    static LATEST: RefCell<Vec<Look>> = const { RefCell::new(Vec::new()) };
}

/// Notes a look. Returns the command of the previous look in this transaction, if there was one.
/// Changed rows of earlier commands may have been read then with the id of their former group.
pub fn note_look(setup: &Setup) -> Option<pg_sys::CommandId> {
    let column = setup.id_column();
    // SAFETY: in a transaction. The increment makes all rows written so far those of earlier
    // commands.
    let (transaction, command) = unsafe {
        pg_sys::CommandCounterIncrement();
        (pg_sys::GetTopTransactionIdIfAny(), pg_sys::GetCurrentCommandId(false))
    };
    LATEST.with_borrow_mut(|all| {
        all.retain(|look| look.transaction == transaction);
        match all.iter_mut().find(|look| look.column == column) {
            Some(look) => Some(std::mem::replace(&mut look.command, command)),
            None => {
                all.push(Look { column, transaction, command });
                None
            }
        }
    })
}
