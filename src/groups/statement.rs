//! Reads from a trigger's call what fired it, and does what that event needs.

use std::collections::HashSet;
use std::rc::Rc;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::components::Components;
use super::keys::Key;
use super::locks;
use super::own_update::{is_own_update, refuse_meanwhile};
use super::row::RowValues;
use super::settle::settle;
use super::setup::{Setup, cluster_column, has_row_triggers};
use super::strangers::check_rights;
use super::transition::Transition;
use super::under_way::{self, Write};
use super::{table, whole};
use crate::call::trigger_data;
use crate::catalog::Schema;
use crate::catalog::names::{quoted, relation_name, table_name};
use crate::error::raise;
use crate::memory;

/// A transition table.
type Rows = *mut pg_sys::Tuplestorestate;

enum Event {
    /// `updated`: for an UPDATE, the columns that it sets.
    Before {
        write: Write,
        updated: Option<*const pg_sys::Bitmapset>,
    },
    /// An UPDATE of the ids' column is about to write a row.
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

/// Runs the trigger. Returns the row to write if it was fired for a row, or else null.
///
/// # Safety
/// PostgreSQL passes the call.
pub unsafe fn run(fcinfo: pg_sys::FunctionCallInfo) -> pg_sys::HeapTuple {
    // SAFETY: PostgreSQL passes the call, and the trigger's data live as long as the call.
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
    /// Reads the call. Raises 39P01 if it is not one of the five triggers that `create` makes.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn of(fcinfo: pg_sys::FunctionCallInfo) -> Self {
        // SAFETY: PostgreSQL passes the call, and its trigger's data live as long as the call.
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

    /// The row to write: with its old id, unless the UPDATE is our own.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn keep_id(&self, old: pg_sys::HeapTuple, new: pg_sys::HeapTuple) -> pg_sys::HeapTuple {
        // SAFETY: both rows are of the relation, which is open and has the column.
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

    /// Notes that the statement begins. A DELETE, and an UPDATE that may change what decides
    /// groups, take the column's lock here, before they lock rows: a transaction that finds all
    /// groups anew may have to write ids into those rows. Triggers of others may change any column.
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
        // Other transactions cannot lock new rows, so INSERT needs no lock before it writes.
        if write == Write::Insert {
            return;
        }
        // SAFETY: the set is null or a Bitmapset of the trigger's data. The relation is open.
        let concerns_groups = unsafe {
            let sets = |column: pg_sys::AttrNumber, set| {
                let bit = i32::from(column) - pg_sys::FirstLowInvalidHeapAttributeNumber;
                pg_sys::bms_is_member(bit, set)
            };
            updated.is_none_or(|set| {
                setup.moving.iter().any(|column| sets(column.number, set))
                    || setup.deciding().any(|column| sets(column.number, set))
                    || has_row_triggers(self.relation, Some(self.trigger.tgfoid))
            })
        };
        if concerns_groups {
            // SAFETY: the relation is open during the call.
            unsafe { self.take_lock() };
        }
    }

    /// Takes the column's lock, shared. Returns the set-up as it is under that lock.
    unsafe fn take_lock(&self) -> Rc<Setup> {
        // SAFETY: the relation is open during the call, and the trigger is one of its triggers.
        unsafe { Setup::locked(self.relation, self.trigger, self.schema, locks::share) }
    }

    /// # Safety
    /// As [`run`].
    unsafe fn inserted(&self, setup: &Setup, new: Rows) {
        // SAFETY: `new` is the transition table of this call, with rows of the open relation.
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

    /// Finds all groups anew, if the column's lock is free to be taken exclusively at once. Returns
    /// whether it was. Two loads that both share the lock would otherwise wait for each other.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn inserted_in_bulk(&self, new: Rows) -> bool {
        // SAFETY: the relation is open, and `new` is the transition table of this call.
        unsafe {
            let setup = self.take_lock();
            if !locks::try_alone(&setup) {
                return false;
            }
            self.each_new(&setup, new, |_| {});
            whole::regroup_all(&setup);
            true
        }
    }

    /// Passes each new row to `sink`. Raises 428C9 if a row has an id.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn each_new(&self, setup: &Setup, new: Rows, mut sink: impl FnMut(RowValues)) {
        // SAFETY: `new` is the transition table of this call, with rows of the open relation.
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
        // SAFETY: `old` is the transition table of this call, with rows of the open relation.
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

    /// Pairs the rows of the two transition tables. They have the same order, unless a row trigger
    /// kept a row from moving to another partition. A pair that differs in what decides groups
    /// counts as one row that is gone and one that is new. If keys differ on a partitioned table,
    /// the row with the old key is also read from the table: README.md says what MERGE passes as
    /// the new version.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn updated(&self, setup: &Setup, old: Rows, new: Rows) {
        // SAFETY: both are transition tables of this call, with rows of the open relation. A slot
        // is read before the next row replaces its contents.
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
                        // While the row moved to another partition, no search could find it.
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
        // SAFETY: the relation is open during the call.
        let setup = unsafe { self.take_lock() };
        // Partitions and indexes may have been added since the rows were read.
        let mut components = components;
        components.setup = &setup;
        settle(&mut components, HashSet::new(), setup.settle);
    }
}

/// Adds rows as the table has them now, by their keys: the transition table may have other values.
fn add_from_table(components: &mut Components<'_>, keys: &[Key]) {
    // SAFETY: `rows_with` passes values of the table's columns.
    table::rows_with(components, keys, &mut |all, row| unsafe { all.change(&row, false) });
}

/// With fewer rows than this, a search for each is always cheaper.
const FEW: usize = 10_000;
/// How many rows the join reads in the time that one search takes.
const JOINED: f64 = 8.0;
/// The same if texts are compared: comparing costs more than searching or joining.
const JOINED_BY_TEXT: f64 = 2.0;

/// Whether the new rows are so large a part of the table that finding all groups anew costs less
/// than a search for each row.
fn is_bulk(setup: &Setup, rows: usize) -> bool {
    let joined = if setup.verification.is_some() { JOINED_BY_TEXT } else { JOINED };
    rows >= FEW
        && whole::joinable(setup)
            .is_some_and(|(member, _)| whole::rows_about(member) <= rows as f64 * joined)
}

/// Raises 428C9: only this trigger sets ids.
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
