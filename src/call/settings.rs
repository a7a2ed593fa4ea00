//! Settings in effect during part of a call.

use std::ffi::CStr;

use pgrx::pg_sys;

/// Calls `run` with other settings. If it raises an ERROR, the abort of the (sub)transaction
/// restores them.
pub fn with_settings<T>(settings: &[(&CStr, &CStr)], run: impl FnOnce() -> T) -> T {
    // SAFETY: this function or the transaction's abort ends the nest level. Values are copied.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        for (name, value) in settings {
            pg_sys::set_config_option(
                name.as_ptr(),
                value.as_ptr(),
                pg_sys::GucContext::PGC_USERSET,
                pg_sys::GucSource::PGC_S_SESSION,
                pg_sys::GucAction::GUC_ACTION_SAVE,
                true,
                0,
                false,
            );
        }
        let result = run();
        pg_sys::AtEOXact_GUC(false, level);
        result
    }
}
