//! All differences between PostgreSQL's major versions that affect this extension.

use std::ffi::CStr;
#[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
use std::ffi::c_void;

use pgrx::{PgList, pg_sys};

/// What identifies a relation's file.
#[cfg(any(feature = "pg14", feature = "pg15"))]
type File = pg_sys::RelFileNode;
#[cfg(not(any(feature = "pg14", feature = "pg15")))]
type File = pg_sys::RelFileLocator;

/// # Safety
/// `rel` is an open relation.
unsafe fn file_of(rel: pg_sys::Relation) -> File {
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    // SAFETY: the caller keeps `rel` open.
    return unsafe { (*rel).rd_node };
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    // SAFETY: the caller keeps `rel` open.
    unsafe {
        (*rel).rd_locator
    }
}

/// The file number (relfilenode) of a relation.
///
/// # Safety
/// `rel` is an open relation.
pub unsafe fn file_number(rel: pg_sys::Relation) -> u32 {
    // SAFETY: the caller keeps `rel` open.
    let file = unsafe { file_of(rel) };
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    return file.relNode.to_u32();
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    file.relNumber.to_u32()
}

/// The text of a name in a parse tree.
///
/// # Safety
/// `node` is a valid String node (a Value node in version 14).
pub unsafe fn string_of<'a>(node: *mut pg_sys::Node) -> &'a CStr {
    #[cfg(feature = "pg14")]
    // SAFETY: `node` is such a node.
    let text = unsafe { (*node.cast::<pg_sys::Value>()).val.str_ };
    #[cfg(not(feature = "pg14"))]
    // SAFETY: `node` is such a node.
    let text = unsafe { (*node.cast::<pg_sys::String>()).sval };
    // SAFETY: its text ends with NUL.
    unsafe { CStr::from_ptr(text) }
}

/// access/nbtxlog.h: `xl_btree_reuse_page`.
#[repr(C)]
pub struct HorizonRecord {
    file: File,
    page: u32,
    horizon: u64,
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    is_catalog: bool,
}

/// The WAL record for the removal of rows that transactions up to `horizon`, a full transaction id,
/// can still see, and the record's length.
///
/// # Safety
/// `rel` is an open index of a table that is not a system catalogue.
pub unsafe fn horizon_record(
    rel: pg_sys::Relation,
    page: u32,
    horizon: u64,
) -> (HorizonRecord, u32) {
    // SAFETY: the caller keeps `rel` open.
    let file = unsafe { file_of(rel) };
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    return (HorizonRecord { file, page, horizon }, size_of::<HorizonRecord>() as u32);
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    (
        HorizonRecord { file, page, horizon, is_catalog: false },
        std::mem::offset_of!(HorizonRecord, is_catalog) as u32 + 1,
    )
}

/// Whether this transaction created the relation or gave it its present file.
///
/// # Safety
/// `rel` is an open relation.
pub unsafe fn created_in_this_transaction(rel: pg_sys::Relation) -> bool {
    // SAFETY: the caller keeps `rel` open.
    let rel = unsafe { &*rel };
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    let file = rel.rd_firstRelfilenodeSubid;
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    let file = rel.rd_firstRelfilelocatorSubid;
    rel.rd_createSubid != NO_SUBTRANSACTION || file != NO_SUBTRANSACTION
}

/// Whether a role owns a relation. A superuser counts as the owner of every relation.
///
/// # Safety
/// A transaction is in progress: this reads a catalogue.
pub unsafe fn owns_relation(relation: pg_sys::Oid, role: pg_sys::Oid) -> bool {
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    // SAFETY: a catalogue look-up in the caller's transaction.
    return unsafe { pg_sys::pg_class_ownercheck(relation, role) };
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    // SAFETY: a catalogue look-up in the caller's transaction.
    unsafe {
        pg_sys::object_ownercheck(pg_sys::RelationRelationId, relation, role)
    }
}

