//! The suffixes of a sequence in lexicographic order, and the lengths of their common prefixes.
//!
//! The order is computed by induced sorting (Nong, Zhang and Chan, "Linear Suffix Array
//! Construction by Almost Pure Induced-Sorting", DCC 2009), in linear time also for repetitive
//! sequences. The common prefixes of neighbours are computed as by Kasai and others (CPM 2001).

use crate::base::interrupt::Interrupt;

/// No suffix.
const EMPTY: u32 = u32::MAX;

/// The starts of the suffixes of `text` in lexicographic order. A suffix precedes those of which it
/// is a prefix. The numbers of `text` are less than `kinds`, and its length is less than [`EMPTY`].
pub(super) fn suffixes(text: &[u32], kinds: usize, interrupt: &Interrupt) -> Vec<u32> {
    let mut order = vec![EMPTY; text.len()];
    if text.len() < 2 {
        order.fill(0);
        return order;
    }
    let smaller = smaller_than_next(text, interrupt);
    let buckets = Buckets::new(text, kinds, interrupt);
    let is_leftmost = |at: usize| at > 0 && smaller[at] && !smaller[at - 1];
    // Put the LMS suffixes (the leftmost of consecutive smaller ones) in order of their first
    // number.
    let mut ends = buckets.ends();
    for at in (0..text.len()).filter(|&at| is_leftmost(at)) {
        put_last(&mut order, &mut ends, text[at], at);
        interrupt.spend(8);
    }
    induce(text, &mut order, &smaller, &buckets, interrupt);
    // The LMS substrings are now sorted. Replaced by their ranks, they are a shorter text.
    let pieces = sorted_pieces(text, &order, is_leftmost, interrupt);
    let leftmost: Vec<u32> =
        (0..text.len()).filter(|&at| is_leftmost(at)).map(|at| at as u32).collect();
    let sorted = order_of_pieces(&pieces, &leftmost, text.len(), interrupt);
    order.fill(EMPTY);
    let mut ends = buckets.ends();
    for &place in sorted.iter().rev() {
        let at = leftmost[place as usize] as usize;
        put_last(&mut order, &mut ends, text[at], at);
        interrupt.spend(8);
    }
    induce(text, &mut order, &smaller, &buckets, interrupt);
    order
}

/// For each suffix, whether it is smaller than the one that begins one place later (S-type).
fn smaller_than_next(text: &[u32], interrupt: &Interrupt) -> Vec<bool> {
    let mut smaller = vec![false; text.len()];
    for at in (0..text.len() - 1).rev() {
        smaller[at] = text[at] < text[at + 1] || text[at] == text[at + 1] && smaller[at + 1];
        interrupt.spend(1);
    }
    smaller
}

/// The bucket of each number: the range in the order of the suffixes that begin with it.
struct Buckets(Vec<u32>);

impl Buckets {
    fn new(text: &[u32], kinds: usize, interrupt: &Interrupt) -> Self {
        let mut starts = vec![0u32; kinds + 1];
        for &number in text {
            starts[number as usize + 1] += 1;
            interrupt.spend(2);
        }
        for kind in 0..kinds {
            starts[kind + 1] += starts[kind];
            interrupt.spend(1);
        }
        Buckets(starts)
    }

    fn starts(&self) -> Vec<u32> {
        self.0[..self.0.len() - 1].to_vec()
    }

    fn ends(&self) -> Vec<u32> {
        self.0[1..].to_vec()
    }
}

/// Puts a suffix at the end of its bucket, before those that were put there earlier.
fn put_last(order: &mut [u32], ends: &mut [u32], number: u32, at: usize) {
    let end = &mut ends[number as usize];
    *end -= 1;
    order[*end as usize] = at as u32;
}

