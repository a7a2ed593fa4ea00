//! The tokens of each line of standard input, as a line of JSON. `../tests/jieba_words.py` compares
//! them with those of jieba itself. An argument is a configuration.

use std::io::{self, BufRead, Write};

use simhash_core::{Config, Simhasher};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config: Config = std::env::args().nth(1).unwrap_or_else(|| "{}".into()).parse()?;
    let mut simhasher = Simhasher::new(config)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        serde_json::to_writer(&mut out, &simhasher.tokens(&line?, &mut || ()))?;
        out.write_all(b"\n")?;
    }
    Ok(())
}
