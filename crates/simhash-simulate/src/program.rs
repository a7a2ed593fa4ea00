//! The program of a seed: an index with rows, and what each of some actors does with it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use simhash_core::search::BlockLayout;
use simhash_index::Meta;
use simhash_index::build::{Writer, initialize, merge};
use simhash_index::page::capacity;

use crate::random::Random;
use crate::rows::{Rows, distance};
use crate::settle::{entries, open};
use crate::store::SimStore;
use crate::world::{ACTORS, Image, World, locked};

/// One thing that an actor does.
#[derive(Clone, Debug)]
pub enum Op {
    /// Lets others go on.
    Idle(usize),
    /// Inserts a row with these keys, or one without.
    Insert(Vec<u64>),
    /// Inserts a row that must not be within a distance of another, and looks for such a row.
    Exclude(u64, u32),
    /// Deletes a live row: the one at this place in their list, modulo its length.
    Delete(usize),
    Vacuum,
    /// Looks for all rows within a distance. It may keep each leaf pinned while it looks at its
    /// rows.
    Range {
        query: u64,
        distance: u32,
        pinned: bool,
    },
    /// Looks for the nearest rows. It may find each again in its leaf, and keep that leaf pinned.
    Nearest {
        queries: Vec<u64>,
        rows: usize,
        pinned: bool,
    },
    /// Reads a whole table from bound to bound. It may keep each leaf pinned.
    Walk {
        table: u8,
        pinned: bool,
    },
}

/// An actor's part.
#[derive(Clone, Debug)]
pub struct Part {
    pub name: &'static str,
    pub ops: Vec<Op>,
    /// How many pages it keeps copies of.
    pub copies: usize,
    /// Whether it knows the tree as it was before anybody began.
    pub warm: bool,
    /// It is cancelled at one in this many interrupt checks, if at any.
    pub cancelled: Option<usize>,
    /// The seed of the choice among the checks.
    pub luck: u64,
    /// For how many steps it keeps a leaf pinned, where it does.
    pub patience: usize,
}

/// How large an index is before a schedule, and which of its rows are dead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Site {
    Any,
    /// A few leaves, of which half the rows are dead.
    Small,
    /// One table beside the table of NULLs. Its root is a full leaf, of which half the rows are
    /// dead.
    FullRoot,
}

/// An index and its rows before a schedule.
pub struct Base {
    pub images: Vec<Image>,
    pub free: Vec<u32>,
    pub rows: Rows,
    /// The number of block tables.
    pub blocks: u32,
}

pub struct Program {
    pub base: Base,
    /// What happens after all have copied the upper levels of the trees, and before anyone begins.
    pub churn: Vec<Op>,
    pub parts: Vec<Part>,
}

/// The rows' keys: some centres, and what is near them.
struct Keys {
    centres: Vec<u64>,
    spread: usize,
    /// One row in this many has no key.
    keyless: usize,
}

impl Keys {
    fn new(random: &mut Random) -> Self {
        let mut centres: Vec<u64> =
            (0..random.pick(&[1, 2, 5, 40])).map(|_| random.next()).collect();
        if random.one_in(2) {
            // As far from each other as possible.
            centres.push(!centres[0]);
        }
        Self {
            centres,
            spread: random.pick(&[0, 0, 2, 6, 20]),
            keyless: random.pick(&[2, 12, 12, 12]),
        }
    }

    fn near(&self, centre: u64, random: &mut Random) -> u64 {
        (0..random.below(self.spread + 1)).fold(centre, |key, _| key ^ 1 << random.below(64))
    }

    fn one(&self, random: &mut Random) -> u64 {
        let centre = random.pick(&self.centres);
        self.near(centre, random)
    }

    /// The keys of a row: usually one, sometimes none or several different ones.
    fn of_row(&self, random: &mut Random) -> Vec<u64> {
        if random.one_in(self.keyless) {
            return Vec::new();
        }
        match random.below(12) {
            0 => {
                let keys: BTreeSet<u64> = (0..3).map(|_| self.one(random)).collect();
                keys.into_iter().collect()
            }
            _ => vec![self.one(random)],
        }
    }
}

impl Program {
    /// The program that a seed stands for.
    pub fn new<const PAGE: usize>(random: &mut Random) -> Self {
        let keys = Keys::new(random);
        if random.one_in(3) {
            return Self::siege::<PAGE>(random);
        }
        let base = Base::new::<PAGE>(&keys, Site::Any, random);
        let writers = random.below(3) + 1;
        let mut parts: Vec<Part> = Vec::new();
        for _ in 0..writers {
            parts.push(if random.one_in(3) {
                excluder(&keys, random)
            } else {
                inserter(&keys, random)
            });
        }
        if !random.one_in(4) {
            parts.push(vacuumer(random));
        }
        for _ in 0..random.below(3) {
            parts.push(reader(&keys, base.blocks, random));
        }
        if parts.len() < 2 {
            parts.push(reader(&keys, base.blocks, random));
        }
        parts.truncate(ACTORS - 1);
        let churn = if random.one_in(3) { churn(&keys, random) } else { Vec::new() };
        Self { base, churn, parts }
    }

