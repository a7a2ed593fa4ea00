//! Our own updates, recognised: they fire the trigger again, as anybody's would.

use std::cell::RefCell;

use pgrx::{direct_function_call, pg_sys};

use super::setup::Setup;

/// The table and column that are being told ids, and how many triggers deep.
type Update = (pg_sys::Oid, pg_sys::AttrNumber, i32);

thread_local! {
    /// The outermost first.
    static TELLING: RefCell<Vec<Update>> = const { RefCell::new(Vec::new()) };
}

/// An update of ids. It ends when this is dropped, also by an ERROR.
pub struct Telling(());

impl Telling {
    pub fn begin(setup: &Setup) -> Self {
        TELLING.with_borrow_mut(|all| all.push(update(setup, 0)));
        Telling(())
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        TELLING.with_borrow_mut(|all| all.pop());
    }
}

/// Whether the statement that fired this call of the trigger is an update of ours. One of a user's
/// trigger that our update fires is one trigger deeper.
pub fn is_telling(setup: &Setup) -> bool {
    TELLING.with_borrow(|all| all.contains(&update(setup, 1)))
}

/// The update of a call so many triggers above this one.
fn update(setup: &Setup, above: i32) -> Update {
    // SAFETY: a function without arguments.
    let depth = unsafe { direct_function_call::<i32>(pg_sys::pg_trigger_depth, &[]) };
    (setup.table, setup.cluster.column.number, depth.unwrap_or(0) - above)
}
