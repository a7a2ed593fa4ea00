//! Calls a function when an allocation fails. Without it the process ends.
//!
//! The standard library has a hook for that, which is not stable yet. This crate has the only use
//! of it, so that no other crate of the workspace may use what is unstable.

#![cfg_attr(has_alloc_error_hook, feature(alloc_error_hook))]

use std::alloc::Layout;

/// Whether [`set_hook`] has an effect: not on a compiler without the hook, where a failed
/// allocation aborts.
pub const AVAILABLE: bool = cfg!(has_alloc_error_hook);

/// Has `hook` called where memory is refused that code cannot do without, in this library's copy of
/// the standard library. The hook may unwind. If it returns, the process aborts.
pub fn set_hook(hook: fn(Layout)) {
    #[cfg(has_alloc_error_hook)]
    std::alloc::set_alloc_error_hook(hook);
    #[cfg(not(has_alloc_error_hook))]
    let _ = hook;
}
