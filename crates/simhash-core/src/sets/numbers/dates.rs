//! Reads dates and times of day from their first digit.
//!
//! A string that only looks like a date, such as 2024-02-30, is none: its numbers are compared one
//! by one.

use std::fmt::Write as _;

use super::digits::digits_length;
use super::fold::{GROUP, plain};
use super::months::{self, month};
use crate::base::interrupt::Interrupt;

/// A date or a time that was read, and where it ends.
pub(super) type Read = Option<(String, usize)>;

/// A number of one to four digits, its length, and where it ends.
#[derive(Clone, Copy)]
struct Short {
    value: u32,
    length: usize,
    end: usize,
}

/// The one to four digits at `at`. `None` if there are none, or more.
fn short(text: &str, at: usize) -> Option<Short> {
    let bytes = text.as_bytes().get(at..)?;
    let length = digits_length(&bytes[..bytes.len().min(5)]);
    let value = bytes[..length].iter().fold(0, |value, digit| 10 * value + u32::from(digit - b'0'));
    (1..=4).contains(&length).then_some(Short { value, length, end: at + length })
}

pub(super) fn byte(text: &str, at: usize) -> u8 {
    text.as_bytes().get(at).copied().unwrap_or(0)
}

/// Whether more digits follow at `at`, perhaps after a separator.
fn goes_on(text: &str, at: usize) -> bool {
    let next = byte(text, at);
    next.is_ascii_digit()
        || matches!(next, b'.' | b',' | b'-' | b'/') && byte(text, at + 1).is_ascii_digit()
}

pub(super) fn date(year: u32, month: u32, day: u32) -> Option<String> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=days).contains(&day).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

pub(super) fn month_of_year(year: u32, month: u32) -> Option<String> {
    (1..=12).contains(&month).then(|| format!("{year:04}-{month:02}"))
}

/// A date without its year, as in ISO 8601:2000. 29 February is allowed, since the year may be a
/// leap year.
pub(super) fn day_of_month(month: u32, day: u32) -> Option<String> {
    date(2000, month, day).map(|date| format!("--{}", &date[5..]))
}

/// 2024-03-04, 2024/3/4, 04.03.2024, 04/03/2024, 04-03-2024, 2024-03.
///
/// With points the day comes first. Otherwise, if both numbers may be the month, the order is
/// unknown. The date then keeps its order and equals only dates with the same one.
pub(super) fn numeric(text: &str, at: usize) -> Read {
    let first = short(text, at)?;
    let separator = byte(text, first.end);
    if !matches!(separator, b'-' | b'/' | b'.') {
        return None;
    }
    let second = short(text, first.end + 1).filter(|second| second.length <= 2)?;
    if byte(text, second.end) != separator {
        let is_month = separator == b'-' && first.length == 4 && second.length == 2;
        let is_month = is_month && (1000..3000).contains(&first.value);
        let month = month_of_year(first.value, second.value).filter(|_| is_month)?;
        return (!goes_on(text, second.end)).then_some((month, second.end));
    }
    let third = short(text, second.end + 1)?;
    if goes_on(text, third.end) {
        return None;
    }
    let (a, b, c) = (first.value, second.value, third.value);
    let found = match (first.length, third.length) {
        (4, 1..=2) => date(a, b, c)?,
        (1..=2, 4) => {
            let (day_first, month_first) = (date(c, b, a), date(c, a, b));
            match (day_first, month_first) {
                (Some(date), _) if separator == b'.' || a == b => date,
                (Some(_), Some(_)) => format!("{a}/{b}/{c}"),
                (day_first, month_first) => day_first.or(month_first)?,
            }
        }
        _ => return None,
    };
    Some((found, third.end))
}

/// 4 March 2024, 4. März, 4 de marzo de 2024, 4th of March 2024, 04-Mar-2024.
pub(super) fn day_first(text: &str, at: usize, interrupt: &Interrupt) -> Read {
    let day = short(text, at).filter(|day| day.length <= 2 && day.value > 0)?;
    let behind = after_ordinal(text, day.end);
    let named = skip(text, behind, &["of ", "de ", "di "]);
    let (month, name, end) = month_name(text, named, interrupt)?;
    let year = year(text, skip(text, end, &["of ", "de ", "del "]));
    if let Some((year, end)) = year {
        return Some((date(year, month, day.value)?, end));
    }
    let is_apart = named > behind && (!is_word(name) || text[..named].ends_with("de "));
    let is_apart = is_apart && !is_verb(name) && !byte(text, end).is_ascii_digit();
    Some((day_of_month(month, day.value).filter(|_| is_apart)?, end))
}

