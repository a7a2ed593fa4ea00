//! `simhash_pairs`: the pairs of rows, one after the other as they are asked for.

use pgrx::pg_sys;
use simhash_core::join::GroupPair;
use simhash_core::search::TreeKey;

use super::errors::checked_distance;
use super::progress::Command;
use super::session::{Session, Side};
use super::target::{Target, bits};
use crate::storage::{family, with_key_type};

/// Two rows by their visible versions' TIDs, the lesser first, and their distance.
pub type Pair = (u64, u64, u32);

/// All pairs of an index's rows within a distance.
pub fn pairs(index: pg_sys::Oid, distance: i32) -> Box<dyn Iterator<Item = Pair>> {
    let target = Target::new(index);
    let opened = target.open();
    let distance = checked_distance(distance, bits(&opened));
    with_key_type!(family(opened.rel()), K => Box::new(Pairs::<K> {
        session: Session::new(target, &opened, distance, Command::Pairs),
        next: 0,
        product: Product::default(),
    }))
}

struct Pairs<K: TreeKey> {
    session: Session<K>,
    /// Which of the session's pairs of groups comes next.
    next: usize,
    product: Product,
}

/// The rows of one group with those of another, or with each other.
#[derive(Default)]
struct Product {
    left: Vec<u64>,
    right: Vec<u64>,
    /// Both are the same group: pairs above the diagonal.
    triangular: bool,
    distance: u32,
    at: (usize, usize),
}

impl Iterator for Product {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        let right = if self.triangular { &self.left } else { &self.right };
        while let Some(&a) = self.left.get(self.at.0) {
            if let Some(&b) = right.get(self.at.1) {
                self.at.1 += 1;
                return Some((a.min(b), a.max(b), self.distance));
            }
            let row = self.at.0 + 1;
            self.at = (row, if self.triangular { row + 1 } else { 0 });
        }
        None
    }
}

impl<K: TreeKey> Pairs<K> {
    /// Goes on to a pair of groups, of which only the rows that the query sees count.
    fn start(&mut self, found: GroupPair) {
        let GroupPair { left, right, distance } = found;
        let triangular = left == right && distance == 0 && self.session.is_one_chunk();
        self.session.visible(Side::Left, left, &mut self.product.left);
        self.product.right.clear();
        if !triangular {
            self.session.visible(Side::Right, right, &mut self.product.right);
        }
        self.product.triangular = triangular;
        self.product.distance = distance;
        self.product.at = (0, usize::from(triangular));
    }
}

impl<K: TreeKey> Iterator for Pairs<K> {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        loop {
            if let Some(pair) = self.product.next() {
                return Some(pair);
            }
            if let Some(&found) = self.session.found.get(self.next) {
                self.next += 1;
                self.start(found);
            } else {
                self.next = 0;
                if !self.session.next_batch() {
                    return None;
                }
            }
        }
    }
}
