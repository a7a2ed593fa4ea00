"""docs/benchmarks.md as text, and its plots, from docs/benchmarks/results.json; pages.py writes it."""

import json

KEY = ("section", "data", "rows", "contender", "metric")
OURS = "simhash"
KINDS = {"zh": "Chinese statutes", "zh, short": "Chinese verses", "en": "English licences", "en, short": "English verses"}
DEDUP_CLIENTS = (1, 8)
SLOWER = {"expression B-trees": "four expression B-trees", "covering block table": "covering SQL block table"}


def keep(path, machine, figures):
    """Replaces whole tables of what was measured before by what was measured again: a contender that is not there now leaves no figure behind."""
    old = json.loads(path.read_text()) if path.exists() else {"figures": []}
    tables = {(f["section"], f["data"], f["rows"]) for f in figures}
    before = [f for f in old["figures"] if (f["section"], f["data"], f["rows"]) not in tables]
    merged = {tuple(f[k] for k in KEY): f for f in before + figures}
    lines = ",\n  ".join(json.dumps({**f, "value": float(f"{f['value']:.5g}")}, ensure_ascii=False) for f in merged.values())
    path.write_text(f'{{"machine": {json.dumps(machine, ensure_ascii=False)},\n "figures": [\n  {lines}\n]}}\n', encoding="utf-8")


class Figures:
    def __init__(self, results):
        data = json.loads(results.read_text(encoding="utf-8"))
        self.figures, self.machine = data["figures"], data["machine"]

    def scales(self):
        return sorted(self.distinct("rows", section="latency", data="uniform", contender=OURS))

    def scales_with_rivals(self):
        return sorted(self.distinct("rows", section="latency", data="uniform", contender="covering block table"))

    def value(self, **wanted):
        found = [f["value"] for f in self.figures if all(f[k] == v for k, v in wanted.items())]
        return found[0] if found else None

    def distinct(self, key, **wanted):
        seen = {}
        for figure in self.figures:
            if all(figure[k] == v for k, v in wanted.items()):
                seen[figure[key]] = None
        return list(seen)


def shown(value):
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def times(rival, ours):
    return "" if rival is None or not ours else f"{rival / ours:.3g} ×"


def ratio(a, b):
    if not a or not b:
        return "?"
    return f"{a / b:.2g}" if a / b < 99.5 else f"{a / b:.0f}"


def told(value):
    """In a sentence, where nothing is not an answer."""
    return shown(value) or "?"


def size(rows):
    return f"{rows / 1e6:g} M"


def table(header, rows):
    line = lambda cells: "| " + " | ".join(str(cell) for cell in cells) + " |"
    return "\n".join([line(header), line(["---"] * len(header)), *map(line, rows)])


def latency_table(f, data, rows):
    at = {"section": "latency", "data": data, "rows": rows}
    distances = ["≤ 3", "≤ 6", "nearest 10"]
    lines = []
    for contender in f.distinct("contender", **at):
        if "128" in contender or contender == "primary key look-up":
            continue
        cells = [f"**{contender}**" if contender == OURS else SLOWER.get(contender, contender)]
        for distance in distances:
            p50 = f.value(**at, contender=contender, metric=f"{distance} p50")
            p99 = f.value(**at, contender=contender, metric=f"{distance} p99")
            ours = f.value(**at, contender=OURS, metric=f"{distance} p50")
            recall = f.value(**at, contender=contender, metric=f"{distance} recall")
            cell = "" if p50 is None else f"{shown(p50)} / {shown(p99)}"
            if p50 is not None and contender != OURS:
                cell = f"**{times(p50, ours)}** {cell}"
            cells.append(cell + (f", recall {recall:.2f}" if recall is not None else ""))
        if any(cells[1:]):
            lines.append(cells)
    return table(["contender", *[f"{d}: times ours, p50 / p99 ms" for d in distances]], lines)


