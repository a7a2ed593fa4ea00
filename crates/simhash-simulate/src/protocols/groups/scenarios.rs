//! The scenarios: which writers write which rows, and which places are near.

use super::model::Statement::{self, Delete, Insert, Update};
use super::model::{Groups, Mutant, Set};

/// All scenarios, small ones first, or only one in `SAMPLED` of the large ones.
pub fn scenarios(mutant: Option<Mutant>, is_whole: bool) -> Vec<Groups> {
    let families = [inserts(), deletions(), updates(), buckets()];
    let is_large = |groups: &Groups| groups.programs.len() + groups.places.len() > 6;
    let (large, mut small): (Vec<_>, Vec<_>) = families.into_iter().flatten().partition(is_large);
    small.extend(large.into_iter().step_by(if is_whole { 1 } else { SAMPLED }));
    small.sort_by_key(|groups| (groups.places.len(), groups.programs.len()));
    let mut all = copies();
    all.extend(small);
    all.iter_mut().for_each(|groups| groups.mutant = mutant);
    all
}

/// An everyday run explores one large scenario in this many.
const SAMPLED: usize = 20;

impl Groups {
    /// Each row is at a place of its own, and no places are near.
    fn of(old: u8, rows: u8, programs: &[&[Statement]]) -> Self {
        Self::at(&(0..rows).collect::<Vec<_>>(), old, programs)
    }

    /// Rows at these places, of which the first `old` exist from the start.
    fn at(places: &[u8], old: u8, programs: &[&[Statement]]) -> Self {
        let moves = programs.iter().flat_map(|program| program.iter());
        let moves = moves.filter_map(|statement| match *statement {
            Update(_, to) => Some(to),
            _ => None,
        });
        let count = places.iter().copied().chain(moves).max().unwrap_or_default() + 1;
        Groups {
            mutant: None,
            programs: programs.iter().map(|program| program.to_vec()).collect(),
            places: places.to_vec(),
            old: (1 << old) - 1,
            near: (0..count).map(|place| 1 << place).collect(),
            buckets: places.len() as u8,
        }
    }

    fn near(mut self, pairs: &[(u8, u8)]) -> Self {
        for &(a, b) in pairs {
            self.near[a as usize] |= 1 << b;
            self.near[b as usize] |= 1 << a;
        }
        self
    }

    /// The same scenario with every possible relation of places, or only with those that connect
    /// all.
    fn every_near(self, connected: bool) -> Vec<Self> {
        let count = self.near.len() as u8;
        let pairs: Vec<(u8, u8)> =
            (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).collect();
        let with = |bits: u32| {
            let chosen = pairs.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            self.clone().near(&chosen.map(|(_, &pair)| pair).collect::<Vec<_>>())
        };
        let all: Set = (1 << count) - 1;
        let is_whole = |groups: &Groups| groups.components(all).iter().all(|&least| least == 0);
        (0..1 << pairs.len()).map(with).filter(|groups| !connected || is_whole(groups)).collect()
    }
}

fn set(rows: &[u8]) -> Set {
    rows.iter().fold(0, |set, row| set | 1 << row)
}

fn insert(rows: &[u8]) -> Statement {
    Insert(set(rows))
}

fn delete(rows: &[u8]) -> Statement {
    Delete(set(rows))
}

/// Writers of INSERTs, one each, and with several rows or statements.
fn inserts() -> Vec<Groups> {
    let mut all = Vec::new();
    for old in 0..3 {
        let [a, b, c] = [old, old + 1, old + 2];
        let two: [&[Statement]; 2] = [&[insert(&[a])], &[insert(&[b])]];
        all.extend(Groups::of(old, old + 2, &two).every_near(false));
        let three: [&[Statement]; 3] = [&[insert(&[a])], &[insert(&[b])], &[insert(&[c])]];
        all.extend(Groups::of(old, old + 3, &three).every_near(old > 1));
        let rows: [&[Statement]; 2] = [&[insert(&[a])], &[insert(&[b, c])]];
        all.extend(Groups::of(old, old + 3, &rows).every_near(old > 1));
        let statements: [&[Statement]; 2] = [&[insert(&[a])], &[insert(&[b]), insert(&[c])]];
        all.extend(Groups::of(old, old + 3, &statements).every_near(old > 1));
    }
    all
}

/// The rows' places, how many rows exist from the start, and the writers' programs.
type Copies<'a> = (&'a [u8], u8, &'a [&'a [Statement]]);

