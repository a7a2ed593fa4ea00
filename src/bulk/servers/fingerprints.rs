//! Compares the fingerprints of a table with parts on several servers: all are sent here, and
//! compared in memory.

use std::collections::HashMap;

use pgrx::pg_sys;
use simhash_core::Fingerprint;
use simhash_core::base::key::Key;
use simhash_core::base::memory::NoMemory;
use simhash_core::search::BlockLayout;
use simhash_core::whole::join::{
    Asked, Beside, Members, Nearest, RowPairs, bytes_per_row_of_cover, bytes_per_row_of_pairs,
    cover,
};

use super::messages::{expect, fingerprints_of};
use super::parts::{Parts, Wanted};
use crate::bulk::clusters::Member;
use crate::bulk::errors::{checked_distance, no_memory};
use crate::bulk::fingerprints::{Duplicate, raise_no_room};
use crate::bulk::measured::Measured;
use crate::bulk::order::versions_in_order;
use crate::bulk::pairs::{Pair, Product};
use crate::bulk::progress::{self, Command, Progress};
use crate::bulk::row;
use crate::error::reserve;
use crate::guc::work_mem;
use crate::storage::{check_for_interrupts, with_fingerprint_type};

/// The parts of a table, and the distance by which their fingerprints are compared.
pub struct Asking {
    parts: Parts,
    distance: u32,
    progress: Progress,
}

impl Asking {
    pub fn new(table: pg_sys::Oid, distance: i32, command: Command) -> Self {
        let parts = Parts::of(table, Wanted::Fingerprints);
        let distance = checked_distance(distance, parts.bits());
        let progress = Progress::start(command, table, table, 1, 0);
        Self { parts, distance, progress }
    }

    /// The tables. A table's place in this list is part of its rows' numbers.
    pub fn tables(&self) -> std::rc::Rc<[pg_sys::Oid]> {
        self.parts.tables()
    }

    fn layout(&self) -> BlockLayout {
        let bits = self.parts.bits();
        expect(BlockLayout::of_bits(bits, (bits / 16).clamp(1, 16)))
    }

    /// All rows, in the order of `keep`.
    fn rows<F: Key>(&mut self, keep: Option<&str>, bytes: usize) -> Rows<F> {
        progress::reading();
        // Before the parts are asked: versions that this query sees keep their TIDs until the
        // transaction ends.
        let order = keep.map(|keep| {
            let tables = self.parts.tables();
            versions_in_order(self.parts.table, tables.iter().copied(), keep)
        });
        let mut rows = Rows { keys: Vec::new(), visible: Vec::new() };
        self.parts.ask_all(
            |_, part| Some(part.messages("simhash_part_fingerprints", "")),
            &mut |place, message| {
                for (tid, key) in fingerprints_of::<F>(message) {
                    rows.push(key, row::number(place, tid), bytes);
                }
            },
        );
        self.parts.end();
        if let Some(order) = order {
            rows = rows.in_order(&order);
        }
        self.progress.expect_rows(rows.keys.len());
        progress::read(rows.keys.len());
        rows
    }

    /// The rows that the cover in the order of `keep` drops.
    pub fn duplicates(mut self, keep: Option<&str>) -> Vec<Duplicate> {
        let (layout, distance) = (self.layout(), self.distance);
        with_fingerprint_type!(self.parts.bits(), F => {
            let bytes = bytes_per_row_of_cover::<F>() + size_of::<u64>();
            let rows = self.rows::<F>(keep, bytes);
            let beside = Beside::default();
            let found = cover(&rows.keys, layout, distance, &beside, &mut Alone);
            let duplicate = |(row, nearest): (usize, Option<Nearest>)| {
                let Nearest { row: kept, distance, similarity } = nearest?;
                let kept = rows.visible[kept as usize];
                Some(Duplicate { row: rows.visible[row], kept, distance, similarity })
            };
            found.into_iter().enumerate().filter_map(duplicate).collect()
        })
    }

    /// All pairs within the distance, as they are found.
    pub fn pairs(mut self) -> Box<dyn Iterator<Item = Pair>> {
        let (layout, distance) = (self.layout(), self.distance);
        with_fingerprint_type!(self.parts.bits(), F => {
            let bytes = bytes_per_row_of_pairs::<F>() + size_of::<u64>();
            let Rows { keys, visible } = self.rows::<F>(None, bytes);
            let pairs = RowPairs::new(keys, layout, distance);
            let product = Product::default();
            Box::new(Pairs { pairs, visible, product, _asking: self })
        })
    }

