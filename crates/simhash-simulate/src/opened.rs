//! An index that an actor has opened, and the insertion of a row of the model.

use std::rc::Rc;

use simhash_index::{Budget, Cache, Index, Meta, TreeKey};

use crate::failure::fail;
use crate::rows::Row;
use crate::store::SimStore;

/// An index as an actor has it open.
pub type Sim<K, const PAGE: usize> = Index<K, SimStore<K, PAGE>>;

/// Opens an index that keeps at most `copies` copies of pages.
pub fn open<K: TreeKey, const PAGE: usize>(
    store: SimStore<K, PAGE>,
    copies: usize,
) -> Sim<K, PAGE> {
    let meta = Meta::read(&store);
    if meta != store.coding.meta {
        fail(format!("the meta page says {meta:?}, not {:?}", store.coding.meta));
    }
    let cache = Cache::new(&store, meta, Rc::new(Budget::new(copies)));
    Index::new(store, Rc::new(cache))
}

/// Inserts a row of the model. In an index of postings, the row may have no keys or a NULL text.
pub fn insert<K: TreeKey, const PAGE: usize>(index: &Sim<K, PAGE>, row: &Row) {
    let coding = &index.store.coding;
    let mut fingerprints: Vec<K::Fingerprint> =
        row.keys.iter().map(|key| coding.fingerprint(*key)).collect();
    let beside = coding.beside(row);
    if index.is_of_postings() {
        // Two bands may have the same key.
        fingerprints.extend(fingerprints.first().copied().filter(|_| row.number.is_multiple_of(3)));
        let presence = coding.known_of(row);
        return index.insert_postings(&fingerprints, presence, &beside, coding.most_recent);
    }
    index.insert(&fingerprints, &beside);
}
