//! Layouts as values: for code that learns only at run time which type a value is of.

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

/// What an array without an element that is not NULL is taken for: the fingerprint 0.
const NOTHING: Value = Value { center: Code::ZERO_64, radius: None };

impl Value {
    unsafe fn of_fingerprint(datum: pg_sys::Datum, width: Width) -> Self {
        // SAFETY: the caller's fingerprint is of this width.
        Value { center: unsafe { width.code(datum) }, radius: None }
    }

    unsafe fn of_ball(datum: pg_sys::Datum, width: Width) -> Self {
        // SAFETY: the caller's ball is of this width.
        let Ball { center, radius } = unsafe { width.ball_code(datum) };
        Value { center, radius: Some(radius) }
    }

    unsafe fn of_bits(datum: pg_sys::Datum) -> Self {
        // SAFETY: the caller's bit string.
        unsafe { BitString::with(datum, |bits| Value { center: bits.into(), radius: None }) }
    }

    unsafe fn of_bit_ball(datum: pg_sys::Datum) -> Self {
        // SAFETY: the caller's ball of bit strings.
        let BitBall { center, radius } = unsafe { BitBall::decode(datum) };
        Value { center: (&center).into(), radius: Some(radius) }
    }
}

impl From<&BitString<'_>> for Code {
    fn from(bits: &BitString<'_>) -> Self {
        Code::of_bytes(&bits.bytes)
    }
}

/// How the values of a type are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One fingerprint: fingerprint64, fingerprint128, fingerprint256 or a type with the
    /// representation of one of them.
    Fingerprint(Width),
    Ball(Width),
    /// fingerprint64[]. The distance is the least over equal positions.
    Fingerprints,
    /// hamming_ball64[].
    Balls,
    /// bit(n), of which the column says the length.
    Bits,
    /// hamming_ball_bit.
    BitBall,
}

impl Layout {
    /// None where the type does not say it.
    pub fn width(self) -> Option<Width> {
        match self {
            Layout::Fingerprint(width) | Layout::Ball(width) => Some(width),
            Layout::Fingerprints | Layout::Balls => Some(Width::Bits64),
            Layout::Bits | Layout::BitBall => None,
        }
    }

    /// The most bits that a value has, or that are looked at.
    pub fn most_bits(self) -> u32 {
        self.width().map_or(MOST_BITS, Width::bits)
    }

    /// The bits of a column's values. None where neither its type nor its modifier says it.
    pub fn bits(self, type_oid: pg_sys::Oid, modifier: i32) -> Option<u32> {
        let declared = || declared_length(type_oid, modifier).map(|bits| bits.min(MOST_BITS));
        self.width().map(Width::bits).or_else(declared)
    }

    /// The layout of the balls around values of this one.
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

    /// Whether values of the two can be near each other: of one width, arrays both or neither.
    pub fn goes_with(self, other: Layout) -> bool {
        self.of_balls() == other.of_balls()
    }

    /// A value. An array is taken for its first element that is not NULL. One that has none is
    /// taken for the fingerprint 0.
    ///
    /// # Safety
    /// `datum` is laid out so, and not NULL.
    pub unsafe fn read(self, datum: pg_sys::Datum) -> Value {
        // SAFETY: as this function's; elements of an array are laid out as the single type.
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
