//! The whole join, step by step: table after table, each in as many chunks as memory requires.
//!
//! Chunk i of a table is joined with itself and then with every later chunk that it can have a pair
//! with. So two rows of one scope are in one join of chunks at most. Only the last scope of a chunk
//! can continue in later chunks, which are those that begin in it. The start of a chunk is found
//! when the chunk before is first read, and kept for the table.

use super::chunk::{Chunk, Tries};
use super::meet::can_meet;
use super::walk::{GroupPair, Piece, Walk};
use crate::Fingerprint;
use crate::base::memory::NoMemory;
use crate::search::{Plan, TreeKey};

/// A position in a table: all rows below (key, address) are before it.
pub type Start<K> = (K, u64);

/// The rows of a table that are to be read.
#[derive(Clone, Copy, Debug)]
pub struct Rows<K> {
    pub table: u32,
    pub from: Start<K>,
    /// Where to stop. `None`: at the end, or when `limit` rows have been read.
    pub to: Option<Start<K>>,
    pub limit: usize,
}

/// The source of the rows.
pub trait Source<K: TreeKey> {
    /// Pushes rows to `chunk`, their keys rotated for the table. Returns where the next rows start,
    /// if there are more. It may push a few rows more than the limit. It must make progress: if it
    /// pushes no row, it must not return `rows.from`.
    fn read(&mut self, rows: Rows<K>, chunk: &mut Chunk<K>) -> Option<Start<K>>;

    /// About the number of rows of a table.
    fn expected_rows(&self) -> usize;

    /// In a join of two tables: rows of the first have numbers below it, and rows of the second do
    /// not. `None` in a self-join.
    fn split(&self) -> Option<u64>;

    /// Called between pieces of work. It may unwind.
    fn check(&mut self);

    /// Called when memory is refused. It must unwind.
    fn refused(&mut self, refused: NoMemory) -> !;
}

/// The result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is more to do.
    Working,
    /// The next step reads other rows, so the caller must process what was found before it.
    Flush,
    /// The join is complete.
    Done,
}

/// What the next step does.
enum State {
    /// Begin this table.
    Table(u32),
    /// Read the chunk with this number as the left one.
    Left(usize),
    /// Emit the groups of equal fingerprints from this number on.
    Groups(u32),
    /// Join the left chunk with itself.
    Walk(Walk),
    /// Read the chunk with this number as the right one.
    Right(usize),
    /// Join the left chunk with the right one, which has this number.
    Across(Walk, usize),
    Done,
}

/// All pairs within a plan's distance, in progress.
pub struct Join<K: TreeKey> {
    plan: Plan,
    table: u32,
    state: State,
    left: Chunk<K>,
    right: Chunk<K>,
    /// The most rows in memory.
    limit: usize,
    /// Whether a table does not fit in memory, so that two chunks share the memory.
    in_chunks: bool,
    /// The number of the left chunk.
    number: usize,
    /// Whether the left chunk is joined with the right one, and not with itself.
    across: bool,
    /// Where the chunks of the table start, as far as that is known.
    starts: Vec<Start<K>>,
    /// Whether `starts` has all of them.
    complete: bool,
}

/// A walk in progress, over two chunks or one with itself. Other processes may take a share of it.
pub struct Walking<'a, K: TreeKey> {
    pub walk: &'a mut Walk,
    left: &'a Chunk<K>,
    right: &'a Chunk<K>,
}

impl<'a, K: TreeKey> Walking<'a, K> {
    /// A walk over one chunk with itself.
    pub(super) fn of_one(walk: &'a mut Walk, chunk: &'a Chunk<K>) -> Self {
        Self { walk, left: chunk, right: chunk }
    }

    /// Continues for a limited time, and appends the pairs that it finds. False if nothing is left.
    pub fn step(&mut self, found: &mut Vec<GroupPair>) -> bool {
        let from = found.len();
        let more = self.walk.step(self.left.tries(), self.right.tries(), found);
        self.keep_across(found, from);
        more
    }

    /// What the walk reads: the left chunk's tries and the right one's.
    pub fn tries(&self) -> (Tries<'_, K::Fingerprint>, Tries<'_, K::Fingerprint>) {
        (self.left.tries(), self.right.tries())
    }

    /// The number of distinct keys that the walk reads.
    pub fn keys(&self) -> usize {
        let right = if self.is_across() { self.right.keys().len() } else { 0 };
        self.left.keys().len() + right
    }

