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

use crate::am::texts::Wanted;
use crate::storage::Index;

/// A leaf with fewer is not worth a record.
const LEAST: usize = 8;
/// So many are buried at once.
const MOST: usize = 1024;

/// The rows that are to be buried.
pub struct Burial<K: TreeKey> {
    /// What the scan handed out last: its table there, and its entry there. Of texts the entry has
    /// a scope and a TID only.
    latest: Option<(u8, Entry<K>)>,
    dead: Vec<(u8, Entry<K>)>,
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

    /// The scan hands this row out. `None`: one that it found in another way.
    pub fn handed_out(&mut self, index: &Index<K>, row: Option<&Hit<K>>) {
        self.latest = row.map(|row| {
            let rotated = match self.texts {
                Some(_) => row.fingerprint,
                None => index.layout.rotate(row.fingerprint, u32::from(row.table)),
            };
            (row.table, Entry { key: K::new(row.scope, rotated), tid: row.tid })
        });
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
        let Some(texts) = &self.texts else {
            for table in dead.chunk_by(|a, b| a.0 == b.0) {
                let entries: Vec<Entry<K>> = table.iter().map(|(_, entry)| *entry).collect();
                index.reclaim_found(table[0].0, &entries, LEAST);
            }
            return;
        };
        let keys: Vec<_> = texts.iter().flat_map(|wanted| &wanted.keys).collect();
        let postings = |(_, row): (u8, Entry<K>)| {
            let scope = row.key.scope();
            keys.iter().map(move |&&key| Entry { key: K::new(scope, key), tid: row.tid })
        };
        let mut postings: Vec<Entry<K>> = dead.into_iter().flat_map(postings).collect();
        postings.sort_unstable();
        postings.dedup();
        for table in [RECENT, SETTLED] {
            index.reclaim_found(table, &postings, LEAST);
        }
    }
}
