//! Suggests a similarity for texts without labels, from the neighbours of a sample of rows.
//!
//! Unlike fingerprints, unrelated texts are not near by chance: they share next to nothing. The
//! task is to separate copies from families, the texts of one template. Two criteria serve. As the
//! similarity falls, copies become fewer or stay as many, and related texts multiply: the histogram
//! has a valley between them, or ends. And an edited text has few versions, while a template is
//! filled in dozens of times: the rows of a family are crowded.

use xxhash_rust::xxh3::Xxh3;

use super::{Crowds, FAMILIES};
use crate::base::interrupt::Interrupt;
use crate::config::{Config, Numbers};
use crate::sets::numbers;
use crate::sets::sketch::DEFAULT_SIMILARITY;

/// From this similarity on neighbours are near copies.
pub const COPY: f64 = 0.95;
/// With fewer rows than this a suggestion means little.
pub const FEW: u64 = 100;
/// Counts differ if they are so many standard deviations apart.
const DEVIATIONS: f64 = 2.0;
/// A band with up to `FLAT` times the neighbours of the lowest band is still the bottom of the
/// valley. A band with more than `SLOPE` times as many is the slope on its other side.
const FLAT: f64 = 1.15;
const SLOPE: f64 = 1.5;
/// A band with `STEEP` times the neighbours of the one above it is steep. It is a hill of families
/// if at least the share `NEARLY_ALL` of its neighbours is of families.
const STEEP: f64 = 4.0;
const NEARLY_ALL: f64 = 0.9;
/// A finding is reported if at least this share of rows or pairs has it.
const MANY: f64 = 0.25;
/// Texts are forms filled in with numbers if these differ in at least this share of the pairs.
const MOST: f64 = 0.75;
/// Bands begin at multiples of this many hundredths.
const STEP: u32 = 5;

/// Letters are hashed in pieces of about so many bytes.
const BUFFER: usize = 4096;

/// A neighbour of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    pub similarity: f64,
    pub numbers: TheirNumbers,
}

/// Whether two texts have the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TheirNumbers {
    Agree,
    /// They differ, and so do other words.
    Differ,
    /// They are all that differs.
    DifferAlone,
}

/// Hashes of a text's numbers, as [`Numbers::Same`] compares them, and of its letters. They show
/// whether two texts differ in their numbers only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    numbers: u64,
    letters: u64,
}

impl Parts {
    pub fn of(text: &str, config: &Config, interrupt: &mut dyn FnMut()) -> Self {
        let compared = Config { numbers: Some(Numbers::Same), ..config.clone() };
        let numbers = numbers::digest(text, &compared, interrupt);
        let interrupt = Interrupt::new(interrupt);
        let (mut hasher, mut buffer) = (Xxh3::new(), String::new());
        for c in text.chars().filter(|c| c.is_alphabetic()) {
            interrupt.spend(c.len_utf8());
            buffer.push(c);
            if buffer.len() >= BUFFER {
                hasher.update(buffer.as_bytes());
                buffer.clear();
            }
        }
        hasher.update(buffer.as_bytes());
        Parts { numbers, letters: hasher.digest() }
    }

    /// Whether texts with these parts have the same numbers.
    pub fn numbers(self, other: Self) -> TheirNumbers {
        match (self.numbers == other.numbers, self.letters == other.letters) {
            (true, _) => TheirNumbers::Agree,
            (false, true) => TheirNumbers::DifferAlone,
            (false, false) => TheirNumbers::Differ,
        }
    }
}

/// The neighbours of sampled rows, counted by bands of similarity.
#[derive(Debug, Clone)]
pub struct Histogram {
    bands: Vec<Band>,
    weighed: bool,
    /// The rows of the table, and those of the sample.
    rows: u64,
    sampled: u64,
    /// The rows of the sample that have one shingle.
    single: u64,
}

/// The counts of one band, from its similarity up to that of the next.
#[derive(Debug, Clone, Copy)]
struct Band {
    from: f64,
    /// Neighbours in the band, those with other numbers, and those that differ in numbers only.
    neighbours: f64,
    other_numbers: f64,
    by_numbers: f64,
    /// Neighbours in the band of rows whose neighbours from here on are a family.
    of_families: f64,
    /// Rows that have a neighbour from here on.
    near: u64,
    crowds: Crowds,
}

/// The answer for one band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Where the band begins.
    pub similarity: f64,
    /// The mean number of neighbours of a row from there on.
    pub found: f64,
    /// About how many pairs of the table are in the band.
    pub pairs: f64,
    /// About how many rows have a neighbour from there on, and a crowd of them.
    pub near: f64,
    pub crowded: f64,
    pub suggested: bool,
}

