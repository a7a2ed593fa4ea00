//! Searches a family for the nearest row, or for any near row.

use std::cmp::Ordering;

use pgrx::pg_sys;

use super::arguments::RowKey;
use super::event::RowPlace;
use super::window::Since;
use crate::family::arguments::By;
use crate::family::column::Column;
use crate::family::row::Row;
use crate::family::scan::{Asked, Next, Opened};
use crate::family::snapshot::Snapshot;
use crate::family::tables::{Family, Member};
use crate::family::value::Value;
use crate::family::verify::Texts;
use crate::types::Code;

/// What a search asks for.
pub struct Query<'a> {
    pub searched: Code,
    pub by: &'a By,
    /// The question for near texts, if rows are searched by texts.
    pub near_text: Option<Asked<'a>>,
    /// The values of the scope's columns.
    pub scope: &'a [Value<'a>],
    /// The row that is being updated.
    pub updated: Option<RowPlace>,
    /// The key of the trigger's table.
    pub key: Option<&'a RowKey>,
    /// The table of the INSERT, and the new row's key if that is unique there. A row with the same
    /// key is no duplicate but the same row: ON CONFLICT or the unique index handles it.
    pub same_row: Option<(pg_sys::Oid, Value<'a>)>,
    /// The start of the window of rows that count.
    pub since: Option<Since>,
    /// Whether any duplicate will do, not only the nearest.
    pub any: bool,
}

impl Query<'_> {
    /// The greatest distance; 0 if rows are searched by texts.
    fn distance(&self) -> u32 {
        match self.by {
            By::Distance { distance, .. } => *distance,
            By::Similarity(_) => 0,
        }
    }
}

/// A near row. Its key is a copy, and a value of the type of the trigger's own key.
#[derive(Clone, Copy, Debug)]
pub struct Duplicate {
    pub distance: u32,
    /// The similarity of the texts, if they are compared.
    pub similarity: Option<f64>,
    pub place: RowPlace,
    pub key: Option<Value<'static>>,
}

/// Among rows that are equally good, the least key of this many counts. So a copy of a text that is
/// stored a million times costs no more than a copy of one that is stored a hundred times.
const MAX_EQUAL: usize = 100;

/// The nearest row that `snapshot` sees. Among rows at the same distance it is the one with the
/// least key, and among these the first one in its table. Rows without a key come last. If `texts`
/// are compared, it is the row with the most similar text, and among these the nearest. Of more
/// than [`MAX_EQUAL`] rows at the same distance, or with similar texts, only the first ones found
/// count.
pub fn nearest(
    family: &Family,
    query: &Query<'_>,
    mut texts: Option<&mut Texts<'_>>,
    snapshot: &Snapshot,
) -> Option<Duplicate> {
    let mut search = |radius, any| {
        let texts = texts.as_deref_mut();
        let mut search =
            Search { query, texts, radius, any, budget: MAX_EQUAL, found: None, look: None };
        search.run(family, snapshot);
        search.found
    };
    let distance = query.distance();
    let farthest = search(distance, true)?;
    if query.any {
        return Some(farthest);
    }
    if farthest.similarity.is_none() {
        // All rows within the first radius that has any are at the same distance.
        return (0..=farthest.distance).find_map(|radius| search(radius, false));
    }
    // Rows with an equal text first: no other text is more similar.
    let equal = search(0, false).filter(|found| found.similarity >= Some(1.0) || distance == 0);
    equal.or_else(|| search(distance, false))
}

/// What a dirty search has found.
pub enum Seen {
    /// No near row.
    None,
    /// A row that is committed, or of this transaction.
    Row,
    /// No such row, but one of another transaction in progress.
    Busy(Busy),
}

/// A transaction in progress, and its token if it has inserted the row speculatively.
#[derive(Clone, Copy)]
pub struct Busy {
    transaction: pg_sys::TransactionId,
    token: u32,
}

