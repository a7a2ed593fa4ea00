//! For `measure => 'containment'`, proposes rows that share a passage, beside rows with near
//! fingerprints: a text that another one quotes has a far fingerprint. Passages must be indexed.
//!
//! Texts are compared, not rows: two texts are verified once, however many rows have them.

use pgrx::{PgRelation, pg_sys};
use simhash_core::compare::similarity::Measure;
use simhash_core::search::TreeKey;

use super::heap::Heaps;
use super::keys::keys_of;
use super::progress::Command;
use super::target::{Content, Named, OpenedAll, Target};
use super::texts::passages::{self, Row};
use super::verify::{Verification, Verifier, check_body, column, notice_of_containment};
use crate::am::kind::Kind;
use crate::am::opened::Opened;
use crate::am::passages::PassageRecipe;
use crate::catalog::inheritance::{all_inheritors, is_partitioned};
use crate::planner::simhash_indexes;
use crate::storage::check_for_interrupts;
use crate::types::ConfigText;

/// Runs of words in more texts than this are boilerplate, as `simhash_passages` has it by default.
const MOST_TEXTS: usize = 1000;

/// How many pairs of texts are verified together, and fingerprints of how many rows are read.
const TOGETHER: usize = 1 << 10;

/// The search for texts that share a passage other than boilerplate. From its first batch on, it
/// takes half of simhash.work_mem.
pub struct Sharing {
    passages: Target,
    command: Command,
    pairs: Option<passages::Pairs>,
    is_begun: bool,
}

/// Two similar texts, each by the place of its first row; or twice the same text, if several rows
/// have it.
#[derive(Clone, Copy)]
pub struct Near {
    pub a: u32,
    pub b: u32,
    pub similarity: f64,
}

impl Sharing {
    /// `None` unless containment decides and passages are indexed. Without an index, a NOTICE says
    /// what is not found.
    pub fn find(target: &Target, how: Option<&Verification>, command: Command) -> Option<Self> {
        let how = how.filter(|how| how.similarity.measure() == Measure::Containment)?;
        check_body(target, &how.body);
        let Some(passages) = find(target, how) else {
            notice_of_containment();
            return None;
        };
        Some(Self { passages, command, pairs: None, is_begun: false })
    }

    /// The indexes of passages.
    pub fn target(&self) -> &Target {
        &self.passages
    }

    /// The next similar texts. A batch may be empty, as not all texts that share a passage are
    /// similar. `None` at the end.
    pub fn next_batch(&mut self, target: &Target, verifier: &mut Verifier) -> Option<Vec<Near>> {
        if !std::mem::replace(&mut self.is_begun, true) {
            let passages = self.passages.clone();
            let pairs = passages::begin(passages.into(), None, Some(MOST_TEXTS), self.command, 2);
            self.pairs = pairs.map(passages::Pairs::of_texts);
        }
        let pairs = self.pairs.as_mut()?;
        let next = std::iter::from_fn(|| pairs.next_texts());
        let together: Vec<(u32, u32)> = next.take(TOGETHER).collect();
        if together.is_empty() {
            return None;
        }
        let visible = |first: u32| pairs.row(first).visible;
        let opened = target.open();
        let rows = together.iter().flat_map(|&(a, b)| [visible(a), visible(b)]);
        verifier.read_ahead(&opened, rows);
        let mut heaps = Heaps::new(&opened);
        let near = together.into_iter().filter_map(|(a, b)| {
            check_for_interrupts();
            let similarity = verifier.verified(&mut heaps, visible(a), visible(b))?;
            Some(Near { a, b, similarity })
        });
        Some(near.collect())
    }

    /// The rows that have a text.
    pub fn rows(&self, first: u32) -> impl Iterator<Item = Row> {
        self.pairs.iter().flat_map(move |pairs| pairs.copies(first))
    }

    /// The rows that have a text and a fingerprint, with their fingerprints.
    pub fn rows_with_keys<K: TreeKey>(
        &self,
        opened: &OpenedAll,
        first: u32,
    ) -> Vec<(Row, K::Fingerprint)> {
        let (mut rows, mut found) = (self.rows(first), Vec::new());
        loop {
            let some: Vec<Row> = rows.by_ref().take(TOGETHER).collect();
            if some.is_empty() {
                return found;
            }
            let visible: Vec<u64> = some.iter().map(|row| row.visible).collect();
            let keys = keys_of::<K>(opened, &visible);
            found.extend(some.into_iter().zip(keys).filter_map(|(row, key)| Some((row, key?))));
        }
    }
}

