//! Turns scan keys on columns compared by equality into the scopes of a scan.

use std::rc::Rc;

use pgrx::pg_sys;
use simhash_index::key::Bytes;
use simhash_index::scopes::{Allowed, Column, Filter};
use simhash_index::{Scopes, TreeKey};

use crate::am::columns::Columns;
use crate::storage::check_for_interrupts;
use crate::types::array::elements;
use crate::types::strategy;

/// At most this many scopes are searched one by one, each with a plan of its own.
const ONE_BY_ONE: usize = 16;

/// The values that the scan keys allow for each column of a scope.
pub struct ScopeConditions<'a> {
    columns: &'a Columns,
    allowed: Vec<Allowed>,
    /// Whether a scan key requires more than the scopes can express, so that the executor has to
    /// recheck.
    pub is_lossy: bool,
}

impl<'a> ScopeConditions<'a> {
    pub fn new(columns: &'a Columns) -> Self {
        Self { columns, allowed: vec![Allowed::Any; columns.scope_columns()], is_lossy: false }
    }

    /// Adds a scan key on the column with this number, from 0. False if no row can meet it.
    ///
    /// # Safety
    /// `key` is of an operator of the column's class.
    pub unsafe fn add(&mut self, column: usize, key: &pg_sys::ScanKeyData) -> bool {
        let flags = key.sk_flags as u32;
        let tests_null = flags & (pg_sys::SK_SEARCHNULL | pg_sys::SK_SEARCHNOTNULL) != 0;
        if key.sk_strategy != strategy::EQUAL && !tests_null {
            // The key asks for nearness of a text, which the executor checks.
            self.is_lossy = true;
            return flags & pg_sys::SK_ISNULL == 0;
        }
        let bytes = |value, type_oid| {
            // SAFETY: a value is of the right-hand type of an operator of the column's class, which
            // is `type_oid`.
            unsafe { self.columns.scope_bytes(column, value, type_oid) }
        };
        let more = if flags & pg_sys::SK_SEARCHNOTNULL != 0 {
            Allowed::NotNull
        } else if flags & pg_sys::SK_SEARCHNULL != 0 {
            Allowed::Values(bytes(None, pg_sys::InvalidOid).into_iter().collect())
        } else if flags & pg_sys::SK_ISNULL != 0 {
            return false;
        } else if flags & pg_sys::SK_SEARCHARRAY != 0 {
            // SAFETY: the argument is an array of the operator's right-hand type.
            let (element_type, elements) = unsafe { elements(key.sk_argument) };
            let given = elements.into_iter().flatten();
            let mut values: Vec<_> = given
                .inspect(|_| check_for_interrupts())
                .filter_map(|value| bytes(Some(value), element_type))
                .collect();
            values.sort_unstable();
            values.dedup();
            Allowed::Values(values)
        } else {
            Allowed::Values(bytes(Some(key.sk_argument), key.sk_subtype).into_iter().collect())
        };
        let both = both(&self.allowed[column], more);
        let possible = !matches!(&both, Allowed::Values(values) if values.is_empty());
        self.allowed[column] = both;
        possible
    }

    /// The scopes that meet all scan keys.
    pub fn scopes<K: TreeKey>(self) -> Vec<Scopes<K::Scope>> {
        if self.allowed.iter().all(|allowed| matches!(allowed, Allowed::Any)) {
            return vec![Scopes::All];
        }
        let mut known: Option<Vec<Vec<u8>>> = Some(vec![Vec::new()]);
        for allowed in &self.allowed {
            known = match (known, allowed) {
                (Some(scopes), Allowed::Values(values))
                    if scopes.len().saturating_mul(values.len()) <= ONE_BY_ONE =>
                {
                    let with = |scope: &Vec<u8>| {
                        let scope = scope.clone();
                        values.iter().map(move |value| [&scope[..], value].concat())
                    };
                    Some(scopes.iter().flat_map(with).collect())
                }
                _ => None,
            };
        }
        if let Some(scopes) = known {
            return scopes.iter().map(|scope| Scopes::One(K::Scope::load(scope))).collect();
        }
        let column = |(i, allowed)| Column { bytes: self.columns.column_bytes(i), allowed };
        let columns = self.allowed.into_iter().enumerate().map(column).collect();
        vec![Scopes::Where(Rc::new(Filter { columns }))]
    }
}

/// The values that two conditions on a column allow together.
fn both(a: &Allowed, b: Allowed) -> Allowed {
    match (a, b) {
        (Allowed::Any, b) => b,
        (a, Allowed::Any) => a.clone(),
        (Allowed::NotNull, Allowed::NotNull) => Allowed::NotNull,
        (Allowed::NotNull, Allowed::Values(values)) => not_null(&values),
        (Allowed::Values(values), Allowed::NotNull) => not_null(values),
        (Allowed::Values(a), Allowed::Values(b)) => {
            Allowed::Values(b.into_iter().filter(|value| a.binary_search(value).is_ok()).collect())
        }
    }
}

fn not_null(values: &[Vec<u8>]) -> Allowed {
    Allowed::Values(values.iter().filter(|value| value.first() == Some(&0)).cloned().collect())
}
