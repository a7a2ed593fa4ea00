//! The rows of indexes of texts on this server: the keys of the indexes, the texts of their tables.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::Simhasher;
use simhash_core::base::hash::feature_hash;
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::whole::sharing::Rows;
use simhash_index::postings::{Presence, ROWS};
use simhash_index::{Entry, TreeKey};

use super::super::heap::Heap;
use super::super::indexed::Indexed;
use super::super::leaves::each_entry;
use super::super::places::Places;
use super::super::progress;
use super::super::row;
use super::super::session::open_all;
use super::super::target::OpenedAll;
use super::super::team::most_workers;
use super::cutters::{Cutters, Source};
use super::parcel;
use super::postings::{Bands, each_key};
use crate::am::kind::Kind;
use crate::am::opened::Opened;
use crate::call::interrupts;
use crate::storage::{Index, check_for_interrupts, family, with_key_type};
use crate::types::near_text::NearText;
use crate::types::text::with_text;

/// The state that lasts from batch to batch.
pub struct Texts {
    pub places: Places,
    /// The bands that count. `None` if keys are of no bands, as those of passages.
    pub bands: Option<Bands>,
    pub simhasher: Simhasher,
    /// The simhasher's config, for workers. `None` if it names words, which workers would have to
    /// read.
    pub config: Option<Rc<str>>,
    /// The visible versions of rows by the roots of their HOT chains, where these are others.
    pub moved: HashMap<u64, u64>,
}

impl Texts {
    /// The visible version of a row whose text was read.
    pub fn visible(&self, place: u32) -> u64 {
        let number = self.places.number(place);
        self.moved.get(&number).copied().unwrap_or(number)
    }
}

/// The texts, while the tables are open.
pub struct TextRows<'a> {
    texts: &'a mut Texts,
    opened: &'a OpenedAll,
    /// The reader of the table that was read last.
    reader: Option<(usize, Reader<'a>)>,
    wanted: Wanted,
    cutters: Option<Cutters>,
    /// How many workers may be launched, if there is work enough.
    workers: usize,
    checks: u32,
}

/// Rows whose sets are wanted.
#[derive(Default)]
struct Wanted {
    /// Rows whose sets no process has begun.
    waiting: VecDeque<Waiting>,
    rounds: VecDeque<Round>,
    /// The number of the last round.
    last: u32,
    /// How many were wanted in all.
    count: usize,
}

struct Waiting {
    round: u32,
    row: u32,
    place: u32,
}

/// Rows whose sets are wanted together.
struct Round {
    number: u32,
    /// How many sets are still to be made.
    left: usize,
    made: Vec<(u32, Option<ShingleSet>)>,
}

impl Wanted {
    /// Takes a set that was made, unless its round has been given up.
    fn take(&mut self, number: u32, row: u32, set: Option<ShingleSet>) {
        if let Some(round) = self.round(number) {
            round.left -= 1;
            round.made.push((row, set));
        }
    }

    fn round(&mut self, number: u32) -> Option<&mut Round> {
        self.rounds.iter_mut().find(|round| round.number == number)
    }

    /// The next row that waits, if it belongs to this round.
    fn next_of(&mut self, number: u32) -> Option<Waiting> {
        let is_next = self.waiting.front().is_some_and(|waiting| waiting.round == number);
        if is_next { self.waiting.pop_front() } else { None }
    }
}

/// After so many wanted sets, workers are worth launching: a set takes about 0.02 ms.
const MANY: usize = 1024;

impl<'a> TextRows<'a> {
    pub fn new(texts: &'a mut Texts, opened: &'a OpenedAll) -> Self {
        let wanted = Wanted::default();
        Self { texts, opened, reader: None, wanted, cutters: None, workers: 0, checks: 0 }
    }

    /// With parallel workers, if PostgreSQL's settings allow some. They live as long as this, and
    /// nothing may be written meanwhile.
    pub fn with_workers(texts: &'a mut Texts, opened: &'a OpenedAll) -> Self {
        let pages = opened.iter().map(|opened| f64::from(index_pages(opened))).sum();
        let is_safe = opened.iter().all(Indexed::is_parallel_safe);
        let may_launch = texts.config.is_some() && is_safe;
        let workers = if may_launch { most_workers(opened, pages) } else { 0 };
        Self { workers, ..Self::new(texts, opened) }
    }

