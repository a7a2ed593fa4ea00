"""Precision, recall and F1, distances chosen by other corpora, and confidence intervals."""

from itertools import accumulate
from math import sqrt
from statistics import fmean, stdev
from typing import NamedTuple, Optional

# The 97.5th percentile of Student's t, for 1, 2, 3, ... degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)

# Pairs of large sets are counted in bands that begin at these similarities, as in
# crates/simhash-evaluate/src/large/. By label, pairs that share less than SHARED do not count.
BINS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
SHARED = 0.3


class Asked(NamedTuple):
    """Which pairs should be found, which must not be, and the number of rows of the table."""

    # The number of bands of similarity, from the greatest on, whose pairs of one group should be
    # found.
    bands: int = 3
    # Whether near-duplicates of different groups must not be found. If not, they do not count.
    strict: bool = False
    # Each row has as many duplicates as in the sample, and the number of other rows is scaled.
    rows: Optional[int] = None


SIMILAR, GROUPS, LABELS = Asked(), Asked(bands=4), Asked(bands=4, strict=True)


class LeftOut(NamedTuple):
    """F1 of a corpus at the distance that the others choose, and at its own best distance."""

    distance: int
    f1: float
    best_distance: int
    best: float


def greatest(curves):
    """The distance with the greatest mean, the smallest in a tie, and that mean."""
    f1 = means(curves)
    return f1.index(max(f1)), max(f1)


def student(values):
    """The mean of a few independent values, and half of its 95 % confidence interval.

    >>> "{:.4f} {:.4f}".format(*student([1, 2, 3, 4]))  # 3.182 * 1.2910 / 2
    '2.5000 2.0540'
    """
    return fmean(values), STUDENT[len(values) - 2] * stdev(values) / sqrt(len(values))


def bootstrap(values):
    """Half of the 95 % confidence interval of a value, from its resamples."""
    return 1.96 * stdev(values)


def means(columns):
    return [fmean(values) for values in zip(*columns)]


def differences(one, other):
    return [a - b for a, b in zip(one, other)]


def decisions(sample, row, asked=SIMILAR):
    """Precision, recall and F1 at every distance.

    >>> sample = {"documents": 100, "pairs": [10, 10, 5, 40]}
    >>> found = [[5, 1, 0], [2, 2, 0], [0, 1, 0], [9, 9, 9]]
    >>> row = {"duplicates": found, "others": [0, 3, 5], "unlabelled": [2, 0, 1]}
    >>> for asked in (SIMILAR, GROUPS, LABELS, Asked(rows=1000)):
    ...     print("{:.4f} {:.4f} {:.4f}".format(*decisions(sample, row, asked)[1]))
    0.7857 0.4400 0.5641
    0.9062 0.4462 0.5979
    0.8529 0.4462 0.5859
    0.2683 0.4400 0.3333
    """
    others = map(sum, zip(row["others"], row["unlabelled"])) if asked.strict else row["others"]
    times = asked.rows / sample["documents"] if asked.rows else 1
    false = (times * count for count in accumulate(others))
    found = accumulate(map(sum, zip(*row["duplicates"][:asked.bands])))
    wanted = sum(sample["pairs"][:asked.bands])
    return [(tp / (tp + fp) if tp + fp else 1.0, tp / wanted, 2 * tp / (tp + fp + wanted))
            for tp, fp in zip(found, false)]


def cumulative(grid, columns):
    """Pairs by distance and similarity, a line for each distance without trailing zeros: the pairs
    within each distance that are at least as similar.

    >>> cumulative([[1, 2], [], [0, 0, 5]], 4)
    [[3, 2, 0, 0], [3, 2, 0, 0], [8, 7, 5, 0]]
    """
    lines = [line + [0] * (columns - len(line)) for line in grid]
    similar = [list(accumulate(line[::-1]))[::-1] for line in lines]
    return list(accumulate(similar, lambda nearer, line: [a + b for a, b in zip(nearer, line)]))


def left_out(curves):
    """Each curve of F1 at the distance with the greatest mean over the others.

    >>> left_out([[0, 1, 0.6], [0, 0, 1]])
    [LeftOut(distance=2, f1=0.6, best_distance=1, best=1.0),
     LeftOut(distance=1, f1=0, best_distance=2, best=1.0)]
    """
    found = []
    for place, curve in enumerate(curves):
        distance, _ = greatest(curves[:place] + curves[place + 1:])
        found.append(LeftOut(distance, curve[distance], *greatest([curve])))
    return found


def edited_decisions(row, distance):
    """Precision, recall and F1 in every round of edits."""
    for found, others in zip(row["found"], row["others"]):
        tp, fp = found[distance], others[distance]
        yield (tp / (tp + fp) if tp + fp else 1.0, tp / row["texts"],
               2 * tp / (tp + fp + row["texts"]))


def tallied(truth, found, similarity):
    """Precision, recall and F1 by similarity, and by label, from the pairs in each of BINS.

    >>> truth = {"same": [9, 2, 2, 2, 2, 2, 2], "other": [0, 0, 3, 3, 3, 3, 3]}
    >>> found = {"same": [1, 0, 0, 1, 2, 2, 2], "other": [0, 1, 0, 0, 0, 1, 3]}
    >>> for by in tallied(truth, found, 0.7):
    ...     print("{:.4f} {:.4f} {:.4f}".format(*by))
    0.7692 0.6667 0.7143
    0.5833 0.5833 0.5833
    """
    least, shared = BINS.index(similarity), BINS.index(SHARED)
    pairs, others = [a + b for a, b in zip(found["same"], found["other"])], sum(found["other"])
    right = sum(found["same"][shared:])
    return (decided(sum(pairs[least:]), sum(pairs),
                    sum(truth["same"][least:]) + sum(truth["other"][least:])),
            decided(right, right + others, sum(truth["same"][shared:])))


def at_recall(curve, right, least=0.5):
    """The number of pairs of two labels among the most similar pairs that contain `right` pairs of
    one label, and the similarity where these end. Interpolated within a hundredth. None if there
    are not so many.

    >>> at_recall({"same": [5, 10, 0], "other": [7, 20, 3]}, 5)
    (13.0, 0.515)
    >>> at_recall({"same": [5, 10, 0], "other": [7, 20, 3]}, 16)
    """
    taken = others = 0
    for place, (same, other) in reversed(list(enumerate(zip(curve["same"], curve["other"])))):
        if same and taken + same >= right:
            part = (right - taken) / same
            return others + part * other, least + (place + 1 - part) / 100
        taken, others = taken + same, others + other
    return None


def decided(right, taken, wanted):
    """Precision, recall and F1."""
    return (right / taken if taken else 1.0, right / wanted if wanted else 0.0,
            2 * right / (taken + wanted) if taken + wanted else 0.0)
