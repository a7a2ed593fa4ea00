//! Insertion of one row: an entry in every table, up to four tables a WAL record.
//!
//! Leaves are locked in table order and all changed under one record. A full leaf is split with no
//! lock held, then the group starts over. Every table is written before the call returns, so two
//! transactions that insert and then search (an exclusion constraint) cannot both miss the other.

use pgrx::pg_sys;
use simhash_core::search::Key;

use super::index::{Index, bits};
use super::tree::{Descent, Parent, Place};
use super::{check_for_interrupts, pack_tid, with_key_type};
use crate::storage::buffer::prefetch_for_append;
use crate::storage::page::{Addition, append_at};
use crate::storage::{Entry, Exclusive, IndexRel, wal};

/// aminsert.
#[cfg(not(feature = "pg13"))]
#[allow(clippy::too_many_arguments)]
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn aminsert(
    rel: pg_sys::Relation,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    heap_tid: pg_sys::ItemPointer,
    _heap: pg_sys::Relation,
    _check_unique: pg_sys::IndexUniqueCheck::Type,
    _unchanged: bool,
    _info: *mut pg_sys::IndexInfo,
) -> bool {
    // SAFETY: PostgreSQL passes an open index, one value, and the row's TID.
    unsafe { insert_row(rel, values, is_null, heap_tid) }
}

/// aminsert, as it was before 14.
#[cfg(feature = "pg13")]
#[pgrx::pg_guard]
pub unsafe extern "C-unwind" fn aminsert(
    rel: pg_sys::Relation,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    heap_tid: pg_sys::ItemPointer,
    _heap: pg_sys::Relation,
    _check_unique: pg_sys::IndexUniqueCheck::Type,
    _info: *mut pg_sys::IndexInfo,
) -> bool {
    // SAFETY: PostgreSQL passes an open index, one value, and the row's TID.
    unsafe { insert_row(rel, values, is_null, heap_tid) }
}

/// Whether the row was unique is not this access method's to say: always false.
unsafe fn insert_row(
    rel: pg_sys::Relation,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    heap_tid: pg_sys::ItemPointer,
) -> bool {
    // SAFETY: as aminsert's.
    unsafe {
        let rel = IndexRel::new(rel);
        let tid = pack_tid(&*heap_tid);
        with_key_type!(bits(rel), F => {
            let index = Index::<F>::open(rel);
            if *is_null {
                index.insert(&[], tid);
            } else {
                index.insert(index.kind.keys::<F>(*values).as_slice(), tid);
            }
        });
    }
    false
}

impl<F: Key> Index<F> {
    /// Adds a row under each of its fingerprints; without one to the table of NULLs.
    pub fn insert(&self, fingerprints: &[F], tid: u64) {
        if fingerprints.is_empty() {
            return self.insert_into(&[self.null_table()], |_| Entry { key: F::ZERO, tid });
        }
        let tables: Vec<u8> = (0..self.null_table()).collect();
        for &fingerprint in fingerprints {
            for group in tables.chunks(wal::MAX_PAGES) {
                self.insert_into(group, |table| Entry {
                    key: self.layout.rotate(fingerprint, u32::from(table)),
                    tid,
                });
            }
        }
    }

    fn insert_into(&self, tables: &[u8], entry: impl Fn(u8) -> Entry<F>) {
        loop {
            check_for_interrupts();
            match self.lock_leaves(tables, &entry) {
                Ok(leaves) => return wal::append(self.rel, &leaves),
                Err(full) => self.make_room(full, &entry(full)),
            }
        }
    }

    /// Locks the leaf of every table; or unlocks all and names the first table whose leaf is full.
    fn lock_leaves(
        &self,
        tables: &[u8],
        entry: &impl Fn(u8) -> Entry<F>,
    ) -> Result<Vec<(Exclusive, Addition)>, u8> {
        // Find all leaves before the first is touched, so that memory fetches them side by side.
        let mut descents: [Option<Descent<F>>; wal::MAX_PAGES] = Default::default();
        let mut places: [Option<Place<F>>; wal::MAX_PAGES] = Default::default();
        for (&table, descent) in tables.iter().zip(&mut descents) {
            *descent = Some(self.begin(table, &entry(table)));
        }
        while descents.iter().any(Option::is_some) {
            for (i, &table) in tables.iter().enumerate() {
                match descents[i].take().map(|descent| self.descend(descent, &entry(table))) {
                    Some(Ok(place)) => places[i] = Some(place),
                    Some(Err(deeper)) => descents[i] = Some(deeper),
                    None => {}
                }
            }
        }
        for place in places.iter().flatten() {
            if let Some(parent) = &place.parent {
                let parts = append_at::<F>(parent.next_key().get());
                prefetch_for_append(self.rel, place.leaf, parent.recent(), parts);
            }
        }
        let mut leaves = Vec::with_capacity(tables.len());
        for (&table, place) in tables.iter().zip(places) {
            let entry = entry(table);
            let parent = place.as_ref().and_then(|place| place.parent.as_ref()).map(Parent::share);
            let (guard, block) = self.cover::<Exclusive>(table, &entry, place);
            let page = self.checked(block, guard.bytes());
            if !page.has_room() {
                return Err(table);
            }
            let addition = Addition::new(&page, entry);
            if let Some(parent) = parent {
                parent.next_key().set(addition.next_key());
            }
            leaves.push((guard, addition));
        }
        Ok(leaves)
    }
}
