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