def own_table(f, scales):
    lines = []
    for contender, distances in ((OURS, ["≤ 3", "≤ 6", "≤ 8", "≤ 10", "≤ 12", "nearest 10"]), ("simhash, 128 bits", ["≤ 3", "≤ 10", "≤ 16", "≤ 20", "≤ 24"])):
        for distance in distances:
            values = [[f.value(section="latency", data="uniform", rows=rows, contender=contender, metric=f"{distance} {p}") for p in ("p50", "p99")] for rows in scales]
            cells = [f"{shown(p50)} / {shown(p99)}" if p50 is not None else "" for p50, p99 in values]
            if any(cells):
                lines.append(["128 bits" if "128" in contender else "64 bits", distance, *cells])
    return table(["width", "distance", *[f"{size(rows)} rows, p50 / p99 ms" for rows in scales]], lines)


def growth_line(f, scales):
    values = [f.value(section="latency", data="uniform", rows=rows, contender=OURS, metric="≤ 3 p50") for rows in scales]
    return "; ".join(f"{size(a)} to {size(b)} rows {v / u:.2f} ×" for a, b, u, v in zip(scales, scales[1:], values, values[1:]) if u and v)


def building_table(f, rows):
    ours = {m: f.value(section=s, data="uniform", rows=rows, contender=OURS, metric=m) for s, m in (("build", "seconds"), ("build", "bytes a row"), ("insert", "rows a second"))}
    wal = {c: f.value(section="wal", data="uniform", rows=rows, contender=c, metric="bytes a row") for c in ("no index", OURS, "expression B-trees")}
    lines = []
    contenders = f.distinct("contender", section="build", data="uniform", rows=rows)
    for contender in ["no index", *contenders]:
        seconds = f.value(section="build", data="uniform", rows=rows, contender=contender, metric="seconds")
        bytes_a_row = f.value(section="build", data="uniform", rows=rows, contender=contender, metric="bytes a row")
        rate = f.value(section="insert", data="uniform", rows=rows, contender=contender, metric="rows a second")
        at_first = f.value(section="insert", data="uniform", rows=rows, contender=contender, metric="rows a second, first 100,000 after a checkpoint")
        logged = wal.get(contender)
        of_index = logged - wal["no index"] if logged and contender != "no index" else None
        name = f"**{contender}**" if contender == OURS else SLOWER.get(contender, contender)
        lines.append([name, shown(seconds), shown(bytes_a_row), shown(of_index), shown(at_first), shown(rate), times(ours["rows a second"], rate) if rate and contender != OURS else ""])
    return table(["index", "build, s", "bytes a row", "WAL bytes a row", "inserts: first 100,000 after a checkpoint, rows/s", "the next 400,000", "ours is faster by"], lines)


def throughput_table(f, rows):
    clients = f.distinct("metric", section="throughput", rows=rows)
    lines = [[c, *[shown(f.value(section="throughput", rows=rows, contender=c, metric=m)) for m in clients]] for c in f.distinct("contender", section="throughput", rows=rows)]
    return table(["look-ups a second", *clients], lines)


def texts_table(f):
    lines = []
    for contender in f.distinct("contender", section="texts"):
        lines.append([contender, *[shown(f.value(section="texts", contender=contender, data=kind)) for kind in KINDS]])
    return table(["MB/s", *KINDS.values()], lines)


def core_table(f):
    lines = [[figure["data"], figure["contender"], f"{shown(figure['value'])} {figure['metric']}"] for figure in f.figures if figure["section"] == "core"]
    return table(["group", "what", "result"], lines)


def dedup_table(f):
    lines = []
    for contender in f.distinct("contender", section="dedup", metric="COPY, microseconds a row"):
        value = lambda metric: shown(f.value(section="dedup", contender=contender, metric=metric))
        lines.append([contender, value("COPY, microseconds a row"), *[value(f"{clients} clients, fsync {fsync}") for fsync in ("off", "on") for clients in DEDUP_CLIENTS]])
    return table(["", "COPY, microseconds a row", "single rows a second: 1 client", "8 clients", "fsync on: 1 client", "8 clients"], lines)


def bloom_line(f):
    rates = f.distinct("contender", section="bloom")
    return "Share of false answers, a million asked for of 100,000 texts: " + ", ".join(f"{f.value(section='bloom', contender=rate):.3g} where {rate} was asked for" for rate in rates) + "."


