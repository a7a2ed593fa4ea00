"""Adapts asyncpg: `await register(connection)`, or `create_pool(init=register)`."""

from __future__ import annotations

from typing import Any

from . import FINGERPRINTS, Fingerprint, FingerprintLike

__all__ = ["register"]


async def register(connection: Any, schema: str = "public") -> None:
    """Lets a connection send and receive fingerprints. `schema` is the extension's."""
    for kind in FINGERPRINTS:
        await connection.set_type_codec(
            kind.sql_type,
            schema=schema,
            encoder=_encoder(kind),
            decoder=kind,
            format="binary",
        )


def _encoder(kind: type[Fingerprint]) -> Any:
    def encode(value: FingerprintLike) -> bytes:
        return kind(value).packed

    return encode
