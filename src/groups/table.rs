//! The rows of the table, by their groups, and new ids for rows. As the table's owner, if that may
//! be: ids belong to the table, not to whoever writes to it.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::own::Telling;
use super::role::role;
use super::setup::Setup;
use super::sql::{array, as_role, equality, execute, query};
use super::transition::RowValues;
use crate::catalog::names::{qualified_name, relation_name};
use crate::error::raise;
use crate::trigger::warnings::quoted;

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
    if ids.is_empty() {
        return;
    }
    let ids: Vec<_> = ids.iter().copied().map(Some).collect();
    // SAFETY: ids are values of the key's type.
    let ids = unsafe { array(setup.key.column.base, &ids) };
    let cluster = quoted(&setup.cluster.name);
    let condition = format!(" WHERE t.{cluster} {} ANY ($1)", equality(&setup.key.column));
    read(setup, &condition, &[ids], sink);
}

/// Hands every row with one of some keys to `sink`.
pub fn rows_with(setup: &Setup, keys: &[pg_sys::Datum], sink: &mut dyn FnMut(RowValues)) {
    let condition = format!(
        ", ROWS FROM (pg_catalog.unnest($1)) AS u(key) WHERE t.{} {} u.key",
        quoted(&setup.key.name),
        equality(&setup.key.column)
    );
    for keys in keys.chunks(MOST) {
        let keys: Vec<_> = keys.iter().copied().map(Some).collect();
        // SAFETY: values of the key's type.
        let keys = unsafe { array(setup.key.column.base, &keys) };
        read(setup, &condition, &[keys], sink);
    }
}

/// Hands every row of the table to `sink`.
pub fn all_rows(setup: &Setup, sink: &mut dyn FnMut(RowValues)) {
    read(setup, "", &[], sink);
}

fn read(
    setup: &Setup,
    condition: &str,
    parameters: &[super::sql::Parameter],
    sink: &mut dyn FnMut(RowValues),
) {
    let columns: String = [&setup.key, &setup.cluster, &setup.fp]
        .into_iter()
        .chain(&setup.scope)
        .map(|named| format!(", t.{}", quoted(&named.name)))
        .collect();
    let source = format!("SELECT {} FROM {} AS t{condition}", &columns[2..], name(setup));
    as_role(setup, role(setup), || {
        query(&source, parameters, &mut |row| {
            let scope = (0..setup.scope.len() as i32).map(|place| row.value(4 + place)).collect();
            let (key, cluster, fp) = (row.value(1), row.value(2), row.value(3));
            sink(RowValues { key, cluster, fp, scope, text: None });
        });
    });
}

/// Tells the rows of some keys their ids.
pub fn tell(setup: &Setup, told: Vec<(pg_sys::Datum, Option<pg_sys::Datum>)>) {
    if told.is_empty() {
        return;
    }
    let cluster = quoted(&setup.cluster.name);
    let source = format!(
        "UPDATE {} AS t SET {cluster} = u.id \
         FROM ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS u(key, id) \
         WHERE t.{} {} u.key",
        name(setup),
        quoted(&setup.key.name),
        equality(&setup.key.column)
    );
    let (base, role) = (setup.key.column.base, role(setup));
    for told in told.chunks(MOST) {
        let (keys, ids): (Vec<_>, Vec<_>) = told.iter().map(|&(key, id)| (Some(key), id)).unzip();
        // SAFETY: keys and ids are values of the key's type.
        let parameters = unsafe { [array(base, &keys), array(base, &ids)] };
        let _telling = Telling::begin(setup);
        let changed = as_role(setup, role, || execute(&source, &parameters, true));
        if changed < told.len() as u64 {
            raise(
                PgSqlErrorCode::ERRCODE_TRIGGERED_DATA_CHANGE_VIOLATION,
                format!(
                    "only {changed} of {} rows of table \"{}\" took the id of their group",
                    told.len(),
                    relation_name(setup.table)
                ),
                "A trigger BEFORE UPDATE, or a rule, must let changes of the ids' column pass.",
            )
        }
    }
}
