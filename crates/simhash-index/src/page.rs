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

/// An entry of an inner page: everything from `separator` up to the next one is under `child`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Downlink<K> {
    pub separator: Entry<K>,
    pub child: u32,
}

/// A page being written: a private copy that a change will install, or one of a build.
pub struct PageMut<'a> {
    bytes: &'a mut [u8],
    shape: Shape,
}

/// What a new page is to be.
#[derive(Clone, Copy)]
pub struct Place<'a, K> {
    pub table: u8,
    pub level: u8,
    pub bounds: &'a Bounds<K>,
    pub right: Option<u32>,
}

impl<'a> PageMut<'a> {
    /// A page whose contents are about to be changed. It must have passed [`Page::check`].
    pub fn existing(bytes: &'a mut [u8], shape: &Shape) -> Self {
        let shape = shape.at(bytes[fixed(bytes) + TABLE]);
        Self { bytes, shape }
    }

    /// Formats an empty page. A leaf is mixed.
    pub fn format<K: TreeKey>(bytes: &'a mut [u8], shape: &Shape, place: &Place<'_, K>) -> Self {
        assert!(place.level <= MAX_LEVEL, "level {}", place.level);
        bytes.fill(0);
        let mut page = Self { bytes, shape: shape.at(place.table) };
        let (special, size) = (page.special(), page.bytes.len() as u16);
        page.put_u16(SPECIAL_AT, special as u16);
        page.put_u16(SIZE_VERSION, size | LAYOUT_VERSION);
        let area = page.area();
        area[TABLE] = place.table;
        area[LEVEL] = place.level;
        put(area, MAGIC_AT, &MAGIC.to_ne_bytes());
        page.clear();
        page.put_bound(0, LOW_TID, &place.bounds.low);
        page.set_high(place.bounds.high, place.right);
        page
    }

