//! Fingerprints every line of a file, as `SELECT simhash(body)` fingerprints every row, and prints
//! the median time of five passes in seconds. The rest of what a query takes is the database's.
//!
//! `cargo run --release --example fingerprint_lines -- FILE`

use std::time::Instant;

use simhash_core::{Config, Simhasher};

const PASSES: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: fingerprint_lines FILE")?;
    let text = std::fs::read_to_string(path)?;
    let mut simhasher = Simhasher::new(Config::default())?;
    simhash_core::preload();
    let mut seconds: Vec<f64> = (0..PASSES)
        .map(|_| {
            let start = Instant::now();
            let found = text
                .lines()
                .filter(|line| simhasher.fingerprint::<u64>(line, &mut || ()).is_some())
                .count();
            std::hint::black_box(found);
            start.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    println!("{:.4}", seconds[PASSES / 2]);
    Ok(())
}
