//! The building blocks of the other modules: fixed-width values and their kernels, sorting,
//! counting, and checks for interruption in long work.
//!
//! [`fingerprint`] and [`bits`] define the values, [`key`] the order in which an index stores them,
//! and [`simd`] has the kernels. [`counter`] counts hashes, and [`exact`] sums weights. [`sort`]
//! and [`sorted`] order data in memory. [`spill`] counts pairs in bounded memory.

pub mod bits;
pub(crate) mod counter;
pub(crate) mod exact;
pub mod fingerprint;
pub mod hash;
pub(crate) mod interrupt;
pub mod key;
pub(crate) mod lazy;
pub mod memory;
pub mod random;
pub mod simd;
pub mod sort;
pub(crate) mod sorted;
pub mod spill;
