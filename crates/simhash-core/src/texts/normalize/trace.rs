//! Traces the output of a step of normalisation back to its input.
//!
//! A step reports to a [`Trace`] while it writes. `()` ignores the reports and costs nothing, so
//! texts are normalised at full speed if no positions are needed. [`Origins`] keeps the reports.
//! Consecutive steps leave one trace each.

use std::ops::Range;

/// Takes the reports of a step, which reads a text from the left, about its output.
pub(crate) trait Trace: Default {
    /// Whether reports are kept. If not, a step need not compute them.
    const IS_KEPT: bool;

    /// `length` bytes were copied from `from`.
    fn copied(&mut self, _from: usize, _length: usize) {}

    /// The next output is made of `from` as a whole.
    fn read(&mut self, _from: Range<usize>) {}

    /// `length` bytes were written that are made of the last range read.
    fn wrote(&mut self, _length: usize) {}

    /// The output for the last range read may be written later.
    fn put_off(&mut self) {}

    /// `length` bytes were written that are made of the range that was put off.
    fn wrote_put_off(&mut self, _length: usize) {}

    /// `length` bytes were written that are made of nothing in the input, such as a space.
    fn wrote_filler(&mut self, _length: usize) {}

    /// A byte that is made of nothing in the input was inserted at `at`. That is not within output
    /// that is made of a range as a whole.
    fn inserted(&mut self, _at: usize) {}
}

impl Trace for () {
    const IS_KEPT: bool = false;
}

/// Some bytes of the output, up to the beginning of the next piece.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Where it begins.
    at: usize,
    /// Its source: the range from `from` to `to` as a whole, or byte by byte from `from` on if `to`
    /// is [`COPY`].
    from: usize,
    to: usize,
}

/// The value of `to` for copied bytes.
const COPY: usize = usize::MAX;

/// The source of each byte of the output.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    /// By `at`, ascending. `from` does not descend.
    pieces: Vec<Piece>,
    written: usize,
    read: Range<usize>,
    put_off: Range<usize>,
}

impl Origins {
    /// The source of the bytes of the output in `range`: from the beginning of the source of the
    /// first of them to the end of the source of the last.
    pub(crate) fn of(&self, range: Range<usize>) -> Range<usize> {
        let start = self.piece(range.start).map_or(range.start, |piece| match piece.to {
            COPY => piece.from + (range.start - piece.at),
            _ => piece.from,
        });
        let Some(last) = range.end.checked_sub(1).filter(|&last| last >= range.start) else {
            return start..start;
        };
        let end = self.piece(last).map_or(range.end, |piece| match piece.to {
            COPY => piece.from + (last + 1 - piece.at),
            to => to,
        });
        start..end
    }

    /// The piece that `at` lies in.
    fn piece(&self, at: usize) -> Option<&Piece> {
        let after = self.pieces.partition_point(|piece| piece.at <= at);
        self.pieces.get(after.checked_sub(1)?)
    }

    fn push(&mut self, from: Range<usize>, length: usize) {
        self.pieces.push(Piece { at: self.written, from: from.start, to: from.end });
        self.written += length;
    }
}

impl Trace for Origins {
    const IS_KEPT: bool = true;

    fn copied(&mut self, from: usize, length: usize) {
        let continues = self.pieces.last().is_some_and(|piece| {
            piece.to == COPY && piece.from + (self.written - piece.at) == from
        });
        if continues {
            self.written += length;
        } else {
            self.push(from..COPY, length);
        }
    }

    fn read(&mut self, from: Range<usize>) {
        self.read = from;
    }

    fn wrote(&mut self, length: usize) {
        // Output of the same length as its source can count as a copy: both end at the same place.
        if self.read.len() == length {
            self.copied(self.read.start, length);
        } else {
            self.push(self.read.clone(), length);
        }
    }

    fn put_off(&mut self) {
        self.put_off = self.read.clone();
    }

    fn wrote_put_off(&mut self, length: usize) {
        self.push(self.put_off.clone(), length);
    }

    fn wrote_filler(&mut self, length: usize) {
        let at = self.pieces.last().map_or(0, |piece| match piece.to {
            COPY => piece.from + (self.written - piece.at),
            to => to,
        });
        self.push(at..at, length);
    }

    fn inserted(&mut self, at: usize) {
        let after = self.pieces.partition_point(|piece| piece.at < at);
        let end = self.pieces.get(after).map_or(self.written, |piece| piece.at);
        if let Some(&piece) = after.checked_sub(1).and_then(|before| self.pieces.get(before))
            && at < end
        {
            let from = if piece.to == COPY { piece.from + (at - piece.at) } else { piece.from };
            self.pieces.insert(after, Piece { at, from, to: piece.to });
        }
        for piece in &mut self.pieces[after..] {
            piece.at += 1;
        }
        let from = self.pieces.get(after).map_or(self.read.end, |piece| piece.from);
        self.pieces.insert(after, Piece { at, from, to: from });
        self.written += 1;
    }
}

/// The source, in the input of the first step, of the bytes in `range` of the output of the last.
pub(crate) fn source(steps: &[Origins], range: Range<usize>) -> Range<usize> {
    steps.iter().rev().fold(range, |range, origins| origins.of(range))
}
