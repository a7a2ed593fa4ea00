"""Tables of the pages of benchmarks and of the README, from the results of `make bench`."""

import json
import re

from .markdown import headed, shown, size, table, times
from .near_texts import NOTHING, NearTexts
from .whole_texts import WholeTexts

OURS = "simhash"
# The contenders in the README, and those that must find the same rows as the extension.
RIVALS = ["covering block table", "faiss MultiHash, in memory", "expression B-trees",
          "faiss BinaryFlat, in memory", "sequential scan"]
EXACT = [*RIVALS[:3], "GIN on block keys", "simhash, id included", "simhash (fp), filtered",
         "covering B-tree (tenant)", "an index of its own"]
DISTANCES = ["≤ 3", "≤ 6", "nearest 10"]
NAMES = {
    OURS: f"**{OURS}**",
    "expression B-trees": "four expression B-trees",
    "covering block table": "covering SQL block table",
    "zh": "Chinese",
    "zh, short": "Chinese, short",
    "en": "English",
    "en, short": "English, short",
}


# Tables that show a section directly: the keys of lines, the keys of columns, and the corner.
PLAIN = {
    "throughput": (["rows", "contender"], ["what"], ["rows", "look-ups a second"]),
    "dedup": (["contender"], ["what"], ["rows a second"]),
    "texts": (["contender"], ["data"], ["MB/s"]),
    "SQL and core": (["data"], ["contender"], ["MB/s"]),
    "batch": (["contender"], ["what"], [""]),
    "memory": (["contender"], ["what"], [""]),
    "dictionary": (["section"], ["what"], [""]),
    "bloom": (["contender"], ["what"], ["asked for"]),
    "minhash": (["rows", "contender"], ["what"], ["set size", "J"]),
    "passages": (["rows", "contender"], ["what"], ["texts", ""]),
}


def written(value):
    if isinstance(value, int):
        return size(value)
    return NAMES.get(value, value.replace("1 clients", "1 client"))


def cell(figure, ours=None):
    """A value, or a median with its further statistics, and the ratio to ours."""
    if figure is None:
        return ""
    text = shown(figure["value"])
    if "p99" in figure:
        text += f" / {shown(figure['p99'])}"
    if "recall" in figure:
        text += f", recall {figure['recall']:.2f}"
    if ours is None or ours is figure:
        return text
    return f"**{times(figure['value'], ours['value'])}** {text}"


