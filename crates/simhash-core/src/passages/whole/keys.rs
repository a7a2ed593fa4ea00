//! Which rows have which keys in common, and so are candidates for each other.

use super::blocks::Meeting;
use super::classes::Classes;
use super::rows::Rows;
use crate::base::interrupt::Interrupt;
use crate::whole::sharing::is_shared;

/// Keys that propose no pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many there are.
    pub keys: u64,
    /// The one that most texts have, if there is one.
    pub most_frequent: Option<Frequent>,
}

/// A key that many texts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frequent {
    /// Its number.
    pub key: u32,
    /// How many different texts have it.
    pub texts: usize,
    /// The place of the first row that has it.
    pub place: u32,
}

/// Which keys propose pairs.
#[derive(Clone, Copy)]
pub(super) struct Law {
    pub(super) split: Option<u32>,
    /// Keys of more texts propose none.
    pub(super) most: Option<usize>,
}

/// What one walk over all keys tells apart from the lists.
pub(super) struct Account {
    pub(super) left_out: LeftOut,
    /// For each text whether it has a key that may propose pairs, by its number.
    pub(super) proposed: Vec<bool>,
}

/// The keys that rows have in common, and their rows.
///
/// Invariant: a key's rows ascend.
pub(super) struct Lists {
    /// The keys' rows, and where each key's begin, and the end of all.
    rows: Vec<u32>,
    lists: Vec<u32>,
    /// The keys of each place, and where they begin, and the end of all.
    keys: Vec<u32>,
    starts: Vec<u32>,
    /// For each place 1 and the place that last met it.
    met: Vec<u32>,
}

impl Lists {
    /// Puts the rows below `below` that have a key in common with a row into `found`, each once, in
    /// no order. To be asked once for each row.
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

/// The lists as they grow, key by key.
struct Builder {
    rows: Vec<u32>,
    lists: Vec<u32>,
    /// How many keys each place has.
    degrees: Vec<u32>,
    memory: usize,
    is_full: bool,
}

impl Builder {
    fn new(places: u32, memory: usize) -> Self {
        let degrees = vec![0; places as usize];
        Builder { rows: Vec::new(), lists: vec![0], degrees, memory, is_full: false }
    }

    /// Adds the rows of a key, in ascending order. Where memory does not hold them, they are only
    /// counted from now on.
    fn push(&mut self, key: &[u32]) {
        key.iter().for_each(|&place| self.degrees[place as usize] += 1);
        if self.is_full {
            return;
        }
        // A row's keys are stored as the keys' rows are.
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
        // Until the keys are in their lists, `met` says where the next one goes.
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

/// Counts the texts of keys.
struct Counting<'a> {
    classes: &'a Classes,
    /// For each text the number of the walk's last key that it has.
    seen: Vec<u32>,
    key: u32,
}

impl<'a> Counting<'a> {
    fn new(classes: &'a Classes, places: u32) -> Self {
        Counting { classes, seen: vec![0; places as usize], key: 0 }
    }

    /// How many texts these rows have.
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

/// Walks over all keys and lists those that rows of a meeting have in common. Where memory does not
/// hold them, says how many keys each place has. With `account`, that is told as well.
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

    /// Takes a key. `texts` says how many have it, if it is left out.
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
