//! Two tries walked down together: which leaves can hold pairs that a table emits, and the pairs.
//! Both tries are of one scope.
//!
//! What is left of a walk is a stack of [`Piece`]s. Each is worked off independently of the others,
//! so several processes can share a walk: [`Walk::divide`] makes pieces of it, and a [`Walk`] of
//! each process takes some.

use super::chunk::{Chunk, Node, Tries};
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

/// A part of a walk, by the numbers of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The keys below a node of the left chunk with those below a node of the right one. A node
    /// with itself, where a chunk is joined with itself.
    Nodes(u32, u32),
    /// Each of these roots with itself: from the first number to the one before the second.
    Roots(u32, u32),
}

/// How many comparisons a step makes before it returns: about a tenth of a millisecond. As many
/// pairs it may find.
const STEP: u64 = 1 << 18;
/// What looking at two nodes costs, counted in comparisons.
const VISIT: u64 = 40;
/// Pieces of nodes with fewer keys are not divided.
const SMALLEST_PIECE: usize = 256;

/// A join of a chunk with itself or with another, in progress.
///
/// Of two chunks, only the last scope of the left one and the first of the right one can be the
/// same, because the left one comes first in the table. Subtries whose prefixes differ too much for
/// the table's limits are left out. The limits are those of [`Plan::probe`]: a pair that the table
/// emits respects them, so nothing is missed.
pub struct Walk {
    plan: Plan,
    table: u32,
    limits: [Limit; 3],
    with_itself: bool,
    /// What is still to be done, the next piece last.
    stack: Vec<Piece>,
    close: Vec<(u32, u32)>,
    /// Pairs of keys that have been dealt with, and all that there are.
    done: f64,
    total: f64,
}

impl Walk {
    /// A walk of nothing yet, for a table of keys of type `F`. `None` if the plan leaves the table
    /// out.
    pub fn empty<F: Key>(plan: &Plan, table: u32, with_itself: bool) -> Option<Self> {
        Some(Self {
            plan: plan.clone(),
            table,
            limits: *plan.probe(F::ZERO, table)?.limits(),
            with_itself,
            stack: Vec::new(),
            close: Vec::new(),
            done: 0.0,
            total: 0.0,
        })
    }

    /// Begins the join of `left` with `right`, or with itself, for `table`. `None` if the plan
    /// leaves the table out.
    pub fn new<K: TreeKey>(
        plan: &Plan,
        table: u32,
        left: &Chunk<K>,
        right: Option<&Chunk<K>>,
    ) -> Option<Self> {
        let mut walk = Self::empty::<K::Fingerprint>(plan, table, right.is_none())?;
        if let Some(right) = right {
            let last = left.roots().len().wrapping_sub(1);
            let ends = left.roots().last().zip(right.roots().first());
            let ends = ends.filter(|_| left.last_scope() == right.first_scope());
            if let Some((x, y)) = ends {
                walk.stack.push(Piece::Nodes(last as u32, 0));
                walk.total = pairs(x.len(), y.len(), false);
            }
        } else if !left.roots().is_empty() {
            walk.stack.push(Piece::Roots(0, left.roots().len() as u32));
            walk.total = left.roots().iter().map(|root| pairs(root.len(), root.len(), true)).sum();
        }
        Some(walk)
    }

    /// The plan, the table, and whether a chunk is joined with itself.
    pub fn task(&self) -> (&Plan, u32, bool) {
        (&self.plan, self.table, self.with_itself)
    }

    /// Goes on for a while, and appends what it finds. False at the end. The tries must be those
    /// that the walk was begun with.
    pub fn step<F: Key>(
        &mut self,
        left: Tries<'_, F>,
        right: Tries<'_, F>,
        found: &mut Vec<GroupPair>,
    ) -> bool {
        let mut work = 0;
        while let Some((a, b)) = self.next_nodes() {
            let (x, y) = (left.nodes[a as usize], right.nodes[b as usize]);
            if self.descend((a, x), (b, y)) {
                self.compare((left, x), (right, y), self.with_itself && a == b, found);
                work += (x.len() * y.len()) as u64;
            }
            work += VISIT;
            if work >= STEP {
                return !self.stack.is_empty();
            }
        }
        false
    }

    #[inline]
    fn next_nodes(&mut self) -> Option<(u32, u32)> {
        match self.stack.pop()? {
            Piece::Nodes(a, b) => Some((a, b)),
            Piece::Roots(root, end) => {
                if root + 1 < end {
                    self.stack.push(Piece::Roots(root + 1, end));
                }
                Some((root, root))
            }
        }
    }

