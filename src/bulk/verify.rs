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
use simhash_core::sets::similarity::{Similarity, TextSet};

use super::heap::Heaps;
use super::target::{OpenedAll, Target};
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
    /// How texts are cut into shingles, and what these weigh.
    pub shingles: Config,
    pub schema: Schema,
}

/// What an entry of a map takes beside its set, about.
const ENTRY: usize = 64;

/// Compares texts.
pub struct Verifier {
    similarity: Similarity,
    simhasher: Simhasher,
    /// The column with the texts, in each of the tables.
    columns: Vec<pg_sys::AttrNumber>,
    /// The digest of each row's set, by the number of the visible version, and the sets by digest.
    rows: HashMap<u64, u128>,
    sets: HashMap<u128, Rc<TextSet>>,
    memory: usize,
    most_memory: usize,
}

impl Verifier {
    /// Raises an ERROR if the column is no text, or the caller may not read it.
    pub fn new(target: &Target, verification: Verification, most_memory: usize) -> Self {
        let Verification { body, similarity, shingles, schema } = verification;
        target.named.iter().for_each(|named| check_column(named.table, &body));
        Self {
            similarity,
            columns: target.sources.iter().map(|source| column(source.heap, &body)).collect(),
            simhasher: simhasher_for(shingles, schema),
            rows: HashMap::new(),
            sets: HashMap::new(),
            memory: 0,
            most_memory,
        }
    }

    /// Reads the texts of these rows in the order of the heap, as far as they fit into memory.
    pub fn read_ahead(&mut self, opened: &OpenedAll, rows: impl Iterator<Item = u64>) {
        let mut unknown: Vec<u64> = rows.filter(|row| !self.rows.contains_key(row)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        let mut heaps = Heaps::new(opened);
        for row in unknown {
            if self.memory > self.most_memory {
                return;
            }
            self.read(&mut heaps, row);
        }
    }

    /// The similarity of two visible rows' texts, if it is great enough.
    pub fn verified(&mut self, heaps: &mut Heaps<'_>, a: u64, b: u64) -> Option<f64> {
        let (a, b) = (self.set(heaps, a), self.set(heaps, b));
        if Rc::ptr_eq(&a, &b) {
            (!a.is_empty()).then_some(1.0)
        } else {
            self.similarity.verified(&a, &b)
        }
    }

    /// A number that rows with equal sets share. `None` for a row without shingles, which is
    /// similar to nothing.
    pub fn class(&mut self, heaps: &mut Heaps<'_>, row: u64) -> Option<u128> {
        if let Some(&digest) = self.rows.get(&row)
            && self.sets.get(&digest).is_some_and(|set| !set.is_empty())
        {
            return Some(digest);
        }
        let set = self.set(heaps, row);
        (!set.is_empty()).then(|| set.digest())
    }

    fn set(&mut self, heaps: &mut Heaps<'_>, row: u64) -> Rc<TextSet> {
        let known = self.rows.get(&row).and_then(|digest| self.sets.get(digest));
        match known {
            Some(set) => set.clone(),
            None => self.read(heaps, row),
        }
    }

    fn read(&mut self, heaps: &mut Heaps<'_>, row: u64) -> Rc<TextSet> {
        if self.memory > self.most_memory {
            (self.rows, self.sets, self.memory) = Default::default();
        }
        let (similarity, simhasher) = (self.similarity, &mut self.simhasher);
        let shingles = |text: pg_sys::Datum| {
            // SAFETY: the column has the representation of text; the row stays in its slot.
            unsafe { with_text(text, |text| similarity.set(simhasher, text, &mut interrupts())) }
        };
        let set = heaps.value(row, &self.columns).map_or_else(TextSet::default, shingles);
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

/// The number of a column; 0 if the table has none of that name.
fn column(table: pg_sys::Oid, name: &str) -> pg_sys::AttrNumber {
    let name = CString::new(&*utf8_to_server(name)).unwrap_or_default();
    // SAFETY: a catalogue look-up of a locked table.
    unsafe { pg_sys::get_attnum(table, name.as_ptr()) }
}

/// Raises an ERROR unless the table has a column of texts of that name, and the caller may read it.
/// Partitions have their parent's columns.
fn check_column(table: pg_sys::Oid, name: &str) {
    let refuse = |code: PgSqlErrorCode, what: &str| -> ! {
        raise(
            code,
            format!("column \"{name}\" of table \"{}\" {what}", relation_name(table)),
            "body is the name of the column whose texts are compared, of type text or varchar.",
        )
    };
    let number = column(table, name);
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
}
