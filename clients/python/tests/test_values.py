"""The same values in SQL and here: of the golden vectors, and of texts of every kind, at random.

SIMHASH_TEXTS is how many texts are generated. `scripts/run soak` takes a million.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_golden import config_of, model, vectors

import pg_simhash
from pg_simhash import Config

COUNT = int(os.environ.get("SIMHASH_TEXTS", "4000"))
BATCH = 2000
NAMES = ("simhash", "simhash128", "simhash256", "minhash64", "minhash128", "minhash256")

#: Letters of many scripts, from which words are made.
ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz",
    "ABCDEFÀÉÎÕÜßçñøåœ",
    "абвгдежзийклмнопрстуфхцчшщъыьэюя",
    "αβγδεζηθικλμνξοπρστυφχψω",
    "אבגדהוזחטיכלמנסעפצקרשת",
    "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "अआइईउऊकखगघचछजझटठडढतथदधनपफबभमयरलवशषसह",
    "กขคงจฉชซญฎฏฐณดตถทธนบปผฝพฟภมยรลวศษสหอฮ",
    "あいうえおかきくけこさしすせそアイウエオカキクケコ",
    "가나다라마바사아자차카타파하",
    "的一是不了人我在有他这为之大来以个中上们国說見學體灣",
    "ԱԲԳԴԵԶԷԸԹԺ",
    "ᚠᚢᚦᚨᚱᚲ",
    "🙂🚀👩‍👩‍👧🇩🇪",
]
MARKS = ["\u0301", "\u0308", "\u064b", "\u05b0", "\u00ad", "\u200b", "\u200d", "\ufe0f"]
BREAKS = [
    " ",
    " ",
    " ",
    "  ",
    "\n",
    "\t",
    "-\n",
    ", ",
    ". ",
    "; ",
    "—",
    "/",
    ".",
    "_",
    "\u3000",
    "。",
]
PIECES = [
    "1.234,50", "2024-03-04", "４２", "٣٤٥", "三千", "v1.2.3", "C++", "C#", ".NET", "path/to.apk",
    "<b>bold</b>", "&amp;", "<script>x()</script>", "data:image/png;base64,iVBORw0KGgo=", "Ã©tÃ©",
    "naïve", "ﬁne", "Ⅷ", "İstanbul", "straße", "don't", "rock'n'roll", "e.g.", "https://a.b/c?d=e",
    "user@example.org", "-- ", "/* note */", "fooBarBaz", "snake_case", "0x1f", "§", "½", "㎏",
]  # fmt: skip
CONFIGS: list[dict[str, Any]] = [
    {},
    {},
    {"shingle": 3},
    {"shingle": [1, 2]},
    {"tokenizer": "word"},
    {"tokenizer": "char", "shingle": 3},
    {"tokenizer": "jieba"},
    {"tokenizer": "code"},
    {"tokenizer": "code", "comments": "keep", "whitespace": "keep"},
    {"weight": "log"},
    {"weight": "tf", "position": "spread", "cap": 3},
    {"weight": "level", "position": "bucket"},
    {"stopwords": "auto"},
    {"spots": {"chain": 2, "distance": 1}, "stopwords": "en"},
    {"normalize": []},
    {"normalize": ["nfkc", "lower", "space"]},
    {
        "normalize": [
            "html",
            "confusables",
            "nfkc",
            "german",
            "marks",
            "lower",
            "simplified",
            "space",
        ]
    },
    {"numbers": "same"},
    {"numbers": "order", "shingle": 1},
    {"hmm": False},
]


def text(chosen: random.Random) -> str:
    alphabets = chosen.choices(ALPHABETS, k=chosen.choice([1, 1, 2, 4]))
    words = []
    for _ in range(chosen.choice([0, 1, 3, 12, 40, 150])):
        if chosen.random() < 0.08:
            words.append(chosen.choice(PIECES))
            continue
        word = "".join(chosen.choices(chosen.choice(alphabets), k=chosen.randrange(1, 9)))
        if chosen.random() < 0.05:
            at = chosen.randrange(len(word) + 1)
            word = word[:at] + chosen.choice(MARKS) + word[at:]
        words.append(word)
        if chosen.random() < 0.1:
            words.append(chosen.choice(words))
    return "".join(word + chosen.choice(BREAKS) for word in words)


def batches(seed: int) -> Iterator[list[str]]:
    chosen = random.Random(seed)
    for _ in range(0, COUNT, BATCH):
        yield [text(chosen) for _ in range(min(BATCH, COUNT))]


MADE = ", ".join(f"{name}(body, config)::text" for name in NAMES)


def here(texts: list[str], config: Config) -> list[list[Any]]:
    fingerprints = [getattr(pg_simhash, name)(texts, config) for name in NAMES]
    shown = [[None if one is None else str(one) for one in column] for column in fingerprints]
    columns = [*shown, pg_simhash.normalize(texts, config), pg_simhash.tokens(texts, config)]
    columns.append(pg_simhash.numbers(texts, config))
    return [list(row) for row in zip(*columns)]


def in_sql(connection: Any, texts: list[str], config: str) -> list[list[Any]]:
    query = f"""
        SELECT {MADE}, simhash_normalize(body, config), simhash_tokens(body, config),
               simhash_numbers(body, config)
        FROM unnest(%s::text[]) WITH ORDINALITY AS given (body, place),
             (SELECT %s::simhash_config AS config) AS of ORDER BY place"""
    return [list(row) for row in connection.execute(query, [texts, config]).fetchall()]


def test_golden_vectors_in_sql(plain: Any) -> None:
    given = model()
    plain.execute(
        "CREATE TEMP TABLE corpus AS SELECT unnest(%s::text[]) AS body", [given["corpus"]]
    )
    plain.execute(
        "SELECT simhash_train('golden', 'SELECT body FROM corpus', %s::simhash_config)",
        [json.dumps(given["config"])],
    )
    [trained] = plain.execute("SELECT model FROM simhash_model WHERE name = 'golden'").fetchone()
    assert bytes(trained).hex() == given["model"]
    for number, vector in enumerate(vectors()):
        config = dict(vector["config"])
        if "dictionary" in vector:
            words, frequencies = zip(*vector["dictionary"])
            config["dictionary"] = f"own{number}"
            plain.execute(
                "SELECT simhash_dictionary(%s, %s::text[], %s::bigint[])",
                [config["dictionary"], list(words), list(frequencies)],
            )
        if "stopwords" in vector:
            config["stopwords"] = f"own{number}"
            plain.execute(
                "SELECT simhash_stopwords(%s, %s::text[])",
                [config["stopwords"], vector["stopwords"]],
            )
        [row] = in_sql(plain, [vector["text"]], json.dumps(config))
        names = [*NAMES, "normalized", "tokens"]
        assert dict(zip(names, row)) == {name: vector[name] for name in names}, vector["text"]
        assert here([vector["text"]], config_of(vector)) == [row]


def test_both_sides_say_that_they_are_the_same(plain: Any) -> None:
    import psycopg

    assert plain.execute("SELECT simhash_values()").fetchone()[0] == pg_simhash.VALUES
    assert plain.execute("SELECT simhash_values(%s)", [pg_simhash.VALUES]).fetchone()
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="1-0123"):
        plain.execute("SELECT simhash_values('1-0123')")
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="NULL"):
        plain.execute("SELECT simhash_values(%s)", [None])


def test_generated_texts(plain: Any) -> None:
    chosen = random.Random(COUNT)
    for number, texts in enumerate(batches(20261129)):
        config = json.dumps(CONFIGS[number % len(CONFIGS)])
        expected = in_sql(plain, texts, config)
        found = here(texts, Config(config))
        wrong = [i for i in range(len(texts)) if found[i] != expected[i]]
        assert not wrong, (config, texts[wrong[0]], expected[wrong[0]], found[wrong[0]])
        # Each with the next one, and with a copy of itself that is a little changed.
        changed = [
            row[: len(row) // 2] + chosen.choice(PIECES) + row[len(row) // 2 :] for row in texts
        ]
        query = """
            SELECT text_similarity(a, b, c), near_duplicate(a, b, 0.5, c),
                   near_duplicate(a, b, 0.8, c), shares_passage(a, b, 5, c),
                   passage_share(a, b, 5, c)
            FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS given (a, b, place),
                 (SELECT %s::simhash_config AS c) AS of ORDER BY place"""
        expected = plain.execute(query, [texts, changed, config]).fetchall()
        recipe = Config(config)
        found = list(
            zip(
                pg_simhash.text_similarity(texts, changed, recipe),
                pg_simhash.near_duplicate(texts, changed, 0.5, recipe),
                pg_simhash.near_duplicate(texts, changed, 0.8, recipe),
                pg_simhash.shares_passage(texts, changed, 5, recipe),
                pg_simhash.passage_share(texts, changed, 5, recipe),
            )
        )
        assert found == expected, config


def test_passages_stand_where_sql_says(plain: Any) -> None:
    chosen = random.Random(5)
    query = "SELECT * FROM shared_passages(%s, %s, 5)"
    for _ in range(200):
        common = text(chosen)
        a, b = text(chosen) + common + text(chosen), text(chosen) + common
        expected = plain.execute(query, [a, b]).fetchall()
        found = pg_simhash.shared_passages(a, b, 5)
        assert [(p[0] + 1, p[1], p[2] + 1, p[3], p[4]) for p in found] == expected


@pytest.mark.parametrize("similarity", [0.4, 0.7, 0.9])
def test_whole_tables(plain: Any, similarity: float) -> None:
    directory = Path(__file__).parents[3] / "evaluate/corpora"
    if not directory.exists():
        pytest.skip("no corpora")
    import lzma

    with lzma.open(directory / "en_descriptions.jsonl.xz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    texts += texts[:100] + ["", "..."]
    plain.execute("DROP TABLE IF EXISTS doc; CREATE TABLE doc (id int PRIMARY KEY, body text)")
    with plain.cursor().copy("COPY doc FROM STDIN") as copy:
        for row in enumerate(texts):
            copy.write_row(row)
    plain.execute("CREATE INDEX doc_body ON doc USING simhash (body) WITH (similarity = 0.4)")
    query = """
        SELECT d.id, k.id, similarity
        FROM simhash_duplicates('doc_body', %s, keep => 'length(body) DESC, id')
        JOIN doc d ON d.ctid = duplicate JOIN doc k ON k.ctid = kept ORDER BY 1"""
    expected = plain.execute(query, [similarity]).fetchall()
    assert pg_simhash.duplicates(texts, similarity, "longest") == expected
    query = """
        SELECT least(x.id, y.id), greatest(x.id, y.id), similarity
        FROM simhash_pairs('doc_body', similarity => %s)
        JOIN doc x ON x.ctid = a JOIN doc y ON y.ctid = b ORDER BY 1, 2"""
    assert (
        list(pg_simhash.pairs(texts, similarity)) == plain.execute(query, [similarity]).fetchall()
    )
