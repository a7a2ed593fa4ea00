//! Finds the numbers of a text and writes each in its one form.

use caseless::Caseless;

use super::chinese::{Numeral, numeral};
use super::dates::{self, byte, date, day_of_month, is_letter, month_of_year};
use super::digits::{self, digits_length, run_length, scaled, whole};
use crate::interrupt::Interrupt;

/// What a byte may begin.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begins {
    Nothing,
    Number,
    /// A character that may be a numeral or a fraction: Chinese, ½, ⅓.
    Other,
}

const BEGINS: [Begins; 256] = {
    let mut table = [Begins::Nothing; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'0'..=b'9' => Begins::Number,
            0xC2 | 0xE2..=0xE9 => Begins::Other,
            _ => Begins::Nothing,
        };
        byte += 1;
    }
    table
};

/// Hands the numbers of a folded text to `sink`, in their order.
pub(super) fn scan(text: &str, interrupt: &Interrupt, sink: &mut dyn FnMut(&str)) {
    let mut scanner = Scanner { text, interrupt, done: 0, sink };
    let bytes = text.as_bytes();
    let mut at = 0;
    // Few bytes begin something: the check is called once for a stretch of others.
    while at < bytes.len() {
        let stretch = &bytes[at..bytes.len().min(at + 4096)];
        let begins = |&byte: &u8| BEGINS[usize::from(byte)] != Begins::Nothing;
        let Some(place) = stretch.iter().position(begins) else {
            at += stretch.len();
            interrupt.spend(stretch.len());
            continue;
        };
        let start = at + place;
        at = match BEGINS[usize::from(bytes[start])] {
            Begins::Number => scanner.number(start),
            _ => scanner.other(start),
        };
        interrupt.spend(at - start + place);
    }
}

struct Scanner<'a, 's, 'i> {
    text: &'a str,
    interrupt: &'s Interrupt<'i>,
    /// What is before was read as a part of a number.
    done: usize,
    sink: &'s mut dyn FnMut(&str),
}

/// A part of what hyphens join.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Part {
    Digits,
    /// Digits with separators, or with a unit behind them.
    Number,
    /// Letters and digits.
    Mixed,
    Letters,
}

