//! Which groups may have come apart, now that rows have left them.
//!
//! When a row leaves a group, each part of what is left has a row that was near it. So as long as
//! these are connected with each other, the group is what it was, however large it is. Most are
//! near each other, or near the next.
//!
//! Rows that left side by side count as one: what was near any of them has to be connected. Rows
//! that the statement has changed connect nothing here, for their groups are found anew anyway.

use std::collections::{HashMap, HashSet, VecDeque};

use super::components::{Components, Kind, Point};
use super::keys::Key;
use super::neighbours::{Neighbour, Neighbours};
use super::setup::Settle;
use super::under_way::{self, Others};
use crate::family::scan::Next;
use crate::family::snapshot;

/// How many points that rows of one group have left are compared with each other. Of more, the
/// group is found anew.
const MAX_POINTS: usize = 1024;
/// How many fingerprints are compared with each other, at most, one by one.
const MAX_COMPARED: usize = 1 << 25;
/// And how many texts, which takes longer.
const MAX_TEXTS_COMPARED: usize = 1 << 17;
/// How many fingerprints' neighbours are looked at to find out whether a group holds together.
const MAX_SEARCHES: usize = 512;

/// A point that rows have left, and what is near it.
struct Gap {
    point: Point,
    /// What is near it, and the groups of these rows.
    near: HashSet<Point>,
    ids: HashSet<Key>,
    /// How many rows were seen there: two are enough.
    rows: usize,
    /// Whether some row has the same.
    is_held: bool,
}

/// How much of what is near a point is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wants {
    /// The group of every row.
    Ids,
    /// Fingerprints, until some row holds together what is near.
    Bridge,
    /// Every fingerprint.
    Neighbours,
}

/// Groups near points that rows have left.
#[derive(Default)]
pub struct Suspects {
    /// Those that may have come apart.
    pub apart: HashSet<Key>,
    /// All of them: what is said of these depends on them.
    pub all: HashSet<Key>,
}

/// Which groups may have come apart. `when`: of those that are settled later nobody asks.
pub fn may_be_apart(components: &mut Components<'_>, when: Settle) -> Suspects {
    let mut suspects = Suspects::default();
    let gone = components.gone_points();
    if gone.is_empty() {
        return suspects;
    }
    let setup = components.setup;
    let asks_all = setup.verification.is_some() || when == Settle::Later;
    let trusts_ids = !asks_all && under_way::others(setup) < Others::Changes;
    let wants = if trusts_ids { Wants::Bridge } else { Wants::Ids };
    // SAFETY: the family is locked; the snapshot is registered until it is released.
    unsafe {
        let snapshot = snapshot::snapshot();
        let mut neighbours = Neighbours::open(setup, snapshot);
        // Of each group.
        let mut unbridged: HashMap<Key, Vec<Gap>> = HashMap::new();
        for (id, point) in gone {
            let gap = near_gap(components, &mut neighbours, point, wants);
            suspects.all.extend(&gap.ids);
            if trusts_ids && gap.is_bridged() {
                continue;
            }
            // Held by one row alone: that row becomes single.
            if !trusts_ids || gap.is_held || gap.ids.len() > 1 {
                suspects.apart.extend(&gap.ids);
            } else {
                unbridged.entry(id).or_default().push(gap);
            }
        }
        // Near one there may be nothing that is left, but others that have left.
        for gaps in unbridged.into_values() {
            if gaps.len() > MAX_POINTS {
                suspects.apart.extend(gaps.iter().flat_map(|gap| &gap.ids));
                continue;
            }
            for gap in adjoining(gaps, &neighbours) {
                if gap.rows > 0 && !holds_together(components, &mut neighbours, &gap) {
                    suspects.apart.extend(&gap.ids);
                }
            }
        }
        neighbours.close();
        snapshot::release(snapshot);
    }
    suspects
}

/// Looks at what is near a point.
///
/// # Safety
/// The family is locked, and the neighbours are open.
unsafe fn near_gap(
    components: &mut Components<'_>,
    neighbours: &mut Neighbours<'_>,
    point: Point,
    wants: Wants,
) -> Gap {
    let (near, ids) = Default::default();
    let mut gap = Gap { point, near, ids, rows: 0, is_held: false };
    // SAFETY: as this function's; the neighbour is of the components' table.
    unsafe {
        // A bridge is found sooner if it is asked for.
        if wants == Wants::Bridge {
            neighbours
                .equal(components, point, &mut |components, row| gap.take(components, row, wants));
            if gap.is_bridged() {
                return gap;
            }
        }
        (gap.rows, gap.is_held) = (0, false);
        neighbours
            .near(components, point, None, &mut |components, row| gap.take(components, row, wants));
    }
    gap
}

impl Gap {
    /// Whether one row is near all that is near the point, and is not the only one that is left.
    fn is_bridged(&self) -> bool {
        self.is_held && self.rows > 1
    }

