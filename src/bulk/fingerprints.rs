//! The cover of fingerprints by distance: the rows that are dropped, each with the kept row that
//! represents it.

use std::collections::HashMap;

use pgrx::PgSqlErrorCode;
use simhash_core::base::memory::NoMemory;
use simhash_core::search::TreeKey;
use simhash_core::whole::join::{
    Asked, Beside, Nearest, bytes_per_row_of_cover, cover, nearest_of,
};
use simhash_index::Entry;

use super::contained::{Near, Sharing};
use super::errors::{checked_distance, no_memory, raise_is_of_texts};
use super::heap::{Heap, Heaps};
use super::leaves::each_entry;
use super::order::in_order;
use super::places::Places;
use super::progress::{self, Command, Progress};
use super::row;
use super::session::open_all;
use super::target::{Named, OpenedAll, Target, bits};
use super::texts::passages::Row;
use super::verify::{Verification, Verifier};
use crate::error::{raise, reserve};
use crate::guc::work_mem;
use crate::storage::{Index, check_for_interrupts, family, with_block_key_type};

/// A row that is dropped.
pub struct Duplicate {
    pub row: u64,
    pub kept: u64,
    pub distance: u32,
    pub similarity: f64,
}

/// The rows that the cover in the order of `keep` drops; for two tables, the rows of the first that
/// are near a row of the second. Rows are given by the numbers of their visible versions, in the
/// order of `keep`.
pub fn duplicates(
    target: Target,
    distance: i32,
    verification: Option<Verification>,
    keep: Option<&str>,
    command: Command,
    sharing: Option<Sharing>,
) -> Vec<Duplicate> {
    let mut verifier = verification.map(|how| Verifier::new(&target, how, work_mem() / 4));
    // This query runs as the caller, so before the tables are opened with their owners' privileges.
    let ordered = keep.map(|keep| in_order(&target, keep));
    let opened = target.open();
    let Some(first) = opened.first() else { return Vec::new() };
    let distance = checked_distance(distance, bits(first));
    let Named { table, index } = target.named[0];
    let progress = Progress::start(command, table, index, 1, 0);
    with_block_key_type!(family(first.rel()), K => {
        let indexes = open_all::<K>(&opened);
        let rows = Rows::<K>::read(&opened, &indexes, target.split, ordered);
        progress.expect_rows(rows.keys.len());
        let beside = match (&mut verifier, sharing) {
            (Some(verifier), Some(sharing)) => rows.beside(&target, verifier, sharing),
            _ => Beside::default(),
        };
        progress::comparing();
        let mut asking = Asking {
            verifier: verifier.as_mut().map(|verifier| (verifier, Heaps::new(&opened))),
            opened: &opened,
            visible: &rows.visible,
        };
        let (keys, layout) = (&rows.keys[..], indexes[0].layout);
        let found = match rows.split {
            None => cover(keys, layout, distance, &beside, &mut asking),
            Some(split) => nearest_of(keys, split, layout, distance, &beside, &mut asking),
        };
        let duplicate = |(row, nearest): (usize, Option<Nearest>)| {
            let Nearest { row: kept, distance, similarity } = nearest?;
            let kept = rows.visible[kept as usize];
            Some(Duplicate { row: rows.visible[row], kept, distance, similarity })
        };
        found.into_iter().enumerate().filter_map(duplicate).collect()
    }, raise_is_of_texts(&first.rel().name()))
}

/// Visible rows with fingerprints, in order.
pub struct Rows<K> {
    pub keys: Vec<K>,
    /// The numbers of their visible versions.
    pub visible: Vec<u64>,
    /// For two tables: how many rows of the second there are. They precede those of the first.
    split: Option<usize>,
}

impl<K: TreeKey> Rows<K> {
    pub fn read(
        opened: &OpenedAll,
        indexes: &[Index<K>],
        split: Option<usize>,
        ordered: Option<(Vec<u64>, HashMap<u64, u64>)>,
    ) -> Self {
        progress::reading();
        let (keys, visible) = (Vec::new(), Vec::new());
        let mut rows = Self { keys, visible, split: None };
        let own = split.unwrap_or(indexes.len());
        if split.is_some() {
            rows.take_visible(opened, indexes, own..indexes.len());
            rows.split = Some(rows.keys.len());
        }
        match ordered {
            None => rows.take_visible(opened, indexes, 0..own),
            Some((numbers, visible)) => rows.take_in_order(&indexes[..own], numbers, &visible),
        }
        rows
    }

