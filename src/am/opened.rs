//! Opens an index that an SQL function was given, together with its heap, and checks that it is of
//! this access method.

use std::cell::RefCell;

use pgrx::{PgSqlErrorCode, pg_sys};

use super::build::ambuild;
use crate::catalog::cache::{self, valid};
use crate::catalog::inheritance::is_partitioned;
use crate::catalog::names::{qualified_name, relation_name};
use crate::catalog::relations::indexes;
use crate::compat::restrict_search_path;
use crate::error::raise;
use crate::planner::access_method;
use crate::storage::IndexRel;

/// An index and its heap; dropping it closes both.
///
/// While it is open, the heap's owner is the current user, so the caller's privileges are checked
/// before. Several are dropped in the reverse order of opening. The current user is then the owner
/// of the heap opened last, so functions of another index run through [`as_owner`].
pub struct Opened {
    pub heap: pg_sys::Relation,
    pub index: pg_sys::Relation,
    lock: pg_sys::LOCKMODE,
    /// How many were open before this one.
    before: usize,
    rights: OwnersRights,
}

impl Opened {
    /// Opens the index of that OID. Raises 42809 if it is not of this access method.
    pub fn new(oid: pg_sys::Oid, lock: u32) -> Self {
        Self::of_table(oid, heap_of(oid), lock)
    }

    /// Opens an index, or a partitioned index, which has no pages.
    pub fn or_parent(oid: pg_sys::Oid, lock: u32) -> Self {
        Self::of_table(oid, table_of(oid), lock)
    }

    fn of_table(oid: pg_sys::Oid, expected: pg_sys::Oid, lock: u32) -> Self {
        let lock = lock as pg_sys::LOCKMODE;
        // SAFETY: the heap is locked before its index, as PostgreSQL does. It is open when it is
        // read.
        let (heap, owner, rights, index) = unsafe {
            let heap = pg_sys::table_open(expected, lock);
            let rights = OwnersRights::take(heap);
            (heap, owner(heap), rights, pg_sys::index_open(oid, lock))
        };
        // Before the heap was locked, the index may have been dropped and its OID reused.
        // SAFETY: a catalogue look-up in a transaction; the index is open.
        let (table, build) =
            unsafe { (pg_sys::IndexGetRelation(oid, true), (*(*index).rd_indam).ambuild) };
        let is_ours = |build| std::ptr::fn_addr_eq(build, ambuild as BuildFunction);
        if table != expected || !build.is_some_and(is_ours) {
            wrong_object(oid);
        }
        let before = LENT.with_borrow_mut(|lent| {
            lent.push(owner);
            lent.len() - 1
        });
        Self { heap, index, lock, before, rights }
    }

    /// Whether the index has every row version that this transaction's snapshot can see. The
    /// planner tests the same condition.
    pub fn covers_snapshot(&self) -> bool {
        // SAFETY: the index is open, so it has its pg_index row, which is a tuple.
        let (checks, created) = unsafe {
            ((*(*self.index).rd_index).indcheckxmin, created_by((*self.index).rd_indextuple))
        };
        // SAFETY: compares two numbers.
        !checks || unsafe { pg_sys::TransactionIdPrecedes(created, pg_sys::TransactionXmin) }
    }

    /// Raises 55000 unless the index is valid, ready and live.
    pub fn check_valid(&self) {
        // SAFETY: the index is open, so it has its pg_index row.
        let form = unsafe { &*(*self.index).rd_index };
        if !form.indisvalid || !form.indisready || !form.indislive {
            raise(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("index \"{}\" is not valid", self.rel().name()),
                "CREATE INDEX CONCURRENTLY is still running or has failed: wait, or REINDEX or \
                 drop the index.",
            )
        }
    }

    pub fn rel(&self) -> IndexRel {
        // SAFETY: the index is open until `self` is dropped.
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
            // Otherwise the caller would continue with an owner's privileges.
            if !is_last {
                raise(
                    PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
                    "rights are given back in another order than they were lent".to_owned(),
                    "",
                )
            }
            // SAFETY: `of_table` opened both with this lock, and no later switch of user is in
            // effect.
            unsafe {
                pg_sys::index_close(self.index, self.lock);
                pg_sys::table_close(self.heap, self.lock);
                self.rights.give_back();
            }
        }
    }
}

thread_local! {
    /// The owners of the heaps of all open [`Opened`], in the order of opening.
    static LENT: RefCell<Vec<pg_sys::Oid>> = const { RefCell::new(Vec::new()) };
}

/// Runs `call`, which may run functions of an index of this heap, as the heap's owner, with
/// settings that no other owner's function has changed.
///
/// # Safety
/// `heap` is that of an [`Opened`] that is not dropped.
pub unsafe fn as_owner<T>(heap: pg_sys::Relation, call: impl FnOnce() -> T) -> T {
    // SAFETY: `heap` is open.
    let owner = unsafe { owner(heap) };
    if LENT.with_borrow(|lent| lent.iter().all(|&other| other == owner)) {
        return call();
    }
    // SAFETY: `heap` is open and locked. The user is restored below, or by the abort after an
    // ERROR.
    let rights = unsafe { OwnersRights::take(heap) };
    let result = call();
    // SAFETY: a later `take` has ended with the call.
    unsafe { rights.give_back() };
    result
}

