"""For SQLAlchemy 2: an index, a constraint, functions and types, and the row that a refused row is
near to.

With an AsyncSession, functions that take a Session run by `run_sync`:
`await session.run_sync(save_or_refuse, row)`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias, Union, cast

from sqlalchemy import (
    Column,
    ColumnElement,
    ColumnExpressionArgument,
    Dialect,
    FromClause,
    Function,
    Index,
    Select,
    Table,
    TextClause,
    and_,
    column,
    func,
    inspect,
    literal,
    literal_column,
    not_,
    select,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import ExcludeConstraint, asyncpg
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.exc import CompileError, IntegrityError
from sqlalchemy.orm import InstanceState, RelationshipDirection, Session
from sqlalchemy.orm.exc import UnmappedColumnError
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.expression import ColumnClause
from sqlalchemy.sql.visitors import replacement_traverse
from sqlalchemy.types import Boolean, Float, Integer, String, TypeEngine, UserDefinedType

from . import Fingerprint, Fingerprint64, Fingerprint128, Fingerprint256, FingerprintLike

__all__ = [
    "FINGERPRINT64",
    "FINGERPRINT128",
    "FINGERPRINT256",
    "SIMHASH_CONFIG",
    "NearDuplicateConstraint",
    "NearDuplicateError",
    "SimhashIndex",
    "minhash64",
    "minhash128",
    "minhash256",
    "near_duplicate",
    "near_text",
    "original",
    "save_or_refuse",
    "simhash",
    "simhash128",
    "simhash256",
    "text_similarity",
]


def _check(dialect: Dialect) -> None:
    """SQLite would interpret the digits as a number and change them."""
    if dialect.name != "postgresql":
        raise CompileError(f"{dialect.name} has no fingerprints: they are PostgreSQL's")


class _FINGERPRINT(UserDefinedType[Fingerprint]):
    #: For drivers that send parameters separately from the statement: $1::fingerprint64.
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
        """The comparisons that the index serves."""

        def hamming(self, other: Any) -> ColumnElement[int]:
            """The distance, for ORDER BY or for comparison with a number."""
            return cast("ColumnElement[int]", self.op("<~>", return_type=Integer())(other))

        def within(self, other: Any, distance: Any) -> ColumnElement[bool]:
            """Whether at most this many bits differ."""
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
    """The configuration that turns a text into features: `literal({"shingle": 2},
    SIMHASH_CONFIG)`."""

    cache_ok = True
    render_bind_cast = True

    def get_col_spec(self, **_: Any) -> str:
        return "simhash_config"

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], str | None]:
        return lambda value: None if value is None else json.dumps(value)

    def literal_processor(self, dialect: Dialect) -> Callable[[Any], str]:
        quoted = cast("Any", String()).literal_processor(dialect)
        return lambda value: f"{quoted(json.dumps(value))}::simhash_config"

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[str | None], Any]:
        return lambda value: None if value is None else json.loads(value)


class _NEAR_TEXT(UserDefinedType[Any]):
    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "near_text"


class _Constant(ColumnClause[Any]):
    """Written as it is, because an index is matched by constants, not by parameters."""

    inherit_cache = True

    def __init__(self, written: str) -> None:
        super().__init__(written, is_literal=True)


#: The text argument of a function: an expression, or a string, which is a text, not a column's
#: name.
Text: TypeAlias = Union[ColumnExpressionArgument[Any], str]
Config: TypeAlias = Union[Mapping[str, Any], str]


def _config(config: Config) -> dict[str, Any]:
    return dict(json.loads(config) if isinstance(config, str) else config)


def _quoted(config: Config) -> str:
    """A configuration as an SQL string. It is also safe in WITH, where SQLAlchemy quotes nothing,
    and in Alembic's `sa.text`: text that looks like a parameter, %s or :name, becomes a JSON
    escape.
    """
    text = json.dumps(_config(config)).replace("'", "''")
    text = re.sub(r"%|:(?=\w)", lambda found: rf"\u{ord(found[0]):04x}", text)
    return f"'{text}'"


def _call(
    name: str,
    type_: TypeEngine[Any],
    texts: Sequence[Text],
    similarity: float | None,
    config: Config | None,
) -> Function[Any]:
    constants = [] if similarity is None else [_Constant(repr(float(similarity)))]
    if config is not None:
        constants.append(_Constant(f"{_quoted(config)}::simhash_config"))
    return cast("Function[Any]", getattr(func, name)(*texts, *constants, type_=type_))


def near_duplicate(
    a: Text, b: Text, similarity: float = 0.7, config: Config | None = None
) -> ColumnElement[bool]:
    """A condition: `select(Post).where(near_duplicate(Post.body, "a text", 0.8))`."""
    return _call("near_duplicate", Boolean(), (a, b), similarity, config)


def text_similarity(a: Text, b: Text, config: Config | None = None) -> ColumnElement[float]:
    """For the columns of a SELECT and for ORDER BY."""
    return _call("text_similarity", Float(), (a, b), None, config)


def near_text(
    text: Text, similarity: float = 0.7, config: Config | None = None
) -> ColumnElement[Any]:
    """The element of a constraint that compares a text."""
    return _call("near_text", _NEAR_TEXT(), (text,), similarity, config)


def minhash64(text: Text, config: Config | None = None) -> ColumnElement[Fingerprint64]:
    """A fingerprint of a text, for a query or for Computed."""
    return _call("minhash64", FINGERPRINT64(), (text,), None, config)


def minhash128(text: Text, config: Config | None = None) -> ColumnElement[Fingerprint128]:
    return _call("minhash128", FINGERPRINT128(), (text,), None, config)


def minhash256(text: Text, config: Config | None = None) -> ColumnElement[Fingerprint256]:
    return _call("minhash256", FINGERPRINT256(), (text,), None, config)


def simhash(text: Text, config: Config | None = None) -> ColumnElement[Fingerprint64]:
    return _call("simhash", FINGERPRINT64(), (text,), None, config)


def simhash128(text: Text, config: Config | None = None) -> ColumnElement[Fingerprint128]:
    return _call("simhash128", FINGERPRINT128(), (text,), None, config)


def simhash256(text: Text, config: Config | None = None) -> ColumnElement[Fingerprint256]:
    return _call("simhash256", FINGERPRINT256(), (text,), None, config)


class SimhashIndex(Index):
    """An index for searching near-duplicate texts, or fingerprints within a distance:
    `SimhashIndex("post_body", "body", similarity=0.8)`. It also accepts the arguments of Index.
    """

    def __init__(
        self,
        name: str | None,
        *expressions: Any,
        similarity: float | None = None,
        config: Config | None = None,
        blocks: int | None = None,
        fillfactor: int | None = None,
        **kwargs: Any,
    ) -> None:
        options = {
            "similarity": None if similarity is None else float(similarity),
            "config": None if config is None else _quoted(config),
            "blocks": blocks,
            "fillfactor": fillfactor,
        }
        given = {name: value for name, value in options.items() if value is not None}
        given.update(kwargs.pop("postgresql_with", {}))
        kwargs.update(postgresql_using="simhash", postgresql_with=given)
        super().__init__(name, *expressions, **kwargs)


class _NearText(_Constant):
    """An expression in the literal form that Alembic's `op.create_exclude_constraint` expects."""

    inherit_cache = True

    def __init__(self, of: ColumnElement[Any]) -> None:
        kwargs = {"literal_binds": True, "include_table": False}
        dialect = cast("Any", asyncpg).dialect()  # of those that double no %
        super().__init__(str(of.compile(dialect=dialect, compile_kwargs=kwargs)))
        self.of = of


