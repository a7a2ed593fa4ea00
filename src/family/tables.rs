//! Finds a trigger's family, the tables that it searches: for `simhash_dedup` everything below the
//! topmost parents of its table, for `simhash_cluster` its table and what is below it.

use std::collections::HashSet;
use std::ffi::{CStr, CString};

use pgrx::pg_sys;

use super::arguments::By;
use super::column::{Column, Named};
use super::on::Open;
use super::rights;
use super::serving::{Serving, Similar, all, best, by_time};
use super::value::fits;
use crate::advisory::{Class, EXCLUSIVE, Lock, SHARE};
use crate::catalog::inheritance::{all_inheritors, parents};

/// A table of the family, with its indexes and columns.
#[derive(Clone, Debug)]
pub struct Member {
    pub table: pg_sys::Oid,
    /// A simhash index that finds every row by its fingerprint or text.
    pub index: Option<Serving>,
    /// All simhash indexes on the searched column that rows are put into.
    pub indexes: Vec<pg_sys::Oid>,
    pub searched: Column,
    /// The columns of the scope, in the order of the trigger's own.
    pub scope: Vec<Column>,
    /// The texts, if texts are compared, and the rows' times, if there is a window.
    pub text: Option<Column>,
    pub time: Option<Column>,
    /// A B-tree on the times, if there is no `index`.
    pub by_time: Option<pg_sys::Oid>,
    /// The key, if its values can be values of the trigger's own key ([`NamedKey::fits`]) and links
    /// may show them.
    pub key: Option<Column>,
}

/// The tables that one trigger searches, with their common parents.
#[derive(Debug)]
pub struct Family {
    /// The topmost parents, ascending. A writer of `simhash_dedup` takes the lock of each. Two
    /// tables that are in each other's families have a topmost parent in common.
    pub roots: Vec<pg_sys::Oid>,
    /// All relations from the topmost parents down, tables or not. While these are locked, none of
    /// them is detached or put below another parent.
    pub relations: Vec<pg_sys::Oid>,
    pub members: Vec<Member>,
    /// The foreign tables, which are not searched.
    pub foreign: Vec<pg_sys::Oid>,
    /// A member whose keys cannot be links of the trigger's table.
    pub unlinkable: Option<pg_sys::Oid>,
}

/// The names of the members' columns, and how they are used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Names {
    /// The column that is searched: the fingerprint, or the text if there is a `similar`.
    pub searched: NamedColumn,
    pub similar: Option<Similar>,
    pub scope: Vec<NamedColumn>,
    pub text: Option<NamedColumn>,
    pub time: Option<NamedColumn>,
    pub key: Option<NamedKey>,
}

impl Names {
    /// The names for a search by these columns.
    pub fn of(
        (searched, by): (&Named, &By),
        scope: &[Named],
        [text, time]: [Option<&Named>; 2],
        key: Option<NamedKey>,
    ) -> Self {
        Names {
            searched: searched.into(),
            similar: by.similar().cloned(),
            scope: scope.iter().map(NamedColumn::from).collect(),
            text: text.map(NamedColumn::from),
            time: time.map(NamedColumn::from),
            key,
        }
    }
}

/// The columns of [`Names`] in one table.
struct Columns {
    searched: Column,
    scope: Vec<Column>,
    text: Option<Column>,
    time: Option<Column>,
}

impl Names {
    /// The columns that tables inherit together. `None` if the table lacks one of them.
    fn columns(&self, table: pg_sys::Oid) -> Option<Columns> {
        let optional = |named: &Option<NamedColumn>| match named {
            None => Some(None),
            Some(column) => column.of(table).map(Some),
        };
        Some(Columns {
            searched: self.searched.of(table)?,
            scope: self.scope.iter().map(|column| column.of(table)).collect::<Option<_>>()?,
            text: optional(&self.text)?,
            time: optional(&self.time)?,
        })
    }
}

/// A column that tables inherit, with its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedColumn {
    pub name: CString,
    pub declared: pg_sys::Oid,
}

impl From<&Named> for NamedColumn {
    fn from(named: &Named) -> Self {
        NamedColumn { name: named.name.clone(), declared: named.column.declared }
    }
}

impl NamedColumn {
    fn of(&self, table: pg_sys::Oid) -> Option<Column> {
        Column::named(table, &self.name).filter(|column| column.declared == self.declared)
    }
}

/// The key of the trigger's own table. A table below a common parent may have a column of that name
/// with any type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NamedKey {
    pub name: CString,
    pub base: pg_sys::Oid,
    pub modifier: i32,
    /// The role that shows keys in links: the owner of the trigger's table.
    pub linked_by: Option<pg_sys::Oid>,
}

impl NamedKey {
    pub fn new(name: &CStr, column: &Column, linked_by: Option<pg_sys::Oid>) -> Self {
        let Column { base, modifier, .. } = *column;
        NamedKey { name: name.to_owned(), base, modifier, linked_by }
    }

