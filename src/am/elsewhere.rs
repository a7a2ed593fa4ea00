//! Tables whose rows are elsewhere: parents by inheritance (hypertables of TimescaleDB among them),
//! tables that Citus distributes.

use std::ffi::CStr;

use pgrx::{PgList, PgSqlErrorCode, pg_sys};

use super::opened::{Opened, name};
use crate::error::{raise, shown, warn};

/// How many child tables a hint names.
const NAMED: usize = 3;

unsafe extern "C-unwind" {
    /// catalog/pg_inherits.h, which pgrx does not bind.
    fn find_inheritance_children(parent: pg_sys::Oid, lock: pg_sys::LOCKMODE) -> *mut pg_sys::List;
}

/// An index has the rows of its own table alone. Raises 42809 if these cannot be all, for the table
/// is but the empty parent or the shell of others that have them, and gives a WARNING if they are
/// some.
pub fn check_rows_are_here(opened: &Opened) {
    // SAFETY: the table is open.
    let (table, blocks, may_have_children) = unsafe {
        let blocks = pg_sys::RelationGetNumberOfBlocksInFork(opened.table, pg_sys::ForkNumber::MAIN_FORKNUM);
        ((*opened.table).rd_id, blocks, (*(*opened.table).rd_rel).relhassubclass)
    };
    let index = opened.rel().name();
    if is_distributed(table) {
        raise(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!(
                "the rows of table \"{}\" are in the shards of Citus, not in index \"{index}\"",
                name(table)
            ),
            "Name the index of a shard: run_command_on_shards runs a query for each; pairs across shards need a join.",
        )
    }
    let children = if may_have_children { children(table) } else { Vec::new() };
    if children.is_empty() {
        return;
    }
    let mut named = children[..children.len().min(NAMED)].join(", ");
    if children.len() > NAMED {
        named = format!("{named} and {} more", children.len() - NAMED);
    }
    let hint = format!("Name the index of a child table: {named}.");
    if blocks > 0 {
        let message = format!("index \"{index}\" has no rows of the child tables of \"{}\"", name(table));
        return warn(&message, &hint);
    }
    raise(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("the rows of table \"{}\" are in its child tables, not in index \"{index}\"", name(table)),
        &hint,
    )
}

/// The names of a table's children, with their schemas.
fn children(table: pg_sys::Oid) -> Vec<String> {
    // SAFETY: a catalogue look-up; children are not locked, so one may be gone by now, and its name
    // with it.
    unsafe {
        let lock = pg_sys::NoLock as pg_sys::LOCKMODE;
        let children = pg_sys::ffi::pg_guard_ffi_boundary(|| find_inheritance_children(table, lock));
        PgList::<std::ffi::c_void>::from_pg(children)
            .iter_oid()
            .filter_map(|child| qualified_name(child))
            .collect()
    }
}

unsafe fn qualified_name(table: pg_sys::Oid) -> Option<String> {
    // SAFETY: catalogue look-ups; names are C strings, or null if there are none.
    unsafe {
        let name = pg_sys::get_rel_name(table);
        let schema = pg_sys::get_namespace_name(pg_sys::get_rel_namespace(table));
        if name.is_null() || schema.is_null() {
            return None;
        }
        let name = pg_sys::quote_qualified_identifier(schema, name);
        Some(shown(CStr::from_ptr(name)).into_owned())
    }
}

/// Whether Citus keeps the table's rows in shards: it lists such tables in
/// `pg_catalog.pg_dist_partition`. What the table itself may have is what was there before.
fn is_distributed(table: pg_sys::Oid) -> bool {
    let catalogue = pg_sys::Oid::from(pg_sys::PG_CATALOG_NAMESPACE);
    // SAFETY: catalogue look-ups by name; the list is read only if it is a table with the expected
    // column.
    unsafe {
        let list = pg_sys::get_relname_relid(c"pg_dist_partition".as_ptr(), catalogue);
        if list == pg_sys::InvalidOid || pg_sys::get_rel_relkind(list) as u8 != pg_sys::RELKIND_RELATION {
            return false;
        }
        let column = pg_sys::get_attnum(list, c"logicalrelid".as_ptr());
        if column <= 0 || pg_sys::get_atttype(list, column) != pg_sys::REGCLASSOID {
            return false;
        }
        let list = pg_sys::table_open(list, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        let mut key = pg_sys::ScanKeyData::default();
        let equal = pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber;
        pg_sys::ScanKeyInit(
            &mut key,
            column,
            equal,
            pg_sys::Oid::from(pg_sys::F_OIDEQ),
            pg_sys::Datum::from(table),
        );
        let newest = std::ptr::null_mut();
        let scan = pg_sys::systable_beginscan(list, pg_sys::InvalidOid, false, newest, 1, &mut key);
        let found = !pg_sys::systable_getnext(scan).is_null();
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(list, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        found
    }
}