def NearDuplicateConstraint(  # noqa: N802 (to a model it is a class, as ExcludeConstraint is)
    text: str | ColumnElement[Any],
    *,
    similarity: float,
    name: str,
    scope: Sequence[str | ColumnElement[Any]] = (),
    config: Config | None = None,
    **kwargs: Any,
) -> ExcludeConstraint:
    """No two rows have near-duplicate texts: in a whole table, or among rows with the same values
    in the columns of `scope`. It accepts `where` and so on, as ExcludeConstraint does.

    `NearDuplicateConstraint("body", similarity=0.8, name="post_near")`. Its index also serves
    `near_duplicate(Post.body, asked, 0.8)` and greater similarities.
    """
    if isinstance(scope, str):
        raise TypeError(f"scope is a list of columns: [{scope!r}]")
    near = near_text(column(text) if isinstance(text, str) else text, similarity, config)
    elements: list[tuple[Any, str]] = [*((part, "=") for part in scope), (_NearText(near), "~=")]
    return ExcludeConstraint(*elements, name=name, using="simhash", **kwargs)


class NearDuplicateError(Exception):
    """A row was refused. `original` is the primary key of the row that it is near to, in the form
    that `Session.get` accepts: a value, or a tuple of several. It is None if that row is not
    visible or was deleted, or if a value that was compared is not known.
    """

    def __init__(self, constraint: str, original: Any) -> None:
        super().__init__(constraint, original)
        self.constraint = constraint
        self.original = original

    def __str__(self) -> str:
        of = "another row" if self.original is None else f"the row {self.original!r}"
        return f"a near-duplicate of {of}, refused by {self.constraint}"


