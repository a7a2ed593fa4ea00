//! Page layout: keys grow up from the header, slots grow down from the special area.
//!
//! ```text
//! 0        24                lower        upper              8136       8192
//! | header | key 0 | key 1 | ... |  free  | ... | slot 1 | slot 0 | special |
//! ```
//!
//! The numbers are those of pages of 8 kB. Any size that leaves room for a few entries will do.
//!
//! A key is a rotated fingerprint in native byte order. A leaf's slot is a TID (6 bytes). An inner
//! page's slot is the TID of a separator and the number of a child page (10 bytes). So appending to
//! a leaf changes three short runs of bytes, which is all that is logged, and the keys of a page
//! are one packed array for the scan kernels. pd_lower gives the number of entries. Full-page
//! images leave out the hole between lower and upper.
//!
//! Every page says which table, level and key range it is of. Invariants:
//! - The range is [low, high). The last page of a level has no high and no right link.
//! - The pages of a level partition the key space in the order of their right links, at every
//!   instant that locks allow to be seen: a split or a removal changes both pages and the parent in
//!   one record.
//! - Leaves are unordered. Inner pages are sorted. Entry 0's separator equals low, and every
//!   separator equals its child's low.

use simhash_core::search::Key;

use crate::damage::Damage;

/// No page: the right link of the last page of a level.
pub const NO_PAGE: u32 = u32::MAX;

/// Bytes of the page header.
pub const HEADER: usize = 24;
/// Bytes of the special area, which ends the page.
const SPECIAL_BYTES: usize = 56;

const LOWER: usize = 12;
const UPPER: usize = 14;
const SPECIAL_AT: usize = 16;
const SIZE_VERSION: usize = 18;
/// The version of the page layout that PostgreSQL wants in every header. It has not changed since
/// version 8.3.
const LAYOUT_VERSION: u16 = 4;

// In the special area.
const LOW_KEY: usize = 0;
const HIGH_KEY: usize = 16;
const LOW_TID: usize = 32;
const HIGH_TID: usize = 38;
const RIGHT: usize = 44;
const TABLE: usize = 48;
const LEVEL: usize = 49;
const FLAGS: usize = 50;
const MAGIC_AT: usize = 52;

/// The mark of a tree page: "SHT1".
const MAGIC: u32 = 0x5348_5431;
/// The page is out of the tree and may be reused.
const DELETED: u16 = 1;

/// Bytes of a stored TID.
pub const TID_BYTES: usize = 6;
const DOWNLINK_BYTES: usize = TID_BYTES + 4;
/// No tree of 2^32 pages is this high.
const MAX_LEVEL: u8 = 16;

/// A key with its row: what a tree is ordered by. The TID breaks ties among equal keys, so every
/// entry of a table has a place of its own. It is packed: the number of the heap page times 65536,
/// plus the offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry<F> {
    pub key: F,
    pub tid: u64,
}

impl<F: Key> Entry<F> {
    /// The least entry of all.
    pub const MIN: Self = Self { key: F::ZERO, tid: 0 };

    /// The least entry with this key.
    pub fn first_with(key: F) -> Self {
        Self { key, tid: 0 }
    }
}

/// The bounds of a page: what belongs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds<F> {
    pub low: Entry<F>,
    /// `None`: no bound, the page is the last of its level.
    pub high: Option<Entry<F>>,
}

impl<F: Key> Bounds<F> {
    /// All entries there can be.
    pub const ALL: Self = Self { low: Entry::MIN, high: None };

    pub fn contains(&self, entry: &Entry<F>) -> bool {
        *entry >= self.low && !self.is_before(entry)
    }

    /// Whether the page lies wholly before `entry`.
    pub fn is_before(&self, entry: &Entry<F>) -> bool {
        self.high.is_some_and(|high| *entry >= high)
    }
}

/// How many entries fit on a page of `page` bytes.
pub const fn capacity<F: Key>(page: usize, level: u8) -> usize {
    (page - SPECIAL_BYTES - HEADER) / (F::BYTES + slot_bytes(level))
}

/// Where the special area starts.
#[inline]
const fn special(bytes: &[u8]) -> usize {
    bytes.len() - SPECIAL_BYTES
}

