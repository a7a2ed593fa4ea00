//! Dictionaries and stop word lists in a database: their table, a backend's cache of them, and
//! their creation.
//!
//! A stored list never changes, so functions that read one by name are IMMUTABLE, as with models.
//! The hash of its words identifies it: creating the same list again is not an ERROR, so that a
//! script can run twice.

use std::cell::RefCell;
use std::ffi::CStr;
use std::sync::Arc;

use pgrx::datum::DatumWithOid;
use pgrx::{Array, FromDatum, PgSqlErrorCode, Spi, pg_sys};
use simhash_core::config::StopList;
use simhash_core::words::lists::{Kind, WordList, WordListError};

use super::store::{self, RowIdentity};
use crate::call::interrupts;
use crate::catalog::scan::{Scan, text_is};
use crate::catalog::{Schema, rights};
use crate::error::raise;
use crate::types::Text;
use crate::types::datum::{Decode, Encode};
use crate::types::returned_array::TextArray;

const TABLE: &CStr = c"simhash_word_list";
const KIND: i32 = 1;
const NAME: i32 = 2;
const WORDS: i32 = 3;
const FREQUENCIES: i32 = 4;
const CONTENT: i32 = 5;

struct Entry {
    schema: Schema,
    kind: Kind,
    name: String,
    identity: RowIdentity,
    list: Arc<WordList>,
}

/// The number of lists kept in memory. The one that was read first is evicted first.
const KEPT: usize = 8;

thread_local! {
    static CACHE: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
}

/// The list of that kind and name. Raises an ERROR that lists the existing ones if there is none.
pub fn find(schema: Schema, kind: Kind, name: &str) -> Arc<WordList> {
    let is_it = |entry: &Entry| entry.schema == schema && entry.kind == kind && entry.name == name;
    let cached = CACHE.with_borrow(|cache| {
        let entry = cache.iter().find(|entry| is_it(entry))?;
        Some((entry.identity, entry.list.clone()))
    });
    let Some((mut scan, tuple)) = row(schema, kind, name) else {
        CACHE.with_borrow_mut(|cache| cache.retain(|entry| !is_it(entry)));
        raise_unknown(schema, kind, name)
    };
    // SAFETY: the tuple is valid until the next call of `next`.
    let identity = unsafe { store::identity(tuple) };
    let known = cached.filter(|(known, _)| *known == identity).map(|(_, list)| list);
    let list = known.clone().unwrap_or_else(|| Arc::new(read(&mut scan, tuple, kind, name)));
    scan.end();
    if known.is_none() {
        CACHE.with_borrow_mut(|cache| {
            cache.retain(|entry| !is_it(entry));
            if cache.len() == KEPT {
                cache.remove(0);
            }
            let (name, list) = (name.to_owned(), list.clone());
            cache.push(Entry { schema, kind, name, identity, list });
        });
    }
    list
}

/// The row of a list, valid until its scan ends. Raises 42501 unless the current role has SELECT on
/// the table.
fn row(schema: Schema, kind: Kind, name: &str) -> Option<(Scan, pg_sys::HeapTuple)> {
    let mut scan = scan(schema, Some(name));
    while let Some(tuple) = scan.next() {
        if text(&scan, tuple, KIND).as_deref() == Some(kind.name()) {
            return Some((scan, tuple));
        }
    }
    scan.end();
    None
}

/// A scan of the rows with one name, or of all.
fn scan(schema: Schema, name: Option<&str>) -> Scan {
    let table = store::table(schema, TABLE);
    rights::check_select(table, TABLE);
    let key = name.map(|name| text_is(NAME, Text::from(name.to_owned()).encode()));
    // SAFETY: the extension's table has a text column with this number.
    unsafe { Scan::of_table(table, key) }
}

fn text(scan: &Scan, tuple: pg_sys::HeapTuple, column: i32) -> Option<String> {
    // SAFETY: callers pass only columns of type text.
    let text = scan.column(tuple, column).map(|value| unsafe { Text::decode(value) });
    text.map(|text| text.as_str().to_owned())
}

/// The list of a row. Raises XX001 if the stored hash does not match its words.
fn read(scan: &mut Scan, tuple: pg_sys::HeapTuple, kind: Kind, name: &str) -> WordList {
    // SAFETY: the columns are arrays of text and bigint, and live as long as the row.
    let (words, frequencies) = unsafe {
        (
            scan.column(tuple, WORDS).and_then(|words| Array::<Text>::from_datum(words, false)),
            scan.column(tuple, FREQUENCIES).and_then(|all| Array::<i64>::from_datum(all, false)),
        )
    };
    let mut frequencies = frequencies.as_ref().map(|frequencies| frequencies.iter());
    let words = words.iter().flat_map(|words| words.iter()).map(|word| {
        let frequency = frequencies.as_mut().and_then(|all| all.next()).flatten();
        (word.map_or_else(String::new, |word| word.as_str().to_owned()), frequency)
    });
    let list = WordList::new(kind, words, &mut interrupts());
    let content = text(scan, tuple, CONTENT);
    list.ok().filter(|list| Some(list.content_hash()) == content.as_deref()).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
            format!("stored words of {} \"{name}\" do not match their hash", kind.noun()),
            "Restore its row of simhash_word_list from a backup.",
        )
    })
}

