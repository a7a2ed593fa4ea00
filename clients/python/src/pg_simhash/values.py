"""Checks whether two installations compute the same values.

Fingerprints and keys are comparable if the rules, the dictionary and the tables of characters are
the same. `VALUES` identifies them, as `SELECT simhash_values()` does in SQL. `stamped` stores it
with the columns of an Arrow table, and so in parquet files; `expect_values` compares it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Union

from ._native import VALUES

if TYPE_CHECKING:
    import pyarrow

#: The key of `VALUES` in the metadata of a column.
KEY = "pg_simhash.values"

Source = Union["pyarrow.Table", "pyarrow.Schema", str, "os.PathLike[str]", Any]


def stamped(table: pyarrow.Table, *columns: str) -> pyarrow.Table:
    """The table, with `VALUES` in the metadata of these columns. No data is copied.

    >>> import pyarrow
    >>> table = stamped(pyarrow.table({"fp": pyarrow.array([1], pyarrow.uint64())}), "fp")
    >>> expect_values(table, "fp")
    ['fp']
    """
    if not columns or not all(isinstance(column, str) for column in columns):
        raise TypeError("name the columns of fingerprints: stamped(table, 'fp')")
    if not hasattr(table, "cast") or not hasattr(table, "column_names"):
        raise TypeError(f"{type(table).__name__} is no table of Arrow")
    schema = table.schema
    for column in columns:
        number = schema.get_field_index(column)
        if number < 0:
            raise ValueError(f"there is no column {column!r}, or there are several")
        field = schema.field(number)
        # A stamp from another installation describes these values and must not be lost.
        expect_values([field])
        metadata: dict[bytes | str, bytes | str] = {KEY.encode(): VALUES.encode()}
        for key, value in (field.metadata or {}).items():
            metadata.setdefault(key, value)
        schema = schema.set(number, field.with_metadata(metadata))
    return table.cast(schema)


def expect_values(source: Source, *columns: str) -> list[str]:
    """The columns with a stamp. Raises a ValueError if a stamp is not `VALUES` of this
    installation, or if one of `columns` has none. Many programs copy a table without its stamps,
    and a table that is concatenated from two has those of the first one.

    `source` is an Arrow table or schema, the path of a parquet file, or a Spark DataFrame, whose
    columns get a stamp by `alias("fp", metadata={KEY: VALUES})`.
    """
    found_in, without = [], []
    for name, metadata in _metadata(source):
        found = metadata.get(KEY, metadata.get(KEY.encode()))
        if found is None:
            without.append(name)
            continue
        made_by = found.decode() if isinstance(found, bytes) else str(found)
        if made_by != VALUES:
            raise ValueError(
                f"the values of column {name!r} were made by {made_by!r}, and here they are made "
                f"by {VALUES!r}. Use the same version of pg_simhash on both sides, or make them "
                "anew."
            )
        found_in.append(name)
    for column in columns:
        if column not in found_in or column in without:
            raise ValueError(f"column {column!r} does not say what made its values")
    return found_in


def _metadata(source: Any) -> list[tuple[str, Any]]:
    if isinstance(source, (str, os.PathLike)):
        import pyarrow.parquet

        source = pyarrow.parquet.read_schema(os.fspath(source))
    # A file opened by pyarrow has two schemas; the other one is parquet's own.
    schema = getattr(source, "schema_arrow", None) or getattr(source, "schema", source)
    try:
        return [(field.name, field.metadata or {}) for field in schema]
    except (AttributeError, TypeError):
        raise TypeError(
            f"{type(source).__name__} has no schema: a table of Arrow, the path of a parquet file, "
            "or a DataFrame of Spark is asked for"
        ) from None
