//! Is there a simhash index on an expression of the query?
//!
//! Tables that the query names are locked by then, their partitions are not, and most will be
//! pruned: so partitions are neither opened nor locked here. What is known of their indexes comes
//! from the catalogues alone: the simhash indexes of the database, found by what depends on our
//! operator classes, and the tables below the query's table.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use pgrx::{PgList, PgRelation, pg_sys};

use super::catalog::{self, Measure, access_method, valid};
use crate::compat;

unsafe extern "C-unwind" {
    /// catalog/pg_inherits.h, which pgrx does not bind.
    fn find_all_inheritors(
        parent: pg_sys::Oid,
        lock: pg_sys::LOCKMODE,
        parents: *mut *mut pg_sys::List,
    ) -> *mut pg_sys::List;
}

/// The strategy of `<@`.
const WITHIN: i32 = 2;

/// The first column of a simhash index.
#[derive(Clone, Copy)]
struct FirstColumn {
    table: u32,
    /// 0 for an expression.
    attribute: pg_sys::AttrNumber,
    class: pg_sys::Oid,
    family: pg_sys::Oid,
    input_type: pg_sys::Oid,
}

impl FirstColumn {
    /// `None` if the index is not valid.
    unsafe fn of(index: pg_sys::Oid) -> Option<FirstColumn> {
        use pg_sys::SysCacheIdentifier::{CLAOID, INDEXRELID};
        // SAFETY: syscache tuples are valid until they are released; an index has a first column
        // and its class.
        unsafe {
            let tuple = pg_sys::SearchSysCache1(INDEXRELID as i32, pg_sys::Datum::from(index));
            if tuple.is_null() {
                return None;
            }
            let form = pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_index>(tuple);
            let mut is_null = false;
            let number = pg_sys::Anum_pg_index_indclass as pg_sys::AttrNumber;
            let classes = pg_sys::SysCacheGetAttr(INDEXRELID as i32, tuple, number, &mut is_null);
            let class = *(*classes.cast_mut_ptr::<pg_sys::oidvector>()).values.as_ptr();
            let (table, attribute) = ((*form).indrelid.to_u32(), *(*form).indkey.values.as_ptr());
            let usable = (*form).indisvalid && (*form).indislive;
            pg_sys::ReleaseSysCache(tuple);
            let tuple = pg_sys::SearchSysCache1(CLAOID as i32, pg_sys::Datum::from(class));
            if tuple.is_null() {
                return None;
            }
            let form = pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_opclass>(tuple);
            let (family, input_type) = ((*form).opcfamily, (*form).opcintype);
            pg_sys::ReleaseSysCache(tuple);
            usable.then_some(FirstColumn { table, attribute, class, family, input_type })
        }
    }

    /// Whether the index answers `<@` of the measure.
    unsafe fn serves(&self, measure: &Measure) -> bool {
        // SAFETY: a catalogue look-up.
        self.input_type == measure.point && unsafe { serves(self.family, measure) }
    }
}

/// Whether `<@` of the measure is the operator that an operator family searches by.
///
/// # Safety
/// In a transaction: a catalogue look-up.
pub unsafe fn serves(family: pg_sys::Oid, measure: &Measure) -> bool {
    // SAFETY: as this function's.
    unsafe { pg_sys::get_op_opfamily_strategy(measure.operator, family) == WITHIN }
}

/// Whether a simhash index has `expression`, of one relation of the query, as its column.
///
/// # Safety
/// `root` is the planner's, its arrays of relations set up; `expression` belongs to its query and
/// is of the measure's type.
pub unsafe fn is_indexed(
    root: *mut pg_sys::PlannerInfo,
    expression: *mut pg_sys::Node,
    measure: &Measure,
) -> bool {
    // SAFETY: as this function's.
    unsafe {
        let expression = without_domain(expression);
        let mut relid = 0;
        if !pg_sys::bms_get_singleton_member(compat::pull_varnos(root, expression), &mut relid)
            || relid >= (*root).simple_rel_array_size
        {
            return false;
        }
        let entry = *(*root).simple_rte_array.add(relid as usize);
        match (*entry).rtekind {
            pg_sys::RTEKind::RTE_RELATION => {
                if let Some(of_parent) = of_parent(root, relid, expression) {
                    return is_indexed(root, of_parent, measure);
                }
                table_is_indexed((*entry).relid, relid, expression, measure)
                    || (*entry).inh && a_child_is_indexed((*entry).relid, expression, measure)
            }
            pg_sys::RTEKind::RTE_SUBQUERY if (*entry).inh => {
                union_is_indexed(root, relid, expression, measure)
            }
            _ => false,
        }
    }
}

