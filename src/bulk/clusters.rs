//! `simhash_clusters`: rows connected by pairs, each with the first row of its cluster.

use std::collections::HashMap;

use simhash_core::search::TreeKey;
use simhash_core::whole::join::{Log, Members, components};

use super::contained::Sharing;
use super::errors::{checked_distance, no_memory, raise_is_of_texts};
use super::file::File;
use super::heap::Heaps;
use super::progress::{self, Command};
use super::session::{Session, Side};
use super::target::{OpenedAll, Target, bits};
use super::texts::passages::Row;
use super::verify::{Verification, Verifier};
use crate::guc::work_mem;
use crate::storage::{check_for_interrupts, family, with_block_key_type};

/// A member, the representative of its cluster, and the cluster's size.
pub type Member = (u64, u64, u32);

/// All clusters of two rows or more, ordered by representative and member. With `verification`,
/// texts are compared, too; `sharing` adds texts that share a passage.
pub fn clusters(
    target: Target,
    distance: i32,
    verification: Option<Verification>,
    sharing: Option<Sharing>,
) -> Box<dyn Iterator<Item = Member>> {
    let half = work_mem() / 2;
    let members = if verification.is_some() { half / 2 } else { half };
    let mut verifier = verification.map(|how| Verifier::new(&target, how, half / 2));
    let opened = target.open();
    let Some(first) = opened.first() else { return Box::new(std::iter::empty()) };
    let distance = checked_distance(distance, bits(first));
    with_block_key_type!(family(first.rel()), K => {
        let mut session =
            Session::<K>::new(target.clone(), &opened, distance, Command::Clusters, members);
        drop(opened);
        if verifier.is_some() {
            session.copies_are_not_connected();
        }
        while session.next_batch() {
            match &mut verifier {
                None => unite(&mut session),
                Some(verifier) => unite_verified(&mut session, verifier),
            }
        }
        if let (Some(verifier), Some(sharing)) = (&mut verifier, sharing) {
            session.end_join();
            unite_sharing(&mut session, verifier, &target, sharing);
        }
        progress::finishing();
        drop(verifier);
        let (members, edges, _progress) = session.finish();
        made(members, edges)
    }, raise_is_of_texts(&first.rel().name()))
}

/// The clusters of members, or those that edges in a file make.
fn made(members: Members, edges: Option<Log<File>>) -> Box<dyn Iterator<Item = Member>> {
    let check = &mut check_for_interrupts;
    let member = |(representative, member, size)| (member, representative, size);
    if let Some(edges) = edges {
        let clusters = components(edges, work_mem(), check);
        Box::new(clusters.unwrap_or_else(|refused| no_memory(refused)).map(member))
    } else {
        let clusters = members.into_clusters(check);
        Box::new(clusters.unwrap_or_else(|refused| no_memory(refused)).map(member))
    }
}

fn unite<K: TreeKey>(session: &mut Session<K>) {
    for i in 0..session.found.len() {
        let found = session.found[i];
        let left = session.united(Side::Left, found.left);
        let right = session.united(Side::Right, found.right);
        if let (Some(a), Some(b)) = (left, right) {
            session.members.unite(a, b);
        }
        if i.is_multiple_of(1 << 12) {
            check_for_interrupts();
        }
    }
}

/// Unites the rows of texts that share a passage and are similar.
fn unite_sharing<K: TreeKey>(
    session: &mut Session<K>,
    verifier: &mut Verifier,
    target: &Target,
    mut sharing: Sharing,
) {
    while let Some(near) = sharing.next_batch(target, verifier) {
        let opened = session.open();
        // By text of the batch: its first row with a fingerprint, united with all others.
        let mut firsts: HashMap<u32, Option<Row>> = HashMap::new();
        let mut first_of = |session: &mut Session<K>, text: u32| {
            *firsts.entry(text).or_insert_with(|| {
                let rows = sharing.rows_with_keys::<K>(&opened, text);
                let (&(first, _), others) = rows.split_first()?;
                others.iter().for_each(|&(row, _)| unite_two(session, first, row));
                Some(first)
            })
        };
        for near in near {
            let (a, b) = (first_of(session, near.a), first_of(session, near.b));
            if let (Some(a), Some(b)) = (a, b) {
                unite_two(session, a, b);
            }
        }
    }
}

fn unite_two<K: TreeKey>(session: &mut Session<K>, a: Row, b: Row) {
    check_for_interrupts();
    session.expect_two();
    let left = session.number(a.root, a.visible);
    let right = session.number(b.root, b.visible);
    session.members.unite(left, right);
}

/// How many pairs' texts are read ahead together.
const READ_AHEAD: usize = 1 << 12;

/// Unites the rows of pairs whose texts are similar. Of rows with one fingerprint and equal sets of
/// shingles, one represents all. Pairs that are in one cluster already are not compared.
fn unite_verified<K: TreeKey>(session: &mut Session<K>, verifier: &mut Verifier) {
    let opened = session.open();
    let mut heaps = Heaps::new(&opened);
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for i in 0..session.found.len() {
        if i.is_multiple_of(READ_AHEAD) {
            read_ahead(session, verifier, &opened, i);
        }
        let found = session.found[i];
        session.visible_members(Side::Left, found.left, &mut left);
        keep_classes(session, verifier, &mut heaps, &mut left);
        if found.left == found.right && found.distance == 0 && session.is_one_chunk() {
            right.clone_from(&left);
        } else {
            session.visible_members(Side::Right, found.right, &mut right);
            keep_classes(session, verifier, &mut heaps, &mut right);
        }
        for &(a, a_tid) in &left {
            for &(b, b_tid) in &right {
                check_for_interrupts();
                if !session.members.are_united(a, b)
                    && verifier.verified(&mut heaps, a_tid, b_tid).is_some()
                {
                    session.members.unite(a, b);
                }
            }
        }
    }
}

fn read_ahead<K: TreeKey>(
    session: &mut Session<K>,
    verifier: &mut Verifier,
    opened: &OpenedAll,
    from: usize,
) {
    let upto = session.found.len().min(from + READ_AHEAD);
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for i in from..upto {
        let found = session.found[i];
        for (side, group) in [(Side::Left, found.left), (Side::Right, found.right)] {
            session.visible_members(side, group, &mut rows);
            all.extend(rows.iter().map(|&(_, tid)| tid));
        }
    }
    verifier.read_ahead(opened, all.into_iter());
}

/// Unites the rows of one fingerprint that have equal sets, and leaves one row of each set. Rows
/// without shingles are dropped.
fn keep_classes<K: TreeKey>(
    session: &mut Session<K>,
    verifier: &mut Verifier,
    heaps: &mut Heaps<'_>,
    rows: &mut Vec<(u32, u64)>,
) {
    if rows.len() < 2 {
        return;
    }
    let class = |&(number, tid): &(u32, u64)| Some((verifier.class(heaps, tid)?, number, tid));
    let mut classes: Vec<_> = rows.iter().filter_map(class).collect();
    classes.sort_unstable();
    for same in classes.windows(2).filter(|two| two[0].0 == two[1].0) {
        session.members.unite(same[0].1, same[1].1);
    }
    classes.dedup_by_key(|(class, ..)| *class);
    rows.clear();
    rows.extend(classes.into_iter().map(|(_, number, tid)| (number, tid)));
}
