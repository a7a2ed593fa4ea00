//! What the server of a part says of it: how its index makes keys, which rows have keys, the keys,
//! and what is made of texts; or the fingerprints.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::base::hash::feature_hash;
use simhash_core::config::Numbers;
use simhash_core::search::TreeKey;
use simhash_core::sets::shingles::ShingleSet;
use simhash_index::{Family, Posting};

use super::super::errors::raise_is_of_texts;
use super::super::fingerprints::Rows;
use super::messages::{POSTING, TID, add_set, tid_bytes, tids, words_of};
use crate::am::opened::Opened;
use crate::am::texts::Recipe;
use crate::bulk::order::find_roots;
use crate::bulk::row;
use crate::bulk::session::open_all;
use crate::bulk::target::{Content, Target, bits};
use crate::bulk::texts::postings::{Bands, each_posting};
use crate::bulk::texts::rows::{Reader, rows_with_keys};
use crate::call::interrupts;
use crate::error::raise;
use crate::storage::{self, check_for_interrupts, family, with_block_key_type};
use crate::types::tid;

/// A message ends behind so many bytes.
const MESSAGE: usize = 1 << 20;

/// An index of one table, without scopes.
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
            "a part's index is of several tables, or has other columns".to_owned(),
            "Over servers each part is one table, with an index of its texts or fingerprints \
             alone.",
        )
    }
    target
}

/// All that decides which keys and sets an index has of a text, in lines; or of fingerprints the
/// width.
pub fn recipe(index: pg_sys::Oid, is_of_texts: bool) -> String {
    let target = part(index, if is_of_texts { Content::Texts } else { Content::Fingerprints });
    let opened = target.open();
    let described = opened.first().map(|one| {
        if !is_of_texts {
            return bits(one).to_string();
        }
        let recipe = Recipe::of(one.rel());
        format!("{}\n{}", recipe.similarity, recipe.note())
    });
    drop(opened);
    described.unwrap_or_default()
}

/// The TIDs and fingerprints of all visible rows that have one, in the order of their TIDs.
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

/// The TIDs of all rows with keys, ascending.
pub fn rows(index: pg_sys::Oid) -> Vec<Vec<u8>> {
    let target = part(index, Content::Texts);
    let opened = target.open();
    let numbers = rows_with_keys(&opened, 0, 1);
    drop(opened);
    let messages = numbers.chunks(MESSAGE / TID).map(|some| {
        check_for_interrupts();
        some.iter().flat_map(|&number| tid_bytes(row::tid(number))).collect()
    });
    messages.collect()
}

/// The roots of the chains of versions, in the order of the versions.
pub fn roots(index: pg_sys::Oid, versions: &[u8]) -> Vec<u8> {
    let target = part(index, Content::Texts);
    let mut numbers: Vec<u64> = tids(versions).collect();
    find_roots(&target, &mut numbers);
    numbers.iter().flat_map(|&number| tid_bytes(row::tid(number))).collect()
}

/// The postings of the first so many bands whose bits are in a range: the bits, and a TID, in the
/// order of bits.
pub fn keys(index: pg_sys::Oid, bands: usize, range: (u32, Option<u32>)) -> Vec<Vec<u8>> {
    let target = part(index, Content::Texts);
    let opened = target.open();
    let mut messages = vec![Vec::new()];
    for index in open_all::<Posting>(&opened) {
        let layout = Recipe::of(index.store).layout();
        each_posting(&index, range, Bands { layout, count: bands }, |bits, tid| {
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

/// For each row, by the root of its chain: the visible version, or 0 if there is none, or no text;
/// a hash of the text; and with `with_sets` its set of shingles. Which numbers must agree is what
/// the index says, if it is not given.
pub fn texts(
    index: pg_sys::Oid,
    roots: &[u8],
    with_sets: bool,
    numbers: Option<Numbers>,
) -> Vec<Vec<u8>> {
    let target = part(index, Content::Texts);
    let opened = target.open();
    let Some(one) = opened.first() else { return Vec::new() };
    let recipe = Recipe::of(one.rel());
    let recipe = numbers.map_or(recipe.clone(), |numbers| recipe.with_numbers(numbers));
    // SAFETY: the index is open.
    let mut simhasher = unsafe { recipe.simhasher(one.rel()) };
    // SAFETY: the relations are open while it is used.
    let mut reader = unsafe { Reader::new(one) };
    let (mut messages, mut message) = (Vec::new(), Vec::new());
    let mut pages = 0;
    for tid in tids(roots) {
        check_for_interrupts();
        if tid::parts(tid).0 >= pages {
            // SAFETY: the heap is open.
            pages = unsafe {
                let main = pg_sys::ForkNumber::MAIN_FORKNUM;
                pg_sys::RelationGetNumberOfBlocksInFork(one.heap, main)
            };
        }
        // What lay behind the end when keys were read is gone.
        let is_there = tid::parts(tid).0 < pages;
        let visible = if is_there { reader.visible(tid) } else { None };
        // SAFETY: the row is in its slot.
        let read = visible.and_then(|visible| unsafe {
            reader.with_text(|text| {
                let digest = feature_hash::<u128>(text.as_bytes());
                let set =
                    with_sets.then(|| ShingleSet::new(&mut simhasher, text, &mut interrupts()));
                (visible, digest, set)
            })
        });
        match read {
            Some((visible, digest, set)) => {
                message.extend(tid_bytes(visible));
                message.extend(digest.to_le_bytes());
                set.iter().for_each(|set| add_set(set, &mut message));
            }
            None => message.extend(tid_bytes(0)),
        }
        if message.len() >= MESSAGE {
            messages.push(std::mem::take(&mut message));
        }
    }
    messages.push(message);
    messages
}
