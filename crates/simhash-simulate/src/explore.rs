//! Runs the program of a seed under many orders of its actors' steps. Every step is judged, and so
//! are the files after the schedule and after a crash, and the scans of a standby.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::Barrier;
use shuttle::sync::atomic::AtomicUsize;
use shuttle::{Config, FailurePersistence, MaxSteps, Runner, thread};
use simhash_core::base::bits::{B256, B1024};
use simhash_index::{Posting, Scoped, TreeKey};

use crate::actors::{Actor, Excluded, judge_excluded, warm_up};
use crate::coding::Coding;
use crate::facts::Facts;
use crate::failure::Failed;
use crate::opened::open;
use crate::program::{Base, Op, Part, Program};
use crate::random::Random;
use crate::rows::Rows;
use crate::settle::{judge_check, replayed, settle};
use crate::store::SimStore;
use crate::trace::Step;
use crate::world::{Record, Shared, World, locked};

/// How many schedules a seed has: of its program, and of a standby that replays the last one's log.
const PRIMARY: usize = 24;
const STANDBY: usize = 8;
pub const SCHEDULES: usize = PRIMARY + STANDBY;

/// A schedule with more steps than this counts as endless.
const MOST_STEPS: usize = 500_000;

/// What went wrong, and what each actor did before.
#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub what: String,
    pub steps: Vec<String>,
}

type Explorer = fn(u64) -> Result<Facts, Failure>;

/// Key types, with page sizes that hold a few entries, each with its weight in the choice.
const KINDS: &[(usize, Explorer)] = &[
    (4, of_kind::<u64, 136>),
    (4, of_kind::<u64, 192>),
    (4, of_kind::<u64, 304>),
    (2, of_kind::<u128, 256>),
    (3, of_kind::<Scoped<u64, 3>, 256>),
    (4, of_kind::<Scoped<u64, 2>, 320>),
    (3, of_kind::<Scoped<u128, 3>, 320>),
    (1, of_kind::<B256, 304>),
    (2, of_kind::<Scoped<B256, 3>, 400>),
    (2, of_kind::<Scoped<B1024, 7>, 1024>),
    (4, of_postings::<Posting, 136>),
    (3, of_postings::<Posting, 192>),
    (4, of_postings::<Scoped<u64, 2>, 256>),
    (3, of_postings::<Scoped<u64, 7>, 400>),
];

/// Runs the schedules of a seed.
pub fn explore(seed: u64) -> Result<Facts, Failure> {
    let total = KINDS.iter().map(|(weight, _)| weight).sum();
    let mut chosen = Random::new(seed ^ 0x5eed).below(total);
    let of_kind = KINDS.iter().find(|(weight, _)| {
        let found = chosen < *weight;
        chosen = chosen.saturating_sub(*weight);
        found
    });
    of_kind.expect("the weights have this sum").1(seed)
}

fn of_kind<K: TreeKey, const PAGE: usize>(seed: u64) -> Result<Facts, Failure> {
    Seed::<K, PAGE> { seed, program: Program::new::<PAGE> }.explore()
}

fn of_postings<K: TreeKey, const PAGE: usize>(seed: u64) -> Result<Facts, Failure> {
    Seed::<K, PAGE> { seed, program: Program::of_postings::<PAGE> }.explore()
}

struct Seed<K: TreeKey, const PAGE: usize> {
    seed: u64,
    program: fn(&mut Random) -> Program<K>,
}

/// The world of the schedule that runs now.
type Current = Arc<Mutex<Option<Shared>>>;

