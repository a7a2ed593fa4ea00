//! The cover in order of fingerprints: which rows are kept, and which kept row represents each
//! other.
//!
//! Rows are taken in their order. A row near no row kept before it is kept. Any other is
//! represented by the nearest of those. The order is halved recursively: the first half is decided,
//! then its kept rows are joined with all rows of the second half, then the second half is decided.
//! Kept rows are far from each other. So a join finds few pairs even where thousands of rows are
//! near each other, and [`Asked`] is never asked about two rows that are not kept.
//!
//! Most rows of a table are near no other row, and are kept in any order. A first join of all rows
//! finds those that have a neighbour, and only these are halved. Where it finds few pairs, these
//! suffice without halving. Where it finds many, it is given up and all rows are halved, because
//! most have a neighbour there.
//!
//! Further rows may be known to be near ([`Beside`]). They are offered when a row is decided,
//! because all rows before it are decided then.

use std::ops::Range;

use super::chunk::Chunk;
use super::plan::{Part, plan_join};
use super::steps::{Join, Rows, Source, Start, Step};
use super::walk::GroupPair;
use crate::Fingerprint;
use crate::base::key::Key;
use crate::base::memory::NoMemory;
use crate::base::simd::popcount;
use crate::base::sort::sort_checked;
use crate::search::{BlockLayout, TreeKey};

/// The row that represents another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Its number.
    pub row: u32,
    pub distance: u32,
    /// 0 where texts are not compared.
    pub similarity: f64,
}

impl Nearest {
    /// The more similar row is better, then the nearer one, then the earlier one.
    fn is_better_than(&self, other: &Self) -> bool {
        (other.similarity, self.distance, self.row)
            .partial_cmp(&(self.similarity, other.distance, other.row))
            .is_some_and(|order| order.is_lt())
    }

    /// Replaces `nearest` if it is better.
    fn replace(self, nearest: &mut Option<Nearest>) {
        if nearest.is_none_or(|nearest| self.is_better_than(&nearest)) {
            *nearest = Some(self);
        }
    }
}

/// The part of the work that the caller does.
pub trait Asked {
    /// The similarity of the texts of two rows, if they are near. `Some(0)` where fingerprints
    /// alone decide.
    fn similarity(&mut self, row: u32, other: u32) -> Option<f64>;

    /// Announces the pairs that [`Asked::similarity`] gets next.
    fn expect(&mut self, _pairs: &[(u32, u32, u32)]) {}

    /// Whether texts decide, and not fingerprints alone.
    fn is_verified(&self) -> bool;

    /// Called between pieces of work, with the share that is done, 0 to 1. It may unwind.
    fn check(&mut self, share: f64);

    /// Called when memory is refused. It must unwind.
    fn refused(&mut self, refused: NoMemory) -> !;
}

/// The bytes of memory that a row takes. Copies of rows that have a neighbour, at most half of all,
/// fit in what the first join has released.
pub fn bytes_per_row_of_cover<K: TreeKey>() -> usize {
    let in_join = super::bytes_per_row::<K>() + size_of::<(K, u64)>();
    let remembered = REMEMBERED * size_of::<Pair>();
    size_of::<K>() + size_of::<Option<Nearest>>() + in_join + remembered
}

/// Up to so many rows are compared one by one.
const FEW: usize = if cfg!(test) { 8 } else { 1024 };
/// The first join is given up at more pairs of groups than this for each row. A pair costs it some
/// ten nanoseconds, and halving all rows costs some microseconds a row.
const PAIRS: usize = 32;
/// The most pairs for each row that the first join remembers: 24 bytes.
const REMEMBERED: usize = 2;
/// The most pairs that are announced together.
const TOGETHER: usize = 1 << 12;

