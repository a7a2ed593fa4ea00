//! Exact Hamming search over block tables.
//!
//! A fingerprint of f bits is cut into m blocks. Block table t stores every fingerprint rotated so
//! that block t leads, in key order. A query within distance k gives table t a block radius r_t. If
//! the sum of r_t + 1 over the tables is k + 1, every fingerprint within k of the query differs
//! from it in at most r_t bits of block t for at least one t. This is the pigeonhole principle
//! (Norouzi, Punjani and Fleet, CVPR 2012, section 3). Radii may be unequal (Qin et al., ICDE
//! 2018).
//!
//! The modules: [`layout`] cuts and rotates. [`plan`] chooses radii and says which table emits a
//! match. [`probe`] enumerates, in key order, the keys of a table that a query can reach. [`cost`]
//! estimates how many leaves that touches, by the model of uniform keys, and [`crowding`] by a
//! sample of them. [`scope`] encodes values of scopes, and [`scoped`] puts fingerprints into
//! scopes.
//!
//! In this crate a table is always a block table. `simhash-index` has other tables too.

pub mod cost;
pub mod crowding;
pub mod layout;
pub mod plan;
pub mod probe;
pub mod scope;
pub mod scoped;

pub use crowding::Crowding;
pub use layout::BlockLayout;
pub use plan::Plan;
pub use probe::Probe;
pub use scoped::{Scoped, TreeKey};