/// March 4, 2024, read from the first digit at `at`: also March 4, and March 2024. The name of the
/// month does not begin before `from`.
pub(super) fn after_month(text: &str, from: usize, at: usize, interrupt: &Interrupt) -> Read {
    let (month, name) = month_before(text, from, at, interrupt)?;
    let is_certain = !is_verb(name) && !is_word(name);
    let number = short(text, at)?;
    if number.length == 4 {
        let (year, end) = year(text, at).filter(|_| is_certain)?;
        return Some((month_of_year(year, month)?, end));
    }
    if number.length > 2 || goes_on(text, number.end) && byte(text, number.end) != b'-' {
        return None;
    }
    let end = after_ordinal(text, number.end);
    let comma = if byte(text, end) == b',' { end + 1 } else { end };
    if let Some((year, end)) = year(text, skip(text, comma, &[])).filter(|_| comma < text.len())
        && let Some(date) = date(year, month, number.value)
    {
        return Some((date, end));
    }
    let day = day_of_month(month, number.value).filter(|_| is_certain)?;
    Some((day, end))
}

/// Names of months that are verbs in lower case. Without a year they need a capital.
fn is_verb(name: &str) -> bool {
    matches!(name, "may" | "march")
}

/// Names of months that are a word or a name without their marks, as in Nobel de la Paz 2024 and
/// Marco 5. A day or a year alone does not make them a month, except a day with "de" after it.
fn is_word(name: &str) -> bool {
    const WORDS: [&str; 6] = ["marco", "março", "marÇo", "paz", "paź", "paŹ"];
    WORDS.iter().any(|word| word.eq_ignore_ascii_case(name))
}

/// A year of four digits, 1000 to 2999, and where it ends. A number with a fraction is none.
fn year(text: &str, at: usize) -> Option<(u32, usize)> {
    let year = short(text, at).filter(|year| year.length == 4 && year.value >= 1000)?;
    let next = byte(text, year.end + 1);
    let is_decimal = matches!(byte(text, year.end), b'.' | b',') && next.is_ascii_digit();
    (year.value < 3000 && !is_decimal).then_some((year.value, year.end))
}

/// The place after the ending of an ordinal number: 4th, 1er, 4.
fn after_ordinal(text: &str, at: usize) -> usize {
    let is_letter = |place| byte(text, place).is_ascii_alphabetic() || byte(text, place) >= 0x80;
    for ending in ["st", "nd", "rd", "th", "er", "º", "."] {
        if text[at..].starts_with(ending) && (ending == "." || !is_letter(at + ending.len())) {
            return at + ending.len();
        }
    }
    at
}

/// The place after the separator between two parts of a date: a comma, a point, a hyphen or a
/// slash, then spaces, then one of `words`. Each may be missing.
fn skip(text: &str, at: usize, words: &[&str]) -> usize {
    let mut at = at;
    if matches!(byte(text, at), b'.' | b',' | b'-' | b'/') {
        at += 1;
    }
    for _ in 0..2 {
        if matches!(byte(text, at), b' ' | GROUP | b'\n') {
            at += 1;
        }
    }
    let word = words.iter().find(|word| text[at..].starts_with(**word));
    at + word.map_or(0, |word| word.len())
}

/// The month named at `at`, its name as written, and where it ends.
fn month_name<'t>(
    text: &'t str,
    at: usize,
    interrupt: &Interrupt,
) -> Option<(u32, &'t str, usize)> {
    let mut end = at;
    for c in text[at..].chars() {
        if !is_letter(c) {
            break;
        }
        end += c.len_utf8();
        if end - at > months::LONGEST {
            return None;
        }
    }
    let name = &text[at..end];
    Some((named(name, interrupt)?, name, end))
}

/// The month whose name ends before `at` and does not begin before `from`, and that name.
fn month_before<'t>(
    text: &'t str,
    from: usize,
    at: usize,
    interrupt: &Interrupt,
) -> Option<(u32, &'t str)> {
    let before = &text[from..at];
    let between = |c| matches!(c, ' ' | '\u{1F}' | '\n' | '-' | '/' | '.');
    let name_end = before.trim_end_matches(between).len();
    if before.len() == name_end || before.len() - name_end > 3 {
        return None;
    }
    let mut start = name_end;
    for c in before[..name_end].chars().rev() {
        if !is_letter(c) {
            break;
        }
        start -= c.len_utf8();
        if name_end - start > months::LONGEST {
            return None;
        }
    }
    let name = &before[start..name_end];
    Some((named(name, interrupt)?, name))
}

