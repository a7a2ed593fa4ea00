#!/usr/bin/env python3
"""Measures the amount of Rust, and how much of the extension is unsafe. Fails if either exceeds its
limit.

Lines are counted as rustfmt formats them. Rust for tests is in a directory or a file named tests,
or below `#[cfg(test)]`.
"""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
# The limits, with a few hundred lines to spare for an addition. Lower one when less is needed;
# raising one takes a reason.
LIMITS = {
    "lines of Rust outside tests": 92_000,
    "lines of src inside unsafe, in a thousand": 65,
    "unsafe blocks of more than 20 lines": 0,
    "SAFETY comments that only point to the function's own": 0,
}
LONG = 20

NO_CODE = re.compile(
    r"""r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])'|//[^\n]*|/\*.*?\*/""", re.S)
POINTER = re.compile(r"// SAFETY: as (?:this|the) function's\.?$", re.M)


def without(pattern, text):
    """The code with blanks in place of the pattern's matches, and the same lines."""
    return pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def blocks(code, head):
    """The first and last line of each block that begins with a match of `head`."""
    for found in re.finditer(head, code):
        depth, at = 0, found.end() - 1
        while at < len(code):
            depth += {"{": 1, "}": -1}.get(code[at], 0)
            if depth == 0:
                break
            at += 1
        yield code.count("\n", 0, found.start()), code.count("\n", 0, at)


def main():
    listed = subprocess.run(["git", "ls-files", "*.rs"], cwd=TOP, capture_output=True, text=True,
                            check=True).stdout.split()
    rust = inside = total = long = pointers = 0
    for name in listed:
        if {"tests", "tests.rs"} & set(pathlib.Path(name).parts):
            continue
        text = (TOP / name).read_text()
        code = without(NO_CODE, text)
        lines = text.count("\n")
        rust += lines - sum(last - first + 1 for first, last in
                            blocks(code, r"#\[cfg\(test\)\]\s*mod \w+ {"))
        if not name.startswith("src/"):
            continue
        total += lines
        unsafe = list(blocks(code, r"\bunsafe {"))
        inside += len({line for first, last in unsafe for line in range(first, last + 1)})
        long += sum(last - first + 1 > LONG for first, last in unsafe)
        pointers += len(POINTER.findall(text))
    counted = dict(zip(LIMITS, (rust, round(1000 * inside / total), long, pointers)))
    if "--print" in sys.argv:
        print(*(f"{count:7,} {what}" for what, count in counted.items()), sep="\n")
    wrong = [f"{count:,} {what}, {LIMITS[what]:,} are allowed"
             for what, count in counted.items() if count > LIMITS[what]]
    if wrong and "--print" not in sys.argv:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
