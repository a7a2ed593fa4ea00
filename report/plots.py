"""The plots of both pages."""

from math import acos, pi
from statistics import fmean

from matplotlib import pyplot

from .benchmarks import OURS, written
from .evaluation import CORPORA, DEFAULT, PUBLISHED, WIDTHS
from .markdown import size
from .measures import edited_decisions, means
from .near_texts import TRIGRAMS, WAYS
from .verified import DISTANCES, PROPOSER, STEP, THRESHOLDS, VERIFIERS, WORDS

pyplot.switch_backend("svg")
# The same results give the same files, and text remains text.
pyplot.rcParams.update({"svg.hashsalt": "pg_simhash", "svg.fonttype": "none", "font.size": 10,
                        "legend.fontsize": 8, "axes.grid": True, "grid.alpha": 0.3})
PERCENTS = (5, 10, 15, 20)
EDITED = {"E-Simhash, no position": "words, entropy, capped",
          "E-Simhash, spread": "words, entropy, capped, position spread",
          "uniform": DEFAULT, "log": "words, log", "tf": "words, tf"}


def panels(count):
    """Axes, two in a row."""
    across = min(count, 2)
    down = -(-count // across)
    _, axes = pyplot.subplots(down, across, figsize=(6 * across, 4.8 * down), squeeze=False)
    return list(axes.flat)


def label(axes, title, x, y):
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=2)


def save(path):
    pyplot.tight_layout()
    pyplot.savefig(path, metadata={"Date": None})
    pyplot.close()


def draw(benchmarks, evaluation, docs):
    speed(benchmarks, docs / "benchmarks")
    if benchmarks.near_sizes():
        inserts(benchmarks)
        save(docs / "benchmarks" / "near.svg")
    directory = docs / "evaluation"
    for width in WIDTHS:
        by_distance(evaluation, width)
        save(directory / f"distance-{width}.svg")
    for plot in (verified, esimhash, angle):
        plot(evaluation)
        save(directory / f"{plot.__name__}.svg")


def speed(benchmarks, directory):
    """Medians by distance in the largest table with rivals, and within 3 bits by rows."""
    at = {"section": "latency", "data": "uniform"}
    for name, axis, wanted, x in (
            ("distance", "what", {"rows": benchmarks.largest}, "Hamming distance, of 64 bits"),
            ("growth", "rows", {"what": "≤ 3"}, "rows")):
        axes, = panels(1)
        for contender in benchmarks.distinct("contender", **at):
            figures = benchmarks.select(**at, **wanted, contender=contender)
            points = sorted((int(f"{f[axis]}".strip("≤ ")), f["value"]) for f in figures
                            if f["what"].startswith("≤"))
            if "128" not in contender and len(points) > (name == "growth"):
                axes.plot(*zip(*points), marker="o", label=written(contender).strip("*"),
                          linewidth=3 if contender == OURS else 1.5)
        axes.set(yscale="log", xscale="log" if name == "growth" else "linear")
        axes.yaxis.set_major_formatter("{x:g}")
        label(axes, f"A query over {size(benchmarks.largest)} rows" if name == "distance"
              else "Within 3 of 64 bits", x, "median, ms")
        save(directory / f"{name}.svg")


def inserts(benchmarks):
    """Texts inserted a second, by the index on them, with the sizes side by side."""
    sizes, wide = benchmarks.near_sizes(), 0.35
    for axes, rows in zip(panels(len(sizes)), sizes):
        for place, contender in enumerate((OURS, TRIGRAMS)):
            rates = [benchmarks.near_value("insert", rows, contender, f"{way}: rows a second")
                     for way in WAYS]
            axes.bar([group + wide * place for group in range(len(WAYS))],
                     [rate or 0 for rate in rates], wide, label=written(contender).strip("*"))
        axes.set_xticks([group + wide / 2 for group in range(len(WAYS))], WAYS)
        label(axes, f"Inserts into {size(rows)} texts", "", "rows a second")


