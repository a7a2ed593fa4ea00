//! Which rows share which keys, and which rows are candidates of each other.

use std::ops::Range;

use crate::base::simd::prefetch::prefetch;

/// Memory is full: fewer rows must be taken at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The number that no row or cluster has.
pub const NONE: u32 = u32::MAX;

/// Collects, key by key, the rows of each key that several rows have.
pub struct Builder {
    /// The places of the rows of all keys, concatenated, and where each key's begin.
    rows: Vec<u32>,
    starts: Vec<u32>,
    /// The number of such keys that a place has, at most 255.
    degrees: Vec<u8>,
    memory: usize,
}

impl Builder {
    /// For places below `places`, in at most `memory` bytes.
    pub fn new(places: usize, memory: usize) -> Self {
        Self { rows: Vec::new(), starts: vec![0], degrees: vec![0; places], memory }
    }

    /// Adds the two or more rows of a key.
    pub fn push(&mut self, rows: &mut [u32]) -> Result<(), Full> {
        rows.sort_unstable();
        self.rows.extend_from_slice(rows);
        // Twice, because [`Builder::finish`] stores the keys of each row as well.
        let bytes = 2 * size_of::<u32>() * (self.rows.len() + self.starts.len());
        if bytes > self.memory || self.rows.len() >= NONE as usize {
            return Err(Full);
        }
        self.starts.push(self.rows.len() as u32);
        for &mut place in rows {
            let degree = &mut self.degrees[place as usize];
            *degree = degree.saturating_add(1);
        }
        Ok(())
    }

    /// Leaves out rows with fewer than `least` keys in common with others, and keys that are then
    /// of one row only, until all have enough. With `split`, a key must have rows of both sides.
    pub fn finish(mut self, least: usize, split: Option<u32>, check: &mut dyn FnMut()) -> Shared {
        while self.thin_out(least, split, check) {}
        let mut local = vec![NONE; self.degrees.len()];
        let mut places = Vec::new();
        for (place, local) in local.iter_mut().enumerate() {
            if self.degrees[place] > 0 {
                *local = places.len() as u32;
                places.push(place as u32);
            }
        }
        let mut starts = Vec::with_capacity(places.len() + 1);
        starts.push(0);
        let mut total = 0u32;
        for &place in &places {
            total += u32::from(self.degrees[place as usize]);
            starts.push(total);
        }
        drop(std::mem::take(&mut self.degrees));
        let mut keys = vec![0; total as usize];
        let mut next = starts.clone();
        for key in 0..self.starts.len() - 1 {
            let rows = self.starts[key] as usize..self.starts[key + 1] as usize;
            for row in &mut self.rows[rows] {
                *row = local[*row as usize];
                keys[next[*row as usize] as usize] = key as u32;
                next[*row as usize] += 1;
            }
            if key.is_multiple_of(1 << 14) {
                check();
            }
        }
        self.rows.shrink_to_fit();
        let split = split.map(|split| places.partition_point(|&place| place < split) as u32);
        Shared {
            counts: vec![0; places.len()],
            touched: Vec::new(),
            lists: List::all(&self.starts),
            places,
            starts,
            keys,
            rows: self.rows,
            late: [Filter::new(), Filter::new()],
            met: [Filter::new(), Filter::new()],
            split,
            least: least as u32,
        }
    }

    /// Removes rows with too few keys, and keys that are then not shared. False if all rows have
    /// enough keys.
    fn thin_out(&mut self, least: usize, split: Option<u32>, check: &mut dyn FnMut()) -> bool {
        let few = |degree: u8| degree > 0 && usize::from(degree) < least;
        if !self.degrees.iter().any(|&degree| few(degree)) {
            return false;
        }
        let (mut to, mut keys, mut from) = (0, 0, 0);
        for key in 1..self.starts.len() {
            let (end, start) = (self.starts[key] as usize, to);
            for i in from..end {
                let place = self.rows[i];
                if usize::from(self.degrees[place as usize]) >= least {
                    self.rows[to] = place;
                    to += 1;
                }
            }
            from = end;
            let kept = &self.rows[start..to];
            if is_shared(kept, split) {
                keys += 1;
                self.starts[keys] = to as u32;
            } else {
                to = start;
            }
            if key.is_multiple_of(1 << 14) {
                check();
            }
        }
        self.rows.truncate(to);
        self.starts.truncate(keys + 1);
        self.degrees.fill(0);
        for &place in &self.rows {
            let degree = &mut self.degrees[place as usize];
            *degree = degree.saturating_add(1);
        }
        true
    }
}

