//! Connects fresh rows with the rows near them; if texts are compared, with those also similar.
//!
//! - Rows at one point are near the same rows. So of the standing rows at a point one is enough. If
//!   it is at the fresh row's own point, the search of this point ends, because all rows near the
//!   point have that row's id.
//! - Texts are compared after the search, and only if a row has neighbours, so a row without
//!   neighbours costs no more than without comparison. Rows that are already connected are not
//!   compared: n copies of a text need n comparisons, not n²/2.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::compare::similarity::TextSet;

use super::components::{Anchor, Components, Kind, Point, Row};
use super::keys::Key;
use super::neighbours::{Neighbour, Neighbours, command_at};
use super::row::At;
use super::table;
use super::under_way::{self, Others};
use crate::bulk::sets::RowSets;
use crate::bulk::verify::Verification;
use crate::family::scan::Next;
use crate::family::snapshot::Snapshot;
use crate::family::value::Value;
use crate::guc::work_mem;

/// Which rows are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Rows committed at one instant, and the transaction's own.
    Committed,
    /// The dirty search: rows of transactions in progress as well. It may miss a row that is
    /// updated while it runs.
    Everything,
}

/// What a search has found, besides the rows and links that it has added to the components.
#[derive(Default)]
pub struct SearchResult {
    /// The transactions in progress that have near rows, ascending.
    pub writers: Vec<pg_sys::TransactionId>,
    /// Ids by which rows may have been connected that are not near: some search has read a row
    /// between its change and now.
    pub doubtful: Vec<Key>,
    /// The points of committed rows of others that were found; of texts, only the points searched
    /// for. Copies of these rows may have been passed over. A search that counts has to find a row
    /// at each of these points again.
    pub relied: HashSet<Point>,
    /// Points whose search ended at a standing row of the same point, with that row's key.
    copies_of: HashMap<Point, Key>,
    /// Whether every near row has to be read. Otherwise one standing row of each point is enough.
    wants_copies: bool,
    /// Whether a row without an id may belong to a statement whose AFTER trigger has not run. Then
    /// it represents no group.
    ids_may_follow: bool,
    /// The command of the previous look ([`note_look`](super::under_way::note_look)).
    previous_look: Option<pg_sys::CommandId>,
}

/// A row near one of the points searched for.
#[derive(Clone, Copy)]
struct Near {
    key: Key,
    /// The id in its column.
    stored: Option<Key>,
    distance: u32,
    at: At,
    /// The command that wrote it, if this transaction did; otherwise 0.
    command: pg_sys::CommandId,
}

/// Connects the fresh rows at these points with their neighbours. `previous_look` is the command of
/// the look before.
pub fn search(
    components: &mut Components<'_>,
    points: &[Point],
    view: View,
    previous_look: Option<pg_sys::CommandId>,
) -> SearchResult {
    let setup = components.setup;
    let snapshot = match view {
        View::Committed => Snapshot::latest(),
        View::Everything => Snapshot::everything(),
    };
    let mut similar = setup.verification.as_ref().map(Similar::new);
    let others = under_way::others(setup);
    let mut found = SearchResult {
        wants_copies: similar.is_some() || others == Others::Changes,
        ids_may_follow: others != Others::Nothing,
        previous_look,
        ..SearchResult::default()
    };
    let mut near = Vec::new();
    let mut neighbours = Neighbours::open(setup, &snapshot);
    for &point in points {
        found.find(components, &mut neighbours, point, &mut near);
        match &mut similar {
            Some(similar) => similar.connect(components, &mut neighbours, &near, &mut found),
            None => found.unite(components, &near),
        }
        near.clear();
    }
    neighbours.close();
    snapshot.release();
    found.find_unseen(components);
    found.writers.sort_unstable();
    found.writers.dedup();
    found
}

/// After this many near rows, the search first asks for a row at the point itself.
const FEW: usize = 16;

impl SearchResult {
    /// Notes the rows near a point: all, or one standing row of each point near it.
    fn find(
        &mut self,
        components: &mut Components<'_>,
        neighbours: &mut Neighbours<'_>,
        point: Point,
        near: &mut Vec<Near>,
    ) {
        if components.setup.by.is_text() {
            return self.find_similar(components, neighbours, point, near);
        }
        let asks = !self.wants_copies;
        let mut is_cut_short = false;
        neighbours.near(components, point, None, &mut |components, row| {
            is_cut_short = asks && near.len() == FEW;
            if is_cut_short { Next::None } else { self.note_near(components, row, point, near) }
        });
        if !is_cut_short {
            return;
        }
        near.clear();
        neighbours.equal(components, point, &mut |components, row| {
            self.note_near(components, row, point, near)
        });
        if !self.copies_of.contains_key(&point) {
            near.clear();
            neighbours.near(components, point, None, &mut |components, row| {
                self.note_near(components, row, point, near)
            });
        }
    }

