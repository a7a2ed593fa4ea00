//! Removes entries of rows that a scan found and the executor reported as dead. They are removed
//! from each leaf that has several, so that the next scan does not look these rows up again.
//!
//! The executor's report is only a reason to check: [`Index::reclaim_found`] asks the heap again
//! while it has the leaf pinned.
//!
//! [`Index::reclaim_found`]: simhash_index::Index::reclaim_found

use std::rc::Rc;

use simhash_index::postings::{RECENT, SETTLED};
use simhash_index::range::Hit;
use simhash_index::{Entry, TreeKey};

use crate::am::asked::Wanted;
use crate::storage::Index;

/// Fewer entries on one leaf are not worth a WAL record.
const LEAST: usize = 8;
/// After this many dead rows, their entries are removed.
const MOST: usize = 1024;

/// The dead rows of a scan whose entries are still to be removed.
pub struct Burial<K: TreeKey> {
    /// The row that the scan returned last: the table in which it was found, and its entry there.
    /// In a search for texts: the number of the [`Wanted`], and an entry with a scope and a TID
    /// only.
    latest: Option<(usize, Entry<K>)>,
    dead: Vec<(usize, Entry<K>)>,
    /// The searches for texts, by whose keys the rows were found.
    texts: Option<Rc<[Wanted<K::Fingerprint>]>>,
}

impl<K: TreeKey> Burial<K> {
    pub fn new() -> Self {
        Self { latest: None, dead: Vec::new(), texts: None }
    }

    /// Prepares for a rescan, which may search for other rows.
    pub fn begin(&mut self, index: &Index<K>, texts: Option<Rc<[Wanted<K::Fingerprint>]>>) {
        if self.texts.is_some() || self.dead.len() >= LEAST {
            self.bury(index);
        }
        (self.latest, self.texts) = (None, texts);
    }

    /// Notes that the scan returns this row. `text` is the number of the [`Wanted`] that found it,
    /// in a search for texts.
    pub fn handed_out(&mut self, index: &Index<K>, row: &Hit<K>, text: Option<usize>) {
        let place = text.unwrap_or(usize::from(row.table));
        let rotated = match text {
            Some(_) => row.fingerprint,
            None => index.layout.rotate(row.fingerprint, u32::from(row.table)),
        };
        self.latest = Some((place, Entry { key: K::new(row.scope, rotated), tid: row.tid }));
    }

    /// Notes that the scan returns a row whose entries are not removed here.
    pub fn handed_out_null(&mut self) {
        self.latest = None;
    }

    /// Notes that the row returned last is dead.
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

    /// Removes the postings of these rows with these keys, from both trees.
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