/// Makes PostgreSQL reject undefined settings with this prefix. Version 14 only warns, and only
/// about those that were set before this call.
pub fn reserve_settings(prefix: &CStr) {
    #[cfg(feature = "pg14")]
    use pg_sys::EmitWarningsOnPlaceholders as reserve;
    #[cfg(not(feature = "pg14"))]
    use pg_sys::MarkGUCPrefixReserved as reserve;
    // SAFETY: `prefix` ends with NUL, and PostgreSQL copies it.
    unsafe { reserve(prefix.as_ptr()) };
}

/// From version 17 on, restricts search_path to PostgreSQL's own schemas until the current GUC nest
/// level ends.
///
/// # Safety
/// The caller has called `NewGUCNestLevel` and ends that level later.
pub unsafe fn restrict_search_path() {
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    // SAFETY: the caller has opened a GUC nest level and ends it.
    unsafe {
        pg_sys::RestrictSearchPath();
    }
}

/// Sleeps as the cost-based vacuum delay requires, and handles interrupts. The caller must not
/// hold a buffer lock.
pub fn vacuum_delay_point() {
    #[cfg(any(feature = "pg18", feature = "pg19"))]
    // SAFETY: callers hold no buffer lock.
    unsafe {
        pg_sys::vacuum_delay_point(false);
    }
    #[cfg(not(any(feature = "pg18", feature = "pg19")))]
    // SAFETY: callers hold no buffer lock.
    unsafe {
        pg_sys::vacuum_delay_point();
    }
}

/// The size of the segments into which PostgreSQL splits temporary files.
const SEGMENT: u64 = 1 << 30;

/// Seeks to a byte of a temporary file. False if that fails.
///
/// # Safety
/// `file` is an open BufFile.
pub unsafe fn seek_temporary_file(file: *mut pg_sys::BufFile, at: u64) -> bool {
    let (segment, offset) = ((at / SEGMENT) as i32, (at % SEGMENT) as pg_sys::off_t);
    // SAFETY: the caller keeps `file` open.
    unsafe { pg_sys::BufFileSeek(file, segment, offset, SEEK_SET) == 0 }
}

const SEEK_SET: i32 = 0;
/// `InvalidSubTransactionId`.
const NO_SUBTRANSACTION: pg_sys::SubTransactionId = 0;

/// Pins `buffer` if it still holds the block of the relation's main fork.
///
/// # Safety
/// `rel` is an open relation; `buffer` is or was one of its buffers.
pub unsafe fn read_recent_buffer(
    rel: pg_sys::Relation,
    block: u32,
    buffer: pg_sys::Buffer,
) -> bool {
    let main = pg_sys::ForkNumber::MAIN_FORKNUM;
    // SAFETY: `rel` is open, and ReadRecentBuffer checks whether `buffer` still holds the block.
    unsafe { pg_sys::ReadRecentBuffer(file_of(rel), main, block, buffer) }
}

/// Creates a temporary file that the other processes of the set can open by its name.
///
/// # Safety
/// This process is attached to the set, which stays valid while the file is open.
pub unsafe fn create_shared_file(
    set: *mut pg_sys::SharedFileSet,
    name: &CStr,
) -> *mut pg_sys::BufFile {
    #[cfg(not(feature = "pg14"))]
    use pg_sys::BufFileCreateFileSet as create;
    #[cfg(feature = "pg14")]
    use pg_sys::BufFileCreateShared as create;
    // SAFETY: this process is attached to the set. From version 15 on, a SharedFileSet begins with
    // the FileSet that the function takes.
    unsafe { create(set.cast(), name.as_ptr()) }
}

/// Opens a file made by [`create_shared_file`] for reading.
///
/// # Safety
/// This process is attached to the set, which stays valid while the file is open.
pub unsafe fn open_shared_file(
    set: *mut pg_sys::SharedFileSet,
    name: &CStr,
) -> *mut pg_sys::BufFile {
    /// `O_RDONLY`.
    const MODE: i32 = 0;
    #[cfg(feature = "pg14")]
    // SAFETY: this process is attached to the set.
    return unsafe { pg_sys::BufFileOpenShared(set, name.as_ptr(), MODE) };
    #[cfg(not(feature = "pg14"))]
    // SAFETY: this process is attached to the set, which begins with a FileSet.
    unsafe {
        pg_sys::BufFileOpenFileSet(set.cast(), name.as_ptr(), MODE, false)
    }
}

