"""Fields, lookups, an index, a constraint and an operation for Django, with psycopg 3.

Arrays of fingerprints can be read on connections that know the types:
`connection_created.connect(register)`, in an AppConfig's `ready`.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.indexes import PostgresIndex
from django.contrib.postgres.operations import CreateExtension
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import NotSupportedError
from django.db.models import Field, Func, IntegerField, Lookup, Value
from django.db.models.lookups import IntegerLessThanOrEqual

from . import Fingerprint, Fingerprint64, Fingerprint128, Fingerprint256

__all__ = [
    "Fingerprint64Field",
    "Fingerprint128Field",
    "Fingerprint256Field",
    "HammingDistance",
    "SimhashExclusionConstraint",
    "SimhashExtension",
    "SimhashIndex",
    "register",
]


def register(connection: Any, **_: Any) -> None:
    """A receiver of `connection_created`. In a database without the extension it does nothing."""
    if connection.vendor != "postgresql" or connection.connection is None:
        return
    if not hasattr(connection.connection, "adapters"):
        raise ImproperlyConfigured("pg_simhash.django needs psycopg 3, and psycopg2 is installed")
    connection.pg_simhash_registers = True
    # A connection of a pool comes here each time it is taken, and needs it once.
    if connection.connection.adapters.types.get(Fingerprint64.sql_type) is None:
        _register(connection)


def _register(connection: Any) -> None:
    from . import psycopg

    with suppress(LookupError):
        psycopg.register(connection.connection)


_INVALID = {"invalid": "Enter %(digits)d hexadecimal digits."}


class _FingerprintFormField(forms.CharField):
    """Shows digits, also for a number. Nothing is None."""

    default_error_messages = _INVALID

    def __init__(self, *, kind: type[Fingerprint], **kwargs: Any) -> None:
        super().__init__(**{"empty_value": None, **kwargs})
        self.kind = kind

    def prepare_value(self, value: Any) -> Any:
        """What cannot be converted is shown as it is: a wrong input, or a default to come."""
        with suppress(TypeError, ValueError):
            return str(self.kind(value))
        return value

    def to_python(self, value: Any) -> Fingerprint | None:
        if isinstance(value, str):
            value = super().to_python(value)
        return _to_python(self, value)

    def has_changed(self, initial: Any, data: Any) -> bool:
        with suppress(ValidationError):
            initial = self.to_python(initial)
        return super().has_changed(initial, data)


def _to_python(field: Any, value: Any) -> Fingerprint | None:
    """For a field of a model or of a form."""
    if value is None:
        return None
    kind: type[Fingerprint] = field.kind
    try:
        return kind(value)
    except (TypeError, ValueError) as error:
        params = {"value": value, "digits": kind.bits // 4}
        raise ValidationError(field.error_messages["invalid"], "invalid", params) from error


class _FingerprintField(Field):
    kind: ClassVar[type[Fingerprint]]
    empty_strings_allowed = False
    default_error_messages = _INVALID

    @property
    def description(self) -> str:
        return f"Fingerprint of {self.kind.bits} bits"

    @property
    def choices(self) -> Any:
        return self._choices

    @choices.setter
    def choices(self, value: Any) -> None:
        """Keys are fingerprints, as the values are that are compared with them."""
        Field.choices.fset(self, value)
        if isinstance(self._choices, list):
            self._choices = self._keyed(self._choices)

    def _keyed(self, choices: Any) -> list[tuple[Any, Any]]:
        def keyed(key: Any, label: Any) -> tuple[Any, Any]:
            if isinstance(label, (list, tuple)):  # a group
                return key, self._keyed(label)
            return (key if key in (None, "") else self.kind(key)), label

        return [keyed(*choice) for choice in choices]

    def db_type(self, connection: Any) -> str:
        # SQLite would take digits for a number, and change them.
        if connection.vendor != "postgresql":
            raise NotSupportedError(f"{connection.vendor} has no type {self.kind.sql_type}")
        return self.kind.sql_type

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        """A parameter by itself, in CASE or in a comparison with another one, needs its type."""
        return "%s" if hasattr(value, "as_sql") else f"%s::{self.db_type(connection)}"

    def get_placeholder_sql(self, value: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
        """Django 6.1 asks for the parameters too, and for this only."""
        if hasattr(value, "as_sql"):
            return compiler.compile(value)
        return self.get_placeholder(value, compiler, connection), (value,)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Fingerprint | None:
        if value == "{":
            raise NotSupportedError(
                "an array of fingerprints, on a connection that does not know the type: "
                "connection_created.connect(pg_simhash.django.register)"
            )
        return None if value is None else self.kind(value)

    def to_python(self, value: Any) -> Fingerprint | None:
        return _to_python(self, value)

    def formfield(self, **kwargs: Any) -> Any:
        form_class = partial(_FingerprintFormField, kind=self.kind)
        return super().formfield(**{"form_class": form_class, **kwargs})

    def get_prep_value(self, value: Any) -> Any:
        value = super().get_prep_value(value)
        if value is None or hasattr(value, "resolve_expression"):
            return value
        return str(self.kind(value))

    def value_to_string(self, obj: Any) -> str:
        value = self.value_from_object(obj)
        return "" if value is None else str(self.kind(value))


class Fingerprint64Field(_FingerprintField):
    kind = Fingerprint64


class Fingerprint128Field(_FingerprintField):
    kind = Fingerprint128


class Fingerprint256Field(_FingerprintField):
    kind = Fingerprint256


class HammingDistance(Func):
    """`fp <~> other`, for annotate and order_by: `HammingDistance("fp", value)`."""

    template = "(%(expressions)s)"
    arg_joiner = " <~> "
    arity = 2
    output_field = IntegerField()

    def __init__(self, expression: Any, other: Any, **extra: Any) -> None:
        if not hasattr(other, "resolve_expression"):
            other = Value(other)
        super().__init__(expression, other, **extra)

    def as_sql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, list[Any]]:
        """A plain value is written as one of the column's type."""
        typed = self.copy()
        expression, other = typed.get_source_expressions()
        if isinstance(other, Value):
            other = Value(other.value, output_field=expression.output_field)
        typed.set_source_expressions([expression, other])
        return super(HammingDistance, typed).as_sql(compiler, connection, **context)


