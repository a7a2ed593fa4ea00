//! Configurations: which are read and refused, and how they are written.

use proptest::prelude::*;
use simhash_core::config::recipes::{are_same_sets, recipe};
use simhash_core::config::{
    Cap, Config, ConfigBuilder, ConfigError, Kept, MAX_CAP, MAX_SHINGLE, MAX_SIZES, MAX_SPOT,
    NormalizeStep, Numbers, Position, Shingles, Spots, StopList, StopWords, Tokenizer, WEIGHT_UNIT,
    Weight,
};

fn canonical(json: &str) -> String {
    json.parse::<Config>().unwrap_or_else(|error| panic!("{json}: {error}")).to_string()
}

#[test]
fn canonical_forms() {
    for (json, expected) in [
        ("{}", "{}"),
        (" { } ", "{}"),
        (
            concat!(
                r#"{"tokenizer":"auto","shingle":1,"weight":"uniform","#,
                r#""stopwords":"none","hmm":true,"position":"none"}"#
            ),
            r#"{"shingle": 1}"#,
        ),
        (
            concat!(
                r#"{"normalize":["space","punctuation","digits","simplified","lower","marks","#,
                r#""nfkc","hyphens","data","mojibake"]}"#
            ),
            "{}",
        ),
        (r#"{"normalize":["lower","html","lower"]}"#, r#"{"normalize": ["html", "lower"]}"#),
        (r#"{"normalize":[]}"#, r#"{"normalize": []}"#),
        (
            r#"{"cap":2.5,"shingle":3,"tokenizer":"char"}"#,
            r#"{"tokenizer": "char", "shingle": 3, "cap": 2.5}"#,
        ),
        (
            r#"{"stopwords":"medical \"2\"","dictionary":"药"}"#,
            r#"{"dictionary": "药", "stopwords": "medical \"2\""}"#,
        ),
        (r#"{"cap":3.0}"#, r#"{"cap": 3}"#),
        (r#"{"numbers":"same","cap":1}"#, r#"{"cap": 1, "numbers": "same"}"#),
        // One config may leave the choice to another, so "any" is kept.
        (r#"{"numbers":"any"}"#, r#"{"numbers": "any"}"#),
        (r#"{"shingle":[2,1,2]}"#, r#"{"shingle": [1, 2]}"#),
        (
            r#"{"spots":{"distance":3},"stopwords":"auto","hmm":false}"#,
            r#"{"stopwords": "auto", "spots": {"chain": 2, "distance": 3}, "hmm": false}"#,
        ),
        (r#"{"shingle":[3]}"#, r#"{"shingle": 3}"#),
        (r#"{"shingle":[1]}"#, r#"{"shingle": 1}"#),
        (
            r#"{"cap":"90%","model":"新闻 \"a\"","weight":"entropy","position":"paper","hmm":false}"#,
            concat!(
                r#"{"weight": "entropy", "hmm": false, "model": "新闻 \"a\"", "#,
                r#""position": "paper", "cap": "90%"}"#
            ),
        ),
    ] {
        assert_eq!(canonical(json), expected);
    }
}

#[test]
fn of_two_that_say_which_numbers_agree_less_is_compared() {
    use Numbers::{Any, Order, Same};
    for (a, b, both) in [
        (None, None, None),
        (Some(Same), None, Some(Same)),
        (Some(Same), Some(Order), Some(Same)),
        (Some(Same), Some(Any), Some(Any)),
        (Some(Order), Some(Order), Some(Order)),
    ] {
        assert_eq!([Numbers::of_both(a, b), Numbers::of_both(b, a)], [both; 2]);
    }
    refused(r#"{"numbers": "all"}"#, r#"invalid value "all" for "numbers""#, "any, same, order");
    let [a, b] = [r#"{"numbers": "same"}"#, "{}"].map(|json| json.parse::<Config>().unwrap());
    assert!(are_same_sets(&a, &b) && recipe(&a) != recipe(&b));
}

#[track_caller]
fn refused(json: &str, message: &str, hint: &str) {
    let error = Config::parse(json).unwrap_err();
    assert!(error.message().contains(message), "{json}: {}", error.message());
    assert!(error.hint().contains(hint), "{json}: {}", error.hint());
}

/// Configurations are equal as texts if they are equal for every method.
#[test]
fn the_default_of_shingle_depends_on_the_method() {
    let of = |json: &str| {
        let config: Config = json.parse().unwrap();
        let sets = recipe(&config);
        (config.shingles(), config.set_shingles(), sets.to_string())
    };
    let (words, pairs) = (Shingles::TOKENS, Shingles::PAIRS);
    assert_eq!(of("{}"), (words, pairs, r#"{"shingle": 2}"#.into()));
    assert_eq!(of(r#"{"shingle": 1, "weight": "tf"}"#), (words, words, "{}".into()));
    assert_eq!(of(r#"{"shingle": 2}"#), (pairs, pairs, r#"{"shingle": 2}"#.into()));
}

#[test]
fn names_of_lists() {
    for (json, message, hint) in [
        (r#"{"stopwords": ""}"#, r#"invalid value "" for "stopwords""#, "none, en, zh, auto, or"),
        (r#"{"stopwords": null}"#, "for \"stopwords\"", "the name of a list of stop words"),
        (r#"{"dictionary": ""}"#, r#"invalid value "" for "dictionary""#, "name of a dictionary"),
        (r#"{"dictionary": ["a"]}"#, "for \"dictionary\"", "the name of a dictionary"),
        (
            r#"{"dictionary": "a", "tokenizer": "char"}"#,
            r#""dictionary" "a" is not used by the tokenizer char"#,
            "auto, word, jieba and code",
        ),
    ] {
        refused(json, message, hint);
    }
}

#[test]
fn errors_of_spots_say_what_they_take() {
    for (json, message, hint) in [
        (r#"{"spots": {}}"#, r#""spots" require "stopwords""#, "auto"),
        (
            r#"{"spots": {}, "stopwords": "none"}"#,
            r#""spots" require "stopwords""#,
            "or name a list",
        ),
        (
            r#"{"spots": {}, "stopwords": "en", "shingle": 2}"#,
            "cannot be used together",
            "\"chain\"",
        ),
        (
            r#"{"spots": {}, "stopwords": "en", "tokenizer": "char"}"#,
            "not supported by the tokenizer char",
            "auto, word or jieba",
        ),
        (r#"{"spots": true}"#, r#"invalid value true for "spots""#, "from 1 to 100"),
        (r#"{"spots": {"chain": 0}}"#, r#"invalid value {"chain":0} for "spots""#, "from 1 to 100"),
        (r#"{"spots": {"chain": 101}}"#, "for \"spots\"", "from 1 to 100"),
        (r#"{"spots": {"distance": 1.5}}"#, "for \"spots\"", "whole numbers"),
        (r#"{"spots": {"distance": "2"}}"#, "for \"spots\"", "whole numbers"),
        (r#"{"spots": {"chains": 2}}"#, r#"invalid value {"chains":2}"#, "\"chain\" and"),
    ] {
        refused(json, message, hint);
    }
}

#[test]
fn errors_quote_what_is_wrong_and_hint_at_what_is_allowed() {
    for (json, message, hint) in [
        (r#"{"shingel": 2}"#, r#"unknown key "shingel""#, "tokenizer, shingle, weight, normalize"),
        (
            r#"{"tokenizer": "words"}"#,
            r#"invalid value "words" for "tokenizer""#,
            "auto, word, jieba, char, code",
        ),
        (
            r#"{"tokenizer": null}"#,
            r#"invalid value null for "tokenizer""#,
            "auto, word, jieba, char, code",
        ),
        (r#"{"shingle": 0}"#, r#"invalid value 0 for "shingle""#, "from 1 to 1000"),
        (r#"{"shingle": 2.5}"#, r#"invalid value 2.5 for "shingle""#, "whole number"),
        (r#"{"shingle": "2"}"#, r#"invalid value "2" for "shingle""#, "whole number"),
        (r#"{"shingle": []}"#, r#"invalid value [] for "shingle""#, "a list of up to 8"),
        (r#"{"shingle": [1, 0]}"#, r#"invalid value [1,0] for "shingle""#, "from 1 to 1000"),
        (r#"{"shingle": [1,2,3,4,5,6,7,8,9]}"#, "for \"shingle\"", "a list of up to 8"),
        (r#"{"shingle": 99999999999999999999}"#, "for \"shingle\"", "whole number"),
        (
            r#"{"weight": "bm25"}"#,
            r#"invalid value "bm25" for "weight""#,
            "uniform, tf, log, level, idf, tfidf, entropy",
        ),
        (
            r#"{"normalize": "lower"}"#,
            r#"invalid value "lower" for "normalize""#,
            concat!(
                "html, data, mojibake, hyphens, confusables, nfkc, german, marks, lower, ",
                "simplified, digits, punctuation, space"
            ),
        ),
        (r#"{"normalize": ["upper"]}"#, r#"invalid value "upper" for "normalize""#, "html, data"),
        (r#"{"hmm": 1}"#, r#"invalid value 1 for "hmm""#, "true or false"),
        (
            r#"{"position": "first"}"#,
            r#"invalid value "first" for "position""#,
            "none, paper, bucket, spread",
        ),
        (r#"{"cap": 0}"#, r#"invalid value 0 for "cap""#, "a number"),
        (r#"{"cap": -1}"#, r#"invalid value -1 for "cap""#, "a number"),
        (r#"{"cap": 1e300}"#, "for \"cap\"", "2097152"),
        (r#"{"cap": "0%", "model": "m"}"#, r#"invalid value "0%" for "cap""#, "99%"),
        (r#"{"cap": "90%"}"#, r#"a percentile as "cap" requires a "model""#, "greater than 0"),
        (r#"{"model": ""}"#, r#"invalid value "" for "model""#, "trained model"),
        (r#"{"model": "m"}"#, r#""model" "m" is not used"#, "idf, tfidf, entropy"),
        (r#"{"weight": "idf"}"#, r#""weight" "idf" requires a "model""#, "uniform, tf, log, level"),
        (r#"[1]"#, "not a JSON object: [1]", "JSON object"),
        (r#"{"shingle": 2"#, "not valid JSON", "JSON object"),
        ("", "not valid JSON", "JSON object"),
    ] {
        refused(json, message, hint);
    }
    let long = format!(r#"{{"tokenizer": "{}"}}"#, "长".repeat(100_000));
    assert!(Config::parse(&long).unwrap_err().message().chars().count() < 120);
    assert!(Config::parse(&"[".repeat(100_000)).is_err());
}

fn shingles() -> impl Strategy<Value = Shingles> {
    prop::collection::vec(1..=MAX_SHINGLE, 1..=MAX_SIZES)
        .prop_map(|sizes| Shingles::new(sizes).unwrap())
}

fn stopwords() -> impl Strategy<Value = StopWords> {
    prop_oneof![
        prop::sample::select(StopList::ALL).prop_map(StopWords::Of),
        "[^\0]{6,20}".prop_map(StopWords::Named),
    ]
}

fn cap() -> impl Strategy<Value = Cap> {
    prop_oneof![
        (1..=MAX_CAP * WEIGHT_UNIT).prop_map(|units| Cap::Absolute((units as f32) as u32)),
        (1..=99u8).prop_map(Cap::Percentile),
    ]
}

/// Whether the tokenizer allows the step.
fn takes(tokenizer: Tokenizer, step: NormalizeStep) -> bool {
    use NormalizeStep::{Confusables, Hyphens, Punctuation, Space};
    tokenizer != Tokenizer::Code || ![Confusables, Hyphens, Punctuation, Space].contains(&step)
}

fn config() -> impl Strategy<Value = Config> {
    (
        prop::sample::select(Tokenizer::ALL),
        prop::option::of(shingles()),
        prop::sample::select(Weight::ALL),
        prop::sample::subsequence(NormalizeStep::ALL, 0..=NormalizeStep::ALL.len()),
        (prop::option::of("[^\0]{1,20}"), stopwords()),
        any::<bool>(),
        prop::sample::select(Position::ALL),
        prop::option::of(cap()),
        (
            prop::option::of(prop::sample::select(Numbers::ALL)),
            prop::option::of((1..=MAX_SPOT, 1..=MAX_SPOT)),
        ),
        (prop::sample::select(Kept::ALL), prop::sample::select(Kept::ALL)),
        "[^\0]{1,20}",
    )
        .prop_map(
            |(
                tokenizer,
                shingle,
                weight,
                normalize,
                lists,
                hmm,
                position,
                cap,
                others,
                kept,
                name,
            )| {
                let (numbers, spots) = others;
                let trained = matches!(weight, Weight::Idf | Weight::Tfidf | Weight::Entropy);
                let model = (trained || matches!(cap, Some(Cap::Percentile(_)))).then_some(name);
                let steps = normalize.into_iter().filter(|&step| takes(tokenizer, step));
                let is_code = tokenizer == Tokenizer::Code;
                let (comments, whitespace) = if is_code { kept } else { Default::default() };
                let (dictionary, stopwords) = lists;
                let dictionary = dictionary.filter(|_| tokenizer != Tokenizer::Char);
                let spots = spots.map(|(chain, distance)| Spots { chain, distance }).filter(|_| {
                    tokenizer != Tokenizer::Char && stopwords != StopWords::Of(StopList::None)
                });
                let shingle = shingle.filter(|_| spots.is_none());
                Config {
                    tokenizer,
                    shingle,
                    weight,
                    normalize: steps.collect(),
                    dictionary,
                    stopwords,
                    spots,
                    hmm,
                    model,
                    position,
                    cap,
                    numbers,
                    comments,
                    whitespace,
                }
            },
        )
}

/// A key that is given, to a builder and as JSON.
type Said = (fn(ConfigBuilder) -> ConfigBuilder, &'static str);

/// One of some keys, with values that need not be allowed together.
fn said() -> impl Strategy<Value = Said> {
    use NormalizeStep::{Lower, Space};
    let keys: [Said; 18] = [
        (|b| b.tokenizer(Tokenizer::Char), r#""tokenizer": "char""#),
        (|b| b.tokenizer(Tokenizer::Code), r#""tokenizer": "code""#),
        (|b| b.shingle(Shingles::PAIRS), r#""shingle": 2"#),
        (|b| b.weight(Weight::Idf), r#""weight": "idf""#),
        (|b| b.weight(Weight::Log), r#""weight": "log""#),
        (|b| b.normalize([Space, Lower]), r#""normalize": ["lower", "space"]"#),
        (|b| b.normalize([]), r#""normalize": []"#),
        (|b| b.dictionary("names"), r#""dictionary": "names""#),
        (|b| b.stopwords(StopList::En), r#""stopwords": "en""#),
        (|b| b.stopwords(StopWords::Named("own".into())), r#""stopwords": "own""#),
        (|b| b.spots(Spots { chain: 3, distance: 2 }), r#""spots": {"chain": 3, "distance": 2}"#),
        (|b| b.hmm(false), r#""hmm": false"#),
        (|b| b.model("news"), r#""model": "news""#),
        (|b| b.position(Position::Spread), r#""position": "spread""#),
        (|b| b.cap(Cap::Percentile(95)), r#""cap": "95%""#),
        (|b| b.cap(Cap::Absolute(1536)), r#""cap": 1.5"#),
        (|b| b.numbers(Numbers::Order), r#""numbers": "order""#),
        (
            |b| b.comments(Kept::Drop).whitespace(Kept::Keep),
            r#""comments": "drop",
            "whitespace": "keep""#,
        ),
    ];
    prop::sample::select(keys.to_vec())
}

#[test]
fn a_builder_refuses_values_out_of_range() {
    let cap = |units| Config::builder().cap(Cap::Absolute(units)).build();
    assert!(cap(1).is_ok() && cap(MAX_CAP * WEIGHT_UNIT).is_ok());
    for error in [cap(0), cap(MAX_CAP * WEIGHT_UNIT + 1)] {
        assert!(matches!(error, Err(ConfigError::Invalid { key: "cap", .. })), "{error:?}");
    }
    // It is rounded as in parsing: 16,777,217 is no f32.
    assert_eq!(cap((1 << 24) + 1).unwrap().cap, Some(Cap::Absolute(1 << 24)));
    for (chain, distance) in [(0, 1), (1, MAX_SPOT + 1)] {
        let error = Config::builder().spots(Spots { chain, distance }).build();
        assert!(matches!(error, Err(ConfigError::Invalid { key: "spots", .. })), "{error:?}");
    }
    for list in StopList::ALL {
        let named = StopWords::Named(list.name().into());
        let error = Config::builder().stopwords(named).build();
        assert!(matches!(error, Err(ConfigError::Invalid { key: "stopwords", .. })), "{error:?}");
    }
    let nameless = Config::builder().weight(Weight::Idf).model("").build().unwrap_err();
    assert_eq!(nameless.message(), "invalid value \"\" for \"model\"");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_text_form_reads_back(config in config()) {
        let text = config.to_string();
        prop_assert_eq!(Config::parse(&text), Ok(config));
        prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }

    #[test]
    fn a_builder_is_as_strict_as_json(said in prop::collection::vec(said(), 0..6)) {
        let json: Vec<&str> = said.iter().map(|&(_, json)| json).collect();
        let builder = said.iter().fold(Config::builder(), |builder, (say, _)| say(builder));
        // If a key is given twice, the last one counts for both.
        prop_assert_eq!(builder.build(), Config::parse(&format!("{{{}}}", json.join(", "))));
    }

    #[test]
    fn no_text_is_too_strange_to_refuse(text in "\\PC{0,40}|[{}\\[\\]\":,a-z0-9 ]{0,40}") {
        let _ = Config::parse(&text);
    }
}
