//! Fingerprints compared with the definition, and fingerprints of the pairs of texts for which they
//! are made.

use std::collections::HashMap;

use proptest::prelude::*;
use simhash_core::base::bits::B256;
use simhash_core::config::Position;
use simhash_core::{
    Config, Feature, Features, Fingerprint, Simhasher, SimhasherError, WeightError, from_features,
};

use super::common;

fn simhasher(config: &str) -> Simhasher {
    Simhasher::new(config.parse::<Config>().unwrap()).unwrap()
}

fn simhash(text: &str, config: &str) -> Option<u64> {
    simhasher(config).fingerprint(text, &mut || ())
}

fn features(text: &str, config: &str) -> Features<u64> {
    simhasher(config).features(text, usize::MAX, &mut || ()).unwrap()
}

/// The sign of the features' weighted sum. Plain floating point adds weights of this size exactly.
fn sign<F: Fingerprint>(features: &Features<F>) -> Option<F> {
    let bit = |word: usize, bit: u32| {
        let signed = |feature: Feature<'_, F>| match feature.hash.word(word) >> bit & 1 {
            1 => f64::from(feature.weight),
            _ => -f64::from(feature.weight),
        };
        features.iter().map(signed).sum::<f64>() > 0.0
    };
    let bits = |word| (0..64).fold(0, |bits, index| bits | u64::from(bit(word, index)) << index);
    (!features.is_empty()).then(|| F::from_words(bits))
}

const CONFIGS: &[&str] = &[
    "{}",
    r#"{"weight": "uniform"}"#,
    r#"{"weight": "tf", "shingle": 2}"#,
    r#"{"weight": "level"}"#,
    r#"{"weight": "level", "shingle": 3}"#,
    r#"{"weight": "tf", "cap": 1.5}"#,
    r#"{"position": "paper"}"#,
    r#"{"position": "bucket", "tokenizer": "char", "shingle": 2}"#,
    r#"{"stopwords": "auto", "tokenizer": "word"}"#,
];

