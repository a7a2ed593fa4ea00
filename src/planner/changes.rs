//! Counts of changes in the catalogues. What was looked up is good as long as its counts stand.

use std::sync::atomic::{AtomicU64, Ordering};

use pgrx::pg_sys;

/// Of functions, operators, operator classes and access methods.
static OBJECTS: AtomicU64 = AtomicU64::new(0);
/// Of indexes.
static INDEXES: AtomicU64 = AtomicU64::new(0);
/// Of tables, columns and indexes.
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

/// How many changes there were, from the first question on, that may concern the extension's
/// objects.
pub fn of_objects() -> u64 {
    count(&OBJECTS)
}

/// How many that may concern its indexes.
pub fn of_indexes() -> u64 {
    count(&INDEXES)
}

/// How many that may concern tables, their columns and what is above and below them.
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
