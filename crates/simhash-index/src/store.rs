//! What the index requires of the store of its pages: PostgreSQL's shared buffers and WAL, or a
//! simulation.
//!
//! # Rules for a store
//! - A page under a shared lock does not change. Only the holder of an exclusive lock changes a
//!   page. Any lock includes a pin.
//! - A cleanup lock is an exclusive lock that waits until no other process has the page pinned.
//! - A change of several pages is atomic: in memory for processes that lock them, on disk after a
//!   crash, and on a standby.
//! - Pages are numbered from 0. The file never shrinks.
//!
//! # Rules for the index
//! - It waits for a lock by [`Store::share`], [`Store::exclusive`] or [`Store::cleanup`], checks
//!   for interrupts and pauses only while it has no page locked.
//! - It waits by [`Store::exclusive_after`] while others are locked, as invariant 5 of the crate
//!   allows. What they say of themselves under their locks decides that.

use std::cell::Cell;

use crate::damage::Damage;
use crate::page::write::Addition;

/// The most pages that one change may have.
pub const MAX_PAGES: usize = 4;

/// A lock that a descent can end with.
pub trait Lock<S: Store>: Sized {
    /// Waits for the lock. The caller must have no page locked.
    fn wait(store: &S, pin: S::Pinned) -> Self;
    /// The page as it is.
    fn bytes(&self) -> &[u8];
}

/// How much of a page a change rewrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Some of its bytes.
    Parts,
    /// All of it, whatever the page was before.
    Whole,
}

/// What a store knows of some rows.
#[derive(Clone, Debug, Default)]
pub struct Dead {
    /// Which of them no snapshot can see, now or later.
    pub numbers: Vec<usize>,
    /// The last moment at which a snapshot could see any of them, in the store's own count. 0: long
    /// ago.
    pub horizon: u64,
}

/// How much of a page will soon be read, besides its special area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// What it begins with. The rest is asked for when it is read.
    Head,
    /// This many bytes from its start on.
    Upto(usize),
}

/// A file of pages, opened by one process.
pub trait Store: Clone {
    /// Bytes of a page.
    const PAGE: usize;
    /// How many rows may wait in a nearest scan at first. Each sweep allows four times as many.
    const FIRST_WAITING: usize = 1024;
    /// Where in memory a page was found last. The default stands for nowhere.
    type Hint: Copy + Default;
    /// A pin: the page stays in memory, and a cleanup lock has to wait.
    type Pinned;
    /// A pin and a shared lock.
    type Shared: Lock<Self>;
    /// A pin and an exclusive lock. Only the methods below change the page.
    type Exclusive: Lock<Self>;

    /// The number of pages.
    fn pages(&self) -> u32;

