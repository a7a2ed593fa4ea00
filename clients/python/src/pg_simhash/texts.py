"""The extension's functions of one text and of two.

Each accepts a text, or many: a sequence of strings and None, a numpy array, a pandas Series, or an
Arrow array (of pyarrow, polars, or any object with `__arrow_c_array__` or `__arrow_c_stream__`).
For one text it returns one value, for a sequence a list, and for an array an array of the same
library. The result is None for None, and where the SQL function returns NULL. Many texts use all
cores (`set_threads`), and other Python threads run meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, overload

from . import _native
from .config import ConfigLike, recipe
from .fingerprint import (
    FINGERPRINTS,
    Fingerprint,
    Fingerprint64,
    Fingerprint128,
    Fingerprint256,
    FingerprintLike,
)

if TYPE_CHECKING:
    from typing import TypeAlias

#: Many texts, in a list, a tuple or an iterator.
Texts: TypeAlias = "Iterable[str | None]"

F = TypeVar("F", bound=Fingerprint)


class Array(Protocol):
    """An array of numpy, pandas, polars or pyarrow."""

    @property
    def dtype(self) -> Any: ...


class Passage(NamedTuple):
    """A passage that two texts share: `a[a_start : a_start + a_length]` and the same of b.

    The SQL function counts from 1, as `substr` does. This one counts from 0, as Python does.
    """

    a_start: int
    a_length: int
    b_start: int
    b_length: int
    words: int


def library(texts: object) -> str:
    """The library that an object comes from."""
    return type(texts).__module__.partition(".")[0]


def readable(texts: Any) -> Any:
    """Texts in a form that the compiled functions accept: those of numpy and pandas become
    lists."""
    kind = library(texts)
    if kind == "pandas":
        if getattr(texts, "ndim", 1) != 1:
            raise TypeError("texts are one column: a Series, not a DataFrame")
        return texts.astype(object).where(texts.notna(), None).tolist()
    if kind == "numpy" and hasattr(texts, "ndim"):
        if texts.ndim > 1:
            raise ValueError(f"texts are an array of one dimension, not of {texts.ndim}")
        return texts.tolist()
    return texts


def given_back(result: Any, texts: Any) -> Any:
    """Converts a list or an Arrow array to the library that the texts came from."""
    kind = library(texts)
    if kind == "numpy" and isinstance(result, list):
        import numpy

        array = numpy.empty(len(result), dtype=object)
        array[:] = result
        return array
    if kind == "pandas" and isinstance(result, list):
        import pandas

        return pandas.Series(result, index=texts.index, name=texts.name, dtype=object)
    if kind == "polars":
        import polars

        return polars.Series(result).alias(getattr(texts, "name", ""))
    if kind == "pyarrow":
        import pyarrow

        array = pyarrow.array(result)
        return pyarrow.chunked_array([array]) if hasattr(texts, "chunks") else array
    return result


def _fingerprints(method: str, kind: type[F], texts: Any, config: ConfigLike) -> Any:
    if texts is None:
        return None
    made = _native.fingerprints(recipe(config), method, kind.bits, readable(texts))
    if isinstance(texts, str):
        return None if made is None else kind(made)
    if not isinstance(made, tuple):
        return given_back(made, texts)
    values, missing = made
    if library(texts) == "numpy" and hasattr(texts, "ndim"):
        import numpy

        array = numpy.frombuffer(values, dtype=">u8").astype(numpy.uint64)
        if kind.bits > 64:
            array = array.reshape(-1, kind.bits // 64)
        if any(missing):
            mask = numpy.frombuffer(missing, dtype=bool)
            if kind.bits > 64:
                mask = numpy.repeat(mask[:, None], kind.bits // 64, axis=1)
            return numpy.ma.masked_array(array, mask)
        return array
    width = kind.bits // 8
    new, number = int.__new__, int.from_bytes
    listed = [
        None if gone else new(kind, number(values[at : at + width], "big"))
        for gone, at in zip(missing, range(0, len(values), width))
    ]
    return given_back(listed, texts)


@overload
def simhash(texts: str, config: ConfigLike = None) -> Fingerprint64 | None: ...
@overload
def simhash(texts: Array, config: ConfigLike = None) -> Any: ...
@overload
def simhash(texts: Texts, config: ConfigLike = None) -> list[Fingerprint64 | None]: ...
def simhash(texts: Any, config: ConfigLike = None) -> Any:
    """Fingerprints of 64 bits by simhash. For a numpy array the result is an array of uint64.

    >>> simhash("Hello, World!") == simhash("hello   world")
    True
    """
    return _fingerprints("simhash", Fingerprint64, texts, config)


@overload
def simhash128(texts: str, config: ConfigLike = None) -> Fingerprint128 | None: ...
@overload
def simhash128(texts: Array, config: ConfigLike = None) -> Any: ...
@overload
def simhash128(texts: Texts, config: ConfigLike = None) -> list[Fingerprint128 | None]: ...
def simhash128(texts: Any, config: ConfigLike = None) -> Any:
    """Fingerprints of 128 bits by simhash. For a numpy array the result is an array of uint64 with
    two columns, the most significant word first."""
    return _fingerprints("simhash", Fingerprint128, texts, config)


@overload
def simhash256(texts: str, config: ConfigLike = None) -> Fingerprint256 | None: ...
@overload
def simhash256(texts: Array, config: ConfigLike = None) -> Any: ...
@overload
def simhash256(texts: Texts, config: ConfigLike = None) -> list[Fingerprint256 | None]: ...
def simhash256(texts: Any, config: ConfigLike = None) -> Any:
    """Fingerprints of 256 bits by simhash. For a numpy array as with `simhash128`, with four
    columns."""
    return _fingerprints("simhash", Fingerprint256, texts, config)


@overload
def minhash64(texts: str, config: ConfigLike = None) -> Fingerprint64 | None: ...
@overload
def minhash64(texts: Array, config: ConfigLike = None) -> Any: ...
@overload
def minhash64(texts: Texts, config: ConfigLike = None) -> list[Fingerprint64 | None]: ...
def minhash64(texts: Any, config: ConfigLike = None) -> Any:
    """Fingerprints of 64 bits by one-bit MinHash."""
    return _fingerprints("minhash", Fingerprint64, texts, config)


@overload
def minhash128(texts: str, config: ConfigLike = None) -> Fingerprint128 | None: ...
@overload
def minhash128(texts: Array, config: ConfigLike = None) -> Any: ...
@overload
def minhash128(texts: Texts, config: ConfigLike = None) -> list[Fingerprint128 | None]: ...
def minhash128(texts: Any, config: ConfigLike = None) -> Any:
    """Fingerprints of 128 bits by one-bit MinHash."""
    return _fingerprints("minhash", Fingerprint128, texts, config)


@overload
def minhash256(texts: str, config: ConfigLike = None) -> Fingerprint256 | None: ...
@overload
def minhash256(texts: Array, config: ConfigLike = None) -> Any: ...
@overload
def minhash256(texts: Texts, config: ConfigLike = None) -> list[Fingerprint256 | None]: ...
def minhash256(texts: Any, config: ConfigLike = None) -> Any:
    """Fingerprints of 256 bits by one-bit MinHash."""
    return _fingerprints("minhash", Fingerprint256, texts, config)


def _each(make: Callable[..., Any], texts: Any, *arguments: Any) -> Any:
    if texts is None:
        return None
    return given_back(make(*arguments, readable(texts)), texts)


@overload
def normalize(texts: str, config: ConfigLike = None) -> str: ...
@overload
def normalize(texts: Array, config: ConfigLike = None) -> Any: ...
@overload
def normalize(texts: Texts, config: ConfigLike = None) -> list[str | None]: ...
def normalize(texts: Any, config: ConfigLike = None) -> Any:
    """`simhash_normalize`: texts after the steps of normalisation."""
    return _each(_native.normalized, texts, recipe(config))


@overload
def tokens(texts: str, config: ConfigLike = None) -> list[str]: ...
@overload
def tokens(texts: Array, config: ConfigLike = None) -> Any: ...
@overload
def tokens(texts: Texts, config: ConfigLike = None) -> list[list[str] | None]: ...
def tokens(texts: Any, config: ConfigLike = None) -> Any:
    """`simhash_tokens`: the tokens of texts.

    >>> tokens("Hello, World!")
    ['hello', 'world']
    """
    return _each(_native.tokens, texts, recipe(config))


@overload
def numbers(texts: str, config: ConfigLike = None) -> list[str]: ...
@overload
def numbers(texts: Array, config: ConfigLike = None) -> Any: ...
@overload
def numbers(texts: Texts, config: ConfigLike = None) -> list[list[str] | None]: ...
def numbers(texts: Any, config: ConfigLike = None) -> Any:
    """`simhash_numbers`: the numbers of texts, as the config key `numbers` compares them."""
    return _each(_native.numbers, texts, recipe(config))


@overload
def sketch(texts: str, similarity: float = 0.7, config: ConfigLike = None) -> list[int] | None: ...
@overload
def sketch(texts: Array, similarity: float = 0.7, config: ConfigLike = None) -> Any: ...
@overload
def sketch(
    texts: Texts, similarity: float = 0.7, config: ConfigLike = None
) -> list[list[int] | None]: ...
def sketch(texts: Any, similarity: float = 0.7, config: ConfigLike = None) -> Any:
    """The keys for finding near-duplicates of texts, each of 40 bits; a band's keys differ from
    those of every other. Texts of at least this similarity share at least
    `sketch_law(similarity)[2]` of them. None for a text without a token."""
    return _each(_native.keys, texts, recipe(config), similarity)


@overload
def shingles(texts: str, config: ConfigLike = None) -> list[int]: ...
@overload
def shingles(texts: Array, config: ConfigLike = None) -> Any: ...
@overload
def shingles(texts: Texts, config: ConfigLike = None) -> list[list[int] | None]: ...
def shingles(texts: Any, config: ConfigLike = None) -> Any:
    """The sets of shingles whose Jaccard coefficient is `text_similarity`, as signed hashes of 64
    bits, each once, for a column of type bigint[]. Empty for a text without a token. A config that
    weighs shingles is a ValueError.

    >>> a, b = shingles(["one two three four", "one two three five"])
    >>> len(set(a) & set(b)) / len(set(a) | set(b))
    0.5
    """
    return _each(_native.shingles, texts, recipe(config))


def sketch_law(similarity: float) -> tuple[int, int, int]:
    """(bands, rows, shared) of `sketch`: near-duplicates agree in at least `shared` of `bands`
    bands of `rows` rows.

    >>> sketch_law(0.7)
    (35, 3, 4)
    """
    return _native.law(similarity)


def reach(similarity: float, bits: int = 128) -> int:
    """`simhash_reach`: the distance within which 99 % of one-bit MinHash fingerprints of texts with
    this similarity lie.

    >>> reach(0.7)
    29
    """
    return _native.reach(similarity, bits)


def _both(make: Callable[..., Any], a: Any, b: Any, *arguments: Any) -> Any:
    if a is None or b is None:
        return None
    made = make(*arguments, readable(a), readable(b))
    like = b if isinstance(a, str) or (library(b) in ARRAYS and library(a) not in ARRAYS) else a
    return given_back(made, like)


ARRAYS = ("numpy", "pandas", "polars", "pyarrow")


@overload
def near_duplicate(a: str, b: str, similarity: float = 0.7, config: ConfigLike = None) -> bool: ...
@overload
def near_duplicate(a: Any, b: Any, similarity: float = 0.7, config: ConfigLike = None) -> Any: ...
def near_duplicate(a: Any, b: Any, similarity: float = 0.7, config: ConfigLike = None) -> Any:
    """Whether texts are near-duplicates, row by row. A single text is compared with each of
    many."""
    return _both(_native.near, a, b, recipe(config), similarity)


@overload
def text_similarity(a: str, b: str, config: ConfigLike = None) -> float: ...
@overload
def text_similarity(a: Any, b: Any, config: ConfigLike = None) -> Any: ...
def text_similarity(a: Any, b: Any, config: ConfigLike = None) -> Any:
    """The Jaccard coefficient of the texts' sets of shingles, row by row.

    >>> text_similarity("one two three", "one two four")
    0.3333333333333333
    """
    return _both(_native.similarity, a, b, recipe(config))


@overload
def shares_passage(a: str, b: str, words: int = 25, config: ConfigLike = None) -> bool: ...
@overload
def shares_passage(a: Any, b: Any, words: int = 25, config: ConfigLike = None) -> Any: ...
def shares_passage(a: Any, b: Any, words: int = 25, config: ConfigLike = None) -> Any:
    """Whether both texts contain a common run of at least this many words, row by row."""
    return _both(_native.shares_passage, a, b, recipe(config), words)


@overload
def passage_share(a: str, b: str, words: int = 25, config: ConfigLike = None) -> float: ...
@overload
def passage_share(a: Any, b: Any, words: int = 25, config: ConfigLike = None) -> Any: ...
def passage_share(a: Any, b: Any, words: int = 25, config: ConfigLike = None) -> Any:
    """The share of a's words that are in passages that b contains, row by row."""
    return _both(_native.passage_share, a, b, recipe(config), words)


