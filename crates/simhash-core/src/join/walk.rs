//! Two tries walked down together: which leaves can hold pairs that a table emits, and the pairs.

use super::chunk::{Chunk, Node};
use crate::search::probe::Limit;
use crate::search::{Key, Plan};
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
/// Subtries whose prefixes differ too much for the table's limits are left out. The limits are
/// those of [`Plan::probe`]: a pair that the table emits respects them, so nothing is missed.
pub struct Walk {
    table: u32,
    distance: u32,
    limits: [Limit; 3],
    with_itself: bool,
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
    pub fn new<F: Key>(
        plan: &Plan,
        table: u32,
        left: &Chunk<F>,
        right: Option<&Chunk<F>>,
    ) -> Option<Self> {
        let limits = *plan.probe(F::ZERO, table)?.limits();
        let (a, b) = (left.keys().len() as f64, right.unwrap_or(left).keys().len() as f64);
        let stack = if a > 0.0 && b > 0.0 { vec![(0, 0)] } else { vec![] };
        let total = if right.is_some() { a * b } else { a * (a - 1.0) / 2.0 };
        Some(Self {
            table,
            distance: plan.distance(),
            limits,
            with_itself: right.is_none(),
            stack,
            close: Vec::new(),
            done: 0.0,
            total,
        })
    }

    /// Goes on for a while, and appends what it finds. False at the end. The chunks must be those
    /// that the walk was begun with.
    pub fn step<F: Key>(
        &mut self,
        plan: &Plan,
        left: &Chunk<F>,
        right: Option<&Chunk<F>>,
        found: &mut Vec<GroupPair>,
    ) -> bool {
        let right = right.unwrap_or(left);
        let mut work = 0;
        while let Some((a, b)) = self.stack.pop() {
            let (x, y) = (left.nodes()[a as usize], right.nodes()[b as usize]);
            let same = self.with_itself && a == b;
            if !same && !self.can_meet(&x, &y) {
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
                return !self.stack.is_empty();
            }
        }
        false
    }

    /// The share of pairs of keys that has been dealt with, 0 to 1.
    pub fn progress(&self) -> f64 {
        if self.total > 0.0 { self.done / self.total } else { 1.0 }
    }

    /// Whether keys below the two nodes can be a pair that the table emits.
    #[inline]
    fn can_meet<F: Key>(&self, x: &Node<F>, y: &Node<F>) -> bool {
        let difference = (x.key ^ y.key) & F::leading_mask(x.bits.min(y.bits));
        self.limits
            .iter()
            .all(|limit| (difference & F::leading_mask(limit.bits)).count_ones() <= limit.max)
    }

    fn compare<F: Key>(
        &mut self,
        plan: &Plan,
        (left, x): (&Chunk<F>, Node<F>),
        (right, y): (&Chunk<F>, Node<F>),
        same: bool,
        found: &mut Vec<GroupPair>,
    ) {
        let (a, b) = (x.len() as f64, y.len() as f64);
        self.done += if same { a * (a - 1.0) / 2.0 } else { a * b };
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
            if plan.emits(plan.layout().restore(difference, self.table), self.table) {
                found.push(GroupPair { left: i, right: j, distance: difference.count_ones() });
            }
        }
    }
}
