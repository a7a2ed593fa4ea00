//! The SQL types: the layout, decoder, encoder and text form of each.
//!
//! [`datum`] has the two traits that the types implement. The SQL functions on the types, including
//! operators and casts, are in `functions`.

pub mod any_fingerprint;
pub mod array;
pub mod ball;
pub mod bit_ball;
pub mod bits;
pub mod bloom;
pub mod code;
pub mod config;
pub mod cstring;
pub mod datum;
pub mod fingerprint128;
pub mod fingerprint256;
pub mod fingerprint64;
pub mod hash;
pub mod hex;
pub mod layout;
pub mod lexicons;
pub mod message;
pub mod minhash;
pub mod near_text;
pub mod numeric;
pub mod returned_array;
pub mod strategy;
pub mod text;
pub mod text_passage;
pub mod tid;
pub mod tsvector;
pub mod varlena;
pub mod width;

pub use code::Code;
pub use config::ConfigText;
pub use fingerprint64::Fp64;
pub use fingerprint128::Fp128;
pub use fingerprint256::Fp256;
pub use near_text::NearText;
pub use numeric::Numeric;
pub use text::{Shown, Text};
pub use text_passage::TextPassage;
pub use width::Width;
