//! The join compared with brute force: random, clustered and degenerate sets, in one scope and in
//! scopes of every size, every class of distance, all widths, chunks from the whole table down to a
//! handful of rows.

use simhash_core::Fingerprint;
use simhash_core::base::bits::B256;
use simhash_core::base::key::Key;
use simhash_core::base::memory::NoMemory;
use simhash_core::base::random::{SplitMix64, mix};
use simhash_core::search::{BlockLayout, Plan, Scoped, TreeKey};
use simhash_core::whole::join::{
    Chunk, GroupPair, Join, Members, Part, Rows, Source, Start, Step, Walk, parcels, plan_join,
};

fn key<F: Key>(random: &mut SplitMix64) -> F {
    F::from_words(|_| random.next_u64())
}

fn flipped<F: Key>(key: F, flips: u64, random: &mut SplitMix64) -> F {
    (0..flips).fold(key, |key, _| key ^ F::bit(random.below(u64::from(F::BITS)) as u32))
}

/// Sorted tables in memory, which return leaves of a few rows.
struct Tables<K> {
    tables: Vec<Vec<(K, u64)>>,
    leaf: usize,
    reads: usize,
    /// The first row of the second table, if there are two.
    split: Option<u64>,
}

impl<K: TreeKey> Tables<K> {
    fn new(layout: BlockLayout, rows: &[(K, u64)], leaf: usize) -> Self {
        let tables = (0..layout.blocks()).map(|table| {
            let rotated = |key: K| K::new(key.scope(), layout.rotate(key.fingerprint(), table));
            let mut keys: Vec<_> = rows.iter().map(|&(key, tid)| (rotated(key), tid)).collect();
            keys.sort_unstable();
            keys
        });
        Self { tables: tables.collect(), leaf, reads: 0, split: None }
    }
}

impl<K: TreeKey> Source<K> for Tables<K> {
    fn read(&mut self, rows: Rows<K>, chunk: &mut Chunk<K>) -> Option<Start<K>> {
        self.reads += 1;
        let table = &self.tables[rows.table as usize];
        let mut at = table.partition_point(|row| *row < rows.from);
        while at < table.len() {
            match rows.to {
                Some(to) if table[at] >= to => return Some(to),
                None if chunk.rows() >= rows.limit => return Some(table[at]),
                _ => (),
            }
            let mut leaf: Vec<_> = table[at..table.len().min(at + self.leaf)].to_vec();
            at += leaf.len();
            leaf.retain(|row| rows.to.is_none_or(|to| *row < to));
            leaf.reverse();
            chunk.push(&mut leaf, ..).unwrap();
        }
        None
    }
    fn expected_rows(&self) -> usize {
        self.tables[0].len()
    }
    fn split(&self) -> Option<u64> {
        self.split
    }
    fn check(&mut self) {}
    fn refused(&mut self, refused: NoMemory) -> ! {
        panic!("{refused:?}")
    }
}

/// All pairs that a join finds, as (lesser TID, greater TID, distance), sorted.
/// With a number of `helpers`, walks are shared with this many helpers.
fn joined<K: TreeKey>(
    plan: Plan,
    tables: &mut Tables<K>,
    limit: usize,
    helpers: usize,
) -> Vec<(u64, u64, u32)> {
    let mut join = Join::new(plan, limit);
    let mut found: Vec<GroupPair> = Vec::new();
    let mut pairs = Vec::new();
    loop {
        if helpers > 0 {
            share(&mut join, helpers, &mut found);
        }
        let step = join.step(tables, &mut found);
        for GroupPair { left, right, distance } in found.drain(..) {
            let a = join.left().group(left).to_vec();
            let b = join.right().group(right).to_vec();
            if let Some(split) = tables.split {
                found_across(split, &a, &b);
            }
            for (i, &x) in a.iter().enumerate() {
                // Within one group: each pair of its rows once.
                let from = if a == b && left == right { i + 1 } else { 0 };
                pairs.extend(b[from..].iter().map(|&y| (x.min(y), x.max(y), distance)));
            }
        }
        if step == Step::Done {
            pairs.retain(|&(a, b, _)| tables.split.is_none_or(|split| a < split && split <= b));
            pairs.sort_unstable();
            return pairs;
        }
    }
}

