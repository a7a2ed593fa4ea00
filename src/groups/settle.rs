//! Groups found anew: those that rows have left, or all of a table.

use std::ffi::CStr;
use std::rc::Rc;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::ids::decide_and_tell;
use super::looks;
use super::marks;
use super::regroup::Regroup;
use super::search::search;
use super::setup::{Setup, trigger_function};
use super::sql::restricted;
use super::strangers;
use super::table;
use super::whole;
use crate::catalog::Schema;
use crate::catalog::names::relation_name;
use crate::error::raise;
use crate::family::create::check_owner;

/// How often groups are found again at most, if triggers change rows whenever these are told ids.
const MOST_ROUNDS: usize = 100;

fn raise_restless(setup: &Setup) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_TRIGGERED_ACTION_EXCEPTION,
        format!(
            "triggers of table \"{}\" change rows whenever groups are told their ids",
            relation_name(setup.table)
        ),
        "A trigger BEFORE UPDATE of the ids' column must not write to the table each time.",
    )
}

/// Settles some groups: what is left of each becomes a group, or several. `lone`: keys of rows that
/// are looked at, too, if they are in no group.
pub fn settle(setup: &Setup, mut ids: Vec<pg_sys::Datum>, mut lone: Vec<pg_sys::Datum>) {
    for _ in 0..MOST_ROUNDS {
        let mut regroup = Regroup::new(setup);
        add_groups(&mut regroup, &ids, &lone);
        if regroup.has_fresh() {
            search(&mut regroup);
            decide_and_tell(&mut regroup);
        }
        if !regroup.is_disturbed {
            return;
        }
        (ids, lone) = disturbed(&mut regroup);
    }
    raise_restless(setup)
}

/// Takes in the rows of groups that are to be settled, and of the rows with the keys in `bare`
/// those that are in no group.
pub fn add_groups(regroup: &mut Regroup<'_>, ids: &[pg_sys::Datum], bare: &[pg_sys::Datum]) {
    let setup = regroup.setup;
    // SAFETY: the values are of the table's columns.
    unsafe {
        table::rows_of(setup, ids, &mut |row| regroup.add_present(&row));
        table::rows_with(setup, bare, &mut |row| {
            if row.cluster.is_none() {
                regroup.add_present(&row);
            }
        });
    }
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
            let settled = named.map(|setup| {
                let count = if full { settle_all(&setup, &[]) } else { settle_marked(&setup) };
                if full || count > 0 {
                    looks::look_by_call(&setup);
                }
                count
            });
            settled.sum()
        });
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

/// Finds all groups of a table anew, as [`whole::regroup`] says, until nobody interferes.
pub fn settle_all(setup: &Setup, mut fresh: &[pg_sys::Datum]) -> usize {
    for _ in 0..MOST_ROUNDS {
        let mut regroup = Regroup::new(setup);
        let count = whole::regroup(&mut regroup, fresh);
        if !regroup.is_disturbed {
            return count;
        }
        fresh = &[];
    }
    raise_restless(setup)
}

/// What is to be settled after statements inside have changed groups while rows were told ids.
fn disturbed(regroup: &mut Regroup<'_>) -> (Vec<pg_sys::Datum>, Vec<pg_sys::Datum>) {
    let ids = regroup.left();
    let values = |numbers: &[u32]| numbers.iter().map(|&it| regroup.keys.value(it)).collect();
    (values(&ids), values(&regroup.lone))
}

fn settle_marked(setup: &Setup) -> usize {
    let ids = marks::marked(setup);
    let count = ids.len();
    if count > 0 {
        // Not after it: triggers of the user's that fire meanwhile may mark groups.
        marks::clear(setup);
        settle(setup, ids, Vec::new());
    }
    count
}

/// What the table's triggers are set up to do, once for each column of ids, with the family's lock
/// held.
///
/// # Safety
/// The relation is open.
unsafe fn setups(relation: pg_sys::Relation, schema: Schema) -> Vec<Rc<Setup>> {
    let ours = trigger_function();
    let mut setups: Vec<Rc<Setup>> = Vec::new();
    // SAFETY: as this function's. The copy of the triggers stays as the relation's own are read
    // anew.
    unsafe {
        let triggers = pg_sys::CopyTriggerDesc((*relation).trigdesc);
        let triggers = triggers.as_ref().map_or(&[][..], |all| {
            std::slice::from_raw_parts(all.triggers, all.numtriggers.max(0) as usize)
        });
        for trigger in triggers {
            if ours == Some(trigger.tgfoid) {
                let setup = Setup::locked(relation, trigger, schema);
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
