//! The order in which rows are taken, from an ORDER BY list that the caller gave as text.
//!
//! PostgreSQL sorts the rows, in a query that runs as the caller and sees what the caller's
//! statement sees.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_long};

use pgrx::{PgList, PgSqlErrorCode, pg_sys};

use super::row;
use super::target::Target;
use crate::catalog::names::qualified_name;
use crate::compat::string_of;
use crate::error::{raise, reserve, shown, with_hint};
use crate::storage::check_for_interrupts;
use crate::types::text::utf8_to_server;
use crate::types::tid;

/// How many rows are fetched together.
const BATCH: c_long = 10_000;

/// The rows of a target (for two tables, of the first) in the order of `keep`. A row's number is
/// that of the root of its HOT chain, to which index entries point. The second result maps roots to
/// visible versions, where these are others.
pub fn in_order(target: &Target, keep: &str) -> (Vec<u64>, HashMap<u64, u64>) {
    let own = target.split.unwrap_or(target.sources.len());
    let tables = target.sources.iter().take(own).map(|source| source.heap);
    let mut numbers = versions_in_order(target.named[0].table, tables, keep);
    let visible = find_roots(target, &mut numbers);
    (numbers, visible)
}

/// The visible rows of a table, in the order of `keep`; equal ones in the order of tables and TIDs.
/// Rows of partitions that are not in `tables` are left out. Raises an ERROR unless `keep` is an
/// ORDER BY list.
pub fn versions_in_order(
    table: pg_sys::Oid,
    tables: impl Iterator<Item = pg_sys::Oid>,
    keep: &str,
) -> Vec<u64> {
    check_text(keep, table);
    let places: HashMap<pg_sys::Oid, usize> = tables.zip(0..).collect();
    let Some(name) = qualified_name(table) else { return Vec::new() };
    // SAFETY: a catalogue look-up.
    let is_partitioned =
        unsafe { pg_sys::get_rel_relkind(table) as u8 == pg_sys::RELKIND_PARTITIONED_TABLE };
    // Inheritance children are not compared.
    let only = if is_partitioned { "" } else { "ONLY " };
    // The rest is on a new line, because `keep` may end in a comment.
    let statement =
        format!("SELECT ctid, tableoid FROM {only}{name} ORDER BY {keep}\n, tableoid, ctid");
    let mut numbers = Vec::new();
    for_each_row(&statement, keep, |table, tid| {
        if let Some(&place) = places.get(&table) {
            reserve(&mut numbers, 1);
            numbers.push(row::number(place, tid));
        }
    });
    numbers
}

const HINT: &CStr =
    c"keep is an ORDER BY list of the table's columns, such as 'length(body) DESC, id'.";

fn hint() -> Cow<'static, str> {
    HINT.to_string_lossy()
}

fn refuse(keep: &str, why: &str) -> ! {
    let shown: String = keep.chars().take(100).collect();
    let code = PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
    raise(code, format!("keep \"{shown}\" {why}"), &hint())
}

/// Raises 22023 for a text that is empty, or more than an ORDER BY list; 42703 for a bare name that
/// is no column, such as "longest"; and PostgreSQL's own ERROR for a text that cannot be parsed.
fn check_text(keep: &str, table: pg_sys::Oid) {
    if keep.trim().is_empty() {
        refuse(keep, "is empty")
    }
    let mut words = keep.split_whitespace().map(str::to_lowercase);
    if words.next().is_some_and(|word| word == "order")
        && words.next().is_some_and(|word| word == "by")
    {
        refuse(keep, "begins with ORDER BY, which it is without")
    }
    let source = format!("SELECT FROM t ORDER BY {keep}\n");
    let source = CString::new(&*utf8_to_server(&source)).unwrap_or_default();
    // SAFETY: a node is cast only to the type its tag says.
    unsafe {
        let mode = pg_sys::RawParseMode::RAW_PARSE_DEFAULT;
        let parsed = with_hint(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, HINT, || {
            pg_sys::raw_parser(source.as_ptr(), mode)
        });
        let parsed = PgList::<pg_sys::RawStmt>::from_pg(parsed);
        let select = parsed.get_ptr(0).filter(|_| parsed.len() == 1).map(|raw| (*raw).stmt);
        let select = select.filter(|&node| pgrx::is_a(node, pg_sys::NodeTag::T_SelectStmt));
        let is_list = select.is_some_and(|node| {
            let select = &*node.cast::<pg_sys::SelectStmt>();
            select.limitCount.is_null()
                && select.limitOffset.is_null()
                && select.lockingClause.is_null()
                && select.op == pg_sys::SetOperation::SETOP_NONE
        });
        let Some(select) = select.filter(|_| is_list) else {
            refuse(keep, "is more than an ORDER BY list")
        };
        let select = select.cast::<pg_sys::SelectStmt>();
        for by in PgList::<pg_sys::SortBy>::from_pg((*select).sortClause).iter_ptr() {
            check_name((*by).node, table);
        }
    }
}

