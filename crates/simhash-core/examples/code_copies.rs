//! Measures which copies of source files are found: each file below a directory is disguised in
//! several ways, and the copy is compared with all files, by several configurations. The disguises
//! are made by a scanner of their own, so that they do not depend on what is measured.
//!
//! `cargo run --release --example code_copies -- DIRECTORY EXTENSION [FILES [SEED]]`
//! where EXTENSION is that of a language of the family of C. It prints a table in Markdown.

use std::collections::HashMap;
use std::path::Path;
use std::time::Instant;

use simhash_core::base::random::SplitMix64;
use simhash_core::config::recipes::near_recipe;
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::{Config, Simhasher};

const SIZES: std::ops::Range<usize> = 1_000..100_000;
const SIMILARITIES: [f64; 2] = [0.5, 0.7];
const CONFIGS: [&str; 6] = [
    r#"{"tokenizer": "auto"}"#,
    r#"{"tokenizer": "word"}"#,
    r#"{"tokenizer": "code"}"#,
    r#"{"tokenizer": "code", "comments": "keep"}"#,
    r#"{"tokenizer": "code", "shingle": 3}"#,
    r#"{"tokenizer": "code", "shingle": 5}"#,
];
/// Of the words of C, C++ and Java, those that a name must not be replaced of.
const KEYWORDS: &str = "abstract assert auto boolean break byte case catch char class const \
    continue default define defined delete do double else elif endif enum extends extern false \
    final finally float for goto if ifdef ifndef implements import include inline instanceof int \
    interface long namespace native new null NULL package private protected public register \
    return short signed sizeof static struct super switch synchronized template this throw throws \
    transient true try typedef undef union unsigned using virtual void volatile while";
/// What new comments are made of.
const WORDS: &str = "this that value buffer always checked before caller must hold returns when \
    nothing left see above note first entry number of bytes list is empty should never happen \
    copied from table because order matters here keep sync with header";

/// A piece of source text.
#[derive(Clone, PartialEq)]
enum Piece {
    Comment(String),
    Text(String),
    Name(String),
    Blank(String),
    Line,
    Symbol(char),
}

/// The pieces of a text of the family of C.
fn scan(text: &str) -> Vec<Piece> {
    let chars: Vec<char> = text.chars().collect();
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let start = at;
        let two = chars.get(at + 1).copied();
        let take = |from: usize, to: usize| chars[from..to].iter().collect::<String>();
        match (chars[at], two) {
            ('/', Some('/')) => {
                while at < chars.len() && chars[at] != '\n' {
                    at += 1;
                }
                pieces.push(Piece::Comment(take(start, at)));
            }
            ('/', Some('*')) => {
                at += 2;
                while at < chars.len()
                    && !(chars[at - 1] == '*' && chars[at] == '/' && at > start + 2)
                {
                    at += 1;
                }
                at = (at + 1).min(chars.len());
                pieces.push(Piece::Comment(take(start, at)));
            }
            (quote @ ('"' | '\''), _) => {
                at += 1;
                while at < chars.len() && chars[at] != quote && chars[at] != '\n' {
                    at += if chars[at] == '\\' { 2 } else { 1 };
                }
                at = (at + 1).min(chars.len());
                pieces.push(Piece::Text(take(start, at)));
            }
            ('\n', _) => {
                at += 1;
                pieces.push(Piece::Line);
            }
            (c, _) if c.is_whitespace() => {
                while at < chars.len() && chars[at].is_whitespace() && chars[at] != '\n' {
                    at += 1;
                }
                pieces.push(Piece::Blank(take(start, at)));
            }
            (c, _) if c.is_alphanumeric() || c == '_' => {
                while at < chars.len() && (chars[at].is_alphanumeric() || chars[at] == '_') {
                    at += 1;
                }
                pieces.push(Piece::Name(take(start, at)));
            }
            (c, _) => {
                at += 1;
                pieces.push(Piece::Symbol(c));
            }
        }
    }
    pieces
}

fn written(pieces: &[Piece]) -> String {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::Comment(text) | Piece::Text(text) | Piece::Name(text) | Piece::Blank(text) => {
                out.push_str(text);
            }
            Piece::Line => out.push('\n'),
            Piece::Symbol(c) => out.push(*c),
        }
    }
    out
}

