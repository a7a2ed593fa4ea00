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
    /// Makes the keys of an index of this kind; `None` if it is not of texts.
    pub fn of(rel: IndexRel, kind: Kind) -> Option<Self> {
        kind.is_of_texts().then(|| match kind {
            Kind::Passages => TextKeys::Passages(Box::new(PassageKeys::of(rel))),
            _ => TextKeys::Near(NearKeys::of(rel, kind)),
        })
    }

    /// The keys of a value of the searched column; empty if its text has none.
    ///
    /// # Safety
    /// `value` is of the column's type, and not NULL.
    pub unsafe fn of_value<F: Key>(&mut self, value: pg_sys::Datum) -> Vec<F> {
        match self {
            // SAFETY: `value` is of the column's type, and not NULL.
            TextKeys::Near(keys) => unsafe { keys.of_value(value) },
            // SAFETY: `value` is a text, as the column is, and not NULL.
            TextKeys::Passages(keys) => unsafe { keys.of_value(value) },
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
        let is_text = key.sk_subtype == pg_sys::TEXTOID;
        match (self, key.sk_strategy) {
            // SAFETY: the operator's right-hand type is text_passage.
            (TextKeys::Passages(keys), _) => unsafe { keys.asked(argument) },
            // SAFETY: the operator's right-hand type is text.
            (TextKeys::Near(keys), strategy::EQUAL) => unsafe {
                keys.asked_equal(argument, key.sk_collation)
            },
            // SAFETY: the operator's right-hand type is text.
            (TextKeys::Near(keys), strategy::NEAR) if is_text => unsafe {
                keys.asked_by_text(argument)
            },
            // SAFETY: the operator's right-hand type is near_text.
            (TextKeys::Near(keys), _) => unsafe { keys.asked(argument) },
        }
    }
}
