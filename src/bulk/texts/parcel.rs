//! The messages between the leader and its workers: texts, and the sets made of them.
//!
//! A message is the number of a round, then for each row its number, the count of bytes or hashes
//! that follow, and these. Before the hashes comes a `u64` for the numbers in the text. Numbers and
//! counts are `u32`, hashes `u64`, all in native byte order.

use simhash_core::sets::shingles::ShingleSet;

use crate::encoding;

/// Begins a message.
pub fn begin(round: u32, message: &mut Vec<u8>) {
    message.clear();
    message.extend(round.to_ne_bytes());
}

/// Whether a message has no rows.
pub fn is_empty(message: &[u8]) -> bool {
    message.len() <= size_of::<u32>()
}

/// Adds a row's text. PostgreSQL's values are shorter than 1 GB.
pub fn add_text(row: u32, text: &str, message: &mut Vec<u8>) {
    message.extend(row.to_ne_bytes());
    message.extend((text.len() as u32).to_ne_bytes());
    message.extend(text.as_bytes());
}

/// Adds a row's set, whose shingles all weigh the same: workers have no models.
pub fn add_set(row: u32, set: &ShingleSet, message: &mut Vec<u8>) {
    message.extend(row.to_ne_bytes());
    message.extend((set.len() as u32).to_ne_bytes());
    message.extend(set.numbers().to_ne_bytes());
    message.extend(set.hashes().iter().flat_map(|hash| hash.to_ne_bytes()));
}

/// The number of the round, and what follows it. `None` if the message is malformed.
pub fn round(message: &[u8]) -> Option<(u32, &[u8])> {
    number(message)
}

/// The next row and its text, and what follows them. `None` if the message is malformed.
pub fn text(message: &[u8]) -> Option<(u32, &str, &[u8])> {
    let (row, rest) = number(message)?;
    let (length, rest) = number(rest)?;
    let (text, rest) = rest.split_at_checked(length as usize)?;
    Some((row, encoding::utf8(text).ok()?, rest))
}

/// The next row and its set, and what follows them. `None` if the message is malformed.
pub fn set(message: &[u8]) -> Option<(u32, ShingleSet, &[u8])> {
    let (row, rest) = number(message)?;
    let (count, rest) = number(rest)?;
    let (numbers, rest) = rest.split_first_chunk()?;
    let numbers = u64::from_ne_bytes(*numbers);
    let (hashes, rest) = rest.split_at_checked(count as usize * size_of::<u64>())?;
    let (hashes, []) = hashes.as_chunks() else { return None };
    let hashes = hashes.iter().copied().map(u64::from_ne_bytes);
    let set = ShingleSet::from_parts(hashes, [], numbers)?;
    Some((row, set, rest))
}

fn number(message: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = message.split_first_chunk()?;
    Some((u32::from_ne_bytes(*number), rest))
}