/// Sorts all suffixes by induction from the LMS suffixes that `order` contains.
fn induce(
    text: &[u32],
    order: &mut [u32],
    smaller: &[bool],
    buckets: &Buckets,
    interrupt: &Interrupt,
) {
    let mut starts = buckets.starts();
    let mut put_first = |order: &mut [u32], at: usize| {
        let start = &mut starts[text[at] as usize];
        order[*start as usize] = at as u32;
        *start += 1;
    };
    // The end of the text precedes all suffixes, so the last suffix is greater than the next one.
    put_first(order, text.len() - 1);
    for place in 0..order.len() {
        let at = order[place] as usize;
        if order[place] != EMPTY && at > 0 && !smaller[at - 1] {
            put_first(order, at - 1);
        }
        interrupt.spend(8);
    }
    let mut ends = buckets.ends();
    for place in (0..order.len()).rev() {
        let at = order[place] as usize;
        if order[place] != EMPTY && at > 0 && smaller[at - 1] {
            put_last(order, &mut ends, text[at - 1], at - 1);
        }
        interrupt.spend(8);
    }
}

/// The rank of the LMS substring that begins at each place; equal substrings have equal ranks. It
/// is [`EMPTY`] at other places.
fn sorted_pieces(
    text: &[u32],
    order: &[u32],
    is_leftmost: impl Fn(usize) -> bool,
    interrupt: &Interrupt,
) -> Vec<u32> {
    let mut names = vec![EMPTY; text.len()];
    let mut last: Option<usize> = None;
    let mut name = 0;
    for at in order.iter().map(|&at| at as usize).filter(|&at| is_leftmost(at)) {
        if let Some(before) = last
            && !are_same_pieces(text, before, at, &is_leftmost, interrupt)
        {
            name += 1;
        }
        names[at] = name;
        last = Some(at);
        interrupt.spend(4);
    }
    names
}

/// Whether the LMS substrings at two places are equal. One ends at the place where the next one
/// begins. Each is compared with at most two others.
fn are_same_pieces(
    text: &[u32],
    a: usize,
    b: usize,
    is_leftmost: &impl Fn(usize) -> bool,
    interrupt: &Interrupt,
) -> bool {
    for length in 0.. {
        let (a, b) = (a + length, b + length);
        if a == text.len() || b == text.len() || text[a] != text[b] {
            return false;
        }
        interrupt.spend(1);
        if length > 0 && (is_leftmost(a) || is_leftmost(b)) {
            return is_leftmost(a) && is_leftmost(b);
        }
    }
    false
}

/// The indexes of `leftmost` in the order of the suffixes that begin at those places.
fn order_of_pieces(
    names: &[u32],
    leftmost: &[u32],
    length: usize,
    interrupt: &Interrupt,
) -> Vec<u32> {
    debug_assert!(leftmost.len() <= length / 2);
    let text: Vec<u32> = leftmost.iter().map(|&at| names[at as usize]).collect();
    let kinds = text.iter().max().map_or(0, |&most| most as usize + 1);
    if kinds < text.len() {
        return suffixes(&text, kinds, interrupt);
    }
    let mut order = vec![0; text.len()];
    for (place, &name) in text.iter().enumerate() {
        order[name as usize] = place as u32;
    }
    order
}

/// The suffixes of a text in lexicographic order.
pub(super) struct Order {
    /// The start of each suffix, in order.
    suffixes: Vec<u32>,
    /// The rank of the suffix at each start.
    places: Vec<u32>,
    /// The length of the common prefix of each suffix with the one before it.
    common: Vec<u32>,
    /// The minimum of `common` over each block, then over two, four, eight blocks and so on.
    least: Vec<Vec<u32>>,
}

/// The number of suffixes in a block.
const BLOCK: usize = 32;

impl Order {
    pub(super) fn new(text: &[u32], kinds: usize, interrupt: &Interrupt) -> Self {
        let suffixes = suffixes(text, kinds, interrupt);
        let mut places = vec![0; text.len()];
        for (place, &at) in suffixes.iter().enumerate() {
            places[at as usize] = place as u32;
            interrupt.spend(8);
        }
        let common = common_with_previous(text, &suffixes, &places, interrupt);
        let least = least_of_blocks(&common, interrupt);
        Order { suffixes, places, common, least }
    }