    /// The similar texts that share a passage, as classes of rows and pairs of classes.
    fn beside(&self, target: &Target, verifier: &mut Verifier, mut sharing: Sharing) -> Beside {
        let [of_row, of_pair] = Beside::BYTES;
        // During this look-up, the number and place of each row are in `places`, too.
        let of_row = of_row + size_of::<(u64, u32)>();
        if self.keys.len() * (bytes_per_row::<K>() + of_row) > work_mem() {
            raise_no_room(self.keys.len());
        }
        let mut places: Vec<(u64, u32)> = self.visible.iter().copied().zip(0..).collect();
        places.sort_unstable();
        let place = |row: Row| {
            let found = places.binary_search_by_key(&row.visible, |&(visible, _)| visible).ok()?;
            Some(places[found].1 as usize)
        };
        let mut numbers: HashMap<u32, u32> = HashMap::new();
        let mut classes = vec![Beside::NONE; self.keys.len()];
        let mut pairs = Vec::new();
        while let Some(near) = sharing.next_batch(target, verifier) {
            for Near { a, b, similarity } in near {
                let [a, b] = [a, b].map(|text| {
                    let next = numbers.len() as u32;
                    *numbers.entry(text).or_insert_with(|| {
                        let rows = sharing.rows(text).filter_map(place);
                        rows.for_each(|place| classes[place] = next);
                        next
                    })
                });
                pairs.push((a, b, similarity));
            }
            if pairs.len() * of_pair > work_mem() / 4 {
                raise_many_pairs(pairs.len());
            }
        }
        Beside::new(classes, pairs)
    }

    fn push(&mut self, key: K, visible: u64) {
        let bytes = (self.keys.len() + 1) * bytes_per_row::<K>();
        if bytes > work_mem() {
            raise_no_room(self.keys.len());
        }
        reserve(&mut self.keys, 1);
        reserve(&mut self.visible, 1);
        self.keys.push(key);
        self.visible.push(visible);
    }

    /// Adds the visible rows of some indexes, ordered by table and by the TIDs in the index.
    fn take_visible(
        &mut self,
        opened: &OpenedAll,
        indexes: &[Index<K>],
        tables: std::ops::Range<usize>,
    ) {
        for table in tables {
            let mut of_table = Vec::new();
            each_row(&indexes[table], |key, tid| {
                reserve(&mut of_table, 1);
                of_table.push((tid, key));
            });
            of_table.sort_unstable();
            let mut heap = Heap::new(&opened[table]);
            for (tid, key) in of_table {
                if let Some(visible) = heap.visible(tid) {
                    self.push(key, row::number(table, visible));
                }
            }
        }
    }

    /// Adds the rows of a list of numbers, in its order.
    fn take_in_order(
        &mut self,
        indexes: &[Index<K>],
        numbers: Vec<u64>,
        visible: &HashMap<u64, u64>,
    ) {
        let places = Places::new(numbers, indexes.len(), None);
        let mut keys: Vec<Option<K>> = Vec::new();
        reserve(&mut keys, places.len() as usize);
        keys.resize(places.len() as usize, None);
        for (table, index) in indexes.iter().enumerate() {
            each_row(index, |key, tid| {
                if let Some(place) = places.get(row::number(table, tid)) {
                    keys[place as usize] = Some(key);
                }
            });
        }
        for (place, key) in (0..).zip(keys) {
            if let Some(key) = key {
                let number = places.number(place);
                self.push(key, visible.get(&number).copied().unwrap_or(number));
            }
        }
    }
}

/// Calls `each` with the key and the TID of each row of an index whose scope has no NULL.
fn each_row<K: TreeKey>(index: &Index<K>, mut each: impl FnMut(K, u64)) {
    // In the first block table fingerprints are not rotated.
    each_entry(index, 0, |Entry { key, tid, .. }| each(key, tid));
}

/// The bytes needed for each row.
fn bytes_per_row<K: TreeKey>() -> usize {
    bytes_per_row_of_cover::<K>() + size_of::<u64>()
}

pub fn raise_no_room(rows: usize) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        format!(
            "at least {rows} rows need more than the {} MB that simhash.work_mem allows",
            work_mem() >> 20
        ),
        "Raise simhash.work_mem: a million rows need up to 100 MB with 64 bits and up to 200 MB \
         with 256 bits.",
    )
}

fn raise_many_pairs(pairs: usize) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        format!(
            "at least {pairs} pairs of texts that share a passage need more than a quarter of the \
             {} MB that simhash.work_mem allows",
            work_mem() >> 20
        ),
        "Raise simhash.work_mem: a million pairs of texts need 320 MB of it.",
    )
}

/// Compares texts, if they decide.
struct Asking<'a> {
    verifier: Option<(&'a mut Verifier, Heaps<'a>)>,
    opened: &'a OpenedAll,
    visible: &'a [u64],
}

impl Asked for Asking<'_> {
    fn similarity(&mut self, row: u32, other: u32) -> Option<f64> {
        let Some((verifier, heaps)) = &mut self.verifier else { return Some(0.0) };
        check_for_interrupts();
        verifier.verified(heaps, self.visible[row as usize], self.visible[other as usize])
    }

    fn expect(&mut self, pairs: &[(u32, u32, u32)]) {
        if let Some((verifier, _)) = &mut self.verifier {
            let rows = pairs.iter().flat_map(|&(row, other, _)| [row, other]);
            verifier.read_ahead(self.opened, rows.map(|row| self.visible[row as usize]));
        }
    }

    fn is_verified(&self) -> bool {
        self.verifier.is_some()
    }

    fn check(&mut self, share: f64) {
        check_for_interrupts();
        progress::compared(share);
    }

    fn refused(&mut self, refused: NoMemory) -> ! {
        no_memory(refused)
    }
}
