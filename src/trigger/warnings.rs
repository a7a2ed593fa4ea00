//! Warnings about what makes the trigger's search slow or incomplete.

use std::cell::RefCell;
use std::collections::HashSet;

use pgrx::pg_sys;

use super::arguments::Arguments;
use crate::catalog::names::table_name;
use crate::error::warn;
use crate::family::tables::Family;
use crate::family::warnings::warn_without_index;

thread_local! {
    /// Families that were warned about in this session, by their first topmost parent.
    static WARNED: RefCell<HashSet<pg_sys::Oid>> = RefCell::new(HashSet::new());
}

/// Gives the warnings about a family, once in each session.
pub fn warn_once(family: &Family, arguments: &Arguments) {
    let without_index = family.members.iter().any(|member| member.index.is_none());
    let unlinkable = family.unlinkable.filter(|_| arguments.action.link().is_some());
    let Some(&root) = family.roots.first() else { return };
    if (!without_index && family.foreign == 0 && unlinkable.is_none())
        || !WARNED.with_borrow_mut(|warned| warned.insert(root))
    {
        return;
    }
    warn_without_index(family, "simhash_dedup", root, &arguments.fp, &arguments.scope);
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
