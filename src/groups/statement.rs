//! What fired the trigger, and what becomes of the statement's rows.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::ids::decide_and_tell;
use super::keys::NONE;
use super::looks::{self, What};
#[cfg(not(feature = "pg14"))]
use super::merge::may_have_moved;
use super::own::is_telling;
use super::regroup::{Holds, Kind, Regroup, Sought};
use super::search::search;
use super::settle::{add_groups, settle, settle_all};
use super::setup::{Settle, Setup};
use super::strangers::lender;
use super::table::Told;
use super::transition::{RowValues, Transition};
use super::{marks, table, whole};
use crate::catalog::Schema;
use crate::catalog::inheritance::partitions_by;
use crate::error::raise;
use crate::memory;

/// Rows of a statement, as PostgreSQL keeps them for a trigger.
type Rows = *mut pg_sys::Tuplestorestate;

enum Event {
    /// Of an UPDATE, the columns that it sets.
    Before {
        updated: Option<*const pg_sys::Bitmapset>,
        inserts: bool,
    },
    Insert {
        new: Rows,
    },
    Update {
        old: Rows,
        new: Rows,
    },
    Delete {
        old: Rows,
    },
}

struct Statement<'a> {
    relation: pg_sys::Relation,
    trigger: &'a pg_sys::Trigger,
    schema: Schema,
    event: Event,
}

/// Does what the trigger is for.
///
/// # Safety
/// PostgreSQL passes the call.
pub unsafe fn run(fcinfo: pg_sys::FunctionCallInfo) {
    // SAFETY: as this function's; the trigger's data live as long as the call.
    unsafe {
        memory::prepare();
        let statement = Statement::of(fcinfo);
        let setup = Setup::of(statement.relation, statement.trigger, statement.schema);
        // Whether it is refused must not depend on which rows there are.
        lender(&setup);
        match statement.event {
            Event::Before { updated, inserts } => {
                if inserts {
                    looks::begin(&setup, What::Insert);
                } else if updated.is_some() && setup.is_partitioned {
                    looks::begin(&setup, What::Update);
                }
                statement.before(&setup, updated);
            }
            Event::Insert { new } => statement.inserted(&setup, new),
            Event::Update { old, new } => statement.updated(&setup, old, new),
            Event::Delete { old } => statement.deleted(&setup, old),
        }
    }
}

