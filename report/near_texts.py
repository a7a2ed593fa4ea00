"""Indexes of texts: tables of docs/benchmarks/texts.md, with their targets."""

from textwrap import fill

from .markdown import headed, shown, size, table

OURS, KEY, TRIGRAMS, ALONE = "simhash", "primary key", "pg_trgm, GIN", "index alone"
WAYS = ["1,000 a statement", "1 client", "4 clients"]
DATA = {"mix": "texts", "descriptions": "package descriptions"}
# The constraint's target, and a further figure about it.
CONSTRAINED, TAKEN = ("at least", 0.5, " ×"), "share that went in"
NOTHING = "not measured yet"
STATES = ["fresh index", "10,000 rows later", "after all inserts"]


class NearTexts:
    """Tables of sections "near ...", for the class of the page."""

    def near_sizes(self):
        return self.distinct("rows", section="near insert")

    def near_value(self, section, rows, contender, what, data="mix"):
        figures = self.select(
            section=f"near {section}", data=data, rows=rows, contender=contender, what=what)
        return figures[0]["value"] if figures else None

    def near_texts(self):
        """The number of texts, and their bytes."""
        return ", ".join(
            f"{size(rows)} of {shown(self.near_value('build', rows, 'text', 'bytes a row'))} bytes"
            for rows in self.near_sizes()) or NOTHING

    def near_ratios(self):
        """The targets: what is measured, whether the target is a maximum or a minimum, and the
        figures by size."""
        sizes, value = self.near_sizes(), self.near_value

        def by_size(section, what, ours, theirs, data="mix"):
            return [divided(value(section, rows, ours, what, data),
                            value(section, rows, theirs, what, data)) for rows in sizes]

        def look_up(rows, state):
            return value("look-up", rows, OURS, state)

        fresh, later, _ = STATES
        yield "look-up, compared with a primary key's", "at most", 2, " ×", [
            ratio if rows == sizes[0] else None
            for rows, ratio in zip(sizes, by_size("look-up", fresh, OURS, KEY))]
        yield f"look-up, compared with that among {size(sizes[0])}", "at most", 1.5, " ×", [
            None if rows == sizes[0] else divided(look_up(rows, fresh), look_up(sizes[0], fresh))
            for rows in sizes]
        yield "look-up after 10,000 inserts, compared with that before", "at most", 1.3, " ×", [
            divided(look_up(rows, later), look_up(rows, fresh)) for rows in sizes]
        yield "build, a million texts", "at most", 8, " s", [
            divided(value("build", rows, OURS, "seconds"), rows / 1e6) for rows in sizes]
        yield "bytes a key", "at most", 9, "", [
            value("build", rows, OURS, "bytes a key") for rows in sizes]
        for way in WAYS:
            yield f"inserts, {way}: rate, compared with pg_trgm's", "at least", 3, " ×", by_size(
                "insert", f"{way}: rows a second", OURS, TRIGRAMS)
        for way in WAYS:
            yield f"inserts, {way}: WAL, compared with pg_trgm's", "at most", 1, " ×", by_size(
                "insert", f"{way}: WAL bytes a row", OURS, TRIGRAMS)

    def near_aims(self):
        sizes = self.near_sizes()
        if not sizes:
            return NOTHING
        return table(["", "aim", *(f"{size(rows)} texts" for rows in sizes)], [
            [name, f"{which} {aim}{unit}",
             *(judged(measured, which, aim, unit) for measured in by_size)]
            for name, which, aim, unit, by_size in self.near_ratios()])

    def near_lost(self):
        """The missed targets, as a sentence."""
        sizes = self.near_sizes()
        if not sizes:
            return f"{NOTHING}."
        ratios = [(name, rows, value, which, aim, unit)
                  for name, which, aim, unit, by_size in self.near_ratios()
                  for rows, value in zip(sizes, by_size)]
        ratios += [(f"inserts with the constraint, {data}, {way}: rate, compared with the index's",
                    rows, ratio, *CONSTRAINED) for data, rows, way, _, _, ratio in self.offers()]
        missed = {}
        for name, rows, value, which, aim, unit in ratios:
            if misses(value, which, aim):
                missed.setdefault(name, []).append(f"{shown(value)}{unit} with {size(rows)}")
        return wrapped((f"{name} ({', '.join(by)})" for name, by in missed.items()), "  ")

    def near_plot(self):
        return "![Rows inserted a second](near.svg)" if self.near_sizes() else ""

    def near_look_ups(self):
        at = {"section": "near look-up"}
        return headed((f"{size(rows)} {title}", self.pivot(
            ["contender"], ["what"], ["ms"], compared=True, **at, data=data, rows=rows))
            for data, title in DATA.items() for rows in self.distinct("rows", **at, data=data))

    def near_found(self):
        return wrapped(
            f"{shown(figure['found a query'])} of {size(figure['rows'])} {DATA[figure['data']]} by"
            f" {figure['contender']}"
            for figure in self.select(section="near look-up", what=STATES[0])
            if "found a query" in figure)

    def near_builds(self):
        return headed((f"{size(rows)} {title}", self.pivot(
            ["contender"], ["what"], [""], compared=True, section="near build", data=data,
            rows=rows, contender=[OURS, TRIGRAMS], what=["seconds", "bytes a row", "bytes a key"]))
            for data, title in DATA.items()
            for rows in self.distinct("rows", section="near build", data=data))

    def near_inserts(self):
        titles = {(f"{way}: {what}",): title for way in WAYS for what, title in (
            ("rows a second", f"{way}, rows/s"), ("WAL bytes a row", "WAL, bytes a row"))}
        return headed((f"{size(rows)} texts", self.pivot(
            ["contender"], ["what"], [""], titles, compared=True, section="near insert", rows=rows))
            for rows in self.near_sizes())

    def offers(self):
        """Texts offered a second to the constraint and to an index alone, and the ratio."""
        for figure in self.select(section="near constraint", contender="constraint", what=WAYS):
            data, rows, way, rate = (figure[name] for name in ("data", "rows", "what", "value"))
            alone = self.near_value("constraint", rows, ALONE, way, data)
            yield data, rows, way, alone, rate, divided(rate, alone)

    def near_constraint(self):
        header = ["", "", "index alone, rows/s", "constraint, rows/s",
                  "aim: at least 0.5 ×", "of the rows went in"]
        return table(header, [
            [data, way, shown(alone), shown(rate), judged(ratio, *CONSTRAINED),
             f"{self.near_value('constraint', rows, 'constraint', f'{way}: {TAKEN}', data):.1%}"]
            for data, rows, way, alone, rate, ratio in self.offers()])

    def near_kept(self):
        """How many rows the constraint let into its table at first."""
        kept = self.select(section="near constraint", data="kept")
        return f"{kept[0]['value']:,.0f} of {size(kept[0]['rows'])}" if kept else "none"

    def near_join(self):
        return self.pivot(["rows", "data", "contender"], ["what"], ["rows", "", "the planner"],
                          section="near join")


def wrapped(parts, indent=""):
    """A list with a full stop, wrapped, with all lines but the first indented."""
    return fill("; ".join(parts) or "nothing", 98 - len(indent), subsequent_indent=indent,
                break_long_words=False, break_on_hyphens=False) + "."


def divided(value, by):
    return value / by if value and by else None


def misses(value, which, aim):
    """Compares the value as it is shown, so that a displayed 3.00 does not miss a target of 3."""
    if value is None:
        return False
    seen = float(f"{value:.3g}")
    return seen > aim if which == "at most" else seen < aim


def judged(value, which, aim, unit):
    """The figure, marked if it missed its target."""
    if value is None:
        return ""
    text = f"{shown(value)}{unit}"
    return f"**{text}, missed**" if misses(value, which, aim) else text
