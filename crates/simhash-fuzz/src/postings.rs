//! Like `pages`, for an index of postings: rows with sets of keys, searched by how many they share.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::thread::LocalKey;

use simhash_index::build::{Writer, initialize};
use simhash_index::check::check_tables;
use simhash_index::facts::table_facts;
use simhash_index::key::{Bytes, Posting, Scoped, TreeKey};
use simhash_index::page::Entry;
use simhash_index::postings::{Candidates, Presence, ROWS, SETTLED, posting_key};
use simhash_index::walk::LeafWalk;
use simhash_index::{Budget, Cache, Index, Meta, Row, Scopes, Store};

use crate::damaged::{beside, damage, scope_of, work};
use crate::input::Input;
use crate::store::MemoryStore;

/// A row: its keys, the number of its scope, its TID.
type Text = (BTreeSet<u64>, u8, u64);

/// A sound index, and its rows.
#[derive(Clone)]
struct Sound {
    meta: Meta,
    pages: Vec<Rc<[u8]>>,
    free: Vec<u32>,
    rows: Vec<Text>,
}

/// Sound indexes, made once, by the first byte.
type Made = RefCell<HashMap<u8, Rc<Sound>>>;

thread_local! {
    static PLAIN: Made = RefCell::default();
    static BRIEF: Made = RefCell::default();
}

/// The bytes have the meaning that they have in `pages::run`.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let choice = input.byte();
    if choice & 1 == 0 {
        damage_and_use::<Posting>(&PLAIN, choice, input);
    } else {
        damage_and_use::<Scoped<u64, 2>>(&BRIEF, choice, input);
    }
}

fn damage_and_use<K: TreeKey>(made: &'static LocalKey<Made>, choice: u8, mut input: Input<'_>) {
    let known = made.with_borrow(|made| made.get(&choice).cloned());
    let sound = known.unwrap_or_else(|| {
        let sound = Rc::new(make::<K>(choice));
        made.with_borrow_mut(|made| made.insert(choice, sound.clone()));
        sound
    });
    let mut pages = sound.pages.clone();
    let places = input.byte() % 16;
    (0..places).for_each(|_| damage(&mut pages, &mut input));
    let store = MemoryStore::of(pages, sound.free.clone());
    let is_sound = places == 0;
    let index = work(&store, is_sound, || {
        let meta = Meta::read(&store);
        let note = Meta::read_note(&store);
        assert!(!is_sound || note == NOTE, "another note");
        let cache = Cache::<K, ()>::new(&store, meta, Rc::new(Budget::new(8)));
        Index::new(store.clone(), Rc::new(cache))
    });
    let Some(index) = index.filter(|index| index.meta() == sound.meta) else { return };
    let mut used = Used { index, store, rows: sound.rows.clone(), is_sound };
    for _ in 0..8 {
        if input.is_empty() && !is_sound {
            break;
        }
        used.act(&mut input);
        if is_sound && input.is_empty() {
            break;
        }
    }
}

const NOTE: &[u8] = b"minhash";

fn keys_of<K: TreeKey>(keys: &BTreeSet<u64>) -> Vec<K::Fingerprint> {
    keys.iter().map(|&key| posting_key(key)).collect()
}

fn presence(keys: &BTreeSet<u64>, tid: u64) -> Presence {
    match (keys.is_empty(), tid >> 16 & 1) {
        (false, _) => Presence::Keys,
        (true, 0) => Presence::Null,
        _ => Presence::Empty,
    }
}

