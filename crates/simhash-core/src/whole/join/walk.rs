//! Walks down two tries of one scope together, to find the pairs of keys that a table emits.
//!
//! The left trie is walked down depth first. Each of its nodes has a list of the right nodes whose
//! keys can be a pair with its own, derived from the list of its parent. At a left leaf, the list
//! holds right leaves in the order of their keys. Adjacent ones form one run, which the kernel
//! compares at once.
//!
//! Work that has not begun is a stack of [`Piece`]s. They are independent of each other, so several
//! processes can share a walk: [`Walk::divide`] makes pieces of it, and each process has a [`Walk`]
//! of its own over some of them.

use std::ops::Range;

use super::chunk::{Chunk, Node, Tries};
use super::filter::filter;
use crate::base::key::Key;
use crate::base::simd::counting::{Counting, counting};
use crate::base::simd::pairs::{Candidates, Close, close_pairs};
use crate::search::probe::Limit;
use crate::search::{Plan, TreeKey};

/// Two groups of rows within the distance: the numbers of their keys, and their distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPair {
    pub left: u32,
    pub right: u32,
    pub distance: u32,
}

/// Pairs in parcels of at most so many, for processes that report what they find. Without pairs
/// there is an empty parcel, because the progress of the walk is reported with it.
pub fn parcels(found: &[GroupPair], most: usize) -> impl Iterator<Item = &[GroupPair]> {
    let (first, rest) = found.split_at(found.len().min(most));
    std::iter::once(first).chain(rest.chunks(most))
}

/// A part of a walk, by the numbers of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The keys below a node of the left chunk with those below a node of the right one. In a
    /// self-join, the lesser key of a pair is below the first node.
    Nodes(u32, u32),
    /// Each of the roots from the first number up to, but not including, the second, with itself.
    Roots(u32, u32),
}

/// The comparisons of a step, which take about a tenth of a millisecond. A step may find as many
/// pairs.
const STEP: u64 = 1 << 18;
/// The cost of examining a node, in comparisons.
const VISIT: u64 = 20;
/// The most entries of lists for each right node. Beyond that, children share an ancestor's list,
/// because in a deep trie lists of their own could take more memory than the tries. Unit tests
/// always share lists, and the integration tests of joins nearly never do.
const ROOM: usize = if cfg!(test) { 0 } else { 2 };
/// Pieces with at most so many left keys are not divided.
const SMALLEST_PIECE: usize = 256;

/// A left node to be walked down, and the range of its list in `Walk::lists`.
///
/// Invariant: from frame to frame of a walk, neither the starts nor the ends of lists decrease.
/// Entries behind the last frame's list are unused.
#[derive(Clone, Copy, Debug)]
struct Frame {
    node: u32,
    from: usize,
    to: usize,
    /// Whether the list is this node's own. Otherwise it is an ancestor's, and may have right nodes
    /// without a possible pair.
    own: bool,
}

/// A join of a chunk with itself or with another, in progress.
///
/// Two chunks can have only one scope in common, the last of the left one and the first of the
/// right one, because the left one precedes the right one in the table. Subtries whose prefixes
/// differ too much for the table's limits are left out. The limits are those of [`Plan::probe`]: a
/// pair that the table emits respects them, so nothing is missed.
pub struct Walk {
    plan: Plan,
    table: u32,
    limits: [Limit; 3],
    /// How two leaves' keys are compared.
    close: Close,
    with_itself: bool,
    /// Pieces that have not begun, the next one last.
    stack: Vec<Piece>,
    /// The rest of the current piece, the next frame last, and the piece's right node.
    frames: Vec<Frame>,
    whole: u32,
    /// The lists of the frames.
    lists: Vec<u32>,
    /// The runs that a left leaf is compared with.
    runs: Vec<Range<u32>>,
    candidates: Candidates,
    /// The number of pairs of keys that are done, and of all.
    done: f64,
    total: f64,
}

