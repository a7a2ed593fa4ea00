//! Code that counts set bits, compiled a second time for processors with an instruction for it.

/// A piece of work that counts bits.
///
/// Functions that [`Counting::run`] calls use the instruction only where they are inlined. So `run`
/// and the functions that it calls in a loop should be `#[inline(always)]`.
pub trait Counting {
    type Output;
    fn run(self) -> Self::Output;
}

/// Runs `work`, with the processor's instruction where it has one.
#[inline]
pub fn counting<W: Counting>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has the instruction.
        return unsafe { with_popcnt(work) };
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "popcnt")]
fn with_popcnt<W: Counting>(work: W) -> W::Output {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ones(u64);

    impl Counting for Ones {
        type Output = u32;
        #[inline(always)]
        fn run(self) -> u32 {
            self.0.count_ones()
        }
    }

    #[test]
    fn counts_are_the_same_with_the_instruction() {
        for bits in [0, 1, 0xff00, u64::MAX] {
            assert_eq!(counting(Ones(bits)), Ones(bits).run());
        }
    }
}
