#!/usr/bin/env python3
"""Checks that every file which names the version of the extension names the same one, and that
META.json describes a distribution as PGXN (https://pgxn.org/spec/) asks for."""
import json
import os
import re
import sys


def found(path, pattern):
    """What the pattern's group matches in a file."""
    with open(path, encoding="utf-8") as file:
        match = re.search(pattern, file.read(), re.MULTILINE)
    if match is None:
        sys.exit(f"{path}: nothing matches {pattern}")
    return match[1]


def main():
    version = found("pg_simhash.control", r"^default_version = '(.*)'")
    with open("META.json", encoding="utf-8") as file:
        meta = json.load(file)
    extension = meta["provides"]["pg_simhash"]
    for what, other in {
        "Cargo.toml": found("Cargo.toml", r'^version = "(.*)"'),
        "CHANGELOG.md": found("CHANGELOG.md", r"^## (\S+)"),
        "src/lib.rs": found("src/lib.rs", r"pg_simhash--([0-9.]+)\.sql"),
        "META.json": meta["version"],
        "META.json, provides": extension["version"],
        "META.json, file": found(extension["file"], r"\A-- .*?([0-9.]+\d)"),
    }.items():
        if other != version:
            sys.exit(f"{what} has version {other}, pg_simhash.control has {version}")
    missing = {"abstract", "license", "maintainer", "meta-spec", "name", "provides",
               "version"} - meta.keys()
    if missing:
        sys.exit(f"META.json lacks {', '.join(sorted(missing))}")
    for path in extension["file"], extension["docfile"]:
        if not os.path.exists(path):
            sys.exit(f"META.json names {path}, which does not exist")
    if meta["license"] != "postgresql" or found("Cargo.toml", r'^license = "(.*)"') != "PostgreSQL":
        sys.exit("META.json and Cargo.toml do not have the same licence")
    oldest = min(map(int, re.findall(r'^pg(\d+) = ', open("Cargo.toml", encoding="utf-8").read(),
                                     re.MULTILINE)))
    required = meta["prereqs"]["runtime"]["requires"]["PostgreSQL"]
    if required != f"{oldest}.0.0":
        sys.exit(f"META.json requires PostgreSQL {required}, Cargo.toml has pg{oldest}")


main()
