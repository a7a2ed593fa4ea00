//! Spots: chains of tokens that are features.

use std::fmt;

use serde::Deserialize;

/// The maximal length of a spot's chain, and the maximal distance in it.
pub const MAX_SPOT: usize = 100;

/// The chain of a spot signature (Theobald, Siddharth and Paepcke, SIGIR 2008): after a stop word,
/// every `distance`th token that is not a stop word, `chain` of them in total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "Keys")]
pub struct Spots {
    /// The number of tokens in a chain, without the stop word before it: 1 to [`MAX_SPOT`].
    pub chain: usize,
    /// The distance between two of them, counted in tokens that are not stop words: 1 to
    /// [`MAX_SPOT`].
    pub distance: usize,
}

/// The written form of spots. An omitted key has its default.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Keys {
    chain: usize,
    distance: usize,
}

impl Default for Keys {
    fn default() -> Self {
        Keys { chain: 2, distance: 1 }
    }
}

impl TryFrom<Keys> for Spots {
    type Error = &'static str;

    fn try_from(Keys { chain, distance }: Keys) -> Result<Self, Self::Error> {
        let allowed = 1..=MAX_SPOT;
        let both = allowed.contains(&chain) && allowed.contains(&distance);
        both.then_some(Spots { chain, distance }).ok_or("no spots")
    }
}

/// An object with both keys, in a fixed order.
impl fmt::Display for Spots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"chain\": {}, \"distance\": {}}}", self.chain, self.distance)
    }
}
