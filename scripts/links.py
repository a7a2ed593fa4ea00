#!/usr/bin/env python3
"""Fails if a link of the documentation leads to no file or to no heading of that file, or if a page
for developers names a Rust file that does not exist."""

import pathlib
import re
import subprocess
import sys
import urllib.parse

TOP = pathlib.Path(__file__).resolve().parent.parent
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.S | re.M)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SOURCE = re.compile(r"`((?:[\w-]+/)*src/[\w/]*(?:\.rs|/))`")
# Where a path such as src/config/values.rs may start, and the pages that contain such paths.
CRATES = [TOP, *sorted((TOP / "crates").iterdir())]
FOR_DEVELOPERS = re.compile(
    r"CONTRIBUTING\.md|DESIGN\.md|docs/design/.*|(?:tests|sql|src|crates)/.*README\.md")


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    found = set()
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for heading in re.findall(r"^#+ +(.*)$", text, re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        repeats = sum(other == anchor or other.startswith(f"{anchor}-") for other in found)
        found.add(f"{anchor}-{repeats}" if anchor in found else anchor)
    return found


def leads_somewhere(page, link):
    path, _, anchor = urllib.parse.unquote(link).partition("#")
    if re.match(r"\w+:", path):
        return True
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


def main():
    # Templates below report/ have the links of the pages that they produce, which are in docs.
    pages = ["git", "ls-files", "-co", "--exclude-standard", "*.md", ":!report"]
    listed = subprocess.run(pages, cwd=TOP, capture_output=True, text=True, check=True)
    broken = []
    for name in listed.stdout.split():
        page = TOP / name
        text = page.read_text(encoding="utf-8")
        links = LINK.findall(CODE.sub("", text))
        broken += [f"{name}: {link}" for link in links if not leads_somewhere(page, link)]
        if FOR_DEVELOPERS.fullmatch(name):
            broken += [f"{name}: {path}" for path in SOURCE.findall(text)
                       if not any((crate / path).exists() for crate in CRATES)]
    if broken:
        sys.exit("Links that lead nowhere:\n" + "\n".join(broken))


if __name__ == "__main__":
    main()
