"""Draws large sets of real texts, for `scripts/run evaluate`, from the registry of Debian.

usage: python3 evaluate/draw [DIRECTORY]    target/evaluate without it

Writes DIRECTORY/sets/NAME.jsonl, one text a line, {"text": ..., "label": ...}: texts of one label
have the same origin. No text is in a set twice. Lists and packages that were downloaded stay in
DIRECTORY/apt. As long as they do, it draws the same texts. Without DIRECTORY/apt/lists it draws
what the releases have become. MIRROR=URL names another mirror than the system's own.

Nothing that is drawn may be committed: each text is under the terms of its package.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from statistics import median

import texts
from registry import LANGUAGES, RELEASES, Registry, in_random_order

TOP = Path(__file__).resolve().parent.parent.parent
# Texts with fewer characters are left out, except the titles of packages.
SHORTEST = 40
# Packages drawn at random: how their names begin and end, their greatest size in bytes, and their
# number.
RANDOM = (("python3-", "", 1_000_000, 250), ("lib", "-dev", 1_000_000, 250),
          ("", "", 200_000, 1500))
LARGEST = 12_000_000
# Packages with many man pages, comments or documentation, in all releases that have them.
RICH = """
manpages manpages-cs manpages-da manpages-de manpages-de-dev manpages-dev manpages-el manpages-es
manpages-fi manpages-fr manpages-fr-dev manpages-hu manpages-id manpages-it manpages-ja
manpages-ja-dev manpages-ko manpages-mk manpages-nl manpages-pl manpages-pl-dev manpages-pt-br
manpages-ro manpages-ru manpages-sv manpages-tr manpages-uk manpages-zh erlang-manpages
freebsd-manpages git-man glibc-doc gmt libcurl4-doc libssl-doc libx11-doc mpich-doc ncurses-doc
netpbm openmpi-doc perl-doc postgresql-client-15 postgresql-client-17 postgresql-client-18
tcl8.6-doc tk8.6-doc libboost1.74-dev libboost1.81-dev libboost1.83-dev libboost1.88-dev
libeigen3-dev libgdal-dev libglib2.0-dev libgtk-3-dev libgtk-4-dev libvtk9-dev linux-libc-dev
postgresql-server-dev-15 postgresql-server-dev-17 postgresql-server-dev-18 qt6-base-dev
qtbase5-dev libpython3.11-stdlib libpython3.13-stdlib libpython3.14-stdlib python3-django
python3-numpy python3-pandas python3-sympy
""".split()


class Set:
    """A file of texts, each once."""

    def __init__(self, directory, name):
        self.name, self.path = name, directory / f"{name}.jsonl"
        self.seen, self.lengths, self.labels = set(), [], Counter()
        self.file = open(self.path.with_suffix(".new"), "w", encoding="utf-8")

    def add(self, label, text, shortest=SHORTEST):
        text = (text or "").replace("\0", "")
        if not shortest <= len(text) <= texts.LONGEST:
            return
        text = text.encode("utf-8", "replace").decode()
        digest = hash(text)
        if digest not in self.seen:
            self.seen.add(digest)
            self.lengths.append(len(text))
            self.labels[label] += 1
            line = json.dumps({"text": text, "label": label}, ensure_ascii=False)
            self.file.write(line + "\n")

    def finish(self):
        self.file.close()
        self.path.with_suffix(".new").replace(self.path)
        print(f"{self.name}: {len(self.lengths):,} texts, {len(self.labels):,} labels, median of"
              f" {median(self.lengths or [0]):,.0f} characters", flush=True)
        return len(self.lengths)


def source_of(package):
    """The name of a package's source package."""
    return package.get("Source", package["Package"]).partition(" ")[0]


def descriptions(registry, packages, drawn):
    """The description of each package in each release. The label is its source package."""
    for release in RELEASES:
        for fields in registry.list_of(release, "Translation-en"):
            package = packages[release].get(fields["Package"])
            label = source_of(package) if package else fields["Package"]
            drawn.add(label, texts.description(fields.get("Description-en", "")), 1)


