//! Statements that have begun to write to a table, and parts of one: who looks at groups while
//! others are under way cannot conclude anything from ids.

use std::cell::RefCell;

use pgrx::pg_sys;

use super::setup::{IdColumn, Setup};
use crate::call::trigger_depth;

/// What a statement, or a part of one, does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    Insert,
    Update,
    Delete,
}

/// A statement under way. It ends in the same subtransaction, or never.
struct Begun {
    column: IdColumn,
    write: Write,
    transaction: pg_sys::TimestampTz,
    subtransaction: pg_sys::SubTransactionId,
    /// How many triggers deep.
    depth: i32,
}

thread_local! {
    /// The outermost first.
    static BEGUN: RefCell<Vec<Begun>> = const { RefCell::new(Vec::new()) };
}

/// A statement begins to write to the table.
pub fn write_begins(setup: &Setup, write: Write) {
    // SAFETY: reads the transaction's state.
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

/// The rows of the latest such statement are written. A foreign key's cascade ends less deep than
/// it began.
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

/// What others have written whose turn has not come: another statement, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Others {
    Nothing,
    /// New rows, which have no id yet. Ids that there are can be trusted.
    Rows,
    /// Not all rows have the id of what they are near, or one of what they are still connected
    /// with.
    Changes,
}

/// What others have under way.
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
