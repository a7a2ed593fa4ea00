//! Every difference between PostgreSQL's major versions that this extension has to know.

use std::ffi::CStr;
#[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
use std::ffi::c_void;

use pgrx::{PgList, pg_sys};

/// The number of a relation's file on disk.
///
/// # Safety
/// `rel` is an open relation.
pub unsafe fn file_number(rel: pg_sys::Relation) -> u32 {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(any(feature = "pg14", feature = "pg15"))]
        return (*rel).rd_node.relNode.to_u32();
        #[cfg(not(any(feature = "pg14", feature = "pg15")))]
        return (*rel).rd_locator.relNumber.to_u32();
    }
}

/// The text of one of the parser's names.
///
/// # Safety
/// `node` is a String.
pub unsafe fn string_of<'a>(node: *mut pg_sys::Node) -> &'a CStr {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(feature = "pg14")]
        return CStr::from_ptr((*node.cast::<pg_sys::Value>()).val.str_);
        #[cfg(not(feature = "pg14"))]
        return CStr::from_ptr((*node.cast::<pg_sys::String>()).sval);
    }
}

/// access/nbtxlog.h: `xl_btree_reuse_page`.
#[repr(C)]
pub struct HorizonRecord {
    #[cfg(any(feature = "pg14", feature = "pg15"))]
    file: pg_sys::RelFileNode,
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    file: pg_sys::RelFileLocator,
    page: u32,
    horizon: u64,
    #[cfg(not(any(feature = "pg14", feature = "pg15")))]
    is_catalog: bool,
}

/// The record that says that rows are forgotten which transactions up to a full number can see, and
/// its length.
///
/// # Safety
/// `rel` is an open index of a table that is no catalogue.
pub unsafe fn horizon_record(
    rel: pg_sys::Relation,
    page: u32,
    horizon: u64,
) -> (HorizonRecord, u32) {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(any(feature = "pg14", feature = "pg15"))]
        return (
            HorizonRecord { file: (*rel).rd_node, page, horizon },
            size_of::<HorizonRecord>() as u32,
        );
        #[cfg(not(any(feature = "pg14", feature = "pg15")))]
        (
            HorizonRecord { file: (*rel).rd_locator, page, horizon, is_catalog: false },
            std::mem::offset_of!(HorizonRecord, is_catalog) as u32 + 1,
        )
    }
}

/// Whether the relation, or its present file, came into being in this transaction.
///
/// # Safety
/// `rel` is an open relation.
pub unsafe fn created_in_this_transaction(rel: pg_sys::Relation) -> bool {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(any(feature = "pg14", feature = "pg15"))]
        let file = (*rel).rd_firstRelfilenodeSubid;
        #[cfg(not(any(feature = "pg14", feature = "pg15")))]
        let file = (*rel).rd_firstRelfilelocatorSubid;
        (*rel).rd_createSubid != NO_SUBTRANSACTION || file != NO_SUBTRANSACTION
    }
}

/// Whether a role owns a relation. A superuser owns all.
///
/// # Safety
/// In a transaction: a catalogue look-up.
pub unsafe fn owns_relation(relation: pg_sys::Oid, role: pg_sys::Oid) -> bool {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(any(feature = "pg14", feature = "pg15"))]
        return pg_sys::pg_class_ownercheck(relation, role);
        #[cfg(not(any(feature = "pg14", feature = "pg15")))]
        pg_sys::object_ownercheck(pg_sys::RelationRelationId, relation, role)
    }
}

/// Has PostgreSQL refuse names of settings with this prefix that nobody has defined. Version 14
/// only warns of those that were set before.
pub fn reserve_settings(prefix: &CStr) {
    // SAFETY: the prefix is copied.
    unsafe {
        #[cfg(feature = "pg14")]
        pg_sys::EmitWarningsOnPlaceholders(prefix.as_ptr());
        #[cfg(not(feature = "pg14"))]
        pg_sys::MarkGUCPrefixReserved(prefix.as_ptr());
    }
}

/// From 17 on, names are looked up in PostgreSQL's own schemas only, until the level of settings
/// ends.
///
/// # Safety
/// `NewGUCNestLevel` was called, and its level is ended later.
pub unsafe fn restrict_search_path() {
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    // SAFETY: as this function's.
    unsafe {
        pg_sys::RestrictSearchPath();
    }
}

/// Sleeps as the cost-based vacuum delay asks; handles interrupts. No page may be locked.
pub fn vacuum_delay_point() {
    // SAFETY: no lock is held (the callers' promise).
    unsafe {
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        pg_sys::vacuum_delay_point(false);
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        pg_sys::vacuum_delay_point();
    }
}

