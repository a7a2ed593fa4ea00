//! What the trigger's arguments mean, checked against the table that the trigger is on.

use std::ffi::{CStr, CString};

use pgrx::{PgList, PgRelation, PgSqlErrorCode, pg_sys};
use simhash_core::config::{Config, ConfigError, Method};

use super::column::{Column, Equality, Generated, widen};
use super::given::{Given, KEYS};
use super::verify::{Verification, check_known_before};
use super::window::Window;
use crate::catalog::Schema;
use crate::types::Width;
use crate::types::text::server_to_utf8;

/// What happens to a row that duplicates another.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// The row is not inserted; an update does not happen.
    Skip,
    /// An ERROR of its own SQLSTATE.
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

/// The key of a row, for links, for errors and to choose among rows at the same distance.
#[derive(Clone, Debug)]
pub struct RowKey {
    pub column: Column,
    /// The equalities of the table's unique indexes on the column. Empty if two rows may have the
    /// same key.
    pub unique: Vec<Equality>,
}

/// A column in which duplicates have equal values.
#[derive(Clone, Debug)]
pub struct ScopeColumn {
    pub column: Column,
    pub name: CString,
}

/// The most columns that a scope may have.
pub const MOST_SCOPE: usize = 8;

/// The arguments of one trigger.
pub struct Arguments {
    pub fp: Column,
    pub fp_name: CString,
    pub scope: Vec<ScopeColumn>,
    pub width: Width,
    pub body: Option<Column>,
    pub config: Config,
    pub method: Method,
    pub distance: u32,
    /// What more than a near fingerprint makes a duplicate.
    pub verification: Option<Verification>,
    pub window: Option<Window>,
    pub action: Action,
    pub key: Option<RowKey>,
    pub key_name: Option<CString>,
}

impl Arguments {
    /// # Safety
    /// `relation` is the open table that the trigger is on.
    pub unsafe fn parse(
        relation: pg_sys::Relation,
        trigger: &pg_sys::Trigger,
        schema: Schema,
    ) -> Self {
        // SAFETY: the trigger's arguments and names live as long as its description.
        let given = unsafe { Given::read(relation, trigger, KEYS) };
        let (fp, fp_name) = given.column("fp").unwrap_or_else(|| {
            given.raise("fp", "is missing", "Give the fingerprint's column: 'fp=column'.")
        });
        let width = given.width(&fp, schema);
        let body = given.body(&fp);
        let config = given.config(body.is_some(), &fp);
        let method = given.method(body.is_some(), &fp);
        let action_name = given.action_name();
        // SAFETY: as this function's.
        let (key, key_name) = unsafe { given.key(relation) }.unzip();
        let action = given.action(action_name, key.as_ref());
        let scope = given.scope(&fp, &action);
        let verification =
            Verification::of(&given, &config, |text| check_known_before(&given, text));
        Arguments {
            fp,
            fp_name,
            scope,
            width,
            body,
            config,
            method,
            distance: given.distance(width),
            verification,
            window: Window::of(&given),
            action,
            key,
            key_name,
        }
    }
}

/// What the arguments mean, each checked against the table.
impl<'a> Given<'a> {
    /// The width of the fingerprints in a column.
    pub fn width(&self, fp: &Column, schema: Schema) -> Width {
        if fp.generated == Generated::Virtual {
            self.raise(
                "fp",
                "names a virtual generated column",
                "Make the column STORED, so that it can be indexed.",
            )
        }
        Width::of_type(fp.base, schema).unwrap_or_else(|| {
            self.raise_type(
                "fp",
                fp,
                "A fingerprint's column is of type fingerprint64, fingerprint128, fingerprint256 \
                 or bigint.",
            )
        })
    }

    /// The text's column.
    pub fn text(&self) -> Option<(Column, CString)> {
        let (body, name) = self.column("body")?;
        // SAFETY: a catalogue look-up.
        if !unsafe { pg_sys::IsBinaryCoercible(body.base, pg_sys::TEXTOID) } {
            self.raise_type(
                "body",
                &body,
                "A body's column is of type text or varchar. \
                 For anything else let fp be a generated column, or compute it before.",
            )
        }
        Some((body, name))
    }