/// The cover of rows with these keys, which are not rotated, in their order: for each row the
/// nearest of the rows kept before it, or `None` if it is kept. Rows that are near by `beside`
/// count as those within the distance do.
pub fn cover<K: TreeKey>(
    keys: &[K],
    layout: BlockLayout,
    distance: u32,
    beside: &Beside,
    asked: &mut impl Asked,
) -> Vec<Option<Nearest>> {
    let rows = match first_join(keys, layout, distance, asked) {
        First::Pairs(pairs) => {
            let covering = Covering::new(keys, layout, distance, beside, asked);
            return covering.cover_by(pairs);
        }
        First::Rows(rows) if beside.is_empty() => rows,
        _ => return cover_all(keys, layout, distance, beside, asked),
    };
    let few: Vec<K> = rows.iter().map(|&row| keys[row as usize]).collect();
    let mut renumbered = Renumbered { asked, rows: &rows, pairs: Vec::new() };
    let found = cover_all(&few, layout, distance, &Beside::default(), &mut renumbered);
    let mut nearest = vec![None; keys.len()];
    for (&row, found) in rows.iter().zip(found) {
        nearest[row as usize] =
            found.map(|found| Nearest { row: rows[found.row as usize], ..found });
    }
    nearest
}

fn cover_all<K: TreeKey>(
    keys: &[K],
    layout: BlockLayout,
    distance: u32,
    beside: &Beside,
    asked: &mut impl Asked,
) -> Vec<Option<Nearest>> {
    let mut covering = Covering::new(keys, layout, distance, beside, asked);
    covering.cover(0..keys.len());
    covering.nearest
}

/// Rows that are near regardless of their keys: classes of rows with equal texts, and pairs of
/// classes that are near each other. A class may be near itself.
#[derive(Default)]
pub struct Beside {
    /// The class of each row, or [`Beside::NONE`].
    classes: Vec<u32>,
    /// Where the neighbours of each class begin in `neighbours`, and where the last ones end.
    starts: Vec<u32>,
    neighbours: Vec<(u32, f64)>,
}

impl Beside {
    /// No class.
    pub const NONE: u32 = u32::MAX;
    /// The bytes of memory for a row, and for a pair of classes together with their entries.
    pub const BYTES: [usize; 2] = [8, 80];

    /// `classes` are the classes of the rows, numbered from 0. `pairs` are the pairs of near
    /// classes, each once, with their similarities.
    pub fn new(classes: Vec<u32>, mut pairs: Vec<(u32, u32, f64)>) -> Self {
        let both = pairs.iter().filter(|(a, b, _)| a != b).map(|&(a, b, near)| (b, a, near));
        let both: Vec<_> = both.collect();
        pairs.extend(both);
        pairs.sort_unstable_by_key(|&(a, b, _)| (a, b));
        let count = pairs.last().map_or(0, |pair| pair.0 as usize + 1);
        let mut starts = vec![0; count + 1];
        pairs.iter().for_each(|pair| starts[pair.0 as usize + 1] += 1);
        for class in 0..count {
            starts[class + 1] += starts[class];
        }
        let neighbours = pairs.into_iter().map(|(_, b, near)| (b, near)).collect();
        Self { classes, starts, neighbours }
    }

    fn is_empty(&self) -> bool {
        self.neighbours.is_empty()
    }

    fn class(&self, row: usize) -> Option<usize> {
        let class = self.classes.get(row).copied().filter(|&class| class != Self::NONE)?;
        Some(class as usize)
    }

    fn neighbours(&self, class: usize) -> &[(u32, f64)] {
        match self.starts.get(class..class + 2) {
            Some(&[start, end]) => &self.neighbours[start as usize..end as usize],
            _ => &[],
        }
    }
}

/// The kept rows of each class, as linked lists.
struct Kept {
    /// The last kept row of each class, plus one, or 0.
    last: Vec<u32>,
    /// The kept row before each kept row in its class, plus one, or 0.
    before: Vec<u32>,
}

impl Kept {
    fn new(beside: &Beside, rows: usize) -> Self {
        let rows = if beside.is_empty() { 0 } else { rows };
        Self { last: vec![0; beside.starts.len().saturating_sub(1)], before: vec![0; rows] }
    }

