//! Refuses each allocation of each algorithm in turn. The hook unwinds, and the state that is left
//! gives the right answer.

#![allow(unsafe_code, reason = "an allocator's methods are unsafe")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::sync::Arc;

use simhash_core::compare::explain::explain;
use simhash_core::config::Method;
use simhash_core::features::model::Model;
use simhash_core::methods::dedup::{Deduplicator, Exact};
use simhash_core::methods::{imatch, lexicons};
use simhash_core::models::train::Trainer;
use simhash_core::sets::shingles::{ShingleSet, distinct};
use simhash_core::sets::weighted::WeightedSet;
use simhash_core::sketches::minhash::{Fingerprinter, MinHasher};
use simhash_core::words::dictionary;
use simhash_core::words::lists::{Kind, WordList};
use simhash_core::{Config, Named, Simhasher, from_features};

thread_local! {
    /// How many allocations of this thread are granted before one is refused. `None`: all.
    static GRANTED: Cell<Option<u64>> = const { Cell::new(None) };
}

struct Refusing;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

fn refuses() -> bool {
    let granted = GRANTED.get();
    GRANTED.set(granted.and_then(|granted| granted.checked_sub(1)));
    granted == Some(0)
}

// SAFETY: does what System does, or returns null, which reports that there is no memory.
unsafe impl GlobalAlloc for Refusing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refuses() {
            return null_mut();
        }
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`, which is also System's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if refuses() {
            return null_mut();
        }
        // SAFETY: `place` is System's, with this layout: all of this allocator's memory is.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: `place` is System's, with this layout: all of this allocator's memory is.
        unsafe { System.dealloc(place, layout) }
    }
}

struct NoMemory;

fn unwind(_: Layout) {
    resume_unwind(Box::new(NoMemory))
}

/// The result of `call`, if it returns, when its allocation number `n`, counted from 0, is refused.
/// Also returns whether it made that many.
fn with_one_refused<R>(n: u64, call: impl FnOnce() -> R) -> (Option<R>, bool) {
    GRANTED.set(Some(n));
    let result = catch_unwind(AssertUnwindSafe(call));
    let refused = GRANTED.replace(None).is_none();
    match result {
        Ok(result) => (Some(result), refused),
        Err(payload) if payload.is::<NoMemory>() => (None, refused),
        Err(payload) => resume_unwind(payload),
    }
}

/// Refuses the first, the second, the third, ... allocation of a call on a new state. After each,
/// calls again on the same state, without a refusal, because a call site keeps its state. After
/// `every` allocations the steps grow.
fn refuse_each<S, R: PartialEq + std::fmt::Debug>(
    what: &str,
    every: u64,
    new: impl Fn() -> S,
    mut call: impl FnMut(&mut S) -> R,
) {
    let right = call(&mut new());
    let (mut n, mut unwound) = (0, 0);
    loop {
        let mut state = new();
        let (result, refused) = with_one_refused(n, || call(&mut state));
        match result {
            Some(result) => assert_eq!(result, right, "{what}, allocation {n}"),
            None => unwound += 1,
        }
        assert_eq!(call(&mut state), right, "{what}, after allocation {n} was refused");
        if !refused {
            break;
        }
        n = if n < every { n + 1 } else { n + 1 + n / 4 };
    }
    assert!(unwound > 0, "{what} needs no memory");
}

fn simhasher(config: &str) -> Simhasher {
    Simhasher::new(config.parse().expect("a config")).expect("needs no model")
}

fn model(texts: &[String]) -> Model {
    let mut trainer = Trainer::new(&Config::default()).expect("needs no model");
    for text in texts {
        trainer.add(text, &mut || ()).expect("few terms");
    }
    trainer.finish(None, &mut || ())
}

const ALL_STEPS: &str = concat!(
    r#"{"normalize": ["html", "nfkc", "lower", "simplified", "punctuation", "space"], "#,
    r#""weight": "log"}"#
);
const TEXT: &str = "<p>The Quick &amp; bro\u{301}wn fox, ﬃ Ⅷ</p> \
                    漢字與詞典，我们在北京大学学习 👍🏽 ١٢ アイ שלום";

/// One test, in which loading comes first, because the tables and the dictionary are loaded only
/// once.
#[test]
fn a_refused_allocation_unwinds_and_leaves_all_in_order() {
    if !simhash_oom::AVAILABLE {
        return;
    }
    simhash_oom::set_hook(unwind);
    refuse_loading();
    let long: String = (0..3_000).map(|i| format!("{} 漢字{i:x} ", i % 1_700)).collect();
    let texts: Vec<String> = (0..300).map(|i| format!("text {} of {}", i % 250, i / 3)).collect();
    refuse_configs();
    refuse_words();
    refuse_fingerprints(&long);
    refuse_features(&long);
    refuse_minhash(&long);
    refuse_streams(&texts);
    let model = refuse_training(&texts);
    refuse_with_model(&model, &texts);
}

/// The objects that are loaded once: the dictionary and the character tables.
fn refuse_loading() {
    // Parse the configuration beforehand. IndexMap retries a refused allocation, so a call that is
    // refused there would succeed and load everything.
    let config: Config = ALL_STEPS.parse().expect("a config");
    let first = || {
        Simhasher::new(config.clone()).expect("needs no model").fingerprint::<u64>(TEXT, &mut || ())
    };
    let (mut n, mut unwound) = (0, 0);
    loop {
        let (result, refused) = with_one_refused(n, first);
        unwound += u32::from(result.is_none());
        if !refused {
            assert_eq!(result, Some(first()));
            break;
        }
        n += 1 + n / 10;
    }
    assert!(
        unwound > 40 && dictionary::is_loaded(),
        "{unwound} of the calls that load what is loaded once"
    );
}

fn refuse_configs() {
    let parsed = |config: &str| config.parse::<Config>().map(|config| config.to_string()).ok();
    refuse_each("config", 1_000, || (), |()| parsed(ALL_STEPS));
    // More members than a node of a B-tree holds: an object must not grow by growing a tree's root.
    let many_members =
        format!("{{{}}}", (0..40).map(|i| format!("\"k{i}\": 1")).collect::<Vec<_>>().join(", "));
    refuse_each("a config of many members", 1_000, || (), |()| parsed(&many_members));
}

fn refuse_fingerprints(long: &str) {
    for config in [
        ALL_STEPS,
        r#"{"tokenizer": "char", "shingle": 3}"#,
        r#"{"weight": "tf", "position": "bucket"}"#,
    ] {
        for text in [TEXT, long] {
            refuse_each(
                "fingerprint",
                100,
                || simhasher(config),
                |s| s.fingerprint::<u128>(text, &mut || ()),
            );
        }
    }
    refuse_each(
        "own features",
        100,
        || (),
        |()| from_features::<u64>(long.split(' ').map(|part| (part.as_bytes(), 1.5))).ok(),
    );
}

fn refuse_features(long: &str) {
    refuse_each("normalize", 100, || simhasher(ALL_STEPS), |s| s.normalize(long, &mut || ()));
    refuse_each("tokens", 100, || simhasher("{}"), |s| s.tokens(long, &mut || ()));
    refuse_each(
        "features",
        100,
        || simhasher("{}"),
        |s| s.features::<u64>(long, 1 << 30, &mut || ()),
    );
    refuse_each("shingles", 100, || simhasher("{}"), |s| distinct(s, long, 1 << 30, &mut || ()));
    refuse_each("a set", 100, || simhasher("{}"), |s| ShingleSet::new(s, long, &mut || ()));
    refuse_each(
        "a set with weights",
        100,
        || simhasher("{}"),
        |s| WeightedSet::new(s, long, &mut || ()),
    );
}

fn refuse_minhash(long: &str) {
    refuse_each(
        "minhash",
        100,
        || (simhasher("{}"), MinHasher::new(64)),
        |(s, m)| m.text_signature(s, long, &mut || ()),
    );
    refuse_each(
        "a fingerprint by minhash of several sizes",
        100,
        || Fingerprinter::new(Method::Minhash, simhasher(r#"{"shingle": [1, 3]}"#), 128),
        |f| f.fingerprint::<u128>(long, &mut || ()),
    );
}

fn refuse_streams(texts: &[String]) {
    for exact in Exact::ALL {
        refuse_each(
            exact.name(),
            100,
            || simhasher("{}"),
            |s| {
                let mut stream = Deduplicator::new(exact, Some(3));
                let found = texts.iter().enumerate().filter(|(i, text)| {
                    let fingerprint = || s.fingerprint(text, &mut || ());
                    stream
                        .check(*i as i64, text, fingerprint)
                        .is_ok_and(|duplicate| duplicate.is_some())
                });
                found.count()
            },
        );
    }
}

/// Returns the model trained on the texts.
fn refuse_training(texts: &[String]) -> Arc<Model> {
    refuse_each("training", 200, || (), |()| model(texts).as_bytes().to_vec());
    // A word for each count up to 60, so that there are as many different weights.
    let counts: Vec<String> =
        (0..60).map(|i| (i..60).map(|j| format!("count{j} ")).collect::<String>()).collect();
    refuse_each("training on many counts", 200, || (), |()| model(&counts).as_bytes().to_vec());
    let model = Arc::new(model(texts));
    refuse_each(
        "a model's bytes",
        100,
        || (),
        |()| Model::from_bytes(model.as_bytes().into()).is_ok(),
    );
    model
}

fn refuse_with_model(model: &Arc<Model>, texts: &[String]) {
    let config: Config = r#"{"weight": "entropy", "model": "m"}"#.parse().expect("a config");
    let with_model =
        || Simhasher::with_model(config.clone(), model.clone()).expect("the same features");
    refuse_each("weights of a model", 100, with_model, |s| {
        s.fingerprint::<u64>(&texts[7], &mut || ())
    });
    let all_texts = texts.join(" ");
    for (what, text) in [("imatch", &texts[7]), ("imatch of many terms", &all_texts)] {
        refuse_each(
            what,
            100,
            || simhasher("{}"),
            |s| imatch::imatch(model, s, text, 0.0, 9.0, &mut || ()),
        );
    }
    refuse_each(
        "lexicons",
        100,
        || simhasher("{}"),
        |s| lexicons::fingerprints::<u128>(model, s, &texts[7], 5, 1, &mut || ()),
    );
}

fn refuse_words() {
    let list = |kind| {
        let words = [("大学学习", None), ("brown fox", Some(5)), ("詞典", Some(9)), ("在", None)];
        let words = words.map(|(word, frequency)| (word.to_owned(), frequency));
        Arc::new(WordList::new(kind, words, &mut || ()).expect("words"))
    };
    refuse_each(
        "a list of words",
        100,
        || (),
        |()| list(Kind::Dictionary).content_hash().to_owned(),
    );
    let config: Config = r#"{"dictionary": "d", "stopwords": "s"}"#.parse().expect("a config");
    refuse_each(
        "a dictionary and stop words",
        200,
        || (list(Kind::Dictionary), list(Kind::StopWords)),
        |(dictionary, stop_words)| {
            let named = Named {
                model: None,
                dictionary: Some(dictionary.clone()),
                stop_words: Some(stop_words.clone()),
            };
            let mut simhasher =
                Simhasher::with(config.clone(), named, &mut || ()).expect("what it names");
            simhasher.tokens(TEXT, &mut || ())
        },
    );
    for method in [Method::Simhash, Method::Minhash] {
        refuse_each(
            "an explanation",
            200,
            || simhasher("{}"),
            |s| explain::<u64>(method, s, [TEXT, "the quick fox"], usize::MAX, &mut || ()),
        );
    }
}