/// Raises 42703 for a bare name that is neither a column of the table nor the table's own name.
///
/// # Safety
/// The node is one of the parser's.
unsafe fn check_name(node: *mut pg_sys::Node, table: pg_sys::Oid) {
    // SAFETY: a node is cast only to the type its tag says; the names are C strings.
    unsafe {
        if !pgrx::is_a(node, pg_sys::NodeTag::T_ColumnRef) {
            return;
        }
        let fields = PgList::<pg_sys::Node>::from_pg((*node.cast::<pg_sys::ColumnRef>()).fields);
        let only = fields.get_ptr(0).filter(|_| fields.len() == 1);
        let Some(field) = only.filter(|&field| pgrx::is_a(field, pg_sys::NodeTag::T_String)) else {
            return;
        };
        let name = string_of(field);
        let own = pg_sys::get_rel_name(table);
        let is_table = !own.is_null() && CStr::from_ptr(own) == name;
        if !is_table && pg_sys::get_attnum(table, name.as_ptr()) == 0 {
            let message = format!("column \"{}\" does not exist", shown(name));
            raise(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, message, &hint())
        }
    }
}

/// Runs the statement, and calls `each` with the table and the TID of each row.
fn for_each_row(statement: &str, keep: &str, mut each: impl FnMut(pg_sys::Oid, u64)) {
    let source = CString::new(&*utf8_to_server(statement)).unwrap_or_default();
    // SAFETY: the sequence that PostgreSQL documents for cursors through SPI. An ERROR on the way
    // unwinds, and the abort of the (sub)transaction then closes the portal and SPI.
    unsafe {
        if pg_sys::SPI_connect() != pg_sys::SPI_OK_CONNECT as i32 {
            raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "could not connect to SPI".into(), "");
        }
        let plan = pg_sys::SPI_prepare(source.as_ptr(), 0, std::ptr::null_mut());
        check_list(plan, keep);
        // Read-only, so that it sees what the calling statement sees.
        let (no_values, no_nulls) = (std::ptr::null_mut(), std::ptr::null());
        let portal = pg_sys::SPI_cursor_open(std::ptr::null(), plan, no_values, no_nulls, true);
        loop {
            check_for_interrupts();
            pg_sys::SPI_cursor_fetch(portal, true, BATCH);
            let table = pg_sys::SPI_tuptable;
            let count = pg_sys::SPI_processed as usize;
            if count == 0 || table.is_null() {
                break;
            }
            let descriptor = (*table).tupdesc;
            for &tuple in std::slice::from_raw_parts((*table).vals, count) {
                let mut is_null = false;
                let tid = pg_sys::SPI_getbinval(tuple, descriptor, 1, &mut is_null);
                let oid = pg_sys::SPI_getbinval(tuple, descriptor, 2, &mut is_null);
                let tid = &*tid.cast_mut_ptr::<pg_sys::ItemPointerData>();
                each(pg_sys::Oid::from(oid.value() as u32), tid::pack(tid));
            }
            pg_sys::SPI_freetuptable(table);
        }
        pg_sys::SPI_cursor_close(portal);
        pg_sys::SPI_finish();
    }
}

