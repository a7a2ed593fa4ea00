//! pg_simhash: near-duplicate rows found by PostgreSQL itself.
//!
//! This crate is the shell: SQL types, functions, the planner's part and the index access method.
//! The algorithms are in `simhash-core`, which knows no PostgreSQL. The SQL catalogue is written by
//! hand in `sql/`; functions here are exported under the C symbols it names (`<name>_wrapper`).

mod error;
mod functions;
mod types;

::pgrx::pg_module_magic!(name, version);

::pgrx::extension_sql_file!("../sql/pg_simhash--0.1.0.sql", name = "catalogue", bootstrap);
