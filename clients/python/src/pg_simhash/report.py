"""The queries of `pg-simhash report`, all of one snapshot. Nothing is written.

Each query calls one function of the extension. A pair near at 0.8 is also near at 0.5. But a search
at 0.8 does not find every such pair that one at 0.5 finds, since a sketch may miss it. So the rows
to drop are queried at each similarity, not derived.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
from psycopg import sql
from psycopg.abc import Params

if TYPE_CHECKING:
    from typing import TypeAlias

    from typing_extensions import LiteralString

Query: TypeAlias = "LiteralString | sql.Composed"
Row: TypeAlias = "tuple[Any, ...]"
Say: TypeAlias = "Callable[[str], object]"

#: The default similarities: the first five of these that the index serves.
SIMILARITIES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: Bars of the histogram from 0 to 1. The last one is 1 itself.
BARS = 20
#: Pairs that are sampled for each one shown.
DRAWN = 10
#: Characters of a text that are read for display.
READ = 20_000
#: A run of words that more texts share is boilerplate.
MOST = 20
#: Characters shown around a passage.
AROUND = 120


@dataclass
class Options:
    """The command line's options. `similarities` ascend; None means those that the index serves."""

    table: str
    column: str
    similarities: Sequence[float] | None = None
    config: str | None = None
    keep: str | None = None
    sample: int = 5
    limit: int = 2_000_000


class Index(NamedTuple):
    """An index on the column."""

    oid: int
    name: str
    words: int | None
    similarity: float
    config: str
    scope: str | None
    condition: str | None


class Drops(NamedTuple):
    """The result of simhash_duplicates. `sizes` counts the groups of each size: a row that stays,
    with the rows that it stands for."""

    similarity: float
    sizes: dict[int, int]

    @property
    def groups(self) -> int:
        return sum(self.sizes.values())

    @property
    def dropped(self) -> int:
        return sum((size - 1) * groups for size, groups in self.sizes.items())


class Text(NamedTuple):
    """The beginning of a row's text."""

    name: str
    body: str
    length: int


class Pair(NamedTuple):
    """A pair of rows to show."""

    similarity: float
    first: Text
    second: Text


class Passage(NamedTuple):
    """The longest passage of a pair of rows: the text before it, the passage, and the text after
    it."""

    words: int
    names: tuple[str, str]
    first: tuple[str, str, str]
    second: tuple[str, str, str]


@dataclass
class Passages:
    index: str
    words: int
    pairs: int = 0
    copies: int = 0
    is_complete: bool = True
    lengths: Counter[int] = field(default_factory=Counter)
    shown: list[Passage] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


@dataclass
class Report:
    """The contents of the page."""

    database: str
    table: str
    column: str
    version: str
    taken: datetime
    rows: int
    texts: int
    index: Index
    options: Options
    drops: list[Drops]
    #: Whether the number of pairs is within the limit. If not, the counted pairs are those of a
    #: duplicate and the row that stays for it.
    has_all_pairs: bool
    bars: Counter[int]
    bands: list[tuple[float, int, list[Pair]]]
    #: The largest groups at one similarity: their sizes, and the rows that stay.
    largest: tuple[float, list[tuple[int, Text]]]
    passages: Passages | None
    passages_statement: str


class Reservoir:
    """A uniform sample of a sequence. The same rows give the same sample."""

    def __init__(self, size: int) -> None:
        self._size, self._random = size, random.Random(0)
        self.count = 0
        self.rows: list[Row] = []

    def add(self, row: Row) -> None:
        self.count += 1
        if len(self.rows) < self._size:
            self.rows.append(row)
        elif (place := int(self._random.random() * self.count)) < self._size:
            self.rows[place] = row


def _named(*names: str) -> sql.Identifier:
    """A name in a query with parameters, where % must be doubled."""
    return sql.Identifier(*(name.replace("%", "%%") for name in names))


