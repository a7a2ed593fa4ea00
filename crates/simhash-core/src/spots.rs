//! Spot signatures (Theobald, Siddharth and Paepcke, SIGIR 2008): chains of words that follow a
//! stop word. Sentences have many, menus and other lists of links next to none.

use std::collections::VecDeque;

use crate::config::Spots;
use crate::features::{Occurrence, SEPARATOR};
use crate::interrupt::Interrupt;

/// A token that is no stop word.
#[derive(Default)]
struct Place {
    /// The stop words between the token before and this one, with a separator before each.
    before: String,
    token: String,
    level: u32,
}

/// As many of the last tokens as a chain spans.
#[derive(Default)]
pub(crate) struct Chains {
    places: VecDeque<Place>,
    /// The stop words since the last token, as in [`Place::before`].
    waiting: String,
    /// A chain, with a separator before each token, and a stop word with it.
    chain: String,
    spot: String,
}

impl Chains {
    pub(crate) fn restart(&mut self) {
        self.places.clear();
        self.waiting.clear();
    }

    pub(crate) fn push_stop_word(&mut self, word: &str) {
        self.waiting.push(SEPARATOR);
        self.waiting.push_str(word);
    }

    /// Takes a token, and hands the spots that it completes to `sink`: one for each stop word
    /// before the first token that the chain spans.
    pub(crate) fn push(
        &mut self,
        token: &str,
        spots: Spots,
        level: &impl Fn(&str) -> u32,
        interrupt: &Interrupt,
        sink: &mut impl FnMut(Occurrence<'_>),
    ) {
        let span = spots.chain * spots.distance;
        let spare = if self.places.len() == span { self.places.pop_front() } else { None };
        let mut place = spare.unwrap_or_default();
        place.before.clear();
        std::mem::swap(&mut place.before, &mut self.waiting);
        place.token.clear();
        place.token.push_str(token);
        place.level = level(token);
        self.places.push_back(place);
        if let Some(first) = self.places.front()
            && self.places.len() == span
            && !first.before.is_empty()
        {
            self.chain.clear();
            let mut highest = 0;
            for place in self.places.iter().skip(spots.distance - 1).step_by(spots.distance) {
                self.chain.push(SEPARATOR);
                self.chain.push_str(&place.token);
                highest = highest.max(place.level);
            }
            for word in first.before.split(SEPARATOR).skip(1) {
                self.spot.clear();
                self.spot.push_str(word);
                self.spot.push_str(&self.chain);
                interrupt.spend(self.spot.len());
                let level = highest.max(level(word));
                sink(Occurrence { text: &self.spot, level, size: 0 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use crate::words::{Kind, WordList};
    use crate::{Config, Named, Simhasher};

    /// A simhasher by the stop words of a list.
    fn simhasher(stop_words: &str, spots: &str) -> Simhasher {
        let words = stop_words.split(' ').map(|word| (word.to_owned(), None));
        let list = WordList::new(Kind::StopWords, words, &mut || ()).unwrap();
        let named = Named { stop_words: Some(Arc::new(list)), ..Named::default() };
        let config = format!(r#"{{"spots": {spots}, "stopwords": "list"}}"#);
        Simhasher::with(config.parse().unwrap(), named, &mut || ()).unwrap()
    }

    fn spots_of(simhasher: &mut Simhasher, text: &str) -> Vec<String> {
        let mut spots = Vec::new();
        simhasher.for_each_feature(text, &mut || (), |spot| spots.push(spot.to_owned()));
        spots
    }

    /// The example of the paper.
    #[test]
    fn the_example_of_the_paper() {
        let text = "At a rally to kick off a weeklong campaign for the South Carolina primary, \
            Obama tried to set the record straight from an attack circulating widely on the \
            Internet that is designed to play into prejudices against Muslims and fears of \
            terrorism.";
        let stop_words = "a an the is at to off for from on that into against and of";
        let spots = spots_of(&mut simhasher(stop_words, r#"{"chain": 2, "distance": 1}"#), text);
        for expected in [
            "a rally kick",
            "a weeklong campaign",
            "the south carolina",
            "the record straight",
            "an attack circulating",
            "the internet designed",
            "is designed play",
        ] {
            assert!(spots.iter().any(|spot| spot == expected), "{expected}: {spots:?}");
        }
        let of_four = |spot: &&String| {
            ["a ", "an ", "the ", "is "].iter().any(|word| spot.starts_with(word))
        };
        assert_eq!(spots.iter().filter(of_four).count(), 7);
    }

    #[test]
    fn chains_have_a_distance_and_texts_without_a_spot_no_feature() {
        let mut far = simhasher("the of", r#"{"chain": 2, "distance": 3}"#);
        assert_eq!(spots_of(&mut far, "the a1 b c d of e f g h"), ["the b e"]);
        // Each of several stop words side by side begins one.
        let mut near = simhasher("the of", "{}");
        assert_eq!(spots_of(&mut near, "Of the people, the of"), Vec::<String>::new());
        assert_eq!(
            spots_of(&mut near, "of the people of a town"),
            ["of people a", "the people a", "of a town"]
        );
        for text in ["", "the", "Home News Sports Contact", "of the"] {
            assert_eq!(near.fingerprint::<u64>(text, &mut || ()), None, "{text}");
        }
    }

    /// A letter beside a number is no stop word, as everywhere.
    #[test]
    fn letters_beside_numbers_are_tokens() {
        let mut simhasher = simhasher("a the", "{}");
        assert_eq!(spots_of(&mut simhasher, "the a 4 page a cat sat"), ["the a 4", "a cat sat"]);
    }

    #[test]
    fn many_stop_words_take_no_more_than_their_length() {
        let mut simhasher = simhasher("a the", r#"{"chain": 100, "distance": 100}"#);
        let text = format!("{} {}", "the ".repeat(1000), "word ".repeat(10_000));
        let mut checks = 0;
        let mut spots = 0;
        simhasher.for_each_feature(&text, &mut || checks += 1, |_| spots += 1);
        assert_eq!(spots, 1000);
        assert!(checks > 20, "{checks} checks");
    }

    proptest! {
        /// Against the definition, by places in the text.
        #[test]
        fn equals_the_definition(
            words in prop::collection::vec(0u8..8, 0..60),
            chain in 1usize..5,
            distance in 1usize..5,
        ) {
            let name = |word: u8| format!("w{}", char::from(b'a' + word));
            let is_stop_word = |word: u8| word < 3;
            let mut expected = Vec::new();
            for (place, &word) in words.iter().enumerate().filter(|&(_, &word)| is_stop_word(word)) {
                let rest = words[place..].iter().copied().filter(|&word| !is_stop_word(word));
                let rest: Vec<u8> = rest.collect();
                if rest.len() >= chain * distance {
                    let of_chain = (1..=chain).map(|i| name(rest[i * distance - 1]));
                    let all: Vec<_> = std::iter::once(name(word)).chain(of_chain).collect();
                    expected.push(all.join(" "));
                }
            }
            let spots = format!(r#"{{"chain": {chain}, "distance": {distance}}}"#);
            let mut simhasher = simhasher("wa wb wc", &spots);
            let text: Vec<_> = words.iter().map(|&word| name(word)).collect();
            prop_assert_eq!(spots_of(&mut simhasher, &text.join(" ")), expected);
        }
    }

    /// `tests/config.rs` has what is refused. Sets and sums have the same features.
    #[test]
    fn every_method_has_the_same_features() {
        let config: Config = r#"{"spots": {}, "stopwords": "en"}"#.parse().unwrap();
        assert_eq!(crate::sets::recipe(&config), config);
        assert_eq!(crate::sets::near_recipe(&config), config);
    }
}
