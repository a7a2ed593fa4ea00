//! The arguments that both triggers have: what they mean, each checked against the table.

use std::ffi::CStr;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::base::bits::B256;
use simhash_core::config::Config;
use simhash_core::passages::WORDS;
use simhash_core::sets::sketch::{LEAST_SIMILARITY, Law};

use super::column::{Column, Equality, Generated, Named, utf8};
use super::given::Given;
use super::on::{Index, Open};
use super::serving::Similar;
use super::value::Value;
use crate::catalog::Schema;
use crate::types::Width;
use crate::types::hash::hash_of;

/// The most columns that a scope may have.
const MAX_SCOPE: usize = 8;

/// What makes two rows near.
#[derive(Clone, Debug)]
pub enum By {
    /// The distance of their fingerprints.
    Distance { width: Width, distance: u32 },
    /// The similarity of their texts, or a passage that both have.
    Similarity(Similar),
}

impl By {
    pub fn similar(&self) -> Option<&Similar> {
        match self {
            By::Distance { .. } => None,
            By::Similarity(similar) => Some(similar),
        }
    }

    pub fn is_text(&self) -> bool {
        self.similar().is_some()
    }

    /// What a value of the searched column is searched by: a fingerprint, at the most significant
    /// end, or a hash of a text. Rows with the same result are near the same rows.
    pub fn what(&self, value: Value<'_>) -> B256 {
        match self {
            By::Distance { width, .. } => value.code(*width).leading(),
            By::Similarity(_) => value
                .with_bytes(|bytes| B256::new([hash_of((0, bytes)), hash_of((1, bytes)), 0, 0])),
        }
    }
}

