//! `simhash_pairs`: the pairs of rows, found one batch after the other on demand.

use std::collections::HashMap;
use std::rc::Rc;

use simhash_core::Fingerprint;
use simhash_core::search::TreeKey;
use simhash_core::whole::join::GroupPair;

use super::contained::{Near, Sharing};
use super::errors::checked_distance;
use super::errors::raise_is_of_texts;
use super::heap::Heaps;
use super::progress::Command;
use super::row;
use super::session::{Session, Side};
use super::target::{OpenedAll, Target, bits};
use super::verify::{Verification, Verifier};
use crate::guc::work_mem;
use crate::storage::{check_for_interrupts, family, with_block_key_type};

/// Two rows by the numbers of their visible versions, the lesser first, and their distance.
pub type Pair = (u64, u64, u32);

/// All pairs of rows within a distance.
pub fn pairs(target: Target, distance: i32) -> Box<dyn Iterator<Item = Pair>> {
    pairs_of(target, distance, work_mem() / 2)
}

/// All pairs within a distance whose texts are similar, with their similarity. Pairs of texts that
/// share a passage and are farther apart follow.
pub fn verified_pairs(
    target: Target,
    distance: i32,
    verification: Verification,
    sharing: Option<Sharing>,
) -> impl Iterator<Item = (Pair, f64)> {
    let memory = work_mem() / 4;
    let verifier = Verifier::new(&target, verification, memory);
    let pairs = Some(pairs_of(target.clone(), distance, memory));
    let ready = Box::new(std::iter::empty());
    Verified { target, distance, verifier, pairs, sharing, batch: FIRST_BATCH, ready }
}

/// The pairs by fingerprints. `members` is the memory, in bytes, for rows in pairs.
fn pairs_of(target: Target, distance: i32, members: usize) -> Box<dyn Iterator<Item = Pair>> {
    let opened = target.open();
    let Some(first) = opened.first() else { return Box::new(std::iter::empty()) };
    let distance = checked_distance(distance, bits(first));
    let split = target.split.map(row::first_of);
    with_block_key_type!(family(first.rel()), K => Box::new(Pairs::<K> {
        session: Session::new(target.clone(), &opened, distance, Command::Pairs, members),
        split,
        next: 0,
        product: Product::default(),
    }), raise_is_of_texts(&first.rel().name()))
}

/// How many pairs the first batch verifies: few, so that a LIMIT returns early.
const FIRST_BATCH: usize = 64;
const LARGEST_BATCH: usize = 1 << 14;

struct Verified {
    target: Target,
    distance: i32,
    verifier: Verifier,
    /// The pairs by fingerprints, until all have been verified.
    pairs: Option<Box<dyn Iterator<Item = Pair>>>,
    sharing: Option<Sharing>,
    batch: usize,
    ready: Box<dyn Iterator<Item = (Pair, f64)>>,
}

impl Verified {
    /// The verified pairs among the next ones. `None` when there are no more.
    fn next_batch(&mut self) -> Option<Box<dyn Iterator<Item = (Pair, f64)>>> {
        let Some(pairs) = &mut self.pairs else { return self.next_sharing() };
        let found: Vec<Pair> = pairs.by_ref().take(self.batch).collect();
        if found.is_empty() {
            // Frees memory that the pairs of texts that share a passage need.
            self.pairs = None;
            return self.next_sharing();
        }
        self.batch = (self.batch * 4).min(LARGEST_BATCH);
        let opened = self.target.open();
        self.verifier.read_ahead(&opened, found.iter().flat_map(|&(a, b, _)| [a, b]));
        let mut heaps = Heaps::new(&opened);
        let verified = found.into_iter().filter_map(|pair| {
            check_for_interrupts();
            Some((pair, self.verifier.verified(&mut heaps, pair.0, pair.1)?))
        });
        Some(Box::new(verified.collect::<Vec<_>>().into_iter()))
    }

    /// The pairs of rows of the next texts that share a passage.
    fn next_sharing(&mut self) -> Option<Box<dyn Iterator<Item = (Pair, f64)>>> {
        let sharing = self.sharing.as_mut()?;
        let near = sharing.next_batch(&self.target, &mut self.verifier)?;
        let opened = self.target.open();
        let first = opened.first()?;
        let distance = self.distance;
        with_block_key_type!(family(first.rel()), K => {
            let rows = Rc::new(rows_with_keys::<K>(&opened, sharing, &near));
            let pairs = near.into_iter().flat_map(move |near| {
                let rows = rows.clone();
                let count = rows.get(&near.a).map_or(0, Vec::len);
                (0..count).flat_map(move |i| each_other::<K>(rows.clone(), near, i, distance))
            });
            Some(Box::new(pairs))
        }, raise_is_of_texts(&first.rel().name()))
    }
}

/// The rows of texts, as numbers and fingerprints. A text is given by the place of its first row.
type Keyed<K> = HashMap<u32, Vec<(u64, <K as TreeKey>::Fingerprint)>>;

