//! pg_simhash: near-duplicate rows found by PostgreSQL itself.
//!
//! The crate connects PostgreSQL to two crates that do not depend on it: `simhash-core` makes and
//! compares fingerprints, `simhash-index` stores them in pages. The SQL catalogue in `sql/` is
//! written by hand and names functions by their C symbols (`<name>_wrapper`).
//!
//! The modules are rooms in layers: a room uses only the rooms below it. docs/design/map.md lists
//! them from the lowest up, with the purpose of each.

#![allow(unsafe_code, reason = "PostgreSQL is called through its C functions")]

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!("pg_simhash is for 64-bit little-endian processors: it is tested on no others");

#[cfg(feature = "pg19")]
extern crate pgrx19 as pgrx;

mod advisory;
mod am;
mod bulk;
mod call;
mod catalog;
mod claims;
mod compat;
mod encoding;
mod error;
mod family;
mod functions;
mod groups;
mod guc;
mod library;
mod memory;
mod models;
mod planner;
mod query;
mod storage;
mod trigger;
mod types;

::pgrx::pg_module_magic!(name, version);

/// Runs when a process loads the library: in the postmaster with shared_preload_libraries,
/// otherwise in each backend at its first use of the extension.
#[::pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    memory::install();
    guc::define();
    compat::reserve_settings(c"simhash");
    am::options::register();
    planner::rewrite::install();
    claims::install();
    #[cfg(not(feature = "pg14"))]
    groups::merge_command::install();
    // SAFETY: reads a global variable of this process.
    if unsafe { ::pgrx::pg_sys::process_shared_preload_libraries_in_progress } {
        // Every backend inherits the dictionary and the character tables from the postmaster.
        simhash_core::preload();
    }
}

::pgrx::extension_sql_file!("../sql/pg_simhash--0.2.0.sql", name = "catalogue", bootstrap);
