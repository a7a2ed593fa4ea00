//! The arguments of `simhash_dedup`, 'key=value' each, checked against the table that the trigger is on.

use std::ffi::{CStr, CString};

use pgrx::{PgList, PgRelation, PgSqlErrorCode, pg_sys};
use simhash_core::config::{Config, ConfigError, Method};

use super::column::{Column, Equality, Generated};
use crate::error::raise;
use crate::functions::distance::{NEAR_64, NEAR_128};
use crate::models::Schema;
use crate::types::text::{server_to_utf8, utf8_to_server};

/// What happens to a row that duplicates another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The row is not inserted; an update does not happen.
    Skip,
    /// An ERROR of its own SQLSTATE.
    Error,
    /// The row is kept, its link column set to the other row's key, its flag column to true.
    Mark,
}

/// The key of a row, for links, for errors and to choose among rows at the same distance.
#[derive(Clone, Debug)]
pub struct Key {
    pub column: Column,
    /// By which no two rows of the table have the same; none if they may.
    pub unique: Vec<Equality>,
}

pub struct Arguments {
    pub fp: Column,
    pub fp_name: CString,
    pub bits: u32,
    pub body: Option<Column>,
    pub config: Config,
    pub method: Method,
    pub distance: u32,
    pub action: Action,
    pub link: Option<Column>,
    pub flag: Option<Column>,
    pub key: Option<Key>,
    pub key_name: Option<CString>,
}

const KEYS: [&str; 9] = ["body", "fp", "distance", "action", "link", "flag", "key", "config", "method"];

/// The arguments as they were given, in the order of [`KEYS`], and whose they are.
struct Given<'a> {
    relation: pg_sys::Oid,
    /// "trigger "x" on table "y"", for messages.
    trigger: String,
    values: [Option<&'a str>; KEYS.len()],
}

impl Arguments {
    /// # Safety
    /// `relation` is the open table that the trigger is on.
    pub unsafe fn parse(relation: pg_sys::Relation, trigger: &pg_sys::Trigger, schema: Schema) -> Self {
        // SAFETY: the trigger's arguments and names live as long as its description.
        let given = unsafe { Given::read(relation, trigger) };
        let (fp, fp_name) = given.column("fp").unwrap_or_else(|| {
            given.raise("fp", "is missing", "Give the fingerprint's column: 'fp=column'.")
        });
        let bits = given.fingerprint_bits(&fp, schema);
        let body = given.body(&fp);
        let config = given.config(body.is_some(), &fp);
        let method = given.method(body.is_some(), &fp);
        let action = given.action();
        // SAFETY: as this function's.
        let (key, key_name) = unsafe { given.key(relation) }.unzip();
        let (link, flag) = given.marks(&action, key.as_ref());
        Arguments {
            fp,
            fp_name,
            bits,
            body,
            config,
            method,
            distance: given.distance(bits),
            action: action.1,
            link,
            flag,
            key,
            key_name,
        }
    }
}

impl<'a> Given<'a> {
    unsafe fn read(relation: pg_sys::Relation, trigger: &'a pg_sys::Trigger) -> Self {
        // SAFETY: tgargs has tgnargs strings; names are NUL-terminated and, as identifiers, in the server's encoding.
        unsafe {
            let utf8 = |text: *const std::ffi::c_char| server_to_utf8(CStr::from_ptr(text).to_bytes());
            let name = (*(*relation).rd_rel).relname.data.as_ptr();
            let mut given = Given {
                relation: (*relation).rd_id,
                trigger: format!("trigger \"{}\" on table \"{}\"", utf8(trigger.tgname), utf8(name)),
                values: [None; KEYS.len()],
            };
            for i in 0..trigger.tgnargs as usize {
                given.take(utf8(*trigger.tgargs.add(i)));
            }
            given
        }
    }

    fn take(&mut self, argument: &'a str) {
        let allowed = format!("Allowed are 'key=value' with the keys {}.", KEYS.join(", "));
        let Some((key, value)) = argument.split_once('=') else {
            self.raise(argument, "is not of the form key=value", &allowed)
        };
        let (key, value) = (key.trim(), value.trim());
        let Some(place) = KEYS.iter().position(|&known| known == key) else {
            self.raise(argument, "is not known", &allowed)
        };
        if value.is_empty() {
            self.raise(argument, "has no value", &allowed)
        }
        if self.values[place].replace(value).is_some() {
            self.raise(argument, "is given twice", "Give each key once.")
        }
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        KEYS.iter().position(|&known| known == key).and_then(|place| self.values[place])
    }

    /// The argument as it was given, for messages.
    fn shown(&self, key: &str) -> String {
        self.get(key).map_or_else(|| key.to_owned(), |value| format!("{key}={value}"))
    }

