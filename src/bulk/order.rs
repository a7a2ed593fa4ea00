//! The order in which rows are taken, from an ORDER BY list that the caller gave as text.
//!
//! PostgreSQL sorts the rows, in a query that runs as the caller and sees what the caller's
//! statement sees.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_long};

use pgrx::{PgList, PgSqlErrorCode, pg_sys};

use super::heap::heap_pages;
use super::row;
use super::target::Target;
use crate::am::opened::Opened;
use crate::catalog::names::{qualified_name, server_name};
use crate::catalog::relations::kind;
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
    // Inheritance children are not compared.
    let only = if kind(table) == pg_sys::RELKIND_PARTITIONED_TABLE { "" } else { "ONLY " };
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
    c"keep must be an ORDER BY list of the table's columns, such as 'length(body) DESC, id'.";

fn hint() -> Cow<'static, str> {
    HINT.to_string_lossy()
}

fn refuse(keep: &str, why: &str) -> ! {
    let shown: String = keep.chars().take(100).collect();
    let code = PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
    raise(code, format!("keep \"{shown}\" {why}"), &hint())
}

/// A node as the type that its tag says, if the tag is this one.
///
/// # Safety
/// The node is null, or valid as long as the result. Nodes with the tag are of type `T`.
unsafe fn node<'a, T>(node: *mut pg_sys::Node, tag: pg_sys::NodeTag) -> Option<&'a T> {
    // SAFETY: a node with the tag is of type `T`.
    unsafe { pgrx::is_a(node, tag).then(|| &*node.cast()) }
}

/// The members of a list.
///
/// # Safety
/// The list is null, or has pointers to valid `T`, which live as long as the result.
unsafe fn members<'a, T>(list: *mut pg_sys::List) -> Vec<&'a T> {
    // SAFETY: the list is null or one of pointers.
    let list = unsafe { PgList::<T>::from_pg(list) };
    // SAFETY: the members point to valid values.
    list.iter_ptr().map(|member| unsafe { &*member }).collect()
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
        refuse(keep, "must not begin with ORDER BY")
    }
    let source = format!("SELECT FROM t ORDER BY {keep}\n");
    let source = CString::new(&*utf8_to_server(&source)).unwrap_or_default();
    let mode = pg_sys::RawParseMode::RAW_PARSE_DEFAULT;
    // SAFETY: the text ends with NUL.
    let parse = || unsafe { pg_sys::raw_parser(source.as_ptr(), mode) };
    let parsed = with_hint(PgSqlErrorCode::ERRCODE_SYNTAX_ERROR, HINT, parse);
    // SAFETY: the parser makes a list of raw statements.
    let select = match unsafe { members::<pg_sys::RawStmt>(parsed) }[..] {
        // SAFETY: a statement is a node, and one with this tag is a SELECT.
        [raw] => unsafe { node(raw.stmt, pg_sys::NodeTag::T_SelectStmt) },
        _ => None,
    };
    let is_list = |select: &&pg_sys::SelectStmt| {
        select.limitCount.is_null()
            && select.limitOffset.is_null()
            && select.lockingClause.is_null()
            && select.op == pg_sys::SetOperation::SETOP_NONE
    };
    let Some(select) = select.filter(is_list) else {
        refuse(keep, "has more than an ORDER BY list")
    };
    // SAFETY: the list has the parser's nodes of this type.
    for by in unsafe { members::<pg_sys::SortBy>(select.sortClause) } {
        // SAFETY: a node of the parser's.
        unsafe { check_name(by.node, table) };
    }
}

/// Raises 42703 for a bare name that is neither a column of the table nor the table's own name.
///
/// # Safety
/// The node is one of the parser's.
unsafe fn check_name(by: *mut pg_sys::Node, table: pg_sys::Oid) {
    // SAFETY: the parser's nodes with this tag are references to columns.
    let column: Option<&pg_sys::ColumnRef> = unsafe { node(by, pg_sys::NodeTag::T_ColumnRef) };
    let Some(column) = column else { return };
    // SAFETY: the fields are nodes.
    let [field] = unsafe { members::<pg_sys::Node>(column.fields) }[..] else { return };
    if field.type_ != pg_sys::NodeTag::T_String {
        return;
    }
    // SAFETY: the node is a String.
    let name = unsafe { string_of(std::ptr::from_ref(field).cast_mut()) };
    // SAFETY: a catalogue look-up; the name is a C string.
    let number = unsafe { pg_sys::get_attnum(table, name.as_ptr()) };
    if number == 0 && server_name(table).as_deref() != Some(name) {
        let message = format!("column \"{}\" does not exist", shown(name));
        raise(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, message, &hint())
    }
}

/// Runs the statement, and calls `each` with the table and the TID of each row.
fn for_each_row(statement: &str, keep: &str, mut each: impl FnMut(pg_sys::Oid, u64)) {
    let source = CString::new(&*utf8_to_server(statement)).unwrap_or_default();
    let mut cursor = Cursor::open(&source, keep);
    while cursor.fetch(&mut each) {}
    cursor.close();
}

/// A cursor through SPI over the rows of a statement, which yields TIDs and tables. After an ERROR
/// it is not closed: the abort of the (sub)transaction closes the portal and SPI.
struct Cursor(pg_sys::Portal);