class Benchmarks(NearTexts, WholeTexts):
    """`self[name]` is the replacement of that name in the template."""

    def __init__(self, directory):
        results = json.loads((directory / "results.json").read_text(encoding="utf-8"))
        self.parts = results["machine"]
        self.figures = {}
        for figure in results["figures"]:
            # The statistics of one measurement are combined into one figure.
            what, statistic = re.fullmatch(
                "(.*?) ?(p50|p99|recall|found a query)?", figure["metric"]).groups()
            key = {name: figure[name] for name in ("section", "data", "rows", "contender")}
            key["what"] = what
            whole = self.figures.setdefault(tuple(key.values()), key)
            whole["value" if statistic in (None, "p50") else statistic] = figure["value"]
        self.figures = sorted(self.figures.values(), key=lambda figure: figure["rows"])
        self.largest = max(self.distinct("rows", data="uniform", contender=RIVALS[0]))
        self.check_found()
        # WAL of a table without an index does not count for the index.
        bare = {f["rows"]: f["value"] for f in self.select(section="wal", contender="no index")}
        for figure in self.select(section="wal"):
            figure["value"] -= bare[figure["rows"]]

    def __getitem__(self, name):
        section = name.replace("_", " ")
        if section in PLAIN and not self.select(section=section):
            return NOTHING
        if section in PLAIN:
            return self.pivot(*PLAIN[section], section=section)
        if name in ("uniform", "clusters", "zipf"):
            return self.latency(name)
        return getattr(self, name)()

    def select(self, **wanted):
        """Figures in their order. A wanted key is a value or a list of values."""
        def fits(figure):
            return all(figure[name] in value if isinstance(value, list) else figure[name] == value
                       for name, value in wanted.items())

        return [figure for figure in self.figures if fits(figure)]

    def distinct(self, name, **wanted):
        return sorted({figure[name] for figure in self.select(**wanted)})

    def ours(self, figure):
        """Our figure for the same measurement as another contender's."""
        same = {name: figure[name] for name in ("section", "data", "rows", "what")}
        return next(iter(self.select(**same, contender=OURS)), None)

    def check_found(self):
        """Checks that exact contenders found the same number of rows, as the page claims."""
        at = {"section": "latency", "contender": EXACT}
        for figure in self.select(**at, what=["≤ 3", "≤ 10", "≤ 31"]):
            if figure["found a query"] != self.ours(figure)["found a query"]:
                raise SystemExit(f"not as many rows found as by {OURS}: {figure}")

    def pivot(self, down, across, corner, titles=None, compared=False, **wanted):
        """A table of figures, with lines and columns by these keys, and with titles of columns."""
        lines, titles, figures = {}, dict(titles or {}), self.select(**wanted)
        if compared:
            figures.sort(key=lambda figure: figure["contender"] != OURS)
        for figure in figures:
            line, column = (tuple(figure[name] for name in names) for names in (down, across))
            titles.setdefault(column, written(column[-1]))
            ours = self.ours(figure) if compared else None
            lines.setdefault(line, {})[column] = cell(figure, ours)
        return table([*corner, *titles.values()], [
            [*map(written, line), *(cells.get(column, "") for column in titles)]
            for line, cells in lines.items()])

    # Queries

    def queries(self):
        """The README's table: medians of the largest table with rivals."""
        at = {"section": "latency", "data": "uniform", "rows": self.largest}
        lines = []
        for contender in [OURS, *RIVALS]:
            figures = {f["what"]: f for f in self.select(**at, contender=contender)}
            line = [written(contender)]
            for what in DISTANCES:
                text = f"{shown(figures[what]['value'])} ms" if what in figures else ""
                if text and contender != OURS:
                    ours = self.ours(figures[what])["value"]
                    text = f"{times(figures[what]['value'], ours)} ({text})"
                line.append(text)
            if any(line[1:]):
                lines.append(line)
        return table([f"{size(self.largest)} rows", "within 3 of 64 bits", "within 6",
                      "nearest 10"], lines)

    def latency(self, data):
        at = {"section": "latency", "data": data}
        others = [c for c in self.distinct("contender", **at) if "128" not in c]
        return headed((f"{size(rows)} rows", self.pivot(
            ["contender"], ["what"], ["ms"], compared=True,
            **at, rows=rows, what=DISTANCES, contender=others))
            for rows in self.distinct("rows", **at, contender=RIVALS[0]))

    def tenants(self):
        """The tables of tenants, by the tenants of the queries."""
        return headed((title, self.pivot(
            ["contender"], ["what"], ["ms"], compared=True, section="latency", data=data))
            for title, data in (("Tenants of a ten-thousandth of the rows", "tenants"),
                                ("The largest tenant, a tenth of the rows", "largest tenant")))

    def tenant_builds(self):
        return self.pivot(["contender"], ["what"], [""], section="build", data="tenants")

    def wide(self):
        at = {"section": "latency", "data": "256 bits"}
        return headed((f"{size(rows)} rows", self.pivot(
            ["contender"], ["what"], ["ms"], compared=True, **at, rows=rows))
            for rows in self.distinct("rows", **at))

    def wide_builds(self):
        return self.pivot(["rows", "contender"], ["what"], ["rows", ""], section="build",
                          data="256 bits")

    def pictures(self):
        return self.pivot(["contender"], ["what"], ["ms"], compared=True, section="latency",
                          data="PDQ")

    def every_distance(self):
        return self.pivot(["contender", "what"], ["rows"], ["ms, by rows", "distance"],
                          section="latency", data="uniform", contender=[OURS, f"{OURS}, 128 bits"])

    # Building, and whole tables

    def building(self):
        titles = {
            ("build", "seconds"): "build, s",
            ("build", "bytes a row"): "bytes a row",
            ("wal", "bytes a row"): "WAL bytes a row",
            ("insert", "rows a second, first 100,000 after a checkpoint"): "first 100,000 rows/s",
            ("insert", "rows a second"): "next 400,000 rows/s",
        }
        return self.pivot(["contender"], ["section", "what"], [f"{size(self.largest)} rows"],
                          titles, data="uniform", rows=self.largest,
                          section=["build", "wal", "insert"])

    def whole_tables(self):
        return self.pivot(["rows", "what"], ["contender"], ["rows", ""], compared=True,
                          section="bulk",
                          what=self.distinct("what", section="bulk", contender=OURS))

    def text_fingerprints(self):
        titles = {("largest run",): "largest run"}
        for found, percent in (("0.9", "90 %"), ("0.99", "99 %")):
            titles[f"distance that finds {found}",] = f"{percent} of the copies within"
            titles[f"query that finds {found}",] = "ms"
            titles[f"query that finds {found} found",] = "rows"
        titles["all pairs at the distance that finds 0.9, seconds",] = "all pairs at 90 %, s"
        titles["all pairs at the distance that finds 0.9, found",] = "pairs"
        return headed((f"{size(rows)} rows", self.pivot(
            ["contender"], ["what"], [""], titles, section="text fingerprints", rows=rows))
            for rows in self.distinct("rows", section="text fingerprints"))

    def machine(self):
        return table(["", ""], [[what, str(which)] for what, which in self.parts.items()])