    /// The page as its readers will find it.
    ///
    /// # Panics
    /// When they would refuse it.
    fn written<K: TreeKey>(&self) -> Page<'_> {
        match Page::check::<K>(self.bytes, &self.shape) {
            Ok(page) => page,
            Err(damage) => panic!("a page is written although {damage}"),
        }
    }

    /// Removes every entry, and zeroes the free space.
    pub fn clear(&mut self) {
        let special = self.special();
        self.bytes[HEADER..special].fill(0);
        self.set_extent(HEADER, special);
    }

    fn put_bound<K: TreeKey>(&mut self, number: usize, tid: usize, bound: &Entry<K>) {
        let Shape { key, scope, .. } = self.shape;
        let keys = fixed(self.bytes) - 2 * self.shape.bound_key();
        let key_at = keys + number * self.shape.bound_key();
        let scope_at = keys - (2 - number) * scope;
        store_key(bound.key.fingerprint(), &mut self.bytes[key_at..key_at + key]);
        bound.key.scope().store(&mut self.bytes[scope_at..scope_at + scope]);
        put_tid(self.area(), tid, bound.tid);
    }

    /// Sets the upper bound and the right neighbour: both or neither.
    ///
    /// # Panics
    /// When readers would not find what the page says it has, as everywhere below.
    pub fn set_high<K: TreeKey>(&mut self, high: Option<Entry<K>>, right: Option<u32>) {
        assert_eq!(high.is_some(), right.is_some_and(|right| right != NO_PAGE));
        self.put_bound(1, HIGH_TID, &high.unwrap_or(Entry::MIN));
        put(self.area(), RIGHT, &right.unwrap_or(NO_PAGE).to_ne_bytes());
        let bounds = self.written::<K>().bounds::<K>();
        assert!(bounds.high.is_none_or(|high| bounds.low < high), "the range is empty");
    }

    /// Adds rows to a leaf in whose range they are, and whose form takes them.
    pub fn append<'r, K: TreeKey>(&mut self, rows: impl IntoIterator<Item = &'r Row<K>> + Clone) {
        let page = self.written::<K>();
        let bounds = page.bounds();
        let belongs = |row: &Row<K>| bounds.contains(&row.entry) && page.takes(&row.entry);
        let all_belong = rows.clone().into_iter().all(belongs);
        assert!(page.is_leaf() && all_belong, "a row does not belong here");
        rows.into_iter().for_each(|row| self.push(row));
    }

    fn push<K: TreeKey>(&mut self, row: &Row<K>) {
        let Shape { payload, scope, .. } = self.shape;
        let form = self.form();
        let (key, slot) = self.make_room();
        // Keys end before slots begin.
        let (keys, slots) = self.bytes.split_at_mut(slot.start);
        let (tid, rest) = slots[..slot.len()].split_at_mut(form.tid_in_slot());
        let Entry { key: of_row, tid: tid_of_row } = row.entry;
        store_entry(form, of_row.fingerprint(), tid_of_row, &mut keys[key], tid);
        let (stored, scope_of_row) = rest.split_at_mut(payload);
        row.payload.store(stored);
        if scope_of_row.len() == scope {
            of_row.scope().store(scope_of_row);
        }
    }

    fn push_downlink<K: TreeKey>(&mut self, downlink: &Downlink<K>) {
        let Entry { key, tid } = downlink.separator;
        let (place, slot) = self.make_room();
        store_key(key.fingerprint(), &mut self.bytes[place]);
        put_tid(self.bytes, slot.start, tid);
        put(self.bytes, slot.start + TID_BYTES, &downlink.child.to_ne_bytes());
        key.scope().store(&mut self.bytes[slot.start + DOWNLINK_BYTES..slot.end]);
    }

    /// Replaces all downlinks of an inner page.
    pub fn set_downlinks<K: TreeKey>(&mut self, downlinks: &[Downlink<K>]) {
        self.clear();
        downlinks.iter().for_each(|downlink| self.push_downlink(downlink));
        let page = self.written::<K>();
        let bounds = page.bounds::<K>();
        let separators = || downlinks.iter().map(|link| link.separator);
        assert!(
            !page.is_leaf() && separators().next() == Some(bounds.low),
            "it has no first child"
        );
        assert!(separators().is_sorted_by(|a, b| a < b), "separators do not ascend");
        assert!(separators().all(|entry| bounds.contains(&entry)), "a separator is out of range");
        debug_assert!(separators().eq(page.entries()), "separators are not read as written");
    }

    /// Replaces all rows of a leaf, which its form must take. If they ascend, scans make use of it.
    pub fn set_rows<K: TreeKey>(&mut self, rows: &[Row<K>], form: Form) {
        self.clear();
        self.set_flags(form.flags());
        rows.iter().for_each(|row| self.push(row));
        let ascend = rows.is_sorted_by_key(|row| row.entry);
        if ascend {
            self.set_ordered(rows.len());
        }
        let page = self.written::<K>();
        let bounds = page.bounds();
        let belongs = |row: &Row<K>| bounds.contains(&row.entry) && page.takes(&row.entry);
        // Between two rows of a range, all are in it.
        let all_belong = if ascend {
            rows.first().is_none_or(belongs) && rows.last().is_none_or(belongs)
        } else {
            rows.iter().all(belongs)
        };
        assert!(all_belong, "a row does not belong here");
        debug_assert!(page.rows().eq(rows.iter().copied()), "rows are not read as written");
    }

    fn flags(&self) -> u16 {
        u16_at(self.bytes, fixed(self.bytes) + FLAGS)
    }

    fn set_flags(&mut self, flags: u16) {
        put(self.area(), FLAGS, &flags.to_ne_bytes());
    }

    /// Notes that the first `count` entries ascend, rounded down to whole chunks.
    fn set_ordered(&mut self, count: usize) {
        let chunks = (count / chunk(self.bytes.len())).min(MOST_ORDERED) as u16;
        let others = self.flags() & !(u16::MAX << ORDERED_SHIFT);
        self.set_flags(others | chunks << ORDERED_SHIFT);
    }

    /// Removes a leaf's entries at the given ascending indexes. The last entry fills each gap, so
    /// that few bytes change.
    pub fn remove(&mut self, indexes: &[usize]) {
        assert!(indexes.is_sorted_by(|a, b| a < b), "an entry is removed twice");
        let special = self.special();
        let bytes = self.shape.key;
        let slot_bytes = self.slot_bytes();
        let mut count = self.count();
        // Only a gap that is filled breaks the order.
        let left = count - indexes.len();
        let in_place = indexes.first().map_or(left, |&first| first.min(left));
        let key_at = |i: usize| HEADER + i * bytes;
        let slot_at = |i: usize| special - (i + 1) * slot_bytes;
        for &index in indexes.iter().rev() {
            assert!(index < count, "entry {index} of {count}");
            count -= 1;
            self.bytes.copy_within(key_at(count)..key_at(count + 1), key_at(index));
            self.bytes.copy_within(slot_at(count)..slot_at(count) + slot_bytes, slot_at(index));
        }
        let (lower, upper) = (key_at(count), special - count * slot_bytes);
        self.bytes[lower..upper].fill(0);
        self.set_extent(lower, upper);
        let ordered = usize::from(self.flags() >> ORDERED_SHIFT) * chunk(self.bytes.len());
        self.set_ordered(ordered.min(in_place));
    }

    /// Takes the page out of its tree: an empty leaf, or an inner page whose only child is another
    /// page's now.
    pub fn delete(&mut self) {
        let is_inner = self.bytes[fixed(self.bytes) + LEVEL] > 0;
        assert_eq!(self.count(), usize::from(is_inner), "the page is not empty");
        self.clear();
        self.set_flags(DELETED);
    }

    fn special(&self) -> usize {
        self.bytes.len() - self.shape.special()
    }

    fn count(&self) -> usize {
        (usize::from(u16_at(self.bytes, LOWER)) - HEADER) / self.shape.key
    }

    /// The form of a page that was checked or formatted.
    fn form(&self) -> Form {
        form_of(self.flags()).unwrap_or(Form::MIXED)
    }

    fn slot_bytes(&self) -> usize {
        self.shape.slot(self.bytes[fixed(self.bytes) + LEVEL], self.form())
    }

    fn area(&mut self) -> &mut [u8] {
        let fixed = fixed(self.bytes);
        &mut self.bytes[fixed..]
    }

    /// Room for one more entry: where its key and its slot go.
    fn make_room(&mut self) -> (Range<usize>, Range<usize>) {
        let (key, slot) = (self.shape.key, self.slot_bytes());
        let (lower, upper) =
            (usize::from(u16_at(self.bytes, LOWER)), usize::from(u16_at(self.bytes, UPPER)));
        assert!(upper - lower >= key + slot, "no room between {lower} and {upper}");
        self.set_extent(lower + key, upper - slot);
        (lower..lower + key, upper - slot..upper)
    }

    fn set_extent(&mut self, lower: usize, upper: usize) {
        self.put_u16(LOWER, lower as u16);
        self.put_u16(UPPER, upper as u16);
    }

    fn put_u16(&mut self, at: usize, value: u16) {
        put(self.bytes, at, &value.to_ne_bytes());
    }
}