class _Database:
    def __init__(self, connection: psycopg.Connection[Any], options: Options, say: Say) -> None:
        self.connection, self.options, self.say = connection, options, say
        self.notices: list[str] = []
        connection.add_notice_handler(
            lambda notice: self.notices.append(notice.message_primary or "")
        )
        found = self.one(
            "SELECT nspname, extversion FROM pg_extension e"
            " JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'pg_simhash'"
        )
        if found is None:
            raise ValueError("the database has no pg_simhash: CREATE EXTENSION pg_simhash")
        self.schema, self.version = found
        self.table, self.name, self.only = self._table()
        self.column = _named(options.column)
        self.key = self._key()

    def one(self, query: Query, parameters: Params = ()) -> Any:
        with self.connection.cursor() as cursor:
            cursor.execute(query, parameters)
            return cursor.fetchone()

    def all(self, query: Query, parameters: Params = ()) -> list[Any]:
        with self.connection.cursor() as cursor:
            cursor.execute(query, parameters)
            return cursor.fetchall()

    def each(self, query: Query, parameters: Params) -> Iterator[Row]:
        """Rows as they are found. Neither side holds all of them."""
        with self.connection.cursor(name="report") as cursor:
            cursor.itersize = 20_000
            cursor.execute(query, parameters)
            yield from cursor

    def function(self, name: str) -> sql.Composable:
        return _named(self.schema, name)

    def _table(self) -> tuple[int, sql.Composable, sql.Composable]:
        named = self.options.table
        found = self.one(
            "SELECT c.oid, nspname, relname, relkind::text,"
            " has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT')"
            ", relkind <> 'p' OR EXISTS (SELECT FROM pg_partition_tree(c.oid) WHERE isleaf)"
            " FROM coalesce(to_regclass(quote_ident(%(name)s)), to_regclass(%(name)s)) AS o"
            " JOIN pg_class c ON c.oid = o JOIN pg_namespace n ON n.oid = relnamespace",
            {"name": named},
        )
        if found is None:
            raise ValueError(f"there is no table {named}")
        oid, schema, relation, kind, is_readable, has_parts = found
        if kind not in "rpm":
            what = {"v": "a view", "f": "a foreign table"}.get(kind, "no table")
            raise ValueError(f"{named} is {what}, which has no index: name the table itself")
        if not is_readable:
            raise ValueError(f"permission denied: no SELECT on {named}")
        if not has_parts:
            raise ValueError(f"{named} has no partition yet, so it has no rows")
        table = _named(schema, relation)
        # An index of the parent contains no rows of children by inheritance.
        return oid, table, sql.SQL("ONLY {}").format(table) if kind == "r" else table

    def _key(self) -> sql.Composable:
        """A row's name on the page: its primary key, or its ctid."""
        columns = self.all(
            "SELECT attname FROM pg_index JOIN pg_attribute"
            " ON attrelid = indrelid AND attnum = ANY (indkey)"
            " WHERE indrelid = %s::oid AND indisprimary ORDER BY array_position(indkey, attnum)",
            [self.table],
        )
        parts = [
            sql.SQL("{} || t.{}::text").format(f"{name} ".replace("%", "%%"), _named(name))
            for name in [name for (name,) in columns] or ["ctid"]
        ]
        return sql.SQL("concat_ws(', ', {})").format(sql.SQL(", ").join(parts))

    def statement(self, more: str = "", after: str = "") -> str:
        """The statement that creates an index."""
        table, column = self.name.as_string(self.connection), self.column.as_string(self.connection)
        made = f"CREATE INDEX ON {table} USING simhash ({column}{more}){after};"
        return made.replace("%%", "%")

    def indexes(self) -> list[Index]:
        """The indexes on the column, the most suitable first."""
        kind = self.one(
            "SELECT attnum, atttypid::regtype::text FROM pg_attribute"
            " WHERE attrelid = %s::oid AND attname = %s AND attnum > 0 AND NOT attisdropped",
            [self.table, self.options.column],
        )
        if kind is None:
            raise ValueError(f"{self.options.table} has no column {self.options.column!r}")
        rows = self.all(
            sql.SQL(
                "SELECT i.indexrelid, i.indexrelid::regclass::text, f.words, f.similarity,"
                " f.config::text, (SELECT string_agg(pg_get_indexdef(i.indexrelid, n, true), ', ')"
                "   FROM generate_series(1, i.indnkeyatts - 1) n),"
                " pg_get_expr(indpred, indrelid)"
                " FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
                " JOIN pg_am a ON a.oid = relam"
                " CROSS JOIN LATERAL {}(coalesce((SELECT relid"
                "   FROM pg_partition_tree(i.indexrelid) WHERE isleaf LIMIT 1), i.indexrelid)) f"
                " WHERE amname = 'simhash' AND indrelid = %s::oid AND indisvalid"
                " AND indkey[indnkeyatts - 1] = %s"
                " AND (f.similarity IS NOT NULL OR f.words IS NOT NULL)"
                " ORDER BY indpred IS NOT NULL, indnkeyatts, f.words, f.similarity, i.indexrelid"
            ).format(self.function("simhash_index_info")),
            [self.table, kind[0]],
        )
        found = [Index(*row) for row in rows]
        if (config := self.options.config) is not None:
            ((config,),) = self.all(
                sql.SQL("SELECT %s::{}::text").format(self.function("simhash_config")), [config]
            )
            return [index for index in found if index.config == config]
        return sorted(found, key=lambda index: index.config != "{}")

    def texts(self, rows: Sequence[Row]) -> dict[Row, Text]:
        """The texts of rows, each given by a table and a ctid."""
        found = self.all(
            sql.SQL(
                "SELECT tab, at::text, {}, left(t.{}, %s), length(t.{})"
                " FROM unnest(%s::oid[], %s::tid[]) AS x (tab, at)"
                " JOIN {} t ON t.tableoid = tab AND t.ctid = at"
            ).format(self.key, self.column, self.column, self.only),
            [READ, [row[0] for row in rows], [row[1] for row in rows]],
        )
        return {(row[0], row[1]): Text(*row[2:]) for row in found}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _chosen(database: _Database) -> tuple[Index, Index | None, Sequence[float]]:
    """The index to query, the index of passages, and the similarities."""
    options, indexes = database.options, database.indexes()
    ours = next((index for index in indexes if index.words is None), None)
    if ours is None:
        after = "" if options.config is None else f" WITH (config = {_quoted(options.config)})"
        raise ValueError(
            f"{options.table} has no index on {options.column}"
            f"{' of this config' if after else ''}. It takes: {database.statement(after=after)}"
        )
    asked = options.similarities or [s for s in SIMILARITIES if s >= ours.similarity][:5]
    if asked[0] < ours.similarity:
        raise ValueError(
            f"{asked[0]:g} is less than the {ours.similarity:g} that the index {ours.name} serves"
        )
    return ours, next((index for index in indexes if index.words is not None), None), asked


