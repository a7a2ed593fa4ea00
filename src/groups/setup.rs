//! What a trigger's arguments mean, checked against its table. The result is kept across
//! statements, until a relation or a role changes.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use pgrx::{PgSqlErrorCode, pg_sys};

use crate::bulk::verify::Verification;
use crate::catalog::Schema;
use crate::catalog::inheritance::{children, parents, partition_columns};
use crate::catalog::members::{Extension, Function};
use crate::catalog::names::{quoted, relation_name, table_name};
use crate::error::{raise, warn};
use crate::family::arguments::{By, single_unique};
use crate::family::changes::changes;
use crate::family::column::{Column, Generated, Named, type_name};
use crate::family::generated::is_computed_from;
use crate::family::given::{Given, Of};
use crate::family::on::{On, Open};
use crate::family::tables::{Family, NamedKey, Names};
use crate::family::verify::{expect_similarity, verification};
use crate::family::warnings::warn_without_index;

/// When a group that rows have left is checked for having come apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settle {
    /// At the end of the statement.
    Now,
    /// By `simhash_cluster_settle`.
    Later,
}

/// A column of ids: its table's OID, and its number.
pub type IdColumn = (pg_sys::Oid, pg_sys::AttrNumber);

/// A trigger's arguments, and the tables with rows.
#[derive(Debug)]
pub struct Setup {
    pub table: pg_sys::Oid,
    pub owner: pg_sys::Oid,
    pub schema: Schema,
    /// The column that rows are searched by: the fingerprint, or the text.
    pub searched: Named,
    pub by: By,
    /// How texts are compared after fingerprints (`fp=` with `similarity=`). `None` if rows are
    /// searched by text: then `by` has the similarity.
    pub verification: Option<Verification>,
    /// The column of the texts that `verification` compares.
    pub text: Option<Named>,
    pub scope: Vec<Named>,
    pub key: Named,
    /// The column of the groups' ids.
    pub cluster: Named,
    pub settle: Settle,
    pub family: Family,
    /// Whether the table has partitions.
    pub is_partitioned: bool,
    /// The columns of partition keys: an UPDATE of one may move a row to another partition.
    pub moving: Vec<Column>,
    made: u64,
}

/// How many set-ups are kept.
const KEPT: usize = 1024;

/// The OID of the function that all five triggers call.
pub fn trigger_function() -> Option<pg_sys::Oid> {
    let mut functions = Extension::installed()?.functions(c"simhash_cluster").into_iter();
    let is_it = |function: &Function| {
        function.symbol == b"simhash_cluster_wrapper" && function.arguments.is_empty()
    };
    functions.find(is_it).map(|function| function.oid)
}

thread_local! {
    static KNOWN: RefCell<HashMap<pg_sys::Oid, Rc<Setup>>> = RefCell::new(HashMap::new());
    /// The columns for which this session has given its warnings.
    static WARNED: RefCell<HashSet<IdColumn>> =
        RefCell::new(HashSet::new());
}

/// Lets this session give its warnings again.
pub fn forget_warnings() {
    WARNED.with_borrow_mut(HashSet::clear);
}

impl Setup {
    /// The set-up of a trigger: the one that is kept, if it is current, or else a new one.
    pub fn of(on: On<'_>, schema: Schema) -> Rc<Self> {
        let (table, trigger) = (on.table.oid(), on.trigger.tgoid);
        let known = KNOWN.with_borrow(|known| known.get(&trigger).cloned());
        if let Some(setup) = known.filter(|known| known.is_current() && known.table == table) {
            return setup;
        }
        let setup = Rc::new(Self::new(on, schema));
        setup.warn_once(on.table);
        KNOWN.with_borrow_mut(|known| {
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(trigger, setup.clone());
        });
        setup
    }

