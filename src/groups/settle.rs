//! Groups found anew: those that rows have come to or left, or all of a table.

use std::collections::HashSet;
use std::ffi::CStr;
use std::rc::Rc;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::assign::{Assignment, assign};
use super::bridges::{Suspects, may_be_apart};
use super::components::{Components, Point};
use super::keys::Key;
use super::locks::{self, Gates, Ids, Then, Use};
use super::looks::note_look;
use super::marks;
use super::own_update;
use super::run_as::restricted;
use super::search::{SearchResult, View, search};
use super::setup::{Settle, Setup, trigger_function};
use super::strangers;
use super::table;
use super::whole;
use crate::catalog::Schema;
use crate::catalog::names::relation_name;
use crate::catalog::relations::described;
use crate::error::raise;
use crate::family::create::check_owner;
use crate::family::snapshot;

/// Finds the groups of rows that have come, changed or gone, and of the groups in `apart`. Writes
/// the ids that are others now. `when`: what becomes of groups that may have come apart.
///
/// The column's lock is held. What is read counts once no lock is missing, and no row has changed
/// that gets another id: until then everything is read again.
pub fn settle(components: &mut Components<'_>, apart: HashSet<Key>, when: Settle) {
    let setup = components.setup;
    let previous_look = note_look(setup);
    let mut ids = Ids::none();
    let mut doubtful = apart;
    let changed = components.changed_points();
    let mut gates = (!changed.is_empty()).then(|| Gates::take_own(setup));
    let mut first_look =
        gates.as_mut().map(|gates| look_at_everything(components, &changed, gates, previous_look));
    // The look need not be repeated with a snapshot: the statement only brought rows, and no
    // transaction has ended since.
    let mut first_look_suffices = doubtful.is_empty() && components.left.is_empty();
    loop {
        pgrx::check_for_interrupts!();
        let completions = snapshot::completions();
        let mut suspects = Suspects::default();
        let found = match &mut first_look {
            Some(look) if first_look_suffices && look.completions == completions => {
                std::mem::take(&mut look.found)
            }
            first_look => {
                suspects = begin_round(components, &doubtful, when);
                let points = components.fresh_points();
                let found = search(components, &points, View::Committed, previous_look);
                // The first look skipped copies behind a row that is gone now. Behind it may be
                // rows in progress. Gates come before ids.
                if let (Some(look), Some(gates)) = (&*first_look, &mut gates)
                    && !look.relied.is_subset(&found.relied)
                {
                    ids.release(setup);
                    *first_look =
                        Some(look_at_everything(components, &changed, gates, previous_look));
                    continue;
                }
                found
            }
        };
        first_look_suffices = false;
        let new = found.doubtful.iter().filter(|&id| !doubtful.contains(id));
        let new: Vec<Key> = new.copied().collect();
        if !new.is_empty() {
            doubtful.extend(new);
            continue;
        }
        let mut assignment = assign(components);
        assignment.uses.extend(suspects.all.iter().map(|&id| (id, Use::Changed)));
        let is_missing = ids.take(setup, &components.keys, &assignment.uses);
        if is_missing && snapshot::completions() != completions {
            continue;
        }
        if table::lock_rows(setup, &assignment.new_ids) {
            if when == Settle::Later {
                mark(components, &suspects.apart, &assignment);
            }
            table::write_ids(setup, &assignment.new_ids);
            if let Some(gates) = gates {
                gates.note_looked();
            }
            return;
        }
    }
}

/// What was found by a look at rows in progress, too.
struct FirstLook {
    found: SearchResult,
    /// What it relies on: see [`SearchResult::relied`].
    relied: HashSet<Point>,
    /// How many transactions had completed before.
    completions: u64,
}

/// Deals with transactions in progress that have rows near these points.
fn look_at_everything(
    components: &mut Components<'_>,
    points: &[Point],
    gates: &mut Gates,
    previous_look: Option<pg_sys::CommandId>,
) -> FirstLook {
    loop {
        let completions = snapshot::completions();
        components.begin();
        let mut found = search(components, points, View::Everything, previous_look);
        if gates.deal_with(&found.writers) == Then::GoOn {
            let relied = std::mem::take(&mut found.relied);
            return FirstLook { found, relied, completions };
        }
    }
}

