"""The command line, on files of each format."""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from test_whole import texts

import pg_simhash
from pg_simhash.cli import main

ROWS = [text or "" for text in texts(31, 20_000)]
KEPT = pg_simhash.dedup(ROWS, 0.6).kept


def written(path: Path, rows: list[str]) -> Path:
    if path.name.endswith(".parquet"):
        table = pyarrow.table({"id": range(len(rows)), "text": rows})
        pyarrow.parquet.write_table(table, path, row_group_size=3000)
        return path
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        if ".csv" in path.name:
            writer = csv.writer(file)
            writer.writerow(["id", "text"])
            writer.writerows((i, text + '\n"x", y') for i, text in enumerate(rows))
        else:
            file.writelines(
                json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(rows)
            )
    return path


def numbers(path: Path) -> list[int]:
    if path.name.endswith(".parquet"):
        return list(pyarrow.parquet.read_table(path)["id"].to_pylist())
    opened: Any = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8", newline="") as file:
        if ".csv" in path.name:
            return [int(row["id"]) for row in csv.DictReader(file)]
        return [json.loads(line)["id"] for line in file]


@pytest.mark.parametrize("name", ["in.parquet", "in.jsonl", "in.jsonl.gz", "in.csv"])
def test_what_stays_is_copied(tmp_path: Path, name: str, capsys: Any) -> None:
    source = written(tmp_path / name, ROWS)
    target, dropped = tmp_path / name.replace("in", "out"), tmp_path / "dropped.jsonl"
    arguments = [
        "dedup",
        str(source),
        str(target),
        "--similarity",
        "0.6",
        "--duplicates",
        str(dropped),
    ]
    assert main(arguments) == 0
    rows = [text + '\n"x", y' for text in ROWS] if name == "in.csv" else ROWS
    expected = pg_simhash.dedup(rows, 0.6)
    assert numbers(target) == expected.kept
    with dropped.open() as lines:
        found = [tuple(json.loads(line).values()) for line in lines]
    assert found == [tuple(row) for row in expected.duplicates]
    assert f"{len(ROWS)} rows, {len(found)} dropped" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [name, target.name, dropped.name]
    )


def test_little_memory_and_the_longest(tmp_path: Path) -> None:
    source, target = written(tmp_path / "in.parquet", ROWS), tmp_path / "out.parquet"
    assert (
        main(["dedup", str(source), str(target), "--keep", "longest", "--memory", "2M", "--quiet"])
        == 0
    )
    assert numbers(target) == pg_simhash.dedup(ROWS, 0.7, "longest").kept


