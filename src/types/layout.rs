//! Layouts as values: for code that learns only at run time which type a value is of.

use pgrx::pg_sys;

use super::array::first_element;
use super::ball::Ball;
use super::code::Code;
use super::width::Width;

/// A fingerprint or a ball, of any width.
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
}

impl Layout {
    pub fn width(self) -> Width {
        match self {
            Layout::Fingerprint(width) | Layout::Ball(width) => width,
            Layout::Fingerprints | Layout::Balls => Width::Bits64,
        }
    }

    /// The layout of the balls around values of this one.
    pub fn of_balls(self) -> Layout {
        match self {
            Layout::Fingerprint(width) | Layout::Ball(width) => Layout::Ball(width),
            Layout::Fingerprints | Layout::Balls => Layout::Balls,
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
                    first_element(datum, |fp| Value::of_fingerprint(fp, self.width()))
                        .unwrap_or(NOTHING)
                }
                Layout::Balls => first_element(datum, |ball| Value::of_ball(ball, self.width()))
                    .unwrap_or(NOTHING),
            }
        }
    }
}
