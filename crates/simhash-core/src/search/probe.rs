//! A probe: the keys of one table that a query can reach, in key order.
//!
//! README.md beside this file says how a scan uses it ("Range: which leaves").

use crate::base::key::Key;

/// At most `max` of the first `bits` bits differ from the centre.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Length of the prefix, in bits.
    pub bits: u32,
    /// The most differences allowed in it.
    pub max: u32,
}

/// All keys that respect three limits on their distance from a centre.
///
/// Invariant: neither prefixes nor maxima decrease from limit to limit. The last limit covers the
/// whole key: the bits behind it are clear in all keys.
#[derive(Clone, Copy, Debug)]
pub struct Probe<F> {
    center: F,
    limits: [Limit; 3],
}

impl<F: Key> Probe<F> {
    /// The keys around `center` within the given limits.
    ///
    /// # Panics
    /// When limits decrease or are longer than a key.
    pub fn new(center: F, limits: [Limit; 3]) -> Self {
        assert!(limits.windows(2).all(|w| w[0].bits <= w[1].bits && w[0].max <= w[1].max));
        assert!(limits[2].bits <= F::BITS);
        Self { center, limits }
    }

    /// The centre, as a key of the table.
    pub fn center(&self) -> F {
        self.center
    }

    /// The limits, from the shortest prefix to the whole key.
    pub fn limits(&self) -> &[Limit; 3] {
        &self.limits
    }

    /// Whether `key` respects every limit.
    pub fn contains(&self, key: F) -> bool {
        self.first_excess(key ^ self.center).is_none()
    }

    /// The smallest reachable key that is at least `from`.
    ///
    /// ```
    /// use simhash_core::search::probe::{Probe, Limit};
    /// let bits = |bits, max| Limit { bits, max };
    /// let probe = Probe::new(0xff00_0000_0000_0000u64, [bits(8, 1), bits(64, 2), bits(64, 64)]);
    /// assert_eq!(probe.successor(0), Some(0x7f00_0000_0000_0000));
    /// assert_eq!(probe.successor(0xff00_0000_0000_0007), Some(0xff00_0000_0000_0008));
    /// ```
    pub fn successor(&self, from: F) -> Option<F> {
        let difference = from ^ self.center;
        let Some(excess) = self.first_excess(difference) else {
            return Some(from);
        };
        // The answer shares a prefix with `from`, and then has a 1 where `from` has a 0. The
        // longest such prefix gives the smallest answer.
        let mut zeros = !from & F::leading_mask(excess + 1);
        while zeros != F::ZERO {
            let position = F::BITS - 1 - zeros.trailing_zeros();
            let spent = (difference & F::leading_mask(position)).count_ones();
            let raised = F::bit(position);
            let spent = spent + u32::from((self.center & raised) == F::ZERO);
            if spent <= self.max_at(position) {
                let prefix = (from & F::leading_mask(position)) | raised;
                return Some(self.smallest_with_prefix(prefix, position + 1, spent));
            }
            zeros = zeros & !raised;
        }
        None
    }

    /// The smallest reachable key above all keys that agree with `from` in the bits of `prefix`, a
    /// mask of leading bits.
    pub fn successor_outside(&self, from: F, prefix: F) -> Option<F> {
        let zeros = !from & prefix;
        if zeros == F::ZERO {
            return None;
        }
        let position = F::BITS - 1 - zeros.trailing_zeros();
        self.successor((from & F::leading_mask(position)) | F::bit(position))
    }

    /// The position of the first differing bit that breaks a limit. `None` if no limit is broken.
    #[inline]
    fn first_excess(&self, difference: F) -> Option<u32> {
        // Maxima do not decrease, so the first broken limit is broken at the earliest position.
        self.limits.iter().find_map(|limit| {
            let prefix = difference & F::leading_mask(limit.bits);
            if prefix.count_ones() <= limit.max { None } else { prefix.nth_set_bit(limit.max) }
        })
    }

    /// The most differences allowed up to and including bit `position`.
    #[inline]
    fn max_at(&self, position: u32) -> u32 {
        self.limits.iter().find(|limit| position < limit.bits).map_or(0, |limit| limit.max)
    }

    /// The smallest reachable key that begins with the first `length` bits of `prefix`, of which
    /// `spent` differ from the centre. It has the centre's bits, with set bits cleared from the
    /// first on as far as each limit allows.
    fn smallest_with_prefix(&self, prefix: F, length: u32, mut spent: u32) -> F {
        let mut key = prefix | (self.center & !F::leading_mask(length));
        let mut start = length;
        for limit in &self.limits {
            if limit.bits <= start {
                continue;
            }
            let segment = F::leading_mask(limit.bits) & !F::leading_mask(start);
            let mut ones = self.center & segment;
            while spent < limit.max && ones != F::ZERO {
                let highest = F::bit(ones.leading_zeros());
                key = key & !highest;
                ones = ones & !highest;
                spent += 1;
            }
            start = limit.bits;
        }
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::SplitMix64;

    /// Brute force over keys of ten leading bits, whose other bits are clear as the centre's are.
    #[test]
    fn successor_equals_brute_force_on_ten_bit_keys() {
        let mut random = SplitMix64::new(7);
        for _ in 0..400 {
            let center = random.next_u64() & !(u64::MAX >> 10);
            let r = random.below(4) as u32;
            let s = r + random.below(3) as u32;
            let t = s + random.below(3) as u32;
            let limits = [
                Limit { bits: 1 + random.below(6) as u32, max: r },
                Limit { bits: 8, max: s },
                Limit { bits: 64, max: t },
            ];
            let probe = Probe::new(center, limits);
            let members: Vec<u64> = (0..1024u64)
                .map(|i| i << 54)
                .filter(|key| {
                    limits.iter().all(|l| {
                        (0..l.bits).filter(|&b| (key ^ center) & u64::bit(b) != 0).count() as u32
                            <= l.max
                    })
                })
                .collect();
            for i in 0..1024u64 {
                let from = i << 54;
                // A member with non-zero low bits can come before the next ten-bit member only if
                // it shares its leading ten bits with `from`, and then `from` itself is a member.
                let expected = members.iter().copied().find(|&m| m >= from);
                assert_eq!(probe.successor(from), expected, "{center:x} {limits:?} {from:x}");
            }
        }
    }

    #[test]
    fn successor_is_the_least_member_not_below_for_wide_keys() {
        let mut random = SplitMix64::new(11);
        for round in 0..20_000 {
            let center = (u128::from(random.next_u64()) << 64) | u128::from(random.next_u64());
            let limits = [
                Limit { bits: 16, max: round % 4 },
                Limit { bits: 96, max: 6 },
                Limit { bits: 128, max: 9 },
            ];
            let probe = Probe::new(center, limits);
            let from = center ^ (u128::from(random.next_u64()) << random.below(100));
            if let Some(next) = probe.successor(from) {
                assert!(next >= from && probe.contains(next));
                if next > from {
                    assert!(!probe.contains(from));
                    // A key halfway between is no member, and has the same successor.
                    let middle = from + (next - from) / 2;
                    assert_eq!(probe.successor(middle), Some(next));
                }
            } else {
                assert!(!probe.contains(from));
            }
        }
    }
}