/// The number of workers that an index build may request.
///
/// # Safety
/// The relations are open, and `info` describes the index being built.
pub unsafe fn index_build_workers(
    heap: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
) -> i32 {
    // SAFETY: `info` is the build's IndexInfo.
    let info = unsafe { &mut *info };
    // From version 17 on, PostgreSQL calls the planner itself if amcanbuildparallel is set.
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    {
        // SAFETY: both relations are open.
        let (table, index) = unsafe { ((*heap).rd_id, (*index).rd_id) };
        // SAFETY: the OIDs are those of an open table and its index.
        info.ii_ParallelWorkers = unsafe { pg_sys::plan_create_index_workers(table, index) };
    }
    let _ = (heap, index);
    info.ii_ParallelWorkers
}

/// The status entry of backend number `entry`, counted from 1; null if there is none.
pub fn backend_status(entry: i32) -> *const pg_sys::PgBackendStatus {
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    use pg_sys::pgstat_fetch_stat_local_beentry as fetch;
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    use pg_sys::pgstat_get_local_beentry_by_index as fetch;
    // SAFETY: PostgreSQL checks the number and returns an entry of this backend's local copy, or
    // null.
    let local = unsafe { fetch(entry).as_ref() };
    local.map_or(std::ptr::null(), |local| &raw const local.backendStatus)
}

/// Begins an index scan with `conditions` scan keys and no ordering operators.
///
/// # Safety
/// The table and its index are open, and the snapshot is registered, until the scan ends.
pub unsafe fn begin_index_scan(
    table: pg_sys::Relation,
    index: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    conditions: i32,
) -> pg_sys::IndexScanDesc {
    #[cfg(feature = "pg18")]
    let counts = std::ptr::null_mut();
    #[cfg(feature = "pg18")]
    // SAFETY: the relations are open, and the snapshot is registered.
    return unsafe { pg_sys::index_beginscan(table, index, snapshot, counts, conditions, 0) };
    #[cfg(feature = "pg19")]
    let (counts, flags) = (std::ptr::null_mut(), NO_FLAGS);
    #[cfg(feature = "pg19")]
    // SAFETY: the relations are open, and the snapshot is registered.
    return unsafe {
        pg_sys::index_beginscan(table, index, snapshot, counts, conditions, 0, flags)
    };
    #[cfg(not(any(feature = "pg18", feature = "pg19")))]
    // SAFETY: the relations are open, and the snapshot is registered.
    unsafe {
        pg_sys::index_beginscan(table, index, snapshot, conditions, 0)
    }
}

/// Analyses and rewrites a parsed statement as the current role: rules and policies are applied.
///
/// # Safety
/// `statement` was parsed from `source`, and its parameters have these types.
pub unsafe fn analyze_and_rewrite(
    statement: *mut pg_sys::RawStmt,
    source: &CStr,
    types: &mut [pg_sys::Oid],
) -> *mut pg_sys::List {
    let (types, count) = (types.as_mut_ptr(), types.len() as i32);
    let none = std::ptr::null_mut();
    #[cfg(feature = "pg14")]
    use pg_sys::pg_analyze_and_rewrite as analyze;
    #[cfg(not(feature = "pg14"))]
    use pg_sys::pg_analyze_and_rewrite_fixedparams as analyze;
    // SAFETY: `statement` was parsed from `source`; `types` holds `count` OIDs.
    unsafe { analyze(statement, source.as_ptr(), types, count, none) }
}

/// Sets the role whose privileges are checked on the tables of a query, instead of the current
/// role.
///
/// # Safety
/// `query` is a valid query tree that has been analysed and not yet planned.
pub unsafe fn check_as(query: *mut pg_sys::Query, role: pg_sys::Oid) {
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    // SAFETY: the query is valid, and its list holds nodes of this type.
    let all = unsafe { PgList::<pg_sys::RangeTblEntry>::from_pg((*query).rtable) };
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    // SAFETY: the query is valid, and its list holds nodes of this type.
    let all = unsafe { PgList::<pg_sys::RTEPermissionInfo>::from_pg((*query).rteperminfos) };
    for one in all.iter_ptr() {
        // SAFETY: the node is the query's.
        unsafe { (*one).checkAsUser = role };
    }
}

