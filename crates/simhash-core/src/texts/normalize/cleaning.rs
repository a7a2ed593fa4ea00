//! Cleans punctuation and white space: what is dropped, and where one space stays.
//!
//! - Dropped punctuation leaves a space where it separates two words by UAX #29: between `foo` and
//!   `bar` in `foo/bar`, but not in `don't` or `snake_case`. It leaves none beside a Han character
//!   and between hiragana, because such text has no spaces.
//! - A colon always separates words (`iOS：Android`), and a semicolon separates numbers.
//! - A point between two digits stays: `3.14` is not `314`.
//! - A comma or an apostrophe between two digits leaves nothing before exactly three digits
//!   (`1,000`), and a space otherwise (`1,5`, `6'10`).
//! - White space between two characters of Han or hiragana is dropped: a line break there, or the
//!   spaces of a justified or wrapped text, separate no words.
//! - A combining mark or an invisible character is dropped after dropped punctuation, after white
//!   space and at the start of the text.
//! - A dropped symbol that is a letter by UAX #29 (Ⓐ) always leaves a space. So does an invisible
//!   character beside punctuation.

use std::ops::Range;

use super::trace::Trace;
use crate::base::lazy::Lazy;
use crate::config::{NormalizeStep, NormalizeSteps};
use crate::texts::unicode::{Properties, ThreeByteSet, is_colon, properties};

/// Characters that belong to the one before them.
const ATTACHED: Properties = Properties::MARK.or(Properties::IGNORABLE);

/// A point, and the characters that NFKC turns into one.
const POINTS: [char; 4] = ['.', '\u{2024}', '\u{FE52}', '\u{FF0E}'];

/// A semicolon, the characters that NFKC turns into one, and the bar of a fraction. UAX #29 allows
/// them within a number (Word_Break MidNum).
const SEMICOLONS: [char; 6] = [';', '\u{37E}', '\u{FE14}', '\u{FE54}', '\u{FF1B}', '\u{2044}'];

/// The digits since a comma that left nothing. If they turn out not to be exactly three, the comma
/// leaves a space after all.
struct Group {
    /// Where in the clean text the comma stood.
    start: usize,
    digits: usize,
}

impl Group {
    const DIGITS: usize = 3;
}

/// The punctuation since the last character that was kept.
#[derive(Clone, Copy)]
struct Gap {
    /// The properties that all of it has.
    common: Properties,
    single: bool,
    /// Its last character.
    c: char,
}

/// Takes mapped characters one by one and appends the clean text.
pub(super) struct Cleaner<'a, T> {
    out: &'a mut String,
    trace: T,
    punctuation: bool,
    space: bool,
    /// Whether letters and digits of ASCII map to themselves, apart from case.
    plain_ascii: bool,
    /// Whether a step searches for colons or hyphens of ASCII.
    reads_ascii: bool,
    /// Whether ASCII letters, which are copied as they are, become lower case at the end.
    lower: bool,
    /// The last kept character, apart from marks. `None` after white space and at the start.
    last: Option<Properties>,
    /// Whether the last character written, apart from marks, is Han or hiragana.
    after_unspaced: bool,
    gap: Option<Gap>,
    /// The group of digits at the end of the text so far.
    group: Option<Group>,
    /// Whether white space was read that is not written yet.
    pending_space: bool,
    /// Whether a mark or an invisible character, if it came next, would have no base.
    orphans: bool,
}

impl<'a, T: Trace> Cleaner<'a, T> {
    pub(super) fn new(steps: NormalizeSteps, out: &'a mut String) -> Self {
        let [lower, punctuation, space] =
            [NormalizeStep::Lower, NormalizeStep::Punctuation, NormalizeStep::Space]
                .map(|step| steps.contains(step));
        let any = |of: &[NormalizeStep]| of.iter().any(|&step| steps.contains(step));
        let plain_ascii = !steps.contains(NormalizeStep::Confusables);
        let reads_ascii = any(&[NormalizeStep::Data, NormalizeStep::Hyphens]);
        Cleaner {
            out,
            trace: T::default(),
            punctuation,
            space,
            plain_ascii,
            reads_ascii,
            lower,
            last: None,
            after_unspaced: false,
            gap: None,
            group: None,
            pending_space: false,
            orphans: true,
        }
    }

