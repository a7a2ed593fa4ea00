//! The tables a trigger looks at: the topmost parent of its table and everything below.

use std::ffi::CStr;

use pgrx::{PgList, PgRelation, pg_sys};

use super::column::Column;

/// A table with rows.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    pub table: pg_sys::Oid,
    /// A simhash index on the fingerprint that serves every query.
    pub index: Option<pg_sys::Oid>,
    pub fp: Column,
    pub key: Option<Column>,
}

#[derive(Debug)]
pub struct Family {
    /// The topmost parent, whose lock is that of the family.
    pub root: pg_sys::Oid,
    pub members: Vec<Member>,
    /// Foreign tables, which are not looked at.
    pub foreign: usize,
}

/// What the members' columns are called, and the type of the fingerprint.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    pub fp: &'a CStr,
    pub fp_type: pg_sys::Oid,
    pub key: Option<&'a CStr>,
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
    /// The tables below `root` and itself.
    pub fn below(root: pg_sys::Oid, names: Names<'_>) -> Self {
        let mut family = Family { root, members: Vec::new(), foreign: 0 };
        // SAFETY: the tables are locked by the look-up, which returns a list of OIDs.
        unsafe {
            let all =
                pg_sys::ffi::pg_guard_ffi_boundary(|| find_all_inheritors(root, LOCK, std::ptr::null_mut()));
            for oid in PgList::<pg_sys::Oid>::from_pg(all).iter_oid() {
                match pg_sys::get_rel_relkind(oid) as u8 {
                    RELATION_KIND_TABLE => family.members.extend(member(oid, names)),
                    RELATION_KIND_FOREIGN => family.foreign += 1,
                    _ => {}
                }
            }
        }
        family
    }

    /// Locks every table until the transaction ends, so that its indexes stay; what changed before becomes known.
    pub fn lock_members(&self) {
        for member in &self.members {
            // SAFETY: a lock on an OID; that the table may be gone is found out when it is opened.
            unsafe { pg_sys::LockRelationOid(member.table, LOCK) };
        }
    }
}

/// The topmost parent: the last of the table's first parents that has the fingerprint's column.
pub fn topmost(table: pg_sys::Oid, names: Names<'_>) -> pg_sys::Oid {
    let mut top = table;
    while let Some(parent) = first_parent(top) {
        match Column::named(parent, names.fp) {
            Some(column) if column.declared == names.fp_type => top = parent,
            _ => break,
        }
    }
    top
}

fn first_parent(table: pg_sys::Oid) -> Option<pg_sys::Oid> {
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
        let tuple = pg_sys::systable_getnext(scan);
        let parent = (!tuple.is_null()).then(|| {
            let mut is_null = true;
            let parent = pg_sys::heap_getattr(tuple, PARENT, (*catalogue).rd_att, &mut is_null);
            pg_sys::Oid::from(parent.value() as u32)
        });
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalogue, LOCK);
        parent
    }
}

unsafe fn member(table: pg_sys::Oid, names: Names<'_>) -> Option<Member> {
    let fp = Column::named(table, names.fp)?;
    let key = names.key.and_then(|name| Column::named(table, name));
    // SAFETY: the table is locked, its indexes are while they are looked at.
    let index = unsafe {
        let relation = PgRelation::open(table);
        // Another session's temporary table holds its rows in that session's memory.
        if (*(*relation.as_ptr()).rd_rel).relpersistence as u8 == RELATION_TEMPORARY
            && !(*relation.as_ptr()).rd_islocaltemp
        {
            return None;
        }
        let indexes = PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(relation.as_ptr()));
        indexes.iter_oid().find(|&oid| serves(&PgRelation::with_lock(oid, LOCK), &fp))
    };
    Some(Member { table, index, fp, key })
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

/// No predicate, or `fp IS NOT NULL`.
unsafe fn holds_every_fingerprint(index: &PgRelation, fp: &Column) -> bool {
    // SAFETY: the predicate is a list of expressions; nodes are cast only to the type their tag says.
    unsafe {
        let predicate = PgList::<pg_sys::Node>::from_pg(pg_sys::RelationGetIndexPredicate(index.as_ptr()));
        predicate.iter_ptr().all(|node| {
            if !pgrx::is_a(node, pg_sys::NodeTag::T_NullTest) {
                return false;
            }
            let test = node.cast::<pg_sys::NullTest>();
            let argument = (*test).arg.cast::<pg_sys::Node>();
            (*test).nulltesttype == pg_sys::NullTestType::IS_NOT_NULL
                && pgrx::is_a(argument, pg_sys::NodeTag::T_Var)
                && (*argument.cast::<pg_sys::Var>()).varattno == fp.number
        })
    }
}
