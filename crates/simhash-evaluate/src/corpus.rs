//! Labelled texts: JSON lines in xz files, and seeded samples of them that keep groups whole.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use lzma_rust2::{XzOptions, XzReader, XzWriter};
use serde::Serialize;
use serde_json::Value;

use crate::random::Random;

/// The seed of all randomness: samples, edits, resamples.
pub const SEED: u64 = 20_240_601;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Language {
    Chinese,
    English,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Length {
    Long,
    Short,
}

/// A corpus that the evaluation knows.
#[derive(Debug)]
pub struct Source {
    pub name: &'static str,
    pub language: Language,
    pub length: Length,
    /// How many of its documents lie below evaluate/corpora. `None`: it is not shipped, and is read
    /// from the directory given, if it is there.
    pub shipped: Option<usize>,
    /// At most this many documents are tested.
    pub tested: usize,
    /// At most this many others train the models.
    pub trained: usize,
}

const fn source(
    name: &'static str,
    (language, length): (Language, Length),
    shipped: Option<usize>,
    (tested, trained): (usize, usize),
) -> Source {
    Source { name, language, length, shipped, tested, trained }
}

use {Language::*, Length::*};

pub const SOURCES: [Source; 7] = [
    source("zh_articles_revisions", (Chinese, Long), None, (1250, 400)),
    source("zh_laws", (Chinese, Long), Some(1000), (750, 250)),
    source("en_licenses", (English, Long), Some(usize::MAX), (2000, 700)),
    source("zh_questions_edits", (Chinese, Short), None, (4000, 20_000)),
    source("zh_verses", (Chinese, Short), Some(10_000), (4000, 4000)),
    source("en_verses", (English, Short), Some(10_000), (4000, 6000)),
    source("en_descriptions", (English, Short), Some(3000), (2000, 1000)),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Documents of one group are of one origin. Groups are numbered from 0.
    pub group: u32,
    pub text: String,
}

/// Reads a corpus. The origin of a document is its `group`, or else its `source`.
pub fn read(path: &Path) -> Result<Vec<Document>, Box<dyn Error>> {
    let mut groups: HashMap<String, u32> = HashMap::new();
    let mut documents = Vec::new();
    for line in lines(path)? {
        let value: Value = serde_json::from_str(&line?)?;
        let text = value["text"].as_str().ok_or("a line without \"text\"")?;
        let origin = value["group"]
            .as_str()
            .or_else(|| value["source"].as_str())
            .ok_or("a line without \"group\"")?;
        let next = groups.len() as u32;
        let group = *groups.entry(origin.to_owned()).or_insert(next);
        documents.push(Document { group, text: text.to_owned() });
    }
    Ok(documents)
}

fn lines(path: &Path) -> Result<impl Iterator<Item = std::io::Result<String>>, Box<dyn Error>> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(BufReader::new(XzReader::new(BufReader::new(file), true)).lines())
}

/// Numbers of documents, by group: groups of several documents first, then the others, each in
/// random order.
fn by_group(groups: &[u32], random: &mut Random) -> Vec<Vec<usize>> {
    let mut members: Vec<Vec<usize>> =
        vec![Vec::new(); groups.iter().map(|&group| group as usize + 1).max().unwrap_or(0)];
    groups.iter().enumerate().for_each(|(document, &group)| members[group as usize].push(document));
    members.retain(|members| !members.is_empty());
    random.shuffle(&mut members);
    members.sort_by_key(|members| members.len() == 1);
    members
}

/// Takes groups from the front of `queue` while at most `most` documents are taken.
fn take_groups(queue: &mut std::vec::IntoIter<Vec<usize>>, most: usize) -> Vec<usize> {
    let mut taken = Vec::new();
    while let Some(members) = queue.as_slice().first() {
        if taken.len() + members.len() > most {
            break;
        }
        taken.extend(queue.next().unwrap_or_default());
    }
    taken
}

/// Texts to test, and others to train models on. No group is in both. Groups of several documents
/// are tested first, and whole. Of a group larger than [`LARGEST_GROUP`], only that many documents
/// count: its pairs would outweigh all others. At least a quarter of the documents is left for
/// training.
#[derive(Debug)]
pub struct Split {
    pub tested: Vec<Document>,
    pub training: Vec<Document>,
}

const LARGEST_GROUP: usize = 8;

