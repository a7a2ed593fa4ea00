//! The tables a trigger looks at: the topmost parents of its table and everything below.

use std::collections::HashSet;
use std::ffi::CString;

use pgrx::{FromDatum, PgList, PgRelation, pg_sys};

use super::arguments::widen;
use super::column::Column;
use super::rights;

/// A table with rows.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    pub table: pg_sys::Oid,
    /// A simhash index on the fingerprint that serves every query.
    pub index: Option<pg_sys::Oid>,
    pub fp: Column,
    /// Its values are to be had as ones of the trigger's own key: see [`Key::fits`].
    pub key: Option<Column>,
}

#[derive(Debug)]
pub struct Family {
    /// The topmost parents, ascending. Two tables that are in each other's families have one in
    /// common, and writers take the lock of each.
    pub roots: Vec<pg_sys::Oid>,
    /// Everything from the topmost parents down, tables or not: while they are locked, nothing of
    /// it is detached, nor put below another parent.
    pub relations: Vec<pg_sys::Oid>,
    pub members: Vec<Member>,
    /// Foreign tables, which are not looked at.
    pub foreign: usize,
    /// A member whose key cannot be a link of the trigger's table.
    pub unlinkable: Option<pg_sys::Oid>,
}

/// What the members' columns are called, and what is asked of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Names {
    pub fp: CString,
    pub fp_type: pg_sys::Oid,
    pub key: Option<Key>,
}

/// The key of the trigger's own table. Tables below a common parent may each have a column of that
/// name, of any type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub name: CString,
    pub base: pg_sys::Oid,
    pub modifier: i32,
    /// Who makes keys known by links: the owner of the trigger's table.
    pub linked_by: Option<pg_sys::Oid>,
}

impl Key {
    /// Whether the column's values are values of the key, as they are or widened.
    fn fits(&self, column: &Column) -> bool {
        let same = column.base == self.base && (self.modifier < 0 || self.modifier == column.modifier);
        same || widen(column.base, self.base, pg_sys::Datum::null()).is_some()
    }

    fn may_be_linked(&self, table: pg_sys::Oid) -> bool {
        self.linked_by.is_none_or(|owner| rights::may_link(table, &self.name, owner))
    }
}

const LOCK: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
// catalog/pg_inherits.h
const INHERITS: u32 = 2611;
const INHERITS_BY_CHILD: u32 = 2680;
const CHILD: pg_sys::AttrNumber = 1;
const PARENT: i32 = 2;
// catalog/pg_class.h
const RELATION_KIND_TABLE: u8 = b'r';
const RELATION_KIND_FOREIGN: u8 = b'f';
const RELATION_TEMPORARY: u8 = b't';
const EQUAL_STRATEGY: i16 = 1;

unsafe extern "C-unwind" {
    /// catalog/pg_inherits.h, which pgrx does not bind.
    fn find_all_inheritors(
        parent: pg_sys::Oid,
        lock: pg_sys::LOCKMODE,
        parents: *mut *mut pg_sys::List,
    ) -> *mut pg_sys::List;
}

impl Family {
    /// The tables below `tops` and themselves. `roots`: those whose locks are the family's.
    pub fn below(tops: &[pg_sys::Oid], roots: Vec<pg_sys::Oid>, names: &Names) -> Self {
        let (relations, members) = (Vec::new(), Vec::new());
        let mut family = Family { roots, relations, members, foreign: 0, unlinkable: None };
        let mut seen = HashSet::new();
        for &top in tops {
            // SAFETY: the tables are locked, the topmost here; the look-up returns a list of OIDs.
            unsafe {
                pg_sys::LockRelationOid(top, LOCK);
                let all = pg_sys::ffi::pg_guard_ffi_boundary(|| {
                    find_all_inheritors(top, LOCK, std::ptr::null_mut())
                });
                for oid in PgList::<pg_sys::Oid>::from_pg(all).iter_oid() {
                    if !seen.insert(oid) {
                        continue;
                    }
                    family.relations.push(oid);
                    match pg_sys::get_rel_relkind(oid) as u8 {
                        RELATION_KIND_TABLE => family.take_in(oid, names),
                        RELATION_KIND_FOREIGN => family.foreign += 1,
                        _ => {}
                    }
                }
            }
        }
        family
    }

