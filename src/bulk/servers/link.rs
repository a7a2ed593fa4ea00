//! Runs statements where a part is: on another server, through dblink and the servers and user
//! mappings of postgres_fdw; or here.
//!
//! A connection runs one statement at a time, in a transaction of its own, with PostgreSQL's own
//! schema as search_path. Connections are closed with the call, even after an ERROR, so that no
//! other code of the session can use them.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pgrx::{FromDatum, PgSqlErrorCode, pg_sys};

use crate::call::with_settings;
use crate::error::{raise, with_detail};
use crate::query::{Column, Row, for_each_row_of_statement, is_text};

thread_local! {
    /// The number of the session's last connection.
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// A length of names, in bytes, that dblink does not cut.
const MAX_NAME: usize = 60;

/// The connections of a call.
pub struct Call {
    /// The schema of dblink, quoted.
    dblink: String,
    /// The C function dblink_disconnect, which closes one.
    disconnect: *mut c_void,
    open: RefCell<Vec<String>>,
}

impl Drop for Call {
    fn drop(&mut self) {
        self.end();
    }
}

impl Call {
    /// Raises 0A000 without dblink.
    pub fn begin() -> Self {
        let mut dblink = None;
        let schema = "SELECT pg_catalog.quote_ident(n.nspname::text) AS schema \
                      FROM pg_catalog.pg_extension e \
                      JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace \
                      WHERE e.extname = 'dblink'";
        texts_of(schema, &["schema"], &mut |row| dblink = row.into_iter().next().flatten());
        let Some(dblink) = dblink else {
            raise(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "cannot compare rows on other servers: extension \"dblink\" is not installed"
                    .into(),
                "Run CREATE EXTENSION dblink on this server.",
            )
        };
        let (library, name) = (c"$libdir/dblink", c"dblink_disconnect");
        let (library, name, handle) = (library.as_ptr(), name.as_ptr(), std::ptr::null_mut());
        // SAFETY: the names are C strings; a missing function is an ERROR.
        let disconnect = unsafe { pg_sys::load_external_function(library, name, true, handle) };
        Self { dblink, disconnect, open: RefCell::new(Vec::new()) }
    }

    /// A connection to a foreign server, by the caller's user mapping.
    pub fn connect(&self, server: &str) -> Link {
        let number = LAST.get().wrapping_add(1);
        LAST.set(number);
        // Errors show this name, which dblink must not cut.
        let connection: String = format!("pg_simhash {number} {server}");
        let end = (0..=MAX_NAME).rev().find(|&end| connection.is_char_boundary(end));
        let connection = connection.get(..end.unwrap_or(0)).unwrap_or(&connection).to_owned();
        let connect = format!(
            "SELECT {}.dblink_connect({}, {}) AS done",
            self.dblink,
            literal(&connection),
            literal(server)
        );
        // Noted before it is open: a cancel may arrive after dblink has opened it.
        self.open.borrow_mut().push(connection.clone());
        let (dblink, server) = (self.dblink.clone(), server.to_owned());
        let place = Place { connection, dblink, server };
        place.named(|| {
            texts_of(&connect, &["done"], &mut |_| ());
            // Waiting for a lock that this transaction holds there, through postgres_fdw, would be
            // a deadlock that no server detects.
            let settings = "SET search_path = pg_catalog; SET lock_timeout = 60000";
            let set = format!(
                "SELECT {}.dblink_exec({}, {}) AS done",
                self.dblink,
                literal(&place.connection),
                literal(settings)
            );
            texts_of(&set, &["done"], &mut |_| ());
        });
        Link { place: Some(place), sent: None }
    }

    /// Closes the connections. It looks nothing up in catalogues, so it works after an ERROR, too.
    /// For a connection that was never opened, dblink raises an ERROR, which is ignored.
    pub fn end(&self) {
        for connection in self.open.take() {
            let close = || {
                // SAFETY: a C function of SQL.
                let function: pg_sys::PGFunction = unsafe { std::mem::transmute(self.disconnect) };
                let (start, length) = (connection.as_ptr().cast(), connection.len() as i32);
                // SAFETY: the name has so many bytes, which are copied.
                let name = unsafe { pg_sys::cstring_to_text_with_len(start, length) }.into();
                // SAFETY: the function is dblink_disconnect, which takes a text and looks it up in
                // a table of its own.
                unsafe { pg_sys::DirectFunctionCall1Coll(function, pg_sys::InvalidOid, name) };
            };
            drop(catch_unwind(AssertUnwindSafe(close)));
        }
    }
}

struct Place {
    connection: String,
    dblink: String,
    server: String,
}

impl Place {
    /// Calls `ask`. An ERROR gets the server's name as its detail, because pgrx passes on no
    /// context.
    fn named<T>(&self, ask: impl FnOnce() -> T) -> T {
        with_detail(|| format!("The server is \"{}\".", self.server), ask)
    }
}

/// The connection to a part.
pub struct Link {
    /// `None` for this server.
    place: Option<Place>,
    /// A statement that was sent, and whose result was not received. On this server it has not
    /// begun.
    sent: Option<String>,
}

impl Link {
    pub fn here() -> Self {
        Self { place: None, sent: None }
    }

    /// Runs a query of columns of type text, and returns its rows.
    pub fn ask(&mut self, query: &str, columns: &[&str]) -> Vec<Vec<Option<String>>> {
        let mut rows = Vec::new();
        let query = match &self.place {
            None => query.to_owned(),
            Some(Place { connection, dblink, .. }) => format!(
                "SELECT * FROM {dblink}.dblink({}, {}) AS asked({} text)",
                literal(connection),
                literal(query),
                columns.join(" text, ")
            ),
        };
        let mut ask = || texts_of(&query, columns, &mut |row| rows.push(row));
        match &self.place {
            None => ask(),
            Some(place) => place.named(ask),
        }
        rows
    }

    /// Sends a query for messages: a column `message` of type bytea. The answer to the one sent
    /// before must have been received.
    pub fn send(&mut self, query: String) {
        if let Some(Place { connection, dblink, .. }) = &self.place {
            // Base 64 is shorter than the hexadecimal digits of a bytea in text form.
            let query = format!(
                "SELECT pg_catalog.encode(message, 'base64') AS message FROM ({query}) AS sent"
            );
            let send = format!(
                "SELECT {dblink}.dblink_send_query({}, {})::text AS sent",
                literal(connection),
                literal(&query)
            );
            let mut was_sent = false;
            texts_of(&send, &["sent"], &mut |row| {
                was_sent = matches!(row.first(), Some(Some(sent)) if sent == "1");
            });
            if !was_sent {
                raise(
                    PgSqlErrorCode::ERRCODE_CONNECTION_FAILURE,
                    format!("connection \"{connection}\" was lost"),
                    "Repeat the call: it has changed nothing.",
                )
            }
        }
        self.sent = Some(query);
    }

    /// Calls `each` with the messages that answer the query sent, if there is one.
    pub fn receive(&mut self, each: &mut dyn FnMut(&[u8])) {
        let Some(query) = self.sent.take() else { return };
        let Some(place) = &self.place else { return messages_of(&query, each) };
        let Place { connection, dblink, .. } = place;
        let receive = format!(
            "SELECT pg_catalog.decode(message, 'base64') AS message \
             FROM {dblink}.dblink_get_result({}) AS received(message text)",
            literal(connection)
        );
        place.named(|| {
            messages_of(&receive, each);
            // dblink has to be read until it returns no result, before it can send again.
            messages_of(&receive, &mut |_| ());
        });
    }
}

/// Runs a query of columns of type text, here.
fn texts_of(query: &str, names: &[&str], each: &mut dyn FnMut(Vec<Option<String>>)) {
    let columns: Vec<Column<'_>> =
        names.iter().map(|name| Column { name, types: "text", accepts: &is_text }).collect();
    in_catalog(query, &columns, &mut |row| {
        let value = |column| row.text(column).map(|text| text.as_str().to_owned());
        each((0..names.len()).map(value).collect());
    });
}

fn messages_of(query: &str, each: &mut dyn FnMut(&[u8])) {
    let accepts = &|oid| oid == pg_sys::BYTEAOID;
    let columns = [Column { name: "message", types: "bytea", accepts }];
    in_catalog(query, &columns, &mut |row| {
        // SAFETY: the column is of type bytea; the bytes live as long as the row.
        let message = row.datum(0).and_then(|datum| unsafe { <&[u8]>::from_datum(datum, false) });
        if let Some(message) = message {
            each(message);
        }
    });
}

/// Runs a query here, with PostgreSQL's own schema as search_path.
fn in_catalog(query: &str, columns: &[Column<'_>], each: &mut dyn FnMut(&Row<'_>)) {
    with_settings(&[(c"search_path", c"pg_catalog")], || {
        for_each_row_of_statement(query, columns, each);
    });
}

/// A text as a literal of SQL, whatever standard_conforming_strings says.
pub fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    match quoted.contains('\\') {
        true => format!(" E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
}

/// Bytes as an expression of SQL.
pub fn bytes_literal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut literal = String::with_capacity(2 * bytes.len() + 16);
    literal.push_str("decode('");
    for byte in bytes {
        literal.push(char::from(DIGITS[usize::from(byte >> 4)]));
        literal.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    literal.push_str("', 'hex')");
    literal
}
