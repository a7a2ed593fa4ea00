#!/usr/bin/env python3
"""Checks that every file that names the version of the extension agrees with pg_simhash.control,
and that META.json describes a distribution in PGXN's format (https://pgxn.org/spec/). With a
version as argument it writes that version into all of them."""
import json
import os
import re
import sys

# The places of the version: the pattern's second group.
PLACES = (
    ("pg_simhash.control", r"^(default_version = ')([^']*)"),
    ("Cargo.toml", r'^(version = ")(\d[^"]*)'),
    ("Cargo.lock", r'^(name = "(?:pg_simhash|simhash-[a-z]+)"\nversion = ")([^"]*)'),
    ("src/lib.rs", r"(pg_simhash--)([0-9.]+\d)(?=\.sql)"),
    ("META.json", r'^(  "version": ")([^"]*)'),
    ("META.json", r'(pg_simhash--)([0-9.]+\d)(?=\.sql)'),
    ("META.json", r'^(      "version": ")([^"]*)'),
    ("docs/installation.md", r"^( )(\d[0-9.]*)(?= +\| [0-9a-f]{16}$)"),
    ("docs/installation.md", r"(pg-simhash_)([0-9.]+)(?=-1_)"),
    ("docs/installation.md", r"(pg_simhash_\d+-)([0-9.]+)(?=-1\.)"),
    ("tests/regress/expected/extension.out", r"^( pg_simhash \| )(\S+)"),
    ("clients/python/pyproject.toml", r'^(version = ")([^"]*)'),
)


def found(path, pattern):
    """All matches of the pattern's last group in a file."""
    with open(path, encoding="utf-8") as file:
        matches = list(re.finditer(pattern, file.read(), re.MULTILINE))
    if not matches:
        sys.exit(f"{path}: nothing matches {pattern}")
    return [match[match.lastindex] for match in matches]


def name_everywhere(version):
    """Writes the version into all places."""
    for path, pattern in PLACES:
        found(path, pattern)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(pattern, rf"\g<1>{version}", text, flags=re.MULTILINE))


def main():
    if sys.argv[1:]:
        name_everywhere(sys.argv[1])
        return
    [version] = found(*PLACES[0])
    for path, pattern in (*PLACES, ("CHANGELOG.md", r"\A# .*\s+^(## )(\S+)")):
        for other in found(path, pattern):
            if other != version:
                sys.exit(f"{path} has version {other}, pg_simhash.control has {version}")
    with open("META.json", encoding="utf-8") as file:
        meta = json.load(file)
    extension = meta["provides"]["pg_simhash"]
    missing = {"abstract", "license", "maintainer", "meta-spec", "name", "provides",
               "version"} - meta.keys()
    if missing:
        sys.exit(f"META.json lacks {', '.join(sorted(missing))}")
    for path in extension["file"], extension["docfile"]:
        if not os.path.exists(path):
            sys.exit(f"META.json names {path}, which does not exist")
    licences = found("Cargo.toml", r'^license = "(.*)"')
    if meta["license"] != "postgresql" or licences != ["PostgreSQL"]:
        sys.exit("META.json and Cargo.toml do not have the same licence")
    oldest = min(map(int, re.findall(r'^pg(\d+) = ', open("Cargo.toml", encoding="utf-8").read(),
                                     re.MULTILINE)))
    required = meta["prereqs"]["runtime"]["requires"]["PostgreSQL"]
    if required != f"{oldest}.0.0":
        sys.exit(f"META.json requires PostgreSQL {required}, Cargo.toml has pg{oldest}")


main()
