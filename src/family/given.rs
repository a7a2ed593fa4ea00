//! The arguments of the triggers, 'key=value' each: which ones exist, what was given, and errors
//! that quote them.

use std::ffi::{CStr, CString};

use pgrx::{PgSqlErrorCode, pg_sys};

use super::column::{Column, Named, utf8};
use super::on::{On, Open};
use crate::error::raise;
use crate::types::text::{server_to_utf8, utf8_to_server};

/// The trigger whose arguments they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Dedup,
    Cluster,
}

/// An argument: its key, and its value as the documentation writes it. An argument whose value is
/// one of some words has these in `choice`, the default first.
struct Argument {
    key: &'static str,
    value: &'static str,
    choice: &'static [&'static str],
    of: &'static [Of],
}

const BOTH: &[Of] = &[Of::Dedup, Of::Cluster];
const DEDUP: &[Of] = &[Of::Dedup];
const CLUSTER: &[Of] = &[Of::Cluster];
const MEASURES: &[&str] = &["jaccard", "containment", "weighted"];

const fn valued(key: &'static str, value: &'static str, of: &'static [Of]) -> Argument {
    Argument { key, value, choice: &[], of }
}

const fn chosen(key: &'static str, choice: &'static [&'static str], of: &'static [Of]) -> Argument {
    Argument { key, value: "", choice, of }
}

/// All arguments. The manual has a line for each.
const ARGUMENTS: &[Argument] = &[
    valued("cluster", "column", CLUSTER),
    valued("body", "column", BOTH),
    valued("similarity", "s", BOTH),
    valued("passage", "words", DEDUP),
    valued("fp", "column", BOTH),
    valued("distance", "n", BOTH),
    valued("config", "{...}", BOTH),
    chosen("method", &["simhash", "minhash"], DEDUP),
    chosen("measure", MEASURES, BOTH),
    valued("shingle", "k", BOTH),
    valued("since", "column interval", DEDUP),
    valued("scope", "column,...", BOTH),
    chosen("action", &["skip", "error", "link", "flag"], DEDUP),
    valued("link", "column", DEDUP),
    valued("flag", "column", DEDUP),
    valued("key", "column", BOTH),
    chosen("writers", &["many", "one"], DEDUP),
    chosen("settle", &["now", "later"], CLUSTER),
];

impl Argument {
    /// As the documentation writes it.
    fn shown(&self) -> String {
        let value = if self.choice.is_empty() { self.value } else { &self.choice.join("|") };
        format!("{}={value}", self.key)
    }
}

/// The arguments as they were given, in the order of [`ARGUMENTS`].
pub struct Given<'a> {
    of: Of,
    pub table: Open<'a>,
    /// "trigger "x" on table "y"", for messages.
    trigger: String,
    values: Vec<Option<&'a str>>,
}

impl<'a> Given<'a> {
    pub fn read(on: On<'a>, of: Of) -> Self {
        // SAFETY: the texts are in the server's encoding, and live as long as the trigger's call.
        let read = |text: &'a CStr| unsafe { server_to_utf8(text.to_bytes()) };
        let (name, table) = (utf8(on.name()), utf8(on.table.name()));
        let mut given = Given {
            of,
            table: on.table,
            trigger: format!("trigger \"{name}\" on table \"{table}\""),
            values: vec![None; ARGUMENTS.len()],
        };
        for argument in on.arguments() {
            given.take(read(argument));
        }
        given
    }

    fn take(&mut self, argument: &'a str) {
        let own = ARGUMENTS.iter().filter(|known| known.of.contains(&self.of));
        let own: Vec<_> = own.map(Argument::shown).collect();
        let allowed = format!("Allowed: {}.", own.join(", "));
        let Some((key, value)) = argument.split_once('=') else {
            self.raise_plainly(argument, "is not of the form key=value", &allowed)
        };
        let (key, value) = (key.trim(), value.trim());
        let is_it = |known: &Argument| known.key == key && known.of.contains(&self.of);
        let Some(place) = ARGUMENTS.iter().position(is_it) else {
            self.raise_invalid(&format!("unknown argument \"{key}\""), &allowed)
        };
        if value.is_empty() {
            self.raise_plainly(argument, "has no value", &allowed)
        }
        if self.values[place].replace(value).is_some() {
            self.raise_plainly(
                argument,
                "is specified more than once",
                "Specify each argument once.",
            )
        }
    }

