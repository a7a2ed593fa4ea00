//! Checks the indexes that rows are read from: whether the caller may read them, and whether they
//! have every row that the caller's snapshot sees.

use std::collections::HashMap;
use std::rc::Rc;

use pgrx::{PgRelation, PgSqlErrorCode, pg_sys};
use simhash_index::Meta;

use super::errors::{
    raise_is_not_of_passages, raise_is_of_fingerprints, raise_is_of_passages, raise_is_of_texts,
};
use super::row::MOST_TABLES;
use crate::am::columns::Columns;
use crate::am::elsewhere::check_rows_are_here;
use crate::am::kind::Kind;
use crate::am::opened::Opened;
use crate::am::passages::PassageRecipe;
use crate::am::rights::check_may_read;
use crate::am::texts::Recipe;
use crate::catalog::inheritance::{all_inheritors, is_partitioned};
use crate::catalog::names::relation_name;
use crate::catalog::relations::kind;
use crate::catalog::rights::check_rows_are_all;
use crate::compat;
use crate::error::{raise, warn};
use crate::storage;

/// An index of one table, and the table.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub heap: pg_sys::Oid,
    pub index: pg_sys::Oid,
}

/// Checked indexes, locked until the transaction ends, so that they cannot be dropped.
#[derive(Clone)]
pub struct Target {
    /// The tables that have rows. A table's place in this list is part of its rows' numbers.
    pub sources: Rc<[Source]>,
    /// When two indexes are joined: how many of the sources belong to the first one.
    pub split: Option<usize>,
    /// The one or two indexes that the caller named.
    pub named: Vec<Named>,
}

/// An index that the caller named, possibly one of a partitioned table, and its table.
#[derive(Clone, Copy)]
pub struct Named {
    pub table: pg_sys::Oid,
    pub index: pg_sys::Oid,
}

/// What an index stores of its rows, and what they are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Fingerprints,
    Texts,
    Passages,
}

impl Target {
    /// The rows of one index, with each other.
    pub fn new(index: pg_sys::Oid, content: Content) -> Self {
        let (table, sources) = sources(index, content);
        Self::checked(sources, None, vec![Named { table, index }], content)
    }

    /// The rows of one index with those of another.
    pub fn of_two(index: pg_sys::Oid, other: pg_sys::Oid, content: Content) -> Self {
        let (table, mut sources_of_both) = sources(index, content);
        let split = sources_of_both.len();
        let (other_table, others) = sources(other, content);
        sources_of_both.extend(others);
        let other = Named { table: other_table, index: other };
        Self::checked(sources_of_both, Some(split), vec![Named { table, index }, other], content)
    }

    /// Raises 22023 if one table is on both sides, because each of its rows is near itself.
    pub fn of_other_tables(self) -> Self {
        let (own, others) = self.sources.split_at(self.split.unwrap_or(self.sources.len()));
        let twice = own.iter().find(|own| others.iter().any(|other| other.heap == own.heap));
        if let Some(twice) = twice {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!(
                    "\"other\" must not be an index on the same table, \"{}\"",
                    relation_name(twice.heap)
                ),
                "Each row would be a duplicate of itself. Omit the argument to compare the rows of \
                 a table with each other.",
            )
        }
        self
    }

    fn checked(
        sources: Vec<Source>,
        split: Option<usize>,
        named: Vec<Named>,
        content: Content,
    ) -> Self {
        if sources.len() > MOST_TABLES {
            raise(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                format!("too many tables to compare: {}", sources.len()),
                &format!("At most {MOST_TABLES} are allowed."),
            )
        }
        let target = Self { sources: sources.into(), split, named };
        if let Some(&first) = target.sources.first() {
            let expected = first.stored(content);
            for source in target.sources.iter() {
                check_alike(first, &expected, *source, source.stored(content));
            }
        }
        target
    }

    /// Opens all indexes and their heaps.
    pub fn open(&self) -> OpenedAll {
        Self::open_each(&[self])
    }

    /// Opens the indexes and heaps of all targets.
    pub fn open_each(targets: &[&Self]) -> OpenedAll {
        OpenedAll(
            targets.iter().flat_map(|target| target.sources.iter().map(Source::open)).collect(),
        )
    }
}

impl Source {
    /// Opens the index and its heap.
    pub fn open(&self) -> Opened {
        Opened::new(self.index, pg_sys::AccessShareLock)
    }