impl Histogram {
    /// An empty histogram for an index that finds texts of similarity `least` and more. `weighed`
    /// if texts are compared by rare words.
    pub fn new(least: f64, weighed: bool) -> Self {
        let steps = (0..=100 / STEP).map(|step| f64::from(step * STEP) / 100.0);
        let starts = std::iter::once(least).chain(steps.filter(|&from| from > least));
        let band = |from| Band {
            from,
            neighbours: 0.0,
            other_numbers: 0.0,
            by_numbers: 0.0,
            of_families: 0.0,
            near: 0,
            crowds: Crowds::default(),
        };
        let bands = starts.map(band).collect();
        Histogram { bands, weighed, rows: 0, sampled: 0, single: 0 }
    }

    /// Adds a row of the sample: the number of its shingles, and its neighbours, each of which
    /// stands for `of_each` neighbours.
    pub fn add(&mut self, shingles: usize, neighbours: &[Neighbour], of_each: f64) {
        self.sampled += 1;
        self.single += u64::from(shingles <= 1);
        let (mut found, mut copies) = (0.0, 0.0);
        for place in (0..self.bands.len()).rev() {
            let to = self.bands.get(place + 1).map_or(f64::INFINITY, |next| next.from);
            let band = &mut self.bands[place];
            let above = found;
            for neighbour in neighbours {
                if (band.from..to).contains(&neighbour.similarity) {
                    found += of_each;
                    copies += if neighbour.similarity >= COPY { of_each } else { 0.0 };
                    band.neighbours += of_each;
                    let numbers = neighbour.numbers;
                    let differ = numbers != TheirNumbers::Agree;
                    band.other_numbers += if differ { of_each } else { 0.0 };
                    let alone = numbers == TheirNumbers::DifferAlone;
                    band.by_numbers += if alone { of_each } else { 0.0 };
                }
            }
            band.near += u64::from(found > 0.0);
            let is_family = band.crowds.count(found, copies);
            band.of_families += if is_family { found - above } else { 0.0 };
        }
    }

    /// Sets how many rows the table has.
    pub fn finish(&mut self, rows: u64) {
        self.rows = rows;
    }

    /// How many neighbours were found.
    pub fn found(&self) -> f64 {
        self.bands.iter().map(|band| band.neighbours).sum()
    }
}

/// What is worth knowing about a table beside the similarity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Finding {
    /// No pair was found.
    NoPairs,
    /// No pair was found at the proposed similarity or above.
    NoneAsSimilar,
    /// The table has only so many rows.
    FewRows(u64),
    /// This share of the rows has at most one shingle.
    Single(f64),
    /// This share of the neighbours is of families, and rare words are not weighed yet.
    Families(f64),
    /// The same, where rare words are weighed already.
    Crowded(f64),
    /// This share of the pairs differs by numbers only.
    Numbers(f64),
    /// Neighbours are of families, and the numbers of this share of the pairs differ.
    Forms(f64),
}

/// The answer for a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub rows: Vec<Row>,
    pub findings: Vec<Finding>,
}

/// The number of the band of a similarity, counted from the top.
pub fn from_top(similarity: f64) -> u32 {
    (0..=100 / STEP)
        .find(|&place| similarity >= f64::from(100 - place * STEP) / 100.0)
        .unwrap_or(100 / STEP)
}

impl Histogram {
    /// The answer: every band in ascending order, the proposed similarity, and the findings.
    pub fn answer(&self) -> Answer {
        let of_table = self.rows as f64 / self.sampled.max(1) as f64;
        let mut found = self.found();
        let mut rows: Vec<Row> = Vec::new();
        for band in &self.bands {
            rows.push(Row {
                similarity: band.from,
                found: found / self.sampled.max(1) as f64,
                pairs: band.neighbours * of_table / 2.0,
                near: band.near as f64 * of_table,
                crowded: band.crowds.rows as f64 * of_table,
                suggested: false,
            });
            found -= band.neighbours;
        }
        let place = self.proposed();
        rows[place].suggested = true;
        Answer { rows, findings: self.findings(place) }
    }

    /// The neighbours from a band on.
    fn from(&self, place: usize) -> f64 {
        self.bands[place..].iter().map(|band| band.neighbours).sum()
    }
    /// The share of the neighbours from a band on that are of families.
    fn related(&self, place: usize) -> f64 {
        self.bands[place].crowds.of_families / self.from(place).max(1.0)
    }