/// The size of the segments that PostgreSQL cuts temporary files into.
const SEGMENT: u64 = 1 << 30;

/// Moves to a byte of a temporary file; false when that cannot be.
///
/// # Safety
/// `file` is an open BufFile.
pub unsafe fn seek_temporary_file(file: *mut pg_sys::BufFile, at: u64) -> bool {
    // SAFETY: as this function's.
    unsafe {
        pg_sys::BufFileSeek(file, (at / SEGMENT) as i32, (at % SEGMENT) as pg_sys::off_t, SEEK_SET)
            == 0
    }
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
    // SAFETY: as this function's.
    unsafe {
        #[cfg(any(feature = "pg14", feature = "pg15"))]
        let file = (*rel).rd_node;
        #[cfg(not(any(feature = "pg14", feature = "pg15")))]
        let file = (*rel).rd_locator;
        pg_sys::ReadRecentBuffer(file, pg_sys::ForkNumber::MAIN_FORKNUM, block, buffer)
    }
}

/// A set of files that the processes of a parallel operation share, as file functions want it.
#[cfg(feature = "pg14")]
type FileSet = pg_sys::SharedFileSet;
#[cfg(not(feature = "pg14"))]
type FileSet = pg_sys::FileSet;

fn file_set(set: *mut pg_sys::SharedFileSet) -> *mut FileSet {
    // From 15 a shared set begins with a set.
    set.cast()
}

/// Creates a temporary file that other processes can open by its name.
///
/// # Safety
/// This process is attached to the set.
pub unsafe fn create_shared_file(
    set: *mut pg_sys::SharedFileSet,
    name: &CStr,
) -> *mut pg_sys::BufFile {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(feature = "pg14")]
        return pg_sys::BufFileCreateShared(file_set(set), name.as_ptr());
        #[cfg(not(feature = "pg14"))]
        pg_sys::BufFileCreateFileSet(file_set(set), name.as_ptr())
    }
}

/// Opens a file of [`create_shared_file`] for reading.
///
/// # Safety
/// This process is attached to the set.
pub unsafe fn open_shared_file(
    set: *mut pg_sys::SharedFileSet,
    name: &CStr,
) -> *mut pg_sys::BufFile {
    // SAFETY: as this function's. The mode is O_RDONLY.
    unsafe {
        #[cfg(feature = "pg14")]
        return pg_sys::BufFileOpenShared(file_set(set), name.as_ptr(), 0);
        #[cfg(not(feature = "pg14"))]
        pg_sys::BufFileOpenFileSet(file_set(set), name.as_ptr(), 0, false)
    }
}

/// How many workers an index build may ask for.
///
/// # Safety
/// The relations are open, and `info` describes the index that is being built.
pub unsafe fn index_build_workers(
    heap: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
) -> i32 {
    // SAFETY: as this function's.
    unsafe {
        // From 17 the access method says that it can, and PostgreSQL asks.
        #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
        {
            (*info).ii_ParallelWorkers =
                pg_sys::plan_create_index_workers((*heap).rd_id, (*index).rd_id);
        }
        let _ = (heap, index);
        (*info).ii_ParallelWorkers
    }
}

/// What backend number `entry` reports of itself; null if there is none. Numbers begin at 1.
pub fn backend_status(entry: i32) -> *const pg_sys::PgBackendStatus {
    // SAFETY: reads this backend's copy of the status entries; checks the number.
    unsafe {
        #[cfg(any(feature = "pg14", feature = "pg15"))]
        let local = pg_sys::pgstat_fetch_stat_local_beentry(entry);
        #[cfg(not(any(feature = "pg14", feature = "pg15")))]
        let local = pg_sys::pgstat_get_local_beentry_by_index(entry);
        if local.is_null() { std::ptr::null() } else { &raw const (*local).backendStatus }
    }
}

/// Begins a scan of an index with that number of conditions and no order.
///
/// # Safety
/// The table and its index are open, the snapshot is registered.
pub unsafe fn begin_index_scan(
    table: pg_sys::Relation,
    index: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    conditions: i32,
) -> pg_sys::IndexScanDesc {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        let counts = std::ptr::null_mut();
        #[cfg(feature = "pg18")]
        return pg_sys::index_beginscan(table, index, snapshot, counts, conditions, 0);
        #[cfg(feature = "pg19")]
        return pg_sys::index_beginscan(table, index, snapshot, counts, conditions, 0, NO_FLAGS);
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        pg_sys::index_beginscan(table, index, snapshot, conditions, 0)
    }
}

