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
use super::setup::{Setup, cluster_column};
use super::strangers::check_rights;
use super::transition::Transition;
use super::under_way::{self, Write};
use super::{table, whole};
use crate::call::Call;
use crate::catalog::Schema;
use crate::catalog::names::{quoted, relation_name, table_name};
use crate::error::raise;
use crate::family::column::{Column, Named};
use crate::family::on::On;
use crate::family::row::Row;
use crate::family::value::same;
use crate::family::written::Changes;
use crate::memory;

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
        new: Transition,
    },
    Update {
        old: Transition,
        new: Transition,
    },
    Delete {
        old: Transition,
    },
}

/// A call of the trigger.
struct Statement<'a> {
    on: On<'a>,
    schema: Schema,
}

/// Runs the trigger. Returns the row to write if it was fired for a row, or else null.
pub fn run(call: &Call<'_>) -> pg_sys::HeapTuple {
    memory::prepare();
    let (statement, event) = Statement::of(call);
    if let Event::Row { old, new } = event {
        // SAFETY: PostgreSQL passes two rows of the relation.
        return unsafe { statement.keep_id(old, new) };
    }
    let setup = Setup::of(statement.on, statement.schema);
    check_rights(&setup);
    match event {
        Event::Before { write, updated } => statement.before(&setup, write, updated),
        Event::Insert { new } => statement.inserted(&setup, new),
        Event::Update { old, new } => statement.updated(&setup, old, new),
        Event::Delete { old } => statement.deleted(&setup, old),
        Event::Row { .. } => {}
    }
    std::ptr::null_mut()
}

