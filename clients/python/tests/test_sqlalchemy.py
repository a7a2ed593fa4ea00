"""SQLAlchemy with psycopg and asyncpg, with and without their adapters; Alembic."""

import asyncio
import random
import threading
import warnings

import pytest
from conftest import EDGES

from pg_simhash import FINGERPRINTS, Fingerprint64
from pg_simhash import asyncpg as for_asyncpg
from pg_simhash import psycopg as for_psycopg

sa = pytest.importorskip("sqlalchemy")
from sqlalchemy import orm  # noqa: E402
from sqlalchemy.dialects.postgresql import ARRAY, ExcludeConstraint, insert  # noqa: E402
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine  # noqa: E402

from pg_simhash.sqlalchemy import (  # noqa: E402
    FINGERPRINT64,
    FINGERPRINT128,
    FINGERPRINT256,
    SIMHASH_CONFIG,
    NearDuplicateConstraint,
    NearDuplicateError,
    SimhashIndex,
    minhash64,
    minhash128,
    minhash256,
    near_duplicate,
    near_text,
    original,
    save_or_refuse,
    simhash,
    simhash128,
    simhash256,
    text_similarity,
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


class Base(orm.DeclarativeBase):
    pass


NUMBERS = {"numbers": "same"}
FOX = "The quick brown fox jumps over the lazy dog while the farmer watches from the old fence"
NEAR = FOX.replace("farmer watches", "farmers watch")
OTHER = "Water boils at one hundred degrees Celsius at sea level, and lower up in the mountains"


class Board(Base):
    __tablename__ = "board"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    posts: orm.Mapped[list["Post"]] = orm.relationship(back_populates="board")


class Post(Base):
    __tablename__ = "post"
    id: orm.Mapped[int] = orm.mapped_column(sa.Identity(), primary_key=True)
    said: orm.Mapped[str | None] = orm.mapped_column("Body", sa.Text)
    board_id: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("board.id"), default=1)
    draft: orm.Mapped[bool] = orm.mapped_column(default=False)
    slug: orm.Mapped[str | None] = orm.mapped_column(unique=True)
    board: orm.Mapped[Board | None] = orm.relationship(back_populates="posts")
    __table_args__ = (
        SimhashIndex("post_Body", "Body", similarity=0.5, config=NUMBERS),
        NearDuplicateConstraint(
            "Body",
            similarity=0.6,
            scope=["board_id"],
            config=NUMBERS,
            name="post_near",
            where=~sa.column("draft"),
        ),
    )


class Picture(Base):
    """By two columns, a fingerprint, generated ones, and expressions that are text."""

    __tablename__ = "picture"
    site: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    number: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    fp: orm.Mapped[int | None] = orm.mapped_column(FINGERPRINT64)
    title: orm.Mapped[str | None]
    made: orm.Mapped[int | None] = orm.mapped_column(
        FINGERPRINT128, sa.Computed(minhash128(sa.column("title")), persisted=True)
    )
    note: orm.Mapped[str | None]
    label: orm.Mapped[str | None] = orm.mapped_column("A label")
    hidden: orm.Mapped[bool] = orm.mapped_column(default=False)
    written: orm.Mapped[int | None] = orm.mapped_column(
        FINGERPRINT128, sa.Computed('minhash128("A label")', persisted=True)
    )
    __table_args__ = (
        ExcludeConstraint(("fp", "~="), using="simhash", name="picture_fp"),
        ExcludeConstraint(
            (sa.func.hamming_ball(sa.column("written"), 20), "~="),
            using="simhash",
            name="picture_label",
            where=sa.text("NOT picture.hidden"),
        ),
        ExcludeConstraint(
            (sa.literal_column("near_text(note || 'note', 0.9)"), "~="),
            using="simhash",
            name="picture_near",
        ),
        ExcludeConstraint(("made", "~="), using="simhash", name="picture_made"),
        ExcludeConstraint(
            (sa.text("near_text(note, 0.6)"), "~="), using="simhash", name="picture_note"
        ),
    )


@pytest.fixture
def models(database):
    """An engine of a database with the tables and two boards."""
    engine = sa.create_engine("postgresql+psycopg://")
    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add_all([Board(id=1), Board(id=2)])
        session.commit()
    yield engine
    engine.dispose()
    Base.metadata.drop_all(engine)
    engine.dispose()


def texts(count):
    """Some in pairs that differ in a few words."""
    draw = random.Random(7)
    words = [f"word{i}" for i in range(400)]
    made = []
    while len(made) < count:
        text = draw.choices(words, k=30)
        made.append(" ".join(text))
        for _ in range(draw.randrange(3)):
            text[draw.randrange(30)] = draw.choice(words)
            made.append(" ".join(text))
    return made[:count]


