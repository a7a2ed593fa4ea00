//! The rows within the distance of a fingerprint, read straight from the indexes, as the trigger
//! simhash_dedup does. Scans stay open from one fingerprint to the next.

use pgrx::pg_sys;

use super::setup::Setup;
use crate::compat::begin_index_scan;
use crate::trigger::column::Column;
use crate::trigger::family::Member;
use crate::trigger::search::value;
use crate::types::ball::Ball;
use crate::types::{Code, strategy, tid};

const LOCK: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
const NO_LOCK: pg_sys::LOCKMODE = pg_sys::NoLock as pg_sys::LOCKMODE;

/// A row within the distance. Its values are valid until the next row.
pub struct Neighbour {
    pub distance: u32,
    pub key: pg_sys::Datum,
    pub cluster: Option<pg_sys::Datum>,
    pub place: Place,
}

/// Where a row is: which of the tables, and its packed TID.
#[derive(Clone, Copy)]
pub struct Place {
    table: usize,
    tid: u64,
}

/// The tables of a family, open for searching.
pub struct Neighbours<'a> {
    setup: &'a Setup,
    tables: Vec<Table<'a>>,
}

struct Table<'a> {
    member: &'a Member,
    key: Column,
    cluster: Column,
    relation: pg_sys::Relation,
    index: pg_sys::Relation,
    /// Null without an index.
    scan: pg_sys::IndexScanDesc,
    snapshot: pg_sys::Snapshot,
    slot: *mut pg_sys::TupleTableSlot,
}

impl<'a> Neighbours<'a> {
    /// # Safety
    /// The snapshot is registered while this is used, the family's relations are locked.
    pub unsafe fn open(setup: &'a Setup, snapshot: pg_sys::Snapshot) -> Self {
        // SAFETY: as this function's.
        let tables = setup.family.members.iter().filter_map(|member| unsafe {
            let cluster = Column::named(member.table, &setup.cluster.name)?;
            Table::open(member, member.key?, cluster, snapshot)
        });
        Neighbours { setup, tables: tables.collect() }
    }

    /// Calls `found` with every row within the distance and in the scope.
    ///
    /// # Safety
    /// As [`Neighbours::open`]; the scope has the values of the scope's columns, not NULL.
    pub unsafe fn of(
        &mut self,
        fp: Code,
        scope: &[pg_sys::Datum],
        found: &mut dyn FnMut(Neighbour),
    ) {
        let (width, radius) = (self.setup.width, self.setup.distance);
        let ball = width.ball_datum(Ball { center: fp, radius });
        for (number, table) in self.tables.iter().enumerate() {
            // SAFETY: as this function's; the slot holds a row of the member's table.
            unsafe {
                table.rows(ball, scope, &mut |slot| {
                    let member = table.member;
                    let Some(theirs) = value(slot, &member.fp) else { return };
                    let distance = width.code(theirs).hamming(&fp);
                    if distance > radius || !is_in_scope(slot, member, scope) {
                        return;
                    }
                    let Some(key) = value(slot, &table.key) else { return };
                    let cluster = value(slot, &table.cluster);
                    let place = Place { table: number, tid: tid::pack(&(*slot).tts_tid) };
                    found(Neighbour { distance, key, cluster, place });
                });
            }
        }
    }

    /// The text of a row that was found. It lives until the next one is read, or searched for.
    pub fn text(&mut self, place: Place) -> Option<pg_sys::Datum> {
        let Table { member, relation, snapshot, slot, .. } = self.tables[place.table];
        let mut tid = tid::unpack(place.tid);
        // SAFETY: the promise of open; no scan uses the slot between two searches.
        unsafe {
            pg_sys::table_tuple_fetch_row_version(relation, &mut tid, snapshot, slot)
                .then(|| member.text.and_then(|column| value(slot, &column)))?
        }
    }

    pub fn close(self) {
        for table in self.tables.into_iter().rev() {
            table.close();
        }
    }
}

/// # Safety
/// The slot holds a row of the member's table; the scope has values of its columns.
unsafe fn is_in_scope(
    slot: *mut pg_sys::TupleTableSlot,
    member: &Member,
    scope: &[pg_sys::Datum],
) -> bool {
    // SAFETY: as this function's.
    member.scope.iter().zip(scope).all(|(column, &sought)| unsafe {
        value(slot, column).is_some_and(|value| column.equal(value, sought))
    })
}

impl<'a> Table<'a> {
    /// # Safety
    /// As [`Neighbours::open`].
    unsafe fn open(
        member: &'a Member,
        key: Column,
        cluster: Column,
        snapshot: pg_sys::Snapshot,
    ) -> Option<Self> {
        // SAFETY: as this function's; what is opened is closed in reverse order, or by the abort
        // of the transaction.
        unsafe {
            let relation = pg_sys::try_relation_open(member.table, NO_LOCK);
            if relation.is_null() {
                return None;
            }
            let slot = pg_sys::table_slot_create(relation, std::ptr::null_mut());
            let (mut index, mut scan) = (std::ptr::null_mut(), std::ptr::null_mut());
            if let Some(serving) = &member.index {
                index = pg_sys::index_open(serving.index, LOCK);
                let count = serving.conditions.len() as i32 + 1;
                scan = begin_index_scan(relation, index, snapshot, count);
            }
            Some(Table { member, key, cluster, relation, index, scan, snapshot, slot })
        }
    }

    /// # Safety
    /// As [`Neighbours::of`].
    unsafe fn rows(
        &self,
        ball: pg_sys::Datum,
        scope: &[pg_sys::Datum],
        row: &mut dyn FnMut(*mut pg_sys::TupleTableSlot),
    ) {
        const FORWARD: pg_sys::ScanDirection::Type = pg_sys::ScanDirection::ForwardScanDirection;
        // SAFETY: as this function's. Of a scan key the access method reads the column, the
        // strategy and the argument.
        unsafe {
            let Some(serving) = &self.member.index else {
                let scan =
                    pg_sys::table_beginscan(self.relation, self.snapshot, 0, std::ptr::null_mut());
                while pg_sys::table_scan_getnextslot(scan, FORWARD, self.slot) {
                    pgrx::check_for_interrupts!();
                    row(self.slot);
                }
                return pg_sys::table_endscan(scan);
            };
            let key = |sk_attno, sk_strategy, sk_argument| pg_sys::ScanKeyData {
                sk_attno,
                sk_strategy,
                sk_argument,
                ..Default::default()
            };
            let conditions = serving.conditions.iter();
            let mut keys: Vec<_> = conditions
                .map(|equal| key(equal.number, strategy::EQUAL, scope[equal.place]))
                .collect();
            // The last key column is searched by distance.
            let last = (*(*self.index).rd_index).indnkeyatts;
            keys.push(key(last, strategy::WITHIN, ball));
            let (keys, count) = (keys.as_mut_ptr(), keys.len() as i32);
            pg_sys::index_rescan(self.scan, keys, count, std::ptr::null_mut(), 0);
            while pg_sys::index_getnext_slot(self.scan, FORWARD, self.slot) {
                pgrx::check_for_interrupts!();
                row(self.slot);
            }
        }
    }

    fn close(self) {
        // SAFETY: opened by open.
        unsafe {
            if !self.scan.is_null() {
                pg_sys::index_endscan(self.scan);
                pg_sys::index_close(self.index, NO_LOCK);
            }
            pg_sys::ExecDropSingleTupleTableSlot(self.slot);
            pg_sys::relation_close(self.relation, NO_LOCK);
        }
    }
}
