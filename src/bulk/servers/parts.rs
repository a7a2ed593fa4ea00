//! The parts of a table: its partitions, the server of each, and the index there.

use std::rc::Rc;

use pgrx::{PgSqlErrorCode, pg_sys};
use simhash_core::VALUES;
use simhash_core::sets::sketch::Layout;

use super::link::{Call, Link, literal};
use super::messages::expect;
use crate::bulk::row::MOST_TABLES;
use crate::catalog::names::{qualified_name, relation_name};
use crate::catalog::rights::{check_rows_are_all, check_select};
use crate::error::raise;

/// A partition of the named table, or that table itself.
pub struct Part {
    pub table: pg_sys::Oid,
    pub link: Link,
    /// The part's name in errors.
    name: String,
    /// The schema of the extension there, quoted.
    schema: String,
    /// The suitable index there, as a literal.
    index: String,
    /// The bytes of that index.
    pub bytes: usize,
}

/// All parts of a table.
pub struct Parts {
    pub table: pg_sys::Oid,
    pub parts: Vec<Part>,
    recipe: Recipe,
    call: Option<Call>,
}

/// What the indexes of parts must be of.
#[derive(Clone, Copy)]
pub enum Wanted {
    /// Texts, for a similarity.
    Texts(f64),
    /// Passages of so many words, or of as many as the indexes have.
    Passages(Option<usize>),
    Fingerprints,
}

/// All that decides which keys, and which sets or tokens, a part's index has, in lines; or the
/// width of its fingerprints.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Recipe(Vec<String>);

/// A suitable index of a part.
struct Serving {
    index: String,
    recipe: Recipe,
    bytes: usize,
    body: String,
}

/// A partition, its server, and its name there.
struct Lying {
    table: pg_sys::Oid,
    /// `None` for this server.
    server: Option<String>,
    relation: String,
}

impl Part {
    /// A query for the messages of one of the extension's functions, which takes the index as its
    /// first argument.
    pub fn messages(&self, function: &str, arguments: &str) -> String {
        let Self { schema, index, .. } = self;
        format!("SELECT message FROM {schema}.{function}({index}::regclass{arguments}) AS message")
    }
}

impl Parts {
    /// Whether a relation is a table that may have parts on other servers, and not an index.
    pub fn are_of(relation: pg_sys::Oid) -> bool {
        // SAFETY: a catalogue look-up.
        let kind = unsafe { pg_sys::get_rel_relkind(relation) } as u8;
        matches!(kind, pg_sys::RELKIND_PARTITIONED_TABLE | pg_sys::RELKIND_FOREIGN_TABLE)
    }

    /// The parts of a table. Raises an ERROR unless the caller may read all its rows, and the parts
    /// have indexes that make the same keys.
    pub fn of(table: pg_sys::Oid, wanted: Wanted) -> Self {
        let Some(name) = qualified_name(table) else { raise_is_gone() };
        let shown = std::ffi::CString::new(relation_name(table)).unwrap_or_default();
        check_select(table, &shown);
        check_rows_are_all(
            table,
            "Call the function as a role that row-level security does not apply to.",
        );
        let lying = lying(&name);
        if lying.len() > MOST_TABLES {
            raise(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                format!("too many tables to compare: {}", lying.len()),
                &format!("At most {MOST_TABLES} are allowed."),
            )
        }
        let call = lying.iter().any(|one| one.server.is_some()).then(Call::begin);
        let mut found = Vec::new();
        for Lying { table, server, relation } in lying {
            let there = call.as_ref().zip(server.as_ref());
            let link = there.map_or_else(Link::here, |(call, server)| call.connect(server));
            let name = match &server {
                Some(server) => format!("{relation} of server \"{server}\""),
                None => relation.clone(),
            };
            found.push(Part::find(table, link, name, &relation, wanted));
        }
        if call.is_some() {
            hold_snapshots(&name);
        }
        // Of several indexes, the first one whose recipe all parts have; if there is none, the
        // first one.
        let alike = found.first().and_then(|(_, serving)| {
            let has =
                |all: &[Serving], recipe: &Recipe| all.iter().any(|other| other.recipe == *recipe);
            let in_all = |own: &&Serving| found.iter().all(|(_, all)| has(all, &own.recipe));
            serving.iter().find(in_all).map(|own| own.recipe.clone())
        });
        let (mut parts, mut first): (Vec<Part>, Option<(String, Recipe)>) = (Vec::new(), None);
        for (mut part, serving) in found {
            let is_alike = |own: &&Serving| alike.as_ref().is_none_or(|alike| own.recipe == *alike);
            let Some(chosen) = serving.iter().find(is_alike) else { continue };
            (part.index, part.bytes) = (literal(&chosen.index), chosen.bytes);
            match &first {
                None => first = Some((part.name.clone(), chosen.recipe.clone())),
                Some(first) => wanted.check_alike(first, (&part.name, &chosen.recipe)),
            }
            parts.push(part);
        }
        let Some((first, recipe)) = first else {
            raise(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                format!("{name} has no partitions with rows"),
                "",
            )
        };
        wanted.check_alike(&(first.clone(), recipe.clone()), (&first, &recipe));
        Self { table, parts, recipe, call }
    }

