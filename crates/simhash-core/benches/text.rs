//! How fast texts become fingerprints, compared with a naive loop and with the segmentation alone.

use std::collections::HashMap;
use std::hint::black_box;

use criterion::{
    BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use simhash_core::base::bits::B256;
use simhash_core::base::simd::accumulate::BitSums;
use simhash_core::config::Method;
use simhash_core::config::recipes::recipe;
use simhash_core::sets::numbers::for_each_number;
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::sketches::minhash::Fingerprinter;
use simhash_core::{Config, Fingerprint, Simhasher};
use xxhash_rust::xxh3::xxh3_64;

fn sample(name: &str) -> Vec<String> {
    let path = format!("{}/tests/data/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let lines = std::fs::read_to_string(path).expect("the sample texts are part of the repository");
    lines
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON")["text"]
                .as_str()
                .expect("text")
                .to_owned()
        })
        .collect()
}

fn bytes(texts: &[String]) -> Throughput {
    Throughput::Bytes(texts.iter().map(|text| text.len() as u64).sum())
}

fn fingerprints<F: Fingerprint>(
    group: &mut BenchmarkGroup<WallTime>,
    name: &str,
    texts: &[String],
    config: &str,
) {
    let method = if name.starts_with("minhash") { Method::Minhash } else { Method::Simhash };
    let simhasher = Simhasher::new(config.parse().expect("a configuration")).expect("no model");
    let mut fingerprinter = Fingerprinter::new(method, simhasher, F::BITS);
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            for text in texts {
                black_box(fingerprinter.fingerprint::<F>(text, &mut || ()));
            }
        });
    });
}

fn normalization(group: &mut BenchmarkGroup<WallTime>, texts: &[String]) {
    let mut simhasher = Simhasher::new(Config::default()).expect("no model");
    group.bench_function("normalize", |bencher| {
        bencher.iter(|| {
            for text in texts {
                black_box(simhasher.normalize(text, &mut || ()));
            }
        });
    });
}

/// The numbers alone, and sets of shingles without and with them.
fn numbers(group: &mut BenchmarkGroup<WallTime>, texts: &[String]) {
    group.bench_function("numbers", |bencher| {
        let config = Config::default();
        bencher.iter(|| {
            let mut length = 0;
            for text in texts {
                for_each_number(text, &config, &mut || (), &mut |number| length += number.len());
            }
            length
        });
    });
    for (name, config) in [("shingles", "{}"), ("shingles, numbers", r#"{"numbers": "same"}"#)] {
        let config = recipe(&config.parse().expect("a configuration"));
        let mut simhasher = Simhasher::new(config).expect("no model");
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for text in texts {
                    black_box(ShingleSet::new(&mut simhasher, text, &mut || ()));
                }
            });
        });
    }
}

/// Lower-case ASCII words are counted in a hash map. Then every distinct word takes one pass over
/// 64 counters.
fn naive(text: &str) -> u64 {
    let mut counts: HashMap<u64, i64> = HashMap::new();
    let mut word = Vec::new();
    for &byte in text.as_bytes().iter().chain(b" ") {
        if byte.is_ascii_alphanumeric() {
            word.push(byte.to_ascii_lowercase());
        } else if !word.is_empty() {
            *counts.entry(xxh3_64(&word)).or_default() += 1;
            word.clear();
        }
    }
    naive_sum(counts)
}

fn naive_sum(hashes: impl IntoIterator<Item = (u64, i64)>) -> u64 {
    let mut sums = [0i64; 64];
    for (hash, weight) in hashes {
        for (bit, sum) in sums.iter_mut().enumerate() {
            if hash >> bit & 1 == 1 {
                *sum += weight;
            } else {
                *sum -= weight;
            }
        }
    }
    sums.iter().enumerate().fold(0, |bits, (bit, &sum)| bits | u64::from(sum > 0) << bit)
}