impl Busy {
    /// Waits until the transaction has ended, or has confirmed or removed the speculative row.
    pub fn wait(self) {
        use pg_sys::XLTW_Oper::XLTW_None;
        // SAFETY: waits as a unique index does, in a transaction; an ERROR aborts that.
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

/// Searches for any near row, also among those of transactions in progress.
///
/// A row that another transaction updates meanwhile may be missed. So for committed rows the result
/// of [`nearest`] decides, with a snapshot taken later. A row whose deletion is not committed still
/// counts.
pub fn look_at_everything(
    family: &Family,
    query: &Query<'_>,
    texts: Option<&mut Texts<'_>>,
) -> Seen {
    let snapshot = Snapshot::everything();
    let (radius, any, budget) = (query.distance(), true, MAX_EQUAL);
    let look = Some(Seen::None);
    let mut search = Search { query, texts, radius, any, budget, found: None, look };
    search.run(family, &snapshot);
    let seen = search.look.unwrap_or(Seen::None);
    snapshot.release();
    seen
}

struct Search<'a, 't> {
    query: &'a Query<'a>,
    texts: Option<&'a mut Texts<'t>>,
    radius: u32,
    /// Whether the first row is enough.
    any: bool,
    /// How many more near rows may be read. The search ends when this is 0.
    budget: usize,
    found: Option<Duplicate>,
    /// The state of a dirty search; `None` for a search for the nearest row.
    look: Option<Seen>,
}

impl<'a> Search<'a, '_> {
    fn is_over(&self) -> bool {
        match &self.look {
            Some(Seen::Row) => true,
            Some(Seen::Busy(_)) => self.budget == 0,
            Some(Seen::None) => false,
            None => self.found.is_some() && (self.any || self.budget == 0),
        }
    }

    fn run(&mut self, family: &Family, snapshot: &Snapshot) {
        for member in &family.members {
            self.member(member, snapshot);
            if self.is_over() {
                break;
            }
        }
    }

    fn member(&mut self, member: &Member, snapshot: &Snapshot) {
        let Some(mut opened) = Opened::open(member, snapshot) else { return };
        let since = self.query.since.zip(member.time);
        let excludes = |(since, time): (Since, Column)| since.excludes(opened.table(), &time);
        if !since.is_some_and(excludes) {
            let (asked, query) = (self.asked(), self.query);
            let sink = &mut |row: Row<'_>| {
                self.row(member, row, snapshot);
                if self.is_over() { Next::None } else { Next::Any }
            };
            if !since.is_some_and(|(since, _)| opened.by_time(since.start(), sink)) {
                opened.near(asked, query.scope, sink);
            }
        }
        opened.close();
    }

    fn asked(&self) -> Asked<'a> {
        let Query { searched, by, near_text, .. } = *self.query;
        match (by, near_text) {
            (_, Some(text)) => text,
            (By::Distance { width, .. }, None) => Asked::within(*width, searched, self.radius),
            (By::Similarity(_), None) => unreachable!("texts are searched by a near_text"),
        }
    }

    /// Takes a row if it is better than the best so far.
    fn row(&mut self, member: &Member, row: Row<'_>, snapshot: &Snapshot) {
        let Some(searched) = row.value(&member.searched) else { return };
        let distance = match self.query.by {
            By::Distance { width, .. } => searched.code(*width).hamming(&self.query.searched),
            By::Similarity(_) => 0,
        };
        let nearest = self.found.filter(|_| self.texts.is_none()).map(|found| found.distance);
        let since = self.query.since.zip(member.time);
        if distance > nearest.unwrap_or(self.radius)
            || !member.is_in_scope(row, self.query.scope)
            || !since.is_none_or(|(since, time)| since.counts(row.value(&time)))
        {
            return;
        }
        let place = RowPlace { table: member.table, tid: row.tid() };
        let own = self.query.key.map(|key| key.column);
        let key = own.zip(member.key).and_then(|(own, column)| {
            let key = row.value(&column)?;
            if column.base == own.base { Some(key) } else { key.widened(own.base) }
        });
        if self.query.updated == Some(place) || self.is_same_row(member, key) {
            return;
        }
        let similarity = match &mut self.texts {
            None => None,
            Some(texts) => {
                let text = member.text.and_then(|column| row.value(&column));
                let Some(similarity) = text.and_then(|text| texts.verified(text)) else {
                    return;
                };
                Some(similarity)
            }
        };
        self.budget -= 1;
        if let Some(look) = &mut self.look {
            match snapshot.writer() {
                None => *look = Seen::Row,
                Some((transaction, token)) if matches!(look, Seen::None) => {
                    *look = Seen::Busy(Busy { transaction, token });
                }
                Some(_) => {}
            }
            return;
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
            // SAFETY: the current memory context is that of the trigger's call.
            let key = key.map(|key| unsafe { key.copy() });
            self.found = Some(Duplicate { distance, similarity, place, key });
        }
    }

    fn is_same_row(&self, member: &Member, key: Option<Value<'_>>) -> bool {
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
