//! Digits with separators between them: 1,234.50, 1.234,50, 1 234, 192.168.0.1.

use super::fold::GROUP;

/// Whether `byte` may join digits.
pub(super) fn is_separator(byte: u8) -> bool {
    matches!(byte, b'.' | b',' | b'\'' | GROUP)
}

/// The length of the run of digits, with separators between them, at the start of `bytes`.
pub(super) fn run_length(bytes: &[u8]) -> usize {
    let mut at = digits_length(bytes);
    while let [separator, rest @ ..] = &bytes[at..]
        && is_separator(*separator)
        && let more @ 1.. = digits_length(rest)
    {
        at += 1 + more;
    }
    at
}

/// How many digits `bytes` start with.
pub(super) fn digits_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Hands the numbers of a run to `sink`: mostly one.
///
/// Exactly three digits after a separator are a group of thousands. After a point or a comma, any
/// other number of digits is a fraction. Three digits are a fraction too if the whole part begins
/// with 0 or has more than three digits. With two kinds of separators, the last one begins the
/// fraction. Three or more numbers with points between them are a version or an address; with
/// commas they are a list.
pub(super) fn each(run: &str, mut sink: impl FnMut(&str)) {
    if let Some(number) = one(run) {
        return sink(&number);
    }
    let separators = |c: char| c != '.' && !c.is_ascii_digit();
    for part in run.split(separators) {
        match one(part) {
            Some(number) => sink(&number),
            None => sink(part),
        }
    }
}

/// The run as one number, if it is one.
pub(super) fn one(run: &str) -> Option<String> {
    let separators: Vec<u8> = run.bytes().filter(|byte| !byte.is_ascii_digit()).collect();
    let Some((&last, others)) = separators.split_last() else { return Some(whole(run)) };
    let Some(&first) = others.first() else {
        if is_grouped(run, last) {
            return Some(ungrouped(run));
        }
        let (before, behind) = run.split_at(run.find(char::from(last))?);
        return matches!(last, b'.' | b',').then(|| decimal(before, &behind[1..]));
    };
    let is_one_kind = others.iter().all(|&other| other == first);
    if is_one_kind && first == last {
        return is_grouped(run, first).then(|| ungrouped(run));
    }
    let (before, behind) = run.split_at(run.rfind(char::from(last))?);
    let is_number = is_one_kind && matches!(last, b'.' | b',') && is_grouped(before, first);
    is_number.then(|| decimal(&ungrouped(before), &behind[1..]))
}

/// Whether digits are grouped by threes, or as in India: 12,34,567.
fn is_grouped(run: &str, separator: u8) -> bool {
    let mut groups = run.split(char::from(separator));
    let first = groups.next().unwrap_or("");
    let (mut last, mut all) = (0, true);
    for group in groups {
        last = group.len();
        all &= last == 3 || separator == b',' && last == 2;
    }
    (1..=3).contains(&first.len()) && !first.starts_with('0') && all && last == 3
}

fn ungrouped(run: &str) -> String {
    run.bytes().filter(u8::is_ascii_digit).map(char::from).collect()
}

/// A whole number without leading zeros.
pub(super) fn whole(digits: &str) -> String {
    match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        rest => rest.to_owned(),
    }
}

/// A number with a fraction. Zeros at the end of the fraction count, since 3.10 may be a version
/// and then is not 3.1. They are dropped if the fraction is only zeros, or if the whole part has
/// four digits or more.
pub(super) fn decimal(before: &str, fraction: &str) -> String {
    let (before, stripped) = (whole(before), fraction.trim_end_matches('0'));
    match if before.len() > 3 || stripped.is_empty() { stripped } else { fraction } {
        "" => before,
        fraction => format!("{before}.{fraction}"),
    }
}

/// A number times ten to a power.
pub(super) fn scaled(number: &str, power: usize) -> String {
    let (before, fraction) = number.split_once('.').unwrap_or((number, ""));
    let zeros = "0".repeat(power.saturating_sub(fraction.len()));
    let (moved, rest) = fraction.split_at(power.min(fraction.len()));
    decimal(&format!("{before}{moved}{zeros}"), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(run: &str) -> Vec<String> {
        assert_eq!(run_length(run.as_bytes()), run.len());
        let mut all = Vec::new();
        each(run, |number| all.push(number.to_owned()));
        all
    }

    #[test]
    fn one_number_in_many_forms() {
        for (forms, number) in [
            (&["1234", "01234", "1,234", "1.234", "1'234", "1\u{1F}234", "1,234.00"][..], "1234"),
            (&["1234.5", "1,234.50", "1.234,50", "1'234.5", "1234,5"], "1234.5"),
            (&["1234567", "1,234,567", "1.234.567", "12,34,567"], "1234567"),
            (&["5", "5.0", "5,00", "005"], "5"),
            (&["0.125", "0,125"], "0.125"),
            (&["12345.678"], "12345.678"),
            (&["3.10", "3,10"], "3.10"),
            (&["0", "000", "0.0"], "0"),
        ] {
            for form in forms {
                assert_eq!(numbers(form), [number], "{form}");
            }
        }
    }

    #[test]
    fn versions_and_lists() {
        for (run, expected) in [
            ("3.1", &["3.1"][..]),
            ("1.2.3", &["1.2.3"]),
            ("192.168.0.1", &["192.168.0.1"]),
            ("1,2,3", &["1", "2", "3"]),
            ("1.5,2.5,3.25", &["1.5", "2.5", "3.25"]),
            ("10'20", &["10", "20"]),
            ("10\u{1F}20", &["10", "20"]),
            ("1,2.5", &["1", "2.5"]),
        ] {
            assert_eq!(numbers(run), expected);
        }
    }

    #[test]
    fn powers_of_ten() {
        for (number, power, expected) in
            [("3", 4, "30000"), ("1.5", 8, "150000000"), ("1.23456", 4, "12345.6"), ("0", 4, "0")]
        {
            assert_eq!(scaled(number, power), expected);
        }
    }
}
