//! What the other rooms are made of: values of a fixed width and their kernels, sorting, counting,
//! and what long work asks in between.
//!
//! [`fingerprint`] and [`bits`] are the values, [`key`] is what an index orders them by, [`simd`]
//! has the kernels. [`exact`] and [`counter`] count, [`sort`], [`sorted`] and [`spill`] put in
//! order what fits into memory and what does not.

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
