//! Sums of weights by bit: for every bit, the total weight of the hashes that have it set.

use crate::Fingerprint;

/// How many hashes are summed at a time in 32-bit lanes, unless their total weight overflows a
/// lane.
const BATCH: usize = 1024;

/// One number for each bit of a fingerprint, by its words: bit i of word w is `[w][i]`.
type PerBit<F, T> = <F as Fingerprint>::PerWord<[T; 64]>;

/// For every bit position, the sum of the weights of the hashes in which it is 1, and the sum of
/// all weights.
#[derive(Clone)]
pub struct BitSums<F: Fingerprint> {
    ones: PerBit<F, u64>,
    total: u64,
}

impl<F: Fingerprint> Default for BitSums<F> {
    fn default() -> Self {
        BitSums { ones: F::per_word([0; 64]), total: 0 }
    }
}

impl<F: Fingerprint> BitSums<F> {
    /// Adds `weights[i]` at every set bit of `hashes[i]`.
    ///
    /// The total of all weights ever added must stay below 2^63.
    pub fn add(&mut self, hashes: &[F], weights: &[u32]) {
        assert_eq!(hashes.len(), weights.len());
        for (hashes, weights) in hashes.chunks(BATCH).zip(weights.chunks(BATCH)) {
            let total: u64 = weights.iter().map(|&w| u64::from(w)).sum();
            self.total += total;
            let mut lanes = F::per_word([0; 64]);
            if u32::try_from(total).is_ok() {
                add_batch(hashes, weights, &mut lanes);
                let lanes = lanes.as_ref().as_flattened();
                for (sum, &lane) in self.ones.as_mut().as_flattened_mut().iter_mut().zip(lanes) {
                    *sum += u64::from(lane);
                }
            } else {
                self.add_heavy(hashes, weights);
            }
        }
    }

    /// Adds weights that together overflow a lane.
    fn add_heavy(&mut self, hashes: &[F], weights: &[u32]) {
        for (hash, &weight) in hashes.iter().zip(weights) {
            for (index, ones) in self.ones.as_mut().iter_mut().enumerate() {
                let mut bits = hash.word(index);
                while bits != 0 {
                    ones[bits.trailing_zeros() as usize] += u64::from(weight);
                    bits &= bits - 1;
                }
            }
        }
    }

    /// Component V\[bit\] of the literature: twice the weight of the ones, minus the total weight.
    pub fn component(&self, bit: u32) -> i64 {
        2 * self.ones.as_ref().as_flattened()[bit as usize] as i64 - self.total as i64
    }

    /// The fingerprint: bit i is 1 when component i is greater than 0.
    pub fn sign(&self) -> F {
        F::from_words(|index| {
            self.ones.as_ref()[index]
                .iter()
                .enumerate()
                .fold(0, |bits, (bit, &ones)| bits | u64::from(2 * ones > self.total) << bit)
        })
    }
}

fn add_batch<F: Fingerprint>(hashes: &[F], weights: &[u32], lanes: &mut PerBit<F, u32>) {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            return unsafe { x86::add_avx512(hashes, weights, lanes.as_mut()) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { x86::add_avx2(hashes, weights, lanes.as_mut()) };
        }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every such processor has NEON.
    return unsafe { neon::add(hashes, weights, lanes.as_mut()) };
    #[cfg(not(target_arch = "aarch64"))]
    add_portable(hashes, weights, lanes.as_mut());
}

/// For every value of four bits: all ones in the lanes of its set bits.
#[cfg(any(test, not(target_arch = "aarch64")))]
const NIBBLE_LANES: [[u32; 4]; 16] = {
    let mut lanes = [[0; 4]; 16];
    let mut nibble = 0;
    while nibble < 16 {
        let mut bit = 0;
        while bit < 4 {
            lanes[nibble][bit] = if nibble >> bit & 1 == 1 { u32::MAX } else { 0 };
            bit += 1;
        }
        nibble += 1;
    }
    lanes
};

