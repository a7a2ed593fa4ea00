//! Page layout: keys grow up from the header, slots grow down from the special area.
//!
//! ```text
//! 0        24                lower        upper                      8192
//! | header | key 0 | key 1 | ... |  free  | ... | slot 1 | slot 0 | special |
//! ```
//!
//! The numbers are those of pages of 8 kB. Any size that leaves room for a few entries will do.
//!
//! A key is a rotated fingerprint in native byte order. A leaf's slot is a TID (6 bytes or fewer),
//! the payload, and the scope, each as the leaf's [`form`](crate::form) says. An inner page's slot
//! is the TID of a separator, the number of a child page (10 bytes together), and the separator's
//! scope. So appending to a leaf changes three short runs of bytes, which is all that is logged,
//! and the keys of a page are one packed array for the scan kernels. pd_lower gives the number of
//! entries. Full-page images leave out the hole between lower and upper.
//!
//! Where a leaf's form cuts the most significant bytes of its keys, their place holds those of the
//! TID. The other bytes of the TID are in the slot, the least significant first.
//!
//! Every page says which table, level and key range it is of. Invariants:
//! - The range is [low, high). The last page of a level has no high and no right link.
//! - The pages of a level partition the key space in the order of their right links, at every
//!   instant that locks allow to be seen: a split or a removal changes both pages and the parent in
//!   one record.
//! - A leaf's first entries ascend, as many as its flags say, and the others are in no order. Inner
//!   pages are sorted. Entry 0's separator equals low, and every separator equals its child's low.
//! - The range of a leaf may be more than its form can store. A row in the range that does not fit
//!   the form changes the form, or is put on a new leaf.

use std::ops::Range;

use simhash_core::Fingerprint;
use simhash_core::base::key::Key;
use simhash_core::base::key::Spread;
use simhash_core::base::simd::popcount;

use crate::damage::Damage;
use crate::form::{Form, may_cut};
use crate::key::{Bytes, MOST_PAYLOAD, MOST_SCOPE, Shape, TreeKey};
pub use crate::key::{Entry, Row};

/// No page: the right link of the last page of a level.
pub const NO_PAGE: u32 = u32::MAX;

/// Bytes of the page header.
pub const HEADER: usize = 24;

const LOWER: usize = 12;
const UPPER: usize = 14;
const SPECIAL_AT: usize = 16;
const SIZE_VERSION: usize = 18;
/// The version of the page layout that PostgreSQL wants in every header. It has not changed since
/// version 8.3.
const LAYOUT_VERSION: u16 = 4;

// The special area: both scopes, both keys, and then these bytes, which end the page.
const FIXED_BYTES: usize = 24;
const LOW_TID: usize = 0;
const HIGH_TID: usize = 6;
const RIGHT: usize = 12;
const TABLE: usize = 16;
const LEVEL: usize = 17;
const FLAGS: usize = 18;
const MAGIC_AT: usize = 20;
/// The least bytes that a key has in the special area. What is left is zeroes.
const LEAST_KEY: usize = 16;
/// The most bytes of a key.
pub const MOST_KEY: usize = 128;

/// The mark of a tree page: "SHT1".
const MAGIC: u32 = 0x5348_5431;
/// The page is out of the tree and may be reused.
const DELETED: u16 = 1;
/// How many chunks of a leaf's entries ascend. The flags between are the form.
const ORDERED_SHIFT: u32 = 10;
const MOST_ORDERED: usize = (u16::MAX >> ORDERED_SHIFT) as usize;

/// How many entries make a chunk on a page of this many bytes. In 8 kB a chunk of keys is 256 bytes
/// or more.
const fn chunk(page: usize) -> usize {
    if page < 512 { 1 } else { page / 256 }
}

/// The form that a page's flags encode. `None` if they encode none.
const fn form_of(flags: u16) -> Option<Form> {
    Form::of_flags(flags & !DELETED & !(u16::MAX << ORDERED_SHIFT))
}

/// Bytes of a stored TID.
pub const TID_BYTES: usize = 6;
const DOWNLINK_BYTES: usize = TID_BYTES + 4;
/// The most bytes of a leaf's slot.
const MOST_SLOT: usize = TID_BYTES + MOST_PAYLOAD + MOST_SCOPE;
/// No tree of 2^32 pages is this high.
pub const MAX_LEVEL: u8 = 16;

