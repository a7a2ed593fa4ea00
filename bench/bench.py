"""Runs the benchmarks in a private server and beside it, and writes docs/benchmarks: the figures, then the pages that show them.

usage: bench.py BINDIR SOCKET    (scripts/bench.sh starts the server)

From the environment: SCALES ("1000000 10000000"), the sizes of the uniform tables, none for "" (then only texts, methods, deduplication and BIG run); BIG=1 adds one of
50 million rows (BIG_ROWS says otherwise), without rivals. TEXT_SCALES are the sizes of the tables of texts' fingerprints, SCALES unless given. Figures of parts that do not run this time stay as they were.
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

import pages
import report

TOP = pathlib.Path(__file__).resolve().parent.parent
RESULTS = TOP / "docs/benchmarks/results.json"
SKEWED_ROWS = 1_000_000


class Server:
    def __init__(self, bindir, socket):
        self.bindir, self.socket = bindir, socket

    def command(self, program, *arguments):
        return [f"{self.bindir}/{program}", "-h", self.socket, "-U", "postgres", *arguments]

    def run(self, file, **environment):
        """Runs a file of bench/, its output shown."""
        print(f"== {file} {environment or ''}", flush=True)
        command = self.command("psql", "-X", "-q", "-d", "postgres", "-v", "ON_ERROR_STOP=1", "-f", f"bench/{file}")
        subprocess.run(command, cwd=TOP, env={**os.environ, **environment}, check=True)

    def ask(self, query):
        command = self.command("psql", "-X", "-q", "-A", "-t", "-d", "postgres", "-c", query)
        return subprocess.run(command, cwd=TOP, check=True, capture_output=True, text=True).stdout.strip()

    def save(self, query, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.ask(query) + "\n")

    def figures(self):
        """What the SQL files noted, and forgets it."""
        rows = self.ask("SELECT json_agg(r) FROM bench_result r")
        self.ask("TRUNCATE bench_result")
        return [{**row, "metric": row["metric"].strip()} for row in json.loads(rows or "null") or []]

    def pgbench(self, query, clients):
        """Transactions a second, prepared; :n in the query is 1 to 1000."""
        with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
            script.write(f"\\set n random(1, 1000)\n{query};\n")
            script.flush()
            command = self.command("pgbench", "-n", "-M", "prepared", "-T", "5", "-c", str(clients), "-j", "2", "-f", script.name, "postgres")
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return float(re.search(r"tps = ([0-9.]+)", output)[1])

    def throughput(self, rows):
        """Look-ups within 3 bits a second for 1 to 8 clients."""
        queries = {
            "simhash": "SELECT id FROM bench.doc WHERE hamming(fp, (SELECT fp FROM bench.query WHERE n = :n)) <= 3",
            "primary key look-up": "SELECT id FROM bench.doc WHERE id = :n",
        }
        self.ask("CREATE INDEX IF NOT EXISTS query_n ON bench.query (n); ANALYZE bench.query")
        for contender, query in queries.items():
            for clients in (1, 2, 4, 8):
                rate = self.pgbench(query, clients)
                yield {"section": "throughput", "data": "uniform", "rows": rows, "contender": contender, "metric": f"{clients} clients", "value": rate}

    def single_rows(self):
        """Rows inserted a second, each a transaction, into the tables that dedup.sql left, by 1 and 8 clients, with fsync off and on."""
        insert = "INSERT INTO bench.{} (fp) VALUES (bench.random64()::fingerprint64)"
        queries = {
            "index alone": insert.format("plain"),
            "index and simhash_dedup, distance 3": insert.format("triggered"),
            "exclusion constraint, distance 3": insert.format("excluded") + " ON CONFLICT DO NOTHING",
        }
        for fsync in ("off", "on"):
            self.ask(f"ALTER SYSTEM SET fsync = {fsync}")
            self.ask("SELECT pg_reload_conf(), pg_sleep(1)")
            for contender, query in queries.items():
                for clients in report.DEDUP_CLIENTS:
                    rate = self.pgbench(query, clients)
                    print(f"  {contender}: {rate:.0f} a second, {clients} clients, fsync {fsync}", flush=True)
                    yield {"section": "dedup", "data": "uniform", "rows": 100_000, "contender": contender, "metric": f"{clients} clients, fsync {fsync}", "value": rate}
        self.ask("ALTER SYSTEM RESET fsync")
        self.ask("SELECT pg_reload_conf()")


def rivals(*arguments, path=None):
    """The figures of rivals.py; a rival that cannot be had is a line of its own."""
    environment = {**os.environ, **({"PYTHONPATH": str(path)} if path else {})}
    command = [sys.executable, str(TOP / "bench/rivals.py"), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    figures = []
    for line in done.stdout.splitlines():
        figure = json.loads(line)
        if "skipped" in figure:
            print(f"{figure['skipped']}: skipped, {figure['why']}", flush=True)
        else:
            figures.append(figure)
    if done.returncode != 0:
        print(f"rivals {arguments[0]}: skipped, {(done.stderr.strip().splitlines() or ['no reason'])[-1]}", flush=True)
    for figure in figures:
        print(f"  {figure['contender']}: {figure['metric']} {figure['value']:.3f}", flush=True)
    return figures


def beside_the_index(server, rows, data, directory):
    """Libraries in memory, on the rows and queries that index.sql left."""
    server.save("SELECT h FROM bench.doc WHERE id > 0 ORDER BY id", f"{directory}/rows")
    server.save("SELECT h FROM bench.query ORDER BY n", f"{directory}/queries")
    figures = rivals("fingerprints", f"{directory}/rows", f"{directory}/queries", data)
    if data == "uniform" and rows <= 1_000_000:
        figures += rivals("pairs", f"{directory}/rows", path=os.environ.get("FIND_ALL"))
    return figures


def core_figures():
    """What criterion measured, if it ran: a speed where it was told how much there is to do, a time elsewhere."""
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
        yield {"section": "core", "data": benchmark["group_id"], "rows": 0, "contender": benchmark["function_id"] or "", "metric": metric, "value": value}


def example(name, *arguments):
    """The figures that an example of the core prints."""
    command = [TOP / "target/release/examples" / name, *arguments]
    return [float(word) for word in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]


def dictionary_figures():
    """What a process pays for jieba's dictionary: medians of five."""
    runs = [example("load_dictionary") for _ in range(5)]
    for metric, values in zip(("seconds", "MB"), zip(*runs)):
        yield {"section": "dictionary", "data": "zh", "rows": 0, "contender": "simhash", "metric": metric, "value": statistics.median(values)}