class _UnknownError(Exception):
    """The value of a column is not known before the row is written."""


def _value(state: InstanceState[Any], of: Column[Any]) -> ColumnElement[Any]:
    """The value of a column that an instance has, or will have when it is written."""
    if of.computed is not None:
        return _of_instance(state, of.table, of.computed.sqltext)
    for relation in state.mapper.relationships:
        related = state.dict.get(relation.key)
        if related is not None and relation.direction is RelationshipDirection.MANYTOONE:
            for local, remote in relation.local_remote_pairs or ():
                if local is of:
                    return _value(inspect(related), cast("Column[Any]", remote))
    try:
        name = state.mapper.get_property_by_column(of).key
    except UnmappedColumnError:
        raise _UnknownError from None
    value = getattr(state.obj(), name)
    if value is None and state.key is None and of.default is not None:
        if not of.default.is_scalar:
            raise _UnknownError
        value = cast("Any", of.default).arg
    if isinstance(value, TextClause):
        raise _UnknownError
    return value if isinstance(value, ColumnElement) else literal(value, of.type)


def _of_instance(
    state: InstanceState[Any], table: FromClause, expression: ClauseElement
) -> ColumnElement[Any]:
    """An expression with columns replaced by an instance's values."""

    def value(element: Any, **_: Any) -> Any:
        if isinstance(element, _NearText):
            return _of_instance(state, table, element.of)
        if isinstance(element, ColumnClause) and element.name in table.c:
            return _value(state, cast("Column[Any]", table.c[element.name]))
        if isinstance(element, TextClause):
            return _of_text(state, table, element, element.text)
        if isinstance(element, ColumnClause) and not isinstance(element, _Constant):
            if not element.is_literal:
                raise _UnknownError
            return _of_text(state, table, element, element.name)
        return None

    return cast("ColumnElement[Any]", replacement_traverse(expression, {}, value))


def _of_text(state: InstanceState[Any], table: Any, text: Any, written: str) -> ColumnElement[Any]:
    """An expression in the form of text, evaluated over a row of an instance's values."""
    words = {word.lower() for word in re.findall(r"\w+", written)}
    whole_row = rf'(?i)\b{re.escape(table.name)}\b(?!"?\.)'
    if (table.name not in table.c and re.search(whole_row, written)) or table.schema in words:
        raise _UnknownError
    named = [of for of in table.c if words.issuperset(re.findall(r"\w+", of.name.lower()))]
    row = [sql_cast(_value(state, cast("Column[Any]", of)), of.type).label(of.name) for of in named]
    source = select(*row).subquery(table.name)
    return cast("ColumnElement[Any]", select(text).select_from(source).scalar_subquery())


