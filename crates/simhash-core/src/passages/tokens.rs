//! The tokens of a text, with their places in it counted in characters.

use std::ops::Range;

use crate::Simhasher;

/// Passes every token to `sink`, and adds the place of its characters to `places`.
pub(super) fn each_token(
    simhasher: &mut Simhasher,
    text: &str,
    places: Option<&mut Vec<Range<u32>>>,
    interrupt: &mut dyn FnMut(),
    mut sink: impl FnMut(&str),
) {
    let Some(places) = places else {
        return simhasher.for_each_token(text, interrupt, sink);
    };
    let [mut starts, mut ends] = [Characters::default(), Characters::default()];
    simhasher.for_each_placed_token(text, interrupt, |token, place| {
        places.push(starts.before(text, place.start)..ends.before(text, place.end));
        sink(token);
    });
}

/// Counts the characters before byte positions of a text. It is fast if positions mostly ascend.
#[derive(Default)]
struct Characters {
    bytes: usize,
    characters: u32,
}

impl Characters {
    fn before(&mut self, text: &str, bytes: usize) -> u32 {
        let count = |range: Range<usize>| {
            let starts = |byte: &&u8| **byte as i8 >= -0x40;
            text.as_bytes()[range].iter().filter(starts).count() as u32
        };
        if bytes >= self.bytes {
            self.characters += count(self.bytes..bytes);
        } else {
            self.characters -= count(bytes..self.bytes);
        }
        self.bytes = bytes;
        self.characters
    }
}
