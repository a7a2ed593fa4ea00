//! The leader of processes that read ranges of a table.

use std::ops::Bound;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use pgrx::pg_sys;
use simhash_core::base::memory::NoMemory;
use simhash_core::search::{Plan, TreeKey};
use simhash_core::whole::join::{
    Chunk, Message, Rows, Source, Start, has_ranges, starts_of_ranges,
};

use super::range::{Range, bytes_of_row};
use super::shared::{Content, QUEUES, Shared};
use crate::bulk::leaves::Leaves;
use crate::bulk::progress;
use crate::bulk::target::{self, Target};
use crate::call::parallel::{Speaker, current_query, end, launch, lost, received, wait};
use crate::guc::work_mem;
use crate::storage::{Index, check_for_interrupts};

/// How many rows one unit of parallel_setup_cost is worth. By default, reading 500,000 rows takes
/// longer than launching workers for each table.
const ROWS_OF_COST: f64 = 500.0;
/// The most messages that are read from one worker before the next one's turn.
const MESSAGES: usize = 16;
/// If a larger share of rows have neighbours, reading by ranges does not pay.
const MOST_NEAR: f64 = 0.5;

/// How many processes may read tables of indexes with so many rows.
pub fn processes<K: TreeKey>(indexes: &[Index<K>], rows: usize, workers: usize) -> usize {
    let is_local = indexes.iter().any(|index| index.store.is_local());
    if is_local || rows < least_rows() { 1 } else { workers + 1 }
}

/// With fewer rows, one process reads a table.
fn least_rows() -> usize {
    // SAFETY: reads a setting.
    (unsafe { pg_sys::parallel_setup_cost } * ROWS_OF_COST) as usize
}

/// Rows that have neighbours.
pub struct Found<K> {
    /// Where the ranges begin.
    pub starts: Vec<Start<K>>,
    /// The rows of each range, ascending.
    pub rows: Vec<Vec<(K, u64)>>,
}

/// The outcome of reading ranges.
enum Outcome<K> {
    /// The rows of each range that have neighbours.
    Rows(Vec<Vec<(K, u64)>>),
    NoWorkers,
    /// Too many rows have neighbours, or a range has too many rows.
    Useless,
}

/// How a join reads by ranges, from block tables in which no pair spans two ranges.
pub struct Ranges {
    plan: Plan,
    sources: Rc<[target::Source]>,
    split: Option<usize>,
    workers: usize,
    /// Whether a table had too many rows with neighbours, or a range too many rows.
    given_up: bool,
}

impl Ranges {
    pub fn new(target: &Target, plan: &Plan, workers: usize) -> Self {
        let (sources, split) = (target.sources.clone(), target.split);
        Self { plan: plan.clone(), sources, split, workers, given_up: false }
    }

    /// The rows of a block table that have neighbours; `rows` asks for the whole table. `None` if
    /// it has to be read as a whole.
    fn read<K: TreeKey>(&mut self, indexes: &[Index<K>], rows: &Rows<K>) -> Option<Found<K>> {
        let table = rows.table;
        if self.given_up || !has_ranges(&self.plan, table) {
            return None;
        }
        let separators = indexes.iter().flat_map(|index| index.separators(table as u8));
        let starts = starts_of_ranges(&self.plan, table, separators.map(|entry| entry.key));
        match self.read_ranges(indexes, rows, &starts) {
            Outcome::Rows(rows) => {
                let near: usize = rows.iter().map(Vec::len).sum();
                let ranges = starts.len();
                pgrx::debug1!("simhash: {near} rows of {ranges} ranges have neighbours");
                Some(Found { starts, rows })
            }
            Outcome::NoWorkers => None,
            Outcome::Useless => {
                pgrx::debug1!("simhash: block tables are read as a whole");
                self.given_up = true;
                None
            }
        }
    }

    fn read_ranges<K: TreeKey>(
        &self,
        indexes: &[Index<K>],
        rows: &Rows<K>,
        starts: &[Start<K>],
    ) -> Outcome<K> {
        // A quarter of work_mem is for ranges, shared by all processes. The rows with neighbours
        // are collected in another quarter, and finally make a chunk in both.
        let table = rows.table;
        let limit = work_mem() / 4 / (self.workers + 1) / bytes_of_row::<K>();
        let most = (work_mem() / 2 / bytes_of_row::<K>()).min(rows.limit);
        let content = Content {
            plan: &self.plan,
            table,
            split: self.split,
            limit,
            sources: &self.sources,
            starts,
            workers: self.workers,
            query: current_query(),
        };
        // SAFETY: the chunks are those of the content.
        let (chunks, fill) = (content.chunks(), |toc| unsafe { content.store(toc) });
        let function = c"pg_simhash_range_worker";
        // SAFETY: the function is the entry point in `worker.rs`, and `store` fills chunks of these
        // sizes.
        let context = unsafe { launch(function, self.workers, &chunks, fill) };
        let Some(context) = context else { return Outcome::NoWorkers };
        // SAFETY: the content has filled the memory, and the workers were launched.
        let mut team = unsafe { Team::<K>::attach(context, starts.len(), most) };
        let mut leaves = Leaves::new(indexes, self.split);
        let mut range = Range::new(limit);
        loop {
            check_for_interrupts();
            let any = team.receive();
            // SAFETY: reads a setting.
            let takes_part = unsafe { pg_sys::parallel_leader_participation };
            if takes_part && let Some(number) = team.shared.take() {
                let read = range.read(&mut leaves, (&self.plan, table), starts, number);
                team.rows[number] = range.rows.clone();
                team.note(read);
            } else if team.workers.iter().all(|worker| worker.finished) {
                return team.end();
            } else if !any {
                // SAFETY: the context exists.
                unsafe { wait(team.context, &mut team.expected, None) };
            }
        }
    }
}