/// A partition's column in terms of the table that the query names: what is decided for that one
/// holds for its partitions.
unsafe fn of_parent(
    root: *mut pg_sys::PlannerInfo,
    relid: i32,
    expression: *mut pg_sys::Node,
) -> Option<*mut pg_sys::Node> {
    // SAFETY: the planner's arrays are as long as it says; the Var is a copy.
    unsafe {
        let member = appended(root, relid)?;
        let parent = *(*root).simple_rte_array.add((*member).parent_relid as usize);
        if (*parent).rtekind != pg_sys::RTEKind::RTE_RELATION
            || !pgrx::is_a(expression, pg_sys::NodeTag::T_Var)
        {
            return None;
        }
        let column = usize::try_from((*expression.cast::<pg_sys::Var>()).varattno - 1).ok()?;
        if column >= usize::try_from((*member).num_child_cols).ok()? {
            return None;
        }
        let attribute = *(*member).parent_colnos.add(column);
        if attribute <= 0 {
            return None;
        }
        let var: *mut pg_sys::Var = pg_sys::copyObjectImpl(expression.cast()).cast();
        (*var).varno = (*member).parent_relid as _;
        (*var).varattno = attribute;
        Some(var.cast())
    }
}

/// How a relation of the query comes to be one of several that are appended.
///
/// # Safety
/// `root` is the planner's, its arrays of relations set up.
pub unsafe fn appended(root: *mut pg_sys::PlannerInfo, relid: i32) -> Option<*mut pg_sys::AppendRelInfo> {
    // SAFETY: as this function's: the array, if there is one, is as long as that of the relations.
    unsafe {
        let members = (*root).append_rel_array;
        let member = if members.is_null() { members.cast() } else { *members.add(relid as usize) };
        (!member.is_null()).then_some(member)
    }
}

/// What is under the relabelling of a domain as the type that it is over; PostgreSQL looks there,
/// too, when it matches clauses with indexes.
unsafe fn without_domain(expression: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: an expression; it is cast only to the type its tag says.
    unsafe {
        if !pgrx::is_a(expression, pg_sys::NodeTag::T_RelabelType) {
            return expression;
        }
        let relabelled = expression.cast::<pg_sys::RelabelType>();
        let under: *mut pg_sys::Node = (*relabelled).arg.cast();
        if pg_sys::getBaseType(pg_sys::exprType(under)) == (*relabelled).resulttype {
            under
        } else {
            expression
        }
    }
}

/// An index of the table itself. The query holds a lock on the table already.
unsafe fn table_is_indexed(
    table: pg_sys::Oid,
    relid: i32,
    expression: *mut pg_sys::Node,
    measure: &Measure,
) -> bool {
    // SAFETY: opening a relation that is locked.
    unsafe {
        let Some(access_method) = access_method() else { return false };
        let table = PgRelation::open(table);
        let indexes = PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(table.as_ptr()));
        indexes.iter_oid().any(|index| {
            relation_access_method(index) == Some(access_method)
                && FirstColumn::of(index)
                    .is_some_and(|first| first.serves(measure) && is_column(index, &first, relid, expression))
        })
    }
}

unsafe fn relation_access_method(relation: pg_sys::Oid) -> Option<pg_sys::Oid> {
    // SAFETY: a syscache tuple is valid until it is released.
    unsafe {
        let cache = pg_sys::SysCacheIdentifier::RELOID as i32;
        let tuple = pg_sys::SearchSysCache1(cache, pg_sys::Datum::from(relation));
        if tuple.is_null() {
            return None;
        }
        let access_method = (*pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_class>(tuple)).relam;
        pg_sys::ReleaseSysCache(tuple);
        Some(access_method)
    }
}

