//! Connects fresh rows with what is near them, and similar if texts are compared.
//!
//! - Rows with one fingerprint, or one text, are near the same rows. So of those that are live one
//!   is enough, and where a fresh row has what a live one has, nothing else is looked at: what is
//!   near the one has its id.
//! - A second look at texts is taken when there is somebody to compare a row with, so a row without
//!   near ones costs what it costs without comparison. Rows that are connected already need none: n
//!   copies of a text are n comparisons, and not n²/2.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::sets::similarity::TextSet;

use super::components::{Components, Kind, Node, Point, Row};
use super::keys::Key;
use super::neighbours::{Neighbour, Neighbours};
use super::table;
use super::transition::At;
use super::under_way;
use crate::bulk::sets::RowSets;
use crate::bulk::verify::Verification;
use crate::family::scan::Next;
use crate::family::snapshot;
use crate::guc::work_mem;

/// Which rows are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Those that are committed at one instant, and the transaction's own.
    Committed,
    /// Those of transactions in progress, too. What is committed meanwhile may be missed.
    Everything,
}

/// What a search has found besides the rows that it has taken in.
#[derive(Default)]
pub struct Found {
    /// Transactions in progress that have near rows, ascending.
    pub writers: Vec<pg_sys::TransactionId>,
    /// Groups by whose ids rows may have been connected that are not near: somebody has looked at
    /// a row between its change and now.
    pub doubtful: Vec<Key>,
    /// What of several rows one was looked at: of the others it is only known that they are near
    /// what this one is near.
    pub relied: HashSet<Point>,
    /// Where nothing more was looked at than a live row, which is known by its key.
    cut: HashMap<Point, Key>,
}

/// A row near one of those that are searched for.
#[derive(Clone, Copy)]
struct Near {
    key: Key,
    /// What its column of ids holds.
    stored: Option<Key>,
    distance: u32,
    at: At,
    /// The command that wrote it, if it is the transaction's own.
    command: pg_sys::CommandId,
}

/// Connects the fresh rows at these points with their neighbours. `looked`: the command of the look
/// before.
pub fn search(
    components: &mut Components<'_>,
    points: &[Point],
    view: View,
    previous_look: Option<pg_sys::CommandId>,
) -> Found {
    let setup = components.setup;
    let mut found = Found::default();
    let mut everything = snapshot::everything();
    let snapshot = match view {
        View::Committed => snapshot::snapshot(),
        View::Everything => &raw mut everything,
    };
    let mut similar = setup.verification.as_ref().map(Similar::new);
    // Else of rows with the same one that is live says all.
    let wants_all = similar.is_some() || under_way::others_are_under_way(setup);
    let mut near = Vec::new();
    // SAFETY: the family's relations are locked. The snapshot is registered until it is released;
    // one of everything needs no registration.
    unsafe {
        let mut neighbours = Neighbours::open(setup, snapshot);
        for &point in points {
            find(components, &mut neighbours, point, wants_all, &mut near, &mut found);
            match &mut similar {
                Some(similar) => {
                    similar.connect(components, &mut neighbours, &near, previous_look, &mut found);
                }
                None => unite(components, &near, previous_look, &mut found),
            }
            near.clear();
        }
        neighbours.close();
        if view == View::Committed {
            snapshot::release(snapshot);
        }
    }
    find_unseen(components, previous_look, &mut found);
    found.writers.sort_unstable();
    found.writers.dedup();
    found
}

/// So many near rows are looked at before it is asked whether one of them has what is searched for.
const FEW: usize = 16;

