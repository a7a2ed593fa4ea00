//! Finds the numbers of a text and writes each in its one form.

use super::chinese::{Numeral, numeral};
use super::dates::{self, byte, date, day_of_month, half_before, is_letter, month_of_year, of_day};
use super::digits::{self, decimal, digits_length, run_length, whole};
use super::fold::plain;
use super::signs::{begins, is_in_red, is_negative};
use super::units::multiple;
use crate::base::interrupt::Interrupt;

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
    // Few bytes begin a number, so the check is called once for each stretch of others.
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
    /// Text before this is not read again as part of a number.
    done: usize,
    sink: &'s mut dyn FnMut(&str),
}

/// A part of a sequence joined by hyphens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Part {
    Digits,
    /// Digits with separators, or with a unit after them.
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

    /// Where the word that continues at `at` ends.
    fn word_end(&self, at: usize) -> usize {
        let is_part = |c: char| c == '_' || c.is_ascii_digit() || is_letter(c);
        let rest = &self.text[at..];
        at + rest.find(|c| !is_part(c)).unwrap_or(rest.len())
    }

    /// Where the word that ends at `at` begins.
    fn word_start(&self, at: usize) -> usize {
        let is_part = |c: char| c == '_' || c.is_ascii_digit() || is_letter(c);
        self.done + self.text[self.done..at].trim_end_matches(is_part).len()
    }

    /// Reads the number or identifier to which the digit at `at` belongs. Returns where it ends.
    fn number(&mut self, at: usize) -> usize {
        let text = self.text;
        if byte(text, at.wrapping_sub(1)) == b'.' {
            let end = at + run_length(&text.as_bytes()[at..]);
            if self.point(at, end).is_some() {
                return self.numbers(at);
            }
        }
        if let Some((date, end)) = dates::after_month(text, self.done, at, self.interrupt) {
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
        let day_first = || dates::day_first(text, at, self.interrupt);
        if let Some((date, end)) = dates::numeric(text, at).or_else(day_first) {
            let end = self.put(&date, end);
            // As in ISO 8601, T and a digit begin the time of the date, not an identifier.
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
        if let Some(end) = self.chinese_date(at).or_else(|| self.part_of_one(at)) {
            return end;
        }
        self.numbers(at)
    }

    /// Where the words that hyphens join to the one at `at` begin: COVID-19.
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

    /// Reads digits with all that separators, hyphens, slashes, colons and letters join to them.
    fn numbers(&mut self, at: usize) -> usize {
        let text = self.text;
        let bytes = text.as_bytes();
        let end = at + run_length(&bytes[at..]);
        let joint = byte(text, end);
        if let Some(end) = self.with_exponent(at, end) {
            return end;
        }
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
        self.done = self.run(at, end).max(word_end);
        self.done
    }

    /// Reads a number times ten to a power: 1.5e-3, 1.5E+10, which equals 1.5e10.
    fn with_exponent(&mut self, at: usize, end: usize) -> Option<usize> {
        let text = self.text;
        let sign = byte(text, end + 1);
        // Without a sign or a point it may be a name: 1e5.
        let has_point = text.as_bytes()[at..end].contains(&b'.');
        let start = match sign {
            b'+' | b'-' => end + 2,
            b'0'..=b'9' if has_point => end + 1,
            _ => return None,
        };
        if !matches!(byte(text, end), b'e' | b'E') {
            return None;
        }
        let digits = digits_length(text.as_bytes().get(start..)?);
        let behind = start + digits;
        let goes_on = matches!(byte(text, behind), b'-' | b'.') && self.is_word(behind + 1);
        if digits == 0 || goes_on || self.is_word(behind) {
            return None;
        }
        let minus = if is_negative(self.text, at) { "-" } else { "" };
        let of_exponent = if sign == b'-' { "-" } else { "" };
        let (number, exponent) = (&text[at..end], &text[start..behind]);
        Some(self.put(&format!("{minus}{number}e{of_exponent}{exponent}"), behind))
    }

    /// The place of the point before a fraction without a whole part: .5, -.25. No.5 and 1..5 have
    /// none.
    fn point(&self, at: usize, end: usize) -> Option<usize> {
        let point = at.checked_sub(1).filter(|&point| byte(self.text, point) == b'.')?;
        let before = point.checked_sub(1).map_or(b' ', |before| byte(self.text, before));
        let begins = begins(self.text, point) || b"-+~<>$\"'".contains(&before);
        let is_plain = digits_length(&self.text.as_bytes()[at..]) == end - at;
        (begins && is_plain).then_some(point)
    }

    /// Hands out the numbers of a run, with the sign of the first one, and the Chinese units after
    /// the last one. Returns where these end.
    fn run(&mut self, at: usize, end: usize) -> usize {
        if let Some(point) = self.point(at, end) {
            let number = decimal("0", &self.text[at..end]);
            return self.put_number(&number, is_negative(self.text, point), end);
        }
        let is_negative = is_negative(self.text, at) || is_in_red(self.text, at, end);
        let run = &self.text[at..end];
        // These units begin with such a byte in UTF-8.
        let is_multiple = matches!(byte(self.text, end), 0xE4..=0xEC);
        if is_multiple && let Some(number) = digits::one(run) {
            return self.put_number(&number, is_negative, end);
        }
        // In a list, the units multiply the last number: 1,2,3万.
        let mut last = None;
        let sink = &mut self.sink;
        let mut is_negative = is_negative;
        digits::each(run, |number| {
            self.interrupt.spend(number.len() + 16);
            // A version is no amount.
            let is_version = number.bytes().filter(|&byte| byte == b'.').count() > 1;
            if std::mem::take(&mut is_negative) && number != "0" && !is_version {
                sink(&format!("-{number}"));
            } else if is_multiple && !is_version {
                last.replace(number.to_owned()).iter().for_each(|number| sink(number));
            } else {
                sink(number);
            }
        });
        last.map_or(end, |number| self.put_number(&number, false, end))
    }

    /// Hands out a number with its sign and the Chinese units after it. Returns where these end.
    fn put_number(&mut self, number: &str, is_negative: bool, end: usize) -> usize {
        let units = multiple(self.text, number, end);
        let (number, end) = units.as_ref().map_or((number, end), |(all, end)| (all, *end));
        self.interrupt.spend(number.len() + 16);
        let sign = if is_negative && number != "0" { "-" } else { "" };
        self.put(&format!("{sign}{number}"), end)
    }

    /// Hands out a number that begins at `at`, with its sign. Returns its end.
    fn put_signed(&mut self, number: &str, at: usize, end: usize) -> usize {
        let sign = if is_negative(self.text, at) { "-" } else { "" };
        self.put(&format!("{sign}{number}"), end)
    }

    /// Reads whole numbers joined by slashes or colons: 24/7, 16:9.
    fn ratio(&mut self, at: usize, joint: u8) -> usize {
        let bytes = self.text.as_bytes();
        let is_fraction = joint == b'/' && is_negative(self.text, at);
        let mut written = String::from(if is_fraction { "-" } else { "" });
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

    /// Reads a sequence joined by hyphens from a digit on: numbers, or an identifier.
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
        // A date that does not exist is several numbers.
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
            let run = start + run_length(&self.text.as_bytes()[start..end]);
            self.done = self.run(start, run).max(end);
        }
        self.done
    }

    /// The parts of a sequence joined by hyphens, from `at` on.
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

    /// Where the part at `at` ends, with the digits that separators join to it, and its kind.
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

    /// Reads an identifier of letters and digits. Parts at its end that have no digit are left out,
    /// except one that marks a version as a pre-release.
    fn identifier(&mut self, start: usize) -> usize {
        let parts = self.parts(start);
        let with_digits = parts.iter().rposition(|(_, _, part)| *part != Part::Letters);
        let last = self.early(&parts).max(with_digits).unwrap_or(0);
        let end = parts[last].1;
        let name = plain(&self.text[start..end], self.interrupt);
        self.put(&name, end)
    }

    /// The index of a part that marks a version as a pre-release: 1.2.3-beta.
    fn early(&self, parts: &[(usize, usize, Part)]) -> Option<usize> {
        let &[(start, end, _), (second, second_end, _), ..] = parts else { return None };
        let is_early =
            self.text[start..end].contains('.') && is_early(&self.text[second..second_end]);
        is_early.then_some(1)
    }

    /// Reads a character beyond ASCII: a Chinese numeral, a fraction, or nothing.
    fn other(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        let Some(c) = rest.chars().next() else { return self.text.len() };
        if let Some(fraction) = fraction(c) {
            return self.put_signed(fraction, at, at + c.len_utf8());
        }
        match numeral(rest) {
            Err(0) => at + c.len_utf8(),
            Err(length) => at + length,
            Ok(found) => {
                if let Some(end) = self.chinese_date(at).or_else(|| self.part_of_one(at)) {
                    return end;
                }
                let end = at + found.bytes;
                if found.is_clear || self.is_counted(at, end, &found) {
                    return self.put_signed(&found.digits, at, end);
                }
                end
            }
        }
    }

    /// Whether one character, or two digits, are a number because of the text around them.
    fn is_counted(&self, at: usize, end: usize, found: &Numeral) -> bool {
        let before = &self.text[self.done.min(at)..at];
        if before.ends_with('第') || before.ends_with(PARTS) {
            return true;
        }
        // Tens, hundreds or thousands after an indefinite word or after digits: 几十人, 3 千克.
        let is_apart = |before: &str| before.ends_with(|c: char| c.is_ascii_digit());
        if before.ends_with(['几', '幾', '数', '數'])
            || self.text[at..end].starts_with(['百', '千'])
                && self.text[..at].strip_suffix(' ').is_some_and(is_apart)
        {
            return false;
        }
        let behind = &self.text[end..];
        let mut next = behind.chars();
        match next.next() {
            Some('年' | '月' | '日' | '号' | '號' | '元' | '岁' | '歲') => true,
            Some(
                '个' | '個' | '人' | '块' | '塊' | '条' | '條' | '章' | '节' | '節' | '名' | '位'
                | '次' | '倍',
            ) => found.digits != "1",
            // Two digits are an estimate: 三四天.
            _ if found.length > 1 => false,
            Some('天' | '点' | '點' | '周' | '週' | '时' | '時') => found.digits != "1",
            Some('秒') => true,
            Some('小') => matches!(next.next(), Some('时' | '時')),
            Some('分') => matches!(next.next(), Some('钟' | '鐘' | '間')),
            Some('又') => part_of_one(self.text, end + '又'.len_utf8()).is_some(),
            _ => false,
        }
    }

    /// Reads a fraction: 三分之一, 3分之1. 百分之五, which is 5 %, is none.
    fn part_of_one(&mut self, at: usize) -> Option<usize> {
        let (written, end) = part_of_one(self.text, at)?;
        Some(self.put(&written, end))
    }

    /// Reads a date: 2024年3月4日, 二〇二四年三月四日, 3月4日, 2024년 3월 4일. Or reads a time:
    /// 14时30分.
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
        let hour = of_day(first, half_before(text, at)).filter(|_| minute < 60)?;
        let written = format!("{hour}:{minute:02}");
        Some(self.put(&written, end))
    }
}

