"""Indexes of texts: searches, builds, inserts, the constraint, a join. A part of bench.py.

On texts of at most 900 bytes that evaluate/draw drew for `scripts/run evaluate`, in random order.
The smallest table has real ones. Larger ones have the same and copies, in which one of every three
words is replaced by one drawn from the texts. The same texts are inserted into all. Contenders
beside each index: a search by a primary key, and pg_trgm's gin_trgm_ops on its own table with the
same rows.

A figure here is a tuple: section, data, rows, contender, metric, value.
"""

import contextlib
import itertools
import json
import pathlib
import random
import re
import statistics
import subprocess
import tempfile
import time

SETS = pathlib.Path(__file__).resolve().parent.parent / "target/evaluate/sets"
LONGEST = 900
OURS, TRIGRAMS, BARE = "simhash", "pg_trgm, GIN", "no index"
INDEXES = {OURS: "simhash (body)", TRIGRAMS: "gin (body gin_trgm_ops)"}
# Runs of searches, each with so many texts. Rounds of inserts, builds and joins. Texts for counting
# the rows that one finds.
RUNS, ASKED, ROUNDS, FOUND = 5, 100, 3, 30
# Ways to insert: clients, rows a statement, rows in a round. A small table gets a fifth of its
# rows.
WAYS = {"1,000 a statement": (1, 1000, 60_000), "1 client": (1, 1, 20_000),
        "4 clients": (4, 1, 20_000)}
# A sixteenth of an index's rows fill its part for recent postings. This number fills the largest.
MOST_FILLING = 240_000
LATER = 10_000
# Seconds. An index is left out if its build would take longer.
TOO_LONG = 900
JOINED, CONSTRAINED = 80_000, 100_000


class Texts:
    """Real texts in random order, and changed copies of them."""

    def __init__(self, longest=LONGEST):
        self.real = list(read("mix", longest))
        random.Random(1).shuffle(self.real)
        self.words = " ".join(self.real[:50_000]).split()

    def changed(self, number):
        """A changed copy of a text. Where words have no spaces between them, characters count as
        words."""
        drawn = random.Random(number).random
        text = self.real[number % len(self.real)]
        parts, glue = text.split(), " "
        if 20 * len(parts) < len(text):
            parts, glue = list(text), ""
        for place in range(0, max(1, len(parts) - 2), 3):
            at = min(place + int(3 * drawn()), len(parts) - 1)
            parts[at] = self.words[int(len(self.words) * drawn())]
        return glue.join(parts)

    def numbered(self, smallest, largest, fresh):
        """The rows of tables, real ones up to the size of the smallest table, then copies; then the
        texts for inserts into every table, real ones as long as there are any."""
        for number in range(largest + fresh):
            place = number if number < largest else number - largest + smallest
            is_real = place < len(self.real) and not smallest <= number < largest
            yield number, self.real[place] if is_real else self.changed(number)


