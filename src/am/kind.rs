//! The kinds of column that an index can search by distance.

use std::ops::RangeInclusive;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_index::page::MOST_KEY;
use simhash_index::postings::{POSTING_KEY, ROWS};
use simhash_index::{Damage, META_PAGE, Meta, Store, TreeKey};

use super::scope::ScopeType;
use crate::error::raise;
use crate::storage::{self, Index, IndexRel};
use crate::types::Width;
use crate::types::bits::declared_length;
use crate::types::strategy;

/// What the searched column holds. The numbers are stored in meta pages and returned by the
/// operator classes' support function 1.
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
    /// fingerprint64[], indexed by each distinct element. A row may have several keys, or none if
    /// its array has no element that is not NULL. Positions are not stored.
    Lexicons = 5,
    /// fingerprint256: 32 bytes, most significant first.
    Long = 6,
    /// hamming_ball256, indexed by its centre.
    LongBall = 7,
    /// bit(n), with the length that its column declares.
    Bits = 8,
    /// text, indexed by the keys of its sketch. The last key column of an index is of this kind if
    /// its operator class is that of texts compared by equality.
    Texts = 9,
    /// near_text, indexed by the keys of its text's sketch.
    NearTexts = 10,
    /// text, indexed by the kept hashes of its runs of words.
    Passages = 11,
}

/// The lengths that an indexed `bit(n)` may have.
const LENGTHS: RangeInclusive<u32> = 8..=8 * MOST_KEY as u32;

/// The column that an index searches by distance.
#[derive(Clone, Copy, Debug)]
pub struct Searched {
    pub kind: Kind,
    /// The width of its keys, in bits.
    pub bits: u32,
}

impl Searched {
    /// The searched column of an existing index. Raises XX002 if the meta page has no known kind,
    /// or a kind with keys of another width; [`open`] has checked this already.
    pub fn of<K: TreeKey>(index: &Index<K>) -> Self {
        let Meta { kind, bits, .. } = index.meta();
        let kind = Kind::from_code(kind).filter(|kind| match kind.width() {
            Some(width) => width.bits() == bits,
            None => LENGTHS.contains(&bits),
        });
        let kind = kind.unwrap_or_else(|| {
            let what = Damage::Other("its kind of key or number of blocks is invalid");
            index.store.damaged(META_PAGE, &what)
        });
        Self { kind, bits }
    }

    /// The searched column of a new index. Raises an ERROR if it cannot be searched.
    pub fn of_new(rel: IndexRel) -> Self {
        let kind = Kind::of_rel(rel);
        let declared = || {
            if kind.is_of_texts() {
                return Some(8 * POSTING_KEY as u32);
            }
            let column = rel.attribute(rel.key_columns() - 1)?;
            declared_length(column.atttypid, column.atttypmod)
        };
        let bits = kind.width().map(Width::bits).or_else(declared);
        match bits.filter(|bits| kind.width().is_some() || LENGTHS.contains(bits)) {
            Some(bits) => Self { kind, bits },
            None => refuse_length(rel, bits),
        }
    }

    /// The number of blocks unless the index has a parameter: one for each 16 bits, at most 16.
    /// crates/simhash-core/src/search/README.md says why.
    pub fn default_blocks(self) -> u32 {
        if self.kind.is_of_texts() {
            return u32::from(ROWS);
        }
        self.bits.div_ceil(16).min(16)
    }
}

