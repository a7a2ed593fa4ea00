"""Configurations, as the extension's functions accept them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias, Union

from ._native import Recipe

#: JSON, a mapping that becomes JSON, or a Config. None is `{}`.
ConfigLike: TypeAlias = Union[str, Mapping[str, Any], "Config", None]


class Config:
    """A configuration with the objects that it names: a model, a dictionary, stop words.

    >>> str(Config({"shingle": 3}))
    '{"shingle": 3}'

    `model` is the bytes of `SELECT model FROM simhash_model`, `dictionary` is words, or words with
    their frequencies, and `stopwords` is words.
    """

    __slots__ = ("_arguments", "recipe")

    def __init__(
        self,
        config: str | Mapping[str, Any] = "{}",
        *,
        model: bytes | None = None,
        dictionary: Mapping[str, int | None] | Iterable[str] | None = None,
        stopwords: Iterable[str] | None = None,
    ) -> None:
        text = config if isinstance(config, str) else json.dumps(config, ensure_ascii=False)
        words: list[tuple[str, int | None]] | None = None
        if dictionary is not None:
            if isinstance(dictionary, Mapping):
                words = list(dictionary.items())
            else:
                words = [(word, None) for word in dictionary]
        unwanted = None if stopwords is None else list(stopwords)
        self._arguments = (text, model, words, unwanted)
        self.recipe = Recipe(*self._arguments)

    def __str__(self) -> str:
        return str(self.recipe)

    def __repr__(self) -> str:
        return f"Config({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._arguments == other._arguments

    def __hash__(self) -> int:
        return hash(self._arguments[0])

    def __getstate__(self) -> tuple[Any, ...]:
        return self._arguments

    def __setstate__(self, arguments: tuple[Any, ...]) -> None:
        self._arguments = arguments
        self.recipe = Recipe(*arguments)


@lru_cache(maxsize=64)
def _of_json(config: str) -> Recipe:
    return Recipe(config)


def recipe(config: ConfigLike) -> Recipe:
    """The form of a config that the compiled functions accept."""
    if isinstance(config, Config):
        return config.recipe
    if config is None:
        return _of_json("{}")
    if isinstance(config, str):
        return _of_json(config)
    if isinstance(config, Mapping):
        return _of_json(json.dumps(config, ensure_ascii=False))
    raise TypeError(f"a config is JSON, a dict or a Config, not {config!r}")