def explained(session, query):
    compiled = query.compile(session.connection(), compile_kwargs={"literal_binds": True})
    return "\n".join(session.scalars(sa.text(f"EXPLAIN {compiled}")))


def test_texts_are_found_as_by_brute_force(models):
    with orm.Session(models) as session:
        rows = [{"said": text, "draft": True} for text in texts(300)]
        session.execute(sa.insert(Post), [*rows, {"said": None, "draft": True}])
        a, b = orm.aliased(Post), orm.aliased(Post)
        for similarity in 0.6, 0.7, 0.9:
            near = near_duplicate(a.said, b.said, similarity)
            alike = text_similarity(a.said, b.said) >= similarity
            pairs = sa.select(a.id, b.id).where(a.id < b.id)
            brute = session.execute(pairs.where(alike)).all()
            assert sorted(session.execute(pairs.where(near)).all()) == sorted(brute) != []
        session.execute(sa.text("SET LOCAL enable_seqscan = off"))
        for asked in rows[:20]:
            near = near_duplicate(Post.said, asked["said"], 0.7, NUMBERS)
            query = sa.select(Post.id).where(near)
            assert "post_Body" in explained(session, query)
            found = session.scalars(query).all()
            session.execute(sa.text("SET LOCAL enable_seqscan = on"))
            session.execute(sa.text("SET LOCAL enable_indexscan = off"))
            session.execute(sa.text("SET LOCAL enable_bitmapscan = off"))
            alike = text_similarity(Post.said, asked["said"], NUMBERS) >= 0.7
            same = sa.func.simhash_numbers(Post.said) == sa.func.simhash_numbers(asked["said"])
            assert found and sorted(found) == sorted(
                session.scalars(sa.select(Post.id).where(alike & same)).all()
            )
            session.execute(sa.text("RESET enable_indexscan"))
            session.execute(sa.text("RESET enable_bitmapscan"))
            session.execute(sa.text("SET LOCAL enable_seqscan = off"))
        # NULL is near nothing.
        nothing = sa.select(Post.id).where(near_duplicate(Post.said, sa.null()))
        assert session.scalars(nothing).all() == []
        session.rollback()


def test_the_index_of_the_constraint_answers(models):
    """Also where a plan serves all parameters, for the similarity is none."""
    with orm.Session(models) as session:
        session.execute(sa.text('DROP INDEX "post_Body"'))
        session.execute(sa.insert(Post), [{"said": FOX}, {"said": OTHER}])
        session.execute(sa.text("SET LOCAL enable_seqscan = off"))
        session.execute(sa.text("SET LOCAL plan_cache_mode = force_generic_plan"))
        near = near_duplicate(Post.said, NEAR, 0.6, NUMBERS)
        query = sa.select(Post.said).where(near, Post.board_id == 1, ~Post.draft)
        assert "post_near" in explained(session, query)
        assert session.scalars(query).all() == [FOX]
        session.rollback()


def test_functions_are_those_of_sql(models):
    functions = {
        minhash64: "minhash64",
        minhash128: "minhash128",
        minhash256: "minhash256",
        simhash: "simhash",
        simhash128: "simhash128",
        simhash256: "simhash256",
    }
    with orm.Session(models) as session:
        for function, name in functions.items():
            for config in None, {"shingle": 3}, '{"shingle": 3}':
                second = "" if config is None else """, '{"shingle": 3}'"""
                by_sql = session.scalar(sa.text(f"SELECT {name}('{FOX}'{second})::text"))
                found = session.scalar(sa.select(function(FOX, config)))
                assert str(found) == by_sql and type(found) in FINGERPRINTS
        odd = {"stopwords": ["100%", "a :word", "it's", "%s"]}
        pair = sa.select(
            text_similarity("100% of it", "of it", None), near_text(FOX, 0.5).is_(None)
        )
        assert session.execute(pair).one()[1] is False
        with pytest.raises(sa.exc.DBAPIError) as told:  # as it is written, not as a parameter
            session.scalar(sa.select(near_duplicate("a", "b", 0.5, {"nothing %s :of": odd})))
        assert "nothing" in str(told.value.orig)
        session.rollback()
        with pytest.raises(sa.exc.DBAPIError, match="0.3"):
            session.scalar(sa.select(near_duplicate("a", "b", 0.1)))


