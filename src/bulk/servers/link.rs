//! Statements that run where a part is: on another server, through dblink and the servers and user
//! mappings of postgres_fdw; or here.
//!
//! A connection has one statement at a time, in a transaction of its own. So a call that ends by an
//! error, or early, leaves no transaction behind, but its connections: the next call of the session
//! closes them.

use std::cell::RefCell;

use pgrx::{FromDatum, PgSqlErrorCode, pg_sys};

use crate::error::raise;
use crate::query::{Column, Row, for_each_row, is_text};

/// What names of connections begin with.
const PREFIX: &str = "pg_simhash";

thread_local! {
    /// The numbers of the session's calls that go on, and that of the last one.
    static CALLS: RefCell<(Vec<u32>, u32)> = const { RefCell::new((Vec::new(), 0)) };
}

/// A call, whose connections are its own.
pub struct Call {
    number: u32,
    /// The schema of dblink, quoted.
    dblink: String,
}

impl Drop for Call {
    fn drop(&mut self) {
        CALLS.with_borrow_mut(|(alive, _)| alive.retain(|&number| number != self.number));
    }
}

impl Call {
    /// Closes what earlier calls have left open. Raises 0A000 without dblink.
    pub fn begin() -> Self {
        let mut dblink = None;
        let schema = "SELECT quote_ident(n.nspname) AS schema FROM pg_catalog.pg_extension e \
                      JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace \
                      WHERE e.extname = 'dblink'";
        texts_of(schema, &["schema"], &mut |row| dblink = row.into_iter().next().flatten());
        let Some(dblink) = dblink else {
            raise(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                "rows on other servers are compared through dblink, which is not installed".into(),
                "CREATE EXTENSION dblink; on the server that you ask.",
            )
        };
        let number = CALLS.with_borrow_mut(|(alive, last)| {
            *last = last.wrapping_add(1);
            alive.push(*last);
            *last
        });
        let call = Self { number, dblink };
        call.close_dead();
        call
    }

    /// The connections of calls that do not go on.
    fn close_dead(&self) {
        let mut dead = Vec::new();
        let open = format!(
            "SELECT name FROM unnest({}.dblink_get_connections()) AS name \
             WHERE name LIKE '{PREFIX} %'",
            self.dblink
        );
        texts_of(&open, &["name"], &mut |row| dead.extend(row.into_iter().flatten()));
        dead.retain(|name| {
            let number = name.split(' ').nth(1).and_then(|number| number.parse().ok());
            number.is_some_and(|number| CALLS.with_borrow(|(alive, _)| !alive.contains(&number)))
        });
        dead.iter().for_each(|name| self.close(name));
    }

    fn close(&self, connection: &str) {
        let close =
            format!("SELECT {}.dblink_disconnect({}) AS done", self.dblink, literal(connection));
        texts_of(&close, &["done"], &mut |_| ());
    }

    /// A connection to a foreign server, by the caller's user mapping.
    pub fn connect(&self, server: &str) -> Link {
        let connection = format!("{PREFIX} {} {server}", self.number);
        let connect = format!(
            "SELECT {}.dblink_connect({}, {}) AS done",
            self.dblink,
            literal(&connection),
            // As dblink looks names up, they are not folded.
            literal(server)
        );
        texts_of(&connect, &["done"], &mut |_| ());
        Link { place: Some(Place { connection, dblink: self.dblink.clone() }), sent: None }
    }

    /// Closes connections, after the last statement.
    pub fn end<'a>(&self, links: impl Iterator<Item = &'a mut Link>) {
        for link in links {
            link.receive(&mut |_| ());
            if let Some(place) = &link.place {
                self.close(&place.connection);
            }
        }
    }
}

struct Place {
    connection: String,
    dblink: String,
}

/// The way to a part.
pub struct Link {
    /// `None`: here.
    place: Option<Place>,
    /// A statement that was sent, and whose result was not received. Here it did not begin.
    sent: Option<String>,
}

impl Link {
    pub fn here() -> Self {
        Self { place: None, sent: None }
    }

    /// What a query of columns of type text yields.
    pub fn ask(&mut self, query: &str, columns: &[&str]) -> Vec<Vec<Option<String>>> {
        let mut rows = Vec::new();
        let query = match &self.place {
            None => query.to_owned(),
            Some(Place { connection, dblink }) => format!(
                "SELECT * FROM {dblink}.dblink({}, {}) AS asked({} text)",
                literal(connection),
                literal(query),
                columns.join(" text, ")
            ),
        };
        texts_of(&query, columns, &mut |row| rows.push(row));
        rows
    }

    /// Sends a query for messages: a column `message` of type bytea. What was sent before has been
    /// received.
    pub fn send(&mut self, query: String) {
        if let Some(Place { connection, dblink }) = &self.place {
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
                    "The call can be repeated: nothing was changed.",
                )
            }
        }
        self.sent = Some(query);
    }

    /// Hands the messages to `each` that answer what was sent, if something was.
    pub fn receive(&mut self, each: &mut dyn FnMut(&[u8])) {
        let Some(query) = self.sent.take() else { return };
        let Some(Place { connection, dblink }) = &self.place else {
            return messages_of(&query, each);
        };
        let receive = format!(
            "SELECT message FROM {dblink}.dblink_get_result({}) AS received(message bytea)",
            literal(connection)
        );
        messages_of(&receive, each);
        // dblink wants to be asked until there is nothing, before it sends again.
        messages_of(&receive, &mut |_| ());
    }
}

/// Runs a query of columns of type text, here.
fn texts_of(query: &str, names: &[&str], each: &mut dyn FnMut(Vec<Option<String>>)) {
    let columns: Vec<Column<'_>> =
        names.iter().map(|name| Column { name, types: "text", accepts: &is_text }).collect();
    for_each_row(query, &columns, &mut |row: &Row<'_>| {
        let value = |column| row.text(column).map(|text| text.as_str().to_owned());
        each((0..names.len()).map(value).collect());
    });
}

fn messages_of(query: &str, each: &mut dyn FnMut(&[u8])) {
    let accepts = &|oid| oid == pg_sys::BYTEAOID;
    let columns = [Column { name: "message", types: "bytea", accepts }];
    for_each_row(query, &columns, &mut |row: &Row<'_>| {
        // SAFETY: the column is of type bytea; the bytes live as long as the row.
        let message = row.datum(0).and_then(|datum| unsafe { <&[u8]>::from_datum(datum, false) });
        if let Some(message) = message {
            each(message);
        }
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

/// Bytes as a literal.
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