@_FingerprintField.register_lookup
class _Within(IntegerLessThanOrEqual):
    """`filter(fp__within=(value, 6))`: at most 6 bits differ."""

    lookup_name = "within"

    def __init__(self, lhs: Any, rhs: Any) -> None:
        if not isinstance(rhs, (list, tuple)) or len(rhs) != 2:
            raise ValueError(f"within takes a fingerprint and a distance: {rhs!r}")
        value, distance = rhs
        super().__init__(HammingDistance(lhs, value), distance)

    def get_prep_lookup(self) -> Any:
        """A distance beyond its integers would be true to Django, also where the value is NULL."""
        distance = super().get_prep_lookup()
        return max(-1, min(distance, 256)) if isinstance(distance, int) else distance

    def get_rhs_op(self, connection: Any, rhs: str) -> str:
        return f"<= {rhs}"


@_FingerprintField.register_lookup
class _Near(Lookup):
    """`filter(fp__near=value)`: `fp ~= value`."""

    lookup_name = "near"

    def __init__(self, lhs: Any, rhs: Any) -> None:
        if isinstance(rhs, Value):
            rhs = Value(rhs.value, output_field=lhs.output_field)
        super().__init__(lhs, rhs)

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        left, left_params = self.process_lhs(compiler, connection)
        right, right_params = self.process_rhs(compiler, connection)
        return f"{left} ~= {right}", [*left_params, *right_params]


class SimhashIndex(PostgresIndex):
    """An index by which rows within a distance are found."""

    suffix = "simhash"

    def __init__(
        self,
        *expressions: Any,
        blocks: int | None = None,
        fillfactor: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*expressions, **kwargs)
        given = {"blocks": blocks, "fillfactor": fillfactor}
        self.options = {name: value for name, value in given.items() if value is not None}

    def deconstruct(self) -> tuple[str, Any, dict[str, Any]]:
        path, args, kwargs = super().deconstruct()
        return path, args, {**kwargs, **self.options}

    def get_with_params(self) -> list[str]:
        return [f"{name} = {value:d}" for name, value in self.options.items()]


class SimhashExclusionConstraint(ExclusionConstraint):
    """`EXCLUDE USING simhash`. Django's own class takes no access method but its own list."""

    def __init__(self, *, index_type: str = "simhash", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.index_type = index_type


class SimhashExtension(CreateExtension):
    """The first operation of a migration: `CREATE EXTENSION IF NOT EXISTS pg_simhash`."""

    def __init__(self) -> None:
        super().__init__("pg_simhash")

    def database_forwards(self, app_label: Any, editor: Any, before: Any, after: Any) -> None:
        super().database_forwards(app_label, editor, before, after)
        # This connection may be older than the types, or know those of a dropped extension.
        if getattr(editor.connection, "pg_simhash_registers", False):
            _register(editor.connection)


with suppress(ImportError):
    # Numbers are written as they are, and PyYAML knows none but its own.
    from django.core.serializers.pyyaml import DjangoSafeDumper

    DjangoSafeDumper.add_multi_representer(
        Fingerprint, lambda dumper, value: dumper.represent_str(str(value))
    )
