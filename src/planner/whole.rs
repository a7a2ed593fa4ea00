//! Estimates the rows and the cost of the functions of whole tables: `simhash_pairs`,
//! `simhash_duplicates` and `simhash_clusters`.

use std::ffi::CStr;

use pgrx::pg_sys;
use simhash_core::sets::sketch::{DEFAULT_SIMILARITY, Law};

use super::expr::Expr;
use super::measures::{Objects, access_method};
use super::near::Others;
use super::near::rows::others_in;
use super::request::Request;
use super::variable::Statistics;
use crate::catalog::cache;
use crate::catalog::inheritance::all_inheritors;
use crate::catalog::rights::may_read;
use crate::storage::IndexRel;

/// The other rows near a row, if the index does not show it.
const USUAL: Others = Others { mean: 0.5, any: 0.3 };
/// The share that a cover drops of the rows that have near ones.
const DROPPED: f64 = 0.6;

type Class = cache::Row<pg_sys::FormData_pg_class>;

/// The cost of reading a row of the table, in units of cpu_operator_cost.
const OPERATORS: f64 = 100.0;

/// Answers a request about such a function: how many rows a call returns, or its cost. All of the
/// cost is startup cost, because a call in the SELECT list is not repeated for each row that it
/// returns.
///
/// # Safety
/// `request` is a support request of the planner.
pub unsafe fn answer(request: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
    // SAFETY: the planner's request, which nothing else uses meanwhile.
    match unsafe { Request::of(request) }? {
        Request::Rows { function, node, answer } => {
            // SAFETY: a catalogue look-up in a transaction, which returns a palloc'd name or null.
            let name = unsafe {
                let name = pg_sys::get_func_name(function);
                (!name.is_null()).then(|| CStr::from_ptr(name))?
            };
            *answer = rows(name, &Arguments::of(node?)?)?.max(1.0);
        }
        Request::Cost { node, startup, per_tuple, .. } => {
            let Arguments { index, other, .. } = Arguments::of(node?)?;
            let taken = [Some(index?), other].into_iter().flatten().map(rows_of);
            let taken = taken.map(Option::unwrap_or_default).sum::<f64>();
            // SAFETY: reads a setting of this backend.
            *startup = taken * OPERATORS * unsafe { pg_sys::cpu_operator_cost };
            *per_tuple = 0.0;
        }
        _ => return None,
    }
    Some(request)
}

/// The arguments of a call that are constant.
#[derive(Default)]
struct Arguments {
    index: Option<pg_sys::Oid>,
    other: Option<pg_sys::Oid>,
    similarity: Option<f64>,
}

impl Arguments {
    /// Tells arguments apart by their types: the first regclass is the index, another one the
    /// second index, and a double precision is the similarity.
    fn of(call: Expr) -> Option<Self> {
        call.call()?;
        let mut found = Arguments::default();
        for constant in call.arguments()?.iter().filter_map(Expr::constant) {
            match constant.type_oid() {
                pg_sys::REGCLASSOID => {
                    let place =
                        if found.index.is_none() { &mut found.index } else { &mut found.other };
                    *place = Some(pg_sys::Oid::from(constant.datum().value() as u32));
                }
                pg_sys::FLOAT8OID => found.similarity = Some(constant.double()),
                _ => {}
            }
        }
        Some(found)
    }
}

fn rows(name: &CStr, arguments: &Arguments) -> Option<f64> {
    let similarity = arguments.similarity.unwrap_or(DEFAULT_SIMILARITY);
    Law::of(similarity)?;
    let (rows, others) = known(arguments.index?, similarity)?;
    let Some(other) = arguments.other else {
        return match name.to_bytes() {
            b"simhash_pairs" => Some(rows * others.mean / 2.0),
            b"simhash_clusters" => Some(rows * others.any),
            b"simhash_duplicates" => Some(rows * others.any * DROPPED),
            _ => None,
        };
    };
    // Each row of one table is expected to have near rows in the other.
    let (of_other, near) = known(other, similarity)?;
    match name.to_bytes() {
        b"simhash_pairs" => Some(rows.min(of_other) * (1.0 + near.mean)),
        b"simhash_duplicates" => Some(rows.min(of_other)),
        _ => None,
    }
}