unsafe fn is_column(
    index: pg_sys::Oid,
    first: &FirstColumn,
    relid: i32,
    expression: *mut pg_sys::Node,
) -> bool {
    // SAFETY: the index of a locked table is locked while it is looked at.
    unsafe {
        if first.attribute != 0 {
            return pgrx::is_a(expression, pg_sys::NodeTag::T_Var)
                && (*expression.cast::<pg_sys::Var>()).varattno == first.attribute;
        }
        let index = PgRelation::with_lock(index, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
        // RelationGetIndexExpressions gives a copy, whose Vars are of relation 1.
        let expressions = pg_sys::RelationGetIndexExpressions(index.as_ptr());
        PgList::<pg_sys::Node>::from_pg(expressions).get_ptr(0).is_some_and(|indexed| {
            pg_sys::ChangeVarNodes(indexed, 1, relid, 0);
            let indexed = without_domain(indexed);
            pg_sys::equal(indexed.cast(), expression.cast())
        })
    }
}

/// An index of a member of a flattened UNION ALL.
unsafe fn union_is_indexed(
    root: *mut pg_sys::PlannerInfo,
    relid: i32,
    expression: *mut pg_sys::Node,
    measure: &Measure,
) -> bool {
    // SAFETY: the list is the planner's.
    unsafe {
        let members = PgList::<pg_sys::AppendRelInfo>::from_pg((*root).append_rel_list);
        members
            .iter_ptr()
            .filter(|&member| (*member).parent_relid == relid as u32)
            .any(|member| member_is_indexed(root, member, expression, measure))
    }
}

/// Whether a column of a UNION ALL is indexed in this member.
///
/// # Safety
/// As [`is_indexed`]; `member` is one of the query's.
pub unsafe fn member_is_indexed(
    root: *mut pg_sys::PlannerInfo,
    member: *mut pg_sys::AppendRelInfo,
    expression: *mut pg_sys::Node,
    measure: &Measure,
) -> bool {
    // SAFETY: translated_vars has one expression for each output column of the union.
    unsafe {
        if !pgrx::is_a(expression, pg_sys::NodeTag::T_Var)
            || (*expression.cast::<pg_sys::Var>()).varno as u32 != (*member).parent_relid
        {
            return false;
        }
        let column = usize::try_from((*expression.cast::<pg_sys::Var>()).varattno - 1).ok();
        let translated = column
            .and_then(|column| PgList::<pg_sys::Node>::from_pg((*member).translated_vars).get_ptr(column));
        translated.is_some_and(|node| !node.is_null() && is_indexed(root, node, measure))
    }
}

/// Counts changes of indexes, and of tables, columns and indexes.
static INDEX_CHANGES: AtomicU64 = AtomicU64::new(0);
static RELATION_CHANGES: AtomicU64 = AtomicU64::new(0);

unsafe extern "C-unwind" fn note_index(_: pg_sys::Datum, _cache: i32, _hash: u32) {
    INDEX_CHANGES.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C-unwind" fn note_relation(_: pg_sys::Datum, _relation: pg_sys::Oid) {
    RELATION_CHANGES.fetch_add(1, Ordering::Relaxed);
}

/// A parent, its column and `<@`.
type Question = (pg_sys::Oid, pg_sys::AttrNumber, pg_sys::Oid);
/// The columns, expressions aside, that simhash indexes are on, by their tables.
type Columns = HashMap<u32, Vec<FirstColumn>>;
/// The most answers that a backend remembers.
const REMEMBERED: usize = 1024;

thread_local! {
    /// Those of this database, with the counts of changes when they were looked up.
    static COLUMNS: RefCell<Option<([u64; 2], Rc<Columns>)>> = const { RefCell::new(None) };
    /// Answers of [`a_child_is_indexed`], with the counts of changes when the first was found.
    static ANSWERS: RefCell<([u64; 3], HashMap<Question, bool>)> = RefCell::default();
    static WATCHED: () = {
        catalog::watch_cache(pg_sys::SysCacheIdentifier::INDEXRELID, note_index);
        // SAFETY: the callback only counts; it lives as long as the process.
        unsafe { pg_sys::CacheRegisterRelcacheCallback(Some(note_relation), pg_sys::Datum::null()) };
    };
}

/// Whether a partition or an inheriting table has an index on the column; columns go by name.
unsafe fn a_child_is_indexed(parent: pg_sys::Oid, expression: *mut pg_sys::Node, measure: &Measure) -> bool {
    // SAFETY: the node is cast only to the type its tag says.
    unsafe {
        if !pgrx::is_a(expression, pg_sys::NodeTag::T_Var) {
            return false;
        }
        let attribute = (*expression.cast::<pg_sys::Var>()).varattno;
        let question = (parent, attribute, measure.operator);
        WATCHED.with(|()| ());
        let indexes = [catalog::changes(), INDEX_CHANGES.load(Ordering::Relaxed)];
        let now = [indexes[0], indexes[1], RELATION_CHANGES.load(Ordering::Relaxed)];
        let known =
            ANSWERS.with_borrow(|(then, known)| (*then == now).then(|| known.get(&question).copied()));
        if let Some(Some(known)) = known {
            return known;
        }
        let answer = descendant_is_indexed(parent, attribute, &indexed_columns(indexes), measure);
        ANSWERS.with_borrow_mut(|(then, known)| {
            if *then != now || known.len() >= REMEMBERED {
                known.clear();
            }
            *then = now;
            known.insert(question, answer);
        });
        answer
    }
}

unsafe fn descendant_is_indexed(
    parent: pg_sys::Oid,
    attribute: pg_sys::AttrNumber,
    columns: &Columns,
    measure: &Measure,
) -> bool {
    // SAFETY: catalogue look-ups, without locks: what they find may be gone a moment later, its
    // names too.
    unsafe {
        let name = pg_sys::get_attname(parent, attribute, true);
        if name.is_null() || !columns.values().flatten().any(|column| column.serves(measure)) {
            return false;
        }
        let no_lock = pg_sys::NoLock as pg_sys::LOCKMODE;
        let tables =
            pg_sys::ffi::pg_guard_ffi_boundary(|| find_all_inheritors(parent, no_lock, std::ptr::null_mut()));
        PgList::<pg_sys::Oid>::from_pg(tables).iter_oid().filter(|&table| table != parent).any(|table| {
            pgrx::check_for_interrupts!();
            columns.get(&table.to_u32()).is_some_and(|columns| {
                let mut serving = columns.iter().filter(|column| column.serves(measure));
                let on_name = |column: &FirstColumn| pg_sys::get_attnum(table, name) == column.attribute;
                serving.any(on_name)
            })
        })
    }
}

/// The simhash indexes of this database.
unsafe fn indexed_columns(now: [u64; 2]) -> Rc<Columns> {
    let known =
        COLUMNS.with_borrow(|known| known.as_ref().filter(|known| known.0 == now).map(|k| k.1.clone()));
    known.unwrap_or_else(|| {
        let mut columns = Columns::new();
        // SAFETY: catalogue look-ups.
        unsafe {
            for class in operator_classes() {
                for index in dependent_relations(class) {
                    pgrx::check_for_interrupts!();
                    let first = FirstColumn::of(index);
                    if let Some(first) = first.filter(|first| first.class == class && first.attribute > 0) {
                        columns.entry(first.table).or_default().push(first);
                    }
                }
            }
        }
        let columns = Rc::new(columns);
        COLUMNS.set(Some((now, columns.clone())));
        columns
    })
}

/// The operator classes of the access method.
unsafe fn operator_classes() -> Vec<pg_sys::Oid> {
    let Some(access_method) = access_method() else { return Vec::new() };
    let cache = pg_sys::SysCacheIdentifier::CLAAMNAMENSP as i32;
    let none = pg_sys::Datum::null();
    // SAFETY: a list of syscache tuples is valid until it is released; each is a
    // FormData_pg_opclass.
    unsafe {
        let list = pg_sys::SearchSysCacheList(cache, 1, pg_sys::Datum::from(access_method), none, none);
        let classes = catalog::members(list)
            .map(|tuple| (*pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_opclass>(tuple)).oid)
            .collect();
        pg_sys::ReleaseCatCacheList(list);
        classes
    }
}

/// catalog/pg_depend.h: the catalogue, its index by what is referred to, and columns.
const DEPEND: u32 = 2608;
const DEPEND_BY_REFERENCE: u32 = 2674;
const REFERENCED_CLASS: i16 = 4;
const REFERENCED_OBJECT: i16 = 5;
const DEPENDENT_CLASS: i32 = 1;
const DEPENDENT_OBJECT: i32 = 2;

/// The relations, which are indexes, that depend on an operator class.
unsafe fn dependent_relations(class: pg_sys::Oid) -> Vec<pg_sys::Oid> {
    // SAFETY: a scan of a catalogue by its index.
    unsafe {
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        let catalogue = pg_sys::table_open(pg_sys::Oid::from(DEPEND), lock);
        let mut keys = [pg_sys::ScanKeyData::default(); 2];
        let wanted = [(REFERENCED_CLASS, pg_sys::OperatorClassRelationId), (REFERENCED_OBJECT, class)];
        for (key, (column, oid)) in keys.iter_mut().zip(wanted) {
            let equal = pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber;
            pg_sys::ScanKeyInit(
                key,
                column,
                equal,
                pg_sys::Oid::from(pg_sys::F_OIDEQ),
                pg_sys::Datum::from(oid),
            );
        }
        let index = pg_sys::Oid::from(DEPEND_BY_REFERENCE);
        let scan =
            pg_sys::systable_beginscan(catalogue, index, true, std::ptr::null_mut(), 2, keys.as_mut_ptr());
        let mut found = Vec::new();
        loop {
            let tuple = pg_sys::systable_getnext(scan);
            if tuple.is_null() {
                break;
            }
            let column = |number| {
                let mut is_null = true;
                let value = pg_sys::heap_getattr(tuple, number, (*catalogue).rd_att, &mut is_null);
                valid(pg_sys::Oid::from(value.value() as u32)).filter(|_| !is_null)
            };
            if column(DEPENDENT_CLASS as _) == Some(pg_sys::RelationRelationId) {
                found.extend(column(DEPENDENT_OBJECT as _));
            }
        }
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(catalogue, lock);
        found
    }
}
