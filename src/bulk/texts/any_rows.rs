//! Rows of texts, wherever they are.

use simhash_core::sets::shingles::ShingleSet;
use simhash_core::whole::sharing::Rows;

use super::super::servers::texts::ServerTexts;
use super::rows::TextRows;

pub enum AnyRows<'a> {
    Here(Box<TextRows<'a>>),
    Servers(&'a mut ServerTexts),
}

/// A call of the same method of whichever it is.
macro_rules! either {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        match $self {
            AnyRows::Here(rows) => rows.$method($($argument),*),
            AnyRows::Servers(rows) => rows.$method($($argument),*),
        }
    };
}

impl Rows for AnyRows<'_> {
    fn each_key(&mut self, each: &mut dyn FnMut(&mut Vec<u32>) -> bool) {
        either!(self.each_key(each));
    }

    fn expect(&mut self, places: &[u32]) {
        either!(self.expect(places));
    }

    fn digest(&mut self, place: u32) -> Option<u128> {
        either!(self.digest(place))
    }

    fn set(&mut self, place: u32) -> Option<ShingleSet> {
        either!(self.set(place))
    }

    fn want(&mut self, wanted: Vec<(u32, u32)>) -> u32 {
        either!(self.want(wanted))
    }

    fn next_wanted(&mut self, round: u32) -> Option<(u32, Option<ShingleSet>)> {
        either!(self.next_wanted(round))
    }

    fn want_no_more(&mut self, round: u32) {
        either!(self.want_no_more(round));
    }

    fn address(&self, place: u32) -> u64 {
        either!(self.address(place))
    }

    fn check(&mut self) {
        either!(self.check());
    }

    fn progress(&mut self, share: f64) {
        either!(self.progress(share));
    }
}
