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
    // SAFETY: `opened.heap` is open.
    let (table, pages, may_have_children) = unsafe {
        let main = pg_sys::ForkNumber::MAIN_FORKNUM;
        let pages = pg_sys::RelationGetNumberOfBlocksInFork(opened.heap, main);
        ((*opened.heap).rd_id, pages, (*(*opened.heap).rd_rel).relhassubclass)
    };
    let index = opened.rel().name();
    if is_distributed(table) {
        raise(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!(
                "the rows of table \"{}\" are in the shards of Citus, not in index \"{index}\"",
                relation_name(table)
            ),
            "Name the index of a shard: run_command_on_shards runs a query for each; \
             pairs across shards need a join.",
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
    // SAFETY: catalogue look-ups in a transaction; the list is scanned only if it is a table with
    // the expected column.
    unsafe {
        let list = pg_sys::get_relname_relid(c"pg_dist_partition".as_ptr(), catalogue);
        if list == pg_sys::InvalidOid
            || pg_sys::get_rel_relkind(list) as u8 != pg_sys::RELKIND_RELATION
        {
            return false;
        }
        let column = pg_sys::get_attnum(list, c"logicalrelid".as_ptr());
        if column <= 0 || pg_sys::get_atttype(list, column) != pg_sys::REGCLASSOID {
            return false;
        }
        let mut scan = Scan::of_catalogue(list, None, [oid_is(i32::from(column), table)]);
        let found = scan.next().is_some();
        scan.end();
        found
    }
}
