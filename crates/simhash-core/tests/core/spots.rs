//! Spots, chains of tokens after stop words, compared with their definition.

use std::sync::Arc;

use proptest::prelude::*;

use simhash_core::config::recipes::{near_recipe, recipe};
use simhash_core::words::lists::{Kind, WordList};
use simhash_core::{Config, Named, Simhasher};

/// A simhasher with these stop words.
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
    let of_four =
        |spot: &&String| ["a ", "an ", "the ", "is "].iter().any(|word| spot.starts_with(word));
    assert_eq!(spots.iter().filter(of_four).count(), 7);
}

#[test]
fn chains_have_a_distance_and_texts_without_a_spot_no_feature() {
    let mut far = simhasher("the of", r#"{"chain": 2, "distance": 3}"#);
    assert_eq!(spots_of(&mut far, "the a1 b c d of e f g h"), ["the b e"]);
    // Each of several neighbouring stop words begins one.
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
    /// The definition is in terms of places in the text.
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

/// `config.rs` has the refusals. Sets and sums have the same features.
#[test]
fn every_method_has_the_same_features() {
    let config: Config = r#"{"spots": {}, "stopwords": "en"}"#.parse().unwrap();
    assert_eq!(recipe(&config), config);
    assert_eq!(near_recipe(&config), config);
}
