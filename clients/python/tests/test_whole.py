"""Whole lists of texts, against the definition: each text compared with each."""

from __future__ import annotations

import random
import resource
from pathlib import Path
from typing import Any

import numpy
import polars
import pyarrow
import pytest

from pg_simhash import clusters, dedup, duplicates, near_duplicate, pairs, text_similarity


def texts(seed: int, count: int) -> list[str | None]:
    """Families of texts, copies, and texts that are near nothing."""
    chosen = random.Random(seed)
    words = [f"w{i}" for i in range(300)]
    made: list[str | None] = []
    while len(made) < count:
        kind = chosen.random()
        if kind < 0.03:
            made.append(chosen.choice([None, "", "...", "one"]))
        elif kind < 0.6 and made and isinstance(old := chosen.choice(made), str):
            cut = old.split()
            for _ in range(chosen.choice([0, 0, 1, 1, 2, 5])):
                if cut:
                    cut[chosen.randrange(len(cut))] = chosen.choice(words)
            made.append(" ".join(cut))
        else:
            made.append(" ".join(chosen.choices(words, k=chosen.randrange(1, 60))))
    return made


def near_pairs(rows: list[str | None], similarity: float) -> dict[tuple[int, int], float]:
    found = {}
    for b, text in enumerate(rows):
        if text is None or b == 0:
            continue
        before = [other or "" for other in rows[:b]]
        is_near = near_duplicate(text, before, similarity)
        for a in (a for a, near in enumerate(is_near) if near):
            found[a, b] = text_similarity(before[a], text)
    return found


def cover(order: list[int], near: dict[tuple[int, int], float]) -> list[tuple[int, int, float]]:
    """The definition: one that is near none kept before it is kept."""
    place = {number: i for i, number in enumerate(order)}
    kept: list[int] = []
    dropped = []
    for number in order:
        found = [
            (-near[pair], place[other], other)
            for other in kept
            if (pair := (min(number, other), max(number, other))) in near
        ]
        if found:
            how, _, other = min(found)
            dropped.append((number, other, -how))
        else:
            kept.append(number)
    return sorted(dropped)


@pytest.mark.parametrize("similarity", [0.3, 0.45, 0.5, 0.7, 0.9, 1.0])
def test_everything_is_as_defined(similarity: float) -> None:
    rows = texts(int(similarity * 100), 500)
    near = near_pairs(rows, similarity)
    assert list(pairs(rows, similarity)) == [(a, b, how) for (a, b), how in sorted(near.items())]
    assert duplicates(rows, similarity) == cover(list(range(len(rows))), near)
    lengths = [len(text or "") for text in rows]
    longest = sorted(range(len(rows)), key=lambda i: -lengths[i])
    assert duplicates(rows, similarity, "longest") == cover(longest, near)
    keys = [random.Random(i).random() for i in range(len(rows))]
    by_key = sorted(range(len(rows)), key=keys.__getitem__)
    assert duplicates(rows, similarity, keys) == cover(by_key, near)


def test_little_memory_gives_the_same() -> None:
    """Keys of 6,000 texts take 1.6 MB: they lie in a file, and rows meet in blocks."""
    rows = texts(7, 6000)
    assert duplicates(rows, 0.5, memory=1 << 20) == duplicates(rows, 0.5)
    assert list(pairs(rows, 0.5, memory=1 << 20)) == list(pairs(rows, 0.5))
    assert clusters(rows, 0.5, memory=1 << 20) == clusters(rows, 0.5)


def test_a_file_of_keys_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    rows = [f"{number} is a number" for number in range(6000)]
    for call in (duplicates, pairs, clusters):
        with pytest.raises(OSError, match="/nowhere"):
            call(rows, memory=1 << 20, directory="/nowhere")
    assert duplicates(rows, 1.0, memory=1 << 20, directory=tmp_path) == []
    assert list(tmp_path.iterdir()) == []
    # As a full disk does it: no file may be longer than 100,000 bytes.
    bound = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, bound[1]))
    try:
        with pytest.raises(OSError, match=f"{tmp_path}: File too large"):
            duplicates(rows, memory=1 << 20, directory=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, bound)
    assert list(tmp_path.iterdir()) == []


