//! What fired a trigger, and what becomes of the statement's rows.

use std::collections::HashSet;
use std::rc::Rc;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::components::Components;
use super::keys::Key;
use super::locks;
use super::own_update::{is_own_update, refuse_meanwhile};
use super::row::RowValues;
use super::settle::settle;
use super::setup::{Setup, cluster_column};
use super::strangers::check_rights;
use super::transition::Transition;
use super::under_way::{self, Write};
use super::{table, whole};
use crate::call::trigger_data;
use crate::catalog::Schema;
use crate::catalog::names::{quoted, relation_name, table_name};
use crate::error::raise;
use crate::memory;

/// Rows of a statement, as PostgreSQL keeps them for a trigger.
type Rows = *mut pg_sys::Tuplestorestate;

enum Event {
    /// Of an UPDATE, the columns that it sets.
    Before {
        write: Write,
        updated: Option<*const pg_sys::Bitmapset>,
    },
    /// A row is about to be updated, with an id.
    Row {
        old: pg_sys::HeapTuple,
        new: pg_sys::HeapTuple,
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

/// Does what the trigger is for. Returns the row, if it was fired for one.
///
/// # Safety
/// PostgreSQL passes the call.
pub unsafe fn run(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::HeapTuple {
    // SAFETY: as this function's; the trigger's data live as long as the call.
    unsafe {
        memory::prepare();
        let statement = Statement::of(fcinfo);
        if let Event::Row { old, new } = statement.event {
            return statement.keep_id(old, new);
        }
        let setup = Setup::of(statement.relation, statement.trigger, statement.schema);
        check_rights(&setup);
        match statement.event {
            Event::Before { write, updated } => statement.before(&setup, write, updated),
            Event::Insert { new } => statement.inserted(&setup, new),
            Event::Update { old, new } => statement.updated(&setup, old, new),
            Event::Delete { old } => statement.deleted(&setup, old),
            Event::Row { .. } => {}
        }
        std::ptr::null_mut()
    }
}

impl Statement<'_> {
    /// Raises 39P01 if the function was not called as the trigger that it is meant to be.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn of(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: as this function's.
        unsafe {
            let Some(data) = trigger_data(fcinfo) else {
                raise_protocol("simhash_cluster can only be called as a trigger")
            };
            let operation = data.tg_event & pg_sys::TRIGGER_EVENT_OPMASK;
            let is_update = operation == pg_sys::TRIGGER_EVENT_UPDATE;
            let is_before =
                data.tg_event & pg_sys::TRIGGER_EVENT_TIMINGMASK == pg_sys::TRIGGER_EVENT_BEFORE;
            let (old, new) = (data.tg_oldtable, data.tg_newtable);
            let event = if operation == pg_sys::TRIGGER_EVENT_TRUNCATE {
                raise_protocol("simhash_cluster has nothing to do at TRUNCATE")
            } else if data.tg_event & pg_sys::TRIGGER_EVENT_ROW != 0 {
                if !is_before || !is_update {
                    raise_protocol("simhash_cluster is fired for rows only BEFORE UPDATE");
                }
                Event::Row { old: data.tg_trigtuple, new: data.tg_newtuple }
            } else if is_before {
                let write = match operation {
                    pg_sys::TRIGGER_EVENT_INSERT => Write::Insert,
                    pg_sys::TRIGGER_EVENT_UPDATE => Write::Update,
                    _ => Write::Delete,
                };
                Event::Before { write, updated: is_update.then_some(data.tg_updatedcols) }
            } else if is_update && !old.is_null() && !new.is_null() {
                Event::Update { old, new }
            } else if operation == pg_sys::TRIGGER_EVENT_INSERT && !new.is_null() {
                Event::Insert { new }
            } else if operation == pg_sys::TRIGGER_EVENT_DELETE && !old.is_null() {
                Event::Delete { old }
            } else {
                raise_protocol("simhash_cluster needs the statement's transition tables")
            };
            Statement {
                relation: data.tg_relation,
                trigger: &*data.tg_trigger,
                schema: Schema::of_call(fcinfo),
                event,
            }
        }
    }

    /// The row as it is to be written: nobody but this gives ids.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn keep_id(&self, old: pg_sys::HeapTuple, new: pg_sys::HeapTuple) -> pg_sys::HeapTuple {
        // SAFETY: as this function's: rows of the relation, which has the column.
        unsafe {
            let (relation, descriptor) = ((*self.relation).rd_id, (*self.relation).rd_att);
            let cluster = cluster_column(self.relation, self.trigger);
            let column = cluster.column;
            let was = column.read(old, descriptor);
            if is_own_update(relation, &cluster.name)
                || column.same(was, column.read(new, descriptor))
            {
                return new;
            }
            let mut number = i32::from(column.number);
            let (mut value, mut is_null) = (was.unwrap_or(pg_sys::Datum::null()), was.is_none());
            let (value, is_null) = (&raw mut value, &raw mut is_null);
            pg_sys::heap_modify_tuple_by_cols(new, descriptor, 1, &mut number, value, is_null)
        }
    }