/// The bounds of a page: what belongs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds<K> {
    pub low: Entry<K>,
    /// `None`: no bound, the page is the last of its level.
    pub high: Option<Entry<K>>,
}

impl<K: TreeKey> Bounds<K> {
    /// All entries there can be.
    pub const ALL: Self = Self { low: Entry::MIN, high: None };

    pub fn contains(&self, entry: &Entry<K>) -> bool {
        *entry >= self.low && !self.is_before(entry)
    }

    /// Whether the page lies wholly before `entry`.
    pub fn is_before(&self, entry: &Entry<K>) -> bool {
        self.high.is_some_and(|high| *entry >= high)
    }
}

impl Shape {
    /// Bytes of a key in the special area.
    const fn bound_key(&self) -> usize {
        if self.key > LEAST_KEY { self.key } else { LEAST_KEY }
    }

    /// Bytes of the special area.
    pub const fn special(&self) -> usize {
        (FIXED_BYTES + 2 * (self.bound_key() + self.scope)).next_multiple_of(8)
    }

    const fn slot(&self, level: u8, form: Form) -> usize {
        if level > 0 {
            DOWNLINK_BYTES + self.scope
        } else if form.uniform {
            form.tid_in_slot() + self.payload
        } else {
            form.tid_in_slot() + self.payload + self.scope
        }
    }

    /// How many rows fit on a leaf of `page` bytes.
    pub const fn leaf_capacity(&self, page: usize, form: Form) -> usize {
        (page - self.special() - HEADER) / (self.key + self.slot(0, form))
    }

    /// How many downlinks fit on an inner page of `page` bytes.
    pub const fn inner_capacity(&self, page: usize) -> usize {
        (page - self.special() - HEADER) / (self.key + self.slot(1, Form::MIXED))
    }
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline]
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(word)
}

#[inline]
fn tid_at(bytes: &[u8], at: usize) -> u64 {
    let mut tid = [0; 8];
    tid[..TID_BYTES].copy_from_slice(&bytes[at..at + TID_BYTES]);
    u64::from_le_bytes(tid)
}

#[inline]
fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// The number of a word in a key of `F`, and where its bytes are in the stored key: of the most
/// significant word.
const fn top_word<F: Key>() -> (usize, usize) {
    let words = F::BYTES / 8;
    // A key of 128 bits is one number in native order. A longer one is its words, the most
    // significant first.
    let is_last = F::BYTES == 16 && cfg!(target_endian = "little");
    (words - 1, if is_last { 8 } else { 0 })
}

/// How the key and the TID of a row are stored in `form`: the key, with the most significant bytes
/// of the TID in the place of the cut ones, and the other bytes of the TID.
#[inline]
fn store_entry<F: Key>(form: Form, fingerprint: F, tid: u64, key: &mut [u8], slot: &mut [u8]) {
    let packed = form.tids.pack(tid);
    slot.copy_from_slice(&packed.to_le_bytes()[..slot.len()]);
    if form.cut == 0 {
        return store_key(fingerprint, key);
    }
    let high = packed >> (8 * form.tid_in_slot());
    let (top, _) = top_word::<F>();
    let mixed = F::from_words(|word| match fingerprint.word(word) {
        stored if word == top => stored & !form.cut_mask() | high << (64 - form.cut_bits()),
        stored => stored,
    });
    store_key(mixed, key);
}

#[inline]
fn put_tid(bytes: &mut [u8], at: usize, tid: u64) {
    put(bytes, at, &tid.to_le_bytes()[..TID_BYTES]);
}

/// The place of a key's stored bytes among all its bytes. A key of one word is stored in native
/// order, so its most significant bytes are the last ones on most machines.
#[inline(always)]
fn stored_part<F: Key>(stored: usize) -> Range<usize> {
    if F::BYTES == 8 && cfg!(target_endian = "little") {
        F::BYTES - stored..F::BYTES
    } else {
        0..stored
    }
}

/// Reads a key of which all bytes or only the most significant ones are stored.
#[inline(always)]
pub fn load_key<F: Key>(stored: &[u8]) -> F {
    if stored.len() == F::BYTES {
        return F::load(stored);
    }
    let mut whole = [0; MOST_KEY];
    whole[stored_part::<F>(stored.len())].copy_from_slice(stored);
    F::load(&whole[..F::BYTES])
}