    /// Notes the source of the characters that are pushed next.
    #[inline]
    pub(super) fn read(&mut self, from: Range<usize>) {
        self.trace.read(from);
    }

    /// Appends a mapped character, or notes its effect on the ones after it.
    #[inline]
    pub(super) fn push(&mut self, c: char) {
        let set = properties(c);
        if set.any(Properties::WHITE) {
            self.push_white(c);
        } else if self.punctuation && set.any(Properties::PUNCTUATION) {
            let set =
                if is_colon(c) || SEMICOLONS.contains(&c) { Properties::PUNCTUATION } else { set };
            let (common, single) = self.gap.map_or((set, true), |gap| (gap.common.and(set), false));
            self.gap = Some(Gap { common, single, c });
            self.trace.put_off();
            self.orphans = true;
        } else if self.punctuation && self.orphans && set.any(ATTACHED) {
            // It is dropped with its base.
            if set.any(Properties::IGNORABLE) {
                self.gap = self.gap.map(|_| Gap::PARTS);
            }
        } else {
            self.push_kept(c, set);
        }
    }

    fn push_white(&mut self, c: char) {
        self.end_group();
        if self.space {
            self.pending_space = true;
        } else {
            self.out.push(c);
            self.trace.wrote(c.len_utf8());
        }
        self.last = None;
        self.gap = None;
        self.orphans = true;
    }

    #[inline]
    fn push_kept(&mut self, c: char, set: Properties) {
        if self.pending_space || self.gap.is_some() {
            self.close_gap(set);
        }
        self.out.push(c);
        self.trace.wrote(c.len_utf8());
        self.orphans = false;
        if !set.any(Properties::EXTENDS) {
            if self.group.is_some() {
                self.extend_group(usize::from(set.any(Properties::NUMERIC)), 1);
            }
            self.last = Some(set);
            self.after_unspaced = set.any(Properties::UNSPACED);
        }
    }

    /// Appends Han characters as `push` would one by one. `han` must not be empty. Its source
    /// begins at `from`.
    pub(super) fn push_han(&mut self, han: &str, from: usize) {
        const HAN: Properties = Properties::HAN.or(Properties::WORD);
        if self.pending_space || self.gap.is_some() {
            self.close_gap(HAN);
        }
        self.end_group();
        self.out.push_str(han);
        self.trace.copied(from, han.len());
        self.orphans = false;
        self.last = Some(HAN);
        self.after_unspaced = true;
    }

    /// The number of bytes of the punctuation at the start of `bytes` that vanishes between two Han
    /// characters, whatever the other steps do. 0 when in doubt.
    #[inline]
    pub(super) fn dropped_beside_han(&self, bytes: &[u8]) -> usize {
        const MOST: usize = 4;
        if self.punctuation { CJK_PUNCTUATION.run_length(bytes, MOST) } else { 0 }
    }

    /// Writes the space or the point, if any, between the last kept character and one with the
    /// properties `next`.
    fn close_gap(&mut self, next: Properties) {
        self.end_group();
        let held_apart = match (self.gap.take(), self.last) {
            (Some(gap), Some(last)) if gap.is_point(last, next) => {
                self.out.push(gap.c);
                return self.trace.wrote_put_off(gap.c.len_utf8());
            }
            (Some(gap), Some(last)) if gap.groups(last, next) => {
                self.group = Some(Group { start: self.out.len(), digits: 0 });
                false
            }
            (Some(gap), Some(last)) => !gap.vanishes(last, next),
            _ => false,
        };
        let unspaced = self.after_unspaced && next.any(Properties::UNSPACED);
        if std::mem::take(&mut self.pending_space) && !unspaced || held_apart {
            self.after_unspaced = false;
            self.push_space();
        }
    }