impl Scanner<'_, '_, '_> {
    fn put(&mut self, number: &str, end: usize) -> usize {
        (self.sink)(number);
        self.done = end;
        end
    }

    fn is_word(&self, at: usize) -> bool {
        match byte(self.text, at) {
            b'_' => true,
            0x80.. => {
                let c = self.text.get(at..).and_then(|rest| rest.chars().next());
                c.is_some_and(is_letter)
            }
            byte => byte.is_ascii_alphanumeric(),
        }
    }

    /// Where the word ends that goes on at a place.
    fn word_end(&self, at: usize) -> usize {
        let is_part = |c: char| c == '_' || c.is_ascii_digit() || is_letter(c);
        let rest = &self.text[at..];
        at + rest.find(|c| !is_part(c)).unwrap_or(rest.len())
    }

    /// Where the word begins that ends at a place.
    fn word_start(&self, at: usize) -> usize {
        let is_part = |c: char| c == '_' || c.is_ascii_digit() || is_letter(c);
        self.done + self.text[self.done..at].trim_end_matches(is_part).len()
    }

    /// Reads what the first digit at a place belongs to. Returns where it ends.
    fn number(&mut self, at: usize) -> usize {
        let text = self.text;
        if let Some((date, end)) = dates::after_month(text, self.done, at) {
            return self.put(&date, end);
        }
        let start = self.word_start(at);
        if start < at && !is_prefix(&text[start..at]) {
            return self.identifier(start);
        }
        let joined = self.joined_start(start);
        if start == at && joined < at {
            return self.identifier(joined);
        }
        if let Some((date, end)) = dates::numeric(text, at).or_else(|| dates::day_first(text, at)) {
            let end = self.put(&date, end);
            // The time of a date as in ISO 8601 is no identifier.
            let is_time = byte(text, end) == b'T' && byte(text, end + 1).is_ascii_digit();
            self.done = if is_time { end + 1 } else { end };
            return self.done;
        }
        if let Some((time, end)) = dates::time(text, at) {
            return self.put(&time, end);
        }
        if let Some((digits, end)) = self.phone(at) {
            return self.put(&digits, end);
        }
        if let Some(end) = self.chinese_date(at) {
            return end;
        }
        self.numbers(at)
    }

    /// Where words begin that a hyphen joins to the one at a place: COVID-19.
    fn joined_start(&self, at: usize) -> usize {
        let mut start = at;
        while start > self.done + 1 && byte(self.text, start - 1) == b'-' {
            let before = self.word_start(start - 1);
            if before == start - 1 {
                break;
            }
            start = before;
        }
        start
    }

    /// A telephone number: +49 (30) 1234-567, (555) 123-4567.
    fn phone(&self, at: usize) -> dates::Read {
        let bytes = self.text.as_bytes();
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let area = digits_length(&bytes[at..]);
        let is_international = before == Some(b'+');
        let is_area = before == Some(b'(')
            && byte(self.text, at + area) == b')'
            && (bytes[at] == b'0' && area <= 6 || area == 3);
        if !is_international && !is_area {
            return None;
        }
        let mut digits = String::new();
        let (mut end, mut gap) = (at, 0);
        for (place, &byte) in bytes[at..].iter().enumerate() {
            match byte {
                b'0'..=b'9' => {
                    digits.push(char::from(byte));
                    (end, gap) = (at + place + 1, 0);
                }
                b' ' | b'-' | b'.' | b'/' | b'(' | b')' | 0x1F if gap < 2 => gap += 1,
                _ => break,
            }
            if digits.len() > 15 {
                return None;
            }
        }
        let least = if is_international { 7 } else { 9 };
        let plus = if is_international { "+" } else { "" };
        (digits.len() >= least && !self.is_word(end)).then(|| (format!("{plus}{digits}"), end))
    }

    /// Digits, with what separators, hyphens, strokes and letters join to them.
    fn numbers(&mut self, at: usize) -> usize {
        let text = self.text;
        let bytes = text.as_bytes();
        let end = at + run_length(&bytes[at..]);
        let joint = byte(text, end);
        let is_plain = digits_length(&bytes[at..]) == end - at;
        if matches!(joint, b'/' | b':') && is_plain && byte(text, end + 1).is_ascii_digit() {
            return self.ratio(at, joint);
        }
        let word_end = self.word_end(end);
        if word_end > end && !is_unit(&text[end..word_end]) {
            return self.identifier(at);
        }
        if byte(text, word_end) == b'-' && self.is_word(word_end + 1) {
            return self.hyphenated(at);
        }
        self.run(at, end);
        self.done = word_end;
        word_end
    }

    /// Hands out the numbers of a run, with their sign or the Chinese unit behind it.
    fn run(&mut self, at: usize, end: usize) {
        let text = self.text;
        let is_negative = at.checked_sub(1).is_some_and(|sign| {
            let before = sign.checked_sub(1).map_or(b' ', |before| byte(text, before));
            byte(text, sign) == b'-' && matches!(before, b' ' | b'\n' | b'\t' | b'(' | b'[' | b'=')
        });
        let power = match text[end..].chars().next() {
            Some('万' | '萬' | '만') => 4,
            Some('亿' | '億' | '억') => 8,
            _ => 0,
        };
        let sink = &mut self.sink;
        let mut is_negative = is_negative;
        digits::each(&text[at..end], |number| {
            self.interrupt.spend(number.len() + 16);
            // A version is no multiple of anything.
            let is_version = number.bytes().filter(|&byte| byte == b'.').count() > 1;
            match (std::mem::take(&mut is_negative) && number != "0" && !is_version, power) {
                (true, _) => sink(&format!("-{number}")),
                (false, 1..) if !is_version => sink(&scaled(number, power)),
                _ => sink(number),
            }
        });
    }

    /// Whole numbers that strokes or colons join: 24/7, 16:9.
    fn ratio(&mut self, at: usize, joint: u8) -> usize {
        let bytes = self.text.as_bytes();
        let mut written = String::new();
        let mut end = at;
        loop {
            let digits = digits_length(&bytes[end..]);
            written.push_str(&whole(&self.text[end..end + digits]));
            end += digits;
            self.interrupt.spend(digits + 16);
            if byte(self.text, end) != joint || !byte(self.text, end + 1).is_ascii_digit() {
                return self.put(&written, end);
            }
            written.push(char::from(joint));
            end += 1;
        }
    }

    /// What hyphens join, from a digit on: numbers, or an identifier.
    fn hyphenated(&mut self, at: usize) -> usize {
        let all = self.parts(at);
        let parts = &all;
        let is_number = |&(_, _, part): &(_, _, Part)| part <= Part::Number;
        let with_digits = parts.iter().rposition(|(_, _, part)| *part != Part::Letters);
        let parts = &parts[..with_digits.map_or(0, |last| last + 1)];
        if !parts.iter().all(is_number) || self.early(&all).is_some() {
            return self.identifier(at);
        }
        let lengths = || parts.iter().map(|(start, end, _)| end - start);
        // A date that is none is several numbers, as written with strokes.
        let is_date =
            matches!(lengths().collect::<Vec<_>>()[..], [4, 1..=2, 1..=2] | [1..=2, 1..=2, 4]);
        let is_one = parts.len() > 2 && lengths().sum::<usize>() >= 7 && !is_date;
        if is_one && parts.iter().all(|(_, _, part)| *part == Part::Digits) {
            let joined: String =
                parts.iter().map(|&(start, end, _)| &self.text[start..end]).collect();
            let end = parts.last().map_or(at, |&(_, end, _)| end);
            return self.put(&joined, end);
        }
        for &(start, end, _) in parts {
            self.run(start, start + run_length(&self.text.as_bytes()[start..end]));
            self.done = end;
        }
        self.done
    }

    /// The parts that hyphens join, from a place on.
    fn parts(&self, at: usize) -> Vec<(usize, usize, Part)> {
        let mut parts = Vec::new();
        let mut start = at;
        loop {
            let (end, part) = self.part(start);
            parts.push((start, end, part));
            self.interrupt.spend(end - start + 16);
            if byte(self.text, end) != b'-' || !self.is_word(end + 1) {
                return parts;
            }
            start = end + 1;
        }
    }

    /// A word, with the digits that points and commas join to it.
    fn part(&self, at: usize) -> (usize, Part) {
        let bytes = self.text.as_bytes();
        let run = at + run_length(&bytes[at..]);
        let word_end = self.word_end(run);
        let suffix = &self.text[run..word_end];
        if run > at && (suffix.is_empty() || is_unit(suffix)) {
            let is_plain = suffix.is_empty() && digits_length(&bytes[at..]) == run - at;
            return (word_end, if is_plain { Part::Digits } else { Part::Number });
        }
        let mut end = word_end;
        while byte(self.text, end) == b'.' && byte(self.text, end + 1).is_ascii_digit() {
            end = self.word_end(end + 1);
        }
        let has_digits = bytes[at..end].iter().any(u8::is_ascii_digit);
        (end, if has_digits { Part::Mixed } else { Part::Letters })
    }

    /// Letters and digits, without what has no digit at the end.
    fn identifier(&mut self, start: usize) -> usize {
        let parts = self.parts(start);
        let with_digits = parts.iter().rposition(|(_, _, part)| *part != Part::Letters);
        let last = self.early(&parts).max(with_digits).unwrap_or(0);
        let end = parts[last].1;
        let name: String = self.text[start..end].chars().default_case_fold().collect();
        self.put(&name, end)
    }

    /// The place of a part that says that a version is none yet: 1.2.3-beta.
    fn early(&self, parts: &[(usize, usize, Part)]) -> Option<usize> {
        let &[(start, end, _), (second, second_end, _), ..] = parts else { return None };
        let is_early =
            self.text[start..end].contains('.') && is_early(&self.text[second..second_end]);
        is_early.then_some(1)
    }

    /// A character that is no ASCII: a Chinese numeral, a fraction, or nothing.
    fn other(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let Some(c) = rest.chars().next() else { return self.text.len() };
        if let Some(fraction) = fraction(c) {
            return self.put(fraction, at + c.len_utf8());
        }
        match numeral(rest) {
            Err(0) => at + c.len_utf8(),
            Err(length) => at + length,
            Ok(found) => {
                if let Some(end) = self.chinese_date(at) {
                    return end;
                }
                let end = at + found.bytes;
                if found.is_clear || self.is_counted(at, end, &found) {
                    return self.put(&found.digits, end);
                }
                end
            }
        }
    }

    /// Whether one character, or two digits, are a number because of what is beside them.
    fn is_counted(&self, at: usize, end: usize, found: &Numeral) -> bool {
        let before = &self.text[self.done.min(at)..at];
        if before.ends_with('第') || before.ends_with("分之") {
            return true;
        }
        let next = self.text[end..].chars().next();
        match next {
            Some('年' | '月' | '日' | '号' | '號' | '元' | '岁' | '歲') => true,
            Some(
                '个' | '個' | '人' | '块' | '塊' | '条' | '條' | '章' | '节' | '節' | '名' | '位'
                | '次' | '倍',
            ) => found.digits != "1",
            _ => false,
        }
    }

    /// 2024年3月4日, 二〇二四年三月四日, 3月4日, 2024년 3월 4일; also a time, 14时30分.
    fn chinese_date(&mut self, at: usize) -> Option<usize> {
        let text = self.text;
        let (first, behind) = short_numeral(text, at)?;
        if let Some(month_at) = past(text, behind, &['年', '년']) {
            let (month, end) = short_numeral(text, month_at)?;
            let day_at = past(text, end, &['月', '월'])?;
            let day = short_numeral(text, day_at)
                .and_then(|(day, end)| Some((day, past(text, end, DAY)?)))
                .and_then(|(day, end)| Some((date(first, month, day)?, end)));
            let month = || Some((month_of_year(first, month)?, day_at));
            let (written, end) = day.or_else(month)?;
            return Some(self.put(&written, end));
        }
        if let Some(day_at) = past(text, behind, &['月', '월']) {
            let (day, end) = short_numeral(text, day_at)?;
            let end = past(text, end, DAY)?;
            let written = day_of_month(first, day)?;
            return Some(self.put(&written, end));
        }
        let minute_at = past(text, behind, &['时', '時', '点', '點', '시'])?;
        let (minute, end) = short_numeral(text, minute_at)?;
        let end = past(text, end, &['分', '분'])?;
        let written = (first <= 24 && minute < 60).then(|| format!("{first}:{minute:02}"))?;
        Some(self.put(&written, end))
    }
}

