"""Fields, lookups, functions, an index, constraints and an operation for Django, with psycopg 3.

Arrays of fingerprints can be read on connections that know the types. For that call
`connection_created.connect(register)` in an AppConfig's `ready`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.indexes import PostgresIndex
from django.contrib.postgres.operations import CreateExtension
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import (
    DEFAULT_DB_ALIAS,
    IntegrityError,
    NotSupportedError,
    router,
    transaction,
)
from django.db.models import (
    BooleanField,
    CharField,
    ExpressionWrapper,
    F,
    Field,
    FloatField,
    Func,
    IntegerField,
    Lookup,
    TextField,
    Value,
)
from django.db.models.lookups import Exact, IntegerLessThanOrEqual
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from . import Fingerprint, Fingerprint64, Fingerprint128, Fingerprint256

__all__ = [
    "Fingerprint64Field",
    "Fingerprint128Field",
    "Fingerprint256Field",
    "HammingDistance",
    "MinHash64",
    "MinHash128",
    "MinHash256",
    "NearDuplicate",
    "NearDuplicateConstraint",
    "Simhash64",
    "Simhash128",
    "Simhash256",
    "SimhashExclusionConstraint",
    "SimhashExtension",
    "SimhashIndex",
    "TextSimilarity",
    "register",
    "save_or_refuse",
]


def register(connection: Any, **_: Any) -> None:
    """A receiver of `connection_created`. In a database without the extension it does nothing."""
    if connection.vendor != "postgresql" or connection.connection is None:
        return
    if not hasattr(connection.connection, "adapters"):
        raise ImproperlyConfigured("pg_simhash.django needs psycopg 3, and psycopg2 is installed")
    connection.pg_simhash_registers = True
    # A pool passes a connection here each time it is taken, but it needs this only once.
    if connection.connection.adapters.types.get(Fingerprint64.sql_type) is None:
        _register(connection)


def _register(connection: Any) -> None:
    from . import psycopg

    with suppress(LookupError):
        psycopg.register(connection.connection)


_INVALID = {"invalid": "Enter %(digits)d hexadecimal digits."}


class _FingerprintFormField(forms.CharField):
    """Shows digits, for a number too. An empty input is None."""

    default_error_messages = _INVALID

    def __init__(self, *, kind: type[Fingerprint], **kwargs: Any) -> None:
        super().__init__(**{"empty_value": None, **kwargs})
        self.kind = kind

    def prepare_value(self, value: Any) -> Any:
        """Shows a value that cannot be converted as it is: invalid input, or a default to come."""
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
    """Converts a value of a model field or a form field."""
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
        """The choices with fingerprints as keys, because they are compared with fingerprints."""
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
        # SQLite would interpret the digits as a number and change them.
        if connection.vendor != "postgresql":
            raise NotSupportedError(f"{connection.vendor} has no type {self.kind.sql_type}")
        return self.kind.sql_type

    def get_placeholder(self, value: Any, compiler: Any, connection: Any) -> str:
        """A parameter alone, in CASE or in a comparison with another one, needs a type."""
        return "%s" if hasattr(value, "as_sql") else f"%s::{self.db_type(connection)}"

    def get_placeholder_sql(self, value: Any, compiler: Any, connection: Any) -> tuple[str, Any]:
        """Django 6.1 calls this instead, and expects the parameters too."""
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
        """Writes a plain value with the column's type."""
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
        """Clamps the distance. Django takes one beyond its integers as always true, even where the
        value is NULL."""
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


Config = Mapping[str, Any] | str


def _literal(config: Config) -> str:
    """A configuration as an SQL string. It is not a parameter, because an index is matched by
    constants. Keys are sorted as in migrations, so that their order does not make a different
    constraint.
    """
    text = config
    if not isinstance(text, str):
        text = json.dumps(config, ensure_ascii=False, sort_keys=True)
    return "'" + text.replace("'", "''") + "'"


