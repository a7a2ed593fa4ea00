"""Verified duplicates: a distance proposes pairs, the similarity of their shingles decides."""

from math import sqrt
from statistics import fmean, median

from .markdown import ahead_by, count, share, span, table
from .measures import (GROUPS, LABELS, SIMILAR, Asked, cumulative, differences, greatest, left_out,
                       student)

# As in crates/simhash-evaluate/src/experiments/verified.rs: distances are in 64ths of the width.
THRESHOLDS = (0, *(round(0.2 + 0.05 * step, 2) for step in range(15)))
DISTANCES = range(25)
# Numbers of rows in the calculations.
SIZES = {None: "the samples' own", 10_000: "10,000", 100_000: "100,000", 1_000_000: "1,000,000"}

WORDS = "words, uniform"
PAIRS, PAIRS_IDF = "word 2-shingles, uniform", "word 2-shingles, idf"
MINHASH, MINHASH_PAIRS = "one-bit MinHash, words", "one-bit MinHash, word 2-shingles"
PROPOSERS = ((MINHASH_PAIRS, 64), (MINHASH, 128), (MINHASH_PAIRS, 128),
             ("one-bit MinHash, words and word 2-shingles", 128), (WORDS, 128), (PAIRS_IDF, 128))
# The recommendation: a fingerprint, its distance, and for each verifier the least similarity.
PROPOSER, STEP = (MINHASH, 128), 10
VERIFIERS = {WORDS: 0.7, PAIRS_IDF: 0.45}
# Distances whose cost is shown.
STEPS = {PROPOSER: (4, 6, 8, 10, 11, 12, 14, 16, 20, 24), (PAIRS_IDF, 128): (16, 18, 20, 22, 24)}


def place(flat):
    """The distance, in 64ths of the width, and the threshold at a place of a flat list."""
    return divmod(flat, len(THRESHOLDS))