proptest! {
    #![proptest_config(common::cases(256))]

    #[test]
    fn a_fingerprint_is_the_sign_of_its_features(
        text in common::text(),
        config in prop::sample::select(CONFIGS),
    ) {
        let mut simhasher = simhasher(config);
        let narrow = simhasher.features::<u64>(&text, usize::MAX, &mut || ()).unwrap();
        prop_assert_eq!(simhasher.fingerprint(&text, &mut || ()), sign(&narrow));
        let wide = simhasher.features::<u128>(&text, usize::MAX, &mut || ()).unwrap();
        prop_assert_eq!(simhasher.fingerprint(&text, &mut || ()), sign(&wide));
        prop_assert_eq!(narrow.len(), wide.len());
        let quad = simhasher.features::<B256>(&text, usize::MAX, &mut || ()).unwrap();
        prop_assert_eq!(simhasher.fingerprint(&text, &mut || ()), sign(&quad));
        prop_assert_eq!(narrow.len(), quad.len());
        // The high half is the hash of 128 bits, unless a position is XORed into the low one.
        if simhasher.config().position == Position::None {
            for (wide, quad) in wide.iter().zip(quad.iter()) {
                prop_assert_eq!(wide.hash.word(0), quad.hash.word(2));
                prop_assert_eq!(wide.hash.word(1), quad.hash.word(3));
            }
        }
    }

    #[test]
    fn buffers_carry_nothing_over(
        texts in prop::collection::vec(common::text(), 1..6),
        config in prop::sample::select(CONFIGS),
    ) {
        let mut reused = simhasher(config);
        for text in &texts {
            prop_assert_eq!(reused.fingerprint::<u64>(text, &mut || ()), simhash(text, config));
        }
    }

    #[test]
    fn shingles_are_joined_tokens(text in common::text(), k in 1usize..5) {
        let mut simhasher = simhasher(&format!(r#"{{"shingle": {k}, "weight": "tf"}}"#));
        let tokens = simhasher.tokens(&text, &mut || ());
        let mut expected: HashMap<String, f32> = HashMap::new();
        for shingle in tokens.windows(k.min(tokens.len()).max(1)) {
            *expected.entry(shingle.join(" ")).or_default() += 1.0;
        }
        let found = simhasher.features::<u64>(&text, usize::MAX, &mut || ()).unwrap();
        let found: HashMap<String, f32> =
            found.iter().map(|feature| (feature.text.to_owned(), feature.weight)).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn own_features_give_the_same_fingerprint(text in common::text()) {
        let features = features(&text, "{}");
        let own = features.iter().map(|feature| (feature.text.as_bytes(), feature.weight));
        prop_assert_eq!(from_features(own.clone()), Ok(simhash(&text, "{}")));
        prop_assert_eq!(from_features(own.rev()), Ok(simhash(&text, "{}")));
    }
}

#[test]
fn near_sentences_are_nearer_than_unrelated_ones() {
    let [a, b, other] = [
        "你妈妈喊你回家吃饭哦，回家罗回家罗",
        "你妈妈叫你回家吃饭啦，回家罗回家罗",
        "数据库中的近似重复文本检测",
    ];
    for config in ["{}", r#"{"weight": "tf"}"#, r#"{"weight": "uniform"}"#, r#"{"hmm": false}"#] {
        let [a, b, other] = [a, b, other].map(|text| simhash(text, config).unwrap());
        assert!(a.hamming(b) < a.hamming(other).min(b.hamming(other)), "{config}");
    }
}

#[test]
fn order_counts_only_in_shingles() {
    let [a, b] = ["能力比学历重要性高", "学历比能力重要性高"];
    assert_eq!(simhash(a, "{}"), simhash(b, "{}"));
    assert_ne!(simhash(a, r#"{"shingle": 2}"#), simhash(b, r#"{"shingle": 2}"#));
}

#[test]
fn what_should_not_count_does_not() {
    for (a, b) in [
        ("The cat sat on the mat.", "the CAT  sat\non the mat"),
        ("萬國碼與資料庫", "万国码与资料库"),
        ("ＡＢＣ　１２３", "abc 123"),
        ("caf\u{e9}", "cafe\u{301}"),
    ] {
        assert_eq!(simhash(a, "{}"), simhash(b, "{}"), "{a} {b}");
    }
}

#[test]
fn no_features_no_fingerprint() {
    for text in ["", " \n\t", "...", "\u{200B}\u{301}"] {
        assert_eq!(simhash(text, "{}"), None, "{text:?}");
        assert!(features(text, "{}").is_empty());
    }
    assert_eq!(simhash("the of and", r#"{"stopwords": "en"}"#), None);
}

#[test]
fn features_say_what_was_hashed() {
    let listed = |text, config| {
        features(text, config)
            .iter()
            .map(|f| format!("{}:{}", f.text, f.weight))
            .collect::<Vec<_>>()
            .join("|")
    };
    assert_eq!(listed("b a b c b", r#"{"weight": "tf"}"#), "b:3|a:1|c:1");
    assert_eq!(listed("b a b c b", r#"{"weight": "tf", "cap": 2.5}"#), "b:2.5|a:1|c:1");
    assert_eq!(
        listed("b a b c b", r#"{"weight": "uniform", "shingle": 2}"#),
        "b a:1|a b:1|b c:1|c b:1"
    );
    // 1 + ln 3 = 2.0986 in units of 1/1024.
    assert_eq!(listed("b a b c b", r#"{"weight": "log"}"#), "b:2.0986328|a:1|c:1");
    assert_eq!(listed("b a b c b", "{}"), "b:1|a:1|c:1");
    assert_eq!(listed("two words", r#"{"shingle": 5}"#), "two words:1");
    assert_eq!(
        listed("的大象 the encyclopaedia", r#"{"weight": "level"}"#),
        "的:1|大象:5|the:1|encyclopaedia:5"
    );
    assert_eq!(
        listed("the cat of encyclopaedia", r#"{"weight": "level", "shingle": 2}"#),
        "the cat:2|cat of:2|of encyclopaedia:5"
    );
    assert_eq!(
        listed("你好你好", r#"{"tokenizer": "char", "shingle": 2, "weight": "tf"}"#),
        "你 好:2|好 你:1"
    );
}

#[test]
fn positions_enter_the_low_bits() {
    let plain: Vec<u64> = features("d c b a d", "{}").iter().map(|feature| feature.hash).collect();
    let hashes = |config| features("d c b a d", config).iter().map(|f| f.hash).collect::<Vec<_>>();
    let ranked: Vec<u64> = plain.iter().zip(0..).map(|(hash, rank)| hash ^ rank).collect();
    assert_eq!(hashes(r#"{"position": "paper"}"#), ranked);
    // Four distinct features: ranks 0, 1, 2, 3 of 4 are sixteenths 0, 4, 8, 12.
    let bucketed: Vec<u64> =
        plain.iter().zip([0, 4, 8, 12]).map(|(hash, bucket)| hash ^ bucket).collect();
    assert_eq!(hashes(r#"{"position": "bucket"}"#), bucketed);
}

#[test]
fn weights_of_a_model_need_it() {
    let config: Config = r#"{"weight": "idf", "model": "news"}"#.parse().unwrap();
    assert_eq!(Simhasher::new(config).err(), Some(SimhasherError::NeedsModel("news".into())));
}

#[test]
fn own_weights_are_checked() {
    let check = |weights: [f32; 2]| {
        from_features::<u64>([(&b"a"[..], weights[0]), (&b"b"[..], weights[1])])
    };
    assert_eq!(check([1.0, -0.5]), Err(WeightError::Negative { index: 1, weight: -0.5 }));
    assert!(matches!(check([f32::NAN, 1.0]), Err(WeightError::NotFinite { index: 0, .. })));
    assert_eq!(
        check([1.0, f32::INFINITY]),
        Err(WeightError::NotFinite { index: 1, weight: f32::INFINITY })
    );
    assert_eq!(check([0.0, -0.0]), Ok(None));
    assert_eq!(from_features::<u64>([] as [(&[u8], f32); 0]), Ok(None));
    assert_eq!(check([1e30, f32::from_bits(1)]), from_features([(&b"a"[..], 1.0)]));
}

#[test]
fn an_interruption_may_unwind_and_leaves_the_simhasher_usable() {
    let text = "你好，世界 hello ".repeat(20_000);
    let mut simhasher = simhasher("{}");
    let expected: Option<u64> = simhasher.fingerprint(&text, &mut || ());
    let mut total = 0;
    simhasher.fingerprint::<u64>(&text, &mut || total += 1);
    for stop in [1, total / 2, total] {
        let mut checks = 0;
        let interrupted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            simhasher.fingerprint::<u64>(&text, &mut || {
                checks += 1;
                if checks == stop {
                    std::panic::resume_unwind(Box::new("interrupted"));
                }
            })
        }));
        assert!(interrupted.is_err(), "{stop} of {total}");
        assert_eq!(simhasher.fingerprint(&text, &mut || ()), expected);
    }
}