/// An index of some hundred postings, with random keys, few keys or one, and with short TIDs, long
/// ones or both. It is built or filled by insertions, and perhaps vacuumed.
fn make<K: TreeKey>(choice: u8) -> Sound {
    let is_scoped = K::Scope::BYTES > 0;
    let (scope, payload) = if is_scoped { (4, 5) } else { (0, 0) };
    let meta = Meta { kind: 1, bits: 32, blocks: 2, scope, payload, ..Meta::default() };
    let meta = Meta { bands: 6, rows: 2, similarity: 0.7f64.to_bits(), ..meta };
    let store = MemoryStore::default();
    initialize::<K, _>(&store, meta, NOTE);
    let cache = Cache::<K, ()>::new(&store, meta, Rc::new(Budget::new(8)));
    let index = Index::<K, _>::new(store.clone(), Rc::new(cache));
    let mut seed = u64::from(choice >> 1) + 1;
    let mut random = || {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        seed ^ seed >> 32
    };
    let values = [1 << 32, 40, 5, 1][usize::from(choice >> 1 & 3)];
    let is_far = |number: u64| match choice >> 3 & 3 {
        0 => false,
        1 => true,
        _ => number.is_multiple_of(7),
    };
    let mut rows = Vec::new();
    for number in 1..=20 + 60 * u64::from(choice >> 5 & 1) {
        let count = random() % 6;
        let keys = (0..count).map(|_| (random() % values).wrapping_mul(0x9e37_79b9) << 32);
        let far = if is_far(number) { 1 << 40 } else { 0 };
        rows.push((keys.collect(), 0, far | number << 16 | 1));
    }
    rows.iter_mut().for_each(|row| row.1 = (random() % 3) as u8);
    if choice & 0x40 == 0 {
        for (keys, scope, tid) in &rows {
            let beside = beside(*scope, *tid, &meta);
            index.insert_postings(&keys_of::<K>(keys), presence(keys, *tid), &beside, 3);
        }
    } else {
        build::<K>(&store, &meta, &rows);
    }
    if choice & 0x80 != 0 {
        let dead = |tid: u64| tid >> 16 & 3 != 0;
        index.vacuum(&dead);
        rows.retain(|&(_, _, tid)| !dead(tid));
    }
    check_tables(&index);
    let (pages, free) = (store.0.pages.borrow().clone(), store.0.free.borrow().clone());
    Sound { meta, pages, free, rows }
}

fn build<K: TreeKey>(store: &MemoryStore, meta: &Meta, rows: &[Text]) {
    for table in [SETTLED, ROWS] {
        let mut sorted: Vec<Row<K>> = Vec::new();
        for (keys, scope, tid) in rows {
            let beside = beside::<K>(*scope, *tid, meta);
            if table == ROWS {
                sorted.push(beside.row(presence(keys, *tid).key()));
            } else {
                let posting = |key| Row { payload: K::Payload::ZERO, ..beside.row(key) };
                sorted.extend(keys_of::<K>(keys).into_iter().map(posting));
            }
        }
        sorted.sort_unstable();
        let mut writer = Writer::<K, _>::new(store, meta.shape(), table, 90);
        sorted.into_iter().for_each(|row| writer.push(row));
        writer.finish();
    }
}

/// An index in use, and the rows that it should have.
struct Used<K: TreeKey> {
    index: Index<K, MemoryStore>,
    store: MemoryStore,
    rows: Vec<Text>,
    is_sound: bool,
}

impl<K: TreeKey> Used<K> {
    fn work<R>(&self, run: impl FnOnce() -> R) -> Option<R> {
        work(&self.store, self.is_sound, run)
    }

    /// Searches, inserts, settles, vacuums or checks.
    fn act(&mut self, input: &mut Input<'_>) {
        let what = input.byte();
        let chosen = self.rows.get(usize::from(input.byte()) % self.rows.len().max(1)).cloned();
        let (mut keys, number, tid) = chosen.unwrap_or_default();
        if what & 0x80 != 0 {
            keys.insert(input.u64() >> 32 << 32);
        }
        match what % 8 {
            0..=2 => self.search(&keys, number, what & 0x40 != 0, input),
            3 => {
                let key = K::new(
                    self.scope(number),
                    keys_of::<K>(&keys).first().copied().unwrap_or(posting_key(0)),
                );
                let found = self.work(|| self.index.has_posting(&Entry { key, tid }));
                let is_there = keys.first().is_some_and(|first| {
                    self.rows
                        .iter()
                        .any(|row| row.0.contains(first) && (row.1, row.2) == (number, tid))
                });
                assert!(!self.is_sound || found == Some(is_there), "{found:?}, not {is_there}");
            }
            4 | 5 => self.insert(&keys, number, what & 0x40 != 0, input),
            6 => {
                let salt = u64::from(input.byte());
                let is_dead = |tid: u64| (tid >> 16 ^ salt).count_ones().is_multiple_of(3);
                let counts = self.work(|| self.index.vacuum(&is_dead));
                if counts.is_some() {
                    self.rows.retain(|&(_, _, tid)| !is_dead(tid));
                }
                let remaining = counts.map(|counts| counts.remaining);
                assert!(!self.is_sound || remaining == Some(self.rows.len() as u64));
            }
            _ => {
                if what & 0x40 != 0 {
                    self.work(|| self.index.settle_all());
                }
                self.work(|| check_tables(&self.index));
                for table in self.index.tables() {
                    self.work(|| table_facts(&self.index, table));
                }
                let walked = self.work(|| self.walk());
                assert!(!self.is_sound || walked == Some(self.rows.len()));
            }
        }
    }

