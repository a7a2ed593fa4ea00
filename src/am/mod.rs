//! The index access method `simhash`: the functions that PostgreSQL calls. The trees themselves,
//! and how any number of backends read and write them, are in the crate `simhash-index`.
//!
//! Where things are: [`handler`] (what the access method can do), [`options`], [`kind`] and
//! [`keys`] (columns, and how their values become keys), [`texts`], [`passages`] and [`text_keys`]
//! (keys of texts), [`asked`] (what a search of texts asks for), [`columns`] and [`scope`] (columns
//! compared by equality, and included columns), [`insert`], [`build`], [`scan`], [`vacuum`],
//! [`cost`] and [`path`] (what the planner knows), [`validate`]. For SQL functions
//! that are given an index: [`opened`], [`rights`] (privileges), [`elsewhere`] (tables whose rows
//! are elsewhere), [`info`], [`check`] and [`recipe`]. `crates/simhash-index/README.md` is the
//! chapter.

pub mod asked;
mod build;
pub mod check;
pub mod columns;
mod cost;
pub mod elsewhere;
pub mod handler;
pub mod info;
mod insert;
mod keys;
pub mod kind;
pub mod opened;
pub mod options;
pub mod passages;
mod path;
pub mod recipe;
pub mod rights;
pub mod scan;
pub mod scope;
pub mod text_keys;
pub mod texts;
mod vacuum;
mod validate;
