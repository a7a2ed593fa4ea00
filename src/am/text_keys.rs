//! What makes the keys of texts, whatever their index is of.

use pgrx::pg_sys;
use simhash_core::base::key::Key;

use super::asked::Asked;
use super::kind::Kind;
use super::passages::PassageKeys;
use super::texts::NearKeys;
use crate::storage::IndexRel;
use crate::types::strategy;

/// What makes the keys of an index's texts.
pub enum TextKeys {
    Near(NearKeys),
    Passages(Box<PassageKeys>),
}

impl TextKeys {
    /// # Safety
    /// The index is open, and is of texts.
    pub unsafe fn of(rel: IndexRel, kind: Kind) -> Self {
        // SAFETY: as this function's.
        unsafe {
            match kind {
                Kind::Passages => TextKeys::Passages(Box::new(PassageKeys::of(rel))),
                _ => TextKeys::Near(NearKeys::of(rel, kind)),
            }
        }
    }

    /// The keys of a value of the indexed column. None if its text has none.
    ///
    /// # Safety
    /// The value is of the column's type, and not NULL.
    pub unsafe fn of_value<F: Key>(&mut self, value: pg_sys::Datum) -> Vec<F> {
        // SAFETY: as this function's.
        unsafe {
            match self {
                TextKeys::Near(keys) => keys.of_value(value),
                TextKeys::Passages(keys) => keys.of_value(value),
            }
        }
    }

    /// What a scan key asks for with this argument.
    ///
    /// # Safety
    /// The key is of an operator of the index's, the argument of its right-hand type and not NULL.
    pub unsafe fn asked<F: Key>(
        &mut self,
        key: &pg_sys::ScanKeyData,
        argument: pg_sys::Datum,
    ) -> Asked<F> {
        // SAFETY: as this function's.
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
