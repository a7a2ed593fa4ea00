//! Whatever the plan, a simulated set of block tables answers exactly what brute force answers, and
//! every match comes from one table only.

use simhash_core::search::{BlockLayout, Key, Plan, cost};

fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let y = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    y ^ (y >> 31)
}

/// Random fingerprints, some near `query` in few bits, some equal to it, some sharing one block.
fn rows<F: Key>(query: F, state: &mut u64) -> Vec<F> {
    (0..600)
        .map(|i| {
            let random = F::from_u128(u128::from(mix(state)) << 64 | u128::from(mix(state)));
            match i % 4 {
                0 => random,
                1 => (0..mix(state) % u64::from(F::BITS)).fold(query, |f, _| {
                    let position = (mix(state) % u64::from(F::BITS)) as u32;
                    f ^ F::bit(position)
                }),
                2 => query ^ F::bit((mix(state) % u64::from(F::BITS)) as u32),
                _ => (query & F::leading_mask(F::BITS / 3)) | (random & !F::leading_mask(F::BITS / 3)),
            }
        })
        .collect()
}

/// Walks every table the way a scan does, with leaves of `leaf` keys, and returns what it emits.
fn search<F: Key>(plan: &Plan, rows: &[F], query: F, leaf: usize) -> Vec<usize> {
    let cut = plan.layout();
    let mut emitted = Vec::new();
    for table in 0..cut.blocks() {
        let Some(ball) = plan.ball(query, table) else { continue };
        let mut keys: Vec<(F, usize)> =
            rows.iter().enumerate().map(|(i, &f)| (cut.rotate(f, table), i)).collect();
        keys.sort_unstable();
        let leaves: Vec<&[(F, usize)]> = keys.chunks(leaf).collect();
        let mut next = 0;
        let mut from = F::ZERO;
        while next < leaves.len() {
            let Some(target) = ball.successor(from) else { break };
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
    let mut state = u64::from(F::BITS);
    for &blocks in block_counts {
        let cut = BlockLayout::new::<F>(blocks).unwrap();
        let query = F::from_u128(u128::from(mix(&mut state)) << 64 | u128::from(mix(&mut state)));
        let rows = rows(query, &mut state);
        for distance in 0..=F::BITS {
            let expected: Vec<usize> =
                (0..rows.len()).filter(|&i| rows[i].hamming(query) <= distance).collect();
            let mut plans: Vec<Plan> = (1..=blocks).map(|used| Plan::balanced(cut, distance, used)).collect();
            plans.push(cost::cheapest::<F>(cut, distance, 40.0));
            plans.push(random_plan(cut, distance, &mut state));
            for plan in plans {
                let mut found = search(&plan, &rows, query, 1 + (mix(&mut state) % 20) as usize);
                found.sort_unstable();
                assert_eq!(found, expected, "{blocks} blocks, distance {distance}, {:?}", plan.radii());
            }
        }
    }
}

fn random_plan(cut: BlockLayout, distance: u32, state: &mut u64) -> Plan {
    let mut radii = vec![-1; cut.blocks() as usize];
    for _ in 0..=distance {
        radii[(mix(state) % u64::from(cut.blocks())) as usize] += 1;
    }
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
fn radii_that_do_not_cover_the_distance_are_refused() {
    let cut = BlockLayout::new::<u64>(4).unwrap();
    assert!(Plan::with_radii(cut, 3, &[0, 0, 0, -1]).is_none());
    assert!(Plan::with_radii(cut, 3, &[0, 0, 0, 0]).is_some());
    assert!(Plan::with_radii(cut, 3, &[3, -1, -1, -2]).is_none());
    assert!(Plan::with_radii(cut, 3, &[1, 1]).is_none());
}
