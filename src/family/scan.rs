//! Reads the rows of a family's table straight from its indexes: no plan, no privileges, no search
//! path.
//!
//! A scan returns every row that its snapshot sees, as a constraint does, whatever the writer may
//! read and whatever row-level security hides.

use pgrx::pg_sys;

use super::column::Column;
use super::serving::Condition;
use super::tables::Member;
use crate::am::scan::pass_copies;
use crate::compat::begin_index_scan;
use crate::types::strategy::EQUAL;

const LOCK: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
const NO_LOCK: pg_sys::LOCKMODE = pg_sys::NoLock as pg_sys::LOCKMODE;
const FORWARD: pg_sys::ScanDirection::Type = pg_sys::ScanDirection::ForwardScanDirection;

/// A consumer of rows. Each row is in the slot until the next one.
pub type Sink<'a> = &'a mut dyn FnMut(*mut pg_sys::TupleTableSlot) -> Next;

/// Which rows the scan has to return next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Any,
    /// Rows with the fingerprint of this one may be passed over.
    Other,
    None,
}

/// A table, open for searching. [`close`](Self::close) closes all that was opened, in reverse
/// order, or the transaction's abort does.
pub struct Opened<'a> {
    pub member: &'a Member,
    pub relation: pg_sys::Relation,
    pub slot: *mut pg_sys::TupleTableSlot,
    snapshot: pg_sys::Snapshot,
    /// The scan of the member's index, opened by the first search and kept for the next.
    search: Option<(pg_sys::Relation, pg_sys::IndexScanDesc)>,
}

impl<'a> Opened<'a> {
    /// Opens a table; `None` if it is gone.
    ///
    /// # Safety
    /// The snapshot is valid while the result is used, and registered unless it is a dirty one. The
    /// family's relations are locked.
    pub unsafe fn open(member: &'a Member, snapshot: pg_sys::Snapshot) -> Option<Self> {
        // SAFETY: the snapshot is valid, and the relation is locked if it exists.
        unsafe {
            let relation = pg_sys::try_relation_open(member.table, NO_LOCK);
            if relation.is_null() {
                return None;
            }
            let slot = pg_sys::table_slot_create(relation, std::ptr::null_mut());
            Some(Opened { member, relation, slot, snapshot, search: None })
        }
    }

    /// Passes rows to `sink` that include all rows asked for in the scope, by an operator of the
    /// searched column and its argument. They come from the member's index, or else are all rows.
    ///
    /// # Safety
    /// The argument is one of the operator; the scope has values of the scope's columns.
    pub unsafe fn near(
        &mut self,
        (strategy, argument): (u16, pg_sys::Datum),
        scope: &[pg_sys::Datum],
        sink: Sink<'_>,
    ) {
        let Some(serving) = &self.member.index else {
            // SAFETY: the snapshot of `open` is still valid.
            return unsafe { self.all(false, sink) };
        };
        // SAFETY: the snapshot of `open` is still valid. The access method reads only the column,
        // the strategy, the argument and its type from a scan key. No type means the column's own.
        unsafe {
            let count = serving.conditions.len() as i32 + 1;
            let (relation, snapshot) = (self.relation, self.snapshot);
            let (index, scan) = *self.search.get_or_insert_with(|| {
                let index = pg_sys::index_open(serving.index, LOCK);
                (index, begin_index_scan(relation, index, snapshot, count))
            });
            let key = |sk_attno, sk_strategy, sk_argument| pg_sys::ScanKeyData {
                sk_attno,
                sk_strategy,
                sk_argument,
                ..Default::default()
            };
            let equal = |&Condition { number, place }: &Condition| key(number, EQUAL, scope[place]);
            let mut keys: Vec<_> = serving.conditions.iter().map(equal).collect();
            // The last key column is the searched one.
            keys.push(key((*(*index).rd_index).indnkeyatts, strategy, argument));
            self.run(scan, &mut keys, true, sink);
        }
    }

