//! Memory contexts of a scan.

use std::ffi::CStr;

use pgrx::pg_sys;

/// A memory context for little memory, which is deleted with its parent.
///
/// # Safety
/// `parent` is a memory context.
pub unsafe fn small_context(
    parent: pg_sys::MemoryContext,
    name: &'static CStr,
) -> pg_sys::MemoryContext {
    let (name, least) = (name.as_ptr(), pg_sys::ALLOCSET_SMALL_MINSIZE as usize);
    let first = pg_sys::ALLOCSET_SMALL_INITSIZE as usize;
    let most = pg_sys::ALLOCSET_SMALL_MAXSIZE as usize;
    // SAFETY: `parent` exists, and the name is static.
    unsafe { pg_sys::AllocSetContextCreateInternal(parent, name, least, first, most) }
}
