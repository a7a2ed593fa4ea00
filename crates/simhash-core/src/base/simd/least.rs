//! The least value in every lane over many hashes. Each hash puts its values into the lanes by a
//! permutation of its own.
//!
//! There are 2^k lanes. Lane i gets from a hash h the value `b + ((a i + q i^2) << (32 - k))`
//! modulo 2^32. Here b is the low half of h, a is the low 16 bits of its high half made odd, and q
//! is the other 16 bits made even. For all such a and q, the upper k bits of the values are a
//! permutation of 0, 1, ..., 2^k - 1 over the lanes (Rivest 2001, "Permutation polynomials modulo
//! 2^w").

/// Lanes are worked on in groups of this many. A slice of lanes is a whole number of groups.
pub const GROUP: usize = 64;

/// The coefficients of a hash's polynomial in the lane, for the powers 0, 1 and 2.
#[inline]
fn coefficients(hash: u64, shift: u32) -> [u32; 3] {
    let high = (hash >> 32) as u32;
    [hash as u32, (high | 1) << shift, (high >> 16 & !1) << shift]
}

/// The value that a hash puts into a lane. `shift` is 32 - k.
#[inline]
pub fn value(hash: u64, shift: u32, lane: u32) -> u32 {
    let [b, a, q] = coefficients(hash, shift);
    b.wrapping_add(a.wrapping_add(q.wrapping_mul(lane)).wrapping_mul(lane))
}

/// Lowers every lane of `least` to the least value that a hash puts into it. `shift` is 32 - k.
///
/// # Panics
/// When `least` is no whole number of groups.
pub fn add(hashes: &[u64], shift: u32, least: &mut [u32]) {
    let (groups, rest) = least.as_chunks_mut::<GROUP>();
    assert!(rest.is_empty(), "a multiple of {GROUP} lanes");
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512F.
            return unsafe { x86::add_avx512(hashes, shift, groups) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            return unsafe { x86::add_avx2(hashes, shift, groups) };
        }
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: every such processor has NEON.
    return unsafe { neon::add(hashes, shift, groups) };
    #[cfg(not(target_arch = "aarch64"))]
    add_portable(hashes, shift, groups);
}

/// The finalizer of MurmurHash3 (Appleby): a bijection in which every bit of the result depends on
/// all bits of `x`.
#[inline(always)]
pub fn mix(mut x: u32) -> u32 {
    x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
    x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
    x ^ x >> 16
}

/// The inverse of [`mix`]: the value that it maps to `mixed`.
#[inline(always)]
pub fn unmix(mixed: u32) -> u32 {
    // The factors are the inverses of those of `mix`, modulo 2^32.
    let x = (mixed ^ mixed >> 16).wrapping_mul(0x7ed1_b41d);
    let x = (x ^ x >> 13 ^ x >> 26).wrapping_mul(0xa5cb_9243);
    x ^ x >> 16
}

/// For every group, the most significant bits of its lanes after [`mix`]: bit i is that of lane i.
pub fn first_bits(groups: &[[u32; GROUP]]) -> impl Iterator<Item = u64> {
    groups.iter().map(|group| {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the processor has AVX-512F.
                return unsafe { x86::first_bits_avx512(group) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2.
                return unsafe { x86::first_bits_avx2(group) };
            }
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: every such processor has NEON.
        return unsafe { neon::first_bits(group) };
        #[cfg(not(target_arch = "aarch64"))]
        first_bits_portable(group)
    })
}

#[cfg(any(test, not(target_arch = "aarch64")))]
#[inline(always)]
fn first_bits_portable(group: &[u32; GROUP]) -> u64 {
    let mixed = group.map(mix);
    mixed.iter().rev().fold(0, |bits, lane| bits << 1 | u64::from(lane >> 31))
}

#[cfg(any(test, not(target_arch = "aarch64")))]
fn add_portable(hashes: &[u64], shift: u32, groups: &mut [[u32; GROUP]]) {
    for &hash in hashes {
        let [b, a, q] = coefficients(hash, shift);
        // The value of the next lane, and its difference from that of the lane after it. The
        // difference grows by 2 q from lane to lane.
        let (mut value, mut step) = (b, a.wrapping_add(q));
        for lane in groups.as_flattened_mut() {
            *lane = (*lane).min(value);
            value = value.wrapping_add(step);
            step = step.wrapping_add(q.wrapping_mul(2));
        }
    }
}

