//! Extracts the numbers of a text, each in one form however it is written, and compares those of
//! two texts: [`Numbers`](crate::config::Numbers).
//!
//! [`fold`] turns digits of all scripts into ASCII digits, and drops invisible characters. [`scan`]
//! finds the numbers: [`digits`] with separators and [`units`], [`dates`] and times, [`chinese`]
//! numerals, telephone numbers, and identifiers of letters and digits. Values are strings of digits
//! of any length. docs/numbers.md specifies the rules.

mod chinese;
mod dates;
mod digits;
mod fold;
mod months;
mod scan;
mod signs;
mod units;

use xxhash_rust::xxh3::Xxh3;

use crate::base::counter::Counter;
use crate::base::hash::feature_hash;
use crate::base::interrupt::Interrupt;
use crate::base::sort::sort_checked;
use crate::config::{Config, Numbers};
use crate::texts::normalize::visible;

/// Hands the numbers of a text to `sink`, in its order. Only the steps html and data of the
/// configuration matter: numbers in text that they drop are left out.
pub fn for_each_number(
    text: &str,
    config: &Config,
    interrupt: &mut dyn FnMut(),
    sink: &mut dyn FnMut(&str),
) {
    let interrupt = Interrupt::new(interrupt);
    let visible = visible(text, config.normalize, &interrupt);
    scan::scan(&fold::fold(&visible, &interrupt), &interrupt, sink);
}

/// The numbers of a text in the order in which they are compared: ascending for [`Numbers::Same`],
/// which ignores the order in the text, and otherwise as in the text. `None` if together they are
/// longer than `limit` bytes.
///
/// ```
/// use simhash_core::{Config, sets::numbers::list};
/// let list = |text, config: &str| {
///     list(text, &config.parse::<Config>().unwrap(), 1000, &mut || ()).unwrap()
/// };
/// let text = "On 4 March 2024 we paid 1.234,50 € for INV-2024-0017.";
/// assert_eq!(list(text, r#"{"numbers": "order"}"#), ["2024-03-04", "1234.5", "inv-2024-0017"]);
/// assert_eq!(list("三千 and ２,０００", r#"{"numbers": "same"}"#), ["2000", "3000"]);
/// ```
pub fn list(
    text: &str,
    config: &Config,
    limit: usize,
    interrupt: &mut dyn FnMut(),
) -> Option<Vec<String>> {
    let mut all = Vec::new();
    let mut bytes = 0;
    for_each_number(text, config, interrupt, &mut |number| {
        bytes += number.len();
        if bytes <= limit {
            all.push(number.to_owned());
        }
    });
    if config.numbers() == Numbers::Same {
        sort_checked(&mut all, interrupt);
    }
    (bytes <= limit).then_some(all)
}

/// A digest by which the numbers of texts are compared, 0 if the configuration does not compare
/// them. Texts whose numbers do not agree have equal digests with a probability of 2^-64.
pub(crate) fn digest(text: &str, config: &Config, interrupt: &mut dyn FnMut()) -> u64 {
    let rule = config.numbers();
    if rule == Numbers::Any {
        return 0;
    }
    let mut hashes: Vec<u64> = Vec::new();
    for_each_number(text, config, interrupt, &mut |number| {
        hashes.push(feature_hash(number.as_bytes()));
    });
    if rule == Numbers::Same {
        sort_checked(&mut hashes, interrupt);
    }
    let mut hasher = Xxh3::new();
    hashes.iter().for_each(|hash| hasher.update(&hash.to_le_bytes()));
    hasher.digest()
}

/// A number by which two texts differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    pub number: String,
    /// How often each text has it.
    pub times: [u32; 2],
}

/// The numbers that one of two texts has more often, in the order of the texts. If only the order
/// differs and it must agree, the two numbers at the first place where the texts differ. Empty if
/// the configuration does not compare numbers. `None` if the numbers of one text are together
/// longer than `limit` bytes.
///
/// ```
/// use simhash_core::{Config, sets::numbers::{Difference, differences}};
/// let config: Config = r#"{"numbers": "same"}"#.parse().unwrap();
/// let texts = ["Due on 2024-03-04: 100 €", "Due on 5 March 2024: 100 €"];
/// let [a, b] = &differences(texts, &config, 1000, &mut || ()).unwrap()[..] else { panic!() };
/// assert_eq!((a.number.as_str(), a.times), ("2024-03-04", [1, 0]));
/// assert_eq!((b.number.as_str(), b.times), ("2024-03-05", [0, 1]));
/// ```
pub fn differences(
    texts: [&str; 2],
    config: &Config,
    limit: usize,
    interrupt: &mut dyn FnMut(),
) -> Option<Vec<Difference>> {
    let rule = config.numbers();
    if rule == Numbers::Any {
        return Some(Vec::new());
    }
    let in_order = Config { numbers: Some(Numbers::Order), ..config.clone() };
    let mut list = |text| list(text, &in_order, limit, interrupt);
    let lists = [list(texts[0])?, list(texts[1])?];
    let interrupt = Interrupt::new(interrupt);
    let mut counts = lists.each_ref().map(|list| counted(list, &interrupt));
    let mut found = Vec::new();
    for number in lists.iter().flatten() {
        interrupt.spend(64 + number.len());
        let hash: u128 = feature_hash(number.as_bytes());
        let times = counts.each_ref().map(|counts| counts.get(hash).unwrap_or(0));
        if times[0] != times[1] {
            found.push(Difference { number: number.clone(), times });
            counts.iter_mut().for_each(|counts| {
                counts.count(hash, Some(0));
            });
        }
    }
    let mut pairs = lists[0].iter().zip(&lists[1]);
    if found.is_empty()
        && rule == Numbers::Order
        && let Some((a, b)) = pairs.find(|(a, b)| a != b)
    {
        let one = |number: &String, times| Difference { number: number.clone(), times };
        found.extend([one(a, [1, 0]), one(b, [0, 1])]);
    }
    Some(found)
}

fn counted(numbers: &[String], interrupt: &Interrupt) -> Counter<u128> {
    let mut counts = Counter::new();
    for number in numbers {
        counts.reserve(1, interrupt);
        counts.count(feature_hash(number.as_bytes()), None);
        interrupt.spend(64 + number.len());
    }
    counts
}

#[cfg(test)]
mod tests;
