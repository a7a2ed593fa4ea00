//! The program of a seed: an index with rows, and the operations of each actor.

mod postings;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use simhash_index::build::{Stretch, Writer, initialize, merge};
use simhash_index::form::{Form, Tids};
use simhash_index::postings::ROWS;
use simhash_index::scopes::{Allowed, Column, Filter};
use simhash_index::{Entry, Store, TreeKey};

use crate::coding::{Coding, Selection, choose, string};
use crate::opened::{insert, open};
use crate::random::Random;
use crate::rows::{Row, Rows, SCOPES, distance};
use crate::store::SimStore;
use crate::world::{ACTORS, Image, World, locked};

/// One thing that an actor does.
#[derive(Clone, Debug)]
pub enum Op {
    /// Spends this many steps without doing anything.
    Idle(usize),
    /// Inserts a row with these keys, of which there may be none.
    Insert {
        keys: Vec<u64>,
        scope: u8,
    },
    /// Inserts a row as an exclusion constraint does, and searches its scope for rows within the
    /// distance.
    Exclude {
        key: u64,
        distance: u32,
        scope: u8,
    },
    /// Deletes a live row: the one at this place in their list, modulo its length.
    Delete(usize),
    /// Deletes the live rows of a scope.
    Clear(u8),
    Vacuum,
    /// Searches for all rows within a distance. If `pinned`, each leaf that it returns stays pinned
    /// for a while.
    Range {
        query: u64,
        distance: u32,
        scopes: Selection,
        pinned: bool,
    },
    /// Searches for the nearest rows in several selections, which have no scope in common. Rows
    /// beyond the limit may be left out. If `pinned`, it finds each row's leaf again and keeps that
    /// pinned for a while.
    Nearest {
        queries: Vec<u64>,
        limit: u32,
        scopes: Vec<Selection>,
        rows: usize,
        pinned: bool,
    },
    /// Reads the leaves of a whole table, or of a scope in it. If `pinned`, each stays pinned for a
    /// while.
    Walk {
        table: u8,
        scope: Option<u8>,
        pinned: bool,
    },
    /// Searches for rows with at least `shared` of the keys, until `rows` are found.
    Search {
        keys: Vec<u64>,
        shared: usize,
        scopes: Selection,
        rows: usize,
    },
    /// Inserts a row as an exclusion constraint does, and searches its scope for rows with at least
    /// `shared` of its keys.
    ExcludeSharing {
        keys: Vec<u64>,
        shared: usize,
        scope: u8,
    },
    /// Probes for each posting of a row, and for one with this key.
    Look {
        place: usize,
        key: u64,
    },
    /// Settles the recent leaf of a row's first posting.
    Settle(usize),
    SettleAll,
}

/// An actor's part.
#[derive(Clone, Debug)]
pub struct Part {
    pub name: &'static str,
    pub ops: Vec<Op>,
    /// How many pages it keeps copies of.
    pub copies: usize,
    /// Whether it has copies of the inner pages from before the churn and before any part began.
    pub warm: bool,
    /// It is cancelled at one interrupt check in this many, by chance. `None`: never.
    pub cancelled: Option<usize>,
    /// The seed of that chance.
    pub luck: u64,
    /// For how many steps it keeps a leaf pinned, if an operation does.
    pub patience: usize,
}

/// How large an index is before a schedule, and which of its rows are dead.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Site {
    Any,
    /// A few leaves. Half of the rows are dead.
    Small,
    /// One table, and the table of NULLs. A root is a full leaf, and half of the rows are dead.
    FullRoot,
    /// Many leaves. The dead rows have neighbouring TIDs, so that whole leaves of a key's postings
    /// are dead.
    Run,
}

impl Site {
    /// The rows that the index has: keys and scope of each. `far` says which TIDs they will have.
    fn rows<K: TreeKey, const PAGE: usize>(
        self,
        coding: Coding<K>,
        keys: &Keys,
        far: u8,
        random: &mut Random,
    ) -> Vec<(Vec<u64>, u8)> {
        let count = match self {
            Site::Any => random.pick(&[0, 3, 12, 30, 60, 120]),
            Site::Small => random.pick(&[3, 5, 8, 12]),
            Site::Run => random.pick(&[20, 30, 60]),
            Site::FullRoot if coding.meta.is_of_postings() => {
                let tids = random.pick(&[Tids::WHOLE, Tids::SHORT, Tids::brief(3)]);
                coding.meta.shape().leaf_capacity(PAGE, Form { tids, ..Form::MIXED })
            }
            Site::FullRoot => return full_root::<K, PAGE>(coding, keys, far, random),
        };
        (0..count).map(|_| (keys.of_row(random), keys.scope(random))).collect()
    }

