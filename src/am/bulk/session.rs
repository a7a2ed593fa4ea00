//! A join in progress, batch by batch: pairs are found, then their rows are looked up in the heap.
//!
//! Nothing stays open, locked or pinned between batches, so a query may end at any of them. Rows that
//! take part in a pair are looked up once, a batch's together and in the order of the heap.
//!
//! Memory: half of simhash.work_mem for the rows being compared, half for what is known of rows with
//! a near-duplicate.

use pgrx::PgSqlErrorCode;
use simhash_core::join::{Found, Join, Members, Run, Step, bytes_per_row, cheapest, sort_checked};
use simhash_core::search::Key;

use super::heap::Heap;
use super::leaves::{Leaves, most_rows};
use super::progress::{self, Command, Progress};
use super::target::Target;
use crate::am::check_for_interrupts;
use crate::am::index::Index;
use crate::am::opened::Opened;
use crate::error::raise;
use crate::guc::work_mem;

/// How many pairs the first batch looks for, so that a LIMIT is served soon.
const FIRST_BATCH: usize = 1024;
const LARGEST_BATCH: usize = 1 << 20;

/// The notes about a group of equal fingerprints: its rows are not looked up yet, or they are.
const UNSEEN: u32 = 0;
pub const SEEN: u32 = 1;

/// Which of two runs a number refers to.
#[derive(Clone, Copy)]
pub enum Side {
    Left,
    Right,
}

pub struct Session<F> {
    target: Target,
    join: Join<F>,
    pub members: Members,
    pub found: Vec<Found>,
    unknown: Vec<u64>,
    batch: usize,
    done: bool,
    pairs: usize,
    command: Command,
    /// For `members`.
    memory: usize,
    progress: Progress,
}

impl<F: Key> Session<F> {
    pub fn new(target: Target, opened: &Opened, distance: u32, command: Command) -> Self {
        let index = Index::<F>::open(opened.rel());
        let memory = work_mem() / 2;
        let rows = most_rows(&index);
        let plan = cheapest::<F>(index.layout, distance, rows as f64);
        let progress = Progress::start(command, target, plan.radii(), rows);
        Self {
            target,
            join: Join::new(plan, memory / bytes_per_row::<F>()),
            members: Members::default(),
            found: Vec::new(),
            unknown: Vec::new(),
            batch: FIRST_BATCH,
            done: false,
            pairs: 0,
            command,
            memory,
            progress,
        }
    }

    /// Finds the next pairs, and looks up their rows. False when there are no more.
    pub fn next_batch(&mut self) -> bool {
        self.found.clear();
        if self.done {
            return false;
        }
        if self.command == Command::Pairs && self.members.memory() > self.memory {
            self.forget_members();
        }
        let opened = self.target.open();
        let index = Index::<F>::open(opened.rel());
        let mut leaves = Leaves::new(&index);
        let mut seen = 0;
        progress::comparing();
        loop {
            let step = self.join.step(&mut leaves, &mut self.found);
            self.collect_unknown(seen);
            seen = self.found.len();
            self.report();
            self.done = step == Step::Done;
            let full = self.found.len().max(self.unknown.len()) >= self.batch;
            if self.done || full || (step == Step::Flush && seen > 0) {
                break;
            }
        }
        self.batch = (self.batch * 4).min((work_mem() / 256).min(LARGEST_BATCH));
        self.pairs += self.found.len();
        self.look_up(&opened);
        true
    }

    /// Notes which rows of the pairs from number `from` on have not been looked up.
    fn collect_unknown(&mut self, from: usize) {
        for i in from..self.found.len() {
            let Found { left, right, .. } = self.found[i];
            for (side, group) in [(Side::Left, left), (Side::Right, right)] {
                let run = match side {
                    Side::Left => self.join.left(),
                    Side::Right => self.join.right(),
                };
                if run.mark(group) == UNSEEN {
                    run.set_mark(group, SEEN);
                    let members = &self.members;
                    let unknown = interruptible(run.group(group)).filter(|&&tid| members.find(tid).is_none());
                    self.unknown.extend(unknown);
                }
            }
        }
    }

    fn look_up(&mut self, opened: &Opened) {
        if self.unknown.is_empty() {
            return;
        }
        progress::looking_up();
        sort_checked(&mut self.unknown, &mut || check_for_interrupts());
        self.unknown.dedup();
        // SAFETY: the table stays open until the end of the batch.
        let mut heap = unsafe { Heap::new(opened) };
        for tid in self.unknown.drain(..) {
            self.members.insert(tid, heap.visible(tid));
            if self.command == Command::Clusters && self.members.memory_if_grown() > self.memory {
                raise_memory(self.members.len());
            }
        }
        // A group of a million rows need not leave its room behind.
        self.unknown.shrink_to(LARGEST_BATCH);
        check_for_interrupts();
    }

    /// What is known of rows is only remembered, for pairs: it can be looked up again.
    fn forget_members(&mut self) {
        self.members.clear();
        self.join.left().clear_marks();
        self.join.right().clear_marks();
    }

    /// The run that the numbers of one side refer to.
    pub fn run(&mut self, side: Side) -> &mut Run<F> {
        match side {
            Side::Left => self.join.left(),
            Side::Right => self.join.right(),
        }
    }

    /// Whether both sides are the same run.
    pub fn is_one_run(&self) -> bool {
        !self.join.is_across()
    }

    /// Puts the visible versions of a group's rows, all looked up, into `rows`.
    pub fn visible(&mut self, side: Side, group: u32, rows: &mut Vec<u64>) {
        rows.clear();
        let (run, members) = self.run_and_members(side);
        let known = interruptible(run.group(group)).filter_map(|&tid| members.visible(members.find(tid)?));
        rows.extend(known);
    }

    /// Puts the visible rows of a group into one cluster; returns one of them.
    pub fn unite_group(&mut self, side: Side, group: u32) -> Option<u32> {
        let (run, members) = self.run_and_members(side);
        let mut first = None;
        for &tid in interruptible(run.group(group)) {
            let Some(row) = members.find(tid).filter(|&row| members.visible(row).is_some()) else { continue };
            match first {
                None => first = Some(row),
                Some(first) => members.unite(first, row),
            }
        }
        first
    }

    fn run_and_members(&mut self, side: Side) -> (&Run<F>, &mut Members) {
        let run = match side {
            Side::Left => self.join.left(),
            Side::Right => self.join.right(),
        };
        (run, &mut self.members)
    }

    /// Gives up everything but what is known of rows; the progress report goes on while the second part lives.
    pub fn into_members(self) -> (Members, Progress) {
        (self.members, self.progress)
    }

    fn report(&self) {
        let (table, share) = self.join.progress();
        progress::advance(self.join.plan(), table, share, self.pairs + self.found.len());
    }
}

/// The rows of a group, of which there may be millions.
fn interruptible(rows: &[u64]) -> impl Iterator<Item = &u64> {
    rows.iter().inspect(|_| check_for_interrupts())
}

fn raise_memory(rows: usize) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        format!(
            "simhash_clusters needs more than the {} MB that simhash.work_mem allows: {rows} rows so far have a near-duplicate",
            work_mem() >> 20
        ),
        "Raise simhash.work_mem: half of it is for those rows, up to 120 bytes each.",
    )
}

/// Checks a distance against a width; raises 22003.
pub fn checked_distance(distance: i32, bits: u32) -> u32 {
    u32::try_from(distance).ok().filter(|&distance| distance <= bits).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            format!("distance {distance} is out of range for {bits} bits"),
            &format!("Allowed: 0 to {bits}."),
        )
    })
}
