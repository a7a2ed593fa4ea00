//! Programs for an index of postings: rows with several keys, searches for rows that share keys,
//! and postings that settle all the time.

use simhash_index::TreeKey;
use simhash_index::postings::ROWS;

use super::{Base, Keys, Op, Part, Program, Site, churn, part, searcher, vacuumer};
use crate::coding::{Coding, choose_postings};
use crate::random::Random;
use crate::world::ACTORS;

impl Keys {
    /// Either many keys, or few that many rows share, so that the postings of one span leaves.
    fn of_postings<K: TreeKey>(coding: &Coding<K>, random: &mut Random) -> Self {
        let count = random.pick(&[1, 2, 5, 12, 40]);
        let mut centres: Vec<u64> = (0..count).map(|_| coding.key_of(random.next())).collect();
        if random.one_in(4) {
            // The least key and the greatest.
            centres.extend([0, coding.key_of(u64::MAX)]);
        }
        Self {
            centres,
            spread: random.pick(&[0, 0, 0, 1, 6]),
            keyless: random.pick(&[3, 12, 1000]),
            most: random.pick(&[1, 3, 6, 10]),
            ..Self::around(coding, random)
        }
    }

    /// The keys of a search, one of them possibly repeated.
    fn wanted(&self, random: &mut Random) -> Vec<u64> {
        let mut keys = self.set(random.below(self.most + 2) + 1, random);
        if random.one_in(4) {
            keys.push(random.pick(&keys));
        }
        keys
    }

    pub fn search(&self, random: &mut Random) -> Op {
        let keys = self.wanted(random);
        let shared = random.pick(&[1, 1, 2, 2, 3, keys.len()]);
        let scopes = self.selection(random);
        Op::Search { keys, shared, scopes, rows: random.pick(&[1, 5, 1000, 1000, 1000]) }
    }

    fn exclude_sharing(&self, random: &mut Random) -> Op {
        let keys = self.set(random.below(self.most) + 1, random);
        let shared = random.below(keys.len()) + 1;
        Op::ExcludeSharing { keys, shared, scope: self.scope(random) }
    }
}

impl<K: TreeKey> Program<K> {
    /// The program that a seed stands for.
    pub fn of_postings<const PAGE: usize>(random: &mut Random) -> Self {
        let coding = choose_postings::<K>(PAGE, random);
        match random.below(7) {
            0 => Self::siege_of_rows::<PAGE>(coding, random),
            1 | 2 => Self::strait::<PAGE>(coding, random),
            3 => Self::run::<PAGE>(coding, random),
            _ => Self::many::<PAGE>(coding, random),
        }
    }

    fn many<const PAGE: usize>(coding: Coding<K>, random: &mut Random) -> Self {
        let keys = Keys::of_postings(&coding, random);
        let base = Base::new::<PAGE>(coding, &keys, Site::Any, random);
        let mut parts = Vec::new();
        for _ in 0..random.below(3) + 1 {
            parts.push(writer(&keys, random));
        }
        if !random.one_in(4) {
            parts.push(vacuumer(&keys, random));
        }
        if random.one_in(3) {
            parts.push(settler(random));
        }
        for _ in 0..random.below(3) {
            parts.push(searcher(&keys, random));
        }
        if parts.len() < 2 {
            parts.push(searcher(&keys, random));
        }
        parts.truncate(ACTORS - 1);
        let churn = if random.one_in(3) { churn(&keys, random) } else { Vec::new() };
        Self { base, churn, parts }
    }

