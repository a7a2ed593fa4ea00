"""DuckDB, Polars and Spark, each itself, beside the functions that they are given."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import duckdb
import polars
import pytest
from test_whole import texts

import pg_simhash
import pg_simhash.duckdb
import pg_simhash.polars

ROWS = texts(23, 700)


def test_duckdb_has_the_functions() -> None:
    connection = duckdb.connect()
    for _ in range(2):
        pg_simhash.duckdb.register(connection)
    connection.execute("CREATE TABLE doc AS SELECT unnest(?::VARCHAR[]) AS body", [ROWS])
    found = connection.execute(
        "SELECT simhash(body), minhash128(body), simhash_tokens(body), simhash_normalize(body)"
        " FROM doc"
    ).fetchall()
    wide = [None if one is None else one.packed for one in pg_simhash.minhash128(ROWS)]
    expected = zip(
        pg_simhash.simhash(ROWS), wide, pg_simhash.tokens(ROWS), pg_simhash.normalize(ROWS)
    )
    assert found == list(expected)
    [(count,)] = connection.execute(
        "SELECT count(*) FROM doc a, doc b"
        " WHERE near_duplicate(a.body, b.body, 0.8) AND a.rowid < b.rowid"
    ).fetchall()
    assert count == len(pg_simhash.pairs(ROWS, 0.8)) > 0
    distance = "bit_count(xor(simhash(a.body), simhash(b.body)))"
    [(count,)] = connection.execute(
        f"SELECT count(*) FROM doc a, doc b WHERE {distance} <= 3"
    ).fetchall()
    ones = [one for one in pg_simhash.simhash(ROWS) if one is not None]
    assert count == sum(a.hamming(b) <= 3 for a in ones for b in ones)


def test_duckdb_drops_what_python_drops() -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE doc AS SELECT unnest(range(700)) + 1000 AS id, unnest(?::VARCHAR[]) AS body",
        [ROWS],
    )
    found = pg_simhash.duckdb.duplicates(connection, "SELECT id, body FROM doc ORDER BY id", 0.6)
    expected = [(a + 1000, b + 1000, how) for a, b, how in pg_simhash.duplicates(ROWS, 0.6)]
    assert found.order("duplicate").fetchall() == expected
    with pytest.raises(ValueError, match="3 columns"):
        pg_simhash.duckdb.duplicates(connection, "SELECT id, body, 1 FROM doc")


def test_polars_has_the_functions() -> None:
    frame = polars.DataFrame({"body": ROWS})
    body = polars.col("body").simhash
    found = frame.lazy().select(
        body.simhash().alias("simhash"),
        body.minhash128().alias("minhash128"),
        body.tokens().alias("tokens"),
        body.sketch(0.5).alias("sketch"),
    )
    wide = [None if one is None else one.packed for one in pg_simhash.minhash128(ROWS)]
    made = found.collect()
    assert made["simhash"].to_list() == pg_simhash.simhash(ROWS)
    assert made["minhash128"].to_list() == wide
    assert made["tokens"].to_list() == pg_simhash.tokens(ROWS)
    assert made["sketch"].to_list() == pg_simhash.sketch(ROWS, 0.5)
    assert made.schema == found.collect_schema()


def test_polars_drops_what_python_drops() -> None:
    with pytest.raises(TypeError, match="collect"):
        pg_simhash.polars.dedup(polars.LazyFrame({"body": ROWS}), "body")  # type: ignore[arg-type]
    frame = polars.DataFrame({"id": range(len(ROWS)), "body": ROWS})
    expected = pg_simhash.dedup(ROWS, 0.6, "longest")
    kept = pg_simhash.polars.dedup(frame, "body", 0.6, "longest")
    assert kept["id"].to_list() == expected.kept
    found = pg_simhash.polars.duplicates(frame, "body", 0.6, "longest")
    assert found.rows() == [tuple(row) for row in expected.duplicates]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pyspark = pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    from pyspark.sql import SparkSession

    # Its workers run the Python that runs this.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    assert pyspark.__version__
    yield session
    session.stop()


@pytest.fixture(scope="module")
def doc(spark: Any) -> Any:
    return (
        spark.createDataFrame(list(enumerate(ROWS)), "id int, body string").repartition(3).cache()
    )


def test_spark_has_the_functions(doc: Any) -> None:
    from pg_simhash.spark import minhash128, simhash, sketch

    found = doc.select("id", simhash("body"), minhash128("body"), sketch("body", 0.5)).orderBy("id")
    narrow, wide = pg_simhash.simhash(ROWS), pg_simhash.minhash128(ROWS)
    packed = [[None if one is None else one.packed for one in column] for column in (narrow, wide)]
    expected = zip(range(len(ROWS)), *packed, pg_simhash.sketch(ROWS, 0.5))
    rows = [(a, b and bytes(b), c and bytes(c), d) for a, b, c, d in found.collect()]
    assert rows == list(expected)


@pytest.mark.parametrize("similarity", [0.4, 0.7])
def test_spark_finds_what_python_finds(doc: Any, similarity: float) -> None:
    from pyspark.sql import functions as f

    from pg_simhash.spark import dedup, duplicates, pairs

    found = sorted(tuple(row) for row in pairs(doc, "id", "body", similarity).collect())
    assert found == list(pg_simhash.pairs(ROWS, similarity))
    dropped = sorted(tuple(row) for row in duplicates(doc, "id", "body", similarity).collect())
    assert dropped == pg_simhash.duplicates(ROWS, similarity)
    longest = [f.length("body").desc_nulls_last()]
    dropped = sorted(
        tuple(row) for row in duplicates(doc, "id", "body", similarity, longest).collect()
    )
    assert dropped == pg_simhash.duplicates(ROWS, similarity, "longest")
    kept = dedup(doc, "id", "body", similarity, longest)
    expected = pg_simhash.dedup(ROWS, similarity, "longest")
    assert sorted(row.id for row in kept.collect()) == expected.kept


def test_spark_takes_keys_that_are_strings(spark: Any) -> None:
    from pg_simhash.spark import duplicates

    rows = [(f"k{number:03}", text) for number, text in enumerate(ROWS[:200])]
    doc = spark.createDataFrame(rows, "name string, body string")
    dropped = sorted(tuple(row) for row in duplicates(doc, "name", "body").collect())
    expected = [(f"k{a:03}", f"k{b:03}", how) for a, b, how in pg_simhash.duplicates(ROWS[:200])]
    assert dropped == expected
