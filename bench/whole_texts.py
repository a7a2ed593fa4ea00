"""Whole tables of texts: duplicates by an index, beside rensa, and equal ones. A part of bench.py.

On all texts that evaluate/draw drew for `scripts/run evaluate`, in random order. The smallest table
has real ones. Larger ones have the same and changed copies, as in near_texts.py, in random order,
and measure only the extension. One more table has many equal texts among the real ones.

A figure here is a tuple: section, data, rows, contender, metric, value.
"""

import pathlib
import random
import re
import statistics
import threading

from near_texts import OURS, ROUNDS, SETS, Bench, Texts, show

SIMILARITY = 0.7
LARGER = 10
# simhash.work_mem for tables larger than the smallest, which has the default.
MEMORY = "8GB"
EQUAL = 100_000
# Seconds. A longer measurement, with equal texts or without, is not repeated.
LONG = 20
# In the order of the table, and in another.
WAYS = {OURS: None, f"{OURS}, by keep": "length(body) DESC, n"}
SECTION = "whole texts"
DUPLICATES = "SELECT count(*) FROM simhash_duplicates('{}', similarity => {}{})"
CLUSTERS = "SELECT count(*) FROM simhash_clusters('{}', {})"
# In the SELECT list, which returns rows as they are fetched.
PAIRS = "SELECT count(*) FROM (SELECT simhash_pairs('{}', {}) LIMIT 10) p"


class Memory(threading.Thread):
    """The most memory, in bytes, that the server's session and its workers use at one time, without
    shared buffers. For `with`."""

    def __init__(self, postmaster):
        super().__init__(daemon=True)
        self.most, self.over = 0, threading.Event()
        self.children = pathlib.Path(f"/proc/{postmaster}/task/{postmaster}/children")

    def now(self):
        for child in self.children.read_text().split():
            try:
                process = pathlib.Path("/proc") / child
                title = (process / "cmdline").read_bytes()
                if b"[local]" in title or b"parallel worker" in title:
                    status = (process / "status").read_text()
                    yield int(re.search(r"RssAnon:\s*(\d+)", status)[1]) * 1024
            except (OSError, TypeError):  # It has just ended.
                pass

    def run(self):
        while not self.over.wait(0.02):
            self.most = max(self.most, sum(self.now()))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


class Table:
    """A table of texts, and the costs of calls over the whole table."""

    def __init__(self, bench, name, texts):
        self.bench, self.name, self.index = bench, name, f"{name}_body"
        # Autovacuum could run in the middle of a measurement.
        bench.load(name, texts)
        bench.ask(f"ALTER TABLE {name} SET (autovacuum_enabled = off); VACUUM {name}; CHECKPOINT")
        self.rows, size = map(int, bench.ask(
            f"SELECT count(*), sum(octet_length(body)) FROM {name}").split("|"))
        self.bytes = size / self.rows
        self.postmaster = int(bench.ask("SELECT pg_read_file('postmaster.pid')").split()[0])

    def timed(self, statement):
        """A statement's answer, its seconds, and its megabytes."""
        with Memory(self.postmaster) as memory:
            answer, seconds = self.bench.timed(statement)
        return answer, seconds, memory.most / 1e6

    def build(self):
        self.bench.ask(f"DROP INDEX IF EXISTS {self.index}; CHECKPOINT")
        _, seconds, memory = self.timed(
            f"CREATE INDEX {self.index} ON {self.name} USING simhash (body)")
        return seconds, memory

    def duplicates(self, keep=None):
        """The number of duplicates, seconds, megabytes."""
        more = f", keep => '{keep}'" if keep else ""
        count, seconds, memory = self.timed(DUPLICATES.format(self.index, SIMILARITY, more))
        return int(count), seconds, memory

    def seconds(self, query):
        """The median of three runs, fewer if these take long, and the count."""
        took, count = [], 0
        while len(took) < ROUNDS and sum(took) < LONG:
            count, seconds, _ = self.timed(query.format(self.index, SIMILARITY))
            took.append(seconds)
        return statistics.median(took), int(count)

    def copy(self):
        """The command that exports all texts in the order of the table."""
        return self.bench.command("psql", "-X", "-q", "-d", "postgres", "-c",
                                  f"COPY {self.name} (body) TO STDOUT")