    /// The rows that are dead at the start: a random share, those near one key, or a run of
    /// neighbours.
    fn dead(self, rows: &Rows, keys: &Keys, random: &mut Random) -> Vec<usize> {
        let (share, whole) = match self {
            Site::Any => (random.pick(&[0, 10, 50, 97]), random.one_in(3)),
            _ => (50, false),
        };
        let centre = random.pick(&keys.centres);
        let count = rows.all.len();
        let run = random.below(count.max(1))..random.below(count.max(1)) + 1;
        let dies = |&row: &usize| {
            let is_near = |&key: &u64| distance(key, centre) <= keys.spread as u32;
            match (self, whole) {
                (Site::Run, _) => run.contains(&row),
                (_, true) => rows.all[row].keys.iter().any(is_near),
                _ => random.below(100) < share,
            }
        };
        (0..count).filter(dies).collect()
    }
}

/// An index and its rows before a schedule.
pub struct Base<K: TreeKey> {
    pub coding: Coding<K>,
    pub images: Vec<Image>,
    pub free: Vec<u32>,
    pub rows: Rows,
}

pub struct Program<K: TreeKey> {
    pub base: Base<K>,
    /// Runs when the actors have copied inner pages, and before any part begins.
    pub churn: Vec<Op>,
    pub parts: Vec<Part>,
}

/// How the rows' keys are distributed: some centres, and keys near them.
struct Keys {
    centres: Vec<u64>,
    spread: usize,
    /// One row in this many has no key.
    keyless: usize,
    /// The bits of a key.
    bits: u32,
    /// A row's scope is one of these.
    scopes: Vec<u8>,
    /// The bytes of a scope.
    scope_bytes: usize,
    /// The most keys of a row of postings. 0 for an index of block tables.
    most: usize,
}

impl Keys {
    fn new<K: TreeKey>(coding: &Coding<K>, random: &mut Random) -> Self {
        let mut centres: Vec<u64> =
            (0..random.pick(&[1, 2, 5, 40])).map(|_| coding.key_of(random.next())).collect();
        if random.one_in(2) {
            // As far from each other as possible.
            centres.push(centres[0] ^ coding.key_of(u64::MAX));
        }
        Self {
            centres,
            spread: random.pick(&[0, 0, 2, 6, 20]),
            keyless: random.pick(&[2, 12, 12, 12]),
            ..Self::around(coding, random)
        }
    }

    /// Keys without a centre.
    fn around<K: TreeKey>(coding: &Coding<K>, random: &mut Random) -> Self {
        let scope_bytes = coding.meta.scope as usize;
        let scopes: &[u8] = if scope_bytes == 0 {
            &[0]
        } else {
            // One scope, all of them, one that has nearly all rows, or neighbours.
            random.pick(&[
                &[0],
                &[3],
                &[0, 1, 2, 3, 4, 5],
                &[0, 0, 0, 0, 0, 0, 0, 0, 1, 4],
                &[2, 2, 2, 2, 2, 2, 2, 2, 1, 3],
                &[1, 2],
                &[4, 5],
            ])
        };
        let (bits, scopes) = (coding.bits(), scopes.to_vec());
        Self { centres: Vec::new(), spread: 0, keyless: 1000, bits, scopes, scope_bytes, most: 0 }
    }

    fn scope(&self, random: &mut Random) -> u8 {
        if let [only] = self.scopes[..] { only } else { random.pick(&self.scopes) }
    }

    /// Inserts one more row.
    fn insert(&self, random: &mut Random) -> Op {
        Op::Insert { keys: self.of_row(random), scope: self.scope(random) }
    }

    /// The scopes of a scan: mostly one that has rows.
    fn selection(&self, random: &mut Random) -> Selection {
        if self.scope_bytes == 0 {
            return Selection::All;
        }
        match random.below(6) {
            0 => Selection::All,
            1 => Selection::One(random.below(SCOPES as usize) as u8),
            2..=4 => Selection::Where(self.filter(random)),
            _ => Selection::One(self.scope(random)),
        }
    }

