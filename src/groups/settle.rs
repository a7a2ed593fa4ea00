//! Finds the groups of rows that were added, changed or removed, or of a whole table, and writes
//! ids.

use std::collections::HashSet;
use std::ffi::CStr;
use std::rc::Rc;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::assign::{Assignment, assign};
use super::bridges::{Suspects, may_be_apart};
use super::components::{Components, Point};
use super::keys::Key;
use super::locks::{self, Gates, Ids, Then, Use};
use super::marks;
use super::own_update;
use super::run_as::restricted;
use super::search::{SearchResult, View, search};
use super::setup::{Settle, Setup, trigger_function};
use super::strangers;
use super::table;
use super::under_way::note_look;
use super::whole;
use crate::catalog::Schema;
use crate::catalog::names::relation_name;
use crate::error::raise;
use crate::family::create::check_owner;
use crate::family::on::Open;
use crate::family::snapshot;

/// Finds the groups of the statement's rows, and of the groups in `apart`, and writes the ids that
/// change. `when`: whether groups that may have come apart are found now or marked.
///
/// The column's lock is held. A round counts only if no lock was missing, or no transaction has
/// ended since, and if no row that gets another id has changed. Otherwise everything is read again.
pub fn settle(components: &mut Components<'_>, apart: HashSet<Key>, when: Settle) {
    let setup = components.setup;
    let previous_look = note_look(setup);
    let mut ids = Ids::none();
    let mut doubtful = apart;
    let changed = components.changed_points();
    let mut gates = (!changed.is_empty()).then(|| Gates::take_own(setup));
    let mut dirty =
        gates.as_mut().map(|gates| search_dirty(components, &changed, gates, previous_look));
    // If the statement only added rows, the dirty search needs no second search with a snapshot, as
    // long as no transaction has ended since.
    let mut dirty_suffices = doubtful.is_empty() && components.left.is_empty();
    loop {
        pgrx::check_for_interrupts!();
        let completions = snapshot::completions();
        let mut suspects = Suspects::default();
        let counts = |dirty: &&mut DirtySearch| dirty_suffices && dirty.completions == completions;
        let found = if let Some(dirty) = dirty.as_mut().filter(counts) {
            std::mem::take(&mut dirty.found)
        } else {
            suspects = begin_round(components, &doubtful, when);
            let points = components.fresh_points();
            let found = search(components, &points, View::Committed, previous_look);
            // The dirty search passed over copies of a row that is gone now, and rows in progress
            // may be among these copies. Gates have to be taken before ids.
            if let (Some(dirty), Some(gates)) = (&mut dirty, &mut gates)
                && !dirty.relied.is_subset(&found.relied)
            {
                ids.release(setup);
                *dirty = search_dirty(components, &changed, gates, previous_look);
                continue;
            }
            found
        };
        dirty_suffices = false;
        let new = found.doubtful.iter().filter(|&id| !doubtful.contains(id));
        let new: Vec<Key> = new.copied().collect();
        if !new.is_empty() {
            doubtful.extend(new);
            continue;
        }
        let mut assignment = assign(components);
        assignment.uses.extend(suspects.all.iter().map(|&id| (id, Use::Changed)));
        let is_missing = ids.complete(setup, &components.keys, &assignment.uses);
        if is_missing && snapshot::completions() != completions {
            continue;
        }
        if table::lock_rows(setup, &assignment.new_ids) {
            if when == Settle::Later {
                mark(components, &suspects.apart, &assignment);
            }
            return table::write_ids(setup, &assignment.new_ids);
        }
    }
}

/// The result of a dirty search.
struct DirtySearch {
    found: SearchResult,
    /// The points that it relies on: see [`SearchResult::relied`].
    relied: HashSet<Point>,
    /// [`snapshot::completions`] before the search.
    completions: u64,
}

/// Searches these points with a dirty snapshot, and takes the gates of all transactions in progress
/// that have near rows. Searches again if this transaction has given way.
fn search_dirty(
    components: &mut Components<'_>,
    points: &[Point],
    gates: &mut Gates,
    previous_look: Option<pg_sys::CommandId>,
) -> DirtySearch {
    loop {
        let completions = snapshot::completions();
        components.begin();
        let mut found = search(components, points, View::Everything, previous_look);
        if gates.deal_with(&found.writers) == Then::GoOn {
            let relied = std::mem::take(&mut found.relied);
            return DirtySearch { found, relied, completions };
        }
    }
}