    fn raise(&self, argument: &str, what: &str, hint: &str) -> ! {
        self.raise_as(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, argument, what, hint)
    }

    fn raise_as(&self, code: PgSqlErrorCode, argument: &str, what: &str, hint: &str) -> ! {
        raise(code, format!("argument \"{argument}\" of {} {what}", self.trigger), hint)
    }

    fn column(&self, key: &str) -> Option<(Column, CString)> {
        let value = self.get(key)?;
        let name = CString::new(&*utf8_to_server(value)).unwrap_or_default();
        let column = Column::named(self.relation, &name).unwrap_or_else(|| {
            self.raise_as(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                &self.shown(key),
                "names no column of the table",
                "Column names are written as they are stored, without quotes.",
            )
        });
        Some((column, name))
    }

    fn raise_type(&self, key: &str, column: &Column, allowed: &str) -> ! {
        // SAFETY: a type's name, palloc'd, in the server's encoding.
        let found =
            unsafe { server_to_utf8(CStr::from_ptr(pg_sys::format_type_be(column.declared)).to_bytes()) };
        self.raise_as(
            PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
            &self.shown(key),
            &format!("names a column of type {found}"),
            allowed,
        )
    }

    fn fingerprint_bits(&self, fp: &Column, schema: Schema) -> u32 {
        if fp.generated == Generated::Virtual {
            self.raise(
                "fp",
                "names a virtual generated column",
                "Make the column STORED, so that it can be indexed.",
            )
        }
        let is = |name: &CStr| schema.type_named(name) == Some(fp.base);
        if fp.base == pg_sys::INT8OID || is(c"fingerprint64") {
            64
        } else if is(c"fingerprint128") {
            128
        } else {
            self.raise_type(
                "fp",
                fp,
                "A fingerprint's column is of type fingerprint64, fingerprint128 or bigint.",
            )
        }
    }

    fn body(&self, fp: &Column) -> Option<Column> {
        let (body, _) = self.column("body")?;
        // SAFETY: a catalogue look-up.
        if !unsafe { pg_sys::IsBinaryCoercible(body.base, pg_sys::TEXTOID) } {
            self.raise_type(
                "body",
                &body,
                "A body's column is of type text or varchar. For anything else let fp be a generated column, or compute it before.",
            )
        }
        if fp.generated != Generated::No {
            // It computes itself.
            return None;
        }
        if body.generated != Generated::No {
            self.raise(
                &self.shown("body"),
                "names a generated column, which PostgreSQL computes after the trigger",
                "Name the column that the text comes from, or make the fingerprint a generated column too.",
            )
        }
        Some(body)
    }

