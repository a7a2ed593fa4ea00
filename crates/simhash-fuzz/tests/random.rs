//! Feeds the targets seeds with some bytes changed, or random bytes, as a short substitute for
//! libFuzzer. PROPTEST_CASES sets the number of cases.

use proptest::prelude::*;
use simhash_fuzz::seeds::seeds;
use simhash_fuzz::{config, fingerprint, model, pages, text};

/// The seeds of a target, with a few bytes replaced, removed or repeated.
fn changed(target: &str) -> impl Strategy<Value = Vec<u8>> {
    let seeds = seeds().into_iter().find(|(name, _)| *name == target).expect("a target").1;
    let edit = (any::<prop::sample::Index>(), 0..4u8, any::<u8>());
    let edits = prop::collection::vec(edit, 0..6);
    (prop::sample::select(seeds), edits).prop_map(|(mut bytes, edits)| {
        for (place, what, byte) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = place.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes[at] ^= 1 << (byte % 8),
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, byte),
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn configs(data in changed("config")) {
        config::run(&data);
    }

    #[test]
    fn fingerprints(data in changed("fingerprint")) {
        fingerprint::run(&data);
    }

    #[test]
    fn models(data in changed("model")) {
        model::run(&data);
    }

    #[test]
    fn texts(data in changed("text")) {
        text::run(&data);
    }

    #[test]
    fn damaged_pages(data in prop::collection::vec(any::<u8>(), 0..80)) {
        pages::run(&data);
    }

    #[test]
    fn sound_pages(choice in any::<u8>(), rest in prop::collection::vec(any::<u8>(), 0..40)) {
        pages::run(&[&[choice, 0], &rest[..]].concat());
    }

    #[test]
    fn damaged_postings(data in prop::collection::vec(any::<u8>(), 0..80)) {
        pages::run(&[&data[..data.len().min(1)], &[129], &data[data.len().min(1)..]].concat());
    }

    #[test]
    fn sound_postings(choice in any::<u8>(), rest in prop::collection::vec(any::<u8>(), 0..40)) {
        pages::run(&[&[choice, 128], &rest[..]].concat());
    }
}