    /// Pins the page with this number. `hint` makes that quicker, and is brought up to date.
    fn pin(&self, number: u32, hint: Option<&Cell<Self::Hint>>) -> Self::Pinned;
    /// Waits for a shared lock.
    fn share(&self, pin: Self::Pinned) -> Self::Shared;
    /// Waits for an exclusive lock.
    fn exclusive(&self, pin: Self::Pinned) -> Self::Exclusive;
    /// Waits for an exclusive lock while `before` are locked: all pages that the caller has locked,
    /// in the order of locking. `may_wait` decides from a page and a locked one whether the rule
    /// above allows the wait.
    fn exclusive_after(
        &self,
        number: u32,
        before: &[&Self::Exclusive],
        may_wait: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Self::Exclusive;
    /// An exclusive lock, if no process has the page locked now.
    fn try_exclusive(&self, pin: Self::Pinned) -> Option<Self::Exclusive>;
    /// Waits for a cleanup lock.
    fn cleanup(&self, pin: Self::Pinned) -> Self::Exclusive;
    /// Releases a lock and keeps the pin.
    fn unlock(&self, shared: Self::Shared) -> Self::Pinned;
    /// The number of a locked page.
    fn number(&self, locked: &Self::Exclusive) -> u32;

    /// A new page at the end of the file, all zeroes.
    fn extend(&self) -> Self::Exclusive;
    /// New pages at the end of the file, all zeroes and not locked: consecutive ones, if the store
    /// can.
    fn reserve(&self, count: u32) -> Vec<u32> {
        (0..count).map(|_| self.number(&self.extend())).collect()
    }
    /// The number of a page that was noted as free. The note is removed. It may have been wrong:
    /// the page may be in use, or beyond the end of the file.
    fn free_page(&self) -> Option<u32>;
    /// Notes a page as free. The note may be lost.
    fn note_free(&self, number: u32);

    /// Lets `edit` rewrite private copies of up to [`MAX_PAGES`] pages, and installs and logs them
    /// as one record.
    fn change<const N: usize>(
        &self,
        pages: [(&Self::Exclusive, Extent); N],
        edit: impl FnOnce([&mut [u8]; N]),
    );
    /// Adds a row to each of up to [`MAX_PAGES`] leaves, as one record.
    fn append(&self, leaves: &[(Self::Exclusive, Addition)]);
    /// Fills a page of a build, and logs it whole. No other process can see it yet.
    fn write_new(&self, locked: &Self::Exclusive, image: &[u8]);

    /// Starts to fetch a page that will soon be read. `special` is the length of its special area.
    fn prefetch(&self, number: u32, hint: &Cell<Self::Hint>, special: usize, part: Fetch);
    /// As [`Store::prefetch`], for a page of which the two ends and the bytes at `parts` will be
    /// used.
    fn prefetch_for_append(
        &self,
        number: u32,
        hint: &Cell<Self::Hint>,
        parts: [usize; 2],
        special: usize,
    );

    /// Whether [`Store::dead`] can be asked, and there is a reason to.
    fn knows_rows(&self) -> bool {
        false
    }
    /// Which of the rows with these TIDs, which have entries on this leaf, are dead. The caller has
    /// the leaf pinned, and no page locked. The store may leave out rows that it would take long to
    /// check.
    fn dead(&self, _leaf: u32, _tids: &[u64]) -> Dead {
        Dead::default()
    }
    /// Logs that rows are removed that snapshots could see until this moment. Where the record is
    /// replayed, readers with older snapshots end.
    fn log_horizon(&self, _leaf: u32, _horizon: u64) {}

    /// Ends the query if it was cancelled.
    fn check_for_interrupts(&self);
    /// Pauses if vacuum should.
    fn pause(&self);
    /// Raises an ERROR if the snapshot with which the caller reads is too old for a page.
    fn expect_recent(&self, page: &[u8]);
    /// Drops copies of other indexes, because too many are kept.
    fn forget_others(&self);
    /// Raises an ERROR: a page cannot be what its place in the index says.
    fn damaged(&self, number: u32, damage: &Damage) -> !;

    /// As [`Store::change`], where the number of pages is known only at run time.
    ///
    /// # Panics
    /// With none, or with more than [`MAX_PAGES`].
    fn change_all(
        &self,
        pages: &[(&Self::Exclusive, Extent)],
        edit: impl FnOnce(&mut [&mut [u8]]),
    ) {
        match *pages {
            [a] => self.change([a], |mut pages| edit(&mut pages)),
            [a, b] => self.change([a, b], |mut pages| edit(&mut pages)),
            [a, b, c] => self.change([a, b, c], |mut pages| edit(&mut pages)),
            [a, b, c, d] => self.change([a, b, c, d], |mut pages| edit(&mut pages)),
            _ => panic!("{} pages in one record", pages.len()),
        }
    }

    /// Pins a page and waits for a shared lock.
    fn read(&self, number: u32) -> Self::Shared {
        self.share(self.pin(number, None))
    }
    /// Pins a page and waits for an exclusive lock.
    fn lock(&self, number: u32) -> Self::Exclusive {
        self.exclusive(self.pin(number, None))
    }
}