class _Arguments(Func):
    """A function whose last arguments are constants, as they are part of an index's expression."""

    def __init__(self, *expressions: Any, constants: Sequence[str] = (), **extra: Any) -> None:
        # The text is formatted once here and once more with the parameters.
        written = "".join(f", {constant}" for constant in constants).replace("%", "%%")
        super().__init__(*expressions, constants=written, **extra)

    template = "%(function)s(%(expressions)s%(constants)s)"


def _other(value: Any) -> Any:
    """A plain text is a text, not the name of a field."""
    return value if hasattr(value, "resolve_expression") else Value(value, output_field=TextField())


def _similarity(value: float) -> str:
    if not 0 < float(value) <= 1:
        raise ValueError(f"a similarity is more than 0, and at most 1: {value!r}")
    return repr(float(value))


def _constants(similarity: float | None, config: Config | None) -> list[str]:
    named = [] if similarity is None else [_similarity(similarity)]
    return named if config is None else [*named, f"config => {_literal(config)}"]


class NearDuplicate(_Arguments):
    """`near_duplicate(body, text, 0.7)`: `filter(NearDuplicate("body", text))`. The other text is
    a string, or an expression, such as `F("other")`.
    """

    function = "near_duplicate"
    output_field = BooleanField()

    def __init__(
        self,
        expression: Any,
        other: Any,
        similarity: float | None = None,
        config: Config | None = None,
        **extra: Any,
    ) -> None:
        constants = _constants(similarity, config)
        super().__init__(expression, _other(other), constants=constants, **extra)


class TextSimilarity(_Arguments):
    """`text_similarity(body, text)`, for annotate and order_by."""

    function = "text_similarity"
    output_field = FloatField()

    def __init__(
        self, expression: Any, other: Any, config: Config | None = None, **extra: Any
    ) -> None:
        super().__init__(expression, _other(other), constants=_constants(None, config), **extra)


class _Fingerprinted(_Arguments):
    """The fingerprint of a text, for a GeneratedField, annotate or a comparison."""

    def __init__(self, expression: Any, config: Config | None = None, **extra: Any) -> None:
        super().__init__(expression, constants=_constants(None, config), **extra)


class MinHash64(_Fingerprinted):
    function = "minhash64"
    output_field = Fingerprint64Field(null=True)


class MinHash128(_Fingerprinted):
    function = "minhash128"
    output_field = Fingerprint128Field(null=True)


class MinHash256(_Fingerprinted):
    function = "minhash256"
    output_field = Fingerprint256Field(null=True)


class Simhash64(_Fingerprinted):
    function = "simhash"
    output_field = Fingerprint64Field(null=True)


class Simhash128(_Fingerprinted):
    function = "simhash128"
    output_field = Fingerprint128Field(null=True)


class Simhash256(_Fingerprinted):
    function = "simhash256"
    output_field = Fingerprint256Field(null=True)


@TextField.register_lookup
@CharField.register_lookup
class _NearText(Exact):
    """`filter(body__near=(text, 0.8))`, or `(text, 0.8, config)`, or the text alone."""

    lookup_name = "near"

    def __init__(self, lhs: Any, rhs: Any) -> None:
        given = rhs if isinstance(rhs, (list, tuple)) else (rhs,)
        if not 1 <= len(given) <= 3 or isinstance(given[0], (int, float)):
            raise ValueError(f"near takes a text, a similarity and a configuration: {rhs!r}")
        super().__init__(NearDuplicate(lhs, *given), True)


class SimhashIndex(PostgresIndex):
    """An index for searching near-duplicate texts, or fingerprints within a distance."""

    suffix = "simhash"

    def __init__(
        self,
        *expressions: Any,
        similarity: float | None = None,
        config: Config | None = None,
        blocks: int | None = None,
        fillfactor: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*expressions, **kwargs)
        given = {
            "similarity": similarity,
            "config": config,
            "blocks": blocks,
            "fillfactor": fillfactor,
        }
        self.options = {name: value for name, value in given.items() if value is not None}

    def deconstruct(self) -> tuple[str, Any, dict[str, Any]]:
        path, args, kwargs = super().deconstruct()
        return path, args, {**kwargs, **self.options}

    def get_with_params(self) -> list[str]:
        def written(name: str, value: Any) -> str:
            if name == "config":
                return _literal(value)
            return _similarity(value) if name == "similarity" else f"{value:d}"

        return [f"{name} = {written(name, value)}" for name, value in self.options.items()]


