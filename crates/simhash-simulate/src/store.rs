//! The simulated store: every wait and every change is a step at which the scheduler may let another
//! actor go on, and the rules of locking are checked at each.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread;
use simhash_index::damage::Damage;
use simhash_index::mutant::{self, Mutant};
use simhash_index::page::{Addition, Page, is_new};
use simhash_index::store::{Extent, Lock, MAX_PAGES, Store};

use crate::failure::{Cancelled, fail};
use crate::random::Random;
use crate::trace::Step;
use crate::tree;
use crate::world::{Image, Shared as World, locked};

/// The store as one actor has it.
pub struct SimStore<const PAGE: usize> {
    pub world: World,
    pub actor: usize,
    /// What a step touches, so that the scheduler takes notice; none while nobody else is there.
    pub steps: Option<Arc<AtomicUsize>>,
    /// Once in so many interrupt checks the actor is cancelled; 0: never.
    pub cancelled: Arc<Mutex<(usize, Random)>>,
}

impl<const PAGE: usize> Clone for SimStore<PAGE> {
    fn clone(&self) -> Self {
        Self {
            world: self.world.clone(),
            actor: self.actor,
            steps: self.steps.clone(),
            cancelled: self.cancelled.clone(),
        }
    }
}

/// A pin. Guards that are dropped while an actor fails do nothing: the world ends.
pub struct Pinned<const PAGE: usize> {
    store: SimStore<PAGE>,
    block: u32,
}

/// A pin and a lock, and the page as it was when it was locked.
pub struct Locked<const PAGE: usize> {
    pin: Option<Pinned<PAGE>>,
    image: Image,
}

pub struct Shared<const PAGE: usize>(Locked<PAGE>);
pub struct Exclusive<const PAGE: usize>(Locked<PAGE>);

impl<const PAGE: usize> Pinned<PAGE> {
    fn locked(self) -> Locked<PAGE> {
        let image = locked(&self.store.world).pages[self.block as usize].image.clone();
        Locked { pin: Some(self), image }
    }
}

impl<const PAGE: usize> Drop for Pinned<PAGE> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let Self { store, block } = self;
            let woken = {
                let mut world = locked(&store.world);
                world.note(store.actor, Step::Unpin(*block));
                world.unpin(store.actor, *block)
            };
            woken.iter().for_each(thread::Thread::unpark);
        }
    }
}

impl<const PAGE: usize> Locked<PAGE> {
    fn block(&self) -> u32 {
        self.pin.as_ref().map_or(u32::MAX, |pin| pin.block)
    }

    fn unlock(&mut self) -> Option<Pinned<PAGE>> {
        let pin = self.pin.take()?;
        if !std::thread::panicking() {
            let store = &pin.store;
            let woken = {
                let mut world = locked(&store.world);
                world.note(store.actor, Step::Unlock(pin.block));
                world.unlock(store.actor, pin.block)
            };
            woken.iter().for_each(thread::Thread::unpark);
        }
        Some(pin)
    }
}

impl<const PAGE: usize> Drop for Locked<PAGE> {
    fn drop(&mut self) {
        drop(self.unlock());
    }
}

impl<const PAGE: usize> Lock<SimStore<PAGE>> for Shared<PAGE> {
    fn wait(store: &SimStore<PAGE>, pin: Pinned<PAGE>) -> Self {
        store.share(pin)
    }
    fn bytes(&self) -> &[u8] {
        &self.0.image
    }
}

impl<const PAGE: usize> Lock<SimStore<PAGE>> for Exclusive<PAGE> {
    fn wait(store: &SimStore<PAGE>, pin: Pinned<PAGE>) -> Self {
        store.exclusive(pin)
    }
    fn bytes(&self) -> &[u8] {
        &self.0.image
    }
}

impl<const PAGE: usize> SimStore<PAGE> {
    /// A store that nobody else uses: no step is a choice.
    pub fn alone(world: World) -> Self {
        Self { world, actor: 0, steps: None, cancelled: Arc::new(Mutex::new((0, Random::new(0)))) }
    }

