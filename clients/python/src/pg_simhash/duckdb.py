"""The extension's functions in DuckDB, and the duplicates of whole tables.

`register(connection)` creates the functions. They exchange Arrow arrays, so texts are not copied.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from . import texts as made
from .config import ConfigLike, recipe
from .whole import Keep, Progress
from .whole import duplicates as duplicates_of

#: Functions of one text, with the DuckDB type of their results.
FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "simhash": (made.simhash, "UBIGINT"),
    "simhash128": (made.simhash128, "BLOB"),
    "simhash256": (made.simhash256, "BLOB"),
    "minhash64": (made.minhash64, "UBIGINT"),
    "minhash128": (made.minhash128, "BLOB"),
    "minhash256": (made.minhash256, "BLOB"),
    "simhash_normalize": (made.normalize, "VARCHAR"),
    "simhash_tokens": (made.tokens, "VARCHAR[]"),
    "simhash_numbers": (made.numbers, "VARCHAR[]"),
}


def register(connection: DuckDBPyConnection, config: ConfigLike = None) -> None:
    """Creates the functions of the extension in a connection, with one config for all.

    `simhash(text)`, `minhash128(text)` and their like, `simhash_normalize`, `simhash_tokens`,
    `simhash_numbers`, `text_similarity(a, b)` and `near_duplicate(a, b, similarity)`. Fingerprints
    of 64 bits are UBIGINT (`bit_count(xor(a, b))` is their distance), others BLOB.
    """
    recipe(config)

    def of_one(make: Callable[..., Any]) -> Callable[..., Any]:
        def function(texts: Any) -> Any:
            return _whole(make(texts, config))

        return function

    def similarity(a: Any, b: Any) -> Any:
        return _whole(made.text_similarity(a, b, config))

    def near(a: Any, b: Any, least: Any) -> Any:
        # A constant arrives as an array that repeats one value.
        asked = set(least.to_pylist()) - {None}
        if not asked:
            return pyarrow.nulls(len(a), pyarrow.bool_())
        if len(asked) > 1:
            raise ValueError("the similarity of near_duplicate is a constant")
        return _whole(made.near_duplicate(a, b, asked.pop(), config))

    create: Any = connection.create_function
    # A text without a token has no fingerprint.
    nulls = {"null_handling": "special"}
    for name in [*FUNCTIONS, "text_similarity", "near_duplicate"]:
        try:
            connection.remove_function(name)
        except duckdb.Error:
            pass  # it was not there yet
    for name, (make, kind) in FUNCTIONS.items():
        create(name, of_one(make), ["VARCHAR"], kind, type="arrow", **nulls)
    create("text_similarity", similarity, ["VARCHAR", "VARCHAR"], "DOUBLE", type="arrow", **nulls)
    create(
        "near_duplicate", near, ["VARCHAR", "VARCHAR", "DOUBLE"], "BOOLEAN", type="arrow", **nulls
    )


def _whole(array: Any) -> Any:
    """One array, of a type that DuckDB accepts."""
    if isinstance(array, pyarrow.ChunkedArray):
        array = array.combine_chunks()
    if pyarrow.types.is_fixed_size_binary(array.type):
        array = array.cast(pyarrow.binary())
    return array


def duplicates(
    connection: DuckDBPyConnection,
    query: str,
    similarity: float = 0.7,
    keep: Keep = None,
    config: ConfigLike = None,
    *,
    progress: Progress | None = None,
) -> DuckDBPyRelation:
    """The rows to drop from a query that yields (key, text), such as `SELECT id, body FROM doc
    ORDER BY length(body) DESC, id`: `duplicate`, `kept` (keys), and `similarity`. Rows are
    considered in the order in which the query yields them."""
    table = connection.sql(query).to_arrow_table()
    if table.num_columns != 2:
        raise ValueError(f"the query yields (key, text), not {table.num_columns} columns")
    keys, texts = table.column(0), table.column(1)
    found = duplicates_of(texts, similarity, keep, config, progress=progress)
    result = pyarrow.table(
        {
            "duplicate": keys.take(pyarrow.array([row.duplicate for row in found], "int64")),
            "kept": keys.take(pyarrow.array([row.kept for row in found], "int64")),
            "similarity": pyarrow.array([row.similarity for row in found], "float64"),
        }
    )
    return connection.from_arrow(result)