    /// How the indexes of texts make keys.
    pub fn layout(&self) -> Layout {
        expect(Layout::of(self.recipe.number()))
    }

    /// How many words a passage has for the indexes.
    pub fn words(&self) -> usize {
        self.recipe.number() as usize
    }

    /// How many bits fingerprints have.
    pub fn bits(&self) -> u32 {
        self.recipe.number() as u32
    }

    /// The tables. A table's place in this list is part of its rows' numbers.
    pub fn tables(&self) -> Rc<[pg_sys::Oid]> {
        self.parts.iter().map(|part| part.table).collect()
    }

    /// Sends all parts a query, and then calls `each` with the messages that they answer.
    pub fn ask_all(
        &mut self,
        query: impl Fn(usize, &Part) -> Option<String>,
        each: &mut dyn FnMut(usize, &[u8]),
    ) {
        for (place, part) in self.parts.iter_mut().enumerate() {
            if let Some(query) = query(place, part) {
                part.link.send(query);
            }
        }
        for (place, part) in self.parts.iter_mut().enumerate() {
            part.link.receive(&mut |message| each(place, message));
        }
    }

    /// Closes the connections.
    pub fn end(&mut self) {
        self.call = None;
    }
}

/// Reads from each server through postgres_fdw, whose transaction there keeps its snapshot until
/// the transaction here ends. Until then, no TID that is found later can be reused, and a DELETE by
/// ctid hits the same row.
fn hold_snapshots(table: &str) {
    // The query is on the table, whose privileges count. Each partition looks up one TID.
    let query = format!("SELECT count(*)::text AS rows FROM {table} WHERE ctid = '(0,1)'");
    Link::here().ask(&query, &["rows"]);
}

/// The partitions of a table that have rows, here and on other servers, in the order of their OIDs.
fn lying(name: &str) -> Vec<Lying> {
    let query = format!(
        "SELECT c.oid::text AS partition, s.srvname::text AS server, w.fdwname::text AS wrapper, \
           format('%I.%I', coalesce(o.schema, n.nspname), coalesce(o.relation, c.relname)) \
             AS relation, c.relkind::text AS kind \
         FROM (SELECT relid FROM pg_catalog.pg_partition_tree({name}) WHERE isleaf \
               UNION SELECT {name}::regclass) t \
         JOIN pg_catalog.pg_class c ON c.oid = t.relid AND c.relkind IN ('r', 'f') \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_foreign_table f ON f.ftrelid = c.oid \
         LEFT JOIN pg_catalog.pg_foreign_server s ON s.oid = f.ftserver \
         LEFT JOIN pg_catalog.pg_foreign_data_wrapper w ON w.oid = s.srvfdw \
         LEFT JOIN LATERAL (SELECT max(option_value) FILTER (WHERE option_name = 'schema_name') \
             AS schema, max(option_value) FILTER (WHERE option_name = 'table_name') AS relation \
           FROM pg_catalog.pg_options_to_table(f.ftoptions)) o ON true \
         ORDER BY c.oid",
        name = literal(name)
    );
    let columns = ["partition", "server", "wrapper", "relation", "kind"];
    let found = Link::here().ask(&query, &columns).into_iter().map(|row| {
        let mut row = row.into_iter();
        let mut next = || row.next().flatten();
        let (table, server, wrapper) = (next(), next(), next());
        let relation = next().unwrap_or_default();
        if server.is_some() && wrapper.as_deref() != Some("postgres_fdw") {
            raise(
                PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                format!("foreign table {relation} must be of foreign-data wrapper postgres_fdw"),
                "Foreign servers must be PostgreSQL servers with the extension pg_simhash.",
            )
        }
        let table = table.and_then(|oid| oid.parse().ok()).unwrap_or(0);
        Lying { table: pg_sys::Oid::from_u32(table), server, relation }
    });
    found.collect()
}

