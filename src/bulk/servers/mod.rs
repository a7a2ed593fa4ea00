//! Tables whose parts lie on other servers: partitions that are foreign tables of postgres_fdw.
//!
//! The server that is asked compares the rows. Fingerprints come to it. Of texts come the keys that
//! each part's own index has: 4 bytes and a TID of 6 for each band of a row, and the sets of
//! shingles of rows that share keys. Texts stay where they are: their servers cut them. Of passages
//! come their keys, as many bytes each, and the tokens of rows that share some.
//!
//! [`link`] is the way to a part, [`parts`] what there is, [`served`] what a part's server answers
//! in [`messages`], [`texts`] what the work of [`simhash_core::whole::sharing`] asks for,
//! [`passages`] that of [`simhash_core::passages::whole`], [`fingerprints`] the rows of
//! [`simhash_core::whole::join`].

pub mod fingerprints;
pub mod link;
pub mod messages;
pub mod parts;
mod passages;
pub mod served;
pub mod texts;
mod tokens;
