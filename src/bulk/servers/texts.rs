//! The rows of a table with parts on several servers: their keys, and what is made of their texts
//! there.
//!
//! Each part answers one query at a time. The answer to a query that was sent ahead, for keys of
//! the next range or for sets of a round, is received before the part is sent another one.

use std::collections::{HashMap, VecDeque};

use simhash_core::config::Numbers;
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::whole::sharing::Rows;

use super::link::bytes_literal;
use super::messages::{self, POSTING, TID, expect, message_of, set, tids};
use super::parts::Parts;
use super::tokens::Tokens;
use crate::bulk::places::Places;
use crate::bulk::progress;
use crate::bulk::row;
use crate::bulk::texts::postings::Bands;
use crate::error::reserve;
use crate::guc::work_mem;
use crate::storage::check_for_interrupts;

/// Rows of parts, in order.
pub struct ServerTexts {
    pub parts: Parts,
    pub places: Places,
    /// The bands that count. `None` if keys are of no bands, as those of passages.
    pub bands: Option<Bands>,
    pub numbers: Option<Numbers>,
    /// The visible versions of rows by the roots of their HOT chains, where these are others.
    pub moved: HashMap<u64, u64>,
    /// The tokens of texts, for passages.
    pub(super) tokens: Tokens,
    /// Hashes of texts that will be requested next, by place.
    expected: HashMap<u32, Option<u128>>,
    /// Sets that will be requested next, by place.
    sets: HashMap<u32, Option<ShingleSet>>,
    /// Sets that were received, by the numbers of their rounds.
    rounds: HashMap<u32, Vec<(u32, Option<ShingleSet>)>>,
    last_round: u32,
    /// By part: the sets that were requested and not yet received.
    sent: Vec<Option<Sent>>,
}

/// A request for the sets of these rows and places, in this order.
struct Sent {
    round: u32,
    rows: VecDeque<(u32, u32)>,
}

/// How many texts are expected together.
pub(super) const TOGETHER: usize = 1 << 12;

/// All parts together send simhash.work_mem divided by this at once.
pub(super) const SHARE: usize = 8;

/// How many texts one query hashes.
const HASHED: usize = 1 << 13;

impl ServerTexts {
    pub fn new(
        parts: Parts,
        places: Places,
        bands: Option<Bands>,
        numbers: Option<Numbers>,
        moved: HashMap<u64, u64>,
    ) -> Self {
        let sent = parts.parts.iter().map(|_| None).collect();
        let tokens = Tokens::new(parts.parts.len());
        let (expected, sets, rounds, last_round) = Default::default();
        Self {
            parts,
            places,
            bands,
            numbers,
            moved,
            tokens,
            expected,
            sets,
            rounds,
            last_round,
            sent,
        }
    }

    /// The numbers of all rows that have keys, or of those that have none, ascending.
    pub fn all_rows(parts: &mut Parts, with_keys: bool) -> Vec<u64> {
        let mut numbers = Vec::new();
        parts.ask_all(
            |_, part| Some(part.messages("simhash_part_rows", &format!(", {with_keys}"))),
            &mut |place, message| {
                reserve(&mut numbers, message.len() / TID);
                numbers.extend(tids(message).map(|tid| row::number(place, tid)));
            },
        );
        numbers
    }

