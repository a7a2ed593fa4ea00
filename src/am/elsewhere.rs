//! Detects tables whose rows are elsewhere: inheritance parents, such as hypertables of
//! TimescaleDB, and tables that Citus distributes.

use pgrx::{PgSqlErrorCode, pg_sys};

use super::opened::Opened;
use crate::catalog::inheritance::children;
use crate::catalog::names::{qualified_name, relation_name};
use crate::catalog::scan::{Scan, oid_is};
use crate::error::{raise, warn};

/// How many child tables a hint names.
const NAMED: usize = 3;

/// Raises 42809 if the index has none of the rows that a query of its table returns: the table is
/// an empty inheritance parent, or Citus keeps its rows in shards. Gives a WARNING if the table has
/// rows of its own and child tables. An index has the rows of its own table only.
pub fn check_rows_are_here(opened: &Opened) {
    let (heap, main) = (opened.heap, pg_sys::ForkNumber::MAIN_FORKNUM);
    // SAFETY: the heap is open.
    let pages = unsafe { pg_sys::RelationGetNumberOfBlocksInFork(heap, main) };
    // SAFETY: the heap is open, so it has its pg_class row.
    let (table, may_have_children) = unsafe { ((*heap).rd_id, (*(*heap).rd_rel).relhassubclass) };
    let index = opened.rel().name();
    if is_distributed(table) {
        raise(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!(
                "the rows of table \"{}\" are in the shards of Citus, not in index \"{index}\"",
                relation_name(table)
            ),
            "Name the index of a shard: run_command_on_shards runs a query for each. Pairs across \
             shards require a join.",
        )
    }
    // Children are not locked, so one may have been dropped meanwhile; it then has no name.
    let children = if may_have_children { children(table) } else { Vec::new() };
    let children: Vec<String> = children.into_iter().filter_map(qualified_name).collect();
    if children.is_empty() {
        return;
    }
    let mut named = children[..children.len().min(NAMED)].join(", ");
    if children.len() > NAMED {
        named = format!("{named} and {} more", children.len() - NAMED);
    }
    let hint = format!("Name the index of a child table: {named}.");
    if pages > 0 {
        let message = format!(
            "index \"{index}\" has no rows of the child tables of \"{}\"",
            relation_name(table)
        );
        return warn(&message, &hint);
    }
    raise(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!(
            "the rows of table \"{}\" are in its child tables, not in index \"{index}\"",
            relation_name(table)
        ),
        &hint,
    )
}

/// Whether Citus keeps the table's rows in shards: `pg_catalog.pg_dist_partition` lists such
/// tables. Rows in the table itself were there before it was distributed.
fn is_distributed(table: pg_sys::Oid) -> bool {
    let catalogue = pg_sys::Oid::from(pg_sys::PG_CATALOG_NAMESPACE);
    // SAFETY: a catalogue look-up in a transaction.
    let list = unsafe { pg_sys::get_relname_relid(c"pg_dist_partition".as_ptr(), catalogue) };
    // SAFETY: catalogue look-ups in a transaction, by any OID.
    let (kind, column) = unsafe {
        (pg_sys::get_rel_relkind(list), pg_sys::get_attnum(list, c"logicalrelid".as_ptr()))
    };
    // SAFETY: a catalogue look-up in a transaction, by any OID and number.
    let column_type = || unsafe { pg_sys::get_atttype(list, column) };
    if kind as u8 != pg_sys::RELKIND_RELATION || column <= 0 || column_type() != pg_sys::REGCLASSOID
    {
        return false;
    }
    let conditions = [oid_is(i32::from(column), table)];
    // SAFETY: the list is a table with this column of OIDs.
    let mut scan = unsafe { Scan::of_catalogue(list, None, conditions) };
    let found = scan.next().is_some();
    scan.end();
    found
}
