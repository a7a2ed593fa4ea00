#!/usr/bin/env python3
"""Compares the words of Chinese texts with those of jieba, the program that jieba-rs follows.

usage: jieba_words.py TOKENS-PROGRAM TEXTS.jsonl[.xz]...
TOKENS-PROGRAM is the example `tokens`.

Runs of Han characters are cut by both, with and without words that jieba guesses. Ends with
"N passed, N failed": one for each run that is different from those before. Where two ways to cut
are equally likely but for rounding (to 2e-7 of the logarithm, as in 常在我), the two may differ:
one run of 5,000 is let pass.
"""

import json
import lzma
import re
import subprocess
import sys

import jieba

# As jieba: its dictionary knows no others.
HAN = re.compile("[\u4e00-\u9fd5]{2,4000}")


def runs(paths):
    found = set()
    for path in paths:
        with (lzma.open if path.endswith(".xz") else open)(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                found.update(HAN.findall(json.loads(line)["text"]))
    return sorted(found)


def main(program, *paths):
    jieba.setLogLevel("WARNING")
    texts = runs(paths)
    failed = 0
    for hmm in (True, False):
        config = {"tokenizer": "auto", "normalize": [], "hmm": hmm}
        ours = subprocess.run(
            [program, json.dumps(config)], input="\n".join(texts), capture_output=True, text=True,
            encoding="utf-8", check=True,
        ).stdout.splitlines()
        for text, line in zip(texts, ours, strict=True):
            words, expected = json.loads(line), jieba.lcut(text, HMM=hmm)
            if words != expected:
                failed += 1
                if failed <= 20:
                    print(f"hmm {hmm}: {text}\n  jieba: {expected}\n  here:  {words}")
    if failed <= 2 * len(texts) // 5000:
        failed = 0
    print(f"{2 * len(texts) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