def test_a_refused_row_tells_the_original(models):
    with orm.Session(models) as session:
        first = Post(said=FOX)
        save_or_refuse(session, first)
        with pytest.raises(NearDuplicateError, match=f"the row {first.id}, refused by post_near"):
            save_or_refuse(session, Post(said=NEAR))
        # The transaction goes on: what the constraint does not compare is no copy.
        second = Post(said=NEAR, board_id=2)
        for post in (
            second,
            Post(said=NEAR, board_id=sa.null()),
            Post(said=NEAR + " 7"),
            Post(said=NEAR, draft=True),
            Post(said=None),
            Post(said=None),
            Post(said="..."),
            Post(said="..."),
        ):
            save_or_refuse(session, post)
            assert post.id is not None
        session.commit()
        assert session.scalar(sa.select(sa.func.count(Post.id))) == 9

        # An update: what is not to be is not kept.
        second.board_id = 1
        with pytest.raises(NearDuplicateError) as refused:
            save_or_refuse(session, second)
        assert (refused.value.constraint, refused.value.original) == ("post_near", first.id)
        assert second in session and second.board_id == 2
        first.said = NEAR  # near itself alone
        save_or_refuse(session, first)
        second.said = OTHER
        save_or_refuse(session, second)
        session.commit()
        session.expire_all()
        assert (first.said, second.said) == (NEAR, OTHER)


def test_what_is_in_the_session_is_written_before(models):
    with orm.Session(models) as session:
        pending = Post(said=FOX)
        session.add(pending)
        copy = Post(said=NEAR)
        session.add(copy)
        with pytest.raises(NearDuplicateError) as refused:
            save_or_refuse(session, copy)
        assert refused.value.original == pending.id and copy not in session
        session.commit()
        assert session.scalars(sa.select(Post.said)).all() == [FOX]


@pytest.mark.filterwarnings("ignore:Object of type <Post> not in session")
def test_a_scope_by_a_relationship(models):
    with orm.Session(models) as session:
        one, two = session.get(Board, 1), session.get(Board, 2)
        first = Post(said=FOX, board=two)
        save_or_refuse(session, first)
        save_or_refuse(session, Post(said=NEAR, board=one))
        assert original(session, Post(said=NEAR, board=two, board_id=1)) == first.id
        for values in ({"board": two}, {"board_id": 2}):
            with pytest.raises(NearDuplicateError) as refused:
                save_or_refuse(session, Post(said=NEAR, **values))
            assert refused.value.original == first.id
        new = Board(id=3)
        save_or_refuse(session, Post(said=NEAR, board=new))
        session.commit()
        assert session.scalar(sa.select(sa.func.count(Post.id))) == 3


def test_original_before(models):
    with orm.Session(models) as session:
        first = Post(said=FOX)
        session.add(first)
        session.commit()
        assert original(session, Post(said=NEAR)) == first.id
        assert original(session, Post(said=NEAR, draft=False)) == first.id
        for post in (
            Post(said=NEAR, draft=True),
            Post(said=NEAR, board_id=2),
            Post(said=NEAR, board_id=sa.null()),
            Post(said=NEAR + " 7"),
            Post(said=OTHER),
            Post(said=None),
            Post(),
            first,
        ):
            assert original(session, post) is None
        # It writes nothing.
        session.add(Post(said=NEAR))
        assert original(session, Post(said=FOX.upper())) == first.id
        session.rollback()


def test_other_constraints_and_errors(models):
    with orm.Session(models) as session:
        first = Picture(site=1, number=5, fp=7, title=FOX, note=FOX, label=FOX)
        save_or_refuse(session, first)
        for copy, constraint, key in (
            (Picture(site=2, number=1, fp=5), "picture_fp", (1, 5)),
            (Picture(site=2, number=1, title=FOX.upper()), "picture_made", (1, 5)),
            (Picture(site=2, number=1, label=FOX.upper()), "picture_label", (1, 5)),
            (Picture(site=2, number=1, title=sa.text(f"'{FOX}'")), "picture_made", None),
            (Picture(site=2, number=1, note=NEAR), "picture_note", (1, 5)),
        ):
            assert original(session, copy) == key
            with pytest.raises(NearDuplicateError) as refused:
                save_or_refuse(session, copy)
            assert (refused.value.constraint, refused.value.original) == (constraint, key)
        assert str(refused.value) == "a near-duplicate of the row (1, 5), refused by picture_note"
        save_or_refuse(session, Picture(site=4, number=1, label=FOX, hidden=True))
        assert session.get(Picture, (1, 5)) is first
        # A generated column is as the title will be.
        second = Picture(site=3, number=1, title=OTHER)
        save_or_refuse(session, second)
        second.title = FOX.upper()
        with pytest.raises(NearDuplicateError) as refused:
            save_or_refuse(session, second)
        assert refused.value.original == (1, 5) and second.title == OTHER
        # What something else refuses is told as ever, though it is near as well.
        save_or_refuse(session, Post(said=FOX, slug="a"))
        with pytest.raises(sa.exc.IntegrityError, match="post_slug_key"):
            save_or_refuse(session, Post(said=OTHER, slug="a"))
        session.commit()
    with pytest.raises(sa.exc.InvalidRequestError):
        with orm.Session(models) as session:
            save_or_refuse(session, "no instance")


