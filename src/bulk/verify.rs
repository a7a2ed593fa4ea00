//! Verifies pairs: near fingerprints propose rows, the exact similarity of their texts decides.
//!
//! Texts are read batch by batch, in heap order. A text is read once, as long as its set stays in
//! the cache.

use std::ffi::CString;
use std::rc::Rc;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::Simhasher;
use simhash_core::compare::similarity::{Similarity, TextSet};
use simhash_core::config::Config;

use super::heap::Heaps;
use super::sets::RowSets;
use super::target::{OpenedAll, Target};
use crate::catalog::Schema;
use crate::catalog::names::relation_name;
use crate::catalog::rights::may_read;
use crate::error::{notice, raise};
use crate::models::simhasher_for;
use crate::types::text::utf8_to_server;

/// Says in a NOTICE which texts `measure => 'containment'` misses without an index of passages.
pub fn notice_of_containment() {
    notice(
        "containment is computed only for rows with near fingerprints: a text that a much longer \
         one quotes is not found",
        "Index the passages of all rows, USING simhash (body text_passage_ops): simhash_passages \
         and shares_passage find all literal copies, and simhash_pairs, simhash_duplicates and \
         simhash_clusters compare the rows that share a passage.",
    );
}

/// Which texts are compared, and how.
#[derive(Clone, Debug)]
pub struct Verification {
    /// The name of the column with the texts.
    pub body: String,
    pub similarity: Similarity,
    /// How texts are cut into shingles, and what these weigh.
    pub shingles: Config,
    pub schema: Schema,
}

impl Verification {
    /// The same, but without a least similarity.
    pub fn of_any_similarity(self) -> Self {
        Self { similarity: self.similarity.of_any(), ..self }
    }

    /// The simhasher that cuts texts into shingles.
    pub fn simhasher(&self) -> Simhasher {
        simhasher_for(self.shingles.clone(), self.schema)
    }

    /// A cache for the sets of rows, of about so many bytes.
    pub fn sets(&self, most_memory: usize) -> RowSets {
        RowSets::new(self.similarity, self.simhasher(), most_memory)
    }
}

/// Compares texts.
pub struct Verifier {
    sets: RowSets,
    /// The column with the texts, in each of the tables.
    columns: Vec<pg_sys::AttrNumber>,
}

impl Verifier {
    /// Raises an ERROR if the column is no text, or the caller may not read it.
    pub fn new(target: &Target, verification: Verification, most_memory: usize) -> Self {
        let body = &verification.body;
        check_body(target, body);
        Self {
            sets: verification.sets(most_memory),
            columns: target.sources.iter().map(|source| column(source.heap, body)).collect(),
        }
    }

    /// Reads the texts of these rows in heap order, as far as their sets fit in memory.
    pub fn read_ahead(&mut self, opened: &OpenedAll, rows: impl Iterator<Item = u64>) {
        let mut unknown: Vec<u64> = rows.filter(|&row| !self.sets.knows(row)).collect();
        unknown.sort_unstable();
        unknown.dedup();
        let mut heaps = Heaps::new(opened);
        for row in unknown {
            if self.sets.is_full() {
                return;
            }
            self.set(&mut heaps, row);
        }
    }

    /// The similarity of two visible rows' texts, if it is at least the limit.
    pub fn verified(&mut self, heaps: &mut Heaps<'_>, a: u64, b: u64) -> Option<f64> {
        let (a, b) = (self.set(heaps, a), self.set(heaps, b));
        self.sets.verified(&a, &b)
    }

    /// A number that rows with equal sets share. `None` for a row without shingles, which is
    /// similar to nothing.
    pub fn class(&mut self, heaps: &mut Heaps<'_>, row: u64) -> Option<u128> {
        // SAFETY: the column has the representation of text; the row stays in its slot.
        unsafe { self.sets.class(row, || heaps.value(row, &self.columns)) }
    }

    fn set(&mut self, heaps: &mut Heaps<'_>, row: u64) -> Rc<TextSet> {
        // SAFETY: the column has the representation of text; the row stays in its slot.
        unsafe { self.sets.set(row, || heaps.value(row, &self.columns)).1 }
    }
}

/// Raises an ERROR if the column is no text, or the caller may not read it.
pub fn check_body(target: &Target, body: &str) {
    target.named.iter().for_each(|named| check_column(named.table, body));
}

/// The number of a column; 0 if the table has none of that name.
pub(super) fn column(table: pg_sys::Oid, name: &str) -> pg_sys::AttrNumber {
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
            "The argument body must name a column of type text or varchar.",
        )
    };
    let number = column(table, name);
    if number == pg_sys::InvalidAttrNumber as pg_sys::AttrNumber {
        refuse(PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN, "does not exist")
    }
    // SAFETY: catalogue look-ups of a column that exists.
    let base = unsafe { pg_sys::getBaseType(pg_sys::get_atttype(table, number)) };
    // SAFETY: a catalogue look-up.
    if number <= 0 || !unsafe { pg_sys::IsBinaryCoercible(base, pg_sys::TEXTOID) } {
        refuse(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, "is not of type text or varchar")
    }
    // SAFETY: reads this backend's current user.
    let user = unsafe { pg_sys::GetUserId() };
    if !may_read(table, Some(number), user) {
        raise(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied for table {}", relation_name(table)),
            "The call requires SELECT on the table, or on the indexed columns and the column of \
             the texts.",
        )
    }
}
