//! The trigger's arguments as they are written, 'key=value' each, and errors that quote them.

use std::ffi::{CStr, CString};

use pgrx::{PgSqlErrorCode, pg_sys};

use super::column::{Column, Named};
use crate::error::raise;
use crate::types::text::{server_to_utf8, utf8_to_server};

/// The arguments as they were given, in the order of the keys that are allowed, and whose they are.
pub struct Given<'a> {
    keys: &'static [&'static str],
    relation: pg_sys::Oid,
    /// "trigger "x" on table "y"", for messages.
    trigger: String,
    values: Vec<Option<&'a str>>,
}

impl<'a> Given<'a> {
    /// # Safety
    /// `relation` is the open table that the trigger is on.
    pub unsafe fn read(
        relation: pg_sys::Relation,
        trigger: &'a pg_sys::Trigger,
        keys: &'static [&'static str],
    ) -> Self {
        // SAFETY: tgargs has tgnargs strings. They and the names are NUL-terminated, in the
        // server's encoding.
        unsafe {
            let utf8 =
                |text: *const std::ffi::c_char| server_to_utf8(CStr::from_ptr(text).to_bytes());
            let (name, table) = (utf8(trigger.tgname), &(*(*relation).rd_rel).relname);
            let mut given = Given {
                keys,
                relation: (*relation).rd_id,
                trigger: format!("trigger \"{name}\" on table \"{}\"", utf8(table.data.as_ptr())),
                values: vec![None; keys.len()],
            };
            for i in 0..trigger.tgnargs as usize {
                given.take(utf8(*trigger.tgargs.add(i)));
            }
            given
        }
    }

    fn take(&mut self, argument: &'a str) {
        let allowed = format!("Allowed are 'key=value' with the keys {}.", self.keys.join(", "));
        let Some((key, value)) = argument.split_once('=') else {
            self.raise(argument, "is not of the form key=value", &allowed)
        };
        let (key, value) = (key.trim(), value.trim());
        let Some(place) = self.keys.iter().position(|&known| known == key) else {
            self.raise(argument, "is not known", &allowed)
        };
        if value.is_empty() {
            self.raise(argument, "has no value", &allowed)
        }
        if self.values[place].replace(value).is_some() {
            self.raise(argument, "is given twice", "Give each key once.")
        }
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.keys.iter().position(|&known| known == key).and_then(|place| self.values[place])
    }

    /// The argument as it was given, for messages.
    pub fn shown(&self, key: &str) -> String {
        self.get(key).map_or_else(|| key.to_owned(), |value| format!("{key}={value}"))
    }

    /// The column that the value of a key names, and its name. Raises 42703 if there is none.
    pub fn column(&self, key: &str) -> Option<Named> {
        let value = self.get(key)?;
        Some(self.named(value).unwrap_or_else(|| {
            self.raise_no_column(key, "names no column of the table");
        }))
    }

    /// The columns that the value of a key lists, each with its name. Raises 42703 if there is
    /// none.
    pub fn columns(&self, key: &str) -> Vec<Named> {
        let names = self.get(key).into_iter().flat_map(|list| list.split(',')).map(str::trim);
        names.map(|name| self.column_named(key, name)).collect()
    }

    /// The column of a name that is part of the value of a key. Raises 42703 if there is none.
    pub fn column_named(&self, key: &str, name: &str) -> Named {
        self.named(name).unwrap_or_else(|| {
            self.raise_no_column(key, &format!("names \"{name}\", which is no column of the table"))
        })
    }

    fn named(&self, name: &str) -> Option<Named> {
        let name = CString::new(&*utf8_to_server(name)).unwrap_or_default();
        Some(Named { column: Column::named(self.relation, &name)?, name })
    }

    fn raise_no_column(&self, key: &str, what: &str) -> ! {
        self.raise_as(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            &self.shown(key),
            what,
            "Column names are written as they are stored, without quotes.",
        )
    }

    /// Raises 22023: what is wrong with an argument.
    pub fn raise(&self, argument: &str, what: &str, hint: &str) -> ! {
        self.raise_as(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, argument, what, hint)
    }

    pub fn raise_as(&self, code: PgSqlErrorCode, argument: &str, what: &str, hint: &str) -> ! {
        raise(code, format!("argument \"{argument}\" of {} {what}", self.trigger), hint)
    }

    /// Raises 42804: the column that an argument names is of another type than allowed.
    pub fn raise_type(&self, key: &str, column: &Column, allowed: &str) -> ! {
        // SAFETY: a type's name, palloc'd, in the server's encoding.
        let found = unsafe {
            server_to_utf8(CStr::from_ptr(pg_sys::format_type_be(column.declared)).to_bytes())
        };
        self.raise_as(
            PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
            &self.shown(key),
            &format!("names a column of type {found}"),
            allowed,
        )
    }
}