    /// Sends workers what fits into their queues.
    fn send(&mut self) {
        if let Some(mut cutters) = self.cutters.take() {
            cutters.send(self);
            self.cutters = Some(cutters);
        }
    }

    /// Calls `each` with each key that counts and that several rows have, and the places of these
    /// rows, until it returns false.
    pub(super) fn each_key_of_index(&self, each: &mut dyn FnMut(u32, &mut Vec<u32>) -> bool) {
        let Some(first) = self.opened.first() else { return };
        let Texts { places, bands, .. } = &*self.texts;
        progress::reading();
        with_key_type!(family(first.rel()), K => {
            each_key::<K>(&open_all(self.opened), places, *bands, each);
        });
        progress::read(places.len() as usize);
    }

    /// Calls `read` with a row's text. `None` if the query does not see the row, or it has no text.
    pub(super) fn with<T>(
        &mut self,
        place: u32,
        read: impl FnOnce(&mut Simhasher, &str) -> T,
    ) -> Option<T> {
        let number = self.texts.places.number(place);
        let (table, opened) = (row::table(number), self.opened);
        let kept = self.reader.take().filter(|&(kept, _)| kept == table);
        let reader = || (table, Reader::new(&opened[table]));
        let (_, reader) = self.reader.insert(kept.unwrap_or_else(reader));
        let visible = row::number(table, reader.visible(row::tid(number))?);
        if visible != number {
            self.texts.moved.insert(number, visible);
        }
        let simhasher = &mut self.texts.simhasher;
        reader.with_text(|text| read(simhasher, text))
    }
}

impl Rows for TextRows<'_> {
    fn each_key(&mut self, each: &mut dyn FnMut(&mut Vec<u32>) -> bool) {
        self.each_key_of_index(&mut |_, places| each(places));
    }

    fn digest(&mut self, place: u32) -> Option<u128> {
        self.with(place, |_, text| feature_hash::<u128>(text.as_bytes()))
    }

    fn set(&mut self, place: u32) -> Option<ShingleSet> {
        self.with(place, |simhasher, text| ShingleSet::new(simhasher, text, &mut interrupts()))
    }

    fn want(&mut self, wanted: Vec<(u32, u32)>) -> u32 {
        let all = &mut self.wanted;
        let number = all.last.wrapping_add(1);
        all.last = number;
        all.count += wanted.len();
        all.rounds.push_back(Round { number, left: wanted.len(), made: Vec::new() });
        let waiting = |(row, place)| Waiting { round: number, row, place };
        all.waiting.extend(wanted.into_iter().map(waiting));
        if all.count >= MANY
            && let Some(config) = &self.texts.config
            && let workers @ 1.. = std::mem::take(&mut self.workers)
        {
            self.cutters = Cutters::launch(config, workers);
        }
        self.send();
        number
    }

    fn next_wanted(&mut self, number: u32) -> Option<(u32, Option<ShingleSet>)> {
        loop {
            let round = self.wanted.round(number)?;
            if let Some(made) = round.made.pop() {
                return Some(made);
            }
            if round.left == 0 {
                self.want_no_more(number);
                return None;
            }
            self.send();
            let wanted = &mut self.wanted;
            let any = self.cutters.as_mut().is_some_and(|cutters| {
                cutters.receive(|round, row, set| wanted.take(round, row, Some(set)))
            });
            if any {
                continue;
            }
            if let Some(Waiting { row, place, .. }) = self.wanted.next_of(number) {
                let set = self.set(place);
                self.wanted.take(number, row, set);
                continue;
            }
            match &mut self.cutters {
                Some(cutters) if cutters.are_busy() => cutters.wait(),
                _ => return None,
            }
        }
    }

    fn want_no_more(&mut self, number: u32) {
        self.wanted.rounds.retain(|round| round.number != number);
        self.wanted.waiting.retain(|waiting| waiting.round != number);
    }

    fn address(&self, place: u32) -> u64 {
        self.texts.places.number(place)
    }

    fn check(&mut self) {
        check_for_interrupts();
        self.checks = self.checks.wrapping_add(1);
        // Refills the queues now and then, so that workers need not wait until sets are requested.
        if self.checks.is_multiple_of(256) && !self.wanted.waiting.is_empty() {
            self.send();
        }
    }

    fn progress(&mut self, share: f64) {
        progress::compared(share);
    }
}

