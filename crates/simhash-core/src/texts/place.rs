//! The place of a token in the text that it was cut from, for callers that need it.

use std::ops::Range;

use crate::texts::normalize::trace::{Origins, Trace, source};

/// The place of a token. `()` records nothing and costs nothing.
pub(crate) trait Place: Clone {
    /// The trace that a step must leave so that a place in its output can be found in its input.
    type Trace: Trace;

    /// The place of `part`, which is a slice of `text`.
    fn of(text: &str, part: &str) -> Self;

    /// The place of these bytes.
    fn at(range: Range<usize>) -> Self;

    /// The place in the input of the first of these steps, if this is one in the output of the
    /// last. The input begins at `start`.
    fn before(self, steps: &[Self::Trace], start: usize) -> Self;

    /// From the start of this place to the end of another.
    fn to(self, other: &Self) -> Self;
}

impl Place for () {
    type Trace = ();

    #[inline]
    fn of(_: &str, _: &str) -> Self {}

    #[inline]
    fn at(_: Range<usize>) -> Self {}

    #[inline]
    fn before(self, _: &[()], _: usize) -> Self {}

    #[inline]
    fn to(self, (): &Self) -> Self {}
}

impl Place for Range<usize> {
    type Trace = Origins;

    fn of(text: &str, part: &str) -> Self {
        // Both lie in the same allocation.
        let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        debug_assert_eq!(text.get(start..start + part.len()), Some(part));
        start..start + part.len()
    }

    fn at(range: Range<usize>) -> Self {
        range
    }

    fn before(self, steps: &[Origins], start: usize) -> Self {
        let range = source(steps, self);
        start + range.start..start + range.end
    }

    fn to(self, other: &Self) -> Self {
        self.start..other.end
    }
}
