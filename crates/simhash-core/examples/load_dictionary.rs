//! Loads jieba's dictionary as a backend does at its first Chinese text. Prints the seconds that
//! this took, and the megabytes of memory that stay.
//!
//! `cargo run --release --example load_dictionary` (on Linux: memory is read from /proc)

use std::time::Instant;

fn megabytes() -> Result<f64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).ok_or("no RssAnon")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let before = megabytes()?;
    let start = Instant::now();
    simhash_core::preload();
    println!("{:.4} {:.1}", start.elapsed().as_secs_f64(), megabytes()? - before);
    Ok(())
}
