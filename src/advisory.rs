//! Our own heavyweight locks: advisory locks of classes that no SQL function can take.

use pgrx::pg_sys;

use crate::compat;

pub const SHARE: pg_sys::LOCKMODE = pg_sys::ShareLock as pg_sys::LOCKMODE;
pub const EXCLUSIVE: pg_sys::LOCKMODE = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;

/// The kind of object that is locked. pg_locks shows the number as `objsubid`, which is 1 or 2 for
/// `pg_advisory_lock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Class {
    /// A family of tables, identified by a topmost parent.
    Family = 0x7368,
    /// A claim for a row that is being written.
    Ticket = 0x7369,
    /// A column of group ids.
    IdColumn = 0x736b,
    /// Group ids, by their hash.
    Ids = 0x736c,
    /// A transaction that searches for groups: it waits while other transactions hold this lock.
    Gate = 0x736d,
}

#[derive(Clone, Copy)]
pub struct Lock(pg_sys::LOCKTAG);

impl Lock {
    pub fn new(class: Class, first: u32, second: u32) -> Self {
        // `pg_advisory_unlock_all` releases a session's locks of the USER method, so a ticket must
        // not use it. A family's lock belongs to a transaction, so it may. It must, too: sessions
        // that loaded an earlier version of the library still use the USER method.
        let method = match class {
            Class::Family => pg_sys::USER_LOCKMETHOD,
            _ => pg_sys::DEFAULT_LOCKMETHOD,
        };
        Lock(pg_sys::LOCKTAG {
            // SAFETY: reads the session's database.
            locktag_field1: unsafe { pg_sys::MyDatabaseId }.to_u32(),
            locktag_field2: first,
            locktag_field3: second,
            locktag_field4: class as u16,
            locktag_type: pg_sys::LockTagType::LOCKTAG_ADVISORY as u8,
            locktag_lockmethodid: method as u8,
        })
    }

    /// Takes the lock until the transaction or subtransaction ends. Catalogue changes committed
    /// during the wait are visible afterwards.
    pub fn take(&self, mode: pg_sys::LOCKMODE) {
        self.acquire(mode, true);
    }

    /// As [`take`](Self::take). Returns whether this session held the lock before.
    pub fn take_again(&self, mode: pg_sys::LOCKMODE) -> bool {
        self.acquire(mode, true) == pg_sys::LockAcquireResult::LOCKACQUIRE_ALREADY_HELD
    }

    /// As [`take`](Self::take), but returns false instead of waiting.
    pub fn try_take(&self, mode: pg_sys::LOCKMODE) -> bool {
        self.acquire(mode, false) != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
    }

    fn acquire(&self, mode: pg_sys::LOCKMODE, waits: bool) -> pg_sys::LockAcquireResult::Type {
        // SAFETY: the tag is a plain struct, and a transaction is in progress.
        let result = unsafe { pg_sys::LockAcquire(&self.0, mode, false, !waits) };
        if result == pg_sys::LockAcquireResult::LOCKACQUIRE_OK {
            // SAFETY: a transaction is in progress.
            unsafe { pg_sys::AcceptInvalidationMessages() };
        }
        result
    }

    /// Releases a lock taken by [`take`](Self::take) or [`try_take`](Self::try_take).
    pub fn release(&self, mode: pg_sys::LOCKMODE) {
        // SAFETY: the tag is a plain struct. LockRelease warns if the lock is not held.
        unsafe { pg_sys::LockRelease(&self.0, mode, false) };
    }

    /// Takes the lock in exclusive mode for the session. An abort of the transaction also releases
    /// it.
    pub fn take_for_session(&self) {
        // SAFETY: the tag is a plain struct.
        unsafe { pg_sys::LockAcquire(&self.0, EXCLUSIVE, true, false) };
    }

    pub fn release_for_session(&self) {
        // SAFETY: the tag is a plain struct. LockRelease warns if the lock is not held.
        unsafe { pg_sys::LockRelease(&self.0, EXCLUSIVE, true) };
    }

    /// The first other transaction that holds a lock in conflict with `mode`, if it has an id.
    pub fn holder(&self, mode: pg_sys::LOCKMODE) -> Option<pg_sys::TransactionId> {
        compat::holder_of(&self.0, mode)
    }
}