    /// The value that was given for a key.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        ARGUMENTS.iter().position(|known| known.key == key).and_then(|place| self.values[place])
    }

    /// The word that was given for a key, or the default.
    pub fn choice(&self, key: &str) -> &'static str {
        let known = ARGUMENTS.iter().find(|known| known.key == key);
        let words = known.map_or(&[][..], |known| known.choice);
        let Some(given) = self.get(key) else { return words.first().copied().unwrap_or_default() };
        words.iter().copied().find(|&word| word == given).unwrap_or_else(|| {
            let what = format!("invalid value \"{given}\" for argument \"{key}\"");
            self.raise_invalid(&what, &format!("Allowed: {}.", words.join(", ")))
        })
    }

    /// The argument as it was given, for messages; the key alone if it was not given.
    fn shown(&self, key: &str) -> String {
        self.get(key).map_or_else(|| key.to_owned(), |value| format!("{key}={value}"))
    }

    /// The column that the value of a key names. Raises 42703 if there is none.
    pub fn column(&self, key: &str) -> Option<Named> {
        let value = self.get(key)?;
        Some(self.named(value).unwrap_or_else(|| {
            self.raise_no_column(key, "names a column that does not exist");
        }))
    }

    /// The columns that the value of a key lists. Raises 42703 if one does not exist.
    pub fn columns(&self, key: &str) -> Vec<Named> {
        let names = self.get(key).into_iter().flat_map(|list| list.split(',')).map(str::trim);
        names.map(|name| self.column_named(key, name)).collect()
    }

    /// The column of a name that is part of a key's value. Raises 42703 if there is none.
    pub fn column_named(&self, key: &str, name: &str) -> Named {
        self.named(name).unwrap_or_else(|| {
            self.raise_no_column(key, &format!("names column \"{name}\", which does not exist"))
        })
    }

    fn named(&self, name: &str) -> Option<Named> {
        let name = CString::new(&*utf8_to_server(name)).unwrap_or_default();
        Some(Named { column: Column::named(self.table.oid(), &name)?, name })
    }

    fn raise_no_column(&self, key: &str, what: &str) -> ! {
        self.raise_as(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            key,
            what,
            "Column names must be given as they are stored, without quotes. If the column was \
             dropped or renamed, drop the trigger and create it again.",
        )
    }

    /// Raises 22023 for a key or a word that does not exist.
    fn raise_invalid(&self, what: &str, allowed: &str) -> ! {
        let code = PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
        raise(code, format!("{what} of {}", self.trigger), allowed)
    }

    /// Raises 22023, and says what is wrong with the argument of a key.
    pub fn raise(&self, key: &str, what: &str, hint: &str) -> ! {
        self.raise_as(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, key, what, hint)
    }

    pub fn refuse_if(&self, is_wrong: bool, key: &str, what: &str, hint: &str) {
        if is_wrong {
            self.raise(key, what, hint)
        }
    }

    pub fn raise_as(&self, code: PgSqlErrorCode, key: &str, what: &str, hint: &str) -> ! {
        raise(code, format!("argument \"{}\" of {} {what}", self.shown(key), self.trigger), hint)
    }

    /// As [`raise`](Self::raise), with the argument as it is shown.
    pub fn raise_plainly(&self, argument: &str, what: &str, hint: &str) -> ! {
        let code = PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE;
        raise(code, format!("argument \"{argument}\" of {} {what}", self.trigger), hint)
    }

    /// Raises 42804 if the column that an argument names has a type that is not allowed.
    pub fn raise_type(&self, key: &str, column: &Column, allowed: &str) -> ! {
        // SAFETY: a catalogue look-up; the name is palloc'd.
        let found = utf8(unsafe { CStr::from_ptr(pg_sys::format_type_be(column.declared)) });
        self.raise_as(
            PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
            key,
            &format!("names a column of type {found}"),
            allowed,
        )
    }
}
