//! The sizes of shingles: one, or several together.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest shingle, in tokens. The cost of a text grows with it.
pub const MAX_SHINGLE: usize = 1000;

/// The numbers of consecutive tokens in a feature: one size, or several, each of which gives
/// features.
///
/// ```
/// use simhash_core::config::Shingles;
/// assert_eq!(Shingles::new([2, 1, 2]).unwrap().iter().collect::<Vec<_>>(), [1, 2]);
/// assert!(Shingles::new([]).is_none() && Shingles::new([0]).is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Sizes", into = "Sizes")]
pub struct Shingles {
    /// In ascending order, each once, followed by zeros.
    sizes: [u16; MAX_SIZES],
}

/// The written form of shingles: one number or a list.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Sizes {
    One(usize),
    Several(Vec<usize>),
}

impl From<Shingles> for Sizes {
    fn from(shingles: Shingles) -> Self {
        match (shingles.shortest(), shingles.longest()) {
            (one, longest) if one == longest => Sizes::One(one),
            _ => Sizes::Several(shingles.iter().collect()),
        }
    }
}

impl TryFrom<Sizes> for Shingles {
    type Error = &'static str;

    fn try_from(sizes: Sizes) -> Result<Self, Self::Error> {
        match sizes {
            Sizes::One(size) => Shingles::new([size]),
            Sizes::Several(sizes) => Shingles::new(sizes),
        }
        .ok_or("no sizes of shingles")
    }
}

/// The maximal number of shingle sizes in a configuration.
pub const MAX_SIZES: usize = 8;

impl Shingles {
    /// Shingles of one token.
    pub const TOKENS: Shingles = Shingles { sizes: [1, 0, 0, 0, 0, 0, 0, 0] };

    /// Shingles of two tokens.
    pub const PAIRS: Shingles = Shingles { sizes: [2, 0, 0, 0, 0, 0, 0, 0] };

    /// Shingles of these sizes. `None` unless there are 1 to [`MAX_SIZES`] distinct sizes, each
    /// from 1 to [`MAX_SHINGLE`].
    pub fn new(sizes: impl IntoIterator<Item = usize>) -> Option<Self> {
        let mut list: Vec<u16> = Vec::new();
        for size in sizes {
            let size = u16::try_from(size)
                .ok()
                .filter(|&size| (1..=MAX_SHINGLE).contains(&size.into()))?;
            if let Err(place) = list.binary_search(&size) {
                list.insert(place, size);
            }
        }
        if list.is_empty() || list.len() > MAX_SIZES {
            return None;
        }
        list.resize(MAX_SIZES, 0);
        Some(Shingles { sizes: list.try_into().ok()? })
    }

    /// The sizes, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.sizes.iter().map(|&size| usize::from(size)).take_while(|&size| size > 0)
    }

    /// The least size.
    pub fn shortest(&self) -> usize {
        usize::from(self.sizes[0])
    }

    /// The greatest size.
    pub fn longest(&self) -> usize {
        self.iter().last().unwrap_or(1)
    }
}

impl fmt::Display for Shingles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, size) in self.iter().enumerate() {
            write!(f, "{}{size}", if place > 0 { " and " } else { "" })?;
        }
        Ok(())
    }
}
