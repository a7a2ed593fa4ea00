"""Fingerprints in Python: unsigned numbers of 64, 128 and 256 bits.

They are written as in PostgreSQL: as hexadecimal digits.
"""

from __future__ import annotations

import re
from operator import index
from typing import Any, ClassVar, Protocol, SupportsIndex, TypeAlias, TypeVar, Union, cast

__all__ = ["FINGERPRINTS", "Fingerprint", "Fingerprint64", "Fingerprint128", "Fingerprint256"]

F = TypeVar("F", bound="Fingerprint")


class Bits(Protocol):
    """A numpy array with one element for each bit, the highest first."""

    dtype: Any

    def ravel(self) -> Any: ...


class ImageHash(Protocol):
    """An object of imagehash."""

    hash: Any


#: A fingerprint can be made from an unsigned number, hexadecimal digits, bytes, an array of bits,
#: such as pdqhash's, or an object of imagehash.
FingerprintLike: TypeAlias = Union[
    SupportsIndex, str, bytes, bytearray, memoryview, Bits, ImageHash
]


def _number_of_bits(array: Any, bits: int) -> int:
    """The number with the bits of an array."""
    elements = array.ravel().tolist()
    if len(elements) != bits:
        hint = "; of an array of bytes take array.tobytes()" if len(elements) * 8 == bits else ""
        raise ValueError(f"not {bits} bits, but {len(elements)}{hint}")
    for element in elements:
        if element not in (0, 1):
            raise ValueError(f"a bit is 0 or 1, and not {element!r}")
    return int("".join("1" if element else "0" for element in elements), 2)


class Fingerprint(int):
    """An unsigned number of `bits` bits. The classes below have 64, 128 and 256.

    >>> Fingerprint64(2**64 - 1)
    Fingerprint64('ffffffffffffffff')
    >>> Fingerprint64("0x00000000000000ff") == Fingerprint64(bytes(7) + b"\\xff") == 255
    True
    """

    __slots__ = ()
    bits: ClassVar[int]
    sql_type: ClassVar[str]

    def __new__(cls: type[F], value: FingerprintLike) -> F:
        if hasattr(value, "to_numpy"):  # a column of pandas
            value = value.to_numpy()
        if isinstance(value, str):
            if not re.fullmatch(rf"(0[xX]|\\x)?[0-9a-fA-F]{{{cls.bits // 4}}}", value):
                short = len(value) < cls.bits // 4 and re.fullmatch("[0-9a-fA-F]+", value)
                hint = f"; digits.zfill({cls.bits // 4}) if zeros were left out" if short else ""
                raise ValueError(f"not {cls.bits // 4} hexadecimal digits: {value!r}{hint}")
            number = int(value.removeprefix("\\x"), 16)
        elif isinstance(value, (bytes, bytearray, memoryview)):
            packed = bytes(value)
            if len(packed) != cls.bits // 8:
                raise ValueError(f"not {cls.bits // 8} bytes: {packed!r}")
            number = int.from_bytes(packed, "big")
        elif isinstance(value, Fingerprint) and value.bits != cls.bits:
            raise TypeError(f"not of {cls.bits} bits: {value!r}")
        elif hasattr(value, "ravel") and getattr(value, "shape", ()) != ():
            number = _number_of_bits(value, cls.bits)
        elif hasattr(hashed := getattr(value, "hash", None), "ravel"):
            number = _number_of_bits(hashed, cls.bits)
        else:
            if not hasattr(value, "__index__"):
                raise TypeError(
                    f"a {cls.__name__} is made of a number, digits, bytes or an array of "
                    f"{cls.bits} bits, and not of a {type(value).__name__}"
                )
            number = index(cast("SupportsIndex", value))
            if not 0 <= number < 1 << cls.bits:
                hint = "" if number >= 0 else "; of a bigint's bits, Fingerprint64.from_signed"
                raise ValueError(f"not a number from 0 to 2**{cls.bits} - 1: {number}{hint}")
        return super().__new__(cls, number)

    def __str__(self) -> str:
        return f"{int(self):0{self.bits // 4}x}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    @property
    def packed(self) -> bytes:
        """Its bytes in network order, as in PostgreSQL's binary format."""
        return self.to_bytes(self.bits // 8, "big")

    def deconstruct(self) -> tuple[str, tuple[str], dict[str, str]]:
        """The form that Django's migrations write, for a default for example."""
        return f"pg_simhash.{type(self).__name__}", (str(self),), {}

    def hamming(self, other: FingerprintLike) -> int:
        """The number of bits in which they differ."""
        return (self ^ type(self)(other)).bit_count()


class Fingerprint64(Fingerprint):
    """A `fingerprint64`."""

    __slots__ = ()
    bits = 64
    sql_type = "fingerprint64"

    @classmethod
    def from_signed(cls, number: SupportsIndex) -> Fingerprint64:
        """The fingerprint with the bits of a `bigint`."""
        return cls(index(number).to_bytes(8, "big", signed=True))

    @property
    def signed(self) -> int:
        """The `bigint` with the same bits."""
        return int.from_bytes(self.packed, "big", signed=True)


class Fingerprint128(Fingerprint):
    """A `fingerprint128`."""

    __slots__ = ()
    bits = 128
    sql_type = "fingerprint128"


class Fingerprint256(Fingerprint):
    """A `fingerprint256`."""

    __slots__ = ()
    bits = 256
    sql_type = "fingerprint256"


FINGERPRINTS: tuple[type[Fingerprint], ...] = (Fingerprint64, Fingerprint128, Fingerprint256)
