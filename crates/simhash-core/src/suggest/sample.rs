//! A sample of what comes one by one, of a number that is not known before.

/// Some of many items, each as likely as any other (Vitter 1985, algorithm R), the same at every run.
#[derive(Debug)]
pub struct Sample<T> {
    kept: Vec<T>,
    most: usize,
    seen: u64,
    random: u64,
}

impl<T> Sample<T> {
    /// An empty sample that keeps at most so many.
    pub fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most, seen: 0, random: 0 }
    }

    #[inline]
    pub fn offer(&mut self, item: T) {
        self.seen += 1;
        if self.kept.len() < self.most {
            self.kept.push(item);
        } else if let Some(place) =
            usize::try_from(self.below(self.seen)).ok().and_then(|i| self.kept.get_mut(i))
        {
            *place = item;
        }
    }

    /// How many items were offered.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The sample, in random order: any first part of it is a sample too.
    pub fn into_items(mut self) -> Vec<T> {
        for end in (1..self.kept.len()).rev() {
            let other = self.below(end as u64 + 1) as usize;
            self.kept.swap(end, other);
        }
        self.kept
    }

    /// A number below `end`, by SplitMix64 (Steele, Lea and Flood 2014).
    #[inline]
    fn below(&mut self, end: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ z >> 31) * u128::from(end)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_as_likely_to_be_in_a_sample_and_in_its_first_part() {
        let (mut kept, mut first) = ([0u32; 40], [0u32; 40]);
        let mut random = 0;
        for _ in 0..20_000 {
            let mut sample = Sample { random, ..Sample::new(10) };
            (0..40).for_each(|i| sample.offer(i));
            assert_eq!(sample.seen(), 40);
            random = sample.below(u64::MAX);
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
