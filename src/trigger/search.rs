//! The nearest row of a family, read straight from its indexes: no plan, no privileges, no search
//! path.
//!
//! The search sees every row, as a constraint does, whoever inserts and whatever row-level security
//! hides from them.

use std::cmp::Ordering;

use pgrx::pg_sys;

use super::arguments::RowKey;
use super::column::{Column, widen};
use super::event::RowPlace;
use super::family::{Family, Member};
use super::serving::{Condition, Serving};
use crate::compat::begin_index_scan;
use crate::types::ball::Ball;
use crate::types::{Code, Width, strategy, tid};

const LOCK: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
const NO_LOCK: pg_sys::LOCKMODE = pg_sys::NoLock as pg_sys::LOCKMODE;

/// What to look for.
pub struct Sought<'a> {
    pub fp: Code,
    pub width: Width,
    pub distance: u32,
    /// The values of the scope's columns.
    pub scope: &'a [pg_sys::Datum],
    /// The row that is being updated.
    pub updated: Option<RowPlace>,
    /// The key of the trigger's table.
    pub key: Option<&'a RowKey>,
    /// The table that is inserted into, and the new row's key if that is unique there. A row with
    /// the same key is no duplicate but the same row: ON CONFLICT or the unique index deals with
    /// it.
    pub same_row: Option<(pg_sys::Oid, pg_sys::Datum)>,
    /// Whether any duplicate is as good as the nearest.
    pub any: bool,
}

/// A row within the distance. Its key is a copy, as a value of the trigger's own key.
#[derive(Clone, Copy, Debug)]
pub struct Duplicate {
    pub distance: u32,
    pub place: RowPlace,
    pub key: Option<pg_sys::Datum>,
}

/// The nearest row that `snapshot` sees. Of several at the same distance it is the one with the
/// least key, and of these the first one in its table. A row without a key comes after those with
/// one.
///
/// # Safety
/// The snapshot is registered, the family's relations are locked.
pub unsafe fn nearest(
    family: &Family,
    sought: &Sought<'_>,
    snapshot: pg_sys::Snapshot,
) -> Option<Duplicate> {
    let mut search = Search { sought, found: None };
    for member in &family.members {
        // SAFETY: as this function's.
        unsafe { search.member(member, snapshot) };
        if search.is_over() {
            break;
        }
    }
    search.found
}