/// Writes all bytes of a key, or only the most significant ones.
#[inline(always)]
pub fn store_key<F: Key>(key: F, bytes: &mut [u8]) {
    if bytes.len() == F::BYTES {
        return key.store(bytes);
    }
    let mut whole = [0; MOST_KEY];
    key.store(&mut whole[..F::BYTES]);
    bytes.copy_from_slice(&whole[stored_part::<F>(bytes.len())]);
}

/// Where the bytes start that end every page.
#[inline]
const fn fixed(bytes: &[u8]) -> usize {
    bytes.len() - FIXED_BYTES
}

/// Whether the page was never written. A crash right after an extension leaves such a page.
pub fn is_new(bytes: &[u8]) -> bool {
    u16_at(bytes, UPPER) == 0
}

/// Whether the page may be taken for a new purpose.
pub fn is_free(bytes: &[u8]) -> bool {
    is_new(bytes)
        || (u32_at(bytes, fixed(bytes) + MAGIC_AT) == MAGIC
            && u16_at(bytes, fixed(bytes) + FLAGS) & DELETED != 0)
}

/// Whether `page` may be waited for while `locked` is locked. It may if both say that the locked
/// one is above it in the same tree, or to its left on the same level.
pub fn may_be_waited_for<K: TreeKey>(page: &[u8], locked: &[u8], shape: &Shape) -> bool {
    let (Ok(page), Ok(locked)) = (Page::check::<K>(page, shape), Page::check::<K>(locked, shape))
    else {
        return false;
    };
    let is_left = locked.bounds::<K>().low < page.bounds::<K>().low;
    page.table() == locked.table()
        && (locked.level() > page.level() || locked.level() == page.level() && is_left)
}

/// A page that has been checked: every accessor stays within its bytes.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    bytes: &'a [u8],
    count: usize,
    /// How many of the first entries ascend: whole chunks.
    ordered: usize,
    shape: Shape,
    /// Bytes of a slot.
    slot: usize,
    form: Form,
    /// Where the most significant word of a stored key is, and what is cut of it.
    top_at: usize,
    prefix: u64,
}