    /// Locks every relation until the transaction ends, so that parents, columns and indexes stay;
    /// what changed before becomes known.
    pub fn lock_relations(&self) {
        for &relation in &self.relations {
            // SAFETY: a lock on an OID. If it is gone, that is one of the changes that become
            // known.
            unsafe { pg_sys::LockRelationOid(relation, LOCK) };
        }
    }

    /// The table must be locked.
    unsafe fn take_in(&mut self, table: pg_sys::Oid, names: &Names) {
        let Some(fp) = Column::named(table, &names.fp).filter(|fp| fp.declared == names.fp_type) else {
            return;
        };
        // SAFETY: as this function's; its indexes are locked while they are looked at.
        let index = unsafe {
            let relation = PgRelation::open(table);
            // Another session's temporary table holds its rows in that session's memory.
            if (*(*relation.as_ptr()).rd_rel).relpersistence as u8 == RELATION_TEMPORARY
                && !(*relation.as_ptr()).rd_islocaltemp
            {
                return;
            }
            let indexes = PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(relation.as_ptr()));
            indexes.iter_oid().find(|&oid| serves(&PgRelation::with_lock(oid, LOCK), &fp))
        };
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
        self.members.push(Member { table, index, fp, key });
    }
}

/// The topmost of the table's parents that have the fingerprint's column, ascending; the table
/// itself if none has.
pub fn topmost(table: pg_sys::Oid, names: &Names) -> Vec<pg_sys::Oid> {
    let (mut tops, mut seen, mut open) = (Vec::new(), HashSet::new(), vec![table]);
    while let Some(relation) = open.pop() {
        if !seen.insert(relation) {
            continue;
        }
        let above = parents(relation).into_iter().filter(|&parent| {
            Column::named(parent, &names.fp).is_some_and(|fp| fp.declared == names.fp_type)
        });
        let before = open.len();
        open.extend(above);
        if open.len() == before {
            tops.push(relation);
        }
    }
    tops.sort_unstable_by_key(|top| top.to_u32());
    tops
}

/// What the table inherits from, or is a partition of; one that is being detached still is.
pub fn parents(table: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    // SAFETY: a scan of a catalogue by its index, in the order of parents.
    unsafe {
        let catalogue = pg_sys::table_open(pg_sys::Oid::from(INHERITS), LOCK);
        let mut key = pg_sys::ScanKeyData::default();
        let equal = pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber;
        pg_sys::ScanKeyInit(
            &mut key,
            CHILD,
            equal,
            pg_sys::Oid::from(pg_sys::F_OIDEQ),
            pg_sys::Datum::from(table),
        );
        let index = pg_sys::Oid::from(INHERITS_BY_CHILD);
        let scan = pg_sys::systable_beginscan(catalogue, index, true, std::ptr::null_mut(), 1, &mut key);
        let mut parents = Vec::new();
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            let mut is_null = true;
            let parent = pg_sys::heap_getattr(tuple, PARENT, (*catalogue).rd_att, &mut is_null);
            parents.push(pg_sys::Oid::from(parent.value() as u32));
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalogue, LOCK);
        parents
    }
}

/// Whether the index finds every row by its fingerprint.
unsafe fn serves(index: &PgRelation, fp: &Column) -> bool {
    // SAFETY: an open index has a key column.
    unsafe {
        (*index.rd_index).indisvalid
            && *(*index.rd_index).indkey.values.as_ptr() == fp.number
            && Some((*index.rd_rel).relam) == crate::planner::access_method()
            && looks_up_fingerprints(*index.rd_opfamily, *index.rd_opcintype)
            && holds_every_fingerprint(index, fp)
    }
}

/// The operator classes of balls do not: they know no equality.
unsafe fn looks_up_fingerprints(family: pg_sys::Oid, input: pg_sys::Oid) -> bool {
    // SAFETY: a catalogue look-up.
    unsafe { pg_sys::get_opfamily_member(family, input, input, EQUAL_STRATEGY) != pg_sys::InvalidOid }
}

/// No predicate, or `fp IS NOT NULL`. It is read as it is stored: the relation cache folds it, and that
/// runs functions of the index's owner with the rights of whoever inserts.
unsafe fn holds_every_fingerprint(index: &PgRelation, fp: &Column) -> bool {
    // SAFETY: an open index has a copy of its catalogue row, whose predicate is the text of an expression;
    // nodes are cast only to the type their tag says.
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
        let Some(text) = String::from_datum(stored, false).and_then(|text| CString::new(text).ok()) else {
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