const DAY: &[char] = &['日', '号', '號', '일'];

/// A number of at most four digits, or a Chinese numeral of that value, and where it ends.
fn short_numeral(text: &str, at: usize) -> Option<(u32, usize)> {
    let at = if byte(text, at) == b' ' { at + 1 } else { at };
    let rest = text.get(at..)?;
    let digits = digits_length(&rest.as_bytes()[..rest.len().min(5)]);
    if digits > 0 {
        let value = rest[..digits].parse().ok().filter(|_| digits <= 4)?;
        return Some((value, at + digits));
    }
    let found = numeral(rest).ok()?;
    let value = found.digits.parse().ok().filter(|&value: &u32| value < 10_000)?;
    Some((value, at + found.bytes))
}

/// Where it goes on behind one of these characters, perhaps with a space before it.
fn past(text: &str, at: usize, expected: &[char]) -> Option<usize> {
    let at = if byte(text, at) == b' ' { at + 1 } else { at };
    let c = text.get(at..)?.chars().next().filter(|c| expected.contains(c))?;
    Some(at + c.len_utf8())
}

/// Fractions of one character (general category No, compatibility decomposition <fraction>).
fn fraction(c: char) -> Option<&'static str> {
    const OTHERS: [&str; 15] = [
        "1/7", "1/9", "1/10", "1/3", "2/3", "1/5", "2/5", "3/5", "4/5", "1/6", "5/6", "1/8", "3/8",
        "5/8", "7/8",
    ];
    match c {
        '¼' => Some("1/4"),
        '½' => Some("1/2"),
        '¾' => Some("3/4"),
        '\u{2150}'..='\u{215E}' => Some(OTHERS[c as usize - 0x2150]),
        _ => None,
    }
}

