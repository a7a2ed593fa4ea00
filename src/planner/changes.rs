//! Counts changes of the catalogues: a remembered look-up is valid while its counts stay the same.

use std::sync::atomic::{AtomicU64, Ordering};

use pgrx::pg_sys;

/// Changes of functions, operators, operator classes and access methods.
static OBJECTS: AtomicU64 = AtomicU64::new(0);
/// Changes of indexes.
static INDEXES: AtomicU64 = AtomicU64::new(0);
/// Changes of tables, columns and indexes.
static RELATIONS: AtomicU64 = AtomicU64::new(0);

unsafe extern "C-unwind" fn note_object(_: pg_sys::Datum, _cache: i32, _hash: u32) {
    OBJECTS.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C-unwind" fn note_index(_: pg_sys::Datum, _cache: i32, _hash: u32) {
    INDEXES.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "C-unwind" fn note_relation(_: pg_sys::Datum, _relation: pg_sys::Oid) {
    RELATIONS.fetch_add(1, Ordering::Relaxed);
}

/// The number of changes since the first call that may concern the extension's objects.
pub fn of_objects() -> u64 {
    count(&OBJECTS)
}

/// The number of changes since the first call that may concern indexes.
pub fn of_indexes() -> u64 {
    count(&INDEXES)
}

/// The number of changes since the first call that may concern tables, with their columns, parents
/// and children.
pub fn of_relations() -> u64 {
    count(&RELATIONS)
}

fn count(changes: &AtomicU64) -> u64 {
    use pg_sys::SysCacheIdentifier::{AMOID, CLAOID, INDEXRELID, OPEROID, PROCOID};
    thread_local! {
        // SAFETY: the callbacks only count, and they live as long as the process.
        static WATCHED: () = unsafe {
            for cache in [PROCOID, OPEROID, CLAOID, AMOID] {
                let none = pg_sys::Datum::null();
                pg_sys::CacheRegisterSyscacheCallback(cache as i32, Some(note_object), none);
            }
            let none = pg_sys::Datum::null();
            pg_sys::CacheRegisterSyscacheCallback(INDEXRELID as i32, Some(note_index), none);
            pg_sys::CacheRegisterRelcacheCallback(Some(note_relation), none);
        };
    }
    WATCHED.with(|()| ());
    changes.load(Ordering::Relaxed)
}