    /// A few rows and short parts, so that a scheduler finds every order: postings settle while a
    /// search or a vacuum passes from the recent tree to the settled one.
    fn strait<const PAGE: usize>(coding: Coding<K>, random: &mut Random) -> Self {
        let keys = Keys::of_postings(&coding, random);
        let base = Base::new::<PAGE>(coding, &keys, Site::Small, random);
        let settle = match random.below(3) {
            0 => vec![Op::SettleAll],
            1 => vec![Op::Settle(random.below(1000)), Op::Settle(random.below(1000))],
            _ => (0..random.below(3) + 1).map(|_| keys.insert(random)).collect(),
        };
        let mut parts = vec![part("settler", settle, random)];
        if random.one_in(2) {
            let deletions = (0..random.below(2)).map(|_| Op::Delete(random.below(1000)));
            let mut ops: Vec<Op> = deletions.chain([Op::Vacuum]).collect();
            // The insertions reuse the TIDs of dead rows, and the search is for the new rows.
            ops.extend((0..random.below(3)).map(|_| keys.insert(random)));
            ops.push(keys.search(random));
            parts.push(part("vacuum", ops, random));
        }
        if parts.len() < 2 || random.one_in(2) {
            let ops = match random.below(3) {
                0 => vec![Op::Look { place: random.below(1000), key: keys.one(random) }],
                _ => vec![keys.search(random)],
            };
            parts.push(part("reader", ops, random));
        }
        for part in &mut parts {
            part.ops[0] = Op::Idle(random.below(12));
        }
        Self { base, churn: Vec::new(), parts }
    }

    /// A search follows the postings of a key from leaf to leaf, while vacuum removes leaves of
    /// that key and insertions add others.
    fn run<const PAGE: usize>(coding: Coding<K>, random: &mut Random) -> Self {
        let around = Keys::of_postings(&coding, random);
        let centres = around.centres[..around.centres.len().min(2)].to_vec();
        let scopes = vec![around.scope(random)];
        let keys = Keys { centres, scopes, spread: 0, keyless: 1000, most: 2, ..around };
        let base = Base::new::<PAGE>(coding, &keys, Site::Run, random);
        let mut reader = part("reader", vec![keys.search(random), keys.search(random)], random);
        reader.patience = random.pick(&[2, 10, 30]);
        let mut parts = vec![part("vacuum", vec![Op::Vacuum], random), reader];
        if random.one_in(2) {
            let ops = (0..random.below(6) + 1).map(|_| keys.insert(random)).collect();
            parts.push(part("inserter", ops, random));
        }
        Self { base, churn: Vec::new(), parts }
    }

    /// A reader keeps a leaf of the table of rows pinned, as in `siege`.
    fn siege_of_rows<const PAGE: usize>(coding: Coding<K>, random: &mut Random) -> Self {
        let is_short = random.one_in(2);
        let around = Keys::of_postings(&coding, random);
        let keys = Keys { scopes: vec![around.scope(random)], most: 1, ..around };
        let site = if is_short { Site::FullRoot } else { Site::Small };
        let base = Base::new::<PAGE>(coding, &keys, site, random);
        let rows = if is_short { 1 } else { random.below(8) + 4 };
        let ops = (0..rows).map(|_| keys.insert(random)).collect();
        let mut parts = vec![part("besieger", ops, random)];
        let deletions = (0..random.below(2)).map(|_| Op::Delete(random.below(1000)));
        parts.push(part("vacuum", deletions.chain([Op::Vacuum]).collect(), random));
        let op = Op::Walk { table: ROWS, scope: None, pinned: true };
        let mut reader = part("reader", vec![op; if is_short { 1 } else { 2 }], random);
        reader.patience = 400;
        parts.push(reader);
        let latest = if is_short { 8 } else { random.pick(&[10, 60, 200]) };
        for part in &mut parts {
            part.ops[0] = Op::Idle(random.below(latest));
        }
        Self { base, churn: Vec::new(), parts }
    }
}

/// Inserts rows. One writer in three does so under exclusions.
fn writer(keys: &Keys, random: &mut Random) -> Part {
    let is_excluder = random.one_in(3);
    let rows = random.below(if is_excluder { 3 } else { 6 }) + 1;
    let one = |random: &mut Random| {
        if is_excluder { keys.exclude_sharing(random) } else { keys.insert(random) }
    };
    let ops = (0..rows).map(|_| one(random)).collect();
    let mut part = part(if is_excluder { "excluder" } else { "inserter" }, ops, random);
    if !is_excluder && random.one_in(4) {
        part.cancelled = Some(random.below(20) + 2);
    }
    part
}

fn settler(random: &mut Random) -> Part {
    let one = |random: &mut Random| {
        if random.one_in(2) { Op::SettleAll } else { Op::Settle(random.below(1000)) }
    };
    let ops = (0..random.below(3) + 1).map(|_| one(random)).collect();
    let mut part = part("settler", ops, random);
    if random.one_in(3) {
        part.cancelled = Some(random.below(12) + 2);
    }
    part
}
