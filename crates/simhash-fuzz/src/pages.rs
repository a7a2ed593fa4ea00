//! An index whose pages hold anything: all work on it ends, with an answer or with the ERROR that
//! the index is damaged, and never waits for a page that it has locked. Without damage the answer
//! is that of a comparison with every row.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use simhash_core::Fingerprint;
use simhash_core::search::BlockLayout;
use simhash_index::build::{Writer, initialize};
use simhash_index::check::check_tables;
use simhash_index::facts::table_facts;
use simhash_index::key::{Bytes, Scoped, TreeKey};
use simhash_index::nearest::Nearest;
use simhash_index::range::RangeScan;
use simhash_index::{Budget, Cache, Index, Meta, Scopes};

use crate::damaged::{beside, damage, scope_of, work};
use crate::input::Input;
use crate::store::MemoryStore;

/// A sound index, and its rows: fingerprint, number of the scope, TID.
#[derive(Clone)]
struct Sound<F> {
    meta: Meta,
    pages: Vec<Rc<[u8]>>,
    free: Vec<u32>,
    rows: Vec<(F, u8, u64)>,
}

/// Sound indexes, made once, by the first byte.
type Made<F> = RefCell<HashMap<u8, Rc<Sound<F>>>>;

thread_local! {
    static PLAIN: Made<u64> = RefCell::default();
    static SCOPED: Made<u128> = RefCell::default();
}

/// The first byte chooses the index. The second says how many places are damaged; from 128 on, it
/// chooses an index of postings. The rest says where, and what is done then.
pub fn run(data: &[u8]) {
    if data.get(1).is_some_and(|&places| places >= 128) {
        return crate::postings::run(data);
    }
    let mut input = Input::new(data);
    let choice = input.byte();
    if choice & 1 == 0 {
        damage_and_use::<u64>(&PLAIN, choice, input);
    } else {
        damage_and_use::<Scoped<u128, 3>>(&SCOPED, choice, input);
    }
}

fn damage_and_use<K: TreeKey>(
    made: &'static std::thread::LocalKey<Made<K::Fingerprint>>,
    choice: u8,
    mut input: Input<'_>,
) {
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
        let cache = Cache::<K, ()>::new(&store, meta, Rc::new(Budget::new(8)));
        Index::new(store.clone(), Rc::new(cache))
    });
    // A damaged meta page may ask for keys of another type. The extension refuses that earlier.
    let Some(index) = index.filter(|index| index.meta() == sound.meta) else { return };
    let mut rows = sound.rows.clone();
    for _ in 0..8 {
        if input.is_empty() && !is_sound {
            break;
        }
        act(&index, &store, &mut rows, is_sound, &mut input);
        if is_sound && input.is_empty() {
            break;
        }
    }
}

