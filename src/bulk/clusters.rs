//! `simhash_clusters`: rows connected by pairs, each with the first row of its cluster.

use pgrx::pg_sys;
use simhash_core::search::TreeKey;

use super::errors::{checked_distance, no_memory};
use super::progress::{self, Command};
use super::session::{Session, Side};
use super::target::{Target, bits};
use crate::storage::{check_for_interrupts, family, with_key_type};

/// A member, the representative of its cluster, and the cluster's size.
pub type Member = (u64, u64, u32);

/// All clusters of two rows or more, ordered by representative and member.
pub fn clusters(index: pg_sys::Oid, distance: i32) -> Box<dyn Iterator<Item = Member>> {
    let target = Target::new(index);
    let opened = target.open();
    let distance = checked_distance(distance, bits(&opened));
    with_key_type!(family(opened.rel()), K => {
        let mut session = Session::<K>::new(target, &opened, distance, Command::Clusters);
        drop(opened);
        while session.next_batch() {
            unite(&mut session);
        }
        progress::finishing();
        let (members, _progress) = session.into_members();
        let clusters = members.into_clusters(&mut check_for_interrupts);
        let clusters = clusters.unwrap_or_else(|refused| no_memory(refused));
        Box::new(clusters.map(|(representative, member, size)| (member, representative, size)))
    })
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