def shuffled(texts, rows):
    """All real texts, and changed ones up to this number of rows, in random order."""
    numbers = list(range(rows))
    random.Random(4).shuffle(numbers)
    for place, number in enumerate(numbers):
        is_real = number < len(texts.real)
        yield place, texts.real[number] if is_real else texts.changed(number)


def with_equal(texts, equal):
    """All real texts, and among them this many copies of one more text of usual length."""
    copies = map(texts.changed, range(-1, -1000, -1))
    again = next(text for text in copies if 20 <= len(text.split()) <= 40)
    places = set(random.Random(5).sample(range(len(texts.real) + equal), equal))
    real = iter(texts.real)
    for place in range(len(texts.real) + equal):
        yield place, again if place in places else next(real)


def deduplicated(table, rounds, ways, rivals=None):
    """The time from texts to their duplicates, for each variant of the extension."""
    took = {way: [] for way in ways}
    theirs = []
    for _ in range(rounds):
        seconds, memory = table.build()
        for way in ways:
            count, more, other = table.duplicates(WAYS[way])
            took[way].append((seconds, more, seconds + more, max(memory, other), count))
        if rivals:
            theirs += rivals("cover", SIMILARITY, *table.copy())
    yield SECTION, "mix", table.rows, "text", "bytes a row", table.bytes
    for way, runs in took.items():
        names = "build", "duplicates", "together", "memory", "dropped"
        for name, values in zip(names, zip(*runs)):
            yield SECTION, "mix", table.rows, way, name, statistics.median(values)
    measured = {}
    for figure in theirs:
        measured.setdefault((figure["contender"], figure["metric"]), []).append(figure["value"])
    for (contender, metric), values in measured.items():
        yield SECTION, "mix", table.rows, contender, metric, statistics.median(values)


def bulk(table, real):
    """The costs of calls over whole tables, with and without equal texts among the real ones."""
    for name, query in (("duplicates", DUPLICATES.format("{}", "{}", "")), ("clusters", CLUSTERS),
                        ("ten pairs", PAIRS)):
        seconds, count = table.seconds(query)
        yield f"{SECTION}, equal", "mix", real, table.name, name, seconds
        yield f"{SECTION}, equal", "mix", real, table.name, f"{name}: rows", count


def measure(server, sizes, rivals):
    """All figures, for tables of these sizes from the smallest to the largest. `rivals` runs a part
    of rivals.py."""
    if not (SETS / "mix.jsonl").exists():
        print("whole: skipped, `scripts/run evaluate` draws the texts", flush=True)
        return
    bench = Bench(server)
    texts = Texts(longest=None)
    del texts.real[sizes[0] if sizes else len(texts.real):]
    real = len(texts.real)
    table = Table(bench, "doc", enumerate(texts.real))
    yield from show(deduplicated(table, ROUNDS, WAYS, rivals))
    yield from show(bulk(table, real))
    bench.ask("DROP TABLE doc")
    table = Table(bench, "equal", with_equal(texts, min(EQUAL, real // 9)))
    table.build()
    yield from show(bulk(table, real))
    bench.ask("DROP TABLE equal")
    bench.settings.append(f"simhash.work_mem={MEMORY}")
    for rows in sizes[1:] if sizes else [LARGER * real]:
        table = Table(bench, "doc", shuffled(texts, rows))
        yield from show(deduplicated(table, 1, [OURS]))
        bench.ask("DROP TABLE doc")
    bench.ask("DROP SCHEMA bench CASCADE")
