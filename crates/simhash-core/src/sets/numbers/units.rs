//! Digits before the units of Chinese, Japanese and Korean numerals: 3千, 3千5百万, 3만 5천.

use super::digits::{self, run_length, scaled, whole};

/// The value of `first` with the units from `end` on, and where it ends. `None` if there is no
/// unit.
///
/// As in numerals of characters, units descend, and 千 and smaller ones combine with 万 and 亿. A
/// single digit at the end counts in the next smaller unit: 3万5 is 35000. Several digits there
/// count as they are: 1万2345 is 12345.
pub(super) fn multiple(text: &str, first: &str, end: usize) -> Option<(String, usize)> {
    let (small, behind) = small(text, end).unwrap_or((0, end));
    let (large, behind) = large(text, behind).unwrap_or((0, behind));
    if small + large == 0 {
        return None;
    }
    if first.contains('.') {
        return Some((scaled(first, small + large), behind));
    }
    let mut sum = Sum::default();
    let mut at = sum.read(text, first, end)?;
    while let Some((number, is_digit, number_end)) = next(text, at) {
        let has_unit = small_or_large(text, number_end);
        let mut more = sum.clone();
        let read = if has_unit {
            more.read(text, &number, number_end)
        } else {
            (is_last(text, number_end) && more.add_last(&number, is_digit)).then_some(number_end)
        };
        let Some(read) = read else { break };
        (sum, at) = (more, read);
        if !has_unit {
            break;
        }
    }
    Some((sum.digits(), at))
}

/// Digits, and how many of them at the end are zeros that a smaller unit may fill.
#[derive(Clone, Default)]
struct Places {
    digits: String,
    room: usize,
}

impl Places {
    /// Adds `number` times ten to the `power`. False if it is not less than the unit before it.
    fn add(&mut self, number: &str, power: usize) -> bool {
        let length = number.len() + power;
        if !self.digits.is_empty() {
            if length > self.room {
                return false;
            }
            self.digits.truncate(self.digits.len() - length);
        }
        self.digits.push_str(number);
        self.digits.extend(std::iter::repeat_n('0', power));
        self.room = power;
        true
    }
}

/// The sum so far: the parts with 万 and 亿, and the section after the last of them.
#[derive(Clone, Default)]
struct Sum {
    parts: Places,
    section: Places,
}

impl Sum {
    /// Adds a number with the units after it. Returns where they end.
    fn read(&mut self, text: &str, number: &str, end: usize) -> Option<usize> {
        let (power, end) = small(text, end).unwrap_or((0, end));
        if !self.section.add(number, power) {
            return None;
        }
        let Some((power, end)) = large(text, end) else { return self.fits().then_some(end) };
        let section = std::mem::take(&mut self.section);
        self.parts.add(&section.digits, power).then_some(end)
    }

    /// Adds digits without a unit.
    fn add_last(&mut self, number: &str, is_digit: bool) -> bool {
        let section = &mut self.section;
        let room = if section.digits.is_empty() { self.parts.room } else { section.room };
        section.add(number, if is_digit { room.saturating_sub(1) } else { 0 }) && self.fits()
    }

    fn fits(&self) -> bool {
        self.parts.digits.is_empty() || self.section.digits.len() <= self.parts.room
    }

    fn digits(mut self) -> String {
        if !self.section.digits.is_empty() {
            self.parts.add(&self.section.digits, 0);
        }
        whole(&self.parts.digits)
    }
}

/// The whole number that continues at `at`, whether it is one digit, and where it ends. Korean puts
/// a space between the parts: 3만 5천.
fn next(text: &str, at: usize) -> Option<(String, bool, usize)> {
    let is_korean = text[..at].ends_with(['만', '억', '천', '백']);
    let spaced = text[at..].strip_prefix(' ').filter(|_| is_korean);
    let start = if spaced.is_some() { at + 1 } else { at };
    let length = run_length(&text.as_bytes()[start..]);
    // No unit leaves room for more digits.
    if !(1..=16).contains(&length) {
        return None;
    }
    let end = start + length;
    let number = digits::one(&text[start..end]).filter(|number| !number.contains('.'))?;
    let has_unit = small_or_large(text, end);
    (start == at || has_unit).then_some((number, length == 1, end))
}

