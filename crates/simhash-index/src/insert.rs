//! Insertion of one row: one entry in every table. Up to four tables are a group, which is changed
//! under one record of the log.
//!
//! The leaves of a group are all locked, then all changed. Only for the first leaf may the process
//! wait. The pages where the others should be may have been reused, and one of them may even be
//! locked by this process. If a leaf cannot be locked at once, the process releases all locks,
//! waits for that leaf alone, and starts over with the group. From a full leaf, it removes dead
//! rows, or it splits the leaf, again with no other lock held, and starts over. So no process waits
//! while it holds a leaf of a group, and there is no deadlock.
//!
//! Every table is written before the call returns. So of two transactions that insert and then
//! search (an exclusion constraint), at least one sees the other's row.

use simhash_core::Fingerprint;

use crate::damage::Damage;
use crate::index::Index;
use crate::key::TreeKey;
use crate::page::write::Addition;
use crate::page::{Entry, Row};
use crate::store::{Lock, MAX_PAGES, Store};
use crate::tree::{ATTEMPTS, Descent, Missed, Parent, Place};

/// The leaves of a group, and what is to be added to each.
type Locked<S> = Vec<(<S as Store>::Exclusive, Addition)>;

/// Why the leaves of a group could not all be locked.
enum Obstacle<K, S: Store> {
    /// The leaf of this table, the page with this number, has no room.
    Full(u8, u32),
    /// The leaf of this table could not be had at once in this place.
    Missed(u8, Place<K, S>, Missed),
}

/// What a row has beside its fingerprints.
#[derive(Clone, Copy, Debug)]
pub struct Beside<K: TreeKey> {
    pub scope: K::Scope,
    pub payload: K::Payload,
    pub tid: u64,
}

impl<K: TreeKey> Beside<K> {
    /// The row under a rotated fingerprint.
    pub fn row(&self, rotated: K::Fingerprint) -> Row<K> {
        let entry = Entry { key: K::new(self.scope, rotated), tid: self.tid };
        Row { entry, payload: self.payload }
    }
}

impl<K: TreeKey, S: Store> Index<K, S> {
    /// Adds a row under each of its fingerprints, or to the table of NULLs if it has none.
    pub fn insert(&self, fingerprints: &[K::Fingerprint], beside: &Beside<K>) {
        if fingerprints.is_empty() {
            let row = beside.row(K::Fingerprint::ZERO);
            return self.insert_into(&[self.null_table()], |_| row);
        }
        let tables: Vec<u8> = (0..self.null_table()).collect();
        for &fingerprint in fingerprints {
            for group in tables.chunks(MAX_PAGES) {
                self.insert_into(group, |table| {
                    beside.row(self.layout.rotate(fingerprint, u32::from(table)))
                });
            }
        }
    }

    pub(crate) fn insert_into(&self, tables: &[u8], row: impl Fn(u8) -> Row<K>) {
        let mut contradictions = 0;
        let mut contradicted = |page: u32| {
            contradictions += 1;
            if contradictions == ATTEMPTS {
                let damage = Damage::Other("its bounds differ from those in its parent");
                self.store.damaged(page, &damage);
            }
        };
        loop {
            self.store.check_for_interrupts();
            match self.lock_leaves(tables, &row) {
                Ok(leaves) => return self.store.append(&leaves),
                Err(Obstacle::Missed(table, place, why)) => {
                    // A leaf may be locked any number of times. But the search for it alone brings
                    // the copies up to date, so it cannot be elsewhere each time.
                    if matches!(why, Missed::Elsewhere) {
                        contradicted(place.leaf);
                    }
                    drop(self.cover::<S::Exclusive>(table, &row(table).entry, Some(place)));
                }
                Err(Obstacle::Full(table, full)) => {
                    if self.reclaim_versions(table, &row(table).entry) {
                        continue;
                    }
                    if self.make_room(table, &row(table).entry).is_none_or(|roomy| roomy == full) {
                        continue;
                    }
                    // The parent says that the entry belongs on another page: the full leaf was
                    // split meanwhile, or it is damaged.
                    self.forget_all();
                    contradicted(full);
                }
            }
        }
    }

    /// Locks the leaf of every table, or none.
    fn lock_leaves(
        &self,
        tables: &[u8],
        row: &impl Fn(u8) -> Row<K>,
    ) -> Result<Locked<S>, Obstacle<K, S>> {
        // All leaves are found before the first is touched, so that memory fetches them side by
        // side.
        let mut descents: [Option<Descent<K, S>>; MAX_PAGES] = [const { None }; MAX_PAGES];
        let mut places: [Option<Place<K, S>>; MAX_PAGES] = [const { None }; MAX_PAGES];
        for (&table, descent) in tables.iter().zip(&mut descents) {
            *descent = Some(self.begin(table, &row(table).entry));
        }
        while descents.iter().any(Option::is_some) {
            for (i, &table) in tables.iter().enumerate() {
                match descents[i].take().map(|descent| self.descend(descent, &row(table).entry)) {
                    Some(Ok(place)) => places[i] = Some(place),
                    Some(Err(deeper)) => descents[i] = Some(deeper),
                    None => {}
                }
            }
        }
        for place in places.iter().flatten() {
            if let Some(parent) = &place.parent {
                let parts = parent.next().get().map(usize::from);
                let end = self.shape.special();
                self.store.prefetch_for_append(place.leaf, parent.recent(), parts, end);
            }
        }
        let mut leaves = Vec::with_capacity(tables.len());
        for (&table, place) in tables.iter().zip(places.into_iter().flatten()) {
            let row = row(table);
            let parent = place.parent.as_ref().map(Parent::share);
            let (guard, number) = if leaves.is_empty() {
                self.cover::<S::Exclusive>(table, &row.entry, Some(place))
            } else {
                match self.cover_at_once(table, &row.entry, &place) {
                    Ok(found) => found,
                    Err(why) => return Err(Obstacle::Missed(table, place, why)),
                }
            };
            let page = self.checked(number, guard.bytes());
            if !page.has_room_for(&row.entry) {
                return Err(Obstacle::Full(table, number));
            }
            let addition = Addition::new(&page, &row);
            if let Some(parent) = parent {
                parent.next().set(addition.next());
            }
            leaves.push((guard, addition));
        }
        Ok(leaves)
    }
}
