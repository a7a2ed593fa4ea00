//! Errors in PostgreSQL's form: a SQLSTATE, a message that quotes the offending value, and a HINT.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::{Display, LowerExp};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::str::Utf8Error;

use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::{PgLogLevel, PgSqlErrorCode, function_name, pg_sys};

use crate::{encoding, memory};

/// Raises an ERROR. `message` quotes the offending value. An empty hint is omitted.
pub fn raise(code: PgSqlErrorCode, message: String, hint: &str) -> ! {
    report(PgLogLevel::ERROR, code, &message, hint);
    unreachable!("report(ERROR) does not return")
}

/// Makes room for `more` values. Raises 53200 if the allocation fails.
pub fn reserve<T>(values: &mut Vec<T>, more: usize) {
    if values.capacity() - values.len() < more && values.try_reserve(more).is_err() {
        raise_no_memory((values.len() + more).saturating_mul(size_of::<T>()), "");
    }
}

/// Raises 53200 for a request of `bytes` bytes.
pub fn raise_no_memory(bytes: usize, hint: &str) -> ! {
    let code = PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY;
    raise(code, format!("out of memory: a request for {bytes} bytes failed"), hint)
}

/// Emits a WARNING.
pub fn warn(message: &str, hint: &str) {
    report(PgLogLevel::WARNING, PgSqlErrorCode::ERRCODE_WARNING, message, hint);
}

/// Emits a NOTICE.
pub fn notice(message: &str, hint: &str) {
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    report(PgLogLevel::NOTICE, code, message, hint);
}

/// Returns the result of `work`. If it raises an ERROR, `line` is appended to the DETAIL.
pub fn with_detail<T>(line: impl FnOnce() -> String, work: impl FnOnce() -> T) -> T {
    let cause = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(answer) => return answer,
        Err(cause) => cause,
    };
    let caught = match cause.downcast::<CaughtError>().map(|cause| *cause) {
        Ok(CaughtError::PostgresError(caught) | CaughtError::ErrorReport(caught)) => caught,
        Ok(other) => resume_unwind(Box::new(other)),
        Err(cause) => resume_unwind(cause),
    };
    let before = caught.detail().map(|detail| format!("{detail}\n")).unwrap_or_default();
    let message = sendable(caught.message());
    let report = ErrorReport::new(caught.sql_error_code(), message, function_name!());
    let report = report.set_detail(sendable(&clipped(&(before + &line()))));
    let report = match caught.hint() {
        Some(hint) => report.set_hint(sendable(hint)),
        None => report,
    };
    resume_unwind(Box::new(report))
}

/// Returns the result of `work`. An ERROR with this code that PostgreSQL raises meanwhile gets
/// `hint` in place of its own HINT. The ERROR is otherwise unchanged: it stays in the server's
/// encoding, in which `hint` must be, too.
pub fn with_hint<T>(code: PgSqlErrorCode, hint: &CStr, work: impl FnOnce() -> T) -> T {
    struct Hint<'a> {
        code: PgSqlErrorCode,
        text: &'a CStr,
    }
    /// Restores the callback stack when dropped, also while an ERROR unwinds.
    struct Until(*mut pg_sys::ErrorContextCallback);
    impl Drop for Until {
        fn drop(&mut self) {
            // SAFETY: restores the stack as it was before the callback was pushed.
            unsafe { pg_sys::error_context_stack = self.0 };
        }
    }
    // pgrx does not bind it, because it is variadic.
    unsafe extern "C-unwind" {
        fn errhint(format: *const c_char, ...) -> c_int;
    }
    /// PostgreSQL calls it while it assembles an error report.
    unsafe extern "C-unwind" fn add(hint: *mut c_void) {
        // SAFETY: the argument is a `Hint` that outlives the callback.
        unsafe {
            let hint = &*hint.cast::<Hint<'_>>();
            if pg_sys::geterrcode() == hint.code as i32 {
                errhint(c"%s".as_ptr(), hint.text.as_ptr());
            }
        }
    }
    let hint = Hint { code, text: hint };
    // SAFETY: the callback and its argument stay alive on this stack until `until` restores
    // PostgreSQL's.
    unsafe {
        let until = Until(pg_sys::error_context_stack);
        let mut callback = pg_sys::ErrorContextCallback {
            previous: until.0,
            callback: Some(add),
            arg: (&raw const hint).cast_mut().cast(),
        };
        pg_sys::error_context_stack = &mut callback;
        let answer = work();
        drop(until);
        answer
    }
}

fn report(level: PgLogLevel, code: PgSqlErrorCode, message: &str, hint: &str) {
    let report = ErrorReport::new(code, sendable(&clipped(message)), function_name!());
    let report = if hint.is_empty() { report } else { report.set_hint(sendable(&clipped(hint))) };
    match level {
        // As `report` does for an ERROR, but without the panic hook: the report already has its
        // location.
        PgLogLevel::ERROR => resume_unwind(Box::new(report)),
        level => report.report(level),
    }
}

/// Cuts the middle out of a message that quotes a long value. The start and the end stay: messages
/// say what is wrong with the value after quoting it.
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

/// A name or value of PostgreSQL's, in the database's encoding, converted for a message.
pub fn shown(text: &CStr) -> Cow<'_, str> {
    memory::prepare();
    if encoding::converts_nothing() {
        // Checking the whole text first is much faster than the check that also replaces invalid
        // bytes.
        return text.to_str().map_or_else(|_| text.to_string_lossy(), Cow::Borrowed);
    }
    // SAFETY: the result borrows `text` or memory of the current context, and the message copies it
    // before either ends.
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

/// A message that PostgreSQL can send. pgrx passes UTF-8, which PostgreSQL assumes to be in the
/// database's encoding. In a database with another encoding, characters beyond ASCII are therefore
/// written as escapes, as in E'...' strings.
fn sendable(text: &str) -> String {
    if text.is_ascii() || encoding::converts_nothing() {
        return text.to_owned();
    }
    text.chars().map(|c| if c.is_ascii() { c.to_string() } else { encoding::escaped(c) }).collect()
}