    fn push(&mut self, class: usize, row: usize) {
        if let Some(last) = self.last.get_mut(class) {
            self.before[row] = std::mem::replace(last, row as u32 + 1);
        }
    }

    fn rows(&self, class: usize) -> impl Iterator<Item = usize> {
        let last = self.last.get(class).copied().unwrap_or(0);
        let before = |&row: &u32| Some(self.before[row as usize - 1]).filter(|&row| row > 0);
        std::iter::successors(Some(last).filter(|&row| row > 0), before).map(|row| row as usize - 1)
    }
}

/// Two rows, the later one first, and their distance.
type Pair = (u32, u32, u32);

/// The result of the first join, of all rows with each other.
enum First {
    /// All pairs.
    Pairs(Vec<Pair>),
    /// The rows within the distance of another, in their order.
    Rows(Vec<u32>),
    /// More than half of the rows have a neighbour, or finding them would take long, or rows are
    /// few.
    GivenUp,
}

/// Adds the pairs of rows of two groups. False, and nothing is added, if there would be more than
/// `most`.
fn remember<K: TreeKey>(
    pairs: &mut Vec<Pair>,
    join: &mut Join<K>,
    GroupPair { left, right, distance }: GroupPair,
    most: usize,
) -> bool {
    let is_one = left == right && distance == 0 && !join.is_across();
    let of_left = join.left().group(left).to_vec();
    let of_right = if is_one { Vec::new() } else { join.right().group(right).to_vec() };
    let count = of_left.len();
    let more = if is_one { count * (count - 1) / 2 } else { count * of_right.len() };
    if pairs.len() + more > most {
        return false;
    }
    if pairs.capacity() < pairs.len() + more {
        pairs.reserve_exact(more.max(most / 8));
    }
    for (i, &row) in of_left.iter().enumerate() {
        let others = if is_one { &of_left[..i] } else { &of_right[..] };
        let pair = |&other: &u64| (row.max(other) as u32, row.min(other) as u32, distance);
        pairs.extend(others.iter().map(pair));
    }
    true
}

/// Makes `other` the nearest of `row` if it is near and better than the nearest so far.
fn take_better(
    nearest: &mut Option<Nearest>,
    (row, other, distance): Pair,
    asked: &mut impl Asked,
) {
    let Some(similarity) = asked.similarity(row, other) else { return };
    Nearest { row: other, distance, similarity }.replace(nearest);
}

/// Joins all rows with each other.
fn first_join<K: TreeKey>(
    keys: &[K],
    layout: BlockLayout,
    distance: u32,
    asked: &mut impl Asked,
) -> First {
    let count = keys.len();
    if count <= 2 * FEW {
        return First::GivenUp;
    }
    let plan = plan_join::<K::Fingerprint>(layout, distance, &parts(keys, &[], 0..count), 1);
    let mut numbers: Vec<u32> = (0..count as u32).collect();
    let mut join = Join::<K>::new(plan, count + 1);
    let (mut is_near, mut near, mut pairs) = (vec![false; count], 0, 0);
    let mut remembered = Some(Vec::new());
    let mut found = Vec::new();
    loop {
        let (numbers, asked) = (&mut numbers, &mut *asked);
        let mut source = Sorted { keys, layout, numbers, split: None, asked, share: 0.0 };
        let step = join.step(&mut source, &mut found);
        pairs += found.len();
        let mut note = |rows: &[u64]| {
            for &row in rows {
                near += usize::from(!std::mem::replace(&mut is_near[row as usize], true));
            }
        };
        for pair in found.drain(..) {
            note(join.left().group(pair.left));
            note(join.right().group(pair.right));
            if let Some(pairs) = &mut remembered
                && !remember(pairs, &mut join, pair, REMEMBERED * count)
            {
                remembered = None;
            }
        }
        if near > count / 2 && remembered.is_none() || pairs > PAIRS * count {
            return First::GivenUp;
        }
        if step == Step::Done {
            let rows = (0..count as u32).filter(|&row| is_near[row as usize]);
            return remembered.map_or_else(|| First::Rows(rows.collect()), First::Pairs);
        }
    }
}