    /// Whether two nodes are leaves to be compared. Otherwise the pairs of their children go onto
    /// the stack, or none if no two keys can meet.
    #[inline]
    fn descend<F: Key>(&mut self, (a, x): (u32, Node<F>), (b, y): (u32, Node<F>)) -> bool {
        let nodes = |(a, b)| Piece::Nodes(a, b);
        let same = self.with_itself && a == b;
        if !x.sides.can_pair(y.sides) || !same && !self.can_meet(&x, &y) {
            self.done += pairs(x.len(), y.len(), same);
        } else if x.is_leaf() && y.is_leaf() {
            return true;
        } else if same {
            let (low, high) = (x.child, x.child + 1);
            self.stack.extend([(high, high), (low, high), (low, low)].map(nodes));
        } else if x.is_leaf() || (!y.is_leaf() && y.bits < x.bits) {
            self.stack.extend([(a, y.child + 1), (a, y.child)].map(nodes));
        } else if y.is_leaf() || x.bits < y.bits {
            self.stack.extend([(x.child + 1, b), (x.child, b)].map(nodes));
        } else {
            let (i, j) = (x.child, y.child);
            self.stack.extend([(i, j + 1), (i + 1, j), (i + 1, j + 1), (i, j)].map(nodes));
        }
        false
    }

    /// Takes all that is left of the walk, in about so many pieces or more if there is so much
    /// work. A piece is at most a few times as long as the average one where keys are spread
    /// evenly.
    pub fn divide<F: Key>(
        &mut self,
        left: Tries<'_, F>,
        right: Tries<'_, F>,
        pieces: usize,
    ) -> Vec<Piece> {
        let node = |a: u32, b: u32| (left.nodes[a as usize], right.nodes[b as usize]);
        // The most keys of a node of a piece, or of all roots of one.
        let mut most = left.keys.len().max(right.keys.len());
        let mut done = Vec::new();
        loop {
            while let Some(piece) = self.stack.pop() {
                let keys = match piece {
                    Piece::Nodes(a, b) => {
                        let (x, y) = node(a, b);
                        x.len().max(y.len())
                    }
                    Piece::Roots(root, end) => {
                        (node(end - 1, 0).0.high - node(root, 0).0.low) as usize
                    }
                };
                match piece {
                    _ if keys <= most => done.push(piece),
                    Piece::Nodes(a, b) => {
                        let (x, y) = node(a, b);
                        let leaves = self.descend((a, x), (b, y));
                        debug_assert!(!leaves, "leaves are below the smallest piece");
                    }
                    Piece::Roots(root, end) if end - root == 1 => {
                        self.stack.push(Piece::Nodes(root, root));
                    }
                    Piece::Roots(root, end) => {
                        let middle = root + (end - root) / 2;
                        self.stack.extend([Piece::Roots(middle, end), Piece::Roots(root, middle)]);
                    }
                }
            }
            if done.len() >= pieces || most <= SMALLEST_PIECE {
                return done;
            }
            most = (most / 2).max(SMALLEST_PIECE);
            std::mem::swap(&mut self.stack, &mut done);
        }
    }

    /// Adds pieces of this walk, or of one that it shares.
    pub fn add(&mut self, pieces: impl IntoIterator<Item = Piece>) {
        self.stack.extend(pieces);
    }

    /// Takes all that is left of the walk.
    pub fn rest(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.stack)
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// The share of pairs of keys that has been dealt with, 0 to 1.
    pub fn progress(&self) -> f64 {
        if self.total > 0.0 { self.done / self.total } else { 1.0 }
    }

    /// Takes the number of pairs of keys that have been dealt with, to be added to another walk.
    pub fn take_done(&mut self) -> f64 {
        std::mem::take(&mut self.done)
    }

    /// Adds pairs of keys that another walk has dealt with.
    pub fn add_done(&mut self, done: f64) {
        self.done += done;
    }

    /// Whether keys below the two nodes can be a pair that the table emits.
    #[inline]
    fn can_meet<F: Key>(&self, x: &Node<F>, y: &Node<F>) -> bool {
        let difference = (x.key ^ y.key) & F::leading_mask(u32::from(x.bits.min(y.bits)));
        self.limits
            .iter()
            .all(|limit| (difference & F::leading_mask(limit.bits)).count_ones() <= limit.max)
    }

    fn compare<F: Key>(
        &mut self,
        (left, x): (Tries<'_, F>, Node<F>),
        (right, y): (Tries<'_, F>, Node<F>),
        same: bool,
        found: &mut Vec<GroupPair>,
    ) {
        self.done += pairs(x.len(), y.len(), same);
        self.close.clear();
        close_pairs(
            &left.keys[x.range()],
            &right.keys[y.range()],
            same,
            self.plan.distance(),
            &mut self.close,
        );
        for &(i, j) in &self.close {
            let (i, j) = (x.low + i, y.low + j);
            let difference = left.keys[i as usize] ^ right.keys[j as usize];
            let restored = self.plan.layout().restore(difference, self.table);
            if self.plan.emits(restored, self.table) {
                found.push(GroupPair { left: i, right: j, distance: difference.count_ones() });
            }
        }
    }
}

/// The number of pairs of so many keys with so many others, or with each other.
#[inline]
fn pairs(left: usize, right: usize, same: bool) -> f64 {
    let (left, right) = (left as f64, right as f64);
    if same { left * (left - 1.0) / 2.0 } else { left * right }
}
