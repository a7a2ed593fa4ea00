//! A chunk of a block table in memory: distinct keys in order, the rows of each, and a trie over
//! the fingerprints of each scope.

use std::ops::{Range, RangeBounds};

use crate::Fingerprint;
use crate::base::key::Key;
use crate::base::memory::{NoMemory, reserve};
use crate::search::TreeKey;
use crate::search::scoped::Bytes;

/// The most keys of a trie's leaf. Two leaves are compared by one call of the kernel.
pub const LEAF_KEYS: usize = 32;

/// Bytes of memory for each row of a [`Chunk`]: its fingerprint, address, group, mark and share of
/// the tries.
pub fn bytes_per_row<K: TreeKey>() -> usize {
    let trie = size_of::<Node>() / keys_per_node::<K>();
    K::Fingerprint::BYTES + size_of::<u64>() + 2 * size_of::<u32>() + trie
}

/// Bytes of memory for each row of a copy of [`Chunk::tries`].
pub fn bytes_per_row_of_tries<K: TreeKey>() -> usize {
    K::Fingerprint::BYTES + size_of::<Node>() / keys_per_node::<K>()
}

/// The least number of keys per node to expect, if keys are random. A trie of n keys has about n /
/// 10 nodes. A small scope has one node, for two or more keys.
fn keys_per_node<K: TreeKey>() -> usize {
    if K::Scope::BYTES == 0 { 8 } else { 2 }
}

/// A node of a trie: the keys `low..high`, which agree in their first `bits` bits.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The first 64 bits of one of its keys.
    pub(super) top: u64,
    pub(super) low: u32,
    pub(super) high: u32,
    /// The first of two children, which differ in bit number `bits`. 0 for a leaf.
    pub(super) child: u32,
    pub(super) bits: u16,
    pub(super) sides: Sides,
}

/// The distinct keys of a chunk and the tries over them, which a walk reads.
#[derive(Clone, Copy, Debug)]
pub struct Tries<'a, F> {
    pub keys: &'a [F],
    pub nodes: &'a [Node],
}

/// The tables that rows belong to, where two tables are joined: bit 0 stands for the first, bit 1
/// for the second. In a self-join, each row belongs to both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sides(u8);

impl Sides {
    const NONE: Self = Sides(0);
    const FIRST: Self = Sides(1);
    const SECOND: Self = Sides(2);
    const BOTH: Self = Sides(3);

    fn or(self, other: Self) -> Self {
        Sides(self.0 | other.0)
    }

    /// Whether these two can have a row of one table and a row of the other.
    #[inline]
    pub fn can_pair(self, other: Self) -> bool {
        self.0 & 1 & (other.0 >> 1) | other.0 & 1 & (self.0 >> 1) != 0
    }
}

impl Node {
    #[inline]
    pub(super) fn is_leaf(&self) -> bool {
        self.child == 0
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        (self.high - self.low) as usize
    }

    #[inline]
    pub(super) fn range(&self) -> Range<usize> {
        self.low as usize..self.high as usize
    }
}

/// Rows were out of order or out of their bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBounds;

/// What the user of a chunk records about a group, the rows of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing yet.
    Unknown,
    /// Its rows are remembered as members.
    Remembered,
    /// Its rows are remembered, and none of them is visible.
    Invisible,
    /// The member with this number represents all of its rows: it is the only one, or a visible one
    /// of the cluster that contains them all.
    Row(u32),
}

/// The stored form of [`Mark::Row`] with number 0. The other marks have lower ones.
const FIRST_ROW: u32 = 3;

impl Mark {
    #[inline]
    fn stored(self) -> u32 {
        match self {
            Mark::Unknown => 0,
            Mark::Remembered => 1,
            Mark::Invisible => 2,
            Mark::Row(number) => FIRST_ROW + number,
        }
    }

    #[inline]
    fn load(stored: u32) -> Self {
        match stored {
            0 => Mark::Unknown,
            1 => Mark::Remembered,
            2 => Mark::Invisible,
            _ => Mark::Row(stored - FIRST_ROW),
        }
    }
}

/// Rows in key order, equal keys as one group.
///
/// Invariants: the fingerprints of a scope ascend strictly; `starts[i]` is where the rows of group
/// i begin, and ascends too. The first `roots` nodes are the roots of scopes, in their order. The
/// first and the last scope always have a root. Scopes between them have one only if they have two
/// or more keys, because a single key has nothing to be compared with.
#[derive(Debug)]
pub struct Chunk<K: TreeKey> {
    keys: Vec<K::Fingerprint>,
    starts: Vec<u32>,
    addresses: Vec<u64>,
    /// In their stored form: one word for each key.
    marks: Vec<u32>,
    nodes: Vec<Node>,
    roots: usize,
    /// The first key and the last, with their scopes.
    ends: Option<(K, K)>,
    /// In a join of two tables, the rows of the first have numbers below this.
    split: Option<u64>,
}

