//! Numbers in Chinese characters: by position, 二〇二四, and by units, 三千二百.

/// A numeral at the start of a text.
#[derive(Debug, PartialEq)]
pub(super) struct Numeral {
    /// In decimal digits, without leading zeros.
    pub digits: String,
    /// Its length in bytes, and in characters.
    pub bytes: usize,
    pub length: usize,
    /// Whether it is a number whatever the text around it. One character often is none: 一 is in
    /// 一个 and 统一, and 百 in 百姓. Two digits often are none either: they are an estimate in
    /// 三四天.
    pub is_clear: bool,
}

/// The role of a character in a numeral.
#[derive(Clone, Copy)]
enum Part {
    Digit(u8),
    /// A digit that is used only before a unit: 两, or one of the forms on cheques.
    Counting(u8),
    /// 10, 100, 1000.
    Small(u128),
    /// 10^4, 10^8.
    Large(u128),
}

fn part(c: char) -> Option<Part> {
    const PLAIN: [char; 10] = ['〇', '一', '二', '三', '四', '五', '六', '七', '八', '九'];
    if let Some(value) = PLAIN.iter().position(|&digit| digit == c) {
        return Some(Part::Digit(value as u8));
    }
    Some(match c {
        '零' => Part::Digit(0),
        '壹' => Part::Counting(1),
        '两' | '兩' | '贰' | '貳' => Part::Counting(2),
        '叁' | '參' => Part::Counting(3),
        '肆' => Part::Counting(4),
        '伍' => Part::Counting(5),
        '陆' | '陸' => Part::Counting(6),
        '柒' => Part::Counting(7),
        '捌' => Part::Counting(8),
        '玖' => Part::Counting(9),
        '十' | '拾' => Part::Small(10),
        '百' | '佰' => Part::Small(100),
        '千' | '仟' => Part::Small(1000),
        '万' | '萬' => Part::Large(10_000),
        '亿' | '億' => Part::Large(100_000_000),
        _ => return None,
    })
}

/// The longest numeral with units, in characters. More characters are no numeral.
const LONGEST: usize = 64;

/// The numeral made of all characters of numerals at the start of `text`. `Err` with their length
/// in bytes if together they are none: 万一, 千万, 三三两两.
pub(super) fn numeral(text: &str) -> Result<Numeral, usize> {
    let mut bytes = 0;
    let mut length = 0;
    let (mut units, mut counting, mut zeros) = (false, false, false);
    for c in text.chars() {
        let Some(part) = part(c) else { break };
        bytes += c.len_utf8();
        length += 1;
        units |= matches!(part, Part::Small(_) | Part::Large(_));
        counting |= matches!(part, Part::Counting(_));
        zeros |= matches!(part, Part::Digit(0));
    }
    let run = &text[..bytes];
    if length == 1 && (run == "百" || run == "千") {
        let digits = if run == "百" { "100" } else { "1000" }.to_owned();
        return Ok(Numeral { digits, bytes, length, is_clear: false });
    }
    if units {
        let value = if length <= LONGEST { by_units(run) } else { None };
        let digits = value.ok_or(bytes)?.to_string();
        return Ok(Numeral { digits, bytes, length, is_clear: length > 1 });
    }
    if length == 0 || counting && length > 1 {
        return Err(bytes);
    }
    let digit = |c| match part(c) {
        Some(Part::Digit(value) | Part::Counting(value)) => char::from(b'0' + value),
        _ => '0',
    };
    let digits: String = run.chars().map(digit).collect();
    let digits = match digits.trim_start_matches('0') {
        "" => "0".to_owned(),
        rest => rest.to_owned(),
    };
    Ok(Numeral { digits, bytes, length, is_clear: length > 2 || zeros && length > 1 })
}

/// The value of digits and units: 三千二百零五, and 三千二 for 三千二百.
fn by_units(run: &str) -> Option<u128> {
    // The parts in units of 10^8, in units of 10^4, and below. Then the digit before a unit.
    let (mut high, mut middle, mut low) = (0u128, 0u128, 0u128);
    let mut digit = None;
    let mut after_zero = false;
    let mut last = u128::MAX;
    for c in run.chars() {
        match part(c)? {
            Part::Digit(0) if digit.is_none() => after_zero = true,
            Part::Digit(value) | Part::Counting(value) if digit.is_none() && value > 0 => {
                digit = Some(u128::from(value));
            }
            Part::Digit(_) | Part::Counting(_) => return None,
            Part::Small(unit) => {
                // 十 alone is 10.
                let times = digit.take().or((unit == 10 && low == 0).then_some(1))?;
                let before = if low == 0 { u128::MAX } else { last };
                (low, last) = ((unit < before).then(|| low + times * unit)?, unit);
                after_zero = false;
            }
            Part::Large(10_000) => {
                middle = (middle == 0).then(|| (low + digit.take().unwrap_or(0)) * 10_000)?;
                (low, last, after_zero) = ((middle > 0).then_some(0)?, 10_000, false);
            }
            Part::Large(unit) => {
                let times = middle + low + digit.take().unwrap_or(0);
                high = high.checked_add(times)?.checked_mul(unit).filter(|&high| high > 0)?;
                (middle, low, last, after_zero) = (0, 0, unit, false);
            }
        }
    }
    // A last digit without a unit counts in the next smaller one, unless 零 marks a gap.
    let unit = if after_zero || last == u128::MAX { 1 } else { last / 10 };
    high.checked_add(middle + low + digit.unwrap_or(0) * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits(text: &str) -> Option<String> {
        numeral(text).ok().filter(|numeral| numeral.is_clear).map(|numeral| numeral.digits)
    }

    #[test]
    fn numerals_have_the_values_that_a_reader_gives_them() {
        for (text, value) in [
            ("二〇二四", "2024"),
            ("二零二四年", "2024"),
            ("一九九八", "1998"),
            ("三千", "3000"),
            ("十一", "11"),
            ("二十", "20"),
            ("九十九", "99"),
            ("一百零五", "105"),
            ("一百五", "150"),
            ("三千二百", "3200"),
            ("三千零二十", "3020"),
            ("两万", "20000"),
            ("三万五", "35000"),
            ("十二万三千四百五十六", "123456"),
            ("一亿零三百万", "103000000"),
            ("壹仟贰佰叁拾肆", "1234"),
            ("貳萬", "20000"),
            ("一万亿", "1000000000000"),
            ("十万", "100000"),
        ] {
            assert_eq!(digits(text).as_deref(), Some(value), "{text}");
        }
    }

    #[test]
    fn words_of_such_characters_are_none() {
        for text in
            ["万一", "千万", "百万", "一一", "三三两两", "一", "十", "两", "三四", "亿万", ""]
        {
            assert_eq!(digits(text), None, "{text}");
        }
        let many = "一亿".repeat(1000);
        assert_eq!(digits(&many), None);
    }
}