/// Translates places among some of the rows into row numbers for [`Asked`].
struct Renumbered<'a, A> {
    asked: &'a mut A,
    rows: &'a [u32],
    pairs: Vec<(u32, u32, u32)>,
}

impl<A: Asked> Asked for Renumbered<'_, A> {
    fn similarity(&mut self, row: u32, other: u32) -> Option<f64> {
        self.asked.similarity(self.rows[row as usize], self.rows[other as usize])
    }

    fn expect(&mut self, pairs: &[(u32, u32, u32)]) {
        let number = |row: u32| self.rows[row as usize];
        self.pairs.clear();
        self.pairs.extend(pairs.iter().map(|&(a, b, distance)| (number(a), number(b), distance)));
        self.asked.expect(&self.pairs);
    }

    fn is_verified(&self) -> bool {
        self.asked.is_verified()
    }

    fn check(&mut self, share: f64) {
        self.asked.check(share);
    }

    fn refused(&mut self, refused: NoMemory) -> ! {
        self.asked.refused(refused)
    }
}

/// For two tables: for each row from `split` on, the nearest of the rows below it. `beside` is as
/// for [`cover`].
pub fn nearest_of<K: TreeKey>(
    keys: &[K],
    split: usize,
    layout: BlockLayout,
    distance: u32,
    beside: &Beside,
    asked: &mut impl Asked,
) -> Vec<Option<Nearest>> {
    let mut covering = Covering::new(keys, layout, distance, beside, asked);
    covering.join((0..split as u32).collect(), split..keys.len());
    (0..split).for_each(|row| covering.keep(row));
    (split..keys.len()).for_each(|row| covering.offer_beside(row));
    covering.nearest
}

struct Covering<'a, K: TreeKey, A: Asked> {
    keys: &'a [K],
    layout: BlockLayout,
    distance: u32,
    beside: &'a Beside,
    kept: Kept,
    asked: &'a mut A,
    nearest: Vec<Option<Nearest>>,
    /// The share of the work that is done, 0 to 1.
    done: f64,
}

impl<'a, K: TreeKey, A: Asked> Covering<'a, K, A> {
    fn new(
        keys: &'a [K],
        layout: BlockLayout,
        distance: u32,
        beside: &'a Beside,
        asked: &'a mut A,
    ) -> Self {
        let (nearest, kept) = (vec![None; keys.len()], Kept::new(beside, keys.len()));
        Self { keys, layout, distance, beside, kept, asked, nearest, done: 0.0 }
    }

    /// Records a kept row in its class. A row with the same key as the last one there is left out,
    /// because that one is always better.
    fn keep(&mut self, row: usize) {
        let Some(class) = self.beside.class(row) else { return };
        let last = self.kept.rows(class).next();
        if last.is_none_or(|last| self.keys[last] != self.keys[row]) {
            self.kept.push(class, row);
        }
    }

    /// Offers a row the kept rows that are near it by `beside`.
    fn offer_beside(&mut self, row: usize) {
        let Some(class) = self.beside.class(row) else { return };
        for &(other, similarity) in self.beside.neighbours(class) {
            for kept in self.kept.rows(other as usize) {
                let [a, b] = [row, kept].map(|row| self.keys[row]);
                if a.scope() == b.scope() {
                    let distance = a.fingerprint().hamming(b.fingerprint());
                    let offered = Nearest { row: kept as u32, distance, similarity };
                    offered.replace(&mut self.nearest[row]);
                }
            }
            self.asked.check(self.done);
        }
    }

