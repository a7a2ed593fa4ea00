//! Finds out whether a partition or an inheriting table has a simhash index on a column.
//!
//! It reads the catalogues, locks nothing and remembers answers: see Partitions in `README.md`.

use std::cell::RefCell;
use std::collections::HashMap;

use pgrx::pg_sys;

use super::changes;
use super::indexed_columns::indexed_columns;
use super::measures::Measure;
use crate::catalog::inheritance::all_inheritors;

/// A parent, its column, and the operator `<@` of a measure.
type Question = (pg_sys::Oid, pg_sys::AttrNumber, pg_sys::Oid);

/// The most answers that a backend remembers.
const REMEMBERED: usize = 1024;

thread_local! {
    /// The answers, with the counts of changes at which they were found.
    static ANSWERS: RefCell<([u64; 3], HashMap<Question, bool>)> = RefCell::default();
}

/// Whether a table below `parent` has an index on its column of the same name.
pub fn a_descendant_is_indexed(
    parent: pg_sys::Oid,
    attribute: pg_sys::AttrNumber,
    measure: &Measure,
) -> bool {
    let question = (parent, attribute, measure.operator);
    let now = [changes::of_objects(), changes::of_indexes(), changes::of_relations()];
    let known =
        ANSWERS.with_borrow(|(then, known)| (*then == now).then(|| known.get(&question).copied()));
    if let Some(Some(known)) = known {
        return known;
    }
    let answer = look_up(parent, attribute, measure);
    ANSWERS.with_borrow_mut(|(then, known)| {
        if *then != now || known.len() >= REMEMBERED {
            known.clear();
        }
        *then = now;
        known.insert(question, answer);
    });
    answer
}

/// Locks nothing: an index, a table or a column may be dropped or renamed meanwhile.
fn look_up(parent: pg_sys::Oid, attribute: pg_sys::AttrNumber, measure: &Measure) -> bool {
    let columns = indexed_columns();
    // SAFETY: a catalogue look-up in a transaction.
    let name = unsafe { pg_sys::get_attname(parent, attribute, true) };
    if name.is_null() || !columns.values().flatten().any(|column| column.serves(measure)) {
        return false;
    }
    let mut below =
        all_inheritors(parent, pg_sys::NoLock).into_iter().filter(|&table| table != parent);
    below.any(|table| {
        pgrx::check_for_interrupts!();
        // SAFETY: a catalogue look-up in a transaction, by a palloc'd name.
        let number = || unsafe { pg_sys::get_attnum(table, name) };
        let indexed = columns.get(&table.to_u32()).into_iter().flatten();
        indexed.filter(|column| column.serves(measure)).any(|column| column.attribute == number())
    })
}
