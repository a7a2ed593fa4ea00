//! Reads rows of the table by group or key, and writes ids. Both need privileges, usually the table
//! owner's: ids belong to the table, not to the role that writes to it.

use std::collections::HashMap;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::access::{Access, Returned};
use super::components::Components;
use super::keys::Key;
use super::own_update::OwnUpdate;
use super::row::{At, RowValues};
use super::setup::Setup;
use super::sql::{Equal, Parameter};
use super::strangers::rights_for_ids;
use crate::catalog::names::{qualified_name, quoted, relation_name};
use crate::error::raise;
use crate::family::column::Named;
use crate::family::scan::Opened;
use crate::family::snapshot::Snapshot;
use crate::family::value::Value;
use crate::types::tid;

/// The most values that one query names, so that its arrays stay small.
const MAX_VALUES: usize = 1 << 20;

fn name(setup: &Setup) -> String {
    qualified_name(setup.table).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!("table {} is gone", relation_name(setup.table)),
            "",
        )
    })
}

/// A consumer of rows. It adds their values to the components.
type Sink<'a, 'c> = &'a mut dyn FnMut(&mut Components<'c>, RowValues<'_>);

/// Passes every row of some groups to `sink`.
pub fn rows_of<'c>(components: &mut Components<'c>, ids: &[Key], sink: Sink<'_, 'c>) {
    rows_by(components, &components.setup.cluster, ids, sink);
}

/// Passes every row with one of some keys to `sink`.
pub fn rows_with<'c>(components: &mut Components<'c>, keys: &[Key], sink: Sink<'_, 'c>) {
    rows_by(components, &components.setup.key, keys, sink);
}

/// Joins the values, because `= ANY ($1)` compares each row with each value unless they are
/// constants.
fn rows_by<'c>(components: &mut Components<'c>, column: &Named, keys: &[Key], sink: Sink<'_, 'c>) {
    let setup = components.setup;
    let condition = format!(
        ", ROWS FROM (pg_catalog.unnest($1)) AS u(value) WHERE {}",
        Equal::of(&setup.key.column).to(&quoted(&column.name), "u.value")
    );
    for keys in keys.chunks(MAX_VALUES) {
        let values = keys.iter().map(|&key| Some(components.keys.value(key)));
        let values = Parameter::array(setup.key.column.base, values);
        read(components, &condition, &[values], sink);
    }
}

/// Passes every row of the table to `sink`.
pub fn all_rows<'c>(components: &mut Components<'c>, sink: Sink<'_, 'c>) {
    read(components, "", &[], sink);
}

fn read<'c>(
    components: &mut Components<'c>,
    condition: &str,
    parameters: &[Parameter],
    sink: Sink<'_, 'c>,
) {
    let setup = components.setup;
    let columns: String = [&setup.key, &setup.cluster, &setup.searched]
        .into_iter()
        .chain(&setup.scope)
        .map(|named| format!(", t.{}", quoted(&named.name)))
        .collect();
    let source = format!("SELECT t.tableoid, t.ctid{columns} FROM {} AS t{condition}", name(setup));
    let members = setup.family.members.iter().zip(0..);
    let numbers: HashMap<pg_sys::Oid, u32> =
        members.map(|(member, number)| (member.table, number)).collect();
    access(setup).query(&source, parameters, &mut |row| {
        let member = row.oid(1).and_then(|oid| numbers.get(&oid).copied());
        let at = member.zip(row.tid(2)).map(|(member, tid)| At { member, tid });
        let scope = setup.scope.iter().zip(6..);
        let values = RowValues {
            key: row.value(3, &setup.key.column),
            cluster: row.value(4, &setup.cluster.column),
            searched: row.value(5, &setup.searched.column),
            scope: scope.map(|(named, number)| row.value(number, &named.column)).collect(),
            text: None,
            at,
        };
        sink(components, values);
    });
}

fn access(setup: &Setup) -> Access {
    Access {
        table: setup.table,
        lender: rights_for_ids(setup),
        schema: setup.schema,
        equality: Some(setup.key.column.equality()),
    }
}

