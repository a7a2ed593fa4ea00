//! Handles of the structures that the planner makes for a query.

use std::ptr::NonNull;

use pgrx::{PgList, pg_sys};

/// A structure of the planner.
///
/// Invariant: the structure is as PostgreSQL makes it for a query that it plans. It exists until
/// the hook or the support function returns for which the handle was made, and no handle is used
/// after that.
#[derive(Clone, Copy)]
pub struct Handle<T>(NonNull<T>);

/// A relation of the query.
pub type Rel = Handle<pg_sys::RelOptInfo>;

impl<T: Copy> Handle<T> {
    /// `None` for a null pointer.
    ///
    /// # Safety
    /// `structure` is null, or the type's invariant holds for it.
    pub unsafe fn new(structure: *mut T) -> Option<Self> {
        NonNull::new(structure).map(Handle)
    }

    pub fn as_ptr(self) -> *mut T {
        self.0.as_ptr()
    }

    /// A copy of its fields.
    pub fn read(self) -> T {
        // SAFETY: the structure exists.
        unsafe { self.0.read() }
    }
}

/// The members of a list.
///
/// # Safety
/// `list` is NIL, or a list of structures for which the invariant of [`Handle`] holds.
pub unsafe fn members<T: Copy>(list: *mut pg_sys::List) -> Vec<Handle<T>> {
    // SAFETY: the caller's list has pointers.
    let list = unsafe { PgList::<T>::from_pg(list) };
    list.iter_ptr().filter_map(NonNull::new).map(Handle).collect()
}