#[cfg(any(test, not(target_arch = "aarch64")))]
fn add_portable<F: Fingerprint>(hashes: &[F], weights: &[u32], lanes: &mut [[u32; 64]]) {
    for (hash, &weight) in hashes.iter().zip(weights) {
        for (index, lanes) in lanes.iter_mut().enumerate() {
            let bits = hash.word(index);
            for (nibble, lanes) in lanes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let set = &NIBBLE_LANES[(bits >> (4 * nibble)) as usize & 15];
                for bit in 0..4 {
                    lanes[bit] += weight & set[bit];
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use crate::Fingerprint;

    /// One masked addition for every 16 bits of a hash. Each pass covers as many words as there are
    /// registers for.
    #[target_feature(enable = "avx512f")]
    pub(super) fn add_avx512<F: Fingerprint>(
        hashes: &[F],
        weights: &[u32],
        lanes: &mut [[u32; 64]],
    ) {
        match F::BITS {
            64 => add_avx512_groups::<F, 4>(hashes, weights, 0, lanes),
            128 => add_avx512_groups::<F, 8>(hashes, weights, 0, lanes),
            bits if bits % 256 == 0 => {
                for (pass, lanes) in lanes.chunks_mut(4).enumerate() {
                    add_avx512_groups::<F, 16>(hashes, weights, 4 * pass, lanes);
                }
            }
            _ => {
                for (word, lanes) in lanes.chunks_mut(1).enumerate() {
                    add_avx512_groups::<F, 4>(hashes, weights, word, lanes);
                }
            }
        }
    }

    /// Sums `GROUPS` / 4 words of the hashes, from word `from` on. A word is four groups of 16
    /// bits.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add_avx512_groups<F: Fingerprint, const GROUPS: usize>(
        hashes: &[F],
        weights: &[u32],
        from: usize,
        lanes: &mut [[u32; 64]],
    ) {
        let mut sums = [_mm512_setzero_si512(); GROUPS];
        for (hash, &weight) in hashes.iter().zip(weights) {
            let weight = _mm512_set1_epi32(weight as i32);
            for (group, sum) in sums.iter_mut().enumerate() {
                let bits = hash.word(from + group / 4) >> (16 * (group % 4));
                *sum = _mm512_mask_add_epi32(*sum, bits as __mmask16, *sum, weight);
            }
        }
        let (vectors, _) = lanes.as_flattened_mut().as_chunks_mut::<16>();
        for (lanes, sum) in vectors.iter_mut().zip(sums) {
            // SAFETY: `lanes` is an exclusive reference to 64 bytes; the instruction needs no
            // alignment.
            unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), sum) };
        }
    }

    /// Eight bits of a hash at a time, spread over eight lanes.
    #[target_feature(enable = "avx2")]
    pub(super) fn add_avx2<F: Fingerprint>(hashes: &[F], weights: &[u32], lanes: &mut [[u32; 64]]) {
        let bit_of_lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        // 32 bits a pass: four sums, four masks and their temporaries stay in registers.
        let (halves, _) = lanes.as_flattened_mut().as_chunks_mut::<32>();
        for (half, lanes) in halves.iter_mut().enumerate() {
            let masks = [
                bit_of_lane,
                _mm256_slli_epi32::<8>(bit_of_lane),
                _mm256_slli_epi32::<16>(bit_of_lane),
                _mm256_slli_epi32::<24>(bit_of_lane),
            ];
            let mut sums = [_mm256_setzero_si256(); 4];
            for (hash, &weight) in hashes.iter().zip(weights) {
                let bits = _mm256_set1_epi32((hash.word(half / 2) >> (32 * (half % 2))) as i32);
                let weight = _mm256_set1_epi32(weight as i32);
                for (sum, mask) in sums.iter_mut().zip(masks) {
                    let set = _mm256_cmpeq_epi32(_mm256_and_si256(bits, mask), mask);
                    *sum = _mm256_add_epi32(*sum, _mm256_and_si256(set, weight));
                }
            }
            for (lanes, sum) in lanes.as_chunks_mut::<8>().0.iter_mut().zip(sums) {
                // SAFETY: `lanes` is an exclusive reference to 32 bytes; the instruction needs no
                // alignment.
                unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sum) };
            }
        }
    }
}