    /// The lock comes before the statement locks rows: whoever finds all groups anew may have to
    /// write ids into these rows.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn before(
        &self,
        setup: &Setup,
        write: Write,
        updated: Option<*const pg_sys::Bitmapset>,
    ) {
        if is_own_update(setup.table, &setup.cluster.name) {
            return;
        }
        under_way::write_begins(setup, write);
        // New rows are invisible to others, so INSERT needs no lock before it writes.
        if write == Write::Insert {
            return;
        }
        // SAFETY: as this function's; the set is PostgreSQL's.
        let concerns_groups = unsafe {
            let sets = |column: pg_sys::AttrNumber, set| {
                let bit = i32::from(column) - pg_sys::FirstLowInvalidHeapAttributeNumber;
                pg_sys::bms_is_member(bit, set)
            };
            updated.is_none_or(|set| {
                setup.moving.iter().any(|column| sets(column.number, set))
                    || setup.deciding().any(|column| sets(column.number, set))
            })
        };
        if concerns_groups {
            // SAFETY: as this function's.
            unsafe { self.take_lock() };
        }
    }

    /// Shares the column's lock. Returns the set-up as it is now.
    unsafe fn take_lock(&self) -> Rc<Setup> {
        // SAFETY: as run's.
        unsafe { Setup::locked(self.relation, self.trigger, self.schema, locks::share) }
    }

    /// # Safety
    /// As [`run`].
    unsafe fn inserted(&self, setup: &Setup, new: Rows) {
        // SAFETY: as this function's.
        unsafe {
            under_way::write_ends(setup, Write::Insert);
            let count = Transition::count(new);
            if count == 0 || is_bulk(setup, count) && self.inserted_in_bulk(new) {
                return;
            }
            let mut components = Components::new(setup);
            let mut incomplete = Vec::new();
            self.each_new(setup, new, |row| match row.key {
                Some(key) if row.may_be_incomplete(setup) => incomplete.push(components.key(key)),
                _ if components.concerns_groups(&row) => components.change(&row, false),
                _ => {}
            });
            add_from_table(&mut components, &incomplete);
            self.apply(components);
        }
    }

    /// Finds all groups anew, if the column's lock can be had alone at once: two loads that share
    /// it would wait for each other. Returns whether it could.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn inserted_in_bulk(&self, new: Rows) -> bool {
        // SAFETY: as this function's.
        unsafe {
            let setup = self.take_lock();
            if !locks::try_alone(&setup) {
                return false;
            }
            self.each_new(&setup, new, |_| {});
            refuse_meanwhile(&setup);
            whole::regroup_all(&setup);
            true
        }
    }

    /// Hands each new row to `sink`. Raises 428C9 if one was given an id.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn each_new(&self, setup: &Setup, new: Rows, mut sink: impl FnMut(RowValues)) {
        // SAFETY: as this function's.
        unsafe {
            let mut rows = Transition::open(new, self.relation);
            while let Some(slot) = rows.next() {
                let row = RowValues::of(slot, setup);
                if row.cluster.is_some() {
                    raise_given(setup);
                }
                sink(row);
            }
            rows.close();
        }
    }

    /// # Safety
    /// As [`run`].
    unsafe fn deleted(&self, setup: &Setup, old: Rows) {
        // SAFETY: as this function's.
        unsafe {
            under_way::write_ends(setup, Write::Delete);
            let mut components = Components::new(setup);
            let mut rows = Transition::open(old, self.relation);
            while let Some(slot) = rows.next() {
                components.leave(&RowValues::of(slot, setup));
            }
            rows.close();
            self.apply(components);
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
            let is_own = is_own_update(setup.table, &setup.cluster.name);
            if !is_own {
                under_way::write_ends(setup, Write::Update);
            }
            let mut components = Components::new(setup);
            let mut unseen = Vec::new();
            let mut before = Transition::open(old, self.relation);
            let mut after = Transition::open(new, self.relation);
            loop {
                let was = before.next().map(|slot| (RowValues::of(slot, setup), slot));
                let is = after.next().map(|slot| (RowValues::of(slot, setup), slot));
                match (was, is) {
                    (None, None) => break,
                    (Some((was, was_in)), Some((is, is_in))) if was.decides_as(&is, setup) => {
                        if !is_own && !setup.cluster.column.same(was.cluster, is.cluster) {
                            raise_given(setup);
                        }
                        // Nobody has seen it while it was on its way to another partition.
                        if setup.may_move(was_in, is_in) {
                            components.leave(&was);
                            components.change(&is, true);
                        }
                    }
                    (was, is) => {
                        let mut concerns = false;
                        if let Some((was, _)) = &was {
                            let key = setup.key.column;
                            let unlike =
                                is.as_ref().is_none_or(|(is, _)| !key.same(was.key, is.key));
                            if let (true, true, Some(key)) = (setup.is_partitioned, unlike, was.key)
                            {
                                unseen.push(components.key(key));
                            }
                            concerns = components.concerns_groups(was);
                            components.leave(was);
                        }
                        if let Some((is, _)) = &is
                            && (concerns || components.concerns_groups(is))
                        {
                            components.change(is, false);
                        }
                    }
                }
            }
            after.close();
            before.close();
            if !unseen.is_empty() {
                let changed = components.changed_keys();
                unseen.retain(|key| !changed.contains(key));
            }
            add_from_table(&mut components, &unseen);
            self.apply(components);
        }
    }

    /// # Safety
    /// As [`run`].
    unsafe fn apply(&self, components: Components<'_>) {
        if components.is_empty() {
            return;
        }
        refuse_meanwhile(components.setup);
        // SAFETY: as this function's.
        let setup = unsafe { self.take_lock() };
        // Partitions and indexes may have come since the rows were read.
        let mut components = components;
        components.setup = &setup;
        settle(&mut components, HashSet::new(), setup.settle);
    }
}

/// Takes in rows that are not as the statement's transition table has them, by their keys.
fn add_from_table(components: &mut Components<'_>, keys: &[Key]) {
    // SAFETY: the values are of the table's columns.
    table::rows_with(components, keys, &mut |all, row| unsafe { all.change(&row, false) });
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

/// Raises 428C9: somebody else gives ids.
fn raise_given(setup: &Setup) -> ! {
    let (table, column) = (table_name(setup.table), quoted(&setup.cluster.name));
    raise(
        PgSqlErrorCode::ERRCODE_GENERATED_ALWAYS,
        format!(
            "column {column} of table \"{}\" holds ids of groups, which simhash_cluster gives",
            relation_name(setup.table)
        ),
        &format!(
            "Leave it out, or let it be NULL. To restore rows with their ids: \
             ALTER TABLE {table} DISABLE TRIGGER USER; and ENABLE it afterwards."
        ),
    )
}

fn raise_protocol(message: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
        message.to_owned(),
        "SELECT simhash_cluster_create('table', 'body=column', 'cluster=column', \
         'similarity=0.7'); makes the triggers.",
    )
}