fn raise_unknown(schema: Schema, kind: Kind, name: &str) -> ! {
    const SHOWN: usize = 20;
    let mut scan = scan(schema, None);
    let mut names = Vec::new();
    while let Some(tuple) = scan.next() {
        if text(&scan, tuple, KIND).as_deref() == Some(kind.name()) {
            names.extend(text(&scan, tuple, NAME));
        }
    }
    scan.end();
    names.sort();
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    names.truncate(SHOWN);
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let made = if quoted.is_empty() {
        format!(
            "None has been created in this database: SELECT simhash_{}(name, words).",
            kind.name()
        )
    } else {
        format!("Existing ones: {}{more}.", quoted.join(", "))
    };
    let hint = match kind {
        Kind::Dictionary => made,
        Kind::StopWords => format!("Built-in ones: {}. {made}", StopList::names()),
    };
    raise(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        format!("{} \"{name}\" does not exist", kind.noun()),
        &hint,
    )
}

/// Stores a list under a name as the current role, which needs INSERT on the table. Returns the
/// hash of its words.
pub fn make(
    schema: Schema,
    kind: Kind,
    name: &str,
    words: &Array<'_, Text<'_>>,
    frequencies: Option<&Array<'_, i64>>,
) -> String {
    check_name(kind, name);
    let list = list_of(kind, words, frequencies);
    let hash = list.content_hash();
    if let Some((scan, tuple)) = row(schema, kind, name) {
        let stored = text(&scan, tuple, CONTENT);
        scan.end();
        check_same(kind, name, hash, stored.as_deref());
        return hash.to_owned();
    }
    let function = match kind {
        Kind::Dictionary => c"simhash_dictionary()",
        Kind::StopWords => c"simhash_stopwords()",
    };
    // SAFETY: reads the transaction state. Raises an ERROR in a read-only transaction.
    unsafe { pg_sys::PreventCommandIfReadOnly(function.as_ptr()) };
    rights::check_insert(store::table(schema, TABLE), TABLE);
    let stored = insert(schema, name, &list);
    check_same(kind, name, hash, stored.as_deref());
    hash.to_owned()
}

fn check_name(kind: Kind, name: &str) {
    let (message, hint) = if name.is_empty() {
        (
            format!("the name of a {} must not be empty", kind.noun()),
            "A config names the list by it.",
        )
    } else if StopList::ALL.iter().any(|list| list.name() == name) {
        (
            format!("\"{name}\" cannot be the name of a {}", kind.noun()),
            "The names none, en, zh and auto are reserved for built-in lists.",
        )
    } else {
        return;
    };
    raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message, hint)
}

/// The given words as a list.
fn list_of(
    kind: Kind,
    words: &Array<'_, Text<'_>>,
    frequencies: Option<&Array<'_, i64>>,
) -> WordList {
    if let Some(frequencies) = frequencies
        && frequencies.len() != words.len()
    {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!(
                "number of words, {}, does not match number of frequencies, {}",
                words.len(),
                frequencies.len()
            ),
            "Give one frequency for each word, or NULL for words without one.",
        )
    }
    let mut frequencies = frequencies.map(|frequencies| frequencies.iter());
    let words = words.iter().enumerate().map(|(place, word)| {
        let Some(word) = word else {
            raise(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("words must not contain NULL: element {} does", place + 1),
                "Remove it: array_remove(words, NULL).",
            )
        };
        let frequency = frequencies.as_mut().and_then(|all| all.next()).flatten();
        (word.as_str().to_owned(), frequency)
    });
    WordList::new(kind, words, &mut interrupts()).unwrap_or_else(|error| {
        let code = match error {
            WordListError::TooLarge(_) => PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
            _ => PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        };
        raise(code, error.message(), &error.hint())
    })
}

/// Raises 42710 if the stored list has other words.
fn check_same(kind: Kind, name: &str, hash: &str, stored: Option<&str>) {
    if stored != Some(hash) {
        raise(
            PgSqlErrorCode::ERRCODE_DUPLICATE_OBJECT,
            format!("{} \"{name}\" already exists with other words", kind.noun()),
            "A list of words cannot be changed, because fingerprints depend on it: choose another \
             name.",
        )
    }
}

/// Inserts a list unless another session has inserted one of that name meanwhile. Returns the hash
/// that is then stored.
fn insert(schema: Schema, name: &str, list: &WordList) -> Option<String> {
    let schema_name = store::name_of(schema);
    let mut words = TextArray::new();
    list.entries().for_each(|(word, _)| words.push(word));
    let frequencies: Vec<Option<i64>> =
        list.entries().map(|(_, frequency)| frequency.map(i64::from)).collect();
    let frequencies = frequencies.iter().any(Option::is_some).then_some(frequencies);
    // SAFETY: each value has the given type.
    let arguments = unsafe {
        [
            DatumWithOid::new(list.kind().name(), pg_sys::TEXTOID),
            DatumWithOid::new(Text::from(name.to_owned()), pg_sys::TEXTOID),
            DatumWithOid::new(words, pg_sys::TEXTARRAYOID),
            DatumWithOid::new(frequencies, pg_sys::INT8ARRAYOID),
            DatumWithOid::new(list.content_hash(), pg_sys::TEXTOID),
        ]
    };
    let insert = format!(
        "INSERT INTO {schema_name}.simhash_word_list (kind, name, words, frequencies, content) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING"
    );
    let select = format!(
        "SELECT content FROM {schema_name}.simhash_word_list \
         WHERE kind OPERATOR(pg_catalog.=) $1 AND name OPERATOR(pg_catalog.=) $2"
    );
    let stored = Spi::run_with_args(&insert, &arguments)
        .and_then(|()| Spi::get_one_with_args::<String>(&select, &arguments[..2]));
    stored.unwrap_or_else(|error| {
        raise(
            PgSqlErrorCode::ERRCODE_INTERNAL_ERROR,
            format!("could not store {}: {error}", list.kind().noun()),
            "",
        )
    })
}
