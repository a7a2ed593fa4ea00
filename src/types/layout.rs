//! Type layouts as values, for code that learns the type of a value only at run time.

use pgrx::pg_sys;

use super::array::first_element;
use super::ball::Ball;
use super::bit_ball::BitBall;
use super::bits::{BitString, declared_length};
use super::code::{Code, MOST_BITS};
use super::datum::Decode;
use super::width::Width;

/// A fingerprint, a bit string or a ball, of any width.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// The fingerprint, or the ball's centre.
    pub center: Code,
    /// The ball's radius.
    pub radius: Option<u32>,
}

/// The value of an array that has only NULLs or no elements: the fingerprint 0.
const NOTHING: Value = Value { center: Code::ZERO_64, radius: None };

impl Value {
    unsafe fn of_fingerprint(datum: pg_sys::Datum, width: Width) -> Self {
        // SAFETY: the caller passes a fingerprint of this width.
        Value { center: unsafe { width.code(datum) }, radius: None }
    }

    unsafe fn of_ball(datum: pg_sys::Datum, width: Width) -> Self {
        // SAFETY: the caller passes a ball of this width.
        let Ball { center, radius } = unsafe { width.ball_code(datum) };
        Value { center, radius: Some(radius) }
    }

    unsafe fn of_bits(datum: pg_sys::Datum) -> Self {
        // SAFETY: the caller passes a bit string.
        unsafe { BitString::with(datum, |bits| Value { center: bits.into(), radius: None }) }
    }

    unsafe fn of_bit_ball(datum: pg_sys::Datum) -> Self {
        // SAFETY: the caller passes a hamming_ball_bit.
        let BitBall { center, radius } = unsafe { BitBall::decode(datum) };
        Value { center: (&center).into(), radius: Some(radius) }
    }
}

impl From<&BitString<'_>> for Code {
    fn from(bits: &BitString<'_>) -> Self {
        Code::of_bytes(&bits.bytes)
    }
}

/// The layout of a type's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One fingerprint: fingerprint64, fingerprint128, fingerprint256, or a type with the same
    /// representation.
    Fingerprint(Width),
    Ball(Width),
    /// fingerprint64[]. The distance of two arrays is the minimum over equal positions.
    Fingerprints,
    /// hamming_ball64[].
    Balls,
    /// bit(n), whose length is in the column's type modifier.
    Bits,
    /// hamming_ball_bit.
    BitBall,
}

impl Layout {
    /// `None` if the type does not determine it.
    pub fn width(self) -> Option<Width> {
        match self {
            Layout::Fingerprint(width) | Layout::Ball(width) => Some(width),
            Layout::Fingerprints | Layout::Balls => Some(Width::Bits64),
            Layout::Bits | Layout::BitBall => None,
        }
    }

    /// The maximal number of bits of a value, as far as they are compared.
    pub fn most_bits(self) -> u32 {
        self.width().map_or(MOST_BITS, Width::bits)
    }

    /// The number of bits of a column's values. `None` if neither type nor modifier determines it.
    pub fn bits(self, type_oid: pg_sys::Oid, modifier: i32) -> Option<u32> {
        let declared = || declared_length(type_oid, modifier).map(|bits| bits.min(MOST_BITS));
        self.width().map(Width::bits).or_else(declared)
    }

    /// The layout of balls around values of this layout.
    pub fn of_balls(self) -> Layout {
        match self {
            Layout::Fingerprint(width) | Layout::Ball(width) => Layout::Ball(width),
            Layout::Fingerprints | Layout::Balls => Layout::Balls,
            Layout::Bits | Layout::BitBall => Layout::BitBall,
        }
    }

    pub fn is_of_balls(self) -> bool {
        self == self.of_balls()
    }

    /// Whether values of the two layouts can be near each other: of one width, both arrays or
    /// neither.
    pub fn goes_with(self, other: Layout) -> bool {
        self.of_balls() == other.of_balls()
    }

    /// Reads a value. An array is represented by its first element that is not NULL; without such
    /// an element, by the fingerprint 0.
    ///
    /// # Safety
    /// `datum` has this layout and is not NULL.
    pub unsafe fn read(self, datum: pg_sys::Datum) -> Value {
        // SAFETY: `datum` has this layout; elements of an array have the layout of the element
        // type.
        unsafe {
            match self {
                Layout::Fingerprint(width) => Value::of_fingerprint(datum, width),
                Layout::Ball(width) => Value::of_ball(datum, width),
                Layout::Fingerprints => {
                    first_element(datum, |fp| Value::of_fingerprint(fp, Width::Bits64))
                        .unwrap_or(NOTHING)
                }
                Layout::Balls => first_element(datum, |ball| Value::of_ball(ball, Width::Bits64))
                    .unwrap_or(NOTHING),
                Layout::Bits => Value::of_bits(datum),
                Layout::BitBall => Value::of_bit_ball(datum),
            }
        }
    }
}
