//! The keys and tokens of texts on several servers, by which copied passages are found.

use simhash_core::passages::whole::Rows;
use simhash_core::whole::sharing;

use super::link::bytes_literal;
use super::messages::{self, TID, expect, message_of, tids};
use super::texts::{SHARE, ServerTexts, TOGETHER, note_version};
use crate::bulk::progress;
use crate::bulk::row;
use crate::guc::work_mem;
use crate::storage::check_for_interrupts;

impl ServerTexts {
    /// Requests the tokens of a part's rows that wait.
    fn send_for_tokens(&mut self, part: usize) {
        self.take_in(part);
        let waiting = self.tokens.waiting[part].iter();
        let roots = waiting.map(|&place| row::tid(self.places.number(place)));
        let roots = bytes_literal(&message_of(roots));
        let most = self.bytes_at_once();
        let part = &mut self.parts.parts[part];
        part.link.send(part.messages("simhash_part_tokens", &format!(", {roots}, {most}")));
    }

    /// Receives tokens of a part's rows that wait: of the first ones, or of all.
    fn receive_tokens(&mut self, part: usize) {
        let Self { parts, places, moved, tokens, .. } = self;
        parts.parts[part].link.receive(&mut |mut message| {
            while !message.is_empty() {
                let place = expect(tokens.waiting[part].pop_front());
                let (tid, rest) = expect(message.split_at_checked(TID));
                let visible = expect(tids(tid).next());
                note_version(moved, places.number(place), part, visible);
                let (came, rest) = match visible {
                    0 => (None, rest),
                    _ => {
                        let (came, rest) = expect(messages::tokens(rest));
                        (Some(came), rest)
                    }
                };
                tokens.put(place, came);
                message = rest;
            }
        });
    }
}

impl Rows for ServerTexts {
    fn each_key(&mut self, each: &mut dyn FnMut(u32, &mut Vec<u32>) -> bool) {
        self.each_key_of_parts(each);
    }

    fn together(&self) -> usize {
        TOGETHER
    }

    fn expect_digests(&mut self, places: &[u32]) {
        sharing::Rows::expect(self, places);
    }

    fn expect_tokens(&mut self, places: &[u32]) {
        let share = work_mem() / SHARE;
        self.tokens.expect(places, 2 * share, |place| row::table(self.places.number(place)));
        if self.tokens.bytes > share {
            return;
        }
        let parts = 0..self.parts.parts.len();
        let waiting = parts.filter(|&part| self.tokens.waits(part));
        let waiting: Vec<usize> = waiting.collect();
        waiting.iter().for_each(|&part| self.send_for_tokens(part));
        waiting.iter().for_each(|&part| self.receive_tokens(part));
    }

    fn digest(&mut self, place: u32) -> Option<u128> {
        sharing::Rows::digest(self, place)
    }

    fn each_token(&mut self, place: u32, sink: &mut dyn FnMut(&str)) -> bool {
        let mut tokens = self.tokens.take(place);
        if tokens.is_none() {
            let part = row::table(self.places.number(place));
            // If many received tokens are unread, those of this row are requested alone.
            let is_alone = self.tokens.bytes > work_mem() / SHARE;
            let others = self.tokens.put_first(part, place, is_alone);
            self.send_for_tokens(part);
            self.receive_tokens(part);
            self.tokens.waiting[part].extend(others);
            tokens = self.tokens.take(place);
        }
        let Some(tokens) = expect(tokens) else { return false };
        tokens.split_terminator('\0').for_each(sink);
        true
    }

    fn address(&self, place: u32) -> u64 {
        self.places.number(place)
    }

    fn check(&mut self) {
        check_for_interrupts();
    }

    fn progress(&mut self, share: f64) {
        progress::compared(share);
    }
}
