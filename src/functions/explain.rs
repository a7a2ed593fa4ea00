//! `simhash_explain`: compares two texts feature by feature, to show why their fingerprints differ.
//! If the configuration compares numbers, the differing numbers come first.

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern};
use simhash_core::base::bits::B256;
use simhash_core::compare::explain::{Explanation, explain};
use simhash_core::config::Method;
use simhash_core::config::recipes::recipe;
use simhash_core::sets::numbers::{Difference, differences};

use super::hashers::method_named;
use crate::call::{Call, interrupts};
use crate::catalog::Schema;
use crate::error::raise;
use crate::models::simhasher_for;
use crate::types::varlena::{LARGEST_VALUE, raise_too_large};
use crate::types::{ConfigText, Shown, Text};

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
#[allow(clippy::type_complexity, reason = "the columns of the SQL function")]
fn simhash_explain(
    a: Text<'_>,
    b: Text<'_>,
    config: ConfigText<'_>,
    method: Text<'_>,
    bits: i32,
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(feature, Shown),
        name!(side, Text<'static>),
        name!(weight_a, Option<f32>),
        name!(weight_b, Option<f32>),
        name!(share, Option<f32>),
        name!(distance, Option<i32>),
        name!(similarity, Option<f32>),
    ),
> {
    let method = method_named(method.as_str());
    let config = match method {
        Method::Simhash => config.config(),
        Method::Minhash => recipe(&config.config()),
    };
    let texts = [a.as_str(), b.as_str()];
    let interrupt = &mut interrupts();
    let numbers = differences(texts, &config, LARGEST_VALUE, interrupt)
        .unwrap_or_else(|| raise_too_large("the numbers of a text are too long in total"));
    let mut simhasher = simhasher_for(config, Schema::of_call(&call));
    let found = match bits {
        64 => explain::<u64>(method, &mut simhasher, texts, LARGEST_VALUE, interrupt),
        128 => explain::<u128>(method, &mut simhasher, texts, LARGEST_VALUE, interrupt),
        256 => explain::<B256>(method, &mut simhasher, texts, LARGEST_VALUE, interrupt),
        _ => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("a fingerprint cannot have {bits} bits"),
            "Allowed: 64, 128, 256.",
        ),
    };
    let mut found: Explanation = found
        .unwrap_or_else(|| raise_too_large("the features of these texts are too long in total"));
    let distance = found.distance.map(|distance| distance as i32);
    let similarity = found.similarity.map(|similarity| similarity as f32);
    let numbers = numbers.into_iter().map(move |Difference { number, times }| {
        let side = if times[0] > times[1] { "a" } else { "b" };
        let side = Text::from(side.to_owned());
        (Shown::from(number), side, None, None, None, distance, similarity)
    });
    let features = std::mem::take(&mut found.rows).into_iter().map(move |row| {
        let side = Text::from(row.side().to_owned());
        let [weight_a, weight_b] = row.weights;
        let share = distance.map(|_| readable(row.share));
        let feature = Shown::from(found.feature(&row).to_owned());
        (feature, side, weight_a, weight_b, share, distance, similarity)
    });
    TableIterator::new(numbers.chain(features))
}

/// Rounded to four places.
fn readable(share: f64) -> f32 {
    const UNIT: f64 = 10_000.0;
    // Adding 0.0 turns -0.0 into 0.0.
    ((share * UNIT).round() / UNIT + 0.0) as f32
}