impl Statement<'_> {
    /// Raises 39P01 if the function was not called as the trigger that it is meant to be.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn of(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: the context of a call by the trigger manager is a TriggerData.
        unsafe {
            let context = (*fcinfo).context;
            if context.is_null() || (*context).type_ != pg_sys::NodeTag::T_TriggerData {
                raise_protocol("simhash_cluster can only be called as a trigger");
            }
            let data = &*context.cast::<pg_sys::TriggerData>();
            if data.tg_event & pg_sys::TRIGGER_EVENT_ROW != 0 {
                raise_protocol("simhash_cluster must be fired FOR EACH STATEMENT");
            }
            let operation = data.tg_event & pg_sys::TRIGGER_EVENT_OPMASK;
            let is_update = operation == pg_sys::TRIGGER_EVENT_UPDATE;
            let (old, new) = (data.tg_oldtable, data.tg_newtable);
            let event = match data.tg_event & pg_sys::TRIGGER_EVENT_TIMINGMASK {
                _ if operation == pg_sys::TRIGGER_EVENT_TRUNCATE => {
                    raise_protocol("simhash_cluster has nothing to do at TRUNCATE")
                }
                pg_sys::TRIGGER_EVENT_BEFORE => Event::Before {
                    updated: is_update.then_some(data.tg_updatedcols),
                    inserts: operation == pg_sys::TRIGGER_EVENT_INSERT,
                },
                _ if is_update && !old.is_null() && !new.is_null() => Event::Update { old, new },
                _ if operation == pg_sys::TRIGGER_EVENT_INSERT && !new.is_null() => {
                    Event::Insert { new }
                }
                _ if operation == pg_sys::TRIGGER_EVENT_DELETE && !old.is_null() => {
                    Event::Delete { old }
                }
                _ => raise_protocol("simhash_cluster needs the statement's transition tables"),
            };
            Statement {
                relation: data.tg_relation,
                trigger: &*data.tg_trigger,
                schema: Schema::of_call(fcinfo),
                event,
            }
        }
    }

    /// The lock comes before the statement locks rows: whoever holds it may have to tell these rows
    /// new ids.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn before(&self, setup: &Setup, updated: Option<*const pg_sys::Bitmapset>) {
        // SAFETY: as this function's; the set is PostgreSQL's.
        let concerns_groups = unsafe {
            let sets = |column: pg_sys::AttrNumber, set| {
                let bit = i32::from(column) - pg_sys::FirstLowInvalidHeapAttributeNumber;
                pg_sys::bms_is_member(bit, set)
            };
            updated.is_none_or(|set| {
                (*(*self.relation).trigdesc).trig_update_before_row
                    || setup.deciding().any(|column| sets(column.number, set))
                    // Who waits to tell an id finds no row that has moved meanwhile.
                    || partitions_by(self.relation, set)
                    // Ids that are put back.
                    || sets(setup.cluster.column.number, set) && !is_telling(setup)
            })
        };
        if concerns_groups {
            // SAFETY: as this function's.
            unsafe { self.locked() };
        }
    }

    unsafe fn locked(&self) -> Rc<Setup> {
        // SAFETY: as run's.
        unsafe { Setup::locked(self.relation, self.trigger, self.schema) }
    }

    /// # Safety
    /// As [`run`].
    unsafe fn inserted(&self, setup: &Setup, new: Rows) {
        // SAFETY: as this function's.
        unsafe {
            let holds = if looks::end(setup, What::Insert) { Holds::Seen } else { Holds::Unseen };
            let count = Transition::count(new);
            if count == 0 {
                return;
            }
            if is_bulk(setup, count) {
                let locked = self.locked();
                return regroup_all(&locked, new, self.relation);
            }
            let mut changes = Changes::new(setup);
            let mut lacking = Vec::new();
            let mut rows = Transition::open(new, self.relation);
            while let Some(slot) = rows.next() {
                let row = RowValues::of(slot, setup);
                match row.key {
                    Some(key) if row.may_be_incomplete(setup) => {
                        let regroup = &mut changes.regroup;
                        lacking.push((regroup.number(key), regroup.id(row.cluster)));
                    }
                    _ if changes.regroup.concerns_groups(&row) => changes.regroup.add(&row, holds),
                    _ => {}
                }
            }
            rows.close();
            changes.add_from_table(lacking, holds);
            self.apply(changes);
        }
    }

    /// # Safety
    /// As [`run`].
    unsafe fn deleted(&self, setup: &Setup, old: Rows) {
        // SAFETY: as this function's.
        unsafe {
            let mut changes = Changes::new(setup);
            let may_have_moved = setup.is_partitioned && may_have_moved();
            let mut moved = Vec::new();
            let mut rows = Transition::open(old, self.relation);
            while let Some(slot) = rows.next() {
                let row = RowValues::of(slot, setup);
                if let (true, Some(key)) = (may_have_moved, row.key) {
                    moved.push(changes.regroup.number(key));
                }
                changes.regroup.leave(&row);
            }
            rows.close();
            changes.add_unseen(moved);
            self.apply(changes);
        }
    }

    /// Rows before and after stand in the same order in the two tables, unless a trigger kept a row
    /// from moving to another partition. What does not fit together is treated as a row that is
    /// gone and another one that has come. Of a partitioned table the row with the key before is
    /// looked up then: once MERGE has inserted a row, PostgreSQL takes that one for the new version
    /// of each row that it updates after it.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn updated(&self, setup: &Setup, old: Rows, new: Rows) {
        // SAFETY: as this function's.
        unsafe {
            let mut changes = Changes::new(setup);
            let telling = is_telling(setup);
            // Whoever looked while a row was in neither of two partitions has missed it. That no
            // column of the partition key is set is not known: PostgreSQL names one part's columns.
            let missed = setup.is_partitioned && looks::end(setup, What::Update) && !telling;
            let mut unseen = Vec::new();
            let mut before = Transition::open(old, self.relation);
            let mut after = Transition::open(new, self.relation);
            loop {
                let was = before.next().map(|slot| RowValues::of(slot, setup));
                let is = after.next().map(|slot| RowValues::of(slot, setup));
                match (was, is) {
                    (None, None) => break,
                    (Some(was), Some(is)) if was.decides_as(&is, setup) => {
                        let same = setup.cluster.column.same(was.cluster, is.cluster);
                        if !same && !telling {
                            changes.overwrite(&was, &is);
                        } else if missed {
                            changes.regroup.leave(&was);
                            changes.regroup.add(&is, Holds::Missed);
                        }
                    }
                    (was, is) => {
                        let regroup = &mut changes.regroup;
                        let mut concerns = false;
                        if let Some(was) = was {
                            let key = setup.key.column;
                            let unlike = is.as_ref().is_none_or(|is| !key.same(was.key, is.key));
                            if let (true, true, Some(key)) = (setup.is_partitioned, unlike, was.key)
                            {
                                unseen.push(regroup.number(key));
                            }
                            concerns = regroup.concerns_groups(&was);
                            regroup.leave(&was);
                        }
                        if let Some(is) = is
                            && (concerns || regroup.concerns_groups(&is))
                        {
                            regroup.add(&is, Holds::Seen);
                        }
                    }
                }
            }
            after.close();
            before.close();
            changes.add_unseen(unseen);
            self.apply(changes);
        }
    }

    /// # Safety
    /// As [`run`].
    unsafe fn apply(&self, changes: Changes<'_>) {
        if changes.is_empty() {
            return;
        }
        // SAFETY: as this function's.
        let setup = unsafe { self.locked() };
        looks::look(&setup);
        let Changes { mut regroup, overwritten } = changes;
        // Partitions and indexes may have come since the rows were read.
        regroup.setup = &setup;
        // SAFETY: as this function's.
        let seen = unsafe { restore(&mut regroup, overwritten) };
        let values = |regroup: &Regroup<'_>, numbers: &HashSet<u32>| -> Vec<pg_sys::Datum> {
            numbers.iter().map(|&number| regroup.keys.value(number)).collect()
        };
        let (ids, bare) = (values(&regroup, &seen.ids), values(&regroup, &seen.bare));
        // With the statement's own fresh rows, or one of these would give a row a group before it
        // is looked at.
        add_groups(&mut regroup, &ids, &bare);
        if regroup.has_fresh() {
            search(&mut regroup);
            decide_and_tell(&mut regroup);
        }
        if regroup.has_left() {
            let left = regroup.left();
            match setup.settle {
                Settle::Later if !regroup.is_disturbed => marks::mark(&regroup, &left),
                _ => {
                    let ids: Vec<_> = left.iter().map(|&id| regroup.keys.value(id)).collect();
                    let lone = regroup.lone.iter().map(|&key| regroup.keys.value(key));
                    settle(&setup, ids, lone.collect());
                }
            }
        }
    }
}

