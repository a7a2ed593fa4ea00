//! What this backend remembers of indexes: their meta data and the upper levels of their trees.
//!
//! A file never shrinks and its meta page never changes, with one exception: PostgreSQL may empty a
//! file in place. It does so only where no other backend can have seen the file, and it calls
//! ambuild next, which forgets the file here.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use pgrx::pg_sys;
use simhash_core::search::Key;
use simhash_index::{Budget, Cache, Meta};

use super::relation::IndexRel;

/// The most inner pages that a backend keeps copies of, over all indexes: about 48 MB at worst.
const CACHED_PAGES: usize = 4096;
/// The most indexes that a backend remembers.
const CACHED_INDEXES: usize = 256;

/// An open index with keys of type `F`.
pub type Index<F> = simhash_index::Index<F, IndexRel>;
type Known<F> = Cache<F, pg_sys::Buffer>;

thread_local! {
    /// By index and file number. Each index has one file here, the one opened last.
    static INDEXES: RefCell<HashMap<(pg_sys::Oid, u32), Rc<dyn Any>>> = RefCell::default();
    static BUDGET: Rc<Budget> = Rc::new(Budget::new(CACHED_PAGES));
}

/// The width of an index's keys, by its meta page.
pub fn bits(rel: IndexRel) -> u32 {
    let known = INDEXES.with_borrow(|indexes| {
        let cache = indexes.get(&rel.file())?;
        cache.downcast_ref::<Known<u64>>().map(|cache| cache.meta().bits).or(Some(128))
    });
    known.unwrap_or_else(|| Meta::read(&rel).bits)
}

/// Runs `$body` with `$F` bound to the type of keys that are `$bits` wide.
macro_rules! with_key_type {
    ($bits:expr, $F:ident => $body:expr) => {
        match $bits {
            64 => {
                type $F = u64;
                $body
            }
            _ => {
                type $F = u128;
                $body
            }
        }
    };
}
pub(crate) use with_key_type;

/// Opens an index whose keys are `F::BITS` wide.
pub fn open<F: Key>(rel: IndexRel) -> Index<F> {
    let file = rel.file();
    let known = INDEXES.with_borrow(|indexes| indexes.get(&file).cloned());
    let cache = known.and_then(|cache| cache.downcast::<Known<F>>().ok()).unwrap_or_else(|| {
        let cache = Rc::new(Known::<F>::new(&rel, Meta::read(&rel), BUDGET.with(Rc::clone)));
        INDEXES.with_borrow_mut(|indexes| {
            // The index's other files are gone, or come back when a subtransaction is undone.
            indexes.retain(|&(oid, _), _| oid != file.0);
            if indexes.len() >= CACHED_INDEXES {
                indexes.clear();
            }
            indexes.insert(file, cache.clone());
        });
        cache
    });
    Index::new(rel, cache)
}

/// Forgets what this backend knows of an index's file, which is about to be written from scratch.
pub fn forget_file(rel: IndexRel) {
    INDEXES.with_borrow_mut(|indexes| indexes.remove(&rel.file()));
}

/// Forgets what this backend knows of all other indexes.
pub(super) fn forget_others(rel: IndexRel) {
    let own = rel.file();
    INDEXES.with_borrow_mut(|indexes| indexes.retain(|file, _| *file == own));
}
