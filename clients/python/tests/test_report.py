"""The page about a table: its numbers against each text compared with each, what stands in it, and
how it looks in a browser."""

from __future__ import annotations

import itertools
import json
import os
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from test_whole import near_pairs, texts

import pg_simhash

psycopg = pytest.importorskip("psycopg")
from psycopg import sql

from pg_simhash import page, report
from pg_simhash.cli import main

ROWS = texts(7, 400)
FOX = "The quick brown fox jumps over the lazy dog while the farmer watches from the old fence"


@pytest.fixture
def made(plain: Any) -> Any:
    """Makes tables in a schema of its own."""
    plain.execute("CREATE SCHEMA shop")

    def make(
        rows: list[str | None],
        table: str = "doc",
        column: str = "body",
        key: str = " PRIMARY KEY",
        index: str = "",
    ) -> None:
        name, column_name = sql.Identifier("shop", table), sql.Identifier(column)
        plain.execute(
            sql.SQL(f"CREATE TABLE {{}} (id int{key}, {{}} text)").format(name, column_name)
        )
        with plain.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(name)) as copy:
            for row in enumerate(rows):
                copy.write_row(row)
        query = "CREATE INDEX ON {} USING simhash ({})" + index
        plain.execute(sql.SQL(query).format(name, column_name))

    yield make
    plain.execute("DROP SCHEMA shop CASCADE")


def found(table: str = "shop.doc", column: str = "body", **options: Any) -> report.Report:
    return report.read("", report.Options(table, column, **options), lambda _: None)


def sizes(dropped: list[pg_simhash.whole.Duplicate]) -> dict[int, int]:
    groups = Counter(row.kept for row in dropped)
    return dict(Counter(count + 1 for count in groups.values()))


