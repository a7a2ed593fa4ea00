"""docs/portable.md and sql/portable.sql: a database without the extension answers as with it."""

import contextlib
import io
import json
import lzma
import pathlib
import re
import subprocess

import pytest

import pg_simhash

psycopg = pytest.importorskip("psycopg")

TOP = pathlib.Path(__file__).resolve().parents[3]
BLOCK = re.compile(r"^```(sql|python)\n(.*?)^```\n(?:```\n(.*?)^```\n)?", re.M | re.S)
CORPORA = TOP / "evaluate" / "corpora"
TEXTS = 10_000


@pytest.fixture
def bare(database, monkeypatch):
    """A database that has no extension, and the three functions."""
    name = "clients_portable"
    with psycopg.connect(dbname="postgres", autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
    monkeypatch.setenv("PGDATABASE", name)
    psql((TOP / "sql" / "portable.sql").read_text(encoding="utf-8"))
    with psycopg.connect(autocommit=True) as connection:
        extensions = connection.execute("SELECT extname FROM pg_extension").fetchall()
        assert extensions == [("plpgsql",)]
        yield connection
    monkeypatch.setenv("PGDATABASE", database)
    with psycopg.connect(dbname="postgres", autocommit=True) as admin:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")


def psql(text):
    command = ["psql", "-X", "-q", "-t", "-v", "ON_ERROR_STOP=1"]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def blocks():
    return BLOCK.findall((TOP / "docs" / "portable.md").read_text(encoding="utf-8"))


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip()]


def test_the_page_is_as_it_stands(bare):
    names: dict = {}
    shown = 0
    for language, text, expected in blocks():
        if language == "sql":
            printed = psql(text)
        else:
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(text, names)
            printed = out.getvalue()
        if expected:
            shown += 1
            assert lines(printed) == lines(expected)
    assert shown == 2
    # The trigger of the last block.
    add = names["add"]
    with psycopg.connect() as connection:
        add(connection, [(6, "the quick brown fox jumps over the lazy dog near the river bank")])
        add(connection, [(7, "nothing like it was here before this row"), (8, "...")])
    ids = bare.execute("SELECT id FROM doc ORDER BY id").fetchall()
    assert ids == [(1,), (2,), (3,), (4,), (5,), (7,), (8,)]


def texts():
    """Descriptions, verses, articles in five languages, changed copies, and copies. No licences: of
    those each is near hundreds of others."""
    found = []
    for path in sorted(CORPORA.glob("*.jsonl.xz")):
        if "licenses" in path.name:
            continue
        with lzma.open(path, "rt", encoding="utf-8") as file:
            rows = (json.loads(line).get("text") for _, line in zip(range(2500), file))
            found.extend(text for text in rows if text and len(text) < 20_000)
    found = found[: TEXTS * 2 // 3]
    changed = [text + " and more" for text in found[::4]]
    shorter = [text[: len(text) * 3 // 4] for text in found[::5]]
    found = (found + changed + shorter + found[::30])[: TEXTS - 2]
    return [*found, "", "..."]


def test_ten_thousand_texts_are_near_as_the_extension_says(bare, database):
    rows = list(enumerate(texts()))
    assert len(rows) > TEXTS * 0.9
    names: dict = {}
    (_, table, _), (_, functions, _), *_ = blocks()
    psql(table)
    exec(functions, names)
    with psycopg.connect() as connection:
        names["add"](connection, rows)
    bare.execute("ANALYZE doc")
    with psycopg.connect(dbname=database, autocommit=True) as with_extension:
        with_extension.execute("CREATE TABLE portable (id bigint, body text)")
        with with_extension.cursor().copy("COPY portable FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)
        with_extension.execute("CREATE INDEX portable_body ON portable USING simhash (body)")
        pairs = next(text for _, text, _ in blocks() if "candidate" in text)
        for similarity in (0.5, 0.65, 0.7, 0.9):
            expected = with_extension.execute(
                """SELECT least(a.id, b.id), greatest(a.id, b.id), s.similarity
                   FROM simhash_pairs('portable_body', similarity => %s) s
                   JOIN portable a ON a.ctid = s.a JOIN portable b ON b.ctid = s.b
                   ORDER BY 1, 2""",
                [similarity],
            ).fetchall()
            assert len(expected) > 100
            assert bare.execute(pairs.replace("0.7", str(similarity))).fetchall() == expected
        for _, text in rows[:: len(rows) // 50]:
            expected = with_extension.execute(
                "SELECT id FROM portable WHERE near_duplicate(body, %s, 0.6)", [text]
            ).fetchall()
            found = names["near"](bare, text, 0.6)
            assert sorted(id for id, _ in found) == sorted(id for (id,) in expected)
        with_extension.execute("DROP TABLE portable")


def test_what_sketches_do_not_serve_is_an_error(bare):
    sketch, shingles = pg_simhash.sketch("one two three", 0.5), pg_simhash.shingles("one two three")
    for arguments, message in [
        ((sketch, shingles, sketch, shingles, 0.4), "similarity 0.4 is out of range"),
        ((sketch, shingles, sketch, shingles, float("nan")), "similarity NaN is out of range"),
        ((sketch[1:], shingles, sketch, shingles, 0.7), "a sketch must have 35 keys"),
    ]:
        with pytest.raises(psycopg.Error, match=message):
            bare.execute("SELECT near_duplicate_of(%s, %s, %s, %s, %s)", arguments)


def test_the_law_is_that_of_the_package(bare):
    for hundredths in range(50, 101):
        similarity = hundredths / 100
        bands, _, shared = pg_simhash.sketch_law(similarity)
        law = bare.execute("SELECT bands, shared FROM near_law(%s)", [similarity]).fetchone()
        assert law == (bands, shared)


def test_shingles_are_sets():
    made = pg_simhash.shingles(["a b a b c", "", None, "a"])
    assert [None if one is None else len(one) for one in made] == [3, 0, None, 1]
    assert pg_simhash.shingles("a b c")[0] in range(-(1 << 63), 1 << 63)