def minhash_table(f):
    sets = [(rows, f.distinct("contender", section="minhash", rows=rows)[0]) for rows in f.distinct("rows", section="minhash")]
    error = lambda metric: [f"{f.value(section='minhash', rows=rows, metric=metric):.3f}" for rows, _ in sets]
    return table(["set size, J", *[f"{rows:,}, {similarity}" for rows, similarity in sets]],
                 [["measured", *error("error")], ["independent permutations", *error("error of independent permutations")]])


def texts_line(f):
    """What the database adds, and what the dictionary costs."""
    parts = []
    for data, name in (("en", "English"), ("zh", "Chinese")):
        core, sql = (f.value(section="SQL and core", data=data, contender=c) for c in ("core", "SQL"))
        if core and sql:
            parts.append(f"{name} {core / sql:.2f}")
    return (f"`SELECT simhash(body)` over 100,000 texts takes, times as long as the core on the same: {', '.join(parts)}. Loading jieba's dictionary takes "
            f"{told(f.value(section='dictionary', metric='seconds'))} s and {told(f.value(section='dictionary', metric='MB'))} MB.")


def bulk_table(f):
    lines = []
    contenders = f.distinct("contender", section="bulk")
    for rows in f.distinct("rows", section="bulk"):
        # Clusters are more work than the pairs that a rival stops at: the comparison is with pairs.
        for metric in f.distinct("metric", section="bulk", rows=rows, contender=OURS):
            values = {c: f.value(section="bulk", rows=rows, contender=c, metric=metric) for c in contenders}
            cell = lambda c: f"**{times(values[c], values[OURS])}** {shown(values[c])}" if c != OURS and values[c] else shown(values[c])
            lines.append([size(rows), metric, *map(cell, contenders)])
    return table(["rows", "what", *contenders], lines)


def text_fingerprints_table(f, rows):
    at = {"section": "text fingerprints", "rows": rows}
    lines = []
    for contender in f.distinct("contender", **at):
        value = lambda metric: f.value(**at, contender=contender, metric=metric)
        cells = [contender, shown(value("largest run"))]
        for share in ("0.9", "0.99"):
            cells.append(f"{value(f'distance that finds {share}'):.0f}: {shown(value(f'query that finds {share} p50'))} / {shown(value(f'query that finds {share} p99'))}, {value(f'query that finds {share} found'):.3g} rows")
        pairs = "all pairs at the distance that finds 0.9"
        lines.append([*cells, f"{shown(value(f'{pairs}, seconds'))}, {value(f'{pairs}, found'):,.0f}"])
    return table(["", "largest run", "finds 90 % of the copies at: p50 / p99 ms", "99 % at: p50 / p99 ms", "all pairs at 90 %: seconds, found"], lines)


def plots(results):
    import matplotlib

    f = Figures(results)
    directory, scales = results.parent, f.scales()

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "pg_simhash", "font.size": 10, "figure.figsize": (7, 4)})
    from matplotlib import pyplot

    def save(name):
        pyplot.grid(True, which="major", alpha=0.3)
        pyplot.legend(fontsize=8)
        pyplot.tight_layout()
        pyplot.savefig(directory / name, metadata={"Date": None})
        pyplot.close()

    rows = 10_000_000 if 10_000_000 in scales else scales[-1]
    at = {"section": "latency", "data": "uniform", "rows": rows}
    for contender in f.distinct("contender", **at):
        points = [(int(m.split()[1]), f.value(**at, contender=contender, metric=m)) for m in f.distinct("metric", **at, contender=contender) if m.startswith("≤") and m.endswith("p50")]
        if points and "128" not in contender:
            pyplot.plot(*zip(*sorted(points)), marker="o", label=SLOWER.get(contender, contender), linewidth=3 if contender == OURS else 1.5)
    pyplot.yscale("log")
    pyplot.xlabel("Hamming distance, of 64 bits")
    pyplot.ylabel("median, ms")
    pyplot.title(f"A query over {size(rows)} rows")
    save("distance.svg")

    for contender in f.distinct("contender", section="latency", data="uniform", metric="≤ 3 p50"):
        points = [(n, f.value(section="latency", data="uniform", rows=n, contender=contender, metric="≤ 3 p50")) for n in scales]
        points = [point for point in points if point[1] is not None]
        if len(points) > 1:
            pyplot.plot(*zip(*points), marker="o", label=SLOWER.get(contender, contender), linewidth=3 if contender == OURS else 1.5)
    pyplot.xscale("log")
    pyplot.yscale("log")
    pyplot.xlabel("rows")
    pyplot.ylabel("median, ms")
    pyplot.title("Within 3 of 64 bits")
    save("growth.svg")


