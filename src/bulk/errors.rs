//! ERRORs of deduplication in bulk.

use pgrx::PgSqlErrorCode;
use simhash_core::base::memory::NoMemory;

use crate::error::{raise, raise_no_memory};

/// Checks a distance against a width; raises 22003.
pub fn checked_distance(distance: i32, bits: u32) -> u32 {
    u32::try_from(distance).ok().filter(|&distance| distance <= bits).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            format!("distance {distance} is out of range for {bits} bits"),
            &format!("Allowed: 0 to {bits}."),
        )
    })
}

/// Raises 53200: the operating system refused memory.
pub fn no_memory(refused: NoMemory) -> ! {
    raise_no_memory(refused.bytes, "Lower simhash.work_mem.")
}

/// Raises 53200: `rows` rows with one fingerprint, whose texts are compared, do not fit in
/// `simhash.work_mem`, which is `work_mem` bytes.
pub fn raise_memory(work_mem: usize, rows: usize) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        format!(
            "simhash_clusters needs more than the {} MB that simhash.work_mem allows: {rows} rows \
             with one fingerprint have texts to compare",
            work_mem >> 20
        ),
        "Raise simhash.work_mem: a quarter of it is for such rows, which need up to 90 bytes each.",
    )
}

/// Raises 0A000 for an index of texts, where fingerprints are compared.
pub fn raise_is_of_texts(index: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("index \"{index}\" is on texts"),
        "Texts are compared by similarity: call simhash_pairs, simhash_duplicates or \
         simhash_clusters with similarity => 0.7. Only an index on fingerprints can be searched by \
         distance.",
    )
}

/// Raises 0A000 for an index of passages, where whole texts or fingerprints are compared.
pub fn raise_is_of_passages(index: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("index \"{index}\" is on passages"),
        "Texts that share passages are found by simhash_passages(index). To compare whole texts, \
         index them: CREATE INDEX ON doc USING simhash (body).",
    )
}

/// Raises 0A000 for an index that is not one of passages.
pub fn raise_is_not_of_passages(index: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("index \"{index}\" is not on passages"),
        "Create an index on passages: CREATE INDEX ON doc USING simhash (body text_passage_ops).",
    )
}

/// Raises 0A000 for an index of fingerprints, where texts are compared.
pub fn raise_is_of_fingerprints(index: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        format!("index \"{index}\" is on fingerprints"),
        "Fingerprints are compared by distance: simhash_pairs(index, 3), simhash_duplicates(index, \
         distance => 3), and then by texts if body names their column. To compare by similarity \
         only, index the texts: CREATE INDEX ON doc USING simhash (body).",
    )
}
