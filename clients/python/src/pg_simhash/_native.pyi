from collections.abc import Callable, Sequence
from typing import Any

VALUES: str
VERSION: str

class Recipe:
    def __init__(
        self,
        config: str,
        model: bytes | None = None,
        dictionary: Sequence[tuple[str, int | None]] | None = None,
        stopwords: Sequence[str] | None = None,
    ) -> None: ...

class Pairs(Sequence[tuple[int, int, float]]):
    def __init__(
        self,
        recipe: Recipe,
        similarity: float,
        texts: Any,
        room: tuple[int, str],
        progress: Callable[[float], object] | None = None,
    ) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, number: Any) -> Any: ...

def set_threads(threads: int) -> None:
    """Sets how many threads a call uses. 0: as many as there are cores."""

def threads() -> int:
    """How many threads a call uses."""

def fingerprints(recipe: Recipe, method: str, bits: int, texts: Any) -> Any: ...
def normalized(recipe: Recipe, texts: Any) -> Any: ...
def tokens(recipe: Recipe, texts: Any) -> Any: ...
def numbers(recipe: Recipe, texts: Any) -> Any: ...
def keys(recipe: Recipe, similarity: float, texts: Any) -> Any: ...
def near(recipe: Recipe, similarity: float, a: Any, b: Any) -> Any: ...
def similarity(recipe: Recipe, a: Any, b: Any) -> Any: ...
def shares_passage(recipe: Recipe, words: int, a: Any, b: Any) -> Any: ...
def passage_share(recipe: Recipe, words: int, a: Any, b: Any) -> Any: ...
def shared_passages(
    recipe: Recipe, words: int, a: str, b: str
) -> list[tuple[int, int, int, int, int]]: ...
def law(similarity: float) -> tuple[int, int, int]: ...
def reach(similarity: float, bits: int) -> int: ...
def lengths(texts: Any) -> list[int | None]: ...
def duplicates(
    recipe: Recipe,
    similarity: float,
    texts: Any,
    order: Sequence[int] | None,
    room: tuple[int, str],
    progress: Callable[[float], object] | None = None,
) -> list[tuple[int, int, float]]: ...
def clusters(
    recipe: Recipe,
    similarity: float,
    texts: Any,
    is_star: bool,
    room: tuple[int, str],
    progress: Callable[[float], object] | None = None,
) -> list[list[tuple[int, float]]]: ...