/// # Safety
/// `heap` is open.
unsafe fn owner(heap: pg_sys::Relation) -> pg_sys::Oid {
    // SAFETY: `heap` is open, so it has its pg_class row.
    unsafe { (*(*heap).rd_rel).relowner }
}

/// The caller's user and security context, and the GUC nest level that the owner's settings have.
///
/// Functions in an index's expressions and predicate run as the owner. PostgreSQL may run them as
/// soon as it reads the expressions, since it then evaluates calls on constants. So the user is
/// switched before the index is opened. The switch is security-restricted: nothing is allowed that
/// would run later with the caller's privileges. It begins a GUC nest level. After an ERROR, the
/// abort of the (sub)transaction restores everything.
struct OwnersRights {
    user: pg_sys::Oid,
    context: i32,
    settings: i32,
}

impl OwnersRights {
    /// # Safety
    /// `heap` is open and locked.
    unsafe fn take(heap: pg_sys::Relation) -> Self {
        let (mut user, mut context) = (pg_sys::InvalidOid, 0);
        // SAFETY: writes both numbers.
        unsafe { pg_sys::GetUserIdAndSecContext(&mut user, &mut context) };
        let restricted = context | pg_sys::SECURITY_RESTRICTED_OPERATION as i32;
        // SAFETY: `heap` is open. `give_back` restores user and settings, or the abort after an
        // ERROR does.
        let settings = unsafe {
            pg_sys::SetUserIdAndSecContext(owner(heap), restricted);
            let settings = pg_sys::NewGUCNestLevel();
            restrict_search_path();
            settings
        };
        Self { user, context, settings }
    }

    /// # Safety
    /// Called once for each `take`, in the reverse order.
    unsafe fn give_back(&self) {
        // SAFETY: the values are those of `take`, and no later `take` is in effect.
        unsafe {
            pg_sys::AtEOXact_GUC(false, self.settings);
            pg_sys::SetUserIdAndSecContext(self.user, self.context);
        }
    }
}

/// The table of an index, which may be partitioned. Raises 42P01 if no relation has this OID.
/// Raises 42809 if it is not an index, or a partitioned index of another access method.
pub fn table_of(index: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: a catalogue look-up in a transaction.
    let table = unsafe { pg_sys::IndexGetRelation(index, true) };
    // SAFETY: a catalogue look-up in a transaction.
    if unsafe { pg_sys::get_rel_relkind(index) } == 0 {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!("index with OID {} does not exist", index.to_u32()),
            "The index was dropped concurrently, or the name was not that of an index.",
        )
    }
    if table == pg_sys::InvalidOid || is_partitioned(index) && !is_of_access_method(index) {
        wrong_object(index);
    }
    table
}

fn is_of_access_method(index: pg_sys::Oid) -> bool {
    type Row = cache::Row<pg_sys::FormData_pg_class>;
    // SAFETY: a catalogue look-up in a transaction; the cache's rows are of pg_class.
    let method =
        unsafe { cache::row(pg_sys::SysCacheIdentifier::RELOID, index, |row: &Row| row.relam) };
    method.is_some() && method == access_method()
}

/// The heap of an index. Raises what [`table_of`] raises, and 42809 for a partitioned index.
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

/// The transaction that inserted a catalogue row.
///
/// # Safety
/// `tuple` is a row of a catalogue.
unsafe fn created_by(tuple: pg_sys::HeapTuple) -> pg_sys::TransactionId {
    // SAFETY: a row of a catalogue has a header.
    let header = unsafe { &*(*tuple).t_data };
    let frozen = (pg_sys::HEAP_XMIN_COMMITTED | pg_sys::HEAP_XMIN_INVALID) as u16;
    if header.t_infomask & frozen == frozen {
        return pg_sys::FrozenTransactionId;
    }
    // SAFETY: the tuple is from disk, so it has transaction ids here.
    unsafe { header.t_choice.t_heap.t_xmin }
}

fn wrong_object(oid: pg_sys::Oid) -> ! {
    // SAFETY: a catalogue look-up in a transaction.
    let kind = unsafe { pg_sys::get_rel_relkind(oid) } as u8;
    let hint = match (indexes_instead_of(oid).as_slice(), kind) {
        ([], pg_sys::RELKIND_PARTITIONED_TABLE | pg_sys::RELKIND_FOREIGN_TABLE) => {
            "A table over servers can be named only without a second table and without a column of \
             texts beside fingerprints: see docs/scale-out.md. Otherwise name an index."
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

/// The simhash indexes of the named table, or of the table of the named index. Empty if the table
/// cannot be locked at once.
fn indexes_instead_of(oid: pg_sys::Oid) -> Vec<String> {
    // SAFETY: a catalogue look-up in a transaction.
    let table = valid(unsafe { pg_sys::IndexGetRelation(oid, true) }).unwrap_or(oid);
    let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    // SAFETY: locks what has this OID. The caller's ERROR releases the lock.
    if !unsafe { pg_sys::ConditionalLockRelationOid(table, lock) } {
        return Vec::new();
    }
    // SAFETY: opens the relation under that lock.
    let relation = unsafe { pg_sys::try_relation_open(table, pg_sys::NoLock as pg_sys::LOCKMODE) };
    if relation.is_null() {
        return Vec::new();
    }
    // SAFETY: the relation is open.
    let all = unsafe { indexes(relation) };
    let own = all.filter(|index| is_of_access_method(index.oid()));
    own.filter_map(|index| qualified_name(index.oid())).collect()
}