const DAY: &[char] = &['日', '号', '號', '일'];

/// Separates the parts of a fraction, of which the denominator comes first.
const PARTS: &str = "分之";

/// The fraction at `at`, and where it ends.
fn part_of_one(text: &str, at: usize) -> Option<(String, usize)> {
    let number = |at: usize| {
        let rest = &text[at..];
        match digits_length(rest.as_bytes()) {
            0 => numeral(rest).ok().map(|found| (found.digits, at + found.bytes)),
            length => Some((whole(&rest[..length]), at + length)),
        }
    };
    let (below, end) = number(at)?;
    let is_percent = &text[at..end] == "百";
    let behind = text[end..].strip_prefix(PARTS).filter(|_| !is_percent)?;
    let (above, end) = number(text.len() - behind.len())?;
    Some((format!("{above}/{below}"), end))
}

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

/// The place after one of the `expected` characters at `at`, which a space may precede.
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

/// Whether `word` precedes a number in the same word without being part of it: the v of a version,
/// and currencies.
fn is_prefix(word: &str) -> bool {
    const PREFIXES: [&str; 8] = ["v", "usd", "eur", "gbp", "chf", "jpy", "cny", "rmb"];
    PREFIXES.iter().any(|prefix| prefix.eq_ignore_ascii_case(word))
}

/// Whether `word` follows a number in the same word without being part of it: endings of ordinal
/// numbers, and units. Letters that number sections, as in 12b, belong to the number.
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

/// Whether `word` marks a version as a pre-release.
fn is_early(word: &str) -> bool {
    const EARLY: [&str; 6] = ["alpha", "beta", "dev", "pre", "rc", "snapshot"];
    EARLY.iter().any(|early| early.eq_ignore_ascii_case(word))
}