class _Markup(SafeString):
    """A message in HTML with a link to the original. It remains HTML when it is formatted."""

    def __mod__(self, params: Mapping[str, Any]) -> str:
        return mark_safe(str.__mod__(self, {name: escape(value) for name, value in params.items()}))


class SimhashExclusionConstraint(ExclusionConstraint):
    """`EXCLUDE USING simhash`. Django's own class accepts only the access methods of its own list.

    Forms, the admin and full_clean check it, even if the field is generated. The error's params
    contain the key of the near row, `original`, and the constraint's `name`. A
    `violation_error_message` may show them: "It is there already: %(original)s", or HTML by
    `mark_safe`. Its code is "near_duplicate", unless you set another.
    """

    def __init__(self, *, index_type: str = "simhash", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.index_type = index_type

    def get_violation_error_message(self) -> str:
        """The unformatted message: the error's params fill it in."""
        message = self.violation_error_message
        return _Markup(message) if hasattr(message, "__html__") else str(message)

    def original(
        self, model: Any, instance: Any, exclude: Any = None, using: str = DEFAULT_DB_ALIAS
    ) -> Any:
        """The key of a row that an instance is near to, among the rows that the model's default
        manager returns. None if there is none, or if that cannot be determined because a field that
        decides is excluded.
        """
        return self._original(model, instance, exclude, model._default_manager.using(using))

    def _original(self, model: Any, instance: Any, exclude: Any, rows: Any) -> Any:
        meta = model._meta
        exclude = _unknown(model, instance, exclude)
        given = _values(instance, meta, exclude)
        values = {F(name): value for name, value in given.items()}
        if not instance._state.adding and instance.pk is not None:
            rows = rows.exclude(pk=instance.pk)
        for expression, operator in self.expressions:
            column = F(expression) if isinstance(expression, str) else expression
            if _names(column) & exclude:
                return None
            lookup = _Operator(column, column.replace_expressions(values))
            lookup.operator = operator
            rows = rows.filter(lookup)
        if self.condition is not None:
            # Fields that the form lacks have the instance's values.
            if not self.condition.check(_values(instance, meta, set()), using=rows.db):
                return None
            rows = rows.filter(self.condition)
        return next(iter(rows.values_list("pk", flat=True)[:1]), None)

    def refusal(self, original: Any) -> ValidationError:
        """The error of validation. The original is None if the default manager hides it."""
        return ValidationError(
            self.get_violation_error_message(),
            code=getattr(self, "violation_error_code", None) or "near_duplicate",
            params={"name": self.name, "original": original},
        )

    def validate(
        self, model: Any, instance: Any, exclude: Any = None, using: str = DEFAULT_DB_ALIAS
    ) -> None:
        # The database also refuses a row that is near to a hidden one.
        rows = model._base_manager.using(using)
        if self._original(model, instance, exclude, rows) is not None:
            raise self.refusal(self.original(model, instance, exclude, using))


class _Operator(Lookup):
    """A comparison by an operator of PostgreSQL."""

    operator: str
    conditional = True

    def get_prep_lookup(self) -> Any:
        return self.rhs

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        left, left_params = self.process_lhs(compiler, connection)
        right, right_params = self.process_rhs(compiler, connection)
        return f"{left} {self.operator} {right}", [*left_params, *right_params]


def _names(expression: Any) -> set[str]:
    """The fields that an expression uses."""
    if isinstance(expression, F):
        return {expression.name}
    parts = getattr(expression, "get_source_expressions", list)()
    return set().union(*(_names(part) for part in parts if part is not None))


def _unknown(model: Any, instance: Any, exclude: Any) -> set[str]:
    """The fields, by all of their names, that are not validated and whose values may change before
    the instance is saved. For an existing row all are known: a form may restore or move it. So is a
    foreign key that is set, such as an inline's. A generated field, which no form contains, is
    known if all of its sources are.
    """
    if not instance._state.adding:
        return set()
    exclude = set(exclude or ())
    for field in model._meta.fields:
        if field.name in exclude or field.attname in exclude:
            is_set = field.is_relation and getattr(instance, field.attname) is not None
            (exclude.difference_update if is_set else exclude.update)((field.name, field.attname))
    for field in model._meta.fields:
        if getattr(field, "generated", False):
            known = not _names(field.expression) & exclude
            (exclude.discard if known else exclude.add)(field.name)
    return exclude


def _values(instance: Any, meta: Any, exclude: set[str]) -> dict[str, Any]:
    """An instance's values by the names of fields, and by the name of a foreign key's column."""
    given: dict[str, Any] = instance._get_field_expression_map(meta=meta, exclude=exclude)
    columns = {f.attname: given[f.name] for f in meta.fields if f.name in given}
    values = {**columns, **given}
    # From 5.2 on Django itself includes generated fields.
    for field in meta.local_concrete_fields:
        if field.generated and field.name not in {*values, *exclude}:
            sources = {F(name): value for name, value in given.items()}
            made = field.expression.replace_expressions(sources)
            values[field.name] = ExpressionWrapper(made, field.output_field)
    return values


class _NearTextField(Field):
    """The element of a constraint that compares a text."""

    def db_type(self, connection: Any) -> str:
        return "near_text"


class _NearTextOf(_Arguments):
    function = "near_text"
    output_field = _NearTextField()


class NearDuplicateConstraint(SimhashExclusionConstraint):
    """No two rows have near-duplicate texts: in a whole table, or among rows with the same values
    in the fields of `scope`.

    `NearDuplicateConstraint("body", similarity=0.8, name="article_near")`. Its index also serves
    `body__near=(text, 0.8)` and greater similarities.
    """

    def __init__(
        self,
        field: str,
        *,
        similarity: float,
        name: str,
        scope: Sequence[str] = (),
        config: Config | None = None,
        **kwargs: Any,
    ) -> None:
        if isinstance(scope, str):
            raise TypeError(f"scope is a list of fields: [{scope!r}]")
        self.given = {"similarity": similarity, "scope": tuple(scope), "config": config}
        self.field = field
        constants = _constants(similarity, config)
        expressions = [*((F(column), "=") for column in scope)]
        near = (_NearTextOf(field, constants=constants), "~=")
        super().__init__(name=name, expressions=[*expressions, near], **kwargs)

    def deconstruct(self) -> tuple[str, Any, dict[str, Any]]:
        path, _, kwargs = super().deconstruct()
        own = {name: value for name, value in self.given.items() if value not in ((), None)}
        kept = {k: v for k, v in kwargs.items() if k not in ("expressions", "index_type")}
        return path, (self.field,), {**kept, **own}


def save_or_refuse(instance: Any, **kwargs: Any) -> None:
    """Saves an instance. If a constraint against near-duplicates refuses it because another session
    wrote first, raises the ValidationError that validation would have raised, with the original if
    it is visible.
    """
    using = kwargs.get("using") or router.db_for_write(type(instance), instance=instance)
    try:
        with transaction.atomic(using=using):
            instance.save(**kwargs)
    except IntegrityError as error:
        refused_by = getattr(getattr(error.__cause__, "diag", None), "constraint_name", None)
        for model, constraints in instance.get_constraints():
            for constraint in constraints:
                is_near = isinstance(constraint, SimhashExclusionConstraint)
                if is_near and constraint.name == refused_by:
                    original = constraint.original(model, instance, using=using)
                    raise constraint.refusal(original) from error
        raise


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
    # Numbers are written as they are, and PyYAML supports only its own types.
    from django.core.serializers.pyyaml import DjangoSafeDumper

    DjangoSafeDumper.add_multi_representer(
        Fingerprint, lambda dumper, value: dumper.represent_str(str(value))
    )