/// What a statement has done to groups.
struct Changes<'a> {
    regroup: Regroup<'a>,
    /// Updates of rows in which somebody else has set an id, in their order.
    overwritten: Vec<Overwritten>,
}

/// An update that sets a row's id, and changes nothing that decides what it is.
struct Overwritten {
    key: u32,
    /// The id before and after.
    was: u32,
    is: u32,
    /// Where the row was, if it was in a group.
    place: Option<Sought>,
}

/// What is looked at again where somebody else has set ids.
#[derive(Default)]
struct Seen {
    /// Groups.
    ids: HashSet<u32>,
    /// Rows that are in no group.
    bare: HashSet<u32>,
}

impl<'a> Changes<'a> {
    fn new(setup: &'a Setup) -> Self {
        Changes { regroup: Regroup::new(setup), overwritten: Vec::new() }
    }

    fn is_empty(&self) -> bool {
        !self.regroup.has_fresh() && !self.regroup.has_left() && self.overwritten.is_empty()
    }

    /// Takes in new rows, of which the keys are known and the ids that they were given.
    fn add_from_table(&mut self, rows: Vec<(u32, u32)>, holds: Holds) {
        let regroup = &mut self.regroup;
        let keys: Vec<_> = rows.iter().map(|&(key, _)| regroup.keys.value(key)).collect();
        let given: HashMap<u32, u32> = rows.into_iter().collect();
        let setup = regroup.setup;
        table::rows_with(setup, &keys, &mut |row| {
            let Some(key) = row.key else { return };
            // SAFETY: the values are of the table's columns.
            unsafe {
                let id = given.get(&regroup.number(key)).copied().unwrap_or(NONE);
                let cluster = (id != NONE).then(|| regroup.keys.value(id));
                regroup.add(&RowValues { cluster, ..row }, holds);
            }
        });
    }

    /// Takes in rows with these keys, if they are there and were not seen to have changed. What
    /// their column of ids holds does not count.
    fn add_unseen(&mut self, mut keys: Vec<u32>) {
        let regroup = &mut self.regroup;
        keys.retain(|&key| regroup.rows[key as usize].kind == Kind::Absent);
        let keys: Vec<_> = keys.into_iter().map(|key| regroup.keys.value(key)).collect();
        let setup = regroup.setup;
        // SAFETY: the values are of the table's columns.
        table::rows_with(setup, &keys, &mut |row| unsafe { regroup.add(&row, Holds::Seen) });
    }