    /// The set-up as it is after `lock` has taken the column's lock, with all relations of the
    /// family locked against changes.
    pub fn locked(on: On<'_>, schema: Schema, lock: fn(&Setup)) -> Rc<Self> {
        loop {
            let known = Self::of(on, schema);
            lock(&known);
            known.family.lock_relations();
            // Partitions and indexes may have changed during the wait for locks.
            if known.is_current() {
                return known;
            }
        }
    }

    fn is_current(&self) -> bool {
        self.made == changes()
    }

    fn new(on: On<'_>, schema: Schema) -> Self {
        let made = changes();
        check_alone(on.table);
        let given = Given::read(on, Of::Cluster);
        let (searched, by) = near_by(&given, schema);
        let (verification, text) =
            if by.is_text() { (None, None) } else { verified(&given, schema) };
        let key = key(&given);
        let cluster = cluster(&given, &key);
        let scope = scope(&given, &searched, &cluster);
        let table = on.table.oid();
        let family = family(table, (&searched, &by), &scope, text.as_ref(), &key);
        let is_later = given.choice("settle") == "later";
        let moving = partition_columns(table);
        let setup = Setup {
            table,
            owner: on.table.form().relowner,
            schema,
            searched,
            by,
            verification,
            text,
            scope,
            key,
            cluster,
            settle: if is_later { Settle::Later } else { Settle::Now },
            family,
            is_partitioned: on.table.is_partitioned(),
            moving: moving.iter().filter_map(|name| Column::named(table, name)).collect(),
            made,
        };
        setup.check_other_columns(&given);
        setup
    }

    fn check_other_columns(&self, given: &Given<'_>) {
        let cluster = self.cluster.column.number;
        given.refuse_if(
            self.deciding().any(|other| other.number == cluster),
            "cluster",
            "names a column that is also used otherwise",
            "Use a separate column for the group ids.",
        );
        let is_computed = |other: &Column| {
            other.generated != Generated::No && is_computed_from(given.table, other, cluster)
        };
        given.refuse_if(
            self.deciding().any(is_computed),
            "cluster",
            "names a column that determines groups through a generated column",
            "Groups cannot depend on their ids.",
        );
        given.refuse_if(
            self.cluster.column.refuses_null(),
            "cluster",
            "names a column that is NOT NULL or of a NOT NULL domain",
            "Group ids are NULL in rows without near-duplicates: ALTER TABLE ... ALTER COLUMN ... \
             DROP NOT NULL.",
        );
    }

    pub fn id_column(&self) -> IdColumn {
        (self.table, self.cluster.column.number)
    }

    /// The columns that decide a row's group.
    pub fn deciding(&self) -> impl Iterator<Item = &Column> {
        let named = self.scope.iter().chain([&self.searched, &self.key]).map(|named| &named.column);
        named.chain(self.text())
    }

    /// The column of the texts, if they are compared after fingerprints.
    pub fn text(&self) -> Option<&Column> {
        self.text.as_ref().map(|text| &text.column)
    }

    /// Gives the warnings about missing indexes, once in each session.
    fn warn_once(&self, table: Open<'_>) {
        let without_index = self.family.members.iter().any(|member| member.index.is_none());
        let is_found = table.indexes().any(|index| {
            index.form().indisvalid
                && index.column(0) == self.cluster.column.number
                && [pg_sys::BTREE_AM_OID, pg_sys::HASH_AM_OID].contains(&index.method())
        });
        if (!without_index && is_found)
            || !WARNED.with_borrow_mut(|warned| warned.insert(self.id_column()))
        {
            return;
        }
        warn_without_index(
            &self.family,
            "simhash_cluster",
            self.table,
            (&self.searched, self.by.similar()),
            &self.scope,
        );
        if !is_found {
            let (table, cluster) = (table_name(self.table), quoted(&self.cluster.name));
            warn(
                &format!(
                    "table {table} has no index on column {cluster}: \
                     simhash_cluster reads the whole table to find the rows of a group"
                ),
                &format!("CREATE INDEX ON {table} ({cluster});"),
            );
        }
    }
}

