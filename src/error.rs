//! Errors as PostgreSQL reports them: a SQLSTATE, the offending value, a hint that helps.

use std::borrow::Cow;
use std::ffi::CStr;
use std::fmt::{Display, LowerExp};
use std::str::Utf8Error;

use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode, function_name};

use crate::{encoding, memory};

/// Raises an ERROR. The message quotes the value that was wrong. An empty hint is left out.
pub fn raise(code: PgSqlErrorCode, message: String, hint: &str) -> ! {
    report(PgLogLevel::ERROR, code, &message, hint);
    unreachable!("report(ERROR) does not return")
}

/// Makes room for `more` values. Raises 53200 where there is no memory.
pub fn reserve<T>(values: &mut Vec<T>, more: usize) {
    if values.capacity() - values.len() < more && values.try_reserve(more).is_err() {
        raise_no_memory((values.len() + more).saturating_mul(size_of::<T>()), "");
    }
}

/// Raises 53200.
pub fn raise_no_memory(bytes: usize, hint: &str) -> ! {
    let code = PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY;
    raise(code, format!("out of memory: a request for {bytes} bytes failed"), hint)
}

/// Gives a WARNING.
pub fn warn(message: &str, hint: &str) {
    report(PgLogLevel::WARNING, PgSqlErrorCode::ERRCODE_WARNING, message, hint);
}

/// Gives a NOTICE.
pub fn notice(message: &str, hint: &str) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    report(PgLogLevel::NOTICE, code, message, hint);
}

/// Raises an ERROR that was caught again, with a detail.
pub fn raise_again(code: PgSqlErrorCode, message: &str, detail: &str, hint: &str) -> ! {
    let report = ErrorReport::new(code, sendable(message), function_name!());
    let report = report.set_detail(sendable(&clipped(detail)));
    let report = if hint.is_empty() { report } else { report.set_hint(sendable(hint)) };
    std::panic::resume_unwind(Box::new(report))
}

fn report(level: PgLogLevel, code: PgSqlErrorCode, message: &str, hint: &str) {
    let report = ErrorReport::new(code, sendable(&clipped(message)), function_name!());
    let report = if hint.is_empty() { report } else { report.set_hint(sendable(&clipped(hint))) };
    match level {
        // As report does it, but without the panic hook: the report knows its place.
        PgLogLevel::ERROR => std::panic::resume_unwind(Box::new(report)),
        level => report.report(level),
    }
}

/// A message without the middle of a long value that it quotes. What it says of the value stands at
/// its end.
fn clipped(message: &str) -> Cow<'_, str> {
    const LONGEST: usize = 2000;
    const END: usize = 400;
    if message.len() <= LONGEST {
        return Cow::Borrowed(message);
    }
    let boundary = |from: usize| {
        (from..message.len()).find(|&at| message.is_char_boundary(at)).unwrap_or(message.len())
    };
    let (start, end) = (boundary(LONGEST - END), boundary(message.len() - END));
    Cow::Owned(format!("{} [... {} bytes ...] {}", &message[..start], end - start, &message[end..]))
}

/// Raises "invalid input syntax for type ..." (22P02), as PostgreSQL's own types do.
pub fn raise_invalid_text(type_name: &str, value: &str, hint: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {type_name}: \"{value}\""),
        hint,
    )
}

/// Raises "invalid byte sequence for encoding ..." (22021), as PostgreSQL does.
pub fn raise_not_utf8(error: Utf8Error) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_CHARACTER_NOT_IN_REPERTOIRE,
        format!("invalid byte sequence for encoding \"UTF8\" at byte {}", error.valid_up_to()),
        "",
    )
}

/// A name or value from PostgreSQL, in the database's encoding, for a message.
pub fn shown(text: &CStr) -> Cow<'_, str> {
    memory::prepare();
    if encoding::converts_nothing() {
        // One check of the whole is much faster than a check that also replaces what is wrong.
        return text.to_str().map_or_else(|_| text.to_string_lossy(), Cow::Borrowed);
    }
    // SAFETY: what is converted outlives the message that quotes it.
    let converted = unsafe { encoding::from_server(text.to_bytes()) };
    Cow::Borrowed(converted.unwrap_or_else(|error| raise_not_utf8(error)))
}

/// A number as PostgreSQL writes it.
pub fn shown_number(number: impl Into<f64> + Copy + Display + LowerExp) -> String {
    match number.into() {
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        wide if wide != 0.0 && !(1e-5..1e15).contains(&wide.abs()) => format!("{number:e}"),
        _ => number.to_string(),
    }
}

/// A message that PostgreSQL can send. pgrx hands messages over in UTF-8, and PostgreSQL takes them
/// to be in the database's encoding. So in a database of another encoding, characters beyond ASCII
/// are written as in E'...' strings.
fn sendable(text: &str) -> String {
    if text.is_ascii() || encoding::converts_nothing() {
        return text.to_owned();
    }
    text.chars().map(|c| if c.is_ascii() { c.to_string() } else { encoding::escaped(c) }).collect()
}
