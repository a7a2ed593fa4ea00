//! The keys that rows share, by which rows become candidates for each other.

use super::classes::Classes;
use super::rows::Rows;
use crate::base::interrupt::Interrupt;
use crate::whole::sharing::blocks::Meeting;
use crate::whole::sharing::is_shared;

/// Keys that are too frequent to propose pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The number of such keys.
    pub keys: u64,
    /// The key that the most texts have, if there is one.
    pub most_frequent: Option<Frequent>,
}

/// A key that many texts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequent {
    /// Its number.
    pub key: u32,
    /// The number of different texts that have it.
    pub texts: usize,
    /// The place of the first row that has it.
    pub place: u32,
}

/// The rule by which keys propose pairs.
#[derive(Clone, Copy)]
pub(super) struct Law {
    pub(super) split: Option<u32>,
    /// Keys that more texts have propose no pairs.
    pub(super) most: Option<usize>,
}

/// Figures from one walk over all keys, beside the lists.
pub(super) struct Account {
    pub(super) left_out: LeftOut,
    /// For each text, by its number, whether a key that may propose pairs has it.
    pub(super) proposed: Vec<bool>,
}

/// The keys that several rows share, and their rows.
///
/// Invariant: a key's rows ascend.
pub(super) struct Lists {
    /// The rows of all keys, the start of each key's rows, and the end of the last one's.
    rows: Vec<u32>,
    lists: Vec<u32>,
    /// The keys of all places, the start of each place's keys, and the end of the last one's.
    keys: Vec<u32>,
    starts: Vec<u32>,
    /// For each place, 1 plus the last place that had it as a candidate.
    met: Vec<u32>,
}

impl Lists {
    /// Writes the rows below `below` that share a key with `place` to `found`, each once, in no
    /// particular order. May be called once for each row.
    pub(super) fn candidates(
        &mut self,
        place: u32,
        below: u32,
        found: &mut Vec<u32>,
        interrupt: &Interrupt,
    ) {
        found.clear();
        let [start, end] = [0, 1].map(|next| self.starts[place as usize + next] as usize);
        for &key in &self.keys[start..end] {
            let [start, end] = [0, 1].map(|next| self.lists[key as usize + next] as usize);
            interrupt.spend(16);
            for &other in self.rows[start..end].iter().take_while(|&&other| other < below) {
                interrupt.spend(4);
                let met = &mut self.met[other as usize];
                if *met != place + 1 {
                    *met = place + 1;
                    found.push(other);
                }
            }
        }
    }
}

/// The lists while they are built, key by key.
struct Builder {
    rows: Vec<u32>,
    lists: Vec<u32>,
    /// The number of keys of each place.
    degrees: Vec<u32>,
    memory: usize,
    is_full: bool,
}

impl Builder {
    fn new(places: u32, memory: usize) -> Self {
        let degrees = vec![0; places as usize];
        Builder { rows: Vec::new(), lists: vec![0], degrees, memory, is_full: false }
    }

    /// Adds the rows of a key, in ascending order. Once memory is exceeded, keys are only counted.
    fn push(&mut self, key: &[u32]) {
        key.iter().for_each(|&place| self.degrees[place as usize] += 1);
        if self.is_full {
            return;
        }
        // The keys of the rows will take as much memory as the rows of the keys.
        let rows = self.rows.len() + key.len();
        let bytes = (2 * rows + self.lists.len()) * size_of::<u32>();
        if bytes > self.memory || rows > u32::MAX as usize {
            self.is_full = true;
            (self.rows, self.lists) = (Vec::new(), Vec::new());
            return;
        }
        self.rows.extend_from_slice(key);
        self.lists.push(rows as u32);
    }

