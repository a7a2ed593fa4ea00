//! Fills one structure and prints the least and the most bytes of memory that it takes for each
//! element, on the way from a million elements to four million. There is no single figure, because
//! structures double. The bytes of the texts themselves are not counted.
//!
//! `cargo run --release --example memory -- hash|bloom|trie|near|terms|pairs|model` (on Linux:
//! memory is read from /proc)

use simhash_core::Config;
use simhash_core::base::hash::feature_hash;
use simhash_core::methods::dedup::{Deduplicator, Exact};
use simhash_core::models::train::Trainer;

const FIRST: usize = 1_000_000;
const LAST: usize = 4_000_000;
/// After how many elements memory is read again.
const EVERY: usize = 20_000;
/// How many terms the pairs of neighbours are made of.
const TERMS: usize = 2_000;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn resident() -> Outcome<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no RssAnon")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<usize>()? * 1024)
}

/// Adds element after element. `add` says how many of its bytes do not count.
fn fill(mut add: impl FnMut(usize) -> Outcome<usize>) -> Outcome<(f64, f64)> {
    let before = resident()?;
    let (mut least, mut most, mut own) = (f64::INFINITY, 0f64, 0);
    for number in 1..=LAST {
        own += add(number)?;
        if number >= FIRST && number.is_multiple_of(EVERY) {
            let each = resident()?.saturating_sub(before + own) as f64 / number as f64;
            (least, most) = (least.min(each), most.max(each));
        }
    }
    Ok((least, most))
}

fn exact(stage: Exact) -> Outcome<(f64, f64)> {
    let mut texts = Deduplicator::new(stage, None);
    let kept = |text: &str| if stage == Exact::Trie { text.len() } else { 0 };
    fill(|number| {
        let text = format!("text {:x}", feature_hash::<u64>(&number.to_le_bytes()));
        texts.check(number as i64, &text, || None)?;
        Ok(kept(&text))
    })
}

/// Random fingerprints, of which hardly any two are within 3 of each other.
fn near() -> Outcome<(f64, f64)> {
    let mut texts = Deduplicator::new(Exact::None, Some(3));
    fill(|number| {
        texts.check(number as i64, "", || Some(feature_hash(&number.to_le_bytes())))?;
        Ok(0)
    })
}

fn training(text: impl Fn(usize) -> String) -> Outcome<(f64, f64)> {
    let mut trainer = Trainer::new(&Config::default())?;
    fill(|number| {
        trainer.add(&text(number), &mut || ()).map_err(|error| format!("{error:?}"))?;
        Ok(0)
    })
}

/// The stored form of models of a million terms and of four.
fn model() -> Outcome<(f64, f64)> {
    let bytes_a_term = |terms: usize| -> Outcome<f64> {
        let mut trainer = Trainer::new(&Config::default())?;
        for number in 0..terms {
            trainer.add(&word(number), &mut || ()).map_err(|error| format!("{error:?}"))?;
        }
        Ok(trainer.finish(None, &mut || ()).as_bytes().len() as f64 / terms as f64)
    };
    let (a, b) = (bytes_a_term(FIRST)?, bytes_a_term(LAST)?);
    Ok((a.min(b), a.max(b)))
}

/// A word of letters: a digit would end a token.
fn word(number: usize) -> String {
    number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
}

fn main() -> Outcome<()> {
    let (least, most) = match std::env::args().nth(1).as_deref() {
        Some("hash") => exact(Exact::Hash)?,
        Some("bloom") => exact(Exact::Bloom)?,
        Some("trie") => exact(Exact::Trie)?,
        Some("near") => near()?,
        Some("terms") => training(word)?,
        Some("pairs") => {
            training(|number| format!("{} {}", word(number / TERMS), word(number % TERMS)))?
        }
        Some("model") => model()?,
        _ => return Err("usage: memory hash|bloom|trie|near|terms|pairs|model".into()),
    };
    println!("{least:.1} {most:.1}");
    Ok(())
}