impl<K: TreeKey> Default for Chunk<K> {
    fn default() -> Self {
        let (keys, nodes) = (vec![], vec![]);
        Self {
            keys,
            starts: vec![],
            addresses: vec![],
            marks: vec![],
            nodes,
            roots: 0,
            ends: None,
            split: None,
        }
    }
}

impl<K: TreeKey> Chunk<K> {
    /// Empties the chunk and makes room for `rows` rows. With `split`, the rows belong to two
    /// tables, those of the first with numbers below it.
    pub fn restart(&mut self, rows: usize, split: Option<u64>) -> Result<(), NoMemory> {
        self.keys.clear();
        self.starts.clear();
        self.addresses.clear();
        self.marks.clear();
        self.nodes.clear();
        (self.roots, self.ends, self.split) = (0, None, split);
        reserve(&mut self.keys, rows)?;
        reserve(&mut self.starts, rows)?;
        reserve(&mut self.addresses, rows)?;
        reserve(&mut self.marks, rows)?;
        reserve(&mut self.nodes, rows / keys_per_node::<K>() + 2)
    }

    /// Adds rows (key, address) in any order, with no key below those added before, and leaves
    /// `rows` empty.
    ///
    /// # Errors
    /// When a row is not `within` the expected bounds, or has a key below one added before. Then
    /// nothing is added.
    ///
    /// # Panics
    /// At 2^32 rows.
    pub fn push(
        &mut self,
        rows: &mut Vec<(K, u64)>,
        within: impl RangeBounds<(K, u64)>,
    ) -> Result<(), OutOfBounds> {
        if !rows.is_sorted() {
            rows.sort_unstable();
        }
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Ok(());
        };
        let mut before = self.ends.map(|(_, last)| last);
        let ascend = before.is_none_or(|key| key <= first.0);
        if !ascend || !within.contains(first) || !within.contains(last) {
            return Err(OutOfBounds);
        }
        u32::try_from(self.addresses.len() + rows.len()).expect("fewer than 2^32 rows");
        self.ends = Some((self.ends.map_or(first.0, |(first, _)| first), last.0));
        for (key, address) in rows.drain(..) {
            if before != Some(key) {
                if before.map(K::scope) != Some(key.scope()) {
                    self.start_scope();
                }
                self.keys.push(key.fingerprint());
                self.starts.push(self.addresses.len() as u32);
                before = Some(key);
            }
            self.addresses.push(address);
        }
        Ok(())
    }

    /// Begins a scope at the current end of the keys. Until [`Chunk::finish`], a root has only its
    /// range of keys.
    fn start_scope(&mut self) {
        let low = self.keys.len() as u32;
        self.end_scope();
        let sides = Sides::BOTH;
        let root = Node { top: 0, low, high: low, child: 0, bits: 0, sides };
        if self.nodes.len() > 1 {
            self.nodes.pop_if(|last| last.len() == 1);
        }
        self.nodes.push(root);
    }

    /// Ends the last scope at the current end of the keys.
    fn end_scope(&mut self) {
        let high = self.keys.len() as u32;
        if let Some(root) = self.nodes.last_mut() {
            root.high = high;
        }
    }

    /// Builds the tries, after the last rows. `check` is called now and then and may unwind.
    pub fn finish(&mut self, check: &mut dyn FnMut()) {
        self.end_scope();
        self.roots = self.nodes.len();
        self.marks.clear();
        self.marks.resize(self.keys.len(), Mark::Unknown.stored());
        let mut work = 0u32;
        let mut checked = || {
            work += 1;
            if work.is_multiple_of(1 << 16) {
                check();
            }
        };
        let mut inner = Vec::new();
        for root in 0..self.roots {
            self.nodes[root] = self.node(self.nodes[root].range());
            checked();
            inner.push(root);
            // Depth first, so that the keys of a node are still in the processor's cache when its
            // children are split.
            while let Some(number) = inner.pop() {
                if let Some(child) = self.split(number) {
                    inner.extend([child + 1, child]);
                    checked();
                }
            }
        }
        if self.split.is_some() {
            self.find_sides(&mut checked);
        }
    }

    /// Sets the sides of the rows below each node. Children have greater numbers than their parent.
    fn find_sides(&mut self, check: &mut dyn FnMut()) {
        for number in (0..self.nodes.len()).rev() {
            check();
            let node = self.nodes[number];
            let sides = if node.is_leaf() {
                (node.low..node.high).fold(Sides::NONE, |sides, key| sides.or(self.sides(key)))
            } else {
                let [a, b] = [0, 1].map(|i| self.nodes[node.child as usize + i].sides);
                a.or(b)
            };
            self.nodes[number].sides = sides;
        }
    }

    /// Whether the rows belong to two joined tables.
    pub fn is_of_two(&self) -> bool {
        self.split.is_some()
    }

    /// The sides of a group's rows. Rows ascend, so the first and the last decide.
    #[inline]
    pub fn sides(&self, group: u32) -> Sides {
        let Some(split) = self.split else { return Sides::BOTH };
        let side = |&row: &u64| if row < split { Sides::FIRST } else { Sides::SECOND };
        let rows = self.group(group);
        rows.first().map_or(Sides::NONE, side).or(rows.last().map_or(Sides::NONE, side))
    }

    /// Gives a node two children if it is too large for a leaf. Returns the number of the first.
    fn split(&mut self, number: usize) -> Option<usize> {
        let node = self.nodes[number];
        if node.len() <= LEAF_KEYS {
            return None;
        }
        let bit = K::Fingerprint::bit(u32::from(node.bits));
        let Range { start: low, end: high } = node.range();
        let middle = low + zeros(&self.keys[low..high], bit);
        let child = self.nodes.len();
        self.nodes[number].child = child as u32;
        self.nodes.push(self.node(low..middle));
        self.nodes.push(self.node(middle..high));
        Some(child)
    }

    /// A leaf over one or more keys of a scope.
    fn node(&self, Range { start: low, end: high }: Range<usize>) -> Node {
        let key = self.keys[low];
        let bits = (key ^ self.keys[high - 1]).leading_zeros() as u16;
        let top = Fingerprint::top(key);
        let (low, high) = (low as u32, high as u32);
        Node { top, low, high, child: 0, bits, sides: Sides::BOTH }
    }

    /// The fingerprints of the distinct keys: scope after scope, and ascending in each.
    pub fn keys(&self) -> &[K::Fingerprint] {
        &self.keys
    }

    /// The scope of the first row.
    pub fn first_scope(&self) -> Option<K::Scope> {
        self.ends.map(|(first, _)| first.scope())
    }

    /// The scope of the last row.
    pub fn last_scope(&self) -> Option<K::Scope> {
        self.ends.map(|(_, last)| last.scope())
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.addresses.len()
    }

    /// The rows with key number `group`.
    #[inline]
    pub fn group(&self, group: u32) -> &[u64] {
        &self.addresses[self.places(group)]
    }

    /// The places of these rows among all rows of the chunk.
    #[inline]
    pub fn places(&self, group: u32) -> Range<usize> {
        let group = group as usize;
        let end = self.starts.get(group + 1).map_or(self.addresses.len(), |&start| start as usize);
        self.starts[group] as usize..end
    }

    /// The mark of a group.
    #[inline]
    pub fn mark(&self, group: u32) -> Mark {
        Mark::load(self.marks[group as usize])
    }

    /// Sets the mark of a group. The number of a [`Mark::Row`] must be a member's.
    #[inline]
    pub fn set_mark(&mut self, group: u32, mark: Mark) {
        self.marks[group as usize] = mark.stored();
    }

    /// Resets all marks to [`Mark::Unknown`].
    pub fn clear_marks(&mut self) {
        self.marks.fill(Mark::Unknown.stored());
    }

    /// The part of the chunk that a walk reads.
    #[inline]
    pub fn tries(&self) -> Tries<'_, K::Fingerprint> {
        Tries { keys: &self.keys, nodes: &self.nodes }
    }

    /// The roots of the tries, which are the first nodes.
    pub(super) fn roots(&self) -> &[Node] {
        &self.nodes[..self.roots]
    }
}

