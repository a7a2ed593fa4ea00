//! Connects fresh rows with what is near them, and similar if texts are compared.
//!
//! A text is read when there is somebody to compare it with, so a row without near ones costs what
//! it costs without comparison. Rows that are connected already need none: n copies of a text are
//! n comparisons, and not n²/2.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use simhash_core::sets::similarity::TextSet;

use super::neighbours::Neighbours;
use super::regroup::{Kind, Near, Regroup};
use super::setup::Setup;
use crate::bulk::sets::RowSets;
use crate::catalog::Schema;
use crate::family::verify::Verification;
use crate::guc::work_mem;
use crate::models::simhasher_for;

/// Connects the fresh rows with their neighbours, as the table is now.
pub fn search(regroup: &mut Regroup<'_>) {
    let setup = regroup.setup;
    let mut similar = setup.verification.as_ref().map(|how| Similar::new(how, setup));
    regroup.each_fresh(&mut |regroup, neighbours, near| match &mut similar {
        Some(similar) => similar.connect(regroup, neighbours, near),
        None => unite(regroup, near),
    });
}

/// Connects the rows near a fingerprint. Without a row that has the fingerprint there is nothing to
/// connect through.
fn unite(regroup: &mut Regroup<'_>, near: &[Near]) {
    if let Some(first) = near.iter().find(|near| near.distance == 0) {
        for near in near {
            regroup.take_in(near);
            regroup.link_rows(first.key, near.key);
        }
    }
}

struct Similar<'a> {
    how: &'a Verification,
    schema: Schema,
    /// Made when the first text is read.
    sets: Option<RowSets>,
    /// Digests of sets that are not similar to the one that is compared.
    refused: HashSet<u128>,
    /// Fresh rows that have been compared with all that is near them.
    done: HashSet<u32>,
}

impl<'a> Similar<'a> {
    fn new(how: &'a Verification, setup: &Setup) -> Self {
        let (refused, done) = Default::default();
        Similar { how, schema: setup.schema, sets: None, refused, done }
    }

    /// Connects the fresh rows of a fingerprint with the rows near it whose texts are similar.
    fn connect(
        &mut self,
        regroup: &mut Regroup<'_>,
        neighbours: &mut Neighbours<'_>,
        near: &[Near],
    ) {
        // A row of each set.
        let mut distinct = HashMap::new();
        for own in near.iter().filter(|near| near.distance == 0) {
            if matches!(regroup.rows[own.key as usize].kind, Kind::Absent | Kind::Live) {
                continue;
            }
            regroup.take_in(own);
            if near.len() == 1 {
                continue;
            }
            let (digest, set) = self.set(neighbours, own);
            if set.is_empty() {
                continue;
            }
            match distinct.entry(digest) {
                Entry::Occupied(first) => regroup.link_rows(*first.get(), own.key),
                Entry::Vacant(first) => {
                    first.insert(own.key);
                    self.compare(regroup, neighbours, own, &set, near);
                    self.done.insert(own.key);
                }
            }
        }
    }

    /// Connects a row with those whose texts are similar to its own.
    fn compare(
        &mut self,
        regroup: &mut Regroup<'_>,
        neighbours: &mut Neighbours<'_>,
        own: &Near,
        set: &Rc<TextSet>,
        near: &[Near],
    ) {
        self.refused.clear();
        for other in near {
            pgrx::check_for_interrupts!();
            // A row that is done would have been connected, if it were similar.
            if self.done.contains(&other.key) || regroup.is_connected(own.key, other) {
                continue;
            }
            let (digest, theirs) = self.set(neighbours, other);
            if self.refused.contains(&digest) {
                continue;
            }
            if self.sets().verified(set, &theirs).is_some() {
                regroup.take_in(other);
                regroup.link_rows(own.key, other.key);
            } else {
                self.refused.insert(digest);
            }
        }
    }

    fn sets(&mut self) -> &mut RowSets {
        let (how, schema) = (self.how, self.schema);
        self.sets.get_or_insert_with(|| {
            let simhasher = simhasher_for(how.shingles.clone(), schema);
            RowSets::new(how.similarity, simhasher, work_mem() / 4)
        })
    }

    fn set(&mut self, neighbours: &mut Neighbours<'_>, row: &Near) -> (u128, Rc<TextSet>) {
        // SAFETY: the column has the representation of text, and the text lives until the next one
        // is read.
        unsafe { self.sets().set(u64::from(row.key), || neighbours.text(row.place)) }
    }
}
