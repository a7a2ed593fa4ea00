"""Near-duplicates in large real sets: tables of results in large-*.json."""

import json
from statistics import fmean

from .markdown import count, share, table
from .measures import BINS, at_recall, tallied

# The similarity at which fingerprints are evaluated.
DEFAULT_SIMILARITY = 0.7
TITLES = {
    "descriptions": "package descriptions", "translations": "their translations",
    "changelogs": "changelogs", "manuals": "man pages", "comments": "source comments",
    "mix": "the mix of all",
}
RECIPES = {"pairs": "word pairs", "words": "words", "both": "words and word pairs",
           "pairs, parted": "word pairs, words parted at every sign"}
LIBRARIES = ("rensa", "datasketch")


class Large:
    """Tables of `self.large`, for the class of the page."""

    def read_large(self, directory):
        """The measured sets, in the order of their titles."""
        files = (directory / f"large-{name}.json" for name in TITLES)
        results = [json.loads(f.read_text(encoding="utf-8")) for f in files if f.exists()]
        self.large = [result["sample"] | {"rows": result["rows"]} for result in results]

    def large_titles(self):
        return [TITLES[one["set"]] for one in self.large]

    def large_row(self, one, method, similarity):
        return next((row for row in one["rows"] if row["method"].startswith(method)
                     and (row["method"] == method or similarity is None)
                     and row["similarity"] == similarity), None)

    def large_decisions(self, one, method, similarity):
        row = self.large_row(one, method, similarity)
        asked = similarity or DEFAULT_SIMILARITY
        return row and tallied(one["truth"], row["found"], asked)

    def large_ways(self):
        """The methods to compare: a name, a method and a similarity."""
        yield "fingerprints, distance by rows", "minhash", None
        yield "fingerprints within 29 of 128", "within reach", DEFAULT_SIMILARITY
        yield "the same, verified at 0.7", "within reach, verified", DEFAULT_SIMILARITY
        for recipe, name in RECIPES.items():
            for similarity in BINS[2:6]:
                yield f"{name}, {similarity}", f"near_duplicate, {recipe}", similarity
        for library in LIBRARIES:
            for similarity in BINS[2:6]:
                yield f"{library}, {similarity}", library, similarity

    def large_usual_ways(self):
        """The methods with the default similarity, or with none."""
        return [way for way in self.large_ways() if way[2] in (None, DEFAULT_SIMILARITY)]

    def large_sets(self):
        header = ["set", "texts", "labels", "median, characters", "word pairs a text",
                  "with ten or fewer", "pairs of J ≥ 0.5", "0.7", "0.9",
                  "pairs of one label, J ≥ 0.3"]

        def line(one):
            both = [a + b for a, b in zip(one["truth"]["same"], one["truth"]["other"])]
            return [TITLES[one["set"]], *(f"{one[key]:,}" for key in ("texts", "labels", "median")),
                    count(one["shingles"]), share(one["short"]),
                    *(f"{sum(both[BINS.index(least):]):,}" for least in (0.5, 0.7, 0.9)),
                    f"{sum(one['truth']['same'][1:]):,}"]

        return table(header, map(line, self.large))

    def large_laws(self):
        """The share of the exact pairs that are candidates: at a similarity, and from that on."""
        def cell(all_pairs, kept):
            return f"{kept / all_pairs:.5f} of {all_pairs:,}" if all_pairs else "–"

        similarities = [law["similarity"] for law in self.large[0]["laws"]]
        return table(["set", *(f"{s}: {which}" for s in similarities for which in ("at", "from"))],
                     [[TITLES[one["set"]], *(cell(*law[which]) for law in one["laws"]
                                             for which in ("at", "from"))] for one in self.large])

    def large_draws(self):
        """The same share at a similarity with other hash functions: mean, least and greatest."""
        def cell(law):
            draws = law.get("draws")
            return f"{fmean(draws):.4f} ({min(draws):.4f} to {max(draws):.4f})" if draws else "–"

        laws = [(TITLES[one["set"]], one["laws"]) for one in self.large]
        return table(["set", *(f"{law['similarity']}" for law in laws[0][1])],
                     [[title, *map(cell, of_set)] for title, of_set in laws])

    def large_same_recall(self):
        """By label: a library's precision, and that of exact similarity at the same recall."""
        lines = []
        for library in LIBRARIES:
            for asked in BINS[2:6]:
                line = [f"{library}, {asked}"]
                for one in self.large:
                    row = self.large_row(one, library, asked)
                    right = row and sum(row["found"]["same"][1:])
                    exact = row and "curve" in one and at_recall(one["curve"], right)
                    line.append("–" if not exact else (
                        f"{share(right / (right + sum(row['found']['other'])))};"
                        f" {share(right / (right + exact[0]))} at {exact[1]:.2f}"))
                lines.append(line)
        return table(["", *self.large_titles()], lines)

    def large_table(self, ways, cell):
        """A line for each method, a column for each set, then their mean without the mix."""
        lines = []
        for name, method, similarity in ways:
            found = [self.large_decisions(one, method, similarity) for one in self.large]
            parts = [f for f, one in zip(found, self.large) if one["set"] != "mix"]
            mean = "–" if None in parts else cell(*(
                [fmean(values) for values in zip(*by)] for by in zip(*parts)))
            lines.append([name, *("–" if f is None else cell(*f) for f in found), mean])
        return table(["", *self.large_titles(), "mean"], lines)

    def large_f1(self):
        """F1 by similarity, then by label."""
        return self.large_table(
            self.large_ways(), lambda similar, label: f"{share(similar[2])}, {share(label[2])}")

    def large_labels(self):
        """Precision and recall by label."""
        return self.large_table(
            self.large_usual_ways(), lambda _, label: f"{share(label[0])} / {share(label[1])}")

    def large_similarities(self):
        """Precision and recall by similarity."""
        return self.large_table(
            self.large_usual_ways(),
            lambda similar, _: f"{share(similar[0])} / {share(similar[1])}")

    def large_cost(self):
        """Candidates, seconds and memory."""
        lines = []
        for name, method, similarity in self.large_usual_ways():
            rows = [self.large_row(one, method, similarity) for one in self.large]
            lines.append([name, *("–" if row is None else
                                  f"{row['candidates'] / 1e6:,.1f} M; {seconds(row['sketch'])} +"
                                  f" {seconds(row['pairs'])}; {row['memory']:,} MB"
                                  for row in rows)])
        return table(["", *self.large_titles()], lines)


def seconds(value):
    return f"{value:,.1f} s" if value < 10 else f"{value:,.0f} s"
