"""The extension's functions as Polars expressions, and the duplicates of whole frames.

>>> import polars, pg_simhash.polars
>>> polars.DataFrame({"body": ["Hello, World!"]}).select(
...     polars.col("body").simhash.tokens().alias("tokens")
... ).to_series().to_list()
[['hello', 'world']]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars

from . import texts as made
from .config import ConfigLike, recipe
from .whole import Keep, Progress
from .whole import duplicates as duplicates_of


@polars.api.register_expr_namespace("simhash")
class SimhashExpressions:
    """Functions for a column of texts: `polars.col("body").simhash.minhash128()`.

    Fingerprints of 64 bits are UInt64, others Binary.
    """

    def __init__(self, expression: polars.Expr) -> None:
        self._expression = expression

    def _made(
        self, make: Callable[..., Any], kind: Any, config: ConfigLike, *more: Any
    ) -> polars.Expr:
        recipe(config)

        def of(texts: polars.Series) -> polars.Series:
            result: polars.Series = make(texts, *more, config)
            return result.cast(kind)

        return self._expression.map_batches(of, return_dtype=kind)

    def simhash(self, config: ConfigLike = None) -> polars.Expr:
        """Fingerprints of 64 bits by simhash."""
        return self._made(made.simhash, polars.UInt64, config)

    def simhash128(self, config: ConfigLike = None) -> polars.Expr:
        """Fingerprints of 128 bits by simhash."""
        return self._made(made.simhash128, polars.Binary, config)

    def minhash64(self, config: ConfigLike = None) -> polars.Expr:
        """Fingerprints of 64 bits by one-bit MinHash."""
        return self._made(made.minhash64, polars.UInt64, config)

    def minhash128(self, config: ConfigLike = None) -> polars.Expr:
        """Fingerprints of 128 bits by one-bit MinHash."""
        return self._made(made.minhash128, polars.Binary, config)

    def minhash256(self, config: ConfigLike = None) -> polars.Expr:
        """Fingerprints of 256 bits by one-bit MinHash."""
        return self._made(made.minhash256, polars.Binary, config)

    def normalize(self, config: ConfigLike = None) -> polars.Expr:
        """Texts after the steps of normalisation."""
        return self._made(made.normalize, polars.String, config)

    def tokens(self, config: ConfigLike = None) -> polars.Expr:
        """The tokens of texts."""
        return self._made(made.tokens, polars.List(polars.String), config)

    def numbers(self, config: ConfigLike = None) -> polars.Expr:
        """The numbers of texts."""
        return self._made(made.numbers, polars.List(polars.String), config)

    def sketch(self, similarity: float = 0.7, config: ConfigLike = None) -> polars.Expr:
        """The keys for finding near-duplicates."""
        return self._made(made.sketch, polars.List(polars.Int64), config, similarity)


def _column(frame: Any, name: str) -> polars.Series:
    if not isinstance(frame, polars.DataFrame):
        raise TypeError(f"a {type(frame).__name__} is no DataFrame: call its collect() first")
    return frame[name]


def duplicates(
    frame: polars.DataFrame,
    text: str,
    similarity: float = 0.7,
    keep: Keep = None,
    config: ConfigLike = None,
    *,
    progress: Progress | None = None,
) -> polars.DataFrame:
    """The rows to drop, by their numbers: the columns `duplicate`, `kept` and `similarity`."""
    found = duplicates_of(_column(frame, text), similarity, keep, config, progress=progress)
    return polars.DataFrame(
        found,
        schema={"duplicate": polars.UInt32, "kept": polars.UInt32, "similarity": polars.Float64},
        orient="row",
    )


def dedup(
    frame: polars.DataFrame,
    text: str,
    similarity: float = 0.7,
    keep: Keep = None,
    config: ConfigLike = None,
    *,
    progress: Progress | None = None,
) -> polars.DataFrame:
    """The rows that stay, in their original order."""
    found = duplicates_of(_column(frame, text), similarity, keep, config, progress=progress)
    gone = polars.Series([row.duplicate for row in found], dtype=polars.UInt32)
    rows = polars.int_range(frame.height, dtype=polars.UInt32, eager=True)
    return frame.filter(~rows.is_in(gone.implode()))