def test_text_of_what_is_not_known(models):
    """Of a whole row: no original, and no other error."""
    of = ExcludeConstraint(
        (sa.text("near_text(noted(picture), 0.6)"), "~="), using="simhash", name="picture_row"
    )
    with orm.Session(models) as session:
        session.execute(
            sa.text(
                "CREATE FUNCTION noted(picture) RETURNS text IMMUTABLE RETURN ($1).note; "
                "ALTER TABLE picture ADD CONSTRAINT picture_row EXCLUDE USING simhash "
                "(near_text(noted(picture), 0.6) WITH ~=); "
                "ALTER TABLE picture DROP CONSTRAINT picture_note, DROP CONSTRAINT picture_near"
            )
        )
        Picture.__table__.append_constraint(of)
        try:
            save_or_refuse(session, Picture(site=1, number=5, note=FOX))
            with pytest.raises(NearDuplicateError) as refused:
                save_or_refuse(session, Picture(site=1, number=6, note=FOX.upper()))
            assert (refused.value.constraint, refused.value.original) == ("picture_row", None)
        finally:
            Picture.__table__.constraints.discard(of)
        session.rollback()


def test_who_comes_second_waits_and_is_refused(models):
    told = []

    def second():
        with orm.Session(models) as session:
            try:
                save_or_refuse(session, Post(said=NEAR))
            except NearDuplicateError as error:
                told.append(error.original)

    with orm.Session(models) as session:
        first = Post(said=FOX)
        save_or_refuse(session, first)
        writer = threading.Thread(target=second)
        writer.start()
        writer.join(0.5)
        assert writer.is_alive()
        session.commit()
        writer.join(30)
        assert told == [first.id]


def test_a_row_that_is_not_seen(models):
    with orm.Session(models) as late:
        late.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        assert late.scalars(sa.select(Post.id)).all() == []
        with orm.Session(models) as session:
            save_or_refuse(session, Post(said=FOX))
            session.commit()
        with pytest.raises(NearDuplicateError) as refused:
            save_or_refuse(late, Post(said=NEAR))
        assert refused.value.original is None
        assert str(refused.value) == "a near-duplicate of another row, refused by post_near"
        late.rollback()


def test_on_conflict_do_nothing(models):
    with orm.Session(models) as session:
        rows = [{"said": FOX}, {"said": NEAR}, {"said": OTHER}]
        added = insert(Post).values(rows).on_conflict_do_nothing().returning(Post.said)
        assert session.scalars(added).all() == [FOX, OTHER]
        with pytest.raises(sa.exc.IntegrityError, match="post_near"):
            session.execute(sa.insert(Post), [{"said": NEAR}])
        session.rollback()


def test_async_sessions(models):
    async def main():
        engine = create_async_engine("postgresql+asyncpg://")
        async with AsyncSession(engine, expire_on_commit=False) as session:
            first = Post(said=FOX)
            for name, act in (("original", original), ("save_or_refuse", save_or_refuse)):
                with pytest.raises(TypeError, match=rf"await session.run_sync\({name}, row\)"):
                    act(session, first)
            await session.run_sync(save_or_refuse, first)
            with pytest.raises(NearDuplicateError) as refused:
                await session.run_sync(save_or_refuse, Post(said=NEAR))
            assert refused.value.original == first.id
            assert await session.run_sync(original, Post(said=NEAR)) == first.id
            second = Post(said=OTHER)
            await session.run_sync(save_or_refuse, second)
            await session.commit()
            second.said = NEAR
            with pytest.raises(NearDuplicateError) as refused:
                await session.run_sync(save_or_refuse, second)
            assert refused.value.original == first.id
            query = sa.select(Post.said, text_similarity(Post.said, NEAR)).where(
                near_duplicate(Post.said, NEAR, 0.6, NUMBERS)
            )
            [(said, similarity)] = await session.execute(query)
            assert said == FOX and 0.6 < similarity < 1
        await engine.dispose()

    asyncio.run(main())


