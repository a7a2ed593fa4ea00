//! Two tries walked down together: which leaves can hold pairs that a table emits, and the pairs.
//! Both tries are of one scope.

use std::ops::Range;

use super::chunk::{Chunk, Node};
use crate::Fingerprint;
use crate::search::probe::Limit;
use crate::search::{Key, Plan, TreeKey};
use crate::simd::pairs::close_pairs;

/// Two groups of rows within the distance: the numbers of their keys, and how far apart they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPair {
    pub left: u32,
    pub right: u32,
    pub distance: u32,
}

/// How many comparisons a step makes before it returns: well below a millisecond.
const STEP: u64 = 1 << 20;
/// What looking at two nodes costs, counted in comparisons.
const VISIT: u64 = 40;

/// A join of a chunk with itself or with another, in progress.
///
/// Of two chunks, only the last scope of the left one and the first of the right one can be the
/// same, because the left one comes first in the table. Subtries whose prefixes differ too much for
/// the table's limits are left out. The limits are those of [`Plan::probe`]: a pair that the table
/// emits respects them, so nothing is missed.
pub struct Walk {
    table: u32,
    distance: u32,
    limits: [Limit; 3],
    with_itself: bool,
    /// Roots of the left chunk that are still to be joined with themselves.
    roots: Range<u32>,
    /// Nodes of the left and the right chunk that are still to be joined.
    stack: Vec<(u32, u32)>,
    close: Vec<(u32, u32)>,
    /// Pairs of keys that have been dealt with, and all that there are.
    done: f64,
    total: f64,
}

impl Walk {
    /// Begins the join of `left` with `right`, or with itself, for `table`. `None` if the plan
    /// leaves the table out.
    pub fn new<K: TreeKey>(
        plan: &Plan,
        table: u32,
        left: &Chunk<K>,
        right: Option<&Chunk<K>>,
    ) -> Option<Self> {
        let limits = *plan.probe(K::Fingerprint::ZERO, table)?.limits();
        let (mut roots, mut stack, mut total) = (0..0, Vec::new(), 0.0);
        if let Some(right) = right {
            let last = left.roots().len().wrapping_sub(1);
            let ends = left.roots().last().zip(right.roots().first());
            let ends = ends.filter(|_| left.last_scope() == right.first_scope());
            if let Some((x, y)) = ends {
                stack.push((last as u32, 0));
                total = x.len() as f64 * y.len() as f64;
            }
        } else {
            roots = 0..left.roots().len() as u32;
            total = left.roots().iter().map(|root| pairs_among(root.len())).sum();
        }
        Some(Self {
            table,
            distance: plan.distance(),
            limits,
            with_itself: right.is_none(),
            roots,
            stack,
            close: Vec::new(),
            done: 0.0,
            total,
        })
    }

    /// Goes on for a while, and appends what it finds. False at the end. The chunks must be those
    /// that the walk was begun with.
    pub fn step<K: TreeKey>(
        &mut self,
        plan: &Plan,
        left: &Chunk<K>,
        right: Option<&Chunk<K>>,
        found: &mut Vec<GroupPair>,
    ) -> bool {
        let right = right.unwrap_or(left);
        let mut work = 0;
        while let Some((a, b)) = self.next_nodes() {
            let (x, y) = (left.nodes()[a as usize], right.nodes()[b as usize]);
            let same = self.with_itself && a == b;
            if !x.sides.can_pair(y.sides) || !same && !self.can_meet(&x, &y) {
                self.done += x.len() as f64 * y.len() as f64;
            } else if x.is_leaf() && y.is_leaf() {
                self.compare(plan, (left, x), (right, y), same, found);
                work += (x.len() * y.len()) as u64;
            } else if same {
                let (low, high) = (x.child, x.child + 1);
                self.stack.extend([(high, high), (low, high), (low, low)]);
            } else if x.is_leaf() || (!y.is_leaf() && y.bits < x.bits) {
                self.stack.extend([(a, y.child + 1), (a, y.child)]);
            } else if y.is_leaf() || x.bits < y.bits {
                self.stack.extend([(x.child + 1, b), (x.child, b)]);
            } else {
                let (i, j) = (x.child, y.child);
                self.stack.extend([(i, j + 1), (i + 1, j), (i + 1, j + 1), (i, j)]);
            }
            work += VISIT;
            if work >= STEP {
                return !self.stack.is_empty() || !self.roots.is_empty();
            }
        }
        false
    }

    #[inline]
    fn next_nodes(&mut self) -> Option<(u32, u32)> {
        self.stack.pop().or_else(|| self.roots.next().map(|root| (root, root)))
    }

    /// The share of pairs of keys that has been dealt with, 0 to 1.
    pub fn progress(&self) -> f64 {
        if self.total > 0.0 { self.done / self.total } else { 1.0 }
    }

    /// Whether keys below the two nodes can be a pair that the table emits.
    #[inline]
    fn can_meet<F: Key>(&self, x: &Node<F>, y: &Node<F>) -> bool {
        let difference = (x.key ^ y.key) & F::leading_mask(u32::from(x.bits.min(y.bits)));
        self.limits
            .iter()
            .all(|limit| (difference & F::leading_mask(limit.bits)).count_ones() <= limit.max)
    }

    fn compare<K: TreeKey>(
        &mut self,
        plan: &Plan,
        (left, x): (&Chunk<K>, Node<K::Fingerprint>),
        (right, y): (&Chunk<K>, Node<K::Fingerprint>),
        same: bool,
        found: &mut Vec<GroupPair>,
    ) {
        self.done += if same { pairs_among(x.len()) } else { x.len() as f64 * y.len() as f64 };
        self.close.clear();
        close_pairs(
            &left.keys()[x.range()],
            &right.keys()[y.range()],
            same,
            self.distance,
            &mut self.close,
        );
        for &(i, j) in &self.close {
            let (i, j) = (x.low + i, y.low + j);
            let difference = left.keys()[i as usize] ^ right.keys()[j as usize];
            if !left.sides(i).can_pair(right.sides(j)) {
                continue;
            }
            if plan.emits(plan.layout().restore(difference, self.table), self.table) {
                found.push(GroupPair { left: i, right: j, distance: difference.count_ones() });
            }
        }
    }
}

/// The number of pairs of so many keys.
fn pairs_among(keys: usize) -> f64 {
    keys as f64 * (keys as f64 - 1.0) / 2.0
}
