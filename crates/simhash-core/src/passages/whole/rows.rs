//! The interface by which the work reads keys and texts.

/// A source of rows: the keys of an index, and the texts of its table.
///
/// Keys are numbers of the hashes that are kept of a text ([`kept`](crate::passages::kept)): equal
/// hashes have equal keys. If no pairs are wanted between two groups of rows, their keys are passed
/// in separate calls, even if the numbers are equal.
pub trait Rows {
    /// Calls `each` for each key that two or more rows have, with the places of these rows, each
    /// once and in no particular order. It stops when `each` returns false. Every walk returns the
    /// same until the work ends.
    fn each_key(&mut self, each: &mut dyn FnMut(u32, &mut Vec<u32>) -> bool);

    /// The number of texts that are worth announcing together, if a text read alone costs a message
    /// of its own.
    fn together(&self) -> usize {
        1
    }

    /// Announces that the digests of these rows are read next, in this order.
    fn expect_digests(&mut self, _places: &[u32]) {}

    /// Announces that the tokens of these rows are read next, in about this order. It replaces the
    /// previous announcement.
    fn expect_tokens(&mut self, _places: &[u32]) {}

    /// A hash of a row's text. `None` if the row does not exist or has no text.
    fn digest(&mut self, place: u32) -> Option<u128>;

    /// Passes the tokens of a row's text to `sink`. False if [`Rows::digest`] would be `None`.
    fn each_token(&mut self, place: u32, sink: &mut dyn FnMut(&str)) -> bool;

    /// A number by whose order rows are read fastest.
    fn address(&self, place: u32) -> u64;

    /// Called between pieces of work. It may unwind.
    fn check(&mut self);

    /// Reports the fraction of the work that is done.
    fn progress(&mut self, _share: f64) {}
}