class Strict(HTMLParser):
    """Elements that are opened are closed, in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: Counter[str] = Counter()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen[tag] += 1
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("keep", [None, "length(body) DESC, id"])
def test_numbers(made: Any, keep: str | None) -> None:
    made(ROWS)
    answer = found(keep=keep, sample=3)
    order = None if keep is None else "longest"
    assert (answer.rows, answer.texts) == (400, sum(text is not None for text in ROWS))
    for drops in answer.drops:
        expected = pg_simhash.duplicates(ROWS, drops.similarity, order)
        assert drops.dropped == len(expected) > 0
        assert drops.sizes == sizes(expected)
    near = near_pairs(ROWS, 0.5).values()
    assert answer.has_all_pairs
    assert answer.bars == Counter(int(similarity * 20 + 1e-9) for similarity in near)
    edges = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert [band[0] for band in answer.bands] == edges
    for (edge, count, pairs), end in zip(answer.bands, [*edges[1:], 2]):
        assert count == sum(edge <= similarity < end for similarity in near)
        assert min(count, 1) <= len(pairs) <= 3
        assert len({text.body for pair in pairs for text in pair[1:]}) >= len(pairs)
        for pair in pairs:
            first, second = (ROWS[int(each.name[3:])] for each in pair[1:])
            assert (pair.first.body, pair.second.body) == (first, second)
            assert pair.similarity == pg_simhash.text_similarity(first, second)
    Strict(page.page(answer))


def test_more_pairs_than_the_limit(made: Any) -> None:
    """What would be dropped is counted instead, and the page says so."""
    made(ROWS)
    answer = found(limit=100)
    expected = pg_simhash.duplicates(ROWS, 0.5)
    assert not answer.has_all_pairs
    assert answer.bars == Counter(int(row.similarity * 20 + 1e-9) for row in expected)
    assert "There are more than 100 pairs, so not all were counted." in page.page(answer)


def test_equal_rows(made: Any) -> None:
    made([FOX] * 20_000)
    answer = found()
    assert [drops.sizes for drops in answer.drops] == [{20_000: 1}] * 5
    assert not answer.has_all_pairs
    assert answer.bars == {20: 19_999}
    text = page.page(answer)
    assert "20,000 rows" in text
    assert len(text) < 100_000


def test_an_empty_table_and_rows_without_texts(made: Any) -> None:
    made([])
    assert "0 rows" in page.page(found())
    made([None, "", "..."], "none")
    answer = found("shop.none")
    assert (answer.rows, answer.texts) == (3, 2)
    assert [drops.dropped for drops in answer.drops] == [0] * 5
    Strict(page.page(answer))


def test_texts_are_escaped_and_cut(made: Any) -> None:
    script = f"<script>alert('\"&amp;</p>')</script> {FOX}"
    long = " ".join(f"w{i}" for i in range(300_000))
    made([script, script + " now", long, long + " more", "</article>", "</article>"])
    text = page.page(found())
    seen = Strict(text).seen
    assert (seen["script"], seen["img"], seen["link"]) == (0, 0, 0)
    assert "&lt;script&gt;alert(&#x27;&quot;&amp;amp;&lt;/p&gt;&#x27;)" in text
    assert "<mark> now</mark>" in text or "<mark>now</mark>" in text
    assert "no differing word in the first 20,000 characters" in text
    assert len(text) < 60_000


@pytest.mark.parametrize(
    ("first", "second", "marked"),
    [
        ("Ein Hund, schnell", "ein Hund - langsam!", [["schnell"], ["langsam"]]),
        ("今天天气很好", "今天天气不好", [["很"], ["不"]]),
        ("و السلام عليكم", "و السلام عليها", [["عليكم"], ["عليها"]]),
        ("यह हिन्दी में", "यह हिन्दी मे", [["में"], ["मे"]]),
        ("k a b c d e", "k a x, y d e", [["b c"], ["x, y"]]),
        ("one two. Three four!", "three four one two", [[], []]),
        ("(b) a", "a", [["b"], []]),
        ("", "a", [[], ["a"]]),
        ("...", "", [[], []]),
    ],
)
def test_what_is_marked(first: str, second: str, marked: list[list[str]]) -> None:
    sides = page._differing(first, second)
    assert [re.findall("<mark>(.*?)</mark>", side) for side in sides[:2]] == marked
    assert [re.sub("<.*?>", "", side) for side in sides[:2]] == [first, second]
    assert sides[2] == any(marked)


def test_odd_names_and_no_primary_key(made: Any, tmp_path: Path, capsys: Any) -> None:
    rows = [FOX, FOX + " here", None]
    made(rows, 'My "Table"; --', 'the "body" %s', "")
    out = tmp_path / "out.html"
    table = 'shop."My ""Table""; --"'
    arguments = ["report", "--table", table, "--column", 'the "body" %s', "--out", str(out)]
    assert main(arguments) == 0
    text = out.read_text()
    assert "My &quot;&quot;Table&quot;&quot;; --" in text
    assert "<bdi>ctid (0,2)</bdi>" in text
    assert main(arguments) == 1
    assert "is there already: --force replaces it" in capsys.readouterr().err
    assert main([*arguments, "--force"]) == 0


def test_where_the_page_is_not_written(made: Any, tmp_path: Path, capsys: Any) -> None:
    """It is said before the database is asked: there is no such table."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for out, message in [
        ("pipe", "is no file, so it is not replaced"),
        ("folder", "is no file, so it is not replaced"),
        ("none/out.html", "No such file or directory"),
    ]:
        assert main(["report", "--table", "no", "--out", str(tmp_path / out), "--force"]) == 1
        assert message in capsys.readouterr().err
    assert (tmp_path / "pipe").is_fifo()
    with pytest.raises(SystemExit):
        main(["report", "--table", "no", "--limit", str(2**63 - 1)])

    made(ROWS[:9])
    link, target = tmp_path / "link.html", tmp_path / "target.html"
    link.symlink_to(target)
    for more in ([], ["--force"]):
        assert main(["report", "--table", "shop.doc", "--out", str(link), *more]) == 0
        assert link.is_symlink()
        assert "9 rows" in target.read_text()


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_encoding_of_the_client(made: Any, encoding: str) -> None:
    made(["дом на холме", "дом на холме"])
    options = report.Options("shop.doc", "body")
    answer = report.read(f"client_encoding={encoding}", options, lambda _: None)
    assert "дом на холме" in page.page(answer)