/// Every arm64 processor has these instructions.
#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::*;

    use crate::Fingerprint;

    /// Four bits of a hash at a time, spread over four lanes.
    #[target_feature(enable = "neon")]
    pub(super) fn add<F: Fingerprint>(hashes: &[F], weights: &[u32], lanes: &mut [[u32; 64]]) {
        // 32 bits a pass: eight sums and eight masks stay in registers.
        let masks: [uint32x4_t; 8] = std::array::from_fn(|group| {
            let bits: [u32; 4] = std::array::from_fn(|lane| 1 << (4 * group + lane));
            // SAFETY: `bits` is an array of 16 bytes, the size of the vector.
            unsafe { vld1q_u32(bits.as_ptr()) }
        });
        let (halves, _) = lanes.as_flattened_mut().as_chunks_mut::<32>();
        for (half, lanes) in halves.iter_mut().enumerate() {
            let mut sums = [vdupq_n_u32(0); 8];
            for (hash, &weight) in hashes.iter().zip(weights) {
                let bits = vdupq_n_u32((hash.word(half / 2) >> (32 * (half % 2))) as u32);
                let weight = vdupq_n_u32(weight);
                for (sum, mask) in sums.iter_mut().zip(masks) {
                    *sum = vaddq_u32(*sum, vandq_u32(vtstq_u32(bits, mask), weight));
                }
            }
            for (lanes, sum) in lanes.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
                // SAFETY: `lanes` is an exclusive reference to 16 bytes, the size of the vector.
                unsafe { vst1q_u32(lanes.as_mut_ptr(), sum) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::bits::{B256, Bits};

    fn naive<F: Fingerprint>(hashes: &[F], weights: &[u32]) -> Vec<i64> {
        let is_set = |hash: &F, bit: u32| hash.word(bit as usize / 64) >> (bit % 64) & 1 == 1;
        let sign = |hash: &F, bit: u32| if is_set(hash, bit) { 1 } else { -1 };
        (0..F::BITS)
            .map(|bit| {
                hashes.iter().zip(weights).map(|(hash, &w)| sign(hash, bit) * i64::from(w)).sum()
            })
            .collect()
    }

    fn check<F: Fingerprint>(hashes: &[F], weights: &[u32]) {
        let mut sums = BitSums::default();
        sums.add(hashes, weights);
        let components: Vec<i64> = (0..F::BITS).map(|bit| sums.component(bit)).collect();
        assert_eq!(components, naive(hashes, weights));
        let sign = sums.sign();
        assert!((0..F::BITS).all(|bit| {
            sign.word(bit as usize / 64) >> (bit % 64) & 1 == u64::from(sums.component(bit) > 0)
        }));
    }

    type Kernel<F> = fn(&[F], &[u32], &mut [[u32; 64]]);

    /// Every kernel this processor can run.
    fn kernels<F: Fingerprint>() -> Vec<(&'static str, Kernel<F>)> {
        let mut kernels: Vec<(&'static str, Kernel<F>)> = vec![("portable", add_portable::<F>)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2.
                kernels.push(("avx2", |h, w, l| unsafe { x86::add_avx2(h, w, l) }));
            }
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the processor has AVX-512F.
                kernels.push(("avx512", |h, w, l| unsafe { x86::add_avx512(h, w, l) }));
            }
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: every such processor has NEON.
        kernels.push(("neon", |h, w, l| unsafe { neon::add(h, w, l) }));
        kernels
    }

    fn check_kernels<F: Fingerprint>(hashes: &[F], weights: &[u32]) {
        for (name, kernel) in kernels::<F>() {
            let mut lanes: PerBit<F, u32> = F::per_word([0; 64]);
            kernel(hashes, weights, lanes.as_mut());
            let lanes = lanes.as_ref().as_flattened();
            let total: i64 = weights.iter().map(|&w| i64::from(w)).sum();
            let components: Vec<i64> =
                (0..F::BITS as usize).map(|bit| 2 * i64::from(lanes[bit]) - total).collect();
            assert_eq!(components, naive(hashes, weights), "{name}");
        }
    }

    proptest! {
        #[test]
        fn every_kernel_equals_the_naive_sum(
            features in prop::collection::vec((any::<[u64; 4]>(), 0u32..1 << 21), 0..200)
        ) {
            let (hashes, weights): (Vec<[u64; 4]>, Vec<u32>) = features.into_iter().unzip();
            fn check_width<F: Fingerprint>(hashes: &[[u64; 4]], weights: &[u32]) {
                let hashes: Vec<F> =
                    hashes.iter().map(|hash| F::from_words(|index| hash[index])).collect();
                check_kernels(&hashes, weights);
                check(&hashes, weights);
            }
            check_width::<u64>(&hashes, &weights);
            check_width::<u128>(&hashes, &weights);
            check_width::<Bits<3>>(&hashes, &weights);
            check_width::<B256>(&hashes, &weights);
        }
    }

    #[test]
    fn sums_stay_exact_when_lanes_would_overflow() {
        let hashes: Vec<u64> =
            (0..5000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let weights: Vec<u32> = (0..5000).map(|i| if i % 7 == 0 { u32::MAX } else { i }).collect();
        check(&hashes, &weights);
        let wide: Vec<B256> =
            hashes.iter().map(|&hash| B256::new([hash, !hash, hash << 1, hash >> 1])).collect();
        check(&wide, &weights);
    }

    /// The 6-bit example that is published with simhash: 100101 weighs 4, 101011 weighs 5.
    #[test]
    fn worked_example_of_six_bits() {
        let mut sums = BitSums::default();
        sums.add(&[0b100101u64, 0b101011], &[4, 5]);
        let components: Vec<i64> = (0..6).rev().map(|bit| sums.component(bit)).collect();
        assert_eq!(components, [9, -9, 1, -1, 1, 9]);
        assert_eq!(sums.sign(), 0b101011);
    }

    #[test]
    fn a_component_of_zero_gives_a_zero_bit() {
        let mut sums = BitSums::default();
        sums.add(&[0b01u64, 0b10], &[3, 3]);
        assert_eq!(sums.sign(), 0);
    }
}