/// No options for a table scan.
#[cfg(feature = "pg19")]
const NO_FLAGS: u32 = pg_sys::ScanOptions::SO_NONE;

/// Begins a sequential scan of a table.
///
/// # Safety
/// The table stays open, and the snapshot valid, until the scan ends.
pub unsafe fn begin_scan(
    table: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
) -> pg_sys::TableScanDesc {
    let keys = std::ptr::null_mut();
    #[cfg(feature = "pg19")]
    // SAFETY: the table is open, and the snapshot is valid.
    return unsafe { pg_sys::table_beginscan(table, snapshot, 0, keys, NO_FLAGS) };
    #[cfg(not(feature = "pg19"))]
    // SAFETY: the table is open, and the snapshot is valid.
    unsafe {
        pg_sys::table_beginscan(table, snapshot, 0, keys)
    }
}

/// Begins this process's share of a parallel table scan.
///
/// # Safety
/// The table stays open until the scan ends, and `shared` describes a scan of it.
pub unsafe fn begin_parallel_scan(
    table: pg_sys::Relation,
    shared: pg_sys::ParallelTableScanDesc,
) -> pg_sys::TableScanDesc {
    #[cfg(feature = "pg19")]
    // SAFETY: the table is open, and `shared` describes a scan of it.
    return unsafe { pg_sys::table_beginscan_parallel(table, shared, NO_FLAGS) };
    #[cfg(not(feature = "pg19"))]
    // SAFETY: the table is open, and `shared` describes a scan of it.
    unsafe {
        pg_sys::table_beginscan_parallel(table, shared)
    }
}

/// Begins fetching rows of a table by the TIDs that an index stores.
///
/// # Safety
/// The table stays open until the fetch ends.
pub unsafe fn begin_fetch(table: pg_sys::Relation) -> *mut pg_sys::IndexFetchTableData {
    #[cfg(feature = "pg19")]
    // SAFETY: the caller keeps the table open.
    return unsafe { pg_sys::table_index_fetch_begin(table, NO_FLAGS) };
    #[cfg(not(feature = "pg19"))]
    // SAFETY: the caller keeps the table open.
    unsafe {
        pg_sys::table_index_fetch_begin(table)
    }
}

/// The planner hook that runs for each base relation.
#[cfg(feature = "pg19")]
pub type RelationHook = pg_sys::build_simple_rel_hook_type;
#[cfg(not(feature = "pg19"))]
pub type RelationHook = pg_sys::get_relation_info_hook_type;

/// The address of that hook's variable.
pub fn relation_hook() -> *mut RelationHook {
    #[cfg(feature = "pg19")]
    return &raw mut pg_sys::build_simple_rel_hook;
    #[cfg(not(feature = "pg19"))]
    &raw mut pg_sys::get_relation_info_hook
}

/// The function that initialises a new segment of shared memory.
#[cfg(feature = "pg19")]
type Begins = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);
#[cfg(any(feature = "pg17", feature = "pg18"))]
type Begins = unsafe extern "C-unwind" fn(*mut c_void);

/// The shared memory segment with this name, created at the first call. The mapping lasts as long
/// as the process.
///
/// # Safety
/// A transaction is in progress. All callers with the same name pass the same size, and `begins`
/// initialises a segment of that size.
#[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
pub unsafe fn named_segment(name: &CStr, bytes: usize, begins: Begins) -> *mut c_void {
    let (name, begins, mut found) = (name.as_ptr(), Some(begins), false);
    #[cfg(feature = "pg19")]
    let argument = std::ptr::null_mut();
    #[cfg(feature = "pg19")]
    // SAFETY: every call with this name has the same size and initialiser.
    return unsafe { pg_sys::GetNamedDSMSegment(name, bytes, begins, &mut found, argument) };
    #[cfg(not(feature = "pg19"))]
    // SAFETY: every call with this name has the same size and initialiser.
    unsafe {
        pg_sys::GetNamedDSMSegment(name, bytes, begins, &mut found)
    }
}