/// The number of an index's rows, and the other rows that are near one of them. `None` as for
/// [`parts`].
fn known(index: pg_sys::Oid, similarity: f64) -> Option<(f64, Others)> {
    let parts = parts(index)?;
    let rows = parts.iter().map(|part| part.0).sum();
    let largest = parts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let others = largest.and_then(|(_, part)| others(part, similarity));
    Some((rows, others.unwrap_or(USUAL)))
}

fn rows_of(index: pg_sys::Oid) -> Option<f64> {
    Some(parts(index)?.iter().map(|part| part.0).sum())
}

/// An index, or the indexes of its partitions, each with its number of rows. `None` if it is no
/// index of ours, or if the current role may not read its table.
fn parts(index: pg_sys::Oid) -> Option<Vec<(f64, pg_sys::Oid)>> {
    // SAFETY: catalogue look-ups in a transaction.
    let (table, user) = unsafe { (pg_sys::IndexGetRelation(index, true), pg_sys::GetUserId()) };
    if table == pg_sys::InvalidOid || !may_read(table, None, user) {
        return None;
    }
    let of_class = |oid| {
        let read = |row: &Class| (row.relam, row.relkind as u8, f64::from(row.reltuples));
        // SAFETY: a catalogue look-up in a transaction, by OID.
        unsafe { cache::row(pg_sys::SysCacheIdentifier::RELOID, oid, read) }
    };
    let (method, kind, rows) = of_class(index)?;
    if Some(method) != access_method() {
        return None;
    }
    if kind != pg_sys::RELKIND_PARTITIONED_INDEX {
        return Some(vec![(rows.max(0.0), index)]);
    }
    let parts = all_inheritors(index, pg_sys::NoLock).into_iter();
    Some(parts.filter_map(|part| Some((of_class(part)?.2.max(0.0), part))).collect())
}

fn others(index: pg_sys::Oid, similarity: f64) -> Option<Others> {
    let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    // SAFETY: catalogue look-ups in a transaction.
    let (table, kind) =
        unsafe { (pg_sys::IndexGetRelation(index, true), pg_sys::get_rel_relkind(index) as u8) };
    if table == pg_sys::InvalidOid || kind != pg_sys::RELKIND_INDEX {
        return None;
    }
    // SAFETY: the table is locked before its index, and an index that is gone is not opened.
    unsafe {
        pg_sys::LockRelationOid(table, lock);
        let rel = pg_sys::try_relation_open(index, lock);
        let found = if rel.is_null() { None } else { others_in_open(rel, similarity) };
        if !rel.is_null() {
            pg_sys::relation_close(rel, lock);
        }
        pg_sys::UnlockRelationOid(table, lock);
        found
    }
}

/// # Safety
/// `rel` is an open index of this access method.
unsafe fn others_in_open(rel: pg_sys::Relation, similarity: f64) -> Option<Others> {
    let near = Objects::get().near()?;
    // SAFETY: an open index has its row of pg_index, with a number for each of its columns.
    let (form, last, column) = unsafe {
        let form = &*(*rel).rd_index;
        let last = form.indnkeyatts as usize - 1;
        (form, last, form.indkey.values.as_slice(last + 1)[last])
    };
    if !form.indisvalid {
        return None;
    }
    // The statistics of an expression are the index's, not the table's.
    let (of, column) = match column {
        0 => (form.indexrelid, last as pg_sys::AttrNumber + 1),
        _ => (form.indrelid, column),
    };
    let cache = pg_sys::SysCacheIdentifier::STATRELATTINH as i32;
    // SAFETY: a catalogue look-up by relation, column and inheritance. The row is released after it
    // was read.
    unsafe {
        let row = pg_sys::SearchSysCache3(cache, of.into(), column.into(), false.into());
        let found = others_in(&near, IndexRel::new(rel), Statistics::new(row), similarity);
        if !row.is_null() {
            pg_sys::ReleaseSysCache(row);
        }
        found
    }
}
