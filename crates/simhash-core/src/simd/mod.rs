//! Vectorised inner loops, each tested against its portable form. The only unsafe code of the crate.
//!
//! Every public function here is safe: it picks the widest instructions that the processor has.

pub mod accumulate;
pub mod least;
pub mod pairs;
pub mod popcount;
pub mod prefetch;