impl<'a> Statement<'a> {
    /// Reads the call. Raises 39P01 if it is not one of the five triggers that `create` makes.
    fn of(call: &Call<'a>) -> (Self, Event) {
        let Some(data) = call.trigger_data() else {
            raise_protocol("simhash_cluster can only be called as a trigger")
        };
        let relation = data.tg_relation;
        // SAFETY: a transition table of the call has rows of the relation.
        let rows = |store| unsafe { Transition::open(store, relation) };
        let operation = data.tg_event & pg_sys::TRIGGER_EVENT_OPMASK;
        let is_update = operation == pg_sys::TRIGGER_EVENT_UPDATE;
        let is_before =
            data.tg_event & pg_sys::TRIGGER_EVENT_TIMINGMASK == pg_sys::TRIGGER_EVENT_BEFORE;
        let (old, new) = (data.tg_oldtable, data.tg_newtable);
        let event = if operation == pg_sys::TRIGGER_EVENT_TRUNCATE {
            raise_protocol("simhash_cluster must be fired by INSERT, UPDATE or DELETE")
        } else if data.tg_event & pg_sys::TRIGGER_EVENT_ROW != 0 {
            if !is_before || !is_update {
                raise_protocol(
                    "simhash_cluster must be fired BEFORE UPDATE if it is fired FOR EACH ROW",
                );
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
            Event::Update { old: rows(old), new: rows(new) }
        } else if operation == pg_sys::TRIGGER_EVENT_INSERT && !new.is_null() {
            Event::Insert { new: rows(new) }
        } else if operation == pg_sys::TRIGGER_EVENT_DELETE && !old.is_null() {
            Event::Delete { old: rows(old) }
        } else {
            raise_protocol("simhash_cluster requires the statement's transition tables")
        };
        // SAFETY: PostgreSQL passes the call, with its trigger.
        let on = unsafe { On::new(relation, &*data.tg_trigger) };
        (Statement { on, schema: Schema::of_call(call) }, event)
    }

    /// The row to write: with its old id, unless the UPDATE is our own.
    ///
    /// # Safety
    /// Both are rows of the relation.
    unsafe fn keep_id(&self, old: pg_sys::HeapTuple, new: pg_sys::HeapTuple) -> pg_sys::HeapTuple {
        let relation = self.on.table.raw();
        let Named { column, name } = cluster_column(self.on);
        // SAFETY: both are rows of the relation, which has the column.
        unsafe {
            let was = Row::of_tuple(old, relation).value(&column);
            let is = Row::of_tuple(new, relation).value(&column);
            if is_own_update(self.on.table.oid(), &name) || same(was, is) {
                return new;
            }
            let mut changes = Changes::default();
            changes.put(&column, was);
            changes.apply(new, (*relation).rd_att)
        }
    }

    /// Notes that the statement begins. A DELETE, and an UPDATE that may change what decides
    /// groups, take the column's lock here, before they lock rows: a transaction that finds all
    /// groups anew may have to write ids into those rows. Triggers of others may change any column.
    fn before(&self, setup: &Setup, write: Write, updated: Option<*const pg_sys::Bitmapset>) {
        if is_own_update(setup.table, &setup.cluster.name) {
            return;
        }
        under_way::write_begins(setup, write);
        // Other transactions cannot lock new rows, so INSERT needs no lock before it writes.
        if write == Write::Insert {
            return;
        }
        let concerns_groups = updated.is_none_or(|set| {
            let sets = |column: &Column| {
                let bit = i32::from(column.number) - pg_sys::FirstLowInvalidHeapAttributeNumber;
                // SAFETY: the set is null or a Bitmapset of the trigger's data.
                unsafe { pg_sys::bms_is_member(bit, set) }
            };
            setup.moving.iter().any(sets)
                || setup.deciding().any(sets)
                || self.on.table.has_row_triggers(Some(self.on.trigger.tgfoid))
        });
        if concerns_groups {
            self.take_lock();
        }
    }

    /// Takes the column's lock, shared. Returns the set-up as it is under that lock.
    fn take_lock(&self) -> Rc<Setup> {
        Setup::locked(self.on, self.schema, locks::share)
    }

    fn inserted(&self, setup: &Setup, new: Transition) {
        under_way::write_ends(setup, Write::Insert);
        let count = new.count();
        if count == 0 {
            return new.close();
        }
        // Finds all groups anew, if the column's lock is free to be taken exclusively at once. Two
        // loads that both share the lock would otherwise wait for each other.
        if is_bulk(setup, count) {
            let setup = self.take_lock();
            if locks::try_alone(&setup) {
                each_new(&setup, new, |_| {});
                whole::regroup_all(&setup);
                return;
            }
        }
        let mut components = Components::new(setup);
        let mut incomplete = Vec::new();
        each_new(setup, new, |row| match row.key {
            Some(key) if row.may_be_incomplete(setup) => incomplete.push(components.key(key)),
            _ if components.concerns_groups(&row) => components.change(&row, false),
            _ => {}
        });
        add_from_table(&mut components, &incomplete);
        self.apply(components);
    }

    fn deleted(&self, setup: &Setup, mut old: Transition) {
        under_way::write_ends(setup, Write::Delete);
        let mut components = Components::new(setup);
        while let Some(row) = old.next() {
            components.leave(&RowValues::of(row, setup));
        }
        old.close();
        self.apply(components);
    }

    /// Pairs the rows of the two transition tables. They have the same order, unless a row trigger
    /// kept a row from moving to another partition. A pair that differs in what decides groups
    /// counts as one row that is gone and one that is new. If keys differ on a partitioned table,
    /// the row with the old key is also read from the table: README.md says what MERGE passes as
    /// the new version.
    fn updated(&self, setup: &Setup, mut old: Transition, mut new: Transition) {
        let is_own = is_own_update(setup.table, &setup.cluster.name);
        if !is_own {
            under_way::write_ends(setup, Write::Update);
        }
        let mut components = Components::new(setup);
        let mut unseen = Vec::new();
        loop {
            let was = old.next().map(|row| (RowValues::of(row, setup), row));
            let is = new.next().map(|row| (RowValues::of(row, setup), row));
            match (was, is) {
                (None, None) => break,
                (Some((was, was_in)), Some((is, is_in))) if was.decides_as(&is) => {
                    if !is_own && !same(was.cluster, is.cluster) {
                        raise_given(setup);
                    }
                    // While the row moved to another partition, no search could find it.
                    if setup.moving.iter().any(|by| !same(was_in.value(by), is_in.value(by))) {
                        components.leave(&was);
                        components.change(&is, true);
                    }
                }
                (was, is) => {
                    let mut concerns = false;
                    if let Some((was, _)) = &was {
                        let unlike = is.as_ref().is_none_or(|(is, _)| !same(was.key, is.key));
                        if let (true, true, Some(key)) = (setup.is_partitioned, unlike, was.key) {
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
        new.close();
        old.close();
        if !unseen.is_empty() {
            let changed = components.changed_keys();
            unseen.retain(|key| !changed.contains(key));
        }
        add_from_table(&mut components, &unseen);
        self.apply(components);
    }

    fn apply(&self, components: Components<'_>) {
        if components.is_empty() {
            return;
        }
        refuse_meanwhile(components.setup);
        let setup = self.take_lock();
        // Partitions and indexes may have been added since the rows were read.
        let mut components = components;
        components.setup = &setup;
        settle(&mut components, HashSet::new(), setup.settle);
    }
}

/// Passes each new row to `sink`. Raises 428C9 if a row has an id.
fn each_new(setup: &Setup, mut new: Transition, mut sink: impl FnMut(RowValues<'_>)) {
    while let Some(row) = new.next() {
        let row = RowValues::of(row, setup);
        if row.cluster.is_some() {
            raise_given(setup);
        }
        sink(row);
    }
    new.close();
}

/// Adds rows as the table has them now, by their keys: the transition table may have other values.
fn add_from_table(components: &mut Components<'_>, keys: &[Key]) {
    table::rows_with(components, keys, &mut |all, row| all.change(&row, false));
}

/// With fewer rows than this, a search for each is always cheaper.
const FEW: usize = 10_000;
/// How many rows the join reads in the time that one search takes.
const JOINED: f64 = 8.0;
/// The same if texts are compared after fingerprints: that costs more than searching or joining.
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
            "column {column} of table \"{}\" can only be set by simhash_cluster",
            relation_name(setup.table)
        ),
        &format!(
            "Omit it, or set it to NULL. To restore rows with their group ids, first run ALTER \
             TABLE {table} DISABLE TRIGGER USER; and afterwards ENABLE TRIGGER USER."
        ),
    )
}

fn raise_protocol(message: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED,
        message.to_owned(),
        "Create the triggers by SELECT simhash_cluster_create('table', 'body=column', \
         'cluster=column', 'similarity=0.7');",
    )
}