#[inline]
const fn slot_bytes(level: u8) -> usize {
    if level == 0 { TID_BYTES } else { DOWNLINK_BYTES }
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
fn tid_at(bytes: &[u8], at: usize) -> u64 {
    let mut tid = [0; 8];
    tid[..TID_BYTES].copy_from_slice(&bytes[at..at + TID_BYTES]);
    u64::from_le_bytes(tid)
}

#[inline]
fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

#[inline]
fn put_tid(bytes: &mut [u8], at: usize, tid: u64) {
    put(bytes, at, &tid.to_le_bytes()[..TID_BYTES]);
}

/// Whether the page was never written. A crash right after an extension leaves such a page.
pub fn is_new(bytes: &[u8]) -> bool {
    u16_at(bytes, UPPER) == 0
}

/// Whether the page may be taken for a new purpose.
pub fn is_free(bytes: &[u8]) -> bool {
    let special = special(bytes);
    is_new(bytes)
        || (u32_at(bytes, special + MAGIC_AT) == MAGIC
            && u16_at(bytes, special + FLAGS) & DELETED != 0)
}

/// Whether `page` may be waited for while `locked` is locked. It may if both say that the locked
/// one is above it in the same tree, or to its left on the same level. Both must have passed
/// [`Page::check`].
pub fn may_be_waited_for(page: &[u8], locked: &[u8]) -> bool {
    let place = |bytes: &[u8]| {
        let area = &bytes[special(bytes)..];
        // A key of 64 bits has zeroes behind it.
        let low = (u128::load(&area[LOW_KEY..LOW_KEY + 16]), tid_at(area, LOW_TID));
        (area[TABLE], area[LEVEL], low)
    };
    let ((table, level, low), (other, above, left)) = (place(page), place(locked));
    table == other && (above > level || (above == level && left < low))
}

/// A page that has been checked: every accessor stays within its bytes.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    bytes: &'a [u8],
    count: usize,
    key_bytes: usize,
}

impl<'a> Page<'a> {
    /// Checks the header and the special area of a tree page with keys of type `F`.
    pub fn check<F: Key>(bytes: &'a [u8]) -> Result<Self, Damage> {
        if is_new(bytes) {
            return Err(Damage::Empty);
        }
        let (lower, upper, special) =
            (u16_at(bytes, LOWER), u16_at(bytes, UPPER), u16_at(bytes, SPECIAL_AT));
        let end = bytes.len() - SPECIAL_BYTES;
        if usize::from(special) != end {
            return Err(Damage::Header { lower, upper, special });
        }
        let area = &bytes[end..];
        let magic = u32_at(area, MAGIC_AT);
        if magic != MAGIC {
            return Err(Damage::Magic(magic));
        }
        let level = area[LEVEL];
        if level > MAX_LEVEL {
            return Err(Damage::Place { table: area[TABLE], level });
        }
        let keys = usize::from(lower).wrapping_sub(HEADER);
        let count = keys / F::BYTES;
        let slots = count.wrapping_mul(slot_bytes(level));
        let consistent = usize::from(lower) >= HEADER
            && lower <= upper
            && usize::from(upper) <= end
            && keys.is_multiple_of(F::BYTES)
            && end - usize::from(upper) == slots;
        if !consistent {
            return Err(Damage::Header { lower, upper, special });
        }
        Ok(Self { bytes, count, key_bytes: F::BYTES })
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

    /// The next page of the level, if any.
    pub fn right(&self) -> Option<u32> {
        let right = u32_at(self.area(), RIGHT);
        (right != NO_PAGE).then_some(right)
    }

    pub fn bounds<F: Key>(&self) -> Bounds<F> {
        let entry = |key: usize, tid: usize| Entry {
            key: F::load(&self.area()[key..key + F::BYTES]),
            tid: tid_at(self.area(), tid),
        };
        Bounds {
            low: entry(LOW_KEY, LOW_TID),
            high: self.right().is_some().then(|| entry(HIGH_KEY, HIGH_TID)),
        }
    }

    /// All keys, packed.
    pub fn keys(&self) -> &'a [u8] {
        &self.bytes[HEADER..HEADER + self.count * self.key_bytes]
    }

    /// # Panics
    /// When `index` is not below `len`, as everywhere below.
    pub fn key<F: Key>(&self, index: usize) -> F {
        F::load(&self.keys()[index * F::BYTES..][..F::BYTES])
    }

    pub fn tid(&self, index: usize) -> u64 {
        tid_at(self.bytes, self.slot(index))
    }

    pub fn entry<F: Key>(&self, index: usize) -> Entry<F> {
        Entry { key: self.key(index), tid: self.tid(index) }
    }

    pub fn entries<F: Key>(self) -> impl Iterator<Item = Entry<F>> {
        (0..self.count).map(move |i| self.entry(i))
    }

