"""Copied passages: building an index, searches, whole tables, compared with runs of words in a
Python dictionary and a suffix array. A part of bench.py.

On the texts that evaluate/draw drew for `scripts/run evaluate`. A table has real ones in random
order. The larger one has ten times as many: the others are those of near_texts.py, with one of
every three words replaced. Searches use texts of about 300 words, concatenated from real ones.

A figure here is a tuple: section, data, rows, contender, metric, value.
"""

import random
import statistics

from near_texts import OURS, ROUNDS, SETS, Bench, Texts, show

ROWS, LARGER, WORDS, LONG, ASKED = 79_458, 10, 25, 300, 100
SECTION = "passages"
INDEX = "CREATE INDEX doc_p ON doc USING simhash (body text_passage_ops)"
WHOLE = "SELECT count(*) FROM simhash_passages('doc_p')"
QUERY = "SELECT n FROM doc WHERE shares_passage(body, :q)"


def long_texts(texts):
    """Texts of about 300 words: concatenated real ones."""
    drawn = random.Random(6)
    for _ in range(ASKED):
        words = []
        while len(words) < LONG:
            words += drawn.choice(texts.real).split()
        yield " ".join(words[:LONG]).replace("\\", "").replace("'", "")


def of_table(bench, rows, asked, copied, rivals):
    size = int(bench.ask("SELECT sum(octet_length(body)) FROM doc"))
    yield SECTION, "mix", rows, "text", "MB", size / 1e6
    took = []
    for _ in range(ROUNDS):
        bench.ask("DROP INDEX IF EXISTS doc_p; CHECKPOINT")
        took.append(bench.timed(f"SET max_parallel_maintenance_workers = 0; {INDEX}")[1])
    rate = size / 1e6 / statistics.median(took)
    yield SECTION, "mix", rows, OURS, "build, MB/s on a core", rate
    bytes_each = bench.ask(
        "SELECT pg_relation_size('doc_p')::float / postings FROM simhash_index_info('doc_p')")
    yield SECTION, "mix", rows, OURS, "bytes a kept hash", float(bytes_each)
    p50, p99 = bench.milliseconds(QUERY, asked, 5)
    yield SECTION, "mix", rows, OURS, "look-up, ms p50", p50
    yield SECTION, "mix", rows, OURS, "look-up, ms p99", p99
    if copied:
        took = [bench.timed(WHOLE) for _ in range(ROUNDS)]
        seconds = statistics.median(seconds for _, seconds in took)
        yield SECTION, "mix", rows, OURS, "all pairs, s", seconds
        yield SECTION, "mix", rows, OURS, "pairs", float(took[0][0])
        for figure in rivals("passages", WORDS, *copied):
            yield SECTION, "mix", rows, figure["contender"], figure["metric"], figure["value"]


def measure(server, rivals):
    """All figures. `rivals` runs a part of rivals.py."""
    if not (SETS / "mix.jsonl").exists():
        print("passages: skipped, `scripts/run evaluate` draws the texts", flush=True)
        return
    bench, texts = Bench(server), Texts(longest=None)
    del texts.real[ROWS:]
    asked = list(long_texts(texts))
    rows = len(texts.real)
    bench.load("doc", enumerate(texts.real))
    copied = bench.command("psql", "-X", "-q", "-d", "postgres", "-c", "COPY doc (body) TO STDOUT")
    yield from show(of_table(bench, rows, asked, copied, rivals))
    more = ((n, texts.real[n] if n < rows else texts.changed(n)) for n in range(LARGER * rows))
    bench.load("doc", more)
    yield from show(of_table(bench, LARGER * rows, asked, None, rivals))
    bench.ask("DROP SCHEMA bench CASCADE")