def test_partitions(plain: Any, made: Any) -> None:
    plain.execute("CREATE TABLE shop.part (id int, body text) PARTITION BY LIST (id)")
    plain.execute("CREATE INDEX ON shop.part USING simhash (body)")
    with pytest.raises(ValueError, match="shop.part has no partition yet"):
        found("shop.part")
    for number in (1, 2):
        plain.execute(
            f"CREATE TABLE shop.part_{number} PARTITION OF shop.part FOR VALUES IN ({number})"
        )
    plain.execute("INSERT INTO shop.part SELECT id, %s || id FROM generate_series(1, 2) id", [FOX])
    answer = found("shop.part")
    assert answer.rows == 2
    (pair,) = next(pairs for _, _, pairs in answer.bands if pairs)
    assert {pair.first.body, pair.second.body} == {FOX + "1", FOX + "2"}


def test_which_index(plain: Any, made: Any) -> None:
    made(ROWS[:50], index=" WITH (similarity = 0.8)")
    assert [drops.similarity for drops in found().drops] == [0.8, 0.9, 1.0]
    with pytest.raises(ValueError, match=r"0\.6 is less than the 0\.8 that the index shop\.doc_"):
        found(similarities=[0.6, 0.9])
    config = '{"shingle": 1}'
    with pytest.raises(ValueError, match=r"no index on body of this config.*WITH \(config = '{"):
        found(config=config)
    plain.execute(f"CREATE INDEX one ON shop.doc USING simhash (body) WITH (config = '{config}')")
    assert found(config=config).index.name == "shop.one"
    assert found().index.config == "{}"


@pytest.mark.parametrize(
    ("table", "column", "message"),
    [
        ("shop.no", "body", "there is no table shop.no"),
        ("shop.seen", "body", "shop.seen is a view, which has no index: name the table itself"),
        ("shop.doc", "no", "shop.doc has no column 'no'"),
        ("shop.doc", "id", 'It takes: CREATE INDEX ON "shop"."doc" USING simhash ("id");'),
        ("a.b.c.d", "body", "improper"),
    ],
)
def test_what_is_wrong_is_said(
    plain: Any, made: Any, tmp_path: Path, capsys: Any, table: str, column: str, message: str
) -> None:
    made(ROWS[:9])
    plain.execute("CREATE VIEW shop.seen AS TABLE shop.doc")
    out = tmp_path / "out.html"
    assert main(["report", "--table", table, "--column", column, "--out", str(out)]) == 1
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_role_that_may_only_read(plain: Any, made: Any, tmp_path: Path, capsys: Any) -> None:
    made(ROWS)
    plain.execute("CREATE INDEX ON shop.doc USING simhash (body text_passage_ops)")
    plain.execute("DROP ROLE IF EXISTS report_reader")
    plain.execute("CREATE ROLE report_reader LOGIN")
    out = tmp_path / "out.html"
    arguments = ["report", "--dsn", "options='-c role=report_reader'", "--table", "shop.doc"]
    arguments += ["--out", str(out)]
    try:
        assert main(arguments) == 1
        assert "permission denied" in capsys.readouterr().err
        plain.execute("GRANT USAGE ON SCHEMA shop TO report_reader")
        plain.execute("GRANT SELECT ON shop.doc TO report_reader")
        assert main(arguments) == 0
        assert "400 rows" in out.read_text()
    finally:
        plain.execute("DROP OWNED BY report_reader")
        plain.execute("DROP ROLE report_reader")


