//! The nearest row of a family.

use std::cmp::Ordering;

use pgrx::pg_sys;

use super::arguments::RowKey;
use super::event::RowPlace;
use super::window::Since;
use crate::family::arguments::By;
use crate::family::column::widen;
use crate::family::scan::{Next, Opened, value};
use crate::family::snapshot::everything;
use crate::family::tables::{Family, Member};
use crate::family::verify::Texts;
use crate::types::ball::Ball;
use crate::types::{Code, strategy, tid};

/// What to look for.
pub struct Query<'a> {
    pub searched: Code,
    pub by: &'a By,
    /// The text as a near_text or a text_passage, if rows are searched by it.
    pub near_text: Option<pg_sys::Datum>,
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

impl Query<'_> {
    /// The greatest distance; 0 if rows are searched by their texts.
    fn distance(&self) -> u32 {
        match self.by {
            By::Distance { distance, .. } => *distance,
            By::Similarity(_) => 0,
        }
    }
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

/// Of rows that are as good as each other, the least key of so many is taken. So a copy of a text
/// that is there a million times costs what a copy of one does that is there a hundred times.
const MAX_EQUAL: usize = 100;

/// The nearest row that `snapshot` sees. Of several at the same distance it is the one with the
/// least key, and of these the first one in its table. A row without a key comes after those with
/// one. If `texts` are compared, it is the row with the most similar text, and then the nearest.
/// Of more than [`MAX_EQUAL`] at the same distance, or with similar texts, the first that are found
/// count.
///
/// # Safety
/// The snapshot is registered, the family's relations are locked.
pub unsafe fn nearest(
    family: &Family,
    query: &Query<'_>,
    mut texts: Option<&mut Texts<'_>>,
    snapshot: pg_sys::Snapshot,
) -> Option<Duplicate> {
    let mut search = |radius, any| {
        let texts = texts.as_deref_mut();
        let mut search =
            Search { query, texts, radius, any, budget: MAX_EQUAL, found: None, look: None };
        // SAFETY: as this function's.
        unsafe { search.run(family, snapshot) };
        search.found
    };
    let distance = query.distance();
    let farthest = search(distance, true)?;
    if query.any {
        return Some(farthest);
    }
    if farthest.similarity.is_none() {
        // At the first radius where there is one, all are at that distance.
        return (0..=farthest.distance).find_map(|radius| search(radius, false));
    }
    // Of equal texts, which nothing is nearer to than they are to each other.
    let equal = search(0, false).filter(|found| found.similarity >= Some(1.0) || distance == 0);
    equal.or_else(|| search(distance, false))
}

/// What a look at everybody's rows has found, committed or not.
pub enum Seen {
    /// No near row.
    None,
    /// One that is committed, or one of the own transaction.
    Row,
    /// None of these, but one of a transaction in progress.
    Busy(Busy),
}

/// A transaction in progress, and what to wait for of it if it has stored the row on trial.
#[derive(Clone, Copy)]
pub struct Busy {
    transaction: pg_sys::TransactionId,
    token: u32,
}

impl Busy {
    /// Waits until the transaction has ended, or has confirmed the row or taken it back.
    pub fn wait(self) {
        use pg_sys::XLTW_Oper::XLTW_None;
        // SAFETY: waits as a unique index does. An ERROR ends the transaction.
        unsafe {
            if self.token > 0 {
                pg_sys::SpeculativeInsertionWait(self.transaction, self.token);
            } else {
                let (relation, row) = (std::ptr::null_mut(), std::ptr::null_mut());
                pg_sys::XactLockTableWait(self.transaction, relation, row, XLTW_None);
            }
        }
    }
}

/// Looks whether there is a near row, in a transaction in progress too.
///
/// A row that another transaction updates meanwhile may be missed. So of rows that are committed,
/// [`nearest`] has the last word, with a snapshot that is taken later. A row whose deletion is not
/// committed is there.
///
/// # Safety
/// The family's relations are locked.
pub unsafe fn look_at_everything(
    family: &Family,
    query: &Query<'_>,
    texts: Option<&mut Texts<'_>>,
) -> Seen {
    let mut snapshot = everything();
    let snapshot = &raw mut snapshot;
    let look = Some(DirtyLook { snapshot, seen: Seen::None });
    let (radius, any, budget) = (query.distance(), true, MAX_EQUAL);
    let mut search = Search { query, texts, radius, any, budget, found: None, look };
    // SAFETY: as this function's. Such a snapshot needs no registration.
    unsafe { search.run(family, snapshot) };
    search.look.map_or(Seen::None, |look| look.seen)
}

struct DirtyLook {
    /// What the visibility of a row was, in this last.
    snapshot: pg_sys::Snapshot,
    seen: Seen,
}