    /// The starts of the suffixes in order, each with the length of its common prefix with the one
    /// before.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        self.suffixes.iter().zip(&self.common).map(|(&at, &common)| (at as usize, common as usize))
    }

    /// The length of the common prefix of the suffixes at two different places.
    pub(super) fn common(&self, a: usize, b: usize) -> usize {
        let (a, b) = (self.places[a] as usize, self.places[b] as usize);
        // It is the minimum of the neighbours' common prefixes between the two in the order.
        let (first, last) = (a.min(b) + 1, a.max(b) + 1);
        let (from, to) = (first.div_ceil(BLOCK), last / BLOCK);
        let least = |range: std::ops::Range<usize>| self.common[range].iter().copied().min();
        let found = if from >= to {
            least(first..last)
        } else {
            let level = (to - from).ilog2();
            let row = &self.least[level as usize];
            let blocks = row[from].min(row[to - (1 << level)]);
            let ends = [least(first..from * BLOCK), least(to * BLOCK..last)];
            ends.into_iter().flatten().chain([blocks]).min()
        };
        found.unwrap_or(0) as usize
    }
}

fn common_with_previous(
    text: &[u32],
    suffixes: &[u32],
    places: &[u32],
    interrupt: &Interrupt,
) -> Vec<u32> {
    let mut common = vec![0; text.len()];
    let mut length = 0usize;
    for (at, &place) in places.iter().enumerate() {
        interrupt.spend(16);
        let Some(previous) = place.checked_sub(1) else {
            length = 0;
            continue;
        };
        let (this, other) = (&text[at..], &text[suffixes[previous as usize] as usize..]);
        // Kasai's lemma: this suffix has at least `length` numbers in common with its predecessor.
        length = length.min(this.len()).min(other.len());
        let more = this[length..].iter().zip(&other[length..]).take_while(|(a, b)| a == b);
        let more = more.inspect(|_| interrupt.spend(1)).count();
        length += more;
        common[place as usize] = length as u32;
        length = length.saturating_sub(1);
    }
    common
}

fn least_of_blocks(common: &[u32], interrupt: &Interrupt) -> Vec<Vec<u32>> {
    let blocks = common.chunks(BLOCK).map(|block| {
        interrupt.spend(BLOCK);
        block.iter().copied().min().unwrap_or(0)
    });
    let mut rows: Vec<Vec<u32>> = vec![blocks.collect()];
    let mut width = 1;
    while let Some(last) = rows.last().filter(|last| last.len() > width) {
        interrupt.spend(last.len());
        let row = last.iter().zip(&last[width..]).map(|(&a, &b)| a.min(b)).collect();
        rows.push(row);
        width *= 2;
    }
    rows
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &[u32], kinds: usize) -> Result<(), TestCaseError> {
        let nothing = &mut || ();
        let order = Order::new(text, kinds, &Interrupt::new(nothing));
        let mut expected: Vec<usize> = (0..text.len()).collect();
        expected.sort_by_key(|&at| &text[at..]);
        let common = |a: usize, b: usize| {
            text[a..].iter().zip(&text[b..]).take_while(|(x, y)| x == y).count()
        };
        let found: Vec<(usize, usize)> = order.iter().collect();
        for (place, &at) in expected.iter().enumerate() {
            let before = place.checked_sub(1).map_or(0, |before| common(at, expected[before]));
            prop_assert_eq!(found[place], (at, before));
        }
        for a in 0..text.len() {
            for b in (0..text.len()).filter(|&b| b != a).step_by(1 + text.len() / 16) {
                prop_assert_eq!(order.common(a, b), common(a, b));
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn suffixes_are_in_order(
            (kinds, text) in (1u32..5).prop_flat_map(|kinds| {
                (Just(kinds), prop::collection::vec(0..kinds, 0..200))
            }),
            periods in 1usize..4,
        ) {
            check(&text.repeat(periods), kinds as usize)?;
        }
    }
}