def same_rows(f):
    """Within 3 bits every contender answers the same thousand queries; those named are exact."""
    exact = ("expression B-trees", "GIN on block keys", "covering block table", "faiss MultiHash, in memory")
    found = lambda data, rows, c: f.value(section="latency", data=data, rows=rows, contender=c, metric="≤ 3 found a query")
    tables = [(data, rows) for data in f.distinct("data", section="latency") for rows in f.distinct("rows", section="latency", data=data)]
    differ = [f"{SLOWER.get(c, c)} ({data}, {size(rows)})" for data, rows in tables for c in exact if found(data, rows, c) not in (None, found(data, rows, OURS))]
    return "NOT ALL FOUND THE SAME ROWS: " + ", ".join(differ) if differ else "Within 3 bits all exact contenders found the same number of rows"


def page(results):
    f = Figures(results)
    scales = f.scales()
    with_rivals = f.scales_with_rivals()
    parts = [
        "# Benchmarks",
        "Written by `make bench`; do not edit. Every ratio is between medians of the same run: how many times longer a rival takes. One connection, "
        "prepared, warm; 1000 queries each (fewer where slow), half of which are rows with up to two bits flipped. " + same_rows(f) + ".",
        "![latency by distance](benchmarks/distance.svg)\n![growth](benchmarks/growth.svg)",
        "## Uniform fingerprints, a tenth of them planted near-duplicates",
    ]
    for rows in with_rivals:
        parts += [f"### {size(rows)} rows, 64 bits", latency_table(f, "uniform", rows)]
    parts += ["### All distances", own_table(f, scales), f"Growth of the median within 3 bits: {growth_line(f, scales)}."]
    for name, title in (("clusters", "20,000 equal clusters, members 1 to 12 flips from the centre"), ("zipf", "the same with cluster sizes by Zipf's law")):
        for rows in f.distinct("rows", section="latency", data=name):
            parts += [f"## Skewed, {size(rows)} rows: {title}", latency_table(f, name, rows)]
    for rows in with_rivals[-1:]:
        parts += [f"## Build, size, WAL, inserts: {size(rows)} rows", building_table(f, rows),
                  "WAL without full-page images, splits included. Inserts in batches of 1000, each a transaction, right after a checkpoint full-page images of every page touched; GIN without its pending list."]
        parts += ["## Concurrency", f"pgbench, prepared, look-ups within 3 bits of {size(rows)} rows (the query's fingerprint is read from a table first).", throughput_table(f, rows)]
    if f.distinct("rows", section="bulk"):
        parts += ["## Whole tables", bulk_table(f)]
    if f.distinct("rows", section="text fingerprints"):
        parts += ["## Fingerprints of texts: simhash and one-bit MinHash",
                  "Texts of four clauses drawn from English verses; every tenth is a copy that lacks a word. Each method at the distances that find 90 and 99 % of such copies. The largest run: rows that share "
                  "a block of the index, which a probe has to read."]
        for rows in f.distinct("rows", section="text fingerprints"):
            parts += [f"### {size(rows)} rows", text_fingerprints_table(f, rows)]
    if f.distinct("contender", section="dedup"):
        parts += ["## Deduplicating on insert",
                  "100,000 random fingerprints, a table with a primary key. COPY into the empty table; then single rows into the filled one, each a transaction, by pgbench, "
                  "prepared (with ON CONFLICT DO NOTHING where there is a constraint). With fsync on a commit waits for the disk.", dedup_table(f)]
    parts += ["## Texts", "In SQL, one process; and libraries for Python on the same texts (datasketch on shingles of 5 words, of 5 characters for Chinese, where ours are of words that jieba cuts).", texts_table(f)]
    for how in ("update", "update_batch"):
        speed = {k: (f.value(section="texts", contender="minhash, 128 of 5-shingles", data=k), f.value(section="texts", contender=f"datasketch MinHash(128), {how}", data=k)) for k in KINDS}
        if all(ours and theirs for ours, theirs in speed.values()):
            parts += [f"minhash of 128 of 5-shingles, in SQL, against datasketch by {how}: " + ", ".join(f"{KINDS[k]} {ours / theirs:.1f} ×" for k, (ours, theirs) in speed.items()) + "."]
    if f.distinct("contender", section="batch"):
        stages = [[c, shown(f.value(section="batch", contender=c, metric="seconds"))] for c in f.distinct("contender", section="batch")]
        parts += ["`dedup_texts` over 2.5 million texts of ten words, every fifth of them seen before, one pass in one process; Gao and Li (2014) report 3.5 s for their Bloom filter and 14.4 s for their trie, on a machine of theirs.",
                  table(["exact stage", "seconds"], stages)]
    parts += [texts_line(f)]
    for rows in f.distinct("rows", section="short texts"):
        values = {c: f.value(section="short texts", contender=c, metric="p50") for c in f.distinct("contender", section="short texts")}
        parts += [f"A short text against {rows:,} of 120 characters, median: " + ", ".join(f"{c} {shown(v)} ms" for c, v in values.items()) + ". They do not find the same: trigram similarity finds more of what is short and heavily edited."]
    if f.distinct("data", section="core"):
        parts += ["<details><summary>The core, without PostgreSQL</summary>\n", core_table(f), "\n</details>"]
    if f.distinct("contender", section="bloom"):
        parts += ["## How near to what is promised", bloom_line(f),
                  "MinHash of 128 components: root mean square error, beside sqrt(J (1 - J) / 128), that of independent permutations.", minhash_table(f)]
    parts += ["## Where we lose", LOSSES.format(**losses(f, with_rivals))]
    parts += ["## Machine and versions", ", ".join(f"{k} {v}" for k, v in f.machine.items()) + "."]
    return "\n\n".join(parts) + "\n"


