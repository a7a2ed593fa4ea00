//! An index that an SQL function was given: opened together with its heap, and known to be of this
//! access method.

use std::cell::RefCell;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::build::ambuild;
use crate::catalog::cache::{self, valid};
use crate::catalog::inheritance::is_partitioned;
use crate::catalog::names::{name_in_sql, relation_name};
use crate::catalog::relations::indexes;
use crate::compat::restrict_search_path;
use crate::error::raise;
use crate::planner::access_method;
use crate::storage::IndexRel;

/// An index and its heap; closed when dropped. Until then nothing runs with the caller's rights, so
/// what concerns the caller is asked before. Several are dropped in the reverse order. The owner of
/// the last one's heap has taken the caller's place, so what runs functions of an index does it
/// [as the owner](as_owner) of its own heap.
pub struct Opened {
    pub heap: pg_sys::Relation,
    pub index: pg_sys::Relation,
    lock: pg_sys::LOCKMODE,
    /// How many had lent their rights before.
    before: usize,
    rights: OwnersRights,
}

impl Opened {
    /// Opens the index of that OID; raises 42809 if it is not of this access method.
    pub fn new(oid: pg_sys::Oid, lock: u32) -> Self {
        Self::of_table(oid, heap_of(oid), lock)
    }

    /// Opens an index, or one that is only the parent of its partitions' indexes and has no pages.
    pub fn or_parent(oid: pg_sys::Oid, lock: u32) -> Self {
        Self::of_table(oid, table_of(oid), lock)
    }

    fn of_table(oid: pg_sys::Oid, expected: pg_sys::Oid, lock: u32) -> Self {
        let lock = lock as pg_sys::LOCKMODE;
        // SAFETY: relations are locked in the usual order, heap first.
        unsafe {
            let heap = pg_sys::table_open(expected, lock);
            let rights = OwnersRights::take(heap);
            let index = pg_sys::index_open(oid, lock);
            // Before the heap was locked, the index may have been dropped and its OID given to
            // another.
            if pg_sys::IndexGetRelation(oid, true) != expected {
                wrong_object(oid);
            }
            let handler = (*(*index).rd_indam).ambuild;
            if !handler.is_some_and(|build| std::ptr::fn_addr_eq(build, ambuild as BuildFunction)) {
                wrong_object(oid);
            }
            let before = LENT.with_borrow_mut(|lent| {
                lent.push(owner(heap));
                lent.len() - 1
            });
            Self { heap, index, lock, before, rights }
        }
    }

    /// Whether the index has every row version that this transaction's snapshot can see. The
    /// planner asks the same.
    pub fn covers_snapshot(&self) -> bool {
        // SAFETY: an open index has its catalogue row.
        unsafe {
            let index = &*self.index;
            !(*index.rd_index).indcheckxmin
                || pg_sys::TransactionIdPrecedes(
                    created_by(index.rd_indextuple),
                    pg_sys::TransactionXmin,
                )
        }
    }

    /// Raises 55000 if the index was never finished, or is on its way out.
    pub fn check_valid(&self) {
        // SAFETY: an open index has its catalogue row.
        let form = unsafe { &*(*self.index).rd_index };
        if !form.indisvalid || !form.indisready || !form.indislive {
            raise(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("index \"{}\" is not valid", self.rel().name()),
                "CREATE INDEX CONCURRENTLY is not done or has failed: \
                 wait, or REINDEX or drop the index.",
            )
        }
    }

    pub fn rel(&self) -> IndexRel {
        // SAFETY: open until the guard is dropped.
        unsafe { IndexRel::new(self.index) }
    }
}

type BuildFunction = unsafe extern "C-unwind" fn(
    pg_sys::Relation,
    pg_sys::Relation,
    *mut pg_sys::IndexInfo,
) -> *mut pg_sys::IndexBuildResult;

impl Drop for Opened {
    fn drop(&mut self) {
        let is_last = LENT.with_borrow_mut(|lent| {
            let is_last = lent.len() == self.before + 1;
            lent.truncate(self.before);
            is_last
        });
        if !std::thread::panicking() {
            // Else the caller would go on with an owner's rights.
            if !is_last {
                raise(
                    PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                    "rights are given back in another order than they were lent".to_owned(),
                    "",
                )
            }
            // SAFETY: opened by `new`.
            unsafe {
                pg_sys::index_close(self.index, self.lock);
                pg_sys::table_close(self.heap, self.lock);
                self.rights.give_back();
            }
        }
    }
}

thread_local! {
    /// The owners of the heaps of all indexes that are open, the last one last.
    static LENT: RefCell<Vec<pg_sys::Oid>> = const { RefCell::new(Vec::new()) };
}

/// Calls what may run functions of an index of this heap, with the rights of the heap's owner and
/// with settings that no other owner's function has changed.
///
/// # Safety
/// The heap is that of an [`Opened`] which is open.
pub unsafe fn as_owner<T>(heap: pg_sys::Relation, call: impl FnOnce() -> T) -> T {
    // SAFETY: as this function's.
    let owner = unsafe { owner(heap) };
    if LENT.with_borrow(|lent| lent.iter().all(|&other| other == owner)) {
        return call();
    }
    // SAFETY: as this function's; what is taken is given back, or the transaction aborts.
    unsafe {
        let rights = OwnersRights::take(heap);
        let result = call();
        rights.give_back();
        result
    }
}

