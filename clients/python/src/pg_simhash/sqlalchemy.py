"""Types for SQLAlchemy 2: `FINGERPRINT64`, `FINGERPRINT128`, `FINGERPRINT256`, `SIMHASH_CONFIG`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, ClassVar, cast

from sqlalchemy import ColumnElement, Dialect
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.exc import CompileError
from sqlalchemy.types import Integer, String, UserDefinedType

from . import Fingerprint, Fingerprint64, Fingerprint128, Fingerprint256, FingerprintLike

__all__ = ["FINGERPRINT64", "FINGERPRINT128", "FINGERPRINT256", "SIMHASH_CONFIG"]


def _check(dialect: Dialect) -> None:
    """SQLite would take digits for a number, and change them."""
    if dialect.name != "postgresql":
        raise CompileError(f"{dialect.name} has no fingerprints: they are PostgreSQL's")


class _FINGERPRINT(UserDefinedType[Fingerprint]):
    #: Drivers that send parameters apart from the statement cast them: $1::fingerprint64.
    render_bind_cast = True
    kind: ClassVar[type[Fingerprint]]

    def get_col_spec(self, **_: Any) -> str:
        return self.kind.sql_type

    @property
    def python_type(self) -> type[Fingerprint]:
        return self.kind

    def bind_processor(self, dialect: Dialect) -> Callable[[FingerprintLike | None], str | None]:
        _check(dialect)
        return lambda value: None if value is None else str(self.kind(value))

    def literal_processor(self, dialect: Dialect) -> Callable[[FingerprintLike], str]:
        return lambda value: f"'{self.kind(value)}'::{self.kind.sql_type}"

    def result_processor(
        self, dialect: Dialect, coltype: object
    ) -> Callable[[FingerprintLike | None], Fingerprint | None]:
        return lambda value: None if value is None else self.kind(value)

    class comparator_factory(UserDefinedType.Comparator[Fingerprint]):
        """What the index answers."""

        def hamming(self, other: Any) -> ColumnElement[int]:
            """The distance: for ORDER BY, or to be compared with a number."""
            return cast("ColumnElement[int]", self.op("<~>", return_type=Integer())(other))

        def within(self, other: Any, distance: Any) -> ColumnElement[bool]:
            """Whether at most so many bits differ."""
            within: ColumnElement[bool] = self.hamming(other) <= distance
            return within

        def near(self, other: Any) -> ColumnElement[bool]:
            """`~=`: within 3 of 64 bits, 10 of 128, 31 of 256."""
            return cast("ColumnElement[bool]", self.bool_op("~=")(other))


class FINGERPRINT64(_FINGERPRINT):
    cache_ok = True
    kind = Fingerprint64


class FINGERPRINT128(_FINGERPRINT):
    cache_ok = True
    kind = Fingerprint128


class FINGERPRINT256(_FINGERPRINT):
    cache_ok = True
    kind = Fingerprint256


class SIMHASH_CONFIG(UserDefinedType[dict[str, Any]]):
    """How a text becomes features: `literal({"shingle": 2}, SIMHASH_CONFIG)`."""

    cache_ok = True
    render_bind_cast = True

    def get_col_spec(self, **_: Any) -> str:
        return "simhash_config"

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], str | None]:
        return lambda value: None if value is None else json.dumps(value)

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:
        quoted = String().literal_processor(dialect)
        return lambda value: f"{quoted(json.dumps(value))}::simhash_config"

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[str | None], Any]:
        return lambda value: None if value is None else json.loads(value)


# For reflection, and so for Alembic.
ischema_names["simhash_config"] = SIMHASH_CONFIG
for _type in FINGERPRINT64, FINGERPRINT128, FINGERPRINT256:
    ischema_names[_type.kind.sql_type] = _type