/// Where more rows of a leaf go, as the runs of bytes that change: `(offset, bytes)`.
pub struct Addition {
    extent: [u8; 4],
    key: Run<MOST_KEY>,
    slot: Run<MOST_SLOT>,
    slot_bytes: u16,
}

/// Some bytes, and the offset where they go.
struct Run<const N: usize> {
    offset: u16,
    length: u16,
    bytes: [u8; N],
}

impl<const N: usize> Run<N> {
    fn new(offset: usize, length: usize) -> Self {
        Self { offset: offset as u16, length: length as u16, bytes: [0; N] }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl Addition {
    /// The most bytes that an addition changes.
    pub const MOST_BYTES: usize = 4 + MOST_KEY + MOST_SLOT;
    /// How many runs it has.
    pub const RUNS: usize = 3;

    /// What appending `row` to `page`, a leaf with room for it, changes.
    pub fn new<K: TreeKey>(page: &Page<'_>, row: &Row<K>) -> Self {
        Self::of_rows(page, std::slice::from_ref(row))
    }

    /// How many rows one addition to a leaf can have.
    pub fn most_rows(page: &Page<'_>) -> usize {
        page.room().min(MOST_KEY / page.shape.key).min(MOST_SLOT / page.slot)
    }

    /// What appending these rows to `page` changes: a leaf with room for them, in whose range they
    /// are, and no more than [`Addition::most_rows`].
    ///
    /// # Panics
    /// Otherwise.
    pub fn of_rows<K: TreeKey>(page: &Page<'_>, rows: &[Row<K>]) -> Self {
        let most = Self::most_rows(page);
        assert!(page.is_leaf() && rows.len() <= most, "{} rows, room for {most}", rows.len());
        let bounds = page.bounds();
        let belongs = |row: &Row<K>| bounds.contains(&row.entry) && page.takes(&row.entry);
        assert!(rows.iter().all(belongs), "a row does not belong here");
        let Shape { key: key_bytes, payload, .. } = page.shape;
        let (keys, slots) = (rows.len() * key_bytes, rows.len() * page.slot);
        let lower = usize::from(u16_at(page.bytes, LOWER));
        let upper = usize::from(u16_at(page.bytes, UPPER)) - slots;
        let mut extent = [0; 4];
        extent[..2].copy_from_slice(&((lower + keys) as u16).to_ne_bytes());
        extent[2..].copy_from_slice(&(upper as u16).to_ne_bytes());
        let (mut key, mut slot) = (Run::new(lower, keys), Run::new(upper, slots));
        let places = key.bytes.chunks_exact_mut(key_bytes);
        // Slots grow down: the first row's is the last.
        let slots = slot.bytes[..slots].rchunks_exact_mut(page.slot);
        for ((row, key), slot) in rows.iter().zip(places).zip(slots) {
            let (tid, rest) = slot.split_at_mut(page.form.tid_in_slot());
            let (stored, scope) = rest.split_at_mut(payload);
            store_entry(page.form, row.entry.key.fingerprint(), row.entry.tid, key, tid);
            row.payload.store(stored);
            row.entry.key.scope().store(scope);
        }
        Self { extent, key, slot, slot_bytes: page.slot as u16 }
    }

    /// Where the key and the slot of the row after these will be. Without free bytes for it, they
    /// are somewhere else on the page.
    pub fn next(&self) -> [u16; 2] {
        [self.key.offset + self.key.length, self.slot.offset.saturating_sub(self.slot_bytes)]
    }

    /// The changed runs in ascending order of offset.
    pub fn runs(&self) -> [(u16, &[u8]); Self::RUNS] {
        [
            (LOWER as u16, &self.extent[..]),
            (self.key.offset, self.key.bytes()),
            (self.slot.offset, self.slot.bytes()),
        ]
    }
}

#[cfg(test)]
mod tests;
