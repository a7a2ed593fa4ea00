//! `ksentence`: the MD5 of a text's longest sentences.

use pgrx::{PgSqlErrorCode, pg_extern};
use simhash_core::methods::ksentence::{ksentence as longest_sentences, normalize_config};

use crate::call::{Call, interrupts};
use crate::catalog::Schema;
use crate::error::raise;
use crate::models::simhasher_for;
use crate::types::{Fp128, Text};

/// Returns a uuid, whose 16 bytes are laid out as those of a fingerprint128.
#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn ksentence(body: Text<'_>, k: i32, mut call: Call<'_>) -> Option<Fp128> {
    let k = usize::try_from(k).ok().filter(|&k| k > 0).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("number of sentences {k} is out of range"),
            "Allowed: 1 or more.",
        )
    });
    let normalizer =
        call.keep(|()| true, |call| ((), simhasher_for(normalize_config(), Schema::of_call(call))));
    let normalized = normalizer.normalize(body.as_str(), &mut interrupts());
    longest_sentences(&normalized, k, &mut interrupts()).map(|md5| Fp128(u128::from_be_bytes(md5)))
}
