//! Settings in effect during part of a call.

use std::ffi::CStr;

use pgrx::pg_sys;

/// Calls `run` with other settings. If it raises an ERROR, the abort of the (sub)transaction
/// restores them.
pub fn with_settings<T>(settings: &[(&CStr, &CStr)], run: impl FnOnce() -> T) -> T {
    use pg_sys::GucAction::GUC_ACTION_SAVE as SAVE;
    use pg_sys::GucContext::PGC_USERSET as USER;
    use pg_sys::GucSource::PGC_S_SESSION as SESSION;
    // SAFETY: this function or the transaction's abort ends the nest level.
    let level = unsafe { pg_sys::NewGUCNestLevel() };
    for (name, value) in settings {
        let (name, value) = (name.as_ptr(), value.as_ptr());
        // SAFETY: PostgreSQL copies the value.
        unsafe { pg_sys::set_config_option(name, value, USER, SESSION, SAVE, true, 0, false) };
    }
    let result = run();
    // SAFETY: the level was begun above.
    unsafe { pg_sys::AtEOXact_GUC(false, level) };
    result
}