/// Begins a round. Unless `when` is [`Settle::Later`], the rows of groups that may have come apart
/// become fresh.
fn begin_round(components: &mut Components<'_>, doubtful: &HashSet<Key>, when: Settle) -> Suspects {
    components.begin();
    let mut suspects = may_be_apart(components, when);
    suspects.apart.extend(doubtful);
    suspects.all.extend(doubtful);
    // Their ids are locked too: no other transaction may join a group that all its rows are
    // leaving.
    suspects.all.extend(&components.left);
    if when == Settle::Now {
        let apart: Vec<Key> = suspects.apart.iter().copied().collect();
        table::rows_of(components, &apart, &mut |all, row| all.add_former(&row));
    }
    suspects
}

/// Marks groups to be settled later, by the ids that their rows get in this statement.
fn mark(components: &Components<'_>, apart: &HashSet<Key>, assignment: &Assignment) {
    let renamed = &assignment.renamed;
    let apart: HashSet<Key> =
        apart.iter().map(|id| renamed.get(id).copied().unwrap_or(*id)).collect();
    marks::mark(components, &apart);
    marks::follow(components, renamed);
}

/// `simhash_cluster_settle`: settles the marked groups of a table, or with `full` finds all groups
/// anew. `only` names one column of ids; otherwise all count. Returns how many groups there were.
pub fn settle_table(table: pg_sys::Oid, full: bool, only: Option<&CStr>, schema: Schema) -> i64 {
    // SAFETY: reads the transaction's state, and raises an ERROR in a read-only one.
    unsafe { pg_sys::PreventCommandIfReadOnly(c"simhash_cluster_settle()".as_ptr()) };
    check_owner(table);
    Open::existing(table, pg_sys::RowExclusiveLock, |table| {
        let run = |is_strange| -> usize {
            let setups = setups(table, schema);
            if is_strange {
                setups.iter().for_each(|setup| strangers::refuse(setup));
            }
            let is_meant =
                |setup: &Rc<Setup>| only.is_none_or(|name| setup.cluster.name.as_c_str() == name);
            let settle = |setup: Rc<Setup>| {
                if full { whole::regroup_all(&setup) } else { settle_marked(&setup) }
            };
            setups.into_iter().filter(is_meant).map(settle).sum()
        };
        // Another role is a superuser or a member of the owner's role. They may settle, but no code
        // of others runs with their privileges.
        let owner = table.form().relowner;
        // SAFETY: reads the session's state.
        let count = match unsafe { pg_sys::GetUserId() } {
            user if user == owner => run(false),
            _ => restricted(owner, table.oid(), schema, || run(true)),
        };
        marks::forget_dropped(schema);
        i64::try_from(count).unwrap_or(i64::MAX)
    })
}

fn settle_marked(setup: &Setup) -> usize {
    own_update::refuse_meanwhile(setup);
    let ids = marks::marked(setup);
    if ids.is_empty() {
        return 0;
    }
    // Marks are deleted first, because the user's triggers may mark groups during `settle`.
    marks::clear(setup);
    let mut components = Components::new(setup);
    let apart = ids.iter().map(|&id| components.key(id)).collect();
    settle(&mut components, apart, Settle::Now);
    ids.len()
}

/// The set-ups of the table's triggers, one for each column of ids, with the column's lock held
/// exclusively.
fn setups(table: Open<'_>, schema: Schema) -> Vec<Rc<Setup>> {
    let ours = trigger_function();
    let mut setups: Vec<Rc<Setup>> = Vec::new();
    for on in table.triggers().filter(|on| ours == Some(on.trigger.tgfoid)) {
        let setup = Setup::locked(on, schema, locks::alone);
        let column = setup.cluster.column.number;
        if setups.iter().all(|other| other.cluster.column.number != column) {
            setups.push(setup);
        }
    }
    if setups.is_empty() {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("table \"{}\" has no triggers of simhash_cluster", relation_name(table.oid())),
            "Use simhash_cluster_create to create the triggers.",
        )
    }
    setups
}