def by_distance(evaluation, width):
    """Recall and precision of the default, a line for each corpus."""
    for axes, name, place in zip(panels(2), ("recall", "precision"), (1, 0)):
        for corpus in evaluation.corpora:
            decisions = evaluation.default_decisions(corpus, width)[:width * 3 // 8 + 1]
            axes.plot([decision[place] for decision in decisions], label=CORPORA[corpus][0])
        label(axes, f"{name.title()}, simhash{'128' if width == 128 else ''} by default",
              f"distance, of {width} bits", name)


def verified(evaluation):
    """Mean F1 by distance, alone and verified, then F1 of every corpus by the threshold."""
    by_distance, by_threshold = panels(2)
    (name, width), columns = PROPOSER, len(THRESHOLDS)
    distances = [step * width // 64 for step in DISTANCES]
    alone = means(evaluation.curves(name, width))
    by_distance.plot(distances, [alone[distance] for distance in distances],
                     label="the distance alone")
    for verifier, least in VERIFIERS.items():
        f1 = means(evaluation.grids_of(PROPOSER, verifier))
        by_distance.plot(distances, f1[THRESHOLDS.index(least)::columns],
                         label=f"verified: {verifier} ≥ {least:.2f}")
    label(by_distance, "minhash128, mean of the corpora", f"distance, of {width} bits", "F1")
    for corpus in evaluation.corpora:
        f1 = evaluation.grid(corpus, PROPOSER, WORDS)[STEP * columns:(STEP + 1) * columns]
        by_threshold.plot(THRESHOLDS[1:], f1[1:], label=CORPORA[corpus][0])
    label(by_threshold, f"minhash128 within {distances[STEP]}, verified by words",
          "least Jaccard similarity", "F1")


def esimhash(evaluation):
    """Edited copies found within 10 bits, and F1 by distance, compared with the published
    figures."""
    def mean(row, distance, place):
        return fmean(decision[place] for decision in edited_decisions(row, distance))

    corpora, distances = evaluation.results["edits"], range(1, 25)
    all_axes = panels(2 * len(corpora))
    for corpus, found, f1 in zip(corpora, all_axes[::2], all_axes[1::2]):
        for name, (published, _) in PUBLISHED.items():
            found.plot(PERCENTS, published, "o--", linewidth=1, label=name.strip("*"))
        for name, setting in EDITED.items():
            rows = [evaluation.edited(corpus, setting, "passage", percent) for percent in PERCENTS]
            found.plot(PERCENTS, [mean(row, 10, 1) for row in rows], label=name)
            row = evaluation.edited(corpus, setting, "all", 15)
            f1.plot(distances, [mean(row, distance, 2) for distance in distances], label=name)
        title = CORPORA[corpus][0]
        label(found, f"Found within 10: {title}", "one passage edited, at most %", "share found")
        label(f1, f"Spans, 15 %: {title}", "distance, of 128 bits", "F1")


def angle(evaluation):
    """Measured distances against f times angle over pi: means of pairs with similar predictions."""
    for axes, width in zip(panels(len(WIDTHS)), WIDTHS):
        step, most = width // 64, 0.4 * width
        for corpus, result in evaluation.results["angle"].items():
            bins = {}
            for row in result["rows"]:
                place = width * acos(min(1, row["cosine"])) / pi // step
                bins.setdefault((place + 0.5) * step, []).append(row[f"distance{width}"])
            points = [(at, fmean(measured)) for at, measured in sorted(bins.items())
                      if len(measured) >= 5 and at < most]
            axes.plot(*zip(*points), label=CORPORA[corpus][0])
        axes.plot((0, most), (0, most), "--", linewidth=1, label="f · angle / π")
        label(axes, f"Measured against predicted distance, {width} bits",
              "predicted from the cosine", "measured, mean")
