//! The text forms of fingerprints: a text that is accepted gives the number of its digits.

use simhash_core::Fingerprint;
use simhash_core::base::bits::B256;
use simhash_core::base::fingerprint::{
    parse_decimal, parse_hex, parse_prefixed_hex, to_decimal, to_hex,
};

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    of_width::<u64>(text);
    of_width::<u128>(text);
    of_width::<B256>(text);
}

fn of_width<F: Fingerprint>(text: &str) {
    let prefixes = ["0x", "0X", "\\x"];
    let digits = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    assert_eq!(parse_prefixed_hex::<F>(text), parse_hex::<F>(digits), "{text}");
    if let Some(fp) = parse_hex::<F>(text) {
        assert_eq!(to_hex(fp), text.to_ascii_lowercase());
    }
    if let Some(fp) = parse_decimal::<F>(text) {
        let digits = text.trim_start_matches('0');
        assert_eq!(to_decimal(fp), if digits.is_empty() { "0" } else { digits });
    }
}