def shared_passages(a: str, b: str, words: int = 25, config: ConfigLike = None) -> list[Passage]:
    """The passages that two texts share, with their positions in the texts."""
    return [Passage(*place) for place in _native.shared_passages(recipe(config), words, a, b)]


@overload
def hamming(a: FingerprintLike, b: FingerprintLike) -> int: ...
@overload
def hamming(a: Any, b: Any) -> Any: ...
def hamming(a: Any, b: Any) -> Any:
    """The number of bits in which fingerprints differ: two fingerprints, two sequences, or two
    arrays from the functions above. A single one is compared with each of many.

    >>> hamming(Fingerprint64("ff00000000000000"), 0)
    8
    """
    if _is_array(a) or _is_array(b):
        return _hamming_arrays(a, b)
    if isinstance(a, Sequence) and not isinstance(a, (str, bytes)):
        if isinstance(b, Sequence) and not isinstance(b, (str, bytes)):
            if len(a) != len(b):
                raise ValueError(f"{len(a)} fingerprints beside {len(b)}")
            return [hamming(x, y) for x, y in zip(a, b)]
        return [hamming(x, b) for x in a]
    if isinstance(b, Sequence) and not isinstance(b, (str, bytes)):
        return [hamming(a, y) for y in b]
    if a is None or b is None:
        return None
    kind = next((type(x) for x in (a, b) if isinstance(x, Fingerprint)), None)
    if kind is None:
        kind = _kind_of(a) or _kind_of(b) or Fingerprint64
    return kind(a).hamming(b)


