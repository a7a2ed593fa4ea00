"""The command line: `pg-simhash dedup in.parquet out.parquet`, `pg-simhash report --table doc`."""

from __future__ import annotations

import argparse
import itertools
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from . import __version__
from .config import Config
from .files import Format, format_of, kept_copied, mapped_texts, write_duplicates, written
from .whole import duplicates

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _bytes(text: str) -> int:
    """A number of bytes, such as 512MB."""
    number, unit = text.upper().removesuffix("B"), ""
    if number[-1:] in UNITS:
        number, unit = number[:-1], number[-1:]
    if not number.strip().isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes, such as 512MB or 2GB")
    return int(number) * UNITS[unit]


def _similarity(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.3 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is no similarity from 0.3 to 1")
    return number


def _similarities(text: str) -> list[float]:
    return sorted({_similarity(part) for part in text.split(",")})


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < 20 else 0
    # The limit plus one must fit a bigint.
    if not 1 <= number < 2**63 - 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on, or no bigint")
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pg-simhash", description="Near-duplicate texts, as pg_simhash finds them."
    )
    parser.add_argument("--version", action="version", version=f"pg-simhash {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    dedup = commands.add_parser(
        "dedup",
        help="copies the rows that stay",
        description="Copies the rows that stay from one file to another. Of the rows that are near "
        "each other the first one stays, or the longest one. Files are parquet, jsonl and csv, by "
        "their names; jsonl and csv may end in .gz.",
    )
    dedup.add_argument("source", type=Path, metavar="IN")
    dedup.add_argument("target", type=Path, metavar="OUT")
    dedup.add_argument("--column", default="text", help="the column of texts (text)")
    dedup.add_argument(
        "--similarity",
        type=_similarity,
        default=0.7,
        help="from which on rows are near, 0.3 to 1 (0.7)",
    )
    dedup.add_argument(
        "--keep", choices=("first", "longest"), default="first", help="which of them stays (first)"
    )
    dedup.add_argument("--config", default="{}", metavar="JSON", help="a configuration ({})")
    dedup.add_argument(
        "--duplicates",
        type=Path,
        metavar="FILE",
        help="writes the rows that are dropped there, by their numbers from 0: duplicate, kept, "
        "similarity (parquet, jsonl or csv)",
    )
    dedup.add_argument(
        "--memory",
        type=_bytes,
        default=1 << 30,
        metavar="BYTES",
        help="for keys, and as much again for sets of shingles (1GB); texts lie in a scratch file",
    )
    dedup.add_argument("--quiet", action="store_true", help="shows no progress")
    dedup.set_defaults(run=_dedup)
    report = commands.add_parser(
        "report",
        help="a page about a table's near-duplicates",
        description="Writes a page of HTML about the near-duplicates of a table: what "
        "simhash_duplicates would drop, how similar they are, groups, pairs to look at, copied "
        "passages. It only reads. The column needs an index USING simhash, and passages one more.",
    )
    report.add_argument(
        "--dsn", default="", help="the database (what PGHOST, PGDATABASE and so on say)"
    )
    report.add_argument("--table", required=True, help="the table, as in SQL: doc, public.doc")
    report.add_argument("--column", default="body", help="the column of texts (body)")
    report.add_argument(
        "--out", type=Path, default=Path("report.html"), metavar="FILE", help="(report.html)"
    )
    report.add_argument("--force", action="store_true", help="replaces FILE if it is there")
    report.add_argument(
        "--similarity",
        type=_similarities,
        metavar="LIST",
        help="at which to ask what would be dropped (0.5,0.6,0.7,0.8,0.9)",
    )
    report.add_argument("--config", metavar="JSON", help="that of the index to take")
    report.add_argument("--keep", metavar="ORDER", help="which rows stay: 'length(body) DESC, id'")
    report.add_argument(
        "--sample", type=_count, default=5, metavar="N", help="pairs to show of each band (5)"
    )
    report.add_argument(
        "--limit",
        type=_count,
        default=2_000_000,
        metavar="N",
        help="pairs to count at most (2000000); where there are more, the page says so and counts "
        "what would be dropped",
    )
    report.add_argument("--quiet", action="store_true", help="shows no progress")
    report.set_defaults(run=_report)
    return parser


class _Shown:
    """Shows progress on the last line of a terminal."""

    def __init__(self, is_quiet: bool) -> None:
        self._is_on = not is_quiet and sys.stderr.isatty()
        self._before = ""

    def say(self, what: str) -> None:
        if self._is_on and what != self._before:
            print(f"\r\x1b[K{what}", end="", file=sys.stderr, flush=True)
            self._before = what

    def end(self) -> None:
        if self._is_on:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _dedup(arguments: argparse.Namespace) -> None:
    source: Path = arguments.source
    target: Path = arguments.target
    config = Config(arguments.config)
    formats: list[Format] = [format_of(source), format_of(target)]
    if formats[0] != formats[1]:
        raise ValueError(f"{source} and {target} are of two formats")
    paths = [source, target]
    if arguments.duplicates is not None:
        format_of(arguments.duplicates)
        paths.append(arguments.duplicates)
    for first, second in itertools.combinations(paths, 2):
        if first.resolve() == second.resolve():
            raise ValueError(f"{first} is named twice: each file is another one")
    shown = _Shown(arguments.quiet)
    texts = mapped_texts(
        source,
        arguments.column,
        target.resolve().parent,
        lambda rows: shown.say(f"{rows} rows read"),
    )
    found = duplicates(
        texts,
        arguments.similarity,
        arguments.keep,
        config,
        memory=arguments.memory,
        # Keys that do not fit in memory are stored beside the result.
        directory=target.resolve().parent,
        progress=lambda share: shown.say(f"comparing {len(texts)} rows: {share:.0%}"),
    )
    shown.say("writing")
    kept_copied(source, target, {row.duplicate for row in found})
    if arguments.duplicates is not None:
        write_duplicates(arguments.duplicates, found)
    shown.end()
    if not arguments.quiet:
        print(
            f"{len(texts)} rows, {len(found)} dropped, {len(texts) - len(found)} kept",
            file=sys.stderr,
        )


def _report(arguments: argparse.Namespace) -> None:
    try:
        from . import page, report
    except ImportError as error:
        raise ImportError(
            f"report needs psycopg: pip install 'psycopg[binary]' ({error})"
        ) from None
    target: Path = arguments.out
    if target.exists() and not arguments.force:
        raise ValueError(f"{target} is there already: --force replaces it")
    shown = _Shown(arguments.quiet)
    options = report.Options(
        arguments.table,
        arguments.column,
        arguments.similarity,
        arguments.config,
        arguments.keep,
        arguments.sample,
        arguments.limit,
    )
    with written(target) as unfinished:
        # Fails before the database is queried if the file cannot be written.
        unfinished.touch()
        try:
            found = report.read(arguments.dsn, options, shown.say)
        finally:
            shown.end()
        unfinished.write_text(page.page(found), encoding="utf-8")
    if not arguments.quiet:
        print(f"{found.rows} rows, {target} written", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line. Returns the exit status."""
    parsed = _parser().parse_args(arguments)
    # No unfinished file remains when a supervisor ends the process.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        parsed.run(parsed)
    except KeyboardInterrupt:
        print("\npg-simhash: cancelled, nothing was written", file=sys.stderr)
        return 130
    except (OSError, ValueError, TypeError, MemoryError, ImportError) as error:
        print(f"pg-simhash: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