    /// The cover where all pairs within the distance are known.
    fn cover_by(mut self, mut pairs: Vec<Pair>) -> Vec<Option<Nearest>> {
        sort_checked(&mut pairs, &mut || self.asked.check(0.0));
        let (count, mut at) = (self.keys.len(), 0);
        for row in 0..count {
            // All rows before this one are decided, so only its pairs with kept rows count.
            while let Some(&(_, other, distance)) = pairs.get(at).filter(|x| x.0 as usize == row) {
                if at.is_multiple_of(TOGETHER) {
                    self.done = row as f64 / count as f64;
                    self.asked.check(self.done);
                    self.asked.expect(&pairs[at..pairs.len().min(at + TOGETHER)]);
                }
                if self.nearest[other as usize].is_none() {
                    let pair = (row as u32, other, distance);
                    take_better(&mut self.nearest[row], pair, self.asked);
                }
                at += 1;
            }
            self.decide(row);
        }
        self.nearest
    }

    /// Decides a row to which all rows near by their keys were offered.
    fn decide(&mut self, row: usize) {
        if self.beside.is_empty() {
            return;
        }
        self.offer_beside(row);
        if self.nearest[row].is_none() {
            self.keep(row);
        }
    }

    fn cover(&mut self, range: Range<usize>) {
        if range.len() <= FEW {
            let share = range.len() as f64 / self.keys.len().max(1) as f64;
            self.compare(range);
            self.done += share;
            return self.asked.check(self.done);
        }
        let middle = range.start + range.len() / 2;
        self.cover(range.start..middle);
        let kept = (range.start..middle).filter(|&row| self.nearest[row].is_none());
        self.join(kept.map(|row| row as u32).collect(), middle..range.end);
        self.cover(middle..range.end);
    }

    /// Compares each row of the range with the kept rows before it in the range.
    fn compare(&mut self, range: Range<usize>) {
        let (mut kept, mut packed) = (Vec::new(), Vec::new());
        let mut hits = Vec::new();
        for row in range {
            let key = self.keys[row];
            hits.clear();
            popcount::within(&packed, key.fingerprint(), self.distance, &mut hits);
            for &hit in &hits {
                let other: usize = kept[hit as usize];
                let of_other = self.keys[other];
                if of_other.scope() == key.scope() {
                    let distance = key.fingerprint().hamming(of_other.fingerprint());
                    let pair = (row as u32, other as u32, distance);
                    take_better(&mut self.nearest[row], pair, self.asked);
                }
            }
            self.decide(row);
            if self.nearest[row].is_none() {
                kept.push(row);
                let from = packed.len();
                packed.resize(from + K::Fingerprint::BYTES, 0);
                key.fingerprint().store(&mut packed[from..]);
            }
        }
    }

    /// Offers `some` rows to those of a range, which are all later in the order.
    fn join(&mut self, some: Vec<u32>, range: Range<usize>) {
        if some.is_empty() || range.is_empty() {
            return;
        }
        let rows = some.len() + range.len();
        let parts = parts(self.keys, &some, range.clone());
        let plan = plan_join::<K::Fingerprint>(self.layout, self.distance, &parts, 1);
        let split = range.start as u64;
        let numbers = some.iter().copied().chain(range.start as u32..range.end as u32);
        let mut numbers: Vec<u32> = numbers.collect();
        let mut join = Join::<K>::new(plan, rows + 1);
        let (mut found, mut waiting) = (Vec::new(), Vec::new());
        loop {
            let mut source = Sorted {
                keys: self.keys,
                layout: self.layout,
                numbers: &mut numbers,
                split: Some(split),
                asked: &mut *self.asked,
                share: self.done,
            };
            let step = join.step(&mut source, &mut found);
            for pair in found.drain(..) {
                self.take(&mut join, pair, split, &mut waiting);
            }
            if step == Step::Done {
                break;
            }
        }
        self.take_waiting(&mut waiting);
    }

