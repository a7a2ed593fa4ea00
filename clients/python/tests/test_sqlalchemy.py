"""SQLAlchemy with psycopg and asyncpg, with and without their adapters; Alembic."""

import asyncio
import warnings

import pytest
from conftest import EDGES

from pg_simhash import FINGERPRINTS, Fingerprint64
from pg_simhash import asyncpg as for_asyncpg
from pg_simhash import psycopg as for_psycopg

sa = pytest.importorskip("sqlalchemy")
from sqlalchemy.dialects.postgresql import ARRAY, ExcludeConstraint  # noqa: E402
from sqlalchemy.ext.asyncio import create_async_engine  # noqa: E402

from pg_simhash.sqlalchemy import (  # noqa: E402
    FINGERPRINT64,
    FINGERPRINT128,
    FINGERPRINT256,
    SIMHASH_CONFIG,
)

TYPES = {kind: t for kind, t in zip(FINGERPRINTS, (FINGERPRINT64, FINGERPRINT128, FINGERPRINT256))}
metadata = sa.MetaData()
wide = sa.Table(
    "wide",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("body", sa.Text),
    *(sa.Column(f"f{kind.bits}", type_) for kind, type_ in TYPES.items()),
    sa.Column("made", FINGERPRINT64, sa.Computed("simhash(body)", persisted=True)),
    sa.Column("several", ARRAY(FINGERPRINT64)),
    sa.Index("wide_f64", "f64", postgresql_using="simhash", postgresql_with={"blocks": 5}),
    ExcludeConstraint(("f128", "~="), using="simhash", name="wide_near"),
)
WRITTEN = "simhash('a b c', '{\"shingle\": 2}')"
ROWS = [
    {"id": i, "body": "a b c", **{f"f{k.bits}": EDGES[k.bits][i] for k in FINGERPRINTS}}
    for i in (5, 3, 4)
]


def on_psycopg(adapted, use):
    engine = sa.create_engine("postgresql+psycopg://")
    if adapted:
        sa.event.listen(engine, "connect", lambda dbapi, _: for_psycopg.register(dbapi))
    with engine.begin() as connection:
        use(connection)
    engine.dispose()


def on_asyncpg(adapted, use):
    engine = create_async_engine("postgresql+asyncpg://")
    if adapted:
        sa.event.listen(
            engine.sync_engine,
            "connect",
            lambda dbapi, _: dbapi.run_async(for_asyncpg.register),
        )

    async def main():
        async with engine.begin() as connection:
            await connection.run_sync(use)
        await engine.dispose()

    asyncio.run(main())


@pytest.mark.parametrize("adapted", [False, True])
@pytest.mark.parametrize("run", [on_psycopg, on_asyncpg])
def test_everything(database, run, adapted):
    def use(connection):
        metadata.create_all(connection)
        connection.execute(sa.insert(wide), ROWS)
        connection.execute(sa.insert(wide).values(id=9, several=[5, 2**64 - 1]))
        for row in ROWS:
            found = connection.execute(sa.select(wide).where(wide.c.id == row["id"])).one()
            assert found[2:5] == tuple(row[f"f{k.bits}"] for k in FINGERPRINTS)
            assert [type(value) for value in found[2:5]] == list(FINGERPRINTS)
            assert type(found.made) is Fingerprint64
        # psycopg knows an array of fingerprints only by its adapter.
        if adapted or run is on_asyncpg:
            several = sa.select(wide.c.several).where(wide.c.id == 9)
            assert connection.scalar(several) == [5, 2**64 - 1]
        for kind in FINGERPRINTS:
            column = wide.c[f"f{kind.bits}"]
            top = kind(1 << kind.bits - 1)
            for value in (top, int(top), str(top), top.packed):
                for condition in (
                    column == value,
                    column.within(value, 0),
                    column.near(value),
                    column.hamming(value) < 1,
                    column.in_([value]),
                ):
                    assert connection.scalars(sa.select(wide.c.id).where(condition)).all() == [3]
            nearest = sa.select(wide.c.id).order_by(column.hamming(top)).limit(1)
            assert connection.scalar(nearest) == 3
            other = wide.alias()
            pairs = wide.join(other, column.within(other.c[column.name], 0))
            assert connection.scalar(sa.select(sa.func.count()).select_from(pairs)) == 3
            literal = sa.select(wide.c.id).where(column.within(top, 0))
            text = str(literal.compile(connection, compile_kwargs={"literal_binds": True}))
            assert connection.scalars(sa.text(text)).all() == [3]
        metadata.drop_all(connection)

    run(adapted, use)


def test_a_condition_uses_the_index(database):
    def use(connection):
        metadata.create_all(connection)
        connection.execute(sa.text("SET LOCAL enable_seqscan = off"))
        query = sa.select(wide.c.id).where(wide.c.f64.within(5, 3)).order_by(wide.c.f64.hamming(5))
        compiled = query.compile(connection, compile_kwargs={"literal_binds": True})
        lines = connection.scalars(sa.text(f"EXPLAIN {compiled}")).all()
        assert any("wide_f64" in line for line in lines)
        assert any("Order By" in line for line in lines)
        metadata.drop_all(connection)

    on_psycopg(False, use)


