//! The messages of processes that read ranges of a table.
//!
//! A message is a header of two words, the range and the kind, followed by rows or a number:
//! - ROWS: rows of the range that have neighbours, ascending. There may be several such messages.
//! - END: the range is done; how many rows were read.
//! - FULL: the range does not fit in memory.
//! - LAST: no message follows.

use crate::base::key::Key;
use crate::search::TreeKey;
use crate::search::scoped::Bytes;

const ROWS: u32 = 0;
const END: u32 = 1;
const FULL: u32 = 2;
const LAST: u32 = 3;
/// The bytes before the rows.
const HEADER: usize = 8;

/// A worker's message.
pub enum Message<K> {
    Rows(usize, Vec<(K, u64)>),
    End(usize),
    Full,
    Last,
}

impl<K: TreeKey> Message<K> {
    const ROW: usize = K::Fingerprint::BYTES + K::Scope::BYTES + size_of::<u64>();

    /// Writes rows of a range.
    pub fn write_rows(range: usize, rows: &[(K, u64)], message: &mut Vec<u8>) {
        begin(range, ROWS, message);
        message.resize(HEADER + rows.len() * Self::ROW, 0);
        for (&(key, number), bytes) in rows.iter().zip(message[HEADER..].chunks_mut(Self::ROW)) {
            let (fingerprint, rest) = bytes.split_at_mut(K::Fingerprint::BYTES);
            let (scope, place) = rest.split_at_mut(K::Scope::BYTES);
            key.fingerprint().store(fingerprint);
            key.scope().store(scope);
            place.copy_from_slice(&number.to_ne_bytes());
        }
    }

    /// Writes the end of a range: how many rows were read, or `None` if they did not fit in memory.
    pub fn write_end(range: usize, read: Option<usize>, message: &mut Vec<u8>) {
        begin(range, if read.is_some() { END } else { FULL }, message);
        message.extend((read.unwrap_or(0) as u64).to_ne_bytes());
    }

    /// Writes a worker's last message.
    pub fn write_last(message: &mut Vec<u8>) {
        begin(0, LAST, message);
    }

    /// Reads a message. `None` if it is malformed.
    pub fn read(message: &[u8]) -> Option<Self> {
        let (header, content) = message.split_at_checked(HEADER)?;
        let (range, kind) = header.split_at(4);
        let range = u32::from_ne_bytes(range.try_into().ok()?) as usize;
        match u32::from_ne_bytes(kind.try_into().ok()?) {
            ROWS => {
                let rows = content.chunks_exact(Self::ROW).map(Self::row).collect();
                Some(Self::Rows(range, rows))
            }
            END => Some(Self::End(u64::from_ne_bytes(content.try_into().ok()?) as usize)),
            FULL => Some(Self::Full),
            LAST => Some(Self::Last),
            _ => None,
        }
    }

    fn row(bytes: &[u8]) -> (K, u64) {
        let (fingerprint, rest) = bytes.split_at(K::Fingerprint::BYTES);
        let (scope, number) = rest.split_at(K::Scope::BYTES);
        let key = K::new(K::Scope::load(scope), K::Fingerprint::load(fingerprint));
        (key, number.try_into().map_or(0, u64::from_ne_bytes))
    }
}

fn begin(range: usize, kind: u32, message: &mut Vec<u8>) {
    message.clear();
    message.extend((range as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_was_written() {
        let mut bytes = Vec::new();
        let rows = vec![(7u128 << 90 | 5, 1), (u128::MAX, u64::MAX)];
        Message::write_rows(9, &rows, &mut bytes);
        assert!(matches!(Message::read(&bytes), Some(Message::Rows(9, read)) if read == rows));
        Message::<u128>::write_end(3, Some(70), &mut bytes);
        assert!(matches!(Message::<u128>::read(&bytes), Some(Message::End(70))));
        Message::<u128>::write_end(3, None, &mut bytes);
        assert!(matches!(Message::<u128>::read(&bytes), Some(Message::Full)));
        Message::<u128>::write_last(&mut bytes);
        assert!(matches!(Message::<u128>::read(&bytes), Some(Message::Last)));
        assert!(Message::<u128>::read(&bytes[..5]).is_none());
        assert!(Message::<u128>::read(&[9; 16]).is_none());
    }
}
