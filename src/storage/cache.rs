//! Caches per backend what indexes' meta pages say, and the upper levels of their trees.
//!
//! An index file never shrinks and its meta page never changes, with one exception: PostgreSQL may
//! empty a file in place. It does so only where no other backend can have seen the file, and it
//! calls ambuild next, which removes the file from this cache.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys;
use simhash_index::{Budget, Cache, Damage, Family, META_PAGE, Meta, Store, TreeKey};

use super::relation::IndexRel;

/// The most copies of inner pages that a backend keeps, for all indexes together: about 48 MB at
/// worst.
const CACHED_PAGES: usize = 4096;
/// The most indexes that a backend has in the cache.
const CACHED_INDEXES: usize = 256;

/// An open index with keys of type `K`.
pub type Index<K> = simhash_index::Index<K, IndexRel>;
type Known<K> = Cache<K, pg_sys::Buffer>;

/// By index and file number: the meta page's content, and the `Known` of the index's key type.
type Indexes = HashMap<(pg_sys::Oid, u32), (Meta, Rc<dyn Any>)>;

/// By index and file number: the note on the meta page.
type Notes = HashMap<(pg_sys::Oid, u32), Rc<str>>;

thread_local! {
    /// By index and file number. An index has at most one file here, the one opened last.
    static INDEXES: RefCell<Indexes> =
        RefCell::default();
    static NOTES: RefCell<Notes> = RefCell::default();
    static BUDGET: Rc<Budget> = Rc::new(Budget::new(CACHED_PAGES));
}

/// The content of an index's meta page.
pub fn meta(rel: IndexRel) -> Meta {
    let known = INDEXES.with_borrow(|indexes| indexes.get(&rel.file()).map(|(meta, _)| *meta));
    known.unwrap_or_else(|| Meta::read(&rel))
}

/// The note on an index's meta page.
pub fn note(rel: IndexRel) -> Rc<str> {
    let file = rel.file();
    let known = NOTES.with_borrow(|notes| notes.get(&file).cloned());
    known.unwrap_or_else(|| {
        let note: Rc<str> = match String::from_utf8(Meta::read_note(&rel)) {
            Ok(note) => note.into(),
            Err(_) => rel.damaged(META_PAGE, &Damage::Other("its note is not in UTF-8")),
        };
        NOTES.with_borrow_mut(|notes| {
            notes.retain(|&(oid, _), _| oid != file.0);
            if notes.len() >= CACHED_INDEXES {
                notes.clear();
            }
            notes.insert(file, note.clone());
        });
        note
    })
}

/// The family of an index's key type.
pub fn family(rel: IndexRel) -> Family {
    meta(rel).family()
}

/// Runs `$body` with `$K` bound to the key type of this family.
macro_rules! with_key_type {
    ($family:expr, $K:ident => $body:expr) => {
        match $family {
            simhash_index::Family::Postings => {
                type $K = simhash_index::Posting;
                $body
            }
            simhash_index::Family::BriefPostings => {
                type $K = simhash_index::Scoped<u64, 2>;
                $body
            }
            simhash_index::Family::ScopedPostings => {
                type $K = simhash_index::Scoped<u64, 7>;
                $body
            }
            family => {
                $crate::storage::with_block_key_type!(family, $K => $body, unreachable!())
            }
        }
    };
}
pub(crate) use with_key_type;

/// Like `with_key_type`, but runs `$postings` for an index of postings.
macro_rules! with_block_key_type {
    ($family:expr, $K:ident => $body:expr, $postings:expr) => {
        match $family {
            simhash_index::Family::Postings
            | simhash_index::Family::BriefPostings
            | simhash_index::Family::ScopedPostings => $postings,
            simhash_index::Family::Plain64 => {
                type $K = u64;
                $body
            }
            simhash_index::Family::Plain128 => {
                type $K = u128;
                $body
            }
            simhash_index::Family::Brief64 => {
                type $K = simhash_index::Scoped<u64, 2>;
                $body
            }
            simhash_index::Family::Scoped64 => {
                type $K = simhash_index::Scoped<u64, 3>;
                $body
            }
            simhash_index::Family::Scoped128 => {
                type $K = simhash_index::Scoped<u128, 3>;
                $body
            }
            simhash_index::Family::Plain256 => {
                type $K = simhash_core::base::bits::B256;
                $body
            }
            simhash_index::Family::Scoped256 => {
                type $K = simhash_index::Scoped<simhash_core::base::bits::B256, 3>;
                $body
            }
            simhash_index::Family::Wide => {
                type $K = simhash_index::Scoped<simhash_core::base::bits::B1024, 7>;
                $body
            }
        }
    };
}
pub(crate) use with_block_key_type;

/// Runs `$body` with `$F` bound to the smallest fingerprint type of at least `$bits` bits.
macro_rules! with_fingerprint_type {
    ($bits:expr, $F:ident => $body:expr) => {
        match $bits {
            ..=64 => {
                type $F = u64;
                $body
            }
            ..=128 => {
                type $F = u128;
                $body
            }
            ..=256 => {
                type $F = simhash_core::base::bits::B256;
                $body
            }
            _ => {
                type $F = simhash_core::base::bits::B1024;
                $body
            }
        }
    };
}
pub(crate) use with_fingerprint_type;

/// Opens an index with keys of type `K`.
pub fn open<K: TreeKey>(rel: IndexRel) -> Index<K> {
    let file = rel.file();
    let known = INDEXES.with_borrow(|indexes| indexes.get(&file).map(|(_, cache)| cache.clone()));
    let cache = known.and_then(|cache| cache.downcast::<Known<K>>().ok()).unwrap_or_else(|| {
        let meta = Meta::read(&rel);
        let cache = Rc::new(Known::<K>::new(&rel, meta, BUDGET.with(Rc::clone)));
        INDEXES.with_borrow_mut(|indexes| {
            // The index's other files no longer exist, or become current again if a subtransaction
            // aborts.
            indexes.retain(|&(oid, _), _| oid != file.0);
            if indexes.len() >= CACHED_INDEXES {
                indexes.clear();
            }
            indexes.insert(file, (meta, cache.clone()));
        });
        cache
    });
    Index::new(rel, cache)
}

/// Removes an index's file from the cache: it is about to be written from scratch.
pub fn forget_file(rel: IndexRel) {
    INDEXES.with_borrow_mut(|indexes| indexes.remove(&rel.file()));
    NOTES.with_borrow_mut(|notes| notes.remove(&rel.file()));
}

/// Removes all other indexes from the cache.
pub(super) fn forget_others(rel: IndexRel) {
    let own = rel.file();
    INDEXES.with_borrow_mut(|indexes| indexes.retain(|file, _| *file == own));
}
