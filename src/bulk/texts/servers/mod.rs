//! Tables whose parts lie on other servers: partitions that are foreign tables of postgres_fdw.
//!
//! The server that is asked compares the rows, by the keys that each part's own index has. Texts
//! stay where they are: their servers cut them, and send sets of shingles ([`served`]). What goes
//! over the wire is a key of 4 bytes and a TID of 6 for each band of a row, and the sets of rows
//! that share keys. [`link`] is the way there, [`parts`] what there is, [`rows`] what the work of
//! [`simhash_core::whole::sharing`] asks for.

pub mod link;
pub mod parts;
pub mod rows;
pub mod served;
