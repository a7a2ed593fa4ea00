//! The rows within the distance of a fingerprint. Scans stay open from one fingerprint to the next.

use std::ops::ControlFlow;

use pgrx::pg_sys;

use super::setup::Setup;
use crate::family::column::Column;
use crate::family::scan::{Opened, value};
use crate::types::ball::Ball;
use crate::types::{Code, strategy, tid};

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
    opened: Opened<'a>,
    key: Column,
    cluster: Column,
}

impl<'a> Neighbours<'a> {
    /// # Safety
    /// The snapshot is registered while this is used, the family's relations are locked.
    pub unsafe fn open(setup: &'a Setup, snapshot: pg_sys::Snapshot) -> Self {
        // SAFETY: as this function's.
        let tables = setup.family.members.iter().filter_map(|member| unsafe {
            let cluster = Column::named(member.table, &setup.cluster.name)?;
            let opened = Opened::open(member, snapshot)?;
            Some(Table { opened, key: member.key?, cluster })
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
        for (number, Table { opened, key, cluster }) in self.tables.iter_mut().enumerate() {
            let member = opened.member;
            let row = |slot: *mut pg_sys::TupleTableSlot| {
                // SAFETY: as this function's; the slot holds a row of the member's table.
                unsafe {
                    let distance = width.code(value(slot, &member.fp)?).hamming(&fp);
                    if distance > radius || !member.is_in_scope(slot, scope) {
                        return None;
                    }
                    let (key, cluster) = (value(slot, key)?, value(slot, cluster));
                    let place = Place { table: number, tid: tid::pack(&(*slot).tts_tid) };
                    Some(Neighbour { distance, key, cluster, place })
                }
            };
            // SAFETY: as this function's.
            unsafe {
                opened.near((strategy::WITHIN, ball), scope, &mut |slot| {
                    row(slot).into_iter().for_each(&mut *found);
                    ControlFlow::Continue(())
                });
            }
        }
    }

    /// The text of a row that was found. It lives until the next one is read, or searched for.
    pub fn text(&mut self, place: Place) -> Option<pg_sys::Datum> {
        let opened = &self.tables[place.table].opened;
        let text = opened.member.text.filter(|_| opened.fetch(tid::unpack(place.tid)))?;
        // SAFETY: the slot holds the row.
        unsafe { value(opened.slot, &text) }
    }

    pub fn close(self) {
        for table in self.tables.into_iter().rev() {
            table.opened.close();
        }
    }
}