    fn scope(&self, number: u8) -> K::Scope {
        scope_of::<K>(number, &self.index.meta())
    }

    /// How many rows a walk over the table of rows finds.
    fn walk(&self) -> usize {
        let mut walk = LeafWalk::new(ROWS, Entry::MIN);
        let mut rows = Vec::new();
        while walk.next_leaf(&self.index, &mut rows).is_some() {
            self.store.check_for_interrupts();
        }
        rows.len()
    }

    /// Searches for rows in one scope, or in all.
    fn search(&self, keys: &BTreeSet<u64>, number: u8, in_all: bool, input: &mut Input<'_>) {
        let shared = usize::from(input.byte()) % 4;
        let scopes = if in_all { Scopes::All } else { Scopes::One(self.scope(number)) };
        let found = self.work(|| self.candidates(keys, shared, &scopes));
        let Some(mut found) = found.filter(|_| self.is_sound) else { return };
        let is_scoped = self.index.shape.scope > 0;
        let is_wanted = |row: &&Text| {
            (in_all || !is_scoped || row.1 == number)
                && row.0.intersection(keys).count() >= shared.max(1)
        };
        let mut truth: Vec<u64> = self.rows.iter().filter(is_wanted).map(|row| row.2).collect();
        found.sort_unstable();
        truth.sort_unstable();
        assert_eq!(found, truth, "{shared} of {keys:x?}");
    }

    fn candidates(
        &self,
        keys: &BTreeSet<u64>,
        shared: usize,
        scopes: &Scopes<K::Scope>,
    ) -> Vec<u64> {
        let (index, length) = (&self.index, self.index.shape.scope);
        let mut found = Vec::new();
        let mut from = Some(K::Scope::ZERO);
        while let Some(scope) = from.and_then(|from| index.next_scope(scopes, from)) {
            let mut candidates = Candidates::new(index, scope, &keys_of::<K>(keys), shared);
            while candidates.next_batch(index, &mut found) {
                self.store.check_for_interrupts();
            }
            from = scopes.after(scope, length);
        }
        found
    }

    /// Inserts copies of a row, which soon split and settle leaves.
    fn insert(&mut self, keys: &BTreeSet<u64>, number: u8, is_far: bool, input: &mut Input<'_>) {
        let numbers = self.rows.iter().map(|row| row.2 >> 16 & 0xfffff);
        let mut next = numbers.max().unwrap_or(0);
        let most_recent = u32::from(input.byte() % 5);
        let meta = self.index.meta();
        for _ in 0..=input.byte() % 32 {
            next += 1;
            let tid = if is_far { 1 << 40 } else { 0 } | next << 16 | 1;
            let beside = beside(number, tid, &meta);
            let (mut given, known) = (keys_of::<K>(keys), presence(keys, tid));
            // Two bands may have the same key.
            given.extend(given.first().copied());
            let done =
                self.work(|| self.index.insert_postings(&given, known, &beside, most_recent));
            if done.is_some() && self.is_sound {
                self.rows.push((keys.clone(), number, tid));
            }
        }
    }
}