impl<'a> Page<'a> {
    /// Checks the header and the special area of a tree page with keys of type `K`.
    pub fn check<K: TreeKey>(bytes: &'a [u8], shape: &Shape) -> Result<Self, Damage> {
        debug_assert!(shape.fits::<K>());
        let shape = shape.of::<K>();
        if is_new(bytes) {
            return Err(Damage::Empty);
        }
        let (lower, upper, special) =
            (u16_at(bytes, LOWER), u16_at(bytes, UPPER), u16_at(bytes, SPECIAL_AT));
        let end = bytes.len() - shape.special();
        if usize::from(special) != end {
            return Err(Damage::Header { lower, upper, special });
        }
        let area = &bytes[fixed(bytes)..];
        let magic = u32_at(area, MAGIC_AT);
        if magic != MAGIC {
            return Err(Damage::Magic(magic));
        }
        let level = area[LEVEL];
        if level > MAX_LEVEL {
            return Err(Damage::Place { table: area[TABLE], level });
        }
        let shape = shape.at(area[TABLE]);
        let flags = u16_at(area, FLAGS);
        let form = form_of(flags).filter(|form| {
            (level == 0 || *form == Form::MIXED) && (form.cut == 0 || may_cut::<K>(&shape))
        });
        let Some(form) = form else {
            return Err(Damage::Other("its flags are invalid"));
        };
        let ordered = usize::from(flags >> ORDERED_SHIFT) * chunk(bytes.len());
        let keys = usize::from(lower).wrapping_sub(HEADER);
        let count = keys / shape.key;
        let slot = shape.slot(level, form);
        let consistent = usize::from(lower) >= HEADER
            && lower <= upper
            && usize::from(upper) <= end
            && keys == count * shape.key
            && end - usize::from(upper) == count.wrapping_mul(slot);
        if !consistent {
            return Err(Damage::Header { lower, upper, special });
        }
        if ordered > if level == 0 { count } else { 0 } {
            return Err(Damage::Other(
                "its number of ascending entries exceeds its number of entries",
            ));
        }
        let (_, top_at) = top_word::<K::Fingerprint>();
        let mut page = Self { bytes, count, ordered, shape, slot, form, top_at, prefix: 0 };
        if form.cut > 0 {
            let low = page.bound::<K>(0, LOW_TID).key.fingerprint();
            page.prefix = Fingerprint::top(low) & form.cut_mask();
        }
        Ok(page)
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub fn table(&self) -> u8 {
        self.area()[TABLE]
    }

    pub fn level(&self) -> u8 {
        self.area()[LEVEL]
    }

    pub fn is_leaf(&self) -> bool {
        self.level() == 0
    }

    pub fn is_deleted(&self) -> bool {
        u16_at(self.area(), FLAGS) & DELETED != 0
    }

    #[inline]
    pub fn form(&self) -> Form {
        self.form
    }

    /// The next page of the level, if any.
    pub fn right(&self) -> Option<u32> {
        let right = u32_at(self.area(), RIGHT);
        (right != NO_PAGE).then_some(right)
    }

    #[inline]
    pub fn bounds<K: TreeKey>(&self) -> Bounds<K> {
        Bounds { low: self.bound(0, LOW_TID), high: self.high() }
    }

    /// The upper bound alone.
    #[inline]
    pub fn high<K: TreeKey>(&self) -> Option<Entry<K>> {
        self.right().is_some().then(|| self.bound(1, HIGH_TID))
    }

    /// The lower bound, of number 0, or the upper one.
    #[inline]
    fn bound<K: TreeKey>(&self, number: usize, tid: usize) -> Entry<K> {
        let shape = self.shape.of::<K>();
        let key = fixed(self.bytes) - (2 - number) * shape.bound_key();
        Entry {
            key: K::new(self.bound_scope::<K>(number), load_key(&self.bytes[key..key + shape.key])),
            tid: tid_at(self.area(), tid),
        }
    }

    #[inline]
    fn bound_scope<K: TreeKey>(&self, number: usize) -> K::Scope {
        let shape = self.shape.of::<K>();
        let keys = fixed(self.bytes) - 2 * shape.bound_key();
        let scope = keys - (2 - number) * shape.scope;
        K::Scope::load(&self.bytes[scope..scope + shape.scope])
    }

    /// All rotated fingerprints, packed. Other bytes are in the place of the cut ones.
    fn keys(&self) -> &'a [u8] {
        &self.bytes[HEADER..HEADER + self.count * self.shape.key]
    }

    /// How many of the first entries ascend.
    pub fn ordered(&self) -> usize {
        self.ordered
    }

    /// As [`Page::within`], without some of the entries below `target` and above `last`: none of
    /// these is wanted.
    pub fn within_between<K: TreeKey>(
        &self,
        (target, last): (K, Option<K>),
        rotated: K::Fingerprint,
        distance: u32,
        positions: &mut Vec<u32>,
    ) {
        let length = chunk(self.bytes.len());
        let start = self.chunk_of(target) * length;
        let is_above = |&at: &usize| last.is_some_and(|last| self.key::<K>(at) > last);
        let above = (start + length..self.ordered).step_by(length).find(is_above);
        match above {
            Some(end) => {
                self.within_part(start..end, rotated, distance, positions);
                self.within_part(self.ordered..self.count, rotated, distance, positions);
            }
            None => self.within_part(start..self.count, rotated, distance, positions),
        }
    }

