#!/usr/bin/env python3
"""Runs every example of a page as it stands, and compares what it prints with the block after it.
Each section has a fresh database, named by PGDATABASE, with the extension, and with the table of
the page's first block if an example uses it.

A block whose first line names a file is written to that file, in a copy of the directory project
beside this script, which all sections share. Blocks of Python share their names within a section.
Ends with "N passed, N failed". PGHOST and so on name the server.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n(?:```\n(.*?)^```\n)?", re.M | re.S)
FILE = re.compile(r"(?:# |<!-- )([\w/]+\.(?:py|html))(?: -->)?\n")


@dataclasses.dataclass
class Block:
    """An example, and what the page shows after it, if anything."""

    language: str
    text: str
    output: str | None


class PythonSession:
    """A Python process that runs one block after another."""

    def __init__(self, directory: pathlib.Path, environment: dict[str, str]):
        self.process = subprocess.Popen(
            [sys.executable, HERE / "session.py"],
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, text: str) -> tuple[bool, str]:
        self.process.stdin.write(json.dumps(text) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            return False, "(the process ended)"
        return tuple(json.loads(answer))

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def psql(database: str, *commands: str) -> None:
    commands = ("SET client_min_messages = warning", *commands)
    arguments = [part for command in commands for part in ("-c", command)]
    command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database, *arguments]
    subprocess.run(command, check=True)


def run_program(command: list[str], directory: pathlib.Path, environment) -> tuple[bool, str]:
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
    return done.returncode == 0, done.stdout if done.returncode == 0 else done.stdout + done.stderr


def run_block(block: Block, session: PythonSession, directory: pathlib.Path, environment):
    """Whether it ran, and what it printed."""
    if file := FILE.match(block.text):
        path = directory / file[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return True, ""
    if block.language == "python":
        return session.run(block.text)
    if block.language == "js":
        return run_program(["node", "-e", block.text], directory, environment)
    return run_program(["bash", "-e", "-c", block.text], directory, environment)


def is_as_shown(block: Block, ran: bool, printed: str) -> bool:
    def lines(text: str) -> list[str]:
        return [line.rstrip() for line in text.strip().splitlines()]

    return ran and (block.output is None or lines(printed) == lines(block.output))


def node_has_pg() -> bool:
    node = shutil.which("node")
    return node is not None and run_program([node, "-e", "require('pg')"], HERE, None)[0]


def runnable(block: Block) -> bool:
    """All but SQL, which tests/tap/pages.pl runs, and what has been installed already."""
    return block.language in ("python", "html", "js", "sh") and not block.text.startswith(
        "pip install"
    )


def run_section(title: str, blocks: list[Block], setup: str, directory: pathlib.Path) -> list[bool]:
    database = "clients_" + re.sub(r"\W+", "_", title.lower())
    psql("postgres", f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}")
    psql(database, "CREATE EXTENSION pg_simhash")
    if any(re.search(r"\b(INTO|FROM) article\b", block.text) for block in blocks):
        psql(database, setup)
    variables = {"PGDATABASE": database, "DJANGO_SETTINGS_MODULE": "settings"}
    environment = {**os.environ, **variables}
    session = PythonSession(directory, environment)
    results = []
    for number, block in enumerate(blocks, 1):
        ran, printed = run_block(block, session, directory, environment)
        results.append(is_as_shown(block, ran, printed))
        print("ok" if results[-1] else "not ok", f"- {title}, example {number}", flush=True)
        if not results[-1]:
            print(printed if not ran else f"It prints:\n{printed}\nThe page:\n{block.output}")
    session.end()
    psql("postgres", f"DROP DATABASE {database} WITH (FORCE)")
    return results


def main() -> None:
    page, directory = map(pathlib.Path, sys.argv[1:])
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(HERE / "project", directory)
    introduction, *sections = re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M)
    setup = Block(*BLOCK.search(introduction).groups()).text
    results = []
    for section in sections:
        title = section.splitlines()[0]
        blocks = [Block(*found.groups()) for found in BLOCK.finditer(section)]
        blocks = [block for block in blocks if runnable(block)]
        if any(block.language == "js" for block in blocks) and not node_has_pg():
            print(f"skipped - {title}: there is no node with the package pg here")
        elif blocks:
            results += run_section(title, blocks, setup, directory)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(not results or not all(results))


if __name__ == "__main__":
    main()