/// # Safety
/// The heap is open.
unsafe fn owner(heap: pg_sys::Relation) -> pg_sys::Oid {
    // SAFETY: an open relation has its catalogue row.
    unsafe { (*(*heap).rd_rel).relowner }
}

/// What the caller had before the heap's owner took the caller's place.
///
/// Functions in an index's expressions and predicate are the owner's, and PostgreSQL may run them
/// as soon as it reads these, since it evaluates calls on constants then. So the user is switched
/// before the index is opened. The switch is security-restricted: it allows nothing that would run
/// later with the caller's rights. It has settings of its own. After an ERROR, the abort of the
/// (sub)transaction restores everything.
struct OwnersRights {
    user: pg_sys::Oid,
    context: i32,
    settings: i32,
}

impl OwnersRights {
    /// # Safety
    /// The heap is open and locked.
    unsafe fn take(heap: pg_sys::Relation) -> Self {
        // SAFETY: as this function's; what is taken is given back, or the transaction aborts.
        unsafe {
            let (mut user, mut context) = (pg_sys::InvalidOid, 0);
            pg_sys::GetUserIdAndSecContext(&mut user, &mut context);
            let restricted = context | pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
            pg_sys::SetUserIdAndSecContext(owner(heap), restricted);
            let settings = pg_sys::NewGUCNestLevel();
            restrict_search_path();
            Self { user, context, settings }
        }
    }

    /// # Safety
    /// Once, and in the reverse order of `take`.
    unsafe fn give_back(&self) {
        // SAFETY: as this function's.
        unsafe {
            pg_sys::AtEOXact_GUC(false, self.settings);
            pg_sys::SetUserIdAndSecContext(self.user, self.context);
        }
    }
}

/// The table of an index, which may be a parent of partitions. Raises 42809 if the OID is no
/// index's, or is that of a parent of indexes of another access method.
pub fn table_of(index: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: catalogue look-ups.
    let table = unsafe { pg_sys::IndexGetRelation(index, true) };
    // SAFETY: a catalogue look-up.
    if unsafe { pg_sys::get_rel_relkind(index) } == 0 {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!("index with OID {} does not exist", index.to_u32()),
            "It was dropped meanwhile, or its name was no index's.",
        )
    }
    if table == pg_sys::InvalidOid || is_partitioned(index) && !is_of_access_method(index) {
        wrong_object(index);
    }
    table
}

fn is_of_access_method(index: pg_sys::Oid) -> bool {
    type Row = cache::Row<pg_sys::FormData_pg_class>;
    // SAFETY: a look-up by OID.
    let method =
        unsafe { cache::row(pg_sys::SysCacheIdentifier::RELOID, index, |row: &Row| row.relam) };
    method.is_some() && method == access_method()
}

/// The heap of an index. Raises 42809 if the OID is no index's, or if the index is only the parent
/// of its partitions' indexes.
pub fn heap_of(index: pg_sys::Oid) -> pg_sys::Oid {
    let heap = table_of(index);
    if is_partitioned(index) {
        raise(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("\"{}\" is a partitioned index", relation_name(index)),
            "Name the index of one partition; pg_partition_tree lists them.",
        );
    }
    heap
}

/// The transaction that wrote a catalogue row.
unsafe fn created_by(tuple: pg_sys::HeapTuple) -> pg_sys::TransactionId {
    // SAFETY: the caller passes a tuple of the heap.
    unsafe {
        let header = &*(*tuple).t_data;
        let frozen = (pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID) as u16;
        if header.t_infomask & frozen == frozen {
            pg_sys::FrozenTransactionId
        } else {
            header.t_choice.t_heap.t_xmin
        }
    }
}

fn wrong_object(oid: pg_sys::Oid) -> ! {
    // SAFETY: a catalogue look-up.
    let kind = unsafe { pg_sys::get_rel_relkind(oid) } as u8;
    let hint = match (indexes_instead_of(oid).as_slice(), kind) {
        ([], pg_sys::RELKIND_PARTITIONED_TABLE | pg_sys::RELKIND_FOREIGN_TABLE) => {
            "A table over servers is named where no other one, and no text beside fingerprints, is \
             asked for: see docs/scale-out.md. Else name an index."
                .into()
        }
        ([], _) => {
            "Name an index of the table, created with: CREATE INDEX ON ... USING simhash (...)."
                .into()
        }
        (names, _) => format!("Name an index of the table: {}.", names.join(", ")),
    };
    raise(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!("\"{}\" is not a simhash index", relation_name(oid)),
        &hint,
    )
}

/// The simhash indexes of a table that was named, or of that of another index, if nobody keeps it
/// locked.
fn indexes_instead_of(oid: pg_sys::Oid) -> Vec<String> {
    // SAFETY: catalogue look-ups; the relation is opened with a lock that the ERROR ends.
    unsafe {
        let table = valid(pg_sys::IndexGetRelation(oid, true)).unwrap_or(oid);
        let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        if !pg_sys::ConditionalLockRelationOid(table, lock) {
            return Vec::new();
        }
        let relation = pg_sys::try_relation_open(table, pg_sys::NoLock as pg_sys::LOCKMODE);
        if relation.is_null() {
            return Vec::new();
        }
        let own = indexes(relation).filter(|index| is_of_access_method(index.oid()));
        own.filter_map(|index| name_in_sql(index.oid())).collect()
    }
}