impl Part {
    /// The suitable indexes of a part. The one with the greatest similarity, or number of words,
    /// comes first: it has the fewest keys.
    fn find(
        table: pg_sys::Oid,
        mut link: Link,
        name: String,
        relation: &str,
        wanted: Wanted,
    ) -> (Self, Vec<Serving>) {
        let schema = schema_of_extension(&mut link, &name);
        let relation = literal(relation);
        let of_table = format!(
            "FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
             JOIN pg_catalog.pg_am m ON m.oid = c.relam AND m.amname = 'simhash' \
             JOIN pg_catalog.pg_opclass o ON o.oid = i.indclass[i.indnkeyatts - 1] \
               AND o.opcname IN ({}) \
             WHERE i.indrelid = {relation}::regclass",
            wanted.classes()
        );
        let query = format!(
            "SELECT i.indexrelid::regclass::text AS index, \
               {schema}.simhash_part_recipe(i.indexrelid, '{}') AS recipe, \
               pg_catalog.pg_relation_size(i.indexrelid)::text AS bytes, \
               pg_catalog.pg_get_indexdef(i.indexrelid, i.indnkeyatts, true) AS body \
             {of_table} AND {SERVES} ORDER BY i.indexrelid",
            wanted.content()
        );
        let found = link.ask(&query, &["index", "recipe", "bytes", "body"]).into_iter();
        let mut found: Vec<Serving> = found
            .filter_map(|row| {
                let [index, recipe, bytes, body] = row.try_into().ok()?;
                let body = body?;
                let (recipe, bytes) = (Recipe::of(&recipe?, &body), bytes?.parse().unwrap_or(0));
                Some(Serving { index: index?, recipe, bytes, body })
            })
            .filter(|serving| wanted.is_served_by(&serving.recipe))
            .collect();
        found.sort_by(|a, b| b.recipe.number().total_cmp(&a.recipe.number()));
        let Some(Serving { body, .. }) = found.first() else {
            raise_no_index(&mut link, &of_table, &name, wanted)
        };
        if let Some(other) = found.iter().find(|other| other.body != *body) {
            raise(
                PgSqlErrorCode::ERRCODE_AMBIGUOUS_COLUMN,
                format!("{name} has indexes of two columns: {body} and {}", other.body),
                "Over servers, indexes of one column only may serve the call: drop the others.",
            )
        }
        (Self { table, link, name, schema, index: String::new(), bytes: 0 }, found)
    }
}

/// The condition for an index `i` of pg_index.
const SERVES: &str = "i.indisvalid AND i.indpred IS NULL AND i.indnkeyatts = 1 \
    AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits h WHERE h.inhparent = i.indrelid)";

/// Raises 55000 for a part without a suitable index, and says why an existing one is not.
fn raise_no_index(link: &mut Link, of_table: &str, name: &str, wanted: Wanted) -> ! {
    let others = format!(
        "SELECT c.relname::text AS index, CASE WHEN NOT i.indisvalid THEN 'is not valid' \
           WHEN i.indpred IS NOT NULL THEN 'is partial' \
           WHEN i.indnkeyatts > 1 THEN 'is within other columns' \
           WHEN NOT ({SERVES}) THEN 'does not cover the tables below' \
           ELSE 'is for more' END AS why {of_table} ORDER BY i.indexrelid LIMIT 1"
    );
    let other = link.ask(&others, &["index", "why"]).into_iter().next();
    let other = other.map(|row| row.into_iter().flatten().collect::<Vec<_>>().join(" "));
    let other = other.map(|other| format!("Index {other}. ")).unwrap_or_default();
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        format!("{name} has no suitable index on {wanted}"),
        &format!("{other}Create one there: CREATE INDEX ON ... USING simhash {}", wanted.example()),
    )
}