def _drops(database: _Database, index: Index, similarity: float) -> tuple[Drops, list[Row]]:
    """The number of groups of each size, and an example of each of the largest sizes."""
    rows = database.all(
        sql.SQL(
            "SELECT size, count(*), (array_agg(tab))[1], (array_agg(at))[1]::text"
            " FROM (SELECT 1 + count(*) AS size, kept_table::oid AS tab, kept AS at"
            "   FROM {}(%s::oid::regclass, similarity => %s, keep => %s) GROUP BY 2, 3) each"
            " GROUP BY size ORDER BY size"
        ).format(database.function("simhash_duplicates")),
        [index.oid, similarity, database.options.keep],
    )
    sizes = {size: count for size, count, _, _ in rows}
    return Drops(similarity, sizes), [(size, tab, at) for size, _, tab, at in rows[:-6:-1]]


def _pairs(database: _Database, index: Index, least: float) -> Iterator[Row]:
    """The pairs, at most one more than the limit: similarity, and both rows."""
    return database.each(
        sql.SQL(
            "SELECT (p).similarity, (p).a_table::oid, (p).a::text, (p).b_table::oid, (p).b::text"
            " FROM (SELECT {}(%s::oid::regclass, similarity => %s) AS p LIMIT %s) found"
        ).format(database.function("simhash_pairs")),
        [index.oid, least, database.options.limit + 1],
    )


def _with_kept(database: _Database, index: Index, least: float) -> Iterator[Row]:
    return database.each(
        sql.SQL(
            "SELECT similarity, kept_table::oid, kept::text, duplicate_table::oid, duplicate::text"
            " FROM {}(%s::oid::regclass, similarity => %s, keep => %s)"
        ).format(database.function("simhash_duplicates")),
        [index.oid, least, database.options.keep],
    )


def _counted(
    rows: Iterable[Row], edges: Sequence[float], size: int
) -> tuple[Counter[int], list[Reservoir]]:
    """The histogram, and a sample of each band."""
    bars: Counter[int] = Counter()
    bands = [Reservoir(size) for _ in edges]
    # Most rows have one of a few similarities.
    places: dict[float, tuple[int, Reservoir]] = {}
    for row in rows:
        similarity = row[0]
        if (place := places.get(similarity)) is None:
            band = max(i for i, edge in enumerate(edges) if edge <= similarity or i == 0)
            place = places[similarity] = int(similarity * BARS + 1e-9), bands[band]
        bars[place[0]] += 1
        place[1].add(row)
    return bars, bands


def _different(pairs: Iterable[Pair], most: int) -> list[Pair]:
    """Pairs that share no text, since most pairs may belong to one large group."""
    seen: set[str] = set()
    chosen: list[Pair] = []
    for pair in pairs:
        bodies = {pair.first.body, pair.second.body}
        if len(chosen) < most and seen.isdisjoint(bodies):
            seen |= bodies
            chosen.append(pair)
    return sorted(chosen, key=lambda pair: pair.similarity)