    /// Continues the group: `length` characters were pushed, of which the first `digits` are
    /// digits.
    #[cold]
    fn extend_group(&mut self, digits: usize, length: usize) {
        if let Some(group) = &mut self.group {
            group.digits += digits;
            // One digit too many ends the group at once, before there is more text to move.
            if digits < length || group.digits > Group::DIGITS {
                self.end_group();
            }
        }
    }

    #[inline]
    fn end_group(&mut self) {
        if self.group.is_some() {
            self.settle_group();
        }
    }

    #[cold]
    fn settle_group(&mut self) {
        if let Some(group) = self.group.take()
            && group.digits != Group::DIGITS
        {
            self.out.insert(group.start, ' ');
            self.trace.inserted(group.start);
        }
    }

    fn push_space(&mut self) {
        if !self.out.is_empty() {
            self.out.push(' ');
            self.trace.wrote_filler(1);
        }
    }

    /// Ends the text. A pending space is not written.
    pub(super) fn finish(mut self) -> T {
        self.end_group();
        if self.lower {
            self.out.make_ascii_lowercase();
        }
        self.trace
    }

    /// Appends the plain ASCII at `start`, as `push` would. Returns the number of bytes read.
    ///
    /// It stops before an ASCII byte that a byte beyond ASCII follows, because that may begin a
    /// combining mark. It also stops at punctuation that no white space follows: `push` must judge
    /// that.
    pub(super) fn push_ascii(&mut self, text: &str, start: usize) -> usize {
        let text = &text[start..];
        let bytes = text.as_bytes();
        match (self.plain_ascii, self.punctuation, self.space) {
            (true, true, true) => {}
            (true, false, false) => {
                // Nothing is dropped, so nothing depends on the characters before.
                let length = ascii::unjudged_length(bytes, self.reads_ascii);
                self.out.push_str(&text[..length]);
                self.trace.copied(start, length);
                return length;
            }
            _ => return 0,
        }
        let mut at = 0;
        while at < ascii::STRETCH {
            let length = ascii::words_length(&bytes[at..]);
            if length > 0 {
                if self.pending_space || self.gap.is_some() {
                    self.close_gap(properties(char::from(bytes[at])));
                }
                let words = &text[at..at + length];
                self.out.push_str(words);
                self.trace.copied(start + at, length);
                if self.group.is_some() {
                    self.extend_group(words.bytes().take_while(u8::is_ascii_digit).count(), length);
                }
                at += length;
                self.last = Some(properties(char::from(bytes[at - 1])));
                self.after_unspaced = false;
                self.orphans = false;
            }
            let white = ascii::white_length(&bytes[at..]);
            if white == 0 {
                return at;
            }
            at += white;
            self.push_white(' ');
        }
        at
    }
}

/// Punctuation common in Chinese that is punctuation in every normalisation form too.
static CJK_PUNCTUATION: Lazy<ThreeByteSet> =
    Lazy::new(|| ThreeByteSet::new("、。，；：？！《》〈〉「」『』【】（）“”‘’—…～".chars()));

impl Gap {
    /// A gap that leaves a space, except beside Han and between hiragana.
    const PARTS: Gap = Gap { common: Properties::NONE, single: false, c: ' ' };

    /// Whether it is the point of a number, as in 3.14 or v2.0.1.
    fn is_point(&self, last: Properties, next: Properties) -> bool {
        self.single
            && POINTS.contains(&self.c)
            && last.any(Properties::NUMERIC)
            && next.any(Properties::NUMERIC)
    }

    /// Whether it may be between the digits of a number, as a comma may.
    fn groups(&self, last: Properties, next: Properties) -> bool {
        self.single
            && self.common.any(Properties::MID_NUMBER)
            && last.any(Properties::NUMERIC)
            && next.any(Properties::NUMERIC)
    }