    fn stored(&self, content: Content) -> Stored {
        let opened = self.open();
        let meta = storage::meta(opened.rel());
        let enums = Columns::of(opened.rel(), &meta).enums(opened.rel());
        let rel = opened.rel();
        // Every index must be built by this library's rules: rows found in one are looked up in
        // others.
        let recipe = (content == Content::Texts).then(|| Recipe::of(rel).of_same_values(rel));
        let passages =
            (content == Content::Passages).then(|| PassageRecipe::of(rel).of_same_values(rel));
        Stored { meta, enums, recipe, passages }
    }
}

/// How an index stores rows.
struct Stored {
    meta: Meta,
    /// The enum types among the columns that are compared by equality.
    enums: Vec<pg_sys::Oid>,
    /// For an index of texts.
    recipe: Option<Recipe>,
    /// For an index of passages.
    passages: Option<PassageRecipe>,
}

impl Stored {
    /// Whether both indexes cut and compare texts in the same way.
    fn is_of_same_texts(&self, other: &Self) -> bool {
        let by_near = self.recipe.as_ref().zip(other.recipe.as_ref());
        let by_passages = self.passages.as_ref().zip(other.passages.as_ref());
        by_near.is_none_or(|(own, other)| own.is_of_same_texts(other))
            && by_passages.is_none_or(|(own, other)| own.is_of_same_tokens(other))
    }
}

/// Open indexes. They are closed in reverse order, because each one restores the privileges from
/// before it was opened.
pub struct OpenedAll(Vec<Opened>);

impl std::ops::Deref for OpenedAll {
    type Target = [Opened];

    fn deref(&self) -> &[Opened] {
        &self.0
    }
}

impl Drop for OpenedAll {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

/// The table of an index, and the index itself or those of its partitions. Raises an ERROR unless
/// the caller may read the table's rows through the index. As in a query, privileges on a
/// partitioned table extend to its partitions.
fn sources(index: pg_sys::Oid, content: Content) -> (pg_sys::Oid, Vec<Source>) {
    let table = check_may_read(index);
    let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    // The heap first, as everywhere.
    for relation in [table, index] {
        // SAFETY: the lock ends with the transaction.
        unsafe { pg_sys::LockRelationOid(relation, lock) };
    }
    check_rows_are_all(
        table,
        "Call the function as a role that row-level security does not apply to, or join the table \
         with itself ON hamming(a.fp, b.fp) <= distance, or ON near_duplicate(a.body, b.body).",
    );
    let sources = if is_partitioned(index) {
        partitions(table, index)
    } else {
        vec![Source { heap: table, index }]
    };
    if sources.is_empty() {
        // SAFETY: the index is locked.
        let opened = unsafe { PgRelation::open(index) };
        // SAFETY: the index is open, and of this access method, as its rights were checked.
        check_content(index, unsafe { Kind::of_index(opened.as_ptr()) }, content);
    }
    for source in &sources {
        let opened = source.open();
        check_usable(*source, &opened, content);
        check_rows_are_here(&opened);
        predicate_lock(&opened);
    }
    (table, sources)
}

/// The indexes of a partitioned table's partitions, in the order of their tables' OIDs.
fn partitions(table: pg_sys::Oid, index: pg_sys::Oid) -> Vec<Source> {
    let lock = pg_sys::AccessShareLock;
    let mut foreign = Vec::new();
    let mut tables = Vec::new();
    for table in all_inheritors(table, lock) {
        match kind(table) {
            pg_sys::RELKIND_RELATION => tables.push(table),
            pg_sys::RELKIND_FOREIGN_TABLE => foreign.push(table),
            _ => {}
        }
    }
    if let Some(&one) = foreign.first() {
        warn(
            &format!("cannot compare rows of foreign table \"{}\"", relation_name(one)),
            "To compare rows of all servers, name the table instead of its index: see \
             docs/scale-out.md.",
        );
    }
    // The partitions of the table decide, as in a query: one that is being detached is no longer
    // among them, although its index still belongs to the parent's.
    let index_of: HashMap<pg_sys::Oid, pg_sys::Oid> = all_inheritors(index, lock)
        .into_iter()
        .filter(|&index| !is_partitioned(index))
        // SAFETY: a catalogue look-up of an index that is locked.
        .map(|index| (unsafe { pg_sys::IndexGetRelation(index, false) }, index))
        .collect();
    tables.sort_unstable_by_key(|table| table.to_u32());
    let source = |heap| match index_of.get(&heap) {
        Some(&index) => Source { heap, index },
        None => lacks_index(heap, index),
    };
    tables.into_iter().map(source).collect()
}

fn lacks_index(partition: pg_sys::Oid, index: pg_sys::Oid) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!(
            "partition \"{}\" has no index that is part of \"{}\"",
            relation_name(partition),
            relation_name(index)
        ),
        "Create the same index on it, and attach it: ALTER INDEX ... ATTACH PARTITION ...;",
    )
}

