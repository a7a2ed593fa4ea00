//! The whole join, step by step: table after table, each in as many chunks as memory asks for.
//!
//! Chunk i of a table is joined with itself and then with every later chunk that it can have a pair
//! with, so any two rows of a table meet once. Where chunks begin is found while the first one is
//! joined with all others, and kept for the table.

use super::meet::can_meet;
use super::memory::NoMemory;
use super::run::Run;
use super::walk::{Found, Walk};
use crate::search::{Key, Plan};

/// A place in a table: everything below (key, TID) comes before it.
pub type Position<F> = (F, u64);

/// Which rows of a table are to be read.
#[derive(Clone, Copy, Debug)]
pub struct Rows<F> {
    pub table: u32,
    pub from: Position<F>,
    /// Where to stop; if it is not given, when `limit` rows have been read, and `None` is the end.
    pub to: Option<Position<F>>,
    pub limit: usize,
}

/// Where the rows come from.
pub trait Source<F> {
    /// Pushes rows to `run`, keys rotated for the table. Returns where the next begin, if there are more.
    /// Pushing somewhat more than the limit is allowed; pushing nothing and returning the start is not.
    fn read(&mut self, rows: Rows<F>, run: &mut Run<F>) -> Option<Position<F>>;

    /// The number of rows of a table, about.
    fn expected_rows(&self) -> usize;

    /// Called between pieces of work; may unwind.
    fn check(&mut self);

    /// Called when memory is refused; unwinds.
    fn refused(&mut self, refused: NoMemory) -> !;
}

/// What a step did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// There is more to come.
    Working,
    /// The next step reads other rows: what was found so far must have been dealt with by then.
    Flush,
    /// That was all.
    Done,
}

/// What the next step does.
enum State {
    Table(u32),
    /// Read chunk i as the left one.
    Left(usize),
    /// Emit groups of equal fingerprints from this number on.
    Groups(u32),
    Walk(Walk),
    /// Read chunk j as the right one.
    Right(usize),
    Across(Walk, usize),
    Done,
}

/// All pairs within a plan's distance, in progress.
pub struct Join<F> {
    plan: Plan,
    table: u32,
    state: State,
    left: Run<F>,
    right: Run<F>,
    /// The most rows of a run: alone, or beside another.
    limit: usize,
    chunked: bool,
    chunk: usize,
    /// Whether what is found are pairs of the left and the right run, not of the left one with itself.
    across: bool,
    /// Where the chunks of the table begin, as far as that is known, and whether that is all of them.
    starts: Vec<Position<F>>,
    complete: bool,
}

impl<F: Key> Join<F> {
    /// A join that keeps about `limit` rows in memory.
    pub fn new(plan: Plan, limit: usize) -> Self {
        Self {
            plan,
            table: 0,
            state: State::Table(0),
            left: Run::default(),
            right: Run::default(),
            limit: limit.clamp(2, 1 << 31),
            chunked: false,
            chunk: 0,
            across: false,
            starts: Vec::new(),
            complete: false,
        }
    }

    /// The plan that it follows.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The table being joined, and the share of the present chunks that is done.
    pub fn progress(&self) -> (u32, f64) {
        let share = match &self.state {
            State::Walk(walk) | State::Across(walk, _) => walk.progress(),
            State::Done => 1.0,
            _ => 0.0,
        };
        (self.table, share)
    }

    /// Whether what was found are pairs of two runs, not of one with itself.
    pub fn is_across(&self) -> bool {
        self.across
    }

    /// The runs that the numbers of [`Found`] refer to; the right one is the left if it is joined with itself.
    pub fn left(&mut self) -> &mut Run<F> {
        &mut self.left
    }

    /// See [`Join::left`].
    pub fn right(&mut self) -> &mut Run<F> {
        if self.across { &mut self.right } else { &mut self.left }
    }

    /// Does some work and appends what is found. After [`Step::Flush`] and before the next step, `found`
    /// must be dealt with.
    pub fn step(&mut self, source: &mut impl Source<F>, found: &mut Vec<Found>) -> Step {
        source.check();
        match std::mem::replace(&mut self.state, State::Done) {
            State::Done => return Step::Done,
            State::Table(table) => self.start_table(table),
            State::Left(chunk) => self.read_left(chunk, source),
            State::Groups(from) => self.emit_groups(from, found),
            State::Walk(walk) => return self.walk_on(walk, None, found),
            State::Right(chunk) => self.read_right(chunk, source),
            State::Across(walk, chunk) => return self.walk_on(walk, Some(chunk), found),
        }
        Step::Working
    }

