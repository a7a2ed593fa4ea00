//! Tests of indexes, mostly of postings, that one process uses alone: larger than those of
//! schedules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use simhash_core::search::Plan;
use simhash_index::build::{Writer, initialize};
use simhash_index::check::check_tables;
use simhash_index::form::{Form, Tids};
use simhash_index::key::Bytes;
use simhash_index::postings::{Candidates, RECENT, SETTLED};
use simhash_index::range::RangeScan;
use simhash_index::store::Lock;
use simhash_index::walk::LeafWalk;
use simhash_index::{Entry, Meta, Posting, Row, Scoped, Scopes, TreeKey};

use crate::coding::Coding;
use crate::opened::{Sim, insert, open};
use crate::random::Random;
use crate::rows::{self, Rows};
use crate::store::SimStore;
use crate::world::{Image, World, locked};

/// An empty index.
fn empty<K: TreeKey, const PAGE: usize>(scope: u32, most_recent: u32) -> Sim<K, PAGE> {
    let meta = Meta { kind: 1, bits: 32, blocks: 2, bands: 8, rows: 1, scope, ..Meta::default() };
    let mut coding = Coding::new(meta);
    coding.most_recent = most_recent;
    let world = Arc::new(Mutex::new(World::default()));
    locked(&world).enter_alone();
    let store = SimStore::<K, PAGE>::alone(world, coding);
    initialize::<K, _>(&store, meta, &[]);
    open(store, 1000)
}

/// Clears the log, inserts a row with these keys, and returns its TID.
fn add<K: TreeKey, const PAGE: usize>(index: &Sim<K, PAGE>, keys: Vec<u64>, scope: u8) -> u64 {
    let world = &index.store.world;
    let row = {
        let mut world = locked(world);
        world.alone = 0;
        world.log.clear();
        let row = world.rows.begin(keys, scope, 0);
        world.rows.commit(row, 0);
        world.rows.all[row].clone()
    };
    insert(index, &row);
    row.tid
}

fn search<K: TreeKey, const PAGE: usize>(
    index: &Sim<K, PAGE>,
    keys: &[u64],
    scope: u8,
    shared: usize,
) -> Vec<Vec<u64>> {
    locked(&index.store.world).alone = 0;
    let coding = &index.store.coding;
    let keys: Vec<K::Fingerprint> = keys.iter().map(|&key| coding.fingerprint(key)).collect();
    let mut candidates = Candidates::new(index, coding.scope(scope), &keys, shared);
    let mut batches = Vec::new();
    loop {
        let mut batch = Vec::new();
        if !candidates.next_batch(index, &mut batch) {
            assert!(batch.is_empty());
            return batches;
        }
        batches.push(batch);
    }
}

/// The form of each leaf, and its entries in order.
type Leaves<K> = Vec<(Form, Vec<Entry<K>>)>;

fn leaves<K: TreeKey, const PAGE: usize>(index: &Sim<K, PAGE>, table: u8) -> Leaves<K> {
    let mut walk = LeafWalk::new(table, Entry::MIN);
    let (mut found, mut rows) = (Vec::new(), Vec::new());
    while let Some(leaf) = walk.next_leaf(index, &mut rows) {
        let page = index.checked(walk.leaf(), leaf.bytes());
        let mut entries: Vec<Entry<K>> = rows.drain(..).map(|row: Row<K>| row.entry).collect();
        assert_eq!(entries.len(), page.len());
        entries.sort_unstable();
        found.push((page.form(), entries));
    }
    found
}