    /// Replaces versions by the roots of their HOT chains. Returns the replaced versions by their
    /// roots.
    pub fn find_roots(parts: &mut Parts, numbers: &mut [u64]) -> HashMap<u64, u64> {
        let mut of_part: Vec<Vec<usize>> = parts.parts.iter().map(|_| Vec::new()).collect();
        for (i, &number) in numbers.iter().enumerate() {
            of_part[row::table(number)].push(i);
        }
        let most = of_part.iter().map(Vec::len).max().unwrap_or(0);
        let mut visible = HashMap::new();
        for first in (0..most).step_by(ROOTS) {
            check_for_interrupts();
            let some = |place: usize| {
                let all = &of_part[place];
                &all[first.min(all.len())..(first + ROOTS).min(all.len())]
            };
            let mut roots: Vec<Vec<u64>> = of_part.iter().map(|_| Vec::new()).collect();
            parts.ask_all(
                |place, part| {
                    let some = some(place).iter().map(|&i| row::tid(numbers[i]));
                    let asked = bytes_literal(&message_of(some));
                    Some(part.messages("simhash_part_roots", &format!(", {asked}")))
                },
                &mut |place, message| roots[place].extend(tids(message)),
            );
            for (place, roots) in roots.iter().enumerate() {
                expect_count(roots.len(), some(place).len());
                for (&i, &root) in some(place).iter().zip(roots) {
                    let root = row::number(place, root);
                    if root != numbers[i] {
                        visible.insert(root, numbers[i]);
                        numbers[i] = root;
                    }
                }
            }
        }
        visible
    }

    /// The visible version of a row whose text was read.
    pub fn visible(&self, place: u32) -> u64 {
        let number = self.places.number(place);
        self.moved.get(&number).copied().unwrap_or(number)
    }

    /// Closes the connections. Nothing more can be requested.
    pub fn end(&mut self) {
        self.sent.iter_mut().for_each(|sent| *sent = None);
        self.parts.end();
    }

    /// How many bytes of sets or tokens a part sends at once; a single text may have more.
    pub(super) fn bytes_at_once(&self) -> usize {
        work_mem() / SHARE / self.parts.parts.len().max(1)
    }

    /// Receives all that was requested from a part ahead.
    pub(super) fn take_in(&mut self, part: usize) {
        while self.sent[part].is_some() {
            self.take_some(part);
        }
    }

    /// Receives the next sets that were requested from a part. Requests the others again, unless
    /// the round was given up.
    fn take_some(&mut self, part: usize) {
        let Some(Sent { round, mut rows }) = self.sent[part].take() else { return };
        let (asked, mut made) = (rows.len(), Vec::new());
        let (places, moved) = (&self.places, &mut self.moved);
        self.parts.parts[part].link.receive(&mut |mut message| {
            while !message.is_empty() {
                let ((row, place), read) = expect(rows.pop_front().zip(read_text(message, true)));
                let Read { visible, set, rest, .. } = read;
                note_version(moved, places.number(place), part, visible);
                made.push((row, set));
                message = rest;
            }
        });
        expect((rows.len() < asked).then_some(()));
        let Some(of_round) = self.rounds.get_mut(&round) else { return };
        of_round.append(&mut made);
        if !rows.is_empty() {
            self.send_for(part, round, rows);
        }
    }

    /// Requests the sets of rows from a part, which sends at least one.
    fn send_for(&mut self, part: usize, round: u32, rows: VecDeque<(u32, u32)>) {
        self.take_in(part);
        let places = rows.iter().map(|&(_, place)| place);
        let query = self.query(part, places, true, self.bytes_at_once());
        self.parts.parts[part].link.send(query);
        self.sent[part] = Some(Sent { round, rows });
    }

    fn query(
        &self,
        part: usize,
        places: impl Iterator<Item = u32>,
        with_sets: bool,
        most: usize,
    ) -> String {
        let asked = message_of(places.map(|place| row::tid(self.places.number(place))));
        let asked = bytes_literal(&asked);
        let numbers = self.numbers.map_or_else(String::new, |numbers| numbers.to_string());
        self.parts.parts[part]
            .messages("simhash_part_texts", &format!(", {asked}, {with_sets}, '{numbers}', {most}"))
    }

    /// Receives the postings of a range of keys from all parts, sorted: their bits and rows'
    /// numbers.
    fn receive_keys(&mut self) -> Vec<(u32, u64)> {
        let mut postings = Vec::new();
        for (place, part) in self.parts.parts.iter_mut().enumerate() {
            part.link.receive(&mut |message| {
                reserve(&mut postings, message.len() / POSTING);
                let of_message = messages::postings(message);
                postings.extend(of_message.map(|(bits, tid)| (bits, row::number(place, tid))));
            });
        }
        check_for_interrupts();
        postings.sort_unstable();
        // A posting that moved within its index may have been sent twice.
        postings.dedup();
        postings
    }