LOSSES = """\
- **A primary-key look-up** is {pk} times as fast as a look-up within 3 bits.
- **Building** takes {build} times a B-tree's time, and the index {bytes} bytes a row where four expression B-trees take {expression_bytes}.
- **Nearest 10** of {rows} rows: faiss BinaryFlat in memory takes {flat} ms, exact as well, ours {nearest} ms; but faiss has no transactions, no durability and
  no deletes, and its time grows with the table.
- **Inserts** are {insert} times as fast as into four expression B-trees; into no index at all they are {bare} times as fast as into ours.
- **Single rows through `simhash_dedup`** commit one after the other: eight clients insert {triggered} rows a second with fsync on, {excluded} into a table with an exclusion constraint.
- Short and heavily edited texts: the similarity of sets of character shingles (pg_trgm's is of that kind) and `minhash` find more; see [evaluation.md](evaluation.md#short-texts)."""


def losses(f, with_rivals):
    rows = with_rivals[-1] if with_rivals else 0
    at = {"data": "uniform", "rows": rows}
    latency = lambda c, m: f.value(section="latency", **at, contender=c, metric=m)
    build = lambda c, m: f.value(section="build", **at, contender=c, metric=m)
    insert = lambda c: f.value(section="insert", **at, contender=c, metric="rows a second")
    single_rows = lambda c: f.value(section="dedup", contender=c, metric="8 clients, fsync on")
    return {
        "rows": size(rows),
        "triggered": told(single_rows("index and simhash_dedup, distance 3")),
        "excluded": told(single_rows("exclusion constraint, distance 3")),
        "pk": ratio(latency(OURS, "≤ 3 p50"), latency("primary key look-up", "p50")),
        "build": ratio(build(OURS, "seconds"), build("B-tree on the bigint", "seconds")),
        "bytes": told(build(OURS, "bytes a row")),
        "expression_bytes": told(build("expression B-trees", "bytes a row")),
        "flat": told(latency("faiss BinaryFlat, in memory", "nearest 10 p50")),
        "nearest": told(latency(OURS, "nearest 10 p50")),
        "insert": ratio(insert(OURS), insert("expression B-trees")),
        "bare": ratio(insert("no index"), insert(OURS)),
    }