pub fn split(documents: &[Document], tested: usize, trained: usize, seed: u64) -> Split {
    let groups: Vec<u32> = documents.iter().map(|document| document.group).collect();
    let mut members = by_group(&groups, &mut Random::new(seed, "split"));
    members.iter_mut().for_each(|members| members.truncate(LARGEST_GROUP));
    let usable: usize = members.iter().map(Vec::len).sum();
    let mut queue = members.into_iter();
    let tested = take_groups(&mut queue, tested.min(usable / 4 * 3));
    let training = take_groups(&mut queue, trained);
    Split { tested: renumbered(documents, &tested), training: renumbered(documents, &training) }
}

/// The documents, with groups numbered from 0 in order of appearance.
fn renumbered(documents: &[Document], numbers: &[usize]) -> Vec<Document> {
    let mut groups: HashMap<u32, u32> = HashMap::new();
    numbers
        .iter()
        .map(|&number| {
            let next = groups.len() as u32;
            let group = *groups.entry(documents[number].group).or_insert(next);
            Document { group, text: documents[number].text.clone() }
        })
        .collect()
}

/// Writes a sample of at most `most` documents: their whole lines, in the order of the corpus.
pub fn write_sample(from: &Path, to: &Path, most: usize) -> Result<usize, Box<dyn Error>> {
    let lines = lines(from)?.collect::<Result<Vec<String>, _>>()?;
    let groups: Vec<u32> = read(from)?.iter().map(|document| document.group).collect();
    let mut queue = by_group(&groups, &mut Random::new(SEED, "sample")).into_iter();
    let mut taken = take_groups(&mut queue, most);
    taken.sort_unstable();
    let mut writer = XzWriter::new(File::create(to)?, XzOptions::with_preset(9))?;
    for &number in &taken {
        writeln!(writer, "{}", lines[number])?;
    }
    writer.finish()?;
    Ok(taken.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn documents() -> Vec<Document> {
        // Group sizes 1, 2, 3, 1, 2, 3, ...
        (0..60u32)
            .flat_map(|group| {
                (0..=group % 3).map(move |i| Document { group, text: format!("{group} {i}") })
            })
            .collect()
    }

    fn origins(documents: &[Document]) -> Vec<String> {
        documents.iter().map(|d| d.text.split(' ').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_split_keeps_groups_whole_and_apart() {
        let all = documents();
        let split = split(&all, 70, 30, 5);
        assert!(split.tested.len() <= 70 && split.tested.len() >= 68);
        assert!(split.training.len() <= 30 && split.training.len() >= 28);
        let size = |origin: &str| origins(&all).iter().filter(|&other| other == origin).count();
        for part in [&split.tested, &split.training] {
            let origins = origins(part);
            for origin in &origins {
                assert_eq!(origins.iter().filter(|&other| other == origin).count(), size(origin));
            }
            // Equal numbers of groups mean equal origins.
            let pairs: HashSet<(u32, &String)> =
                part.iter().map(|d| d.group).zip(&origins).collect();
            assert_eq!(pairs.len(), origins.iter().collect::<HashSet<_>>().len());
        }
        let tested: HashSet<String> = origins(&split.tested).into_iter().collect();
        assert!(origins(&split.training).iter().all(|origin| !tested.contains(origin)));
        assert!(
            split.tested.iter().all(|d| size(d.text.split(' ').next().unwrap()) > 1),
            "groups of several first"
        );
    }

    #[test]
    fn a_split_depends_on_the_seed_only() {
        let all = documents();
        assert_eq!(split(&all, 40, 20, 1).tested, split(&all, 40, 20, 1).tested);
        assert_ne!(split(&all, 40, 20, 1).tested, split(&all, 40, 20, 2).tested);
    }

    #[test]
    fn a_quarter_is_left_for_training() {
        let split = split(&documents(), 1000, 1000, 1);
        assert_eq!(split.tested.len() + split.training.len(), 120);
        assert!(split.training.len() >= 30);
        // The quarter is of the documents that count, not of all.
        let one_group: Vec<Document> = (0..100)
            .map(|i| Document { group: u32::from(i >= 90) * i, text: i.to_string() })
            .collect();
        let split = super::split(&one_group, 1000, 1000, 1);
        assert_eq!((split.tested.len(), split.training.len()), (LARGEST_GROUP + 4, 6));
    }
}
