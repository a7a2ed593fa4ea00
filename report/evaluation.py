"""Tables of the pages of the evaluation, from the results of `scripts/run evaluate`."""

import json
from functools import lru_cache
from statistics import fmean

from .large import Large
from .markdown import ahead_by, count, plus_minus, share, span, table
from .measures import (GROUPS, LABELS, SIMILAR, Asked, bootstrap, decisions, differences,
                       edited_decisions, greatest, left_out, means, student)
from .verified import MINHASH, MINHASH_PAIRS, PAIRS_IDF, PROPOSER, SIZES, VERIFIERS, Verified

# In the order of the page: the name of a corpus there, and the kind of its texts.
CORPORA = {
    "zh_articles_revisions": ("Chinese articles, draft and proofread version", "prose"),
    "zh_laws": ("Chinese statutes and their versions", "template"),
    "en_licenses": ("English licence texts and notices", "template"),
    "zh_questions_edits": ("Chinese questions and their edits", "question"),
    "zh_verses": ("Chinese verses in two scripts", "prose"),
    "en_verses": ("English verses in six versions", "prose"),
    "en_descriptions": ("English package descriptions", "template"),
}
WIDTHS = (64, 128)
DEFAULT = "words, uniform"
# Settings that a user would choose from.
CHOICES = [DEFAULT, "words, log", "word 2-shingles, uniform", MINHASH, MINHASH_PAIRS,
           "one-bit MinHash, words and word 2-shingles", PAIRS_IDF]
RECOMMENDED = {
    "`minhash64(body)`": (MINHASH_PAIRS, 64),
    "`minhash128(body)`": (MINHASH_PAIRS, 128),
    "`minhash128(body, '{\"shingle\": 1}')`": (MINHASH, 128),
    "`simhash(body)`": (DEFAULT, 64),
    "`simhash128(body)`": (DEFAULT, 128),
    "`simhash128(body, '{\"shingle\": 2, \"weight\": \"idf\", \"model\": ...}')`": (PAIRS_IDF, 128),
}
# Published by Zhang, Sheng, Zhang and Yang (2020): the share found within 10 of 128 bits where 5,
# 10, 15 and 20 % are edited; precision, recall and F1 where it is 10 %.
PUBLISHED = {
    "*E-Simhash, published*": ([0.833, 0.751, 0.687, 0.661], [0.963, 0.867, 0.912]),
    "*simhash, published*": ([0.679, 0.529, 0.476, 0.451], [0.818, 0.621, 0.706]),
}


def label(method):
    """A setting's name on the page."""
    features = method["features"]
    unit = "character" if features["tokenizer"] == "char" else "word"
    sizes = features["shingle"] if isinstance(features["shingle"], list) else [features["shingle"]]
    what = " and ".join(f"{unit}s" if n == 1 else f"{unit} {n}-shingles" for n in sizes)
    what += "" if features["stopwords"] == "none" else " without stop words"
    if method.get("maker") == "minhash":
        return f"one-bit MinHash, {what}"
    position = "" if method["position"] == "none" else f", position {method['position']}"
    return f"{what}, {method['weight']}{', capped' * method['capped']}{position}"


