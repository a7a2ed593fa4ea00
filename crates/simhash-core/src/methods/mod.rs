//! Methods from the literature that the rest of the crate does not use.
//!
//! [`imatch`] and [`lexicons`] use the lexicon of a trained model. [`ksentence`] and the sets of
//! [`bloom`] and [`trie`] find equal texts. [`near`] finds near fingerprints. [`dedup`] is the
//! pipeline of an exact and a near stage.

pub mod bloom;
pub mod dedup;
pub mod imatch;
pub mod ksentence;
pub mod lexicons;
pub mod near;
pub mod trie;