impl Cursor {
    /// Connects to SPI, and opens the cursor. Raises an ERROR unless `keep` in it is a list.
    fn open(source: &CStr, keep: &str) -> Self {
        // SAFETY: connected until `close`.
        if unsafe { pg_sys::SPI_connect() } != pg_sys::SPI_OK_CONNECT as i32 {
            raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, "could not connect to SPI".into(), "");
        }
        // SAFETY: the statement ends with NUL, and has no parameters.
        let plan = unsafe { pg_sys::SPI_prepare(source.as_ptr(), 0, std::ptr::null_mut()) };
        // SAFETY: the plan is that of the statement, or null.
        unsafe { check_list(plan, keep) };
        let (name, values, nulls) = (std::ptr::null(), std::ptr::null_mut(), std::ptr::null());
        // Read-only, so that it sees what the calling statement sees.
        // SAFETY: the plan has no parameters.
        Self(unsafe { pg_sys::SPI_cursor_open(name, plan, values, nulls, true) })
    }

    /// Calls `each` with the next rows. False at the end.
    fn fetch(&mut self, each: &mut impl FnMut(pg_sys::Oid, u64)) -> bool {
        check_for_interrupts();
        // SAFETY: the cursor is open.
        unsafe { pg_sys::SPI_cursor_fetch(self.0, true, BATCH) };
        // SAFETY: the result of the call above.
        let (table, count) = unsafe { (pg_sys::SPI_tuptable, pg_sys::SPI_processed as usize) };
        if count == 0 || table.is_null() {
            return false;
        }
        // SAFETY: the table of rows exists until it is freed.
        let pg_sys::SPITupleTable { tupdesc, vals, .. } = unsafe { &*table };
        // SAFETY: the table has so many rows.
        for &tuple in unsafe { std::slice::from_raw_parts(*vals, count) } {
            let value = |column| {
                // SAFETY: a row of this description, which has two columns. Neither is ever NULL.
                unsafe { pg_sys::SPI_getbinval(tuple, *tupdesc, column, &mut false) }
            };
            // SAFETY: the first column is a TID, which is part of the row.
            let tid = unsafe { &*value(1).cast_mut_ptr::<pg_sys::ItemPointerData>() };
            each(pg_sys::Oid::from(value(2).value() as u32), tid::pack(tid));
        }
        // SAFETY: the rows are not used any more.
        unsafe { pg_sys::SPI_freetuptable(table) };
        true
    }

    fn close(self) {
        // SAFETY: the cursor is open.
        unsafe { pg_sys::SPI_cursor_close(self.0) };
        // SAFETY: `open` connected.
        unsafe { pg_sys::SPI_finish() };
    }
}

/// Raises 22023 unless `keep` is a list of expressions of a single row, none of them volatile.
///
/// # Safety
/// The plan is that of the statement, or null.
unsafe fn check_list(plan: pg_sys::SPIPlanPtr, keep: &str) {
    let refuse = |why: &str| -> ! { refuse(keep, why) };
    if plan.is_null() {
        refuse("is not an ORDER BY list")
    }
    // SAFETY: a plan's sources live as long as the plan.
    let sources = unsafe { pg_sys::SPI_plan_get_plan_sources(plan) };
    // SAFETY: the list has sources.
    let [source] = unsafe { members::<pg_sys::CachedPlanSource>(sources) }[..] else {
        refuse("has more than an ORDER BY list")
    };
    // SAFETY: a source has its statement, and one with this tag is a SELECT.
    let raw = unsafe { node((*source.raw_parse_tree).stmt, pg_sys::NodeTag::T_SelectStmt) };
    // SAFETY: a source has its analysed queries.
    let queries = unsafe { members::<pg_sys::Query>(source.query_list) };
    let (Some::<&pg_sys::SelectStmt>(raw), [query]) = (raw, &queries[..]) else {
        refuse("has more than an ORDER BY list")
    };
    // SAFETY: the list has nodes of this type.
    let sort = unsafe { members::<pg_sys::SortBy>(raw.sortClause) };
    let own = sort.len().saturating_sub(2);
    if own == 0 {
        refuse("is empty")
    }
    // An integer would be the number of an output column.
    let constant = pg_sys::NodeTag::T_A_Const;
    // SAFETY: what rows are sorted by is a node.
    let is_constant = |by: &&pg_sys::SortBy| unsafe { pgrx::is_a(by.node, constant) };
    if sort.iter().take(own).any(is_constant) {
        refuse("has a constant, which has no order")
    }
    if query.hasAggs || query.hasWindowFuncs || query.hasTargetSRFs || query.hasSubLinks {
        refuse("must not have an aggregate, a set-returning function or a subquery")
    }
    let query = std::ptr::from_ref(*query).cast_mut();
    // SAFETY: the query is valid, and only read.
    if unsafe { pg_sys::contain_volatile_functions(query.cast()) } {
        refuse("must not have a volatile function")
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
        roots_of_page(&opened[table], page, |offset, root| {
            if offset != root {
                let of = |offset| number >> 16 << 16 | u64::from(offset);
                roots.insert(of(offset), of(root));
            }
        });
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
fn roots_of_page(opened: &Opened, page: u32, mut each: impl FnMut(u16, u16)) {
    // The page exists if the query saw a row on it, but `simhash_part_roots` takes any TID.
    if page >= heap_pages(opened) {
        return;
    }
    // SAFETY: the heap is open, so it has its catalogue row.
    if unsafe { (*(*opened.heap).rd_rel).relam } != pg_sys::HEAP_TABLE_AM_OID {
        return;
    }
    // At least MaxHeapTuplesPerPage: a tuple takes a line pointer of 4 bytes and a header of 24.
    let mut roots = [0; pg_sys::BLCKSZ as usize / 28];
    // SAFETY: the heap is open, and the page exists. It is only read, under a lock.
    unsafe {
        let buffer = pg_sys::ReadBuffer(opened.heap, page);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as _);
        pg_sys::heap_get_root_tuples(pg_sys::BufferGetPage(buffer), roots.as_mut_ptr());
        pg_sys::UnlockReleaseBuffer(buffer);
    }
    for (offset, root) in (1..).zip(roots).filter(|&(_, root)| root != 0) {
        each(offset, root);
    }
}
