//! Whether rows that a statement writes may have been seen, or missed, before its own turn: by
//! another part of the statement, or by a statement inside it. The family's lock keeps other
//! sessions out.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CString;

use pgrx::pg_sys;

use super::own;
use super::setup::Setup;

/// A statement's part: its table, its column of ids, and how many triggers deep it is.
type Part = (pg_sys::Oid, CString, i32);

#[derive(Default)]
struct Looks {
    /// How often somebody has looked, by the column of ids. Partitions have their parent's names.
    taken: HashMap<CString, u64>,
    /// For an INSERT that has begun, how often they had.
    inserts: HashMap<Part, u64>,
    /// For an UPDATE that has begun, whether a statement inside it has looked since.
    updates: HashMap<Part, bool>,
}

thread_local! {
    static LOOKS: RefCell<Looks> = RefCell::default();
}

/// Groups are found, by the ids that rows hold.
pub fn look(setup: &Setup) {
    own::changed(setup, &[]);
    LOOKS.with_borrow_mut(|looks| {
        let (name, depth) = (&setup.cluster.name, own::depth());
        *looks.taken.entry(name.clone()).or_default() += 1;
        for ((_, column, at), seen) in &mut looks.updates {
            *seen |= column == name && *at < depth;
        }
    });
}

/// An INSERT begins. Of one inside another the outer one's beginning counts, and so does that of
/// one that ended by an ERROR: what is too early is never wrong.
pub fn begin_insert(setup: &Setup) {
    LOOKS.with_borrow_mut(|looks| {
        let taken = looks.taken.get(&setup.cluster.name).copied().unwrap_or_default();
        looks.inserts.entry(part(setup)).or_insert(taken);
    });
}

/// Ends an INSERT. Returns whether anybody has looked since it began, as far as is known: the end
/// of one inside it, as many triggers deep, is taken for its own.
pub fn end_insert(setup: &Setup) -> bool {
    LOOKS.with_borrow_mut(|looks| {
        let taken = looks.taken.get(&setup.cluster.name).copied().unwrap_or_default();
        looks.inserts.remove(&part(setup)) != Some(taken)
    })
}

/// An UPDATE begins. It counts as [`begin_insert`] says.
pub fn begin_update(setup: &Setup) {
    LOOKS.with_borrow_mut(|looks| {
        looks.updates.entry(part(setup)).or_default();
    });
}

/// Ends an UPDATE. Returns whether statements inside it have looked, as far as is known.
pub fn end_update(setup: &Setup) -> bool {
    LOOKS.with_borrow_mut(|looks| looks.updates.remove(&part(setup)) != Some(false))
}

fn part(setup: &Setup) -> Part {
    (setup.table, setup.cluster.name.clone(), own::depth())
}
