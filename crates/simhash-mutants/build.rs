//! Copies the sources of simhash-index, and puts faults into the copy by a patch for each file.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};

const SOURCES: &str = "../simhash-index/src";
const FAULTS: &str = "faults";
/// How a patch names a source, before the source's path.
const NAMED: &str = "a/crates/simhash-index/src/";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={SOURCES}");
    println!("cargo::rerun-if-changed={FAULTS}");
    let copy = PathBuf::from(std::env::var("OUT_DIR")?).join("index");
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    copy_all(Path::new(SOURCES), &copy)?;
    let mut all_apply = true;
    let patches: io::Result<Vec<_>> = fs::read_dir(FAULTS)?.collect();
    for patch in patches?.iter().map(fs::DirEntry::path) {
        if let Err(error) = apply(&patch, &copy) {
            println!(
                "cargo::error=crates/simhash-mutants/{} does not apply: {error}. Run \
                 scripts/mutants.sh edit, mend the copy that it names, and run scripts/mutants.sh \
                 save. docs/design/maintaining.md has more, under \"Faults made on purpose\".",
                patch.display()
            );
            all_apply = false;
        }
    }
    if !all_apply {
        std::process::exit(1);
    }
    let root = copy.join("lib.rs");
    fs::write(&root, without_head(&fs::read_to_string(&root)?))?;
    Ok(())
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy_all(&from, &to)?;
        } else {
            fs::write(to, fs::read(from)?)?;
        }
    }
    Ok(())
}

/// Applies a patch to the file below `copy` that its head names.
fn apply(patch: &Path, copy: &Path) -> Result<(), Box<dyn Error>> {
    let patch = fs::read_to_string(patch)?;
    let patch = diffy::Patch::from_str(&patch)?;
    let named = patch.original().and_then(|name| name.strip_prefix(NAMED));
    let file = copy.join(named.ok_or("it names no source of the index")?);
    let source = fs::read_to_string(&file)?;
    fs::write(file, diffy::apply(&source, &patch)?)?;
    Ok(())
}

/// A root that can be included: without the comments and attributes that a crate begins with.
fn without_head(root: &str) -> String {
    let is_head =
        |line: &&str| line.is_empty() || line.starts_with("//!") || line.starts_with("#!");
    root.lines().skip_while(is_head).map(|line| format!("{line}\n")).collect()
}