    /// Whether there are two chunks.
    pub fn is_across(&self) -> bool {
        !std::ptr::eq(self.left, self.right)
    }

    /// Takes the remaining work out of the walk, in about so many pieces.
    pub fn divide(&mut self, pieces: usize) -> Vec<Piece> {
        self.walk.divide(self.left.tries(), self.right.tries(), pieces)
    }

    /// In a join of two tables, drops the pairs from number `from` on whose rows are all of one
    /// table.
    pub fn keep_across(&self, found: &mut Vec<GroupPair>, from: usize) {
        if !self.left.is_of_two() {
            return;
        }
        let mut kept = from;
        for i in from..found.len() {
            let GroupPair { left, right, .. } = found[i];
            if self.left.sides(left).can_pair(self.right.sides(right)) {
                found[kept] = found[i];
                kept += 1;
            }
        }
        found.truncate(kept);
    }
}

impl<K: TreeKey> Join<K> {
    /// A join that keeps about `limit` rows in memory.
    pub fn new(plan: Plan, limit: usize) -> Self {
        Self {
            plan,
            table: 0,
            state: State::Table(0),
            left: Chunk::default(),
            right: Chunk::default(),
            limit: limit.clamp(2, 1 << 31),
            in_chunks: false,
            number: 0,
            across: false,
            starts: Vec::new(),
            complete: false,
        }
    }

    /// The plan that the join follows.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The table being joined, and the share of the current chunks that is done.
    pub fn progress(&self) -> (u32, f64) {
        let share = match &self.state {
            State::Walk(walk) | State::Across(walk, _) => walk.progress(),
            State::Done => 1.0,
            _ => 0.0,
        };
        (self.table, share)
    }

    /// Whether the pairs found are of two chunks, and not of one with itself.
    pub fn is_across(&self) -> bool {
        self.across
    }

    /// The chunk to which the left numbers of [`GroupPair`]s refer.
    pub fn left(&mut self) -> &mut Chunk<K> {
        &mut self.left
    }

    /// The chunk to which the right numbers of [`GroupPair`]s refer: the left chunk, if that is
    /// joined with itself.
    pub fn right(&mut self) -> &mut Chunk<K> {
        if self.across { &mut self.right } else { &mut self.left }
    }

    /// Does some work and appends the pairs that it finds. The caller must process `found` after
    /// [`Step::Flush`] and before the next step.
    pub fn step(&mut self, source: &mut impl Source<K>, found: &mut Vec<GroupPair>) -> Step {
        source.check();
        match std::mem::replace(&mut self.state, State::Done) {
            State::Done => return Step::Done,
            State::Table(table) => self.start_table(table),
            State::Left(number) => self.read_left(number, source),
            State::Groups(from) => self.emit_groups(from, found),
            State::Walk(walk) => return self.walk_on(walk, None, found),
            State::Right(number) => self.read_right(number, source),
            State::Across(walk, number) => return self.walk_on(walk, Some(number), found),
        }
        Step::Working
    }

    /// Continues the walk over the left chunk and the one with the number `across`, or over the
    /// left one alone.
    fn walk_on(&mut self, walk: Walk, across: Option<usize>, found: &mut Vec<GroupPair>) -> Step {
        self.state = match across {
            Some(number) => State::Across(walk, number),
            None => State::Walk(walk),
        };
        if self.walking().is_some_and(|mut walking| walking.step(found)) {
            return Step::Working;
        }
        self.state = self.after(across.unwrap_or(self.number));
        Step::Flush
    }

