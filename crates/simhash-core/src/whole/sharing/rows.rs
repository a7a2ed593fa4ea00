//! What the work needs from outside.

use crate::sets::shingles::ShingleSet;

/// Where rows come from: the keys of an index, and the texts of its table.
pub trait Rows {
    /// Calls `each` with the places of the rows that have a key, for each key of the bands that the
    /// law looks at. Of one place at most once, in no order. It ends when `each` says false.
    fn each_key(&mut self, each: &mut dyn FnMut(&mut Vec<u32>) -> bool);

    /// How many rows are worth being expected together, where each that is asked for alone takes a
    /// message of its own.
    fn together(&self) -> usize {
        1
    }

    /// [`Rows::set`] of these rows is asked for next, or they are wanted.
    fn expect_sets(&mut self, _places: &[u32]) {}

    /// [`Rows::digest`] of these rows is asked for next, so they may be read together.
    fn expect(&mut self, _places: &[u32]) {}

    /// A hash of a row's text. `None` if the row is not there, or has no text.
    fn digest(&mut self, place: u32) -> Option<u128>;

    /// The set of a row's shingles. `None` as in [`Rows::digest`].
    fn set(&mut self, place: u32) -> Option<ShingleSet>;

    /// The sets of these rows, each with its place, will be asked for by [`Rows::next_wanted`] with
    /// the number of this round, which is returned. They may be made meanwhile.
    fn want(&mut self, wanted: Vec<(u32, u32)>) -> u32;

    /// The set of a row that is wanted in a round, in any order. `None` if there are no more.
    fn next_wanted(&mut self, round: u32) -> Option<(u32, Option<ShingleSet>)>;

    /// What is left of a round is not asked for.
    fn want_no_more(&mut self, round: u32);

    /// Rows are read fastest in the order of these numbers.
    fn address(&self, place: u32) -> u64;

    /// Called between pieces of work. It may unwind.
    fn check(&mut self);

    /// How much is done, of 1.
    fn progress(&mut self, _share: f64) {}
}