    /// The text's column, unless the fingerprint's column computes itself.
    fn body(&self, fp: &Column) -> Option<Column> {
        let (body, _) = self.text()?;
        if fp.generated != Generated::No {
            return None;
        }
        if body.generated != Generated::No {
            self.raise(
                &self.shown("body"),
                "names a generated column, which PostgreSQL computes after the trigger",
                "Name the column that the text comes from, \
                 or make the fingerprint a generated column too.",
            )
        }
        Some(body)
    }

    /// The value of an argument that says how texts are fingerprinted.
    fn of_hashing(&self, key: &str, has_body: bool, fp: &Column) -> Option<&'a str> {
        let value = self.get(key)?;
        // Texts are cut into shingles by the config too.
        let of_shingles = key == "config" && self.get("similarity").is_some();
        if !has_body && !of_shingles {
            let (what, hint) = if fp.generated == Generated::No {
                (
                    "serves nothing without a body",
                    "Give the text's column as well: 'body=column'.".to_owned(),
                )
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
            self.raise(
                &self.shown("method"),
                "is not known",
                &format!("Allowed: {}.", Method::names()),
            )
        })
    }

    fn config(&self, has_body: bool, fp: &Column) -> Config {
        self.of_hashing("config", has_body, fp)
            .map_or_else(Config::default, |_| self.parsed_config())
    }

    /// The config as it was given, or the default one.
    pub fn parsed_config(&self) -> Config {
        let Some(json) = self.get("config") else { return Config::default() };
        Config::parse(json).unwrap_or_else(|ConfigError { message, hint, .. }| {
            self.raise(&self.shown("config"), &format!("is not a simhash_config: {message}"), &hint)
        })
    }

    /// The distance of near-duplicates.
    pub fn distance(&self, width: Width) -> u32 {
        let Some(value) = self.get("distance") else { return width.near() };
        let bits = width.bits();
        value.parse().ok().filter(|&distance| distance <= bits).unwrap_or_else(|| {
            self.raise_as(
                PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
                &self.shown("distance"),
                &format!("is no distance between fingerprints of {bits} bits"),
                &format!("Allowed: 0 to {bits}."),
            )
        })
    }

    fn action_name(&self) -> &'a str {
        let name = self.get("action").unwrap_or("skip");
        if !["skip", "error", "link", "flag"].contains(&name) {
            self.raise(&self.shown("action"), "is not known", "Allowed: skip, error, link, flag.")
        }
        name
    }

    /// The column named by `key=`, or the table's primary key if that is a single column.
    unsafe fn key(&self, relation: pg_sys::Relation) -> Option<(RowKey, CString)> {
        // SAFETY: an open table.
        let unique = unsafe { single_unique_columns(relation) };
        let (column, name) = self.column("key").or_else(|| {
            let primary = unique.iter().find(|index| index.is_primary && index.column > 0)?;
            // SAFETY: a column of the open table; the name is palloc'd.
            unsafe {
                let table = (*relation).rd_id;
                let name = CStr::from_ptr(pg_sys::get_attname(table, primary.column, false));
                Some((Column::named(table, name)?, name.to_owned()))
            }
        })?;
        let own = unique.into_iter().filter(|index| index.column == column.number);
        let unique = own.filter_map(|index| index.equality).collect();
        Some((RowKey { column, unique }, name))
    }

    /// The action of that name, with its columns.
    fn action(&self, name: &str, key: Option<&RowKey>) -> Action {
        let link = self.column("link").map(|(column, _)| column);
        let flag = self.column("flag").map(|(column, _)| column);
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
                self.raise(&self.shown("action"), &format!("needs the argument \"{name}\""), &hint)
            }
            (_, link, _) => {
                let mark = if link.is_some() { "link" } else { "flag" };
                let hint =
                    "Use action=link or action=flag, which keep the row, or leave the column out.";
                self.raise(&self.shown(mark), &format!("serves nothing with action={name}"), hint)
            }
        };
        if let Some(flag) = action.flag()
            && flag.base != pg_sys::BOOLOID
        {
            self.raise_type(flag_argument, &flag, "A flag is a column of type boolean.")
        }
        if let Some(link) = action.link() {
            self.check_link(&link, key);
        }
        for (argument, column) in [("link", action.link()), (flag_argument, action.flag())] {
            if column.is_some_and(|column| column.generated != Generated::No) {
                self.raise(
                    &self.shown(argument),
                    "names a generated column",
                    "Name a column that can be set.",
                )
            }
        }
        action
    }

    /// The columns in which duplicates have equal values.
    fn scope(&self, fp: &Column, action: &Action) -> Vec<ScopeColumn> {
        let given = self.columns("scope");
        if given.len() > MOST_SCOPE {
            self.raise_as(
                PgSqlErrorCode::ERRCODE_TOO_MANY_COLUMNS,
                &self.shown("scope"),
                &format!("names {} columns", given.len()),
                &format!("At most {MOST_SCOPE} columns are compared by equality."),
            )
        }
        let mut scope: Vec<ScopeColumn> = Vec::new();
        for (column, name) in given {
            self.check_scope_column(&column, &name, fp, action);
            if scope.iter().any(|other| other.column.number == column.number) {
                self.raise_scope(&name, "twice", "Name each column once.")
            }
            scope.push(ScopeColumn { column, name });
        }
        scope
    }

    fn check_scope_column(&self, column: &Column, name: &CStr, fp: &Column, action: &Action) {
        if column.number == fp.number {
            self.raise_scope(
                name,
                "that holds the fingerprint",
                "Fingerprints are compared by their distance: leave the column out.",
            )
        }
        let is = |other: Option<Column>| other.is_some_and(|other| other.number == column.number);
        if is(action.link()) || is(action.flag()) {
            self.raise_scope(name, "that the trigger sets", "Leave the column out.")
        }
        if column.generated != Generated::No {
            self.raise_scope(
                name,
                "that is generated, which PostgreSQL does after the trigger",
                "Name the columns that its expression reads, or set an ordinary column instead.",
            )
        }
        if column.equality() == pg_sys::InvalidOid {
            self.raise_type(
                "scope",
                column,
                "The type needs an operator class for B-trees or hashing, whose equality counts.",
            )
        }
    }

    /// Raises 22023: what is wrong with a column of the scope.
    fn raise_scope(&self, name: &CStr, what: &str, hint: &str) -> ! {
        // SAFETY: a column's name, in the server's encoding.
        let name = unsafe { server_to_utf8(name.to_bytes()) };
        self.raise(&self.shown("scope"), &format!("names a column {what}: \"{name}\""), hint)
    }

    fn check_link(&self, link: &Column, key: Option<&RowKey>) {
        let Some(key) = key else {
            self.raise(
                &self.shown("link"),
                "needs a key, and the table has no primary key of one column",
                "Name the column whose value the link shall hold: 'key=column'.",
            )
        };
        if link.number == key.column.number {
            self.raise(
                &self.shown("link"),
                "names the key itself",
                "Give the link a column of its own, which is NULL in rows that duplicate none.",
            )
        }
        let Column { base, modifier, .. } = key.column;
        let holds = link.base == base && (link.modifier == modifier || link.modifier < 0);
        if !holds && widen(base, link.base, pg_sys::Datum::null()).is_none() {
            // SAFETY: as in raise_type.
            let wanted = unsafe {
                server_to_utf8(
                    CStr::from_ptr(pg_sys::format_type_with_typemod(base, modifier)).to_bytes(),
                )
            };
            self.raise_type("link", link, &format!("A link is of the key's type, {wanted}."))
        }
    }
}

