"""Pages that show benchmark figures, written from docs/benchmarks/results.json: docs/benchmarks.md, and sections of others.

usage: pages.py          writes them
       pages.py check    fails if one is not what it would write, or if a section's page has a figure that somebody typed

A section is what lies between the lines "<!-- written by make bench: NAME -->" and "<!-- end of what make bench writes -->".
"""

import pathlib
import re
import sys
import textwrap

import report
from report import KINDS, OURS, SLOWER, ratio, shown, told

TOP = pathlib.Path(__file__).resolve().parent.parent
RESULTS = TOP / "docs/benchmarks/results.json"
SECTION = re.compile(r"(<!-- written by make bench: ([a-z-]+) -->\n).*?(<!-- end of what make bench writes -->\n)", re.S)
# What no figure can be typed in: sections, also those of make evaluate, and examples.
OWNED = re.compile(r"<!-- written by .*?<!-- end of what |^```.*?^```", re.S | re.M)
TYPED = re.compile(r"\d[\d.,]* ?(?:ms|µs|s|microseconds?|milliseconds?|seconds?|MB/s|rows/s|times(?: as)?|×)(?![\w/])|\b0\.\d{3,}\b")


def and_then(parts):
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def index(f):
    rows = f.scales_with_rivals()[-1]
    at = {"data": "uniform", "rows": rows}
    p50 = lambda distance, contender=OURS: f.value(section="latency", **at, contender=contender, metric=f"{distance} p50")
    text = (f"At {million(rows)} rows, warm, a query takes {told(p50('≤ 3'))} ms within 3 bits, {told(p50('≤ 6'))} ms within 6 and {told(p50('≤ 10'))} ms within 10 "
            f"(128 bits: {told(p50('≤ 10', 'simhash, 128 bits'))} ms within 10, {told(p50('≤ 20', 'simhash, 128 bits'))} ms within 20)")
    rivals = []
    for contender, name in (("covering block table", "a covering SQL block table"), ("expression B-trees", SLOWER["expression B-trees"]), ("GIN on block keys", "GIN"), ("faiss MultiHash, in memory", "faiss's MultiHash in memory")):
        if p50("≤ 3", contender):
            rivals.append(f"{name} {ratio(p50('≤ 3', contender), p50('≤ 3'))} and {ratio(p50('≤ 6', contender), p50('≤ 6'))}")
    text += f"; times as long for the first two: {', '.join(rivals)}. The ten nearest take {told(p50('nearest 10'))} ms."
    build = lambda contender: f.value(section="build", **at, contender=contender, metric="seconds")
    insert = lambda contender, when="": f.value(section="insert", **at, contender=contender, metric="rows a second" + when)
    first = ", first 100,000 after a checkpoint"
    text += (f" It is {told(f.value(section='build', **at, contender=OURS, metric='bytes a row'))} bytes a row at 64 bits, builds in {ratio(build(OURS), build('B-tree on the bigint'))} times a B-tree's time "
             f"and takes inserts {ratio(insert(OURS), insert('expression B-trees'))} times as fast as the four B-trees ({ratio(insert(OURS, first), insert('expression B-trees', first))} times right after a checkpoint).")
    others = and_then([f"{n / 1e6:g}" for n in f.scales() if n != rows])
    return text + f" All of it, also at {others} million rows, on skewed data, and where we lose: [docs/benchmarks.md](docs/benchmarks.md), written by `make bench`."


def bulk(f):
    least, *larger = sorted(f.distinct("rows", section="bulk")) or [0]
    pairs = lambda rows, distance, contender=OURS: f.value(section="bulk", rows=rows, contender=contender, metric=f"pairs ≤ {distance}, seconds")
    text = f"The pairs of {million(least)} rows take {told(pairs(least, 3))} s at distance 3 and {told(pairs(least, 10))} s at distance 10"
    rivals = [f"{name} {ratio(pairs(least, 3, contender), pairs(least, 3))} times as long" for contender, name in (("C++ simhash, find_all", "the C++ simhash library takes"), ("SQL over a covering block table", "SQL over a ready covering block table")) if pairs(least, 3, contender)]
    text += f"; at distance 3 {', '.join(rivals)}." if rivals else "."
    return text + "".join(f" At {million(rows)} rows it is {told(pairs(rows, 3))} s at distance 3." for rows in larger)


def dedup(f):
    value = lambda contender, metric: told(f.value(section="dedup", contender=contender, metric=metric))
    triggered, excluded = "index and simhash_dedup, distance 3", "exclusion constraint, distance 3"
    load = "COPY, microseconds a row"
    return (f"A load of 100,000 rows takes {value('index alone', load)} microseconds a row with an index and no trigger, {value(triggered, load)} with the trigger at distance 3, "
            f"{value('index and simhash_dedup, distance 6', load)} at distance 6, {value(excluded, load)} with an exclusion constraint. Single rows, each a transaction that waits for the disk: "
            f"one client inserts {value(triggered, '1 clients, fsync on')} a second through the trigger and {value(excluded, '1 clients, fsync on')} under the constraint, eight clients together "
            f"{value(triggered, '8 clients, fsync on')} and {value(excluded, '8 clients, fsync on')} ([docs/benchmarks.md](docs/benchmarks.md)).")