/// Raises 22023 unless `keep` is a list of expressions of a single row, none of them volatile.
///
/// # Safety
/// The plan is that of the statement, or null.
unsafe fn check_list(plan: pg_sys::SPIPlanPtr, keep: &str) {
    let refuse = |why: &str| -> ! { refuse(keep, why) };
    if plan.is_null() {
        refuse("is no ORDER BY list")
    }
    // SAFETY: a plan's sources live as long as the plan; a node is cast only to the type its tag
    // says.
    unsafe {
        let sources =
            PgList::<pg_sys::CachedPlanSource>::from_pg(pg_sys::SPI_plan_get_plan_sources(plan));
        let Some(source) = sources.get_ptr(0).filter(|_| sources.len() == 1) else {
            refuse("is more than an ORDER BY list")
        };
        let raw = (*(*source).raw_parse_tree).stmt.cast::<pg_sys::SelectStmt>();
        let queries = PgList::<pg_sys::Query>::from_pg((*source).query_list);
        let query = queries.get_ptr(0).filter(|_| queries.len() == 1);
        let (Some(query), true) = (query, pgrx::is_a(raw.cast(), pg_sys::NodeTag::T_SelectStmt))
        else {
            refuse("is more than an ORDER BY list")
        };
        let sort = PgList::<pg_sys::SortBy>::from_pg((*raw).sortClause);
        let own = sort.len().saturating_sub(2);
        if own == 0 {
            refuse("is empty")
        }
        // An integer would be the number of an output column.
        let is_constant =
            |by: *mut pg_sys::SortBy| pgrx::is_a((*by).node, pg_sys::NodeTag::T_A_Const);
        if sort.iter_ptr().take(own).any(is_constant) {
            refuse("has a constant, which orders nothing")
        }
        let pg_sys::Query { hasAggs, hasWindowFuncs, hasTargetSRFs, hasSubLinks, .. } = &*query;
        if *hasAggs || *hasWindowFuncs || *hasTargetSRFs || *hasSubLinks {
            refuse("has an aggregate, a set or a query, and not only a row's columns")
        }
        if pg_sys::contain_volatile_functions(query.cast()) {
            refuse("has a volatile function, so it says something else each time")
        }
    }
}

/// Replaces each version by the root of its HOT chain, to which index entries point. Returns the
/// replaced versions by their roots.
pub fn find_roots(target: &Target, numbers: &mut [u64]) -> HashMap<u64, u64> {
    let mut sorted = Vec::new();
    reserve(&mut sorted, numbers.len());
    sorted.extend_from_slice(numbers);
    sorted.sort_unstable();
    let mut roots = HashMap::new();
    let opened = target.open();
    for of_page in sorted.chunk_by(|a, b| a >> 16 == b >> 16) {
        check_for_interrupts();
        let number = of_page[0];
        let (table, (page, _)) = (row::table(number), tid::parts(row::tid(number)));
        // SAFETY: the heap is open.
        unsafe {
            let main = pg_sys::ForkNumber::MAIN_FORKNUM;
            let heap = opened[table].heap;
            // The page exists if the query saw a row on it, but `simhash_part_roots` takes any TID.
            if page >= pg_sys::RelationGetNumberOfBlocksInFork(heap, main) {
                continue;
            }
            roots_of_page(heap, page, |offset, root| {
                if offset != root {
                    let of = |offset| number >> 16 << 16 | u64::from(offset);
                    roots.insert(of(offset), of(root));
                }
            });
        }
    }
    let mut visible = HashMap::new();
    if !roots.is_empty() {
        for number in numbers {
            if let Some(&root) = roots.get(number) {
                visible.insert(root, *number);
                *number = root;
            }
        }
    }
    visible
}

/// Calls `each` with the offset of each tuple on a heap page, and that of the root of its HOT
/// chain.
///
/// # Safety
/// The heap is open and has this page.
unsafe fn roots_of_page(heap: pg_sys::Relation, page: u32, mut each: impl FnMut(u16, u16)) {
    // At least MaxHeapTuplesPerPage: a tuple takes a line pointer of 4 bytes and a header of 24.
    let mut roots = [0; pg_sys::BLCKSZ as usize / 28];
    // SAFETY: the caller has opened the heap, and the page exists. It is only read, under a lock.
    unsafe {
        if (*(*heap).rd_rel).relam != pg_sys::HEAP_TABLE_AM_OID {
            return;
        }
        let buffer = pg_sys::ReadBuffer(heap, page);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as _);
        pg_sys::heap_get_root_tuples(pg_sys::BufferGetPage(buffer), roots.as_mut_ptr());
        pg_sys::UnlockReleaseBuffer(buffer);
    }
    for (offset, root) in (1..).zip(roots).filter(|&(_, root)| root != 0) {
        each(offset, root);
    }
}
