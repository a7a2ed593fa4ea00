#!/usr/bin/env python3
"""Runs every example of one or more pages as it stands, and compares its output with the block
after it. Each section has a new database, named by PGDATABASE, with the extension, and with the
table of the first page's first block if an example uses it. Pages run one after another: the
examples before a page's first section belong to the last section of the page before.

run.py PAGE... DIRECTORY

A block whose first line names a file is written to that file, in a copy of the directory project
beside this script, which all sections share. Python blocks share their names within a section.
Sections that need software which is not installed are skipped with a line. Ends with "N passed, N
failed". PGHOST and so on name the server.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n(?:```\n(.*?)^```\n)?", re.M | re.S)
FILE = re.compile(r"(?:# |<!-- |// )([\w/]+\.(?:py|html|prisma))(?: -->)?\n")
# The places where Debian installs Go's packages and JDBC.
GOPATH = pathlib.Path(os.environ.get("GOPATH", "/usr/share/gocode"))
JDBC = pathlib.Path(os.environ.get("JDBC", "/usr/share/java/postgresql.jar"))
# Go takes packages only from GOPATH. Prisma would download a program that only migrations need.
PROGRAMS = {
    "GO111MODULE": "off",
    "GOPATH": str(GOPATH),
    "PRISMA_SCHEMA_ENGINE_BINARY": "/bin/true",
}


@dataclasses.dataclass
class Block:
    """An example, and the output block after it, if any."""

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
    """Whether the block ran, and its output."""
    if file := FILE.match(block.text):
        path = directory / file[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return True, ""
    if block.language == "python":
        return session.run(block.text)
    if block.language == "js":
        return run_program(["node", "-e", block.text], directory, environment)
    if block.language == "go":
        program = directory / "main.go"
        program.write_text(go_here(block.text), encoding="utf-8")
        return run_program(["go", "run", program], directory, environment)
    if block.language == "java":
        program = directory / "Example.java"
        program.write_text(block.text, encoding="utf-8")
        return run_program(["java", "-cp", JDBC, program], directory, environment)
    return run_program(["bash", "-e", "-c", block.text], directory, environment)


def is_as_shown(block: Block, ran: bool, printed: str) -> bool:
    def lines(text: str) -> list[str]:
        return [line.rstrip() for line in text.strip().splitlines()]

    return ran and (block.output is None or lines(printed) == lines(block.output))


def go_here(text: str) -> str:
    """Debian 12 has version 4 of pgx, whose API suffices for examples written for version 5."""
    packages = GOPATH / "src/github.com/jackc/pgx"
    if (packages / "v4").exists() and not (packages / "v5").exists():
        return text.replace("jackc/pgx/v5", "jackc/pgx/v4")
    return text


def missing(block: Block) -> str | None:
    """The missing software that an example needs."""
    if block.language == "js":
        if not shutil.which("node"):
            return "no node"
        for package in re.findall(r'require\("([^."][^"]*)"\)', block.text):
            if not run_program(["node", "-e", f"require('{package}')"], HERE, None)[0]:
                return f"no package {package} for node"
    if block.language == "go":
        if not shutil.which("go"):
            return "no go"
        for package in re.findall(r'"(github\.com/[^"]+)"', go_here(block.text)):
            if not (GOPATH / "src" / package).exists():
                return f"no package {package} for Go"
    if block.language == "java":
        if not shutil.which("javac"):
            return "no JDK"
        if not JDBC.exists():
            return f"no {JDBC}"
    return None


def over_tcp(path: str) -> int:
    """A port of 127.0.0.1 that forwards to a Unix socket, which JDBC does not support."""

    def copy(source: socket.socket, target: socket.socket) -> None:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)

    def serve() -> None:
        while True:
            client, _ = listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(path)
            for ends in (client, server), (server, client):
                threading.Thread(target=copy, args=ends, daemon=True).start()

    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def jdbc_url(database: str) -> str:
    host, port = os.environ.get("PGHOST", "localhost"), os.environ.get("PGPORT", "5432")
    if host.startswith("/"):
        host, port = "127.0.0.1", over_tcp(f"{host}/.s.PGSQL.{port}")
    return f"jdbc:postgresql://{host}:{port}/{database}?user={os.environ.get('PGUSER', '')}"


def runnable(block: Block) -> bool:
    """All blocks except SQL, which tests/tap/pages.pl runs, and installation commands."""
    languages = ("python", "html", "js", "sh", "prisma", "go", "java")
    return block.language in languages and not block.text.startswith("pip install")


def run_section(title: str, blocks: list[Block], setup: str, directory: pathlib.Path) -> list[bool]:
    database = "clients_" + re.sub(r"\W+", "_", title.lower())
    psql("postgres", f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}")
    psql(database, "CREATE EXTENSION pg_simhash")
    if any(re.search(r"\b(INTO|FROM) article\b|Table\(.article", block.text) for block in blocks):
        psql(database, setup)
    variables = {"PGDATABASE": database, "DJANGO_SETTINGS_MODULE": "settings"}
    if any(block.language == "java" for block in blocks):
        variables["JDBC_URL"] = jdbc_url(database)
    environment = {**os.environ, **PROGRAMS, **variables}
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
    *pages, directory = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(HERE / "project", directory)
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    introduction, *sections = re.split(r"^## ", text, flags=re.M)
    found = BLOCK.search(introduction)
    setup = Block(*found.groups()).text if found else ""
    results, skipped = [], 0
    for section in sections:
        title = section.splitlines()[0]
        blocks = [Block(*found.groups()) for found in BLOCK.finditer(section)]
        blocks = [block for block in blocks if runnable(block)]
        lacking = next(filter(None, map(missing, blocks)), None)
        if lacking:
            print(f"skipped - {title}: there is {lacking} here")
            skipped += 1
        elif blocks:
            results += run_section(title, blocks, setup, directory)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    sys.exit(not (results or skipped) or not all(results))


if __name__ == "__main__":
    main()
