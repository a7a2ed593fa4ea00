//! Connected components of a graph whose edges need not fit in memory.
//!
//! Edges are sorted externally, in runs. Two steps alternate until neither changes anything: the
//! "large star" and the "small star" of Kiveris et al., Connected Components in MapReduce and
//! Beyond, SoCC 2014. The large star connects the greater neighbours of a vertex with its least
//! neighbour, if that is less than the vertex. The small star connects the lesser neighbours of a
//! vertex, and the vertex, with the least of them. Both preserve components and add no edge. Each
//! change lowers the sum of all ends, so the loop terminates. Then each component is a star around
//! its least vertex.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::vec::IntoIter;

use crate::base::memory::{NoMemory, reserve};
use crate::base::sort::sort_checked;
use crate::base::spill::Spill;

/// Two vertices.
pub type Edge = (u64, u64);

/// Bytes of an edge in a [`Spill`].
const RECORD: usize = 16;
/// Bytes that are written at once.
const BUFFER: usize = 1 << 16;
/// The number of edges that are read between two calls of `check`.
const STRETCH: usize = 1 << 16;

/// Edges in a [`Spill`], in the order in which they were added.
pub struct Log<S> {
    file: S,
    /// Edges that are not yet written.
    bytes: Vec<u8>,
    written: u64,
}

impl<S: Default> Default for Log<S> {
    fn default() -> Self {
        Self { file: S::default(), bytes: Vec::new(), written: 0 }
    }
}

impl<S: Spill> Log<S> {
    /// Adds an edge at the end.
    pub fn push(&mut self, (a, b): Edge) {
        self.bytes.extend_from_slice(&a.to_le_bytes());
        self.bytes.extend_from_slice(&b.to_le_bytes());
        if self.bytes.len() >= BUFFER {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.bytes.is_empty() {
            self.file.append(&self.bytes);
            self.written += self.bytes.len() as u64;
            self.bytes.clear();
        }
    }

    fn read(mut self) -> Reader<S> {
        self.flush();
        Reader { file: self.file, cursor: Cursor::new(0, self.written, BUFFER) }
    }
}

/// A position in a range of edges.
struct Cursor {
    /// The range of the file that is still to be read.
    at: u64,
    end: u64,
    /// Bytes that were read, of which the first `used` were returned.
    bytes: Vec<u8>,
    used: usize,
    /// The most bytes to be read at once.
    buffer: u64,
}

impl Cursor {
    fn new(at: u64, end: u64, buffer: usize) -> Self {
        let buffer = buffer.next_multiple_of(RECORD) as u64;
        Self { at, end, bytes: Vec::new(), used: 0, buffer }
    }

    fn next(&mut self, file: &mut impl Spill) -> Option<Edge> {
        if self.used == self.bytes.len() {
            let length = (self.end - self.at).min(self.buffer);
            self.bytes.resize(length as usize, 0);
            if length > 0 {
                file.read(self.at, &mut self.bytes);
            }
            self.at += length;
            self.used = 0;
        }
        let mut number = || {
            let (bytes, _) = self.bytes.get(self.used..)?.split_first_chunk()?;
            self.used += bytes.len();
            Some(u64::from_le_bytes(*bytes))
        };
        Some((number()?, number()?))
    }
}

struct Reader<S> {
    file: S,
    cursor: Cursor,
}

impl<S: Spill> Iterator for Reader<S> {
    type Item = Edge;

    fn next(&mut self) -> Option<Edge> {
        self.cursor.next(&mut self.file)
    }
}

/// Sorts edges that are added in any order.
struct Sorter<S> {
    edges: Vec<Edge>,
    most: usize,
    log: Log<S>,
    /// The ends of the runs in the log.
    ends: Vec<u64>,
}

impl<S: Spill + Default> Sorter<S> {
    fn new(memory: usize) -> Result<Self, NoMemory> {
        let most = (memory / size_of::<Edge>()).max(2);
        let mut edges = Vec::new();
        reserve(&mut edges, most)?;
        Ok(Self { edges, most, log: Log::default(), ends: Vec::new() })
    }

    fn push(&mut self, edge: Edge, check: &mut dyn FnMut()) {
        if self.edges.len() == self.most {
            self.end_run(check);
        }
        self.edges.push(edge);
    }

    fn sort(&mut self, check: &mut dyn FnMut()) {
        sort_checked(&mut self.edges, check);
        self.edges.dedup();
    }

