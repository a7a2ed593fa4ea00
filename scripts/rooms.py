#!/usr/bin/env python3
"""Checks dependencies: fails at a cycle between files, and if a room uses a room above it.

The rooms of src/ and of each crate are those that the tables of docs/design/map.md list, the lowest
first.

A file uses the files that define the names it contains, in `use` or in a path. Re-exports are
followed, modules within a file count as that file, and tests count. Methods are not detected. Three
things would hide a use, and are rejected: `#[path]`, `include!`, and `extern crate self`, without
which no path of a crate begins with the crate's own name. Only simhash-mutants includes something:
a copy of simhash-index, whose own files are checked.
"""

import collections
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
# Rooms of src/ on one level, which do not use each other.
APART = {"trigger", "groups"}
# The only file that may include others.
INCLUDES = TOP / "crates/simhash-mutants/src/lib.rs"


def tables_of_design():
    """The rooms of each table that begins with "in `src/`" or the like, in the table's order.
    lib.rs and main.rs are above all of them."""
    rooms = {}
    for table in re.findall(r"(?:^\|.*\n)+", (TOP / "docs/design/map.md").read_text(), re.M):
        head, _, *rows = table.splitlines()
        if named := re.match(r"\| in `([\w-]+)/?` \|", head):
            cells = [name for row in rows for name in re.findall(r"`(\w+)/?`", row.split("|")[1])]
            rooms[named[1]] = [*cells, "lib", "main"]
    return rooms


ROOMS = tables_of_design()

NO_CODE = r"""r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])'|//[^\n]*|/\*.*?\*/"""
CODE = re.compile(r"""
    \bmod\s+(?P<module>\w+)\s*{ | (?P<open>{) | (?P<close>})
    | \buse\s+(?P<use>[^;]+); | \bmacro_rules!\s*(?P<macro>\w+) | (?P<call>\b\w+)!
    | (?<!['*])\b(?:fn|struct|enum|union|trait|type|const|static(?:\s+mut)?)
      \s+(?!fn\b|unsafe\b|extern\b)(?P<item>\w+) | (?P<path>\b\w+(?:\s*::\s*\w+)+)""", re.X)
HIDES = re.compile(r"#!?\[[^]]*\bpath\s*=|\binclude!|\bextern\s+crate\s+self\b")
Module = collections.namedtuple("Module", "file items uses globs")


def imports(tree):
    """The paths that a use declaration names, each with the name that it binds, or `*`."""
    tree = re.sub(r"\s", "", re.sub(r"\s+as\s+", "=", tree))
    while "{" in tree:
        tree = re.sub(r"([\w:]*){([^{}]*)}",
                      lambda m: ",".join(m[1] + part for part in m[2].split(",") if part), tree)
    for part in tree.split(","):
        path, _, name = part.partition("=")
        path = tuple(path.removesuffix("::self").split("::"))
        yield path, name or path[-1]


class Crate:
    def __init__(self, source):
        self.modules, self.macros, self.named, self.hidden = {}, {}, [], []
        for file in source.rglob("*.rs"):
            at = file.relative_to(source).with_suffix("").parts
            self.read(file, at[:-1] if at[-1] in ("mod", "lib", "main") else at)

    def read(self, file, at):
        """Records what a file defines, and what it names in which module."""
        self.modules[at], outer, depth = Module(file, set(), {}, []), [], 0
        code = re.sub(NO_CODE, '""', file.read_text(), flags=re.S)
        self.hidden += [(file, found[0]) for found in HIDES.finditer(code)]
        for found in CODE.finditer(code):
            kind, text = found.lastgroup, found[found.lastgroup]
            if kind == "module":
                outer.append((at, depth))
                at, depth = (*at, text), 0
                self.modules[at] = Module(file, set(), {}, [])
            elif kind == "close" and not depth:
                at, depth = outer.pop()
            elif kind in ("open", "close"):
                depth += 1 if kind == "open" else -1
            elif kind == "item" and not depth:
                self.modules[at].items.add(text)
            elif kind == "macro":
                self.macros[text] = file
            elif kind in ("path", "call"):
                self.named.append((file, at, tuple(re.split(r"\s*::\s*", text)), kind))
            for path, name in imports(text) if kind == "use" else ():
                self.named.append((file, at, path, kind))
                if name == "*":
                    self.modules[at].globs.append(path[:-1])
                else:
                    self.modules[at].uses[name] = path

    def find(self, at, path, seen=()):
        """The module or the file to which a path in a module leads, if it is in this crate."""
        anchored = path[0] in ("crate", "self", "super")
        while path and path[0] in ("crate", "self", "super"):
            at, path = {"crate": (), "self": at, "super": at[:-1]}[path[0]], path[1:]
        if not path or (at, path) in seen:
            return None if path else at
        seen, module, (name, *rest) = (*seen, (at, path)), self.modules[at], path
        if name == "*" or name in module.items:
            return module.file
        if (*at, name) in self.modules:
            return self.find((*at, name), ("self", *rest), seen)
        globs = [(*way, name) for way in module.globs]
        for way in [module.uses[name]] if name in module.uses else globs:
            place = self.find(at, way, seen)
            if isinstance(place, tuple):
                place = self.find(place, ("self", *rest), seen)
            if place is not None:
                return place
        return self.macros.get(name, module.file) if anchored else None

    def arrows(self):
        arrows = collections.defaultdict(set)
        for file, at, path, kind in self.named:
            place = self.macros.get(path[0]) if kind == "call" else self.find(at, path)
            if place != file and isinstance(place, pathlib.Path):
                arrows[file].add(place)
        return arrows


def beyond(arrows, file):
    """Every file that the arrows reach, including the first one if it is on a cycle."""
    found, ahead = set(), [file]
    while ahead:
        new = arrows.get(ahead.pop(), set()) - found
        found |= new
        ahead += new
    return found


def wrong(source):
    crate = Crate(source)
    for file, found in crate.hidden:
        if (file, found) == (INCLUDES, "include!"):
            continue
        yield f"hides what is used: {found} in {file.relative_to(TOP)}"
    arrows = crate.arrows()
    ahead = {file: beyond(arrows, file) for file in arrows}

    name = source.name if source == TOP / "src" else source.parent.name

    def room(file):
        return pathlib.Path(file.relative_to(source).parts[0]).stem

    def height(file):
        rooms, place = ROOMS.get(name, ["lib", "main"]), room(file)
        return rooms.index(place) if place in rooms else sys.exit(
            f"{file.relative_to(TOP)}: docs/design/map.md has no room {place} in {name}")

    for file in source.rglob("*.rs"):
        height(file)

    for a, b in sorted((a, b) for a in arrows for b in arrows[a]):
        told = f"{a.relative_to(TOP)} uses {b.relative_to(TOP)}"
        if a in ahead.get(b, ()):
            yield f"on a circle: {told}"
        if height(a) < height(b):
            yield f"upward: {told}"
        if source == TOP / "src" and {room(a), room(b)} == APART:
            yield f"between rooms apart: {told}"


found = [line for source in (TOP / "src", *TOP.glob("crates/*/src")) for line in wrong(source)]
sys.exit("\n".join(found) or None)