    /// Appends to `positions` entries with the fingerprint of `entry`: that entry is one of them,
    /// if it is there. Of the ascending entries, only the one at its place can be it.
    pub fn within_of<K: TreeKey>(&self, entry: &Entry<K>, positions: &mut Vec<u32>) {
        let (mut low, mut high) = (0, self.ordered);
        while low < high {
            let middle = low.midpoint(high);
            if self.entry::<K>(middle) < *entry {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let rotated = entry.key.fingerprint();
        self.within_part(low..self.ordered.min(low + 1), rotated, 0, positions);
        self.within_part(self.ordered..self.count, rotated, 0, positions);
    }

    /// The first of a leaf's ascending chunks in which there may be entries from `target` on: the
    /// last one that begins below it. The first guess assumes that keys are spread evenly.
    fn chunk_of<K: TreeKey>(&self, target: K) -> usize {
        let length = chunk(self.bytes.len());
        let chunks = self.ordered / length;
        if chunks < 2 || K::Scope::BYTES > 0 && !self.form.uniform {
            return 0;
        }
        let top = |key: K| Fingerprint::top(key.fingerprint());
        let low = top(self.bound::<K>(0, LOW_TID).key);
        let high = self.high::<K>().map_or(u64::MAX, |high| top(high.key));
        let is_below = |chunk: usize| self.key::<K>(chunk * length) < target;
        let mut chunk = Spread::between(low, high, chunks).guess(top(target));
        while chunk > 0 && !is_below(chunk) {
            chunk -= 1;
        }
        while chunk + 1 < chunks && is_below(chunk + 1) {
            chunk += 1;
        }
        chunk
    }

    /// Appends to `positions` the entries whose rotated fingerprint is within `distance`.
    #[inline]
    pub fn within<F: Key>(&self, rotated: F, distance: u32, positions: &mut Vec<u32>) {
        self.within_part(0..self.count, rotated, distance, positions);
    }

    #[inline]
    fn within_part<F: Key>(
        &self,
        part: Range<usize>,
        rotated: F,
        distance: u32,
        positions: &mut Vec<u32>,
    ) {
        let before = positions.len();
        let start = part.start as u32;
        let keys = &self.keys()[part.start * self.shape.key..part.end * self.shape.key];
        self.within_keys(keys, rotated, distance, positions);
        if start > 0 {
            positions[before..].iter_mut().for_each(|position| *position += start);
        }
    }

    #[inline]
    fn within_keys<F: Key>(
        &self,
        keys: &[u8],
        rotated: F,
        distance: u32,
        positions: &mut Vec<u32>,
    ) {
        if self.form.cut > 0 {
            let cut = (rotated.top() ^ self.prefix) & self.form.cut_mask();
            let mask = F::MAX >> self.form.cut_bits();
            if let Some(left) = distance.checked_sub(cut.count_ones()) {
                popcount::within_masked(keys, rotated, mask, left, positions);
            }
            return;
        }
        if self.shape.key == F::BYTES {
            return popcount::within(keys, rotated, distance, positions);
        }
        if self.shape.is_of_postings() {
            debug_assert_eq!(distance, 0, "postings are looked for by equality");
            return equal(keys, rotated, positions);
        }
        let mut query = [0; MOST_KEY / 8];
        let words = F::BYTES / 8;
        for (i, word) in query[..words].iter_mut().enumerate() {
            *word = rotated.word(words - 1 - i);
        }
        popcount::within_words(keys, &query[..self.shape.key / 8], distance, positions);
    }

    /// Appends to `positions` the postings with this key.
    #[inline]
    pub fn equal<F: Key>(&self, key: F, positions: &mut Vec<u32>) {
        equal(self.keys(), key, positions);
    }

    /// # Panics
    /// When `index` is not below `len`, as everywhere below.
    #[inline]
    pub fn fingerprint<F: Key>(&self, index: usize) -> F {
        let stored: F = load_key(&self.keys()[index * self.shape.key..][..self.shape.key]);
        if self.form.cut == 0 {
            return stored;
        }
        let (top, _) = top_word::<F>();
        F::from_words(|word| match stored.word(word) {
            mixed if word == top => mixed & !self.form.cut_mask() | self.prefix,
            whole => whole,
        })
    }

    #[inline]
    pub fn tid(&self, index: usize) -> u64 {
        let in_slot = 8 * self.form.tid_in_slot() as u32;
        // The special area follows the slots, so there are eight bytes.
        let slot = u64_at(self.bytes, self.slot_at(index)).to_le() & !(u64::MAX << in_slot);
        let packed = if self.form.cut == 0 {
            slot
        } else {
            let mixed = u64_at(self.keys(), index * self.shape.key + self.top_at);
            slot | mixed >> (64 - self.form.cut_bits()) << in_slot
        };
        self.form.tids.unpack(packed)
    }

    /// The scope of an entry.
    #[inline]
    pub fn scope<K: TreeKey>(&self, index: usize) -> K::Scope {
        if const { Shape::only::<K>().is_some() } {
            return K::Scope::ZERO;
        }
        if self.form.uniform {
            return self.bound_scope::<K>(0);
        }
        let end = self.slot_at(index) + self.slot;
        K::Scope::load(&self.bytes[end - self.shape.scope..end])
    }

    /// What a leaf stores beside an entry.
    pub fn payload(&self, index: usize) -> &'a [u8] {
        let start = self.slot_at(index) + self.form.tid_in_slot();
        &self.bytes[start..start + self.shape.payload]
    }

    #[inline]
    pub fn key<K: TreeKey>(&self, index: usize) -> K {
        K::new(self.scope::<K>(index), self.fingerprint(index))
    }

    pub fn entry<K: TreeKey>(&self, index: usize) -> Entry<K> {
        Entry { key: self.key(index), tid: self.tid(index) }
    }

    pub fn entries<K: TreeKey>(self) -> impl Iterator<Item = Entry<K>> {
        (0..self.count).map(move |i| self.entry(i))
    }

    /// The rows of a leaf.
    pub fn rows<K: TreeKey>(self) -> impl Iterator<Item = Row<K>> {
        (0..self.count)
            .map(move |i| Row { entry: self.entry(i), payload: K::Payload::load(self.payload(i)) })
    }

    /// The number of the child page that an inner page's entry leads to.
    pub fn child(&self, index: usize) -> u32 {
        u32_at(self.bytes, self.slot_at(index) + TID_BYTES)
    }

    /// Whether one more entry fits.
    pub fn has_room_for<K: TreeKey>(&self, entry: &Entry<K>) -> bool {
        self.has_room() && self.takes(entry)
    }

    /// Whether the leaf's form can store an entry's scope, TID and key. A uniform leaf takes only
    /// rows of its own scope, and a leaf that cuts keys only keys with the same cut bytes.
    pub fn takes<K: TreeKey>(&self, entry: &Entry<K>) -> bool {
        let form = self.form;
        let takes_scope = !form.uniform || entry.key.scope() == self.bound_scope::<K>(0);
        let cut = Fingerprint::top(entry.key.fingerprint()) & form.cut_mask();
        takes_scope && form.tids.take(entry.tid) && cut == self.prefix
    }

    /// How many more entries there are free bytes for.
    pub fn room(&self) -> usize {
        self.free() / (self.shape.key + self.slot)
    }

    /// Whether there are free bytes for one more entry.
    pub fn has_room(&self) -> bool {
        self.free() >= self.shape.key + self.slot
    }

    /// Free bytes.
    pub fn free(&self) -> usize {
        usize::from(u16_at(self.bytes, UPPER)) - usize::from(u16_at(self.bytes, LOWER))
    }

    /// The inner page's entry whose child covers `target`: the last with a separator not above it.
    pub fn child_covering<K: TreeKey>(&self, target: &Entry<K>) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = (low + high) / 2;
            if self.entry::<K>(middle) <= *target { low = middle + 1 } else { high = middle }
        }
        low.saturating_sub(1)
    }

    #[inline]
    fn slot_at(&self, index: usize) -> usize {
        assert!(index < self.count, "entry {index} of {}", self.count);
        self.bytes.len() - self.shape.special() - (index + 1) * self.slot
    }

    #[inline]
    fn area(&self) -> &'a [u8] {
        &self.bytes[fixed(self.bytes)..]
    }
}

/// Appends to `positions` the postings with this key, of packed keys of four bytes.
#[inline]
fn equal<F: Key>(packed: &[u8], key: F, positions: &mut Vec<u32>) {
    let mut wanted = [0; 4];
    store_key(key, &mut wanted);
    let wanted = u32::from_ne_bytes(wanted);
    for (number, some) in packed.as_chunks::<4>().0.chunks(64).enumerate() {
        // Without a branch for each key, the compiler compares many at once.
        let is_there =
            some.iter().fold(false, |any, key| any | (u32::from_ne_bytes(*key) == wanted));
        if is_there {
            let equal =
                some.iter().enumerate().filter(|(_, key)| u32::from_ne_bytes(**key) == wanted);
            positions.extend(equal.map(|(i, _)| (64 * number + i) as u32));
        }
    }
}

pub mod write;

#[cfg(test)]
mod tests;
