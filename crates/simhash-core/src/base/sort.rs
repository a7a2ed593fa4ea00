//! Sorting that can be interrupted.

use std::cmp::Ordering;

/// The most values that are sorted without a call of `check`. Sorting them takes a quarter of a
/// second.
const PIECE: usize = 1 << 23;

/// Sorts `values`. Calls `check` at intervals; it may unwind.
pub fn sort_checked<T: Ord>(values: &mut [T], check: &mut dyn FnMut()) {
    sort_checked_by(values, check, T::cmp);
}

/// As [`sort_checked`], in the caller's order.
pub fn sort_checked_by<T>(
    values: &mut [T],
    check: &mut dyn FnMut(),
    mut order: impl FnMut(&T, &T) -> Ordering,
) {
    let mut comparisons = 0u32;
    values.sort_unstable_by(|a, b| {
        comparisons = comparisons.wrapping_add(1);
        if comparisons.is_multiple_of(1 << 16) {
            check();
        }
        order(a, b)
    });
}

/// As [`sort_checked`], for values that are cheap to compare and mostly distinct. The checks cost
/// nothing for a few million values. For more, they take a tenth of the time, where those of
/// [`sort_checked`] take a sixth.
pub fn sort_in_pieces<T: Ord + Copy>(values: &mut [T], check: &mut dyn FnMut()) {
    sort_pieces(values, PIECE, check);
}

fn sort_pieces<T: Ord + Copy>(mut values: &mut [T], piece: usize, check: &mut dyn FnMut()) {
    const SAMPLE: usize = 63;
    while values.len() > piece.max(SAMPLE) {
        check();
        let step = values.len() / SAMPLE;
        let mut sample: [T; SAMPLE] = std::array::from_fn(|i| values[i * step]);
        sample.sort_unstable();
        let middle = partition(values, sample[SAMPLE / 2]);
        let few = values.len() / 16;
        if middle < few || middle > values.len() - few {
            break;
        }
        let (less, others) = values.split_at_mut(middle);
        sort_pieces(less, piece, check);
        values = others;
    }
    values.sort_unstable();
    check();
}

/// Puts the values below `pivot` first, and returns how many there are.
fn partition<T: Ord + Copy>(values: &mut [T], pivot: T) -> usize {
    let mut less = 0;
    for i in 0..values.len() {
        let value = values[i];
        values.swap(i, less);
        less += usize::from(value < pivot);
    }
    less
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_sorted_in_pieces_as_they_are_at_once() {
        let shapes: [fn(u64) -> u64; 5] = [
            |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            |i| i,
            |i| !i,
            |_| 7,
            |i| (i % 100) / 99 * i,
        ];
        for shape in shapes {
            for count in [0, 1, 63, 64, 65, 1000, 20_000] {
                let mut values: Vec<u64> = (0..count).map(shape).collect();
                let mut expected = values.clone();
                expected.sort_unstable();
                let mut checks = 0;
                sort_pieces(&mut values, 100, &mut || checks += 1);
                assert_eq!(values, expected);
                assert!(checks > 0);
            }
        }
        let mut values: Vec<u64> = (0..20_000).map(shapes[0]).collect();
        let mut checks = 0;
        sort_pieces(&mut values, 100, &mut || checks += 1);
        assert!(checks > 200, "{checks} checks");
    }
}