    fn end_run(&mut self, check: &mut dyn FnMut()) {
        self.sort(check);
        self.edges.drain(..).for_each(|edge| self.log.push(edge));
        self.log.flush();
        self.ends.push(self.log.written);
    }

    /// The edges in ascending order, each once.
    fn sorted(mut self, memory: usize, check: &mut dyn FnMut()) -> Sorted<S> {
        if self.ends.is_empty() {
            self.sort(check);
            return Sorted::new(self.edges, S::default(), Vec::new());
        }
        self.end_run(check);
        let buffer = (memory / self.ends.len()).clamp(1 << 13, 1 << 20);
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let runs = starts.zip(&self.ends).map(|(at, &end)| Cursor::new(at, end, buffer));
        Sorted::new(Vec::new(), self.log.file, runs.collect())
    }
}

/// Edges in ascending order: in memory, or merged from runs.
struct Sorted<S> {
    memory: IntoIter<Edge>,
    file: S,
    runs: Vec<Cursor>,
    /// The next edge of every run that has one.
    next: BinaryHeap<Reverse<(Edge, usize)>>,
    last: Option<Edge>,
}

impl<S: Spill> Sorted<S> {
    fn new(memory: Vec<Edge>, mut file: S, mut runs: Vec<Cursor>) -> Self {
        let first = |(run, cursor): (usize, &mut Cursor)| cursor.next(&mut file).map(|e| (e, run));
        let next = runs.iter_mut().enumerate().filter_map(first).map(Reverse).collect();
        Self { memory: memory.into_iter(), file, runs, next, last: None }
    }
}

impl<S: Spill> Iterator for Sorted<S> {
    type Item = Edge;

    fn next(&mut self) -> Option<Edge> {
        while let Some(mut least) = self.next.peek_mut() {
            let Reverse((edge, run)) = *least;
            match self.runs[run].next(&mut self.file) {
                Some(next) => *least = Reverse((next, run)),
                None => drop(std::collections::binary_heap::PeekMut::pop(least)),
            }
            if self.last.replace(edge) != Some(edge) {
                return Some(edge);
            }
        }
        self.memory.next()
    }
}

/// Passes each edge to `sink`, the greater end first. `edges` must ascend and contain both
/// directions of each edge. An edge from a vertex to a greater one is replaced by one from the
/// vertex's least neighbour, if that is less than the vertex. Returns whether any edge was
/// replaced.
fn large_star(edges: impl Iterator<Item = Edge>, mut sink: impl FnMut(Edge)) -> bool {
    let (mut centre, mut least, mut changed) = (None, 0, false);
    for (vertex, neighbour) in edges {
        if centre != Some(vertex) {
            (centre, least) = (Some(vertex), vertex.min(neighbour));
        }
        if neighbour > vertex {
            changed |= least != vertex;
            sink((neighbour, least));
        }
    }
    changed
}

/// Passes each edge to `sink`. `edges` must ascend, with the greater end first. A vertex stays
/// connected with its least neighbour, and its other neighbours are connected with that one
/// instead. Returns whether there were any others.
fn small_star(edges: impl Iterator<Item = Edge>, mut sink: impl FnMut(Edge)) -> bool {
    let (mut centre, mut least, mut changed) = (None, 0, false);
    for (vertex, neighbour) in edges {
        if centre != Some(vertex) {
            (centre, least) = (Some(vertex), neighbour);
            sink((vertex, neighbour));
        } else {
            changed = true;
            sink((neighbour, least));
        }
    }
    changed
}

/// The connected components of a graph, as (least vertex, vertex, number of vertices) in ascending
/// order. Uses about `memory` bytes. `check` is called now and then, and may unwind.
///
/// # Errors
/// When memory is refused.
pub fn components<S: Spill + Default>(
    edges: Log<S>,
    memory: usize,
    check: &mut dyn FnMut(),
) -> Result<Components<S>, NoMemory> {
    // One set of edges is read, the next one is collected, and a third may just have been released.
    let memory = memory / 3;
    let mut both = Sorter::<S>::new(memory)?;
    for (i, (a, b)) in edges.read().enumerate() {
        if i.is_multiple_of(STRETCH) {
            check();
        }
        if a != b {
            both.push((a, b), check);
            both.push((b, a), check);
        }
    }
    loop {
        let sorted = both.sorted(memory, check);
        let mut down = Sorter::<S>::new(memory)?;
        let mut changed = large_star(sorted, |edge| down.push(edge, check));
        let sorted = down.sorted(memory, check);
        both = Sorter::new(memory)?;
        changed |= small_star(sorted, |(a, b)| {
            both.push((a, b), check);
            both.push((b, a), check);
        });
        if !changed {
            return Ok(Components::of_stars(both.sorted(memory, check)));
        }
    }
}

/// The result of [`components`].
pub struct Components<S> {
    /// The least vertex of a component, and a vertex.
    vertices: Reader<S>,
    /// The least vertex of a component, and the number of vertices.
    sizes: Reader<S>,
    current: Edge,
}

impl<S: Spill + Default> Components<S> {
    /// From edges between the least vertex of a component and each other one, in both directions.
    fn of_stars(edges: impl Iterator<Item = Edge>) -> Self {
        let (mut vertices, mut sizes) = (Log::<S>::default(), Log::<S>::default());
        let mut current: Option<Edge> = None;
        for (least, vertex) in edges.filter(|(least, vertex)| least < vertex) {
            match &mut current {
                Some((of, size)) if *of == least => *size += 1,
                _ => {
                    vertices.push((least, least));
                    if let Some(done) = current.replace((least, 2)) {
                        sizes.push(done);
                    }
                }
            }
            vertices.push((least, vertex));
        }
        current.into_iter().for_each(|done| sizes.push(done));
        Self { vertices: vertices.read(), sizes: sizes.read(), current: (0, 0) }
    }
}

impl<S: Spill> Iterator for Components<S> {
    type Item = (u64, u64, u32);