    fn finish(self, interrupt: &Interrupt) -> Result<Lists, Vec<u32>> {
        let Builder { mut rows, lists, degrees, is_full, .. } = self;
        if is_full {
            return Err(degrees);
        }
        rows.shrink_to_fit();
        let mut met = degrees;
        let mut starts = Vec::with_capacity(met.len() + 1);
        let mut end = 0;
        starts.push(0);
        // While the keys are sorted into lists, `met` has the next index for each place.
        for place in &mut met {
            interrupt.spend(4);
            let degree = std::mem::replace(place, end);
            end += degree;
            starts.push(end);
        }
        let mut keys = vec![0; end as usize];
        for (key, list) in (0..).zip(lists.windows(2)) {
            interrupt.spend(8);
            for &place in &rows[list[0] as usize..list[1] as usize] {
                interrupt.spend(16);
                let next = &mut met[place as usize];
                keys[*next as usize] = key;
                *next += 1;
            }
        }
        met.fill(0);
        Ok(Lists { rows, lists, keys, starts, met })
    }
}

/// Counts the different texts that have a key.
struct Counting<'a> {
    classes: &'a Classes,
    /// For each text, the number of the last key in the walk that it has.
    seen: Vec<u32>,
    key: u32,
}

impl<'a> Counting<'a> {
    fn new(classes: &'a Classes, places: u32) -> Self {
        Counting { classes, seen: vec![0; places as usize], key: 0 }
    }

    /// The number of different texts of these rows.
    fn texts(&mut self, rows: &[u32]) -> usize {
        if self.key == u32::MAX {
            self.seen.fill(0);
            self.key = 0;
        }
        self.key += 1;
        let mut count = 0;
        for text in rows.iter().filter_map(|&place| self.classes.text(place)) {
            let seen = &mut self.seen[text as usize];
            count += usize::from(*seen != self.key);
            *seen = self.key;
        }
        count
    }
}

/// Lists the keys that rows of a meeting share, in one walk over all keys. If the lists exceed
/// `memory`, the error has the number of keys of each place. With `account`, the walk also fills
/// that, and always goes over all keys. Without, it ends when memory is exceeded, and the numbers
/// are incomplete.
pub(super) fn walk(
    rows: &mut impl Rows,
    places: u32,
    (law, classes): (Law, &Classes),
    meeting: &Meeting,
    mut account: Option<&mut Account>,
    memory: usize,
) -> Result<Lists, Vec<u32>> {
    let mut builder = Builder::new(places, memory);
    let mut counting = Counting::new(classes, places);
    rows.each_key(&mut |key, rows| {
        let texts = match law.most {
            Some(most) if rows.len() > most => Some(counting.texts(rows)).filter(|&x| x > most),
            _ => None,
        };
        if let Some(account) = &mut account {
            account.add(key, rows, texts, law, classes);
        }
        if texts.is_some() {
            return true;
        }
        rows.retain(|&place| meeting.has(place) && classes.is_unit(place));
        rows.sort_unstable();
        if is_shared(rows, meeting.split()) {
            builder.push(rows);
        }
        account.is_some() || !builder.is_full
    });
    builder.finish(&Interrupt::new(&mut || rows.check()))
}

impl Account {
    pub(super) fn new(places: u32) -> Self {
        Account { left_out: LeftOut::default(), proposed: vec![false; places as usize] }
    }

    /// Adds a key. `texts` is the number of texts that have it, if it is left out.
    fn add(&mut self, key: u32, rows: &[u32], texts: Option<usize>, law: Law, classes: &Classes) {
        let Some(texts) = texts else {
            for text in rows.iter().filter_map(|&place| classes.text(place)) {
                self.proposed[text as usize] = true;
            }
            return;
        };
        let is_of_first = |&place: &u32| law.split.is_some_and(|split| place < split);
        let count = rows.iter().filter(|place| is_of_first(place)).count();
        if law.split.is_some() && (count == 0 || count == rows.len()) {
            return;
        }
        self.left_out.keys += 1;
        let there = rows.iter().copied().filter(|&place| classes.text(place).is_some());
        let Some(place) = there.min() else { return };
        let frequent = Frequent { key, texts, place };
        let rank = |frequent: Frequent| (frequent.texts, std::cmp::Reverse(frequent.key));
        if self.left_out.most_frequent.is_none_or(|other| rank(frequent) > rank(other)) {
            self.left_out.most_frequent = Some(frequent);
        }
    }
}