fn named(name: &str, interrupt: &Interrupt) -> Option<u32> {
    if name.len() < 3 {
        return None;
    }
    let mut lower = [0; months::LONGEST];
    let found = match lower.get_mut(..name.len()) {
        Some(lower) if name.is_ascii() => {
            lower.copy_from_slice(name.as_bytes());
            lower.make_ascii_lowercase();
            month(lower)
        }
        _ => month(plain(name, interrupt).as_bytes()),
    };
    found.map(u32::from)
}

/// Whether `c` is a letter of the scripts of the known names of months.
pub(super) fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{C0}'..='\u{52F}') && !matches!(c, '×' | '÷')
}

/// 14:30, 14:30:05.250, 2:30 pm, 2 p.m., 14h30, 14.30 Uhr.
pub(super) fn time(text: &str, at: usize) -> Read {
    let hour = short(text, at).filter(|hour| hour.length <= 2)?;
    let minute = |separators: &[u8]| {
        let next = byte(text, hour.end);
        let minute = short(text, hour.end + 1).filter(|minute| minute.length == 2)?;
        (separators.contains(&next) && minute.value < 60).then_some(minute)
    };
    if let Some(minute) = minute(b":h") {
        let mut time = String::new();
        let mut end = minute.end;
        let second = short(text, end + 1).filter(|second| second.length == 2);
        let second = second.filter(|second| byte(text, end) == b':' && second.value <= 60);
        if let Some(second) = second {
            let fraction = byte(text, second.end) == b'.';
            let digits = digits_length(text.as_bytes().get(second.end + 1..).unwrap_or(&[]));
            end = second.end + if fraction && digits > 0 { 1 + digits } else { 0 };
            let _ = write!(time, ":{}", &text[minute.end + 1..end]);
        }
        if byte(text, end) == b':' && byte(text, end + 1).is_ascii_digit() {
            return None;
        }
        let (half, end) = half_of_day(text, end).map_or((None, end), |(h, end)| (Some(h), end));
        let end = if matches!(byte(text, end), b'Z' | b'z') { end + 1 } else { end };
        let hour = of_day(hour.value, half.or(half_before(text, at)))?;
        return Some((format!("{hour}:{:02}{time}", minute.value), end));
    }
    if let Some(minute) = minute(b".")
        && let Some(rest) = text[minute.end..].strip_prefix(" Uhr")
        && !rest.starts_with(is_letter)
    {
        let hour = of_day(hour.value, None)?;
        return Some((format!("{hour}:{:02}", minute.value), minute.end + 4));
    }
    let (half, end) = half_of_day(text, hour.end)?;
    let hour = of_day(hour.value, Some(half)).filter(|_| (1..=12).contains(&hour.value))?;
    Some((format!("{hour}:00"), end))
}

/// An hour on the 24-hour clock. An hour that the 12-hour clock does not have stays as it is, even
/// with am or pm: 13:00 pm.
pub(super) fn of_day(hour: u32, half: Option<Half>) -> Option<u32> {
    let hour = match half {
        Some(Half::Am | Half::Pm) if !(1..=12).contains(&hour) => hour,
        Some(Half::Am) => hour % 12,
        Some(Half::Pm) => hour % 12 + 12,
        Some(Half::After) if hour < 12 => hour + 12,
        None | Some(Half::After) => hour,
    };
    (hour <= 24).then_some(hour)
}

/// Which half of the day an hour is in.
#[derive(Clone, Copy)]
pub(super) enum Half {
    Am,
    Pm,
    /// In the afternoon or the evening, where the hour is counted from 0 or from 12: 午後0時30分.
    After,
}

/// The half of the day that is named before `at`: 下午2:30.
pub(super) fn half_before(text: &str, at: usize) -> Option<Half> {
    const NAMES: [&str; 6] = ["下午", "晚上", "傍晚", "午后", "午後", "오후"];
    let before = &text[..at];
    let before = before.strip_suffix([' ', '\u{1F}']).unwrap_or(before);
    NAMES.iter().any(|name| before.ends_with(name)).then_some(Half::After)
}

fn half_of_day(text: &str, at: usize) -> Option<(Half, usize)> {
    let at = if matches!(byte(text, at), b' ' | GROUP) { at + 1 } else { at };
    let half = match byte(text, at) {
        b'a' | b'A' => Half::Am,
        b'p' | b'P' => Half::Pm,
        _ => return None,
    };
    let rest = text.get(at + 1..)?;
    let length = match rest.as_bytes() {
        [b'.', b'm' | b'M', b'.', ..] => 4,
        [b'm' | b'M', ..] => 2,
        _ => return None,
    };
    let end = at + length;
    (!text[end..].starts_with(|c: char| is_letter(c) || c.is_ascii_digit())).then_some((half, end))
}