def test_reflection_and_alembic(database):
    alembic = pytest.importorskip("alembic.autogenerate")
    from alembic.migration import MigrationContext

    from pg_simhash.alembic import EXTENSION_TABLES, include_name, render_item

    def use(connection):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            options = {"include_name": include_name, "render_item": render_item}
            context = MigrationContext.configure(connection, opts=options)
            migration = alembic.produce_migrations(context, metadata)
            text = alembic.render_python_code(
                migration.upgrade_ops, migration_context=context, render_item=render_item
            )
            assert "pg_simhash.sqlalchemy.FINGERPRINT128()" in text
            assert "postgresql_using='simhash'" in text and "blocks" in text
            metadata.create_all(connection)
            assert alembic.compare_metadata(context, metadata) == []
            reflected = sa.Table("wide", sa.MetaData(), autoload_with=connection)
            for kind, type_ in TYPES.items():
                assert type(reflected.c[f"f{kind.bits}"].type) is type_
        found = connection.scalars(
            sa.text(
                "SELECT relname FROM pg_depend JOIN pg_class c ON c.oid = objid "
                "WHERE classid = 'pg_class'::regclass AND deptype = 'e' AND relkind = 'r' AND "
                "refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_simhash')"
            )
        )
        assert set(found) == EXTENSION_TABLES
        metadata.drop_all(connection)

    on_psycopg(False, use)


@pytest.mark.parametrize("type_", [SIMHASH_CONFIG(), FINGERPRINT64(), ARRAY(FINGERPRINT256)])
def test_migrations_import_what_they_name(database, type_):
    alembic = pytest.importorskip("alembic.autogenerate")
    from alembic.autogenerate.api import AutogenContext
    from alembic.autogenerate.render import render_op
    from alembic.migration import MigrationContext

    from pg_simhash.alembic import include_name, render_item

    table = sa.Table("one_type", sa.MetaData(), sa.Column("only", type_))

    def use(connection):
        options = {"include_name": include_name, "render_item": render_item}
        context = MigrationContext.configure(connection, opts=options)
        migration = alembic.produce_migrations(context, table.metadata)
        opts = {"render_item": render_item, "user_module_prefix": None, "render_as_batch": False}
        opts |= {"alembic_module_prefix": "op.", "sqlalchemy_module_prefix": "sa."}
        autogen = AutogenContext(context, opts=opts)
        lines = render_op(autogen, migration.upgrade_ops.ops[0])
        assert "pg_simhash.sqlalchemy." in "".join(lines)
        assert "import pg_simhash.sqlalchemy" in autogen.imports

    on_psycopg(False, use)


def test_configs_as_literals(database):
    """In DDL, where there are no parameters."""
    config = sa.literal({"shingle": 2}, SIMHASH_CONFIG)
    made = sa.func.simhash(sa.column("body"), config)
    table = sa.Table(
        "with_config",
        sa.MetaData(),
        sa.Column("body", sa.Text),
        sa.Column("made", FINGERPRINT64, sa.Computed(made, persisted=True)),
        sa.Column("config", SIMHASH_CONFIG, server_default=config),
    )
    sa.Index("with_config_made", made, _table=table, postgresql_using="simhash")

    def use(connection):
        table.create(connection)
        connection.execute(sa.insert(table).values(body="a b c"))
        query = sa.select(table.c.made == sa.literal_column(WRITTEN), table.c.config)
        assert connection.execute(query).one() == (True, {"shingle": 2})
        quoted = sa.select(sa.literal({"it's": "100%"}, SIMHASH_CONFIG))
        text = str(quoted.compile(connection, compile_kwargs={"literal_binds": True}))
        assert """'{"it''s": "100%%"}'::simhash_config""" in text
        table.drop(connection)

    on_psycopg(False, use)


@pytest.mark.parametrize("run", [on_psycopg, on_asyncpg])
def test_configs(database, run):
    def use(connection):
        config = sa.literal({"shingle": 2}, SIMHASH_CONFIG)
        query = sa.select(
            sa.func.simhash("a b c", config) == sa.literal_column(WRITTEN),
            config,
            sa.literal(None, SIMHASH_CONFIG),
        )
        assert connection.execute(query).one() == (True, {"shingle": 2}, None)

    run(False, use)


def test_other_databases_are_refused():
    """They would change digits."""
    engine = sa.create_engine("sqlite://")
    table = sa.Table("t", sa.MetaData(), sa.Column("fp", FINGERPRINT64))
    with engine.begin() as connection:
        table.create(connection)
        with pytest.raises(sa.exc.StatementError, match="sqlite has no fingerprints"):
            connection.execute(sa.insert(table).values(fp=0x1234567890123456))


def test_values_that_are_none(database):
    def use(connection):
        for value in (-1, 2**64, "xyz", b"1"):
            with pytest.raises(sa.exc.StatementError):
                connection.execute(sa.select(sa.literal(value, FINGERPRINT64)))

    on_psycopg(False, use)
