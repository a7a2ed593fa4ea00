"""Adapts psycopg 3: `register(connection)`, or `await register_async(connection)`."""

from __future__ import annotations

from typing import Any, ClassVar

from psycopg import AsyncConnection, Connection
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.sql import Identifier
from psycopg.types import TypeInfo

from . import FINGERPRINTS, Fingerprint, FingerprintLike

__all__ = ["register", "register_async"]


class _TextDumper(Dumper):
    kind: ClassVar[type[Fingerprint]]

    def dump(self, obj: FingerprintLike) -> Buffer:
        return str(self.kind(obj)).encode()


class _BinaryDumper(_TextDumper):
    format = Format.BINARY

    def dump(self, obj: FingerprintLike) -> Buffer:
        return self.kind(obj).packed


class _TextLoader(Loader):
    kind: ClassVar[type[Fingerprint]]

    def load(self, data: Buffer) -> Fingerprint:
        return self.kind(bytes(data).decode())


class _BinaryLoader(_TextLoader):
    format = Format.BINARY

    def load(self, data: Buffer) -> Fingerprint:
        return self.kind(bytes(data))


def register(connection: Connection[Any], schema: str | None = None) -> None:
    """Lets a connection send and receive fingerprints.

    `schema` is the extension's, if it is not in the search path.
    """
    for kind in FINGERPRINTS:
        _adapt(connection, kind, TypeInfo.fetch(connection, _name(kind, schema)))


async def register_async(connection: AsyncConnection[Any], schema: str | None = None) -> None:
    """Like `register`."""
    for kind in FINGERPRINTS:
        _adapt(connection, kind, await TypeInfo.fetch(connection, _name(kind, schema)))


def _name(kind: type[Fingerprint], schema: str | None) -> Identifier:
    return Identifier(schema, kind.sql_type) if schema else Identifier(kind.sql_type)


def _adapt(context: AdaptContext, kind: type[Fingerprint], info: TypeInfo | None) -> None:
    if info is None:
        raise LookupError(f"no type {kind.sql_type}: is pg_simhash in the database's search path?")
    info.register(context)
    adapters = context.adapters
    assert adapters is not None
    known = {"kind": kind, "oid": info.oid}
    for dumper in _TextDumper, _BinaryDumper:
        adapters.register_dumper(kind, type(kind.__name__, (dumper,), known))
    for loader in _TextLoader, _BinaryLoader:
        adapters.register_loader(info.oid, type(kind.__name__, (loader,), known))