    /// The same for texts. Equal texts come first, because rows that are connected with these then
    /// need no comparison. If a standing copy ends the search, the rows in `near` are left for the
    /// caller to connect. Otherwise each row found is connected at once, and `near` is empty.
    fn find_similar(
        &mut self,
        components: &mut Components<'_>,
        neighbours: &mut Neighbours<'_>,
        point: Point,
        near: &mut Vec<Near>,
    ) {
        neighbours.equal(components, point, &mut |components, row| {
            self.note_near(components, row, point, near)
        });
        if self.copies_of.contains_key(&point) {
            return;
        }
        self.unite(components, near);
        let own = near.first().map(|own| own.key);
        let trusts_ids = !self.wants_copies;
        near.clear();
        let own = own.map(|own| Anchor { own, trusts_ids });
        neighbours.near(components, point, own, &mut |components, row| {
            let next = self.note_near(components, row, point, near);
            for near in near.drain(..) {
                if let Some(Anchor { own, .. }) = own {
                    self.add_to_components(components, &near);
                    components.link_rows(own, near.key);
                }
            }
            next
        });
    }

    /// Notes a near row, and returns which rows the scan should return next.
    fn note_near(
        &mut self,
        components: &mut Components<'_>,
        row: &Neighbour<'_>,
        point: Point,
        near: &mut Vec<Near>,
    ) -> Next {
        if let Some(writer) = row.writer {
            self.writers.push(writer);
            return Next::Any;
        }
        let Neighbour { distance, at, command, .. } = *row;
        let (key, stored) = (components.key(row.key), components.id(row.cluster));
        near.push(Near { key, stored, distance, at, command });
        let Row { kind, is_own, .. } = *components.row(key);
        let by = &components.setup.by;
        if !is_own && (distance == 0 || !by.is_text()) {
            let what = by.what(row.value);
            self.relied.insert(Point { what, ..point });
        }
        let stands = matches!(kind, Kind::Absent | Kind::Standing)
            && (stored.is_some() || !self.ids_may_follow);
        match stands && !self.wants_copies {
            true if distance == 0 => {
                self.copies_of.insert(point, key);
                Next::None
            }
            true => Next::Other,
            false => Next::Any,
        }
    }

    /// Connects the rows near a point through a row at the point. Without such a row nothing is
    /// connected.
    fn unite(&mut self, components: &mut Components<'_>, near: &[Near]) {
        if let Some(first) = near.iter().find(|near| near.distance == 0) {
            for near in near {
                self.add_to_components(components, near);
                components.link_rows(first.key, near.key);
            }
        }
    }

    /// Adds a row that a search has found to the components, with the group that it represents.
    fn add_to_components(&mut self, components: &mut Components<'_>, near: &Near) {
        let row = components.row_mut(near.key);
        match row.kind {
            Kind::Fresh | Kind::NearOnly => {
                row.kind = if near.distance == 0 { Kind::Found } else { Kind::NearOnly };
                self.note(row, near.stored, near.at, near.command);
            }
            Kind::Absent => {
                *row = Row::standing(near.stored, near.at);
                components.link_group(near.key, near.stored);
            }
            Kind::Found | Kind::Standing => {}
        }
    }

    /// Notes the present id and place of a fresh row, and finds out whether ids are doubtful.
    fn note(&mut self, row: &mut Row, stored: Option<Key>, at: At, command: pg_sys::CommandId) {
        // A changed row still has the id of its former group. A search since the change has taken
        // that id for the id of rows near the row's new values.
        if let Some(known) = row.stored {
            if !row.is_member && self.previous_look.is_some_and(|look| look > command) {
                self.doubtful.push(known);
            }
            // Another trigger call for this statement, or a nested statement, has given the row
            // another id.
            self.doubtful.extend(stored.filter(|&stored| stored != known));
        }
        (row.stored, row.at) = (stored, Some(at));
    }