/// Rows at one place.
fn copies() -> Vec<Groups> {
    let of: [Copies<'_>; 9] = [
        (&[0, 0, 0], 1, &[&[insert(&[1])], &[insert(&[2])]]),
        (&[0, 0, 0], 1, &[&[insert(&[1])], &[insert(&[2])], &[delete(&[0])]]),
        (&[0, 0, 0, 1], 1, &[&[insert(&[1])], &[insert(&[2, 3])], &[delete(&[0])]]),
        (&[0, 0, 0, 0], 2, &[&[insert(&[2])], &[insert(&[3])], &[delete(&[0])]]),
        (&[0, 0, 0, 0], 2, &[&[insert(&[2])], &[insert(&[3])], &[delete(&[0, 1])]]),
        (&[0, 0, 1, 1], 2, &[&[insert(&[2])], &[insert(&[3])], &[delete(&[0, 1])]]),
        (&[0, 1, 0, 1], 2, &[&[insert(&[2])], &[insert(&[3])], &[delete(&[0])]]),
        (&[0, 0, 1, 2], 4, &[&[delete(&[0])], &[delete(&[1])]]),
        (&[0, 0, 1, 1, 2, 3], 4, &[&[insert(&[4])], &[insert(&[5])]]),
    ];
    let each =
        |&(places, old, programs): &Copies<'_>| Groups::at(places, old, programs).every_near(false);
    of.iter().flat_map(each).collect()
}

fn deletions() -> Vec<Groups> {
    let mut all = Vec::new();
    for old in 1..4 {
        for gone in 0..old {
            let programs: [&[Statement]; 2] = [&[delete(&[gone])], &[insert(&[old])]];
            all.extend(Groups::of(old, old + 1, &programs).every_near(false));
        }
    }
    let of: [(u8, u8, &[&[Statement]]); 9] = [
        (3, 3, &[&[delete(&[0])], &[delete(&[1])]]),
        (3, 3, &[&[delete(&[0])], &[delete(&[0])]]),
        (4, 4, &[&[delete(&[0])], &[delete(&[3])]]),
        (3, 4, &[&[delete(&[0, 1])], &[insert(&[3])]]),
        (2, 4, &[&[delete(&[0])], &[insert(&[2])], &[insert(&[3])]]),
        (3, 4, &[&[delete(&[0])], &[delete(&[1])], &[insert(&[3])]]),
        (3, 5, &[&[delete(&[0]), insert(&[3])], &[insert(&[4])]]),
        (3, 5, &[&[insert(&[3]), delete(&[0])], &[insert(&[4])]]),
        (1, 4, &[&[insert(&[1])], &[insert(&[2]), delete(&[1])], &[insert(&[3])]]),
    ];
    let each = |&(old, rows, programs): &(u8, u8, &[&[Statement]])| {
        Groups::of(old, rows, programs).every_near(rows > 4)
    };
    all.extend(of.iter().flat_map(each));
    all
}

/// Rows that move to other places.
fn updates() -> Vec<Groups> {
    let of: [(u8, u8, &[&[Statement]]); 6] = [
        (1, 2, &[&[Update(0, 2)], &[insert(&[1])]]),
        (2, 3, &[&[Update(0, 3)], &[insert(&[2])]]),
        (2, 2, &[&[Update(0, 2)], &[Update(1, 3)]]),
        (3, 3, &[&[Update(0, 3)], &[delete(&[1])]]),
        (3, 3, &[&[Update(0, 1)], &[Update(1, 2)]]),
        (1, 3, &[&[Update(0, 1)], &[insert(&[1])], &[insert(&[2])]]),
    ];
    let each = |&(old, rows, programs): &(u8, u8, &[&[Statement]])| {
        Groups::of(old, rows, programs).every_near(false)
    };
    of.iter().flat_map(each).collect()
}

/// Ids that share locks.
fn buckets() -> Vec<Groups> {
    let of: [(u8, u8, &[&[Statement]]); 4] = [
        (2, 4, &[&[insert(&[2])], &[insert(&[3])]]),
        (3, 4, &[&[delete(&[0])], &[insert(&[3])]]),
        (2, 5, &[&[insert(&[2])], &[insert(&[3])], &[insert(&[4])]]),
        (4, 4, &[&[delete(&[0])], &[delete(&[3])]]),
    ];
    let each = |&(old, rows, programs): &(u8, u8, &[&[Statement]])| {
        let mut groups = Groups::of(old, rows, programs);
        groups.buckets = 2;
        groups.every_near(rows > 4)
    };
    of.iter().flat_map(each).collect()
}