/// The queries that a statement becomes once its names are looked up, and rules and policies are
/// applied, as the current role.
///
/// # Safety
/// A statement of that source, whose parameters have these types.
pub unsafe fn analyze_and_rewrite(
    statement: *mut pg_sys::RawStmt,
    source: &CStr,
    types: &mut [pg_sys::Oid],
) -> *mut pg_sys::List {
    let (types, count) = (types.as_mut_ptr(), types.len() as i32);
    let none = std::ptr::null_mut();
    // SAFETY: as this function's.
    unsafe {
        #[cfg(feature = "pg14")]
        return pg_sys::pg_analyze_and_rewrite(statement, source.as_ptr(), types, count, none);
        #[cfg(not(feature = "pg14"))]
        pg_sys::pg_analyze_and_rewrite_fixedparams(statement, source.as_ptr(), types, count, none)
    }
}

/// Has a role's rights on the tables of a query asked for, instead of those of whoever runs it.
///
/// # Safety
/// A query that was analysed, and not yet planned.
pub unsafe fn check_as(query: *mut pg_sys::Query, role: pg_sys::Oid) {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(any(feature = "pg14", feature = "pg15"))]
        for entry in PgList::<pg_sys::RangeTblEntry>::from_pg((*query).rtable).iter_ptr() {
            (*entry).checkAsUser = role;
        }
        #[cfg(not(any(feature = "pg14", feature = "pg15")))]
        for rights in PgList::<pg_sys::RTEPermissionInfo>::from_pg((*query).rteperminfos).iter_ptr()
        {
            (*rights).checkAsUser = role;
        }
    }
}

/// No flags of a scan of a table.
#[cfg(feature = "pg19")]
const NO_FLAGS: u32 = pg_sys::ScanOptions::SO_NONE;

/// Begins a sequential scan of a table.
///
/// # Safety
/// The table is open while the scan is, and the snapshot is valid.
pub unsafe fn begin_scan(
    table: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
) -> pg_sys::TableScanDesc {
    let keys = std::ptr::null_mut();
    // SAFETY: as this function's.
    unsafe {
        #[cfg(feature = "pg19")]
        return pg_sys::table_beginscan(table, snapshot, 0, keys, NO_FLAGS);
        #[cfg(not(feature = "pg19"))]
        pg_sys::table_beginscan(table, snapshot, 0, keys)
    }
}

/// Begins a process's part of a scan of a table by several.
///
/// # Safety
/// The table is open while the scan is, and is that of the description in shared memory.
pub unsafe fn begin_parallel_scan(
    table: pg_sys::Relation,
    shared: pg_sys::ParallelTableScanDesc,
) -> pg_sys::TableScanDesc {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(feature = "pg19")]
        return pg_sys::table_beginscan_parallel(table, shared, NO_FLAGS);
        #[cfg(not(feature = "pg19"))]
        pg_sys::table_beginscan_parallel(table, shared)
    }
}

/// Begins to fetch rows of a table by their TIDs as an index has them.
///
/// # Safety
/// The table is open while they are fetched.
pub unsafe fn begin_fetch(table: pg_sys::Relation) -> *mut pg_sys::IndexFetchTableData {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(feature = "pg19")]
        return pg_sys::table_index_fetch_begin(table, NO_FLAGS);
        #[cfg(not(feature = "pg19"))]
        pg_sys::table_index_fetch_begin(table)
    }
}

/// What is called for each relation that the planner looks up.
#[cfg(feature = "pg19")]
pub type RelationHook = pg_sys::build_simple_rel_hook_type;
#[cfg(not(feature = "pg19"))]
pub type RelationHook = pg_sys::get_relation_info_hook_type;

/// Where it is.
pub fn relation_hook() -> *mut RelationHook {
    #[cfg(feature = "pg19")]
    return &raw mut pg_sys::build_simple_rel_hook;
    #[cfg(not(feature = "pg19"))]
    &raw mut pg_sys::get_relation_info_hook
}

/// What fills a segment of shared memory that was not there.
#[cfg(feature = "pg19")]
type Begins = unsafe extern "C-unwind" fn(*mut c_void, *mut c_void);
#[cfg(any(feature = "pg17", feature = "pg18"))]
type Begins = unsafe extern "C-unwind" fn(*mut c_void);