impl DirtyLook {
    /// Takes in a near row.
    fn row(&mut self) {
        // SAFETY: the snapshot lives as long as the search.
        let (transaction, token) =
            unsafe { ((*self.snapshot).xmin, (*self.snapshot).speculativeToken) };
        if transaction == pg_sys::InvalidTransactionId {
            self.seen = Seen::Row;
            return;
        }
        if matches!(self.seen, Seen::None) {
            self.seen = Seen::Busy(Busy { transaction, token });
        }
    }
}

struct Search<'a, 't> {
    query: &'a Query<'a>,
    texts: Option<&'a mut Texts<'t>>,
    radius: u32,
    /// Whether the first row will do.
    any: bool,
    /// How many more near rows are looked at, once there is one.
    budget: usize,
    found: Option<Duplicate>,
    /// Instead of a search for the nearest row.
    look: Option<DirtyLook>,
}

impl Search<'_, '_> {
    fn is_over(&self) -> bool {
        match self.look.as_ref().map(|look| &look.seen) {
            Some(Seen::Row) => true,
            Some(Seen::Busy(_)) => self.budget == 0,
            Some(Seen::None) => false,
            None => self.found.is_some() && (self.any || self.budget == 0),
        }
    }

    unsafe fn run(&mut self, family: &Family, snapshot: pg_sys::Snapshot) {
        for member in &family.members {
            // SAFETY: as nearest's.
            unsafe { self.member(member, snapshot) };
            if self.is_over() {
                break;
            }
        }
    }

    unsafe fn member(&mut self, member: &Member, snapshot: pg_sys::Snapshot) {
        // SAFETY: as nearest's.
        unsafe {
            let Some(mut opened) = Opened::open(member, snapshot) else { return };
            let window = self.query.since.zip(member.time);
            if !window.is_some_and(|(since, time)| since.excludes(opened.relation, &time)) {
                let (asked, query) = (self.asked(), self.query);
                let sink = &mut |slot| {
                    self.row(member, slot);
                    if self.is_over() { Next::None } else { Next::Any }
                };
                match (member.by_time, query.since) {
                    (Some(index), Some(since)) => opened.by_index(index, since.key(index), sink),
                    _ => opened.near(asked, query.scope, sink),
                }
            }
            opened.close();
        }
    }

    /// An operator of the searched column, and its argument.
    fn asked(&self) -> (u16, pg_sys::Datum) {
        let Query { searched, by, near_text, .. } = *self.query;
        match (by, near_text) {
            (_, Some(text)) => (strategy::NEAR, text),
            (By::Distance { width, .. }, None) => {
                (strategy::WITHIN, width.ball_datum(Ball { center: searched, radius: self.radius }))
            }
            (By::Similarity(_), None) => unreachable!("texts are searched by a near_text"),
        }
    }

    /// Takes the row in the slot if it is better than what was found.
    unsafe fn row(&mut self, member: &Member, slot: *mut pg_sys::TupleTableSlot) {
        // SAFETY: the slot holds a row of the member's table.
        unsafe {
            let Some(searched) = value(slot, &member.searched) else { return };
            let distance = match self.query.by {
                By::Distance { width, .. } => width.code(searched).hamming(&self.query.searched),
                By::Similarity(_) => 0,
            };
            let nearest = self.found.filter(|_| self.texts.is_none()).map(|found| found.distance);
            if distance > nearest.unwrap_or(self.radius)
                || !member.is_in_scope(slot, self.query.scope)
                || !self.is_in_window(member, slot)
            {
                return;
            }
            let place = RowPlace { table: member.table, tid: tid::pack(&(*slot).tts_tid) };
            let own = self.query.key.map(|key| key.column);
            let key = own.zip(member.key).and_then(|(own, column)| {
                let key = value(slot, &column)?;
                if column.base == own.base { Some(key) } else { widen(column.base, own.base, key) }
            });
            if self.query.updated == Some(place) || self.is_same_row(member, key) {
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
            self.budget -= 1;
            if let Some(look) = &mut self.look {
                return look.row();
            }
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
        let Some((since, column)) = self.query.since.zip(member.time) else { return true };
        // SAFETY: the slot holds a row of the member's table.
        unsafe { since.counts(value(slot, &column)) }
    }

    unsafe fn is_same_row(&self, member: &Member, key: Option<pg_sys::Datum>) -> bool {
        let (Some((table, given)), Some(own), Some(key)) =
            (self.query.same_row, self.query.key, key)
        else {
            return false;
        };
        // SAFETY: both are values of the key's column.
        member.table == table
            && own.unique.iter().any(|equality| unsafe { equality.holds(key, given) })
    }
}
