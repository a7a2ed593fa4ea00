//! Walks the rows without a fingerprint, in the scopes of a scan. In an index of texts that is the
//! table of all rows.

use simhash_core::Fingerprint;
use simhash_index::walk::LeafWalk;
use simhash_index::{Entry, Scopes, TreeKey};

use crate::storage::Index;

/// The walk: through one scope after the other.
pub struct Nulls<K: TreeKey> {
    pub walk: LeafWalk<K>,
    pub scopes: Scopes<K::Scope>,
    /// The remaining scopes, the next one last.
    pub left: Vec<Scopes<K::Scope>>,
}

impl<K: TreeKey> Nulls<K> {
    /// `None` if no scope is left.
    pub fn new(index: &Index<K>, mut left: Vec<Scopes<K::Scope>>) -> Option<Self> {
        loop {
            let scopes = left.pop()?;
            let length = index.shape.scope;
            if let Some(first) = scopes.at_or_after(K::MIN.scope(), length) {
                let walk = LeafWalk::new(index.null_table(), start_of(first));
                return Some(Self { walk, scopes, left });
            }
        }
    }

    /// Moves the walk to the next place that may have wanted rows. False if there is none.
    pub fn skip(&mut self, length: usize) -> bool {
        let Some(position) = self.walk.position() else { return false };
        let scope = position.key.scope();
        match self.scopes.at_or_after(scope, length) {
            None => false,
            Some(next) if next == scope => true,
            Some(next) => {
                let table = self.walk.table();
                self.walk = LeafWalk::new(table, start_of(next));
                true
            }
        }
    }
}

/// The least possible entry of a scope in the table of NULLs.
fn start_of<K: TreeKey>(scope: K::Scope) -> Entry<K> {
    Entry::first_with(K::new(scope, K::Fingerprint::ZERO))
}
