//! What a tree is ordered by, and what its leaves store beside it: [`TreeKey`], and how many bytes
//! each part has.

use simhash_core::base::key::Key;
pub use simhash_core::search::scoped::{Bytes, MOST_PAYLOAD, MOST_SCOPE, Posting, Scoped, TreeKey};

/// The tree of postings that were written lately.
pub const RECENT: u8 = 0;
/// The tree of all others.
pub const SETTLED: u8 = 1;
/// The tree of rows, ordered by what is known of their text, and by TID.
pub const ROWS: u8 = 2;

/// Bytes of a posting's key.
pub const POSTING_KEY: usize = 4;
/// The most keys of a text.
pub const MOST_BANDS: u32 = 64;

/// A key with its row: what a tree is ordered by. The TID breaks ties among equal keys, so every
/// entry of a table has a place of its own. It is packed: the number of the heap page times 65536,
/// plus the offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry<K> {
    pub key: K,
    pub tid: u64,
}

impl<K: TreeKey> Entry<K> {
    /// The least entry of all.
    pub const MIN: Self = Self { key: K::MIN, tid: 0 };

    /// The least entry with this key.
    pub fn first_with(key: K) -> Self {
        Self { key, tid: 0 }
    }
}

/// An entry of a leaf, with what the leaf stores beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row<K: TreeKey> {
    pub entry: Entry<K>,
    pub payload: K::Payload,
}

/// How many bytes the parts of an entry have on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Of the fingerprint.
    pub key: usize,
    pub scope: usize,
    pub payload: usize,
}

impl Shape {
    /// The shape of entries without scope and payload.
    pub const fn plain<F: Key>() -> Self {
        Self { key: F::BYTES, scope: 0, payload: 0 }
    }

    /// The shape of all entries with keys of type `K`, if there is only one.
    #[inline(always)]
    pub const fn only<K: TreeKey>() -> Option<Self> {
        let is_plain = K::Scope::BYTES == 0 && K::Payload::BYTES == 0;
        if is_plain { Some(Self { key: K::STORED, scope: 0, payload: 0 }) } else { None }
    }

    /// Whether the index holds postings: keys of texts, of which a row has many.
    pub const fn is_of_postings(&self) -> bool {
        self.key < 8
    }

    /// The shape of a table's entries. Of an index of postings, only the table of rows stores
    /// payloads.
    #[inline(always)]
    pub const fn at(self, table: u8) -> Self {
        if self.is_of_postings() && table < ROWS { Self { payload: 0, ..self } } else { self }
    }

    /// This shape, as a constant if keys of type `K` have only one.
    #[inline(always)]
    pub fn of<K: TreeKey>(&self) -> Self {
        const { Self::only::<K>() }.unwrap_or(*self)
    }

    /// Whether entries of this shape can be keys of type `K`.
    pub fn fits<K: TreeKey>(&self) -> bool {
        Self::only::<K>().is_none_or(|only| only == *self)
            && self.key <= K::Fingerprint::BYTES
            && self.scope <= K::Scope::BYTES
            && self.payload <= K::Payload::BYTES
    }
}
