//! What the server of a part says of it: how its index makes keys, which rows have keys, the keys,
//! and what is made of texts. Numbers are sent with their least byte first.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::base::hash::feature_hash;
use simhash_core::config::Numbers;
use simhash_core::sets::shingles::ShingleSet;
use simhash_index::{Family, Posting};

use super::super::postings::{Bands, each_posting};
use super::super::rows::{Reader, rows_with_keys};
use crate::am::texts::Recipe;
use crate::bulk::order::find_roots;
use crate::bulk::row;
use crate::bulk::session::open_all;
use crate::bulk::target::{Content, Target};
use crate::call::interrupts;
use crate::error::raise;
use crate::storage::{check_for_interrupts, family};

/// A message ends behind so many bytes.
const MESSAGE: usize = 1 << 20;
/// The bytes of a TID in a message.
pub const TID: usize = 6;
/// The bytes of a posting in a message.
pub const POSTING: usize = 4 + TID;

/// An index of texts of one table, without scopes.
fn part(index: pg_sys::Oid) -> Target {
    let target = Target::new(index, Content::Texts);
    let opened = target.open();
    let is_plain =
        target.sources.len() == 1 && opened.iter().all(|one| family(one.rel()) == Family::Postings);
    drop(opened);
    if !is_plain {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "a part's index is of several tables, or within other columns".to_owned(),
            "Over servers each part is one table, with an index of its texts alone.",
        )
    }
    target
}

/// All that decides which keys and sets an index has of a text, in lines.
pub fn recipe(index: pg_sys::Oid) -> String {
    let target = part(index);
    let opened = target.open();
    let described = opened.first().map(|one| {
        let recipe = Recipe::of(one.rel());
        format!("{}\n{}", recipe.similarity, recipe.note())
    });
    drop(opened);
    described.unwrap_or_default()
}

/// The TIDs of all rows with keys, ascending.
pub fn rows(index: pg_sys::Oid) -> Vec<Vec<u8>> {
    let target = part(index);
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
    let target = part(index);
    let mut numbers: Vec<u64> = tids(versions).collect();
    find_roots(&target, &mut numbers);
    numbers.iter().flat_map(|&number| tid_bytes(row::tid(number))).collect()
}

/// The postings of the first so many bands whose bits are in a range: the bits, and a TID, in the
/// order of bits.
pub fn keys(index: pg_sys::Oid, bands: usize, range: (u32, Option<u32>)) -> Vec<Vec<u8>> {
    let target = part(index);
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
    let target = part(index);
    let opened = target.open();
    let Some(one) = opened.first() else { return Vec::new() };
    let recipe = Recipe::of(one.rel());
    let recipe = numbers.map_or(recipe.clone(), |numbers| recipe.with_numbers(numbers));
    // SAFETY: the index is open.
    let mut simhasher = unsafe { recipe.simhasher(one.rel()) };
    // SAFETY: the relations are open while it is used.
    let mut reader = unsafe { Reader::new(one) };
    let (mut messages, mut message) = (Vec::new(), Vec::new());
    for tid in tids(roots) {
        check_for_interrupts();
        let visible = reader.visible(tid);
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

fn tid_bytes(tid: u64) -> [u8; TID] {
    let [a, b, c, d, e, f, ..] = tid.to_le_bytes();
    [a, b, c, d, e, f]
}

/// The TIDs of a message.
pub fn tids(message: &[u8]) -> impl Iterator<Item = u64> + '_ {
    message
        .as_chunks::<TID>()
        .0
        .iter()
        .map(|&[a, b, c, d, e, f]| u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
}

fn add_set(set: &ShingleSet, message: &mut Vec<u8>) {
    message.extend((set.len() as u32).to_le_bytes());
    message.extend((set.weights().len() as u32).to_le_bytes());
    message.extend(set.numbers().to_le_bytes());
    message.extend(set.hashes().iter().flat_map(|hash| hash.to_le_bytes()));
    message.extend(set.weights().iter().flat_map(|weight| weight.to_le_bytes()));
}

/// The set that a message begins with, and what follows it. `None` if it is none.
pub fn set(message: &[u8]) -> Option<(ShingleSet, &[u8])> {
    let (hashes, rest) = message.split_first_chunk()?;
    let (weights, rest) = rest.split_first_chunk()?;
    let (numbers, rest) = rest.split_first_chunk()?;
    let length = |count: [u8; 4], size: usize| u32::from_le_bytes(count) as usize * size;
    let (hashes, rest) = rest.split_at_checked(length(*hashes, size_of::<u64>()))?;
    let (weights, rest) = rest.split_at_checked(length(*weights, size_of::<u32>()))?;
    let hashes = hashes.as_chunks().0.iter().copied().map(u64::from_le_bytes);
    let weights = weights.as_chunks().0.iter().copied().map(u32::from_le_bytes);
    let set = ShingleSet::from_parts(hashes, weights, u64::from_le_bytes(*numbers))?;
    Some((set, rest))
}

/// TIDs as a message has them.
pub fn message_of(tids: impl Iterator<Item = u64>) -> Vec<u8> {
    tids.flat_map(tid_bytes).collect()
}