/// Checks what the planner checks before it uses an index, and the index's content.
fn check_usable(source: Source, opened: &Opened, content: Content) {
    let temporary = pg_sys::RELPERSISTENCE_TEMP as std::ffi::c_char;
    // SAFETY: the index is open, so it has its catalogue row.
    let is_temporary = unsafe { (*(*opened.index).rd_rel).relpersistence } == temporary;
    // SAFETY: the index is open.
    if is_temporary && !unsafe { (*opened.index).rd_islocaltemp } {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!(
                "index \"{}\" is temporary and belongs to another session",
                relation_name(source.index)
            ),
            "",
        );
    }
    opened.check_valid();
    // SAFETY: the heap is open, so it has its catalogue row.
    if !unsafe { (*(*opened.heap).rd_rel).relispopulated } {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("materialized view \"{}\" has not been populated", relation_name(source.heap)),
            "Use the REFRESH MATERIALIZED VIEW command.",
        )
    }
    // SAFETY: the index is open.
    let kind = unsafe { Kind::of_index(opened.index) };
    check_content(source.index, kind, content);
    if content == Content::Fingerprints && kind.has_many_keys() {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!("index \"{}\" is on an array of fingerprints", relation_name(source.index)),
            "Join the table with itself ON hamming(a.fps, b.fps) <= distance, or name an index on \
             one fingerprint per row.",
        );
    }
    if !opened.covers_snapshot() {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!(
                "index \"{}\" cannot be used by this transaction yet",
                relation_name(source.index)
            ),
            "It was built while rows had versions that it does not cover: \
             start a new transaction, or wait for older ones to end.",
        );
    }
}

/// Raises 0A000 unless an index of this kind has the content.
fn check_content(oid: pg_sys::Oid, kind: Kind, content: Content) {
    match (content, kind) {
        (Content::Passages, Kind::Passages) => {}
        (Content::Passages, _) => raise_is_not_of_passages(&relation_name(oid)),
        (_, Kind::Passages) => raise_is_of_passages(&relation_name(oid)),
        (Content::Fingerprints, kind) if kind.is_of_texts() => {
            raise_is_of_texts(&relation_name(oid))
        }
        (Content::Texts, kind) if !kind.is_of_texts() => {
            raise_is_of_fingerprints(&relation_name(oid))
        }
        _ => {}
    }
}

/// Raises 42809 unless both indexes store rows alike, so that their rows can be compared in one
/// order.
fn check_alike(first: Source, expected: &Stored, source: Source, stored: Stored) {
    let is_of_others = !stored.is_of_same_texts(expected);
    let Stored { meta, enums, passages, .. } = stored;
    let Stored { meta: expected, enums: expected_enums, .. } = expected;
    let differing = if meta.bits != expected.bits {
        "fingerprints of another width"
    } else if (meta.scope, meta.scope_kinds) != (expected.scope, expected.scope_kinds) {
        "other columns that are compared by equality"
    } else if is_of_others {
        "another config"
    } else if passages.is_some() && meta.rows != expected.rows {
        "passages of another number of words"
    } else if (meta.bands, meta.rows) != (expected.bands, expected.rows) {
        "keys of another similarity"
    } else if enums != *expected_enums {
        "enums of other types"
    } else if meta.blocks != expected.blocks {
        "another number of blocks"
    } else if meta.family() != expected.family() {
        "other included columns"
    } else {
        return;
    };
    raise(
        PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
        format!(
            "index \"{}\" has {differing} than \"{}\"",
            relation_name(source.index),
            relation_name(first.index)
        ),
        "Two indexes can be compared only if they have the same columns and options.",
    )
}

/// Under SERIALIZABLE, predicate-locks the whole table, by beginning a sequential scan.
fn predicate_lock(opened: &Opened) {
    // SAFETY: reads a setting of the transaction.
    if unsafe { pg_sys::XactIsoLevel } == pg_sys::XACT_SERIALIZABLE as i32 {
        // SAFETY: an open heap and the query's snapshot.
        let scan = unsafe { compat::begin_scan(opened.heap, pg_sys::GetActiveSnapshot()) };
        // SAFETY: the scan was begun, and reads nothing.
        unsafe { pg_sys::table_endscan(scan) };
    }
}

/// The width of an index's fingerprints.
pub fn bits(opened: &Opened) -> u32 {
    storage::meta(opened.rel()).bits
}