@pytest.mark.parametrize(
    ("lines", "more", "message"),
    [
        ('{"text": "a"}\nno json\n', [], "row 1 is no JSON"),
        ('{"text": "a"}\n{"body": "b"}\n', [], "row 1 has no 'text' (body): --column NAME"),
        ('{"text": 7}\n', [], "row 0 has no text in 'text', but 7"),
        ('{"text": "a"}\n', ["--config", '{"shingel": 1}'], "shingel"),
        ('{"text": "a"}\n', ["--column", "body"], "--column NAME"),
        ('{"text": "\xe9"}\n'.encode("latin-1"), [], "is not UTF-8"),
        ('{"text": "a"}\n{"text": "\\ud800"}\n', [], "row 1 is no Unicode text"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(
    tmp_path: Path, lines: Any, more: list[str], message: str, capsys: Any
) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    target.write_text("as before")
    assert main(["dedup", str(source), str(target), *more]) == 1
    assert message in capsys.readouterr().err
    assert target.read_text() == "as before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_csv_as_others_write_it(tmp_path: Path, capsys: Any) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes("\ufefftext,id\nthe same text,1\nthe same text,2\n".encode())
    assert main(["dedup", str(source), str(target)]) == 0
    assert target.read_text() == "text,id\nthe same text,1\n"
    target.unlink()
    source.write_text('text,id\n"no end,1\na b,2\n')
    assert main(["dedup", str(source), str(target)]) == 1
    assert "unexpected end of data" in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize("name", ["in.csv", "in.jsonl"])
def test_lines_with_nothing_in_them_are_no_rows(tmp_path: Path, name: str) -> None:
    source, target = tmp_path / name, tmp_path / name.replace("in", "out")
    lines = ["the same text", "", "the same text", "another one here", ""]
    if name == "in.csv":
        lines = ["text", *lines]
    else:
        lines = [line and json.dumps({"text": line}) for line in lines]
    source.write_text("\n".join(lines) + "\n")
    dropped = tmp_path / "dropped.csv"
    assert main(["dedup", str(source), str(target), "--duplicates", str(dropped)]) == 0
    stays = [line for line in dict.fromkeys(lines) if line]
    assert target.read_text().splitlines() == stays
    assert dropped.read_text().splitlines()[1].startswith("1,0,")


def test_files_that_are_damaged_are_named(tmp_path: Path, capsys: Any) -> None:
    for name in ("in.parquet", "in.jsonl.gz", "in.csv"):
        source = tmp_path / name
        source.write_bytes(b"" if name == "in.csv" else b"no such thing")
        assert main(["dedup", str(source), str(tmp_path / name.replace("in", "out"))]) == 1
        assert str(source) in capsys.readouterr().err


def test_each_file_is_another_one(tmp_path: Path, capsys: Any) -> None:
    source, target = written(tmp_path / "in.jsonl", ROWS[:30]), tmp_path / "out.jsonl"
    before = source.read_bytes()
    for arguments in (
        [str(source), str(source)],
        [str(source), str(target), "--duplicates", str(target)],
        [str(source), str(target), "--duplicates", str(tmp_path / "." / "in.jsonl")],
    ):
        assert main(["dedup", *arguments]) == 1
        assert "is named twice" in capsys.readouterr().err
    assert source.read_bytes() == before
    assert not target.exists()


def test_files_that_are_not_there_or_not_known(tmp_path: Path, capsys: Any) -> None:
    source = written(tmp_path / "in.jsonl", ROWS[:3])
    assert main(["dedup", str(tmp_path / "no.jsonl"), str(tmp_path / "out.jsonl")]) == 1
    assert "No such file" in capsys.readouterr().err
    assert main(["dedup", str(source), str(tmp_path / "out.txt")]) == 1
    assert "is of no format that is known" in capsys.readouterr().err
    assert main(["dedup", str(source), str(tmp_path / "out.csv")]) == 1
    assert "of two formats" in capsys.readouterr().err
    for arguments in (["--similarity", "2"], ["--memory", "much"]):
        with pytest.raises(SystemExit):
            main(["dedup", str(source), str(tmp_path / "out.jsonl"), *arguments])


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_what_was(tmp_path: Path, how: signal.Signals) -> None:
    source, target = written(tmp_path / "in.jsonl", ROWS * 40), tmp_path / "out.jsonl"
    target.write_text("as before")
    command = [sys.executable, "-m", "pg_simhash.cli", "dedup", str(source), str(target)]
    child = subprocess.Popen(
        command, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    time.sleep(1.5)
    child.send_signal(how)
    child.communicate(timeout=60)
    assert child.returncode != 0
    assert target.read_text() == "as before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


@pytest.mark.parametrize(("bound", "named"), [(2_000, ""), (200_000, "out")])
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_full_disk_is_named(tmp_path: Path, suffix: str, bound: int, named: str) -> None:
    """No file may be longer than a bound. Texts, in a file of the directory, take 80,000 bytes,
    the rows that stay 400,000."""
    rows = [f"the text of row {number}, {number * number} words" for number in range(1000)]
    source, target = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    table = pyarrow.table({"text": rows, "more": [random.randbytes(200).hex() for _ in rows]})
    if suffix == ".parquet":
        pyarrow.parquet.write_table(table, source)
    else:
        source.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    target.write_text("as before")
    code = "import resource, sys, pg_simhash.cli as cli; bound = int(sys.argv.pop(1));"
    code += "resource.setrlimit(resource.RLIMIT_FSIZE, (bound, bound)); sys.exit(cli.main())"
    command = [sys.executable, "-c", code, str(bound), "dedup", str(source), str(target)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    place = target if named else tmp_path
    assert ended.returncode == 1
    assert f"File too large: '{place}'" in ended.stderr
    assert target.read_text() == "as before"
    assert len(list(tmp_path.iterdir())) == 2
