//! The rows of a target of texts: the keys of its indexes, the texts of its tables.

use std::collections::HashMap;

use simhash_core::Simhasher;
use simhash_core::hash::feature_hash;
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::sets::sketch::Layout;
use simhash_core::sharing::Rows;
use simhash_index::postings::{Presence, ROWS};
use simhash_index::walk::LeafWalk;
use simhash_index::{Entry, Row, TreeKey};

use super::super::heap::Heap;
use super::super::indexed::Indexed;
use super::super::places::Places;
use super::super::progress;
use super::super::row;
use super::super::session::open_all;
use super::super::target::OpenedAll;
use super::postings::each_key;
use crate::am::columns::Columns;
use crate::am::kind::Kind;
use crate::am::opened::Opened;
use crate::call::interrupts;
use crate::storage::{Index, check_for_interrupts, family, with_key_type};
use crate::types::near_text::NearText;
use crate::types::text::with_text;

/// What lasts from batch to batch.
pub struct Texts {
    pub places: Places,
    pub layout: Layout,
    /// How many bands count.
    pub bands: usize,
    pub simhasher: Simhasher,
    /// The visible versions of rows that are not the roots of their chains.
    pub moved: HashMap<u64, u64>,
}

impl Texts {
    /// The visible version of a row whose text was read.
    pub fn visible(&self, place: u32) -> u64 {
        let number = self.places.number(place);
        self.moved.get(&number).copied().unwrap_or(number)
    }
}

/// The texts, while the tables are open.
pub struct TextRows<'a> {
    texts: &'a mut Texts,
    opened: &'a OpenedAll,
    /// Of the table that was read last.
    reader: Option<(usize, Reader)>,
}

impl<'a> TextRows<'a> {
    pub fn new(texts: &'a mut Texts, opened: &'a OpenedAll) -> Self {
        Self { texts, opened, reader: None }
    }

    /// What `read` makes of a row's text. `None` if the query does not see it, or it has none.
    fn with<T>(&mut self, place: u32, read: impl FnOnce(&mut Simhasher, &str) -> T) -> Option<T> {
        let number = self.texts.places.number(place);
        let (table, opened) = (row::table(number), self.opened);
        let kept = self.reader.take().filter(|&(kept, _)| kept == table);
        // SAFETY: the relations are open as long as this.
        let reader = || (table, unsafe { Reader::new(&opened[table]) });
        let (_, reader) = self.reader.insert(kept.unwrap_or_else(reader));
        let visible = row::number(table, reader.heap.visible(row::tid(number))?);
        if visible != number {
            self.texts.moved.insert(number, visible);
        }
        let simhasher = &mut self.texts.simhasher;
        // SAFETY: the row is in its slot.
        unsafe { reader.with_text(|text| read(simhasher, text)) }
    }
}

impl Rows for TextRows<'_> {
    fn each_key(&mut self, each: &mut dyn FnMut(&mut Vec<u32>) -> bool) {
        let Some(first) = self.opened.first() else { return };
        let Texts { places, layout, bands, .. } = &*self.texts;
        progress::reading();
        with_key_type!(family(first.rel()), K => {
            each_key::<K>(&open_all(self.opened), places, *layout, *bands, each);
        });
        progress::read(places.len() as usize);
    }

    fn digest(&mut self, place: u32) -> Option<u128> {
        self.with(place, |_, text| feature_hash::<u128>(text.as_bytes()))
    }

    fn set(&mut self, place: u32) -> Option<ShingleSet> {
        self.with(place, |simhasher, text| ShingleSet::new(simhasher, text, &mut interrupts()))
    }

    fn address(&self, place: u32) -> u64 {
        self.texts.places.number(place)
    }

    fn check(&mut self) {
        check_for_interrupts();
    }

    fn progress(&mut self, share: f64) {
        progress::compared(share);
    }
}

/// Reads the texts of one table's rows as its index has them.
struct Reader {
    heap: Heap,
    kind: Kind,
    indexed: Indexed,
}

impl Reader {
    /// # Safety
    /// The relations stay open while the result is used.
    unsafe fn new(opened: &Opened) -> Self {
        // SAFETY: as this function's.
        unsafe {
            let (heap, kind) = (Heap::new(opened), Kind::of_index(opened.index));
            Self { heap, kind, indexed: Indexed::new(opened) }
        }
    }

    /// What `read` makes of the text of the row that the heap has in its slot. `None` for NULL.
    ///
    /// # Safety
    /// The heap has a row there.
    unsafe fn with_text<T>(&mut self, read: impl FnOnce(&str) -> T) -> Option<T> {
        let kind = self.kind;
        // SAFETY: as this function's. The value is of the index's column, whose kind this is.
        unsafe {
            self.indexed.with(self.heap.slot(), |value| match kind {
                Kind::NearTexts => NearText::with(value, |near| read(&near.text)),
                _ => with_text(value, read),
            })
        }
    }
}

/// The numbers of all rows with keys that are in no NULL scope, in ascending order, of the indexes
/// from `from` on and below `to`.
pub fn rows_with_keys(opened: &OpenedAll, from: usize, to: usize) -> Vec<u64> {
    let Some(first) = opened.first() else { return Vec::new() };
    let mut numbers = Vec::new();
    with_key_type!(family(first.rel()), K => {
        for (table, index) in open_all::<K>(opened).iter().enumerate().take(to).skip(from) {
            each_row(index, |tid| numbers.push(row::number(table, tid)));
        }
    });
    numbers.sort_unstable();
    numbers
}

fn each_row<K: TreeKey>(index: &Index<K>, mut each: impl FnMut(u64)) {
    let columns = Columns::of(index.store, &index.meta());
    let mut walk = LeafWalk::<K>::new(ROWS, Entry::MIN);
    let mut rows: Vec<Row<K>> = Vec::new();
    loop {
        check_for_interrupts();
        if walk.next_leaf(index, &mut rows).is_none() {
            return;
        }
        for Row { entry, .. } in rows.drain(..) {
            let has_keys = entry.key.fingerprint() == Presence::Keys.key::<K::Fingerprint>();
            if has_keys && !columns.has_null::<K>(entry.key.scope()) {
                each(entry.tid);
            }
        }
    }
}
