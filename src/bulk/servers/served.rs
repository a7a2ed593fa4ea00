//! The answers of a part's server: how its index makes keys, which rows have keys, the keys, what
//! is made of texts (sets of shingles or tokens), and the fingerprints.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::base::hash::feature_hash;
use simhash_core::config::Numbers;
use simhash_core::search::TreeKey;
use simhash_core::sets::shingles::ShingleSet;
use simhash_index::postings::Presence;
use simhash_index::{Family, Posting};

use super::super::errors::raise_is_of_texts;
use super::super::fingerprints::Rows;
use super::messages::{POSTING, TID, add_set, add_tokens, tid_bytes, tids, words_of};
use crate::am::kind::Kind;
use crate::am::opened::Opened;
use crate::am::passages::PassageRecipe;
use crate::am::texts::Recipe;
use crate::bulk::heap::heap_pages;
use crate::bulk::order::find_roots;
use crate::bulk::row;
use crate::bulk::session::open_all;
use crate::bulk::target::{Content, Target, bits};
use crate::bulk::texts::postings::{Bands, each_posting};
use crate::bulk::texts::rows::{Reader, rows_of};
use crate::call::interrupts;
use crate::error::raise;
use crate::storage::{self, check_for_interrupts, family, with_block_key_type};
use crate::types::tid;

/// About how many bytes a message has at most.
const MESSAGE: usize = 1 << 20;

/// The target of an index on one table, without scopes. Raises 0A000 for any other.
fn part(index: pg_sys::Oid, content: Content) -> Target {
    let target = Target::new(index, content);
    let opened = target.open();
    let is_alone = |one: &Opened| match content {
        Content::Fingerprints => storage::meta(one.rel()).scope == 0,
        _ => family(one.rel()) == Family::Postings,
    };
    let is_plain = target.sources.len() == 1 && opened.iter().all(is_alone);
    drop(opened);
    if !is_plain {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "index of a part covers several tables or has other columns".to_owned(),
            "Each part must be one table with an index on its texts or fingerprints alone.",
        )
    }
    target
}

/// Whether an index is of texts or of passages.
fn content_of(index: pg_sys::Oid) -> Content {
    let opened = Opened::new(index, pg_sys::AccessShareLock);
    // SAFETY: the index is open.
    let kind = unsafe { Kind::of_index(opened.index) };
    if kind == Kind::Passages { Content::Passages } else { Content::Texts }
}

/// The target of an index of texts or passages.
fn part_of_texts(index: pg_sys::Oid) -> Target {
    part(index, content_of(index))
}

/// All that decides which keys, sets or tokens an index has of a text, in lines; for fingerprints,
/// their width. Raises an ERROR for an index of something else.
pub fn recipe(index: pg_sys::Oid, content: &str) -> String {
    let content = match content {
        "texts" => Content::Texts,
        "passages" => Content::Passages,
        _ => Content::Fingerprints,
    };
    let target = part(index, content);
    let opened = target.open();
    let described = opened.first().map(|one| match content {
        Content::Texts => {
            let recipe = Recipe::of(one.rel());
            format!("{}\n{}", recipe.similarity, recipe.note())
        }
        Content::Passages => {
            let recipe = PassageRecipe::of(one.rel());
            format!("{}\n{}", recipe.words, recipe.note())
        }
        Content::Fingerprints => bits(one).to_string(),
    });
    drop(opened);
    described.unwrap_or_default()
}

/// The TIDs and fingerprints of all visible rows that have one, ordered by the roots of their HOT
/// chains.
pub fn fingerprints(index: pg_sys::Oid) -> Vec<Vec<u8>> {
    let target = part(index, Content::Fingerprints);
    let opened = target.open();
    let Some(first) = opened.first() else { return Vec::new() };
    let mut messages = vec![Vec::new()];
    with_block_key_type!(family(first.rel()), K => {
        let indexes = open_all::<K>(&opened);
        let rows = Rows::<K>::read(&opened, &indexes, None, None);
        for (key, visible) in rows.keys.iter().zip(&rows.visible) {
            if messages.last().is_none_or(|last| last.len() >= MESSAGE) {
                check_for_interrupts();
                messages.push(Vec::new());
            }
            if let Some(last) = messages.last_mut() {
                last.extend(tid_bytes(row::tid(*visible)));
                let fingerprint = key.fingerprint();
                let words = 0..words_of::<<K as TreeKey>::Fingerprint>();
                last.extend(words.flat_map(|word| fingerprint.word(word).to_le_bytes()));
            }
        }
    }, raise_is_of_texts(&first.rel().name()));
    messages
}

/// The TIDs of all rows that have keys, or of those that have none, ascending.
pub fn rows(index: pg_sys::Oid, with_keys: bool) -> Vec<Vec<u8>> {
    let target = part_of_texts(index);
    let opened = target.open();
    let presence = if with_keys { Presence::Keys } else { Presence::Empty };
    let numbers = rows_of(&opened, presence, 0, 1);
    drop(opened);
    let messages = numbers.chunks(MESSAGE / TID).map(|some| {
        check_for_interrupts();
        some.iter().flat_map(|&number| tid_bytes(row::tid(number))).collect()
    });
    messages.collect()
}

/// The roots of these versions' HOT chains, in the same order.
pub fn roots(index: pg_sys::Oid, versions: &[u8]) -> Vec<u8> {
    let target = part_of_texts(index);
    let mut numbers: Vec<u64> = tids(versions).collect();
    find_roots(&target, &mut numbers);
    numbers.iter().flat_map(|&number| tid_bytes(row::tid(number))).collect()
}