    fn next(&mut self) -> Option<(u64, u64, u32)> {
        let (least, vertex) = self.vertices.next()?;
        if least == vertex {
            self.current = self.sizes.next()?;
        }
        Some((least, vertex, u32::try_from(self.current.1).unwrap_or(u32::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;
    use crate::base::spill::tests::Buffer;
    use crate::whole::join::Members;

    /// The components by a union-find in memory.
    fn expected(edges: &[Edge]) -> Vec<(u64, u64, u32)> {
        let mut members = Members::default();
        for &(a, b) in edges.iter().filter(|(a, b)| a != b) {
            let numbers = [a, b].map(|row| {
                let number = members.remember(row, &mut || ()).unwrap();
                members.set_visible(number, Some(row));
                number
            });
            members.unite(numbers[0], numbers[1]);
        }
        members.into_clusters(&mut || ()).unwrap().collect()
    }

    fn agree(what: &str, edges: &[Edge]) {
        let expected = expected(edges);
        // Memory for many runs, for some, and for none.
        for memory in [1 << 10, 3 * 16 * edges.len() / 2, 1 << 24] {
            let mut log = Log::<Buffer>::default();
            edges.iter().for_each(|&edge| log.push(edge));
            let mut checks = 0;
            let found = components(log, memory, &mut || checks += 1).unwrap();
            assert!(found.eq(expected.iter().copied()), "{what}, {memory} bytes");
            assert!(checks > 0 || edges.is_empty());
        }
    }

    #[test]
    fn components_are_those_of_a_union_find_in_memory() {
        agree("nothing", &[]);
        agree("a loop", &[(5, 5)]);
        agree("copies of an edge", &[(7, 5), (5, 7), (7, 5), (5, 5)]);
        agree("the greatest number", &[(u64::MAX, 0), (u64::MAX, u64::MAX - 1)]);
        let mut random = SplitMix64::new(11);
        for (vertices, count) in [(50, 40), (3000, 1500), (3000, 3000), (200, 9000)] {
            let wide = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let edges: Vec<Edge> = (0..count)
                .map(|_| (wide(random.below(vertices)), wide(random.below(vertices))))
                .collect();
            agree("random edges", &edges);
        }
    }

    #[test]
    fn paths_stars_and_trees_end() {
        let count = 5000u64;
        let mixed = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        agree("a path", &(1..count).map(|i| (i - 1, i)).collect::<Vec<_>>());
        agree("a mixed path", &(1..count).map(|i| (mixed(i - 1), mixed(i))).collect::<Vec<_>>());
        agree("a star", &(1..count).map(|i| (count, i)).collect::<Vec<_>>());
        agree("a tree", &(1..count).map(|i| (mixed(i), mixed(i / 2))).collect::<Vec<_>>());
    }
}
