//! Which scopes a scan searches, and how much of a table they are.
//!
//! A known scope is one range of keys in every table, with leaves of its own, as a tree of its own
//! would have. If some of its columns are not known, a scan goes from scope to scope. The next leaf
//! shows which scope is the next that exists, so scopes without rows are skipped.

use std::cmp::Ordering;
use std::rc::Rc;

use simhash_core::Fingerprint;
use simhash_core::base::key::Key;
use simhash_core::search::cost::Part;
use simhash_core::search::{Plan, cost};

use crate::index::{Index, root};
use crate::key::{Bytes, TreeKey};
use crate::page::Entry;
use crate::store::Store;

/// The scopes that a scan looks into.
#[derive(Clone, Debug)]
pub enum Scopes<B> {
    All,
    One(B),
    Where(Rc<Filter>),
}

/// What is known of each column of a scope.
#[derive(Clone, Debug)]
pub struct Filter {
    pub columns: Vec<Column>,
}

/// A column of a scope, as a string of bytes of fixed length.
#[derive(Clone, Debug)]
pub struct Column {
    pub bytes: usize,
    pub allowed: Allowed,
}

/// The strings that a column may have.
#[derive(Clone, Debug)]
pub enum Allowed {
    Any,
    /// Those whose first byte is zero.
    NotNull,
    /// These, which ascend.
    Values(Vec<Vec<u8>>),
}

impl<B: Bytes> Scopes<B> {
    /// The least scope that is not below `from`. Scopes have `length` bytes.
    pub fn at_or_after(&self, from: B, length: usize) -> Option<B> {
        match self {
            Scopes::All => Some(from),
            Scopes::One(scope) => (*scope >= from).then_some(*scope),
            Scopes::Where(filter) => {
                let mut bytes = vec![0; length];
                from.store(&mut bytes);
                filter.least(&filter.columns, Some(&bytes)).map(|found| B::load(&found))
            }
        }
    }

    pub fn contains(&self, scope: B, length: usize) -> bool {
        match self {
            Scopes::All => true,
            Scopes::One(one) => *one == scope,
            Scopes::Where(_) => self.at_or_after(scope, length) == Some(scope),
        }
    }

    /// The least scope above `scope`.
    pub fn after(&self, scope: B, length: usize) -> Option<B> {
        self.at_or_after(scope.successor(length)?, length)
    }
}

impl Filter {
    /// The least string of the columns that is not below `from`.
    fn least(&self, columns: &[Column], from: Option<&[u8]>) -> Option<Vec<u8>> {
        let Some((column, rest)) = columns.split_first() else {
            return Some(Vec::new());
        };
        let join = |mut first: Vec<u8>, rest: Vec<u8>| {
            first.extend(rest);
            first
        };
        let Some((own, below)) = from.map(|from| from.split_at(column.bytes)) else {
            return Some(join(column.at_or_after(None)?, self.least(rest, None)?));
        };
        let first = column.at_or_after(Some(own))?;
        if first == own {
            if let Some(found) = self.least(rest, Some(below)) {
                return Some(join(first, found));
            }
            let next = column.at_or_after(Some(&incremented(own)?))?;
            return Some(join(next, self.least(rest, None)?));
        }
        Some(join(first, self.least(rest, None)?))
    }
}

impl Column {
    /// The least allowed string, or the least that is not below `from`.
    fn at_or_after(&self, from: Option<&[u8]>) -> Option<Vec<u8>> {
        match &self.allowed {
            Allowed::Any => Some(from.map_or_else(|| vec![0; self.bytes], <[u8]>::to_vec)),
            Allowed::NotNull => {
                let string = from.map_or_else(|| vec![0; self.bytes], <[u8]>::to_vec);
                (string.first() == Some(&0)).then_some(string)
            }
            Allowed::Values(values) => {
                let is_below = |value: &Vec<u8>| {
                    from.is_some_and(|from| value.as_slice().cmp(from) == Ordering::Less)
                };
                values.get(values.partition_point(is_below)).cloned()
            }
        }
    }
}

/// The next string of the same length.
fn incremented(string: &[u8]) -> Option<Vec<u8>> {
    let mut next = string.to_vec();
    for byte in next.iter_mut().rev() {
        let carries;
        (*byte, carries) = byte.overflowing_add(1);
        if !carries {
            return Some(next);
        }
    }
    None
}

/// How many leaves of a table the scopes of a scan have, for each scope.
#[derive(Clone, Debug)]
pub struct Extent {
    parts: Vec<Part>,
}

impl Extent {
    /// The leaves of all scopes.
    pub fn leaves(&self) -> f64 {
        self.parts.iter().map(|part| part.count * part.leaves).sum()
    }

    /// Scopes by their size.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// How many leaves a plan is expected to touch.
    pub fn expected<F: Key>(&self, plan: &Plan) -> f64 {
        cost::expected_leaves_of_parts::<F>(plan, &self.parts)
    }
}