fn english(criterion: &mut Criterion) {
    for name in ["en_licenses", "en_verses"] {
        let texts = sample(name);
        let mut group = criterion.benchmark_group(name);
        group.throughput(bytes(&texts));
        group.bench_function("naive words", |bencher| {
            bencher.iter(|| texts.iter().map(|text| naive(text)).fold(0, std::ops::BitXor::bitxor));
        });
        fingerprints::<u64>(&mut group, "simhash", &texts, "{}");
        fingerprints::<u128>(&mut group, "simhash128", &texts, "{}");
        fingerprints::<u64>(&mut group, "minhash64", &texts, "{}");
        fingerprints::<u128>(&mut group, "minhash128", &texts, "{}");
        fingerprints::<u64>(&mut group, "simhash shingle 2", &texts, r#"{"shingle": 2}"#);
        fingerprints::<u64>(&mut group, "minhash64 shingle 2", &texts, r#"{"shingle": 2}"#);
        fingerprints::<u128>(&mut group, "minhash128 shingle 2", &texts, r#"{"shingle": 2}"#);
        fingerprints::<u64>(
            &mut group,
            "simhash char shingle 4",
            &texts,
            r#"{"tokenizer": "char", "shingle": 4}"#,
        );
        normalization(&mut group, &texts);
        numbers(&mut group, &texts);
    }
}

fn chinese(criterion: &mut Criterion) {
    let texts = sample("zh_laws");
    let mut group = criterion.benchmark_group("zh_laws");
    group.throughput(bytes(&texts));
    let jieba = jieba_rs::Jieba::new();
    for (name, hmm) in [("jieba-rs alone, hmm", true), ("jieba-rs alone, no hmm", false)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| texts.iter().for_each(|text| drop(black_box(jieba.cut(text, hmm)))));
        });
    }
    fingerprints::<u64>(&mut group, "simhash", &texts, "{}");
    fingerprints::<u128>(&mut group, "minhash128", &texts, "{}");
    fingerprints::<u128>(&mut group, "minhash128 shingle 2", &texts, r#"{"shingle": 2}"#);
    fingerprints::<u64>(&mut group, "simhash, no hmm", &texts, r#"{"hmm": false}"#);
    fingerprints::<u64>(
        &mut group,
        "simhash char shingle 2",
        &texts,
        r#"{"tokenizer": "char", "shingle": 2}"#,
    );
    normalization(&mut group, &texts);
    numbers(&mut group, &texts);
}

fn accumulation(criterion: &mut Criterion) {
    let hashes: Vec<u64> = (0..4096u64).map(|i| xxh3_64(&i.to_le_bytes())).collect();
    let wide: Vec<u128> =
        hashes.iter().map(|&hash| u128::from(hash) << 64 | u128::from(!hash)).collect();
    let weights: Vec<u32> = (0..4096).map(|i| 1024 + i % 700).collect();
    let mut group = criterion.benchmark_group("accumulate");
    group.throughput(Throughput::Elements(hashes.len() as u64));
    group.bench_function("naive", |bencher| {
        bencher.iter(|| {
            naive_sum(hashes.iter().copied().zip(weights.iter().map(|&weight| i64::from(weight))))
        });
    });
    group.bench_function("64 bits", |bencher| {
        bencher.iter(|| {
            let mut sums = BitSums::default();
            sums.add(&hashes, &weights);
            sums.sign()
        });
    });
    group.bench_function("128 bits", |bencher| {
        bencher.iter(|| {
            let mut sums = BitSums::default();
            sums.add(&wide, &weights);
            sums.sign()
        });
    });
    let quad: Vec<B256> =
        hashes.iter().map(|&hash| B256::new([hash, !hash, hash >> 1, !hash << 1])).collect();
    group.bench_function("256 bits", |bencher| {
        bencher.iter(|| {
            let mut sums = BitSums::default();
            sums.add(&quad, &weights);
            sums.sign()
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(500))
        .measurement_time(std::time::Duration::from_secs(2));
    targets = english, chinese, accumulation
}
criterion_main!(benches);
