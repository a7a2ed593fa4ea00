//! Heavyweight locks of our own: advisory locks of classes that no function of SQL takes.

use pgrx::pg_sys;

use crate::compat;

pub const SHARE: pg_sys::LOCKMODE = pg_sys::ShareLock as pg_sys::LOCKMODE;
pub const EXCLUSIVE: pg_sys::LOCKMODE = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;

/// What a lock is of. pg_locks has the number as `objsubid`; of `pg_advisory_lock` it is 1 or 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Class {
    /// A family of tables, by a topmost parent.
    Family = 0x7368,
    /// A claim of a row on its way.
    Ticket = 0x7369,
    /// A column of ids of groups.
    IdColumn = 0x736b,
    /// Ids of groups, by their hash.
    Ids = 0x736c,
    /// A transaction that looks for groups: it waits while others hold this.
    Gate = 0x736d,
}

#[derive(Clone, Copy)]
pub struct Lock(pg_sys::LOCKTAG);

impl Lock {
    pub fn new(class: Class, first: u32, second: u32) -> Self {
        // `pg_advisory_unlock_all` gives back what a session has of the method USER, so a ticket is
        // not of it. A family's lock is a transaction's, and may be: sessions that loaded the
        // library of an earlier version have it so.
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

    /// Takes the lock until the transaction or subtransaction ends. Changes of the catalogue that
    /// came while it was waited for become known.
    pub fn take(&self, mode: pg_sys::LOCKMODE) {
        self.acquire(mode, true);
    }

    /// The same if nobody has to be waited for.
    pub fn try_take(&self, mode: pg_sys::LOCKMODE) -> bool {
        self.acquire(mode, false)
    }

    fn acquire(&self, mode: pg_sys::LOCKMODE, waits: bool) -> bool {
        // SAFETY: a lock's tag is a plain struct.
        let result = unsafe { pg_sys::LockAcquire(&self.0, mode, false, !waits) };
        if result == pg_sys::LockAcquireResult::LOCKACQUIRE_OK {
            // SAFETY: in a transaction.
            unsafe { pg_sys::AcceptInvalidationMessages() };
        }
        result != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL
    }

    /// Gives back what [`take`](Self::take) or [`try_take`](Self::try_take) took.
    pub fn release(&self, mode: pg_sys::LOCKMODE) {
        // SAFETY: a lock's tag is a plain struct. Of a lock that is not held it warns.
        unsafe { pg_sys::LockRelease(&self.0, mode, false) };
    }

    /// Takes the lock alone for the session, or until the transaction aborts.
    pub fn take_for_session(&self) {
        // SAFETY: as release's.
        unsafe { pg_sys::LockAcquire(&self.0, EXCLUSIVE, true, false) };
    }

    pub fn release_for_session(&self) {
        // SAFETY: as release's.
        unsafe { pg_sys::LockRelease(&self.0, EXCLUSIVE, true) };
    }

    /// The transaction that keeps this one from a mode, if one does.
    pub fn holder(&self, mode: pg_sys::LOCKMODE) -> Option<pg_sys::TransactionId> {
        compat::holder_of(&self.0, mode)
    }
}