    /// The proposed band: the valley below the most similar pairs. Bands are scanned from the
    /// highest down. Their counts rise to the top of a hill, then drop. The scan ends where they
    /// rise again slowly, as those of related texts do, or at the lowest band. A steep rise is
    /// another kind of pairs: if these are families, the scan ends above it, otherwise it begins
    /// anew there. Without a drop, the band where the scan began is proposed. The highest band
    /// includes equal sets.
    fn proposed(&self) -> usize {
        if self.found() == 0.0 {
            let default = |band: &Band| band.from >= DEFAULT_SIMILARITY;
            return self.bands.iter().position(default).unwrap_or(self.bands.len() - 1);
        }
        let highest = self.bands.len().saturating_sub(2);
        let (mut start, mut valley) = (highest, None);
        let mut above = self.from(highest);
        // The count at the top of the hill and, after the drop, at the bottom of the valley.
        let mut turn = above;
        for place in (0..highest).rev() {
            let Band { neighbours, of_families, .. } = self.bands[place];
            let noise = DEVIATIONS * neighbours.max(turn).sqrt();
            if neighbours >= STEEP * above.max(1.0) {
                if of_families >= NEARLY_ALL * neighbours {
                    return valley.unwrap_or(start);
                }
                (start, valley, turn) = (place, None, neighbours);
            } else if valley.is_none() && neighbours >= turn - noise {
                turn = turn.max(neighbours);
            } else if valley.is_none() || neighbours <= FLAT * turn {
                (valley, turn) = (Some(place), turn.min(neighbours));
            } else if neighbours > SLOPE * turn + noise {
                break;
            }
            above = neighbours;
        }
        valley.unwrap_or(start)
    }