impl Kind {
    const ALL: [Self; 11] = [
        Kind::Narrow,
        Kind::Wide,
        Kind::NarrowBall,
        Kind::WideBall,
        Kind::Lexicons,
        Kind::Long,
        Kind::LongBall,
        Kind::Bits,
        Kind::Texts,
        Kind::NearTexts,
        Kind::Passages,
    ];

    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|k| *k as u32 == code)
    }

    /// The kind of an index's searched column, by its operator class.
    ///
    /// # Safety
    /// `rel` is an open index of this access method.
    pub unsafe fn of_index(rel: pg_sys::Relation) -> Self {
        // SAFETY: `rel` is open while it is read here.
        Self::of_rel(unsafe { IndexRel::new(rel) })
    }

    /// The kind of an index's searched column, by its operator class.
    pub fn of_rel(rel: IndexRel) -> Self {
        let code = code_of(rel, rel.key_columns() - 1);
        if code == ScopeType::Text as u32 {
            return Kind::Texts;
        }
        Self::from_code(code).unwrap_or_else(|| refuse(rel, code))
    }

    /// The kind of an existing index's searched column: see [`Searched::of`].
    pub fn of<K: TreeKey>(index: &Index<K>) -> Self {
        Searched::of(index).kind
    }

    /// Whether a type has the length and passing convention of this kind's datums.
    pub fn fits(self, type_oid: pg_sys::Oid) -> bool {
        let single = self.single_type(type_oid);
        if single == pg_sys::InvalidOid {
            return false;
        }
        let expected = match self {
            Kind::Narrow | Kind::Lexicons => (8, true),
            Kind::Wide | Kind::NarrowBall => (16, false),
            Kind::WideBall => (20, false),
            Kind::Long => (32, false),
            Kind::LongBall => (36, false),
            Kind::Texts | Kind::NearTexts | Kind::Passages => (-1, false),
            // bit varying is laid out like bit, but its values differ in length.
            Kind::Bits => return single == pg_sys::BITOID,
        };
        layout_of(single) == expected
    }

    /// Whether a type has the layout of the right operand of the operator with this strategy.
    pub fn operand_fits(self, number: u16, type_oid: pg_sys::Oid) -> bool {
        if number != strategy::WITHIN || self.is_of_texts() {
            return self.fits(type_oid);
        }
        let single = self.single_type(type_oid);
        match self.width() {
            Some(width) => Self::of_balls(width).fits(single),
            // Decoding checks that the value is a ball of bit strings, and raises an ERROR if not.
            None => layout_of(single) == (-1, false),
        }
    }

    /// The type itself, or the element type where this kind's values are arrays. There, InvalidOid
    /// for a type that is not an array.
    fn single_type(self, type_oid: pg_sys::Oid) -> pg_sys::Oid {
        if self != Kind::Lexicons {
            return type_oid;
        }
        // SAFETY: a catalogue look-up in a transaction.
        unsafe { pg_sys::get_element_type(type_oid) }
    }

    /// The width of its keys. `None` for bit(n), whose column declares it, and for texts.
    pub fn width(self) -> Option<Width> {
        match self {
            Kind::Narrow | Kind::NarrowBall | Kind::Lexicons => Some(Width::Bits64),
            Kind::Wide | Kind::WideBall => Some(Width::Bits128),
            Kind::Long | Kind::LongBall => Some(Width::Bits256),
            Kind::Bits | Kind::Texts | Kind::NearTexts | Kind::Passages => None,
        }
    }

    /// Whether its values are texts, so that its keys are postings.
    pub fn is_of_texts(self) -> bool {
        matches!(self, Kind::Texts | Kind::NearTexts | Kind::Passages)
    }

    /// Whether the stored keys may fail to decide a condition, and cannot be turned back into the
    /// value. The executor then rechecks each row.
    pub fn is_lossy(self) -> bool {
        self.is_ball() || self.has_many_keys()
    }

    pub fn is_ball(self) -> bool {
        matches!(self, Kind::NarrowBall | Kind::WideBall | Kind::LongBall)
    }

    /// Whether a row may have several keys, or none although its column is not NULL.
    pub fn has_many_keys(self) -> bool {
        self == Kind::Lexicons || self.is_of_texts()
    }

    /// The distance of `~=`; `None` if its argument is a ball, which has a radius, or the kind has
    /// no distance.
    pub fn near(self) -> Option<u32> {
        self.width().filter(|_| !self.is_ball()).map(Width::near)
    }

    /// The kind of balls of this width.
    fn of_balls(width: Width) -> Self {
        match width {
            Width::Bits64 => Kind::NarrowBall,
            Width::Bits128 => Kind::WideBall,
            Width::Bits256 => Kind::LongBall,
        }
    }
}

/// The length of a type's values, and whether they are passed by value.
fn layout_of(type_oid: pg_sys::Oid) -> (i16, bool) {
    let (mut length, mut by_value) = (0, false);
    // SAFETY: a catalogue look-up in a transaction.
    unsafe { pg_sys::get_typlenbyval(type_oid, &mut length, &mut by_value) };
    (length, by_value)
}

/// The number of an index's key columns.
///
/// # Safety
/// `rel` is an open index.
pub unsafe fn key_columns(rel: pg_sys::Relation) -> usize {
    // SAFETY: `rel` is open while it is read here.
    unsafe { IndexRel::new(rel) }.key_columns()
}

/// The code that the operator class of a key column gives for what the column holds. Columns count
/// from 0. 0, which is no code, if there is no such key column.
pub fn code_of(rel: IndexRel, column: usize) -> u32 {
    let none = (pg_sys::InvalidOid, pg_sys::Datum::null());
    let call = |function| {
        // SAFETY: pg_simhash's own support functions take `internal` and ignore it; only a
        // superuser can create another class.
        unsafe { pg_sys::FunctionCall1Coll(function, none.0, none.1) }.value() as u32
    };
    rel.support_function(column).map_or(0, call)
}

/// Opens an index with keys of type `K`. Raises XX002 as [`Searched::of`] does.
pub fn open<K: TreeKey>(rel: IndexRel) -> Index<K> {
    let index = storage::open(rel);
    Searched::of(&index);
    index
}

/// Raises an ERROR: the code of the index's last key column is not a kind's.
fn refuse(index: IndexRel, code: u32) -> ! {
    let (message, hint) = if ScopeType::from_code(code).is_some() {
        (
            format!(
                "last key column of index \"{}\" cannot be searched for near-duplicates",
                index.name()
            ),
            "The last key column must be a text, a fingerprint, a ball, an array of fingerprints, \
             a bit(n), or a bigint with the operator class hamming_int8_ops. For another type, \
             index an expression of one of these types.",
        )
    } else {
        (
            format!(
                "operator class of access method simhash has the unknown key kind {}",
                code as i32
            ),
            "Use the operator classes that come with pg_simhash.",
        )
    };
    raise(PgSqlErrorCode::ERRCODE_INVALID_OBJECT_DEFINITION, message, hint)
}

/// Raises an ERROR: the index's bit strings have no known length, or one outside `LENGTHS`.
fn refuse_length(index: IndexRel, bits: Option<u32>) -> ! {
    let (least, most) = (LENGTHS.start(), LENGTHS.end());
    let message = match bits {
        Some(bits) => {
            format!("index \"{}\" cannot be on bit strings of length {bits}", index.name())
        }
        None => format!("index \"{}\" cannot be on bit strings of variable length", index.name()),
    };
    raise(
        PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
        message,
        &format!(
            "The column must be of type bit(n) with n from {least} to {most}: cast it to bit(n)."
        ),
    )
}
