//! Pages in memory, for one process. A wait for a lock that this process has is a hang, and so is
//! reading more pages than any work on a file of this size can need.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use simhash_index::damage::Damage;
use simhash_index::page::write::Addition;
use simhash_index::store::{Extent, Fetch, Lock, Store};

/// The bytes of a page: few, so that trees are high.
pub const PAGE: usize = 512;
/// The most pages that one piece of work may pin.
const MOST_PINS: usize = 200_000;

/// The ERROR that a damaged index raises.
pub struct Damaged(pub String);

#[derive(Default)]
pub struct File {
    pub pages: RefCell<Vec<Rc<[u8]>>>,
    pub free: RefCell<Vec<u32>>,
    /// By page number: -1 for an exclusive lock, or the number of shared locks.
    locks: RefCell<HashMap<u32, i32>>,
    pins: Cell<usize>,
}

/// The file as the index opens it.
#[derive(Clone, Default)]
pub struct MemoryStore(pub Rc<File>);

impl MemoryStore {
    pub fn of(pages: Vec<Rc<[u8]>>, free: Vec<u32>) -> Self {
        Self(Rc::new(File { pages: pages.into(), free: free.into(), ..File::default() }))
    }

    /// Begins another piece of work. No page may be locked then.
    pub fn begin(&self) {
        self.0.pins.set(0);
        let locked: Vec<u32> = self.0.locks.borrow().keys().copied().collect();
        assert!(locked.is_empty(), "pages {locked:?} are still locked");
    }

    fn lock(&self, number: u32, exclusive: bool) -> bool {
        let mut locks = self.0.locks.borrow_mut();
        let held = locks.entry(number).or_insert(0);
        let free = if exclusive { *held == 0 } else { *held >= 0 };
        if free {
            *held += if exclusive { -1 } else { 1 };
        }
        free
    }

    fn wait(&self, pin: Pinned, exclusive: bool) -> Locked {
        let got = self.lock(pin.number, exclusive);
        assert!(got, "waits for ever for page {}, which it has locked", pin.number);
        Locked::new(pin)
    }

    fn replace(&self, number: u32, image: Vec<u8>) {
        assert_eq!(image.len(), PAGE);
        self.0.pages.borrow_mut()[number as usize] = image.into();
    }

    fn expect_unlocked(&self) {
        assert!(self.0.locks.borrow().is_empty(), "serves an interrupt while it has a page locked");
    }
}

pub struct Pinned {
    store: MemoryStore,
    number: u32,
}

/// A locked page, and its bytes at the time of locking.
pub struct Locked {
    pin: Pinned,
    image: Rc<[u8]>,
}

impl Locked {
    fn new(pin: Pinned) -> Self {
        let image = pin.store.0.pages.borrow()[pin.number as usize].clone();
        Self { pin, image }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let mut locks = self.pin.store.0.locks.borrow_mut();
        let held = locks.get(&self.pin.number).copied().unwrap_or(0);
        if held > 1 {
            locks.insert(self.pin.number, held - 1);
        } else {
            locks.remove(&self.pin.number);
        }
    }
}

pub struct Shared(Locked);
pub struct Exclusive(Locked);

impl Lock<MemoryStore> for Shared {
    fn wait(store: &MemoryStore, pin: Pinned) -> Self {
        store.share(pin)
    }
    fn bytes(&self) -> &[u8] {
        &self.0.image
    }
}

impl Lock<MemoryStore> for Exclusive {
    fn wait(store: &MemoryStore, pin: Pinned) -> Self {
        store.exclusive(pin)
    }
    fn bytes(&self) -> &[u8] {
        &self.0.image
    }
}

impl Store for MemoryStore {
    const PAGE: usize = PAGE;
    const FIRST_WAITING: usize = 3;
    type Hint = ();
    type Pinned = Pinned;
    type Shared = Shared;
    type Exclusive = Exclusive;

    fn pages(&self) -> u32 {
        self.0.pages.borrow().len() as u32
    }

    fn pin(&self, number: u32, _: Option<&Cell<()>>) -> Pinned {
        // PostgreSQL raises an ERROR too.
        if number >= self.pages() {
            self.damaged(number, &Damage::Other("it is beyond the end of the file"));
        }
        let pins = self.0.pins.get() + 1;
        assert!(pins < MOST_PINS, "goes on for ever");
        self.0.pins.set(pins);
        Pinned { store: self.clone(), number }
    }

    fn share(&self, pin: Pinned) -> Shared {
        Shared(self.wait(pin, false))
    }

    fn exclusive(&self, pin: Pinned) -> Exclusive {
        Exclusive(self.wait(pin, true))
    }

    fn exclusive_after(
        &self,
        number: u32,
        _: &[&Exclusive],
        _: impl Fn(&[u8], &[u8]) -> bool,
    ) -> Exclusive {
        self.exclusive(self.pin(number, None))
    }

    fn try_exclusive(&self, pin: Pinned) -> Option<Exclusive> {
        self.lock(pin.number, true).then(|| Exclusive(Locked::new(pin)))
    }

    fn cleanup(&self, pin: Pinned) -> Exclusive {
        self.exclusive(pin)
    }

    fn unlock(&self, shared: Shared) -> Pinned {
        Pinned { store: self.clone(), number: shared.0.pin.number }
    }

    fn number(&self, locked: &Exclusive) -> u32 {
        locked.0.pin.number
    }

    fn extend(&self) -> Exclusive {
        self.0.pages.borrow_mut().push(vec![0; PAGE].into());
        self.exclusive(self.pin(self.pages() - 1, None))
    }

    fn free_page(&self) -> Option<u32> {
        self.0.free.borrow_mut().pop()
    }

    fn note_free(&self, number: u32) {
        self.0.free.borrow_mut().push(number);
    }

    fn change<const N: usize>(
        &self,
        pages: [(&Exclusive, Extent); N],
        edit: impl FnOnce([&mut [u8]; N]),
    ) {
        let numbers = pages.map(|(page, _)| self.number(page));
        let mut copies = numbers.map(|number| self.0.pages.borrow()[number as usize].to_vec());
        edit(copies.each_mut().map(|copy| &mut copy[..]));
        numbers.into_iter().zip(copies).for_each(|(number, copy)| self.replace(number, copy));
    }

    fn append(&self, leaves: &[(Exclusive, Addition)]) {
        for (page, addition) in leaves {
            let number = self.number(page);
            let mut copy = self.0.pages.borrow()[number as usize].to_vec();
            for (offset, bytes) in addition.runs() {
                copy[usize::from(offset)..][..bytes.len()].copy_from_slice(bytes);
            }
            self.replace(number, copy);
        }
    }

    fn write_new(&self, locked: &Exclusive, image: &[u8]) {
        self.replace(self.number(locked), image.to_vec());
    }

    fn prefetch(&self, _: u32, _: &Cell<()>, _: usize, _: Fetch) {}

    fn prefetch_for_append(&self, _: u32, _: &Cell<()>, _: [usize; 2], _: usize) {}

    fn check_for_interrupts(&self) {
        self.expect_unlocked();
    }

    fn pause(&self) {
        self.expect_unlocked();
    }

    fn expect_recent(&self, _: &[u8]) {}

    fn forget_others(&self) {}

    fn damaged(&self, number: u32, damage: &Damage) -> ! {
        // Not a panic, at which libFuzzer would end the process.
        std::panic::resume_unwind(Box::new(Damaged(format!("page {number}: {damage}"))))
    }
}
