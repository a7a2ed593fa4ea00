//! A hint to the processor: a value will soon be read.

/// Asks for the cache line in which a value begins.
#[inline]
pub fn prefetch<T>(value: &T) {
    // SAFETY: a prefetch reads nothing.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>((&raw const *value).cast::<i8>());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
