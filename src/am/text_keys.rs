//! Makes the keys of texts, for every kind of index of texts.

use pgrx::pg_sys;
use simhash_core::base::key::Key;

use super::asked::Asked;
use super::kind::Kind;
use super::passages::PassageKeys;
use super::texts::NearKeys;
use crate::storage::IndexRel;
use crate::types::strategy;

/// Makes the keys of an index's texts.
pub enum TextKeys {
    Near(NearKeys),
    Passages(Box<PassageKeys>),
}

impl TextKeys {
    /// # Safety
    /// `rel` is an open index of texts of this kind.
    pub unsafe fn of(rel: IndexRel, kind: Kind) -> Self {
        // SAFETY: `rel` is an open index of texts.
        unsafe {
            match kind {
                Kind::Passages => TextKeys::Passages(Box::new(PassageKeys::of(rel))),
                _ => TextKeys::Near(NearKeys::of(rel, kind)),
            }
        }
    }

    /// The keys of a value of the searched column; empty if its text has none.
    ///
    /// # Safety
    /// `value` is of the column's type, and not NULL.
    pub unsafe fn of_value<F: Key>(&mut self, value: pg_sys::Datum) -> Vec<F> {
        // SAFETY: `value` is of the column's type, and not NULL.
        unsafe {
            match self {
                TextKeys::Near(keys) => keys.of_value(value),
                TextKeys::Passages(keys) => keys.of_value(value),
            }
        }
    }

    /// What the index has to search for a scan key with this argument.
    ///
    /// # Safety
    /// `key` is of an operator of the index's last key column. `argument` is of its right-hand
    /// type, not NULL.
    pub unsafe fn asked<F: Key>(
        &mut self,
        key: &pg_sys::ScanKeyData,
        argument: pg_sys::Datum,
    ) -> Asked<F> {
        // SAFETY: `argument` is of the operator's right-hand type and not NULL.
        unsafe {
            match self {
                TextKeys::Passages(keys) => keys.asked(argument),
                TextKeys::Near(keys) => match key.sk_strategy {
                    strategy::EQUAL => keys.asked_equal(argument, key.sk_collation),
                    strategy::NEAR if key.sk_subtype == pg_sys::TEXTOID => {
                        keys.asked_by_text(argument)
                    }
                    _ => keys.asked(argument),
                },
            }
        }
    }
}
