"""The page of `pg-simhash report`: one HTML file that has no scripts and loads nothing."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby, pairwise

from .report import BARS, MOST, READ, Drops, Pair, Passage, Passages, Report, Text

#: The approximate number of characters of a text on the page.
SHOWN = 900
#: The number of equal words shown on either side of a difference.
AROUND = 12
SIZES = [(2, 2), (3, 3), (4, 5), (6, 10), (11, 100), (101, 1000), (1001, None)]

STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #1c2126; --soft: #58616b; --line: #d5dae0;
  --box: #f5f7f9; --bar: #2f6db5; --mark: #ffe08a; --edge: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --page: #14171a; --text: #e4e7ea; --soft: #a2abb5;
  --line: #373e46; --box: #1d2227; --bar: #6ba4e8; --mark: #5c4813; --edge: #e3b341; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 62rem; background: var(--page);
  color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.75rem 0 .5rem; }
p { margin: .5rem 0; max-width: 42rem; }
.soft, caption, figcaption { color: var(--soft); font-size: .875rem; }
a { color: var(--bar); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding-bottom: .25rem; }
th, td { padding: .3rem .5rem; border-bottom: 1px solid var(--line); text-align: right; }
th { font-weight: 600; font-size: .875rem; vertical-align: bottom; }
tbody th { font-weight: 400; font-size: 1rem; vertical-align: baseline; }
th:first-child, td:first-child { text-align: left; padding-left: 0; white-space: nowrap; }
.bars { max-width: 42rem; }
.bars th, .bars td { border: 0; padding-block: .1rem; }
.bars th:nth-child(-n+2), .bars tbody td:nth-child(2) { width: 1%; white-space: nowrap; }
.bars tbody td:nth-child(3) { border-left: 1px solid var(--soft); padding: .1rem 0; }
.bar { display: block; height: .8rem; min-width: 1px; background: var(--bar);
  border-radius: 0 2px 2px 0; }
.scroll { overflow-x: auto; }
pre, code { font: .85rem/1.5 ui-monospace, monospace; }
pre { background: var(--box); padding: .6rem .75rem; white-space: pre-wrap;
  border-radius: 4px; }
.pair, .group { margin: .75rem 0; border: 1px solid var(--line); border-radius: 4px; }
.pair > p, .group > p { margin: 0; padding: .35rem .75rem; max-width: none;
  border-bottom: 1px solid var(--line); }
.sides { display: grid; grid-template-columns: 1fr 1fr; }
.sides > div { padding: .5rem .75rem; min-width: 0; }
.sides > div + div { border-left: 1px solid var(--line); }
.text { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .925rem; }
.group .text { padding: .5rem .75rem; }
mark { background: var(--mark); color: inherit; border-bottom: 2px solid var(--edge); }
.skip { color: var(--soft); }
@media (max-width: 40rem) {
  .sides { grid-template-columns: 1fr; }
  .sides > div + div { border-left: 0; border-top: 1px solid var(--line); }
  table { font-size: .75rem; }
  th, td { padding-inline: .15rem; }
  th, tbody th, caption { font-size: inherit; }
}
@media print { body { max-width: none; } .pair, .group, table { break-inside: avoid; } }
""".strip()


def _number(value: int) -> str:
    return f"{value:,}"


def _similarity(value: float) -> str:
    """Rounded down, so that only equal texts show 1."""
    return f"{int(value * 100 + 1e-9) / 100:g}"


def _of(count: int, name: str) -> str:
    return f"{_number(count)} {name}{'' if count == 1 else 's'}"


