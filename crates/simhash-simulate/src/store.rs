//! The simulated store. Every wait and every change is a step at which the scheduler may switch to
//! another actor, and at which the rules of locking are checked.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread;
use simhash_index::damage::Damage;
use simhash_index::mutant::{self, Mutant};
use simhash_index::page::write::Addition;
use simhash_index::page::{Page, is_new};
use simhash_index::store::{Dead, Extent, Fetch, Lock, MAX_PAGES, Store};
use simhash_index::{Shape, TreeKey};

use crate::coding::Coding;
use crate::failure::{Cancelled, fail};
use crate::random::Random;
use crate::trace::Step;
use crate::tree;
use crate::world::{Image, Shared as World, locked};

/// An actor that locks pages this often while it is alone counts as endless.
const MOST_ALONE: usize = 500_000;

/// One actor's access to the store.
pub struct SimStore<K: TreeKey, const PAGE: usize> {
    pub world: World,
    pub coding: Coding<K>,
    pub actor: usize,
    /// The counter that a step increments, so that the scheduler can switch. `None` while the actor
    /// is alone.
    pub steps: Option<Arc<AtomicUsize>>,
    /// The actor is cancelled at one interrupt check in this many, by chance. `None`: never.
    pub cancelled: Arc<Mutex<(Option<usize>, Random)>>,
}

impl<K: TreeKey, const PAGE: usize> Clone for SimStore<K, PAGE> {
    fn clone(&self) -> Self {
        Self {
            world: self.world.clone(),
            coding: self.coding,
            actor: self.actor,
            steps: self.steps.clone(),
            cancelled: self.cancelled.clone(),
        }
    }
}

/// A pin. A guard that is dropped while an actor fails does nothing, because the schedule ends.
pub struct Pinned<K: TreeKey, const PAGE: usize> {
    store: SimStore<K, PAGE>,
    number: u32,
}

/// A pin and a lock, and the page as it was when it was locked.
pub struct Locked<K: TreeKey, const PAGE: usize> {
    pin: Option<Pinned<K, PAGE>>,
    image: Image,
}

pub struct Shared<K: TreeKey, const PAGE: usize>(Locked<K, PAGE>);
pub struct Exclusive<K: TreeKey, const PAGE: usize>(Locked<K, PAGE>);

impl<K: TreeKey, const PAGE: usize> Pinned<K, PAGE> {
    fn locked(self) -> Locked<K, PAGE> {
        let image = locked(&self.store.world).pages[self.number as usize].image.clone();
        Locked { pin: Some(self), image }
    }
}

impl<K: TreeKey, const PAGE: usize> Drop for Pinned<K, PAGE> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let Self { store, number } = self;
            let woken = {
                let mut world = locked(&store.world);
                world.note(store.actor, Step::Unpin(*number));
                world.unpin(store.actor, *number)
            };
            woken.iter().for_each(thread::Thread::unpark);
        }
    }
}

impl<K: TreeKey, const PAGE: usize> Locked<K, PAGE> {
    fn number(&self) -> u32 {
        self.pin.as_ref().map_or(u32::MAX, |pin| pin.number)
    }

    fn unlock(&mut self) -> Option<Pinned<K, PAGE>> {
        let pin = self.pin.take()?;
        if !std::thread::panicking() {
            let store = &pin.store;
            let woken = {
                let mut world = locked(&store.world);
                world.note(store.actor, Step::Unlock(pin.number));
                world.unlock(store.actor, pin.number)
            };
            woken.iter().for_each(thread::Thread::unpark);
        }
        Some(pin)
    }
}

impl<K: TreeKey, const PAGE: usize> Drop for Locked<K, PAGE> {
    fn drop(&mut self) {
        drop(self.unlock());
    }
}

impl<K: TreeKey, const PAGE: usize> Lock<SimStore<K, PAGE>> for Shared<K, PAGE> {
    fn wait(store: &SimStore<K, PAGE>, pin: Pinned<K, PAGE>) -> Self {
        store.share(pin)
    }
    fn bytes(&self) -> &[u8] {
        &self.0.image
    }
}