/// A segment of shared memory, by its name. It is there as long as the process.
///
/// # Safety
/// In a transaction. Whoever asks for the name asks for so many bytes, and `begins` fills them.
#[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
pub unsafe fn named_segment(name: &CStr, bytes: usize, begins: Begins) -> *mut c_void {
    let (name, mut found) = (name.as_ptr(), false);
    // SAFETY: as this function's.
    unsafe {
        #[cfg(feature = "pg19")]
        return pg_sys::GetNamedDSMSegment(
            name,
            bytes,
            Some(begins),
            &mut found,
            std::ptr::null_mut(),
        );
        #[cfg(not(feature = "pg19"))]
        pg_sys::GetNamedDSMSegment(name, bytes, Some(begins), &mut found)
    }
}

/// The number of a new kind of lock.
#[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
pub fn new_tranche(name: &'static CStr) -> i32 {
    // SAFETY: the name stays.
    unsafe {
        #[cfg(feature = "pg19")]
        return pg_sys::LWLockNewTrancheId(name.as_ptr());
        #[cfg(not(feature = "pg19"))]
        {
            let _ = name;
            pg_sys::LWLockNewTrancheId()
        }
    }
}

/// Has this process call a kind of lock by its name. From 19 on all do that know its number.
#[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
pub fn name_tranche(number: u16, name: &'static CStr) {
    #[cfg(not(feature = "pg19"))]
    // SAFETY: the name stays.
    unsafe {
        pg_sys::LWLockRegisterTranche(i32::from(number), name.as_ptr());
    }
    #[cfg(feature = "pg19")]
    let _ = (number, name);
}

/// Plans a query.
///
/// # Safety
/// The query was analyzed and rewritten, from this text. The values are null or its parameters'.
pub unsafe fn plan_query(
    query: *mut pg_sys::Query,
    text: &CStr,
    values: pg_sys::ParamListInfo,
) -> *mut pg_sys::PlannedStmt {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(feature = "pg19")]
        return pg_sys::pg_plan_query(query, text.as_ptr(), 0, values, std::ptr::null_mut());
        #[cfg(not(feature = "pg19"))]
        pg_sys::pg_plan_query(query, text.as_ptr(), 0, values)
    }
}

/// The number of a place in the WAL as pages have it.
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
    // SAFETY: as this function's.
    unsafe {
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        pg_sys::ExecutorRun(query, forward, 0);
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        pg_sys::ExecutorRun(query, forward, 0, true);
    }
}

/// Raises "snapshot too old" if rows that the snapshot sees may have left the page. Up to 16,
/// `old_snapshot_threshold` allows that.
///
/// # Safety
/// The snapshot is null or valid, `rel` is an open relation, `page` one of its pages, locked.
pub unsafe fn expect_recent_snapshot(
    snapshot: pg_sys::Snapshot,
    rel: pg_sys::Relation,
    page: *const u8,
) {
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    // SAFETY: as this function's.
    unsafe {
        if pg_sys::old_snapshot_threshold >= 0 {
            pg_sys::TestForOldSnapshot(snapshot, rel, page.cast_mut().cast());
        }
    }
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    let _ = (snapshot, rel, page);
}

/// Counts a search of the index for EXPLAIN ANALYZE, which shows it from 18 on.
///
/// # Safety
/// `desc` is a scan that was begun.
pub unsafe fn count_search(desc: pg_sys::IndexScanDesc) {
    #[cfg(any(feature = "pg18", feature = "pg19"))]
    // SAFETY: as this function's; the counters are null or the executor's.
    unsafe {
        if let Some(counters) = (*desc).instrument.as_mut() {
            counters.nsearches += 1;
        }
    }
    #[cfg(not(any(feature = "pg18", feature = "pg19")))]
    let _ = desc;
}

/// Makes a path one of the last that the planner takes. From 18 on, costs alone do not do that.
///
/// # Safety
/// `path` is the planner's, and its costs are being estimated.
pub unsafe fn disable(path: *mut pg_sys::IndexPath) {
    #[cfg(any(feature = "pg18", feature = "pg19"))]
    // SAFETY: as this function's.
    unsafe {
        (*path).path.disabled_nodes += 100;
    }
    #[cfg(not(any(feature = "pg18", feature = "pg19")))]
    let _ = path;
}

