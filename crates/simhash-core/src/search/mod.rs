//! Exact Hamming search over block tables: how fingerprints are cut and rotated, which tables a
//! query probes and with which radii, and which keys of a table a probe can still reach.
//!
//! A fingerprint of f bits is cut into m blocks. Table t stores every fingerprint rotated so that
//! block t leads, in key order. A query within distance k gives table t a block radius r_t; whenever
//! the sum of (r_t + 1) over the tables is k + 1, every fingerprint within k differs from the query
//! in at most r_t bits of block t for at least one t (pigeonhole; Norouzi, Punjani and Fleet, CVPR
//! 2012, section 3; unequal radii as in Qin et al., ICDE 2018).
//!
//! The modules: [`layout`] cuts and rotates, [`plan`] chooses radii and says which table emits a
//! match, [`ball`] enumerates in key order the keys that a table's probe can reach, [`cost`] estimates
//! how many leaves that touches.

pub mod ball;
pub mod cost;
pub mod key;
pub mod layout;
pub mod plan;

pub use ball::Ball;
pub use key::Key;
pub use layout::BlockLayout;
pub use plan::Plan;