impl<K: TreeKey, const PAGE: usize> Lock<SimStore<K, PAGE>> for Exclusive<K, PAGE> {
    fn wait(store: &SimStore<K, PAGE>, pin: Pinned<K, PAGE>) -> Self {
        store.exclusive(pin)
    }
    fn bytes(&self) -> &[u8] {
        &self.0.image
    }
}

impl<K: TreeKey, const PAGE: usize> SimStore<K, PAGE> {
    /// A store that only one actor uses: the scheduler has no choice at any step.
    pub fn alone(world: World, coding: Coding<K>) -> Self {
        let cancelled = Arc::new(Mutex::new((None, Random::new(0))));
        Self { world, coding, actor: 0, steps: None, cancelled }
    }

    /// Lets the scheduler choose the actor that goes on.
    pub fn step(&self) {
        if let Some(steps) = &self.steps {
            steps.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub fn note(&self, step: Step) {
        locked(&self.world).note(self.actor, step);
    }

    /// Cancels the actor, if chance decides so.
    fn cancel(&self) {
        let cancelled = {
            let (checks, random) = &mut *locked(&self.cancelled);
            checks.is_some_and(|checks| random.one_in(checks))
        };
        if cancelled {
            self.note(Step::Op("is cancelled".to_owned()));
            std::panic::resume_unwind(Box::new(Cancelled));
        }
    }

    fn wait(
        &self,
        number: u32,
        step: Step,
        mut attempt: impl FnMut(&mut crate::world::World) -> bool,
    ) {
        self.step();
        loop {
            {
                let mut world = locked(&self.world);
                if self.steps.is_none() {
                    // Otherwise the scheduler counts the steps.
                    world.alone += 1;
                    if world.alone > MOST_ALONE {
                        drop(world);
                        fail("goes on for ever alone".to_owned());
                    }
                }
                if attempt(&mut world) {
                    world.note(self.actor, step);
                    return;
                }
                world.note(self.actor, Step::Waits(number));
            }
            if self.steps.is_none() {
                fail(format!("waits for page {number} alone"));
            }
            thread::park();
        }
    }

    /// Locks a page as recovery does, while it holds the earlier pages of the record.
    pub fn lock_for_replay(&self, number: u32) {
        let actor = self.actor;
        self.wait(number, Step::Exclusive(number), |world| {
            world.try_exclusive(actor, number, true)
        });
    }

    pub fn unlock_after_replay(&self, number: u32) {
        let woken = {
            let mut world = locked(&self.world);
            let mut woken = world.unlock(self.actor, number);
            woken.extend(world.unpin(self.actor, number));
            woken
        };
        woken.iter().for_each(thread::Thread::unpark);
    }

    fn expect_none_held(&self, what: &str) {
        if mutant::is(Mutant::WaitsForSecondLeaf) || mutant::is(Mutant::WaitsForSecondRecent) {
            // Such a mutant must show by the deadlock that it causes.
            return;
        }
        let world = locked(&self.world);
        let held = world.held(self.actor);
        if !held.is_empty() {
            let held = held.to_vec();
            drop(world);
            fail(format!("{what} while pages {held:?} are locked"));
        }
    }

    fn note_and(&self, pages: Vec<(u32, Image)>, change: tree::Change) {
        let mut world = locked(&self.world);
        let before: Vec<Image> =
            pages.iter().map(|(number, _)| world.pages[*number as usize].image.clone()).collect();
        let numbers: Vec<u32> = pages.iter().map(|(number, _)| *number).collect();
        for number in &numbers {
            if !world.held(self.actor).contains(number) {
                drop(world);
                fail(format!("changes page {number}, which it has not locked"));
            }
        }
        let step = match change {
            tree::Change::Append => Step::Append(numbers),
            tree::Change::Structure => Step::Change(numbers),
        };
        world.note(self.actor, step);
        world.install(pages.clone());
        if let Err(what) = tree::check_record(&mut world, &self.coding, &before, &pages, change) {
            drop(world);
            fail(what);
        }
    }
}

impl<K: TreeKey, const PAGE: usize> Store for SimStore<K, PAGE> {
    const PAGE: usize = PAGE;
    const FIRST_WAITING: usize = 3;
    type Hint = ();
    type Pinned = Pinned<K, PAGE>;
    type Shared = Shared<K, PAGE>;
    type Exclusive = Exclusive<K, PAGE>;

    fn pages(&self) -> u32 {
        locked(&self.world).page_count()
    }

    fn pin(&self, number: u32, _: Option<&Cell<()>>) -> Pinned<K, PAGE> {
        let mut world = locked(&self.world);
        if number >= world.page_count() {
            drop(world);
            fail(format!("pins page {number}, beyond the end of the file"));
        }
        world.pin(self.actor, number);
        drop(world);
        Pinned { store: self.clone(), number }
    }

    fn share(&self, pin: Pinned<K, PAGE>) -> Shared<K, PAGE> {
        self.expect_none_held("waits for a shared lock");
        let (actor, number) = (self.actor, pin.number);
        self.wait(number, Step::Share(number), |world| world.try_share(actor, number));
        Shared(pin.locked())
    }

    fn exclusive(&self, pin: Pinned<K, PAGE>) -> Exclusive<K, PAGE> {
        self.expect_none_held("waits for an exclusive lock");
        let (actor, number) = (self.actor, pin.number);
        self.wait(number, Step::Exclusive(number), |world| {
            world.try_exclusive(actor, number, true)
        });
        Exclusive(pin.locked())
    }

    fn exclusive_after(
        &self,
        number: u32,
        before: &[&Exclusive<K, PAGE>],
        may_wait: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Exclusive<K, PAGE> {
        let named: Vec<u32> = before.iter().map(|page| page.0.number()).collect();
        let held = locked(&self.world).held(self.actor).to_vec();
        if named != held {
            fail(format!(
                "waits for page {number} after {named:?} while pages {held:?} are locked"
            ));
        }
        let pin = self.pin(number, None);
        let actor = self.actor;
        self.wait(number, Step::After(number), |world| world.try_exclusive(actor, number, true));
        let page = pin.locked();
        for &other in &held {
            let image = locked(&self.world).pages[other as usize].image.clone();
            if !may_wait(&page.image, &image) {
                fail(format!("may not wait for page {number} after {other}, it says itself"));
            }
            if !is_after::<K>(&page.image, &image, &self.coding.meta.shape()) {
                fail(format!("waits for page {number}, neither below nor to the right of {other}"));
            }
        }
        Exclusive(page)
    }

    fn try_exclusive(&self, pin: Pinned<K, PAGE>) -> Option<Exclusive<K, PAGE>> {
        self.step();
        let (actor, number) = (self.actor, pin.number);
        let mut world = locked(&self.world);
        let got = world.try_exclusive(actor, number, false);
        world.note(actor, Step::Try(number, got));
        drop(world);
        got.then(|| Exclusive(pin.locked()))
    }

    fn cleanup(&self, pin: Pinned<K, PAGE>) -> Exclusive<K, PAGE> {
        self.expect_none_held("waits for a cleanup lock");
        let (actor, number) = (self.actor, pin.number);
        if locked(&self.world).pins(actor, number) != 1 {
            fail(format!("waits for a cleanup lock on page {number}, which it has pinned twice"));
        }
        // A wait for pins can be cancelled.
        self.cancel();
        self.wait(number, Step::Cleanup(number), |world| world.try_cleanup(actor, number));
        Exclusive(pin.locked())
    }

    fn unlock(&self, mut shared: Shared<K, PAGE>) -> Pinned<K, PAGE> {
        shared.0.unlock().expect("a lock has a pin")
    }

    fn number(&self, locked: &Exclusive<K, PAGE>) -> u32 {
        locked.0.number()
    }

    fn extend(&self) -> Exclusive<K, PAGE> {
        self.step();
        let mut world = locked(&self.world);
        let number = world.extend(PAGE);
        world.pin(self.actor, number);
        let got = world.try_exclusive(self.actor, number, false);
        world.note(self.actor, Step::Extend(number));
        drop(world);
        assert!(got, "nobody knows a new page");
        Exclusive(Pinned { store: self.clone(), number }.locked())
    }

    fn free_page(&self) -> Option<u32> {
        self.step();
        let number = locked(&self.world).free.last().copied();
        // The map is read and then marked, so two actors may get the same page.
        self.step();
        let mut world = locked(&self.world);
        world.free.retain(|&free| Some(free) != number);
        world.note(self.actor, Step::TakeFree(number));
        number
    }

    fn note_free(&self, number: u32) {
        self.step();
        let mut world = locked(&self.world);
        world.note(self.actor, Step::NoteFree(number));
        if !world.free.contains(&number) {
            world.free.push(number);
        }
    }

    fn change<const N: usize>(
        &self,
        pages: [(&Exclusive<K, PAGE>, Extent); N],
        edit: impl FnOnce([&mut [u8]; N]),
    ) {
        assert!(N <= MAX_PAGES, "{N} pages in one record");
        self.step();
        let numbers = pages.map(|(page, _)| page.0.number());
        let mut copies = {
            let world = locked(&self.world);
            numbers.map(|number| world.pages[number as usize].image.to_vec())
        };
        for ((_, extent), copy) in pages.iter().zip(&copies) {
            if *extent == Extent::Parts && is_new(copy) {
                fail("changes parts of a page that was never written".to_owned());
            }
        }
        edit(copies.each_mut().map(|copy| &mut copy[..]));
        let pages =
            numbers.into_iter().zip(copies).map(|(number, copy)| (number, copy.into())).collect();
        self.note_and(pages, tree::Change::Structure);
    }

    fn append(&self, leaves: &[(Exclusive<K, PAGE>, Addition)]) {
        assert!(leaves.len() <= MAX_PAGES, "{} pages in one record", leaves.len());
        self.step();
        let pages = leaves
            .iter()
            .map(|(page, addition)| {
                let number = page.0.number();
                let mut copy = locked(&self.world).pages[number as usize].image.to_vec();
                for (offset, bytes) in addition.runs() {
                    copy[usize::from(offset)..][..bytes.len()].copy_from_slice(bytes);
                }
                (number, copy.into())
            })
            .collect();
        self.note_and(pages, tree::Change::Append);
    }

    fn write_new(&self, page: &Exclusive<K, PAGE>, image: &[u8]) {
        locked(&self.world).install(vec![(page.0.number(), image.into())]);
    }

    fn prefetch(&self, _: u32, _: &Cell<()>, _: usize, _: Fetch) {}

    fn prefetch_for_append(&self, _: u32, _: &Cell<()>, _: [usize; 2], _: usize) {}

    fn knows_rows(&self) -> bool {
        // An index that is made by one actor alone must be the same for every schedule.
        self.steps.is_some()
    }

    fn dead(&self, _: u32, tids: &[u64]) -> Dead {
        self.expect_none_held("looks at rows");
        self.step();
        let world = locked(&self.world);
        let for_all = mutant::is(Mutant::DeadForOneReader);
        let oldest = if for_all { usize::MAX } else { world.oldest() };
        let owner = |i: usize| Some((i, world.rows.of_tid(tids[i])?));
        let is_dead = |&(_, row): &(usize, usize)| world.rows.all[row].is_dead_to_all(oldest);
        let (numbers, rows): (Vec<usize>, Vec<usize>) =
            (0..tids.len()).filter_map(owner).filter(is_dead).unzip();
        Dead { numbers, horizon: world.rows.horizon(&rows) as u64 }
    }

    fn log_horizon(&self, _: u32, horizon: u64) {
        self.step();
        let mut world = locked(&self.world);
        world.log_horizon(horizon as usize);
        world.facts.reclaimed += 1;
    }

    fn check_for_interrupts(&self) {
        self.expect_none_held("serves an interrupt");
        self.cancel();
    }

    fn pause(&self) {
        self.expect_none_held("pauses");
        self.cancel();
    }

    fn expect_recent(&self, _: &[u8]) {}

    fn forget_others(&self) {}

    fn damaged(&self, number: u32, damage: &Damage) -> ! {
        fail(format!("raises an ERROR: the index is damaged at page {number}: {damage}"))
    }
}

/// Whether a page is below a locked one, or to its right on the same level, as both say themselves.
fn is_after<K: TreeKey>(page: &[u8], locked: &[u8], shape: &Shape) -> bool {
    let (Ok(page), Ok(locked)) = (Page::check::<K>(page, shape), Page::check::<K>(locked, shape))
    else {
        return false;
    };
    let is_right = page.bounds::<K>().low > locked.bounds::<K>().low;
    let level = page.level().cmp(&locked.level());
    page.table() == locked.table() && (level.is_lt() || level.is_eq() && is_right)
}