fn find(target: &Target, how: &Verification) -> Option<Target> {
    let first = candidates(*target.named.first()?, how);
    let Some(&other) = target.named.get(1) else {
        return first.first().map(|found| Target::new(found.index, Content::Passages));
    };
    let others = candidates(other, how);
    first.iter().find_map(|own| {
        let is_alike = |other: &&Candidate| {
            own.recipe.words == other.recipe.words && own.recipe.is_of_same_tokens(&other.recipe)
        };
        let other = others.iter().find(is_alike)?;
        Some(Target::of_two(own.index, other.index, Content::Passages))
    })
}

/// An index of passages.
struct Candidate {
    recipe: PassageRecipe,
    index: pg_sys::Oid,
}

/// The indexes of passages on the column of texts that have all rows, and the scope columns of the
/// named index. Those that cut texts into the tokens being compared come first; among these, those
/// of the fewest words. None if the named index is partial, or has expressions in its scope.
fn candidates(named: Named, how: &Verification) -> Vec<Candidate> {
    let config = how.shingles.to_string();
    // SAFETY: the named relations are locked until the transaction ends.
    let [table, index] = [named.table, named.index].map(|oid| unsafe { PgRelation::open(oid) });
    let mut wanted = form(&index).map(columns).unwrap_or_default();
    let Some(last) = wanted.last_mut() else { return Vec::new() };
    *last = column(named.table, &how.body);
    if wanted.contains(&0) || !has_all_rows(&index) {
        return Vec::new();
    }
    let candidate = |oid| {
        // SAFETY: the OID is one of the table's indexes; it is locked while it is open.
        let index = unsafe { PgRelation::with_lock(oid, pg_sys::AccessShareLock as _) };
        // Read before any catalogue look-up, which may change the row.
        let form = form(&index)?;
        let (is_valid, is_plain) = (form.indisvalid, form.indnatts == form.indnkeyatts);
        let own = columns(form);
        // SAFETY: an open index of this access method.
        let is_of_passages = || unsafe { Kind::of_index(index.as_ptr()) } == Kind::Passages;
        let serves = is_valid
            && is_partitioned(oid) == is_partitioned(named.index)
            && is_of_passages()
            && is_plain
            && has_all_rows(&index)
            && own == wanted;
        Some(Candidate { recipe: serves.then(|| recipe(oid)).flatten()?, index: oid })
    };
    let indexes = simhash_indexes(&table);
    let mut found: Vec<Candidate> = indexes.into_iter().filter_map(candidate).collect();
    found.sort_by_key(|Candidate { recipe, .. }| {
        (!ConfigText::same_tokens(&recipe.config, &config), recipe.words)
    });
    found
}

/// The catalogue row of an index. `None` for another relation.
fn form(index: &PgRelation) -> Option<&pg_sys::FormData_pg_index> {
    // SAFETY: an open relation has its row of pg_index, or null.
    unsafe { index.rd_index.as_ref() }
}

/// The table's columns that are the key columns of an index; 0 for an expression.
fn columns(index: &pg_sys::FormData_pg_index) -> Vec<pg_sys::AttrNumber> {
    // SAFETY: the row has a number for each key column.
    unsafe { index.indkey.values.as_slice(index.indnkeyatts as usize) }.to_vec()
}

/// Whether an index has no predicate. To read it might run functions of the index's owner.
fn has_all_rows(index: &PgRelation) -> bool {
    let predicate = pg_sys::Anum_pg_index_indpred as i32;
    // SAFETY: an open index has its row of pg_index; any other relation has null.
    !index.rd_indextuple.is_null()
        && unsafe { pg_sys::heap_attisnull(index.rd_indextuple, predicate, std::ptr::null_mut()) }
}

/// The recipe of an index, and of all its partitions, if they are alike and this transaction may
/// use them.
fn recipe(index: pg_sys::Oid) -> Option<PassageRecipe> {
    let mut common: Option<PassageRecipe> = None;
    for leaf in all_inheritors(index, pg_sys::AccessShareLock) {
        if is_partitioned(leaf) {
            continue;
        }
        let opened = Opened::new(leaf, pg_sys::AccessShareLock);
        let own = PassageRecipe::of(opened.rel()).of_same_values(opened.rel());
        let is_alike = common
            .as_ref()
            .is_none_or(|common| common.words == own.words && common.is_of_same_tokens(&own));
        if !is_alike || !opened.covers_snapshot() {
            return None;
        }
        common.get_or_insert(own);
    }
    common
}
