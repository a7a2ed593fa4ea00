//! Whether ids that an INSERT gives to its rows may have been seen before its own turn: by another
//! part of the statement, or by a statement inside it. The family's lock keeps other sessions out.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CString;

use pgrx::pg_sys;

use super::setup::Setup;

#[derive(Default)]
struct Looks {
    /// How often groups were found, by the column of ids. Partitions have their parent's names.
    found: HashMap<CString, u64>,
    /// For an INSERT that has begun, how often they had been.
    begun: HashMap<(pg_sys::Oid, CString), u64>,
}

thread_local! {
    static LOOKS: RefCell<Looks> = RefCell::default();
}

/// Groups are found, by the ids that rows hold.
pub fn found(setup: &Setup) {
    LOOKS.with_borrow_mut(|looks| *looks.found.entry(setup.cluster.name.clone()).or_default() += 1);
}

/// An INSERT begins. Of one inside another the outer one's beginning counts, and so does that of
/// one that ended by an ERROR: what is too early is never wrong.
pub fn begin(setup: &Setup) {
    LOOKS.with_borrow_mut(|looks| {
        let name = &setup.cluster.name;
        let count = looks.found.get(name).copied().unwrap_or_default();
        looks.begun.entry((setup.table, name.clone())).or_insert(count);
    });
}

/// Ends an INSERT. Returns whether groups have been found since it began, as far as is known: the
/// end of one inside it is taken for its own.
pub fn end(setup: &Setup) -> bool {
    LOOKS.with_borrow_mut(|looks| {
        let name = &setup.cluster.name;
        let count = looks.found.get(name).copied().unwrap_or_default();
        looks.begun.remove(&(setup.table, name.clone())) != Some(count)
    })
}
