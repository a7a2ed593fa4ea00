//! A random sample of a sequence of unknown length.

use crate::base::random::SplitMix64;

/// Some of many items, each as likely as any other (Vitter 1985, algorithm R). The same items give
/// the same sample at every run.
#[derive(Debug)]
pub struct Sample<T> {
    kept: Vec<T>,
    most: usize,
    seen: u64,
    random: SplitMix64,
}

impl<T> Sample<T> {
    /// An empty sample that keeps at most `most` items.
    pub fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most, seen: 0, random: SplitMix64::new(0) }
    }

    #[inline]
    pub fn offer(&mut self, item: T) {
        self.seen += 1;
        if self.kept.len() < self.most {
            self.kept.push(item);
        } else if let Some(place) =
            usize::try_from(self.random.below(self.seen)).ok().and_then(|i| self.kept.get_mut(i))
        {
            *place = item;
        }
    }

    /// How many items were offered.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The sample, in random order: any prefix of it is a random sample, too.
    pub fn into_items(mut self) -> Vec<T> {
        for end in (1..self.kept.len()).rev() {
            let other = self.random.below(end as u64 + 1) as usize;
            self.kept.swap(end, other);
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_as_likely_to_be_in_a_sample_and_in_its_first_part() {
        let (mut kept, mut first) = ([0u32; 40], [0u32; 40]);
        for seed in 0..20_000 {
            let mut sample = Sample { random: SplitMix64::new(seed), ..Sample::new(10) };
            (0..40).for_each(|i| sample.offer(i));
            assert_eq!(sample.seen(), 40);
            let items = sample.into_items();
            items.iter().for_each(|&i| kept[i] += 1);
            items[..4].iter().for_each(|&i| first[i] += 1);
        }
        assert!(kept.iter().all(|count| (4_700..5_300).contains(count)), "{kept:?}");
        assert!(first.iter().all(|count| (1_800..2_200).contains(count)), "{first:?}");
        let mut few = Sample::new(10);
        (0..3).for_each(|i| few.offer(i));
        assert_eq!(few.into_items().len(), 3);
    }
}
