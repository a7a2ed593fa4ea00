//! Sets a function that is called when an allocation fails. Without it the process ends.
//!
//! The standard library's hook for that is not stable yet. Only this crate uses it, so that
//! unstable features are allowed in no other crate of the workspace.

#![cfg_attr(has_alloc_error_hook, feature(alloc_error_hook))]

use std::alloc::Layout;

/// Whether [`set_hook`] has an effect: not on a compiler without the hook, where a failed
/// allocation aborts.
pub const AVAILABLE: bool = cfg!(has_alloc_error_hook);

/// Sets the function that is called when an allocation that cannot report failure is refused, in
/// this library's copy of the standard library. The hook may unwind. If it returns, the process
/// aborts.
pub fn set_hook(hook: fn(Layout)) {
    #[cfg(has_alloc_error_hook)]
    std::alloc::set_alloc_error_hook(hook);
    #[cfg(not(has_alloc_error_hook))]
    let _ = hook;
}