    /// A reader keeps a leaf pinned. It is split meanwhile, and vacuum removes dead rows that the
    /// reader has read there.
    fn siege<const PAGE: usize>(random: &mut Random) -> Self {
        let of_nulls = random.one_in(3);
        let keyless = if of_nulls { 1 } else { 1000 };
        let keys = Keys { centres: vec![random.next()], spread: random.pick(&[0, 3]), keyless };
        // Half of these programs are short, so that a scheduler finds every order: the root is a
        // leaf that the first row splits.
        let is_short = random.one_in(2);
        let base =
            Base::new::<PAGE>(&keys, if is_short { Site::FullRoot } else { Site::Small }, random);
        let rows = if is_short { 1 } else { random.below(8) + 4 };
        let mut parts = Vec::new();
        for _ in 0..if is_short { 1 } else { random.below(2) + 1 } {
            let ops = (0..rows).map(|_| Op::Insert(keys.of_row(random))).collect();
            parts.push(part("besieger", ops, random));
        }
        let deletions = (0..random.below(2)).map(|_| Op::Delete(random.below(1000)));
        let ops = deletions.chain([Op::Vacuum]).collect();
        parts.push(part("vacuum", ops, random));
        let table = if of_nulls { base.blocks as u8 } else { 0 };
        let query = keys.centres[0];
        let op = if of_nulls || random.one_in(3) {
            Op::Walk { table, pinned: true }
        } else {
            Op::Range { query, distance: random.pick(&[0, 6, 64]), pinned: true }
        };
        let ops = if is_short { vec![op] } else { vec![op.clone(), op] };
        let mut reader = part("reader", ops, random);
        reader.patience = 400;
        parts.push(reader);
        // The order in which they begin decides. A split takes few steps beside a vacuum.
        let latest = if is_short { 8 } else { random.pick(&[10, 60, 200]) };
        for part in &mut parts {
            part.ops[0] = Op::Idle(random.below(latest));
        }
        Self { base, churn: Vec::new(), parts }
    }

    /// Readers on a standby while it replays.
    pub fn readers(random: &mut Random, base: &Base) -> Vec<Part> {
        let keys = Keys { centres: sample_keys(&base.rows, random), spread: 3, keyless: 12 };
        (0..random.below(2) + 1).map(|_| reader(&keys, base.blocks, random)).collect()
    }
}

fn sample_keys(rows: &Rows, random: &mut Random) -> Vec<u64> {
    let mut keys: Vec<u64> = rows.all.iter().flat_map(|row| row.keys.iter().copied()).collect();
    if keys.is_empty() {
        keys.push(random.next());
    }
    keys
}

/// Some generations of rows.
fn churn(keys: &Keys, random: &mut Random) -> Vec<Op> {
    let mut ops = Vec::new();
    for _ in 0..random.below(3) + 1 {
        ops.extend((0..random.below(20)).map(|_| Op::Delete(random.below(1000))));
        ops.push(Op::Vacuum);
        ops.extend((0..random.below(12)).map(|_| Op::Insert(keys.of_row(random))));
    }
    ops
}

fn part(name: &'static str, ops: Vec<Op>, random: &mut Random) -> Part {
    let copies = random.pick(&[0, 2, 1000, 1000]);
    let patience = random.pick(&[1, 1, 20, 400]);
    let mut all = vec![Op::Idle(random.below(30))];
    all.extend(ops);
    Part {
        name,
        ops: all,
        copies,
        warm: !random.one_in(3),
        cancelled: None,
        luck: random.next(),
        patience,
    }
}

fn inserter(keys: &Keys, random: &mut Random) -> Part {
    let rows = random.below(6) + 1;
    // Some put all of their rows in one place, so that pages are split while others use them.
    let centre = random.one_in(2).then(|| random.pick(&keys.centres));
    let ops = (0..rows).map(|_| match centre {
        Some(centre) => Op::Insert(vec![keys.near(centre, random)]),
        None => Op::Insert(keys.of_row(random)),
    });
    let ops = ops.collect();
    let mut part = part("inserter", ops, random);
    if random.one_in(4) {
        part.cancelled = Some(random.below(12) + 2);
    }
    part
}

fn excluder(keys: &Keys, random: &mut Random) -> Part {
    let centre = random.pick(&keys.centres);
    let distance = random.pick(&[0, 3, 8]);
    let ops = (0..random.below(3) + 1)
        .map(|_| Op::Exclude(keys.near(centre, random), distance))
        .collect();
    part("excluder", ops, random)
}