/// Notes what is near a point, as far as it is wanted.
///
/// # Safety
/// As [`Neighbours::near`].
unsafe fn find(
    components: &mut Components<'_>,
    neighbours: &mut Neighbours<'_>,
    point: Point,
    wants_all: bool,
    near: &mut Vec<Near>,
    found: &mut Found,
) {
    let asks = neighbours.finds_equal_sooner() && !wants_all;
    // SAFETY: as this function's.
    unsafe {
        let mut is_cut_short = false;
        neighbours.near(components, point, &mut |components, row| {
            is_cut_short = asks && near.len() == FEW;
            if is_cut_short {
                Next::None
            } else {
                take(components, row, point, wants_all, near, found)
            }
        });
        if !is_cut_short {
            return;
        }
        near.clear();
        neighbours.equal(components, point, &mut |components, row| {
            take(components, row, point, wants_all, near, found)
        });
        if !found.cut.contains_key(&point) {
            near.clear();
            neighbours.near(components, point, &mut |components, row| {
                take(components, row, point, wants_all, near, found)
            });
        }
    }
}

/// Notes a row that is near, and says which others are wanted.
///
/// # Safety
/// The neighbour is of the components' table.
unsafe fn take(
    components: &mut Components<'_>,
    row: &Neighbour,
    point: Point,
    wants_all: bool,
    near: &mut Vec<Near>,
    found: &mut Found,
) -> Next {
    if let Some(writer) = row.writer {
        found.writers.push(writer);
        return Next::Any;
    }
    let Neighbour { distance, at, command, .. } = *row;
    // SAFETY: as this function's.
    let (key, stored) = unsafe { (components.key(row.key), components.id(row.cluster)) };
    let is_text = components.setup.by.is_text();
    near.push(Near { key, stored, distance, at, command });
    let Row { kind, is_own, .. } = *components.row(key);
    let is_live = matches!(kind, Kind::Absent | Kind::Live);
    if !is_own && (distance == 0 || !is_text) {
        // SAFETY: as this function's.
        let what = unsafe { components.setup.by.what(row.value) };
        found.relied.insert(Point { what, ..point });
    }
    match is_live && !wants_all {
        true if distance == 0 => {
            found.cut.insert(point, key);
            Next::None
        }
        true => Next::Other,
        false => Next::Any,
    }
}

/// Connects the rows near a point. Without a row that is there, there is nothing to connect
/// through.
fn unite(
    components: &mut Components<'_>,
    near: &[Near],
    previous_look: Option<pg_sys::CommandId>,
    found: &mut Found,
) {
    if let Some(first) = near.iter().find(|near| near.distance == 0) {
        for near in near {
            take_in(components, near, previous_look, found);
            components.link_rows(first.key, near.key);
        }
    }
}

/// Takes in a row that a search has found, with the group that it stands for.
fn take_in(
    components: &mut Components<'_>,
    &Near { key, stored, distance, at, command }: &Near,
    previous_look: Option<pg_sys::CommandId>,
    found: &mut Found,
) {
    let row = components.row_mut(key);
    match row.kind {
        Kind::Fresh | Kind::Met => {
            row.kind = if distance == 0 { Kind::Found } else { Kind::Met };
            note(row, stored, at, command, previous_look, found);
        }
        Kind::Absent => {
            *row = Row::live(stored, at);
            components.link_group(key, stored);
        }
        Kind::Found | Kind::Live => {}
    }
}

/// Notes what a fresh row is by now.
fn note(
    row: &mut Row,
    stored: Option<Key>,
    at: At,
    command: pg_sys::CommandId,
    previous_look: Option<pg_sys::CommandId>,
    found: &mut Found,
) {
    // The id that a changed row has is that of the group where it was. Who has seen it since has
    // taken it for one of where the row is.
    if let Some(known) = row.stored {
        if !row.is_member && previous_look.is_some_and(|previous_look| previous_look > command) {
            found.doubtful.push(known);
        }
        // Another call for the same statement, or one inside it, has told the row another id.
        found.doubtful.extend(stored.filter(|&stored| stored != known));
    }
    (row.stored, row.at) = (stored, Some(at));
}