fn a_build_writes_every_posting<K: TreeKey>(scope: u32, far: u64) {
    let mut random = Random::new(u64::from(scope) + far);
    for (fill, values, count) in [(100, 1, 700), (90, 50, 500), (50, 1 << 20, 900), (100, 3, 2)] {
        let index = empty::<K, 320>(scope, 1);
        let coding = &index.store.coding;
        let entry = |random: &mut Random| {
            let place = random.next() % 4000;
            // Long TIDs are rare, or many.
            let is_long = far > 0 && place.is_multiple_of(far);
            let tid = place << 16 | if is_long { 1 << 40 | 1 } else { 1 };
            let scope = coding.scope(if random.one_in(3) { random.below(6) as u8 } else { 4 });
            let key = coding.fingerprint(random.next() % values);
            Entry { key: K::new(scope, key), tid }
        };
        let all: BTreeSet<Entry<K>> = (0..count).map(|_| entry(&mut random)).collect();
        let mut writer = Writer::new(&index.store, index.shape, SETTLED, fill);
        all.iter().for_each(|&entry| writer.push(Row { entry, payload: K::Payload::ZERO }));
        writer.finish();
        check_tables(&index);
        let leaves = leaves(&index, SETTLED);
        assert!(leaves.iter().flat_map(|(_, entries)| entries).eq(&all));
        let mut low = K::MIN.scope();
        for (i, (form, entries)) in leaves.iter().enumerate() {
            let capacity = index.shape.at(SETTLED).leaf_capacity(320, *form) * fill / 100;
            let least = if i + 1 < leaves.len() { 1 } else { 0 };
            assert!((least..=capacity.max(2)).contains(&entries.len()), "{form:?}");
            let take = |tids: Tids| entries.iter().all(|entry| tids.take(entry.tid));
            let brief = (1..=11).map(Tids::brief).find(|brief| take(*brief));
            let least = if take(Tids::SHORT) { Tids::SHORT } else { Tids::WHOLE };
            assert!(form.tids == brief.unwrap_or(least) || entries.is_empty());
            if i > 0 {
                low = entries[0].key.scope();
            }
            let is_uniform = entries.iter().all(|entry| entry.key.scope() == low);
            assert_eq!(form.uniform, is_uniform && K::Scope::BYTES > 0);
        }
    }
}

#[test]
fn a_build_writes_every_posting_of_every_family() {
    for far in [0, 1, 2, 50] {
        a_build_writes_every_posting::<Posting>(0, far);
        a_build_writes_every_posting::<Scoped<u64, 2>>(5, far);
        a_build_writes_every_posting::<Scoped<u64, 7>>(30, far);
    }
}

#[test]
fn a_key_of_a_hundred_thousand_rows_is_read_leaf_by_leaf() {
    const BUILT: u64 = 100_000;
    let index = empty::<Posting, 8192>(0, 2);
    let coding = &index.store.coding;
    // Every row has the key 5, and every tenth the key 9.
    let tid = |i: u64| (10_000 + i) << 16 | 1;
    let posting = |key, i| Row {
        entry: Entry { key: Posting::new((), coding.fingerprint(key)), tid: tid(i) },
        payload: (),
    };
    let mut writer = Writer::new(&index.store, index.shape, SETTLED, 100);
    (0..BUILT).for_each(|i| writer.push(posting(5, i)));
    (0..BUILT).step_by(10).for_each(|i| writer.push(posting(9, i)));
    writer.finish();
    let added: Vec<u64> = (0..2500).map(|_| add(&index, vec![5, 7], 0)).collect();
    let everyone: Vec<u64> = added.iter().copied().chain((0..BUILT).map(tid)).collect();
    let some: Vec<u64> = (0..BUILT).step_by(10).map(tid).collect();
    let recent: usize = leaves(&index, RECENT).iter().map(|(_, entries)| entries.len()).sum();
    let leaf = index.shape.leaf_capacity(8192, Form::densest(&index.shape));
    for (keys, shared, expected) in [
        (&[5][..], 1, &everyone),
        (&[5, 5], 2, &everyone),
        (&[5, 9], 1, &everyone),
        (&[5, 9], 2, &some),
        (&[1, 5, 7, 9], 2, &[&added[..], &some].concat()),
        (&[5, 7, 8], 2, &added),
        (&[1, 5, 9], 3, &Vec::new()),
    ] {
        let batches = search(&index, keys, 0, shared);
        assert!(batches.iter().all(|batch| batch.len() <= leaf + recent && !batch.is_empty()));
        assert!(batches.concat() == *expected, "{shared} of {keys:?}");
    }
    index.settle_all();
    check_tables(&index);
    assert!(leaves(&index, RECENT).iter().all(|(_, entries)| entries.is_empty()));
    assert!(search(&index, &[5], 0, 1).concat() == everyone);
}

