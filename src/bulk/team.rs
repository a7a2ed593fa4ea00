//! The leader of a join with workers: it divides the walk in progress, launches workers, takes
//! pieces itself, and receives the pairs that the workers find.
//!
//! A team of `simhash_pairs` lives within one batch: between batches the query may write, which
//! PostgreSQL forbids while workers run. The rest of the walk then returns to the join.

use std::sync::atomic::Ordering;

use pgrx::pg_sys;
use simhash_core::base::key::Key;
use simhash_core::search::TreeKey;
use simhash_core::whole::join::{GroupPair, Walking};

use super::message;
use super::shared::{Content, QUEUES, Shared};
use crate::am::opened::Opened;
use crate::call::parallel::{Speaker, current_query, end, launch, lost, received, wait};
use crate::storage::check_for_interrupts;

/// About how many pieces a walk is divided into.
const PIECES: usize = 2048;
/// The most messages of a worker that are read at a time.
const MESSAGES: usize = 16;

/// The most workers for a join: as many as PostgreSQL would use for a parallel scan of an index
/// with so many pages, unless a table sets parallel_workers.
pub fn most_workers(opened: &[Opened], pages: f64) -> usize {
    // SAFETY: reads the process's state.
    if unsafe { pg_sys::ParallelWorkerNumber } >= 0 {
        return 0;
    }
    let of_tables = opened.iter().filter_map(parallel_workers).max();
    // SAFETY: reads a setting.
    let least_pages = unsafe { pg_sys::min_parallel_index_scan_size };
    let workers = of_tables.unwrap_or_else(|| workers_for(pages, f64::from(least_pages)));
    // SAFETY: reads a setting.
    let most = unsafe { pg_sys::max_parallel_workers_per_gather };
    usize::try_from(workers.min(most)).unwrap_or(0)
}

/// One worker from `least_pages` on, and one more each time that the pages triple.
fn workers_for(pages: f64, least_pages: f64) -> i32 {
    if pages < least_pages {
        return 0;
    }
    1 + (pages / least_pages.max(1.0)).max(1.0).log(3.0) as i32
}

/// A table's option parallel_workers, if it has been set.
fn parallel_workers(opened: &Opened) -> Option<i32> {
    // SAFETY: the heap is an open table, whose options are null or of this type.
    let options = unsafe { (*opened.heap).rd_options.cast::<pg_sys::StdRdOptions>().as_ref()? };
    Some(options.parallel_workers).filter(|&workers| workers >= 0)
}

/// How long a join has gone on without workers, since the batch or the last walk began.
pub struct Alone {
    pub steps: usize,
    /// The share of the walk that was done before.
    from: f64,
}

impl Alone {
    pub fn begin(progress: f64) -> Self {
        Self { steps: 0, from: progress }
    }

    /// Whether workers are worth launching. They are once the join has lasted as long as a launch
    /// takes: then at most twice the best time is spent. They are earlier if the rest of the walk
    /// and of the batch will probably take much longer. `progress` is the share of the walk's pairs
    /// of keys that is done, `filled` that of the batch. A walk has done at most that share of its
    /// work: lesser keys come first, and have more pairs with greater ones.
    pub fn is_over(&self, keys: usize, progress: f64, filled: f64) -> bool {
        /// Before so many steps, progress says little about the walk.
        const FEW: usize = 16;
        const MUCH: f64 = 4.0;
        let launch = steps_to_launch(keys);
        let share = ((progress - self.from) / (1.0 - self.from)).max(filled);
        // Without any progress, nothing is known about the rest.
        let left = if share > 0.0 { self.steps as f64 * (1.0 / share - 1.0) } else { 0.0 };
        self.steps >= launch || self.steps >= FEW && left > MUCH * launch as f64
    }
}

/// The number of steps that take as long as launching workers (parallel_setup_cost) and copying so
/// many keys for them.
fn steps_to_launch(keys: usize) -> usize {
    // A step takes about 0.1 ms: this much in the planner's units, and in keys copied.
    const STEP_COST: f64 = 10.0;
    const STEP_KEYS: usize = 8192;
    // SAFETY: reads a setting.
    let setup = unsafe { pg_sys::parallel_setup_cost };
    (setup / STEP_COST) as usize + keys / STEP_KEYS
}

