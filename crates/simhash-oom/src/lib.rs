//! Calls a function when an allocation fails, instead of ending the process.
//!
//! The standard library has a hook for that, which is not stable yet; this crate holds the one use of it, so
//! that nothing else in the workspace may use what is unstable.

#![cfg_attr(has_alloc_error_hook, feature(alloc_error_hook))]

use std::alloc::Layout;

/// Whether [`set_hook`] has an effect: not on a compiler without the hook, where a failed allocation aborts.
pub const AVAILABLE: bool = cfg!(has_alloc_error_hook);

/// Has `hook` called wherever memory that code cannot do without is refused, in this library's copy of the
/// standard library. It may unwind; if it returns, the process aborts.
pub fn set_hook(hook: fn(Layout)) {
    #[cfg(has_alloc_error_hook)]
    std::alloc::set_alloc_error_hook(hook);
    #[cfg(not(has_alloc_error_hook))]
    let _ = hook;
}
