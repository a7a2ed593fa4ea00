"""For Alembic's env.py: `context.configure(..., include_name=include_name, ...)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .sqlalchemy import _FINGERPRINT, SIMHASH_CONFIG

__all__ = ["EXTENSION_TABLES", "include_name", "render_item"]

#: The tables of the extension. Autogenerate would drop them, since no model has them.
EXTENSION_TABLES = frozenset({"simhash_model", "simhash_unsettled", "simhash_word_list"})


def include_name(name: str | None, type_: str, parent_names: Mapping[str, Any]) -> bool:
    """Leaves the tables of the extension alone."""
    return type_ != "table" or name not in EXTENSION_TABLES


def render_item(type_: str, obj: Any, autogen_context: Any) -> bool:
    """Makes migrations import the types that they name."""
    if type_ == "type" and isinstance(obj, (_FINGERPRINT, SIMHASH_CONFIG)):
        autogen_context.imports.add("import pg_simhash.sqlalchemy")
    return False
