"""Near-duplicates in Spark: the extension's values as pandas UDFs, and the near-duplicates of whole
tables.

Texts that are near each other share keys (`pg_simhash.sketch`). So Spark joins rows with a key in
common, and compares the texts of those that share enough keys. The result is that of
`simhash_pairs` and `simhash_duplicates` for a table of the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pandas
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DoubleType,
    LongType,
    StructField,
    StructType,
)

from . import texts as made
from ._native import set_threads
from .config import Config, ConfigLike, recipe

__all__ = [
    "dedup",
    "duplicates",
    "minhash64",
    "minhash128",
    "minhash256",
    "near_duplicate",
    "pairs",
    "simhash",
    "simhash128",
    "simhash256",
    "sketch",
    "text_similarity",
]


#: A decorator whose types are missing from pyspark's stubs.
_udf: Any = f.pandas_udf  # type: ignore[attr-defined, unused-ignore]


def _packed(make: Callable[..., Any], config: ConfigLike) -> Any:
    """A UDF that returns fingerprints as bytes in network order."""
    config = _sendable(config)

    @_udf(BinaryType())
    def fingerprints(batches: Iterator[pandas.Series]) -> Iterator[pandas.Series]:
        set_threads(1)  # a task has a core
        for texts in batches:
            listed = make(_texts(texts), config)
            packed = [None if one is None else one.packed for one in listed]
            yield pandas.Series(packed, dtype=object)

    return fingerprints


def _sendable(config: ConfigLike) -> ConfigLike:
    """A config in a form that can be sent to workers. An invalid one fails here, not in a
    worker."""
    recipe(config)
    return config if isinstance(config, (str, Config)) or config is None else dict(config)


def _texts(texts: pandas.Series) -> list[str | None]:
    listed: list[str | None] = made.readable(texts)
    return listed


def simhash(text: Column | str, config: ConfigLike = None) -> Column:
    """`simhash` of a column: 8 bytes in network order, as PostgreSQL's binary form has them."""
    column: Column = _packed(made.simhash, config)(text)
    return column


def simhash128(text: Column | str, config: ConfigLike = None) -> Column:
    """`simhash128` of a column: 16 bytes."""
    column: Column = _packed(made.simhash128, config)(text)
    return column


def simhash256(text: Column | str, config: ConfigLike = None) -> Column:
    """`simhash256` of a column: 32 bytes."""
    column: Column = _packed(made.simhash256, config)(text)
    return column


def minhash64(text: Column | str, config: ConfigLike = None) -> Column:
    """`minhash64` of a column: 8 bytes."""
    column: Column = _packed(made.minhash64, config)(text)
    return column


def minhash128(text: Column | str, config: ConfigLike = None) -> Column:
    """`minhash128` of a column: 16 bytes."""
    column: Column = _packed(made.minhash128, config)(text)
    return column


def minhash256(text: Column | str, config: ConfigLike = None) -> Column:
    """`minhash256` of a column: 32 bytes."""
    column: Column = _packed(made.minhash256, config)(text)
    return column


def sketch(text: Column | str, similarity: float = 0.7, config: ConfigLike = None) -> Column:
    """`pg_simhash.sketch` of a column: an array of bigint, or NULL."""
    config = _sendable(config)
    made.sketch_law(similarity)

    @_udf(ArrayType(LongType()))
    def keys(batches: Iterator[pandas.Series]) -> Iterator[pandas.Series]:
        set_threads(1)
        for texts in batches:
            yield pandas.Series(made.sketch(_texts(texts), similarity, config), dtype=object)

    column: Column = keys(text)
    return column


def near_duplicate(
    a: Column | str, b: Column | str, similarity: float = 0.7, config: ConfigLike = None
) -> Column:
    """`near_duplicate` of two columns."""
    config = _sendable(config)
    made.sketch_law(similarity)

    @_udf(BooleanType())
    def near(batches: Iterator[tuple[pandas.Series, pandas.Series]]) -> Iterator[pandas.Series]:
        set_threads(1)
        for a, b in batches:
            listed = made.near_duplicate(_texts(a), _texts(b), similarity, config)
            yield pandas.Series(listed, dtype=object)

    column: Column = near(a, b)
    return column


def text_similarity(a: Column | str, b: Column | str, config: ConfigLike = None) -> Column:
    """`text_similarity` of two columns."""
    config = _sendable(config)

    @_udf(DoubleType())
    def similar(batches: Iterator[tuple[pandas.Series, pandas.Series]]) -> Iterator[pandas.Series]:
        set_threads(1)
        for a, b in batches:
            listed = made.text_similarity(_texts(a), _texts(b), config)
            yield pandas.Series(listed, dtype="float64")

    column: Column = similar(a, b)
    return column


def _folded(frame: DataFrame, key: str, text: str) -> tuple[DataFrame, DataFrame]:
    """The distinct texts, each with a key of its own, and for each row the key of its text."""
    there = frame.select(f.col(key).alias("row"), f.col(text).alias("text")).where(
        "text IS NOT NULL"
    )
    rows = there.withColumn("same", f.min("row").over(_window("text")))
    return rows.where("row = same").select("row", "text"), rows.select("row", "same")


def _window(column: str) -> Any:
    from pyspark.sql import Window

    return Window.partitionBy(column)


