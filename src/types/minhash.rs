//! `minhash_signature`: the components of a MinHash signature, and what it was made by.
//!
//! On disk: eight bytes that stand for the config, then four bytes a component, all little-endian. In text:
//! `{1,2,3}/0123456789abcdef`, the components and the config's hash.

use std::ffi::{CStr, CString};
use std::fmt::Write;

use pgrx::{FromDatum, Internal, IntoDatum, PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::config::Config;
use simhash_core::hash::feature_hash;
use simhash_core::sets::minhash::MAX_COMPONENTS;

use super::{by_datum, message_buffer, palloc_varlena, receive_rest, sql_type, varlena_bytes};
use crate::error::{raise, raise_invalid_text, shown};

/// A signature of 1 to [`MAX_COMPONENTS`] components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Equal for signatures made by equal configs.
    pub origin: u64,
    pub components: Vec<u32>,
}

sql_type!(Signature, "minhash_signature");
by_datum!(Signature);

const ORIGIN_BYTES: usize = 8;
const COMPONENT_BYTES: usize = 4;

/// What stands for a config in every signature made by it.
pub fn origin(config: &Config) -> u64 {
    feature_hash(config.to_string().as_bytes())
}

impl Signature {
    /// `None` for bytes that are no signature.
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (origin, components) = bytes.split_first_chunk::<ORIGIN_BYTES>()?;
        let (components, rest) = components.as_chunks::<COMPONENT_BYTES>();
        (rest.is_empty() && (1..=MAX_COMPONENTS).contains(&components.len())).then(|| Signature {
            origin: u64::from_le_bytes(*origin),
            components: components.iter().map(|c| u32::from_le_bytes(*c)).collect(),
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.origin.to_le_bytes().to_vec();
        bytes.extend(self.components.iter().flat_map(|c| c.to_le_bytes()));
        bytes
    }

    fn parse(text: &str) -> Option<Self> {
        let (components, origin) = text.trim().strip_prefix('{')?.split_once("}/")?;
        let components: Vec<u32> =
            components.split(',').map(|c| c.trim().parse()).collect::<Result<_, _>>().ok()?;
        let origin = simhash_core::fingerprint::parse_hex(origin)?;
        (components.len() <= MAX_COMPONENTS).then_some(Signature { origin, components })
    }

    fn to_text(&self) -> String {
        let mut text = String::with_capacity(self.components.len() * 11 + 20);
        for (i, component) in self.components.iter().enumerate() {
            let _ = write!(text, "{}{component}", if i == 0 { '{' } else { ',' });
        }
        let _ = write!(text, "}}/{:016x}", self.origin);
        text
    }
}

impl FromDatum for Signature {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        if is_null {
            return None;
        }
        // SAFETY: the caller passes a minhash_signature, which is of variable length.
        let bytes = unsafe { varlena_bytes(datum) };
        Some(Signature::from_bytes(bytes).unwrap_or_else(|| {
            raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "malformed minhash_signature".into(), "")
        }))
    }
}

impl IntoDatum for Signature {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        Some(palloc_varlena(&[&self.to_bytes()]))
    }
    /// Unknown at compile time; nothing here builds arrays of the type through pgrx.
    fn type_oid() -> pg_sys::Oid {
        pg_sys::InvalidOid
    }
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_signature_in(text: &CStr) -> Signature {
    let shown = shown(text);
    Signature::parse(&shown).unwrap_or_else(|| {
        let shown: String = shown.chars().take(64).collect();
        raise_invalid_text(
            "minhash_signature",
            &shown,
            "A minhash_signature is written as {component,...}/config, such as {1,2,3}/0123456789abcdef.",
        )
    })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_signature_out(signature: Signature) -> CString {
    CString::new(signature.to_text()).unwrap_or_default()
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_signature_recv(buffer: Internal) -> Signature {
    Signature::from_bytes(receive_rest(message_buffer(buffer))).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION,
            "invalid binary minhash_signature".into(),
            "It is eight bytes for the config, then four a component, all little-endian.",
        )
    })
}

#[pg_extern(sql = false, immutable, strict, parallel_safe)]
fn minhash_signature_send(signature: Signature) -> Vec<u8> {
    signature.to_bytes()
}
