//! Clusters: rows that chains of pairs connect, or a kept row and the rows that it represents.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::blocks::{Blocks, shared};
use super::compare::Law;
use super::cover::{Cover, Looking};
use super::rows::Rows;
use super::shared::{Candidate, Full, NONE};

/// A row of a cluster, by its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    pub place: u32,
    /// The similarity to the cluster's first row.
    pub similarity: f64,
}

/// The two or more rows of a cluster. The first one represents it.
pub type Cluster = Vec<Member>;

/// Clusters of two rows or more, in the order of their first rows.
pub struct Clusters {
    /// The places of a cluster's first row and of a member, ascending. The first row is a member.
    members: Vec<(u32, u32)>,
    cover: Option<Cover>,
    next: usize,
    /// The members before this index were announced.
    expected: usize,
}

/// The clusters of a cover: each kept row with the rows that it represents.
pub fn star(cover: Cover, places: u32) -> Clusters {
    let kept = |place: u32| cover.kept(place).map(|(kept, _)| (kept, place));
    let mut members: Vec<(u32, u32)> = (0..places).filter_map(kept).collect();
    let mut firsts: Vec<(u32, u32)> = members.iter().map(|&(kept, _)| (kept, kept)).collect();
    firsts.sort_unstable();
    firsts.dedup();
    members.extend(firsts);
    members.sort_unstable();
    Clusters { members, cover: Some(cover), next: 0, expected: 0 }
}

/// The clusters that chains of pairs connect.
///
/// # Errors
/// When not even the keys of two rows fit into `memory` bytes.
pub fn chain(rows: &mut impl Rows, places: u32, law: Law, memory: usize) -> Result<Clusters, Full> {
    let mut cover = Cover::new(places);
    let mut unions = Unions::new(places);
    let mut blocks = Blocks::of_all(places, None);
    while let Some(meeting) = blocks.next_meeting() {
        let found = shared(rows, places, &meeting, |_| true, law.sketch.shared, memory);
        let Ok(shared) = found else {
            blocks.divide(law.sketch.bands, memory)?;
            continue;
        };
        // The cover first: afterwards most pairs are within one cluster, and need no comparison.
        let mut looking = Looking::of_all(shared, law, memory, rows);
        looking.share = LOOKED_UP;
        looking.look_up(&mut cover, &blocks, rows);
        for row in 0..looking.shared.len() {
            let place = looking.shared.place(row);
            unions.unite(place, looking.shared.place(looking.classes.first(row)));
            if let Some((kept, _)) = cover.kept(place) {
                unions.unite(place, kept);
            }
        }
        unite_others(&mut looking, &mut unions, &cover, &blocks, rows);
    }
    Ok(unions.into_clusters(rows))
}

/// About the share of the work that is done when all rows are looked up among the kept ones.
const LOOKED_UP: f64 = 0.6;

/// The most pairs that are compared together.
const TOGETHER: usize = 1 << 12;

/// Unites clusters that are connected by pairs in which neither row represents the other. Two kept
/// rows are no such pair, because they are not near each other.
fn unite_others(
    looking: &mut Looking,
    unions: &mut Unions,
    cover: &Cover,
    blocks: &Blocks,
    rows: &mut impl Rows,
) {
    let count = looking.shared.len();
    let clusters: Vec<u32> = (0..count)
        .map(|row| match looking.classes.is_first(row) && !looking.comparer.is_gone(row) {
            true => unions.find(looking.shared.place(row)),
            false => NONE,
        })
        .collect();
    let is_kept: Vec<bool> =
        (0..count).map(|row| cover.is_kept(looking.shared.place(row))).collect();
    looking.shared.arrange(&clusters, |row| is_kept[row as usize], &mut || rows.check());
    let (mut waiting, mut found) = (Vec::with_capacity(TOGETHER), Vec::new());
    for row in 0..count {
        if row.is_multiple_of(1 << 12) {
            let done = f64::from(row) / f64::from(count);
            rows.progress(blocks.share(LOOKED_UP + (1.0 - LOOKED_UP) * done));
        }
        rows.check();
        if is_kept[row as usize] || clusters[row as usize] == NONE {
            continue;
        }
        looking.shared.of_others(row, &clusters, &mut found);
        for &Candidate { row: other, keys } in &found {
            let across =
                looking.shared.split().is_none_or(|split| (row < split) != (other < split));
            // A pair of two rows that are not kept is found from the first one.
            let is_turn = is_kept[other as usize] || row < other;
            if across
                && is_turn
                && unions.find(clusters[row as usize]) != unions.find(clusters[other as usize])
            {
                waiting.push((row, other, keys));
                if waiting.len() == TOGETHER {
                    unite_near(&mut waiting, looking, unions, rows);
                }
            }
        }
    }
    unite_near(&mut waiting, looking, unions, rows);
}

