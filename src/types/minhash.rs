//! `minhash_signature`: the components of a MinHash signature, and a hash of its config.
//!
//! On disk: eight bytes of the config's hash, then four bytes per component, all little-endian. In
//! text: `{1,2,3}/0123456789abcdef`, the components and the config's hash.

use std::fmt::Write;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::base::fingerprint::parse_hex;
use simhash_core::base::hash::feature_hash;
use simhash_core::config::Config;
use simhash_core::sketches::minhash::MAX_COMPONENTS;

use super::datum::{Decode, Encode, argument, result, sql_type};
use super::varlena::{packed_bytes, palloc_varlena};
use crate::error::raise;

/// A signature of 1 to [`MAX_COMPONENTS`] components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The config's hash: equal for signatures made with equal configs.
    pub origin: u64,
    pub components: Vec<u32>,
}

sql_type!(Signature, "minhash_signature");
argument!(Signature);
result!(Signature);

const ORIGIN_BYTES: usize = 8;
const COMPONENT_BYTES: usize = 4;

/// The hash of a config that is stored in its signatures.
pub fn origin(config: &Config) -> u64 {
    feature_hash(config.to_string().as_bytes())
}

impl Signature {
    /// Reads the form on disk. `None` if the bytes are not a valid signature.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (origin, components) = bytes.split_first_chunk::<ORIGIN_BYTES>()?;
        let (components, rest) = components.as_chunks::<COMPONENT_BYTES>();
        (rest.is_empty() && (1..=MAX_COMPONENTS).contains(&components.len())).then(|| Signature {
            origin: u64::from_le_bytes(*origin),
            components: components.iter().map(|c| u32::from_le_bytes(*c)).collect(),
        })
    }

    /// The origin and the number of components. Only signatures of the same kind can be compared.
    pub fn kind(&self) -> (u64, usize) {
        (self.origin, self.components.len())
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.origin.to_le_bytes().to_vec();
        bytes.extend(self.components.iter().flat_map(|c| c.to_le_bytes()));
        bytes
    }

    /// Reads the text form. `None` if the text is not valid.
    pub fn parse(text: &str) -> Option<Self> {
        let (components, origin) = text.trim().strip_prefix('{')?.split_once("}/")?;
        let components: Vec<u32> =
            components.split(',').map(|c| c.trim().parse()).collect::<Result<_, _>>().ok()?;
        let origin = parse_hex(origin)?;
        (components.len() <= MAX_COMPONENTS).then_some(Signature { origin, components })
    }

    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(self.components.len() * 11 + 20);
        for (i, component) in self.components.iter().enumerate() {
            let _ = write!(text, "{}{component}", if i == 0 { '{' } else { ',' });
        }
        let _ = write!(text, "}}/{:016x}", self.origin);
        text
    }
}

impl Decode for Signature {
    unsafe fn decode(datum: pg_sys::Datum) -> Self {
        // SAFETY: `datum` is a minhash_signature, which has a varlena header.
        let bytes = unsafe { packed_bytes(datum) };
        Signature::from_bytes(bytes).unwrap_or_else(|| {
            raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed minhash_signature".into(), "")
        })
    }
}

impl Encode for Signature {
    fn encode(self) -> pg_sys::Datum {
        palloc_varlena(&[&self.to_bytes()])
    }
}