/// Whether the rows of a key, in ascending order, have a pair.
pub fn is_shared(rows: &[u32], split: Option<u32>) -> bool {
    match (rows, split) {
        ([first, .., last], Some(split)) => *first < split && *last >= split,
        (rows, _) => rows.len() > 1,
    }
}

/// Rows that have keys in common with others, numbered in the order of their places.
///
/// Invariants: a row's keys ascend, and so do the rows that a key's list finds, until
/// [`Shared::arrange`].
pub struct Shared {
    /// The place of each row.
    places: Vec<u32>,
    /// The keys of all rows, concatenated, and where each row's begin.
    starts: Vec<u32>,
    keys: Vec<u32>,
    /// The rows of all keys, concatenated, and the list of each key. One more list marks the end.
    rows: Vec<u32>,
    lists: Vec<List>,
    /// The keys to which [`Shared::answer`] has added rows in the current batch, and in the one
    /// before.
    late: [Filter; 2],
    /// The keys that rows of a batch have, and those that several of them have.
    met: [Filter; 2],
    /// Rows below this number are of the first side.
    split: Option<u32>,
    /// The least number of keys that a candidate shares.
    least: u32,
    /// While a row is looked up: in how many of its keys each row was found, and the rows for which
    /// that is not 0.
    counts: Vec<u8>,
    touched: Vec<u32>,
}

/// A key's rows.
#[derive(Clone, Copy, Debug)]
struct List {
    start: u32,
    /// The number of them, from the first on, that [`Shared::candidates`] finds.
    answering: u32,
}

impl List {
    fn all(starts: &[u32]) -> Vec<List> {
        starts.iter().map(|&start| List { start, answering: 0 }).collect()
    }

    fn answering(self) -> Range<usize> {
        self.start as usize..(self.start + self.answering) as usize
    }
}

/// A set of keys that may report keys that were not inserted.
struct Filter(Vec<u64>);

impl Filter {
    /// 128 kB, which stay in the processor's caches. A batch fills a fourteenth of it.
    const BITS: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };

    fn new() -> Self {
        Filter(vec![0; Self::BITS / 64])
    }

    #[inline]
    fn insert(&mut self, key: u32) {
        let bit = key as usize % Self::BITS;
        self.0[bit / 64] |= 1 << (bit % 64);
    }

    fn clear(&mut self) {
        self.0.fill(0);
    }

    #[inline]
    fn may_have(&self, key: u32) -> bool {
        let bit = key as usize % Self::BITS;
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }
}

/// A row that shares enough keys with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    pub row: u32,
    /// The number of keys that they share.
    pub keys: u32,
}

impl Shared {
    /// The number of rows.
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    pub fn place(&self, row: u32) -> u32 {
        self.places[row as usize]
    }

    /// The first row that is not before a place.
    pub fn first_from(&self, place: u32) -> u32 {
        self.places.partition_point(|&other| other < place) as u32
    }

    /// Rows below this number are of the first side, where there are two.
    pub fn split(&self) -> Option<u32> {
        self.split
    }