    /// The number of the child page that an inner page's entry leads to.
    pub fn child(&self, index: usize) -> u32 {
        u32_at(self.bytes, self.slot(index) + TID_BYTES)
    }

    /// Whether one more entry fits.
    pub fn has_room(&self) -> bool {
        self.free() >= self.key_bytes + slot_bytes(self.level())
    }

    /// Free bytes.
    pub fn free(&self) -> usize {
        usize::from(u16_at(self.bytes, UPPER)) - usize::from(u16_at(self.bytes, LOWER))
    }

    /// The inner page's entry whose child covers `target`: the last with a separator not above it.
    pub fn child_covering<F: Key>(&self, target: &Entry<F>) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = (low + high) / 2;
            if self.entry::<F>(middle) <= *target { low = middle + 1 } else { high = middle }
        }
        low.saturating_sub(1)
    }

    fn slot(&self, index: usize) -> usize {
        assert!(index < self.count, "entry {index} of {}", self.count);
        special(self.bytes) - (index + 1) * slot_bytes(self.level())
    }

    #[inline]
    fn area(&self) -> &'a [u8] {
        &self.bytes[special(self.bytes)..]
    }
}

/// An entry of an inner page: everything from `separator` up to the next one is under `child`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Downlink<F> {
    pub separator: Entry<F>,
    pub child: u32,
}

/// A page being written: a private copy that a change will install, or one of a build.
pub struct PageMut<'a> {
    bytes: &'a mut [u8],
}

impl<'a> PageMut<'a> {
    /// A page whose contents are about to be changed. It must have passed [`Page::check`].
    pub fn existing(bytes: &'a mut [u8]) -> Self {
        Self { bytes }
    }

    /// Formats an empty page.
    pub fn format<F: Key>(
        bytes: &'a mut [u8],
        table: u8,
        level: u8,
        bounds: &Bounds<F>,
        right: Option<u32>,
    ) -> Self {
        bytes.fill(0);
        let mut page = Self { bytes };
        let (special, size) = (special(page.bytes), page.bytes.len() as u16);
        page.put_u16(SPECIAL_AT, special as u16);
        page.put_u16(SIZE_VERSION, size | LAYOUT_VERSION);
        page.bytes[special + TABLE] = table;
        page.bytes[special + LEVEL] = level;
        put(page.bytes, special + MAGIC_AT, &MAGIC.to_ne_bytes());
        page.clear();
        page.set_low(bounds.low);
        page.set_high(bounds.high, right);
        page
    }

    /// Removes every entry, and zeroes the free space.
    pub fn clear(&mut self) {
        let special = special(self.bytes);
        self.bytes[HEADER..special].fill(0);
        self.set_extent(HEADER, special);
    }

    pub fn set_low<F: Key>(&mut self, low: Entry<F>) {
        let area = self.area();
        low.key.store(&mut area[LOW_KEY..LOW_KEY + F::BYTES]);
        put_tid(area, LOW_TID, low.tid);
    }

    /// Sets the upper bound and the right neighbour: both or neither.
    pub fn set_high<F: Key>(&mut self, high: Option<Entry<F>>, right: Option<u32>) {
        debug_assert_eq!(high.is_some(), right.is_some());
        let bound = high.unwrap_or(Entry::MIN);
        let area = self.area();
        bound.key.store(&mut area[HIGH_KEY..HIGH_KEY + F::BYTES]);
        put_tid(area, HIGH_TID, bound.tid);
        put(area, RIGHT, &right.unwrap_or(NO_PAGE).to_ne_bytes());
    }

    /// Adds an entry to a leaf.
    ///
    /// # Panics
    /// When it does not fit, as everywhere below.
    pub fn append<F: Key>(&mut self, entry: Entry<F>) {
        let (lower, upper) = self.make_room::<F>(TID_BYTES);
        entry.key.store(&mut self.bytes[lower..lower + F::BYTES]);
        put_tid(self.bytes, upper, entry.tid);
    }

    /// Adds a downlink at the end of an inner page.
    pub fn append_downlink<F: Key>(&mut self, downlink: Downlink<F>) {
        let (lower, upper) = self.make_room::<F>(DOWNLINK_BYTES);
        downlink.separator.key.store(&mut self.bytes[lower..lower + F::BYTES]);
        put_tid(self.bytes, upper, downlink.separator.tid);
        put(self.bytes, upper + TID_BYTES, &downlink.child.to_ne_bytes());
    }

