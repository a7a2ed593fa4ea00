//! The only unsafe code of the crate: vector instructions, chosen at run time, each with portable code that it
//! is tested against.

pub mod accumulate;
