//! Warnings about what makes the trigger's search slow, and an error where it would be incomplete.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::CString;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::arguments::Arguments;
use crate::catalog::inheritance::partition_columns;
use crate::catalog::names::table_name;
use crate::error::{raise, warn};
use crate::family::tables::Family;
use crate::family::warnings::warn_without_index;
use crate::types::hash::hash_of;

thread_local! {
    /// What was warned about in this session: families, by their first topmost parent, and by what
    /// they are searched, hashed.
    static WARNED: RefCell<HashSet<(pg_sys::Oid, u64)>> = RefCell::new(HashSet::new());
}

/// Warnings that this session has had are given again.
pub fn forget() {
    WARNED.with_borrow_mut(HashSet::clear);
}

/// Raises 0A000 if rows near those of the trigger's table may lie in foreign tables, which it does
/// not look at. Where the scope has all columns that partitions are made by, they cannot.
pub fn refuse_foreign(table: pg_sys::Oid, family: &Family, arguments: &Arguments) {
    // SAFETY: a catalogue look-up.
    let kind = |oid| unsafe { pg_sys::get_rel_relkind(oid) } as u8;
    let is_parted = |&root: &pg_sys::Oid| {
        let is_scope = |column: &CString| arguments.scope.iter().any(|own| own.name == *column);
        kind(root) == pg_sys::RELKIND_PARTITIONED_TABLE
            && partition_columns(root).iter().all(is_scope)
    };
    let is_foreign = kind(table) == pg_sys::RELKIND_FOREIGN_TABLE;
    if !is_foreign && (family.foreign == 0 || family.roots.iter().all(is_parted)) {
        return;
    }
    let root = family.roots.first().copied().unwrap_or(table);
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("simhash_dedup does not look at the foreign tables below {}", table_name(root)),
        "Create the trigger on the table of each server. With the columns that partitions are made \
         by as scope= nothing is let in anywhere: see docs/scale-out.md.",
    )
}

/// Gives the warnings about a family, once in each session.
pub fn warn_once(family: &Family, arguments: &Arguments) {
    let without_index = family.members.iter().any(|member| member.index.is_none());
    let unlinkable = family.unlinkable.filter(|_| arguments.action.link().is_some());
    let Some(&root) = family.roots.first() else { return };
    let searched = hash_of((&arguments.searched.name, arguments.by.similar()));
    if (!without_index && unlinkable.is_none())
        || !WARNED.with_borrow_mut(|warned| warned.insert((root, searched)))
    {
        return;
    }
    let by = (&arguments.searched, arguments.by.similar());
    warn_without_index(family, "simhash_dedup", root, by, &arguments.scope);
    if let Some(table) = unlinkable {
        warn(
            &format!("simhash_dedup does not link to the rows of table {}", table_name(table)),
            "Its key must be of the same type, \
             and the owner of the trigger's table must be allowed to read it.",
        );
    }
}