/// The postings with bits in a range: their bits and TIDs, in the order of the bits. For texts,
/// only those of the first so many bands.
pub fn keys(index: pg_sys::Oid, bands: usize, range: (u32, Option<u32>)) -> Vec<Vec<u8>> {
    let content = content_of(index);
    let target = part(index, content);
    let opened = target.open();
    let mut messages = vec![Vec::new()];
    for index in open_all::<Posting>(&opened) {
        let of_texts = || Bands { layout: Recipe::of(index.store).layout(), count: bands };
        let bands = (content == Content::Texts).then(of_texts);
        each_posting(&index, range, bands, |bits, tid| {
            if messages.last().is_none_or(|last| last.len() + POSTING > MESSAGE) {
                messages.push(Vec::with_capacity(MESSAGE));
            }
            if let Some(last) = messages.last_mut() {
                last.extend(bits.to_le_bytes());
                last.extend(tid_bytes(tid));
            }
        });
    }
    messages
}

/// The rows of a part, by the roots of their HOT chains.
struct Roots<'a> {
    one: &'a Opened,
    reader: Reader<'a>,
    pages: u32,
}

impl<'a> Roots<'a> {
    fn new(one: &'a Opened) -> Self {
        Self { one, reader: Reader::new(one), pages: 0 }
    }

    /// Calls `read` with a row's visible version and its text. `None` if there is none.
    fn with_text<T>(&mut self, root: u64, read: impl FnOnce(u64, &str) -> T) -> Option<T> {
        check_for_interrupts();
        if tid::parts(root).0 >= self.pages {
            self.pages = heap_pages(self.one);
        }
        // If the heap ends before the row's page, the row was removed after its keys were read.
        let is_there = tid::parts(root).0 < self.pages;
        let visible = if is_there { self.reader.visible(root) } else { None }?;
        self.reader.with_text(|text| read(visible, text))
    }
}

/// The answer about rows: about `most` bytes at most, but one row at least.
struct Answer {
    messages: Vec<Vec<u8>>,
    last: Vec<u8>,
    bytes: usize,
    most: usize,
}

impl Answer {
    /// Called after each row. Whether there is no room for another one; if there is, begins a new
    /// message when the last one is full.
    fn is_full(&mut self) -> bool {
        if self.bytes + self.last.len() >= self.most {
            return true;
        }
        if self.last.len() >= MESSAGE {
            self.bytes += self.last.len();
            self.messages.push(std::mem::take(&mut self.last));
        }
        false
    }

    fn finish(mut self) -> Vec<Vec<u8>> {
        self.messages.push(self.last);
        self.messages
    }
}

/// For each row, by the root of its HOT chain: the visible version, or 0 if there is none or it has
/// no text; a hash of the text; and with `with_sets` its set of shingles. `numbers` overrides the
/// index's rule of which numbers in texts must agree. After `most` bytes, the other rows are left
/// out.
pub fn texts(
    index: pg_sys::Oid,
    roots: &[u8],
    with_sets: bool,
    numbers: Option<Numbers>,
    most: usize,
) -> Vec<Vec<u8>> {
    let target = if with_sets { part(index, Content::Texts) } else { part_of_texts(index) };
    let opened = target.open();
    let Some(one) = opened.first() else { return Vec::new() };
    let mut simhasher = with_sets.then(|| {
        let recipe = Recipe::of(one.rel());
        let recipe = numbers.map_or(recipe.clone(), |numbers| recipe.with_numbers(numbers));
        // SAFETY: the index is open.
        unsafe { recipe.simhasher(one.rel()) }
    });
    let mut rows = Roots::new(one);
    let mut answer = Answer { messages: Vec::new(), last: Vec::new(), bytes: 0, most };
    for root in tids(roots) {
        let read = rows.with_text(root, |visible, text| {
            let digest = feature_hash::<u128>(text.as_bytes());
            let set = simhasher.as_mut().map(|by| ShingleSet::new(by, text, &mut interrupts()));
            (visible, digest, set)
        });
        match read {
            Some((visible, digest, set)) => {
                answer.last.extend(tid_bytes(visible));
                answer.last.extend(digest.to_le_bytes());
                set.iter().for_each(|set| add_set(set, &mut answer.last));
            }
            None => answer.last.extend(tid_bytes(0)),
        }
        if answer.is_full() {
            break;
        }
    }
    answer.finish()
}

/// For each row, as in [`texts`]: the visible version, or 0, and the tokens that passages are made
/// of. After `most` bytes, the other rows are left out.
pub fn tokens(index: pg_sys::Oid, roots: &[u8], most: usize) -> Vec<Vec<u8>> {
    let target = part(index, Content::Passages);
    let opened = target.open();
    let Some(one) = opened.first() else { return Vec::new() };
    // SAFETY: the index is open.
    let mut simhasher = unsafe { PassageRecipe::of(one.rel()).simhasher(one.rel()) };
    let mut rows = Roots::new(one);
    let mut answer = Answer { messages: Vec::new(), last: Vec::new(), bytes: 0, most };
    for root in tids(roots) {
        let read = rows.with_text(root, |visible, text| {
            answer.last.extend(tid_bytes(visible));
            add_tokens(&mut answer.last, |sink| {
                simhasher.for_each_token(text, &mut interrupts(), sink);
            });
        });
        if read.is_none() {
            answer.last.extend(tid_bytes(0));
        }
        if answer.is_full() {
            break;
        }
    }
    answer.finish()
}