# Scripts without spaces between words are compared by characters.
_SPACELESS = ("CJK ", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")


def _kind(character: str) -> object:
    """The group of a character: characters of one group form a token, either a word or a gap
    between words."""
    category = unicodedata.category(character)[0]
    if category not in "LMN":
        return False
    if ord(character) > 0xE00 and unicodedata.name(character, "").startswith(_SPACELESS):
        return None
    return True


def _tokens(text: str) -> list[tuple[bool, str]]:
    """The words and gaps of a text, each with whether it is a word."""
    tokens: list[tuple[bool, str]] = []
    for kind, characters in groupby(text, _kind):
        if kind is None:
            tokens.extend((True, character) for character in characters)
        else:
            tokens.append((kind is True, "".join(characters)))
    return tokens


def _shared(words: list[str], others: list[str]) -> list[bool]:
    """Whether the other text has each word beside the same neighbour. So a moved passage is shared,
    as in the similarity, which counts pairs of words."""
    known = set(pairwise(["", *others, ""]))
    pairs = [pair in known for pair in pairwise(["", *words, ""])]
    return [before or after for before, after in pairwise(pairs)]


def _differing(first: str, second: str) -> tuple[str, str, bool]:
    """Two texts as HTML, each with the words marked that the other lacks, and whether there are
    any. Case and punctuation do not count, as in the similarity."""
    tokens, others = _tokens(first), _tokens(second)
    words, other_words = _words(tokens), _words(others)
    shared, other_shared = _shared(words, other_words), _shared(other_words, words)
    pages = "".join(_marked(tokens, shared)), "".join(_marked(others, other_shared))
    return *pages, not all(shared + other_shared)


def _words(tokens: list[tuple[bool, str]]) -> list[str]:
    return [unicodedata.normalize("NFKC", text).casefold() for is_word, text in tokens if is_word]


def _marked(tokens: list[tuple[bool, str]], shared: list[bool]) -> Iterator[str]:
    """A text with its differing words marked, without long equal stretches."""
    differs, word = [], 0
    for is_word, _ in tokens:
        # A gap between two differing words is marked with them.
        around = shared[word : word + 1] if is_word else shared[max(word - 1, 0) : word + 1]
        differs.append(len(around) == 2 - is_word and not any(around))
        word += is_word
    near = [False] * len(tokens)
    for at in [0, *(at for at, marked in enumerate(differs) if marked)]:
        for place in range(max(0, at - 2 * AROUND), min(len(tokens), at + 2 * AROUND + 1)):
            near[place] = True
    left, parts = SHOWN, zip(near, differs, tokens)
    for (is_near, is_marked), run in groupby(parts, key=lambda part: part[:2]):
        text = "".join(part[2][1] for part in run)
        if left <= 0 or (not is_near and len(text) > 200):
            yield '<span class="skip"> … </span>'
        else:
            cut = text[: max(left, 80)]
            left -= len(cut)
            end = '<span class="skip"> …</span>' if len(cut) < len(text) else ""
            yield (f"<mark>{escape(cut)}</mark>" if is_marked else escape(cut)) + end
        if left <= 0:
            return


def _beginning(text: str, length: int) -> str:
    """At most this many characters of a text."""
    return escape(text[:length]) + ('<span class="skip"> …</span>' if text[length:] else "")


def _name(text: Text) -> str:
    more = f", {_of(text.length, 'character')}" if text.length > SHOWN else ""
    return f'<div class="soft"><bdi>{escape(text.name)}</bdi>{more}</div>'


def _side(text: Text, marked: str) -> str:
    return f'<div>{_name(text)}<div class="text" dir="auto">{marked}</div></div>'


def _pair(pair: Pair) -> str:
    first, second, differ = _differing(pair.first.body, pair.second.body)
    note = ""
    if pair.similarity == 1:
        note = ", the same words"
    elif not differ and max(pair.first.length, pair.second.length) > READ:
        note = f", no differing word in the first {_of(READ, 'character')}"
    elif not differ:
        note = ", the same words in another order"
    return (
        f'<article class="pair"><p>similarity {_similarity(pair.similarity)}{note}</p>'
        f'<div class="sides">{_side(pair.first, first)}{_side(pair.second, second)}</div></article>'
    )


def _passage(passage: Passage) -> str:
    sides = []
    for name, (before, taken, after) in zip(passage.names, (passage.first, passage.second)):
        sides.append(
            f'<div><div class="soft"><bdi>{escape(name)}</bdi></div>'
            f'<div class="text" dir="auto">{escape(before)}<mark>{_beginning(taken, SHOWN)}</mark>'
            f"{escape(after)}</div></div>"
        )
    return (
        f'<article class="pair"><p>{_number(passage.words)} words in a row</p>'
        f'<div class="sides">{"".join(sides)}</div></article>'
    )


def _bars(caption: str, head: tuple[str, str], rows: list[tuple[str, int]]) -> str:
    """A bar chart in the form of a table."""
    most = max((count for _, count in rows), default=0) or 1
    lines = "".join(
        f'<tr><th scope="row">{escape(label)}</th><td>{_number(count)}</td><td>'
        + (f'<span class="bar" style="width:{100 * count / most:.2f}%"></span>' if count else "")
        + "</td></tr>"
        for label, count in rows
    )
    return (
        f'<table class="bars"><caption>{escape(caption)}</caption><thead><tr>'
        f'<th scope="col">{head[0]}</th><th scope="col">{head[1]}</th><td></td></tr></thead>'
        f"<tbody>{lines}</tbody></table>"
    )


def _table(caption: str, head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = []
    for first, *others in rows:
        cells = "".join(f"<td>{cell}</td>" for cell in others)
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{columns}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _dropped(report: Report) -> str:
    def cells(drops: Drops) -> list[str]:
        share = drops.dropped / report.rows if report.rows else 0
        largest = max(drops.sizes, default=0)
        return [
            f"{drops.similarity:g}",
            _number(drops.dropped),
            f"{share:.1%}",
            _number(report.rows - drops.dropped),
            _number(drops.groups),
            _number(largest),
        ]

    keep = report.options.keep
    order = "as they lie in the table" if keep is None else f"in the order of {keep}"
    middle = report.largest[0]
    index = report.index.name.replace("'", "''")
    argument = "" if keep is None else ", keep => '" + keep.replace("'", "''") + "'"
    statement = f"SELECT * FROM simhash_duplicates('{index}', similarity => {middle:g}{argument});"
    return (
        "<h2>What would be dropped</h2>"
        f"<p>By <code>simhash_duplicates</code>. Rows are taken {escape(order)}. One that is near "
        "a row that stays is dropped. No two rows that stay are near each other.</p>"
        + _table(
            "Rows that would be dropped, by the similarity asked for",
            ["at", "dropped", "of all", "stay", "groups", "largest"],
            map(cells, report.drops),
        )
        + f"<pre>{escape(statement)}</pre>"
    )


def _histogram(report: Report) -> str:
    first = int(report.drops[0].similarity * BARS + 1e-9)
    rows = [
        (f"{place / BARS:.2f} – {(place + 1) / BARS:.2f}", report.bars[place])
        for place in range(first, BARS)
    ]
    rows.append(("1", report.bars[BARS]))
    what = "pairs" if report.has_all_pairs else "rows dropped"
    text = "All pairs of rows that are near each other, each once."
    if not report.has_all_pairs:
        text = (
            f"There are more than {_of(report.options.limit, 'pair')}, so not all were counted. "
            f"Instead these are the rows that would be dropped at {report.drops[0].similarity:g}, "
            "each with the row that stays for it: all of them, but not all pairs."
        )
    return (
        f"<h2>How similar they are</h2><p>{text} A similarity is the share of word pairs that both "
        "texts have. Case and punctuation do not count, so 1 is not the same letter by letter.</p>"
        + _bars(f"{what} by similarity", ("similarity", what), rows)
    )


def _size(least: int, most: int | None) -> str:
    if most is None:
        return f"&gt; {_number(least - 1)}"
    return _number(least) if least == most else f"{_number(least)} – {_number(most)}"


def _groups(report: Report) -> str:
    largest = max((max(drops.sizes, default=0) for drops in report.drops), default=0)
    rows = []
    for least, most in SIZES:
        if least > largest:
            break
        counts = [
            sum(n for size, n in drops.sizes.items() if least <= size <= (most or size))
            for drops in report.drops
        ]
        rows.append([_size(least, most), *map(_number, counts)])
    if not rows:
        return ""
    similarity, examples = report.largest
    shown = "".join(
        f'<article class="group"><p>{_number(size)} rows: <bdi>{escape(text.name)}</bdi> stays</p>'
        f'<div class="text" dir="auto">{_beginning(text.body, 300)}</div></article>'
        for size, text in examples
    )
    return (
        "<h2>Sizes of groups</h2><p>A group is a row that stays and the rows that would be dropped "
        "for it. All of these are near that row.</p>"
        + _table(
            "Groups of each size, by the similarity asked for",
            ["rows", *(f"{drops.similarity:g}" for drops in report.drops)],
            rows,
        )
        + (f"<h3>One of each of the largest sizes, at {similarity:g}</h3>{shown}" if shown else "")
    )


def _pairs(report: Report) -> str:
    if not report.bars.total():
        return ""
    what = "pair" if report.has_all_pairs else "duplicate"
    sections = []
    for (edge, count, pairs), after in zip(report.bands, [*report.bands[1:], None]):
        band = f"{edge:g}" if after is None else f"From {edge:g} to {after[0]:g}"
        shown = f"{len(pairs)} of {_of(count, what)}" if count > len(pairs) else _of(count, what)
        sections.append(f"<h3>{band}: {shown}</h3>{''.join(map(_pair, pairs))}")
    return (
        "<h2>Pairs to look at</h2><p>Drawn at random from each band, no text twice. Words that the "
        "other text does not have beside the same neighbour are <mark>marked</mark>. Which band is "
        "what you call the same?</p>" + "".join(reversed(sections))
    )


def _copied(report: Report) -> str:
    found: Passages | None = report.passages
    if found is None:
        return (
            "<h2>Copied passages</h2><p>Words in a row that texts have in common, which need an "
            f"index of their own:</p><pre>{escape(report.passages_statement)}</pre>"
        )
    edges = [found.words * factor for factor in (1, 2, 4, 8, 16)]
    counts = [0] * len(edges)
    for words, pairs in found.lengths.items():
        counts[max(i for i, edge in enumerate(edges) if edge <= words or i == 0)] += pairs
    labels = [f"{_number(a)} – {_number(b - 1)}" for a, b in pairwise(edges)]
    labels.append(f"{_number(edges[-1])} and more")
    least = "" if found.is_complete else "more than "
    notices = "".join(f'<p class="soft">{escape(notice)}</p>' for notice in found.notices)
    part = "" if found.is_complete else " These are the first that were found, not all."
    return (
        f"<h2>Copied passages</h2><p>{least}{_of(found.pairs, 'pair')} of rows share a run of "
        f"{found.words} words or more, {_number(found.copies)} of them whole texts.{part} Runs "
        f"that more than {MOST} texts have are boilerplate, and propose no pair.</p>{notices}"
        + _bars(
            "Pairs that are no copies, by the words in common",
            ("words", "pairs"),
            list(zip(labels, counts)),
        )
        + ("<h3>The longest</h3>" if found.shown else "")
        + "".join(map(_passage, found.shown))
    )


def _head(report: Report) -> str:
    index, without = report.index, report.rows - report.texts
    facts = [
        f"{_of(report.rows, 'row')}"
        + (f", {_number(without)} of them without a text (NULL)" if without else ""),
        f"index {index.name}" + ("" if index.config == "{}" else f", config {index.config}"),
    ]
    if index.scope is not None:
        facts.append(f"compared within equal values of {index.scope}")
    if index.condition is not None:
        facts.append(f"only rows of the index are compared: {index.condition}")
    facts.append(f"database {report.database}, {report.taken:%Y-%m-%d %H:%M %Z}")
    return (
        f"<h1>Near-duplicates in <bdi>{escape(report.table)}</bdi>, column "
        f'<bdi>{escape(report.column)}</bdi></h1><p class="soft">'
        f"{'<br>'.join(map(escape, facts))}</p>"
    )


def page(report: Report) -> str:
    """The page, as HTML."""
    body = "\n".join(
        part(report) for part in (_head, _dropped, _histogram, _groups, _pairs, _copied)
    )
    title = escape(f"Near-duplicates in {report.table}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n{body}\n"
        f'</main>\n<footer><p class="soft">Made by pg-simhash report {escape(report.version)}. '
        "Nothing was changed.</p></footer>\n</body>\n</html>\n"
    )