    /// Takes in a row that is near, and says which others are wanted.
    ///
    /// # Safety
    /// The neighbour is of the components' table.
    unsafe fn take(
        &mut self,
        components: &mut Components<'_>,
        row: &Neighbour,
        wants: Wants,
    ) -> Next {
        // SAFETY: as this function's.
        let (key, id, what) = unsafe {
            let what = components.setup.by.what(row.value);
            (components.key(row.key), components.id(row.cluster), what)
        };
        let (Kind::Absent, Some(id)) = (components.row(key).kind, id) else { return Next::Any };
        self.ids.insert(id);
        self.rows += 1;
        self.is_held |= row.distance == 0;
        let is_known = !self.near.insert(Point { what, ..self.point });
        match wants {
            Wants::Ids => Next::Any,
            Wants::Bridge if self.is_bridged() => Next::None,
            // The first may be the only row that is left.
            Wants::Bridge | Wants::Neighbours if is_known || self.near.len() > 1 => Next::Other,
            Wants::Bridge | Wants::Neighbours => Next::Any,
        }
    }
}

/// The gaps in a group, of which those side by side are one.
fn adjoining(gaps: Vec<Gap>, neighbours: &Neighbours<'_>) -> Vec<Gap> {
    let mut joined: Vec<(Vec<Point>, Gap)> = Vec::new();
    for mut gap in gaps {
        pgrx::check_for_interrupts!();
        let mut points = vec![gap.point];
        let is_beside = |points: &[Point]| {
            points.iter().any(|&at| neighbours.are_near(at, gap.point) != Some(false))
        };
        let (beside, others): (Vec<_>, Vec<_>) =
            joined.into_iter().partition(|(points, _)| is_beside(points));
        joined = others;
        for (more, other) in beside {
            points.extend(more);
            gap.near.extend(other.near);
            gap.ids.extend(other.ids);
            // The same row may be near both.
            gap.rows = gap.rows.max(other.rows).max(gap.near.len());
        }
        joined.push((points, gap));
    }
    joined.into_iter().map(|(_, gap)| gap).collect()
}

/// Parts of a group, which are one if they meet.
#[derive(Default)]
struct Parts {
    /// The part of each point that is known, and the part that each part has met.
    part_of: HashMap<Point, usize>,
    met: Vec<usize>,
    /// What is still to be looked at of each.
    ahead: Vec<VecDeque<Point>>,
}

impl Parts {
    /// The parts of some points, by what is near what among them. `None` if these are too many.
    fn among(neighbours: &Neighbours<'_>, mut open: Vec<Point>, most: usize) -> Option<Self> {
        let (mut parts, mut compared) = (Parts::default(), 0);
        while let Some(first) = open.pop() {
            let part = parts.met.len();
            let mut points = vec![first];
            let mut seen = 0;
            while seen < points.len() {
                pgrx::check_for_interrupts!();
                compared += open.len();
                if compared > most {
                    return None;
                }
                let at = points[seen];
                points.extend(
                    open.extract_if(.., |&mut other| neighbours.are_near(at, other) == Some(true)),
                );
                seen += 1;
            }
            parts.part_of.extend(points.iter().map(|&point| (point, part)));
            parts.met.push(part);
            parts.ahead.push(points.into());
        }
        Some(parts)
    }

    fn root(&self, mut part: usize) -> usize {
        while self.met[part] != part {
            part = self.met[part];
        }
        part
    }

    fn meet(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            let moved = std::mem::take(&mut self.ahead[b]);
            self.ahead[a].extend(moved);
            self.met[b] = a;
        }
    }

    fn are_one(&self) -> bool {
        (0..self.met.len()).filter(|&part| self.met[part] == part).count() <= 1
    }
}

/// Whether what is near a gap is connected without it, and is a group.
///
/// # Safety
/// As [`near_gap`].
unsafe fn holds_together(
    components: &mut Components<'_>,
    neighbours: &mut Neighbours<'_>,
    gap: &Gap,
) -> bool {
    let (setup, ids) = (components.setup, &gap.ids);
    if ids.len() > 1 {
        return false;
    }
    let near = gap.near.iter().copied().collect();
    let is_text = setup.by.is_text();
    let most = if is_text { MAX_TEXTS_COMPARED } else { MAX_COMPARED };
    let Some(mut parts) = Parts::among(neighbours, near, most) else { return false };
    // Their texts are not kept, to search for.
    if is_text {
        return parts.are_one() && gap.rows > 1;
    }
    // One row may be all that is left.
    let mut rows = gap.rows;
    let mut searches = 0;
    while rows < 2 || !parts.are_one() {
        pgrx::check_for_interrupts!();
        // One point of each part in its turn: the smallest is at its end first.
        for part in 0..parts.met.len() {
            if parts.met[part] != part {
                continue;
            }
            searches += 1;
            let Some(point) = parts.ahead[part].pop_front().filter(|_| searches <= MAX_SEARCHES)
            else {
                return false;
            };
            // SAFETY: as this function's.
            let next = unsafe { near_gap(components, neighbours, point, Wants::Neighbours) };
            if next.ids != *ids {
                return false;
            }
            rows = rows.max(next.rows);
            for at in next.near {
                match parts.part_of.get(&at) {
                    Some(&other) => parts.meet(part, other),
                    None => {
                        let part = parts.root(part);
                        parts.part_of.insert(at, part);
                        parts.ahead[part].push_back(at);
                    }
                }
            }
        }
    }
    true
}
