//! Writes pages: whole ones as private copies, and the runs of bytes that an insert appends. Each
//! function refuses what would put a row where no scan looks for it.

use std::ops::Range;

use super::{
    Bounds, DELETED, DOWNLINK_BYTES, FLAGS, HEADER, HIGH_TID, LAYOUT_VERSION, LEVEL, LOW_TID,
    LOWER, MAGIC, MAGIC_AT, MAX_LEVEL, MOST_KEY, MOST_ORDERED, MOST_SLOT, NO_PAGE, ORDERED_SHIFT,
    Page, RIGHT, SIZE_VERSION, SPECIAL_AT, TABLE, TID_BYTES, UPPER, chunk, fixed, form_of, put,
    put_tid, store_entry, store_key, u16_at,
};
use crate::form::Form;
use crate::key::{Bytes, Entry, Row, Shape, TreeKey};

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