/// Shares a walk with helpers, each of which takes a piece at a time. One of them stops after its
/// first step and gives the rest back, with which the join continues.
fn share<K: TreeKey>(join: &mut Join<K>, helpers: usize, found: &mut Vec<GroupPair>) {
    let Some(mut walking) = join.walking() else { return };
    let (plan, table, with_itself) = walking.walk.task();
    let walk = || Walk::empty::<K::Fingerprint>(plan, table, with_itself).unwrap();
    let mut walks: Vec<Walk> = (0..helpers).map(|_| walk()).collect();
    let pieces = walking.divide(1000);
    assert!(walking.walk.is_empty());
    for (i, piece) in pieces.into_iter().enumerate() {
        let from = found.len();
        let (left, right) = walking.tries();
        let walk = &mut walks[i % helpers];
        walk.add([piece]);
        while walk.step(left, right, found) && i % helpers > 0 {}
        let (rest, done) = (walk.rest(left, right), walk.take_done());
        walking.keep_across(found, from);
        walking.walk.add(rest);
        walking.walk.add_done(done);
    }
    assert!(walking.walk.progress() <= 1.0 + 1e-9);
    if walking.walk.is_empty() {
        assert!(walking.walk.progress() > 1.0 - 1e-9);
    }
}

/// If two tables are joined, no pair of groups may be found whose rows are all of one table.
fn found_across(split: u64, a: &[u64], b: &[u64]) {
    let has = |rows: &[u64], second: bool| rows.iter().any(|&row| (row >= split) == second);
    assert!(has(a, false) && has(b, true) || has(a, true) && has(b, false));
}

