//! Warnings about what makes the trigger's search slow or incomplete.

use std::cell::RefCell;
use std::collections::HashSet;

use pgrx::pg_sys;

use super::arguments::Arguments;
use crate::catalog::names::table_name;
use crate::error::warn;
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

/// Gives the warnings about a family, once in each session.
pub fn warn_once(family: &Family, arguments: &Arguments) {
    let without_index = family.members.iter().any(|member| member.index.is_none());
    let unlinkable = family.unlinkable.filter(|_| arguments.action.link().is_some());
    let Some(&root) = family.roots.first() else { return };
    let searched = hash_of((&arguments.searched.name, arguments.by.similar()));
    if (!without_index && family.foreign == 0 && unlinkable.is_none())
        || !WARNED.with_borrow_mut(|warned| warned.insert((root, searched)))
    {
        return;
    }
    let by = (&arguments.searched, arguments.by.similar());
    warn_without_index(family, "simhash_dedup", root, by, &arguments.scope);
    if family.foreign > 0 {
        warn(
            &format!(
                "simhash_dedup does not look at the foreign tables below {}",
                table_name(root)
            ),
            "Near-duplicates across servers are found in bulk: see docs/scale-out.md.",
        );
    }
    if let Some(table) = unlinkable {
        warn(
            &format!("simhash_dedup does not link to the rows of table {}", table_name(table)),
            "Its key must be of the same type, \
             and the owner of the trigger's table must be allowed to read it.",
        );
    }
}
