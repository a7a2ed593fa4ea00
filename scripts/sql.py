#!/usr/bin/env python3
"""Makes the SQL scripts of the version in pg_simhash.control. With "check" it compares them with
those that it would make.

The install script is the pieces in sql/pieces, in the order of their names. The upgrade script
starts from the version before, which sql/changes/BEFORE--VERSION.sql names. It has, in the same
order, the statements of the pieces that the earlier install script lacks, and the further ones of
that file, in sections:

    -- before: CREATE FUNCTION simhash_suggest(
    DROP FUNCTION simhash_suggest(regclass);

A section begins with words that exactly one statement of the pieces contains. Its lines are placed
`before` that statement, which is included even if the earlier version has it, or `instead of` it,
possibly none. `again:` has no lines: the statement is repeated, although the earlier version has
it.

Supported are strings, quoted names, comments to the end of a line and bodies in dollars; not E'',
comments between /* and */, BEGIN ATOMIC, and rules of several statements, which do not occur. White
space and whole lines of comments make no difference between statements, in strings either.

The scripts of earlier versions never change, and are not made.
"""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
SQL = TOP / "sql"
# The parts of a statement: comments, strings, quoted names, bodies in dollars, and the rest.
PART = re.compile(r"""--[^\n]*|'[^']*'|"[^"]*"|(?P<tag>\$\w*\$).*?(?P=tag)|;\n?|.""", re.S)
SECTION = re.compile(r"^-- (before|instead of|again): (.+)$", re.M)


def statements(script):
    """A script's statements, each with the comments and empty lines before it."""
    found = ""
    for part in PART.finditer(script):
        found += part[0]
        if part[0].startswith(";"):
            yield found
            found = ""
    if found.strip():
        sys.exit(f"without an end: {found.strip()[:80]}")


def bare(statement):
    """A statement without comments on their own lines, with single spaces."""
    return " ".join(re.sub(r"^\s*--.*$", "", statement, flags=re.M).split())


def pieces():
    """For each piece its title, which is a comment that an empty line ends, and its statements."""
    for path in sorted((SQL / "pieces").glob("*.sql")):
        title, rest = path.read_text().split("\n\n", 1)
        yield title, list(statements(rest))


def script(comment, command, parts):
    """A script of titles, each with its statements."""
    statement = command.split(" pg_simhash")[0]
    return f"""-- pg_simhash {comment}
-- Made by scripts/sql.py of sql/pieces and sql/changes, which are written by hand.

-- complain if the script is sourced in psql rather than through {statement}
\\echo Use "{command}" to load this file. \\quit
""" + "".join(f"\n{title}\n\n" + re.sub(r"\n{3,}", "\n\n", body.lstrip("\n"))
              for title, body in parts if body)


def install(version):
    return script(
        f"""{version}: the whole catalogue in reading order. C symbols that are named here are never
-- removed from the library: an installation that still names them must be able to upgrade.""",
        "CREATE EXTENSION pg_simhash",
        ((title, "".join(of_piece)) for title, of_piece in pieces()))


def sections(path):
    """By the place of a statement among all: the action, and its lines."""
    every = [bare(statement) for _, of_piece in pieces() for statement in of_piece]
    told = {}
    text = path.read_text()
    headings = r"^--[^:\n]*: *(?:CREATE|COMMENT|ALTER|GRANT|DO|SELECT)\b.*$"
    for line in re.findall(headings, text, re.M):
        if not SECTION.match(line):
            sys.exit(f"{path.name}: neither before, instead of nor again: {line}")
    _, *parts = SECTION.split(text)
    for what, words, lines in zip(parts[::3], parts[1::3], parts[2::3]):
        places = [place for place, statement in enumerate(every) if words in statement]
        if len(places) != 1:
            sys.exit(f"{path.name}: {len(places)} statements have: {words}")
        if places[0] in told or (what == "again" and lines.strip()):
            sys.exit(f"{path.name}: two sections, or lines below again: {words}")
        told[places[0]] = what, lines.strip("\n")
    return told


def upgrade(before, version, path):
    told, place, parts = sections(path), 0, []
    known = (SQL / f"pg_simhash--{before}.sql").read_text()
    known = set(map(bare, statements(re.sub(r"^\\.*$", "", known, flags=re.M))))
    for title, of_piece in pieces():
        body = ""
        for statement in of_piece:
            what, lines = told.get(place, (None, ""))
            place += 1
            if lines:
                body += f"\n{lines}\n"
            if what in ("before", "again") or what is None and bare(statement) not in known:
                body += statement
        parts.append((title, body))
    return script(f"{before} to {version}: makes the catalogue of {before} that of {version}.",
                  f"ALTER EXTENSION pg_simhash UPDATE TO '{version}'", parts)


def main():
    version = re.search(r"default_version = '(.*?)'", (TOP / "pg_simhash.control").read_text())[1]
    made = {f"pg_simhash--{version}.sql": install(version)}
    ways = list((SQL / "changes").glob(f"*--{version}.sql"))
    if not ways and any(SQL.glob("pg_simhash--*.sql")):
        sys.exit(f"sql/changes has no way to {version}")
    for path in ways:
        before = path.name.split("--")[0]
        made[f"pg_simhash--{before}--{version}.sql"] = upgrade(before, version, path)
    for name, text in made.items():
        path = SQL / name
        if sys.argv[1:] != ["check"]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"sql/{name} is not what scripts/sql.py makes")


main()