    /// Takes the pairs of two groups. The rows of a group ascend, so those of the first side come
    /// first.
    fn take(
        &mut self,
        join: &mut Join<K>,
        GroupPair { left, right, distance }: GroupPair,
        split: u64,
        waiting: &mut Vec<(u32, u32, u32)>,
    ) {
        let left_rows = join.left().group(left).to_vec();
        let right_rows = join.right().group(right).to_vec();
        let is_one = left == right && distance == 0 && !join.is_across();
        let sides = |rows: &[u64]| rows.partition_point(|&row| row < split);
        let (of_left, of_right) = (sides(&left_rows), sides(&right_rows));
        let (first, second) = (&left_rows[..of_left], &right_rows[of_right..]);
        self.take_sides(first, second, distance, waiting);
        if !is_one {
            self.take_sides(&right_rows[..of_right], &left_rows[of_left..], distance, waiting);
        }
    }

    fn take_sides(
        &mut self,
        first: &[u64],
        second: &[u64],
        distance: u32,
        waiting: &mut Vec<(u32, u32, u32)>,
    ) {
        // Without texts, the first row with a fingerprint is better than all others with it.
        let first = if self.asked.is_verified() { first } else { &first[..first.len().min(1)] };
        for &row in second {
            for &other in first {
                waiting.push((row as u32, other as u32, distance));
                if waiting.len() == TOGETHER {
                    self.take_waiting(waiting);
                }
            }
        }
    }

    fn take_waiting(&mut self, waiting: &mut Vec<(u32, u32, u32)>) {
        self.asked.expect(waiting);
        for (row, other, distance) in waiting.drain(..) {
            // No later row is better than one with an equal text and fingerprint.
            let is_best = self.nearest[row as usize].is_some_and(|nearest| {
                nearest.similarity == 1.0 && nearest.distance == 0 && nearest.row < other
            });
            if !is_best {
                take_better(&mut self.nearest[row as usize], (row, other, distance), self.asked);
            }
        }
        self.asked.check(self.done);
    }
}

/// Estimates how many rows are in scopes of which size.
fn parts<K: TreeKey>(keys: &[K], some: &[u32], range: Range<usize>) -> Vec<Part> {
    let rows = (some.len() + range.len()) as f64;
    if size_of::<K::Scope>() == 0 {
        return vec![Part::one(rows)];
    }
    const SAMPLE: usize = 1024;
    let step = range.len().div_ceil(SAMPLE).max(1);
    let mut scopes: Vec<K::Scope> =
        range.clone().step_by(step).map(|row| keys[row].scope()).collect();
    scopes.sort_unstable();
    let (count, scale) = (scopes.len() as f64, rows / scopes.len() as f64);
    let same = scopes.chunk_by(|a, b| a == b).map(|same| same.len() as f64);
    same.map(|same| Part {
        rows: rows * same / count,
        each: if same > 1.0 { same * scale } else { 1.0 },
    })
    .collect()
}

/// Rows in memory as a source for a join, sorted anew for each block table.
pub(super) struct Sorted<'a, K, A> {
    pub keys: &'a [K],
    pub layout: BlockLayout,
    pub numbers: &'a mut Vec<u32>,
    pub split: Option<u64>,
    pub asked: &'a mut A,
    pub share: f64,
}

