//! Texts as sets.
//!
//! [`shingles`] gives the exact answer (Broder 1997), [`weighted`] with the weights of a
//! configuration. [`sketch`] says which texts are near, by bands that an index can look up and by
//! the exact answer. [`numbers`] are those that may have to agree.

pub mod numbers;
pub mod outline;
pub mod shingles;
pub mod sketch;
pub mod weighted;