def migrated(connection, metadata, there):
    """The code that autogenerate writes from what is there to the models, and back; it is run."""
    from alembic import autogenerate
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from sqlalchemy.dialects import postgresql

    from pg_simhash.alembic import include_name, render_item

    names = {table.name for table in (*metadata.sorted_tables, *there.sorted_tables)}

    def include(name, type_, parents):
        return include_name(name, type_, parents) and (type_ != "table" or name in names)

    opts = {"include_name": include, "render_item": render_item, "include_schemas": True}
    context = MigrationContext.configure(connection, opts=opts)

    def run(ops):
        code = autogenerate.render_python_code(
            ops, migration_context=context, render_item=render_item
        )
        names = {"op": Operations(context), "sa": sa, "postgresql": postgresql}
        lines = [line.removeprefix("    ") for line in code.splitlines()]
        exec("import pg_simhash.sqlalchemy\n" + "\n".join(lines), names)
        return code

    made = autogenerate.produce_migrations(context, metadata)
    code = run(made.upgrade_ops)
    assert autogenerate.compare_metadata(context, metadata) == []
    run(made.downgrade_ops)
    assert autogenerate.compare_metadata(context, there) == []
    run(made.upgrade_ops)
    assert autogenerate.compare_metadata(context, metadata) == []
    return code


def test_alembic_migrates_indexes_and_constraints(database):
    pytest.importorskip("alembic")

    def model(*args, name="migrated", schema=None):
        metadata = sa.MetaData()
        columns = sa.Column("id", sa.Integer, primary_key=True), sa.Column("Body", sa.Text)
        sa.Table(name, metadata, *columns, sa.Column("at", sa.Integer), *args, schema=schema)
        return metadata

    def near(similarity, name, **kwargs):
        return NearDuplicateConstraint("Body", similarity=similarity, name=name, **kwargs)

    def definitions(connection):
        written = (
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'x' AND "
            "conrelid = 'migrated'::regclass"
        )
        return sorted(connection.scalars(sa.text(written)))

    def use(connection):
        config = {"numbers": "same", "shingle": 2}
        empty, plain = sa.MetaData(), model()
        migrated(connection, plain, empty)
        made = model(
            SimhashIndex("migrated_body", "Body", similarity=0.5, config=config, fillfactor=70),
            near(0.8, "near_1", scope=["at"], config=config),
            near(0.9, "near_2", where=sa.column("at") > 5, deferrable=True, initially="DEFERRED"),
        )
        code = migrated(connection, made, plain)
        assert "op.create_index('migrated_body'" in code
        assert "op.create_exclude_constraint('near_1'" in code
        first, second = definitions(connection)
        assert first.startswith('EXCLUDE USING simhash (at WITH =, near_text("Body", (0.8)::double')
        assert "0.9" in second and second.endswith("DEFERRABLE INITIALLY DEFERRED")
        changed = model(
            SimhashIndex("migrated_body", "Body", similarity=0.7, config=config),
            near(0.8, "near_1", scope=["at"], config=config),
            near(0.9, "near_2", where=sa.column("at") > 5),
        )
        code = migrated(connection, changed, made)
        assert "op.drop_index" in code and "'similarity': 0.7" in code
        connection.execute(sa.text("DROP TABLE migrated"))
        code = migrated(connection, made, empty)
        assert "postgresql.ExcludeConstraint((sa.column('at'), '=')" in code
        copied = made.tables["migrated"].to_metadata(sa.MetaData(), name="copied")
        copied.indexes.clear()
        connection.execute(sa.text("DROP TABLE migrated"))
        copied.create(connection)
        other = {"name": 'An "odd" name', "schema": "Other"}
        connection.execute(sa.text('CREATE SCHEMA "Other"'))
        plain, made = (
            model(*parts, **other)
            for parts in ([], [near(0.8, "near_3"), SimhashIndex("n", "Body", similarity=0.8)])
        )
        plain.create_all(connection)
        migrated(connection, made, plain)
        connection.execute(sa.text('DROP SCHEMA "Other" CASCADE'))
        connection.execute(sa.text("DROP TABLE copied"))

    on_psycopg(False, use)


def test_arguments_that_are_none():
    with pytest.raises(TypeError, match=r"scope is a list of columns: \['at'\]"):
        NearDuplicateConstraint("body", similarity=0.8, name="near", scope="at")
    with pytest.raises(ValueError):
        near_duplicate("a", "b", "much")
    with pytest.raises(ValueError):
        SimhashIndex("a", "body", config="{")
