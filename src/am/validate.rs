//! amvalidate: whether an operator class fits this access method.

use pgrx::pg_sys;

/// amvalidate.
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn amvalidate(_operator_class: pg_sys::Oid) -> bool {
    true
}
