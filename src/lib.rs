//! pg_simhash: near-duplicate rows found by PostgreSQL itself.
//!
//! This crate is the shell: SQL types, functions, the planner's part and the index access method.
//! The algorithms are in `simhash-core`, which knows no PostgreSQL. The SQL catalogue is written by
//! hand in `sql/`; functions here are exported under the C symbols it names (`<name>_wrapper`).

mod am;
mod compat;
mod dedup;
mod error;
mod functions;
mod guc;
mod memory;
mod models;
mod planner;
mod storage;
mod types;

::pgrx::pg_module_magic!(name, version);

/// Runs when a process loads the library: the postmaster with shared_preload_libraries, else a backend
/// at its first use of anything here.
#[::pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    memory::install();
    guc::define();
    am::register_options();
    planner::rewrite::install();
    // SAFETY: reads a flag of the process.
    if unsafe { ::pgrx::pg_sys::process_shared_preload_libraries_in_progress } {
        // Every backend inherits the dictionary and the character tables from the postmaster.
        simhash_core::preload();
    }
}

::pgrx::extension_sql_file!("../sql/pg_simhash--0.1.0.sql", name = "catalogue", bootstrap);