#[test]
fn searches_are_those_of_brute_force() {
    let mut random = Random::new(4);
    let index = empty::<Scoped<u64, 2>, 400>(3, 4);
    locked(&index.store.world).rows = Rows::with_far(0b0100);
    // Few of the keys are common.
    let one = |random: &mut Random| {
        let values = random.pick(&[2, 20, 1000]);
        random.next() % values
    };
    let set = |random: &mut Random| -> Vec<u64> {
        let keys: BTreeSet<u64> = (0..random.below(8)).map(|_| one(random)).collect();
        keys.into_iter().collect()
    };
    let mut rows: BTreeMap<u64, (Vec<u64>, u8)> = BTreeMap::new();
    for step in 0..1500 {
        let (keys, scope) = (set(&mut random), random.below(3) as u8);
        rows.insert(add(&index, keys.clone(), scope), (keys, scope));
        if step % 400 == 399 {
            let gone: BTreeSet<u64> = rows.keys().copied().filter(|_| random.one_in(3)).collect();
            {
                let mut world = locked(&index.store.world);
                let numbers: Vec<usize> =
                    gone.iter().filter_map(|&tid| world.rows.of_tid(tid)).collect();
                numbers.into_iter().for_each(|row| world.rows.kill(row, 0));
                world.alone = 0;
            }
            let counts = index.vacuum(&|tid| gone.contains(&tid));
            rows.retain(|tid, _| !gone.contains(tid));
            assert_eq!(counts.remaining, rows.len() as u64);
            let mut world = locked(&index.store.world);
            let dead = world.rows.dead(usize::MAX);
            world.rows.vacuumed(&dead, 0).expect("nobody reads");
        }
        if step % 25 == 0 {
            let (wanted, scope) = (set(&mut random), random.below(3) as u8);
            for shared in 1..=3 {
                let shares = |row: &(Vec<u64>, u8)| {
                    let common = wanted.iter().filter(|key| row.0.contains(key)).count();
                    row.1 == scope && common >= shared
                };
                let expected = rows.iter().filter(|(_, row)| shares(row)).map(|(&tid, _)| tid);
                assert!(expected.eq(search(&index, &wanted, scope, shared).concat()));
            }
        }
    }
    check_tables(&index);
    assert!((2..=8).contains(&leaves(&index, RECENT).len()));
}

/// The bytes that Generic WAL logs for a page's change: each run of changed bytes, and four more.
/// Runs with fewer than four equal bytes between them are one. The hole is left out.
fn delta(before: &[u8], after: &[u8]) -> usize {
    let bound = |at: usize| usize::from(u16::from_ne_bytes([after[at], after[at + 1]]));
    let (lower, upper) = (bound(12), bound(14));
    let (mut bytes, mut last) = (0, None);
    for i in (0..lower).chain(upper..after.len()).filter(|&i| before[i] != after[i]) {
        bytes += match last {
            Some(last) if i - last <= 4 && (i < lower || last >= upper) => i - last,
            _ => 5,
        };
        last = Some(i);
    }
    bytes
}

/// The bytes logged for each posting: on its recent leaf, when that leaf is emptied, and on its
/// settled leaf.
fn logged<const PAGE: usize>(built: u64, most_recent: u32, rows: usize, keys: usize) -> [f64; 3] {
    let index = empty::<Posting, PAGE>(0, most_recent);
    let coding = &index.store.coding;
    let mut random = Random::new(1);
    let key = |random: &mut Random| coding.key_of(random.next());
    let mut all: Vec<Entry<Posting>> = (0..built)
        .map(|i| Entry {
            key: Posting::new((), coding.fingerprint(key(&mut random))),
            tid: (100_000 + i) << 16 | 1,
        })
        .collect();
    all.sort_unstable();
    let mut writer = Writer::new(&index.store, index.shape, SETTLED, 75);
    all.into_iter().for_each(|entry| writer.push(Row { entry, payload: () }));
    writer.finish();
    let mut images = locked(&index.store.world).images();
    let mut bytes = [0; 3];
    for row in 0..2 * rows {
        // The first rows only fill the recent tree.
        let is_counted = row >= rows;
        let keys: BTreeSet<u64> = (0..keys).map(|_| key(&mut random)).collect();
        add(&index, keys.into_iter().collect(), 0);
        let records = locked(&index.store.world).log.clone();
        for record in records {
            images.resize_with(images.len().max(record.page_count as usize), || {
                Image::from(vec![0; PAGE])
            });
            let table = |image: &Image| index.checked(0, image).table();
            let tables: Vec<u8> = record.pages.iter().map(|(_, image)| table(image)).collect();
            let settles = tables == [RECENT, SETTLED];
            for ((number, image), table) in record.pages.iter().zip(tables) {
                let changed = delta(&images[*number as usize], image);
                images[*number as usize] = image.clone();
                let part = match (table, settles) {
                    (RECENT, false) => 0,
                    (RECENT, true) => 1,
                    (_, true) => 2,
                    _ => continue,
                };
                bytes[part] += if is_counted { changed } else { 0 };
            }
        }
    }
    bytes.map(|bytes| bytes as f64 / (rows * keys) as f64)
}

