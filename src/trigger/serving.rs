//! Which index serves the trigger's search: one that finds every row by its fingerprint.

use std::ffi::CString;

use pgrx::{FromDatum, PgRelation, pg_sys};

use super::column::Column;
use crate::planner::access_method;
use crate::types::strategy;

/// Whether the index finds every row by its fingerprint.
///
/// # Safety
/// The index is open.
pub unsafe fn serves(index: &PgRelation, fp: &Column) -> bool {
    // SAFETY: an open index has a number for each of its columns, and an operator family and an
    // input type for each of its key columns, of which the last is searched by distance.
    unsafe {
        let last = searched_column(index);
        (*index.rd_index).indisvalid
            && *(*index.rd_index).indkey.values.as_ptr().add(last) == fp.number
            && Some((*index.rd_rel).relam) == access_method()
            && looks_up_fingerprints(*index.rd_opfamily.add(last), *index.rd_opcintype.add(last))
            && holds_every_fingerprint(index, fp)
    }
}

/// The column of a simhash index that is searched by distance, from 0.
fn searched_column(index: &PgRelation) -> usize {
    // SAFETY: an open index has its catalogue row.
    unsafe { (*index.rd_index).indnkeyatts as usize - 1 }
}

/// Whether the operator class is one of fingerprints. Those of balls know no equality.
fn looks_up_fingerprints(family: pg_sys::Oid, input: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up.
    let equal =
        unsafe { pg_sys::get_opfamily_member(family, input, input, strategy::EQUAL as i16) };
    equal != pg_sys::InvalidOid
}

/// Whether the index has no predicate, or `fp IS NOT NULL`. The predicate is read as it is stored.
/// The relation cache would fold it, and so run functions of the index's owner with the rights of
/// whoever inserts.
unsafe fn holds_every_fingerprint(index: &PgRelation, fp: &Column) -> bool {
    // SAFETY: an open index has a copy of its catalogue row, whose predicate is the text of an
    // expression; nodes are cast only to the type their tag says.
    unsafe {
        let mut is_null = true;
        let stored = pg_sys::SysCacheGetAttr(
            pg_sys::SysCacheIdentifier::INDEXRELID as i32,
            index.rd_indextuple,
            pg_sys::Anum_pg_index_indpred as pg_sys::AttrNumber,
            &mut is_null,
        );
        if is_null {
            return true;
        }
        let Some(text) = String::from_datum(stored, false).and_then(|text| CString::new(text).ok())
        else {
            return false;
        };
        let node = pg_sys::stringToNode(text.as_ptr()).cast::<pg_sys::Node>();
        if node.is_null() || !pgrx::is_a(node, pg_sys::NodeTag::T_NullTest) {
            return false;
        }
        let test = node.cast::<pg_sys::NullTest>();
        let argument = (*test).arg.cast::<pg_sys::Node>();
        (*test).nulltesttype == pg_sys::NullTestType::IS_NOT_NULL
            && pgrx::is_a(argument, pg_sys::NodeTag::T_Var)
            && (*argument.cast::<pg_sys::Var>()).varattno == fp.number
    }
}