/// Allocates an LWLock tranche id.
#[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
pub fn new_tranche(name: &'static CStr) -> i32 {
    #[cfg(feature = "pg19")]
    // SAFETY: the name is static.
    return unsafe { pg_sys::LWLockNewTrancheId(name.as_ptr()) };
    #[cfg(not(feature = "pg19"))]
    let _ = name;
    #[cfg(not(feature = "pg19"))]
    // SAFETY: counts the ids up in shared memory.
    unsafe {
        pg_sys::LWLockNewTrancheId()
    }
}

/// Registers an LWLock tranche's name in this process. From version 19 on, the name is in shared
/// memory.
#[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
pub fn name_tranche(number: u16, name: &'static CStr) {
    #[cfg(not(feature = "pg19"))]
    // SAFETY: the name is static.
    unsafe {
        pg_sys::LWLockRegisterTranche(i32::from(number), name.as_ptr());
    }
    #[cfg(feature = "pg19")]
    let _ = (number, name);
}

/// Plans a query.
///
/// # Safety
/// The query was analysed and rewritten from `text`. `values` is null or holds its parameters.
pub unsafe fn plan_query(
    query: *mut pg_sys::Query,
    text: &CStr,
    values: pg_sys::ParamListInfo,
) -> *mut pg_sys::PlannedStmt {
    let text = text.as_ptr();
    #[cfg(feature = "pg19")]
    let state = std::ptr::null_mut();
    #[cfg(feature = "pg19")]
    // SAFETY: `query` is a rewritten query, and `text` is its source.
    return unsafe { pg_sys::pg_plan_query(query, text, 0, values, state) };
    #[cfg(not(feature = "pg19"))]
    // SAFETY: `query` is a rewritten query, and `text` is its source.
    unsafe {
        pg_sys::pg_plan_query(query, text, 0, values)
    }
}

/// An LSN in the layout that page headers use.
pub fn page_lsn(lsn: pg_sys::XLogRecPtr) -> pg_sys::PageXLogRecPtr {
    #[cfg(feature = "pg19")]
    return pg_sys::PageXLogRecPtr { lsn: lsn.rotate_left(u32::BITS) };
    #[cfg(not(feature = "pg19"))]
    pg_sys::PageXLogRecPtr { xlogid: (lsn >> 32) as u32, xrecoff: lsn as u32 }
}

/// Runs a statement to its end.
///
/// # Safety
/// `ExecutorStart` was called for it.
pub unsafe fn run_executor(query: *mut pg_sys::QueryDesc) {
    let forward = pg_sys::ScanDirection::ForwardScanDirection;
    #[cfg(any(feature = "pg18", feature = "pg19"))]
    // SAFETY: the caller has called `ExecutorStart` for this query.
    unsafe {
        pg_sys::ExecutorRun(query, forward, 0);
    }
    #[cfg(not(any(feature = "pg18", feature = "pg19")))]
    // SAFETY: the caller has called `ExecutorStart` for this query.
    unsafe {
        pg_sys::ExecutorRun(query, forward, 0, true);
    }
}

/// Raises "snapshot too old" if rows that the snapshot sees may have been removed from the page.
/// Only `old_snapshot_threshold`, up to version 16, allows that.
///
/// # Safety
/// The snapshot is null or valid, `rel` is an open relation, and `page` is one of its pages, locked
/// by the caller.
pub unsafe fn expect_recent_snapshot(
    snapshot: pg_sys::Snapshot,
    rel: pg_sys::Relation,
    page: *const u8,
) {
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    // SAFETY: `rel` is open, `page` is one of its locked pages, and the snapshot is null or valid.
    unsafe {
        if pg_sys::old_snapshot_threshold >= 0 {
            pg_sys::TestForOldSnapshot(snapshot, rel, page.cast_mut().cast());
        }
    }
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    let _ = (snapshot, rel, page);
}

