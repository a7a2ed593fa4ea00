//! The state that actors share: pages with their locks and pins, the log, the map of free pages,
//! the rows.
//!
//! The rules are PostgreSQL's. A page has any number of shared locks or one exclusive lock. A lock
//! needs a pin. A cleanup lock waits for the pins of others. A waiting actor is woken when it may
//! try again, and may find that another was quicker. The map of free pages is a hint. A record of
//! the log holds whole pages, so a replay of its first n records gives the file as it was after
//! them, except for pages that were added and never written.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shuttle::thread::Thread;

use crate::facts::Facts;
use crate::rows::{Rows, Time};
use crate::trace::{Step, Trace};

/// The most actors of a program.
pub const ACTORS: usize = 8;

/// A page's bytes. The guard of a lock keeps them as they were when the page was locked.
pub type Image = Arc<[u8]>;

/// Pages that change together.
#[derive(Clone, Debug)]
pub struct Record {
    pub pages: Vec<(u32, Image)>,
    /// The number of pages of the file after the record.
    pub page_count: u32,
    /// Replay ends the scans whose snapshots are older than this position in the log.
    pub horizon: usize,
}

/// A page with its locks and pins.
#[derive(Clone)]
pub struct Slot {
    pub image: Image,
    shared: u8,
    exclusive: Option<usize>,
    pins: [u8; ACTORS],
    /// The actors that wait for the release of a lock or a pin, one bit each.
    waiting: u8,
}

impl Slot {
    pub fn new(image: Image) -> Self {
        Self { image, shared: 0, exclusive: None, pins: [0; ACTORS], waiting: 0 }
    }

    fn is_pinned_by_others(&self, actor: usize) -> bool {
        self.pins.iter().enumerate().any(|(other, &pins)| other != actor && pins > 0)
    }
}

/// A page without locks and pins.
impl From<&Image> for Slot {
    fn from(image: &Image) -> Self {
        Self::new(image.clone())
    }
}

/// An actor's locks, snapshot and latest steps.
#[derive(Clone, Default)]
pub struct Actor {
    pub name: &'static str,
    /// The numbers of the pages that it has locked, in the order of locking.
    pub held: Vec<u32>,
    pub trace: Trace,
    /// When the snapshot of its scan was taken, if it scans.
    snapshot: Option<Time>,
    /// Whether the log has ended its scan.
    is_ended: bool,
    thread: Option<Thread>,
}

#[derive(Clone, Default)]
pub struct World {
    pub pages: Vec<Slot>,
    pub free: Vec<u32>,
    pub log: Vec<Record>,
    pub rows: Rows,
    pub actors: Vec<Actor>,
    pub facts: Facts,
    /// How often actors that were alone have locked a page.
    pub alone: usize,
    /// How many records a standby has replayed.
    pub replayed: usize,
}

/// The world as all actors share it. It is never locked while actors switch.
pub type Shared = Arc<Mutex<World>>;

