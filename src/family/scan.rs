//! Reads the rows of a family's table straight from its indexes: no plan, no privileges, no search
//! path.
//!
//! A scan returns every row that its snapshot sees, as a constraint does, whatever the writer may
//! read and whatever row-level security hides.

use std::marker::PhantomData;

use pgrx::pg_sys;

use super::on::Open;
use super::row::Row;
use super::serving::{Condition, Similar, not_before_of};
use super::snapshot::Snapshot;
use super::tables::Member;
use super::value::Value;
use crate::am::scan::pass_copies;
use crate::compat::begin_index_scan;
use crate::types::ball::Ball;
use crate::types::datum::{Decode, Encode};
use crate::types::{Code, NearText, Text, TextPassage, Width, strategy, tid};

const LOCK: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
const NO_LOCK: pg_sys::LOCKMODE = pg_sys::NoLock as pg_sys::LOCKMODE;
const FORWARD: pg_sys::ScanDirection::Type = pg_sys::ScanDirection::ForwardScanDirection;

/// A consumer of rows.
pub type Sink<'a> = &'a mut dyn FnMut(Row<'_>) -> Next;

/// Which rows the scan has to return next.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Any,
    /// Rows with the fingerprint of this one may be passed over. In an index of texts this is as
    /// `Any`.
    Other,
    None,
}

/// A question to the index on a searched column: an operator, and its argument. Invariant: they
/// belong to columns whose values have that length, and the argument is valid during `'a`, or in
/// the memory context in which the question was made.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    strategy: u16,
    argument: pg_sys::Datum,
    length: i16,
    life: PhantomData<&'a ()>,
}

impl<'a> Asked<'a> {
    /// For fingerprints within a distance.
    pub fn within(width: Width, center: Code, radius: u32) -> Self {
        let (strategy, argument) = (strategy::WITHIN, width.ball_datum(Ball { center, radius }));
        Asked { strategy, argument, length: (width.bits() / 8) as i16, life: PhantomData }
    }

    /// For texts equal to this one.
    pub fn equal(text: Value<'a>) -> Self {
        let (strategy, argument) = (strategy::EQUAL, text.datum());
        Asked { strategy, argument, length: text.length(), life: PhantomData }
    }

    /// For texts near this one.
    pub fn near(similar: &Similar, text: Value<'a>) -> Self {
        assert_eq!(text.length(), -1, "a text's length");
        // SAFETY: a value of variable length is bytes after a header; whether they are characters
        // is checked.
        let text = unsafe { Text::decode(text.datum()) }.into_str();
        let config = (*similar.config).into();
        let argument = match similar.words {
            Some(words) => TextPassage { words: words as u32, config, text }.encode(),
            None => NearText { similarity: similar.similarity, config, text }.encode(),
        };
        Asked { strategy: strategy::NEAR, argument, length: -1, life: PhantomData }
    }
}

/// A table, open for searching. [`close`](Self::close) closes all that was opened, in reverse
/// order, or the transaction's abort does.
pub struct Opened<'a> {
    pub member: &'a Member,
    relation: pg_sys::Relation,
    slot: *mut pg_sys::TupleTableSlot,
    snapshot: &'a Snapshot,
    /// The scan of the member's index, opened by the first search and kept for the next.
    search: Option<(pg_sys::Relation, pg_sys::IndexScanDesc)>,
}

impl<'a> Opened<'a> {
    /// Opens a table; `None` if it is gone. The lock lasts until the transaction ends, as those of
    /// all relations of the family.
    pub fn open(member: &'a Member, snapshot: &'a Snapshot) -> Option<Self> {
        // SAFETY: the relation is locked if it exists.
        unsafe {
            let relation = pg_sys::try_relation_open(member.table, LOCK);
            if relation.is_null() {
                return None;
            }
            let slot = pg_sys::table_slot_create(relation, std::ptr::null_mut());
            Some(Opened { member, relation, slot, snapshot, search: None })
        }
    }

