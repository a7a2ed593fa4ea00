//! Vectorised inner loops, each tested against its portable form. They have the only unsafe code of
//! the crate.
//!
//! Every public function here is safe: it picks the widest instructions that the processor has.

#![allow(unsafe_code, reason = "instructions that not every processor has")]

pub mod accumulate;
pub mod counting;
pub mod least;
#[cfg(target_arch = "aarch64")]
mod neon;
pub mod pairs;
pub mod popcount;
pub mod prefetch;
pub mod scattered;