/// A lane's step is the difference between its value and that of the lane `by` lanes further on.
/// This is how much the step grows over `by` lanes.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn growth(q: u32, by: u32) -> u32 {
    q.wrapping_mul(2 * by * by)
}

/// Defines [`add`] for one instruction set, whose vectors have `$by` lanes.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! kernel {
    (
        $name:ident, $features:literal, $by:literal, $vector:ty, $set1:ident, $add:ident,
        $mul:ident, $shift_left:ident, $min:ident, $load:ident, $store:ident
    ) => {
        /// The values of a hash for the first vector of a group come from two multiplications.
        /// Those for the next vectors come from the ones before by an addition.
        #[target_feature(enable = $features)]
        pub(super) fn $name(hashes: &[u64], shift: u32, groups: &mut [[u32; GROUP]]) {
            const BY: usize = $by;
            let grows = growth(2, BY as u32) << shift != 0;
            for (number, group) in groups.iter_mut().enumerate() {
                let lanes: [u32; BY] = std::array::from_fn(|lane| (number * GROUP + lane) as u32);
                // SAFETY: `lanes` is an array of as many bytes as the vector has; the instruction
                // needs no alignment.
                let lanes = unsafe { $load(lanes.as_ptr().cast()) };
                let (vectors, _) = group.as_chunks_mut::<BY>();
                let mut least: [$vector; GROUP / BY] = std::array::from_fn(|i| {
                    // SAFETY: `vectors[i]` is an array of as many bytes as the vector has; the
                    // instruction needs no alignment.
                    unsafe { $load(vectors[i].as_ptr().cast()) }
                });
                for &hash in hashes {
                    let [b, a, q] = coefficients(hash, shift);
                    let set = |x: u32| $set1(x as i32);
                    let by_lane = $mul(lanes, set(q));
                    let mut value = $add(set(b), $mul(lanes, $add(set(a), by_lane)));
                    let first =
                        a.wrapping_mul(BY as u32).wrapping_add(q.wrapping_mul((BY * BY) as u32));
                    let mut step =
                        $add(set(first), $shift_left::<{ (2 * BY).ilog2() as _ }>(by_lane));
                    if grows {
                        let growth = set(growth(q, BY as u32));
                        for least in &mut least {
                            *least = $min(*least, value);
                            value = $add(value, step);
                            step = $add(step, growth);
                        }
                    } else {
                        for least in &mut least {
                            *least = $min(*least, value);
                            value = $add(value, step);
                        }
                    }
                }
                for (vector, least) in vectors.iter_mut().zip(least) {
                    // SAFETY: `vector` is an exclusive reference to as many bytes as the vector
                    // has; the instruction needs no alignment.
                    unsafe { $store(vector.as_mut_ptr().cast(), least) };
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{GROUP, coefficients, growth, mix};

    #[target_feature(enable = "avx512f")]
    pub(super) fn first_bits_avx512(group: &[u32; GROUP]) -> u64 {
        let mixed = group.map(mix);
        let (vectors, _) = mixed.as_chunks::<16>();
        vectors.iter().rev().fold(0, |bits, vector| {
            // SAFETY: `vector` is an array of 64 bytes; the instruction needs no alignment.
            let vector = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
            bits << 16 | u64::from(_mm512_cmplt_epi32_mask(vector, _mm512_setzero_si512()))
        })
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn first_bits_avx2(group: &[u32; GROUP]) -> u64 {
        let mixed = group.map(mix);
        let (vectors, _) = mixed.as_chunks::<8>();
        vectors.iter().rev().fold(0, |bits, vector| {
            // SAFETY: `vector` is an array of 32 bytes; the instruction needs no alignment.
            let vector = unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) };
            bits << 8 | u64::from(_mm256_movemask_ps(_mm256_castsi256_ps(vector)) as u32)
        })
    }

    kernel!(
        add_avx512,
        "avx512f",
        16,
        __m512i,
        _mm512_set1_epi32,
        _mm512_add_epi32,
        _mm512_mullo_epi32,
        _mm512_slli_epi32,
        _mm512_min_epu32,
        _mm512_loadu_si512,
        _mm512_storeu_si512
    );
    kernel!(
        add_avx2,
        "avx2",
        8,
        __m256i,
        _mm256_set1_epi32,
        _mm256_add_epi32,
        _mm256_mullo_epi32,
        _mm256_slli_epi32,
        _mm256_min_epu32,
        _mm256_loadu_si256,
        _mm256_storeu_si256
    );
}

/// Every arm64 processor has these instructions.
#[cfg(target_arch = "aarch64")]
mod neon {
    use std::arch::aarch64::*;

    use super::{GROUP, coefficients, growth, mix};

    #[target_feature(enable = "neon")]
    pub(super) fn first_bits(group: &[u32; GROUP]) -> u64 {
        let mixed = group.map(mix);
        let (vectors, _) = mixed.as_chunks::<4>();
        // SAFETY: an array of 16 bytes, the size of the vector.
        let places = unsafe { vld1q_s32([0, 1, 2, 3].as_ptr()) };
        vectors.iter().rev().fold(0, |bits, vector| {
            // SAFETY: `vector` is an array of 16 bytes, the size of a vector.
            let vector = unsafe { vld1q_u32(vector.as_ptr()) };
            bits << 4 | u64::from(vaddvq_u32(vshlq_u32(vshrq_n_u32::<31>(vector), places)))
        })
    }

    #[inline]
    #[target_feature(enable = "neon")]
    fn set(value: i32) -> uint32x4_t {
        vdupq_n_u32(value as u32)
    }

    kernel!(
        add,
        "neon",
        4,
        uint32x4_t,
        set,
        vaddq_u32,
        vmulq_u32,
        vshlq_n_u32,
        vminq_u32,
        vld1q_u32,
        vst1q_u32
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, in numbers that do not wrap.
    fn value(hash: u64, lane: usize, bits: u32) -> u32 {
        let [b, a, q] =
            [hash & 0xffff_ffff, hash >> 32 & 0xffff | 1, hash >> 48 & 0xfffe].map(u128::from);
        let lane = lane as u128;
        ((b + ((a * lane + q * lane * lane) << (32 - bits))) % (1 << 32)) as u32
    }

    proptest! {
        #[test]
        fn mixing_can_be_undone(x: u32) {
            prop_assert_eq!(unmix(mix(x)), x);
        }
    }

    type Kernel = fn(&[u64], u32, &mut [[u32; GROUP]]);

    /// Every kernel this processor can run.
    fn kernels() -> Vec<(&'static str, Kernel)> {
        let mut kernels: Vec<(&'static str, Kernel)> = vec![("portable", add_portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2.
                kernels.push(("avx2", |h, s, l| unsafe { x86::add_avx2(h, s, l) }));
            }
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the processor has AVX-512F.
                kernels.push(("avx512", |h, s, l| unsafe { x86::add_avx512(h, s, l) }));
            }
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: every such processor has NEON.
        kernels.push(("neon", |h, s, l| unsafe { neon::add(h, s, l) }));
        kernels
    }

    proptest! {
        #[test]
        fn first_bits_are_those_of_the_lanes(lanes in prop::collection::vec(any::<u32>(), GROUP)) {
            let group: [u32; GROUP] = lanes.clone().try_into().unwrap();
            let first = |lane: u32| u64::from(mix(lane) >> 31);
            let expected =
                lanes.iter().enumerate().fold(0, |bits, (i, &lane)| bits | first(lane) << i);
            prop_assert_eq!(first_bits_portable(&group), expected);
            prop_assert_eq!(first_bits(&[group, group]).collect::<Vec<_>>(), [expected; 2]);
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2.
                prop_assert_eq!(unsafe { x86::first_bits_avx2(&group) }, expected);
            }
        }

        #[test]
        fn every_kernel_equals_the_definition(
            hashes in prop::collection::vec(any::<u64>(), 0..40),
            bits in 1u32..=13,
        ) {
            let lanes = (1usize << bits).next_multiple_of(GROUP);
            let least_of = |lane| hashes.iter().map(|&hash| value(hash, lane, bits)).min();
            let expected: Vec<u32> =
                (0..lanes).map(|lane| least_of(lane).unwrap_or(u32::MAX)).collect();
            for (name, kernel) in kernels() {
                let mut least = vec![u32::MAX; lanes];
                kernel(&hashes, 32 - bits, least.as_chunks_mut().0);
                prop_assert_eq!(&least, &expected, "{}", name);
            }
            let mut least = vec![u32::MAX; lanes];
            for part in hashes.chunks(7) {
                add(part, 32 - bits, &mut least);
            }
            prop_assert_eq!(least, expected);
        }

        #[test]
        fn the_upper_bits_are_a_permutation(hash: u64, bits in 1u32..=13) {
            let rank = |lane| value(hash, lane, bits) >> (32 - bits);
            let mut ranks: Vec<u32> = (0..1 << bits).map(rank).collect();
            ranks.sort_unstable();
            prop_assert!(ranks.into_iter().eq(0..1 << bits));
        }
    }
}