fn unite_near(
    waiting: &mut Vec<(u32, u32, u32)>,
    looking: &mut Looking,
    unions: &mut Unions,
    rows: &mut impl Rows,
) {
    let place = |looking: &Looking, row| looking.shared.place(row);
    waiting.retain(|&(a, b, _)| unions.find(place(looking, a)) != unions.find(place(looking, b)));
    let mut wanted: Vec<u32> = waiting.iter().flat_map(|&(a, b, _)| [a, b]).collect();
    looking.read(&mut wanted, rows);
    for (a, b, keys) in waiting.drain(..) {
        rows.check();
        let (of_a, of_b) = (place(looking, a), place(looking, b));
        if unions.find(of_a) != unions.find(of_b)
            && looking.near(a, &Candidate { row: b, keys }, rows).is_some()
        {
            unions.unite(of_a, of_b);
        }
    }
}

/// Disjoint sets of places. The least place of a set represents it.
struct Unions(Vec<u32>);

impl Unions {
    fn new(places: u32) -> Self {
        Self((0..places).collect())
    }

    fn find(&mut self, place: u32) -> u32 {
        let mut at = place;
        while self.0[at as usize] != at {
            // Path halving.
            let parent = self.0[at as usize];
            self.0[at as usize] = self.0[parent as usize];
            at = parent;
        }
        at
    }

    fn unite(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b) as usize] = a.min(b);
    }

    fn into_clusters(mut self, rows: &mut impl Rows) -> Clusters {
        let mut members = Vec::new();
        for place in 0..self.0.len() as u32 {
            let first = self.find(place);
            if first != place {
                members.push((first, place));
            }
            if place.is_multiple_of(1 << 16) {
                rows.check();
            }
        }
        let mut firsts: Vec<(u32, u32)> =
            members.iter().map(|&(first, _)| (first, first)).collect();
        firsts.dedup();
        firsts.sort_unstable();
        firsts.dedup();
        members.extend(firsts);
        members.sort_unstable();
        Clusters { members, cover: None, next: 0, expected: 0 }
    }
}

impl Clusters {
    /// The next cluster.
    pub fn next(&mut self, rows: &mut impl Rows) -> Option<Cluster> {
        let together = rows.together();
        if together > 1 && self.next >= self.expected && self.cover.is_none() {
            self.expected = (self.next + together).min(self.members.len());
            let some = &self.members[self.next..self.expected];
            let places: Vec<u32> = some.iter().map(|&(_, place)| place).collect();
            rows.expect(&places);
            rows.expect_sets(&places);
        }
        let rest = &self.members[self.next..];
        let &(first, _) = rest.first()?;
        let count = rest.partition_point(|&(of, _)| of == first);
        let members = &rest[..count];
        self.next += count;
        let Some(cover) = &self.cover else { return Some(compared(members, rows)) };
        let similarity = |place: u32| cover.kept(place).map_or(1.0, |(_, similarity)| similarity);
        let member = |&(_, place): &(u32, u32)| Member { place, similarity: similarity(place) };
        Some(members.iter().map(member).collect())
    }
}

/// The most sets that are requested at a time.
const WANTED: usize = 1 << 12;

/// The members of a cluster, each compared with the first. Equal texts are compared once.
fn compared(members: &[(u32, u32)], rows: &mut impl Rows) -> Cluster {
    let mut cluster: Cluster =
        members.iter().map(|&(_, place)| Member { place, similarity: 1.0 }).collect();
    let Some(&Member { place: first, .. }) = cluster.first() else { return cluster };
    let set = rows.set(first).unwrap_or_default();
    let mut known: HashMap<u128, f64> =
        rows.digest(first).map(|digest| (digest, 1.0)).into_iter().collect();
    let mut order: Vec<usize> = (1..cluster.len()).collect();
    order.sort_unstable_by_key(|&i| rows.address(cluster[i].place));
    let places: Vec<u32> = order.iter().map(|&i| cluster[i].place).collect();
    rows.expect(&places);
    let mut digests = vec![None; cluster.len()];
    let mut wanted = Vec::new();
    for (i, place) in order.into_iter().zip(places) {
        rows.check();
        digests[i] = rows.digest(place);
        if let Some(digest) = digests[i]
            && let Entry::Vacant(unknown) = known.entry(digest)
        {
            unknown.insert(0.0);
            wanted.push((i as u32, place));
        }
    }
    for some in wanted.chunks(WANTED) {
        let round = rows.want(some.to_vec());
        while let Some((i, other)) = rows.next_wanted(round) {
            rows.check();
            if let Some(digest) = digests[i as usize] {
                known.insert(digest, set.jaccard(&other.unwrap_or_default()).unwrap_or(0.0));
            }
        }
    }
    for (member, digest) in cluster.iter_mut().zip(digests) {
        member.similarity = digest.and_then(|digest| known.get(&digest)).copied().unwrap_or(1.0);
    }
    cluster
}