    /// Replaces all downlinks of an inner page.
    pub fn set_downlinks<F: Key>(&mut self, downlinks: &[Downlink<F>]) {
        self.clear();
        for downlink in downlinks {
            self.append_downlink(*downlink);
        }
    }

    /// Replaces all entries of a leaf.
    pub fn set_entries<F: Key>(&mut self, entries: &[Entry<F>]) {
        self.clear();
        for entry in entries {
            self.append(*entry);
        }
    }

    /// Removes a leaf's entries at the given ascending indexes. The last entry fills each gap, so
    /// that few bytes change.
    pub fn remove<F: Key>(&mut self, indexes: &[usize]) {
        let special = special(self.bytes);
        let mut count = (usize::from(u16_at(self.bytes, LOWER)) - HEADER) / F::BYTES;
        let key_at = |i: usize| HEADER + i * F::BYTES;
        let slot_at = |i: usize| special - (i + 1) * TID_BYTES;
        for &index in indexes.iter().rev() {
            assert!(index < count, "entry {index} of {count}");
            count -= 1;
            self.bytes.copy_within(key_at(count)..key_at(count + 1), key_at(index));
            self.bytes.copy_within(slot_at(count)..slot_at(count) + TID_BYTES, slot_at(index));
        }
        let (lower, upper) = (key_at(count), special - count * TID_BYTES);
        self.bytes[lower..upper].fill(0);
        self.set_extent(lower, upper);
    }

    /// Takes the page out of its tree.
    pub fn delete(&mut self) {
        self.clear();
        put(self.area(), FLAGS, &DELETED.to_ne_bytes());
    }

    fn area(&mut self) -> &mut [u8] {
        let special = special(self.bytes);
        &mut self.bytes[special..]
    }

    fn make_room<F: Key>(&mut self, slot: usize) -> (usize, usize) {
        let (lower, upper) =
            (usize::from(u16_at(self.bytes, LOWER)), usize::from(u16_at(self.bytes, UPPER)));
        assert!(upper - lower >= F::BYTES + slot, "no room between {lower} and {upper}");
        self.set_extent(lower + F::BYTES, upper - slot);
        (lower, upper - slot)
    }

    fn set_extent(&mut self, lower: usize, upper: usize) {
        self.put_u16(LOWER, lower as u16);
        self.put_u16(UPPER, upper as u16);
    }

    fn put_u16(&mut self, at: usize, value: u16) {
        put(self.bytes, at, &value.to_ne_bytes());
    }
}

/// What an append at offset `key` in a leaf of `page` bytes touches: the offsets of the key and of
/// its TID. `key` is a hint and may be any number.
pub fn append_at<F: Key>(page: usize, key: u16) -> [usize; 2] {
    let special = page - SPECIAL_BYTES;
    let key = usize::from(key).clamp(HEADER, special - F::BYTES);
    let entries = (key - HEADER) / F::BYTES;
    [key, special.saturating_sub((entries + 1) * TID_BYTES)]
}

/// Where one more entry of a leaf goes, as the runs of bytes that change: `(offset, bytes)`.
pub struct Addition {
    runs: [(u16, [u8; 16], u8); 3],
}

impl Addition {
    /// What appending `entry` to `page`, a leaf with room, changes.
    pub fn new<F: Key>(page: &Page<'_>, entry: Entry<F>) -> Self {
        assert!(page.is_leaf() && page.has_room());
        let lower = u16_at(page.bytes, LOWER);
        let upper = u16_at(page.bytes, UPPER) - TID_BYTES as u16;
        let mut extent = [0; 16];
        extent[..2].copy_from_slice(&(lower + F::BYTES as u16).to_ne_bytes());
        extent[2..4].copy_from_slice(&upper.to_ne_bytes());
        let mut key = [0; 16];
        entry.key.store(&mut key[..F::BYTES]);
        let mut tid = [0; 16];
        tid[..TID_BYTES].copy_from_slice(&entry.tid.to_le_bytes()[..TID_BYTES]);
        Self {
            runs: [
                (LOWER as u16, extent, 4),
                (lower, key, F::BYTES as u8),
                (upper, tid, TID_BYTES as u8),
            ],
        }
    }

    /// Where the key after this one will be.
    pub fn next_key(&self) -> u16 {
        let (key, _, length) = self.runs[1];
        key + u16::from(length)
    }

    /// The changed runs in ascending order of offset.
    pub fn runs(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.runs.iter().map(|(offset, bytes, length)| (*offset, &bytes[..usize::from(*length)]))
    }
}
