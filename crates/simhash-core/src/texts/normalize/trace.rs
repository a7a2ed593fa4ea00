//! Where what a step of normalisation writes comes from in what it reads.
//!
//! A step tells it to a [`Trace`] while it writes. `()` forgets it and costs nothing, so texts of
//! which nobody asks for positions are normalised as fast as if there were none. [`Origins`] keeps
//! it. Steps that follow each other leave one trace each.

use std::ops::Range;

/// What a step that reads a text from the left says about what it writes.
pub(crate) trait Trace: Default {
    /// Whether anything is kept. If not, nothing needs to be found out.
    const IS_KEPT: bool;

    /// `length` bytes were written as they stand at `from`.
    fn copied(&mut self, _from: usize, _length: usize) {}

    /// What is written next is made of `from` as a whole.
    fn read(&mut self, _from: Range<usize>) {}

    /// `length` bytes were written that are made of what was last read.
    fn wrote(&mut self, _length: usize) {}

    /// What was last read may be written later.
    fn put_off(&mut self) {}

    /// `length` bytes were written that are made of what was put off.
    fn wrote_put_off(&mut self, _length: usize) {}

    /// `length` bytes were written that stand for nothing in particular, such as a space.
    fn wrote_filler(&mut self, _length: usize) {}

    /// A byte that stands for nothing in particular was inserted at `at`, which does not lie within
    /// what was made of something as a whole.
    fn inserted(&mut self, _at: usize) {}
}

impl Trace for () {
    const IS_KEPT: bool = false;
}

/// Some bytes of what was written, up to where the next piece begins.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Where it begins.
    at: usize,
    /// Where it comes from: all of it as a whole from there to `to`, or byte by byte from there on.
    from: usize,
    to: usize,
}

/// In place of `to` for what was copied.
const COPY: usize = usize::MAX;

/// Where each byte of what was written comes from.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    /// By `at`, ascending. `from` does not descend.
    pieces: Vec<Piece>,
    written: usize,
    read: Range<usize>,
    put_off: Range<usize>,
}

impl Origins {
    /// What the written bytes in `range` are made of: from the first byte that has to do with the
    /// first of them to the last one that has to do with the last of them.
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
        // One character, or several as a whole, and one of the same length: it ends where they do.
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

/// What the bytes in `range` are made of in the text that the first of the steps read.
pub(crate) fn source(steps: &[Origins], range: Range<usize>) -> Range<usize> {
    steps.iter().rev().fold(range, |range, origins| origins.of(range))
}