fn brute<K: TreeKey>(rows: &[(K, u64)], distance: u32) -> Vec<(u64, u64, u32)> {
    let mut pairs = Vec::new();
    for (i, (x, a)) in rows.iter().enumerate() {
        for (y, b) in &rows[i + 1..] {
            let apart = x.fingerprint().hamming(y.fingerprint());
            if x.scope() == y.scope() && apart <= distance {
                pairs.push((*a.min(b), *a.max(b), apart));
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

fn agree<K: TreeKey>(rows: &[(K, u64)], blocks: u32, distances: &[u32], what: &str) {
    let layout = BlockLayout::new::<K::Fingerprint>(blocks).unwrap();
    for &distance in distances {
        let expected = brute(rows, distance);
        let mut plans: Vec<Plan> =
            (1..=blocks).map(|j| Plan::balanced(layout, distance, j)).collect();
        let parts = [Part::one(rows.len() as f64)];
        plans.push(plan_join::<K::Fingerprint>(layout, distance, &parts, 1));
        // Radii that no formula yields: one table in the middle takes nearly all.
        let mut shares = vec![0; blocks as usize];
        shares[blocks as usize / 2] += distance / 2 + 1;
        shares[blocks as usize - 1] += distance - distance / 2;
        let uneven: Vec<_> = shares.iter().map(|share: &u32| share.checked_sub(1)).collect();
        plans.push(Plan::with_radii(layout, distance, &uneven).unwrap());
        for plan in plans {
            for limit in [usize::MAX, rows.len() / 2, rows.len() / 7, 40] {
                let mut tables = Tables::new(layout, rows, 13);
                let radii = plan.radii().collect::<Vec<_>>();
                let found = joined(plan.clone(), &mut tables, limit, 0);
                assert_eq!(found, expected, "{what}, {distance}, {radii:?}, limit {limit}");
                // The same rows as those of two tables, with half of them, a few or none in the
                // first.
                for split in [1 << 47, 1 << 42, 0] {
                    tables.split = Some(split);
                    let across = |&&(a, b, _): &&(u64, u64, u32)| a < split && split <= b;
                    let expected: Vec<_> = expected.iter().filter(across).copied().collect();
                    let found = joined(plan.clone(), &mut tables, limit, 0);
                    assert_eq!(found, expected, "{what}, {distance}, {radii:?}, split {split}");
                }
            }
        }
    }
}

fn sets<F: Key>(count: u64) -> Vec<(&'static str, Vec<(F, u64)>)> {
    let mut random = SplitMix64::new(count ^ u64::from(F::BITS));
    let number = |keys: Vec<F>| -> Vec<(F, u64)> {
        keys.into_iter()
            .enumerate()
            .map(|(i, key)| (key, mix(i as u64 + 1) & 0xffff_ffff_ffff))
            .collect()
    };
    let centers: Vec<F> = (0..20).map(|_| key(&mut random)).collect();
    let uniform = (0..count).map(|_| key(&mut random)).collect();
    let clusters = (0..count)
        .map(|_| {
            let (center, flips) = (random.below(20) as usize, random.below(13));
            flipped(centers[center], flips, &mut random)
        })
        .collect();
    let one = key::<F>(&mut random);
    // Rows with half of their bits in common, and rows within a few bits of each other.
    let constant = (0..count)
        .map(|_| key::<F>(&mut random) & F::leading_mask(F::BITS / 2 + 3) | (one >> 40))
        .collect();
    let dense = (0..count).map(|i| flipped(one, i % 5, &mut random)).collect();
    let copies = (0..count).map(|i| if i % 3 == 0 { one } else { key(&mut random) }).collect();
    let numbers = (0..count).map(F::from_number).collect();
    vec![
        ("uniform", number(uniform)),
        ("clusters", number(clusters)),
        ("constant half", number(constant)),
        ("dense", number(dense)),
        ("copies", number(copies)),
        ("ascending numbers", number(numbers)),
        ("all equal", number(vec![one; count as usize / 4])),
        ("complements", number(vec![F::ZERO, F::MAX, F::ZERO, F::MAX, one])),
        ("one row", number(vec![one])),
        ("no rows", number(vec![])),
    ]
}

#[test]
fn narrow_joins_equal_brute_force() {
    for (what, rows) in sets::<u64>(240) {
        agree(&rows, 4, &[0, 1, 3, 6, 10, 20, 40, 64], what);
    }
}

#[test]
fn wide_joins_equal_brute_force() {
    for (what, rows) in sets::<u128>(150) {
        agree(&rows, 8, &[0, 3, 10, 24, 128], what);
    }
}

#[test]
fn joins_of_256_bits_equal_brute_force() {
    for (what, rows) in sets::<B256>(150) {
        agree(&rows, 16, &[0, 3, 31, 60, 256], what);
    }
}

#[test]
fn odd_numbers_of_blocks_serve_too() {
    for (what, rows) in sets::<u64>(120) {
        for blocks in [1, 3, 7] {
            agree(&rows, blocks, &[2, 7, 12], what);
        }
    }
}

/// A name, and a set of rows in scopes.
type ScopedSet<F, const W: usize> = (String, Vec<(Scoped<F, W>, u64)>);
/// The scope of the row with this number.
type ScopeOf = fn(u64) -> u64;

/// The sets in scopes: most rows in one, three rows in each, one row in each, some of many sizes,
/// and all in one that is not zero.
fn scoped_sets<F: Key, const W: usize>(count: u64) -> Vec<ScopedSet<F, W>> {
    let scopes: [(&str, ScopeOf); 5] = [
        ("one large scope", |i| (i % 8) / 7 * (i + 1)),
        ("scopes of three rows", |i| i / 3),
        ("scopes of one row", |i| i),
        ("scopes of many sizes", |i| 10_000 / (i * i + 17)),
        ("one scope", |_| 9),
    ];
    let mut scoped = Vec::new();
    for (what, rows) in sets::<F>(count) {
        for (how, scope) in scopes {
            let key = |i: usize, fingerprint| {
                let mut words = [7; W];
                // Scopes that differ in the first word, and scopes that differ in the last.
                words[if i.is_multiple_of(2) { 0 } else { W - 1 }] = scope(i as u64 / 2);
                Scoped::new(words, fingerprint)
            };
            let rows = rows.iter().enumerate().map(|(i, &(f, tid))| (key(i, f), tid));
            scoped.push((format!("{what}, {how}"), rows.collect()));
        }
    }
    scoped
}

#[test]
fn joins_within_scopes_equal_brute_force() {
    for (what, rows) in scoped_sets::<u64, 3>(150) {
        agree(&rows, 4, &[0, 3, 10, 40], &what);
    }
    for (what, rows) in scoped_sets::<u128, 3>(100) {
        agree(&rows, 8, &[3, 24], &what);
    }
    for (what, rows) in scoped_sets::<B256, 7>(70) {
        agree(&rows, 3, &[31], &what);
    }
}

/// Fingerprints of fewer bits than their type has.
#[test]
fn joins_of_a_part_of_a_type_equal_brute_force() {
    for (bits, blocks) in [(12, 3), (100, 4)] {
        let layout = BlockLayout::of_bits(bits, blocks).unwrap();
        let mut random = SplitMix64::new(u64::from(bits));
        let rows: Vec<(u128, u64)> = (0..300)
            .map(|i| (key::<u128>(&mut random) & u128::leading_mask(bits.min(14)), i))
            .collect();
        for distance in [0, 1, 3] {
            for limit in [usize::MAX, 40] {
                let plan = Plan::balanced(layout, distance, blocks);
                let found = joined(plan, &mut Tables::new(layout, &rows, 7), limit, 0);
                assert_eq!(found, brute(&rows, distance), "{bits} bits, {distance}, {limit}");
            }
        }
    }
}

/// Shared walks find what one process finds, which other tests compare with brute force.
fn shared_walks_agree<K: TreeKey>(rows: &[(K, u64)], blocks: u32, distance: u32, what: &str) {
    let layout = BlockLayout::new::<K::Fingerprint>(blocks).unwrap();
    for (tables, split) in [(blocks, None), (1, None), (blocks, Some(1 << 47))] {
        let plan = Plan::balanced(layout, distance, tables);
        for limit in [usize::MAX, rows.len() / 2] {
            let mut tables = Tables::new(layout, rows, 13);
            tables.split = split;
            let expected = joined(plan.clone(), &mut tables, limit, 0);
            for helpers in [1, 3] {
                let found = joined(plan.clone(), &mut tables, limit, helpers);
                assert!(found == expected, "{what}, limit {limit}, {split:?}, {helpers} helpers");
            }
        }
    }
}

#[test]
fn walks_can_be_shared() {
    for (what, rows) in sets::<u64>(3000) {
        shared_walks_agree(&rows, 4, 3, what);
    }
    for (what, rows) in sets::<B256>(2000) {
        shared_walks_agree(&rows, 5, 4, what);
    }
    for (what, rows) in scoped_sets::<u128, 3>(2000) {
        shared_walks_agree(&rows, 4, 3, &what);
    }
    // Far more comparisons than a step makes.
    let mut random = SplitMix64::new(1);
    let rows: Vec<(u64, u64)> = (0..20_000).map(|i| (key(&mut random), i)).collect();
    shared_walks_agree(&rows, 2, 12, "steps");
}

#[test]
fn progress_is_sent_without_pairs_too() {
    let pair = GroupPair { left: 3, right: 4, distance: 5 };
    for (count, expected) in [(0, vec![0]), (1, vec![1]), (10, vec![10]), (21, vec![10, 10, 1])] {
        let pairs = vec![pair; count];
        let lengths: Vec<usize> = parcels(&pairs, 10).map(<[_]>::len).collect();
        assert_eq!(lengths, expected);
    }
}

/// A walk's share of pairs is at least its share of steps, and not much more. That tells whether
/// parallel workers are worth launching.
#[test]
fn progress_is_at_least_the_share_of_work() {
    let layout = BlockLayout::new::<u64>(2).unwrap();
    let mut random = SplitMix64::new(3);
    let rows: Vec<(u64, u64)> = (0..20_000).map(|i| (key(&mut random), i)).collect();
    for distance in [6, 12, 20] {
        let mut tables = Tables::new(layout, &rows, 13);
        let mut join = Join::new(Plan::balanced(layout, distance, 1), usize::MAX);
        let (mut found, mut progress) = (Vec::new(), Vec::new());
        while join.step(&mut tables, &mut found) != Step::Done {
            progress.extend(join.walking().map(|walking| walking.walk.progress()));
        }
        let steps = progress.len() as f64;
        assert!(steps > 10.0, "{steps} steps within {distance}");
        for (step, share) in (0..).zip(progress) {
            // Evenly spread over keys is the least work that the first ones can have.
            let work = f64::from(step) / steps;
            let most = 1.0 - (1.0 - work).powi(2);
            let what = format!("{share} after {step} of {steps} steps within {distance}");
            assert!(work - 0.05 <= share && share <= most + 0.15, "{what}");
        }
    }
}

/// If chunks share scopes only with their neighbours, a table is read at most twice.
#[test]
fn chunks_without_a_common_scope_are_left_out() {
    let layout = BlockLayout::new::<u64>(4).unwrap();
    let mut random = SplitMix64::new(6);
    let rows: Vec<(Scoped<u64, 3>, u64)> =
        (0..6400).map(|i| (Scoped::new([0, i / 10, 0], key(&mut random)), i)).collect();
    let mut tables = Tables::new(layout, &rows, 7);
    assert_eq!(joined(Plan::balanced(layout, 20, 4), &mut tables, 200, 0), brute(&rows, 20));
    assert!(tables.reads < 4 * 2 * 64, "{} reads", tables.reads);
}

/// Chunks that cannot have a pair are not read: the reads are far fewer than for all pairs of 64
/// chunks.
#[test]
fn chunks_that_cannot_meet_are_left_out() {
    let layout = BlockLayout::new::<u64>(4).unwrap();
    let mut random = SplitMix64::new(5);
    let rows: Vec<(u64, u64)> = (0..6400).map(|i| (key(&mut random), i)).collect();
    let plan = Plan::balanced(layout, 3, 4);
    let mut tables = Tables::new(layout, &rows, 10);
    assert_eq!(joined(plan, &mut tables, 200, 0), brute(&rows, 3));
    // One pass discovers the chunks of each table. After that only neighbours are compared.
    assert!(tables.reads < 4 * 64 * 4, "{} reads", tables.reads);
}

/// A million equal rows are one key: the join of a table costs no comparison.
#[test]
fn equal_rows_are_compared_once() {
    let layout = BlockLayout::new::<u64>(4).unwrap();
    let rows: Vec<(u64, u64)> = (0..1_000_000).map(|i| (77, i)).collect();
    let mut tables = Tables::new(layout, &rows, 500);
    let mut join = Join::new(Plan::balanced(layout, 3, 4), usize::MAX);
    let mut found = Vec::new();
    let mut steps = 0;
    while join.step(&mut tables, &mut found) != Step::Done {
        steps += 1;
    }
    assert_eq!(found, [GroupPair { left: 0, right: 0, distance: 0 }]);
    assert!(steps < 40, "{steps} steps");
}

/// The clusters of a join are the connected components of brute force's pairs.
#[test]
fn clusters_equal_the_components_of_all_pairs() {
    for (what, rows) in sets::<u64>(400) {
        let mut label: Vec<usize> = (0..rows.len()).collect();
        let mut members = Members::default();
        for row in &rows {
            let number = members.remember(row.1, &mut || ()).unwrap();
            members.set_visible(number, Some(row.1));
        }
        for (i, x) in rows.iter().enumerate() {
            for (j, y) in rows.iter().enumerate().skip(i + 1) {
                if x.0.hamming(y.0) <= 6 {
                    let (from, to) = (label[i], label[j]);
                    label.iter_mut().filter(|l| **l == from).for_each(|l| *l = to);
                }
            }
        }
        let layout = BlockLayout::new::<u64>(4).unwrap();
        for (a, b, _) in
            joined(Plan::balanced(layout, 6, 4), &mut Tables::new(layout, &rows, 9), 100, 0)
        {
            members.unite(members.find(a).unwrap(), members.find(b).unwrap());
        }
        assert_eq!(members.len(), rows.len());
        let mut expected = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            let cluster: Vec<u64> =
                (0..rows.len()).filter(|&j| label[j] == label[i]).map(|j| rows[j].1).collect();
            if cluster.len() > 1 {
                expected.push((*cluster.iter().min().unwrap(), row.1, cluster.len() as u32));
            }
        }
        expected.sort_unstable();
        assert_eq!(
            members.into_clusters(&mut || ()).unwrap().collect::<Vec<_>>(),
            expected,
            "{what}"
        );
    }
}