    /// Calls `each` with the stored bits of each key that several rows have, and the places of
    /// these rows, until it returns false.
    pub(super) fn each_key_of_parts(&mut self, each: &mut dyn FnMut(u32, &mut Vec<u32>) -> bool) {
        for part in 0..self.sent.len() {
            self.take_in(part);
        }
        progress::reading();
        let rows = self.places.len() as usize;
        let (end, postings) = match self.bands {
            Some(Bands { layout, count }) => {
                // Bands share the numbers of keys evenly. The first keys of a band may have the
                // same 32 bits as the last ones of the band before, so one number more is read.
                let all = layout.bands.max(1) as u64;
                let end = ((1 << u32::BITS) * count as u64).div_ceil(all) + 1;
                (end.min(1 << u32::BITS), rows * count)
            }
            // An estimate, by the size of the indexes.
            None => {
                let bytes: usize = self.parts.parts.iter().map(|part| part.bytes).sum();
                (1 << u32::BITS, bytes / 8)
            }
        };
        // A posting takes 16 bytes here.
        let at_once = (work_mem() / 128).max(1 << 16);
        let count = (postings.div_ceil(at_once) as u64).max(1);
        let bound = |i: u64| (u128::from(end) * u128::from(i) / u128::from(count)) as u64;
        self.send_for_keys(0, bound(1));
        let mut places = Vec::new();
        for i in 1..=count {
            let postings = self.receive_keys();
            if i < count {
                self.send_for_keys(bound(i), bound(i + 1));
            }
            for equal in postings.chunk_by(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
                places.clear();
                places.extend(equal.iter().filter_map(|&(_, number)| self.places.get(number)));
                if !each(equal[0].0, &mut places) {
                    // Discards the keys that were requested ahead.
                    self.parts.parts.iter_mut().for_each(|part| part.link.receive(&mut |_| ()));
                    return;
                }
            }
            progress::have_read((rows as u64 * i / count) as usize);
        }
        progress::read(rows);
    }

    fn send_for_keys(&mut self, low: u64, high: u64) {
        let bands = self.bands.map_or(0, |bands| bands.count);
        let asked = format!(", {bands}, {low}, {high}");
        for part in &mut self.parts.parts {
            let query = part.messages("simhash_part_keys", &asked);
            part.link.send(query);
        }
    }
}

/// How many roots one query finds.
const ROOTS: usize = 1 << 16;

/// A part's answer about a row.
struct Read<'a> {
    /// Its visible version, or 0.
    visible: u64,
    digest: Option<u128>,
    set: Option<ShingleSet>,
    rest: &'a [u8],
}

/// The row that a message begins with, and what follows it. `None` if the message is malformed.
fn read_text(message: &[u8], with_set: bool) -> Option<Read<'_>> {
    let (tid, rest) = message.split_at_checked(TID)?;
    let visible = tids(tid).next()?;
    if visible == 0 {
        return Some(Read { visible, digest: None, set: None, rest });
    }
    let (digest, rest) = rest.split_first_chunk()?;
    let digest = Some(u128::from_le_bytes(*digest));
    let (set, rest) = match with_set {
        true => set(rest).map(|(set, rest)| (Some(set), rest))?,
        false => (None, rest),
    };
    Some(Read { visible, digest, set, rest })
}

/// Notes the version whose text was read last, so that the reported version is the compared one.
pub(super) fn note_version(moved: &mut HashMap<u64, u64>, number: u64, part: usize, visible: u64) {
    let visible = row::number(part, visible);
    if visible == number {
        moved.remove(&number);
    } else if row::tid(visible) != 0 {
        moved.insert(number, visible);
    }
}

fn expect_count(found: usize, expected: usize) {
    expect((found == expected).then_some(()));
}

