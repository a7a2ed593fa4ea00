//! What an indexed column can hold, and how its datums become keys and search conditions.

use pgrx::{PgSqlErrorCode, pg_extern, pg_sys};
use simhash_core::search::Key;
use simhash_index::{Damage, META_BLOCK, Store};

use super::strategy;
use crate::error::raise;
use crate::functions::distance::{NEAR_64, NEAR_128};
use crate::storage::{self, Index, IndexRel};
use crate::types::array::for_each_element;

/// The type of an indexed column. The numbers are stored in meta pages and returned by the operator
/// classes' support function 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// fingerprint64 or bigint: eight bytes by value.
    Narrow = 1,
    /// fingerprint128: sixteen bytes, most significant first.
    Wide = 2,
    /// hamming_ball64, indexed by its centre.
    NarrowBall = 3,
    /// hamming_ball128, indexed by its centre.
    WideBall = 4,
    /// fingerprint64[], indexed by each distinct element: several keys a row, none for an array without
    /// one. Positions are not stored.
    Lexicons = 5,
}

/// A condition on one key: within `distance` of `center`.
#[derive(Clone, Copy, Debug)]
pub struct Condition<F> {
    pub center: F,
    pub distance: u32,
}

impl Kind {
    pub fn from_code(code: u32) -> Option<Self> {
        [Kind::Narrow, Kind::Wide, Kind::NarrowBall, Kind::WideBall, Kind::Lexicons]
            .into_iter()
            .find(|k| *k as u32 == code)
    }