/// Whether the digits without a unit that end at `end` are not part of something else, as they are
/// in 3万5kg and 3万10-20.
fn is_last(text: &str, end: usize) -> bool {
    let next = text.as_bytes().get(end).copied().unwrap_or(b' ');
    !next.is_ascii_alphanumeric() && !matches!(next, b'-' | b'/' | b':' | b'_' | b'%')
}

fn small_or_large(text: &str, at: usize) -> bool {
    small(text, at).or_else(|| large(text, at)).is_some()
}

/// The power of ten of a unit below 万, and where it ends. `None` where the character begins a unit
/// of measure: 千克 is kg, and 千米 is km.
fn small(text: &str, at: usize) -> Option<(usize, usize)> {
    let mut chars = text[at..].chars();
    let unit = chars.next()?;
    let power = match unit {
        '十' | '拾' | '십' => 1,
        '百' | '佰' | '백' => 2,
        '千' | '仟' | '천' => 3,
        _ => return None,
    };
    let is_measure = match (unit, chars.next()) {
        ('千', Some(next)) => "克米瓦卡赫伏帕焦兆安".contains(next),
        ('百', Some(next)) => "帕分".contains(next),
        _ => false,
    };
    (!is_measure).then_some((power, at + unit.len_utf8()))
}

/// The power of ten of 万, 亿, or 万亿, and where it ends.
fn large(text: &str, at: usize) -> Option<(usize, usize)> {
    let power = |at: usize| match text[at..].chars().next()? {
        c @ ('万' | '萬' | '만') => Some((4, at + c.len_utf8())),
        c @ ('亿' | '億' | '억') => Some((8, at + c.len_utf8())),
        _ => None,
    };
    match power(at)? {
        (4, end) => {
            Some(power(end).filter(|&(next, _)| next == 8).map_or((4, end), |(_, end)| (12, end)))
        }
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_multiply_and_add() {
        for (text, number) in [
            ("3千元", "3000"),
            ("3百万", "3000000"),
            ("3千万", "30000000"),
            ("3万5千", "35000"),
            ("2千3百", "2300"),
            ("12万3千", "123000"),
            ("3千5百万", "35000000"),
            ("3천5백만원", "35000000"),
            ("2만5천원", "25000"),
            ("2만 5천원", "25000"),
            ("1억 2,000만원", "120000000"),
            ("1億2345万6789円", "123456789"),
            ("1万500円", "10500"),
            ("1万05", "10005"),
            ("3万5", "35000"),
            ("3万亿", "3000000000000"),
            ("1.5万", "15000"),
            ("1.5千万", "15000000"),
            ("1.23456万", "12345.6"),
            ("0万", "0"),
        ] {
            let end = run_length(text.as_bytes());
            let first = digits::one(&text[..end]).unwrap();
            assert_eq!(multiple(text, &first, end).unwrap().0, number, "{text}");
        }
    }

    #[test]
    fn others_stay_apart() {
        for (text, expected) in [
            ("3千克", None),
            ("5千米", None),
            ("3元", None),
            ("3", None),
            ("3万5kg", Some(("30000", 4))),
            ("3万 5", Some(("30000", 4))),
            ("3만 5명", Some(("30000", 4))),
            ("3万12345", Some(("30000", 4))),
            ("3万5.5", Some(("30000", 4))),
        ] {
            let found = multiple(text, &text[..1], 1);
            let found = found.as_ref().map(|(digits, end)| (digits.as_str(), *end));
            assert_eq!(found, expected, "{text}");
        }
    }
}