/// The column that `cluster=` names, of a trigger on a table or on a partition of its.
pub fn cluster_column(on: On<'_>) -> Named {
    let given = Given::read(on, Of::Cluster);
    stored(&given, "cluster").unwrap_or_else(|| raise_no_cluster(&given))
}

fn raise_no_cluster(given: &Given<'_>) -> ! {
    given.raise(
        "cluster",
        "is missing",
        "Give the column that holds the ids of groups: 'cluster=column'.",
    )
}

/// The column that rows are searched by, and how.
fn near_by(given: &Given<'_>, schema: Schema) -> (Named, By) {
    if let Some((body, similar)) = given.similar() {
        check_stored(given, "body", &body.column);
        return (body, By::Similarity(similar));
    }
    let fp = given.fingerprint();
    let width = given.width(&fp.column, schema);
    (fp, By::Distance { width, distance: given.distance(width) })
}

/// Raises 0A000 unless the table's rows are its own or its partitions', and an UPDATE of it is one:
/// it has no parent, no children but partitions, and no rules for UPDATE.
pub fn check_alone(open: Open<'_>) {
    let (table, kind) = (open.oid(), open.form().relkind as u8);
    let name = relation_name(table);
    let (what, hint) = if let Some(&parent) = parents(table).first() {
        let parent = relation_name(parent);
        let hint = if open.form().relispartition {
            "Create the trigger on the partitioned table, and write to that table."
        } else {
            "simhash_cluster keeps the groups of one table, partitioned or not."
        };
        (format!("table \"{name}\" is a child of table \"{parent}\""), hint)
    } else if kind == pg_sys::RELKIND_RELATION && !children(table).is_empty() {
        (
            format!("other tables inherit from table \"{name}\""),
            "simhash_cluster keeps the groups of one table, partitioned or not.",
        )
    } else if kind == pg_sys::RELKIND_RELATION || kind == pg_sys::RELKIND_PARTITIONED_TABLE {
        if !has_rules_for_update(open) {
            return;
        }
        (
            format!("table \"{name}\" has rules for UPDATE"),
            "simhash_cluster assigns group ids by UPDATE. Use triggers instead of rules.",
        )
    } else {
        (format!("\"{name}\" is not a table"), "")
    };
    raise(PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED, what, hint)
}

fn has_rules_for_update(table: Open<'_>) -> bool {
    // SAFETY: the relation is open, and `numLocks` is the length of `rules`.
    unsafe {
        (*table.raw()).rd_rules.as_ref().is_some_and(|all| {
            let rules = std::slice::from_raw_parts(all.rules, all.numLocks.max(0) as usize);
            rules.iter().any(|&rule| (*rule).event == pg_sys::CmdType::CMD_UPDATE)
        })
    }
}

/// The column that an argument names. Raises an ERROR for a virtual column, which rows do not
/// store.
fn stored(given: &Given<'_>, key: &str) -> Option<Named> {
    let named = given.column(key)?;
    check_stored(given, key, &named.column);
    Some(named)
}

fn check_stored(given: &Given<'_>, key: &str, column: &Column) {
    given.refuse_if(
        column.generated == Generated::Virtual,
        key,
        "names a virtual generated column",
        "Make the column STORED, so that its values are in the rows.",
    );
}