/// Begins with everything as it is now. The rows of groups that may have come apart are taken in,
/// unless that has time.
fn begin_round(components: &mut Components<'_>, doubtful: &HashSet<Key>, when: Settle) -> Suspects {
    components.begin();
    let mut suspects = may_be_apart(components, when);
    suspects.apart.extend(doubtful);
    suspects.all.extend(doubtful);
    // Who joins a group that all its rows leave must know.
    suspects.all.extend(&components.left);
    if when == Settle::Now {
        let apart: Vec<Key> = suspects.apart.iter().copied().collect();
        // SAFETY: the values are of the table's columns.
        table::rows_of(components, &apart, &mut |all, row| unsafe { all.add_former(&row) });
    }
    suspects
}

/// Marks groups that are settled later, by the ids that their rows have from now on.
fn mark(components: &Components<'_>, apart: &HashSet<Key>, assignment: &Assignment) {
    let renamed = &assignment.renamed;
    let apart: HashSet<Key> =
        apart.iter().map(|id| renamed.get(id).copied().unwrap_or(*id)).collect();
    marks::mark(components, &apart);
    marks::follow(components, renamed);
}

/// `simhash_cluster_settle`: settles the marked groups of a table, or with `full` finds all groups
/// anew. `only`: those of one column of ids. Returns how many there were.
pub fn settle_table(table: pg_sys::Oid, full: bool, only: Option<&CStr>, schema: Schema) -> i64 {
    // SAFETY: reads the transaction's state, and raises an ERROR in a read-only one.
    unsafe { pg_sys::PreventCommandIfReadOnly(c"simhash_cluster_settle()".as_ptr()) };
    check_owner(table);
    let lock = pg_sys::RowExclusiveLock as pg_sys::LOCKMODE;
    // SAFETY: the relation stays open, with its triggers, while it is used, and locked until the
    // transaction ends.
    unsafe {
        let relation = pg_sys::relation_open(table, lock);
        let count: usize = as_owner(relation, schema, |strange| {
            let setups = setups(relation, schema);
            if strange {
                setups.iter().for_each(|setup| strangers::refuse(setup));
            }
            let named = setups
                .into_iter()
                .filter(|setup| only.is_none_or(|name| setup.cluster.name.as_c_str() == name));
            named
                .map(|setup| if full { whole::regroup_all(&setup) } else { settle_marked(&setup) })
                .sum()
        });
        marks::forget_dropped(schema);
        pg_sys::relation_close(relation, pg_sys::NoLock as pg_sys::LOCKMODE);
        i64::try_from(count).unwrap_or(i64::MAX)
    }
}

/// Runs something as the table's owner. It is told whether the caller is somebody else: a superuser
/// or a member of the owner's role, who may settle, but whose rights nobody's code gets.
///
/// # Safety
/// The relation is open.
unsafe fn as_owner<T>(
    relation: pg_sys::Relation,
    schema: Schema,
    run: impl FnOnce(bool) -> T,
) -> T {
    // SAFETY: as this function's; reads the session's state.
    unsafe {
        let owner = (*(*relation).rd_rel).relowner;
        if pg_sys::GetUserId() == owner {
            return run(false);
        }
        restricted(owner, (*relation).rd_id, schema, || run(true))
    }
}

fn settle_marked(setup: &Setup) -> usize {
    own_update::refuse_meanwhile(setup);
    let ids = marks::marked(setup);
    if ids.is_empty() {
        return 0;
    }
    // Not after it: triggers of the user's that fire meanwhile may mark groups.
    marks::clear(setup);
    let mut components = Components::new(setup);
    // SAFETY: ids are values of the key's type.
    let apart = ids.iter().map(|&id| unsafe { components.key(id) }).collect();
    settle(&mut components, apart, Settle::Now);
    ids.len()
}

/// What the table's triggers are set up to do, once for each column of ids, with the column's
/// lock held alone.
///
/// # Safety
/// The relation is open.
unsafe fn setups(relation: pg_sys::Relation, schema: Schema) -> Vec<Rc<Setup>> {
    let ours = trigger_function();
    let mut setups: Vec<Rc<Setup>> = Vec::new();
    // SAFETY: as this function's. The copy of the triggers stays as the relation's own are read
    // anew.
    unsafe {
        for trigger in described(pg_sys::CopyTriggerDesc((*relation).trigdesc)) {
            if ours == Some(trigger.tgfoid) {
                let setup = Setup::locked(relation, trigger, schema, locks::alone);
                let column = setup.cluster.column.number;
                if setups.iter().all(|other| other.cluster.column.number != column) {
                    setups.push(setup);
                }
            }
        }
        if setups.is_empty() {
            raise(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!(
                    "table \"{}\" has no trigger simhash_cluster",
                    relation_name((*relation).rd_id)
                ),
                "simhash_cluster_create makes its triggers.",
            )
        }
    }
    setups
}
