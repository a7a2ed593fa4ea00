//! Chooses how many words of two keys to compare first, to rule out pairs that a table does not
//! emit.
//!
//! A table emits a pair only if no earlier table does: in the block of every earlier table that is
//! read, more bits differ than its radius. Where such blocks are behind the first words of a key,
//! only the rest of the distance remains for the first words. Late in a plan, random words differ
//! by far more than that. So one word of each key is compared there, and whole keys only for the
//! few pairs that remain.

use crate::base::key::Key;
use crate::base::simd::pairs::Close;
use crate::search::Plan;

/// The cost of a pair that passes by its first words and fails by its whole keys, where comparing a
/// word costs 1.
const LEFT: f64 = 64.0;

/// The cheapest comparison for pairs of keys of `table` whose block differs by about its radius.
/// Every pair that the table emits passes it.
pub fn filter<F: Key>(plan: &Plan, table: u32) -> Close {
    let whole = Close::whole::<F>(plan.distance());
    let radius = plan.radii().nth(table as usize).flatten().unwrap_or(0);
    let cost = |close: &Close| {
        let random = (64 * close.words as u32).min(plan.layout().bits());
        let random = random.saturating_sub(plan.layout().width(table));
        let share = share_within(random, i64::from(close.max) - i64::from(radius));
        close.words as f64 + if *close == whole { 0.0 } else { LEFT * share }
    };
    let choices = (1..whole.words).map(|words| first_words(plan, table, words)).chain([whole]);
    choices.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(whole)
}

/// The most differences in the first `words` words of two keys that `table` emits.
fn first_words(plan: &Plan, table: u32, words: usize) -> Close {
    let layout = plan.layout();
    let start = layout.offset(table);
    // Where in a key of this table an earlier one's block begins.
    let begins = |earlier: u32| layout.bits() - start + layout.offset(earlier);
    let spent = plan.radii().zip(0..table).filter_map(|(radius, earlier)| {
        let behind = begins(earlier) >= 64 * words as u32;
        radius.filter(|_| behind).map(|radius| radius + 1)
    });
    Close { words, max: plan.distance().saturating_sub(spent.sum()) }
}

/// The share of strings of `bits` random bits that have at most `most` set.
fn share_within(bits: u32, most: i64) -> f64 {
    let mut ways = (-f64::from(bits)).exp2();
    let mut sum = 0.0;
    for set in 0..=i64::from(bits).min(most) {
        sum += ways;
        ways *= (i64::from(bits) - set) as f64 / (set + 1) as f64;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;
    use crate::search::BlockLayout;

    #[test]
    fn shares_are_those_of_a_fair_coin() {
        assert_eq!(share_within(4, 1), 5.0 / 16.0);
        assert_eq!(share_within(4, -1), 0.0);
        assert!((share_within(48, 48) - 1.0).abs() < 1e-9);
        assert!((share_within(128, 63) + share_within(128, 64) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn late_tables_need_one_word_and_the_first_needs_all() {
        let layout = BlockLayout::new::<u128>(8).unwrap();
        let radii = [1, 1, 1, 2, 2, 2, 2, 2].map(Some);
        let plan = Plan::with_radii(layout, 20, &radii).unwrap();
        let words: Vec<_> = (0..8).map(|table| filter::<u128>(&plan, table)).collect();
        assert_eq!(words[0], Close { words: 2, max: 20 });
        // Blocks 7, 0, 1 and 2 are in the first word. At least 3 bits differ in each of 3, 4, 5 and
        // 6.
        assert_eq!(words[7], Close { words: 1, max: 8 });
        assert_eq!(words[3], Close { words: 1, max: 14 });
    }

    /// Every pair that a table emits passes its filter, at every number of words.
    #[test]
    fn no_pair_that_a_table_emits_is_left_out() {
        let mut random = SplitMix64::new(3);
        let mut emitted = 0;
        for _ in 0..20_000 {
            let blocks = 2 + random.below(9) as u32;
            let layout = BlockLayout::new::<u128>(blocks).unwrap();
            let distance = random.below(40) as u32;
            let plan = Plan::balanced(layout, distance, 1 + random.below(u64::from(blocks)) as u32);
            let mut difference = 0u128;
            for _ in 0..random.below(u64::from(distance) + 1) {
                difference |= 1 << random.below(128);
            }
            for table in (0..blocks).filter(|&table| plan.emits(difference, table)) {
                let key = layout.rotate(difference, table);
                for close in [filter::<u128>(&plan, table), first_words(&plan, table, 1)] {
                    let leading = key & u128::leading_mask(64 * close.words as u32);
                    assert!(leading.count_ones() <= close.max, "{plan:?} {difference:x} {table}");
                    emitted += 1;
                }
            }
        }
        assert!(emitted > 30_000, "{emitted}");
    }
}