/// What comes before a number in the same word and is no part of it: the v of a version, and
/// currencies.
fn is_prefix(word: &str) -> bool {
    const PREFIXES: [&str; 8] = ["v", "usd", "eur", "gbp", "chf", "jpy", "cny", "rmb"];
    PREFIXES.iter().any(|prefix| prefix.eq_ignore_ascii_case(word))
}

/// What comes behind a number in the same word and is no part of it: endings of ordinal numbers,
/// and units. Letters that number sections, as in 12b, are none.
fn is_unit(word: &str) -> bool {
    const UNITS: [&str; 74] = [
        "bit", "bits", "bps", "chf", "cl", "cm", "cny", "dl", "dpi", "em", "er", "eur", "fps",
        "ft", "g", "gb", "gbp", "gbps", "ghz", "gib", "h", "hr", "hrs", "hz", "jpy", "k", "kb",
        "kbps", "kg", "khz", "kib", "km", "kmh", "kv", "kw", "kwh", "l", "lb", "lbs", "m", "mah",
        "mb", "mbps", "mg", "mhz", "mib", "min", "ml", "mm", "mph", "ms", "mw", "nd", "nm", "ns",
        "pt", "px", "rd", "rmb", "rpm", "s", "sec", "st", "tb", "th", "tib", "ug", "um", "us",
        "usd", "v", "w", "x", "μm",
    ];
    const LONGEST: usize = 4;
    word.len() <= LONGEST && UNITS.iter().any(|unit| unit.eq_ignore_ascii_case(word))
}

/// What a version is called before it is one.
fn is_early(word: &str) -> bool {
    const EARLY: [&str; 6] = ["alpha", "beta", "dev", "pre", "rc", "snapshot"];
    EARLY.iter().any(|early| early.eq_ignore_ascii_case(word))
}
