//! Which similarity suits texts without labels, by the neighbours of a sample of rows.
//!
//! There is no chance to compare with, as there is for fingerprints: unrelated texts share next to
//! nothing. What has to be told apart is copies from families, the texts of one template. Two
//! things tell them. Where the similarity falls, copies thin out or stay as many, and related texts
//! multiply: the histogram has a valley between them, or an end. And an edited text has few
//! versions, while a template is filled in dozens of times: the neighbours of crowded rows.

use xxhash_rust::xxh3::Xxh3;

use super::{Crowds, FAMILIES};
use crate::base::interrupt::Interrupt;
use crate::config::{Config, Numbers};
use crate::sets::numbers;
use crate::sets::sketch::DEFAULT_SIMILARITY;

/// From this similarity on neighbours are near copies.
pub const COPY: f64 = 0.95;
/// Fewer rows than this say little.
pub const FEW: u64 = 100;
/// Counts differ if they do by so many standard deviations.
const DEVIATIONS: f64 = 2.0;
/// Up to so many times the fewest neighbours of a band it is still the bottom of the valley, and
/// beyond so many times the slope on its other side.
const FLAT: f64 = 1.15;
const SLOPE: f64 = 1.5;
/// A band with so many times the neighbours of the one above it is steep, and a hill of families if
/// so large a share of them are of families.
const STEEP: f64 = 4.0;
const NEARLY_ALL: f64 = 0.9;
/// From this share of rows or pairs on something is worth saying.
const MANY: f64 = 0.25;
/// Texts are filled in with numbers if those of so large a share of the pairs differ.
const MOST: f64 = 0.75;
/// Bands begin at multiples of this many hundredths.
const STEP: u32 = 5;

/// Letters are hashed in pieces of so many bytes.
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

/// What tells whether two texts differ in their numbers only: hashes of their numbers, as
/// [`Numbers::Same`] compares them, and of their letters.
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

/// What the neighbours of sampled rows look like, by bands of similarity.
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

/// What was counted of one band, from its similarity up to that of the next.
#[derive(Debug, Clone, Copy)]
struct Band {
    from: f64,
    /// Neighbours in the band, those of other numbers, and those that differ in nothing else.
    neighbours: f64,
    other_numbers: f64,
    by_numbers: f64,
    /// Neighbours in the band of rows whose neighbours from here on are a family.
    of_families: f64,
    /// Rows that have a neighbour from here on.
    near: u64,
    crowds: Crowds,
}

/// What is said of one band.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Where the band begins.
    pub similarity: f64,
    /// How many neighbours of a row are from there on, on average.
    pub found: f64,
    /// About how many pairs of the table are in the band.
    pub pairs: f64,
    /// About how many rows have a neighbour from there on, and a crowd of them.
    pub near: f64,
    pub crowded: f64,
    pub suggested: bool,
}

impl Histogram {
    /// That of an index which finds texts of this similarity and more. `weighed` if they are
    /// compared by rare words.
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

    /// Adds a row of the sample: how many shingles it has, and its neighbours, of which each stands
    /// for so many.
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
    /// None was found of the similarity that is proposed, or a greater one.
    NoneAsSimilar,
    /// The table has so few rows.
    FewRows(u64),
    /// So large a share of the rows has one shingle only.
    Single(f64),
    /// So large a share of the neighbours are of families, and texts are not weighed yet.
    Families(f64),
    /// The same, where rare words are weighed already.
    Crowded(f64),
    /// So large a share of the pairs differ by numbers only.
    Numbers(f64),
    /// Neighbours are of families, and the numbers of so large a share of the pairs differ.
    Forms(f64),
}

/// What is said of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub rows: Vec<Row>,
    pub findings: Vec<Finding>,
}

/// The number of the band of a similarity among all from the top down.
pub fn from_top(similarity: f64) -> u32 {
    (0..=100 / STEP)
        .find(|&place| similarity >= f64::from(100 - place * STEP) / 100.0)
        .unwrap_or(100 / STEP)
}

impl Histogram {
    /// What is said of every band, in ascending order, and which similarity is proposed.
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

    /// Which band is proposed: the valley below the most similar pairs, or the end. The walk goes
    /// down over the bands. It climbs a hill, sees the counts drop, and ends where they rise again
    /// slowly, as those of related texts do. A steep rise is another kind of pairs: the walk ends
    /// above it if these are families, and else begins anew. Without a drop it is where the walk
    /// began. The highest band has equal sets with it.
    fn proposed(&self) -> usize {
        if self.found() == 0.0 {
            let default = |band: &Band| band.from >= DEFAULT_SIMILARITY;
            return self.bands.iter().position(default).unwrap_or(self.bands.len() - 1);
        }
        let highest = self.bands.len().saturating_sub(2);
        let (mut start, mut valley) = (highest, None);
        let mut above = self.from(highest);
        // The top of the hill, and from the drop on the bottom of the valley.
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
        // The pairs that are proposed, or all if there are none.
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

    /// The answer for rows with these neighbours, of which each row is `times` there.
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