    fn walk_on(&mut self, mut walk: Walk, across: Option<usize>, found: &mut Vec<Found>) -> Step {
        let right = across.map(|_| &self.right);
        let more = walk.step(&self.plan, &self.left, right, found);
        self.state = match across {
            _ if !more => self.after(across.unwrap_or(self.chunk)),
            Some(chunk) => State::Across(walk, chunk),
            None => State::Walk(walk),
        };
        if more { Step::Working } else { Step::Flush }
    }

    fn start_table(&mut self, table: u32) {
        self.table = table;
        self.starts.clear();
        self.starts.push((F::ZERO, 0));
        self.complete = false;
        self.state = match self.plan.radii().get(table as usize) {
            None => State::Done,
            Some(-1) => State::Table(table + 1),
            Some(_) => State::Left(0),
        };
    }

    fn read_left(&mut self, chunk: usize, source: &mut impl Source<F>) {
        (self.chunk, self.across) = (chunk, false);
        let mut run = std::mem::take(&mut self.left);
        let limit = if self.chunked { self.limit / 2 } else { self.limit };
        self.read(chunk, limit, source, &mut run);
        if !self.chunked && !self.complete {
            // From here on two runs share the memory.
            self.chunked = true;
            self.starts.truncate(1);
            run = Run::default();
            self.read(chunk, self.limit / 2, source, &mut run);
        }
        self.left = run;
        let first = self.plan.radii().iter().position(|&radius| radius >= 0);
        // Equal fingerprints differ in no block: the first table that is read emits them.
        self.state = if first == Some(self.table as usize) { State::Groups(0) } else { self.walk() };
    }

    fn walk(&self) -> State {
        let walk = Walk::new(&self.plan, self.table, &self.left, None);
        walk.map_or_else(|| self.after(self.chunk), State::Walk)
    }

    /// Reads a chunk, and learns where the next begins.
    fn read(&mut self, chunk: usize, limit: usize, source: &mut impl Source<F>, run: &mut Run<F>) {
        let rows = Rows {
            table: self.table,
            from: self.starts[chunk],
            to: self.starts.get(chunk + 1).copied(),
            limit,
        };
        // Leaves are read whole, so a run goes a little beyond its limit.
        let expected = source.expected_rows();
        let room = (limit + 1024).min(expected + expected / 16 + 1024);
        run.restart(room).unwrap_or_else(|refused| source.refused(refused));
        let next = source.read(rows, run);
        run.finish(&mut || source.check());
        if chunk + 1 == self.starts.len() && !self.complete {
            match next {
                Some(next) => self.starts.push(next),
                None => self.complete = true,
            }
        }
    }

    fn emit_groups(&mut self, from: u32, found: &mut Vec<Found>) {
        const GROUPS: u32 = 1 << 16;
        let groups = self.left.keys().len() as u32;
        let to = groups.min(from + GROUPS);
        let equal = (from..to).filter(|&group| self.left.group(group).len() > 1);
        found.extend(equal.map(|group| Found { left: group, right: group, distance: 0 }));
        self.state = if to < groups { State::Groups(to) } else { self.walk() };
    }

    /// What follows when the left chunk has been joined with chunk `done`.
    fn after(&self, done: usize) -> State {
        let next = done + 1;
        if next < self.starts.len() {
            State::Right(next)
        } else if self.chunk + 1 < self.starts.len() {
            State::Left(self.chunk + 1)
        } else {
            State::Table(self.table + 1)
        }
    }

    fn read_right(&mut self, chunk: usize, source: &mut impl Source<F>) {
        let known = chunk + 1 < self.starts.len() || self.complete;
        if known && !self.can_meet(chunk) {
            self.state = self.after(chunk);
            return;
        }
        let mut run = std::mem::take(&mut self.right);
        self.read(chunk, self.limit / 2, source, &mut run);
        (self.right, self.across) = (run, true);
        let walk = Walk::new(&self.plan, self.table, &self.left, Some(&self.right));
        self.state = walk.map_or_else(|| self.after(chunk), |walk| State::Across(walk, chunk));
    }

    /// Whether the left chunk and another can have a pair.
    fn can_meet(&self, chunk: usize) -> bool {
        let end = |i: usize| self.starts.get(i + 1).map_or(F::MAX, |start| start.0);
        let interval = |i: usize| (self.starts[i].0, end(i));
        let ball = self.plan.ball(F::ZERO, self.table);
        ball.is_some_and(|ball| can_meet(ball.limits(), interval(self.chunk), interval(chunk)))
    }
}
