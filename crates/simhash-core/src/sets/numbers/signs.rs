//! Decides from the surrounding text whether a number is negative.

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use super::fold::GROUP;

/// Codes of currencies (ISO 4217) that are recognised beside amounts.
const CURRENCIES: &[&str] = &[
    "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "IDR", "ILS",
    "INR", "JPY", "KRW", "MXN", "NOK", "NZD", "PLN", "RON", "RUB", "SEK", "SGD", "THB", "TRY",
    "TWD", "UAH", "USD", "VND", "ZAR",
];

fn is_symbol(c: char) -> bool {
    c == '$' || c > '\u{7F}' && c.general_category() == GeneralCategory::CurrencySymbol
}

fn is_space(c: char) -> bool {
    c == ' ' || c == char::from(GROUP)
}

/// Whether a minus sign precedes `at` in a folded text, directly or before a currency. A minus is a
/// sign only where [`begins`] or [`may_precede`] allows it.
pub(super) fn is_negative(text: &str, at: usize) -> bool {
    let text = before_currency(&text[..at]);
    let Some(before) = text.strip_suffix(['-', '\u{2013}']) else { return false };
    begins(before, before.len()) || before.ends_with(may_precede)
}

/// Whether a minus after `c` may be a sign: after punctuation between clauses, opening quotation
/// marks and brackets, signs of comparison, and currencies.
fn may_precede(c: char) -> bool {
    use GeneralCategory::{InitialPunctuation, MathSymbol, OpenPunctuation};
    let is_of =
        |c: char| matches!(c.general_category(), InitialPunctuation | MathSymbol | OpenPunctuation);
    ":;,|\"'<>~".contains(c) || is_symbol(c) || !c.is_ascii() && is_of(c)
}

/// The text without a currency at its end and a space after it, or the whole text.
fn before_currency(text: &str) -> &str {
    let place = text.strip_suffix(is_space).unwrap_or(text);
    let before = place.strip_suffix(is_symbol).or_else(|| before_code(place));
    before.unwrap_or(text)
}

/// Whether `at` is the beginning of the text, or follows white space, an opening bracket or an
/// equals sign.
pub(super) fn begins(text: &str, at: usize) -> bool {
    let before = at.checked_sub(1).map_or(b' ', |before| text.as_bytes()[before]);
    before.is_ascii_whitespace() || matches!(before, GROUP | b'(' | b'[' | b'{' | b'=')
}

/// Whether an amount is negative in the notation of accounts: 12.50-, (12.50) EUR, EUR (12.50). A
/// number in brackets without a separator is taken for the number of a note.
pub(super) fn is_in_red(text: &str, at: usize, end: usize) -> bool {
    let (before, behind) = (&text[..at], &text[end..]);
    if let (Some(before), Some(behind)) = (before.strip_suffix('('), behind.strip_prefix(')')) {
        let before = before.strip_suffix(is_space).unwrap_or(before);
        let behind = behind.strip_prefix(is_space).unwrap_or(behind);
        let is_amount = text.as_bytes()[at..end].iter().any(|byte| !byte.is_ascii_digit());
        return is_amount
            && (before.ends_with(is_symbol)
                || behind.starts_with(is_symbol)
                || before_code(before).is_some()
                || starts_with_code(behind));
    }
    let has_cents = matches!(text.as_bytes()[at..end], [.., b'.' | b',', a, b]
        if a.is_ascii_digit() && b.is_ascii_digit());
    has_cents && behind.strip_prefix('-').is_some_and(ends)
}

/// Whether an amount ends before `behind`, which may begin with a mark that ends a clause.
fn ends(behind: &str) -> bool {
    let may_follow =
        |c: char| is_space(c) || c.is_ascii_whitespace() || is_symbol(c) || ")]};|\"'".contains(c);
    let behind = behind.strip_prefix(['.', ',', ':', '!', '?']).unwrap_or(behind);
    behind.is_empty() || behind.starts_with(may_follow)
}

/// The text without the code of a currency at its end, if it has one.
fn before_code(text: &str) -> Option<&str> {
    let before = CURRENCIES.iter().find_map(|code| text.strip_suffix(code))?;
    (!before.ends_with(is_of_word)).then_some(before)
}

fn starts_with_code(text: &str) -> bool {
    let code = |code| text.strip_prefix(code);
    CURRENCIES.iter().any(|one| code(*one).is_some_and(|text| !text.starts_with(is_of_word)))
}

fn is_of_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
