//! Marks groups to be settled later, in the extension's table simhash_unsettled.
//!
//! Only these functions write to that table, with its owner's privileges, whichever role marks or
//! settles. A transaction that marks a group, or that ends an id, holds the id's lock exclusively.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};

use pgrx::{PgSqlErrorCode, pg_sys};

use super::access::Access;
use super::components::Components;
use super::keys::Key;
use super::run_as::exactly;
use super::setup::Setup;
use super::sql::Parameter;
use crate::catalog::{Schema, rights};
use crate::error::{raise, shown};
use crate::family::value::Value;

const TABLE: &CStr = c"simhash_unsettled";

/// The qualified name of the table, and the access to it.
fn table(schema: Schema) -> (String, Access) {
    let table = schema.table_named(TABLE);
    let access = table.and_then(|table| {
        let lender = rights::owner(table)?;
        Some(Access { table, lender, schema, equality: None })
    });
    let access = access.unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            "table simhash_unsettled does not exist in the schema of the extension's functions"
                .into(),
            "ALTER EXTENSION pg_simhash UPDATE;",
        )
    });
    (format!("{}.simhash_unsettled", shown(schema.quoted_name())), access)
}

/// Runs a statement about the marks of a column of ids. In `source`, `{marks}` stands for the
/// table, and `m` is its alias. The first two parameters are the table and the column of ids.
fn execute(setup: &Setup, source: &str, more: &[Parameter]) {
    let (name, access) = table(setup.schema);
    let parameters = [&subject(setup), more].concat();
    access.execute(&source.replace("{marks}", &name), &parameters);
}

/// The table and the column of ids, as parameters.
fn subject(setup: &Setup) -> [Parameter; 2] {
    let column = setup.cluster.name.as_ptr();
    // SAFETY: `column` is a name in the server's encoding, which `namestrcpy` copies.
    let column = unsafe {
        let name = pg_sys::palloc0(size_of::<pg_sys::NameData>()).cast::<pg_sys::NameData>();
        pg_sys::namestrcpy(name, column);
        Parameter::new(pg_sys::NAMEOID, name.into())
    };
    [Parameter::relation(setup.table), column]
}

const ABOUT: &str =
    "m.relation OPERATOR(pg_catalog.=) $1 AND m.\"column\" OPERATOR(pg_catalog.=) $2";

/// Marks some groups.
pub fn mark(components: &Components<'_>, ids: &HashSet<Key>) {
    if !ids.is_empty() {
        let source = "INSERT INTO {marks} (relation, \"column\", cluster) \
                      SELECT $1, $2, u.id FROM ROWS FROM (pg_catalog.unnest($3)) AS u(id) \
                      ON CONFLICT DO NOTHING";
        execute(components.setup, source, &[texts(components, ids.iter().copied())]);
    }
}

/// Copies the marks of ids that end to the ids that their rows get. The old mark may stay, because
/// another group can get the old id in the same statement.
pub fn follow(components: &Components<'_>, renamed: &HashMap<Key, Key>) {
    if !renamed.is_empty() {
        let (old, new): (Vec<Key>, Vec<Key>) = renamed.iter().unzip();
        let source = format!(
            "INSERT INTO {{marks}} (relation, \"column\", cluster) \
             SELECT $1, $2, u.new FROM {{marks}} AS m, \
             ROWS FROM (pg_catalog.unnest($3), pg_catalog.unnest($4)) AS u(old, new) \
             WHERE {ABOUT} AND m.cluster OPERATOR(pg_catalog.=) u.old ON CONFLICT DO NOTHING"
        );
        let parameters = [texts(components, old), texts(components, new)];
        execute(components.setup, &source, &parameters);
    }
}

/// The text forms of ids, as an array.
fn texts(components: &Components<'_>, ids: impl IntoIterator<Item = Key>) -> Parameter {
    let column = &components.setup.key.column;
    exactly(|| {
        let text = |id| Some(Value::text(column.show(components.keys.value(id))));
        Parameter::array(pg_sys::TEXTOID, ids.into_iter().map(text))
    })
}

/// Whether any group is marked.
pub fn any(setup: &Setup) -> bool {
    let (name, access) = table(setup.schema);
    let source = format!("SELECT FROM {name} AS m WHERE {ABOUT} LIMIT 1");
    let mut any = false;
    access.query(&source, &subject(setup), &mut |_| any = true);
    any
}

/// The ids of marked groups.
pub fn marked(setup: &Setup) -> Vec<Value<'static>> {
    let (name, access) = table(setup.schema);
    let source = format!("SELECT m.cluster FROM {name} AS m WHERE {ABOUT}");
    let mut texts = Vec::new();
    access.query(&source, &subject(setup), &mut |row| texts.extend(row.text(1)));
    let key = &setup.key.column;
    let (mut function, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
    // SAFETY: the type's own input function, which raises an ERROR for an invalid text, and returns
    // a value in the current memory context.
    exactly(|| unsafe {
        pg_sys::getTypeInputInfo(key.base, &mut function, &mut parameter);
        let read = |text: &CString| {
            let text = text.as_ptr().cast_mut();
            key.value(pg_sys::OidInputFunctionCall(function, text, parameter, -1))
        };
        texts.iter().map(read).collect()
    })
}

/// Deletes the marks of tables that have been dropped.
pub fn forget_dropped(schema: Schema) {
    let (name, access) = table(schema);
    let mut gone = Vec::new();
    access.query(&format!("SELECT DISTINCT m.relation FROM {name} AS m"), &[], &mut |row| {
        let relation = row.oid(1);
        // SAFETY: a catalogue look-up. A table stays locked until a mark on it is committed.
        gone.extend(relation.filter(|&oid| unsafe { pg_sys::get_rel_relkind(oid) } == 0));
    });
    let source = format!("DELETE FROM {name} AS m WHERE m.relation OPERATOR(pg_catalog.=) $1");
    for relation in gone {
        access.execute(&source, &[Parameter::relation(relation)]);
    }
}

/// Deletes all marks of a column of ids.
pub fn clear(setup: &Setup) {
    execute(setup, &format!("DELETE FROM {{marks}} AS m WHERE {ABOUT}"), &[]);
}
