//! What the work needs from outside.

/// Where rows come from: the keys of an index, and the texts of its table.
///
/// Keys are numbers of the hashes that are kept of a text ([`kept`](crate::passages::kept)): equal
/// hashes have equal keys. Rows whose pairs are not asked for have none of their keys in one call,
/// even if the numbers are equal.
pub trait Rows {
    /// Calls `each` with a key and the places of the rows that have it, for each key that two rows
    /// or more have. Of one place at most once, in no order. It ends when `each` says false. Until
    /// the work ends, each call hands out the same.
    fn each_key(&mut self, each: &mut dyn FnMut(u32, &mut Vec<u32>) -> bool);

    /// How many texts are worth being expected together, where each that is asked for alone takes a
    /// message of its own.
    fn together(&self) -> usize {
        1
    }

    /// These are asked for their digests next, in this order.
    fn expect_digests(&mut self, _places: &[u32]) {}

    /// These are asked for their tokens next, in about this order, and those that were expected
    /// before are not.
    fn expect_tokens(&mut self, _places: &[u32]) {}

    /// A hash of a row's text. `None` if the row is not there, or has no text.
    fn digest(&mut self, place: u32) -> Option<u128>;

    /// Hands the tokens of a row's text to `sink`. False as `None` of [`Rows::digest`].
    fn each_token(&mut self, place: u32, sink: &mut dyn FnMut(&str)) -> bool;

    /// Rows are read fastest in the order of these numbers.
    fn address(&self, place: u32) -> u64;

    /// Called between pieces of work. It may unwind.
    fn check(&mut self);

    /// How much is done, of 1.
    fn progress(&mut self, _share: f64) {}
}
