//! The index with mutants: faults that can be made on purpose, one at a time.
//!
//! The sources of [`simhash-index`](../simhash_index/index.html) have no such faults. `build.rs`
//! copies them and applies the patches in `faults/`, one for each file. The patches add branches
//! such as `if mutant::is(Mutant::ReleasedEarly)`. With no fault active, the code does what the
//! index does.
//!
//! A change of the index may require a change of its patch: see `docs/design/maintaining.md`.

pub mod mutant;

include!(concat!(env!("OUT_DIR"), "/index/lib.rs"));