def test_forms_of_many_texts() -> None:
    rows = texts(3, 400)
    expected, longest = dedup(rows), dedup(rows, keep="longest")
    assert expected != longest
    for form in (
        tuple(rows),
        pyarrow.array(rows),
        pyarrow.chunked_array([rows[:100], rows[100:]], pyarrow.string()),
        pyarrow.array(rows, pyarrow.string_view()),
        pyarrow.array(rows, pyarrow.large_string()),
        pyarrow.array(rows).dictionary_encode(),
        polars.Series(rows),
        polars.Series(rows, dtype=polars.Categorical),
        numpy.array(rows, dtype=object),
    ):
        assert dedup(form) == expected
        assert dedup(form, keep="longest") == longest
    assert dedup(iter(rows)) == expected
    assert dedup(iter(rows), keep="longest") == longest
    assert len(expected.kept) + len(expected.duplicates) == len(rows)


def test_clusters() -> None:
    rows = texts(11, 600)
    near = near_pairs(rows, 0.7)
    leader = list(range(len(rows)))

    def of(number: int) -> int:
        while leader[number] != number:
            number = leader[number]
        return number

    for a, b in near:
        x, y = sorted((of(a), of(b)))
        leader[y] = x
    chains: dict[int, set[int]] = {}
    for a, b in near:
        chains.setdefault(of(a), set()).update((a, b))
    found = {min(n for n, _ in cluster): {n for n, _ in cluster} for cluster in clusters(rows)}
    assert found == chains
    stars = {n: {n} for _, n, _ in cover(list(range(len(rows))), near)}
    for gone, kept, _ in cover(list(range(len(rows))), near):
        stars[kept].add(gone)
    assert {c[0][0]: {n for n, _ in c} for c in clusters(rows, linkage="star")} == stars


def test_what_is_wrong_is_named() -> None:
    for call, message in [
        (lambda: dedup(["a"], keep="last"), "keep is 'last'"),
        (lambda: dedup(["a", "b"], keep=[1]), "1 sort keys for 2 texts"),
        (lambda: clusters(["a"], linkage="x"), "linkage is 'x'"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    wrong: list[tuple[Any, type[Exception], str]] = [
        (lambda: dedup("a text"), TypeError, "not one"),
        (lambda: dedup(None), TypeError, "not one"),
        (lambda: dedup({"a", "b"}), TypeError, "a set has none"),
        (lambda: dedup(["a"], None), TypeError, "a number from 0.3 to 1"),
        (lambda: dedup(["a"], memory="1GB"), ValueError, "a number of bytes"),
        (lambda: dedup(["a"], memory=1 << 19), ValueError, "1048576 or more"),
        (lambda: dedup(pyarrow.array([["a"]]), keep="longest"), TypeError, "of type List"),
        (lambda: dedup(pyarrow.array([["a"]]), keep=len), TypeError, "of type List"),
        (lambda: dedup(["a"], progress=5), TypeError, "progress is a function"),
        (lambda: dedup(["a"], keep=5), TypeError, "no sequence of sort keys"),
        (lambda: dedup(["a"], keep=[float("nan")]), ValueError, "nan"),
    ]
    for call, error, message in wrong:
        with pytest.raises(error, match=message):
            call()


def test_progress_is_told() -> None:
    told: list[float] = []
    rows = texts(5, 1000) * 40 + [" ".join(f"w{i}-{j}" for j in range(40)) for i in range(20_000)]
    dedup(rows, progress=told.append)
    assert told == sorted(told)
    assert all(0 <= share <= 1 for share in told)

    def fail(_: float) -> Any:
        raise RuntimeError("not today")

    with pytest.raises(RuntimeError, match="not today"):
        dedup(rows, progress=fail)
