//! Counts changes in the catalogue, so that what was looked up there is known to be current.

use std::cell::Cell;

use pgrx::{pg_guard, pg_sys};

thread_local! {
    /// Counts changes of relations, and of roles: a link depends on a role's privileges.
    static CHANGES: Cell<u64> = const { Cell::new(0) };
    static LISTENING: Cell<bool> = const { Cell::new(false) };
}

#[pg_guard]
unsafe extern "C-unwind" fn role_changed(_argument: pg_sys::Datum, _cache: i32, _hash: u32) {
    CHANGES.set(CHANGES.get().wrapping_add(1));
}

#[pg_guard]
unsafe extern "C-unwind" fn relation_changed(_argument: pg_sys::Datum, _relation: pg_sys::Oid) {
    CHANGES.set(CHANGES.get().wrapping_add(1));
}

/// How many changes of relations and roles this session has been notified of.
pub fn changes() -> u64 {
    listen();
    CHANGES.get()
}

/// Registers the callbacks, once in a session.
fn listen() {
    if !LISTENING.replace(true) {
        use pg_sys::SysCacheIdentifier::{AUTHMEMROLEMEM, AUTHOID};
        // SAFETY: callbacks are registered once in a backend.
        unsafe {
            pg_sys::CacheRegisterRelcacheCallback(Some(relation_changed), pg_sys::Datum::null());
            for cache in [AUTHMEMROLEMEM, AUTHOID] {
                pg_sys::CacheRegisterSyscacheCallback(
                    cache as i32,
                    Some(role_changed),
                    pg_sys::Datum::null(),
                );
            }
        }
    }
}
