"""Whole tables of texts: tables of docs/benchmarks/whole-tables.md."""

from .markdown import shown, size, table, times
from .near_texts import NOTHING, OURS, divided, judged

SECTION = "whole texts"
EQUAL = f"{SECTION}, equal"
EACH = "a million texts, s"
TITLES = {"build": "CREATE INDEX, s", "duplicates": "duplicates, s", "together": "together, s",
          EACH: EACH, "memory": "memory, MB", "dropped": "rows dropped"}
# The limit of the growth of time for ten times as many texts.
MORE, GROWTH = 10, ("at most", 12, " ×")
BULK = {"duplicates": "`simhash_duplicates`, s", "clusters": "`simhash_clusters`, s",
        "ten pairs": "ten of `simhash_pairs`, s"}


class WholeTexts:
    """Tables of sections "whole texts ...", for the class of the page."""

    def whole_sizes(self):
        return self.distinct("rows", section=SECTION)

    def whole_value(self, rows, contender, what, section=SECTION):
        if what == EACH:
            return divided(self.whole_value(rows, contender, "together"), rows / 1e6)
        figures = self.select(section=section, rows=rows, contender=contender, what=what)
        return figures[0]["value"] if figures else None

    def whole_texts(self):
        """The number of texts, and their bytes."""
        return ", ".join(
            f"{size(rows)} of {shown(self.whole_value(rows, 'text', 'bytes a row'))} bytes"
            for rows in self.whole_sizes()) or NOTHING

    def whole_duplicates(self):
        """The smallest table, with a rival."""
        rows = min(self.whole_sizes(), default=0)
        lines = []
        for contender in self.distinct("contender", section=SECTION, rows=rows, what="together"):
            line = [f"**{OURS}**" if contender == OURS else contender]
            for what in TITLES:
                value = self.whole_value(rows, contender, what)
                text = shown(value)
                if contender != OURS and what in ("together", "memory"):
                    text = f"**{times(value, self.whole_value(rows, OURS, what))}** {text}"
                line.append(text)
            lines.append(line)
        lines.sort(key=lambda line: OURS not in line[0])
        return table([f"{size(rows)} texts", *TITLES.values()], lines) if lines else NOTHING

    def whole_growth(self):
        """By the number of texts, compared with the smallest table."""
        sizes, lines = self.whole_sizes(), []
        for what, title in TITLES.items() if sizes[1:] else ():
            values = [self.whole_value(rows, OURS, what) for rows in sizes]
            lines.append([title, *map(shown, values), *(
                judged(divided(value, values[0]), *GROWTH) if aimed(what, rows, sizes)
                else times(value, values[0]) for rows, value in zip(sizes[1:], values[1:]))])
        header = [OURS, *(f"{size(rows)} texts" for rows in sizes), *(
            f"aim, together: {GROWTH[0]} {GROWTH[1]} ×" if aimed("together", rows, sizes) else ""
            for rows in sizes[1:])]
        return table(header, lines) if lines else NOTHING

    def whole_equal(self):
        """With many equal texts among the real ones, and without."""
        lines = []
        for rows in self.distinct("rows", section=EQUAL):
            for what, title in BULK.items():
                taken, found = ([self.whole_value(rows, of, name, EQUAL) for of in ("doc", "equal")]
                                for name in (what, f"{what}: rows"))
                lines.append([title, *map(shown, taken), times(*reversed(taken)),
                              *map(shown, found)])
        header = ["", "real texts", "with equal ones", "times", "rows", "with equal ones"]
        return table(header, lines) if lines else NOTHING


def aimed(what, rows, sizes):
    return what == "together" and rows == MORE * sizes[0]