/// Counts one index search for EXPLAIN ANALYZE, which shows the count from version 18 on.
///
/// # Safety
/// `desc` is an index scan in progress.
pub unsafe fn count_search(desc: pg_sys::IndexScanDesc) {
    #[cfg(any(feature = "pg18", feature = "pg19"))]
    // SAFETY: `desc` is an index scan in progress; its counters are null or the executor's.
    if let Some(counters) = unsafe { (*desc).instrument.as_mut() } {
        counters.nsearches += 1;
    }
    #[cfg(not(any(feature = "pg18", feature = "pg19")))]
    let _ = desc;
}

/// Makes the planner choose this path only as a last resort. From version 18 on, a high cost alone
/// does not do that.
///
/// # Safety
/// `path` is a path of the planner whose cost is being estimated.
pub unsafe fn disable(path: *mut pg_sys::IndexPath) {
    #[cfg(any(feature = "pg18", feature = "pg19"))]
    // SAFETY: the planner owns `path` and is estimating its cost.
    unsafe {
        (*path).path.disabled_nodes += 100;
    }
    #[cfg(not(any(feature = "pg18", feature = "pg19")))]
    let _ = path;
}

/// Whether the current role may execute a function.
///
/// # Safety
/// A transaction is in progress: this reads a catalogue.
pub unsafe fn may_execute(function: pg_sys::Oid) -> bool {
    let right = pg_sys::ACL_EXECUTE as pg_sys::AclMode;
    // SAFETY: reads this backend's current user.
    let role = unsafe { pg_sys::GetUserId() };
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    // SAFETY: a catalogue look-up in the caller's transaction.
    let answer = unsafe { pg_sys::pg_proc_aclcheck(function, role, right) };
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    let class = pg_sys::ProcedureRelationId;
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    // SAFETY: a catalogue look-up in the caller's transaction.
    let answer = unsafe { pg_sys::object_aclcheck(class, function, role, right) };
    answer == pg_sys::AclResult::ACLCHECK_OK
}

/// The attribute number `column` of a descriptor, counted from 0.
///
/// # Safety
/// The descriptor is valid and has more than `column` columns.
pub unsafe fn attribute(
    descriptor: pg_sys::TupleDesc,
    column: usize,
) -> *const pg_sys::FormData_pg_attribute {
    #[cfg(any(feature = "pg18", feature = "pg19"))]
    // SAFETY: the descriptor has more than `column` columns.
    return unsafe { pg_sys::TupleDescAttr(descriptor, column as i32) };
    #[cfg(not(any(feature = "pg18", feature = "pg19")))]
    // SAFETY: the descriptor has more than `column` columns.
    unsafe {
        (*descriptor).attrs.as_ptr().add(column)
    }
}

/// An estimate of the number of elements of an array expression.
///
/// # Safety
/// `root` is the planner's, and `array` is an expression of its query.
pub unsafe fn array_length(root: *mut pg_sys::PlannerInfo, array: *mut pg_sys::Node) -> f64 {
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    // SAFETY: `root` is valid, and `array` is an expression of its query.
    return unsafe { pg_sys::estimate_array_length(root, array) };
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    let _ = root;
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    // SAFETY: `array` is an expression of the query.
    f64::from(unsafe { pg_sys::estimate_array_length(array) })
}