    /// Passes the rows of another index to `sink` for which the scan key holds.
    ///
    /// # Safety
    /// The index is a B-tree of the table, and the key is for it.
    pub unsafe fn by_index(&self, index: pg_sys::Oid, key: pg_sys::ScanKeyData, sink: Sink<'_>) {
        // SAFETY: the snapshot of `open` is still valid, and the key is for this index.
        unsafe {
            let index = pg_sys::index_open(index, LOCK);
            let scan = begin_index_scan(self.relation, index, self.snapshot, 1);
            self.run(scan, &mut [key], false, sink);
            pg_sys::index_endscan(scan);
            pg_sys::index_close(index, NO_LOCK);
        }
    }

    unsafe fn run(
        &self,
        scan: pg_sys::IndexScanDesc,
        keys: &mut [pg_sys::ScanKeyData],
        is_simhash: bool,
        sink: Sink<'_>,
    ) {
        // SAFETY: the scan is of this table, and the keys are for its index.
        unsafe {
            let (keys, count) = (keys.as_mut_ptr(), keys.len() as i32);
            pg_sys::index_rescan(scan, keys, count, std::ptr::null_mut(), 0);
            while pg_sys::index_getnext_slot(scan, FORWARD, self.slot) {
                pgrx::check_for_interrupts!();
                match sink(self.slot) {
                    Next::Other if is_simhash => pass_copies(scan),
                    Next::Any | Next::Other => {}
                    Next::None => break,
                }
            }
        }
    }

    /// Passes every row to `sink`: in the order of the file, or else from where another scan is
    /// now.
    ///
    /// # Safety
    /// As [`Opened::open`].
    pub unsafe fn all(&self, in_order: bool, sink: Sink<'_>) {
        // SAFETY: the snapshot of `open` is still valid.
        unsafe {
            let (relation, snapshot, none) = (self.relation, self.snapshot, std::ptr::null_mut());
            let scan = pg_sys::table_beginscan_strat(relation, snapshot, 0, none, true, !in_order);
            while pg_sys::table_scan_getnextslot(scan, FORWARD, self.slot) {
                pgrx::check_for_interrupts!();
                if sink(self.slot) == Next::None {
                    break;
                }
            }
            pg_sys::table_endscan(scan);
        }
    }

    /// Reads the row with that TID into the slot. False if the snapshot sees none.
    pub fn fetch(&self, mut tid: pg_sys::ItemPointerData) -> bool {
        // SAFETY: the snapshot of `open` is still valid; no scan uses the slot between two
        // searches.
        unsafe {
            pg_sys::table_tuple_fetch_row_version(self.relation, &mut tid, self.snapshot, self.slot)
        }
    }

    pub fn close(self) {
        // SAFETY: `open` and `near` have opened all of these.
        unsafe {
            if let Some((index, scan)) = self.search {
                pg_sys::index_endscan(scan);
                pg_sys::index_close(index, NO_LOCK);
            }
            pg_sys::ExecDropSingleTupleTableSlot(self.slot);
            pg_sys::relation_close(self.relation, NO_LOCK);
        }
    }
}

impl Member {
    /// Whether the row in the slot has the values of the scope.
    ///
    /// # Safety
    /// The slot holds a row of the table; the scope has values of the scope's columns.
    pub unsafe fn is_in_scope(
        &self,
        slot: *mut pg_sys::TupleTableSlot,
        scope: &[pg_sys::Datum],
    ) -> bool {
        // SAFETY: the slot holds a row of the table, whose columns have the types of the trigger's
        // own.
        self.scope.iter().zip(scope).all(|(column, &sought)| unsafe {
            value(slot, column).is_some_and(|value| column.equal(value, sought))
        })
    }
}

/// The value of a column in the row of a slot; `None` for NULL.
///
/// # Safety
/// The slot holds a row of the column's table.
pub unsafe fn value(slot: *mut pg_sys::TupleTableSlot, column: &Column) -> Option<pg_sys::Datum> {
    let mut is_null = true;
    // SAFETY: the slot holds a row of the column's table.
    let value = unsafe { pg_sys::slot_getattr(slot, i32::from(column.number), &mut is_null) };
    (!is_null).then_some(value)
}