impl Source for TextRows<'_> {
    fn fill(&mut self, bytes: usize, message: &mut Vec<u8>) {
        let Some(&Waiting { round, .. }) = self.wanted.waiting.front() else { return };
        parcel::begin(round, message);
        while message.len() < bytes
            && let Some(Waiting { row, place, .. }) = self.wanted.next_of(round)
        {
            if self.with(place, |_, text| parcel::add_text(row, text, message)).is_none() {
                self.wanted.take(round, row, None);
            }
        }
    }
}

/// The number of pages that an index has now.
fn index_pages(opened: &Opened) -> u32 {
    let main = pg_sys::ForkNumber::MAIN_FORKNUM;
    // SAFETY: the index is open as long as `opened` exists.
    unsafe { pg_sys::RelationGetNumberOfBlocksInFork(opened.index, main) }
}

/// Reads the texts of one table's rows, as the column or expression of its index yields them.
pub struct Reader<'a> {
    heap: Heap<'a>,
    kind: Kind,
    indexed: Indexed<'a>,
}

impl<'a> Reader<'a> {
    pub fn new(opened: &'a Opened) -> Self {
        // SAFETY: the index is open as long as `opened` exists.
        let kind = unsafe { Kind::of_index(opened.index) };
        Self { heap: Heap::new(opened), kind, indexed: Indexed::new(opened) }
    }

    /// The version of a row that the query sees. It is in the heap's slot afterwards.
    pub fn visible(&mut self, tid: u64) -> Option<u64> {
        self.heap.visible(tid)
    }

    /// Calls `read` with the text of the row in the heap's slot. `None` for NULL.
    pub fn with_text<T>(&mut self, read: impl FnOnce(&str) -> T) -> Option<T> {
        let kind = self.kind;
        self.indexed.with(&self.heap, |value| match kind {
            // SAFETY: the value is of the index's column, whose kind this is.
            Kind::NearTexts => unsafe { NearText::with(value, |near| read(&near.text)) },
            // SAFETY: as above; the values of all other kinds with texts are texts.
            _ => unsafe { with_text(value, read) },
        })
    }
}

/// How many rows of the indexes from `from` on and below `to` have a text without a key.
pub fn rows_without_keys(opened: &OpenedAll, from: usize, to: usize) -> u64 {
    let Some(first) = opened.first() else { return 0 };
    let mut count = 0;
    with_key_type!(family(first.rel()), K => {
        for index in open_all::<K>(opened).iter().take(to).skip(from) {
            each_row(index, Presence::Empty, |_| count += 1);
        }
    });
    count
}

/// The rows with keys, as [`rows_of`] returns them.
pub fn rows_with_keys(opened: &OpenedAll, from: usize, to: usize) -> Vec<u64> {
    rows_of(opened, Presence::Keys, from, to)
}

/// The numbers of all rows with keys, or without, whose scope has no NULL, ascending. They are of
/// the indexes from `from` on and below `to`.
pub fn rows_of(opened: &OpenedAll, presence: Presence, from: usize, to: usize) -> Vec<u64> {
    let Some(first) = opened.first() else { return Vec::new() };
    let mut numbers = Vec::new();
    with_key_type!(family(first.rel()), K => {
        for (table, index) in open_all::<K>(opened).iter().enumerate().take(to).skip(from) {
            each_row(index, presence, |tid| numbers.push(row::number(table, tid)));
        }
    });
    numbers.sort_unstable();
    numbers
}

fn each_row<K: TreeKey>(index: &Index<K>, presence: Presence, mut each: impl FnMut(u64)) {
    each_entry(index, ROWS, |Entry { key, tid, .. }| {
        if key.fingerprint() == presence.key::<K::Fingerprint>() {
            each(tid);
        }
    });
}
