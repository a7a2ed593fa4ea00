//! What similarities imply for keys and fingerprints.

use pyo3::prelude::*;
use simhash_core::sets::sketch::{KEY_BITS, LEAST_SIMILARITY, Law};
use simhash_core::sketches::minhash;

use crate::recipe::value_error;

/// The least significant bits of a key, which are 0.
pub const UNUSED: u32 = 64 - KEY_BITS;

pub fn no_law(similarity: f64) -> PyErr {
    value_error(
        format!("no similarity is {similarity}"),
        &format!("Allowed: {LEAST_SIMILARITY} to 1."),
    )
}

/// (bands, rows, shared): texts are candidates at a similarity if they agree in at least `shared`
/// of the bands, each of which has this number of rows.
#[pyfunction]
pub fn law(similarity: f64) -> PyResult<(usize, usize, usize)> {
    let Law { bands, rows, shared } = Law::of(similarity).ok_or_else(|| no_law(similarity))?;
    Ok((bands, rows, shared))
}

/// The distance that 99 % of the one-bit MinHash fingerprints of texts with this similarity are
/// within.
#[pyfunction]
pub fn reach(similarity: f64, bits: u32) -> PyResult<u32> {
    Law::of(similarity).ok_or_else(|| no_law(similarity))?;
    if !(8..=1024).contains(&bits) {
        let message = format!("number of bits {bits} is out of range for a fingerprint");
        return Err(value_error(message, "Allowed: 8 to 1024."));
    }
    Ok(minhash::reach(similarity, bits))
}