/// The schema of the extension where a part is, quoted. Raises 55000 unless the extension has this
/// server's version.
fn schema_of_extension(link: &mut Link, name: &str) -> String {
    let query = "SELECT quote_ident(n.nspname) AS schema, e.extversion AS version \
                 FROM pg_catalog.pg_extension e \
                 JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace \
                 WHERE e.extname = 'pg_simhash'";
    let mut of_extension = link.ask(query, &["schema", "version"]).into_iter().flatten();
    let (Some(Some(schema)), Some(Some(version))) = (of_extension.next(), of_extension.next())
    else {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("extension \"pg_simhash\" is not installed where {name} is"),
            "Run CREATE EXTENSION pg_simhash there.",
        )
    };
    let here = env!("CARGO_PKG_VERSION");
    if version != here {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("pg_simhash has version {version} where {name} is, but {here} on this server"),
            "Use the same version on all servers: ALTER EXTENSION pg_simhash UPDATE.",
        )
    }
    schema
}

impl Recipe {
    /// From a part's answer, and the column or expression of its index.
    fn of(lines: &str, body: &str) -> Self {
        Self(lines.splitn(4, '\n').chain([body]).map(str::to_owned).collect())
    }

    /// The least similarity that the index serves, the number of words, or the width.
    fn number(&self) -> f64 {
        self.0.first().and_then(|number| number.parse().ok()).unwrap_or(f64::INFINITY)
    }
}

impl Wanted {
    /// The argument of `simhash_part_recipe`.
    fn content(self) -> &'static str {
        match self {
            Self::Texts(_) => "texts",
            Self::Passages(_) => "passages",
            Self::Fingerprints => "fingerprints",
        }
    }

    /// The operator classes, as literals.
    fn classes(self) -> &'static str {
        match self {
            Self::Texts(_) => "'text_ops', 'varchar_ops', 'near_text_ops'",
            Self::Passages(_) => "'text_passage_ops'",
            Self::Fingerprints => {
                "'fingerprint64_ops', 'fingerprint128_ops', 'fingerprint256_ops', \
                 'hamming_ball64_ops', 'hamming_ball128_ops', 'hamming_ball256_ops', \
                 'hamming_int8_ops', 'bit_hamming_ops'"
            }
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Texts(_) => {
                "(body) WITH (similarity = ...), with at most the similarity of the call."
            }
            Self::Passages(_) => {
                "(body text_passage_ops) WITH (words = ...), with at most the words of the call."
            }
            Self::Fingerprints => "(fp).",
        }
    }

    fn is_served_by(self, recipe: &Recipe) -> bool {
        match self {
            Self::Texts(similarity) => recipe.number() <= similarity,
            Self::Passages(words) => words.is_none_or(|words| recipe.number() <= words as f64),
            Self::Fingerprints => true,
        }
    }

    /// Raises an ERROR unless two parts have the same keys, by the rules of this server.
    fn check_alike(self, (first, expected): &(String, Recipe), (part, recipe): (&str, &Recipe)) {
        let lines: &[&str] = match self {
            Self::Texts(_) => {
                &["similarities", "configs", VALUES_LINE, "lists of words, or models", "columns"]
            }
            Self::Passages(_) => {
                &["numbers of words", "configs", VALUES_LINE, "lists of words", "columns"]
            }
            Self::Fingerprints => &["widths", "columns"],
        };
        for (i, &line) in lines.iter().enumerate() {
            let (then, now) = (expected.0.get(i), recipe.0.get(i));
            if line == VALUES_LINE && now.is_none_or(|now| now != VALUES) {
                raise(
                    PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!("keys of {part} were made by other rules or another dictionary"),
                    "Use the same version of pg_simhash on all servers, and REINDEX indexes that \
                     another version built.",
                )
            }
            if then != now {
                raise(
                    PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                    format!("indexes of {first} and {part} have different {line}"),
                    "Create the same index on all parts.",
                )
            }
        }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Texts(similarity) => write!(f, "texts for the similarity {similarity}"),
            Self::Passages(Some(words)) => write!(f, "passages of {words} words"),
            Self::Passages(None) => f.write_str("passages"),
            Self::Fingerprints => f.write_str("fingerprints"),
        }
    }
}

/// The line of a recipe that says by which rules values are made.
const VALUES_LINE: &str = "values";

fn raise_is_gone() -> ! {
    raise(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE, "the table was dropped".into(), "")
}