/// The rows with fingerprints that have the texts of some pairs.
fn rows_with_keys<K: TreeKey>(opened: &OpenedAll, sharing: &Sharing, near: &[Near]) -> Keyed<K> {
    let mut texts: Vec<u32> = near.iter().flat_map(|near| [near.a, near.b]).collect();
    texts.sort_unstable();
    texts.dedup();
    let keyed = texts.into_iter().map(|text| {
        let rows = sharing.rows_with_keys::<K>(opened, text).into_iter();
        (text, rows.map(|(row, key)| (row.visible, key)).collect())
    });
    keyed.collect()
}

/// The pairs of row `i` of text `a` with the rows of text `b` that are farther away than
/// `distance`. If both are one text, only with the rows after `i`.
fn each_other<K: TreeKey>(
    rows: Rc<Keyed<K>>,
    Near { a, b, similarity }: Near,
    i: usize,
    distance: i32,
) -> impl Iterator<Item = (Pair, f64)> {
    let from = if a == b { i + 1 } else { 0 };
    let count = rows.get(&b).map_or(0, Vec::len);
    (from..count).filter_map(move |j| {
        check_for_interrupts();
        let (&(x, of_x), &(y, of_y)) = (rows.get(&a)?.get(i)?, rows.get(&b)?.get(j)?);
        let apart = of_x.hamming(of_y);
        let pair = (x.min(y), x.max(y), apart);
        (i64::from(apart) > i64::from(distance)).then_some((pair, similarity))
    })
}

impl Iterator for Verified {
    type Item = (Pair, f64);

    fn next(&mut self) -> Option<(Pair, f64)> {
        loop {
            if let Some(pair) = self.ready.next() {
                return Some(pair);
            }
            self.ready = self.next_batch()?;
        }
    }
}

struct Pairs<K: TreeKey> {
    session: Session<K>,
    /// When two tables are joined: the first one's rows have lesser numbers than this.
    split: Option<u64>,
    /// The place in `session.found` of the next pair of groups.
    next: usize,
    product: Product,
}

/// The rows of one group with those of another, or with each other.
#[derive(Default)]
pub struct Product {
    left: Vec<u64>,
    right: Vec<u64>,
    /// What follows these: rows of the first of two tables, and rows of the second.
    later: Option<(Vec<u64>, Vec<u64>)>,
    /// Whether both are the same group: then only pairs above the diagonal count.
    triangular: bool,
    distance: u32,
    at: (usize, usize),
}

impl Product {
    /// The pairs of two groups at this distance, or within `left` if `right` is empty.
    pub fn new(left: Vec<u64>, right: Vec<u64>, distance: u32) -> Self {
        let triangular = right.is_empty();
        Self { left, right, later: None, triangular, distance, at: (0, usize::from(triangular)) }
    }

    /// The next pair of rows, the lesser first.
    pub fn next(&mut self) -> Option<Pair> {
        loop {
            let right = if self.triangular { &self.left } else { &self.right };
            while let Some(&a) = self.left.get(self.at.0) {
                if let Some(&b) = right.get(self.at.1) {
                    self.at.1 += 1;
                    return Some((a.min(b), a.max(b), self.distance));
                }
                let row = self.at.0 + 1;
                self.at = (row, if self.triangular { row + 1 } else { 0 });
            }
            (self.left, self.right) = self.later.take()?;
            self.at = (0, 0);
        }
    }

    /// Keeps only pairs of a row below `split` and one from there on. The rows of a group are
    /// ordered by table. Pairs of one table are not even enumerated: one row of a table may have
    /// the fingerprint of a million rows of the other.
    fn across(&mut self, split: u64) {
        let second = |rows: &mut Vec<u64>| rows.split_off(rows.partition_point(|&row| row < split));
        let left_second = second(&mut self.left);
        if std::mem::take(&mut self.triangular) {
            self.right = left_second;
            return;
        }
        let right_second = second(&mut self.right);
        let right_first = std::mem::replace(&mut self.right, right_second);
        self.later = Some((right_first, left_second));
    }
}

impl<K: TreeKey> Pairs<K> {
    /// Starts on a pair of groups, with only those rows that the query sees.
    fn start(&mut self, found: GroupPair) {
        let GroupPair { left, right, distance } = found;
        let triangular = left == right && distance == 0 && self.session.is_one_chunk();
        self.session.visible(Side::Left, left, &mut self.product.left);
        self.product.right.clear();
        if !triangular {
            self.session.visible(Side::Right, right, &mut self.product.right);
        }
        self.product.triangular = triangular;
        self.product.distance = distance;
        if let Some(split) = self.split {
            self.product.across(split);
        }
        self.product.at = (0, usize::from(self.product.triangular));
    }
}

impl<K: TreeKey> Iterator for Pairs<K> {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        loop {
            if let Some(pair) = self.product.next() {
                return Some(pair);
            }
            if let Some(&found) = self.session.found.get(self.next) {
                self.next += 1;
                self.start(found);
            } else {
                self.next = 0;
                if !self.session.next_batch() {
                    return None;
                }
            }
        }
    }
}
