//! Tables with parts on other servers: partitions that are foreign tables of postgres_fdw.
//!
//! The server to which the caller is connected compares the rows. For fingerprints, parts send
//! these. For texts, they send the keys of their own indexes, 4 bytes and a TID of 6 for each band
//! of a row, and the sets of shingles of rows that share keys. Texts stay on their servers, which
//! cut them. For passages, parts send keys of as many bytes, and the tokens of rows that share
//! some.
//!
//! Modules: [`link`] (the connection to a part), [`parts`] (the parts of a table), [`served`] (the
//! answers of a part's server), [`messages`] (their format), [`texts`], [`passages`] and
//! [`fingerprints`] (the rows for [`simhash_core::whole::sharing`],
//! [`simhash_core::passages::whole`] and [`simhash_core::whole::join`]).

pub mod fingerprints;
pub mod link;
pub mod messages;
pub mod parts;
mod passages;
pub mod served;
pub mod texts;
mod tokens;
