//! A map of few keys, in a sorted vector.
//!
//! It replaces a `BTreeMap`, which aborts the process if something unwinds while its root grows. A
//! failed allocation unwinds (crate `simhash-oom`).

/// Invariant: keys ascend strictly.
#[derive(Clone, Debug)]
pub(crate) struct SortedMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord + Copy, V> SortedMap<K, V> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of `key`. If there is none, inserts the result of `make`, which moves all greater
    /// keys.
    pub(crate) fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let at = match self.0.binary_search_by_key(&key, |&(key, _)| key) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (key, make()));
                at
            }
        };
        &mut self.0[at].1
    }

    /// In ascending order of the keys.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_types, reason = "compared with the map that it replaces")]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn holds_what_a_tree_holds(keys in prop::collection::vec(0u32..50, 0..200)) {
            let (mut sorted, mut tree) = (SortedMap::default(), BTreeMap::new());
            for key in keys {
                *sorted.get_or_insert_with(key, || 0u64) += 1;
                *tree.entry(key).or_insert(0u64) += 1;
            }
            prop_assert!(sorted.iter().eq(tree.iter().map(|(&key, value)| (key, value))));
            prop_assert_eq!(sorted.len(), tree.len());
            prop_assert_eq!(sorted.is_empty(), tree.is_empty());
        }
    }
}
