//! How good clusters are: each member's distance or similarity to its representative.

use simhash_core::Fingerprint;
use simhash_core::search::TreeKey;

use super::clusters::Member;
use super::errors::raise_is_of_texts;
use super::heap::Heaps;
use super::keys::keys_of;
use super::target::{OpenedAll, Target};
use super::verify::{Verification, Verifier};
use crate::guc::work_mem;
use crate::storage::{check_for_interrupts, family, with_block_key_type};

/// A member, with its distance to the representative and the greatest in its cluster; or with its
/// similarity to it and the least in its cluster.
#[derive(Clone, Copy, Debug)]
pub struct Measured {
    pub member: Member,
    pub own: f64,
    pub worst: f64,
}

/// About so many members are measured while the tables are open.
const TOGETHER: usize = 1 << 14;

/// Measures members. Those of one cluster follow each other.
pub struct Measuring<M: Iterator<Item = Member>> {
    target: Target,
    members: std::iter::Peekable<M>,
    verifier: Option<Verifier>,
    ready: std::vec::IntoIter<Measured>,
}

impl<M: Iterator<Item = Member>> Measuring<M> {
    /// Measures distances, or with `verification` similarities.
    pub fn new(target: Target, members: M, verification: Option<Verification>) -> Self {
        let verifier =
            verification.map(|how| Verifier::new(&target, how.of_any_similarity(), work_mem() / 4));
        let (members, ready) = (members.peekable(), Vec::new().into_iter());
        Self { target, members, verifier, ready }
    }

    /// The members of the next clusters, each cluster whole.
    fn next_batch(&mut self) -> Vec<Measured> {
        let mut batch: Vec<Measured> = Vec::new();
        while let Some(&(_, representative, _)) = self.members.peek() {
            check_for_interrupts();
            if batch.len() >= TOGETHER
                && batch.last().map(|last| last.member.1) != Some(representative)
            {
                break;
            }
            let Some(member) = self.members.next() else { break };
            batch.push(Measured { member, own: 0.0, worst: 0.0 });
        }
        if batch.is_empty() {
            return batch;
        }
        let opened = self.target.open();
        match &mut self.verifier {
            Some(verifier) => compare(&opened, verifier, &mut batch),
            None => measure(&opened, &mut batch),
        }
        let worse = if self.verifier.is_some() { f64::min } else { f64::max };
        for cluster in batch.chunk_by_mut(|a, b| a.member.1 == b.member.1) {
            let worst = cluster.iter().map(|measured| measured.own).reduce(worse);
            cluster.iter_mut().for_each(|measured| measured.worst = worst.unwrap_or(0.0));
        }
        batch
    }
}

impl<M: Iterator<Item = Member>> Iterator for Measuring<M> {
    type Item = Measured;

    fn next(&mut self) -> Option<Measured> {
        if self.ready.len() == 0 {
            self.ready = self.next_batch().into_iter();
        }
        self.ready.next()
    }
}

fn compare(opened: &OpenedAll, verifier: &mut Verifier, batch: &mut [Measured]) {
    verifier.read_ahead(
        opened,
        batch.iter().flat_map(|measured| [measured.member.0, measured.member.1]),
    );
    let mut heaps = Heaps::new(opened);
    for measured in batch {
        check_for_interrupts();
        let (member, representative, _) = measured.member;
        measured.own = verifier.verified(&mut heaps, member, representative).unwrap_or(0.0);
    }
}

fn measure(opened: &OpenedAll, batch: &mut [Measured]) {
    let Some(first) = opened.first() else { return };
    with_block_key_type!(family(first.rel()), K => measure_keys::<K>(opened, batch),
        raise_is_of_texts(&first.rel().name()));
}

fn measure_keys<K: TreeKey>(opened: &OpenedAll, batch: &mut [Measured]) {
    // Representatives are members, too.
    let members: Vec<u64> = batch.iter().map(|measured| measured.member.0).collect();
    let keys: Vec<K::Fingerprint> = keys_of::<K>(opened, &members)
        .into_iter()
        .map(|key| key.unwrap_or(K::Fingerprint::ZERO))
        .collect();
    let mut start = 0;
    for cluster in batch.chunk_by_mut(|a, b| a.member.1 == b.member.1) {
        let keys = &keys[start..start + cluster.len()];
        start += cluster.len();
        let own = cluster.iter().position(|measured| measured.member.0 == measured.member.1);
        let Some(own) = own.map(|own| keys[own]) else { continue };
        for (measured, key) in cluster.iter_mut().zip(keys) {
            measured.own = f64::from(own.hamming(*key));
        }
    }
}
