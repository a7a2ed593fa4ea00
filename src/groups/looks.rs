//! Whether groups were looked at since a row was written: by another part of its statement, or by a
//! statement inside it. Locks keep other sessions out.
//!
//! A row that was changed has the id of the group where it was, until its statement's turn comes.
//! Who looks before takes it for an id of where the row is.

use std::cell::RefCell;

use pgrx::pg_sys;

use super::setup::Setup;
use super::telling::depth;

/// The latest look at the groups of a column: the transaction, and the command.
struct Look {
    column: (pg_sys::Oid, pg_sys::AttrNumber),
    transaction: pg_sys::TransactionId,
    command: pg_sys::CommandId,
}

/// What a statement, or a part of one, does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    Insert,
    Update,
    Delete,
}

/// A statement under way. It ends in the same subtransaction, or never.
struct Begun {
    column: (pg_sys::Oid, pg_sys::AttrNumber),
    write: Write,
    transaction: pg_sys::TimestampTz,
    subtransaction: pg_sys::SubTransactionId,
    /// How many triggers deep.
    depth: i32,
}

thread_local! {
    static LATEST: RefCell<Vec<Look>> = const { RefCell::new(Vec::new()) };
    /// Statements under way, and parts of one, the outermost first.
    static BEGUN: RefCell<Vec<Begun>> = const { RefCell::new(Vec::new()) };
}

fn column(setup: &Setup) -> (pg_sys::Oid, pg_sys::AttrNumber) {
    (setup.table, setup.cluster.column.number)
}

/// A statement begins to write to the table.
pub fn write_begins(setup: &Setup, write: Write) {
    // SAFETY: reads the transaction's state.
    let begun = unsafe {
        Begun {
            column: column(setup),
            write,
            transaction: pg_sys::GetCurrentTransactionStartTimestamp(),
            subtransaction: pg_sys::GetCurrentSubTransactionId(),
            depth: depth(),
        }
    };
    BEGUN.with_borrow_mut(|all| {
        forget(all);
        all.push(begun);
    });
}

/// The rows of the latest such statement are written. A foreign key's cascade ends less deep than
/// it began.
pub fn write_ends(setup: &Setup, write: Write) {
    let depth = depth();
    BEGUN.with_borrow_mut(|all| {
        forget(all);
        let is_it = |begun: &Begun| {
            (begun.column, begun.write) == (column(setup), write) && begun.depth >= depth
        };
        if let Some(at) = all.iter().rposition(is_it) {
            all.remove(at);
        }
    });
}

/// Whether another statement, or a part of one, has written rows, and its turn has not come: so not
/// all rows have the id of what they are near, or one of what they are still connected with.
pub fn is_one_of_several(setup: &Setup) -> bool {
    BEGUN.with_borrow_mut(|all| {
        forget(all);
        all.iter().any(|begun| begun.column == column(setup))
    })
}

/// Forgets those that have failed.
fn forget(all: &mut Vec<Begun>) {
    // SAFETY: reads the transaction's state.
    unsafe {
        let transaction = pg_sys::GetCurrentTransactionStartTimestamp();
        all.retain(|begun| {
            begun.transaction == transaction && pg_sys::SubTransactionIsActive(begun.subtransaction)
        });
    }
}

/// Notes that groups are looked at. Returns the command of the look before, if there was one in
/// this transaction: rows of an earlier command may have been seen as they were before their turn.
pub fn begin(setup: &Setup) -> Option<pg_sys::CommandId> {
    let column = column(setup);
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