def _text_pairs(texts: DataFrame, similarity: float, config: ConfigLike) -> DataFrame:
    """The pairs of different texts: a, b, similarity, a < b."""
    shared = made.sketch_law(similarity)[2]
    keys = texts.select("row", f.explode(sketch("text", similarity, config)).alias("key"))
    left, right = keys.withColumnRenamed("row", "a"), keys.withColumnRenamed("row", "b")
    candidates = (
        left.join(right, "key")
        .where("a < b")
        .groupBy("a", "b")
        .count()
        .where(f.col("count") >= shared)
        .select("a", "b")
    )
    of_a = texts.select(f.col("row").alias("a"), f.col("text").alias("text_a"))
    of_b = texts.select(f.col("row").alias("b"), f.col("text").alias("text_b"))
    both = candidates.join(of_a, "a").join(of_b, "b")
    near = both.where(near_duplicate("text_a", "text_b", similarity, config))
    return near.select("a", "b", text_similarity("text_a", "text_b", config).alias("similarity"))


def pairs(
    frame: DataFrame,
    key: str,
    text: str,
    similarity: float = 0.7,
    config: ConfigLike = None,
) -> DataFrame:
    """All pairs of near-duplicates: the columns `a`, `b` (of the column `key`, a < b) and
    `similarity`. `key` is unique."""
    texts, rows = _folded(frame, key, text)
    found = _text_pairs(texts, similarity, config)
    of_a = rows.select(f.col("same").alias("a"), f.col("row").alias("x"))
    of_b = rows.select(f.col("same").alias("b"), f.col("row").alias("y"))
    different = found.join(of_a, "a").join(of_b, "b").select("x", "y", "similarity")
    # Copies of a text are near each other, unless the text has no token.
    some = texts.where(sketch("text", similarity, config).isNotNull()).select(
        f.col("row").alias("same")
    )
    copies = rows.join(some, "same")
    left, right = copies.withColumnRenamed("row", "x"), copies.withColumnRenamed("row", "y")
    same = left.join(right, "same").where("x < y").select("x", "y", f.lit(1.0).alias("similarity"))
    return different.unionByName(same).select(
        f.least("x", "y").alias("a"), f.greatest("x", "y").alias("b"), "similarity"
    )


def duplicates(
    frame: DataFrame,
    key: str,
    text: str,
    similarity: float = 0.7,
    keep: Sequence[Column | str] = (),
    config: ConfigLike = None,
) -> DataFrame:
    """The rows to drop, as `simhash_duplicates` finds them: the columns `duplicate`, `kept` (of the
    column `key`) and `similarity`.

    Rows are considered in the order of `keep`, such as `[f.length("body").desc(), "id"]`, and then
    of `key`. All workers find the pairs of near texts; the driver, which needs 100 bytes of memory
    for each pair, processes them in that order.
    """
    session: SparkSession = frame.sparkSession
    kind = frame.schema[key].dataType
    texts, rows = _folded(frame, key, text)
    found = _text_pairs(texts, similarity, config).toPandas()
    copied = rows.groupBy("same").count().where("count > 1").select("same")
    some = texts.where(sketch("text", similarity, config).isNotNull()).select(
        f.col("row").alias("same")
    )
    copies = rows.join(copied.join(some, "same"), "same").select("same", "row").toPandas()
    members: dict[Any, list[Any]] = {}
    for same, row in zip(copies["same"].tolist(), copies["row"].tolist()):
        members.setdefault(same, []).append(row)
    near: dict[Any, list[tuple[Any, float]]] = {}
    for a, b, how in zip(found["a"].tolist(), found["b"].tolist(), found["similarity"].tolist()):
        near.setdefault(a, []).append((b, how))
        near.setdefault(b, []).append((a, how))
    concerned = {row for same in {*near, *members} for row in members.get(same, [same])}
    order = _order(frame, key, keep, concerned)
    dropped = _cover(order, members, near)
    schema = StructType(
        [
            StructField("duplicate", kind),
            StructField("kept", kind),
            StructField("similarity", DoubleType()),
        ]
    )
    return session.createDataFrame(dropped, schema)


def _order(
    frame: DataFrame, key: str, keep: Sequence[Column | str], concerned: set[Any]
) -> list[Any]:
    """The rows that are near others, in the order in which they are considered."""
    if not keep:
        return sorted(concerned)
    ordered = frame.orderBy(*keep, key).select(key)
    return [row[0] for row in ordered.toLocalIterator() if row[0] in concerned]


def _cover(
    order: Sequence[Any], members: dict[Any, list[Any]], near: dict[Any, list[tuple[Any, float]]]
) -> list[tuple[Any, Any, float]]:
    """The rows to drop when rows are considered in this order."""
    same = {row: first for first, rows in members.items() for row in rows}
    place = {row: number for number, row in enumerate(order)}
    # The kept row of each text. There is at most one, because copies are near each other.
    kept: dict[Any, Any] = {}
    dropped = []
    for row in order:
        text = same.get(row, row)
        best: tuple[float, int, Any] | None = None
        for other, how in [(text, 1.0), *near.get(text, [])]:
            if other in kept:
                candidate = (-how, place[kept[other]], kept[other])
                best = candidate if best is None else min(best, candidate)
        if best is None:
            kept[text] = row
        else:
            dropped.append((row, best[2], -best[0]))
    return dropped


def dedup(
    frame: DataFrame,
    key: str,
    text: str,
    similarity: float = 0.7,
    keep: Sequence[Column | str] = (),
    config: ConfigLike = None,
) -> DataFrame:
    """The rows that stay: the frame without its `duplicates`."""
    gone = duplicates(frame, key, text, similarity, keep, config)
    return frame.join(gone.select(f.col("duplicate").alias(key)), key, "left_anti")