impl<K: TreeKey, S: Store> Index<K, S> {
    /// The plan that finds everything within `distance` in these scopes with the least expected
    /// work.
    pub fn plan(&self, distance: u32, extent: &Extent) -> Plan {
        let tables = self.selective_tables();
        cost::cheapest_over_parts::<K::Fingerprint>(self.layout, distance, &extent.parts, &tables)
    }

    /// About how many leaves of a table the scopes have.
    pub fn extent(&self, scopes: &Scopes<K::Scope>) -> Extent {
        let all = self.leaves_per_table();
        let one = |leaves| Part { count: 1.0, leaves };
        let parts = match scopes {
            _ if K::Scope::BYTES == 0 || self.shape.scope == 0 => vec![one(all)],
            Scopes::One(scope) => vec![one(self.leaves_of(*scope).min(all))],
            _ => self.parts(scopes, all),
        };
        Extent { parts }
    }

    /// About the number of leaves of the first table that have rows of a scope.
    fn leaves_of(&self, scope: K::Scope) -> f64 {
        let least = Entry::first_with(K::new(scope, K::Fingerprint::ZERO));
        let most = Entry { key: K::new(scope, K::Fingerprint::MAX), tid: u64::MAX };
        let (mut low, mut high) = (root(0), root(0));
        // How many pages of the level lie between the two.
        let mut between = 0.0;
        let mut above = None;
        loop {
            let (Some(left), Some(right)) = (self.copy_of(0, low), self.copy_of(0, high)) else {
                return between + 1.0;
            };
            if above.is_some_and(|above| left.level >= above) || right.level != left.level {
                // A page was reused, or the copy above it is old.
                return between + 1.0;
            }
            above = Some(left.level);
            let (i, j) = (left.child_covering(&least), right.child_covering(&most));
            between = if low == high {
                j.saturating_sub(i) as f64
            } else {
                let fanout = (left.children.len() + right.children.len()) as f64 / 2.0;
                (between - 1.0) * fanout + (left.children.len() - i) as f64 + j as f64
            };
            let next = (left.children[i].number, right.children[j].number);
            self.expect_page(next.0, low);
            self.expect_page(next.1, high);
            if left.level <= 1 {
                return between + 1.0;
            }
            (low, high) = next;
        }
    }

    /// The leaves of the scopes of a sample, for each scope. Scopes with one row in the sample are
    /// assumed to be small, with one leaf each.
    fn parts(&self, scopes: &Scopes<K::Scope>, all: f64) -> Vec<Part> {
        let length = self.shape.scope;
        let mut sample: Vec<K::Scope> = self.sample().into_iter().map(K::scope).collect();
        let share = all / sample.len().max(1) as f64;
        sample.retain(|scope| scopes.contains(*scope, length));
        sample.sort_unstable();
        let mut parts = Vec::new();
        let mut small: f64 = 0.0;
        for same in sample.chunk_by(|a, b| a == b) {
            let leaves = same.len() as f64 * share;
            if same.len() > 1 {
                parts.push(Part { count: 1.0, leaves });
            } else {
                small += leaves.max(1.0);
            }
        }
        // If there are none, the scopes are too small for the sample, or the table is.
        if small > 0.0 || parts.is_empty() {
            parts.push(Part { count: small.max(1.0), leaves: 1.0 });
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(strings: &[&[u8]]) -> Allowed {
        Allowed::Values(strings.iter().map(|string| string.to_vec()).collect())
    }

    /// All scopes of two columns of one byte each, and the last of three columns.
    #[test]
    fn the_next_scope_is_the_least_allowed_one() {
        let choices = [Allowed::Any, Allowed::NotNull, values(&[&[1]]), values(&[&[0], &[255]])];
        let allows = |allowed: &Allowed, byte: u8| match allowed {
            Allowed::Any => true,
            Allowed::NotNull => byte == 0,
            Allowed::Values(values) => values.contains(&vec![byte]),
        };
        for (first, second) in choices.iter().flat_map(|a| choices.iter().map(move |b| (a, b))) {
            let column = |allowed: &Allowed| Column { bytes: 1, allowed: allowed.clone() };
            let columns = vec![column(first), column(second)];
            let scopes: Scopes<[u64; 1]> = Scopes::Where(Rc::new(Filter { columns }));
            let mut expected = None;
            for from in (0..=u16::MAX).rev() {
                let [a, b] = from.to_be_bytes();
                if allows(first, a) && allows(second, b) {
                    expected = Some(<[u64; 1]>::load(&[a, b]));
                }
                let found = scopes.at_or_after(<[u64; 1]>::load(&[a, b]), 2);
                assert_eq!(found, expected, "{scopes:?} from {from:x}");
            }
        }
    }

    #[test]
    fn no_allowed_value_means_no_scope() {
        let columns = vec![
            Column { bytes: 2, allowed: Allowed::Any },
            Column { bytes: 1, allowed: values(&[]) },
        ];
        let scopes: Scopes<[u64; 1]> = Scopes::Where(Rc::new(Filter { columns }));
        assert_eq!(scopes.at_or_after([0], 3), None);
    }
}