def _kind_of(value: Any) -> type[Fingerprint] | None:
    """The type of fingerprints of this length."""
    if isinstance(value, str):
        bits = 4 * len(value.removeprefix("0x").removeprefix("\\x"))
    elif isinstance(value, (bytes, bytearray, memoryview)):
        bits = 8 * len(value)
    else:
        return None
    return next((kind for kind in FINGERPRINTS if kind.bits == bits), None)


def _is_array(value: Any) -> bool:
    return library(value) in ARRAYS and (hasattr(value, "__len__") and not hasattr(value, "as_py"))


def _hamming_arrays(a: Any, b: Any) -> Any:
    import numpy

    x, y = _words(a), _words(b)
    if x.shape[-1] != y.shape[-1]:
        raise TypeError(f"fingerprints of {64 * x.shape[-1]} bits beside {64 * y.shape[-1]}")
    if len(x) != len(y) and 1 not in (len(x), len(y)):
        raise ValueError(f"{len(x)} fingerprints beside {len(y)}")
    bits = numpy.bitwise_count(x ^ y).sum(axis=-1, dtype=numpy.int32)
    like = a if _is_array(a) else b
    if library(like) == "numpy":
        return bits
    mask = numpy.ma.getmaskarray(bits)
    listed = [None if gone else int(count) for count, gone in zip(numpy.ma.getdata(bits), mask)]
    if library(like) == "pyarrow":
        import pyarrow

        return pyarrow.array(listed, pyarrow.int32())
    return given_back(listed, like)


def _words(values: Any) -> Any:
    """Fingerprints as rows of 64-bit words."""
    import numpy

    if library(values) == "numpy" and hasattr(values, "ndim") and values.dtype.kind in "ui":
        if values.dtype.itemsize != 8:
            raise TypeError(f"fingerprints are an array of uint64, not of {values.dtype}")
        words = values.view(numpy.uint64)
        return words[:, None] if words.ndim == 1 else words
    if not _is_array(values) and not isinstance(values, Sequence) or isinstance(values, str):
        values = [values]
    listed = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    known = next((value for value in listed if value is not None), None)
    kind = type(known) if isinstance(known, Fingerprint) else _kind_of(known) or Fingerprint64
    missing = [value is None for value in listed]
    packed = b"".join(kind(0 if value is None else value).packed for value in listed)
    words = numpy.frombuffer(packed, dtype=">u8").astype(numpy.uint64)
    words = words.reshape(-1, kind.bits // 64)
    if any(missing):
        mask = numpy.repeat(numpy.array(missing)[:, None], kind.bits // 64, axis=1)
        return numpy.ma.masked_array(words, mask)
    return words
