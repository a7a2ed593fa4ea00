//! Settings for a part of a call.

use std::ffi::CStr;

use pgrx::pg_sys;

/// Runs something with other settings. An ERROR restores them when its (sub)transaction aborts.
pub fn with_settings<T>(settings: &[(&CStr, &CStr)], run: impl FnOnce() -> T) -> T {
    // SAFETY: the level of settings is ended, here or by the abort of the transaction; values are
    // copied.
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