def _passages(database: _Database, index: Index) -> Passages:
    limit, sample = database.options.limit, database.options.sample
    found = Passages(index.name, index.words or 0)
    database.notices.clear()
    longest: list[Row] = []
    rows = database.each(
        sql.SQL(
            "SELECT (p).words, (p).a_table::oid, (p).a::text, (p).b_table::oid, (p).b::text,"
            " (p).share_a = 1 AND (p).share_b = 1"
            " FROM (SELECT {}(%s::oid::regclass, most => %s) AS p LIMIT %s) found"
        ).format(database.function("simhash_passages")),
        [index.oid, MOST, limit + 1],
    )
    for row in rows:
        if found.pairs == limit:
            found.is_complete = False
            break
        found.pairs += 1
        if row[5]:
            found.copies += 1
            continue
        found.lengths[row[0]] += 1
        if len(longest) < sample:
            heapq.heappush(longest, row)
        elif row > longest[0]:
            heapq.heapreplace(longest, row)
    found.notices = list(database.notices)
    for row in sorted(longest, reverse=True):
        found.shown.append(_passage(database, index, row))
    return found


def _passage(database: _Database, index: Index, row: Row) -> Passage:
    def parts(side: str) -> sql.Composed:
        body = sql.SQL("{}.{}").format(sql.Identifier(side), database.column)
        start, length = sql.Identifier(f"{side}_start"), sql.Identifier(f"{side}_length")
        return sql.SQL(
            "right(left({body}, {start} - 1), {around}), substr({body}, {start}, {length}),"
            " substr({body}, {start} + {length}, {around})"
        ).format(body=body, start=start, length=length, around=sql.Literal(AROUND))

    query = sql.SQL(
        "SELECT p.words, {}, {} FROM {only} a CROSS JOIN {only} b CROSS JOIN LATERAL"
        " {shared}(a.{column}, b.{column}, %s, %s::{config}) p"
        " WHERE (a.tableoid, a.ctid) = (%s::oid, %s::tid)"
        " AND (b.tableoid, b.ctid) = (%s::oid, %s::tid) ORDER BY p.words DESC LIMIT 1"
    ).format(
        parts("a"),
        parts("b"),
        only=database.only,
        column=database.column,
        shared=database.function("shared_passages"),
        config=database.function("simhash_config"),
    )
    words, *both = database.one(query, [index.words, index.config, *row[1:5]])
    first, second = (row[1], row[2]), (row[3], row[4])
    texts = database.texts([first, second])
    names = (texts[first].name, texts[second].name)
    return Passage(words, names, tuple(both[:3]), tuple(both[3:]))


def ask(connection: psycopg.Connection[Any], options: Options, say: Say) -> Report:
    """Runs all queries in one read-only transaction."""
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True
    with connection.transaction():
        return _asked(_Database(connection, options, say), say)


def _asked(database: _Database, say: Say) -> Report:
    options = database.options
    index, of_passages, similarities = _chosen(database)
    say("counting rows")
    name, taken, rows, texts = database.one(
        sql.SQL("SELECT current_database(), now(), count(*), count({}) FROM {}").format(
            database.column, database.only
        )
    )
    drops, examples = [], []
    for similarity in similarities:
        say(f"what would be dropped at {similarity:g}")
        drop, example = _drops(database, index, similarity)
        drops.append(drop)
        examples.append(example)
    edges = sorted({*similarities, 1.0})
    say(f"pairs from {similarities[0]:g} on")
    bars, bands = _counted(_pairs(database, index, similarities[0]), edges, DRAWN * options.sample)
    if not (has_all_pairs := bars.total() <= options.limit):
        say("more pairs than the limit: what would be dropped, one by one")
        rows_with_kept = _with_kept(database, index, similarities[0])
        bars, bands = _counted(rows_with_kept, edges, DRAWN * options.sample)
    say("texts to show")
    middle = min(range(len(similarities)), key=lambda i: abs(similarities[i] - 0.7))
    shown = {row[at : at + 2] for band in bands for row in band.rows for at in (1, 3)}
    found = database.texts([*shown, *(row[1:] for row in examples[middle])])
    say("passages")
    return Report(
        name,
        options.table,
        options.column,
        database.version,
        taken,
        rows,
        texts,
        index,
        options,
        drops,
        has_all_pairs,
        bars,
        [
            (
                edge,
                band.count,
                _different(
                    [Pair(row[0], found[row[1:3]], found[row[3:5]]) for row in band.rows],
                    options.sample,
                ),
            )
            for edge, band in zip(edges, bands)
        ],
        (similarities[middle], [(row[0], found[row[1:]]) for row in examples[middle]]),
        None if of_passages is None else _passages(database, of_passages),
        database.statement(" text_passage_ops"),
    )


def read(dsn: str, options: Options, say: Say) -> Report:
    """`ask` for the database of a connection string. Errors name the failed step."""
    step = ""

    def remember(what: str) -> None:
        nonlocal step
        step = f"{what}: "
        say(what)

    try:
        # With another encoding texts might arrive as bytes, or not at all.
        name, encoding = "pg-simhash report", "UTF8"
        with psycopg.connect(dsn, application_name=name, client_encoding=encoding) as connection:
            return ask(connection, options, remember)
    except psycopg.Error as error:
        raise ValueError(f"{step}{error}".strip()) from None
