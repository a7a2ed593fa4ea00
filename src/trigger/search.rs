//! The nearest row of a family.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use pgrx::pg_sys;

use super::arguments::RowKey;
use super::event::RowPlace;
use super::window::Since;
use crate::family::column::widen;
use crate::family::scan::{Opened, value};
use crate::family::tables::{Family, Member};
use crate::family::verify::Texts;
use crate::types::ball::Ball;
use crate::types::{Code, Width, tid};

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
        // SAFETY: as nearest's.
        unsafe {
            let Some(mut opened) = Opened::open(member, snapshot) else { return };
            let window = self.sought.since.zip(member.time);
            if !window.is_some_and(|(since, time)| since.excludes(opened.relation, &time)) {
                let (ball, sought) = (self.ball(), self.sought);
                let sink = &mut |slot| {
                    self.row(member, slot);
                    if self.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                };
                match (member.by_time, sought.since) {
                    (Some(index), Some(since)) => opened.by_index(index, since.key(index), sink),
                    _ => opened.near(ball, sought.scope, sink),
                }
            }
            opened.close();
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
                || !member.is_in_scope(slot, self.sought.scope)
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
