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
use super::verify::Texts;
use super::window::{Since, not_before_of};
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
    /// Where the window of rows that count begins.
    pub since: Option<Since>,
    /// Whether any duplicate is as good as the nearest.
    pub any: bool,
}

/// A row within the distance. Its key is a copy, as a value of the trigger's own key.
#[derive(Clone, Copy, Debug)]
pub struct Duplicate {
    pub distance: u32,
    /// Of the texts, if they are compared.
    pub similarity: Option<f64>,
    pub place: RowPlace,
    pub key: Option<pg_sys::Datum>,
}

/// The nearest row that `snapshot` sees. Of several at the same distance it is the one with the
/// least key, and of these the first one in its table. A row without a key comes after those with
/// one. If `texts` are compared, it is the row with the most similar text, and then the nearest.
///
/// # Safety
/// The snapshot is registered, the family's relations are locked.
pub unsafe fn nearest(
    family: &Family,
    sought: &Sought<'_>,
    texts: Option<Texts<'_>>,
    snapshot: pg_sys::Snapshot,
) -> Option<Duplicate> {
    let mut search = Search { sought, texts, found: None };
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
    texts: Option<Texts<'a>>,
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
            let window = self.sought.since.zip(member.time);
            if !window.is_some_and(|(since, time)| since.excludes(table, &time)) {
                let slot = pg_sys::table_slot_create(table, std::ptr::null_mut());
                match (&member.index, member.by_time, self.sought.since) {
                    (Some(index), ..) => self.by_index(member, table, index, slot, snapshot),
                    (None, Some(index), Some(since)) => {
                        self.by_time(member, table, (index, since), slot, snapshot);
                    }
                    _ => self.by_table(member, table, slot, snapshot),
                }
                pg_sys::ExecDropSingleTupleTableSlot(slot);
            }
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
            self.scan(member, (table, index), &mut keys, slot, snapshot);
            pg_sys::index_close(index, NO_LOCK);
        }
    }

    /// By a B-tree on the time.
    unsafe fn by_time(
        &mut self,
        member: &Member,
        table: pg_sys::Relation,
        (index, since): (pg_sys::Oid, Since),
        slot: *mut pg_sys::TupleTableSlot,
        snapshot: pg_sys::Snapshot,
    ) {
        // SAFETY: as in member; the operator is one of the index's first column, of its own type.
        unsafe {
            let index = pg_sys::index_open(index, LOCK);
            let not_before = not_before_of(*(*index).rd_opfamily, *(*index).rd_opcintype);
            let mut key = pg_sys::ScanKeyData::default();
            pg_sys::ScanKeyInit(
                &mut key,
                1,
                pg_sys::BTGreaterEqualStrategyNumber as pg_sys::StrategyNumber,
                pg_sys::get_opcode(not_before.unwrap_or(pg_sys::InvalidOid)),
                since.start(),
            );
            self.scan(member, (table, index), &mut [key], slot, snapshot);
            pg_sys::index_close(index, NO_LOCK);
        }
    }

    /// Looks at the rows of an index scan.
    unsafe fn scan(
        &mut self,
        member: &Member,
        (table, index): (pg_sys::Relation, pg_sys::Relation),
        keys: &mut [pg_sys::ScanKeyData],
        slot: *mut pg_sys::TupleTableSlot,
        snapshot: pg_sys::Snapshot,
    ) {
        // SAFETY: as in member; the keys are for that index.
        unsafe {
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
            let nearest = self.found.filter(|_| self.texts.is_none()).map(|found| found.distance);
            if distance > nearest.unwrap_or(self.sought.distance)
                || !self.is_in_scope(member, slot)
                || !self.is_in_window(member, slot)
            {
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
            let similarity = match &mut self.texts {
                None => None,
                Some(texts) => {
                    let text = member.text.and_then(|column| value(slot, &column));
                    let Some(similarity) = text.and_then(|text| texts.verified(text)) else {
                        return;
                    };
                    Some(similarity)
                }
            };
            let better = self.found.is_none_or(|found| {
                let keys = match (own, key, found.key) {
                    (Some(own), Some(key), Some(other)) => own.compare(key, other),
                    _ => found.key.is_some().cmp(&key.is_some()),
                };
                let places = (place.table.to_u32(), place.tid)
                    .cmp(&(found.place.table.to_u32(), found.place.tid));
                let similarities = found.similarity.partial_cmp(&similarity);
                let similarities = similarities.unwrap_or(Ordering::Equal);
                let distances = distance.cmp(&found.distance);
                similarities.then(distances).then(keys).then(places) == Ordering::Less
            });
            if better {
                let key = own.zip(key).map(|(own, key)| own.copy(key));
                self.found = Some(Duplicate { distance, similarity, place, key });
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

    /// Whether the row in the slot is of a time that counts.
    unsafe fn is_in_window(&self, member: &Member, slot: *mut pg_sys::TupleTableSlot) -> bool {
        let Some((since, column)) = self.sought.since.zip(member.time) else { return true };
        // SAFETY: the slot holds a row of the member's table.
        unsafe { since.counts(value(slot, &column)) }
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

/// The value of a column in the row of a slot; `None` for NULL.
///
/// # Safety
/// The slot holds a row of the column's table.
pub unsafe fn value(slot: *mut pg_sys::TupleTableSlot, column: &Column) -> Option<pg_sys::Datum> {
    let mut is_null = true;
    // SAFETY: the caller's slot holds a row of the column's table.
    let value = unsafe { pg_sys::slot_getattr(slot, i32::from(column.number), &mut is_null) };
    (!is_null).then_some(value)
}
