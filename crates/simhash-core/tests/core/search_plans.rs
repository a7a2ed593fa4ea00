//! With every plan, a simulated set of block tables answers exactly as brute force does, and every
//! match is returned by only one table.

use simhash_core::base::bits::B256;
use simhash_core::base::key::Key;
use simhash_core::base::random::SplitMix64;
use simhash_core::search::{BlockLayout, Plan, cost};

fn key<F: Key>(random: &mut SplitMix64) -> F {
    F::from_words(|_| random.next_u64())
}

fn position<F: Key>(random: &mut SplitMix64) -> u32 {
    random.below(u64::from(F::BITS)) as u32
}

/// Random fingerprints, some near `query` in few bits, some equal to it, some sharing one block.
fn rows<F: Key>(query: F, random: &mut SplitMix64) -> Vec<F> {
    (0..600)
        .map(|i| {
            let any: F = key(random);
            let third = F::leading_mask(F::BITS / 3);
            match i % 4 {
                0 => any,
                1 => {
                    (0..position::<F>(random)).fold(query, |f, _| f ^ F::bit(position::<F>(random)))
                }
                2 => query ^ F::bit(position::<F>(random)),
                _ => (query & third) | (any & !third),
            }
        })
        .collect()
}

/// Walks every table as a scan does, with leaves of `leaf` keys, and returns the rows that it
/// emits.
fn search<F: Key>(plan: &Plan, rows: &[F], query: F, leaf: usize) -> Vec<usize> {
    let cut = plan.layout();
    let mut emitted = Vec::new();
    for table in 0..cut.blocks() {
        let Some(probe) = plan.probe(query, table) else { continue };
        let mut keys: Vec<(F, usize)> =
            rows.iter().enumerate().map(|(i, &f)| (cut.rotate(f, table), i)).collect();
        keys.sort_unstable();
        let leaves: Vec<&[(F, usize)]> = keys.chunks(leaf).collect();
        let mut next = 0;
        let mut from = F::ZERO;
        while next < leaves.len() {
            let Some(target) = probe.successor(from) else { break };
            while next + 1 < leaves.len() && leaves[next + 1][0].0 < target {
                next += 1;
            }
            for &(key, row) in leaves[next] {
                let difference = cut.restore(key, table) ^ query;
                if difference.count_ones() <= plan.distance() && plan.emits(difference, table) {
                    emitted.push(row);
                }
            }
            next += 1;
            if let Some(leaf) = leaves.get(next) {
                from = leaf[0].0;
            }
        }
    }
    emitted
}

fn exact_for_every_distance_and_plan<F: Key>(block_counts: &[u32]) {
    let mut random = SplitMix64::new(u64::from(F::BITS));
    for &blocks in block_counts {
        let cut = BlockLayout::new::<F>(blocks).unwrap();
        let query: F = key(&mut random);
        let rows = rows(query, &mut random);
        for distance in 0..=F::BITS {
            let expected: Vec<usize> =
                (0..rows.len()).filter(|&i| rows[i].hamming(query) <= distance).collect();
            let mut plans: Vec<Plan> =
                (1..=blocks).map(|used| Plan::balanced(cut, distance, used)).collect();
            plans.push(cost::cheapest::<F>(cut, distance, 40.0));
            plans.push(random_plan(cut, distance, &mut random));
            for plan in plans {
                let mut found = search(&plan, &rows, query, 1 + random.below(20) as usize);
                found.sort_unstable();
                assert_eq!(
                    found,
                    expected,
                    "{blocks} blocks, distance {distance}, {:?}",
                    plan.radii().collect::<Vec<_>>()
                );
            }
        }
    }
}

fn random_plan(cut: BlockLayout, distance: u32, random: &mut SplitMix64) -> Plan {
    let mut shares = vec![0u32; cut.blocks() as usize];
    for _ in 0..=distance {
        shares[random.below(u64::from(cut.blocks())) as usize] += 1;
    }
    let radii: Vec<_> = shares.iter().map(|share| share.checked_sub(1)).collect();
    Plan::with_radii(cut, distance, &radii).unwrap()
}

#[test]
fn narrow_fingerprints_are_found_exactly_once_under_every_plan() {
    exact_for_every_distance_and_plan::<u64>(&[1, 2, 3, 4, 5, 7, 16]);
}

#[test]
fn wide_fingerprints_are_found_exactly_once_under_every_plan() {
    exact_for_every_distance_and_plan::<u128>(&[2, 6, 8, 11]);
}

#[test]
fn fingerprints_of_256_bits_are_found_exactly_once_under_every_plan() {
    exact_for_every_distance_and_plan::<B256>(&[4, 15]);
}

#[test]
fn radii_that_do_not_cover_the_distance_are_refused() {
    let cut = BlockLayout::new::<u64>(4).unwrap();
    assert!(Plan::with_radii(cut, 3, &[Some(0), Some(0), Some(0), None]).is_none());
    assert!(Plan::with_radii(cut, 3, &[Some(0); 4]).is_some());
    assert!(Plan::with_radii(cut, 3, &[Some(3), None, None, Some(0)]).is_none());
    assert!(Plan::with_radii(cut, 3, &[Some(u32::MAX), None, None, None]).is_none());
    assert!(Plan::with_radii(cut, 3, &[Some(1), Some(1)]).is_none());
}