    /// The value of an argument that says how a text is fingerprinted.
    fn of_hashing(&self, key: &str, has_body: bool, fp: &Column) -> Option<&'a str> {
        let value = self.get(key)?;
        if !has_body {
            let (what, hint) = if fp.generated == Generated::No {
                ("serves nothing without a body", "Give the text's column as well: 'body=column'.".to_owned())
            } else {
                (
                    "serves nothing, for the fingerprint is a generated column",
                    format!("Write the {key} into the column's expression."),
                )
            };
            self.raise(&self.shown(key), what, &hint)
        }
        Some(value)
    }

    fn method(&self, has_body: bool, fp: &Column) -> Method {
        let Some(name) = self.of_hashing("method", has_body, fp) else { return Method::default() };
        Method::from_name(name).unwrap_or_else(|| {
            self.raise(&self.shown("method"), "is not known", &format!("Allowed: {}.", Method::names()))
        })
    }

    fn config(&self, has_body: bool, fp: &Column) -> Config {
        let Some(json) = self.of_hashing("config", has_body, fp) else { return Config::default() };
        Config::parse(json).unwrap_or_else(|ConfigError { message, hint, .. }| {
            self.raise(&self.shown("config"), &format!("is not a simhash_config: {message}"), &hint)
        })
    }

    fn distance(&self, bits: u32) -> u32 {
        let Some(value) = self.get("distance") else {
            return if bits == 64 { NEAR_64 } else { NEAR_128 };
        };
        value.parse().ok().filter(|&distance| distance <= bits).unwrap_or_else(|| {
            self.raise_as(
                PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                &self.shown("distance"),
                &format!("is no distance between fingerprints of {bits} bits"),
                &format!("Allowed: 0 to {bits}."),
            )
        })
    }

    /// The action's name and meaning.
    fn action(&self) -> (&'a str, Action) {
        let name = self.get("action").unwrap_or("skip");
        let action = match name {
            "skip" => Action::Skip,
            "error" => Action::Error,
            "link" | "flag" => Action::Mark,
            _ => self.raise(&self.shown("action"), "is not known", "Allowed: skip, error, link, flag."),
        };
        (name, action)
    }

    /// The column named by `key=`, or the table's primary key if that is a single column.
    unsafe fn key(&self, relation: pg_sys::Relation) -> Option<(Key, CString)> {
        // SAFETY: an open table; its indexes are locked while they are looked at.
        unsafe {
            let indexes = PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(relation));
            let single_keys: Vec<(bool, pg_sys::AttrNumber, Option<Equality>)> = indexes
                .iter_oid()
                .filter_map(|oid| {
                    let index = PgRelation::with_lock(oid, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
                    let form = index.rd_index;
                    let whole = pg_sys::heap_attisnull(
                        index.rd_indextuple,
                        pg_sys::Anum_pg_index_indpred as i32,
                        std::ptr::null_mut(),
                    );
                    ((*form).indisunique && (*form).indisvalid && (*form).indnkeyatts == 1 && whole).then(
                        || {
                            let number = *(*form).indkey.values.as_ptr();
                            ((*form).indisprimary, number, Equality::of(index.as_ptr()))
                        },
                    )
                })
                .collect();
            let (column, name) = self.column("key").or_else(|| {
                let primary = single_keys.iter().find(|&&(primary, number, _)| primary && number > 0)?;
                let name = CStr::from_ptr(pg_sys::get_attname(self.relation, primary.1, false)).to_owned();
                Some((Column::named(self.relation, &name)?, name))
            })?;
            let own = single_keys.into_iter().filter(|&(_, number, _)| number == column.number);
            let unique = own.filter_map(|(_, _, equality)| equality).collect();
            Some((Key { column, unique }, name))
        }
    }

    /// The link and the flag column.
    fn marks(&self, action: &(&str, Action), key: Option<&Key>) -> (Option<Column>, Option<Column>) {
        let (name, action) = *action;
        let mut link = self.column("link").map(|(column, _)| column);
        let mut flag = self.column("flag").map(|(column, _)| column);
        if action != Action::Mark {
            if let Some(mark) = ["link", "flag"].into_iter().find(|mark| self.get(mark).is_some()) {
                let hint = "Use action=link or action=flag, which keep the row, or leave the column out.";
                self.raise(&self.shown(mark), &format!("serves nothing with action={name}"), hint)
            }
            return (None, None);
        }
        let mut flag_argument = "flag";
        if name == "flag" && flag.is_none() {
            (flag, link, flag_argument) = (link, None, "link");
        }
        let marks = if name == "link" { &link } else { &flag };
        if marks.is_none() {
            let hint = format!("Give the column to set: '{name}=column'.");
            self.raise(&self.shown("action"), &format!("needs the argument \"{name}\""), &hint)
        }
        if let Some(flag) = &flag
            && flag.base != pg_sys::BOOLOID
        {
            self.raise_type(flag_argument, flag, "A flag is a column of type boolean.")
        }
        if let Some(link) = &link {
            self.check_link(link, key);
        }
        for (argument, column) in [("link", &link), (flag_argument, &flag)] {
            if column.is_some_and(|column| column.generated != Generated::No) {
                self.raise(
                    &self.shown(argument),
                    "names a generated column",
                    "Name a column that can be set.",
                )
            }
        }
        (link, flag)
    }

    fn check_link(&self, link: &Column, key: Option<&Key>) {
        let Some(key) = key else {
            self.raise(
                &self.shown("link"),
                "needs a key, and the table has no primary key of one column",
                "Name the column whose value the link shall hold: 'key=column'.",
            )
        };
        let Column { base, modifier, .. } = key.column;
        let holds = link.base == base && (link.modifier == modifier || link.modifier < 0);
        if !holds && widen(base, link.base, pg_sys::Datum::null()).is_none() {
            // SAFETY: as in raise_type.
            let wanted = unsafe {
                server_to_utf8(CStr::from_ptr(pg_sys::format_type_with_typemod(base, modifier)).to_bytes())
            };
            self.raise_type("link", link, &format!("A link is of the key's type, {wanted}."))
        }
    }
}

/// A value of one integer type as one of a wider type; `None` for other types.
pub fn widen(from: pg_sys::Oid, to: pg_sys::Oid, value: pg_sys::Datum) -> Option<pg_sys::Datum> {
    match (from, to) {
        (pg_sys::INT2OID, pg_sys::INT4OID) => Some(i32::from(value.value() as i16).into()),
        (pg_sys::INT2OID, pg_sys::INT8OID) => Some(i64::from(value.value() as i16).into()),
        (pg_sys::INT4OID, pg_sys::INT8OID) => Some(i64::from(value.value() as i32).into()),
        _ => None,
    }
}