def test_statement_timeout(made: Any, tmp_path: Path, capsys: Any) -> None:
    """The error names the question."""
    made([f"{i} {FOX} {i} {FOX} {i}" for i in range(10_000)])
    out = tmp_path / "out.html"
    arguments = ["report", "--dsn", "options='-c statement_timeout=300'", "--table", "shop.doc"]
    assert main([*arguments, "--similarity", "0.8", "--out", str(out)]) == 1
    error = capsys.readouterr().err
    assert re.search("(at 0.8|from 0.8 on): canceling statement due to statement timeout", error)
    assert not out.exists()


def test_passages(plain: Any, made: Any) -> None:
    words = ["".join(pair) for pair in itertools.permutations("abcdefghijklmno", 2)]
    taken = " ".join(words[:60])
    rows: list[str | None] = [f"Before this {taken} after", f"and {taken} &", " ".join(words[100:])]
    made([*rows, rows[2]])
    statement = "CREATE INDEX ON &quot;shop&quot;.&quot;doc&quot; USING simhash (&quot;body&quot; "
    assert statement + "text_passage_ops);" in page.page(found())
    plain.execute("CREATE INDEX ON shop.doc USING simhash (body text_passage_ops)")
    passages = found().passages
    assert passages is not None
    assert (passages.pairs, passages.copies, passages.lengths) == (2, 1, {60: 1})
    (shown,) = passages.shown
    assert (shown.words, shown.names) == (60, ("id 0", "id 1"))
    assert (shown.first, shown.second) == (("Before this ", taken, " after"), ("and ", taken, " &"))
    assert "after" in page.page(found())


def colours(scheme: str) -> dict[str, list[float]]:
    block = page.STYLE.split("@media (prefers-color-scheme: dark)")[scheme == "dark"]
    named = dict(re.findall(r"--(\w+): #([0-9a-f]{3,6})", block.split("* {")[0]))
    found = {}
    for name, digits in named.items():
        digits = "".join(c * 2 for c in digits) if len(digits) == 3 else digits
        channels = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        found[name] = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
        ]
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme: str) -> None:
    """WCAG 2: 4.5 for text, 3 for what is drawn."""
    light = {
        name: 0.2126 * red + 0.7152 * green + 0.0722 * blue
        for name, (red, green, blue) in colours(scheme).items()
    }

    def contrast(one: str, other: str) -> float:
        low, high = sorted((light[one], light[other]))
        return (high + 0.05) / (low + 0.05)

    for text, under in [("text", "page"), ("text", "box"), ("text", "mark"), ("soft", "page")]:
        assert contrast(text, under) >= 4.5, (text, under)
    assert contrast("bar", "page") >= 3
    assert contrast("edge", "page") >= 3


def test_in_a_browser(plain: Any, made: Any, browser: Any, tmp_path: Path) -> None:
    rows = [text and text.replace("w1", "<b>w1</b>") for text in ROWS]
    made(
        [
            *rows,
            "0" * 5000,
            "0" * 5000,
            "今天天气很好我们去公园" * 90,
            "今天天气很好我们去公园" * 91,
        ]
    )
    plain.execute("CREATE INDEX ON shop.doc USING simhash (body text_passage_ops)")
    out = tmp_path / "out.html"
    assert main(["report", "--table", "shop.doc", "--out", str(out), "--quiet"]) == 0
    shots = []
    for scheme, width in (("light", 1000), ("dark", 1000), ("light", 360), ("dark", 360)):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        size = {"width": width, "height": 740, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get(out.as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        shots.append(browser.get_screenshot_as_png())
    assert len(set(shots)) == 4
    assert browser.find_elements("tag name", "b") == []
    assert len(browser.find_elements("css selector", ".bars .bar")) > 5
    assert browser.get_log("browser") == []
    asked = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = {
        entry["params"]["request"]["url"]
        for entry in asked
        if entry["method"] == "Network.requestWillBeSent"
    }
    assert urls == {out.as_uri()}