/// An index of up to some hundred rows, which are random, alike, or copies of a few. It is built or
/// filled by insertions, and perhaps vacuumed.
fn make<K: TreeKey>(choice: u8) -> Sound<K::Fingerprint> {
    let bits = K::Fingerprint::BITS;
    let is_scoped = K::Scope::BYTES > 0;
    let (scope, payload) = if is_scoped { (4, 5) } else { (0, 0) };
    let meta = Meta { kind: 1, bits, blocks: 4, scope, payload, ..Meta::default() };
    let store = MemoryStore::default();
    initialize::<K, _>(&store, meta, &[]);
    let cache = Cache::<K, ()>::new(&store, meta, Rc::new(Budget::new(8)));
    let index = Index::<K, _>::new(store.clone(), Rc::new(cache));
    let mut seed = u64::from(choice >> 1) + 1;
    let mut random = || {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        seed ^ seed >> 32
    };
    let kind = choice >> 1 & 3;
    let count = 20 + 60 * u64::from(choice >> 3 & 7);
    let mut rows = Vec::new();
    for number in 1..=count {
        let word = match kind {
            0 => random(),
            1 => random() & 0xff,
            2 => 0x0123_4567_89ab_cdef ^ 1 << (random() % 6),
            _ => random() % 3,
        };
        let fp = K::Fingerprint::from_words(|place| word.rotate_left(7 * place as u32));
        rows.push((fp, (random() % 3) as u8, number << 16 | 1));
    }
    if choice & 0x40 == 0 {
        for &(fp, scope, tid) in &rows {
            index.insert(&[fp], &beside(scope, tid, &meta));
        }
        index.insert(&[], &beside(0, 1 << 40 | 1, &meta));
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

fn build<K: TreeKey>(store: &MemoryStore, meta: &Meta, rows: &[(K::Fingerprint, u8, u64)]) {
    let layout = BlockLayout::of_bits(meta.bits, meta.blocks).expect("four blocks");
    for table in 0..meta.blocks {
        let mut sorted: Vec<_> = rows
            .iter()
            .map(|&(fp, scope, tid)| beside::<K>(scope, tid, meta).row(layout.rotate(fp, table)))
            .collect();
        sorted.sort_by_key(|row| row.entry);
        let mut writer = Writer::<K, _>::new(store, meta.shape(), table as u8, 90);
        sorted.into_iter().for_each(|row| writer.push(row));
        writer.finish();
    }
}

/// Scans, inserts, vacuums or checks.
fn act<K: TreeKey>(
    index: &Index<K, MemoryStore>,
    store: &MemoryStore,
    rows: &mut Vec<(K::Fingerprint, u8, u64)>,
    is_sound: bool,
    input: &mut Input<'_>,
) {
    let what = input.byte();
    let meta = index.meta();
    let mut next = rows.iter().map(|row| row.2 >> 16 & 0xffff_ffff & !(1 << 30)).max().unwrap_or(0);
    let chosen = rows.get(usize::from(input.byte()) % rows.len().max(1)).copied();
    let (near, number, _) = chosen.unwrap_or((K::Fingerprint::ZERO, 0, 1));
    let query = if what & 0x80 == 0 { near } else { K::Fingerprint::from_number(input.u64()) };
    let only = (what & 0x40 == 0 && meta.scope > 0).then_some(number);
    let scopes = only.map_or(Scopes::All, |number| Scopes::One(scope_of::<K>(number, &meta)));
    let wanted = |row: &(K::Fingerprint, u8, u64)| only.is_none_or(|number| row.1 == number);
    match what % 8 {
        0..=2 => {
            let distance = u32::from(input.byte()) % (meta.bits / 2);
            let found = work(store, is_sound, || range(index, store, query, distance, scopes));
            if let (true, Some(mut found)) = (is_sound, found) {
                let near = |row: &&(K::Fingerprint, u8, u64)| row.0.hamming(query) <= distance;
                let all = rows.iter().filter(|row| wanted(row));
                let mut truth: Vec<u64> = all.filter(near).map(|row| row.2).collect();
                found.sort_unstable();
                truth.sort_unstable();
                assert_eq!(found, truth, "within {distance}");
            }
        }
        3 => {
            let count = usize::from(input.byte()) % 20;
            let found = work(store, is_sound, || nearest(index, query, scopes, count));
            if let (true, Some(found)) = (is_sound, found) {
                let all = rows.iter().filter(|row| wanted(row));
                let mut truth: Vec<u32> = all.map(|row| row.0.hamming(query)).collect();
                truth.sort_unstable();
                assert!(found.len() >= count.min(truth.len()), "{} rows", found.len());
                assert_eq!(found, truth[..found.len()]);
            }
        }
        4 | 5 => {
            // Copies soon split leaves.
            for _ in 0..=input.byte() % 32 {
                next += 1;
                let tid = (1 << 30 | next) << 16 | 1;
                let insert = || index.insert(&[query], &beside(number, tid, &meta));
                if work(store, is_sound, insert).is_some() && is_sound {
                    rows.push((query, number, tid));
                }
            }
        }
        6 => {
            let salt = u64::from(input.byte());
            let is_dead = |tid: u64| (tid >> 16 ^ salt).count_ones().is_multiple_of(3);
            if work(store, is_sound, || index.vacuum(&is_dead)).is_some() {
                rows.retain(|&(_, _, tid)| !is_dead(tid));
            }
        }
        _ => {
            work(store, is_sound, || check_tables(index));
            for table in index.tables() {
                work(store, is_sound, || table_facts(index, table));
            }
        }
    }
}

fn range<K: TreeKey>(
    index: &Index<K, MemoryStore>,
    store: &MemoryStore,
    query: K::Fingerprint,
    distance: u32,
    scopes: Scopes<K::Scope>,
) -> Vec<u64> {
    use simhash_index::Store;
    let plan = index.plan(distance, &index.extent(&scopes));
    let mut scan = RangeScan::new(plan, query, scopes);
    let (mut batch, mut found) = (Vec::new(), Vec::new());
    while let Some(leaf) = scan.next_leaf(index, distance, &mut batch) {
        drop(leaf);
        found.extend(batch.drain(..).map(|hit| hit.tid));
        store.check_for_interrupts();
    }
    found
}

fn nearest<K: TreeKey>(
    index: &Index<K, MemoryStore>,
    query: K::Fingerprint,
    scopes: Scopes<K::Scope>,
    count: usize,
) -> Vec<u32> {
    let mut scan = Nearest::new(index, (query, u32::MAX), scopes);
    let mut batch = Vec::new();
    while batch.len() < count && scan.next_batch(index, &mut batch) {}
    batch.iter().map(|hit| hit.distance).collect()
}