    /// A row's keys that it shares with others.
    pub fn keys(&self, row: u32) -> &[u32] {
        let row = row as usize;
        &self.keys[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// Prepares for [`Shared::of_others`]: each key lists its rows again, in the order of their
    /// clusters. Rows without a cluster ([`NONE`]) are left out, and so are keys of one cluster
    /// only or of kept rows only.
    pub fn arrange(
        &mut self,
        clusters: &[u32],
        is_kept: impl Fn(u32) -> bool,
        check: &mut dyn FnMut(),
    ) {
        self.lists.iter_mut().for_each(|list| list.answering = 0);
        for row in (0..self.len()).filter(|&row| clusters[row as usize] != NONE) {
            self.answer(row);
        }
        for (key, list) in self.lists.iter_mut().enumerate() {
            if key.is_multiple_of(1 << 12) {
                check();
            }
            let rows = &mut self.rows[list.answering()];
            let cluster = |row: u32| clusters[row as usize];
            let is_of_one = rows.iter().all(|&row| cluster(row) == cluster(rows[0]));
            if is_of_one || rows.iter().all(|&row| is_kept(row)) {
                list.answering = 0;
            } else {
                rows.sort_unstable_by_key(|&row| (cluster(row), row));
            }
        }
    }

    /// The rows of other clusters that share enough keys with a row, in ascending order.
    pub fn of_others(&mut self, row: u32, clusters: &[u32], found: &mut Vec<Candidate>) {
        let own = clusters[row as usize];
        let cluster = |row: u32| clusters[row as usize];
        for i in self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize {
            let rows = &self.rows[self.lists[self.keys[i] as usize].answering()];
            let before = rows.partition_point(|&other| cluster(other) < own);
            let upto = before + rows[before..].partition_point(|&other| cluster(other) == own);
            for &other in rows[..before].iter().chain(&rows[upto..]) {
                let count = &mut self.counts[other as usize];
                if *count == 0 {
                    self.touched.push(other);
                }
                *count = count.saturating_add(1);
            }
        }
        found.clear();
        for other in self.touched.drain(..) {
            let keys = u32::from(std::mem::take(&mut self.counts[other as usize]));
            if keys >= self.least {
                found.push(Candidate { row: other, keys });
            }
        }
        found.sort_unstable();
    }

    /// Makes a row a possible candidate. Rows must be added in ascending order, each after all rows
    /// before it are done: it overwrites an entry of the list that is not read again.
    pub fn answer(&mut self, row: u32) {
        for i in self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize {
            let key = self.keys[i];
            let list = &mut self.lists[key as usize];
            self.rows[list.start as usize + list.answering as usize] = row;
            list.answering += 1;
            self.late[0].insert(key);
        }
    }

    /// Begins a batch of rows.
    pub fn begin_batch(&mut self) {
        self.late.swap(0, 1);
        self.late[0].clear();
    }

    /// As [`Shared::candidates`], if all possible candidates from `from` on were added in this
    /// batch or in the one before.
    pub fn late(&mut self, row: u32, from: u32, found: &mut Vec<Candidate>) {
        let late = |&&key: &&u32| self.late.iter().any(|late| late.may_have(key));
        if self.keys(row).iter().filter(late).count() < self.least as usize {
            found.clear();
        } else {
            self.candidates(row, from, found);
        }
    }

    /// Appends those of some rows that share enough keys with others of them, and possibly more
    /// rows.
    pub fn candidates_within(&mut self, rows: Range<u32>, found: &mut Vec<u32>) {
        let [once, again] = &mut self.met;
        once.clear();
        again.clear();
        let keys = |row: u32| {
            let row = row as usize;
            &self.keys[self.starts[row] as usize..self.starts[row + 1] as usize]
        };
        for &key in rows.clone().flat_map(keys) {
            if once.may_have(key) {
                again.insert(key);
            }
            once.insert(key);
        }
        let shared = |&row: &u32| keys(row).iter().filter(|&&key| again.may_have(key)).count();
        found.extend(rows.filter(|row| shared(row) >= self.least as usize));
    }

    /// Prefetches the positions of the lists of a row's keys.
    pub fn prefetch_keys(&self, row: u32) {
        for &key in self.keys(row) {
            prefetch(&raw const self.lists[key as usize]);
        }
    }

    /// Prefetches the lists of a row's keys.
    pub fn prefetch_lists(&self, row: u32) {
        for &key in self.keys(row) {
            let list = self.lists[key as usize];
            if list.answering > 0 {
                prefetch(&raw const self.rows[list.start as usize]);
            }
        }
    }

    /// Puts the added rows that share enough keys with a row into `found`, in ascending order. Rows
    /// before `from` and the row itself are left out.
    pub fn candidates(&mut self, row: u32, from: u32, found: &mut Vec<Candidate>) {
        found.clear();
        let keys = self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize;
        let total: usize = self.keys[keys.clone()]
            .iter()
            .map(|&key| self.lists[key as usize].answering as usize)
            .sum();
        if total < self.least as usize {
            return;
        }
        let skipped = if total > LONG && self.least > 1 { self.longest(keys.clone()) } else { 0 };
        for i in keys.clone() {
            let list = self.lists[self.keys[i] as usize];
            if list.answering > skipped.wrapping_sub(1) {
                continue;
            }
            let list = &self.rows[list.answering()];
            let list = if from == 0 { list } else { &list[list.partition_point(|&x| x < from)..] };
            for &other in list {
                let count = &mut self.counts[other as usize];
                if *count == 0 {
                    self.touched.push(other);
                }
                *count = count.saturating_add(1);
            }
        }
        let touched = std::mem::take(&mut self.touched);
        for &other in &touched {
            let mut count = u32::from(std::mem::take(&mut self.counts[other as usize]));
            if skipped > 0 {
                count = common(&self.keys[keys.clone()], self.keys(other));
            }
            if count >= self.least && other != row {
                found.push(Candidate { row: other, keys: count });
            }
        }
        self.touched = touched;
        self.touched.clear();
        found.sort_unstable();
    }

    /// A length such that fewer than `least` of these keys have lists of that length or longer. A
    /// row that shares `least` keys is then in one of the shorter lists. 0 if leaving out the
    /// longer ones does not pay.
    fn longest(&self, keys: Range<usize>) -> u32 {
        let mut lengths = [0u32; 64];
        let count = keys.len().min(lengths.len());
        if count < keys.len() || count < self.least as usize {
            return 0;
        }
        for (length, &key) in lengths.iter_mut().zip(&self.keys[keys]) {
            *length = self.lists[key as usize].answering;
        }
        let lengths = &mut lengths[..count];
        // The list at this place, the `least`-th longest, is not left out, and neither is any as
        // long.
        let place = count - self.least as usize;
        let (shorter, &mut kept, longer) = lengths.select_nth_unstable(place);
        let sum = |lengths: &[u32]| lengths.iter().map(|&length| length as usize).sum::<usize>();
        // For each row in the remaining lists, all shared keys are counted anew, which costs more
        // than an entry of a list.
        let pays = sum(longer) > DEARER * (sum(shorter) + kept as usize);
        if pays { kept + 1 } else { 0 }
    }

    /// The bytes of memory.
    pub fn memory(&self) -> usize {
        size_of::<u32>()
            * (self.places.len()
                + self.starts.len()
                + self.keys.len()
                + 2 * self.lists.len()
                + self.rows.len())
            + self.counts.len()
            + 4 * size_of_val(&*self.late[0].0)
    }
}

/// Lists of up to so many rows together are read whole.
const LONG: usize = if cfg!(test) { 16 } else { 256 };
/// Counting the keys that two rows share takes as long as reading so many entries of lists.
const DEARER: usize = if cfg!(test) { 1 } else { 16 };

/// The number of common elements of two ascending lists.
fn common(mut a: &[u32], mut b: &[u32]) -> u32 {
    let mut common = 0;
    while let ([x, a_rest @ ..], [y, b_rest @ ..]) = (a, b) {
        common += u32::from(x == y);
        (a, b) = (if x <= y { a_rest } else { a }, if y <= x { b_rest } else { b });
    }
    common
}