/// Whether the current role may execute a function.
///
/// # Safety
/// In a transaction: a catalogue look-up.
pub unsafe fn may_execute(function: pg_sys::Oid) -> bool {
    let right = pg_sys::ACL_EXECUTE as pg_sys::AclMode;
    // SAFETY: as this function's.
    unsafe {
        let role = pg_sys::GetUserId();
        #[cfg(any(feature = "pg14", feature = "pg15"))]
        let answer = pg_sys::pg_proc_aclcheck(function, role, right);
        #[cfg(not(any(feature = "pg14", feature = "pg15")))]
        let answer = pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, role, right);
        answer == pg_sys::AclResult::ACLCHECK_OK
    }
}

/// A column of a descriptor. Columns count from 0.
///
/// # Safety
/// The descriptor has that many columns.
pub unsafe fn attribute(
    descriptor: pg_sys::TupleDesc,
    column: usize,
) -> *const pg_sys::FormData_pg_attribute {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        return pg_sys::TupleDescAttr(descriptor, column as i32);
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        (*descriptor).attrs.as_ptr().add(column)
    }
}

/// About how many elements an array has.
///
/// # Safety
/// `root` is the planner's, and the array is an expression of its query.
pub unsafe fn array_length(root: *mut pg_sys::PlannerInfo, array: *mut pg_sys::Node) -> f64 {
    // SAFETY: as this function's.
    unsafe {
        #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
        return pg_sys::estimate_array_length(root, array);
        #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
        {
            let _ = root;
            f64::from(pg_sys::estimate_array_length(array))
        }
    }
}

/// The transaction that holds a lock which conflicts with a mode, if another one does. One that was
/// prepared is known, too.
pub fn holder_of(tag: &pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE) -> Option<pg_sys::TransactionId> {
    // SAFETY: PostgreSQL returns an array that ends with an invalid entry. A process that is gone
    // meanwhile has no entry, or one that says nothing of a transaction.
    unsafe {
        let mut count = 0;
        let holders = pg_sys::GetLockConflicts(tag, mode, &mut count);
        let holder = (count > 0).then(|| *holders)?;
        // One that was prepared has the number of the session that did so.
        let mut has_more = false;
        let prepared = TwoPhaseGetXidByVirtualXID(holder, &mut has_more);
        if prepared != pg_sys::InvalidTransactionId {
            return Some(prepared);
        }
        #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
        let process =
            (holder.procNumber >= 0).then(|| pg_sys::ProcNumberGetProc(holder.procNumber));
        #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
        let process = (holder.backendId > 0).then(|| BackendIdGetProc(holder.backendId));
        let transaction = process?.as_ref()?.xid;
        (transaction != pg_sys::InvalidTransactionId).then_some(transaction)
    }
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

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    All,
    /// The queue is full: the same message is to be sent again.
    NotNow,
    /// The receiver has left.
    Detached,
}

/// Sends a message to a queue in shared memory, and waits until it fits if it is to.
///
/// # Safety
/// The queue is attached, and this process is its sender.
pub unsafe fn send(queue: *mut pg_sys::shm_mq_handle, message: &[u8], waits: bool) -> Sent {
    // SAFETY: as this function's.
    let result = unsafe {
        let (bytes, data) = (message.len(), message.as_ptr().cast());
        #[cfg(feature = "pg14")]
        let result = pg_sys::shm_mq_send(queue, bytes, data, !waits);
        // From 15 on the receiver is not woken by each message unless it is to be.
        #[cfg(not(feature = "pg14"))]
        let result = pg_sys::shm_mq_send(queue, bytes, data, !waits, true);
        result
    };
    match result {
        pg_sys::shm_mq_result::SHM_MQ_SUCCESS => Sent::All,
        pg_sys::shm_mq_result::SHM_MQ_WOULD_BLOCK => Sent::NotNow,
        _ => Sent::Detached,
    }
}

/// Waits for the next message of a queue. `None` if the sender has left. It lives until the next
/// one is asked for.
///
/// # Safety
/// The queue is attached, and this process is its receiver.
pub unsafe fn receive<'a>(queue: *mut pg_sys::shm_mq_handle) -> Option<&'a [u8]> {
    let (mut bytes, mut data) = (0, std::ptr::null_mut());
    // SAFETY: as this function's.
    unsafe {
        let result = pg_sys::shm_mq_receive(queue, &mut bytes, &mut data, false);
        (result == pg_sys::shm_mq_result::SHM_MQ_SUCCESS)
            .then(|| std::slice::from_raw_parts(data.cast(), bytes))
    }
}

/// Asks the heap which of some rows are dead, for a leaf of an index: all of them are looked at.
/// PostgreSQL 14 is not told which index and leaf that are; later ones name them in messages.
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