/// A share of the names, in percent, have another name wherever they stand.
fn renamed(text: &str, percent: u64, random: &mut SplitMix64) -> String {
    let mut names: HashMap<String, Option<String>> =
        KEYWORDS.split_whitespace().map(|word| (word.to_owned(), None)).collect();
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut pieces = scan(text);
    for piece in &mut pieces {
        let Piece::Name(name) = piece else { continue };
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let new = names.entry(name.clone()).or_insert_with(|| {
            let [first, second] = [0; 2].map(|_| words[random.below(words.len() as u64) as usize]);
            (random.below(100) < percent).then(|| format!("{first}_{second}"))
        });
        if let Some(new) = new {
            *name = new.clone();
        }
    }
    written(&pieces)
}

/// What blank lines part is put in another order. Comments and strings stay whole.
fn moved(text: &str, random: &mut SplitMix64) -> String {
    let mut parts = vec![Vec::new()];
    for piece in scan(text) {
        let last = parts.len() - 1;
        let is_blank_line = piece == Piece::Line && parts[last].last() == Some(&Piece::Line);
        parts[last].push(piece);
        if is_blank_line {
            parts.push(Vec::new());
        }
    }
    for end in (1..parts.len()).rev() {
        parts.swap(end, random.below(end as u64 + 1) as usize);
    }
    parts.iter().map(|part| written(part)).collect()
}

/// All comments are gone, and before one line of six there is a new one.
fn commented(text: &str, random: &mut SplitMix64) -> String {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let mut pieces = Vec::new();
    let mut continued = false;
    for piece in scan(text) {
        let is_line = piece == Piece::Line;
        if !matches!(piece, Piece::Comment(_)) {
            pieces.push(piece.clone());
        }
        if is_line && !continued && random.below(6) == 0 {
            let new = (0..4 + random.below(6))
                .map(|_| words[random.below(words.len() as u64) as usize])
                .collect::<Vec<_>>()
                .join(" ");
            let new =
                if random.below(2) == 0 { format!("// {new}") } else { format!("/* {new} */") };
            pieces.extend([Piece::Comment(new), Piece::Line]);
        }
        continued = piece == Piece::Symbol('\\');
    }
    written(&pieces)
}

/// Other blanks around symbols, other indentation, other line breaks, but in directives.
fn reformatted(text: &str, random: &mut SplitMix64) -> String {
    let mut out = String::new();
    let mut at_start = true;
    let mut in_directive = false;
    let pieces = scan(text);
    for (place, piece) in pieces.iter().enumerate() {
        let next = pieces.get(place + 1);
        match piece {
            Piece::Symbol('#') if at_start => {
                in_directive = true;
                out.push('#');
            }
            Piece::Line => {
                in_directive &= place > 0 && pieces[place - 1] == Piece::Symbol('\\');
                out.push('\n');
            }
            Piece::Blank(_) if at_start => out.push_str("\t\t"),
            Piece::Symbol(c @ ('{' | '(' | ',' | '=' | ';')) if !in_directive => {
                // A symbol of two characters stays together.
                let before = place.checked_sub(1).map(|place| &pieces[place]);
                let parts = |piece: Option<&Piece>| !matches!(piece, Some(Piece::Symbol(_)));
                if parts(before) && parts(next) {
                    match (c, random.below(4)) {
                        ('{', 0 | 1) => out.push_str("\n\t{\n"),
                        (_, 0) => {
                            out.push(' ');
                            out.push(*c);
                        }
                        (_, 1) => {
                            out.push(*c);
                            out.push(' ');
                        }
                        _ => out.push(*c),
                    }
                } else {
                    out.push(*c);
                }
            }
            Piece::Blank(_)
                if !in_directive
                    && (matches!(next, Some(Piece::Symbol('=' | '+' | '(' | '{' | '<')))
                        && place > 0
                        && matches!(pieces[place - 1], Piece::Name(_))) => {}
            piece => out.push_str(&written(std::slice::from_ref(piece))),
        }
        at_start = *piece == Piece::Line || at_start && matches!(piece, Piece::Blank(_));
    }
    out
}

type Disguise = fn(&str, &mut SplitMix64) -> String;

