"""What made the values of a column stands beside it, and is compared."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import pg_simhash
from pg_simhash import VALUES, expect_values, stamped
from pg_simhash.values import KEY


def table() -> pyarrow.Table:
    texts = pyarrow.array(["a text", None, "another one"])
    return pyarrow.table({"body": texts, "fp": pg_simhash.simhash(texts)})


def test_a_stamp_survives_parquet(tmp_path: Path) -> None:
    plain = table()
    made = stamped(plain, "fp")
    assert made.equals(plain) and expect_values(made) == ["fp"]
    assert expect_values(plain) == []
    pyarrow.parquet.write_table(made, tmp_path / "a.parquet")
    assert expect_values(tmp_path / "a.parquet") == ["fp"]
    assert expect_values(made.schema) == ["fp"]
    assert expect_values(pyarrow.parquet.ParquetFile(tmp_path / "a.parquet"), "fp") == ["fp"]
    # What stood there before is kept.
    field = made.schema.field("fp").with_metadata({b"unit": b"bits"})
    other = stamped(made.cast(made.schema.set(1, field)), "fp")
    assert other.schema.field("fp").metadata == {b"unit": b"bits", KEY.encode(): VALUES.encode()}


def test_values_of_another_place_are_refused() -> None:
    field = pyarrow.field("fp", pyarrow.uint64(), metadata={KEY: "1-0123456789abcdef"})
    with pytest.raises(ValueError, match="column 'fp' were made by '1-0123456789abcdef'"):
        expect_values(pyarrow.schema([field]))
    with pytest.raises(TypeError, match="name the columns"):
        stamped(table())
    with pytest.raises(ValueError, match="no column 'x'"):
        stamped(table(), "x")
    with pytest.raises(ValueError, match="'body' does not say"):
        expect_values(stamped(table(), "fp"), "fp", "body")
    assert expect_values(stamped(table(), "fp"), "fp") == ["fp"]
    twice = pyarrow.schema([stamped(table(), "fp").schema.field("fp"), table().schema.field("fp")])
    with pytest.raises(ValueError, match="'fp' does not say"):
        expect_values(twice, "fp")
    other = pyarrow.table({"fp": pyarrow.array([1])}).cast(
        pyarrow.schema([("fp", pyarrow.int64())])
    )
    other = other.cast(pyarrow.schema([other.schema.field(0).with_metadata({KEY: "1-0123"})]))
    with pytest.raises(ValueError, match="made by '1-0123'"):
        stamped(other, "fp")
    with pytest.raises(TypeError, match="list is no table"):
        stamped([1], "fp")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="name the columns"):
        stamped(table(), 0)  # type: ignore[arg-type]
    for source in (5, None, [1]):
        with pytest.raises(TypeError, match="has no schema"):
            expect_values(source)


def test_a_frame_of_spark_has_a_schema_too() -> None:
    """Its fields have names and metadata of strings."""

    class Field:
        def __init__(self, name: str, metadata: dict[str, str]) -> None:
            self.name, self.metadata = name, metadata

    class Frame:
        schema = [Field("id", {}), Field("fp", {KEY: VALUES})]

    assert expect_values(Frame()) == ["fp"]