/// The leader's workers. It has no Drop: after an ERROR, the abort of the transaction ends them.
pub struct Team {
    context: *mut pg_sys::ParallelContext,
    shared: Shared,
    workers: Vec<Speaker>,
    /// Whether all workers are known to have started.
    expected: bool,
}

impl Team {
    /// Divides a walk and launches workers. If none are available, the walk stays as it was.
    pub fn launch<K: TreeKey>(walking: &mut Walking<'_, K>, workers: usize) -> Option<Self> {
        let pieces = walking.divide(PIECES);
        let (left, right) = walking.tries();
        let query = current_query();
        let walk = &*walking.walk;
        let content = Content { walk, left, right, pieces: &pieces, workers, query };
        // SAFETY: a function called by a query is in a transaction with an active snapshot.
        let team = unsafe { Self::launch_with(&content) };
        if team.is_none() {
            walking.walk.add(pieces);
        }
        team
    }

    unsafe fn launch_with<F: Key>(content: &Content<'_, F>) -> Option<Self> {
        let chunks = content.chunks();
        // SAFETY: the chunks are those of the content.
        let fill = |toc| unsafe { content.store(toc) };
        let function = c"pg_simhash_join_worker";
        // SAFETY: the function is the entry point in `worker.rs`, and `store` fills chunks of these
        // sizes.
        let context = unsafe { launch(function, content.workers, &chunks, fill) }?;
        // SAFETY: the memory is filled. It is used only until `finish` ends the context.
        let shared = unsafe { Shared::new((*context).toc) };
        // SAFETY: the content made the queues, and the workers were launched.
        let workers = unsafe { QUEUES.speakers(context) };
        Some(Self { context, shared, workers, expected: false })
    }

    /// Works for a while, and appends the pairs found. False when the whole walk is done.
    pub fn walk<K: TreeKey>(
        &mut self,
        walking: &mut Walking<'_, K>,
        found: &mut Vec<GroupPair>,
    ) -> bool {
        check_for_interrupts();
        // SAFETY: reads a setting.
        if walking.walk.is_empty() && unsafe { pg_sys::parallel_leader_participation } {
            walking.walk.add(self.shared.take());
        }
        let works = !walking.walk.is_empty();
        if works {
            walking.step(found);
        }
        if !self.receive(walking, found) && !works {
            if self.have_all_finished() {
                return false;
            }
            self.wait();
        }
        true
    }

    /// Stops the workers, and adds to the walk what they have not done.
    pub fn finish<K: TreeKey>(mut self, walking: &mut Walking<'_, K>, found: &mut Vec<GroupPair>) {
        self.shared.task().stop.store(true, Ordering::Relaxed);
        walking.walk.add(std::iter::from_fn(|| self.shared.take()));
        while !self.have_all_finished() {
            check_for_interrupts();
            if !self.receive(walking, found) {
                self.wait();
            }
        }
        // SAFETY: the context exists, and the queues are not used any more.
        unsafe { end(self.context, &self.workers) };
    }

    fn have_all_finished(&self) -> bool {
        self.workers.iter().all(|worker| worker.finished)
    }

    /// Reads messages of workers. False if there were none.
    fn receive<K: TreeKey>(
        &mut self,
        walking: &mut Walking<'_, K>,
        found: &mut Vec<GroupPair>,
    ) -> bool {
        let from = found.len();
        let mut any = false;
        for worker in &mut self.workers {
            for _ in 0..MESSAGES {
                if worker.finished {
                    break;
                }
                // SAFETY: the context exists until `finish`, and so do the queues.
                let Some(message) = (unsafe { received(self.context, worker.queue) }) else {
                    break;
                };
                let Some(received) = message::read(message, found) else {
                    lost("sent an invalid message")
                };
                any = true;
                walking.walk.add_done(received.done);
                if let Some(rest) = received.rest {
                    worker.finished = true;
                    walking.walk.add(rest);
                }
            }
        }
        walking.keep_across(found, from);
        any
    }

    fn wait(&mut self) {
        // SAFETY: the context exists until `finish`.
        unsafe { wait(self.context, &mut self.expected, None) };
    }
}