/// Kills the rows that have a key for which `gone` holds, and vacuums.
fn remove<const PAGE: usize>(index: &Sim<u64, PAGE>, gone: impl Fn(u64) -> bool) {
    let world = &index.store.world;
    let dead: Vec<usize> = {
        let mut world = locked(world);
        world.alone = 0;
        let rows = world.rows.all.iter().enumerate();
        let rows = rows.filter(|(_, row)| row.is_live() && row.keys.iter().any(|&key| gone(key)));
        let dead: Vec<usize> = rows.map(|(number, _)| number).collect();
        dead.iter().for_each(|&row| world.rows.kill(row, 0));
        dead
    };
    let tids: BTreeSet<u64> = dead.iter().map(|&row| locked(world).rows.all[row].tid).collect();
    index.vacuum(&|tid| tids.contains(&tid));
    locked(world).rows.vacuumed(&dead, 0).expect("nobody reads");
}

/// A reader whose copies of inner pages are old finds every row, although leaves were removed and
/// rows inserted into their ranges since it read them. (Schedules hardly ever reach such a state.)
#[test]
fn a_reader_with_old_copies_misses_nothing() {
    const DISTANCE: u32 = 7;
    let meta = Meta { bits: 64, blocks: 4, ..Meta::default() };
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let world = Arc::new(Mutex::new(World::default()));
        locked(&world).enter_alone();
        let store = SimStore::<u64, 320>::alone(world, Coding::new(meta));
        initialize::<u64, _>(&store, meta, &[]);
        let [writer, reader] = [(), ()].map(|()| open(store.clone(), 1000));
        let center = random.next();
        let near = |random: &mut Random| {
            (0..random.below(5)).fold(center, |key, _| key ^ 1 << random.below(64))
        };
        for step in 0..60 {
            for _ in 0..random.below(40) {
                add(&writer, vec![near(&mut random)], 0);
            }
            if step % 2 == 1 {
                let gone = near(&mut random);
                let width = random.below(17) as u32;
                remove(&writer, |key| (key ^ gone).leading_zeros() >= width);
            }
            if random.one_in(3) {
                continue;
            }
            let query = near(&mut random);
            let plan = Plan::balanced(writer.layout, DISTANCE, 4);
            let mut scan = RangeScan::new(plan, query, Scopes::All);
            let mut hits = Vec::new();
            while scan.next_leaf(&reader, DISTANCE, &mut hits).is_some() {}
            let mut found: Vec<u64> = hits.iter().map(|hit| hit.tid).collect();
            found.sort_unstable();
            let world = locked(&store.world);
            let is_near = |row: &&rows::Row| (row.keys[0] ^ query).count_ones() <= DISTANCE;
            let mut expected: Vec<u64> =
                world.rows.live().filter(is_near).map(|row| row.tid).collect();
            expected.sort_unstable();
            assert!(found == expected, "seed {seed}, step {step}: {found:x?}, not {expected:x?}");
        }
    }
}

#[test]
fn a_leaf_that_is_emptied_is_logged_about_once() {
    let [added, emptied, settled] = logged::<1024>(64 * 90, 4, 100, 12);
    println!("{added:.1}, {emptied:.1} and {settled:.1} bytes a posting");
    assert!(emptied < 14.0, "{emptied:.1} bytes a posting when its leaf is emptied");
    assert!(settled < 24.0, "{settled:.1} bytes a posting on its settled leaf");
}

/// At the size of PostgreSQL's pages: `cargo test -p simhash-simulate --release -- --ignored
/// --nocapture`.
#[test]
#[ignore = "it takes minutes, and only prints figures"]
fn what_is_logged_of_a_posting() {
    let [added, emptied, settled] = logged::<8192>(128 * 750, 8, 500, 20);
    println!("{added:.1}, {emptied:.1} and {settled:.1} bytes a posting");
}
