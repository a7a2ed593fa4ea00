//! Measures libraries on the same sets, by `evaluate/rivals.py` in a process of its own.

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::process::Command;

use serde::Deserialize;

use super::sets::Sets;
use super::tally::Found;

/// The pairs that a library finds, and their cost.
#[derive(Debug, Deserialize)]
pub struct Rival {
    pub name: String,
    pub similarity: f64,
    pub candidates: u64,
    pub sketch: f64,
    pub pairs: f64,
    pub memory: u64,
    #[serde(skip)]
    pub found: Found,
}

const NAMES: [&str; 2] = ["rensa", "datasketch"];

/// The results of each library that the Python named by RIVALS has, at the similarities for the
/// library's name. Without RIVALS there are none.
pub fn run<'a>(
    sets: &Sets,
    similarities: impl Fn(&'static str) -> &'a [f64],
) -> Result<Vec<Rival>, Box<dyn Error>> {
    let Ok(python) = std::env::var("RIVALS") else { return Ok(Vec::new()) };
    let directory = std::env::temp_dir().join(format!("simhash-evaluate-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    let (given, found) = (directory.join("sets"), directory.join("found"));
    write(sets, File::create(&given)?)?;
    let mut rivals = Vec::new();
    for name in NAMES.into_iter().filter(|&name| !similarities(name).is_empty()) {
        let output = Command::new(&python)
            .args(["evaluate/rivals.py", name])
            .args([&given, &found])
            .args(similarities(name).iter().map(f64::to_string))
            .output()?;
        if !output.status.success() {
            println!("  {name}: {}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        // Results from before a failure count.
        for line in String::from_utf8(output.stdout)?.lines() {
            let mut rival: Rival = serde_json::from_str(line)?;
            rival.found = pairs(&fs::read(directory.join(format!("found-{}", rival.similarity)))?);
            rivals.push(rival);
        }
    }
    fs::remove_dir_all(directory)?;
    Ok(rivals)
}

/// Pairs of numbers of 32 bits each.
fn pairs(bytes: &[u8]) -> Found {
    let (numbers, _) = bytes.as_chunks::<4>();
    let (pairs, _) = numbers.as_chunks::<2>();
    pairs.iter().map(|&[a, b]| (u32::from_le_bytes(a), u32::from_le_bytes(b))).collect()
}

/// The number of sets, where each ends, and all hashes, in 64 bits each.
fn write(sets: &Sets, file: File) -> std::io::Result<()> {
    let (hashes, ends) = sets.raw();
    let mut file = BufWriter::new(file);
    file.write_all(&(ends.len() as u64).to_le_bytes())?;
    for &end in ends {
        file.write_all(&(end as u64).to_le_bytes())?;
    }
    for hash in hashes {
        file.write_all(&hash.to_le_bytes())?;
    }
    file.flush()
}
