//! The index with faults that can be made on purpose, one at a time.
//!
//! It is [`simhash-index`](../simhash_index/index.html), whose own sources know nothing of faults.
//! `build.rs` copies them and applies the patches in `faults/`, one for each file. What they add
//! are branches such as `if mutant::is(Mutant::ReleasedEarly)`. With no fault active, the code does
//! what the index does.
//!
//! A change of the index may need a change of its patch: `CONTRIBUTING.md` says how.

pub mod mutant;

include!(concat!(env!("OUT_DIR"), "/index/lib.rs"));
