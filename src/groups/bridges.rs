//! Which groups may have come apart because rows have left them.
//!
//! When a row leaves a group, each part of the remaining group has a row that was near it. So the
//! group holds together if these rows are still connected with each other. Most are near each
//! other, or near a common third row. The size of the group does not matter.
//!
//! Rows that left and were near each other count as one gap: all that was near any of them has to
//! be connected. Rows that the statement has changed connect nothing here: their groups are found
//! anyway.

use std::collections::{HashMap, HashSet, VecDeque};

use super::components::{Components, Kind, Point};
use super::keys::Key;
use super::neighbours::{Neighbour, Neighbours};
use super::setup::Settle;
use super::under_way::{self, Others};
use crate::family::scan::Next;
use crate::family::snapshot::Snapshot;

/// The most points left by rows of one group that are compared with each other. Beyond that the
/// whole group is found anew.
const MAX_POINTS: usize = 1024;
/// The most pairs of fingerprints that are compared.
const MAX_COMPARED: usize = 1 << 25;
/// The most pairs of texts, whose comparison takes longer.
const MAX_TEXTS_COMPARED: usize = 1 << 17;
/// The most searches to find out whether one group holds together.
const MAX_SEARCHES: usize = 512;

/// A point that a row has left, and the rows near it.
struct Gap {
    point: Point,
    /// The points near it, and the ids of the rows at these.
    near: HashSet<Point>,
    ids: HashSet<Key>,
    /// How many near rows were seen. Two are enough.
    rows: usize,
    /// Whether some row is at the point itself.
    is_held: bool,
}

/// Which of the rows near a point have to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wants {
    /// All, for their ids.
    Ids,
    /// At least one of each point, until a bridge is found.
    Bridge,
    /// At least one of each point.
    Neighbours,
}

/// The groups near points that rows have left.
#[derive(Default)]
pub struct Suspects {
    /// Those that may have come apart.
    pub apart: HashSet<Key>,
    /// All of them. The result depends on each, so their ids are locked.
    pub all: HashSet<Key>,
}

/// Finds the groups that may have come apart. With [`Settle::Later`], that is all groups near
/// points that rows have left.
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
    let snapshot = Snapshot::latest();
    let mut neighbours = Neighbours::open(setup, &snapshot);
    // By the id of the group.
    let mut unbridged: HashMap<Key, Vec<Gap>> = HashMap::new();
    for (id, point) in gone {
        let gap = near_gap(components, &mut neighbours, point, wants);
        suspects.all.extend(&gap.ids);
        if trusts_ids && gap.is_bridged() {
            continue;
        }
        // If the only row left near the point is at the point itself, it is in no group any
        // more.
        if !trusts_ids || gap.is_held || gap.ids.len() > 1 {
            suspects.apart.extend(&gap.ids);
        } else {
            unbridged.entry(id).or_default().push(gap);
        }
    }
    // Near a gap there may be only rows that have left too, so gaps near each other are joined.
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
    snapshot.release();
    suspects
}

/// Reads the rows near a point.
fn near_gap(
    components: &mut Components<'_>,
    neighbours: &mut Neighbours<'_>,
    point: Point,
    wants: Wants,
) -> Gap {
    let (near, ids) = Default::default();
    let mut gap = Gap { point, near, ids, rows: 0, is_held: false };
    // A search for the point itself finds a bridge faster.
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
    gap
}

impl Gap {
    /// Whether some row is near all rows near the point, and not the only one left.
    fn is_bridged(&self) -> bool {
        self.is_held && self.rows > 1
    }

    /// Adds a near row, and returns which rows the scan should return next.
    fn take(&mut self, components: &mut Components<'_>, row: &Neighbour<'_>, wants: Wants) -> Next {
        let (key, id, what) = {
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
            // The first row may be the only one left.
            Wants::Bridge | Wants::Neighbours if is_known || self.near.len() > 1 => Next::Other,
            Wants::Bridge | Wants::Neighbours => Next::Any,
        }
    }
}

/// Joins the gaps of a group whose points are near each other.
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
            // One row may be near both points.
            gap.rows = gap.rows.max(other.rows).max(gap.near.len());
        }
        joined.push((points, gap));
    }
    joined.into_iter().map(|(_, gap)| gap).collect()
}

/// The parts of a group near a gap. Two parts become one when a search connects them.
#[derive(Default)]
struct Parts {
    /// The part of each known point, and the part that each part has been merged into, or itself.
    part_of: HashMap<Point, usize>,
    met: Vec<usize>,
    /// The points of each part that have not been searched yet.
    ahead: Vec<VecDeque<Point>>,
}

impl Parts {
    /// The parts of these points, by which points are near each other. `None` if that takes more
    /// than `most` comparisons.
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

/// Whether the rows near a gap are connected without it, and at least two.
fn holds_together(
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
    // Texts of near points are not kept, so their neighbours cannot be searched for.
    if is_text {
        return parts.are_one() && gap.rows > 1;
    }
    // A single row may be all that is left.
    let mut rows = gap.rows;
    let mut searches = 0;
    while rows < 2 || !parts.are_one() {
        pgrx::check_for_interrupts!();
        // The parts take turns, one point each, so that the smallest part is exhausted first.
        for part in 0..parts.met.len() {
            if parts.met[part] != part {
                continue;
            }
            searches += 1;
            let Some(point) = parts.ahead[part].pop_front().filter(|_| searches <= MAX_SEARCHES)
            else {
                return false;
            };
            let next = near_gap(components, neighbours, point, Wants::Neighbours);
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
