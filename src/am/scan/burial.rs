//! Rows that a scan found and nobody can see any more, as the executor tells it: their entries go
//! from each leaf that has several, so that the next scan does not look these rows up again.
//!
//! What the executor said is a reason to look, and no more: [`Index::reclaim_found`] asks the heap
//! again while it has the leaf locked.
//!
//! [`Index::reclaim_found`]: simhash_index::Index::reclaim_found

use std::rc::Rc;

use simhash_index::postings::{RECENT, SETTLED};
use simhash_index::range::Hit;
use simhash_index::{Entry, TreeKey};

use crate::am::asked::Wanted;
use crate::storage::Index;

/// A leaf with fewer is not worth a record.
const LEAST: usize = 8;
/// So many are buried at once.
const MOST: usize = 1024;

/// The rows that are to be buried.
pub struct Burial<K: TreeKey> {
    /// What the scan handed out last: the table in which it found the row, and its entry there. Of
    /// texts it is the number of the text that was looked for, and the entry has a scope and a TID
    /// only.
    latest: Option<(usize, Entry<K>)>,
    dead: Vec<(usize, Entry<K>)>,
    /// The texts that the scan looks for, whose keys the rows have.
    texts: Option<Rc<[Wanted<K::Fingerprint>]>>,
}

impl<K: TreeKey> Burial<K> {
    pub fn new() -> Self {
        Self { latest: None, dead: Vec::new(), texts: None }
    }

    /// Goes on for a scan that looks for other rows.
    pub fn begin(&mut self, index: &Index<K>, texts: Option<Rc<[Wanted<K::Fingerprint>]>>) {
        if self.texts.is_some() || self.dead.len() >= LEAST {
            self.bury(index);
        }
        (self.latest, self.texts) = (None, texts);
    }

    /// The scan hands this row out. `text` is the number of the text that it is near to, if one is
    /// looked for.
    pub fn handed_out(&mut self, index: &Index<K>, row: &Hit<K>, text: Option<usize>) {
        let place = text.unwrap_or(usize::from(row.table));
        let rotated = match text {
            Some(_) => row.fingerprint,
            None => index.layout.rotate(row.fingerprint, u32::from(row.table)),
        };
        self.latest = Some((place, Entry { key: K::new(row.scope, rotated), tid: row.tid }));
    }

    /// The scan hands out a row that it found in another way.
    pub fn handed_out_null(&mut self) {
        self.latest = None;
    }

    /// The row that was handed out last is dead.
    pub fn died(&mut self, index: &Index<K>) {
        self.dead.extend(self.latest.take());
        if self.dead.len() >= MOST {
            self.bury(index);
        }
    }

    /// Removes the entries. The caller must have no page locked.
    pub fn bury(&mut self, index: &Index<K>) {
        let mut dead = std::mem::take(&mut self.dead);
        if dead.len() < LEAST {
            return;
        }
        dead.sort_unstable();
        for found in dead.chunk_by(|a, b| a.0 == b.0) {
            let (place, entries) = (found[0].0, found.iter().map(|(_, entry)| *entry));
            match &self.texts {
                None => index.reclaim_found(place as u8, &entries.collect::<Vec<_>>(), LEAST),
                Some(texts) => {
                    let keys = texts.get(place).map_or(&[][..], |wanted| &wanted.keys);
                    self.bury_postings(index, keys, entries);
                }
            }
        }
    }

    /// Removes the postings with these keys of some rows: a leaf of each key in both trees.
    fn bury_postings(
        &self,
        index: &Index<K>,
        keys: &[K::Fingerprint],
        rows: impl Iterator<Item = Entry<K>>,
    ) {
        let of_row = |row: Entry<K>| {
            keys.iter().map(move |&key| Entry { key: K::new(row.key.scope(), key), ..row })
        };
        let mut postings: Vec<Entry<K>> = rows.flat_map(of_row).collect();
        postings.sort_unstable();
        postings.dedup();
        for table in [RECENT, SETTLED] {
            index.reclaim_found(table, &postings, LEAST);
        }
    }
}