    /// One selection, or two scopes.
    fn selections(&self, random: &mut Random) -> Vec<Selection> {
        if self.scope_bytes == 0 || !random.one_in(4) {
            return vec![self.selection(random)];
        }
        let first = self.scope(random);
        vec![Selection::One(first), Selection::One((first + 1) % SCOPES)]
    }

    /// The scope of a walk, if not all.
    fn walked(&self, random: &mut Random) -> Option<u8> {
        (self.scope_bytes > 0 && random.one_in(2)).then(|| self.scope(random))
    }

    /// A filter on up to three columns.
    fn filter(&self, random: &mut Random) -> Filter {
        let mut columns = Vec::new();
        let mut start = 0;
        while start < self.scope_bytes {
            let left = self.scope_bytes - start;
            let bytes = match columns.len() {
                2 => left,
                // The strings differ mostly in the last byte.
                _ if left > 1 && random.one_in(2) => left - 1,
                _ => random.below(left) + 1,
            };
            let allowed = match random.below(5) {
                0 => Allowed::Any,
                1 => Allowed::NotNull,
                _ => {
                    let own =
                        |scope| string(scope, self.scope_bytes)[start..start + bytes].to_vec();
                    let mut values: Vec<Vec<u8>> =
                        (0..SCOPES).filter(|_| random.one_in(2)).map(own).collect();
                    if random.one_in(4) {
                        values.push(vec![random.below(256) as u8; bytes]);
                    }
                    values.sort_unstable();
                    values.dedup();
                    Allowed::Values(values)
                }
            };
            columns.push(Column { bytes, allowed });
            start += bytes;
        }
        Filter { columns }
    }

    fn near(&self, centre: u64, random: &mut Random) -> u64 {
        (0..random.below(self.spread + 1))
            .fold(centre, |key, _| key ^ 1 << random.below(self.bits as usize))
    }

    fn one(&self, random: &mut Random) -> u64 {
        let centre = random.pick(&self.centres);
        self.near(centre, random)
    }

    /// At most this many different keys.
    fn set(&self, count: usize, random: &mut Random) -> Vec<u64> {
        let keys: BTreeSet<u64> = (0..count).map(|_| self.one(random)).collect();
        keys.into_iter().collect()
    }