    /// The walk in progress, if the next step goes on with one.
    pub fn walking(&mut self) -> Option<Walking<'_, K>> {
        let right = if self.across { &self.right } else { &self.left };
        match &mut self.state {
            State::Walk(walk) | State::Across(walk, _) => {
                Some(Walking { walk, left: &self.left, right })
            }
            _ => None,
        }
    }

    fn start_table(&mut self, table: u32) {
        self.table = table;
        self.starts.clear();
        self.starts.push((K::MIN, 0));
        self.complete = false;
        self.state = match self.plan.radii().nth(table as usize) {
            None => State::Done,
            Some(None) => State::Table(table + 1),
            Some(Some(_)) => State::Left(0),
        };
    }

    fn read_left(&mut self, number: usize, source: &mut impl Source<K>) {
        (self.number, self.across) = (number, false);
        let mut chunk = std::mem::take(&mut self.left);
        let limit = if self.in_chunks { self.limit / 2 } else { self.limit };
        self.read(number, limit, source, &mut chunk);
        if !self.in_chunks && !self.complete {
            // From here on two chunks share the memory.
            self.in_chunks = true;
            self.starts.truncate(1);
            chunk = Chunk::default();
            self.read(number, self.limit / 2, source, &mut chunk);
        }
        self.left = chunk;
        let first = self.plan.radii().position(|radius| radius.is_some());
        // Equal fingerprints differ in no block, so the first table that is read emits them.
        self.state =
            if first == Some(self.table as usize) { State::Groups(0) } else { self.walk() };
    }

    fn walk(&self) -> State {
        let walk = Walk::new(&self.plan, self.table, &self.left, None);
        walk.map_or_else(|| self.after(self.number), State::Walk)
    }

    /// Reads the chunk with this number, and records where the next one starts if that is not
    /// known.
    fn read(
        &mut self,
        number: usize,
        limit: usize,
        source: &mut impl Source<K>,
        chunk: &mut Chunk<K>,
    ) {
        let rows = Rows {
            table: self.table,
            from: self.starts[number],
            to: self.starts.get(number + 1).copied(),
            limit,
        };
        // Sources read whole leaves, so a chunk may exceed its limit a little.
        let expected = source.expected_rows();
        let room = (limit + 1024).min(expected + expected / 16 + 1024);
        chunk.restart(room, source.split()).unwrap_or_else(|refused| source.refused(refused));
        let next = source.read(rows, chunk);
        chunk.finish(&mut || source.check());
        if number + 1 == self.starts.len() && !self.complete {
            match next {
                Some(next) => self.starts.push(next),
                None => self.complete = true,
            }
        }
    }

    fn emit_groups(&mut self, from: u32, found: &mut Vec<GroupPair>) {
        const GROUPS: u32 = 1 << 16;
        let groups = self.left.keys().len() as u32;
        let to = groups.min(from + GROUPS);
        let equal = (from..to).filter(|&group| {
            let sides = self.left.sides(group);
            self.left.group(group).len() > 1 && sides.can_pair(sides)
        });
        found.extend(equal.map(|group| GroupPair { left: group, right: group, distance: 0 }));
        self.state = if to < groups { State::Groups(to) } else { self.walk() };
    }

    /// The state that follows the join of the left chunk with the chunk of number `done`.
    fn after(&self, done: usize) -> State {
        let next = done + 1;
        if next < self.starts.len() {
            State::Right(next)
        } else if self.number + 1 < self.starts.len() {
            State::Left(self.number + 1)
        } else {
            State::Table(self.table + 1)
        }
    }

    fn read_right(&mut self, number: usize, source: &mut impl Source<K>) {
        if self.left.last_scope() != Some(self.starts[number].0.scope()) {
            // No later chunk has rows of that scope either.
            self.state = State::Left(self.number + 1);
            return;
        }
        let known = number + 1 < self.starts.len() || self.complete;
        if known && !self.can_meet(number) {
            self.state = self.after(number);
            return;
        }
        let mut chunk = std::mem::take(&mut self.right);
        self.read(number, self.limit / 2, source, &mut chunk);
        (self.right, self.across) = (chunk, true);
        let walk = Walk::new(&self.plan, self.table, &self.left, Some(&self.right));
        self.state = walk.map_or_else(|| self.after(number), |walk| State::Across(walk, number));
    }

    /// Whether the left chunk can have a pair with the chunk of this number, which begins in the
    /// left one's last scope.
    fn can_meet(&self, number: usize) -> bool {
        let scope = self.starts[number].0.scope();
        let within =
            |i: usize| self.starts.get(i).map(|start| start.0).filter(|key| key.scope() == scope);
        let low = |i| within(i).map_or(K::Fingerprint::ZERO, K::fingerprint);
        let high = |i| within(i + 1).map_or(K::Fingerprint::MAX, K::fingerprint);
        let probe = self.plan.probe(K::Fingerprint::ZERO, self.table);
        let (left, other) = ((low(self.number), high(self.number)), (low(number), high(number)));
        probe.is_some_and(|probe| can_meet(probe.limits(), left, other))
    }
}
