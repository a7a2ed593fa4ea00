//! Asks the heap about rows by TID: a row's header, and which rows are dead.

use pgrx::pg_sys;
use simhash_index::store::Dead;

use super::order::check_for_interrupts;
use crate::compat::delete_op;
use crate::types::tid;

/// A copy of the header of the row with that packed TID. `None` if there is no such row, or if the
/// table is not a heap.
///
/// # Safety
/// The table is open and has the TID's page.
pub unsafe fn row_header(table: pg_sys::Relation, tid: u64) -> Option<pg_sys::HeapTupleHeaderData> {
    // SAFETY: `table` is open.
    if !unsafe { is_heap(table) } {
        return None;
    }
    let (number, offset) = tid::parts(tid);
    // SAFETY: `table` is open and has the page.
    let buffer = unsafe { pg_sys::ReadBuffer(table, number) };
    // SAFETY: the page is pinned, and locked while it is read. The offset is checked.
    unsafe {
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as _);
        let page = pg_sys::BufferGetPage(buffer);
        let is_there = offset >= 1 && offset <= pg_sys::PageGetMaxOffsetNumber(page);
        let item = is_there.then(|| pg_sys::PageGetItemId(page, offset));
        let item = item.filter(|&item| (*item).lp_flags() == pg_sys::LP_NORMAL);
        let row = item.map(|item| pg_sys::PageGetItem(page, item));
        let header = row.map(|row| row.cast::<pg_sys::HeapTupleHeaderData>().read_unaligned());
        pg_sys::UnlockReleaseBuffer(buffer);
        header
    }
}

/// Whether a table is a heap; false for null.
///
/// # Safety
/// `table` is null, or an open table.
pub unsafe fn is_heap(table: pg_sys::Relation) -> bool {
    // SAFETY: `table` is null or open; an open relation has its pg_class row.
    unsafe { !table.is_null() && (*(*table).rd_rel).relam == pg_sys::HEAP_TABLE_AM_OID }
}

/// How many pages of the heap are read for one leaf. Pages with the most of the leaf's rows come
/// first.
const MOST_PAGES: usize = 256;
/// After this many consecutive pages without a dead row, the rest are not read.
const MOST_IN_VAIN: usize = 32;

/// Which of these rows no snapshot can see any more, as far as a limited number of heap pages
/// shows. `Dead::horizon` is their snapshot conflict horizon, or 0.
///
/// # Safety
/// `heap` is an open heap and `index` an open index of it. The caller has the index's leaf with
/// this number pinned, and no page locked.
pub unsafe fn dead_rows(
    heap: pg_sys::Relation,
    index: pg_sys::Relation,
    leaf: u32,
    tids: &[u64],
) -> Dead {
    // SAFETY: `heap` is open.
    let end =
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(heap, pg_sys::ForkNumber::MAIN_FORKNUM) };
    let mut rows: Vec<(u32, usize)> = (0..tids.len()).map(|i| (tid::parts(tids[i]).0, i)).collect();
    rows.retain(|&(page, _)| page < end);
    rows.sort_unstable();
    let mut pages: Vec<&[(u32, usize)]> = rows.chunk_by(|a, b| a.0 == b.0).collect();
    pages.sort_by_key(|page| std::cmp::Reverse(page.len()));
    let mut dead = Dead::default();
    let mut in_vain = 0;
    for page in pages.into_iter().take(MOST_PAGES) {
        check_for_interrupts();
        let before = dead.numbers.len();
        // SAFETY: `heap` and `index` are open, the leaf is pinned and no page is locked.
        let horizon = unsafe { dead_of_page(heap, index, leaf, tids, page, &mut dead.numbers) };
        let latest = (dead.horizon as u32).into();
        // SAFETY: compares two numbers.
        let follows = || unsafe { pg_sys::TransactionIdFollows(horizon, latest) };
        if horizon != NO_TRANSACTION && (dead.horizon == 0 || follows()) {
            dead.horizon = u64::from(horizon.into_inner());
        }
        in_vain = if dead.numbers.len() == before { in_vain + 1 } else { 0 };
        if in_vain == MOST_IN_VAIN {
            break;
        }
    }
    dead
}

const NO_TRANSACTION: pg_sys::TransactionId = pg_sys::InvalidTransactionId;

/// Adds to `dead` the numbers of the dead rows among the rows of one heap page. Returns the horizon
/// as in [`dead_rows`], or `InvalidTransactionId`.
///
/// # Safety
/// As [`dead_rows`]. All `rows` are on one page that the heap has.
unsafe fn dead_of_page(
    heap: pg_sys::Relation,
    index: pg_sys::Relation,
    leaf: u32,
    tids: &[u64],
    rows: &[(u32, usize)],
    dead: &mut Vec<usize>,
) -> pg_sys::TransactionId {
    let asked = |(i, &(_, number)): (usize, &(u32, usize))| pg_sys::TM_IndexDelete {
        tid: tid::unpack(tids[number]),
        id: i as i16,
    };
    let mut asked: Vec<_> = rows.iter().enumerate().map(asked).collect();
    // Each deletion frees one byte and the target can never be reached, so the heap checks all of
    // them.
    let status = |i: usize| pg_sys::TM_IndexStatus {
        idxoffnum: i as u16 + 1,
        knowndeletable: false,
        promising: true,
        freespace: 1,
    };
    let mut status: Vec<_> = (0..rows.len()).map(status).collect();
    let mut question = delete_op(index, leaf, &mut asked, &mut status);
    // SAFETY: `heap` is open; both arrays have `ndeltids` elements. Their indices fit an i16, since
    // a leaf has fewer than 2^15 entries.
    let horizon = unsafe { pg_sys::table_index_delete_tuples(heap, &mut question) };
    let answered = asked.iter().take(question.ndeltids.max(0) as usize);
    let is_dead = |i: &usize| status.get(*i).is_some_and(|status| status.knowndeletable);
    dead.extend(answered.map(|row| row.id as usize).filter(is_dead).map(|i| rows[i].1));
    horizon
}