    /// The keys of a row: usually one, sometimes none or several different ones.
    fn of_row(&self, random: &mut Random) -> Vec<u64> {
        if random.one_in(self.keyless) {
            return Vec::new();
        }
        if self.most > 0 {
            return self.set(random.below(self.most) + 1, random);
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

impl<K: TreeKey> Program<K> {
    /// The program that a seed stands for.
    pub fn new<const PAGE: usize>(random: &mut Random) -> Self {
        let kind = random.below(6);
        if kind < 2 {
            return Self::siege::<PAGE>(random);
        }
        let coding = choose::<K>(PAGE, random.pick(&[1, 2, 4, 4, 4, 5]), random);
        if coding.meta.scope > 0 && kind < 4 {
            return Self::flood::<PAGE>(coding, random);
        }
        let keys = Keys::new(&coding, random);
        let base = Base::new::<PAGE>(coding, &keys, Site::Any, random);
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
            parts.push(vacuumer(&keys, random));
        }
        for _ in 0..random.below(3) {
            parts.push(reader(&keys, base.coding.meta.blocks, random));
        }
        if parts.len() < 2 {
            parts.push(reader(&keys, base.coding.meta.blocks, random));
        }
        parts.truncate(ACTORS - 1);
        let churn = if random.one_in(3) { churn(&keys, random) } else { Vec::new() };
        Self { base, churn, parts }
    }

    /// A scope grows until its leaves are stored without it. Then rows of other scopes are inserted
    /// into these leaves, and whole scopes are deleted.
    fn flood<const PAGE: usize>(coding: Coding<K>, random: &mut Random) -> Self {
        let main = random.below(SCOPES as usize) as u8;
        let neighbour = random.below(SCOPES as usize) as u8;
        let scopes = [vec![main; 12], vec![neighbour]].concat();
        let keys = Keys { scopes, ..Keys::new(&coding, random) };
        let base = Base::new::<PAGE>(coding, &keys, Site::Any, random);
        let others = Keys { scopes: (0..SCOPES).collect(), centres: keys.centres.clone(), ..keys };
        let keys = Keys { scopes: vec![main], centres: keys.centres, ..others };
        let rows = |keys: &Keys, most: usize, random: &mut Random| {
            (0..random.below(most) + 1).map(|_| keys.insert(random)).collect::<Vec<Op>>()
        };
        let mut churn = Vec::new();
        if random.one_in(2) {
            churn = rows(&keys, 30, random);
            churn.extend(rows(&others, 4, random));
        }
        let mut parts = Vec::new();
        for _ in 0..random.below(2) + 1 {
            parts.push(part("flood", rows(&keys, 10, random), random));
            parts.push(part("others", rows(&others, 5, random), random));
        }
        if !random.one_in(3) {
            let scope = if random.one_in(2) { main } else { others.scope(random) };
            let mut ops = vec![Op::Clear(scope), Op::Vacuum];
            ops.extend(rows(&others, 3, random));
            parts.push(part("clearance", ops, random));
        }
        for _ in 0..random.below(2) + 1 {
            parts.push(reader(&others, base.coding.meta.blocks, random));
        }
        Self { base, churn, parts }
    }

    /// A reader keeps a leaf pinned while it is split, and while vacuum removes dead rows that the
    /// reader has read there.
    fn siege<const PAGE: usize>(random: &mut Random) -> Self {
        let of_nulls = random.one_in(3);
        // Half of these programs are short, so that a scheduler finds every order: the root is a
        // leaf, which the first insertion splits.
        let is_short = random.one_in(2);
        let blocks = if is_short { 1 } else { random.pick(&[1, 2, 4, 4, 4, 5]) };
        let coding = choose::<K>(PAGE, blocks, random);
        let around = Keys::around(&coding, random);
        let keys = Keys {
            centres: vec![coding.key_of(random.next())],
            spread: random.pick(&[0, 3]),
            keyless: if of_nulls { 1 } else { 1000 },
            // All rows of the leaf have one scope.
            scopes: vec![around.scope(random)],
            ..around
        };
        let site = if is_short { Site::FullRoot } else { Site::Small };
        let base = Base::new::<PAGE>(coding, &keys, site, random);
        let rows = if is_short { 1 } else { random.below(8) + 4 };
        let mut parts = Vec::new();
        for _ in 0..if is_short { 1 } else { random.below(2) + 1 } {
            let ops = (0..rows).map(|_| keys.insert(random)).collect();
            parts.push(part("besieger", ops, random));
        }
        let deletions = (0..random.below(2)).map(|_| Op::Delete(random.below(1000)));
        let ops = deletions.chain([Op::Vacuum]).collect();
        parts.push(part("vacuum", ops, random));
        let table = if of_nulls { blocks as u8 } else { 0 };
        let query = keys.centres[0];
        let op = if of_nulls || random.one_in(3) {
            Op::Walk { table, scope: None, pinned: true }
        } else {
            let distance = random.pick(&[0, 6, 64]);
            Op::Range { query, distance, scopes: Selection::All, pinned: true }
        };
        let ops = if is_short { vec![op] } else { vec![op.clone(), op] };
        let mut reader = part("reader", ops, random);
        reader.patience = 400;
        parts.push(reader);
        // The order in which they begin decides. A split takes few steps compared with a vacuum.
        let latest = if is_short { 8 } else { random.pick(&[10, 60, 200]) };
        for part in &mut parts {
            part.ops[0] = Op::Idle(random.below(latest));
        }
        Self { base, churn: Vec::new(), parts }
    }

    /// Readers on a standby during replay.
    pub fn readers(random: &mut Random, base: &Base<K>) -> Vec<Part> {
        (0..random.below(2) + 1).map(|_| reader_of(&base.coding, &base.rows, random)).collect()
    }
}

/// A reader that searches near the keys of these rows.
pub fn reader_of<K: TreeKey>(coding: &Coding<K>, rows: &Rows, random: &mut Random) -> Part {
    let mut centres: Vec<u64> = rows.all.iter().flat_map(|row| row.keys.clone()).collect();
    if centres.is_empty() {
        centres.push(coding.key_of(random.next()));
    }
    let most = if coding.meta.is_of_postings() { 6 } else { 0 };
    let keys = Keys { centres, spread: 3, keyless: 12, most, ..Keys::around(coding, random) };
    if coding.meta.is_of_postings() {
        return searcher(&keys, random);
    }
    reader(&keys, coding.meta.blocks, random)
}

/// A reader that searches for rows that share keys.
fn searcher(keys: &Keys, random: &mut Random) -> Part {
    let ops = (0..random.below(3) + 1).map(|_| match random.below(6) {
        0 => Op::Walk { table: ROWS, scope: keys.walked(random), pinned: random.one_in(2) },
        1 => Op::Look { place: random.below(1000), key: keys.one(random) },
        _ => keys.search(random),
    });
    let ops = ops.collect();
    part("reader", ops, random)
}

/// Some rounds of deletions, a vacuum and insertions.
fn churn(keys: &Keys, random: &mut Random) -> Vec<Op> {
    let mut ops = Vec::new();
    for _ in 0..random.below(3) + 1 {
        ops.extend((0..random.below(20)).map(|_| Op::Delete(random.below(1000))));
        ops.push(Op::Vacuum);
        ops.extend((0..random.below(12)).map(|_| keys.insert(random)));
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
    // Half of them put all their rows in one place, so that pages are split while others use them.
    let centre = random.one_in(2).then(|| random.pick(&keys.centres));
    let ops = (0..rows).map(|_| match centre {
        Some(centre) => {
            Op::Insert { keys: vec![keys.near(centre, random)], scope: keys.scope(random) }
        }
        None => keys.insert(random),
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
    let ops = (0..random.below(3) + 1).map(|_| {
        let key = keys.near(centre, random);
        Op::Exclude { key, distance, scope: keys.scope(random) }
    });
    let ops = ops.collect();
    part("excluder", ops, random)
}

fn vacuumer(keys: &Keys, random: &mut Random) -> Part {
    let mut ops = Vec::new();
    for _ in 0..random.below(2) + 1 {
        ops.extend((0..random.below(4)).map(|_| Op::Delete(random.below(1000))));
        if keys.scopes.len() > 1 && random.one_in(2) {
            ops.push(Op::Clear(keys.scope(random)));
        }
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
                scope: keys.walked(random),
                pinned: random.one_in(2),
            },
            3 if keys.keyless == 2 => {
                Op::Walk { table: blocks as u8, scope: keys.walked(random), pinned: true }
            }
            1 | 2 => {
                let queries = (0..random.pick(&[1, 1, 1, 2])).map(|_| keys.one(random)).collect();
                Op::Nearest {
                    queries,
                    limit: random.pick(&[64, 64, 20, 6]),
                    scopes: keys.selections(random),
                    rows: random.pick(&[1, 5, 20, 1000]),
                    pinned: random.one_in(3),
                }
            }
            _ => {
                let distance = random.pick(&[0, 1, 3, 6, 10, 20, 40, 64]).min(keys.bits);
                let scopes = keys.selection(random);
                Op::Range { query, distance, scopes, pinned: random.one_in(2) }
            }
        }
    });
    let ops = ops.collect();
    part("reader", ops, random)
}

/// As many rows as fit before a root is split. If no row has a key, that is the root of the table
/// of NULLs.
fn full_root<K: TreeKey, const PAGE: usize>(
    coding: Coding<K>,
    keys: &Keys,
    far: u8,
    random: &mut Random,
) -> Vec<(Vec<u64>, u8)> {
    let world = Arc::new(Mutex::new(World::default()));
    let store = SimStore::<K, PAGE>::alone(world.clone(), coding);
    locked(&world).enter_alone();
    locked(&world).rows = Rows::with_far(far);
    initialize::<K, _>(&store, coding.meta, &[]);
    let index = open(store, 1000);
    let mut rows = Vec::new();
    while index.tables().all(|table| index.height(table) == 0) {
        let (of_row, scope) = (keys.of_row(random), keys.scope(random));
        let row = {
            let mut world = locked(&world);
            let number = world.rows.begin(of_row.clone(), scope, 0);
            world.rows.commit(number, 0);
            world.rows.all[number].clone()
        };
        insert(&index, &row);
        rows.push((of_row, scope));
    }
    rows.pop();
    rows
}

impl<K: TreeKey> Base<K> {
    /// An index that was built or filled by insertion, with some dead rows.
    fn new<const PAGE: usize>(
        coding: Coding<K>,
        keys: &Keys,
        site: Site,
        random: &mut Random,
    ) -> Self {
        let world = Arc::new(Mutex::new(World::default()));
        let store = SimStore::<K, PAGE>::alone(world.clone(), coding);
        locked(&world).enter_alone();
        let far = random.pick(&[0, 0b1111, 0b1000, 0b0110, 0b1_0101, 0b10_0010, 0b10_1111]);
        locked(&world).rows = Rows::with_far(far);
        let planned = site.rows::<K, PAGE>(coding, keys, far, random);
        let count = planned.len();
        initialize::<K, _>(&store, coding.meta, &[]);
        let index = open(store.clone(), 1000);
        {
            let mut world = locked(&world);
            for (keys, scope) in planned {
                let row = world.rows.begin(keys, scope, 0);
                world.rows.commit(row, 0);
            }
        }
        let rows = locked(&world).rows.clone();
        let mut inserted = &rows.all[..];
        if random.one_in(2) {
            // A build writes settled postings. The rows inserted after it have recent ones.
            let more = if coding.meta.is_of_postings() { random.pick(&[0, count / 2]) } else { 0 };
            let built;
            (built, inserted) = inserted.split_at(count - more);
            build(&store, built, random.pick(&[50, 90, 100]), random);
        }
        inserted.iter().for_each(|row| insert(&index, row));
        for row in site.dead(&rows, keys, random) {
            locked(&world).rows.kill(row, 0);
        }
        if site == Site::Any && random.one_in(3) {
            let dead = locked(&world).rows.dead(usize::MAX);
            let rows = locked(&world).rows.clone();
            index.vacuum(&|tid| rows.of_tid(tid).is_some_and(|row| dead.contains(&row)));
            locked(&world).rows.vacuumed(&dead, 0).expect("nobody reads");
        }
        let world = locked(&world);
        // The map of free pages is not logged: it may be lost or wrong.
        let free = match random.below(4) {
            0 => Vec::new(),
            1 => (0..world.page_count() + 2).filter(|_| random.one_in(3)).collect(),
            _ => world.free.clone(),
        };
        Self { coding, images: world.images(), free, rows: world.rows.clone() }
    }
}

/// Builds every table from sorted runs.
fn build<K: TreeKey, const PAGE: usize>(
    store: &SimStore<K, PAGE>,
    rows: &[Row],
    fill: usize,
    random: &mut Random,
) {
    let coding = &store.coding;
    for table in coding.groups().iter().filter_map(|group| group.last().copied()) {
        let mut runs = vec![Vec::new(); random.below(3) + 1];
        for row in rows {
            let run = random.below(runs.len());
            runs[run].extend(coding.rows(row, table));
        }
        runs.iter_mut().for_each(|run| run.sort_unstable());
        let runs = runs.into_iter().map(Vec::into_iter).collect();
        // A generator of its own, so that how the index is built does not change the schedule.
        let mut cuts = Random::new(rows.len() as u64 * 251 + u64::from(table));
        if cuts.one_in(4) {
            let mut sorted = Vec::new();
            merge(runs, |row| sorted.push(row));
            build_in_stretches(store, (table, fill), &sorted, &mut cuts);
        } else {
            let mut writer = Writer::new(store, coding.meta.shape(), table, fill);
            merge(runs, |row| writer.push(row));
            writer.finish();
        }
    }
}

/// Builds a table as several workers do: stretches of leaves, in any order, and then the levels
/// above.
fn build_in_stretches<K: TreeKey, const PAGE: usize>(
    store: &SimStore<K, PAGE>,
    (table, fill): (u8, usize),
    rows: &[simhash_index::Row<K>],
    random: &mut Random,
) {
    let shape = store.coding.meta.shape();
    let cuts = (0..random.below(4)).map(|_| random.below(rows.len() + 1));
    let mut starts: Vec<usize> = cuts.filter(|&cut| 0 < cut && cut < rows.len()).collect();
    starts.push(0);
    starts.sort_unstable();
    starts.dedup();
    let low = |start: usize| if start == 0 { Entry::MIN } else { rows[start].entry };
    let pages = store.reserve(starts.len() as u32);
    let mut order: Vec<usize> = (0..starts.len()).collect();
    order.sort_by_cached_key(|_| random.next());
    let mut downlinks = vec![Vec::new(); starts.len()];
    for number in order {
        let next = number + 1;
        let end = starts.get(next).copied();
        let rows = &rows[starts[number]..end.unwrap_or(rows.len())];
        let stretch = Stretch {
            low: low(starts[number]),
            first: pages[number],
            end: end.map(|end| (low(end), pages[next])),
            rows: rows.len() as u64,
        };
        let mut writer = Writer::of_stretch(store, shape, table, fill, &stretch);
        rows.iter().for_each(|&row| writer.push(row));
        downlinks[number] = writer.finish_stretch();
    }
    Writer::new(store, shape, table, fill).finish_above(downlinks.concat());
}

#[cfg(test)]
mod tests {
    use simhash_index::Scoped;
    use simhash_index::store::Lock;
    use simhash_index::walk::LeafWalk;

    use super::*;
    use crate::opened::Sim;

    type Small = Scoped<u64, 3>;

    /// The form of each leaf of the first table, and how many rows it has.
    fn leaves(index: &Sim<Small, 320>) -> Vec<(Form, usize)> {
        let mut walk = LeafWalk::new(0, Entry::MIN);
        let (mut found, mut rows) = (Vec::new(), Vec::new());
        while let Some(leaf) = walk.next_leaf(index, &mut rows) {
            let page = index.checked(walk.leaf(), leaf.bytes());
            found.push((page.form(), page.len()));
        }
        found
    }

    fn index_of(scopes: &[u8], is_built: bool) -> Sim<Small, 320> {
        let meta = simhash_index::Meta {
            kind: 1,
            bits: 64,
            blocks: 1,
            scope: 17,
            ..simhash_index::Meta::default()
        };
        let coding = Coding::new(meta);
        let world = Arc::new(Mutex::new(World::default()));
        locked(&world).enter_alone();
        let store = SimStore::<Small, 320>::alone(world.clone(), coding);
        initialize::<Small, _>(&store, meta, &[]);
        for (key, &scope) in (0..).zip(scopes) {
            let row = locked(&world).rows.begin(vec![key], scope, 0);
            locked(&world).rows.commit(row, 0);
        }
        let index = open(store.clone(), 1000);
        let rows = locked(&world).rows.clone();
        if is_built {
            build(&store, &rows.all, 100, &mut Random::new(1));
        } else {
            rows.all.iter().for_each(|row| insert(&index, row));
        }
        index
    }

    // Rows have 200 bytes of a leaf. With 17 bytes of scope a row takes 31: 6 rows fit. With a TID
    // cut to 3 bytes and a key cut by 2, a row takes 26 bytes: 7 fit. Without its scope it takes 9:
    // 22 fit.
    const SMALL: (Form, usize) = (Form::MIXED, 6);
    const MIXED: Form = Form { uniform: false, tids: Tids::brief(3), cut: 2 };
    const UNIFORM: Form = Form { uniform: true, ..MIXED };

    #[test]
    fn a_build_stores_leaves_of_one_scope_without_it() {
        let of_one = |scope: u8| leaves(&index_of(&[scope; 28], true));
        assert_eq!(of_one(0), [(UNIFORM, 22), (UNIFORM, 6)]);
        // The first leaf's lower bound has the least scope, so this leaf must store scope 2.
        assert_eq!(of_one(2), [(MIXED, 7), (UNIFORM, 21)]);
        let of_two = index_of(&[[0; 16], [3; 16]].concat(), true);
        assert_eq!(leaves(&of_two), [(UNIFORM, 16), (UNIFORM, 16)]);
    }

    #[test]
    fn a_row_of_another_scope_changes_the_form_of_a_leaf() {
        let forms = |scopes: &[u8]| leaves(&index_of(scopes, false));
        assert_eq!(forms(&[0; 6]), [SMALL]);
        assert_eq!(forms(&[0; 7]), [(UNIFORM, 7)]);
        // A leaf that is created for its first row stores scopes until it is full.
        assert_eq!(forms(&[[0; 7], [5; 7]].concat()), [(UNIFORM, 7), (MIXED, 7)]);
        let eight = [&[0; 7][..], &[5; 8]].concat();
        assert_eq!(forms(&eight), [(UNIFORM, 7), (UNIFORM, 8)]);
        assert_eq!(forms(&[0, 0, 0, 0, 0, 5]), [SMALL]);
    }
}
