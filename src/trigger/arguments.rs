//! What the trigger's arguments mean, checked against the table that the trigger is on.

use std::ffi::CString;

use pgrx::pg_sys;
use simhash_core::config::{Config, Method};

use super::window::Window;
use crate::bulk::verify::Verification;
use crate::catalog::Schema;
use crate::family::arguments::{By, single_unique};
use crate::family::column::{Column, Equality, Generated, Named, type_name};
use crate::family::given::{Given, Of};
use crate::family::on::On;
use crate::family::value::fits;
use crate::family::verify::{check_known_before, verification};

/// What the trigger does with a row that duplicates another.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// The row is not inserted, or not updated.
    Skip,
    /// An ERROR with an SQLSTATE of its own.
    Error,
    /// The row is kept. Its link is set to the other row's key, its flag to true.
    Link { link: Column, flag: Option<Column> },
    /// The row is kept, its flag set to true.
    Flag(Column),
}

impl Action {
    /// The column that is set to the other row's key.
    pub fn link(&self) -> Option<Column> {
        match *self {
            Action::Link { link, .. } => Some(link),
            Action::Skip | Action::Error | Action::Flag(_) => None,
        }
    }

    /// The column that says whether the row is a duplicate.
    pub fn flag(&self) -> Option<Column> {
        match *self {
            Action::Link { flag, .. } => flag,
            Action::Flag(flag) => Some(flag),
            Action::Skip | Action::Error => None,
        }
    }
}

/// The key of a row: for links, for errors, and to choose among rows at the same distance.
#[derive(Clone, Debug)]
pub struct RowKey {
    pub column: Column,
    /// The equalities of the table's unique indexes on the column. Empty if two rows may have the
    /// same key.
    pub unique: Vec<Equality>,
}

/// The arguments of one trigger.
pub struct Arguments {
    /// The column that rows are searched by: the fingerprint, or the text.
    pub searched: Named,
    pub by: By,
    /// The columns in which duplicates have equal values.
    pub scope: Vec<Named>,
    pub body: Option<Column>,
    pub config: Config,
    pub method: Method,
    /// What makes a duplicate besides a near fingerprint.
    pub verification: Option<Verification>,
    /// The column of the texts that are compared, if any are.
    pub text: Option<Named>,
    pub window: Option<Window>,
    pub action: Action,
    pub key: Option<RowKey>,
    pub key_name: Option<CString>,
    /// Whether only one transaction at a time may write.
    pub one_writer: bool,
}

impl Arguments {
    pub fn parse(on: On<'_>, schema: Schema) -> Self {
        let given = Given::read(on, Of::Dedup);
        let similar = given.similar();
        let searched = match &similar {
            Some((body, _)) => {
                check_known_before(&given, &body.column);
                body.clone()
            }
            None => given.fingerprint(),
        };
        let by = match similar {
            Some((_, similar)) => By::Similarity(similar),
            None => {
                let width = given.width(&searched.column, schema);
                By::Distance { width, distance: given.distance(width) }
            }
        };
        let is_by_text = by.similar().is_some();
        let body = if is_by_text { None } else { given.body(&searched.column) };
        let (config, method) = if is_by_text {
            Default::default()
        } else {
            (
                given.config(body.is_some(), &searched.column),
                given.method(body.is_some(), &searched.column),
            )
        };
        let action_name = given.choice("action");
        let (key, key_name) = given.key().unzip();
        let action = given.action(action_name, key.as_ref());
        let scope = given.scope(&searched.column, &action);
        let (verification, text) = if is_by_text {
            (None, Some(searched.clone()))
        } else {
            let check = |text: &Column| check_known_before(&given, text);
            verification(&given, &config, schema, check).unzip()
        };
        Arguments {
            searched,
            by,
            scope,
            body,
            config,
            method,
            verification,
            text,
            window: Window::of(&given),
            action,
            key,
            key_name,
            one_writer: given.choice("writers") == "one",
        }
    }
}

/// The meaning of each argument, checked against the table.
impl<'a> Given<'a> {
    /// The text's column, unless the fingerprint is a generated column.
    fn body(&self, fp: &Column) -> Option<Column> {
        let body = self.text()?.column;
        if fp.generated != Generated::No {
            return None;
        }
        self.refuse_if(
            body.generated != Generated::No,
            "body",
            "names a generated column, which is computed after the trigger",
            "Name the column that the text comes from, \
                 or make the fingerprint a generated column too.",
        );
        Some(body)
    }

