//! The ERROR of action=error: SQLSTATE 23S01, which no other error has, with schema, table and
//! trigger in its fields.

use std::ffi::{CStr, CString, c_char, c_int};

use pgrx::pg_sys;

use super::arguments::Arguments;
use super::event::Event;
use super::search::Duplicate;
use crate::family::arguments::By;
use crate::family::column::utf8;
use crate::family::rights;
use crate::family::serving::Similar;
use crate::types::text::utf8_to_server;

/// "23S01" as elog.h packs it: six bits a character, the first lowest.
const SQLSTATE: c_int = pack(b"23S01");
const fn pack(code: &[u8; 5]) -> c_int {
    let mut packed = 0;
    let mut i = 0;
    while i < 5 {
        packed |= (((code[i] - b'0') & 0x3f) as c_int) << (6 * i);
        i += 1;
    }
    packed
}

// utils/elog.h. pgrx's reports cannot have such codes and fields.
unsafe extern "C-unwind" {
    fn errstart(level: c_int, domain: *const c_char) -> bool;
    fn errcode(code: c_int) -> c_int;
    fn errmsg_internal(format: *const c_char, ...) -> c_int;
    fn errdetail_internal(format: *const c_char, ...) -> c_int;
    fn err_generic_string(field: c_int, text: *const c_char) -> c_int;
    fn errfinish(file: *const c_char, line: c_int, function: *const c_char);
}

// postgres_ext.h
const PG_DIAG_SCHEMA_NAME: c_int = b's' as c_int;
const PG_DIAG_TABLE_NAME: c_int = b't' as c_int;
const PG_DIAG_CONSTRAINT_NAME: c_int = b'n' as c_int;

/// What the ERROR says: palloc'd strings in the server's encoding.
#[derive(Clone, Copy)]
pub struct Violation {
    pub message: *const c_char,
    pub detail: *const c_char,
    pub schema: *const c_char,
    pub table: *const c_char,
    pub trigger: *const c_char,
}

/// A palloc'd copy.
fn lasting(text: &CStr) -> *const c_char {
    // SAFETY: copies a NUL-terminated string.
    unsafe { pg_sys::pstrdup(text.as_ptr()) }
}

impl Violation {
    pub fn new(event: &Event<'_>, arguments: &Arguments, found: &Duplicate) -> Self {
        let (table, trigger) = (event.on.table, event.on.name());
        let message = format!(
            "near-duplicate row violates trigger \"{}\" on table \"{}\"",
            utf8(trigger),
            utf8(table.name())
        );
        let own =
            |text: String| lasting(&CString::new(&*utf8_to_server(&text)).unwrap_or_default());
        Violation {
            message: own(message),
            detail: own(detail(arguments, found)),
            // SAFETY: a catalogue look-up; the name is palloc'd.
            schema: unsafe { pg_sys::get_namespace_name(table.form().relnamespace) },
            table: lasting(table.name()),
            trigger: lasting(trigger),
        }
    }

    /// Raises the ERROR.
    ///
    /// # Safety
    /// Leaves by longjmp: nothing that has a destructor may be alive between here and PostgreSQL.
    pub unsafe fn raise(self) -> ! {
        // SAFETY: the sequence of elog.h's ereport; at level ERROR errfinish does not return.
        unsafe {
            errstart(pgrx::PgLogLevel::ERROR as c_int, std::ptr::null());
            errcode(SQLSTATE);
            errmsg_internal(c"%s".as_ptr(), self.message);
            errdetail_internal(c"%s".as_ptr(), self.detail);
            err_generic_string(PG_DIAG_SCHEMA_NAME, self.schema);
            err_generic_string(PG_DIAG_TABLE_NAME, self.table);
            err_generic_string(PG_DIAG_CONSTRAINT_NAME, self.trigger);
            errfinish(c"violation.rs".as_ptr(), line!() as c_int, c"simhash_dedup".as_ptr());
        }
        unreachable!("errfinish returned from an ERROR")
    }
}

/// Describes the duplicate. Names its key only if the current role may read it.
fn detail(arguments: &Arguments, found: &Duplicate) -> String {
    let distance = match (found.similarity, &arguments.by, &arguments.verification) {
        (share, By::Similarity(Similar { words: Some(words), .. }), _) => format!(
            "a near-duplicate: passages of at least {words} words cover {:.0} % of the new row's \
             words",
            100.0 * share.unwrap_or(0.0)
        ),
        (Some(similarity), By::Similarity(least), _) => {
            format!("at similarity {similarity:.3}; the minimum is {}", least.similarity)
        }
        (Some(similarity), By::Distance { distance, .. }, Some(verification)) => format!(
            "at distance {} with similarity {similarity:.3}; the limits are {distance} and {}",
            found.distance,
            verification.similarity.least()
        ),
        (_, By::Distance { distance, .. }, _) => {
            format!("at distance {}; the limit is {distance}", found.distance)
        }
        (None, By::Similarity(_), _) => "a near-duplicate".to_owned(),
    };
    let scope = same_scope(arguments);
    let with = if scope.is_empty() { String::new() } else { format!(" with {scope}") };
    let unnamed = format!("Another row{with} is {distance}.");
    let (Some(key), Some(name), Some(value)) = (&arguments.key, &arguments.key_name, found.key)
    else {
        return unnamed;
    };
    // SAFETY: `GetUserId` reads the session's state.
    let user = unsafe { pg_sys::GetUserId() };
    if !rights::may_read(found.place.table, name, user) {
        return unnamed;
    }
    let (name, value) = (utf8(name), utf8(key.column.show(value)));
    let and = if scope.is_empty() { scope } else { format!(" and {scope}") };
    format!("The row with {name} = {value}{and} is {distance}.")
}

/// What both rows have in common; empty without a scope.
fn same_scope(arguments: &Arguments) -> String {
    let names: Vec<_> = arguments.scope.iter().map(|scope| utf8(&scope.name)).collect();
    if names.is_empty() { String::new() } else { format!("the same {}", names.join(", ")) }
}
