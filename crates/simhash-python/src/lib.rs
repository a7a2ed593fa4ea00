//! The compiled part of the Python package `pg_simhash`: simhash-core on strings, sequences and
//! Arrow arrays, on all cores and without Python's lock. The package's modules in clients/python
//! give its functions their names and types.

mod compared;
mod laws;
mod made;
mod postings;
mod recipe;
mod rows;
mod texts;
mod whole;
mod work;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::compared::{near, passage_share, shared_passages, shares_passage, similarity};
    #[pymodule_export]
    use super::laws::{law, reach};
    #[pymodule_export]
    use super::made::{fingerprints, keys, normalized, numbers, shingles, tokens};
    #[pymodule_export]
    use super::recipe::Recipe;
    #[pymodule_export]
    use super::whole::{Pairs, clusters, duplicates, lengths};
    use super::*;

    /// Sets how many threads a call uses. 0: as many as there are cores.
    #[pyfunction]
    fn set_threads(threads: usize) {
        work::set_threads(threads);
    }

    #[pyfunction]
    fn threads() -> usize {
        work::threads()
    }

    /// Adds the hash that says which values are made, and the version of the extension and the
    /// crates.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VALUES", simhash_core::VALUES)?;
        module.add("VERSION", env!("CARGO_PKG_VERSION"))
    }
}
