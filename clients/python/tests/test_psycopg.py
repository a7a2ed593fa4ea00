"""psycopg 3: parameters, results, arrays and COPY in both formats."""

import asyncio

import psycopg
import pytest
from conftest import EDGES

from pg_simhash import FINGERPRINTS, Fingerprint64, Fingerprint128
from pg_simhash.psycopg import register, register_async


@pytest.fixture
def connection(database):
    with psycopg.connect(autocommit=True) as connection:
        register(connection)
        yield connection


@pytest.mark.parametrize("placeholder", ["%s", "%b", "%t"])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("kind", FINGERPRINTS)
def test_round_trip(connection, kind, binary, placeholder):
    for number in EDGES[kind.bits]:
        query = f"WITH s (v) AS (SELECT {placeholder}) "
        query += "SELECT v, v::text, v::numeric, pg_typeof(v)::text FROM s"
        row = connection.cursor(binary=binary).execute(query, [kind(number)]).fetchone()
        assert row == (number, str(kind(number)), number, kind.sql_type)
        assert type(row[0]) is kind


@pytest.mark.parametrize("binary", [False, True])
def test_arrays_and_null(connection, binary):
    values = [Fingerprint64(n) for n in EDGES[64]]
    cursor = connection.cursor(binary=binary)
    assert cursor.execute("SELECT %s", [values]).fetchone() == (values,)
    found = cursor.execute("SELECT NULL::fingerprint64, %s::fingerprint64[]", [[values[0], None]])
    assert found.fetchone() == (None, [values[0], None])


@pytest.mark.parametrize("form", ["binary", "text"])
def test_copy_in_and_out(connection, wide, form):
    rows = [(i, *(kind(EDGES[kind.bits][i]) for kind in FINGERPRINTS)) for i in range(6)]
    types = ["int4", *(kind.sql_type for kind in FINGERPRINTS)]
    rows.append((6, None, None, None))
    cursor = connection.cursor()
    with cursor.copy(f"COPY {wide} FROM STDIN (FORMAT {form})") as copy:
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)
        # In text, psycopg before 3.3 writes plain numbers in decimal whatever the types are.
        if form == "binary":
            copy.write_row((7, 2**64 - 1, "f" * 32, b"\xff" * 32))
            rows.append((7, 2**64 - 1, 2**128 - 1, 2**256 - 1))
    with cursor.copy(f"COPY {wide} TO STDOUT (FORMAT {form})") as copy:
        copy.set_types(types)
        assert list(copy.rows()) == rows
    assert cursor.execute(f"TABLE {wide} ORDER BY id").fetchall() == rows


def test_a_parameter_resolves_and_uses_the_index(connection, wide):
    connection.execute(f"INSERT INTO {wide} (id, f64) SELECT i, i FROM generate_series(1, 5000) i")
    connection.execute(f"CREATE INDEX ON {wide} USING simhash (f64)")
    connection.execute(f"ANALYZE {wide}")
    query = f"SELECT id FROM {wide} WHERE hamming(f64, %s) <= 1 ORDER BY id"
    expected = [(i,) for i in range(1, 5001) if (i ^ 4096).bit_count() <= 1]
    connection.execute("SET enable_seqscan = off")
    value = Fingerprint64(4096)
    assert connection.execute(query, [value]).fetchall() == expected
    plan = "\n".join(row[0] for row in connection.execute("EXPLAIN " + query, [value]))
    assert "wide_f64_idx" in plan
    connection.execute("SET plan_cache_mode = force_generic_plan")
    assert connection.execute(query, [value], prepare=True).fetchall() == expected


def test_other_schemas(database):
    with psycopg.connect(autocommit=True) as connection:
        with pytest.raises(LookupError):
            register(connection, schema="pg_catalog")
        connection.execute("SET search_path = pg_catalog")
        with pytest.raises(LookupError):
            register(connection)
        register(connection, schema="public")
        found = connection.execute("SELECT %s", [Fingerprint128(7)]).fetchone()
        assert found == (Fingerprint128(7),)


def test_async(database):
    async def main():
        async with await psycopg.AsyncConnection.connect() as connection:
            await register_async(connection)
            cursor = await connection.execute("SELECT %s", [Fingerprint64(2**64 - 1)])
            return await cursor.fetchone()

    assert asyncio.run(main()) == (Fingerprint64(2**64 - 1),)