    /// Whether the text closes up over the gap: no word boundary lies in it, or it lies beside Han
    /// or between hiragana.
    fn vanishes(self, last: Properties, next: Properties) -> bool {
        let unspaced = last.any(Properties::UNSPACED) && next.any(Properties::UNSPACED);
        if unspaced || last.or(next).any(Properties::HAN) {
            return true;
        }
        if next.any(Properties::COMPOSES) {
            // Closing up could compose the two sides into one character.
            return false;
        }
        let both = |kind: Properties| last.any(kind) && next.any(kind);
        let holds =
            |mid: Properties, kind: Properties| self.single && self.common.any(mid) && both(kind);
        holds(Properties::MID_LETTER, Properties::LETTER)
            || holds(Properties::MID_HEBREW, Properties::HEBREW)
            || self.common.any(Properties::EXTENDER) && both(Properties::EXTENDABLE)
    }
}

/// Stretches of ASCII text that need no judgement.
mod ascii {
    use crate::texts::unicode::ascii::single_spaced_length;

    /// About the most bytes that are read before the caller may check for interruption.
    pub(super) const STRETCH: usize = 16 << 10;

    /// The length of the words of letters and digits, with single spaces between them, that `bytes`
    /// starts with. It ends before a last letter or digit that is followed by a byte beyond ASCII.
    #[inline]
    pub(super) fn words_length(bytes: &[u8]) -> usize {
        let mut length = single_spaced_length(&bytes[..bytes.len().min(STRETCH)]);
        let ends_in_space = |length: usize| length > 0 && bytes[length - 1] == b' ';
        let may_be_base = bytes.get(length).is_some_and(|&next| next >= 0x80);
        if length > 0 && may_be_base && !ends_in_space(length) {
            length -= 1;
        }
        length - usize::from(ends_in_space(length))
    }

    /// The length of the ASCII text that `bytes` starts with and that no step but `lower` changes.
    /// With `reads_ascii`, it has no colon, which may belong to data, and no hyphen. It ends before
    /// a last character that is followed by a byte beyond ASCII.
    #[inline]
    pub(super) fn unjudged_length(bytes: &[u8], reads_ascii: bool) -> usize {
        let bytes = &bytes[..bytes.len().min(STRETCH)];
        let ends = |&byte: &u8| byte >= 0x80 || reads_ascii && matches!(byte, b':' | b'-');
        match bytes.iter().position(ends) {
            Some(end) if bytes[end] >= 0x80 => end.saturating_sub(1),
            Some(end) => end,
            // The next byte is not examined, so it may be beyond ASCII.
            None if bytes.len() == STRETCH => STRETCH - 1,
            None => bytes.len(),
        }
    }

    /// The length of the white space that `bytes` starts with, perhaps after one sentence mark.
    /// Before a byte beyond ASCII, it does not include the last blank.
    #[inline]
    pub(super) fn white_length(bytes: &[u8]) -> usize {
        let mark = matches!(bytes.first(), Some(b'.' | b',' | b';' | b':' | b'!' | b'?'));
        let start = usize::from(mark);
        let mut end = start;
        while end < STRETCH && matches!(bytes.get(end), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            end += 1;
        }
        let followed = bytes.get(end).is_none_or(|&next| next < 0x80);
        match end - start {
            0 => 0,
            _ if followed => end,
            1 => 0,
            _ => end - 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use unicode_normalization::UnicodeNormalization;

    use super::*;

    #[test]
    fn common_punctuation_is_punctuation_in_every_form() {
        let all = (0..=0xffff).filter_map(char::from_u32);
        let mut found = 0;
        for c in all.filter(|c| CJK_PUNCTUATION.run_length(c.to_string().as_bytes(), 1) > 0) {
            found += 1;
            for form in [c.to_string(), c.nfkc().collect()] {
                assert!(form.chars().all(|c| properties(c).any(Properties::PUNCTUATION)), "{c:?}");
            }
        }
        assert_eq!(found, 26);
    }
}