/// The column that identifies rows: `key=`, or the primary key if that is one column.
fn key(given: &Given<'_>) -> Named {
    let (key, unique) = (given.key_or_primary(), single_unique(given.table));
    let is_partitioned = given.table.is_partitioned();
    let key = key.unwrap_or_else(|| {
        given.raise(
            "key",
            "is missing, and the table has no primary key of one column",
            "Name the column that identifies rows: 'key=column'.",
        )
    });
    check_stored(given, "key", &key.column);
    // A unique index of a partitioned table also has the columns of the partition key.
    let is_unique = unique.iter().any(|index| {
        let equality = index.equality.is_some_and(|equality| equality.is_of(&key.column));
        index.column == key.column.number && index.is_immediate && equality
    });
    given.refuse_if(
        !is_unique && !is_partitioned,
        "key",
        "names a column without a unique index of its own",
        "The key must identify rows at any time: create a unique index on this column alone, not \
         deferrable and of its collation, or name another column.",
    );
    // SAFETY: catalogue look-ups.
    let is_element = unsafe {
        pg_sys::get_array_type(key.column.base) != pg_sys::InvalidOid
            && !pg_sys::type_is_rowtype(key.column.base)
    };
    if !is_element {
        given.raise_type(
            "key",
            &key.column,
            "A key cannot be an array or a row: name a column of another type.",
        )
    }
    // The transition table has such a row as it was before a partition with other columns computed
    // the value.
    given.refuse_if(
        is_partitioned && key.column.generated != Generated::No,
        "key",
        "names a generated column, and the table is partitioned",
        "Name a column that is set when a row is inserted.",
    );
    if !key.column.has_order() {
        given.raise_type(
            "key",
            &key.column,
            "The key's type must have a default operator class for btree.",
        )
    }
    key
}

/// The column of the groups' ids, of the key's type.
fn cluster(given: &Given<'_>, key: &Named) -> Named {
    let cluster = stored(given, "cluster").unwrap_or_else(|| raise_no_cluster(given));
    let (own, keys) = (&cluster.column, &key.column);
    if own.base != keys.base || (own.modifier != keys.modifier && own.modifier >= 0) {
        let wanted = type_name(keys.base, keys.modifier);
        given.raise_type(
            "cluster",
            own,
            &format!("The column of group ids must be of the key's type, {wanted}."),
        )
    }
    // Where two collations disagree about equality, equal ids could be one group or two.
    if own.collation != keys.collation && !(own.equal_is_same() && keys.equal_is_same()) {
        given.raise_as(
            PgSqlErrorCode::ERRCODE_COLLATION_MISMATCH,
            "cluster",
            "names a column whose collation differs from the key's",
            "Give both columns one collation: ALTER TABLE ... ALTER COLUMN ... TYPE ... COLLATE \
             ...",
        )
    }
    given.refuse_if(
        own.generated != Generated::No,
        "cluster",
        "names a generated column",
        "Name a column that can be set.",
    );
    cluster
}

/// How texts are compared after fingerprints, and their column, if they are compared.
fn verified(given: &Given<'_>, schema: Schema) -> (Option<Verification>, Option<Named>) {
    expect_similarity(given, &["body", "config"]);
    let check = |text: &Column| check_stored(given, "body", text);
    verification(given, &given.parsed_config(), schema, check).unzip()
}

/// The columns in which the rows of a group are equal.
fn scope(given: &Given<'_>, searched: &Named, cluster: &Named) -> Vec<Named> {
    given.equal_columns(|Named { column, name }| {
        if [searched, cluster].iter().any(|other| other.column.number == column.number) {
            given.raise_scope(
                name,
                "that is also used otherwise",
                "Omit the columns of the other arguments.",
            )
        }
        check_stored(given, "scope", column);
    })
}

/// The table itself, or its partitions.
fn family(
    table: pg_sys::Oid,
    (searched, by): (&Named, &By),
    scope: &[Named],
    text: Option<&Named>,
    key: &Named,
) -> Family {
    let key = NamedKey::new(&key.name, &key.column, None);
    let names = Names::of((searched, by), scope, [text, None], Some(key));
    let family = Family::below(&[table], vec![table], &names);
    if !family.foreign.is_empty() {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            format!("table \"{}\" has foreign partitions", relation_name(table)),
            "simhash_cluster keeps groups of local rows only: see docs/scale-out.md.",
        )
    }
    family
}
