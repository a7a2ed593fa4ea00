//! The rows of the table, by their groups, and new ids for rows: with the rights of the table's
//! owner if that may be, for ids belong to the table, and not to whoever writes to it.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::access::Access;
use super::own::{Meanwhile, Telling};
use super::setup::Setup;
use super::sql::{Equal, Parameter, array};
use super::strangers::lender;
use super::transition::RowValues;
use crate::catalog::names::{qualified_name, quoted, relation_name};
use crate::error::raise;
use crate::family::column::Named;

/// How many rows one statement names. Beyond that the arrays of keys would be long.
const MOST: usize = 1 << 20;

fn name(setup: &Setup) -> String {
    qualified_name(setup.table).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!("table {} is gone", relation_name(setup.table)),
            "",
        )
    })
}

/// Hands every row of some groups to `sink`.
pub fn rows_of(setup: &Setup, ids: &[pg_sys::Datum], sink: &mut dyn FnMut(RowValues)) {
    rows_by(setup, &setup.cluster, ids, sink);
}

/// Hands every row with one of some keys to `sink`.
pub fn rows_with(setup: &Setup, keys: &[pg_sys::Datum], sink: &mut dyn FnMut(RowValues)) {
    rows_by(setup, &setup.key, keys, sink);
}

/// A join, for `= ANY ($1)` compares each row with each value unless they are constants.
fn rows_by(
    setup: &Setup,
    column: &Named,
    values: &[pg_sys::Datum],
    sink: &mut dyn FnMut(RowValues),
) {
    let condition = format!(
        ", ROWS FROM (pg_catalog.unnest($1)) AS u(value) WHERE {}",
        Equal::of(&setup.key.column).to(&quoted(&column.name), "u.value")
    );
    for values in values.chunks(MOST) {
        let values: Vec<_> = values.iter().copied().map(Some).collect();
        // SAFETY: values of the key's type.
        let values = unsafe { array(setup.key.column.base, &values) };
        read(setup, &condition, &[values], sink);
    }
}

/// Hands every row of the table to `sink`.
pub fn all_rows(setup: &Setup, sink: &mut dyn FnMut(RowValues)) {
    read(setup, "", &[], sink);
}

fn read(setup: &Setup, condition: &str, parameters: &[Parameter], sink: &mut dyn FnMut(RowValues)) {
    let columns: String = [&setup.key, &setup.cluster, &setup.fp]
        .into_iter()
        .chain(&setup.scope)
        .map(|named| format!(", t.{}", quoted(&named.name)))
        .collect();
    let source = format!("SELECT {} FROM {} AS t{condition}", &columns[2..], name(setup));
    access(setup).query(&source, parameters, &mut |row| {
        let scope = (0..setup.scope.len() as i32).map(|place| row.value(4 + place)).collect();
        let (key, cluster, fp) = (row.value(1), row.value(2), row.value(3));
        sink(RowValues { key, cluster, fp, scope, text: None });
    });
}

fn access(setup: &Setup) -> Access {
    Access {
        table: setup.table,
        lender: lender(setup),
        schema: setup.schema,
        equality: Some(setup.key.column.equality()),
    }
}

/// A key, and the id that its row is to have.
pub type Told = (pg_sys::Datum, Option<pg_sys::Datum>);

/// Tells the rows of some keys their ids. Returns what statements inside have done meanwhile.
pub fn tell(setup: &Setup, told: &[Told]) -> Meanwhile {
    let mut all = Meanwhile::default();
    for told in told.chunks(MOST) {
        let (changed, meanwhile) = update(setup, told);
        // What came before these rows were told was too early for them.
        all.early |= meanwhile.early || all.any;
        all.any |= meanwhile.any;
        all.ids.extend(meanwhile.ids);
        if changed < told.len() as u64 {
            raise(
                PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION,
                format!(
                    "only {changed} of {} rows of table \"{}\" took the id of their group",
                    told.len(),
                    relation_name(setup.table)
                ),
                "A trigger BEFORE UPDATE must let changes of the ids' column pass.",
            )
        }
    }
    all
}

/// Sets ids. Returns how many rows there were, and what happened inside.
fn update(setup: &Setup, told: &[Told]) -> (u64, Meanwhile) {
    let (key, cluster) = (&setup.key, &setup.cluster);
    let source = format!(
        "UPDATE {} AS t SET {cluster} = u.id \
         FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS u(key, id) \
         WHERE {} RETURNING t.{key}, t.{cluster}, u.key, u.id",
        name(setup),
        Equal::of(&key.column).to(&quoted(&key.name), "u.key"),
        key = quoted(&key.name),
        cluster = quoted(&cluster.name),
    );
    let base = key.column.base;
    let (keys, ids): (Vec<_>, Vec<_>) = told.iter().map(|&(key, id)| (Some(key), id)).unzip();
    // SAFETY: keys and ids are values of the key's type.
    let parameters = unsafe { [array(base, &keys), array(base, &ids)] };
    let telling = Telling::begin(setup);
    let changed = access(setup).execute_repeatable(&source, &parameters, &mut |row| {
        telling.row();
        // SAFETY: keys and ids are values of the key's type.
        let took = unsafe {
            key.column.is(row.value(1), row.value(3)) && key.column.is(row.value(2), row.value(4))
        };
        if !took {
            raise(
                PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION,
                format!(
                    "a trigger changes keys or ids of table \"{}\" while rows are told their ids",
                    relation_name(setup.table)
                ),
                "A trigger BEFORE UPDATE must let changes of the ids' column pass.",
            )
        }
    });
    (changed, telling.end())
}