def dictionary(f):
    value = lambda metric: told(f.value(section="dictionary", metric=metric))
    return f"The dictionary takes {value('MB')} MB, and {value('seconds')} s to load."


def speed(f):
    core = lambda data, contender, metric: told(f.value(section="core", data=data, contender=contender, metric=metric))
    lines = []
    for contender in f.distinct("contender", section="texts"):
        speeds = [f.value(section="texts", contender=contender, data=kind) for kind in KINDS]
        # The rivals' rows are counted elsewhere.
        if f.distinct("rows", section="texts", contender=contender) != [0]:
            lines.append([contender, *map(shown, speeds)])
    training = [f"{name} {core(f'methods/{data}', 'training', 'MB/s')} MB/s" for data, name in (("zh_laws", "Chinese"), ("en_licenses", "English"))]
    return (f"{report.table(['MB/s, in SQL', *KINDS.values()], lines)}\n\nTraining a model, without the database: {' and '.join(training)}; "
            f"a model of 300,000 terms is ready in {core('methods', 'loading a model of 300,000 terms', 'ms')} ms.")


def info(f):
    """As psql's expanded display has it, figures rounded."""
    rows = f.scales_with_rivals()[-1]
    figures = {metric: f"{f.value(section='index info', data='uniform', rows=rows, metric=metric):.10g}" for metric in f.distinct("metric", section="index info", data="uniform", rows=rows)}
    name, value = (max(map(len, words), default=0) for words in (figures, figures.values()))
    lines = [f"{metric:{name}} | {figure}" for metric, figure in figures.items()]
    record = f"{'-[ RECORD 1 ]'.ljust(name + 1, '-')}+{'-' * (value + 1)}"
    return "\n".join(["```", record, *lines, "```"])


def each(f, structure):
    """Bytes an element, at their least and at their most."""
    figures = [f.value(section="memory", contender=structure, metric=f"{which} bytes each") for which in ("least", "most")]
    return " to ".join(dict.fromkeys("?" if figure is None else f"{figure:.0f}" for figure in figures))


def training(f):
    return (f"Counted on the way from one to four million: {each(f, 'terms')} bytes a distinct term and {each(f, 'pairs')} a distinct pair of neighbours "
            f"(tables double). The stored model of as many terms: {each(f, 'model')} bytes a term.")


def batch(f):
    stages = [f"`{contender}` {told(f.value(section='batch', contender=contender, metric='seconds'))} s" for contender in f.distinct("contender", section="batch")]
    return (f"2.5 million texts of ten words, in one backend: {', '.join(stages)} (Gao and Li report 3.5 s for their Bloom filter and 14.4 s for their trie). "
            f"Memory a text, counted on the way from one to four million: `hash` {each(f, 'hash')} bytes, `trie` {each(f, 'trie')} and the text itself, `bloom` {each(f, 'bloom')}; "
            f"the near stage {each(f, 'near')} a text that is kept. Tables double, hence the ranges.")


def million(rows):
    return "a million" if rows == 1_000_000 else f"{rows / 1e6:g} million"


def paragraph(text):
    return "\n".join(textwrap.fill(line, 140, break_long_words=False, break_on_hyphens=False) if not line.startswith("|") else line for line in text.split("\n"))


# Each is made of the figures; a name is used once.
SECTIONS = {"index": index, "bulk": bulk, "dedup": dedup, "dictionary": dictionary, "speed": speed, "batch": batch, "training": training, "index-info": info, "bloom": report.bloom_line, "minhash": report.minhash_table}


def pages():
    """Every page with what it should be."""
    f = report.Figures(RESULTS)
    yield TOP / "docs/benchmarks.md", report.page(RESULTS)
    for path in [TOP / "README.md", *sorted(TOP.glob("docs/*.md")), *sorted(TOP.glob("docs/methods/*.md"))]:
        text = path.read_text(encoding="utf-8")
        written = SECTION.sub(lambda found: found[1] + paragraph(SECTIONS[found[2]](f)) + "\n" + found[3], text)
        if path.name not in ("benchmarks.md", "evaluation.md"):
            yield path, written


def write():
    for path, text in pages():
        path.write_text(text, encoding="utf-8")


def check():
    wrong = []
    for path, text in pages():
        name = path.relative_to(TOP)
        if path.read_text(encoding="utf-8") != text:
            wrong.append(f"{name}: is not what docs/benchmarks/results.json gives; `python3 bench/pages.py` writes it")
        if path.name != "benchmarks.md":
            wrong += [f"{name}: the figure \"{found[0]}\" was typed; let make bench or make evaluate write it" for found in TYPED.finditer(OWNED.sub("", text))]
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    check() if sys.argv[1:] == ["check"] else write()