class Table:
    """A table of texts with an index on them, or without."""

    def __init__(self, bench, name, contender, where=None):
        """The texts that `where` selects. Without it the table already exists."""
        self.bench, self.name, self.contender, self.index = bench, name, contender, f"{name}_body"
        if where is not None:
            # Autovacuum could run in the middle of a measurement.
            bench.ask(f"""CREATE TABLE {name} WITH (autovacuum_enabled = off) AS
                SELECT n::bigint AS id, body FROM text WHERE {where} ORDER BY n;
                VACUUM ANALYZE {name}; CHECKPOINT""")

    def build(self):
        """The seconds of three builds, or of fewer if these take long."""
        took = []
        while len(took) < ROUNDS and sum(took) < 20:
            self.bench.ask(f"DROP INDEX IF EXISTS {self.index}; CHECKPOINT")
            took.append(self.bench.timed(
                f"CREATE INDEX {self.index} ON {self.name} USING {INDEXES[self.contender]}")[1])
        return took

    def size(self):
        return int(self.bench.ask(f"SELECT pg_relation_size('{self.index}')"))

    def insert(self, first, way, rows, more=""):
        """Rows a second, and bytes of WAL a row, starting at the text number `first`."""
        clients, each, _ = WAYS[way]
        which = "n = :n" if each == 1 else f"n >= :n AND n < :n + {each}"
        rows = rows // (clients * each) * (clients * each)
        before = self.bench.ask("SELECT pg_current_wal_insert_lsn()")
        rate = self.bench.pgbench(
            f"""\\set i :i + 1
                \\set n {first} + {each} * (:i * {clients} + :client_id)
                INSERT INTO {self.name} SELECT n, body FROM text WHERE {which} {more};""",
            "-c", clients, "-j", min(clients, 2), "-t", rows // clients // each, "-D", "i=-1")
        written = self.bench.ask(
            f"SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '{before}')")
        return each * rate, float(written) / rows


class Bench:
    """A schema with the texts, in a server of bench.py."""

    def __init__(self, server):
        self.server = server
        self.settings = ["search_path=bench,public", "maintenance_work_mem=2GB",
                         "client_min_messages=warning", "pg_trgm.similarity_threshold=0.7"]
        self.has_trigrams = self.ask(
            "SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'") == "1"
        self.ask("CREATE EXTENSION IF NOT EXISTS pg_simhash")
        self.ask("DROP SCHEMA IF EXISTS bench CASCADE; CREATE SCHEMA bench")
        if self.has_trigrams:
            self.ask("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        else:
            print("pg_trgm: skipped, it is not installed", flush=True)

    def command(self, program, *arguments):
        options = " ".join(f"-c {setting}" for setting in self.settings)
        command = self.server.command(program, *map(str, arguments))
        return ["env", f"PGOPTIONS={options}", *command]

    def run(self, command, **more):
        done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        return done.stdout

    @contextlib.contextmanager
    def by_index(self, contender):
        """Makes pg_trgm use its index: the planner may prefer a sequential scan, which takes many
        times longer."""
        self.settings.append(f"enable_seqscan={'off' if contender == TRIGRAMS else 'on'}")
        yield
        self.settings.pop()

    def ask(self, statements):
        command = self.command("psql", "-X", "-q", "-A", "-t", "-d", "postgres", "-v",
                               "ON_ERROR_STOP=1", "-f", "-")
        return self.run(command, input=statements).strip()

    def timed(self, statement):
        """A statement's answer, and its seconds."""
        started = time.perf_counter()
        answer = self.ask(statement)
        return answer, time.perf_counter() - started

    def load(self, table, texts):
        self.ask(f"DROP TABLE IF EXISTS {table}; CREATE UNLOGGED TABLE {table} (n int, body text)")
        copy = self.command("psql", "-X", "-q", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-c",
                            f"\\copy {table} FROM stdin")
        with subprocess.Popen(copy, stdin=subprocess.PIPE, encoding="utf-8") as process:
            for number, text in texts:
                for sign, written in ("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"):
                    text = text.replace(sign, written)
                process.stdin.write(f"{number}\t{text}\n")
            process.stdin.close()
            if process.wait() != 0:
                raise SystemExit(f"{table}: not loaded")
        self.ask(f"ALTER TABLE {table} ADD PRIMARY KEY (n); ANALYZE {table}")

    def pgbench(self, scripts, *arguments):
        """Transactions a second, prepared. Several scripts are selected at random."""
        with tempfile.TemporaryDirectory() as directory:
            files = []
            for number, script in enumerate([scripts] if isinstance(scripts, str) else scripts):
                path = pathlib.Path(directory) / f"{number}.sql"
                path.write_text(re.sub(r"\n\s+(?=\\)", "\n", script), encoding="utf-8")
                files += ["-f", path]
            told = self.run(self.command("pgbench", "-n", "-M", "prepared", *arguments, *files,
                                         "postgres"))
        return float(re.search(r"tps = ([0-9.]+)", told)[1])

    def milliseconds(self, query, values, seconds):
        """The median round trip and the 99th percentile of a query whose parameter :q is one of the
        values."""
        scripts, defined = [], []
        for number, value in enumerate(values):
            scripts.append(query.replace(":q", f":q{number}") + ";\n")
            defined += ["-D", f"q{number}={value}"]
        with tempfile.TemporaryDirectory() as logs:
            self.pgbench(
                scripts, "-c", 1, "-T", seconds, "-l", f"--log-prefix={logs}/log", *defined)
            took = sorted(int(line.split()[2]) / 1000 for path in pathlib.Path(logs).iterdir()
                          for line in path.read_text().splitlines())
        return statistics.median(took), took[len(took) * 99 // 100]


def read(name, longest=None):
    with open(SETS / f"{name}.jsonl", encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["text"]
            if longest is None or len(text.encode()) <= longest:
                yield text


def show(figures):
    for measured in figures:
        section, data, rows, contender, metric, value = measured
        print(f"  {section}, {data}, {rows:,}: {contender}: {metric} {value:.4g}", flush=True)
        yield measured


def look_ups(bench, data, rows, state, queries, asked):
    """Medians of alternating runs, each with its own texts. A query is its text, and whether its
    parameter is a text's number."""
    took = {contender: [] for contender in queries}
    for run in range(RUNS):
        part = asked[run * ASKED:(run + 1) * ASKED]
        for contender, (query, by_number) in queries.items():
            with bench.by_index(contender):
                took[contender].append(bench.milliseconds(
                    query, [number if by_number else text for number, text in part],
                    1 if rows < 50_000 else 2))
    for contender, runs in took.items():
        for name, values in zip(("p50", "p99"), zip(*runs)):
            yield ("near look-up", data, rows, contender, f"{state} {name}",
                   statistics.median(values))


def found(bench, contender, query, asked):
    """The average number of rows that a text finds."""
    quoted = ", ".join("'" + text.replace("'", "''") + "'" for _, text in asked[:FOUND])
    with bench.by_index(contender):
        return float(bench.ask(
            f"""SELECT avg((SELECT count(*) FROM ({query.replace(":q", "q")}) s))
            FROM unnest(ARRAY[{quoted}]) q"""))


def near(table):
    return f"SELECT id FROM {table.name} WHERE near_duplicate(body, :q, 0.7)"


def similar(table):
    return f"SELECT id FROM {table.name} WHERE body % :q"


def built(table, data, rows):
    took = table.build()
    at = ("near build", data, rows, table.contender)
    yield *at, "seconds", statistics.median(took)
    yield *at, "builds", len(took)
    yield *at, "bytes a row", table.size() / rows
    if table.contender == OURS:
        keys = int(table.bench.ask(f"SELECT postings FROM simhash_index_info('{table.index}')"))
        yield *at, "bytes a key", table.size() / keys


def descriptions(bench, most):
    """Package descriptions of any length: searches in both indexes."""
    texts = list(read("descriptions"))
    random.Random(2).shuffle(texts)
    texts = list(enumerate(texts[:most]))
    bench.load("text", texts)
    rows, contenders, queries = len(texts), [OURS, *[TRIGRAMS] * bench.has_trigrams], {}
    for contender, name, query in zip(contenders, ("described", "described_gin"), (near, similar)):
        table = Table(bench, name, contender, "true")
        yield from built(table, "descriptions", rows)
        queries[contender] = query(table), False
    bench.ask("ALTER TABLE described ADD PRIMARY KEY (id)")
    queries["primary key"] = "SELECT id FROM described WHERE id = :q", True
    yield from look_ups(bench, "descriptions", rows, "fresh index", queries, texts)
    for contender in contenders:
        yield ("near look-up", "descriptions", rows, contender, "fresh index found a query",
               found(bench, contender, queries[contender][0], texts))
    bench.ask("DROP TABLE described; DROP TABLE IF EXISTS described_gin")


def filling(rows):
    """How many rows are inserted before the measured inserts, so that these find the part for
    recent postings full, and settle others."""
    return min(rows // 16, MOST_FILLING)


def fresh(rows):
    """How many further texts the inserts need."""
    return LATER + filling(rows) + ROUNDS * sum(in_round(way, rows) for way in WAYS)


def in_round(way, rows):
    """How many rows one round inserts."""
    return min(WAYS[way][2], rows // 5)


def indexed(bench, rows, new, asked, gin_seconds):
    """Searches, builds and inserts of a table of so many rows. `new` is the number of the first
    further text, `gin_seconds` the expected time of GIN's build."""
    ours = Table(bench, "doc", OURS, f"n >= 0 AND n < {rows}")
    yield from built(ours, "mix", rows)
    yield ("near build", "mix", rows, "text", "bytes a row",
           float(bench.ask("SELECT avg(octet_length(body)) FROM doc")))
    bench.ask("ALTER TABLE doc ADD PRIMARY KEY (id); VACUUM ANALYZE doc")
    queries = {"primary key": ("SELECT id FROM doc WHERE id = :q", True), OURS: (near(ours), False)}
    yield from look_ups(bench, "mix", rows, "fresh index", queries, asked)
    yield ("near look-up", "mix", rows, OURS, "fresh index found a query",
           found(bench, OURS, near(ours), asked))
    ours.insert(new, "1,000 a statement", LATER)
    yield from look_ups(bench, "mix", rows, "10,000 rows later", queries, asked)
    bench.ask("ALTER TABLE doc DROP CONSTRAINT doc_pkey")

    tables = [Table(bench, "bare", BARE, "false"), ours]
    if bench.has_trigrams and gin_seconds <= TOO_LONG:
        tables.append(Table(bench, "doc_gin", TRIGRAMS, f"n >= 0 AND n < {rows}"))
        yield from built(tables[-1], "mix", rows)
        tables[-1].insert(new, "1,000 a statement", LATER)
    elif bench.has_trigrams:
        print(f"pg_trgm on {rows:,} rows: skipped, its index would take {gin_seconds:.0f} s",
              flush=True)
    yield from inserted(bench, rows, new + LATER, tables)
    bench.ask("ALTER TABLE doc ADD PRIMARY KEY (id); ANALYZE doc")
    yield from look_ups(bench, "mix", rows, "after all inserts", queries, asked)
    bench.ask("DROP TABLE doc, bare; DROP TABLE IF EXISTS doc_gin")


def inserted(bench, rows, at, tables):
    """Rounds of inserts into the tables in turn, each after a checkpoint."""
    for table in tables:
        table.insert(at, "1,000 a statement", filling(rows))
    at += filling(rows)
    for way in WAYS:
        more = in_round(way, rows)
        measured = {table.contender: [] for table in tables}
        for _ in range(ROUNDS):
            for table in tables:
                bench.ask("CHECKPOINT")
                measured[table.contender].append(table.insert(at, way, more))
            at += more
        for contender, runs in measured.items():
            for name, values in zip(("rows a second", "WAL bytes a row"), zip(*runs)):
                yield ("near insert", "mix", rows, contender, f"{way}: {name}",
                       statistics.median(values))


def in_offers(rows):
    """How many rows one round offers to the constraint."""
    return rows // 10


def constrained(bench, rows, at):
    """Texts offered to the constraint, and inserted with only an index of the same similarity."""
    bench.ask("""CREATE TABLE excluded (id bigint, body text,
        EXCLUDE USING simhash (near_text(body, 0.8) WITH ~=)) WITH (autovacuum_enabled = off)""")
    bench.ask(f"""INSERT INTO excluded SELECT n, body FROM text WHERE n >= 0 AND n < {rows}
        ON CONFLICT DO NOTHING""")
    kept = int(bench.ask("SELECT count(*) FROM excluded"))
    plain = Table(bench, "plain", "index alone", "n IN (SELECT id FROM excluded)")
    bench.ask("""CREATE INDEX ON plain USING simhash (body) WITH (similarity = 0.8);
        REINDEX TABLE excluded; VACUUM ANALYZE excluded""")
    tables, offered = (plain, Table(bench, "excluded", "constraint")), in_offers(rows)
    changed = -len(WAYS) * ROUNDS * offered
    for table in tables:
        table.insert(at, "1,000 a statement", filling(rows), "ON CONFLICT DO NOTHING")
    bench.ask("CHECKPOINT")
    at += filling(rows)
    for what in ("real texts", "changed texts"):
        for way in WAYS:
            rates = {table: [] for table in tables}
            before = [int(bench.ask(f"SELECT count(*) FROM {table.name}")) for table in tables]
            for _ in range(ROUNDS):
                for table in tables:
                    rates[table].append(table.insert(
                        at if what == "real texts" else changed, way, offered,
                        "ON CONFLICT DO NOTHING")[0])
                at, changed = at + offered, changed + (what != "real texts") * offered
            for table, count in zip(tables, before):
                section = "near constraint", what, rows, table.contender
                yield *section, way, statistics.median(rates[table])
                more = int(bench.ask(f"SELECT count(*) FROM {table.name}")) - count
                yield *section, f"{way}: share that went in", more / (ROUNDS * offered)
    yield "near constraint", "kept", rows, "constraint", "rows", kept
    bench.ask("DROP TABLE excluded, plain")


def joined(bench, rows, new):
    """A join of two tables: with an index on one, on the other, and on both."""
    for name, first in (("a", 0), ("b", new)):
        Table(bench, name, BARE, f"n >= {first} AND n < {first + rows}")
    query = "SELECT count(*) FROM a JOIN b ON near_duplicate(a.body, b.body, 0.7)"
    counts = set()
    for which in (["a"], ["b"], ["a", "b"]):
        for name in which:
            bench.ask(f"CREATE INDEX {name}_body ON {name} USING simhash (body); ANALYZE {name}")
        used = re.findall(r"(?:using|on) ([ab])_body", bench.ask(f"EXPLAIN {query}"))
        data = "index on " + " and ".join(which)
        if not used:
            print(f"join, {data}: skipped, the planner takes no index", flush=True)
        else:
            took = []
            for _ in range(ROUNDS):
                pairs, seconds = bench.timed(query)
                counts.add(int(pairs))
                took.append(seconds)
            at = "near join", data, rows, f"takes that of {used[0]}"
            yield *at, "seconds", statistics.median(took)
            yield *at, "pairs", max(counts)
        for name in which:
            bench.ask(f"DROP INDEX {name}_body")
    if len(counts) > 1:
        raise SystemExit(f"joins of the same tables found {counts} pairs")
    bench.ask("DROP TABLE a, b")


def measure(server, sizes):
    """All figures, for tables of these sizes from the smallest to the largest."""
    if not (SETS / "mix.jsonl").exists():
        print("near: skipped, `scripts/run evaluate` draws the texts", flush=True)
        return
    bench = Bench(server)
    yield from show(descriptions(bench, sizes[0]))
    texts = Texts()
    constrained_rows, joined_rows = min(CONSTRAINED, sizes[0]), min(JOINED, sizes[0])
    offered, new = len(WAYS) * ROUNDS * in_offers(constrained_rows), max(sizes)
    more = max(*map(fresh, sizes), filling(constrained_rows) + offered, joined_rows)
    copies = ((-number, texts.changed(-number)) for number in range(1, offered + 1))
    bench.load("text", itertools.chain(texts.numbered(sizes[0], new, more), copies))
    # The same queries for every size: texts of the smallest table.
    numbers = random.Random(3).sample(range(min(sizes[0], len(texts.real))), RUNS * ASKED)
    asked = [(number, texts.real[number]) for number in numbers]
    del texts
    gin_seconds = before = 0
    for rows in sizes:
        expected = gin_seconds * rows / before if before else 0
        for measured in show(indexed(bench, rows, new, asked, expected)):
            yield measured
            if measured[3:5] == (TRIGRAMS, "seconds"):
                gin_seconds, before = measured[5], rows
    yield from show(constrained(bench, constrained_rows, new))
    yield from show(joined(bench, joined_rows, new))
    bench.ask("DROP SCHEMA bench CASCADE")