def _question(
    state: InstanceState[Any], table: Table, constraint: ExcludeConstraint, refused: bool
) -> Select[Any] | None:
    """A query for the row that an instance is near to. None if it cannot be made."""
    keys = table.primary_key.columns
    query = select(*keys).limit(1)
    try:
        for element, _, operator in cast("Any", constraint)._render_exprs:
            near = _of_instance(state, table, element)
            if isinstance(element, TextClause):
                element = literal_column(element.text)
            query = query.where(element.bool_op(operator)(near))
        if constraint.where is not None:
            query = query.where(constraint.where)
            if not refused:
                query = query.where(_of_instance(state, table, constraint.where))
        if state.persistent:
            query = query.where(not_(and_(*(key == _value(state, key) for key in keys))))
    except _UnknownError:
        return None
    return query


def _questions(instance: object, refused: bool) -> Iterator[tuple[str, Select[Any] | None]]:
    state = cast("InstanceState[Any]", inspect(instance))
    for table in state.mapper.tables:
        if not isinstance(table, Table):
            continue
        for constraint in table.constraints:
            if isinstance(constraint, ExcludeConstraint) and constraint.using == "simhash":
                yield str(constraint.name), _question(state, table, constraint, refused)


def _answer(session: Session, question: Select[Any] | None) -> Any:
    row = None if question is None else session.execute(question).first()
    return None if row is None else row[0] if len(row) == 1 else tuple(row)


def _check_session(session: Any, name: str) -> None:
    if hasattr(session, "run_sync"):
        raise TypeError(f"of an AsyncSession: await session.run_sync({name}, row)")


def original(session: Session, instance: object) -> Any:
    """The primary key of a row that is near to an instance by a constraint of its model. The
    instance need not be in the session. None if there is none, or if that cannot be determined
    because of a default that the server or a Python function computes.
    """
    _check_session(session, "original")
    with session.no_autoflush:
        answers = (_answer(session, question) for _, question in _questions(instance, False))
        return next((answer for answer in answers if answer is not None), None)


def save_or_refuse(session: Session, instance: object) -> None:
    """Adds an instance and flushes, in a savepoint. If a constraint against near-duplicates refuses
    the row, raises NearDuplicateError with the original's key. The transaction goes on: a new
    instance is then not in the session, and a changed one has its values from the database.

    Set foreign keys, rather than relationships that another object shares (back_populates):
    SQLAlchemy warns about these, and a refused instance stays in the other object's list until that
    is expired.
    """
    _check_session(session, "save_or_refuse")
    with session.no_autoflush:
        questions = dict(_questions(instance, True))
    # A savepoint begins with a flush, which must not include this instance.
    if instance in session:
        session.expunge(instance)
    savepoint = session.begin_nested()
    try:
        with savepoint:
            session.add(instance)
            session.flush()
    except IntegrityError as error:
        name = _refused_by(error)
        if name not in questions:
            raise
        with session.no_autoflush:
            raise NearDuplicateError(name, _answer(session, questions[name])) from error


def _refused_by(error: IntegrityError) -> str:
    """The name of the violated constraint, from psycopg or asyncpg."""
    told = getattr(error.orig, "diag", None) or getattr(error.orig, "__cause__", None)
    return getattr(told, "constraint_name", None) or ""


# For reflection, which Alembic uses.
ischema_names["simhash_config"] = SIMHASH_CONFIG
for _type in FINGERPRINT64, FINGERPRINT128, FINGERPRINT256:
    ischema_names[_type.kind.sql_type] = _type