def translations(registry, _, drawn):
    """Translations of descriptions. The label is the package."""
    for release in RELEASES:
        for language in LANGUAGES:
            for fields in registry.list_of(release, f"Translation-{language}"):
                field = fields.get(f"Description-{language}", "")
                drawn.add(fields["Package"], texts.description(field), 1)


def chosen_packages(packages):
    """The packages to examine, for each release."""
    def bytes_of(name):
        return max(int(of[name]["Size"]) for of in packages.values() if name in of)

    everywhere = set.intersection(*(set(of) for of in packages.values()))
    names = {name for name in everywhere
             if packages["sid"][name].get("Priority") in ("required", "important", "standard")}
    for start, end, largest, most in RANDOM:
        fit = (name for name in everywhere if name.startswith(start) and name.endswith(end)
               and bytes_of(name) <= largest)
        names |= set(in_random_order(fit)[:most])
    names |= set(RICH)
    return [of[name] for of in packages.values() for name in sorted(names)
            if name in of and int(of[name]["Size"]) <= LARGEST]


def contents(registry, packages, changelogs, manuals, comments):
    """The texts inside packages.

    Changelogs: entries of Debian's, paragraphs of others. The label is the source package. Man
    pages: the label is the page. Comments of headers and documentation of Python modules: the label
    is the file, without versions, and the described item.
    """
    sources = {name: source_of(fields) for of in packages.values() for name, fields in of.items()}
    for package in registry.download(chosen_packages(packages)):
        source = sources[package.name.partition("_")[0]]
        for path, read in texts.members(package):
            page = texts.manual_name(path)
            if page:
                manuals.add(page, texts.manual(texts.unzipped(read())), 100)
            elif path.startswith("usr/share/doc/") and "/changelog" in path:
                log = texts.unzipped(read()) if path.endswith(".gz") else ""
                of_debian = "/changelog.Debian" in path
                for text in texts.entries(log) if of_debian else texts.parts(log):
                    changelogs.add(source, text)
            elif path.endswith(".py"):
                for name, text in texts.documentation(read()):
                    comments.add(f"{texts.without_versions(path)}{name}", text)
            elif path.startswith("usr/include/"):
                for line, text in texts.comments(read().decode("utf-8", "replace")):
                    comments.add(f"{texts.without_versions(path)} {line}", text)


def mix(directory, names, drawn):
    """All drawn texts, and the corpora of this project."""
    for name in names:
        with open(directory / f"{name}.jsonl", encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                drawn.add(f"{name} {line['label']}", line["text"], 1)
    for path in sorted((TOP / "evaluate/corpora").glob("*.jsonl.xz")):
        corpus = path.name.partition(".")[0]
        for line in map(json.loads, texts.of_project(path)):
            drawn.add(f"{corpus} {line.get('group') or line['source']}", line["text"], 1)


def main(arguments):
    if arguments[:1] in (["-h"], ["--help"]) or len(arguments) > 1:
        sys.exit(__doc__)
    directory = Path(arguments[0]) if arguments else TOP / "target/evaluate"
    registry, sets = Registry(directory / "apt"), directory / "sets"
    sets.mkdir(parents=True, exist_ok=True)
    registry.update()
    packages = {release: registry.packages(release) for release in RELEASES}
    names = ["descriptions", "translations", "changelogs", "manuals", "comments"]
    for name, draw in zip(names, (descriptions, translations)):
        drawn = Set(sets, name)
        draw(registry, packages, drawn)
        drawn.finish()
    three = [Set(sets, name) for name in names[2:]]
    contents(registry, packages, *three)
    for drawn in three:
        drawn.finish()
    drawn = Set(sets, "mix")
    mix(sets, names, drawn)
    drawn.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