impl Given<'_> {
    /// The fingerprint's column.
    pub fn fingerprint(&self) -> Named {
        self.column("fp").unwrap_or_else(|| {
            self.raise("fp", "is missing", "Give the fingerprint's column: 'fp=column'.")
        })
    }

    /// The text's column, and how similar other texts have to be. `None` if there is a fingerprint.
    pub fn similar(&self) -> Option<(Named, Similar)> {
        if self.get("fp").is_some() {
            return None;
        }
        let (body, similarity) = match (self.text(), self.get("similarity")) {
            (Some(body), None) if self.get("passage").is_some() => {
                return Some((body, self.passage()));
            }
            (Some(body), Some(similarity)) => (body, similarity),
            (text, _) => self.raise(
                if text.is_some() { "similarity" } else { "body" },
                "is missing",
                "Give the text's column and a similarity: 'body=column', 'similarity=0.7'. Or give \
                 the fingerprint's column: 'fp=column'.",
            ),
        };
        self.expect_none_of_fingerprints();
        let similarity = similarity.parse().ok().filter(|&least| Law::of(least).is_some());
        let similarity = similarity.unwrap_or_else(|| {
            self.raise_as(
                PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                "similarity",
                "is not a valid similarity",
                &format!("Allowed: {LEAST_SIMILARITY} to 1. 70 % is 0.7."),
            )
        });
        if self.get("passage").is_some() {
            let hint = "Texts are compared either by similarity or by passages: omit one of the \
                        arguments.";
            self.raise("passage", "cannot be used with the argument \"similarity\"", hint)
        }
        let config = self.parsed_config().to_string().into();
        Some((body, Similar { similarity, words: None, config }))
    }

    /// The arguments for texts that are near if they share a passage of this many words.
    fn passage(&self) -> Similar {
        self.expect_none_of_fingerprints();
        let given = self.get("passage").and_then(|words| words.parse().ok());
        let words = given.filter(|words| WORDS.contains(words)).unwrap_or_else(|| {
            self.raise_as(
                PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                "passage",
                "is not a valid number of words",
                &format!("Allowed: {} to {}.", WORDS.start(), WORDS.end()),
            )
        });
        let config = self.parsed_config().to_string().into();
        Similar { similarity: 0.0, words: Some(words), config }
    }

    /// Raises 22023 for an argument that only fingerprints have.
    fn expect_none_of_fingerprints(&self) {
        let useless = ["distance", "method", "measure", "shingle"];
        if let Some(key) = useless.iter().find(|key| self.get(key).is_some()) {
            self.raise(
                key,
                "requires the argument \"fp\"",
                "Texts are compared by body, similarity or passage, and config.",
            )
        }
    }

    /// The width of the fingerprints in a column.
    pub fn width(&self, fp: &Column, schema: Schema) -> Width {
        if fp.generated == Generated::Virtual {
            self.raise_plainly(
                "fp",
                "names a virtual generated column",
                "Make the column STORED, so that it can be indexed.",
            )
        }
        Width::of_type(fp.base, schema).unwrap_or_else(|| {
            self.raise_type(
                "fp",
                fp,
                "A fingerprint's column must be of type fingerprint64, fingerprint128, \
                 fingerprint256 or bigint.",
            )
        })
    }

    /// The text's column.
    pub fn text(&self) -> Option<Named> {
        let body = self.column("body")?;
        // SAFETY: a catalogue look-up.
        if !unsafe { pg_sys::IsBinaryCoercible(body.column.base, pg_sys::TEXTOID) } {
            self.raise_type(
                "body",
                &body.column,
                "The text's column must be of type text or varchar. For another type, make fp a \
                 generated column, or compute it before the trigger.",
            )
        }
        Some(body)
    }

    /// The config as it was given, or the default one.
    pub fn parsed_config(&self) -> Config {
        let Some(json) = self.get("config") else { return Config::default() };
        Config::parse(json).unwrap_or_else(|error| {
            let what = format!("is not a valid simhash_config: {}", error.message());
            self.raise("config", &what, &error.hint())
        })
    }

    /// The greatest distance of near-duplicates.
    pub fn distance(&self, width: Width) -> u32 {
        let Some(value) = self.get("distance") else { return width.near() };
        let bits = width.bits();
        value.parse().ok().filter(|&distance| distance <= bits).unwrap_or_else(|| {
            self.raise_as(
                PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                "distance",
                &format!("is not a valid distance between fingerprints of {bits} bits"),
                &format!("Allowed: 0 to {bits}."),
            )
        })
    }

    /// The column that `key=` names, or the table's primary key if that is a single column.
    pub fn key_or_primary(&self) -> Option<Named> {
        self.column("key").or_else(|| {
            let table = self.table.oid();
            let unique = single_unique(self.table);
            let primary = unique.iter().find(|index| index.is_primary && index.column > 0)?;
            // SAFETY: a catalogue look-up; the name is palloc'd.
            let name = unsafe { CStr::from_ptr(pg_sys::get_attname(table, primary.column, false)) };
            Some(Named { column: Column::named(table, name)?, name: name.to_owned() })
        })
    }

    /// The columns of `scope=`, whose values are compared by equality. `check` raises an ERROR for
    /// a column that cannot be one of them.
    pub fn equal_columns(&self, check: impl Fn(&Named)) -> Vec<Named> {
        let given = self.columns("scope");
        if given.len() > MAX_SCOPE {
            self.raise_as(
                PgSqlErrorCode::ERRCODE_TOO_MANY_COLUMNS,
                "scope",
                &format!("names {} columns", given.len()),
                &format!("At most {MAX_SCOPE} columns can be compared by equality."),
            )
        }
        for (place, named) in given.iter().enumerate() {
            check(named);
            if named.column.equality() == pg_sys::InvalidOid {
                self.raise_type(
                    "scope",
                    &named.column,
                    "The type must have an operator class for btree or hash, which defines \
                     equality.",
                )
            }
            if given[..place].iter().any(|other| other.column.number == named.column.number) {
                self.raise_scope(&named.name, "twice", "Name each column once.")
            }
        }
        given
    }

    /// Raises 22023, and says what is wrong with a column of the scope.
    pub fn raise_scope(&self, name: &CStr, what: &str, hint: &str) -> ! {
        let name = utf8(name);
        self.raise("scope", &format!("names a column {what}: \"{name}\""), hint)
    }
}

/// A unique index on a single column.
pub struct UniqueIndex {
    pub is_primary: bool,
    /// 0 for an expression.
    pub column: pg_sys::AttrNumber,
    /// Whether it is checked at once, and not by a constraint that can be deferred.
    pub is_immediate: bool,
    pub equality: Option<Equality>,
}

/// The table's unique indexes on a single column that hold every row.
pub fn single_unique(table: Open<'_>) -> Vec<UniqueIndex> {
    let unique = |index: Index| {
        let form = index.form();
        let is_valid = form.indisunique && form.indisvalid && index.predicate().is_none();
        (is_valid && index.keys() == 1).then(|| UniqueIndex {
            is_primary: form.indisprimary,
            column: index.column(0),
            is_immediate: form.indimmediate,
            equality: Equality::of(&index),
        })
    };
    table.indexes().filter_map(unique).collect()
}
