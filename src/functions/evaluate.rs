//! `simhash_evaluate`: precision and recall of every distance on labelled pairs.

use pgrx::iter::TableIterator;
use pgrx::{PgSqlErrorCode, name, pg_extern, pg_sys};

use crate::call::Call;
use crate::catalog::Schema;
use crate::error::raise;
use crate::query::{Column, Row, for_each_row};
use crate::types::{Text, Width};

/// The types that errors name as allowed for the columns of fingerprints.
const TYPES: &str = "fingerprint64, fingerprint128, fingerprint256 or bigint";

#[allow(clippy::type_complexity, reason = "pgrx reads the columns, and follows no alias")]
#[pg_extern(sql = false, volatile, strict, parallel_unsafe)]
fn simhash_evaluate(
    pairs: Text<'_>,
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(distance, i32),
        name!(true_positives, i64),
        name!(false_positives, i64),
        name!(false_negatives, i64),
        name!(true_negatives, i64),
        name!(precision, Option<f64>),
        name!(recall, Option<f64>),
        name!(f1, Option<f64>),
    ),
> {
    let schema = Schema::of_call(&call);
    let is_fingerprint = |oid| Width::of_type(oid, schema).is_some();
    let columns = [
        Column { name: "a", types: TYPES, accepts: &is_fingerprint },
        Column { name: "b", types: TYPES, accepts: &is_fingerprint },
        Column { name: "duplicate", types: "boolean", accepts: &|oid| oid == pg_sys::BOOLOID },
    ];
    let mut counts: Option<Counts> = None;
    let found = for_each_row(pairs.as_str(), &columns, &mut |row| {
        counts.get_or_insert_with(|| Counts::new(row.types(), schema)).add(row);
    });
    TableIterator::new(counts.unwrap_or_else(|| Counts::new(&found, schema)).rows())
}

/// The number of labelled pairs at each distance. The last element counts the pairs with a
/// fingerprint that is NULL.
struct Counts {
    width: Width,
    duplicates: Vec<u64>,
    others: Vec<u64>,
}

impl Counts {
    /// Counts for columns of these types. Raises 42804 if the fingerprints have different widths.
    fn new(types: &[pg_sys::Oid], schema: Schema) -> Self {
        let width = Width::of_type(types[0], schema).unwrap_or(Width::Bits64);
        if Width::of_type(types[1], schema) != Some(width) {
            raise(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                "a and b are fingerprints of different widths".into(),
                "Give both in the same width.",
            )
        }
        let places = width.bits() as usize + 2;
        Counts { width, duplicates: vec![0; places], others: vec![0; places] }
    }

    fn add(&mut self, row: &Row<'_>) {
        let duplicate = row.datum(2).unwrap_or_else(|| {
            raise(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                "duplicate is NULL for a pair".into(),
                "",
            )
        });
        let counts = if duplicate.value() != 0 { &mut self.duplicates } else { &mut self.others };
        // SAFETY: the types of the columns were checked, and `new` checked that both have this
        // width.
        let code = |fp| unsafe { self.width.code(fp) };
        let distance =
            row.datum(0).zip(row.datum(1)).map(|(a, b)| code(a).hamming(&code(b)) as usize);
        let last = counts.len() - 1;
        counts[distance.unwrap_or(last)] += 1;
    }

    #[allow(clippy::type_complexity, reason = "the columns of the function")]
    fn rows(
        self,
    ) -> impl Iterator<Item = (i32, i64, i64, i64, i64, Option<f64>, Option<f64>, Option<f64>)>
    {
        let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        let (all_duplicates, all_others) =
            (self.duplicates.iter().sum::<u64>(), self.others.iter().sum::<u64>());
        let (mut found, mut wrong) = (0, 0);
        (0..self.duplicates.len() - 1).map(move |distance| {
            found += self.duplicates[distance];
            wrong += self.others[distance];
            let (missed, kept_apart) = (all_duplicates - found, all_others - wrong);
            (
                distance as i32,
                found as i64,
                wrong as i64,
                missed as i64,
                kept_apart as i64,
                ratio(found, found + wrong),
                ratio(found, all_duplicates),
                ratio(2 * found, 2 * found + wrong + missed),
            )
        })
    }
}
