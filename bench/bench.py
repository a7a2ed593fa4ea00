"""Runs the benchmarks, in a private server and outside it, and keeps docs/benchmarks/results.json.

usage: bench.py BINDIR SOCKET    (scripts/bench.sh starts the server)

Environment: ONLY, the names of the functions in PARTS to run. SCALES ("1000000 10000000"), the
sizes of tables. BIG=1 adds a table of 50 million rows (or BIG_ROWS), without rivals. TEXT_SCALES,
the sizes of the tables of texts' fingerprints, by default SCALES. SIZES ("500000 5000000"), those
of the tables of texts with an index on the text; for whole tables the default is all real texts and
ten times as many. PGVECTOR, the directory of the programs and of the socket of a server with
pgvector. Figures of parts that do not run are kept.
"""

import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

import near_texts
import passages
import whole_texts

TOP = pathlib.Path(__file__).resolve().parent.parent
RESULTS = TOP / "docs/benchmarks/results.json"
SKEWED_ROWS = 1_000_000
KEY = ("section", "data", "rows", "contender", "metric")


class Server:
    def __init__(self, bindir, socket):
        self.bindir, self.socket = bindir, socket

    def command(self, program, *arguments):
        return [f"{self.bindir}/{program}", "-h", self.socket, "-U", "postgres", *arguments]

    def run(self, file, **environment):
        """Runs a file of bench/ and shows its output."""
        print(f"== {file} {environment or ''}", flush=True)
        command = self.command(
            "psql", "-X", "-q", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-f", f"bench/{file}")
        subprocess.run(command, cwd=TOP, env={**os.environ, **environment}, check=True)

    def ask(self, query):
        command = self.command("psql", "-X", "-q", "-A", "-t", "-d", "postgres", "-c", query)
        return output(command, cwd=TOP).strip()

    def save(self, query, path):
        command = self.command("psql", "-X", "-q", "-A", "-t", "-d", "postgres", "-c", query)
        with open(path, "w", encoding="utf-8") as file:
            subprocess.run(command, cwd=TOP, check=True, stdout=file)

    def figures(self):
        """Returns and deletes the figures that the SQL files recorded."""
        rows = self.ask("SELECT json_agg(r) FROM bench_result r")
        self.ask("TRUNCATE bench_result")
        rows = json.loads(rows or "null") or []
        return [{**row, "metric": row["metric"].strip()} for row in rows]

    def pgbench(self, query, clients):
        """Transactions a second, prepared. :n in the query is 1 to 1000."""
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
            script.write(f"\\set n random(1, 1000)\n{query};\n")
            script.flush()
            command = self.command(
                "pgbench", "-n", "-M", "prepared", "-T", "5", "-c", str(clients), "-j", "2",
                "-f", script.name, "postgres")
            return float(re.search(r"tps = ([0-9.]+)", output(command))[1])

    def throughput(self, rows):
        """Searches within 3 bits a second, for 1 to 8 clients."""
        asked = "(SELECT fp FROM bench.query WHERE n = :n)"
        queries = {
            "simhash": f"SELECT id FROM bench.doc WHERE hamming(fp, {asked}) <= 3",
            "primary key look-up": "SELECT id FROM bench.doc WHERE id = :n",
        }
        self.ask("CREATE INDEX IF NOT EXISTS query_n ON bench.query (n); ANALYZE bench.query")
        for contender, query in queries.items():
            for clients in (1, 2, 4, 8):
                rate = self.pgbench(query, clients)
                yield figure("throughput", "uniform", rows, contender, f"{clients} clients", rate)

    def single_rows(self):
        """Rows inserted a second, one in each transaction, into the tables that dedup.sql made."""
        insert = "INSERT INTO bench.{} (fp) VALUES (bench.random64()::fingerprint64)"
        queries = {
            "index alone": insert.format("plain"),
            "index and simhash_dedup, distance 3": insert.format("triggered"),
            "exclusion constraint, distance 3":
                insert.format("excluded") + " ON CONFLICT DO NOTHING",
            "index and groups that live, distance 3": insert.format("grouped"),
        }
        for fsync in ("off", "on"):
            self.ask(f"ALTER SYSTEM SET fsync = {fsync}")
            self.ask("SELECT pg_reload_conf(), pg_sleep(1)")
            for contender, query in queries.items():
                for clients in (1, 8):
                    rate = self.pgbench(query, clients)
                    metric = f"{clients} clients, fsync {fsync}"
                    print(f"  {contender}: {rate:.0f} a second, {metric}", flush=True)
                    yield figure("dedup", "uniform", 100_000, contender, metric, rate)
        self.ask("ALTER SYSTEM RESET fsync")
        self.ask("SELECT pg_reload_conf()")


def output(command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def figure(*parts):
    return dict(zip((*KEY, "value"), parts))


def rivals(*arguments, path=None):
    """The figures of rivals.py. A rival that is not installed is skipped with a line."""
    environment = {**os.environ, **({"PYTHONPATH": str(path)} if path else {})}
    command = [sys.executable, str(TOP / "bench/rivals.py"), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    figures = []
    for line in done.stdout.splitlines():
        found = json.loads(line)
        if "skipped" in found:
            print(f"{found['skipped']}: skipped, {found['why']}", flush=True)
        else:
            print(f"  {found['contender']}: {found['metric']} {found['value']:.3f}", flush=True)
            figures.append(found)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["no reason"])[-1]
        print(f"rivals {arguments[0]}: skipped, {why}", flush=True)
    return figures


def beside_the_index(server, rows, data, directory):
    """Libraries in memory, on the rows and queries that index.sql exported."""
    server.save("SELECT h FROM bench.doc WHERE id > 0 ORDER BY id", f"{directory}/rows")
    server.save("SELECT h FROM bench.query ORDER BY n", f"{directory}/queries")
    figures = rivals("fingerprints", f"{directory}/rows", f"{directory}/queries", data)
    if data == "uniform" and rows <= 1_000_000:
        figures += rivals("pairs", f"{directory}/rows", path=os.environ.get("FIND_ALL"))
    return figures


def core_figures():
    """The results of criterion, if it ran: as speeds where it knows the amount of work."""
    for estimates in sorted((TOP / "target/criterion").glob("**/new/estimates.json")):
        benchmark = json.loads((estimates.parent / "benchmark.json").read_text())
        work = benchmark.get("throughput") or {}
        nanoseconds = json.loads(estimates.read_text())["median"]["point_estimate"]
        if "Bytes" in work:
            metric, value = "MB/s", work["Bytes"] / nanoseconds * 1000
        elif "Elements" in work:
            metric, value = "million a second", work["Elements"] / nanoseconds * 1000
        else:
            metric, value = "ms", nanoseconds / 1e6
        yield figure(
            "core", benchmark["group_id"], 0, benchmark["function_id"] or "", metric, value)


def example(name, *arguments):
    """The figures that an example of the core prints."""
    command = [TOP / "target/release/examples" / name, *arguments]
    return [float(word) for word in output(command).split()]


def dictionary_figures():
    """The cost of jieba's dictionary for a process: medians of five."""
    runs = [example("load_dictionary") for _ in range(5)]
    for metric, values in zip(("seconds", "MB"), zip(*runs)):
        yield figure("dictionary", "zh", 0, "simhash", metric, statistics.median(values))


def memory_figures():
    """Memory of batches and of the training of models, in bytes an element."""
    for structure in ("hash", "bloom", "trie", "near", "terms", "pairs", "model"):
        for metric, value in zip(
                ("least bytes each", "most bytes each"), example("memory", structure)):
            yield figure("memory", "random", 4_000_000, structure, metric, value)


def machine(server):
    def read(pattern, file):
        return re.search(pattern, pathlib.Path(file).read_text())

    cpu = read(r"model name\s*: (.*)", "/proc/cpuinfo")
    installed = json.loads(output([sys.executable, "-m", "pip", "list", "--format", "json"]))
    rivals_here = ("faiss-cpu", "hammingbird", "datasketch", "rensa", "simhash", "jieba")
    return {
        "processor": cpu[1] if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "memory, GiB": round(int(read(r"MemTotal:\s*(\d+)", "/proc/meminfo")[1]) / 2**20),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "PostgreSQL": server.ask("SHOW server_version"),
        "Rust": output(["rustc", "--version"]).strip(),
        **{p["name"]: p["version"] for p in installed if p["name"] in rivals_here},
    }


def keep(about, figures):
    """Replaces the earlier figures by whole tables.

    So a contender that is no longer measured leaves no figure behind.
    """
    old = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"figures": []}
    tables = {(f["section"], f["data"], f["rows"]) for f in figures}
    before = [f for f in old["figures"] if (f["section"], f["data"], f["rows"]) not in tables]
    merged = {tuple(f[k] for k in KEY): f for f in before + figures}
    lines = ",\n  ".join(
        json.dumps({**f, "value": float(f"{f['value']:.5g}")}, ensure_ascii=False)
        for f in merged.values())
    head = json.dumps(about, ensure_ascii=False)
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(
        f'{{"machine": {head},\n "figures": [\n  {lines}\n]}}\n', encoding="utf-8")


def sizes(variable, otherwise):
    """Numbers of rows, from the environment or by default."""
    given = os.environ.get(variable)
    return otherwise if given is None else [int(rows) for rows in given.split()]


def core(_server, _directory, _scales):
    return [*core_figures(), *dictionary_figures(), *memory_figures()]


def texts(server, directory, _scales):
    server.run("fingerprints.sql")
    server.run("methods.sql")
    server.run("texts.sql")
    server.save("SELECT json_build_array(texts, body) FROM bench_texts ORDER BY md5(body)",
                f"{directory}/texts")
    return rivals("texts", f"{directory}/texts")


def dedup(server, _directory, _scales):
    server.run("dedup.sql")
    return list(server.single_rows())


def uniform(server, directory, scales):
    figures = []
    for rows in scales:
        server.run("index.sql", ROWS=str(rows), DATA="uniform", RIVALS="all")
        figures += server.throughput(rows)
        figures += beside_the_index(server, rows, "uniform", directory)
        server.run("bulk.sql", ROWS=str(rows))
    if os.environ.get("BIG"):
        rows = os.environ.get("BIG_ROWS", "50000000")
        server.run("index.sql", ROWS=rows, DATA="uniform", RIVALS="none")
    return figures


def skewed(server, directory, scales):
    figures = []
    for data in ("clusters", "zipf"):
        rows = min(SKEWED_ROWS, max(scales))
        server.run("index.sql", ROWS=str(rows), DATA=data, RIVALS="all")
        figures += beside_the_index(server, rows, data, directory)
    return figures


def tenants(server, _directory, scales):
    server.run("tenants.sql", ROWS=str(max(scales)))
    return []


def wide(server, directory, scales):
    """256 bits beside faiss, beside pgvector up to a million rows, and hashes of pictures."""
    figures = []
    rows_at, queries_at = f"{directory}/rows", f"{directory}/queries"
    for rows in scales:
        server.run("wide.sql", ROWS=str(rows))
        server.save("SELECT fp FROM bench.doc ORDER BY id", rows_at)
        server.save("SELECT fp FROM bench.query ORDER BY n", queries_at)
        figures += rivals("wide", rows_at, queries_at)
        if rows <= 1_000_000 and os.environ.get("PGVECTOR"):
            found = server.ask(f"""
                SELECT value FROM bench_result WHERE (data, rows) = ('256 bits', {rows})
                AND contender = 'simhash' AND metric = ' ≤ 31 found a query'""")
            figures += pgvector(rows, rows_at, queries_at, float(found))
    server.run("pdq.sql")
    return figures


def pgvector(rows, rows_at, queries_at, found):
    """The time of its HNSW, and its share of the rows of an exact search."""
    server = Server(*os.environ["PGVECTOR"].split())
    server.run("pgvector.sql", ROWS=str(rows), LINES=rows_at, QUERIES=queries_at)
    for measured in server.figures():
        yield measured
        if measured["metric"].endswith("found a query"):
            metric = measured["metric"].replace("found a query", "recall")
            yield {**measured, "metric": metric, "value": measured["value"] / found}


def text_fingerprints(server, _directory, scales):
    for rows in sizes("TEXT_SCALES", scales):
        server.run("text_fingerprints.sql", ROWS=str(rows))
    return []


def near(server, _directory, _scales):
    measured = near_texts.measure(server, sorted(sizes("SIZES", [500_000, 5_000_000])))
    return [figure(*parts) for parts in measured]


def whole(server, _directory, _scales):
    measured = whole_texts.measure(server, sorted(sizes("SIZES", [])), rivals)
    return [figure(*parts) for parts in measured]


def copied(server, _directory, _scales):
    return [figure(*parts) for parts in passages.measure(server, rivals)]


PARTS = (core, texts, dedup, uniform, skewed, tenants, wide, text_fingerprints, near, whole, copied)


def main():
    server = Server(*sys.argv[1:3])
    about = machine(server)
    scales = sizes("SCALES", [1_000_000, 10_000_000])
    only = os.environ.get("ONLY", "").split()
    figures = []
    server.run("include/results.sql")
    with tempfile.TemporaryDirectory() as directory:
        for part in PARTS:
            if not only or part.__name__ in only:
                figures += part(server, directory, scales)
    figures += server.figures()
    keep(about, figures)


if __name__ == "__main__":
    main()