class Verified:
    """Tables of results["verified"], for the class that reads the results."""

    def read_verified(self, label):
        """The rows by their settings, with cumulative pairs."""
        self.verified_rows, columns = {}, len(THRESHOLDS)
        for corpus, result in self.results["verified"].items():
            for row in result["rows"]:
                key = (corpus, (label(row["method"]), row["width"]), label(row["verifier"]),
                       row["measure"])
                self.verified_rows[key] = row | {
                    "duplicates": [cumulative(grid, columns) for grid in row["duplicates"]],
                    "others": cumulative(row["others"], columns),
                    "unlabelled": cumulative(row["unlabelled"], columns)}
        self.grids = {}

    def pairs(self, corpus, proposer, verifier=WORDS, measure="jaccard"):
        return self.verified_rows[corpus, proposer, verifier, measure]

    def grid(self, corpus, proposer, verifier, measure="jaccard", asked=SIMILAR):
        """F1 at every distance and threshold, in one list."""
        key = (corpus, proposer, verifier, measure, asked)
        if key not in self.grids:
            sample, row = self.sample[corpus], self.pairs(corpus, proposer, verifier, measure)
            wanted = sum(sample["pairs"][:asked.bands])
            times = asked.rows / sample["documents"] if asked.rows else 1
            f1 = []
            for distance in DISTANCES:
                for threshold in range(len(THRESHOLDS)):
                    tp = sum(band[distance][threshold]
                             for band in row["duplicates"][:asked.bands])
                    fp = times * row["others"][distance][threshold]
                    if asked.strict:
                        fp += times * row["unlabelled"][distance][threshold]
                    f1.append(2 * tp / (tp + fp + wanted))
            self.grids[key] = f1
        return self.grids[key]

    def grids_of(self, proposer, verifier, measure="jaccard", asked=SIMILAR):
        return [self.grid(corpus, proposer, verifier, measure, asked) for corpus in self.corpora]

    def both_lengths(self, found):
        """The mean F1 with each corpus left out, over all corpora, the long texts and the short
        ones."""
        f1 = dict(zip(self.corpora, (f.f1 for f in found)))
        return [share(fmean(f1[c] for c in corpora))
                for corpora in (self.corpora, self.long, self.short_ones)]

    def other_texts(self, proposer, verifier, found):
        """Half of the 95 % interval of the mean F1, for other texts of the same corpora."""
        deviations = []
        for corpus, f in zip(self.corpora, found):
            distance, threshold = place(f.distance)
            deviation = self.pairs(corpus, proposer, verifier)["deviation"]
            deviations.append(deviation[distance][threshold] / 10_000)
        return 1.96 * sqrt(sum(d * d for d in deviations)) / len(deviations)

    # The tables

    def verified(self):
        lines = []
        for name, width in PROPOSERS:
            alone = {asked: left_out(self.curves(name, width, asked))
                     for asked in (SIMILAR, GROUPS, LABELS)}
            chosen = [f.distance for f in alone[SIMILAR]]
            lines.append([name, str(width), "–", span(chosen), "",
                          *self.both_lengths(alone[SIMILAR]), "", "",
                          *(text for asked in (GROUPS, LABELS)
                            for text in (self.both_lengths(alone[asked])[0], ""))])
            lines += [self.verified_line((name, width), verifier, alone) for verifier in VERIFIERS]
        return table(["proposed by", "bits", "verified by", "distance", "similarity",
                      "F1 left out", "long texts", "short texts", "ahead of the distance alone by",
                      "± for other texts", "by groups: F1", "ahead by", "by labels alone: F1",
                      "ahead by"], lines)

    def verified_line(self, proposer, verifier, alone):
        name, width = proposer
        cells = []
        for asked in (SIMILAR, GROUPS, LABELS):
            found = left_out(self.grids_of(proposer, verifier, asked=asked))
            ahead = ahead_by(*student(differences([f.f1 for f in found],
                                                  [f.f1 for f in alone[asked]])))
            if asked == SIMILAR:
                cells += [self.distances(found, width), similarities(found),
                          *self.both_lengths(found), ahead,
                          share(self.other_texts(proposer, verifier, found))]
            else:
                cells += [self.both_lengths(found)[0], ahead]
        return [name, str(width), verifier, *cells]

    @staticmethod
    def distances(found, width):
        return span([place(f.distance)[0] * width // 64 for f in found])

    def verifiers(self):
        """Features, weights and measures of verifiers, for one fingerprint."""
        lines = []
        for verifier in dict.fromkeys(key[2] for key in self.verified_rows):
            features = [self.pairs(corpus, PROPOSER, verifier)["features"]
                        for corpora in (self.long, self.short_ones) for corpus in corpora]
            cells = [verifier, *(count(fmean(values)) for values in (
                features[:len(self.long)], features[len(self.long):]))]
            for measure in ("jaccard", "containment"):
                found = left_out(self.grids_of(PROPOSER, verifier, measure))
                cells += [similarities(found), *self.both_lengths(found)]
                cells += [self.both_lengths(left_out(self.grids_of(
                    PROPOSER, verifier, measure, asked)))[0]
                    for asked in (GROUPS, LABELS)]
            lines.append(cells)
        header = ["similarity", "F1 left out", "long texts", "short texts", "by groups",
                  "by labels alone"]
        return table(["verified by", "a long text", "a short text",
                      *(f"{measure}: {column}" for measure in ("Jaccard", "containment")
                        for column in header)], lines)

    def verified_each(self):
        lines = []
        for verifier in VERIFIERS:
            grids = self.grids_of(PROPOSER, verifier)
            lines.append([verifier, *(
                "{}: {:.3f} ({}: {:.3f})".format(
                    setting(f.distance, PROPOSER[1]), f.f1,
                    setting(f.best_distance, PROPOSER[1]), f.best) for f in left_out(grids))])
        return table(["verified by", *self.titles()], lines)

    def verified_by_rows(self, proposer, verifier):
        for rows in SIZES:
            grids = self.grids_of(proposer, verifier, asked=Asked(rows=rows))
            found = fmean(f.f1 for f in left_out(grids))
            yield f"{setting(greatest(grids)[0], proposer[1])}: {share(found)}"

    def verified_sizes(self):
        lines = []
        for proposer in (PROPOSER, (MINHASH_PAIRS, 128)):
            lines.append([*map(str, proposer), "–", *self.by_rows(*proposer)])
            lines += [[*map(str, proposer), verifier, *self.verified_by_rows(proposer, verifier)]
                      for verifier in (WORDS, PAIRS, PAIRS_IDF)]
        return table(["proposed by", "bits", "verified by", *SIZES.values()], lines)

    def verified_cost(self):
        """By the distance that proposes: F1, candidates for each true pair, candidates for each
        row."""
        lines = [self.cost_line(proposer, step) for proposer, steps in STEPS.items()
                 for step in steps]
        return table(["proposed by", "bits", "distance", "F1, the distance alone", *(
            f"verified by {verifier}: F1 (long, short)" for verifier in VERIFIERS),
            "candidates a true pair", *(f"candidates a row of {size}"
                                        for rows, size in SIZES.items() if rows)], lines)

    def cost_line(self, proposer, step):
        name, width = proposer
        distance = step * width // 64
        cells = [name, str(width), str(distance),
                 share(fmean(curve[distance] for curve in self.curves(name, width)))]
        for verifier in VERIFIERS:
            # Only the threshold is chosen.
            at_distance = [grid[step * len(THRESHOLDS):(step + 1) * len(THRESHOLDS)]
                           for grid in self.grids_of(proposer, verifier)]
            cells.append("{} ({}, {})".format(*self.both_lengths(left_out(at_distance))))
        cells.append(middle_and_most(self.candidates(c, proposer, step)
                                     / self.right(c, proposer, step) for c in self.corpora))
        return cells + [middle_and_most(
            2 * self.candidates(c, proposer, step, rows) / self.sample[c]["documents"]
            for c in self.corpora) for rows in SIZES if rows]

    def candidates(self, corpus, proposer, step, rows=None):
        """All pairs within the distance. For more rows, other pairs are scaled."""
        found, sample = self.pairs(corpus, proposer), self.sample[corpus]
        others = found["others"][step][0] + found["unlabelled"][step][0]
        times = rows / sample["documents"] if rows else 1
        return sum(band[step][0] for band in found["duplicates"]) + times * others

    def right(self, corpus, proposer, step, threshold=0, verifier=WORDS):
        """Duplicates within the distance that are at least as similar as the threshold."""
        found = self.pairs(corpus, proposer, verifier)["duplicates"]
        return sum(band[step][threshold] for band in found[:SIMILAR.bands])

    def verified_others(self):
        """The pairs at the recommended distance: by the distance alone, and verified."""
        decided = [(WORDS, 0), *((v, THRESHOLDS.index(least)) for v, least in VERIFIERS.items())]
        by = [f"within {STEP * PROPOSER[1] // 64}",
              *(f"{verifier} ≥ {least:.2f}" for verifier, least in VERIFIERS.items())]
        lines = []
        for corpus in self.corpora:
            sample = self.sample[corpus]
            wanted = sum(sample["pairs"][:SIMILAR.bands])
            taken = (self.pairs(corpus, PROPOSER, v)["others"][STEP][at] for v, at in decided)
            lines.append([
                self.title(corpus),
                *(count(pairs / sample["others"] * 1e6) for pairs in taken),
                *(share(self.right(corpus, PROPOSER, STEP, at, v) / wanted)
                  for v, at in decided),
                *(share(self.grid(corpus, PROPOSER, v)[STEP * len(THRESHOLDS) + at])
                  for v, at in decided)])
        return table(["corpus", *(f"{what}: {how}" for what in (
            "other pairs taken, a million", "recall", "F1") for how in by)], lines)


def setting(flat, width):
    """A distance and a similarity in written form."""
    distance, threshold = place(flat)
    return f"{distance * width // 64}, {THRESHOLDS[threshold]:.2f}"


def similarities(found):
    chosen = sorted({THRESHOLDS[place(f.distance)[1]] for f in found})
    return f"{chosen[0]:.2f}" if len(chosen) == 1 else f"{chosen[0]:.2f} to {chosen[-1]:.2f}"


def middle_and_most(values):
    values = list(values)
    return f"{count(median(values))} ({count(max(values))})"