    /// The value of an argument that says how texts are fingerprinted.
    fn of_hashing(&self, key: &str, has_body: bool, fp: &Column) -> Option<&'a str> {
        let value = self.get(key)?;
        // The config also says how texts are cut into shingles.
        let of_shingles = key == "config" && self.get("similarity").is_some();
        if !has_body && !of_shingles {
            let (what, hint) = if fp.generated == Generated::No {
                (
                    "requires the argument \"body\"",
                    "Give the text's column as well: 'body=column'.".to_owned(),
                )
            } else {
                (
                    "cannot be used if the fingerprint is a generated column",
                    format!("Write the {key} into the column's expression."),
                )
            };
            self.raise(key, what, &hint)
        }
        Some(value)
    }

    fn method(&self, has_body: bool, fp: &Column) -> Method {
        self.of_hashing("method", has_body, fp);
        Method::from_name(self.choice("method")).unwrap_or_default()
    }

    fn config(&self, has_body: bool, fp: &Column) -> Config {
        self.of_hashing("config", has_body, fp)
            .map_or_else(Config::default, |_| self.parsed_config())
    }

    /// The column that `key=` names, or the table's primary key if that is a single column.
    fn key(&self) -> Option<(RowKey, CString)> {
        let (key, unique) = (self.key_or_primary()?, single_unique(self.table));
        // Two rows may hold the same key for a time if its constraint can be deferred.
        let own = unique
            .into_iter()
            .filter(|index| index.column == key.column.number && index.is_immediate);
        let unique = own.filter_map(|index| index.equality).collect();
        Some((RowKey { column: key.column, unique }, key.name))
    }

    /// The action of that name, with its columns.
    fn action(&self, name: &str, key: Option<&RowKey>) -> Action {
        let link = self.column("link").map(|named| named.column);
        let flag = self.column("flag").map(|named| named.column);
        let (action, flag_argument) = match (name, link, flag) {
            ("skip", None, None) => return Action::Skip,
            ("error", None, None) => return Action::Error,
            ("link", Some(link), flag) => (Action::Link { link, flag }, "flag"),
            ("flag", Some(link), Some(_)) => (Action::Link { link, flag }, "flag"),
            ("flag", None, Some(flag)) => (Action::Flag(flag), "flag"),
            // With action=flag alone, `link` names the flag's column.
            ("flag", Some(flag), None) => (Action::Flag(flag), "link"),
            ("link" | "flag", ..) => {
                let hint = format!("Give the column to set: '{name}=column'.");
                self.raise("action", &format!("requires the argument \"{name}\""), &hint)
            }
            (_, link, _) => {
                let mark = if link.is_some() { "link" } else { "flag" };
                let hint =
                    "Use action=link or action=flag, which keep the row, or omit the argument.";
                self.raise(mark, &format!("cannot be used with action={name}"), hint)
            }
        };
        if let Some(flag) = action.flag()
            && flag.base != pg_sys::BOOLOID
        {
            self.raise_type(flag_argument, &flag, "A flag's column must be of type boolean.")
        }
        if let Some(link) = action.link() {
            self.check_link(&link, key);
        }
        for (argument, column) in [("link", action.link()), (flag_argument, action.flag())] {
            self.refuse_if(
                column.is_some_and(|column| column.generated != Generated::No),
                argument,
                "names a generated column",
                "Name a column that can be set.",
            );
        }
        action
    }

    /// The columns in which duplicates have equal values.
    fn scope(&self, searched: &Column, action: &Action) -> Vec<Named> {
        self.equal_columns(|Named { column, name }| {
            if column.number == searched.number {
                self.raise_scope(name, "in which near-duplicates are searched", "Omit the column.")
            }
            let set = [action.link(), action.flag()];
            if set.iter().flatten().any(|set| set.number == column.number) {
                self.raise_scope(name, "that the trigger sets", "Omit the column.")
            }
            if column.generated != Generated::No {
                self.raise_scope(
                    name,
                    "that is generated, and so computed after the trigger",
                    "Name the columns that its expression reads, or use an ordinary column.",
                )
            }
        })
    }

    fn check_link(&self, link: &Column, key: Option<&RowKey>) {
        let Some(key) = key else {
            self.raise(
                "link",
                "requires the argument \"key\", because the table has no primary key of one column",
                "Name the column whose value is stored in the link: 'key=column'.",
            )
        };
        self.refuse_if(
            link.number == key.column.number,
            "link",
            "names the key itself",
            "Use another column, which is NULL in rows without a duplicate.",
        );
        let Column { base, modifier, .. } = key.column;
        if !fits((base, modifier), (link.base, link.modifier)) {
            let wanted = type_name(base, modifier);
            self.raise_type(
                "link",
                link,
                &format!("A link's column must be of the key's type, {wanted}."),
            )
        }
    }
}