    /// Lets the scheduler choose who goes on.
    pub fn step(&self) {
        if let Some(steps) = &self.steps {
            steps.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub fn note(&self, step: Step) {
        locked(&self.world).note(self.actor, step);
    }

    /// Ends the actor if it is its lot to be cancelled now.
    fn cancel(&self) {
        let cancelled = {
            let mut cancelled = locked(&self.cancelled);
            let times = cancelled.0;
            times > 0 && cancelled.1.one_in(times)
        };
        if cancelled {
            self.note(Step::Op("is cancelled".to_owned()));
            std::panic::resume_unwind(Box::new(Cancelled));
        }
    }

    fn wait(&self, block: u32, step: Step, mut attempt: impl FnMut(&mut crate::world::World) -> bool) {
        self.step();
        loop {
            {
                let mut world = locked(&self.world);
                if attempt(&mut world) {
                    world.note(self.actor, step);
                    return;
                }
                world.note(self.actor, Step::Waits(block));
            }
            if self.steps.is_none() {
                fail(format!("waits for block {block} alone"));
            }
            thread::park();
        }
    }

    /// As recovery locks pages: one after the other, all of a record.
    pub fn lock_for_replay(&self, block: u32) {
        let actor = self.actor;
        self.wait(block, Step::Exclusive(block), |world| world.try_exclusive(actor, block, true));
    }

    pub fn unlock_after_replay(&self, block: u32) {
        let woken = {
            let mut world = locked(&self.world);
            let mut woken = world.unlock(self.actor, block);
            woken.extend(world.unpin(self.actor, block));
            woken
        };
        woken.iter().for_each(thread::Thread::unpark);
    }

    fn expect_none_held(&self, what: &str) {
        if mutant::is(Mutant::WaitsForSecondLeaf) {
            // It is to be found by the deadlock that it leads to.
            return;
        }
        let world = locked(&self.world);
        let held = world.held(self.actor);
        if !held.is_empty() {
            let held = held.to_vec();
            drop(world);
            fail(format!("{what} while blocks {held:?} are locked"));
        }
    }

    fn note_and(&self, pages: Vec<(u32, Image)>, change: tree::Change) {
        let mut world = locked(&self.world);
        let before: Vec<Image> =
            pages.iter().map(|(block, _)| world.pages[*block as usize].image.clone()).collect();
        let blocks: Vec<u32> = pages.iter().map(|(block, _)| *block).collect();
        for block in &blocks {
            if !world.held(self.actor).contains(block) {
                drop(world);
                fail(format!("changes block {block}, which it has not locked"));
            }
        }
        world.note(
            self.actor,
            if change == tree::Change::Append { Step::Append(blocks) } else { Step::Change(blocks) },
        );
        world.install(pages.clone());
        if let Err(what) = tree::check_record::<PAGE>(&mut world, &before, &pages, change) {
            drop(world);
            fail(what);
        }
    }
}

impl<const PAGE: usize> Store for SimStore<PAGE> {
    const PAGE: usize = PAGE;
    const FIRST_WAITING: usize = 3;
    type Hint = ();
    type Pinned = Pinned<PAGE>;
    type Shared = Shared<PAGE>;
    type Exclusive = Exclusive<PAGE>;

    fn blocks(&self) -> u32 {
        locked(&self.world).blocks()
    }

    fn pin(&self, block: u32, _: Option<&Cell<()>>) -> Pinned<PAGE> {
        let mut world = locked(&self.world);
        if block >= world.blocks() {
            drop(world);
            fail(format!("pins block {block}, beyond the end of the file"));
        }
        world.pin(self.actor, block);
        drop(world);
        Pinned { store: self.clone(), block }
    }

    fn share(&self, pin: Pinned<PAGE>) -> Shared<PAGE> {
        self.expect_none_held("waits for a shared lock");
        let (actor, block) = (self.actor, pin.block);
        self.wait(block, Step::Share(block), |world| world.try_share(actor, block));
        Shared(pin.locked())
    }

    fn exclusive(&self, pin: Pinned<PAGE>) -> Exclusive<PAGE> {
        self.expect_none_held("waits for an exclusive lock");
        let (actor, block) = (self.actor, pin.block);
        self.wait(block, Step::Exclusive(block), |world| world.try_exclusive(actor, block, true));
        Exclusive(pin.locked())
    }

    fn exclusive_after(&self, block: u32, before: &[&Exclusive<PAGE>]) -> Exclusive<PAGE> {
        let named: Vec<u32> = before.iter().map(|page| page.0.block()).collect();
        let held = locked(&self.world).held(self.actor).to_vec();
        if named != held {
            fail(format!("waits for block {block} after {named:?} while blocks {held:?} are locked"));
        }
        let pin = self.pin(block, None);
        let actor = self.actor;
        self.wait(block, Step::After(block), |world| world.try_exclusive(actor, block, true));
        let page = pin.locked();
        for &other in &held {
            let image = locked(&self.world).pages[other as usize].image.clone();
            if !may_wait(&page.image, &image) {
                fail(format!("waits for block {block}, neither below nor to the right of {other}"));
            }
        }
        Exclusive(page)
    }

    fn try_exclusive(&self, pin: Pinned<PAGE>) -> Option<Exclusive<PAGE>> {
        self.step();
        let (actor, block) = (self.actor, pin.block);
        let mut world = locked(&self.world);
        let got = world.try_exclusive(actor, block, false);
        world.note(actor, Step::Try(block, got));
        drop(world);
        got.then(|| Exclusive(pin.locked()))
    }

    fn cleanup(&self, pin: Pinned<PAGE>) -> Exclusive<PAGE> {
        self.expect_none_held("waits for a cleanup lock");
        let (actor, block) = (self.actor, pin.block);
        if locked(&self.world).pins(actor, block) != 1 {
            fail(format!("waits for a cleanup lock on block {block}, which it has pinned twice"));
        }
        // Whoever waits for pins can be cancelled.
        self.cancel();
        self.wait(block, Step::Cleanup(block), |world| world.try_cleanup(actor, block));
        Exclusive(pin.locked())
    }

    fn unlock(&self, mut shared: Shared<PAGE>) -> Pinned<PAGE> {
        shared.0.unlock().expect("a lock has a pin")
    }

    fn block(&self, locked: &Exclusive<PAGE>) -> u32 {
        locked.0.block()
    }

    fn extend(&self) -> Exclusive<PAGE> {
        self.step();
        let mut world = locked(&self.world);
        let block = world.extend(PAGE);
        world.pin(self.actor, block);
        let got = world.try_exclusive(self.actor, block, false);
        world.note(self.actor, Step::Extend(block));
        drop(world);
        assert!(got, "nobody knows a new page");
        Exclusive(Pinned { store: self.clone(), block }.locked())
    }

    fn free_block(&self) -> Option<u32> {
        self.step();
        let block = locked(&self.world).free.last().copied();
        // The map is read and then marked: two may be told of the same block.
        self.step();
        let mut world = locked(&self.world);
        world.free.retain(|&free| Some(free) != block);
        world.note(self.actor, Step::TakeFree(block));
        block
    }

    fn note_free(&self, block: u32) {
        self.step();
        let mut world = locked(&self.world);
        world.note(self.actor, Step::NoteFree(block));
        if !world.free.contains(&block) {
            world.free.push(block);
        }
    }

    fn change<const N: usize>(
        &self,
        pages: [(&Exclusive<PAGE>, Extent); N],
        edit: impl FnOnce([&mut [u8]; N]),
    ) {
        assert!(N <= MAX_PAGES, "{N} pages in one record");
        self.step();
        let blocks = pages.map(|(page, _)| page.0.block());
        let mut copies = {
            let world = locked(&self.world);
            blocks.map(|block| world.pages[block as usize].image.to_vec())
        };
        for ((_, extent), copy) in pages.iter().zip(&copies) {
            if *extent == Extent::Parts && is_new(copy) {
                fail("changes a page in parts that was never written".to_owned());
            }
        }
        edit(copies.each_mut().map(|copy| &mut copy[..]));
        let pages = blocks.into_iter().zip(copies).map(|(block, copy)| (block, copy.into())).collect();
        self.note_and(pages, tree::Change::Structure);
    }

    fn append(&self, leaves: &[(Exclusive<PAGE>, Addition)]) {
        assert!(leaves.len() <= MAX_PAGES, "{} pages in one record", leaves.len());
        self.step();
        let pages = leaves
            .iter()
            .map(|(page, addition)| {
                let block = page.0.block();
                let mut copy = locked(&self.world).pages[block as usize].image.to_vec();
                for (offset, bytes) in addition.runs() {
                    copy[usize::from(offset)..][..bytes.len()].copy_from_slice(bytes);
                }
                (block, copy.into())
            })
            .collect();
        self.note_and(pages, tree::Change::Append);
    }

    fn write_new(&self, page: &Exclusive<PAGE>, image: &[u8]) {
        locked(&self.world).install(vec![(page.0.block(), image.into())]);
    }

    fn prefetch(&self, _: u32, _: &Cell<()>) {}

    fn prefetch_for_append(&self, _: u32, _: &Cell<()>, _: [usize; 2]) {}

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

    fn damaged(&self, block: u32, damage: &Damage) -> ! {
        fail(format!("raises an ERROR: the index is damaged at block {block}: {damage}"))
    }
}

/// Whether a page is below another, which is locked, or to its right on its level, as both say.
fn may_wait(page: &[u8], locked: &[u8]) -> bool {
    let (Ok(page), Ok(locked)) = (Page::check::<u64>(page), Page::check::<u64>(locked)) else { return false };
    let is_right = page.bounds::<u64>().low > locked.bounds::<u64>().low;
    let level = page.level().cmp(&locked.level());
    page.table() == locked.table() && (level.is_lt() || level.is_eq() && is_right)
}
