//! Turns values of the searched column into keys, and operators' arguments into conditions on keys.

use pgrx::pg_sys;
use simhash_core::base::key::Key;
use simhash_index::TreeKey;
use simhash_index::insert::Beside;
use simhash_index::page::MOST_KEY;
use simhash_index::postings::Presence;

use super::columns::{Columns, Values};
use super::kind::{Kind, Searched};
use super::text_keys::TextKeys;
use crate::storage::Index;
use crate::types::array::for_each_element;
use crate::types::ball::Ball;
use crate::types::bit_ball::BitBall;
use crate::types::bits::{BIT_HEADER, BitString};
use crate::types::datum::Decode;
use crate::types::{strategy, tid};

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

/// A row to be indexed: its keys, possibly none, and what is stored beside each of them.
pub struct IndexRow<K: TreeKey> {
    keys: Option<Keys<K::Fingerprint>>,
    pub beside: Beside<K>,
}

impl<K: TreeKey> IndexRow<K> {
    pub fn keys(&self) -> &[K::Fingerprint] {
        self.keys.as_ref().map_or(&[], Keys::as_slice)
    }

    /// What the table of rows of an index of texts stores about the row's text.
    pub fn presence(&self) -> Presence {
        match &self.keys {
            None => Presence::Null,
            Some(keys) if keys.as_slice().is_empty() => Presence::Empty,
            Some(_) => Presence::Keys,
        }
    }
}

/// Turns the values that PostgreSQL passes for one index into rows.
pub struct RowReader {
    searched: Searched,
    pub columns: Columns,
    /// Makes the keys, if the index is of texts.
    texts: Option<TextKeys>,
}

impl RowReader {
    pub fn new<K: TreeKey>(index: &Index<K>) -> Self {
        let searched = Searched::of(index);
        let columns = Columns::of(index.store, &index.meta());
        Self { searched, columns, texts: TextKeys::of(index.store, searched.kind) }
    }

    /// # Safety
    /// `values` and `is_null` have an element for each column of the index, of its type unless it
    /// is NULL, and `tid` is valid.
    pub unsafe fn read<K: TreeKey>(
        &mut self,
        values: *const pg_sys::Datum,
        is_null: *const bool,
        tid: pg_sys::ItemPointer,
    ) -> IndexRow<K> {
        // SAFETY: the arrays have an element for each column.
        let values = unsafe { Values::new(values, is_null, self.columns.count()) };
        let keys = values.get(self.columns.scope_columns()).map(|value| match &mut self.texts {
            // SAFETY: the value is of the searched column's type.
            None => unsafe { self.searched.keys(value) },
            // SAFETY: the value is of the searched column's type.
            Some(texts) => Keys::Many(distinct(unsafe { texts.of_value(value) })),
        });
        // SAFETY: there is a value of each column's type, and `tid` is valid.
        let beside = unsafe { self.columns.beside(values, tid::pack(&*tid)) };
        IndexRow { keys, beside }
    }
}

/// The distinct ones of a row's keys: an entry is in its tree once.
fn distinct<F: Ord>(mut keys: Vec<F>) -> Vec<F> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// A condition on one key: within `distance` of `center`.
#[derive(Clone, Copy, Debug)]
pub struct Condition<F> {
    pub center: F,
    pub distance: u32,
}

/// Memory for a value that is passed by reference: a header, if it has one, and a key. It has the
/// alignment of any PostgreSQL type.
#[repr(C, align(8))]
pub struct DatumSpace([u8; BIT_HEADER + MOST_KEY]);

impl DatumSpace {
    pub const fn new() -> Self {
        Self([0; BIT_HEADER + MOST_KEY])
    }
}

impl Searched {
    /// The distinct keys of a value. Its row is stored under each of them, and distances to a query
    /// are measured from them.
    ///
    /// # Safety
    /// `value` is a datum of the column's type, not NULL.
    pub unsafe fn keys<F: Key>(self, value: pg_sys::Datum) -> Keys<F> {
        if !self.kind.has_many_keys() {
            // SAFETY: `value` is a single value of the column's type.
            return Keys::One(unsafe { self.key(value) });
        }
        let mut keys = Vec::new();
        // SAFETY: an element is a fingerprint.
        let one = |element| unsafe { self.key::<F>(element) };
        // SAFETY: `value` is an array of the column's type.
        unsafe { for_each_element(value, |element| keys.extend(element.map(one))) };
        Keys::Many(distinct(keys))
    }

