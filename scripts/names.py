#!/usr/bin/env python3
"""Fails if docs/reference.md lacks an SQL name that is meant for users.

A function is meant for users unless its COMMENT begins with "internal: ". Types, views, tables,
operators, operator classes and settings all are.
"""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
version = re.search(r"default_version = '(.*?)'", (TOP / "pg_simhash.control").read_text())[1]
script = (TOP / f"sql/pg_simhash--{version}.sql").read_text()
reference = (TOP / "docs/reference.md").read_text()


def all_of(pattern):
    return sorted(set(re.findall(pattern, script, re.M)))


internal = set()
for name, comment in re.findall(
        r"^COMMENT ON (?:FUNCTION|AGGREGATE|PROCEDURE) (\w+)\s*\([^;]*?\)\s+IS\s+'([^']*)", script,
        re.M):
    if comment.startswith("internal: "):
        internal.add(name)
wrong = []
for name in all_of(r"^CREATE (?:OR REPLACE )?(?:FUNCTION|AGGREGATE|PROCEDURE) (\w+)"):
    is_there = re.search(rf"`{name}\(", reference) is not None
    if not is_there and name not in internal:
        wrong.append(f"{name}: neither in docs/reference.md nor internal")
    if not re.search(rf"^COMMENT ON (?:FUNCTION|AGGREGATE|PROCEDURE) {name}\b", script, re.M):
        wrong.append(f"{name}: no COMMENT")
for kind, pattern in {
        "type": r"^CREATE TYPE (\w+)",
        "view": r"^CREATE (?:OR REPLACE )?VIEW (\w+)",
        "table": r"^CREATE TABLE (\w+)",
        "operator class": r"^CREATE OPERATOR CLASS (\w+) .* USING (?:simhash|gin)\b",
        "operator": r"^CREATE OPERATOR ([^\w\s]+)"}.items():
    for name in all_of(pattern):
        # In Markdown tables a bar is written as an entity.
        told = re.escape(name.replace("|", "&#124;"))
        if not re.search(rf"(?:`[^`]*|<code>.*)(?<!\w){told}(?!\w)", reference):
            wrong.append(f"{kind} {name}: not in docs/reference.md")
for name in re.findall(r'^\s+c"(\w+)"', (TOP / "src/am/options.rs").read_text(), re.M):
    if f"| `{name}` |" not in reference:
        wrong.append(f"storage parameter {name}: not in docs/reference.md")
for name in re.findall(r'c"(simhash\.\w+)"', (TOP / "src/guc.rs").read_text()):
    if f"`{name}`" not in reference:
        wrong.append(f"setting {name}: not in docs/reference.md")
sys.exit("\n".join(wrong) or None)