impl Walk {
    /// A walk without pieces, for a table of keys of type `F`. `None` if the plan leaves the table
    /// out.
    pub fn empty<F: Key>(plan: &Plan, table: u32, with_itself: bool) -> Option<Self> {
        Some(Self {
            plan: plan.clone(),
            table,
            limits: *plan.probe(F::ZERO, table)?.limits(),
            close: filter::<F>(plan, table),
            with_itself,
            stack: Vec::new(),
            frames: Vec::new(),
            whole: 0,
            lists: Vec::new(),
            runs: Vec::new(),
            candidates: Candidates::default(),
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

    /// Continues for about a tenth of a millisecond, and appends the pairs that it finds. False at
    /// the end. The tries must be those that the walk began with.
    pub fn step<F: Key>(
        &mut self,
        left: Tries<'_, F>,
        right: Tries<'_, F>,
        found: &mut Vec<GroupPair>,
    ) -> bool {
        counting(Step { walk: self, left, right, found })
    }

    /// See [`Walk::step`].
    #[inline(always)]
    fn go_on<F: Key>(
        &mut self,
        left: Tries<'_, F>,
        right: Tries<'_, F>,
        found: &mut Vec<GroupPair>,
    ) -> bool {
        let mut work = 0;
        while work < STEP {
            if let Some(frame) = self.frames.pop() {
                work += self.walk_down(frame, left, right, found);
            } else if let Some(piece) = self.stack.pop() {
                self.begin(piece);
            } else {
                return false;
            }
        }
        !self.is_empty()
    }

    fn begin(&mut self, piece: Piece) {
        let (node, whole) = match piece {
            Piece::Nodes(a, b) => (a, b),
            Piece::Roots(root, end) => {
                if root + 1 < end {
                    self.stack.push(Piece::Roots(root + 1, end));
                }
                (root, root)
            }
        };
        self.whole = whole;
        self.lists.clear();
        self.lists.push(whole);
        self.frames.push(Frame { node, from: 0, to: 1, own: self.with_itself && node == whole });
    }

    /// Makes the list of a frame's node, then frames for its children or the comparisons of a leaf.
    /// Returns the work done, in comparisons. Work that exceeds a step becomes a frame again.
    #[inline(always)]
    fn walk_down<F: Key>(
        &mut self,
        mut frame: Frame,
        left: Tries<'_, F>,
        right: Tries<'_, F>,
        found: &mut Vec<GroupPair>,
    ) -> u64 {
        let x = left.nodes[frame.node as usize];
        let mut work = VISIT;
        self.lists.truncate(frame.to);
        let room = self.lists.len() <= ROOM * right.nodes.len();
        if !frame.own && (room || x.is_leaf()) {
            work += VISIT * self.list(&x, frame, left, right);
            frame = Frame { from: frame.to, to: self.lists.len(), own: true, ..frame };
        }
        if x.is_leaf() {
            return work + self.compare(frame, left, right, found);
        }
        let alone = self.with_itself && self.lists[frame.from..frame.to] == [frame.node];
        if alone
            && !self.can_meet(
                (left, &left.nodes[x.child as usize]),
                (right, &right.nodes[x.child as usize + 1]),
            )
        {
            // Neither child can have a pair with the other, so each is alone too. With small radii
            // that is most of a walk.
            for node in [x.child + 1, x.child] {
                let from = self.lists.len();
                self.lists.push(node);
                self.frames.push(Frame { node, from, to: from + 1, own: true });
            }
        } else if frame.from < frame.to {
            let children = [x.child + 1, x.child];
            self.frames.extend(children.map(|node| Frame { node, own: false, ..frame }));
        } else {
            self.done += self.pairs(&x, &right.nodes[self.whole as usize]);
        }
        work
    }

    /// Appends those right nodes of the frame's list, or nodes below them, whose keys can be a pair
    /// with a key below `x`. Each is a leaf or, if `x` is no leaf, agrees in at least as many bits
    /// as `x`. Returns the number of nodes examined.
    #[inline(always)]
    fn list<F: Key>(
        &mut self,
        x: &Node,
        frame: Frame,
        left: Tries<'_, F>,
        right: Tries<'_, F>,
    ) -> u64 {
        let is_above = |y: &Node| !y.is_leaf() && (x.is_leaf() || y.bits < x.bits);
        let (mut from, mut to, mut visited) = (frame.from, frame.to, 0);
        loop {
            let mut length = self.lists.len();
            self.lists.resize(length + 2 * (to - from), 0);
            let mut again = false;
            for place in from..to {
                let number = self.lists[place];
                let y = &right.nodes[number as usize];
                // A listed node was examined before, for an ancestor of `x` or in the round before,
                // so its children are examined directly.
                let (first, count) = if is_above(y) { (y.child, 2) } else { (number, 1) };
                for number in first..first + count {
                    let y = &right.nodes[number as usize];
                    // In a self-join, each pair is found from its lesser key.
                    let before = self.with_itself && y.high <= x.low;
                    let meets = x.sides.can_pair(y.sides) & self.can_meet((left, x), (right, y));
                    // Whether nodes can have a pair is hard to predict, so no branch depends on it.
                    self.lists[length] = number;
                    length += usize::from(meets & !before);
                    again |= meets & !before & is_above(y);
                }
                visited += u64::from(count);
            }
            self.lists.truncate(length);
            if to > frame.to {
                // Entries of the round before, whose children were examined, are dropped.
                self.lists.drain(frame.to..to);
            }
            if !again {
                return visited;
            }
            (from, to) = (frame.to, self.lists.len());
        }
    }

    /// Takes all remaining work out of the walk, in `pieces` pieces or more if there is so much
    /// work. Where keys are spread evenly, a piece takes at most a few times as long as the average
    /// one.
    pub fn divide<F: Key>(
        &mut self,
        left: Tries<'_, F>,
        right: Tries<'_, F>,
        pieces: usize,
    ) -> Vec<Piece> {
        let node = |number: u32| left.nodes[number as usize];
        // The most left keys of a piece.
        let mut most = left.keys.len();
        let mut done = Vec::new();
        self.stack = self.rest(left, right);
        loop {
            while let Some(piece) = self.stack.pop() {
                let keys = match piece {
                    Piece::Nodes(a, _) => node(a).len(),
                    Piece::Roots(root, end) => (node(end - 1).high - node(root).low) as usize,
                };
                match piece {
                    _ if keys <= most => done.push(piece),
                    Piece::Nodes(a, b) => {
                        assert!(!node(a).is_leaf(), "leaves are below the smallest piece");
                        let low = node(a).child;
                        self.stack.extend([Piece::Nodes(low + 1, b), Piece::Nodes(low, b)]);
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

    /// Takes all remaining work out of the walk.
    pub fn rest<F: Key>(&mut self, left: Tries<'_, F>, right: Tries<'_, F>) -> Vec<Piece> {
        let mut rest = std::mem::take(&mut self.stack);
        for Frame { node, from, to, own } in std::mem::take(&mut self.frames) {
            if !own {
                rest.push(Piece::Nodes(node, self.whole));
                continue;
            }
            // Right nodes that are not in the list, or no longer, are done.
            let list = &self.lists[from..to];
            rest.extend(list.iter().map(|&other| Piece::Nodes(node, other)));
            let pairs = |y: u32| self.pairs(&left.nodes[node as usize], &right.nodes[y as usize]);
            self.done += pairs(self.whole) - list.iter().map(|&y| pairs(y)).sum::<f64>();
        }
        rest
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty() && self.frames.is_empty()
    }

    /// The share of pairs of keys that is done, 0 to 1.
    pub fn progress(&self) -> f64 {
        if self.total > 0.0 { self.done / self.total } else { 1.0 }
    }

    /// Takes the number of pairs of keys that are done, to be added to another walk.
    pub fn take_done(&mut self) -> f64 {
        std::mem::take(&mut self.done)
    }

    /// Adds the number of pairs of keys that another walk has done.
    pub fn add_done(&mut self, done: f64) {
        self.done += done;
    }

    /// The number of pairs of keys below two nodes. In a self-join, the lesser key of a pair is
    /// below the left node.
    #[inline(always)]
    fn pairs(&self, x: &Node, y: &Node) -> f64 {
        if self.with_itself && y.high <= x.low {
            0.0
        } else if !self.with_itself || y.low >= x.high {
            pairs(x.len(), y.len(), false)
        } else if y.low <= x.low {
            pairs(x.len(), (y.high - x.high) as usize, false) + pairs(x.len(), x.len(), true)
        } else {
            pairs((y.low - x.low) as usize, y.len(), false) + pairs(y.len(), y.len(), true)
        }
    }

    /// Whether keys below the two nodes can be a pair that the table emits.
    #[inline(always)]
    fn can_meet<F: Key>(
        &self,
        (left, x): (Tries<'_, F>, &Node),
        (right, y): (Tries<'_, F>, &Node),
    ) -> bool {
        let bits = u32::from(x.bits.min(y.bits));
        if bits > 64 {
            let difference = left.keys[x.low as usize] ^ right.keys[y.low as usize];
            return self.respects(difference & F::leading_mask(bits));
        }
        let difference = (x.top ^ y.top) & u64::leading_mask(bits);
        // Maxima do not decrease from limit to limit, so within the bits of the first limit it
        // decides.
        let [first, ..] = self.limits;
        if bits <= first.bits {
            difference.count_ones() <= first.max
        } else {
            self.respects(difference)
        }
    }

    /// Whether the first bits of a difference respect the limits. The others are clear.
    #[inline(always)]
    fn respects<B: Key>(&self, difference: B) -> bool {
        self.limits.iter().all(|limit| {
            let within = B::leading_mask(limit.bits.min(B::BITS));
            (difference & within).count_ones() <= limit.max
        })
    }

    /// Compares the keys of a left leaf with those of the leaves in its list, adjacent ones as one
    /// run. Returns the number of comparisons. Work that exceeds a step becomes a frame again.
    #[inline(always)]
    fn compare<F: Key>(
        &mut self,
        mut frame: Frame,
        left: Tries<'_, F>,
        right: Tries<'_, F>,
        found: &mut Vec<GroupPair>,
    ) -> u64 {
        let x = left.nodes[frame.node as usize];
        let mut work = 0;
        self.runs.clear();
        while frame.from < frame.to && work < STEP {
            let y = right.nodes[self.lists[frame.from] as usize];
            frame.from += 1;
            work += (x.len() * y.len()) as u64;
            match self.runs.last_mut() {
                Some(run) if run.end == y.low => run.end = y.high,
                _ => self.runs.push(y.low..y.high),
            }
        }
        if frame.from < frame.to {
            self.frames.push(frame);
        } else {
            self.done += self.pairs(&x, &right.nodes[self.whole as usize]);
        }
        let xs = &left.keys[x.range()];
        let own = self.with_itself.then_some(x.low);
        close_pairs(right.keys, &self.runs, (xs, own), self.close, &mut self.candidates);
        for &(j, i) in self.candidates.pairs() {
            let i = x.low + i;
            let difference = left.keys[i as usize] ^ right.keys[j as usize];
            let distance = difference.count_ones();
            let restored = self.plan.layout().restore(difference, self.table);
            if distance <= self.plan.distance() && self.plan.emits(restored, self.table) {
                found.push(GroupPair { left: i, right: j, distance });
            }
        }
        work
    }
}

/// A call of [`Walk::step`].
struct Step<'a, F> {
    walk: &'a mut Walk,
    left: Tries<'a, F>,
    right: Tries<'a, F>,
    found: &'a mut Vec<GroupPair>,
}

impl<F: Key> Counting for Step<'_, F> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.walk.go_on(self.left, self.right, self.found)
    }
}

/// The number of pairs of so many keys with so many others, or with each other.
#[inline]
fn pairs(left: usize, right: usize, same: bool) -> f64 {
    let (left, right) = (left as f64, right as f64);
    if same { left * (left - 1.0) / 2.0 } else { left * right }
}
