//! What `measure => 'containment'` compares beside rows with near fingerprints: rows that share a
//! passage, where passages are indexed. A text that another one quotes has another fingerprint.

use pgrx::{PgRelation, pg_sys};
use simhash_core::Fingerprint;
use simhash_core::sets::similarity::Measure;

use super::errors::raise_is_of_texts;
use super::measured::keys_of;
use super::progress::Command;
use super::target::{Content, Named, Target};
use super::texts::passages::{self, Row, Shared};
use super::verify::{Verification, column, notice_of_containment};
use crate::am::kind::{Kind, key_columns};
use crate::am::opened::is_partitioned;
use crate::am::options::Options;
use crate::am::passages::DEFAULT_WORDS;
use crate::planner::simhash_indexes;
use crate::storage::{IndexRel, family, with_block_key_type};

/// Runs of words that more texts have are boilerplate, as `simhash_passages` has it by default.
const MOST_TEXTS: usize = 1000;

/// If containment decides and passages are indexed, the pairs of rows that share one, which is no
/// boilerplate, and whose fingerprints are farther apart than `distance`. Says in a NOTICE what is
/// not found without an index. Takes a quarter of simhash.work_mem, when the first pair is asked
/// for.
pub fn sharing(
    target: &Target,
    distance: i32,
    how: Option<&Verification>,
    command: Command,
) -> Box<dyn Iterator<Item = Shared>> {
    let how = how.filter(|how| how.similarity.measure() == Measure::Containment);
    let Some(how) = how else { return Box::new(std::iter::empty()) };
    let Some(passages) = find(target, &how.body) else {
        notice_of_containment();
        return Box::new(std::iter::empty());
    };
    let target = target.clone();
    let begin = move || {
        let pairs = passages::pairs(passages, None, Some(MOST_TEXTS), command, 4);
        let mut pairs = pairs.map(passages::Pairs::with_copies);
        let next = move || pairs.as_mut()?.next_rows().map(|(a, b, _)| (a, b));
        let mut pairs = std::iter::from_fn(next).fuse();
        let batch = move || {
            let together: Vec<(Row, Row)> = pairs.by_ref().take(TOGETHER).collect();
            (!together.is_empty()).then(|| measured(&target, distance, &together))
        };
        std::iter::from_fn(batch).flatten()
    };
    Box::new(std::iter::once_with(begin).flatten())
}

fn find(target: &Target, body: &str) -> Option<Target> {
    let first = candidates(*target.named.first()?, body);
    let Some(&other) = target.named.get(1) else {
        return first.first().map(|found| Target::new(found.index, Content::Passages));
    };
    let others = candidates(other, body);
    first.iter().find_map(|own| {
        let other = others.iter().find(|other| other.words == own.words)?;
        Some(Target::of_two(own.index, other.index, Content::Passages))
    })
}

/// An index of passages.
struct Candidate {
    words: usize,
    index: pg_sys::Oid,
}

/// The indexes of passages of all texts of a column, divided by the columns that the named index is
/// divided by. Those of the fewest words come first.
fn candidates(named: Named, body: &str) -> Vec<Candidate> {
    // SAFETY: the named relations are locked until the transaction ends, any other while it is
    // looked at. An open index has a number for each key column.
    unsafe {
        let columns = |index: &PgRelation| {
            let count = key_columns(index.as_ptr());
            (*index.rd_index).indkey.values.as_slice(count).to_vec()
        };
        let mut wanted = columns(&PgRelation::open(named.index));
        if let Some(last) = wanted.last_mut() {
            *last = column(named.table, body);
        }
        let candidate = |oid| {
            let index = PgRelation::with_lock(oid, pg_sys::AccessShareLock as pg_sys::LOCKMODE);
            let serves = (*index.rd_index).indisvalid
                && is_partitioned(oid) == is_partitioned(named.index)
                && Kind::of_index(index.as_ptr()) == Kind::Passages
                && pg_sys::RelationGetIndexPredicate(index.as_ptr()).is_null()
                && columns(&index) == wanted;
            let words = || Options::words(IndexRel::new(index.as_ptr())).unwrap_or(DEFAULT_WORDS);
            serves.then(|| Candidate { words: words(), index: oid })
        };
        let indexes = simhash_indexes(&PgRelation::open(named.table));
        let mut found: Vec<Candidate> = indexes.into_iter().filter_map(candidate).collect();
        found.sort_by_key(|candidate| candidate.words);
        found
    }
}

/// So many pairs are measured together.
const TOGETHER: usize = 1 << 10;

/// The pairs of rows with fingerprints, farther apart than `distance`.
fn measured(target: &Target, distance: i32, pairs: &[(Row, Row)]) -> Vec<Shared> {
    let opened = target.open();
    let Some(first) = opened.first() else { return Vec::new() };
    let rows: Vec<u64> = pairs.iter().flat_map(|(a, b)| [a.visible, b.visible]).collect();
    with_block_key_type!(family(first.rel()), K => {
        let keys = keys_of::<K>(&opened, &rows);
        let shared = pairs.iter().zip(keys.chunks_exact(2)).filter_map(|(&(a, b), keys)| {
            let apart = keys[0]?.hamming(keys[1]?);
            (i64::from(apart) > i64::from(distance)).then_some(Shared { a, b, distance: apart })
        });
        shared.collect()
    }, raise_is_of_texts(&first.rel().name()))
}
