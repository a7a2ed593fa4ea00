"""For Alembic's env.py: `context.configure(..., include_name=include_name, ...)`.

With this module imported, autogenerate detects new exclusion constraints by simhash and changed
options of its indexes. It drops no constraint: one that is in no model was made by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alembic.autogenerate import comparators
from alembic.operations import ops
from sqlalchemy import Index, Table, text
from sqlalchemy.dialects.postgresql import ExcludeConstraint

from .sqlalchemy import _FINGERPRINT, SIMHASH_CONFIG

__all__ = ["EXTENSION_TABLES", "include_name", "render_item"]

#: The tables of the extension. Autogenerate would drop them, since no model contains them.
EXTENSION_TABLES = frozenset({"simhash_model", "simhash_unsettled", "simhash_word_list"})


def include_name(name: str | None, type_: str, parent_names: Mapping[str, Any]) -> bool:
    """Excludes the tables of the extension."""
    return type_ != "table" or name not in EXTENSION_TABLES


def render_item(type_: str, obj: Any, autogen_context: Any) -> bool:
    """Makes migrations import the types that they use."""
    if type_ == "type" and isinstance(obj, (_FINGERPRINT, SIMHASH_CONFIG)):
        autogen_context.imports.add("import pg_simhash.sqlalchemy")
    return False


@comparators.dispatch_for("table")
def _compare(
    context: Any,
    changes: ops.ModifyTableOps,
    schema: str | None,
    name: str,
    there: Table | None,
    wanted: Table | None,
) -> None:
    """Compares what Alembic itself does not, for an existing table."""
    if there is None or wanted is None or context.connection.dialect.name != "postgresql":
        return
    quoted = context.connection.dialect.identifier_preparer.format_table(wanted)
    of_table = "conrelid = CAST(:quoted AS regclass) AND contype = 'x'"
    named = text(f"SELECT conname FROM pg_catalog.pg_constraint WHERE {of_table}")
    constraints = set(context.connection.scalars(named, {"quoted": quoted}))
    for constraint in wanted.constraints:
        if isinstance(constraint, ExcludeConstraint) and constraint.using == "simhash":
            if constraint.name not in constraints:
                changes.ops.append(ops.AddConstraintOp.from_constraint(constraint))
    handled = {getattr(change, "index_name", None) for change in changes.ops}
    indexes = {index["name"]: index for index in context.inspector.get_indexes(name, schema)}
    for index in wanted.indexes:
        if _is_simhash(index) and index.name in indexes and index.name not in handled:
            options = indexes[index.name].get("dialect_options", {}).get("postgresql_with", {})
            if _written(options) != _written(index.kwargs.get("postgresql_with") or {}):
                create, drop = (
                    ops.CreateIndexOp.from_index(index),
                    ops.DropIndexOp.from_index(index),
                )
                quotes = {option: _quoted(value) for option, value in options.items()}
                drop.kw = {**drop.kw, "postgresql_with": quotes}  # of which the downgrade is made
                changes.ops.extend([drop, create])


def _is_simhash(index: Index) -> bool:
    return index.kwargs.get("postgresql_using") == "simhash"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _written(options: Mapping[str, Any]) -> dict[str, str]:
    """The options as the catalogue stores them: strings without the quotes of a statement."""

    def plain(value: str) -> str:
        return value[1:-1].replace("''", "'") if value.startswith("'") else value

    return {option: plain(str(value)) for option, value in options.items()}