/// A row, and the id to write into it.
#[derive(Clone, Copy)]
pub struct NewId {
    pub at: At,
    pub key: Value<'static>,
    pub id: Option<Value<'static>>,
    /// Whether the statement has written this row, so that no other transaction can change it.
    pub is_own: bool,
}

/// Writes new ids into rows, which are [locked](lock_rows).
pub fn write_ids(setup: &Setup, new_ids: &[NewId]) {
    if new_ids.is_empty() {
        return;
    }
    let changed = update(setup, new_ids);
    if changed < new_ids.len() as u64 {
        raise(
            PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION,
            format!(
                "only {changed} of {} rows of table \"{}\" could be assigned a group id",
                new_ids.len(),
                relation_name(setup.table)
            ),
            "A BEFORE UPDATE trigger must not suppress or modify updates of the group ids' column.",
        )
    }
}

/// Locks the rows that get new ids, except the statement's own, in the order of their places.
/// Returns false if one has changed, or is gone.
pub fn lock_rows(setup: &Setup, new_ids: &[NewId]) -> bool {
    let others = new_ids.iter().filter(|row| !row.is_own).map(|row| row.at);
    let mut others = others.peekable();
    while let Some(&At { member: number, .. }) = others.peek() {
        let member = &setup.family.members[number as usize];
        let any = Snapshot::any();
        let Some(mut opened) = Opened::open(member, &any) else { return false };
        let mut are_there = true;
        while let Some(at) = others.next_if(|at| are_there && at.member == number) {
            pgrx::check_for_interrupts!();
            are_there = opened.lock_row(at.tid);
        }
        opened.close();
        if !are_there {
            return false;
        }
    }
    true
}

/// Writes ids by one UPDATE. Returns how many rows it has changed.
fn update(setup: &Setup, new_ids: &[NewId]) -> u64 {
    let (key, cluster) = (&setup.key, &setup.cluster);
    // The rows are locked, so each is still at its place.
    let table =
        if setup.is_partitioned { " AND t.tableoid OPERATOR(pg_catalog.=) u.tab" } else { "" };
    let source = format!(
        "UPDATE {} AS t SET {cluster} = u.id FROM ROWS FROM (pg_catalog.unnest($1), \
         pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4)) \
         AS u(tab, tid, key, id) WHERE t.ctid OPERATOR(pg_catalog.=) u.tid{table} \
         RETURNING t.{key}, t.{cluster}, u.key, u.id",
        name(setup),
        key = quoted(&key.name),
        cluster = quoted(&cluster.name),
    );
    let tids: Vec<_> = new_ids.iter().map(|row| tid::unpack(row.at.tid)).collect();
    let table_of = |row: &NewId| setup.family.members[row.at.member as usize].table;
    let (base, rows) = (key.column.base, || new_ids.iter());
    let parameters = [
        Parameter::array(pg_sys::OIDOID, rows().map(|row| Some(Value::oid(table_of(row))))),
        Parameter::array(pg_sys::TIDOID, tids.iter().map(|tid| Some(Value::tid(tid)))),
        Parameter::array(base, rows().map(|row| Some(row.key))),
        Parameter::array(base, rows().map(|row| row.id)),
    ];
    let own_update = OwnUpdate::begin(setup);
    let mut took_all = |row: &Returned<'_>| {
        let value = |number| row.value(number, &key.column);
        let took = key.column.is(value(1), value(3)) && key.column.is(value(2), value(4));
        if !took {
            raise(
                PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION,
                format!(
                    "keys or ids of table \"{}\" were modified by a trigger while group ids were \
                     assigned",
                    relation_name(setup.table)
                ),
                "A BEFORE UPDATE trigger must not suppress or modify updates of the group ids' \
                 column.",
            )
        }
    };
    let access = Access { equality: None, ..access(setup) };
    access.execute_repeatable(&source, &parameters, &mut took_all, &mut || own_update.written())
}