impl Rows for ServerTexts {
    fn each_key(&mut self, each: &mut dyn FnMut(&mut Vec<u32>) -> bool) {
        self.each_key_of_parts(&mut |_, places| each(places));
    }

    fn together(&self) -> usize {
        TOGETHER
    }

    fn expect_sets(&mut self, places: &[u32]) {
        self.sets.clear();
        let round = self.want(places.iter().map(|&place| (place, place)).collect());
        let mut bytes = 0;
        while let Some((place, set)) = self.next_wanted(round) {
            bytes += set.as_ref().map_or(0, ShingleSet::memory);
            self.sets.insert(place, set);
            if bytes > work_mem() / SHARE {
                return self.want_no_more(round);
            }
        }
    }

    fn expect(&mut self, places: &[u32]) {
        let unknown = places.iter().copied().filter(|place| !self.expected.contains_key(place));
        let unknown: Vec<u32> = unknown.collect();
        for some in unknown.chunks(HASHED) {
            let mut of_part: Vec<Vec<u32>> = self.sent.iter().map(|_| Vec::new()).collect();
            for &place in some {
                of_part[row::table(self.places.number(place))].push(place);
            }
            for (part, places) in of_part.iter().enumerate().filter(|(_, of)| !of.is_empty()) {
                self.take_in(part);
                let all = i64::MAX as usize;
                let query = self.query(part, places.iter().copied(), false, all);
                self.parts.parts[part].link.send(query);
            }
            for (part, of_part) in of_part.iter().enumerate().filter(|(_, of)| !of.is_empty()) {
                let mut asked = of_part.iter().copied();
                let Self { parts, places, moved, expected, .. } = self;
                parts.parts[part].link.receive(&mut |mut message| {
                    while !message.is_empty() {
                        let (place, read) = expect(asked.next().zip(read_text(message, false)));
                        note_version(moved, places.number(place), part, read.visible);
                        expected.insert(place, read.digest);
                        message = read.rest;
                    }
                });
                expect_count(0, asked.len());
            }
        }
    }

    fn digest(&mut self, place: u32) -> Option<u128> {
        if !self.expected.contains_key(&place) {
            self.expect(&[place]);
        }
        self.expected.remove(&place).flatten()
    }

    fn set(&mut self, place: u32) -> Option<ShingleSet> {
        let round = self.want(vec![(0, place)]);
        let set = self.next_wanted(round).and_then(|(_, set)| set);
        self.want_no_more(round);
        set
    }

    fn want(&mut self, wanted: Vec<(u32, u32)>) -> u32 {
        self.last_round = self.last_round.wrapping_add(1);
        let round = self.last_round;
        let mut known = Vec::new();
        let mut of_part: Vec<VecDeque<_>> = self.sent.iter().map(|_| VecDeque::new()).collect();
        for (row, place) in wanted {
            if let Some(set) = self.sets.remove(&place) {
                known.push((row, set));
                continue;
            }
            of_part[row::table(self.places.number(place))].push_back((row, place));
        }
        self.rounds.insert(round, known);
        for (part, rows) in of_part.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            self.send_for(part, round, rows);
        }
        round
    }

    fn next_wanted(&mut self, round: u32) -> Option<(u32, Option<ShingleSet>)> {
        loop {
            if let Some(made) = self.rounds.get_mut(&round)?.pop() {
                return Some(made);
            }
            let is_of_round = |sent: &Option<Sent>| sent.as_ref().is_some_and(|x| x.round == round);
            let Some(part) = self.sent.iter().position(is_of_round) else {
                self.rounds.remove(&round);
                return None;
            };
            self.take_some(part);
        }
    }

    fn want_no_more(&mut self, round: u32) {
        self.rounds.remove(&round);
    }

    fn address(&self, place: u32) -> u64 {
        self.places.number(place)
    }

    fn check(&mut self) {
        check_for_interrupts();
    }

    fn progress(&mut self, share: f64) {
        progress::compared(share);
    }
}
