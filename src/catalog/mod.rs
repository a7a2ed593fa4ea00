//! Look-ups in PostgreSQL's catalogues, with one function for each question.

pub mod cache;
pub mod inheritance;
pub mod members;
pub mod names;
pub mod relations;
pub mod rights;
pub mod scan;
mod schema;

pub use schema::Schema;