struct Search<'a> {
    sought: &'a Sought<'a>,
    found: Option<Duplicate>,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        self.sought.any && self.found.is_some()
    }

    unsafe fn member(&mut self, member: &Member, snapshot: pg_sys::Snapshot) {
        // SAFETY: relations are locked before they are read, and closed in reverse order; an ERROR
        // on the way ends the scan and releases the relations with the transaction's resources.
        unsafe {
            let table = pg_sys::try_relation_open(member.table, NO_LOCK);
            if table.is_null() {
                return;
            }
            let slot = pg_sys::table_slot_create(table, std::ptr::null_mut());
            match &member.index {
                Some(index) => self.by_index(member, table, index, slot, snapshot),
                None => self.by_table(member, table, slot, snapshot),
            }
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            pg_sys::relation_close(table, NO_LOCK);
        }
    }

    unsafe fn by_index(
        &mut self,
        member: &Member,
        table: pg_sys::Relation,
        serving: &Serving,
        slot: *mut pg_sys::TupleTableSlot,
        snapshot: pg_sys::Snapshot,
    ) {
        // SAFETY: as in member; of a scan key the access method reads the column, the strategy, the
        // argument and its type only. No type stands for the column's own.
        unsafe {
            let index = pg_sys::index_open(serving.index, LOCK);
            let key = |sk_attno, sk_strategy, sk_argument| pg_sys::ScanKeyData {
                sk_attno,
                sk_strategy,
                sk_argument,
                ..Default::default()
            };
            let equal = |condition: &Condition| {
                key(condition.number, strategy::EQUAL, self.sought.scope[condition.place])
            };
            let mut keys: Vec<_> = serving.conditions.iter().map(equal).collect();
            // The last key column is searched by distance.
            keys.push(key((*(*index).rd_index).indnkeyatts, strategy::WITHIN, self.ball()));
            let count = keys.len() as i32;
            let scan = begin_index_scan(table, index, snapshot, count);
            pg_sys::index_rescan(scan, keys.as_mut_ptr(), count, std::ptr::null_mut(), 0);
            while !self.is_over()
                && pg_sys::index_getnext_slot(
                    scan,
                    pg_sys::ScanDirection::ForwardScanDirection,
                    slot,
                )
            {
                self.row(member, slot);
                pgrx::check_for_interrupts!();
            }
            pg_sys::index_endscan(scan);
            pg_sys::index_close(index, NO_LOCK);
        }
    }

    unsafe fn by_table(
        &mut self,
        member: &Member,
        table: pg_sys::Relation,
        slot: *mut pg_sys::TupleTableSlot,
        snapshot: pg_sys::Snapshot,
    ) {
        // SAFETY: as in member.
        unsafe {
            let scan = pg_sys::table_beginscan(table, snapshot, 0, std::ptr::null_mut());
            while !self.is_over()
                && pg_sys::table_scan_getnextslot(
                    scan,
                    pg_sys::ScanDirection::ForwardScanDirection,
                    slot,
                )
            {
                self.row(member, slot);
                pgrx::check_for_interrupts!();
            }
            pg_sys::table_endscan(scan);
        }
    }

    fn ball(&self) -> pg_sys::Datum {
        let Sought { fp, width, distance, .. } = *self.sought;
        width.ball_datum(Ball { center: fp, radius: distance })
    }

    /// Takes the row in the slot if it is better than what was found.
    unsafe fn row(&mut self, member: &Member, slot: *mut pg_sys::TupleTableSlot) {
        // SAFETY: the slot holds a row of the member's table.
        unsafe {
            let Some(fp) = value(slot, &member.fp) else { return };
            let distance = self.sought.width.code(fp).hamming(&self.sought.fp);
            let limit = self.found.map_or(self.sought.distance, |found| found.distance);
            if distance > limit || !self.is_in_scope(member, slot) {
                return;
            }
            let place = RowPlace { table: member.table, tid: tid::pack(&(*slot).tts_tid) };
            let own = self.sought.key.map(|key| key.column);
            let key = own.zip(member.key).and_then(|(own, column)| {
                let key = value(slot, &column)?;
                if column.base == own.base { Some(key) } else { widen(column.base, own.base, key) }
            });
            if self.sought.updated == Some(place) || self.is_same_row(member, key) {
                return;
            }
            let better = self.found.is_none_or(|found| {
                let keys = match (own, key, found.key) {
                    (Some(own), Some(key), Some(other)) => own.compare(key, other),
                    _ => found.key.is_some().cmp(&key.is_some()),
                };
                let places = (place.table.to_u32(), place.tid)
                    .cmp(&(found.place.table.to_u32(), found.place.tid));
                distance.cmp(&found.distance).then(keys).then(places) == Ordering::Less
            });
            if better {
                let key = own.zip(key).map(|(own, key)| own.copy(key));
                self.found = Some(Duplicate { distance, place, key });
            }
        }
    }

    /// Whether the row in the slot has the values of the scope.
    unsafe fn is_in_scope(&self, member: &Member, slot: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: the slot holds a row of the member's table, whose columns have the types of the
        // trigger's own.
        let is_equal = |(column, sought): (&Column, &pg_sys::Datum)| unsafe {
            value(slot, column).is_some_and(|value| column.equal(value, *sought))
        };
        member.scope.iter().zip(self.sought.scope).all(is_equal)
    }

    unsafe fn is_same_row(&self, member: &Member, key: Option<pg_sys::Datum>) -> bool {
        let (Some((table, given)), Some(own), Some(key)) =
            (self.sought.same_row, self.sought.key, key)
        else {
            return false;
        };
        // SAFETY: both are values of the key's column.
        member.table == table
            && own.unique.iter().any(|equality| unsafe { equality.holds(key, given) })
    }
}

unsafe fn value(slot: *mut pg_sys::TupleTableSlot, column: &Column) -> Option<pg_sys::Datum> {
    let mut is_null = true;
    // SAFETY: the caller's slot holds a row of the column's table.
    let value = unsafe { pg_sys::slot_getattr(slot, i32::from(column.number), &mut is_null) };
    (!is_null).then_some(value)
}