impl<K: TreeKey, A: Asked> Source<K> for Sorted<'_, K, A> {
    fn read(&mut self, rows: Rows<K>, chunk: &mut Chunk<K>) -> Option<Start<K>> {
        let rotated = |number: u32| {
            let key = self.keys[number as usize];
            let fingerprint = self.layout.rotate(key.fingerprint(), rows.table);
            (K::new(key.scope(), fingerprint), u64::from(number))
        };
        let wanted = |row: &(K, u64)| *row >= rows.from && rows.to.is_none_or(|to| *row < to);
        let mut sorted: Vec<(K, u64)> =
            self.numbers.iter().map(|&number| rotated(number)).filter(wanted).collect();
        sorted.sort_unstable();
        self.check();
        // The limit of a chunk is above the number of rows, so this is its only push, and in order.
        let pushed = chunk.push(&mut sorted, ..);
        assert!(pushed.is_ok(), "rows are left out");
        rows.to
    }

    fn expected_rows(&self) -> usize {
        self.numbers.len()
    }

    fn split(&self) -> Option<u64> {
        self.split
    }

    fn check(&mut self) {
        self.asked.check(self.share);
    }

    fn refused(&mut self, refused: NoMemory) -> ! {
        self.asked.refused(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bits::{B256, B1024};
    use crate::base::random::SplitMix64;
    use crate::search::Scoped;

    /// Texts that are near if the sum of their numbers is not a multiple of `of`.
    struct Rule {
        of: Option<u32>,
        asked: usize,
    }

    impl Rule {
        fn similarity_of(&self, row: u32, other: u32) -> Option<f64> {
            match self.of {
                None => Some(0.0),
                Some(of) => (!(row + other).is_multiple_of(of))
                    .then(|| 1.0 / f64::from(1 + (row ^ other) % 4)),
            }
        }
    }

    impl Asked for Rule {
        fn similarity(&mut self, row: u32, other: u32) -> Option<f64> {
            self.asked += 1;
            self.similarity_of(row, other)
        }
        fn is_verified(&self) -> bool {
            self.of.is_some()
        }
        fn check(&mut self, share: f64) {
            assert!((0.0..=1.0001).contains(&share));
        }
        fn refused(&mut self, refused: NoMemory) -> ! {
            panic!("{refused:?}")
        }
    }

    fn expected<K: TreeKey>(
        keys: &[K],
        split: Option<usize>,
        distance: u32,
        (classes, near): &(Vec<u32>, Vec<(u32, u32, f64)>),
        rule: &Rule,
    ) -> Vec<Option<Nearest>> {
        let mut kept: Vec<usize> = (0..split.unwrap_or(0)).collect();
        let mut result = vec![None; kept.len()];
        for row in kept.len()..keys.len() {
            let mut best: Option<Nearest> = None;
            for &other in &kept {
                let apart = keys[row].fingerprint().hamming(keys[other].fingerprint());
                if keys[row].scope() != keys[other].scope() {
                    continue;
                }
                let classes = [classes[row], classes[other]];
                let of_classes =
                    near.iter().filter(|(a, b, _)| classes == [*a, *b] || classes == [*b, *a]);
                let by_key = rule.similarity_of(row as u32, other as u32);
                let by_key = by_key.filter(|_| apart <= distance);
                for similarity in of_classes.map(|near| near.2).chain(by_key) {
                    let better = best.is_none_or(|best| {
                        similarity > best.similarity
                            || similarity == best.similarity && apart < best.distance
                    });
                    if better {
                        best = Some(Nearest { row: other as u32, distance: apart, similarity });
                    }
                }
            }
            if best.is_none() && split.is_none() {
                kept.push(row);
            }
            result.push(best);
        }
        result
    }

    fn keys<F: Key>(random: &mut SplitMix64, count: usize, flips: u64) -> Vec<F> {
        let mut keys: Vec<F> = Vec::new();
        while keys.len() < count {
            let key = match random.below(6) {
                0 if !keys.is_empty() => keys[random.below(keys.len() as u64) as usize],
                1..=3 if !keys.is_empty() => {
                    let of = if random.below(2) == 0 { 0 } else { random.below(keys.len() as u64) };
                    (0..random.below(flips + 2)).fold(keys[of as usize], |key, _| {
                        key ^ F::bit(random.below(u64::from(F::BITS)) as u32)
                    })
                }
                _ => F::from_words(|_| random.next_u64()),
            };
            keys.push(key);
        }
        keys
    }

    fn check<K: TreeKey>(keys: &[K], layout: BlockLayout, distance: u32) -> usize {
        let mut dropped = 0;
        for (of, count) in [(None, 0), (Some(3), 0), (Some(1), 0), (Some(3), 40), (Some(5), 3)] {
            let mut rule = Rule { of, asked: 0 };
            let known = near_classes(keys.len(), count);
            let beside = Beside::new(known.0.clone(), known.1.clone());
            let found = cover(keys, layout, distance, &beside, &mut rule);
            assert_eq!(found, expected(keys, None, distance, &known, &rule), "{distance} {of:?}");
            dropped += found.iter().flatten().count();
            for split in [0, keys.len() / 3, keys.len()] {
                let found = nearest_of(keys, split, layout, distance, &beside, &mut rule);
                let expected = expected(keys, Some(split), distance, &known, &rule);
                assert_eq!(found, expected, "{split}");
            }
        }
        dropped
    }

    /// `count` classes of rows, and pairs of these that are near.
    fn near_classes(rows: usize, count: u64) -> (Vec<u32>, Vec<(u32, u32, f64)>) {
        let mut random = SplitMix64::new(count);
        let of_row = |_| match random.below(3) {
            0 if count > 0 => random.below(count) as u32,
            _ => Beside::NONE,
        };
        let classes = (0..rows).map(of_row).collect();
        let mut pairs = Vec::new();
        for a in 0..count as u32 {
            let near = 1.0 / (1 + random.below(4)) as f64;
            pairs.push((a.min(a / 3), a, near));
            if a % 2 == 0 && a > 0 {
                pairs.push((a, a, 1.0));
            }
        }
        (classes, pairs)
    }

    #[test]
    fn a_cover_of_fingerprints_is_what_its_definition_says() {
        let mut dropped = 0;
        for seed in 0..60 {
            let mut random = SplitMix64::new(seed);
            let distance = [0, 1, 3, 6, 10, 20, 40, 64][seed as usize % 8];
            let count = [0, 1, 2, 9, 30, 100, 200][seed as usize % 7];
            let narrow: Vec<u64> = keys(&mut random, count, u64::from(distance));
            dropped += check(&narrow, BlockLayout::new::<u64>(4).unwrap(), distance);
            let wide: Vec<u128> = keys(&mut random, count, u64::from(distance));
            dropped += check(&wide, BlockLayout::new::<u128>(8).unwrap(), distance);
            let quad: Vec<B256> = keys(&mut random, count, u64::from(distance));
            dropped += check(&quad, BlockLayout::new::<B256>(8).unwrap(), distance);
            let widest: Vec<B1024> = keys(&mut random, count, u64::from(distance));
            dropped += check(&widest, BlockLayout::new::<B1024>(8).unwrap(), distance);
            let scoped: Vec<Scoped<u64, 2>> =
                narrow.iter().map(|&key| Scoped::new([random.below(3) << 56, 0], key)).collect();
            dropped += check(&scoped, BlockLayout::new::<u64>(4).unwrap(), distance);
        }
        assert!(dropped > 1000, "{dropped}");
    }

    /// Few pairs, with nearly all rows in one, so pairs are remembered. In some rules texts decide.
    #[test]
    fn pairs_that_are_few_say_which_rows_stay() {
        let mut random = SplitMix64::new(5);
        for copies in [0, 3] {
            let mut twins: Vec<u64> = Vec::new();
            for i in 0..300 {
                let key = random.next_u64();
                twins.extend([key, key ^ 1 << random.below(64)]);
                twins.extend((0..copies * u64::from(i == 7)).map(|_| key));
            }
            for i in (1..twins.len()).rev() {
                twins.swap(i, random.below(i as u64 + 1) as usize);
            }
            let dropped = check(&twins, BlockLayout::new::<u64>(4).unwrap(), 3);
            assert!(dropped >= 300, "{dropped}");
        }
    }

    #[test]
    fn a_hub_is_not_all_of_its_pairs() {
        let mut random = SplitMix64::new(1);
        let near: Vec<u64> =
            (0..5000).map(|_| (0..2).fold(0, |key, _| key ^ 1u64 << random.below(64))).collect();
        let mut rule = Rule { of: None, asked: 0 };
        let found =
            cover(&near, BlockLayout::new::<u64>(4).unwrap(), 6, &Beside::default(), &mut rule);
        assert_eq!(found.iter().filter(|nearest| nearest.is_none()).count(), 1);
        assert!(rule.asked < 10_000, "{}", rule.asked);
    }
}