    /// The conditions of a scan key: one of them has to be true of one of the row's keys. For lossy
    /// kinds that is necessary, not sufficient. Raises 22026 for a ball around a bit string of
    /// another length than the column's, as a comparison with any row would.
    ///
    /// # Safety
    /// `argument` is a datum of the right-hand type of the operator with this strategy, not NULL.
    pub unsafe fn conditions<F: Key>(
        self,
        number: u16,
        argument: pg_sys::Datum,
    ) -> Vec<Condition<F>> {
        if !self.kind.has_many_keys() {
            // SAFETY: `argument` is of the operator's right-hand type, not NULL.
            return unsafe { self.condition(number, argument) }.into_iter().collect();
        }
        let mut conditions = Vec::new();
        // SAFETY: an element is an argument of a single value's operator.
        let one = |element| unsafe { self.condition::<F>(number, element) };
        // SAFETY: `argument` is an array of the operator's right-hand type.
        unsafe { for_each_element(argument, |element| conditions.extend(element.and_then(one))) };
        conditions.sort_unstable_by_key(|condition| (condition.center, condition.distance));
        conditions.dedup_by_key(|condition| (condition.center, condition.distance));
        conditions
    }

    /// A fingerprint as a datum of its type. If the type is passed by reference, the datum points
    /// into `space`.
    pub fn datum<F: Key>(self, fingerprint: F, space: &mut DatumSpace) -> pg_sys::Datum {
        let bytes = self.bits.div_ceil(8) as usize;
        if self.kind == Kind::Bits {
            let (header, stored) = space.0.split_at_mut(BIT_HEADER);
            header.copy_from_slice(&BitString::header(self.bits, bytes));
            fingerprint.to_be_bytes(&mut stored[..bytes]);
            return pg_sys::Datum::from(space.0.as_ptr());
        }
        let stored = &mut space.0[..bytes];
        fingerprint.to_be_bytes(stored);
        match <[u8; 8]>::try_from(&*stored) {
            Ok(number) => pg_sys::Datum::from(u64::from_be_bytes(number)),
            Err(_) => pg_sys::Datum::from(stored.as_ptr()),
        }
    }

    /// The key of a single fingerprint, ball or bit string: in the most significant bits of `F`,
    /// which may be wider.
    #[inline]
    unsafe fn key<F: Key>(self, value: pg_sys::Datum) -> F {
        let of_bits = |bits: &BitString<'_>| {
            bits.check_is_as_long(self.bits as usize);
            self.leading(bits)
        };
        match self.kind.width() {
            // SAFETY: the value is a ball of this width.
            Some(_) if self.kind.is_ball() => unsafe { self.ball(value) }.center,
            // SAFETY: the value is a fingerprint of this width.
            Some(width) if F::BITS == self.bits => unsafe { width.fingerprint(value) },
            // SAFETY: the value is a fingerprint of this width.
            Some(width) => unsafe { width.code(value) }.leading(),
            // SAFETY: the value is a bit string.
            None => unsafe { BitString::with(value, of_bits) },
        }
    }

    /// The key of a single argument of `=`; `None` if no row can be equal to it.
    unsafe fn equal_key<F: Key>(self, value: pg_sys::Datum) -> Option<F> {
        if self.kind != Kind::Bits {
            // SAFETY: the value is a single one of this kind.
            return Some(unsafe { self.key(value) });
        }
        let read =
            |bits: &BitString<'_>| (bits.length == self.bits as usize).then(|| self.leading(bits));
        // SAFETY: the value is a bit string.
        unsafe { BitString::with(value, read) }
    }

    /// A bit string of the column's length, in the most significant bits of `F`. Bits beyond its
    /// length are not read.
    fn leading<F: Key>(self, bits: &BitString<'_>) -> F {
        let bytes = bits.bytes.get(..self.bits.div_ceil(8) as usize).unwrap_or(&bits.bytes);
        F::from_be_bytes(bytes) & F::leading_mask(self.bits)
    }

    /// A single ball, with its centre as [`Searched::key`] gives keys.
    #[inline]
    unsafe fn ball<F: Key>(self, value: pg_sys::Datum) -> Ball<F> {
        match self.kind.width() {
            // SAFETY: the value is a ball of this width.
            Some(width) if F::BITS == self.bits => unsafe { width.ball(value) },
            // SAFETY: the value is a ball of this width.
            Some(width) => unsafe { width.ball_code(value) }.map(|center| center.leading()),
            None => {
                // SAFETY: the value is a ball of bit strings.
                let BitBall { center, radius } = unsafe { BitBall::decode(value) };
                center.check_is_as_long(self.bits as usize);
                Ball { center: self.leading(&center), radius }
            }
        }
    }

    /// The condition of a single argument; `None` if the operator is not a condition, or no row can
    /// meet it.
    unsafe fn condition<F: Key>(
        self,
        number: u16,
        argument: pg_sys::Datum,
    ) -> Option<Condition<F>> {
        let (center, distance) = match (number, self.kind.near()) {
            // SAFETY: the caller's argument of `=` is of the column's single type.
            (strategy::EQUAL, _) => (unsafe { self.equal_key(argument) }?, 0),
            // SAFETY: the caller's argument of `~=` is of the column's single type.
            (strategy::NEAR, Some(distance)) => (unsafe { self.key(argument) }, distance),
            (strategy::WITHIN, _) | (strategy::NEAR, None) => {
                // SAFETY: the caller's argument is a ball of this kind.
                let Ball { center, radius } = unsafe { self.ball(argument) };
                (center, radius)
            }
            _ => return None,
        };
        Some(Condition { center, distance })
    }
}
