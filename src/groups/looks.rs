//! When groups were looked at last: maybe since a row was written, by another part of its statement
//! or by a statement inside it. Locks keep other sessions out.
//!
//! A row that was changed has the id of the group where it was, until its statement's turn comes.
//! Who looks before takes it for an id of where the row is. Say an UPDATE makes row 1, of group 1,
//! a copy of row 7, and a trigger of the user's, AFTER UPDATE FOR EACH ROW, inserts one more. The
//! INSERT's turn comes first: it finds an id of group 1 beside row 7, and connects the two. So when
//! the UPDATE's turn comes, group 1 is doubtful. Two parts of a WITH do the same.

use std::cell::RefCell;

use pgrx::pg_sys;

use super::setup::{IdColumn, Setup};

/// The latest look at the groups of a column: the transaction, and the command.
struct Look {
    column: IdColumn,
    transaction: pg_sys::TransactionId,
    command: pg_sys::CommandId,
}

thread_local! {
    static LATEST: RefCell<Vec<Look>> = const { RefCell::new(Vec::new()) };
}

/// Notes that groups are looked at. Returns the command of the look before, if there was one in
/// this transaction: rows of an earlier command may have been seen as they were before their turn.
pub fn note_look(setup: &Setup) -> Option<pg_sys::CommandId> {
    let column = setup.id_column();
    // SAFETY: reads the transaction's state. What was written so far is of earlier commands.
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
