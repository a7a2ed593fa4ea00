//! Warns about what makes the trigger's search slow, and refuses foreign tables that it would miss.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::CString;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::arguments::Arguments;
use crate::catalog::inheritance::{parents, plain_partition_key};
use crate::catalog::names::table_name;
use crate::error::{raise, warn};
use crate::family::tables::Family;
use crate::family::warnings::warn_without_index;
use crate::types::hash::hash_of;

thread_local! {
    /// The warnings that this session has given: the first topmost parent of the family, and a hash
    /// of what it is searched by.
    static WARNED: RefCell<HashSet<(pg_sys::Oid, u64)>> = RefCell::new(HashSet::new());
}

/// Lets this session give its warnings again.
pub fn forget() {
    WARNED.with_borrow_mut(HashSet::clear);
}

/// Raises 0A000 for a trigger on a foreign table, and if rows near those of its table may be in
/// foreign tables. They cannot be there if the scope has all columns of the partition keys above
/// those tables.
pub fn refuse_foreign(table: pg_sys::Oid, family: &Family, arguments: &Arguments) {
    let is_apart = |&foreign: &pg_sys::Oid| {
        let is_scope = |column: &CString| arguments.scope.iter().any(|own| own.name == *column);
        let (mut above, mut is_apart) = (parents(foreign), foreign != table);
        while let Some(parent) = above.pop() {
            is_apart &= parent != table
                && plain_partition_key(parent).is_some_and(|key| key.iter().all(is_scope));
            above.extend(parents(parent));
        }
        is_apart
    };
    let Some(&foreign) = family.foreign.iter().find(|&foreign| !is_apart(foreign)) else { return };
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("simhash_dedup cannot search foreign table {}", table_name(foreign)),
        "Create the trigger on the table of each server. Local partitions can have it if scope= \
         names all columns of the partition key: see docs/scale-out.md.",
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
            &format!("simhash_dedup cannot link to rows of table {}", table_name(table)),
            "Its key must be of the same type, \
             and the owner of the trigger's table must be allowed to read it.",
        );
    }
}