const DISGUISES: [(&str, Disguise); 7] = [
    ("a tenth of the names renamed", |text, random| renamed(text, 10, random)),
    ("a third of the names renamed", |text, random| renamed(text, 33, random)),
    ("all names renamed", |text, random| renamed(text, 100, random)),
    ("parts moved", moved),
    ("other comments", commented),
    ("reformatted", reformatted),
    ("all of it, a tenth renamed", |text, random| {
        let text = renamed(&moved(text, random), 10, random);
        reformatted(&commented(&text, random), random)
    }),
];

fn files(path: &Path, extension: &str, found: &mut Vec<String>) -> std::io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            files(&path, extension, found)?;
        } else if path.extension().is_some_and(|of| of == extension)
            && let Ok(text) = std::fs::read_to_string(&path)
            && SIZES.contains(&text.len())
            && !found.contains(&text)
        {
            found.push(text);
        }
    }
    Ok(())
}

/// At most so many of them, drawn at random.
fn drawn(mut texts: Vec<String>, most: usize, random: &mut SplitMix64) -> Vec<String> {
    while texts.len() > most {
        let place = random.below(texts.len() as u64) as usize;
        texts.swap_remove(place);
    }
    texts
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, extension, rest @ ..] = &arguments[..] else {
        return Err("arguments: DIRECTORY EXTENSION [FILES [SEED]]".into());
    };
    let most: usize = rest.first().map_or(Ok(300), |files| files.parse())?;
    let seed: u64 = rest.get(1).map_or(Ok(1), |seed| seed.parse())?;
    let mut random = SplitMix64::new(seed);
    let mut texts = Vec::new();
    files(Path::new(directory), extension, &mut texts)?;
    let texts = drawn(texts, most, &mut random);
    let copies: Vec<Vec<String>> = DISGUISES
        .iter()
        .map(|(_, disguise)| texts.iter().map(|text| disguise(text, &mut random)).collect())
        .collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    println!("{} files, {} kB, seed {seed}\n", texts.len(), bytes / 1000);
    let names = DISGUISES.map(|(name, _)| name);
    println!("| config | at | {} | precision | pairs of files | MB/s |", names.join(" | "));
    println!("|---|---|{}---|---|---|", "---|".repeat(DISGUISES.len()));
    for json in CONFIGS {
        let config: Config = json.parse()?;
        let mut simhasher = Simhasher::new(near_recipe(&config))?;
        let mut set = |text: &String| ShingleSet::new(&mut simhasher, text, &mut || ());
        set(&texts[0]);
        let begin = Instant::now();
        let originals: Vec<ShingleSet> = texts.iter().map(&mut set).collect();
        let speed = bytes as f64 / 1e6 / begin.elapsed().as_secs_f64();
        let disguised: Vec<Vec<ShingleSet>> =
            copies.iter().map(|copies| copies.iter().map(&mut set).collect()).collect();
        // For each similarity: the copies that are found of each disguise, other files that are
        // found, and pairs of the files themselves.
        let mut found = [[0; DISGUISES.len()]; SIMILARITIES.len()];
        let mut wrong = [0; SIMILARITIES.len()];
        let mut pairs = [0; SIMILARITIES.len()];
        let each_near = |a: &ShingleSet, b: &ShingleSet, count: &mut dyn FnMut(usize)| {
            let similarity = a.jaccard_from(b, SIMILARITIES[0]).unwrap_or(0.0);
            (0..SIMILARITIES.len()).filter(|&at| similarity >= SIMILARITIES[at]).for_each(count);
        };
        for (disguise, copies) in disguised.iter().enumerate() {
            for (i, copy) in copies.iter().enumerate() {
                for (j, original) in originals.iter().enumerate() {
                    each_near(copy, original, &mut |at| match i == j {
                        true => found[at][disguise] += 1,
                        false => wrong[at] += 1,
                    });
                }
            }
        }
        for (i, a) in originals.iter().enumerate() {
            originals[..i].iter().for_each(|b| each_near(a, b, &mut |at| pairs[at] += 1));
        }
        for (at, similarity) in SIMILARITIES.iter().enumerate() {
            let share = |count: usize| format!("{:.3}", count as f64 / texts.len() as f64);
            let (recalls, pairs) = (found[at].map(share).join(" | "), pairs[at]);
            let right: usize = found[at].iter().sum();
            let precision = right as f64 / (right + wrong[at]).max(1) as f64;
            println!(
                "| `{json}` | {similarity} | {recalls} | {precision:.3} | {pairs} | {speed:.0} |"
            );
        }
    }
    Ok(())
}
