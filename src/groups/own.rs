//! Our own updates, recognised: they fire the trigger again, as anybody's would.

use std::cell::RefCell;

use super::setup::Setup;

thread_local! {
    /// The tables and columns that are being told ids, the outermost first.
    static TELLING: RefCell<Vec<(pgrx::pg_sys::Oid, pgrx::pg_sys::AttrNumber)>> =
        const { RefCell::new(Vec::new()) };
}

/// An update of ids. It ends when this is dropped, also by an ERROR.
pub struct Telling(());

impl Telling {
    pub fn begin(setup: &Setup) -> Self {
        TELLING.with_borrow_mut(|all| all.push((setup.table, setup.cluster.column.number)));
        Telling(())
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        TELLING.with_borrow_mut(|all| all.pop());
    }
}

/// Whether the ids of this table are being told.
pub fn is_telling(setup: &Setup) -> bool {
    TELLING.with_borrow(|all| all.contains(&(setup.table, setup.cluster.column.number)))
}