fn vacuumer(random: &mut Random) -> Part {
    let mut ops = Vec::new();
    for _ in 0..random.below(2) + 1 {
        ops.extend((0..random.below(4)).map(|_| Op::Delete(random.below(1000))));
        ops.push(Op::Vacuum);
    }
    let mut part = part("vacuum", ops, random);
    if random.one_in(4) {
        part.cancelled = Some(random.below(60) + 5);
    }
    part
}

fn reader(keys: &Keys, blocks: u32, random: &mut Random) -> Part {
    let ops = (0..random.below(3) + 1).map(|_| {
        let query = keys.one(random);
        match random.below(8) {
            0 => Op::Walk {
                table: random.below(blocks as usize + 1) as u8,
                pinned: random.one_in(2),
            },
            3 if keys.keyless == 2 => Op::Walk { table: blocks as u8, pinned: true },
            1 | 2 => {
                let queries = (0..random.pick(&[1, 1, 1, 2])).map(|_| keys.one(random)).collect();
                Op::Nearest {
                    queries,
                    rows: random.pick(&[1, 5, 20, 1000]),
                    pinned: random.one_in(3),
                }
            }
            _ => {
                let distance = random.pick(&[0, 1, 3, 6, 10, 20, 40, 64]);
                Op::Range { query, distance, pinned: random.one_in(2) }
            }
        }
    });
    let ops = ops.collect();
    part("reader", ops, random)
}

impl Base {
    /// An index that was built or filled by insertion, of which some rows are dead.
    fn new<const PAGE: usize>(keys: &Keys, site: Site, random: &mut Random) -> Self {
        let world = Arc::new(Mutex::new(World::default()));
        let store = SimStore::<PAGE>::alone(world.clone());
        locked(&world).enter_alone();
        let (count, blocks) = match site {
            Site::Any => (random.pick(&[0, 3, 12, 30, 60, 120]), random.pick(&[1, 2, 4, 4, 4, 5])),
            Site::Small => (random.pick(&[3, 5, 8, 12]), random.pick(&[1, 2, 4, 4, 4, 5])),
            Site::FullRoot => (capacity::<u64>(PAGE, 0), 1),
        };
        initialize::<u64, _>(&store, Meta { kind: 1, bits: 64, blocks });
        let index = open(store.clone(), 1000);
        {
            let mut world = locked(&world);
            for _ in 0..count {
                let row = world.rows.begin(keys.of_row(random), 0);
                world.rows.commit(row, 0);
            }
        }
        let rows = locked(&world).rows.clone();
        if random.one_in(2) {
            build(&store, &rows, index.layout, random);
        } else {
            rows.all.iter().for_each(|row| index.insert(&row.keys, row.tid));
        }
        // Rows that died before: some anywhere, or all in one place, or nearly all rows.
        let (share, whole) = match site {
            Site::Any => (random.pick(&[0, 10, 50, 97]), random.one_in(3)),
            _ => (50, false),
        };
        let centre = random.pick(&keys.centres);
        for row in 0..rows.all.len() {
            let near =
                rows.all[row].keys.iter().any(|&key| distance(key, centre) <= keys.spread as u32);
            if if whole { near } else { random.below(100) < share } {
                locked(&world).rows.kill(row, 0);
            }
        }
        if site == Site::Any && random.one_in(3) {
            let dead = locked(&world).rows.dead();
            let rows = locked(&world).rows.clone();
            index.vacuum(&|tid| rows.of_tid(tid).is_some_and(|row| dead.contains(&row)));
            locked(&world).rows.vacuumed(&dead, 0).expect("nobody reads");
        }
        let world = locked(&world);
        // The map of free pages is not logged: it may be lost, or be wrong.
        let free = match random.below(4) {
            0 => Vec::new(),
            1 => (0..world.page_count() + 2).filter(|_| random.one_in(3)).collect(),
            _ => world.free.clone(),
        };
        Self { images: world.images(), free, rows: world.rows.clone(), blocks }
    }
}

/// Builds every table from sorted runs.
fn build<const PAGE: usize>(
    store: &SimStore<PAGE>,
    rows: &Rows,
    layout: BlockLayout,
    random: &mut Random,
) {
    let fill = random.pick(&[50, 90, 100]);
    for table in 0..=layout.blocks() as u8 {
        let mut runs = vec![Vec::new(); random.below(3) + 1];
        for row in &rows.all {
            let run = random.below(runs.len());
            runs[run].extend(entries(row, table, layout));
        }
        runs.iter_mut().for_each(|run| run.sort_unstable());
        let mut writer = Writer::new(store, table, fill);
        merge(runs.into_iter().map(Vec::into_iter).collect(), |entry| writer.push(entry));
        writer.finish();
    }
}