    /// All clusters that chains of pairs make.
    pub fn clusters(mut self) -> Vec<Measured> {
        let (layout, distance) = (self.layout(), self.distance);
        with_fingerprint_type!(self.parts.bits(), F => {
            let bytes = bytes_per_row_of_pairs::<F>() + 3 * size_of::<u64>();
            let Rows { keys, visible } = self.rows::<F>(None, bytes);
            let mut pairs = RowPairs::new(keys.clone(), layout, distance);
            let mut members = Members::default();
            let check = &mut check_for_interrupts;
            let (mut left, mut right) = (Vec::new(), Vec::new());
            while pairs.next_groups(&mut Alone, &mut left, &mut right).is_some() {
                let mut first = None;
                // The rows of a group are returned by themselves before the group is paired with
                // others.
                let others = right.first().into_iter();
                let own = if right.is_empty() { left.len() } else { 1 };
                for &row in left.iter().take(own).chain(others) {
                    check_for_interrupts();
                    let address = visible[row as usize];
                    let number = members.remember(address, check);
                    let number = number.unwrap_or_else(|refused| no_memory(refused));
                    members.set_visible(number, Some(address));
                    members.unite(*first.get_or_insert(number), number);
                }
            }
            drop(pairs);
            let clusters = members.into_clusters(check);
            let clusters = clusters.unwrap_or_else(|refused| no_memory(refused));
            let of_row: HashMap<u64, F> = visible.into_iter().zip(keys).collect();
            let apart = |(member, representative, _): Member| {
                let two = of_row.get(&member).zip(of_row.get(&representative));
                two.map_or(0.0, |(&a, &b)| f64::from(a.hamming(b)))
            };
            let mut measured: Vec<Measured> = clusters
                .map(|(representative, member, size)| (member, representative, size))
                .map(|member| Measured { member, own: apart(member), worst: 0.0 })
                .collect();
            for cluster in measured.chunk_by_mut(|a, b| a.member.1 == b.member.1) {
                let worst = cluster.iter().map(|one| one.own).fold(0.0, f64::max);
                cluster.iter_mut().for_each(|one| one.worst = worst);
            }
            measured
        })
    }
}

/// Visible rows with fingerprints, in an order, by the numbers of their versions.
struct Rows<F> {
    keys: Vec<F>,
    visible: Vec<u64>,
}

impl<F: Fingerprint> Rows<F> {
    fn push(&mut self, key: F, visible: u64, bytes: usize) {
        if (self.keys.len() + 1) * bytes > work_mem() {
            raise_no_room(self.keys.len());
        }
        reserve(&mut self.keys, 1);
        reserve(&mut self.visible, 1);
        self.keys.push(key);
        self.visible.push(visible);
    }

    /// The rows that are in a list, in its order.
    fn in_order(self, order: &[u64]) -> Self {
        let of_row: HashMap<u64, F> = self.visible.into_iter().zip(self.keys).collect();
        let there = order.iter().filter(|row| of_row.contains_key(row)).copied();
        let visible: Vec<u64> = there.collect();
        Self { keys: visible.iter().map(|row| of_row[row]).collect(), visible }
    }
}

/// Pairs of rows, one pair of groups after the other.
struct Pairs<F: Key> {
    pairs: RowPairs<F>,
    visible: Vec<u64>,
    product: Product,
    _asking: Asking,
}

impl<F: Key> Iterator for Pairs<F> {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        loop {
            if let Some(pair) = self.product.next() {
                return Some(pair);
            }
            let (mut left, mut right) = (Vec::new(), Vec::new());
            let distance = self.pairs.next_groups(&mut Alone, &mut left, &mut right)?;
            let [left, right] = [left, right]
                .map(|rows| rows.into_iter().map(|row| self.visible[row as usize]).collect());
            self.product = Product::new(left, right, distance);
        }
    }
}

/// Fingerprints alone decide.
struct Alone;

impl Asked for Alone {
    fn similarity(&mut self, _: u32, _: u32) -> Option<f64> {
        Some(0.0)
    }

    fn is_verified(&self) -> bool {
        false
    }

    fn check(&mut self, share: f64) {
        check_for_interrupts();
        progress::compared(share);
    }

    fn refused(&mut self, refused: NoMemory) -> ! {
        no_memory(refused)
    }
}