    /// Passes rows to `sink` that include all rows asked for in the scope. They come from the
    /// member's index, or else are all rows.
    pub fn near(&mut self, asked: Asked<'_>, scope: &[Value<'_>], sink: Sink<'_>) {
        let Some(serving) = &self.member.index else { return self.all(false, sink) };
        assert_eq!(asked.length, self.member.searched.length, "the searched column's values");
        let key = |sk_attno, sk_strategy, sk_argument| pg_sys::ScanKeyData {
            sk_attno,
            sk_strategy,
            sk_argument,
            ..Default::default()
        };
        let equal = |&Condition { number, place }: &Condition| {
            assert_eq!(scope[place].base(), self.member.scope[place].base, "the scope's types");
            key(number, strategy::EQUAL, scope[place].datum())
        };
        let mut keys: Vec<_> = serving.conditions.iter().map(equal).collect();
        // SAFETY: the snapshot outlives this. The access method reads only the column, the
        // strategy, the argument and its type from a scan key. No type means the column's own.
        unsafe {
            let (relation, snapshot) = (self.relation, self.snapshot.raw());
            let (index, scan) = *self.search.get_or_insert_with(|| {
                let index = pg_sys::index_open(serving.index, LOCK);
                (index, begin_index_scan(relation, index, snapshot, keys.len() as i32 + 1))
            });
            // The last key column is the searched one.
            keys.push(key((*(*index).rd_index).indnkeyatts, asked.strategy, asked.argument));
            self.run(scan, &mut keys, true, sink);
        }
    }

    /// Passes the rows whose time is not before `start` to `sink`, from the member's B-tree on the
    /// time, if it has one. Returns whether it has.
    pub fn by_time(&mut self, start: Value<'_>, sink: Sink<'_>) -> bool {
        let Some(index) = self.member.by_time else { return false };
        let mut key = pg_sys::ScanKeyData::default();
        // SAFETY: the index is a B-tree of the table whose first column is the time, with the type
        // of `start`; the operator is one of that column.
        unsafe {
            let index = pg_sys::index_open(index, LOCK);
            let not_before = not_before_of(*(*index).rd_opfamily, *(*index).rd_opcintype);
            pg_sys::ScanKeyInit(
                &mut key,
                1,
                pg_sys::BTGreaterEqualStrategyNumber as pg_sys::StrategyNumber,
                pg_sys::get_opcode(not_before.unwrap_or(pg_sys::InvalidOid)),
                start.datum(),
            );
            let scan = begin_index_scan(self.relation, index, self.snapshot.raw(), 1);
            self.run(scan, &mut [key], false, sink);
            pg_sys::index_endscan(scan);
            pg_sys::index_close(index, NO_LOCK);
        }
        true
    }

    pub fn table(&self) -> Open<'_> {
        // SAFETY: the table is open.
        unsafe { Open::new(self.relation) }
    }

    /// The row in the slot.
    fn row(&self) -> Row<'_> {
        // SAFETY: the slot is this table's, which is locked, and a scan has just filled it.
        unsafe { Row::in_slot(self.member.table, self.slot) }
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
                match sink(self.row()) {
                    Next::Other if is_simhash => pass_copies(scan),
                    Next::Any | Next::Other => {}
                    Next::None => break,
                }
            }
        }
    }

    /// Passes every row to `sink`: in the order of the file, or else from where another scan is
    /// now.
    pub fn all(&mut self, in_order: bool, sink: Sink<'_>) {
        // SAFETY: the table is open, and the snapshot outlives this.
        unsafe {
            let (relation, snapshot) = (self.relation, self.snapshot.raw());
            let none = std::ptr::null_mut();
            let scan = pg_sys::table_beginscan_strat(relation, snapshot, 0, none, true, !in_order);
            while pg_sys::table_scan_getnextslot(scan, FORWARD, self.slot) {
                pgrx::check_for_interrupts!();
                if sink(self.row()) == Next::None {
                    break;
                }
            }
            pg_sys::table_endscan(scan);
        }
    }

    /// The row with that packed TID, if the snapshot sees one.
    pub fn fetch(&mut self, tid: u64) -> Option<Row<'_>> {
        let (tid, snapshot) = (&mut tid::unpack(tid), self.snapshot.raw());
        // SAFETY: the snapshot outlives this; no scan uses the slot between two searches.
        let is_there = unsafe {
            pg_sys::table_tuple_fetch_row_version(self.relation, tid, snapshot, self.slot)
        };
        is_there.then(|| self.row())
    }

    /// Locks the row with that packed TID against UPDATEs of others. Returns false if it has
    /// changed, or is gone. Of a row that has changed, this locks the latest version, which then
    /// stays until everything has been read again.
    pub fn lock_row(&mut self, tid: u64) -> bool {
        let mut failure = pg_sys::TM_FailureData::default();
        // SAFETY: the table is open, and the slot is its own.
        unsafe {
            let result = pg_sys::table_tuple_lock(
                self.relation,
                &mut tid::unpack(tid),
                &raw mut pg_sys::SnapshotAnyData,
                self.slot,
                pg_sys::GetCurrentCommandId(true),
                pg_sys::LockTupleMode::LockTupleNoKeyExclusive,
                pg_sys::LockWaitPolicy::LockWaitBlock,
                pg_sys::TUPLE_LOCK_FLAG_FIND_LAST_VERSION as u8,
                &mut failure,
            );
            result == pg_sys::TM_Result::TM_Ok && self.row().tid() == tid
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
    /// Whether a row of the table has the values of the scope.
    pub fn is_in_scope(&self, row: Row<'_>, scope: &[Value<'_>]) -> bool {
        self.scope.iter().zip(scope).all(|(column, &sought)| {
            row.value(column).is_some_and(|value| column.equal(value, sought))
        })
    }
}