/// Reads the fresh rows that were not met because others have what they have.
fn find_unseen(
    components: &mut Components<'_>,
    previous_look: Option<pg_sys::CommandId>,
    found: &mut Found,
) {
    let unseen = components.unseen_at(&found.cut);
    if !unseen.is_empty() {
        let keys: Vec<_> = unseen.iter().map(|&key| components.keys.value(key)).collect();
        let setup = components.setup;
        table::rows_with(setup, &keys, &mut |values| {
            // SAFETY: the values are of the table's columns.
            unsafe {
                let (Some(key), Some(at), Some(point)) =
                    (values.key, values.at, components.point(&values))
                else {
                    return;
                };
                let Some(&other) = found.cut.get(&point) else { return };
                let (key, stored) = (components.key(key), components.id(values.cluster));
                let mut row = *components.row(key);
                row.kind = Kind::Found;
                note(&mut row, stored, at, values.command, previous_look, found);
                *components.row_mut(key) = row;
                components.link_rows(key, other);
            }
        });
    }
    // A statement inside this one has changed these rows since, and told them their group: what
    // they are near now was not searched for.
    for index in 0..components.rows.len() {
        let key = Key::new(index);
        let Row { kind, stored, is_own, is_member, .. } = *components.row(key);
        if kind == Kind::Fresh && is_own && !is_member && previous_look.is_some() {
            found.doubtful.extend(stored);
        }
        if kind == Kind::Met {
            components.row_mut(key).kind = Kind::Live;
            components.link_group(key, stored);
        }
    }
}

struct Similar<'a> {
    how: &'a Verification,
    /// Made when the first text is read.
    sets: Option<RowSets>,
    /// Digests of sets that are not similar to the one that is compared.
    refused: HashSet<u128>,
    /// Fresh rows that have been compared with all that is near them.
    done: HashSet<Key>,
}

impl<'a> Similar<'a> {
    fn new(how: &'a Verification) -> Self {
        let (refused, done) = Default::default();
        Similar { how, sets: None, refused, done }
    }

    /// Connects the fresh rows of a fingerprint with the rows near it whose texts are similar.
    fn connect(
        &mut self,
        components: &mut Components<'_>,
        neighbours: &mut Neighbours<'_>,
        near: &[Near],
        previous_look: Option<pg_sys::CommandId>,
        found: &mut Found,
    ) {
        // A row of each set.
        let mut distinct = HashMap::new();
        for own in near.iter().filter(|near| near.distance == 0) {
            if matches!(components.row(own.key).kind, Kind::Absent | Kind::Live) {
                continue;
            }
            take_in(components, own, previous_look, found);
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
                    self.compare(
                        components,
                        neighbours,
                        (own, &set),
                        near,
                        &mut |components, row| {
                            take_in(components, row, previous_look, found);
                        },
                    );
                    self.done.insert(own.key);
                }
            }
        }
    }

    /// Connects a row with those whose texts are similar to its own.
    fn compare(
        &mut self,
        components: &mut Components<'_>,
        neighbours: &mut Neighbours<'_>,
        (own, set): (&Near, &Rc<TextSet>),
        near: &[Near],
        take_in: &mut dyn FnMut(&mut Components<'_>, &Near),
    ) {
        self.refused.clear();
        for other in near {
            pgrx::check_for_interrupts!();
            // A row that is done would have been connected, if it were similar.
            if self.done.contains(&other.key) || is_connected(components, own.key, other) {
                continue;
            }
            let (digest, theirs) = self.set(neighbours, other);
            if self.refused.contains(&digest) {
                continue;
            }
            if self.sets().verified(set, &theirs).is_some() {
                take_in(components, other);
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
        // SAFETY: the column has the representation of text, and the text lives until the next one
        // is read.
        unsafe { self.sets().set(row.key.index() as u64, || neighbours.text(row.at)) }
    }
}

/// Whether a row that is taken in is connected with another one, by the group of the other if that
/// stands for its row.
fn is_connected(components: &mut Components<'_>, row: Key, other: &Near) -> bool {
    let root = components.root(Node::row(row));
    if root == components.root(Node::row(other.key)) {
        return true;
    }
    let is_live = components.row(other.key).kind == Kind::Absent;
    let group = other.stored.filter(|_| is_live);
    group.is_some_and(|group| root == components.root(Node::group(group)))
}