def memory_figures():
    """Bytes an element of what is held in memory while batches are deduplicated and models trained."""
    for structure in ("hash", "bloom", "trie", "near", "terms", "pairs", "model"):
        for metric, value in zip(("least bytes each", "most bytes each"), example("memory", structure)):
            yield {"section": "memory", "data": "random", "rows": 4_000_000, "contender": structure, "metric": metric, "value": value}


def machine(server):
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1])
    version = lambda command: subprocess.run(command, capture_output=True, text=True).stdout.strip()
    packages = json.loads(version([sys.executable, "-m", "pip", "list", "--format", "json"]) or "[]")
    return {
        "processor": cpu[1] if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "memory, GiB": round(memory / 2**20),
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        "PostgreSQL": server.ask("SHOW server_version"),
        "Rust": version(["rustc", "--version"]),
        **{p["name"]: p["version"] for p in packages if p["name"] in ("faiss-cpu", "datasketch", "rensa", "simhash", "jieba")},
    }


def sizes(variable, otherwise):
    """Numbers of rows, as the environment may say."""
    return [int(rows) for rows in os.environ[variable].split()] if variable in os.environ else otherwise


def main():
    server = Server(*sys.argv[1:3])
    scales = sizes("SCALES", [1_000_000, 10_000_000])
    figures = [*core_figures(), *dictionary_figures(), *memory_figures()]
    with tempfile.TemporaryDirectory() as directory:
        server.run("fingerprints.sql")
        server.run("methods.sql")
        server.run("dedup.sql")
        figures += server.single_rows()
        server.run("texts.sql")
        server.save("SELECT json_build_array(texts, body) FROM bench_texts ORDER BY md5(body)", f"{directory}/texts")
        figures += rivals("texts", f"{directory}/texts")
        for rows in scales:
            server.run("index.sql", ROWS=str(rows), DATA="uniform", RIVALS="all")
            figures += server.throughput(rows)
            figures += beside_the_index(server, rows, "uniform", directory)
            server.run("bulk.sql", ROWS=str(rows))
        for data in ("clusters", "zipf") if scales else ():
            rows = min(SKEWED_ROWS, max(scales))
            server.run("index.sql", ROWS=str(rows), DATA=data, RIVALS="all")
            figures += beside_the_index(server, rows, data, directory)
        for rows in sizes("TEXT_SCALES", scales):
            server.run("text_fingerprints.sql", ROWS=str(rows))
        if os.environ.get("BIG"):
            server.run("index.sql", ROWS=os.environ.get("BIG_ROWS", "50000000"), DATA="uniform", RIVALS="none")
    figures += server.figures()
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    report.keep(RESULTS, machine(server), figures)
    report.plots(RESULTS)
    pages.write()
    print("docs/benchmarks/, docs/benchmarks.md and the sections that other pages repeat are written")


if __name__ == "__main__":
    main()
