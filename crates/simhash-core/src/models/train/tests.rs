//! Training against counts by hand and by definition.

use proptest::prelude::*;

use super::*;
use crate::Named;
use crate::base::spill::tests::Buffer;

fn config() -> Config {
    r#"{"tokenizer": "word"}"#.parse().unwrap()
}

fn trained(texts: &[impl AsRef<str>]) -> Model {
    let mut trainer = Trainer::new(&config()).unwrap();
    texts.iter().for_each(|text| trainer.add(text.as_ref(), &mut || ()).unwrap());
    trainer.finish(None, &mut || ())
}

fn term(model: &Model, term: &str) -> (u32, Term) {
    model.term(feature_hash(term.as_bytes())).unwrap()
}

/// Ten sentences whose statistics are worked out by hand.
const TEN: [&str; 10] = [
    "the cat sat",
    "the cat ran",
    "the dog sat",
    "the dog ran",
    "a cat sat",
    "a dog ran",
    "the cow ran",
    "the cat ran the race",
    "one cat",
    "one",
];

#[test]
fn ten_sentences_by_hand() {
    let model = trained(&TEN);
    assert_eq!((model.documents(), model.terms()), (10, 9));
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} for {b}");
    // "cat": in 5 documents. Left: the 3, a 1, one 1. Right: sat 2, ran 2. One sentence ends with
    // it.
    let (documents, cat) = term(&model, "cat");
    assert_eq!(documents, 5);
    near(cat.idf, (10.0f64 / 6.0).ln());
    let left = -(0.6 * 0.6f64.log2() + 0.2 * 0.2f64.log2() + 0.2 * 0.2f64.log2());
    near(left, 1.370_950_594_454_668_6);
    near(cat.entropy, (left + 1.0) / 2.0);
    // "the": in 6 documents. Left: ran 1 ("ran the race"). Right: cat 3, dog 2, cow 1, race 1, of
    // 7.
    let (documents, the) = term(&model, "the");
    assert_eq!(documents, 6);
    near(the.idf, (10.0f64 / 7.0).ln());
    let p = |count: f64| -(count / 7.0) * (count / 7.0).log2();
    near(the.entropy, (p(3.0) + p(2.0) + p(1.0) + p(1.0)) / 2.0);
    // "one": in 2 documents, first in both, with one neighbour in all.
    assert_eq!(term(&model, "one"), (2, Term { idf: libm::log(10.0 / 3.0), entropy: 0.0 }));
    // "sat" always ends: left cat 2, dog 1.
    let (documents, sat) = term(&model, "sat");
    assert_eq!(documents, 3);
    near(
        sat.entropy,
        -(2.0 / 3.0 * (2.0f64 / 3.0).log2() + 1.0 / 3.0 * (1.0f64 / 3.0).log2()) / 2.0,
    );
    assert_eq!(model.term(feature_hash(b"cow sat")), None);
}

#[test]
fn percentiles_are_of_features_in_documents() {
    // There are four pairs of a feature and a document. "x" is in three documents, so its idf is
    // ln(3/4) < 0, and it weighs nothing.
    let model = trained(&["x", "x", "x y"]);
    let idf_y = weight::model_units(Weight::Idf, 1.0, term(&model, "y").1);
    assert_eq!(model.percentile(Weight::Idf, 75), Some(0));
    assert_eq!(model.percentile(Weight::Idf, 76), Some(idf_y));
    assert!((f64::from(idf_y) / f64::from(weight::MODEL_UNIT) - 1.5f64.ln()).abs() < 1e-5);
    // The term frequencies are 1, 1 and 4, so two of three pairs do not exceed 1.
    let model = trained(&["p", "q", "r r r r"]);
    assert_eq!(model.percentile(Weight::Tf, 66), Some(1024));
    assert_eq!(model.percentile(Weight::Tf, 67), Some(4096));
}

/// Documents of numbered words.
fn corpus() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(0u8..12, 0..20), 1..30)
}

fn word(number: u8) -> String {
    format!("w{}", char::from(b'a' + number))
}

fn texts(corpus: &[Vec<u8>]) -> Vec<String> {
    let text = |document: &Vec<u8>| document.iter().copied().map(word).collect::<Vec<_>>();
    corpus.iter().map(|document| text(document).join(" ")).collect()
}

proptest! {
    /// By definition, with sums over explicit probabilities.
    #[test]
    fn entropies_are_those_of_the_definition(corpus in corpus()) {
        let model = trained(&texts(&corpus));
        prop_assert_eq!(model.documents() as usize, corpus.len());
        for number in 0..12 {
            let documents = corpus.iter().filter(|d| d.contains(&number)).count();
            let Some((frequency, term)) = model.term(feature_hash(word(number).as_bytes())) else {
                prop_assert_eq!(documents, 0);
                continue;
            };
            prop_assert_eq!(frequency as usize, documents);
            let idf = (corpus.len() as f64 / (documents as f64 + 1.0)).ln();
            prop_assert!((term.idf - idf).abs() < 1e-12);
            let entropy = |neighbour: usize| {
                let mut counts = [0f64; 12];
                for pair in corpus.iter().flat_map(|d| d.windows(2)) {
                    if pair[1 - neighbour] == number {
                        counts[usize::from(pair[neighbour])] += 1.0;
                    }
                }
                let total: f64 = counts.iter().sum();
                let shares = counts.iter().filter(|&&c| c > 0.0).map(|c| c / total);
                shares.map(|share| -share * share.log2()).sum::<f64>()
            };
            prop_assert!((term.entropy - (entropy(0) + entropy(1)) / 2.0).abs() < 1e-5);
        }
    }

    /// The model is the same in any order and in any parts, through bytes, and with and without
    /// spilling.
    #[test]
    fn one_corpus_has_one_model(corpus in corpus(), parts in 1usize..4, spill_every in 1usize..5) {
        let texts = texts(&corpus);
        let expected = trained(&texts);

        let mut sum = Trainer::new(&config()).unwrap();
        for part in 0..parts {
            let mut trainer = Trainer::new(&config()).unwrap();
            for text in texts.iter().rev().skip(part).step_by(parts) {
                trainer.add(text, &mut || ()).unwrap();
            }
            let bytes = trainer.to_bytes(&mut || ());
            let sent = Trainer::from_bytes(&bytes, |_| Named::default(), &mut || ()).unwrap();
            sum.combine(&sent, &mut || ()).unwrap();
        }
        prop_assert!(sum.finish(None, &mut || ()) == expected);

        let (mut spilling, mut spill) = (Trainer::new(&config()).unwrap(), Buffer::default());
        for (i, text) in texts.iter().enumerate() {
            spilling.add(text, &mut || ()).unwrap();
            if i % spill_every == 0 {
                spilling.spill(&mut spill, &mut || ());
            }
        }
        prop_assert!(spilling.finish(Some(&mut spill), &mut || ()) == expected);
    }
}

#[test]
fn what_is_no_trainer_is_refused() {
    let mut trainer = Trainer::new(&config()).unwrap();
    trainer.add("a b c", &mut || ()).unwrap();
    let bytes = trainer.to_bytes(&mut || ());
    assert!((0..bytes.len()).all(|length| {
        Trainer::from_bytes(&bytes[..length], |_| Named::default(), &mut || ()).is_err()
    }));
    let other = Trainer::new(&r#"{"shingle": 2}"#.parse().unwrap()).unwrap();
    assert_eq!(trainer.combine(&other, &mut || ()), Err(TrainError::NotATrainer));
}
