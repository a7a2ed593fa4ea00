//! How values of an indexed column become keys, and operators' arguments become conditions on keys.

use pgrx::pg_sys;
use simhash_core::search::Key;

use super::kind::Kind;
use crate::types::array::for_each_element;
use crate::types::ball::Ball;
use crate::types::strategy;

/// The keys of one row.
pub enum Keys<F> {
    One(F),
    Many(Vec<F>),
}

impl<F> Keys<F> {
    pub fn as_slice(&self) -> &[F] {
        match self {
            Keys::One(key) => std::slice::from_ref(key),
            Keys::Many(keys) => keys,
        }
    }
}

/// A condition on one key: within `distance` of `center`.
#[derive(Clone, Copy, Debug)]
pub struct Condition<F> {
    pub center: F,
    pub distance: u32,
}

impl Kind {
    /// The distinct keys of a value: those under which its row is stored, and from which distances
    /// to a query are measured.
    ///
    /// # Safety
    /// `value` is a datum of the column's type, not NULL.
    pub unsafe fn keys<F: Key>(self, value: pg_sys::Datum) -> Keys<F> {
        if !self.has_many_keys() {
            // SAFETY: as this function's.
            return Keys::One(unsafe { self.key(value) });
        }
        let mut keys = Vec::new();
        // SAFETY: as this function's; the elements of the array are fingerprints.
        unsafe {
            for_each_element(value, |element| {
                keys.extend(element.map(|fp| self.width().fingerprint::<F>(fp)));
            });
        }
        keys.sort_unstable();
        keys.dedup();
        Keys::Many(keys)
    }

    /// What a scan key asks for: one of these conditions on one of the row's keys. For lossy kinds
    /// that is necessary, not sufficient.
    ///
    /// # Safety
    /// `argument` is a datum of the right-hand type of the operator with this strategy, not NULL.
    pub unsafe fn conditions<F: Key>(
        self,
        number: u16,
        argument: pg_sys::Datum,
    ) -> Vec<Condition<F>> {
        if !self.has_many_keys() {
            // SAFETY: as this function's.
            return unsafe { self.condition(number, argument) }.into_iter().collect();
        }
        let mut conditions = Vec::new();
        // SAFETY: as this function's; the elements of an array are arguments of the single type.
        unsafe {
            for_each_element(argument, |element| {
                conditions.extend(element.and_then(|one| self.condition::<F>(number, one)));
            });
        }
        conditions.sort_unstable_by_key(|condition| (condition.center, condition.distance));
        conditions.dedup_by_key(|condition| (condition.center, condition.distance));
        conditions
    }

    /// The key of a single fingerprint or ball.
    #[inline]
    unsafe fn key<F: Key>(self, value: pg_sys::Datum) -> F {
        // SAFETY: the caller passes a single value of this kind.
        unsafe {
            if self.is_ball() {
                self.width().ball(value).center
            } else {
                self.width().fingerprint(value)
            }
        }
    }

    /// The condition of a single argument; none for an operator that is no condition.
    unsafe fn condition<F: Key>(
        self,
        number: u16,
        argument: pg_sys::Datum,
    ) -> Option<Condition<F>> {
        let (center, distance) = match (number, self.near()) {
            // SAFETY: as `conditions`.
            (strategy::EQUAL, _) => (unsafe { self.key(argument) }, 0),
            // SAFETY: as `conditions`.
            (strategy::NEAR, Some(distance)) => (unsafe { self.key(argument) }, distance),
            (strategy::WITHIN, _) | (strategy::NEAR, None) => {
                // SAFETY: as `conditions`: the argument is a ball.
                let Ball { center, radius } = unsafe { self.width().ball(argument) };
                (center, radius)
            }
            _ => return None,
        };
        Some(Condition { center, distance })
    }
}
