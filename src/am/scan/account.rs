//! What the latest scans of this session did, for whoever asks afterwards.

use std::cell::RefCell;
use std::collections::VecDeque;

use pgrx::pg_sys;

/// How many scans are remembered.
const REMEMBERED: usize = 64;

/// What one scan did from its beginning to its end, each time that it was started again included.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    pub index: pg_sys::Oid,
    /// How often it was started.
    pub searches: u64,
    /// The leaves that it read, each time that it did.
    pub leaves: u64,
    /// Rows that are near by what the index stores.
    pub candidates: u64,
    /// Rows that were handed to the executor, and those of which it asks the table again.
    pub returned: u64,
    pub rechecked: u64,
    /// Rows that the executor found dead to all.
    pub dead: u64,
}

thread_local! {
    static LATEST: RefCell<VecDeque<Account>> = const { RefCell::new(VecDeque::new()) };
}

impl Account {
    pub const fn of(index: pg_sys::Oid) -> Self {
        let (searches, leaves, candidates) = (0, 0, 0);
        Self { index, searches, leaves, candidates, returned: 0, rechecked: 0, dead: 0 }
    }

    /// The scan is over.
    pub fn close(self) {
        LATEST.with_borrow_mut(|latest| {
            latest.truncate(REMEMBERED - 1);
            latest.push_front(self);
        });
    }
}

/// The latest scans that have ended, the last one first.
pub fn latest() -> Vec<Account> {
    LATEST.with_borrow(|latest| latest.iter().copied().collect())
}