    /// Reads from the table the fresh rows that the search passed over as copies of another row.
    fn find_unseen(&mut self, components: &mut Components<'_>) {
        let setup = components.setup;
        let unseen = components.unseen_at(&self.copies_of);
        if !unseen.is_empty() {
            table::rows_with(components, &unseen, &mut |components, values| {
                let (Some(key), Some(at), Some(point)) =
                    (values.key, values.at, components.point(&values))
                else {
                    return;
                };
                let Some(&other) = self.copies_of.get(&point) else { return };
                let (key, stored) = (components.key(key), components.id(values.cluster));
                let command = self.previous_look.map_or(0, |_| command_at(setup, at));
                let row = components.row_mut(key);
                row.kind = Kind::Found;
                self.note(row, stored, at, command);
                components.link_rows(key, other);
            });
        }
        // A nested statement has since changed the rows that are still not found at their points,
        // and has found their groups. This search did not ask for their present neighbours.
        let searched = self.previous_look.map(|_| components.searched_keys());
        for index in 0..components.rows.len() {
            let key = Key::new(index);
            let Row { kind, stored, is_own, is_member, .. } = *components.row(key);
            let is_unseen = kind == Kind::Fresh && is_own && !is_member;
            if is_unseen && searched.as_ref().is_some_and(|keys| keys.contains(&key)) {
                self.doubtful.extend(stored);
            }
            if kind == Kind::NearOnly {
                components.row_mut(key).kind = Kind::Standing;
                components.link_group(key, stored);
            }
        }
    }
}

struct Similar<'a> {
    how: &'a Verification,
    /// Created when the first text is read.
    sets: Option<RowSets>,
    /// Digests of the sets that are known not to be similar to the set compared now.
    refused: HashSet<u128>,
    /// The fresh rows that have been compared with all rows near them.
    done: HashSet<Key>,
}

impl<'a> Similar<'a> {
    fn new(how: &'a Verification) -> Self {
        let (refused, done) = Default::default();
        Similar { how, sets: None, refused, done }
    }

    /// Connects the fresh rows of a fingerprint with the rows near it that have similar texts.
    fn connect(
        &mut self,
        components: &mut Components<'_>,
        neighbours: &mut Neighbours<'_>,
        near: &[Near],
        found: &mut SearchResult,
    ) {
        // The first row of each distinct set.
        let mut distinct = HashMap::new();
        for own in near.iter().filter(|near| near.distance == 0) {
            if matches!(components.row(own.key).kind, Kind::Absent | Kind::Standing) {
                continue;
            }
            found.add_to_components(components, own);
            if near.len() == 1 {
                continue;
            }
            let (digest, set) = self.set(neighbours, own);
            if set.is_empty() {
                continue;
            }
            match distinct.entry(digest) {
                Entry::Occupied(first) => components.link_rows(*first.get(), own.key),
                Entry::Vacant(first) => {
                    first.insert(own.key);
                    self.compare(components, neighbours, (own, &set), near, found);
                    self.done.insert(own.key);
                }
            }
        }
    }

    /// Connects a row with those whose texts are similar to its text.
    fn compare(
        &mut self,
        components: &mut Components<'_>,
        neighbours: &mut Neighbours<'_>,
        (own, set): (&Near, &Rc<TextSet>),
        near: &[Near],
        found: &mut SearchResult,
    ) {
        self.refused.clear();
        for other in near {
            pgrx::check_for_interrupts!();
            // If a row in `done` were similar, it would be connected.
            let trusted = other.stored.filter(|_| components.row(other.key).kind == Kind::Absent);
            if self.done.contains(&other.key)
                || components.are_connected(own.key, Some(other.key), trusted)
            {
                continue;
            }
            let (digest, theirs) = self.set(neighbours, other);
            if self.refused.contains(&digest) {
                continue;
            }
            if self.sets().verified(set, &theirs).is_some() {
                found.add_to_components(components, other);
                components.link_rows(own.key, other.key);
            } else {
                self.refused.insert(digest);
            }
        }
    }

    fn sets(&mut self) -> &mut RowSets {
        self.sets.get_or_insert_with(|| self.how.sets(work_mem() / 4))
    }

    fn set(&mut self, neighbours: &mut Neighbours<'_>, row: &Near) -> (u128, Rc<TextSet>) {
        let (row, at) = (row.key.index() as u64, row.at);
        // SAFETY: the column has the representation of text. The text lives until the next one is
        // read.
        unsafe { self.sets().set(row, || neighbours.text(at).map(Value::datum)) }
    }
}
