"""Whole sets of texts: duplicates, pairs, clusters. Every result is exactly that of the extension's
bulk functions for a table of these texts.

Texts are a sequence, a numpy array, a Series, or an Arrow array, whose texts are not copied. They
are identified by their numbers, from 0.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Union

from . import _native
from .config import ConfigLike, recipe
from .texts import readable

#: Which of several near texts stays: the first one, the longest one, or the one with the least sort
#: key (a sequence with a key for each text, or a function of the text).
Keep = Union[str, Sequence[Any], Callable[[str], Any], None]

#: Called with the completed share, from 0 to 1.
Progress = Callable[[float], object]

#: The memory in bytes for keys, in addition to the texts. Sets of shingles may use as much again.
#: Keys that do not fit are stored in an unnamed temporary file in `directory`.
MEMORY = 1 << 30
#: The least memory. With less, even few texts would need thousands of passes.
LEAST_MEMORY = 1 << 20


#: A directory for temporary files. None: the default of Python's `tempfile`.
Directory = Union[str, "os.PathLike[str]", None]


class Duplicate(NamedTuple):
    """A text to drop, and the one that stands for it, by number."""

    duplicate: int
    kept: int
    similarity: float


class Deduplicated(NamedTuple):
    """The numbers of the texts that stay, ascending, and the dropped ones."""

    kept: list[int]
    duplicates: list[Duplicate]


def _order(texts: Any, keep: Any) -> list[int] | None:
    """The order in which texts are considered. None: the given order."""
    if keep is None or (isinstance(keep, str) and keep == "first"):
        return None
    if isinstance(keep, str):
        if keep != "longest":
            raise ValueError(
                f"keep is {keep!r}. Allowed: 'first', 'longest', a sort key for each text, or a "
                "function that makes one of a text."
            )
        lengths = _native.lengths(texts)
        return sorted(range(len(lengths)), key=lambda number: -(lengths[number] or 0))
    if callable(keep):
        listed = _listed(texts)
        # A missing text is near nothing, so its place does not matter.
        there = [number for number, text in enumerate(listed) if text is not None]
        made = {number: keep(listed[number]) for number in there}
        rest = [number for number, text in enumerate(listed) if text is None]
        return sorted(there, key=made.__getitem__) + rest
    if not isinstance(keep, Iterable):
        raise TypeError(f"keep is {keep!r}, which is no sequence of sort keys")
    keys = list(keep)
    if any(key != key for key in keys):
        raise ValueError("a sort key of keep is nan, which has no place in an order")
    if len(keys) != len(texts):
        raise ValueError(f"{len(keys)} sort keys for {len(texts)} texts")
    return sorted(range(len(keys)), key=keys.__getitem__)


def _listed(texts: Any) -> Any:
    if hasattr(texts, "to_pylist"):
        return texts.to_pylist()
    return texts.to_list() if hasattr(texts, "to_list") else list(texts)


def _many(texts: Any) -> Any:
    if isinstance(texts, (str, bytes)) or texts is None:
        raise TypeError("many texts are asked for, not one")
    if isinstance(texts, (set, frozenset, dict)):
        raise TypeError(f"texts are named by their numbers, and a {type(texts).__name__} has none")
    texts = readable(texts)
    return texts if hasattr(texts, "__len__") else list(texts)


def _room(memory: Any, directory: Directory) -> tuple[int, str]:
    """The bytes of memory, and the directory for keys that do not fit."""
    if isinstance(memory, bool) or not isinstance(memory, int) or memory < LEAST_MEMORY:
        raise ValueError(f"memory is a number of bytes, {LEAST_MEMORY} or more, not {memory!r}")
    return memory, tempfile.gettempdir() if directory is None else os.fspath(directory)


def _checked(similarity: Any, progress: Any) -> None:
    """Checks arguments that the compiled code would reject with other messages, or too late."""
    if isinstance(similarity, bool) or not isinstance(similarity, (int, float)):
        raise TypeError(f"similarity is a number from 0.3 to 1, not {similarity!r}")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is a function of the share that is done, not {progress!r}")


def duplicates(
    texts: Iterable[str | None] | Any,
    similarity: float = 0.7,
    keep: Keep = None,
    config: ConfigLike = None,
    *,
    memory: int = MEMORY,
    progress: Progress | None = None,
    directory: Directory = None,
) -> list[Duplicate]:
    """`simhash_duplicates`: the texts to drop, each with the text that stands for it.

    Texts are considered in the order of `keep`. A text that is near none of those kept before it is
    kept. Any other is dropped, and the most similar of those kept before it stands for it.
    """
    _checked(similarity, progress)
    texts = _many(texts)
    order, room = _order(texts, keep), _room(memory, directory)
    found = _native.duplicates(recipe(config), similarity, texts, order, room, progress)
    found.sort()
    return [Duplicate(*row) for row in found]


def dedup(
    texts: Iterable[str | None] | Any,
    similarity: float = 0.7,
    keep: Keep = None,
    config: ConfigLike = None,
    *,
    memory: int = MEMORY,
    progress: Progress | None = None,
    directory: Directory = None,
) -> Deduplicated:
    """Which texts stay, and which are dropped as near-duplicates of them.

    >>> dedup(["the very same text", "another one here", "The very same text!"]).kept
    [0, 1]
    """
    texts = _many(texts)
    options: Any = {"memory": memory, "progress": progress, "directory": directory}
    dropped = duplicates(texts, similarity, keep, config, **options)
    gone = {row.duplicate for row in dropped}
    return Deduplicated([number for number in range(len(texts)) if number not in gone], dropped)


def pairs(
    texts: Iterable[str | None] | Any,
    similarity: float = 0.7,
    config: ConfigLike = None,
    *,
    memory: int = MEMORY,
    progress: Progress | None = None,
    directory: Directory = None,
) -> Sequence[tuple[int, int, float]]:
    """`simhash_pairs`: all pairs of near-duplicates, as (a, b, similarity), a < b, ascending."""
    _checked(similarity, progress)
    room = _room(memory, directory)
    return _native.Pairs(recipe(config), similarity, _many(texts), room, progress)


def clusters(
    texts: Iterable[str | None] | Any,
    similarity: float = 0.7,
    linkage: str = "chain",
    config: ConfigLike = None,
    *,
    memory: int = MEMORY,
    progress: Progress | None = None,
    directory: Directory = None,
) -> list[list[tuple[int, float]]]:
    """`simhash_clusters`: clusters of two texts and more, each as (text, similarity to the first
    one). Chains of pairs connect their texts; with linkage `star` all are near their first one."""
    if linkage not in ("chain", "star"):
        raise ValueError(f"linkage is {linkage!r}. Allowed: 'chain', 'star'.")
    _checked(similarity, progress)
    is_star, room = linkage == "star", _room(memory, directory)
    return _native.clusters(recipe(config), similarity, _many(texts), is_star, room, progress)
