#!/usr/bin/env python3
"""Draws texts in Japanese or Korean from two revisions of a translation of Python's documentation.

usage: translations.py REPOSITORY OLD NEW SCRIPT > FILE.jsonl

REPOSITORY is a clone of python-docs-ja or python-docs-ko, OLD and NEW are revisions of it, and
SCRIPT is the script of most letters of a text: kana or hangul. A text is the translation of one
paragraph. If the translators changed it and the original did not change, both texts form a group.
"""
import json
import random
import re
import subprocess
import sys

SHORTEST, LONGEST, MOST = 60, 2000, 2000
SCRIPTS = {"kana": "[\u3041-\u30ff]", "hangul": "[\uac00-\ud7a3]"}


def git(repository, *arguments):
    command = ["git", "-C", repository, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def unquoted(lines):
    text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', lines))
    return re.sub(r"\\(.)", lambda escape: {"n": "\n", "t": "\t"}.get(escape[1], escape[1]), text)


def paragraphs(repository, revision):
    """The translations of every file's paragraphs, by file and original."""
    entry = re.compile(r'^msgid((?:\s*".*")+)\s*^msgstr((?:\s*".*")+)', re.MULTILINE)
    found = {}
    for path in git(repository, "ls-tree", "-r", "--name-only", revision).splitlines():
        if path.endswith(".po"):
            for block in git(repository, "show", f"{revision}:{path}").split("\n\n"):
                match = entry.search(block)
                if match and "\n#, fuzzy" not in "\n" + block:
                    original, translation = map(unquoted, match.groups())
                    found[path, original] = translation.strip()
    return found


def main():
    repository, old, new, script = sys.argv[1:]
    letter = re.compile(SCRIPTS[script])

    def is_text(text):
        of_script, latin = len(letter.findall(text)), len(re.findall("[A-Za-z]", text))
        return SHORTEST <= len(text) <= LONGEST and of_script > latin

    old, new = paragraphs(repository, old), paragraphs(repository, new)
    groups, seen = [], set()
    for key in sorted(new):
        texts = [text for text in (new[key], old.get(key)) if text and is_text(text)]
        if texts and len(texts) == 2 and texts[0] == texts[1]:
            texts.pop()
        if texts and not seen.intersection(texts):
            seen.update(texts)
            groups.append(texts)
    random.Random(1).shuffle(groups)
    groups.sort(key=len, reverse=True)
    written = 0
    for number, texts in enumerate(groups):
        for version, text in enumerate(texts):
            line = {"id": f"{number}-{version}", "group": str(number), "text": text}
            print(json.dumps(line, ensure_ascii=False))
            written += 1
        if written >= MOST:
            break
    print(f"{sum(len(texts) == 2 for texts in groups)} revised of {len(groups)}", file=sys.stderr)


if __name__ == "__main__":
    main()
