"""Files of rows: parquet, jsonl, csv. They are read in batches, and a file that is written gets its
name only when it is complete. Empty lines are not rows."""

from __future__ import annotations

import csv
import errno
import gzip
import itertools
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from .whole import Duplicate

Format: TypeAlias = Literal["parquet", "jsonl", "csv"]

SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
}

#: The number of rows that are read together.
BATCH = 8192

# Fields of csv may be as long as texts.
csv.field_size_limit(2**31 - 1)


def format_of(path: Path) -> Format:
    """The format that a file's name indicates."""
    name = path.name.lower()
    suffix = Path(name.removesuffix(".gz")).suffix
    known = SUFFIXES.get(suffix)
    if known is None or (known == "parquet" and name.endswith(".gz")):
        raise ValueError(f"{path} is of no format that is known: .parquet, .jsonl, .csv")
    return known


def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError("files need pyarrow: pip install 'pg_simhash[files]'") from None
    return pyarrow


def _opened(path: Path, mode: str) -> IO[str]:
    # Excel writes a byte order mark.
    encoding = "utf-8-sig" if mode == "r" else "utf-8"
    if path.name.lower().endswith(".gz"):
        packed: Any = gzip.open(path, mode + "t", encoding=encoding, newline="")
        opened: IO[str] = packed
        return opened
    return open(path, mode, encoding=encoding, newline="")


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Adds the path to errors about a full disk that name none."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) and error.filename is None:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
        raise


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A temporary name to write to. The file gets its own name at the end, unless an error
    occurred. A link remains one. A device, such as /dev/null, is refused, because the file would
    replace it."""
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no file, so it is not replaced")
    path = path.resolve()
    suffix = "".join(path.suffixes[-2:])
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished{suffix}")
    try:
        with _named(path):
            yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _checked(value: Any, path: Path, row: int, column: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{path}: row {row} has no text in {column!r}, but {value!r:.40}")
    return value


def _lines(file: IO[str], path: Path) -> Iterator[str]:
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not UTF-8: {error}") from None


def _json_texts(path: Path, column: str) -> Iterator[str | None]:
    with _opened(path, "r") as file:
        for row, line in enumerate(filter(str.strip, _lines(file, path))):
            try:
                value = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{path}: row {row} is no JSON: {error}") from None
            if not isinstance(value, dict) or column not in value:
                known = ", ".join(value) if isinstance(value, dict) else "no object"
                raise ValueError(f"{path}: row {row} has no {column!r} ({known}): --column NAME")
            yield _checked(value[column], path, row, column)


def _csv_texts(path: Path, column: str) -> Iterator[str | None]:
    with _opened(path, "r") as file:
        reader = csv.reader(_lines(file, path), strict=True)
        names = next(reader, None)
        if names is None:
            raise ValueError(f"{path} is empty: its first line names the columns")
        if column not in names:
            raise ValueError(f"{path} has no column {column!r} ({', '.join(names)}): --column NAME")
        place = names.index(column)
        row = 0
        try:
            for row, fields in enumerate(filter(None, reader)):
                if len(fields) <= place:
                    raise ValueError(f"{path}: row {row} has {len(fields)} columns of {len(names)}")
                yield fields[place]
        except csv.Error as error:
            # Such as an unterminated quotation mark.
            raise ValueError(f"{path}: after row {row}, line {reader.line_num}: {error}") from None


def _parquet_texts(path: Path, column: str) -> Iterator[str | None]:
    arrow = _arrow()
    with arrow.parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        if column not in names:
            raise ValueError(f"{path} has no column {column!r} ({', '.join(names)}): --column NAME")
        kind = file.schema_arrow.field(column).type
        row = 0
        for batch in file.iter_batches(BATCH, columns=[column]):
            for value in batch.column(0).to_pylist():
                if value is not None and not isinstance(value, str):
                    raise ValueError(f"{path}: {column!r} is of the type {kind}, not of texts")
                yield value
                row += 1


def mapped_texts(path: Path, column: str, directory: Path, read: Callable[[int], object]) -> Any:
    """The texts of a file as an Arrow array, stored in an unnamed file in `directory` that
    disappears with this process."""
    arrow = _arrow()
    known = {"parquet": _parquet_texts, "jsonl": _json_texts, "csv": _csv_texts}
    texts = known[format_of(path)](path, column)
    schema = arrow.schema([("text", arrow.large_string())])
    rows = 0
    with _named(directory), tempfile.TemporaryFile(dir=directory) as scratch:
        try:
            with arrow.ipc.new_file(arrow.PythonFile(scratch, "w"), schema) as writer:
                for batch in _batches(texts):
                    writer.write_batch(_record(arrow, schema, batch, path, rows))
                    rows += len(batch)
                    read(rows)
        except (arrow.ArrowInvalid, EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} cannot be read: {error}") from None
        scratch.flush()
        mapped = arrow.memory_map(f"/proc/self/fd/{scratch.fileno()}")
        return arrow.ipc.open_file(mapped).read_all().column(0)


def _batches(texts: Iterator[str | None]) -> Iterator[list[str | None]]:
    while batch := list(itertools.islice(texts, BATCH)):
        yield batch


def _record(arrow: Any, schema: Any, batch: list[str | None], path: Path, first: int) -> Any:
    try:
        return arrow.record_batch([batch], schema=schema)
    except UnicodeEncodeError:
        for row, text in enumerate(batch, first):
            if text is not None and any("\ud800" <= c <= "\udfff" for c in text):
                raise ValueError(
                    f"{path}: row {row} is no Unicode text, it has half of a surrogate pair"
                ) from None
        raise


def kept_copied(source: Path, target: Path, gone: set[int]) -> None:
    """Copies all rows except `gone`."""
    with written(target) as unfinished:
        {"parquet": _copy_parquet, "jsonl": _copy_lines, "csv": _copy_csv}[format_of(source)](
            source, unfinished, gone
        )


def _copy_parquet(source: Path, target: Path, gone: set[int]) -> None:
    arrow = _arrow()
    with arrow.parquet.ParquetFile(source) as file:
        with arrow.parquet.ParquetWriter(target, file.schema_arrow) as writer:
            row = 0
            for batch in file.iter_batches(BATCH):
                stays = arrow.array([number not in gone for number in range(row, row + len(batch))])
                writer.write_batch(batch.filter(stays))
                row += len(batch)


def _copy_lines(source: Path, target: Path, gone: set[int]) -> None:
    with _opened(source, "r") as lines, _opened(target, "w") as kept:
        filled = filter(str.strip, lines)
        kept.writelines(line for row, line in enumerate(filled) if row not in gone)


def _copy_csv(source: Path, target: Path, gone: set[int]) -> None:
    with _opened(source, "r") as rows, _opened(target, "w") as kept:
        reader, writer = csv.reader(rows), csv.writer(kept, lineterminator="\n")
        filled = filter(None, reader)
        writer.writerows(row for number, row in enumerate(filled, -1) if number not in gone)


def write_duplicates(path: Path, rows: Sequence[Duplicate]) -> None:
    """Writes the dropped rows, each with the row that stands for it."""
    names = Duplicate._fields
    with written(path) as unfinished:
        kind = format_of(path)
        if kind == "parquet":
            arrow = _arrow()
            columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
            kinds = [arrow.int64(), arrow.int64(), arrow.float64()]
            schema = arrow.schema(list(zip(names, kinds)))
            arrow.parquet.write_table(arrow.table(columns, schema=schema), unfinished)
            return
        with _opened(unfinished, "w") as file:
            if kind == "jsonl":
                file.writelines(json.dumps(row._asdict()) + "\n" for row in rows)
            else:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(names)
                writer.writerows(rows)
