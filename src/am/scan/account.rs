//! Keeps statistics of this session's latest scans, for SQL functions to show.

use std::cell::RefCell;
use std::collections::VecDeque;

use pgrx::pg_sys;

/// How many scans are remembered.
const REMEMBERED: usize = 64;

/// The statistics of one scan from begin to end, including every rescan.
#[derive(Clone, Copy, Debug)]
pub struct Account {
    pub index: pg_sys::Oid,
    /// How often it was started: rescans included.
    pub searches: u64,
    /// The leaves that it read; a leaf counts each time.
    pub leaves: u64,
    /// Rows that meet the conditions as far as the index can decide.
    pub candidates: u64,
    /// Rows returned to the executor, and those of them that it has to recheck.
    pub returned: u64,
    pub rechecked: u64,
    /// Rows that the executor reported as dead to all transactions.
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

    /// Adds the statistics of a scan that has ended.
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