    /// Whether the column's values are values of the key, unchanged or widened.
    fn fits(&self, column: &Column) -> bool {
        fits((column.base, column.modifier), (self.base, self.modifier))
    }

    fn may_be_linked(&self, table: pg_sys::Oid) -> bool {
        self.linked_by.is_none_or(|owner| rights::may_link(table, &self.name, owner))
    }
}

const LOCK: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;

impl Family {
    /// The family of all relations from `tops` down. `roots` are the topmost parents whose locks
    /// are the family's.
    pub fn below(tops: &[pg_sys::Oid], roots: Vec<pg_sys::Oid>, names: &Names) -> Self {
        let (relations, members) = (Vec::new(), Vec::new());
        let mut family =
            Family { roots, relations, members, foreign: Vec::new(), unlinkable: None };
        let mut seen = HashSet::new();
        for &top in tops {
            // SAFETY: locks an OID.
            unsafe { pg_sys::LockRelationOid(top, LOCK) };
            for oid in all_inheritors(top, pg_sys::AccessShareLock) {
                if !seen.insert(oid) {
                    continue;
                }
                family.relations.push(oid);
                // SAFETY: a catalogue look-up.
                match unsafe { pg_sys::get_rel_relkind(oid) } as u8 {
                    pg_sys::RELKIND_RELATION => family.take_in(oid, names),
                    pg_sys::RELKIND_FOREIGN_TABLE => family.foreign.push(oid),
                    _ => {}
                }
            }
        }
        family
    }

    /// The member of a table, if an index finds every row of every member.
    pub fn indexed(&self, table: pg_sys::Oid) -> Option<&Member> {
        let all = self.members.iter().all(|member| member.index.is_some());
        self.members.iter().find(|member| all && member.table == table)
    }

    /// Takes the family's lock until the transaction ends: exclusively if `alone`, otherwise
    /// shared. Who takes it exclusively is the family's only writer.
    ///
    /// Order: the locks of the family's topmost parents, ascending, then the snapshot. Other
    /// transactions that inserted rows held the lock until they had committed. So a transaction
    /// that holds the lock exclusively sees their rows, and no row can be inserted unseen.
    /// Transactions that share the lock exclude each other by [claims](crate::claims).
    pub fn lock(&self, alone: bool) {
        for root in &self.roots {
            let class = pg_sys::RelationRelationId.to_u32();
            let lock = Lock::new(Class::Family, class, root.to_u32());
            lock.take(if alone { EXCLUSIVE } else { SHARE });
        }
    }

    /// Locks every relation until the transaction ends, so that parents, columns and indexes stay.
    /// Earlier changes become known.
    pub fn lock_relations(&self) {
        for &relation in &self.relations {
            // SAFETY: locks an OID. If the relation is gone, that is one of the changes that become
            // known.
            unsafe { pg_sys::LockRelationOid(relation, LOCK) };
        }
    }

    /// Makes the table a member, if it has the columns that tables inherit together.
    fn take_in(&mut self, table: pg_sys::Oid, names: &Names) {
        let Some(Columns { searched, scope, text, time }) = names.columns(table) else { return };
        let found = Open::with(table, pg_sys::AccessShareLock, |open| {
            // Rows of another session's temporary table are in that session's memory.
            if open.is_temporary_elsewhere() {
                return None;
            }
            let index = best(open.indexes(), &searched, &scope, names.similar.as_ref());
            let time = time.as_ref().filter(|_| index.is_none());
            let by_time = time.and_then(|time| by_time(open.indexes(), time));
            Some((index, all(open.indexes(), &searched), by_time))
        });
        let Some((index, indexes, by_time)) = found.flatten() else { return };
        let mut key = None;
        if let Some(own) = &names.key
            && let Some(column) = Column::named(table, &own.name)
        {
            if own.fits(&column) && own.may_be_linked(table) {
                key = Some(column);
            } else {
                self.unlinkable = self.unlinkable.or(Some(table));
            }
        }
        self.members.push(Member {
            table,
            index,
            indexes,
            searched,
            scope,
            text,
            time,
            by_time,
            key,
        });
    }
}

/// The topmost of the table's parents that have the columns that tables inherit together,
/// ascending; the table itself if none has.
pub fn topmost(table: pg_sys::Oid, names: &Names) -> Vec<pg_sys::Oid> {
    let (mut tops, mut seen, mut open) = (Vec::new(), HashSet::new(), vec![table]);
    while let Some(relation) = open.pop() {
        if !seen.insert(relation) {
            continue;
        }
        let above = parents(relation).into_iter().filter(|&parent| names.columns(parent).is_some());
        let before = open.len();
        open.extend(above);
        if open.len() == before {
            tops.push(relation);
        }
    }
    tops.sort_unstable_by_key(|top| top.to_u32());
    tops
}
