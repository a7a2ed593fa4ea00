//! Pairs verified: near fingerprints propose rows, the exact similarity of their texts decides.
//!
//! Texts are read batch by batch, as rows are looked up, in the order of the heap. A text is cut
//! into shingles once while its pairs last: the sets are kept within the memory of the verifier,
//! equal ones once, and all are forgotten when it is full.

use std::collections::HashMap;
use std::ffi::CString;
use std::rc::Rc;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::Simhasher;
use simhash_core::config::Config;
use simhash_core::sets::shingles::ShingleSet;
use simhash_core::sets::similarity::Similarity;

use super::heap::Heap;
use super::target::Target;
use crate::am::opened::Opened;
use crate::call::interrupts;
use crate::catalog::Schema;
use crate::catalog::names::relation_name;
use crate::catalog::rights::may_read;
use crate::error::raise;
use crate::models::simhasher_for;
use crate::types::text::{utf8_to_server, with_text};

/// Which texts are compared, and how.
pub struct Verification {
    /// The name of the column with the texts.
    pub body: String,
    pub similarity: Similarity,
    /// How texts are cut into shingles.
    pub shingles: Config,
    pub schema: Schema,
}

/// What an entry of a map takes beside its set, about.
const ENTRY: usize = 64;

/// Compares the texts of one table.
pub struct Verifier {
    similarity: Similarity,
    simhasher: Simhasher,
    column: pg_sys::AttrNumber,
    /// The digest of each row's set, by the TID of the visible version, and the sets by digest.
    rows: HashMap<u64, u128>,
    sets: HashMap<u128, Rc<ShingleSet>>,
    memory: usize,
    most_memory: usize,
}

impl Verifier {
    /// Raises an ERROR if the column is no text, or the caller may not read it.
    pub fn new(target: &Target, verification: Verification, most_memory: usize) -> Self {
        let Verification { body, similarity, shingles, schema } = verification;
        Self {
            similarity,
            column: text_column(target.heap, &body),
            simhasher: simhasher_for(shingles, schema),
            rows: HashMap::new(),
            sets: HashMap::new(),
            memory: 0,
            most_memory,
        }
    }

    /// Reads the texts of these rows in the order of the heap, as far as they fit into memory.
    pub fn read_ahead(&mut self, opened: &Opened, rows: impl Iterator<Item = u64>) {
        let mut unknown: Vec<u64> = rows.filter(|row| !self.rows.contains_key(row)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        // SAFETY: the heap stays open during the call.
        let mut heap = unsafe { Heap::new(opened) };
        for row in unknown {
            if self.memory > self.most_memory {
                return;
            }
            self.read(&mut heap, row);
        }
    }

    /// The similarity of two visible rows' texts, if it is great enough.
    pub fn verified(&mut self, heap: &mut Heap, a: u64, b: u64) -> Option<f64> {
        let (a, b) = (self.set(heap, a), self.set(heap, b));
        if Rc::ptr_eq(&a, &b) {
            (!a.is_empty()).then_some(1.0)
        } else {
            self.similarity.verified(&a, &b)
        }
    }

    /// A number that rows with equal sets share. `None` for a row without shingles, which is
    /// similar to nothing.
    pub fn class(&mut self, heap: &mut Heap, row: u64) -> Option<u128> {
        if let Some(&digest) = self.rows.get(&row)
            && self.sets.get(&digest).is_some_and(|set| !set.is_empty())
        {
            return Some(digest);
        }
        let set = self.set(heap, row);
        (!set.is_empty()).then(|| set.digest())
    }

    fn set(&mut self, heap: &mut Heap, row: u64) -> Rc<ShingleSet> {
        let known = self.rows.get(&row).and_then(|digest| self.sets.get(digest));
        match known {
            Some(set) => set.clone(),
            None => self.read(heap, row),
        }
    }

    fn read(&mut self, heap: &mut Heap, row: u64) -> Rc<ShingleSet> {
        if self.memory > self.most_memory {
            (self.rows, self.sets, self.memory) = Default::default();
        }
        let simhasher = &mut self.simhasher;
        let shingles = |text: pg_sys::Datum| {
            // SAFETY: the column has the representation of text; the row stays in its slot.
            unsafe { with_text(text, |text| ShingleSet::new(simhasher, text, &mut interrupts())) }
        };
        let set = heap.value(row, self.column).map_or_else(ShingleSet::default, shingles);
        let digest = set.digest();
        self.rows.insert(row, digest);
        self.memory += ENTRY;
        let memory = &mut self.memory;
        let set = self.sets.entry(digest).or_insert_with(|| {
            *memory += ENTRY + set.memory();
            Rc::new(set)
        });
        set.clone()
    }
}

/// The number of a column of texts that the caller may read.
fn text_column(table: pg_sys::Oid, name: &str) -> pg_sys::AttrNumber {
    let refuse = |code: PgSqlErrorCode, what: &str| -> ! {
        raise(
            code,
            format!("column \"{name}\" of table \"{}\" {what}", relation_name(table)),
            "body is the name of the column whose texts are compared, of type text or varchar.",
        )
    };
    let stored = CString::new(&*utf8_to_server(name)).unwrap_or_default();
    // SAFETY: a catalogue look-up of a locked table.
    let number = unsafe { pg_sys::get_attnum(table, stored.as_ptr()) };
    if number == pg_sys::InvalidAttrNumber as pg_sys::AttrNumber {
        refuse(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, "does not exist")
    }
    // SAFETY: catalogue look-ups of a column that exists.
    let (is_text, user) = unsafe {
        let base = pg_sys::getBaseType(pg_sys::get_atttype(table, number));
        let is_text = number > 0 && pg_sys::IsBinaryCoercible(base, pg_sys::TEXTOID);
        (is_text, pg_sys::GetUserId())
    };
    if !is_text {
        refuse(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, "is no text")
    }
    if !may_read(table, Some(number), user) {
        raise(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied for table {}", relation_name(table)),
            "SELECT on the table is needed, or on the indexed columns and that of the texts.",
        )
    }
    number
}
