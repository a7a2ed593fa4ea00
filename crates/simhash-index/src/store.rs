//! What the index asks of whoever keeps its pages: PostgreSQL's shared buffers and WAL, or a simulation.
//!
//! # Rules for a store
//! - A page that is shared does not change, one that is exclusively locked changes by its holder alone.
//!   Any lock includes a pin.
//! - A cleanup lock is an exclusive one that waits until nobody else has the page pinned.
//! - A change of several pages is atomic: in memory for whoever locks them, on disk after a crash, and
//!   where the log is replayed.
//! - Blocks are numbered from 0; the file never shrinks.
//!
//! # Rules for the index
//! - Whoever waits for a lock by [`Store::share`], [`Store::exclusive`] or [`Store::cleanup`] has no page
//!   locked, and so has who checks for interrupts or pauses. [`Store::exclusive_after`] waits while
//!   others are locked, each of which is, by what it says under its lock, above the page in its tree or
//!   to its left on its level. So nobody waits in a circle.

use std::cell::Cell;

use crate::damage::Damage;
use crate::page::Addition;

/// The most pages that one change may have.
pub const MAX_PAGES: usize = 4;

/// A lock that a descent can end with.
pub trait Lock<S: Store>: Sized {
    /// Waits for the lock. No page may be locked by the caller.
    fn wait(store: &S, pin: S::Pinned) -> Self;
    /// The page as it is.
    fn bytes(&self) -> &[u8];
}

/// How much of a page a change rewrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Some of its bytes.
    Parts,
    /// All of it, whatever it was before.
    Whole,
}

/// A file of pages, opened by one process.
pub trait Store: Clone {
    /// Bytes of a page.
    const PAGE: usize;
    /// How many rows may wait in a nearest scan at first; each sweep allows four times more.
    const FIRST_WAITING: usize = 1024;
    /// Where in memory a page was found last. The default is: nowhere.
    type Hint: Copy + Default;
    /// The page stays in memory, and a cleanup lock has to wait.
    type Pinned;
    /// A pin and a shared lock.
    type Shared: Lock<Self>;
    /// A pin and an exclusive lock. The page is changed by the methods below only.
    type Exclusive: Lock<Self>;

    /// The number of blocks.
    fn blocks(&self) -> u32;

    /// Pins a block; `hint` makes that quicker and is brought up to date.
    fn pin(&self, block: u32, hint: Option<&Cell<Self::Hint>>) -> Self::Pinned;
    /// Waits for a shared lock.
    fn share(&self, pin: Self::Pinned) -> Self::Shared;
    /// Waits for an exclusive lock.
    fn exclusive(&self, pin: Self::Pinned) -> Self::Exclusive;
    /// Waits for an exclusive lock while `before` are locked, all that the caller has, the last one
    /// named last.
    fn exclusive_after(&self, block: u32, before: &[&Self::Exclusive]) -> Self::Exclusive;
    /// An exclusive lock if it can be had at once.
    fn try_exclusive(&self, pin: Self::Pinned) -> Option<Self::Exclusive>;
    /// Waits for a cleanup lock.
    fn cleanup(&self, pin: Self::Pinned) -> Self::Exclusive;
    /// Gives a lock up and keeps the pin.
    fn unlock(&self, shared: Self::Shared) -> Self::Pinned;
    /// The block of a locked page.
    fn block(&self, locked: &Self::Exclusive) -> u32;

    /// A new page at the end of the file, all zeroes.
    fn extend(&self) -> Self::Exclusive;
    /// A block that was noted as free, and no longer is. The note may be wrong: the block may be in use,
    /// or not there.
    fn free_block(&self) -> Option<u32>;
    /// Notes a block as free. The note may be lost.
    fn note_free(&self, block: u32);

    /// Lets `edit` rewrite private copies of up to [`MAX_PAGES`] pages, and installs and logs them as one
    /// record.
    fn change<const N: usize>(
        &self,
        pages: [(&Self::Exclusive, Extent); N],
        edit: impl FnOnce([&mut [u8]; N]),
    );
    /// Adds an entry to each of up to [`MAX_PAGES`] leaves, as one record.
    fn append(&self, leaves: &[(Self::Exclusive, Addition)]);
    /// Fills a page of a build, which nobody else can see yet, and logs it whole.
    fn write_new(&self, locked: &Self::Exclusive, image: &[u8]);

    /// Gets a block on its way that will soon be read.
    fn prefetch(&self, block: u32, hint: &Cell<Self::Hint>);
    /// As [`Store::prefetch`] for a page of which the ends and the bytes at `parts` will be used.
    fn prefetch_for_append(&self, block: u32, hint: &Cell<Self::Hint>, parts: [usize; 2]);

    /// Lets a cancelled query end.
    fn check_for_interrupts(&self);
    /// Where vacuum may pause.
    fn pause(&self);
    /// Raises an ERROR if the snapshot that the caller reads by is too old for a page.
    fn expect_recent(&self, page: &[u8]);
    /// Lets what is known of other indexes be forgotten: too many copies are kept.
    fn forget_others(&self);
    /// Raises an ERROR: a page cannot be what its place in the index says.
    fn damaged(&self, block: u32, damage: &Damage) -> !;

    /// Pins a block and waits for a shared lock.
    fn read(&self, block: u32) -> Self::Shared {
        self.share(self.pin(block, None))
    }
    /// Pins a block and waits for an exclusive lock.
    fn lock(&self, block: u32) -> Self::Exclusive {
        self.exclusive(self.pin(block, None))
    }
}