class Evaluation(Verified, Large):
    """`self[name]` is the replacement of that name in the template."""

    def __init__(self, directory):
        self.results = {}
        for experiment in ("settings", "verified", "angle", "short", "lexicons", "edits"):
            files = {c: directory / f"{experiment}-{c}.json" for c in CORPORA}
            self.results[experiment] = {c: json.loads(f.read_text(encoding="utf-8"))
                                        for c, f in files.items() if f.exists()}
        settings = self.results["settings"]
        self.sample = {corpus: result["sample"] for corpus, result in settings.items()}
        self.corpora = list(self.sample)
        self.settings = {(corpus, label(row["method"]), row["width"]): row
                         for corpus, result in settings.items() for row in result["rows"]}
        self.labels = list(dict.fromkeys(name for _, name, _ in self.settings))
        self.long, self.short_ones = (
            [c for c in self.corpora if self.sample[c]["length"] == length]
            for length in ("Long", "Short"))
        self.curve = lru_cache(None)(self.curve)
        self.read_verified(label)
        self.read_large(directory)

    def __getitem__(self, name):
        return getattr(self, name)()

    def title(self, corpus):
        return CORPORA[corpus][0] + ("" if self.sample[corpus]["shipped"] else " *")

    def titles(self, experiment="settings"):
        return [self.title(corpus) for corpus in self.results[experiment]]

    def curve(self, corpus, name, width, asked):
        """F1 at every distance up to three eighths of the width."""
        found = decisions(self.sample[corpus], self.settings[corpus, name, width], asked)
        return [f1 for _, _, f1 in found[:width * 3 // 8 + 1]]

    def curves(self, name, width, asked=SIMILAR, corpora=None):
        return [self.curve(c, name, width, asked) for c in corpora or self.corpora]

    def held_out(self, name, width, asked=SIMILAR, corpora=None):
        return fmean(f.f1 for f in left_out(self.curves(name, width, asked, corpora)))

    def resampled(self, name, width, found):
        """The mean F1 over the corpora, each at its own distance, in each resample of the
        groups."""
        rows = [self.settings[corpus, name, width]["resampled"] for corpus in self.corpora]
        return means([f1 / 1000 for f1 in row[f.distance]] for row, f in zip(rows, found))

    def default_decisions(self, corpus, width):
        return decisions(self.sample[corpus], self.settings[corpus, DEFAULT, width])

    def taken(self, corpus, width, distance):
        """The number of other pairs in a million within a distance, by default."""
        others = self.settings[corpus, DEFAULT, width]["others"][:distance + 1]
        return sum(others) / self.sample[corpus]["others"] * 1e6

    # The shapes of tables

    def by_choice(self, header, cells):
        return table(["", "bits", *header], [[name, str(width), *cells(name, width)]
                                             for width in WIDTHS for name in CHOICES])

    # What is measured

    def samples(self):
        header = ["corpus", "documents", "median, characters", "pairs of one group: J ≥ 0.9",
                  "0.7 to 0.9", "0.5 to 0.7", "below 0.5", "other pairs", "left out",
                  "others, to train on"]
        return table(header, [[self.title(corpus), *(f"{number:,}" for number in (
            s["documents"], s["median"], *s["pairs"], s["others"], s["unlabelled"], s["trained"]))]
            for corpus, s in self.sample.items()])

    # Which settings, which distance

    def by_rows(self, name, width):
        for rows in SIZES:
            asked = Asked(rows=rows)
            distance, _ = greatest(self.curves(name, width, asked))
            yield f"{distance}: {share(self.held_out(name, width, asked))}"

    def recommended(self):
        lines = [[call, *self.by_rows(*setting)] for call, setting in RECOMMENDED.items()]
        lines += [[f"`minhash128(body, '{{\"shingle\": 1}}')`, verified by {verifier}",
                   *self.verified_by_rows(PROPOSER, verifier)] for verifier in VERIFIERS]
        return table(["rows", *SIZES.values()], lines)

    def rows(self):
        return self.by_choice(SIZES.values(), self.by_rows)

    def held_out_choices(self):
        def cells(name, width):
            line = []
            for asked in (SIMILAR, GROUPS, LABELS):
                found, default = (left_out(self.curves(n, width, asked)) for n in (name, DEFAULT))
                ahead = ahead_by(*student(differences(
                    [f.f1 for f in found], [f.f1 for f in default])))
                texts = bootstrap(differences(self.resampled(name, width, found),
                                              self.resampled(DEFAULT, width, default)))
                beside = ["", ""] if name == DEFAULT else [ahead, f"{texts:.3f}"]
                regret = fmean(f.best - f.f1 for f in found)
                similar = asked == SIMILAR
                line += [span([f.distance for f in found])] if similar else []
                line += [share(fmean(f.f1 for f in found)), *beside[:1 + similar], share(regret)]
            return line

        return self.by_choice([
            "distances chosen", "F1 left out", "ahead of the default by", "± for other texts",
            "regret", "by groups: F1", "ahead by", "regret", "by labels alone: F1", "ahead by",
            "regret"], cells)

    def each(self):
        def cells(name, width):
            for found in left_out(self.curves(name, width)):
                yield "{}: {:.3f} ({}: {:.3f})".format(*found)

        return self.by_choice(self.titles(), cells)

    def kinds(self):
        groups = [[c for c in self.corpora if CORPORA[c][1] == kind]
                  for kind in ("prose", "template", "question")] + [self.short_ones]

        def cells(name, width):
            for corpora in groups:
                distance, f1 = greatest(self.curves(name, width, corpora=corpora))
                alone = len(corpora) < 2
                left_out = None if alone else self.held_out(name, width, corpora=corpora)
                yield f"{distance}: {share(left_out)} ({share(f1)})"

        return self.by_choice(["edited prose", "templates and boilerplate", "questions",
                               "short texts of any kind"], cells)

    # The default

    def constraint(self):
        """The default at the distances of `~=`."""
        lines = []
        for corpus in self.corpora:
            for width, distance in ((64, 3), (128, 10)):
                found = self.settings[corpus, DEFAULT, width]["duplicates"]
                recall = [sum(band[:distance + 1]) / pairs if pairs >= 10 else None
                          for band, pairs in zip(found, self.sample[corpus]["pairs"])]
                precision, _, f1 = self.default_decisions(corpus, width)[distance]
                taken = count(self.taken(corpus, width, distance))
                lines.append([self.title(corpus), f"{distance} of {width}", *map(share, recall),
                              taken, share(precision), share(f1)])
        header = ["corpus", "distance", "recall: J ≥ 0.9", "0.7 to 0.9", "0.5 to 0.7",
                  "below 0.5", "other pairs taken, a million", "precision", "F1"]
        return table(header, lines)

    def similarity(self):
        """The distance that finds 95 % of the pairs at least as similar."""
        def cell(least, corpora, width):
            pairs = [[row[f"distance{width}"] for row in self.results["angle"][corpus]["rows"]
                      if row["similarity"] >= least] for corpus in corpora]
            enough = [distances for distances in pairs if len(distances) >= 50]
            for distance in range(width // 2):
                if fmean(sum(d <= distance for d in ds) / len(ds) for ds in enough) >= 0.95:
                    taken = fmean(self.taken(corpus, width, distance) for corpus in corpora)
                    return f"{distance} ({count(taken)})"
            return "–"

        header = ["similarity of at least", "long texts: 64 bits", "128 bits",
                  "short texts: 64 bits", "128 bits"]
        return table(header, [
            [f"{least}", *(cell(least, corpora, width)
                           for corpora in (self.long, self.short_ones) for width in WIDTHS)]
            for least in (0.95, 0.9, 0.8, 0.7, 0.6, 0.5)])

    # All settings

    def matrix(self):
        """F1 with each corpus left out: features by weights. Features at a position have their own
        lines."""
        cells, columns = {}, {}
        for name in self.labels:
            features, _, weight = name.partition(", ")
            if features == "one-bit MinHash":
                features, weight = weight, features
            weight, _, position = weight.partition(", position ")
            features += f", position {position}" if position else ""
            columns[weight] = None
            cells.setdefault(features, {})[weight] = " / ".join(
                share(self.held_out(name, width)) for width in WIDTHS)
        return table(["64 / 128 bits", *columns], [
            [features, *(line.get(column, "–") for column in columns)]
            for features, line in cells.items()])

    # Other experiments

    def side_by_side(self, experiment, corner, names, cell):
        """The same lines for every corpus."""
        results = self.results[experiment]
        return table([*corner, *self.titles(experiment)], [
            [*names(rows[0]), *(cell(row["summary"], row) for row in rows)]
            for rows in zip(*(result["rows"] for result in results.values()))])

    def short(self):
        def cell(summary, row):
            best = summary["best"]
            threshold = {
                "bits": f"{best} bits",
                "hundredths": f"J ≥ {1 - best / 100:.2f}",
                "components": f"J ≥ {1 - best / 128:.2f}",
                "equality": "equal",
            }[row["unit"]]
            f1 = plus_minus(summary["f1"], bootstrap(summary["f1_resampled"]))
            return f"{threshold}: {f1}; {share(summary['recall_1e5'])}"

        return self.side_by_side("short", [""], lambda row: [row["method"]], cell)

    def lexicons(self):
        def names(row):
            features = "words" if row["shingle"] == 1 else f"word {row['shingle']}-shingles"
            parts = {None: "", 0: ", lexicon"}.get(
                row["parts"], f", lexicon and {row['parts']} parts")
            return [f"{features}, {row['weight']}{parts}", str((row["parts"] or 0) + 1)]

        def cell(summary, _):
            f1 = plus_minus(summary["f1"], bootstrap(summary["f1_resampled"]))
            return f"{share(summary['f1_published'])}; {summary['best']}: {f1}"

        return self.side_by_side("lexicons", ["64 bits", "fingerprints"], names, cell)

    # E-Simhash: rows of edited copies

    def edited(self, corpus, name, edits, percent):
        for row in self.results["edits"][corpus]["rows"]:
            if (label(row["method"]), row["edits"], row["percent"]) == (name, edits, percent):
                return row
        return None

    def edits(self, corner, header, published, cells):
        """A table for each corpus: the published figures, then each setting."""
        tables = []
        for corpus, result in self.results["edits"].items():
            names = dict.fromkeys(label(row["method"]) for row in result["rows"]
                                  if row["edits"] == "passage")
            lines = [[name, *map(share, figures * 2)] for name, figures in published.items()]
            lines += [[name, *(plus_minus(*student(rounds)) for edits in ("passage", "all")
                               for rounds in cells(corpus, name, edits))] for name in names]
            header_of_both = [f"{edits}: {column}" for edits in ("passage", "spans")
                              for column in header]
            tables.append(f"{self.title(corpus)}, {result['rows'][0]['texts']} texts:\n\n"
                          + table([corner, *header_of_both], lines))
        return "\n\n".join(tables)

    def edits_found(self):
        def cells(corpus, name, edits):
            for percent in (5, 10, 15, 20):
                row = self.edited(corpus, name, edits, percent)
                yield [recall for _, recall, _ in edited_decisions(row, 10)]

        return self.edits("share found", ["5 %", "10 %", "15 %", "20 %"],
                          {name: found for name, (found, _) in PUBLISHED.items()}, cells)

    def edits_decisions(self):
        def cells(corpus, name, edits):
            return zip(*edited_decisions(self.edited(corpus, name, edits, 10), 10))

        return self.edits("10 % edited", ["precision", "recall", "F1"],
                          {name: measures for name, (_, measures) in PUBLISHED.items()}, cells)