    /// The kind of an index's column, by its operator class.
    ///
    /// # Safety
    /// `rel` is an open index of this access method.
    pub unsafe fn of_index(rel: pg_sys::Relation) -> Self {
        // SAFETY: the operator class has support function 1, of no arguments: amvalidate and
        // index_getprocinfo see to it.
        let code = unsafe {
            let function = pg_sys::index_getprocinfo(rel, 1, 1);
            pg_sys::FunctionCall1Coll(function, pg_sys::InvalidOid, pg_sys::Datum::null())
        };
        Self::from_code(code.value() as u32).unwrap_or_else(|| {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION,
                format!(
                    "an operator class of access method simhash has the unknown key kind {}",
                    code.value()
                ),
                "Use the operator classes that come with pg_simhash.",
            )
        })
    }

    /// The kind of an open index's column; raises XX002 if there is none such, which [`open`] has seen to.
    pub fn of<F: Key>(index: &Index<F>) -> Self {
        Self::from_code(index.meta().kind).filter(|kind| kind.bits() == F::BITS).unwrap_or_else(|| {
            index
                .store
                .damaged(META_BLOCK, &Damage::Other("its kind of key or number of blocks is impossible"))
        })
    }

    /// Whether a type is laid out as this kind's datums are.
    pub fn fits(self, type_oid: pg_sys::Oid) -> bool {
        let (mut length, mut by_value) = (0, false);
        // SAFETY: catalogue look-ups.
        unsafe {
            let single = if self == Kind::Lexicons { pg_sys::get_element_type(type_oid) } else { type_oid };
            if single == pg_sys::InvalidOid {
                return false;
            }
            pg_sys::get_typlenbyval(single, &mut length, &mut by_value);
        }
        let expected = match self {
            Kind::Narrow | Kind::Lexicons => (8, true),
            Kind::Wide | Kind::NarrowBall => (16, false),
            Kind::WideBall => (20, false),
        };
        (length, by_value) == expected
    }

    /// Whether a type is laid out as the right operand of the operator with this strategy.
    pub fn operand_fits(self, number: u16, type_oid: pg_sys::Oid) -> bool {
        if number != strategy::WITHIN {
            return self.fits(type_oid);
        }
        // SAFETY: a catalogue look-up; what is no array has no element type.
        let single =
            if self.has_many_keys() { unsafe { pg_sys::get_element_type(type_oid) } } else { type_oid };
        self.ball().fits(single)
    }

    /// The width of its keys.
    pub fn bits(self) -> u32 {
        match self {
            Kind::Narrow | Kind::NarrowBall | Kind::Lexicons => 64,
            Kind::Wide | Kind::WideBall => 128,
        }
    }

    /// The number of blocks when the index does not say: by measurement, see DESIGN.md.
    pub fn default_blocks(self) -> u32 {
        if self.bits() == 64 { 4 } else { 8 }
    }

    /// Whether the stored keys do not decide a condition, nor tell the value: the executor looks again.
    pub fn is_lossy(self) -> bool {
        self.is_ball() || self.has_many_keys()
    }

    fn is_ball(self) -> bool {
        matches!(self, Kind::NarrowBall | Kind::WideBall)
    }

    /// Whether a row may have several keys, or none although its column is not NULL.
    pub fn has_many_keys(self) -> bool {
        self == Kind::Lexicons
    }

    /// The distance of `~=` when its argument does not say.
    pub fn near(self) -> Option<u32> {
        (!self.is_ball()).then_some(if self.bits() == 64 { NEAR_64 } else { NEAR_128 })
    }

    /// The distinct keys of a value: those under which a row is stored, and from which distances to a
    /// query are reckoned.
    ///
    /// # Safety
    /// `value` is a datum of the column's type, not NULL.
    pub unsafe fn keys<F: Key>(self, value: pg_sys::Datum) -> Keys<F> {
        // SAFETY: as this function's; elements of a fingerprint64[] are laid out as fingerprint64.
        unsafe {
            if !self.has_many_keys() {
                return Keys::One(self.center(value));
            }
            let mut keys = Vec::new();
            for_each_element(value, |element| keys.extend(element.map(|fp| Kind::Narrow.center::<F>(fp))));
            keys.sort_unstable();
            keys.dedup();
            Keys::Many(keys)
        }
    }

    /// What a scan key asks for: one of these conditions, on one of the row's keys. For lossy kinds that is
    /// necessary, not sufficient.
    ///
    /// # Safety
    /// `argument` is a datum of the right-hand type of the operator with this strategy, not NULL.
    pub unsafe fn conditions<F: Key>(self, number: u16, argument: pg_sys::Datum) -> Vec<Condition<F>> {
        // SAFETY: as this function's; the elements of an array are laid out as the single type.
        unsafe {
            if !self.has_many_keys() {
                return self.condition(number, argument).into_iter().collect();
            }
            let mut conditions = Vec::new();
            for_each_element(argument, |element| {
                conditions.extend(element.and_then(|one| Kind::Narrow.condition::<F>(number, one)));
            });
            conditions.sort_unstable_by_key(|condition| (condition.center, condition.distance));
            conditions.dedup_by_key(|condition| (condition.center, condition.distance));
            conditions
        }
    }

    unsafe fn condition<F: Key>(self, number: u16, argument: pg_sys::Datum) -> Option<Condition<F>> {
        // SAFETY: as `conditions`.
        unsafe {
            let distance = match number {
                strategy::EQUAL => 0,
                strategy::NEAR => match self.near() {
                    Some(distance) => distance,
                    None => u32::try_from(self.radius(argument)).ok()?,
                },
                strategy::WITHIN => u32::try_from(self.ball().radius(argument)).ok()?,
                _ => return None,
            };
            let center = if number == strategy::WITHIN { self.ball() } else { self }.center(argument);
            Some(Condition { center, distance })
        }
    }

    /// The ball kind of the same width.
    fn ball(self) -> Self {
        if self.bits() == 64 { Kind::NarrowBall } else { Kind::WideBall }
    }

    unsafe fn center<F: Key>(self, value: pg_sys::Datum) -> F {
        // SAFETY: the caller passes a datum of this kind; by-reference types are fixed-length, so the
        // pointer is to at least eight or sixteen bytes.
        unsafe {
            match self {
                Kind::Narrow | Kind::Lexicons => F::from_u128(value.value() as u64 as u128),
                Kind::NarrowBall => F::from_u128(u128::from(value.cast_mut_ptr::<u64>().read_unaligned())),
                Kind::Wide | Kind::WideBall => {
                    F::from_u128(u128::from_be_bytes(value.cast_mut_ptr::<[u8; 16]>().read()))
                }
            }
        }
    }

    unsafe fn radius(self, ball: pg_sys::Datum) -> i32 {
        let center_bytes = self.bits() as usize / 8;
        // SAFETY: the caller passes a datum of a ball type; the radius follows the centre.
        unsafe { ball.cast_mut_ptr::<u8>().add(center_bytes).cast::<i32>().read_unaligned() }
    }
}

/// Opens an index whose keys are `F::BITS` wide; raises XX002 if its column is of no kind that has such.
pub fn open<F: Key>(rel: IndexRel) -> Index<F> {
    let index = storage::open(rel);
    Kind::of::<F>(&index);
    index
}

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

macro_rules! support_functions {
    ($($name:ident => $kind:expr),+) => {
        $(
            /// Support function 1 of an operator class: the kind of its column.
            #[pg_extern(sql = false, immutable, parallel_safe)]
            fn $name() -> i32 {
                $kind as i32
            }
        )+
    };
}
support_functions!(
    simhash_kind_64 => Kind::Narrow,
    simhash_kind_128 => Kind::Wide,
    simhash_kind_ball64 => Kind::NarrowBall,
    simhash_kind_ball128 => Kind::WideBall,
    simhash_kind_lexicons => Kind::Lexicons
);
