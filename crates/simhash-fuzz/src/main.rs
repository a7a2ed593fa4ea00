//! Writes the seeds of each target into a directory of the target's name: `simhash-fuzz DIRECTORY`.

use std::path::PathBuf;
use std::{env, fs, io};

use simhash_fuzz::seeds::seeds;

fn main() -> io::Result<()> {
    let Some(directory) = env::args_os().nth(1).map(PathBuf::from) else {
        return Err(io::Error::other("usage: simhash-fuzz DIRECTORY"));
    };
    for (target, seeds) in seeds() {
        let directory = directory.join(target);
        fs::create_dir_all(&directory)?;
        for (number, seed) in seeds.iter().enumerate() {
            fs::write(directory.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
