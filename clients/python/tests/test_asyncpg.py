"""asyncpg: parameters, results, arrays, COPY, pools, another schema."""

import asyncio

import pytest
from conftest import EDGES

from pg_simhash import FINGERPRINTS, Fingerprint64
from pg_simhash.asyncpg import register

asyncpg = pytest.importorskip("asyncpg")


def run(use):
    async def main():
        connection = await asyncpg.connect()
        try:
            await register(connection)
            return await use(connection)
        finally:
            await connection.close()

    return asyncio.run(main())


@pytest.mark.parametrize("kind", FINGERPRINTS)
def test_round_trip(database, kind):
    async def use(connection):
        for number in EDGES[kind.bits]:
            for value in [number, kind(number), str(kind(number)), kind(number).packed]:
                query = f"SELECT $1::{kind.sql_type} v, ($1::{kind.sql_type})::numeric n"
                row = await connection.fetchrow(query, value)
                assert (row["v"], int(row["n"]), type(row["v"])) == (number, number, kind)
        values = [kind(n) for n in EDGES[kind.bits]] + [None]
        assert await connection.fetchval(f"SELECT $1::{kind.sql_type}[]", values) == values
        with pytest.raises(asyncpg.DataError):
            await connection.fetchval(f"SELECT $1::{kind.sql_type}", 1 << kind.bits)

    run(use)


def test_copy_is_binary(wide):
    async def use(connection):
        rows = [(i, *(kind(EDGES[kind.bits][i]) for kind in FINGERPRINTS)) for i in range(6)]
        rows.append((6, None, None, None))
        await connection.copy_records_to_table(wide, records=rows)
        assert [tuple(r) for r in await connection.fetch(f"TABLE {wide} ORDER BY id")] == rows

    run(use)


def test_a_pool_and_an_unknown_schema(database):
    async def main():
        async with asyncpg.create_pool(min_size=1, init=register) as pool:
            assert await pool.fetchval("SELECT $1::fingerprint64", 5) == Fingerprint64(5)
        connection = await asyncpg.connect()
        with pytest.raises(ValueError, match="fingerprint64"):
            await register(connection, schema="pg_catalog")
        await connection.close()

    asyncio.run(main())
