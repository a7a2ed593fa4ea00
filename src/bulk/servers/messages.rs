//! The format of messages between the servers of parts: TIDs, postings, fingerprints, sets of
//! shingles, tokens. Numbers are little-endian.

use std::collections::HashMap;

use pgrx::PgSqlErrorCode;
use simhash_core::Fingerprint;
use simhash_core::sets::shingles::ShingleSet;

use crate::bulk::row;
use crate::error::raise;
use crate::types::tid;

/// The bytes of a TID in a message.
pub const TID: usize = 6;
/// The bytes of a posting in a message.
pub const POSTING: usize = 4 + TID;

/// The 64-bit words of a fingerprint in a message.
pub const fn words_of<F: Fingerprint>() -> usize {
    F::BITS as usize / 64
}

/// The TIDs and fingerprints of a message.
pub fn fingerprints_of<F: Fingerprint>(message: &[u8]) -> impl Iterator<Item = (u64, F)> + '_ {
    message.chunks(TID + 8 * words_of::<F>()).map(|one| {
        let (tid, words) = expect(one.split_at_checked(TID));
        expect((words.len() == 8 * words_of::<F>()).then_some(()));
        let words = words.as_chunks().0;
        (expect(tids(tid).next()), F::from_words(|word| u64::from_le_bytes(words[word])))
    })
}

/// The content of a message. Raises 08P01 if the message is malformed.
pub fn expect<T>(message: Option<T>) -> T {
    message.unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_PROTOCOL_VIOLATION,
            "server of a part sent an invalid message".to_owned(),
            "Use the same version of pg_simhash on all servers.",
        )
    })
}

pub fn tid_bytes(tid: u64) -> [u8; TID] {
    let [a, b, c, d, e, f, ..] = tid.to_le_bytes();
    [a, b, c, d, e, f]
}

/// The TIDs of a message.
pub fn tids(message: &[u8]) -> impl Iterator<Item = u64> + '_ {
    let (tids, rest) = message.as_chunks::<TID>();
    expect(rest.is_empty().then_some(()));
    tids.iter().map(|&[a, b, c, d, e, f]| u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
}

pub fn add_set(set: &ShingleSet, message: &mut Vec<u8>) {
    message.extend((set.len() as u32).to_le_bytes());
    message.extend((set.weights().len() as u32).to_le_bytes());
    message.extend(set.numbers().to_le_bytes());
    message.extend(set.hashes().iter().flat_map(|hash| hash.to_le_bytes()));
    message.extend(set.weights().iter().flat_map(|weight| weight.to_le_bytes()));
}

/// The set that a message begins with, and what follows it. `None` if the message is malformed.
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

/// Adds the tokens that `each` passes to its sink: the number of their bytes, then each token with
/// a NUL behind it. No token has a NUL.
pub fn add_tokens(message: &mut Vec<u8>, each: impl FnOnce(&mut dyn FnMut(&str))) {
    let start = message.len();
    message.extend(0u64.to_le_bytes());
    each(&mut |token| {
        message.extend(token.as_bytes());
        message.push(0);
    });
    let length = (message.len() - start - size_of::<u64>()) as u64;
    message[start..start + size_of::<u64>()].copy_from_slice(&length.to_le_bytes());
}

/// The tokens that a message begins with, and what follows them. `None` if it is malformed.
pub fn tokens(message: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = message.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (tokens, rest) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(tokens).ok()?, rest))
}

/// A message of TIDs.
pub fn message_of(tids: impl Iterator<Item = u64>) -> Vec<u8> {
    tids.flat_map(tid_bytes).collect()
}

/// The postings of a message: bits of a key, and a TID.
pub fn postings(message: &[u8]) -> impl Iterator<Item = (u32, u64)> + '_ {
    let (postings, rest) = message.as_chunks::<POSTING>();
    expect(rest.is_empty().then_some(()));
    postings.iter().map(|&[a, b, c, d, ref tid @ ..]| {
        (u32::from_le_bytes([a, b, c, d]), tids(tid).next().unwrap_or_default())
    })
}

/// More than the line pointers that fit on a page of 32 kB.
const MOST_OFFSETS: u16 = 1 << 13;

/// Raises an ERROR for rows that no table can have: their places would need memory without limit.
/// `all` are numbers of rows, and the places may take `bytes` bytes.
pub fn expect_tids(all: &[u64], bytes: usize) {
    let mut last: HashMap<usize, usize> = HashMap::new();
    for &number in all {
        let (page, offset) = tid::parts(row::tid(number));
        expect((1..MOST_OFFSETS).contains(&offset).then_some(()));
        let last = last.entry(row::table(number)).or_default();
        *last = (*last).max(page as usize);
    }
    // Even a page without rows takes 8 bytes.
    let needed: usize = last.values().map(|page| (page + 2) * size_of::<u64>()).sum();
    if needed > bytes {
        raise(
            PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
            format!("the pages of the tables need {needed} bytes on this server"),
            "Raise simhash.work_mem.",
        )
    }
}
