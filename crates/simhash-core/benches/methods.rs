//! What the other methods cost, compared with simhash on the same texts: E-Simhash, MinHash,
//! KSentence, the exact sets.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use simhash_core::config::recipes::recipe;
use simhash_core::config::{Cap, Method, Position, Weight};
use simhash_core::features::model::Model;
use simhash_core::methods::bloom::ScalableBloom;
use simhash_core::methods::ksentence::{ksentence, normalize_config};
use simhash_core::methods::trie::Trie;
use simhash_core::models::train::Trainer;
use simhash_core::sets::sketch::{Layout, Sketcher};
use simhash_core::sets::weighted::WeightedSet;
use simhash_core::sketches::minhash::{Fingerprinter, MinHasher};
use simhash_core::{Config, Simhasher};
use xxhash_rust::xxh3::xxh3_64;

fn sample(name: &str) -> Vec<String> {
    let path = format!("{}/tests/data/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let lines = std::fs::read_to_string(path).expect("the sample texts are part of the repository");
    let text = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        value["text"].as_str().expect("text").to_owned()
    };
    lines.lines().map(text).collect()
}

fn trained(texts: &[String]) -> Model {
    let mut trainer = Trainer::new(&Config::default()).expect("no model");
    texts.iter().for_each(|text| trainer.add(text, &mut || ()).expect("few terms"));
    trainer.finish(None, &mut || ())
}

fn texts(criterion: &mut Criterion) {
    for name in ["zh_laws", "en_licenses", "en_verses"] {
        let texts = sample(name);
        let mut group = criterion.benchmark_group(format!("methods/{name}"));
        group.throughput(Throughput::Bytes(texts.iter().map(|text| text.len() as u64).sum()));
        let mut simhash = Simhasher::new(Config::default()).expect("no model");
        group.bench_function("simhash128", |bencher| {
            bencher.iter(|| {
                for text in &texts {
                    black_box(simhash.fingerprint::<u128>(text, &mut || ()));
                }
            });
        });
        let config = Config {
            weight: Weight::Entropy,
            model: Some("m".into()),
            position: Position::Spread,
            cap: Some(Cap::Percentile(90)),
            ..Config::default()
        };
        let mut esimhash =
            Simhasher::with_model(config, Arc::new(trained(&texts))).expect("the same features");
        group.bench_function("esimhash", |bencher| {
            bencher.iter(|| {
                for text in &texts {
                    black_box(esimhash.fingerprint::<u128>(text, &mut || ()));
                }
            });
        });
        let mut normalizer = Simhasher::new(normalize_config()).expect("no model");
        group.bench_function("ksentence", |bencher| {
            bencher.iter(|| {
                for text in &texts {
                    let normalized = normalizer.normalize(text, &mut || ());
                    black_box(ksentence(&normalized, 5, &mut || ()));
                }
            });
        });
        let mut minhasher = MinHasher::new(128);
        group.bench_function("minhash of 128", |bencher| {
            bencher.iter(|| {
                for text in &texts {
                    black_box(minhasher.text_signature(&mut simhash, text, &mut || ()));
                }
            });
        });
        group.bench_function("training", |bencher| bencher.iter(|| black_box(trained(&texts))));
        group.finish();
    }
}

/// What an index on texts makes of each, beside the tokens alone.
fn sketches(criterion: &mut Criterion) {
    for name in ["zh_laws", "en_licenses", "en_verses"] {
        let texts = sample(name);
        let mut group = criterion.benchmark_group(format!("methods/sketches/{name}"));
        group.throughput(Throughput::Elements(texts.len() as u64));
        let layout = Layout::of(0.5).expect("a similarity");
        let mut keys = Vec::new();
        let new = || Simhasher::new(recipe(&Config::default())).expect("no model");
        let (mut simhasher, mut sketcher) = (new(), Sketcher::new(new()));
        group.bench_function("keys of a sketch", |bencher| {
            bencher.iter(|| {
                for text in &texts {
                    black_box(sketcher.keys(text, layout, &mut || (), &mut keys));
                }
            });
        });
        group.bench_function("sketch", |bencher| {
            bencher.iter(|| {
                for text in &texts {
                    black_box(sketcher.sketch(text, &mut || ()));
                }
            });
        });
        group.bench_function("tokens", |bencher| {
            bencher.iter(|| {
                for text in &texts {
                    simhasher.for_each_token(text, &mut || (), |token| {
                        black_box(token);
                    });
                }
            });
        });
        group.finish();
    }
}

/// What it costs to verify a candidate: the set of its shingles, and to compare two sets.
fn verification(criterion: &mut Criterion) {
    for name in ["zh_laws", "en_licenses", "en_verses"] {
        let texts = sample(name);
        let mut group = criterion.benchmark_group(format!("methods/verification/{name}"));
        group.throughput(Throughput::Elements(texts.len() as u64));
        let simhasher = || Simhasher::new(Config::default()).expect("no model");
        let mut fingerprinter = Fingerprinter::new(Method::Minhash, simhasher(), 128);
        group.bench_function("minhash128", |bencher| {
            bencher.iter(|| {
                for text in &texts {
                    black_box(fingerprinter.fingerprint::<u128>(text, &mut || ()));
                }
            });
        });
        let mut simhasher = simhasher();
        let mut sets = || -> Vec<WeightedSet> {
            texts.iter().map(|text| WeightedSet::new(&mut simhasher, text, &mut || ())).collect()
        };
        group.bench_function("set of words", |bencher| bencher.iter(|| black_box(sets())));
        let sets = sets();
        group.bench_function("Jaccard of two sets of words", |bencher| {
            let neighbours = || sets.iter().zip(sets.iter().cycle().skip(1));
            bencher.iter(|| neighbours().filter_map(|(a, b)| a.jaccard(b)).sum::<f64>());
        });
        group.finish();
    }
}

fn structures(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("methods");
    let hashes: Vec<u64> = (0..1000u64).map(|i| xxh3_64(&i.to_le_bytes())).collect();
    let mut minhasher = MinHasher::new(128);
    group.bench_function("minhash of 128 of 1000 hashes", |bencher| {
        bencher.iter(|| black_box(minhasher.signature(hashes.iter().copied())));
    });

    let many: Vec<String> = (0..300_000).map(|i| format!("term {i}")).collect();
    let bytes = trained(&many).as_bytes().to_vec();
    group.bench_function("loading a model of 300,000 terms", |bencher| {
        bencher.iter(|| black_box(Model::from_bytes(bytes.clone().into())));
    });

    let words = |i: u64| {
        (0..10)
            .map(|g| format!("w{}", xxh3_64(&(i * 10 + g).to_le_bytes()) % 1000))
            .collect::<Vec<_>>()
    };
    let short: Vec<String> = (0..200_000).map(|i| words(i).join(" ")).collect();
    group.throughput(Throughput::Elements(short.len() as u64));
    group.sample_size(10);
    group.bench_function("Bloom filter, 200,000 short texts", |bencher| {
        bencher.iter(|| {
            let mut bloom = ScalableBloom::new(1 << 20, 1e-6).expect("a rate");
            short.iter().filter(|text| bloom.insert(text.as_bytes()).is_ok_and(|new| new)).count()
        });
    });
    group.bench_function("trie, 200,000 short texts", |bencher| {
        bencher.iter(|| {
            let mut trie = Trie::new();
            short.iter().filter(|text| trie.insert(text.as_bytes()).is_ok()).count()
        });
    });
    group.finish();
}

criterion_group!(benches, texts, sketches, verification, structures);
criterion_main!(benches);
