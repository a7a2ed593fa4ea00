"""Measures the time from texts to the rows that stay: the Python package beside other libraries.

usage: wheel.py TEXTS.jsonl [ROWS]

Each contender reads the same texts from memory and determines which to keep at a similarity of 0.7
of pairs of words. pg_simhash verifies by the texts; rensa and datasketch use the estimate of 128
permutations, and keep a text unless one that was kept before it reaches the similarity. Their words
are separated by white space, in lower case. Prints seconds of wall clock and of processors, and the
rows that stay: the median of three runs, or one run if it takes a minute.

text-dedup runs by its command line, on a file of the same texts, if it is installed.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

SIMILARITY = 0.7
PERMUTATIONS = 128
RUNS = 3
# Seconds. A run that takes longer is not repeated.
LONG = 60


def shingles(text):
    words = text.lower().split()
    if len(words) < 2:
        return words
    return [f"{a} {b}" for a, b in zip(words, words[1:])]


def ours(texts):
    import pg_simhash

    return len(pg_simhash.dedup(texts, SIMILARITY).kept)


def rensa(texts):
    from rensa import RMinHash, RMinHashLSH

    sets = [shingles(text) for text in texts]
    sketches = RMinHash.from_token_sets(sets, num_perm=PERMUTATIONS, seed=42)
    index = RMinHashLSH(threshold=SIMILARITY, num_perm=PERMUTATIONS, num_bands=32)
    kept = 0
    for number, sketch in enumerate(sketches):
        others = index.query(sketch)
        if not any(sketch.jaccard(sketches[other]) >= SIMILARITY for other in others):
            index.insert(number, sketch)
            kept += 1
    return kept


def datasketch(texts):
    from datasketch import MinHash, MinHashLSH

    sets = ([shingle.encode() for shingle in shingles(text)] for text in texts)
    index = MinHashLSH(threshold=SIMILARITY, num_perm=PERMUTATIONS)
    sketches, kept = {}, 0
    for number, sketch in enumerate(MinHash.generator(sets, num_perm=PERMUTATIONS)):
        if not any(sketch.jaccard(sketches[other]) >= SIMILARITY for other in index.query(sketch)):
            index.insert(number, sketch)
            sketches[number] = sketch
            kept += 1
    return kept


def text_dedup(texts):
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "texts.jsonl")
        with open(source, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        done = subprocess.run(
            [sys.executable, "-m", "text_dedup.minhash", "--path", "json", "--data_files", source,
             "--split", "train", "--column", "text", "--ngram", "2", "--min_length", "1",
             "--num_perm", str(PERMUTATIONS), "--threshold", str(SIMILARITY),
             "--output", os.path.join(directory, "out"), "--cache_dir", directory],
            capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "200"})
        found = re.search(r"After\s*:\s*(\d+)", done.stdout + done.stderr)
        return int(found[1]) if found else -1


def seconds():
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(path, rows="200000"):
    with open(path, encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in itertools.islice(lines, int(rows))]
    size = sum(len(text.encode()) for text in texts)
    print(f"{len(texts)} texts, {size / 1e6:.0f} MB, {os.cpu_count()} cores")
    for contender in (ours, rensa, datasketch, text_dedup):
        try:
            runs = []
            while len(runs) < RUNS and (not runs or runs[0][0] < LONG):
                clock, used = time.monotonic(), seconds()
                kept = contender(texts)
                runs.append((time.monotonic() - clock, seconds() - used))
        except (ImportError, subprocess.CalledProcessError) as error:
            print(f"{contender.__name__}: not measured: {error}")
            continue
        clock, used = (statistics.median(column) for column in zip(*runs))
        figures = f"{clock:8.1f} s {used:8.1f} s of processors {kept:8} kept"
        print(f"{contender.__name__:10} {figures}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
