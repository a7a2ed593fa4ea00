//! The interface to the index and the texts of a table.

use crate::sets::shingles::ShingleSet;

/// The source of rows: the keys of an index, and the texts of its table.
pub trait Rows {
    /// Calls `each` with the places of the rows that have a key, for each key of the bands that the
    /// law uses. Each place occurs at most once, in no order. Ends when `each` returns false.
    fn each_key(&mut self, each: &mut dyn FnMut(&mut Vec<u32>) -> bool);

    /// The number of rows that should be announced together, where each row that is read alone
    /// costs a message.
    fn together(&self) -> usize {
        1
    }

    /// Announces calls of [`Rows::set`] or [`Rows::want`] for these rows.
    fn expect_sets(&mut self, _places: &[u32]) {}

    /// Announces calls of [`Rows::digest`] for these rows, so that they can be read together.
    fn expect(&mut self, _places: &[u32]) {}

    /// A hash of a row's text. `None` if the row is missing, or has no text.
    fn digest(&mut self, place: u32) -> Option<u128>;

    /// The set of a row's shingles. `None` as in [`Rows::digest`].
    fn set(&mut self, place: u32) -> Option<ShingleSet>;

    /// Requests the sets of rows, given as (row, place). Returns the number of the round, for
    /// [`Rows::next_wanted`]. The sets may be made in the meantime.
    fn want(&mut self, wanted: Vec<(u32, u32)>) -> u32;

    /// The next row of a round, in any order, with its set. `None` if there are no more.
    fn next_wanted(&mut self, round: u32) -> Option<(u32, Option<ShingleSet>)>;

    /// Cancels the rest of a round.
    fn want_no_more(&mut self, round: u32);

    /// Rows are read fastest in the order of these numbers.
    fn address(&self, place: u32) -> u64;

    /// Called between pieces of work. It may unwind.
    fn check(&mut self);

    /// Reports the share of the work that is done, 0 to 1.
    fn progress(&mut self, _share: f64) {}
}