    /// # Safety
    /// The values are of the trigger's table.
    unsafe fn overwrite(&mut self, was: &RowValues, is: &RowValues) {
        let Some(key) = was.key else { return };
        // SAFETY: as this function's; numbers keep copies of the values.
        unsafe {
            let regroup = &mut self.regroup;
            let key = regroup.number(key);
            let place = was.cluster.and_then(|_| regroup.sought(was));
            let (was, is) = (regroup.id(was.cluster), regroup.id(is.cluster));
            self.overwritten.push(Overwritten { key, was, is, place });
            if self.overwritten.len().is_multiple_of(1024) {
                // As much again when they are put back.
                let rows = 2 * self.overwritten.capacity();
                self.regroup.check_memory(rows * size_of::<Overwritten>());
            }
        }
    }
}

/// Puts back ids that somebody else has set. Another part of the statement, or a statement inside
/// it, may have seen them, and taken for a group what is none. So what had one of these ids, before
/// or after or now, is looked at again, and so are the neighbours of a row that is not where it
/// was: whoever took it away did not see its group.
///
/// # Safety
/// Keys are of the trigger's table.
unsafe fn restore(regroup: &mut Regroup<'_>, mut overwritten: Vec<Overwritten>) -> Seen {
    let mut seen = Seen::default();
    if overwritten.is_empty() {
        return seen;
    }
    let set = overwritten.iter().flat_map(|row| [row.was, row.is]);
    seen.ids.extend(set.filter(|&id| id != NONE));
    // The first of several updates of a row has seen the id that it is to have again.
    overwritten.sort_by_key(|row| row.key);
    overwritten.dedup_by_key(|row| row.key);
    let bare = overwritten.iter().filter(|row| row.was == NONE);
    seen.bare.extend(bare.map(|row| row.key));
    let mut places: HashMap<u32, Sought> =
        overwritten.iter().filter_map(|row| Some((row.key, row.place?))).collect();
    let keys: Vec<_> = overwritten.iter().map(|row| regroup.keys.value(row.key)).collect();
    // The ids of the rows that are still there.
    let mut held: HashMap<u32, u32> = HashMap::new();
    let setup = regroup.setup;
    table::rows_with(setup, &keys, &mut |row| {
        let Some(key) = row.key else { return };
        // SAFETY: as this function's; numbers keep copies of the values.
        unsafe {
            let (key, id, place) =
                (regroup.number(key), regroup.id(row.cluster), regroup.sought(&row));
            seen.ids.extend((id != NONE).then_some(id));
            held.insert(key, id);
            // What its text was is not known.
            if setup.verification.is_none() && places.get(&key).copied() == place {
                places.remove(&key);
            }
        }
    });
    let value = |number: u32| (number != NONE).then(|| regroup.keys.value(number));
    let others =
        overwritten.iter().filter(|row| held.get(&row.key).is_some_and(|&id| id != row.was));
    let told: Vec<Told> = others.map(|row| (regroup.keys.value(row.key), value(row.was))).collect();
    let meanwhile = table::tell(setup, &told);
    // A statement inside may have given other names to groups that are looked at again.
    // SAFETY: ids of the same column.
    seen.ids.extend(meanwhile.ids.into_iter().map(|id| unsafe { regroup.number(id) }));
    regroup.leave_from(places.into_values());
    seen
}

/// PostgreSQL 14 has no MERGE.
#[cfg(feature = "pg14")]
fn may_have_moved() -> bool {
    false
}

/// Below this many rows a search for each is always right.
const FEW: usize = 10_000;
/// How many rows of the table the join reads in the time of one search.
const JOINED: f64 = 8.0;
/// The same if texts are compared, which costs more than either.
const JOINED_BY_TEXT: f64 = 2.0;

/// Whether so many new rows are so large a part of the table that finding all groups anew costs
/// less than a search for each of them.
fn is_bulk(setup: &Setup, rows: usize) -> bool {
    let joined = if setup.verification.is_some() { JOINED_BY_TEXT } else { JOINED };
    rows >= FEW
        && whole::joinable(setup)
            .is_some_and(|(member, _)| whole::rows_about(member) <= rows as f64 * joined)
}

/// # Safety
/// As [`run`]; the family's lock is held.
unsafe fn regroup_all(setup: &Setup, new: Rows, relation: pg_sys::Relation) {
    // SAFETY: as this function's.
    unsafe {
        // Rows that were given an id: it says nothing.
        let mut given = Vec::new();
        let mut rows = Transition::open(new, relation);
        while let Some(slot) = rows.next() {
            let row = RowValues::of(slot, setup);
            if let (Some(key), Some(_)) = (row.key, row.cluster) {
                given.push(setup.key.column.copy(key));
            }
        }
        rows.close();
        settle_all(setup, &given);
    }
}

fn raise_protocol(message: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
        message.to_owned(),
        "SELECT simhash_cluster_create('table', 'fp=column', 'cluster=column', ...); \
         makes the triggers.",
    )
}
