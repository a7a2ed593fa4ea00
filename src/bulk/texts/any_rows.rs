//! Rows of texts, either in tables of this server or in parts on several servers.

use simhash_core::passages::whole;
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::whole::sharing;

use super::super::servers::texts::ServerTexts;
use super::rows::TextRows;

pub enum AnyRows<'a> {
    Here(Box<TextRows<'a>>),
    Servers(&'a mut ServerTexts),
}

/// Calls the method of a trait on the variant at hand.
macro_rules! either {
    ($trait:path, $self:ident.$method:ident($($argument:expr),*)) => {
        match $self {
            AnyRows::Here(rows) => <TextRows<'_> as $trait>::$method(rows, $($argument),*),
            AnyRows::Servers(rows) => <ServerTexts as $trait>::$method(rows, $($argument),*),
        }
    };
}

impl sharing::Rows for AnyRows<'_> {
    fn each_key(&mut self, each: &mut dyn FnMut(&mut Vec<u32>) -> bool) {
        either!(sharing::Rows, self.each_key(each));
    }

    fn together(&self) -> usize {
        either!(sharing::Rows, self.together())
    }

    fn expect_sets(&mut self, places: &[u32]) {
        either!(sharing::Rows, self.expect_sets(places));
    }

    fn expect(&mut self, places: &[u32]) {
        either!(sharing::Rows, self.expect(places));
    }

    fn digest(&mut self, place: u32) -> Option<u128> {
        either!(sharing::Rows, self.digest(place))
    }

    fn set(&mut self, place: u32) -> Option<ShingleSet> {
        either!(sharing::Rows, self.set(place))
    }

    fn want(&mut self, wanted: Vec<(u32, u32)>) -> u32 {
        either!(sharing::Rows, self.want(wanted))
    }

    fn next_wanted(&mut self, round: u32) -> Option<(u32, Option<ShingleSet>)> {
        either!(sharing::Rows, self.next_wanted(round))
    }

    fn want_no_more(&mut self, round: u32) {
        either!(sharing::Rows, self.want_no_more(round));
    }

    fn address(&self, place: u32) -> u64 {
        either!(sharing::Rows, self.address(place))
    }

    fn check(&mut self) {
        either!(sharing::Rows, self.check());
    }

    fn progress(&mut self, share: f64) {
        either!(sharing::Rows, self.progress(share));
    }
}

impl whole::Rows for AnyRows<'_> {
    fn each_key(&mut self, each: &mut dyn FnMut(u32, &mut Vec<u32>) -> bool) {
        either!(whole::Rows, self.each_key(each));
    }

    fn together(&self) -> usize {
        either!(whole::Rows, self.together())
    }

    fn expect_digests(&mut self, places: &[u32]) {
        either!(whole::Rows, self.expect_digests(places));
    }

    fn expect_tokens(&mut self, places: &[u32]) {
        either!(whole::Rows, self.expect_tokens(places));
    }

    fn digest(&mut self, place: u32) -> Option<u128> {
        either!(whole::Rows, self.digest(place))
    }

    fn each_token(&mut self, place: u32, sink: &mut dyn FnMut(&str)) -> bool {
        either!(whole::Rows, self.each_token(place, sink))
    }

    fn address(&self, place: u32) -> u64 {
        either!(whole::Rows, self.address(place))
    }

    fn check(&mut self) {
        either!(whole::Rows, self.check());
    }

    fn progress(&mut self, share: f64) {
        either!(whole::Rows, self.progress(share));
    }
}
