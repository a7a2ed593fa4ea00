//! The messages of a join's worker to its leader: pairs that it found, and at the end the pieces
//! that are left.
//!
//! A message is its kind (u32), the number of pairs of keys that have been processed (f64), then
//! three u32 for each pair or piece.

use simhash_core::whole::join::{GroupPair, Piece};

const FOUND: u32 = 0;
const FINISHED: u32 = 1;
/// The bytes before the pairs or pieces.
const HEADER: usize = 12;
const ITEM: usize = 12;

/// Writes a message with pairs.
pub fn found(done: f64, pairs: &[GroupPair], message: &mut Vec<u8>) {
    let item = |pair: &GroupPair| [pair.left, pair.right, pair.distance];
    write(FOUND, done, pairs.iter().map(item), message);
}

/// Writes a worker's last message.
pub fn finished(done: f64, rest: &[Piece], message: &mut Vec<u8>) {
    let item = |piece: &Piece| match *piece {
        Piece::Nodes(a, b) => [0, a, b],
        Piece::Roots(root, end) => [1, root, end],
    };
    write(FINISHED, done, rest.iter().map(item), message);
}

fn write(kind: u32, done: f64, items: impl Iterator<Item = [u32; 3]>, message: &mut Vec<u8>) {
    message.clear();
    message.extend(kind.to_ne_bytes());
    message.extend(done.to_ne_bytes());
    message.extend(items.flatten().flat_map(u32::to_ne_bytes));
}

/// A message without its pairs.
#[derive(Debug, PartialEq)]
pub struct Received {
    pub done: f64,
    /// The pieces that are left, if the message is a worker's last one.
    pub rest: Option<Vec<Piece>>,
}

/// Reads a message, and appends its pairs. `None` if it is malformed.
pub fn read(message: &[u8], pairs: &mut Vec<GroupPair>) -> Option<Received> {
    let (header, items) = message.split_at_checked(HEADER)?;
    let (kind, done) = header.split_at_checked(4)?;
    let done = f64::from_ne_bytes(done.try_into().ok()?);
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
    let items = items.chunks_exact(ITEM);
    let items = items.map(|item| [&item[..4], &item[4..8], &item[8..]].map(word));
    let rest = match word(kind) {
        FOUND => {
            let pair = |[left, right, distance]: [u32; 3]| GroupPair { left, right, distance };
            pairs.extend(items.map(pair));
            None
        }
        FINISHED => {
            let piece = |[kind, a, b]: [u32; 3]| match kind {
                0 => Piece::Nodes(a, b),
                _ => Piece::Roots(a, b),
            };
            Some(items.map(piece).collect())
        }
        _ => return None,
    };
    Some(Received { done, rest })
}