impl<K: TreeKey, const PAGE: usize> Seed<K, PAGE> {
    fn explore(&self) -> Result<Facts, Failure> {
        let mut random = Random::new(self.seed);
        let current: Current = Arc::default();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run(&mut random, &current)));
        outcome.map_err(|payload| {
            let what = if let Some(Failed(what)) = payload.downcast_ref() {
                what.clone()
            } else if let Some(what) = payload.downcast_ref::<String>() {
                what.clone()
            } else if let Some(what) = payload.downcast_ref::<&str>() {
                (*what).to_owned()
            } else {
                "an actor ended".to_owned()
            };
            let world = locked(&current).clone();
            Failure {
                seed: self.seed,
                what,
                steps: world.map_or(Vec::new(), |world| last_steps(&locked(&world))),
            }
        })
    }

    fn run(&self, random: &mut Random, current: &Current) -> Facts {
        let program = Arc::new((self.program)(random));
        let facts: Arc<Mutex<Facts>> = Arc::default();
        let last: Arc<Mutex<(Vec<Record>, Rows)>> = Arc::default();
        let crashes = Mutex::new(Random::new(random.next()));
        {
            let (program, facts, last, current) =
                (program.clone(), facts.clone(), last.clone(), current.clone());
            self.schedule(random, PRIMARY, move || {
                let base = &program.base;
                let world = new_world(base, &current);
                let Program { parts, churn, .. } = &*program;
                let excluded = act::<K, PAGE>(base.coding, &world, parts, churn, None);
                let (log, rows, images, free, seen) = {
                    let world = locked(&world);
                    (
                        world.log.clone(),
                        world.rows.clone(),
                        world.images(),
                        world.free.clone(),
                        world.facts,
                    )
                };
                judge_excluded(&excluded, &rows);
                let left = rows.after_crash(usize::MAX - 1);
                let crashes = &mut *locked(&crashes);
                let quiet = settle::<K, PAGE>(base.coding, &images, free.clone(), left, crashes);
                let records = crashes.below(log.len() + 1);
                let free = if crashes.one_in(2) { free } else { base.free.clone() };
                let images = replayed(&base.images, &log[..records], PAGE);
                locked(&world)
                    .note(0, Step::Op(format!("a crash after {records} records of {}", log.len())));
                let left = rows.after_crash(records);
                settle::<K, PAGE>(base.coding, &images, free, left, crashes);
                judge_check::<K, PAGE>(base.coding, &images, crashes);
                let mut facts = locked(&facts);
                facts.add(&seen);
                facts.add(&Facts { crashes: 1, trees: quiet.trees, ..Facts::default() });
                *locked(&last) = (log, rows);
            });
        }
        let (log, rows) = std::mem::take(&mut *locked(&last));
        if log.is_empty() {
            // There is nothing for a standby to replay.
            return *locked(&facts);
        }
        let readers = Program::readers(random, &program.base);
        let log = Arc::new(log);
        let (collected, current) = (facts.clone(), current.clone());
        self.schedule(random, STANDBY, move || {
            let world = new_world(&program.base, &current);
            locked(&world).rows = rows.clone();
            act::<K, PAGE>(program.base.coding, &world, &readers, &[], Some(log.clone()));
            locked(&collected).add(&locked(&world).facts);
        });
        *locked(&facts)
    }

    fn schedule(&self, random: &mut Random, times: usize, run: impl Fn() + Send + Sync + 'static) {
        let mut config = Config::new();
        config.failure_persistence = FailurePersistence::None;
        config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
        config.stack_size = 1 << 17;
        let seed = random.next();
        if random.one_in(2) {
            Runner::new(RandomScheduler::new_from_seed(seed, times), config).run(run);
        } else {
            let depth = random.pick(&[2, 3, 5, 10]);
            Runner::new(PctScheduler::new_from_seed(seed, depth, times), config).run(run);
        }
    }
}

fn new_world<K: TreeKey>(base: &Base<K>, current: &Current) -> Shared {
    let world =
        Arc::new(Mutex::new(World::new(&base.images, base.free.clone(), base.rows.clone())));
    *locked(current) = Some(world.clone());
    world
}

/// Has all actors play their parts, after the churn, and during the replay of a log if there is
/// one.
fn act<K: TreeKey, const PAGE: usize>(
    coding: Coding<K>,
    world: &Shared,
    parts: &[Part],
    churn: &[Op],
    log: Option<Arc<Vec<Record>>>,
) -> Vec<Excluded> {
    let steps = Arc::new(AtomicUsize::new(0));
    let [warm, ready] = [(); 2].map(|()| Arc::new(Barrier::new(parts.len() + 1)));
    let standby = log.is_some();
    let alone = || SimStore::<K, PAGE>::alone(world.clone(), coding);
    let store = |actor: usize| SimStore { actor, ..alone() };
    let mut players = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let (part, warm, ready, steps) = (part.clone(), warm.clone(), ready.clone(), steps.clone());
        let store = store(i + 1);
        players.push(thread::spawn(move || {
            locked(&store.world).enter(store.actor, part.name, thread::current());
            let mut index = open(store, part.copies);
            if part.warm {
                warm_up(&index, &part);
            }
            warm.wait();
            ready.wait();
            index.store.steps = Some(steps);
            *locked(&index.store.cancelled) = (part.cancelled, Random::new(part.luck));
            let mut actor = Actor::new(&index, standby, part.patience);
            actor.play(&part);
            actor.excluded
        }));
    }
    locked(world).enter(0, if standby { "replay" } else { "churn" }, thread::current());
    warm.wait();
    if !churn.is_empty() {
        let index = open(store(0), 1000);
        let mut actor = Actor::new(&index, standby, 0);
        churn.iter().for_each(|op| actor.perform(op));
    }
    ready.wait();
    if let Some(log) = log {
        let mut store = store(0);
        store.steps = Some(steps);
        replay(&store, &log);
    }
    let mut excluded = Vec::new();
    for player in players {
        match player.join() {
            Ok(saw) => excluded.extend(saw),
            Err(payload) => std::panic::resume_unwind(payload),
        }
    }
    excluded
}

/// Replays a log as PostgreSQL does: a record's pages are locked one after the other, then changed,
/// then unlocked.
fn replay<K: TreeKey, const PAGE: usize>(store: &SimStore<K, PAGE>, log: &[Record]) {
    for record in log {
        let numbers: Vec<u32> = record.pages.iter().map(|(number, _)| *number).collect();
        {
            let mut world = locked(&store.world);
            while world.page_count() < record.page_count {
                world.extend(PAGE);
            }
        }
        for &number in &numbers {
            locked(&store.world).pin(0, number);
            store.lock_for_replay(number);
        }
        store.step();
        {
            let mut world = locked(&store.world);
            world.note(0, Step::Replay(numbers.clone()));
            world.end_before(record.horizon);
            world.install(record.pages.clone());
            world.replayed += 1;
        }
        for &number in &numbers {
            store.unlock_after_replay(number);
        }
    }
}

fn last_steps(world: &World) -> Vec<String> {
    let mut lines = Vec::new();
    for (i, actor) in world.actors.iter().enumerate() {
        lines.push(format!("actor {i}, {}, holds {:?}:", actor.name, actor.held));
        lines.extend(actor.trace.steps().map(|step| format!("    {step}")));
    }
    lines
}