/// A unique index on a single column.
pub struct UniqueIndex {
    pub is_primary: bool,
    /// Not positive for an expression.
    pub column: pg_sys::AttrNumber,
    /// Whether it is checked at once, not by a constraint that can be deferred.
    pub is_immediate: bool,
    pub equality: Option<Equality>,
}

/// The table's unique indexes of a single column that hold every row.
///
/// # Safety
/// The table is open.
pub unsafe fn single_unique_columns(relation: pg_sys::Relation) -> Vec<UniqueIndex> {
    // SAFETY: an open table; its indexes are locked while they are looked at.
    unsafe {
        let indexes = PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(relation));
        let unique = indexes.iter_oid().filter_map(|oid| {
            let index = PgRelation::with_lock(oid, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
            let form = index.rd_index;
            let is_whole = pg_sys::heap_attisnull(
                index.rd_indextuple,
                pg_sys::Anum_pg_index_indpred as i32,
                std::ptr::null_mut(),
            );
            let is_valid = (*form).indisunique && (*form).indisvalid && is_whole;
            (is_valid && (*form).indnkeyatts == 1).then(|| UniqueIndex {
                is_primary: (*form).indisprimary,
                column: *(*form).indkey.values.as_ptr(),
                is_immediate: (*form).indimmediate,
                equality: Equality::of(index.as_ptr()),
            })
        });
        unique.collect()
    }
}