/// The id of the first other transaction that holds a lock in conflict with `mode`, if it has one.
/// Prepared transactions count.
pub fn holder_of(tag: &pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE) -> Option<pg_sys::TransactionId> {
    let (mut count, mut has_more) = (0, false);
    // SAFETY: GetLockConflicts returns an array of `count` members.
    let holder = unsafe {
        let holders = pg_sys::GetLockConflicts(tag, mode, &mut count);
        (count > 0).then(|| *holders)?
    };
    // A prepared transaction keeps the virtual id of the session that prepared it.
    // SAFETY: searches shared memory under a lock of its own.
    let prepared = unsafe { TwoPhaseGetXidByVirtualXID(holder, &mut has_more) };
    if prepared != pg_sys::InvalidTransactionId {
        return Some(prepared);
    }
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    use self::BackendIdGetProc as process_of;
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    use pg_sys::ProcNumberGetProc as process_of;
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    let number = Some(holder.procNumber).filter(|&number| number >= 0)?;
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    let number = Some(holder.backendId).filter(|&number| number > 0)?;
    // SAFETY: if the process has exited meanwhile, its number yields null or a PGPROC without a
    // transaction id.
    let transaction = unsafe { process_of(number).as_ref() }?.xid;
    (transaction != pg_sys::InvalidTransactionId).then_some(transaction)
}

unsafe extern "C-unwind" {
    // access/twophase.h, which pgrx does not bind.
    fn TwoPhaseGetXidByVirtualXID(
        transaction: pg_sys::VirtualTransactionId,
        has_more: *mut bool,
    ) -> pg_sys::TransactionId;
    // storage/sinvaladt.h, which pgrx does not bind.
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    fn BackendIdGetProc(backend: i32) -> *mut pg_sys::PGPROC;
}

/// The outcome of sending a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    All,
    /// The queue is full: the caller must send the same message again.
    NotNow,
    /// The receiver has detached.
    Detached,
}

/// Sends a message to a shared memory queue. `waits`: whether to wait while the queue is full.
///
/// # Safety
/// The queue is attached, and this process is its sender.
pub unsafe fn send(queue: *mut pg_sys::shm_mq_handle, message: &[u8], waits: bool) -> Sent {
    let (bytes, data) = (message.len(), message.as_ptr().cast());
    #[cfg(feature = "pg14")]
    // SAFETY: this process is the sender of the attached queue.
    let result = unsafe { pg_sys::shm_mq_send(queue, bytes, data, !waits) };
    // From version 15 on, a send wakes the receiver at once only if the last argument is true.
    #[cfg(not(feature = "pg14"))]
    // SAFETY: this process is the sender of the attached queue.
    let result = unsafe { pg_sys::shm_mq_send(queue, bytes, data, !waits, true) };
    match result {
        pg_sys::shm_mq_result::SHM_MQ_SUCCESS => Sent::All,
        pg_sys::shm_mq_result::SHM_MQ_WOULD_BLOCK => Sent::NotNow,
        _ => Sent::Detached,
    }
}

/// Waits for the next message of a queue. `None` if the sender has detached.
///
/// # Safety
/// The queue is attached, and this process is its receiver. The message must not be used after the
/// next call for the same queue.
pub unsafe fn receive<'a>(queue: *mut pg_sys::shm_mq_handle) -> Option<&'a [u8]> {
    let (mut bytes, mut data) = (0, std::ptr::null_mut());
    // SAFETY: this process is the receiver of the attached queue.
    let result = unsafe { pg_sys::shm_mq_receive(queue, &mut bytes, &mut data, false) };
    // SAFETY: on success, `data` points to that many bytes.
    let message = || unsafe { std::slice::from_raw_parts(data.cast(), bytes) };
    (result == pg_sys::shm_mq_result::SHM_MQ_SUCCESS).then(message)
}

/// The question to the heap which rows of an index leaf are dead. All rows are checked. From
/// version 15 on, error messages name the index and leaf.
pub fn delete_op(
    index: pg_sys::Relation,
    leaf: u32,
    asked: &mut [pg_sys::TM_IndexDelete],
    status: &mut [pg_sys::TM_IndexStatus],
) -> pg_sys::TM_IndexDeleteOp {
    #[cfg(feature = "pg14")]
    let _ = (index, leaf);
    pg_sys::TM_IndexDeleteOp {
        #[cfg(not(feature = "pg14"))]
        irel: index,
        #[cfg(not(feature = "pg14"))]
        iblknum: leaf,
        bottomup: true,
        bottomupfreespace: i32::MAX,
        ndeltids: asked.len() as i32,
        deltids: asked.as_mut_ptr(),
        status: status.as_mut_ptr(),
    }
}
