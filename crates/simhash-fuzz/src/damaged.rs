//! What the targets for pages and for postings share: how pages are damaged, and work that ends
//! when the index finds damage.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use simhash_index::Meta;
use simhash_index::insert::Beside;
use simhash_index::key::{Bytes, TreeKey};

use crate::input::Input;
use crate::store::{Damaged, MemoryStore, PAGE};

/// Does a piece of work. `None` if it ends because the index is found to be damaged.
pub fn work<R>(store: &MemoryStore, is_sound: bool, run: impl FnOnce() -> R) -> Option<R> {
    store.begin();
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => Some(result),
        Err(payload) => match payload.downcast::<Damaged>() {
            Ok(damaged) => {
                assert!(!is_sound, "a sound index is called damaged: {}", damaged.0);
                None
            }
            Err(payload) => resume_unwind(payload),
        },
    }
}

pub fn damage(pages: &mut Vec<Rc<[u8]>>, input: &mut Input<'_>) {
    let (what, page) = (input.byte(), usize::from(input.u16()) % pages.len());
    let mut image = pages[page].to_vec();
    let at = usize::from(input.u16()) % PAGE;
    match what % 8 {
        0 => image[at] = input.byte(),
        1 => image[at] ^= 1 << (input.byte() % 8),
        // The number of a page, or a count.
        2 | 3 => {
            let number = (u32::from(input.byte()) % (pages.len() as u32 + 2)).to_le_bytes();
            let at = (at & !3).min(PAGE - 4);
            image[at..at + 4].copy_from_slice(&number);
        }
        4 => {
            let at = (at & !7).min(PAGE - 8);
            image[at..at + 8].copy_from_slice(&input.u64().to_le_bytes());
        }
        // A copy of another page, a torn page, an empty one, or a short file.
        5 => image.copy_from_slice(&pages[at % pages.len()].clone()),
        6 => {
            let other = pages[usize::from(input.byte()) % pages.len()].clone();
            image[at..].copy_from_slice(&other[at..]);
        }
        _ => match input.byte() % 4 {
            0 if page > 0 => pages.truncate(page),
            1 => image.fill(0),
            _ => image[at..].fill(input.byte()),
        },
    }
    if let Some(place) = pages.get_mut(page) {
        *place = image.into();
    }
}

pub fn scope_of<K: TreeKey>(number: u8, meta: &Meta) -> K::Scope {
    let bytes = [7, number, 0, number];
    K::Scope::load(&bytes[..(meta.scope as usize).min(4)])
}

pub fn beside<K: TreeKey>(scope: u8, tid: u64, meta: &Meta) -> Beside<K> {
    let payload = tid.to_le_bytes();
    let payload = K::Payload::load(&payload[..(meta.payload as usize).min(8)]);
    Beside { scope: scope_of::<K>(scope, meta), payload, tid }
}
