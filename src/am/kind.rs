//! What an indexed column can hold.

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::search::Key;
use simhash_index::{Damage, META_PAGE, Store};

use super::scope::ScopeType;
use crate::error::raise;
use crate::storage::{self, Index, IndexRel};
use crate::types::Width;
use crate::types::strategy;

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
    /// fingerprint64[], indexed by each distinct element. So a row may have several keys, or none
    /// if its array has no element that is not NULL. Positions are not stored.
    Lexicons = 5,
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
        let (code, index) = unsafe {
            let function = pg_sys::index_getprocinfo(rel, 1, 1);
            let code =
                pg_sys::FunctionCall1Coll(function, pg_sys::InvalidOid, pg_sys::Datum::null());
            (code.value() as u32, IndexRel::new(rel))
        };
        Self::from_code(code).unwrap_or_else(|| refuse(index, code))
    }

    /// The kind of an open index's column. Raises XX002 if the meta page names no kind with keys of
    /// this width; [`open`] has checked that it names one.
    pub fn of<F: Key>(index: &Index<F>) -> Self {
        let kind = Self::from_code(index.meta().kind).filter(|kind| kind.bits() == F::BITS);
        kind.unwrap_or_else(|| {
            let what = Damage::Other("its kind of key or number of blocks is impossible");
            index.store.damaged(META_PAGE, &what)
        })
    }

    /// Whether a type is laid out as this kind's datums are.
    pub fn fits(self, type_oid: pg_sys::Oid) -> bool {
        let single = self.single_type(type_oid);
        if single == pg_sys::InvalidOid {
            return false;
        }
        let (mut length, mut by_value) = (0, false);
        // SAFETY: a catalogue look-up.
        unsafe { pg_sys::get_typlenbyval(single, &mut length, &mut by_value) };
        let expected = match self {
            Kind::Narrow | Kind::Lexicons => (8, true),
            Kind::Wide | Kind::NarrowBall => (16, false),
            Kind::WideBall => (20, false),
        };
        (length, by_value) == expected
    }

    /// Whether a type is laid out as the right operand of the operator with this strategy.
    pub fn operand_fits(self, number: u16, type_oid: pg_sys::Oid) -> bool {
        if number == strategy::WITHIN {
            self.ball().fits(self.single_type(type_oid))
        } else {
            self.fits(type_oid)
        }
    }

    /// The type itself, or that of an array's elements where this kind's values are arrays.
    /// InvalidOid for a type that is no array there.
    fn single_type(self, type_oid: pg_sys::Oid) -> pg_sys::Oid {
        if !self.has_many_keys() {
            return type_oid;
        }
        // SAFETY: a catalogue look-up.
        unsafe { pg_sys::get_element_type(type_oid) }
    }

    /// The width of its keys.
    pub fn width(self) -> Width {
        match self {
            Kind::Narrow | Kind::NarrowBall | Kind::Lexicons => Width::Bits64,
            Kind::Wide | Kind::WideBall => Width::Bits128,
        }
    }

    pub fn bits(self) -> u32 {
        self.width().bits()
    }

    /// The number of blocks when the index does not say: docs/design/search.md says why.
    pub fn default_blocks(self) -> u32 {
        match self.width() {
            Width::Bits64 => 4,
            Width::Bits128 => 8,
            Width::Bits256 => 16,
        }
    }

    /// Whether the stored keys may not decide a condition, and do not tell the value. Then the
    /// executor checks the row again.
    pub fn is_lossy(self) -> bool {
        self.is_ball() || self.has_many_keys()
    }

    pub fn is_ball(self) -> bool {
        matches!(self, Kind::NarrowBall | Kind::WideBall)
    }

    /// Whether a row may have several keys, or no key although its column is not NULL.
    pub fn has_many_keys(self) -> bool {
        self == Kind::Lexicons
    }

    /// The distance of `~=`. None where its argument, a ball, says it.
    pub fn near(self) -> Option<u32> {
        (!self.is_ball()).then(|| self.width().near())
    }

    /// The ball kind of the same width.
    fn ball(self) -> Self {
        match self.width() {
            Width::Bits64 => Kind::NarrowBall,
            Width::Bits128 => Kind::WideBall,
            Width::Bits256 => unreachable!("no kind has this width yet"),
        }
    }
}

/// Opens an index whose keys are `F::BITS` wide. Raises XX002 if its meta page names no kind with
/// such keys.
pub fn open<F: Key>(rel: IndexRel) -> Index<F> {
    let index = storage::open(rel);
    Kind::of::<F>(&index);
    index
}

/// Raises an ERROR for an index whose column has the code of no kind.
fn refuse(index: IndexRel, code: u32) -> ! {
    let (message, hint) = if ScopeType::from_code(code).is_some() {
        (
            format!("index \"{}\" has no column to be searched by distance", index.name()),
            "Its last column is to be a fingerprint, a ball or an array of fingerprints, or a \
             bigint with the operator class hamming_int8_ops.",
        )
    } else {
        (
            format!(
                "an operator class of access method simhash has the unknown key kind {}",
                code as i32
            ),
            "Use the operator classes that come with pg_simhash.",
        )
    };
    raise(PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION, message, hint)
}
