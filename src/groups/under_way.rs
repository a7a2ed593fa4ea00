//! The statements, and parts of statements, that have begun to write to a table. While one of them
//! is under way, another statement's trigger cannot conclude from ids what is connected.

use std::cell::RefCell;

use pgrx::pg_sys;

use super::setup::{IdColumn, Setup};
use crate::call::trigger_depth;

/// What a statement, or a part of one, writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    Insert,
    Update,
    Delete,
}

/// A statement under way. It ends in the subtransaction where it began, or fails with that.
struct Begun {
    column: IdColumn,
    write: Write,
    transaction: pg_sys::TimestampTz,
    subtransaction: pg_sys::SubTransactionId,
    /// The trigger depth at which it began.
    depth: i32,
}

thread_local! {
    /// The outermost first.
    static BEGUN: RefCell<Vec<Begun>> = const { RefCell::new(Vec::new()) };
}

/// Notes that a statement begins to write to the table.
pub fn write_begins(setup: &Setup, write: Write) {
    // SAFETY: in a transaction, whose state these functions read.
    let begun = unsafe {
        Begun {
            column: setup.id_column(),
            write,
            transaction: pg_sys::GetCurrentTransactionStartTimestamp(),
            subtransaction: pg_sys::GetCurrentSubTransactionId(),
            depth: trigger_depth(),
        }
    };
    BEGUN.with_borrow_mut(|all| {
        forget(all);
        all.push(begun);
    });
}

/// Notes that the latest such statement has written its rows. A statement of a foreign key's
/// cascade ends at a lesser trigger depth than it began at.
pub fn write_ends(setup: &Setup, write: Write) {
    let depth = trigger_depth();
    BEGUN.with_borrow_mut(|all| {
        forget(all);
        let is_it = |begun: &Begun| {
            (begun.column, begun.write) == (setup.id_column(), write) && begun.depth >= depth
        };
        if let Some(at) = all.iter().rposition(is_it) {
            all.remove(at);
        }
    });
}

/// What statements under way, or parts of one, have written before their AFTER triggers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Others {
    Nothing,
    /// New rows, which have no id yet. Existing ids can be trusted.
    Rows,
    /// Changes, so ids cannot be trusted. A changed row may have another id than rows near it, and
    /// rows with one id may no longer be connected.
    Changes,
}

/// What is under way for this column.
pub fn others(setup: &Setup) -> Others {
    BEGUN.with_borrow_mut(|all| {
        forget(all);
        let own = all.iter().filter(|begun| begun.column == setup.id_column());
        let others = own.map(|begun| match begun.write {
            Write::Insert => Others::Rows,
            Write::Update | Write::Delete => Others::Changes,
        });
        others.max().unwrap_or(Others::Nothing)
    })
}

/// Drops the statements whose (sub)transaction has failed or ended.
fn forget(all: &mut Vec<Begun>) {
    // SAFETY: in a transaction, whose state these functions read.
    unsafe {
        let transaction = pg_sys::GetCurrentTransactionStartTimestamp();
        all.retain(|begun| {
            begun.transaction == transaction && pg_sys::SubTransactionIsActive(begun.subtransaction)
        });
    }
}

/// The latest look at the groups of a column: its transaction and command. A *look* is one call of
/// `settle` or `regroup_all`.
struct Look {
    column: IdColumn,
    transaction: pg_sys::TransactionId,
    command: pg_sys::CommandId,
}

thread_local! {
    static LATEST: RefCell<Vec<Look>> = const { RefCell::new(Vec::new()) };
}

/// Notes a look. Returns the command of the previous look in this transaction, if there was one.
/// Changed rows of earlier commands may have been read then with the id of their former group:
/// locks keep other sessions out, but not nested statements and other parts of a statement.
///
/// A changed row keeps the id of its former group until the statement's AFTER trigger runs. A look
/// before that takes the id for the id of rows near the row's new values. Say an UPDATE makes row
/// 1, of group 1, a copy of row 7, and a user's trigger, AFTER UPDATE FOR EACH ROW, inserts a row.
/// The INSERT's AFTER trigger runs first. It finds id 1 near row 7, and connects the two. So group
/// 1 is doubtful when the UPDATE's AFTER trigger runs. Two parts of a WITH can do the same.
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