/// The leaves of indexes. Ranges of them are read with other processes, where that is faster.
pub struct Reader<'a, K: TreeKey> {
    pub leaves: Leaves<'a, K>,
    pub ranges: Option<&'a mut Ranges>,
}

impl<K: TreeKey> Reader<'_, K> {
    /// Reads only those rows of a block table that have neighbours. False if the table has to be
    /// read as a whole.
    fn read_neighbours(&mut self, rows: &Rows<K>, chunk: &mut Chunk<K>) -> bool {
        let is_whole = rows.from == (K::MIN, 0) && rows.to.is_none();
        let ranges = self.ranges.as_mut().filter(|_| is_whole);
        let Some(found) = ranges.and_then(|ranges| ranges.read(self.leaves.indexes(), rows)) else {
            return false;
        };
        for (number, mut rows) in found.rows.into_iter().enumerate() {
            let end = found.starts.get(number + 1);
            let end = end.map_or(Bound::Unbounded, |&end| Bound::Excluded(end));
            if chunk.push(&mut rows, (Bound::Included(found.starts[number]), end)).is_err() {
                lost("sent rows of another range");
            }
        }
        true
    }
}

impl<K: TreeKey> Source<K> for Reader<'_, K> {
    fn read(&mut self, rows: Rows<K>, chunk: &mut Chunk<K>) -> Option<Start<K>> {
        progress::reading();
        if self.read_neighbours(&rows, chunk) {
            progress::comparing();
            return None;
        }
        self.leaves.read(rows, chunk)
    }

    fn expected_rows(&self) -> usize {
        self.leaves.expected_rows()
    }

    fn split(&self) -> Option<u64> {
        self.leaves.split()
    }

    fn check(&mut self) {
        self.leaves.check();
    }

    fn refused(&mut self, refused: NoMemory) -> ! {
        self.leaves.refused(refused)
    }
}

/// The workers. It has no Drop: after an ERROR, the abort of the transaction ends them.
struct Team<K> {
    context: *mut pg_sys::ParallelContext,
    shared: Shared,
    workers: Vec<Speaker>,
    expected: bool,
    /// The rows with neighbours of each range.
    rows: Vec<Vec<(K, u64)>>,
    /// How many rows have been read, and how many with neighbours there may be.
    read: usize,
    most: usize,
    is_full: bool,
}

impl<K: TreeKey> Team<K> {
    /// # Safety
    /// `context` has the chunks and queues of a [`Content`], and its workers have been launched.
    unsafe fn attach(context: *mut pg_sys::ParallelContext, ranges: usize, most: usize) -> Self {
        // SAFETY: the context's chunks are filled, and used only until it ends.
        let shared = unsafe { Shared::new((*context).toc) };
        // SAFETY: the context has launched workers with these queues.
        let workers = unsafe { QUEUES.speakers(context) };
        let rows = (0..ranges).map(|_| Vec::new()).collect();
        Self { context, shared, workers, expected: false, rows, read: 0, most, is_full: false }
    }

    /// Reads messages of workers. False if there were none.
    fn receive(&mut self) -> bool {
        let mut any = false;
        for number in 0..self.workers.len() {
            for _ in 0..MESSAGES {
                let Speaker { queue, finished } = self.workers[number];
                if finished {
                    break;
                }
                // SAFETY: the context exists until the end, and so do the queues.
                let Some(message) = (unsafe { received(self.context, queue) }) else { break };
                any = true;
                match Message::read(message) {
                    Some(Message::Rows(range, rows)) if range < self.rows.len() => {
                        self.rows[range].extend(rows);
                    }
                    Some(Message::End(read)) => self.note(Some(read)),
                    Some(Message::Full) => self.note(None),
                    Some(Message::Last) => self.workers[number].finished = true,
                    _ => lost("sent an invalid message"),
                }
            }
        }
        any
    }

    /// Records the number of rows read of a range; `None`: they did not fit in memory. Stops the
    /// workers once reading by ranges has become useless.
    fn note(&mut self, read: Option<usize>) {
        match read {
            Some(read) => self.read += read,
            None => self.is_full = true,
        }
        progress::have_read(self.read);
        let near: usize = self.rows.iter().map(Vec::len).sum();
        let many = self.read > least_rows() && near as f64 > MOST_NEAR * self.read as f64;
        if many || near > self.most {
            self.is_full = true;
        }
        if self.is_full {
            self.shared.task().stop.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the workers, which have finished.
    fn end(self) -> Outcome<K> {
        // SAFETY: the context exists, and the queues are not used any more.
        unsafe { end(self.context, &self.workers) };
        if self.is_full { Outcome::Useless } else { Outcome::Rows(self.rows) }
    }
}