    fn findings(&self, proposed: usize) -> Vec<Finding> {
        let mut findings = Vec::new();
        let share = |part: u64| part as f64 / self.sampled.max(1) as f64;
        if self.rows < FEW {
            findings.push(Finding::FewRows(self.rows));
        }
        if share(self.single) >= MANY {
            findings.push(Finding::Single(share(self.single)));
        }
        if self.found() == 0.0 {
            findings.push(Finding::NoPairs);
        }
        let is_none_near = self.from(proposed) == 0.0;
        if is_none_near && self.found() > 0.0 {
            findings.push(Finding::NoneAsSimilar);
        }
        let related = self.related(0);
        // The pairs at the proposed similarity or above, or all if there are none.
        let from = if is_none_near { 0 } else { proposed };
        let share = |from: usize, count: fn(&Band) -> f64| {
            self.bands[from..].iter().map(count).sum::<f64>() / self.from(from).max(1.0)
        };
        let by_numbers = share(from, |band| band.by_numbers);
        let other_numbers = share(0, |band| band.other_numbers);
        if by_numbers >= MANY {
            findings.push(Finding::Numbers(by_numbers));
        } else if related >= FAMILIES && other_numbers >= MOST {
            findings.push(Finding::Forms(other_numbers));
        }
        if related >= FAMILIES {
            let finding = if self.weighed { Finding::Crowded } else { Finding::Families };
            findings.push(finding(related));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbours(similarities: &[f64]) -> Vec<Neighbour> {
        let near = |&similarity| Neighbour { similarity, numbers: TheirNumbers::Agree };
        similarities.iter().map(near).collect()
    }

    /// The answer for rows with these neighbours, each of which occurs `times` times.
    fn answer(least: f64, rows: &[(u64, &[f64])]) -> Answer {
        let mut histogram = Histogram::new(least, false);
        for &(times, similarities) in rows {
            (0..times).for_each(|_| histogram.add(20, &neighbours(similarities), 1.0));
        }
        histogram.finish(rows.iter().map(|(times, _)| times).sum());
        histogram.answer()
    }

    fn suggested(answer: &Answer) -> f64 {
        let mut suggested = answer.rows.iter().filter(|row| row.suggested);
        let row = suggested.next().unwrap();
        assert!(suggested.next().is_none());
        row.similarity
    }

    #[test]
    fn counts_pairs_and_rows_by_bands() {
        let Answer { rows, .. } = answer(0.52, &[(300, &[0.55, 0.92, 1.0]), (100, &[])]);
        let starts: Vec<f64> = rows.iter().map(|row| row.similarity).collect();
        assert_eq!(starts, [0.52, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0]);
        let pairs: Vec<f64> = rows.iter().map(|row| row.pairs).collect();
        assert_eq!(pairs, [0.0, 150.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 150.0, 0.0, 150.0]);
        let found: Vec<f64> = rows.iter().map(|row| row.found).collect();
        assert_eq!(
            (found[0], found[1], found[2], found[9], found[10]),
            (2.25, 2.25, 1.5, 0.75, 0.75)
        );
        assert!(rows.iter().all(|row| row.near == 300.0 && row.crowded == 0.0));
    }

    #[test]
    fn a_sample_stands_for_the_table() {
        let mut histogram = Histogram::new(0.5, false);
        // Two of its hundred candidates were read, and both are near.
        histogram.add(20, &neighbours(&[0.8, 0.8]), 50.0);
        histogram.add(20, &[], 1.0);
        histogram.finish(1000);
        let rows = histogram.answer().rows;
        let at = rows.iter().find(|row| row.similarity == 0.8).unwrap();
        assert_eq!((at.pairs, at.found, at.near, at.crowded), (25_000.0, 50.0, 500.0, 500.0));
    }

    #[test]
    fn copies_get_a_similarity_that_finds_them_and_families_one_above_their_relatives() {
        let copies: &[f64] = &[0.62, 0.8, 0.9];
        let family: &[f64] = &[0.71; 40];
        let both: Vec<f64> = [&[0.93], family].concat();
        let edits: &[f64] = &[0.96; 40];
        let families = |answer: &Answer| {
            answer.findings.iter().any(|finding| matches!(finding, Finding::Families(_)))
        };
        let found = answer(0.5, &[(500, copies), (500, &[])]);
        assert!(suggested(&found) <= 0.6 && found.findings.is_empty(), "{found:?}");
        let found = answer(0.5, &[(500, family), (500, &both), (500, copies)]);
        assert!((0.75..=0.9).contains(&suggested(&found)) && families(&found), "{found:?}");
        let found = answer(0.5, &[(500, edits), (500, &[])]);
        assert!(suggested(&found) <= 0.9 && !families(&found), "{found:?}");
    }

    #[test]
    fn says_what_else_is_worth_knowing() {
        assert_eq!(answer(0.5, &[]).findings, [Finding::FewRows(0), Finding::NoPairs]);
        let none = answer(0.5, &[(200, &[])]);
        assert_eq!((suggested(&none), &none.findings[..]), (0.7, &[Finding::NoPairs][..]));
        assert_eq!(suggested(&answer(0.8, &[(200, &[])])), 0.8);
        let mut histogram = Histogram::new(0.5, false);
        let number = [Neighbour { similarity: 0.9, numbers: TheirNumbers::DifferAlone }];
        (0..150).for_each(|_| histogram.add(1, &number, 1.0));
        (0..150).for_each(|_| histogram.add(9, &neighbours(&[0.9]), 1.0));
        histogram.finish(300);
        let findings = histogram.answer().findings;
        assert_eq!(findings, [Finding::Single(0.5), Finding::Numbers(0.5)]);
    }

    #[test]
    fn forms_that_are_filled_in_with_numbers_are_told_from_other_families() {
        let findings = |numbers| {
            let mut histogram = Histogram::new(0.5, false);
            let form = [Neighbour { similarity: 0.66, numbers }; 40];
            (0..300).for_each(|_| histogram.add(20, &form, 1.0));
            histogram.finish(300);
            histogram.answer().findings
        };
        use Finding::{Families, Forms, NoneAsSimilar, Numbers};
        use TheirNumbers::{Agree, Differ, DifferAlone};
        assert_eq!(findings(Agree), [NoneAsSimilar, Families(1.0)]);
        assert_eq!(findings(Differ), [NoneAsSimilar, Forms(1.0), Families(1.0)]);
        assert_eq!(findings(DifferAlone), [NoneAsSimilar, Numbers(1.0), Families(1.0)]);
    }

    #[test]
    fn texts_differ_by_numbers_alone() {
        let parts = |text| Parts::of(text, &Config::default(), &mut || ());
        let differ = |a, b| parts(a).numbers(parts(b)) == TheirNumbers::DifferAlone;
        assert!(differ("Invoice 17: due on 2024-03-04", "Invoice 18: due on 2024-03-04"));
        assert!(!differ("Invoice 17", "Invoice 17."));
        assert!(!differ("1,000.00 euros", "1000 euros"));
        assert!(!differ("Invoice 17", "Voice 18"));
    }

    #[test]
    fn bands_are_numbered_from_the_top() {
        assert_eq!([1.0, 0.99, 0.95, 0.9, 0.55, 0.3].map(from_top), [0, 1, 1, 2, 9, 14]);
    }
}