/// Locks a value, even if an actor failed while it had the lock.
pub fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub fn new(images: &[Image], free: Vec<u32>, rows: Rows) -> Self {
        Self { pages: images.iter().map(Slot::from).collect(), free, rows, ..Self::default() }
    }

    pub fn page_count(&self) -> u32 {
        self.pages.len() as u32
    }

    pub fn images(&self) -> Vec<Image> {
        self.pages.iter().map(|page| page.image.clone()).collect()
    }

    pub fn enter(&mut self, actor: usize, name: &'static str, thread: Thread) {
        if self.actors.len() <= actor {
            self.actors.resize_with(actor + 1, Actor::default);
        }
        self.actors[actor].name = name;
        self.actors[actor].thread = Some(thread);
    }

    /// Makes room for one actor that is alone.
    pub fn enter_alone(&mut self) {
        self.actors.resize_with(1, Actor::default);
    }

    pub fn note(&mut self, actor: usize, step: Step) {
        if let Some(actor) = self.actors.get_mut(actor) {
            actor.trace.note(step);
        }
    }

    pub fn held(&self, actor: usize) -> &[u32] {
        self.actors.get(actor).map_or(&[], |actor| &actor.held)
    }

    fn hold(&mut self, actor: usize, number: u32) {
        if let Some(actor) = self.actors.get_mut(actor) {
            actor.held.push(number);
        }
    }

    pub fn pin(&mut self, actor: usize, number: u32) {
        self.pages[number as usize].pins[actor] += 1;
    }

    /// Returns the waiters to be woken, as the methods below do.
    pub fn unpin(&mut self, actor: usize, number: u32) -> Vec<Thread> {
        self.pages[number as usize].pins[actor] -= 1;
        self.woken(number)
    }

    pub fn try_share(&mut self, actor: usize, number: u32) -> bool {
        let page = &mut self.pages[number as usize];
        if page.exclusive.is_some() {
            page.waiting |= 1 << actor;
            return false;
        }
        page.shared |= 1 << actor;
        page.waiting &= !(1 << actor);
        self.hold(actor, number);
        true
    }

    /// `waits`: whether the actor is to be woken when it may try again.
    pub fn try_exclusive(&mut self, actor: usize, number: u32, waits: bool) -> bool {
        let page = &mut self.pages[number as usize];
        if page.exclusive.is_some() || page.shared != 0 {
            page.waiting |= u8::from(waits) << actor;
            return false;
        }
        page.exclusive = Some(actor);
        page.waiting &= !(1 << actor);
        self.hold(actor, number);
        true
    }

    /// Takes an exclusive lock, if no other actor has the page pinned.
    pub fn try_cleanup(&mut self, actor: usize, number: u32) -> bool {
        let page = &mut self.pages[number as usize];
        if page.is_pinned_by_others(actor) {
            page.waiting |= 1 << actor;
            return false;
        }
        self.try_exclusive(actor, number, true)
    }

    pub fn unlock(&mut self, actor: usize, number: u32) -> Vec<Thread> {
        let page = &mut self.pages[number as usize];
        if page.exclusive == Some(actor) {
            page.exclusive = None;
        } else {
            page.shared &= !(1 << actor);
        }
        if let Some(actor) = self.actors.get_mut(actor)
            && let Some(at) = actor.held.iter().rposition(|&held| held == number)
        {
            actor.held.remove(at);
        }
        self.woken(number)
    }

    fn woken(&mut self, number: u32) -> Vec<Thread> {
        let waiting = std::mem::take(&mut self.pages[number as usize].waiting);
        let is_waiting = |actor: &usize| waiting >> actor & 1 == 1;
        (0..ACTORS)
            .filter(is_waiting)
            .filter_map(|actor| self.actors.get(actor)?.thread.clone())
            .collect()
    }

    /// Releases all that an actor has, as the end of its transaction does.
    pub fn release_all(&mut self, actor: usize) -> Vec<Thread> {
        let mut woken = Vec::new();
        for number in 0..self.page_count() {
            let page = &mut self.pages[number as usize];
            page.shared &= !(1 << actor);
            page.exclusive = page.exclusive.filter(|&holder| holder != actor);
            page.waiting &= !(1 << actor);
            if std::mem::take(&mut page.pins[actor]) > 0 {
                woken.extend(self.woken(number));
            }
        }
        if let Some(actor) = self.actors.get_mut(actor) {
            actor.held.clear();
            actor.snapshot = None;
        }
        woken
    }

    /// From now on, the actor reads with a snapshot of that time.
    pub fn begin_scan(&mut self, actor: usize, now: Time) {
        if let Some(actor) = self.actors.get_mut(actor) {
            (actor.snapshot, actor.is_ended) = (Some(now), false);
        }
    }

    /// Ends the scan of an actor. Returns whether replay had ended it before.
    pub fn end_scan(&mut self, actor: usize) -> bool {
        self.actors.get_mut(actor).is_some_and(|actor| {
            actor.snapshot = None;
            actor.is_ended
        })
    }

    /// When the oldest snapshot in use was taken.
    pub fn oldest(&self) -> Time {
        self.actors.iter().filter_map(|actor| actor.snapshot).min().unwrap_or(Time::MAX)
    }

    /// Logs that rows are removed that snapshots older than this position in the log may see.
    pub fn log_horizon(&mut self, horizon: usize) {
        let page_count = self.page_count();
        self.log.push(Record { pages: Vec::new(), page_count, horizon });
    }

    /// Ends the scans whose snapshots are older than that.
    pub fn end_before(&mut self, horizon: usize) {
        for actor in &mut self.actors {
            actor.is_ended |= actor.snapshot.is_some_and(|snapshot| snapshot < horizon);
        }
    }

    /// How often an actor has a page pinned.
    pub fn pins(&self, actor: usize, number: u32) -> u8 {
        self.pages[number as usize].pins[actor]
    }

    pub fn extend(&mut self, bytes: usize) -> u32 {
        self.pages.push(Slot::new(vec![0; bytes].into()));
        self.page_count() - 1
    }

    /// The moment after the last record, as a position in the log. 0 is before the first record.
    pub fn log_time(&self) -> usize {
        self.log.len() + 1
    }

    /// Changes pages and logs them as one record.
    pub fn install(&mut self, pages: Vec<(u32, Image)>) {
        for (number, image) in &pages {
            self.pages[*number as usize].image = image.clone();
        }
        let page_count = self.page_count();
        self.log.push(Record { pages, page_count, horizon: 0 });
    }
}