/// The number of keys without `bit`. The keys ascend and agree in the bits above it. The search
/// starts in the middle, because most fingerprints are spread evenly.
fn zeros<F: Key>(keys: &[F], bit: F) -> usize {
    let is_zero = |key: &F| *key & bit == F::ZERO;
    let middle = keys.len() / 2;
    let (mut low, mut high);
    let mut step = 4;
    // Invariant: keys below `low` do not have the bit, those from `high` on have it.
    if keys.get(middle).is_some_and(is_zero) {
        low = middle + 1;
        while low + step < keys.len() && is_zero(&keys[low + step]) {
            low += step + 1;
            step *= 2;
        }
        high = keys.len().min(low + step);
    } else {
        high = middle;
        while high > step && !is_zero(&keys[high - step]) {
            high -= step;
            step *= 2;
        }
        low = high.saturating_sub(step);
    }
    low + keys[low..high].partition_point(is_zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_what_was_noted() {
        let mut chunk = Chunk::<u64>::default();
        chunk.push(&mut vec![(5, 2), (3, 9)], ..).unwrap();
        chunk.finish(&mut || ());
        let last = Mark::Row(u32::MAX - FIRST_ROW);
        for mark in [Mark::Remembered, Mark::Invisible, Mark::Row(0), last, Mark::Unknown] {
            chunk.set_mark(1, mark);
            assert_eq!((chunk.mark(0), chunk.mark(1)), (Mark::Unknown, mark));
        }
    }

    #[test]
    fn groups_hold_the_rows_of_equal_keys_also_across_pushes() {
        let mut chunk = Chunk::<u64>::default();
        chunk.push(&mut vec![(5, 2), (3, 9), (5, 1)], ..).unwrap();
        chunk.push(&mut vec![(5, 7), (6, 3)], (5, 0)..).unwrap();
        chunk.finish(&mut || ());
        assert_eq!(chunk.keys(), [3, 5, 6]);
        assert_eq!(
            (chunk.group(0), chunk.group(1), chunk.group(2)),
            (&[9][..], &[1, 2, 7][..], &[3][..])
        );
    }

    #[test]
    fn nodes_know_of_which_table_rows_are() {
        let keys = 1000u64;
        let side =
            |key: u64| if key < 300 { [3].as_slice() } else { &[3, 70][usize::from(key > 600)..] };
        let rows = |key: u64| side(key).iter().map(move |&row| (key * key, row));
        let mut chunk = Chunk::<u64>::default();
        chunk.restart(2000, Some(50)).unwrap();
        chunk.push(&mut (0..keys).flat_map(rows).collect(), ..).unwrap();
        chunk.finish(&mut || ());
        for node in &chunk.nodes {
            let has = |wanted: fn(u64) -> bool| {
                (node.low..node.high).any(|key| chunk.group(key).iter().any(|&row| wanted(row)))
            };
            let expected = u8::from(has(|row| row < 50)) | u8::from(has(|row| row >= 50)) << 1;
            assert_eq!(node.sides.0, expected);
        }
        for (a, b) in (0..4).flat_map(|a| (0..4).map(move |b| (a, b))) {
            let expected = a & 1 != 0 && b & 2 != 0 || a & 2 != 0 && b & 1 != 0;
            assert_eq!(Sides(a).can_pair(Sides(b)), expected);
        }
    }

    #[test]
    fn rows_out_of_bounds_or_below_earlier_ones_are_refused() {
        let mut chunk = Chunk::<u64>::default();
        assert_eq!(chunk.push(&mut vec![(5, 1), (9, 1)], (5, 1)..(9, 1)), Err(OutOfBounds));
        assert_eq!(chunk.push(&mut vec![(5, 1), (9, 1)], (5, 2)..), Err(OutOfBounds));
        assert_eq!(chunk.push(&mut vec![(5, 1), (9, 1)], (5, 1)..(9, 2)), Ok(()));
        assert_eq!(chunk.push(&mut vec![(8, 1), (10, 1)], ..), Err(OutOfBounds));
        assert_eq!(chunk.push(&mut Vec::new(), ..), Ok(()));
        assert_eq!((chunk.rows(), chunk.keys()), (2, &[5, 9][..]));
    }

    #[test]
    fn room_that_memory_has_not_is_refused() {
        let mut chunk = Chunk::<u64>::default();
        assert_eq!(
            chunk.restart(usize::MAX / 32, None),
            Err(NoMemory { bytes: usize::MAX / 32 * 8 })
        );
        assert_eq!(chunk.restart(10, None), Ok(()));
    }

    #[test]
    fn keys_without_a_bit_are_counted_wherever_they_end() {
        for count in 0..300usize {
            for without in 0..=count {
                let keys: Vec<u64> =
                    (0..count as u64).map(|i| i | u64::from(i >= without as u64) << 32).collect();
                assert_eq!(zeros(&keys, 1 << 32), without, "{count} keys");
            }
        }
    }

    #[test]
    fn leaves_are_small_and_partition_the_keys() {
        let mut rows: Vec<(u64, u64)> = (0..5000u64).map(|i| (i * i * i, i)).collect();
        let mut chunk = Chunk::default();
        chunk.push(&mut rows, ..).unwrap();
        chunk.finish(&mut || ());
        let mut leaves: Vec<_> = chunk.nodes.iter().filter(|node| node.is_leaf()).collect();
        leaves.sort_by_key(|node| node.low);
        assert!(leaves.iter().all(|node| (1..=LEAF_KEYS).contains(&node.len())));
        assert!(leaves.windows(2).all(|pair| pair[0].high == pair[1].low));
        assert!(chunk.nodes.len() < chunk.keys().len() / 8 + 2, "{} nodes", chunk.nodes.len());
    }
}
