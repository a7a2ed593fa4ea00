"""Measures libraries in memory, on the data of bench.py, with one thread, except rensa's cover,
which uses its default number.

usage: rivals.py fingerprints FILE QUERIES DATA    faiss and hammingbird: 64 bits, a number a line
       rivals.py wide FILE QUERIES                 faiss: 256 bits, in hexadecimal
       rivals.py pairs FILE                        the C++ simhash library, hammingbird
       rivals.py texts FILE                        Python libraries: [kind, text] in JSON a line
       rivals.py cover SIMILARITY COMMAND...       rensa: texts that COMMAND copies out, a row each
       rivals.py passages WORDS COMMAND...         runs of words in a dictionary, a suffix array

Prints a JSON object a line: a figure, or what was skipped and why.
"""

import json
import pathlib
import re
import subprocess
import sys
import time
from itertools import chain, islice


def note(section, contender, metric, value, **more):
    figure = {"section": section, "contender": contender, "metric": metric, "value": value, **more}
    print(json.dumps(figure), flush=True)


def latency(contender, distance, queries, ask, **more):
    """Every query once to warm up, once to measure; `ask` returns how many rows it found."""
    import numpy

    took, found = [], 0
    for measured in (False, True):
        for query in queries:
            started = time.perf_counter()
            hits = ask(query)
            if measured:
                took.append(1000 * (time.perf_counter() - started))
                found += hits
    note("latency", contender, f"{distance} p50", float(numpy.percentile(took, 50)), **more)
    note("latency", contender, f"{distance} p99", float(numpy.percentile(took, 99)), **more)
    note("latency", contender, f"{distance} found a query", found / len(queries), **more)


def fingerprints(path, queries_path, data):
    import faiss
    import numpy

    faiss.omp_set_num_threads(1)
    read = lambda name: numpy.loadtxt(name, dtype=numpy.int64).view(numpy.uint8).reshape(-1, 8)
    rows, queries = read(path), read(queries_path)
    more = {"data": data, "rows": len(rows)}

    def within(index, distance):
        return lambda query: int(index.range_search(query[None], distance + 1)[0][-1])

    def nearest(index):
        return lambda query: index.search(query[None], 10)[0].size

    flat = faiss.IndexBinaryFlat(64)
    flat.add(rows)
    name = "faiss BinaryFlat, in memory"
    latency(name, "≤ 3", queries[-20:], within(flat, 3), **more)
    latency(name, "nearest 10", queries[-20:], nearest(flat), **more)

    started = time.perf_counter()
    hashed = faiss.IndexBinaryMultiHash(64, 4, 16)
    hashed.add(rows)
    name = "faiss MultiHash, in memory"
    note("build", name, "seconds", time.perf_counter() - started, **more)
    for distance, flips, count in ((3, 0, 1000), (6, 1, 100)):
        hashed.nflip = flips
        latency(name, f"≤ {distance}", queries[-count:], within(hashed, distance), **more)
    del hashed

    bird_queries(rows, queries, more)
    if len(rows) > 1_000_000 or data != "uniform":
        return
    started = time.perf_counter()
    graph = faiss.IndexBinaryHNSW(64, 16)
    graph.add(rows)
    note("build", "faiss HNSW, in memory", "seconds", time.perf_counter() - started, **more)
    asked = queries[-100:]
    truth = flat.search(asked, 10)[0][:, -1]
    for effort in (40, 1000):
        graph.hnsw.efSearch = effort
        name = f"faiss HNSW, ef {effort}, in memory"
        latency(name, "nearest 10", asked, nearest(graph), **more)
        # A neighbour counts if it is as near as the tenth.
        recall = (graph.search(asked, 10)[0] <= truth[:, None]).mean()
        note("latency", name, "nearest 10 recall", float(recall), **more)


def bird_queries(rows, queries, more):
    try:
        from hammingbird import Index
    except ImportError as missing:
        return print(json.dumps({"skipped": "hammingbird", "why": str(missing)}), flush=True)
    # An index serves one distance.
    for distance in (3, 6):
        started = time.perf_counter()
        index = Index(d_bytes=8, k=distance)
        index.add_batch(rows)
        name = "hammingbird Index, in memory"
        if distance == 3:
            note("build", name, "seconds", time.perf_counter() - started, **more)
        latency(name, f"≤ {distance}", queries, lambda query: len(index.query(query)), **more)


def wide(path, queries_path):
    import faiss
    import numpy

    faiss.omp_set_num_threads(1)

    def read(name):
        with open(name, encoding="ascii") as lines:
            digits = lines.read().replace("\n", "")
        return numpy.frombuffer(bytes.fromhex(digits), numpy.uint8).reshape(-1, 32)

    rows, queries = read(path), read(queries_path)
    more = {"data": "256 bits", "rows": len(rows)}

    def within(index):
        return lambda query: int(index.range_search(query[None], 32)[0][-1])

    flat = faiss.IndexBinaryFlat(256)
    flat.add(rows)
    name = "faiss BinaryFlat, in memory"
    latency(name, "≤ 31", queries[-20:], within(flat), **more)
    latency(name, "nearest 10", queries[-20:], lambda q: flat.search(q[None], 10)[0].size, **more)
    del flat
    # 16 blocks of 16 bits: within 31 bits, some block differs in one bit at the most.
    started = time.perf_counter()
    hashed = faiss.IndexBinaryMultiHash(256, 16, 16)
    hashed.add(rows)
    hashed.nflip = 1
    name = "faiss MultiHash, in memory"
    note("build", name, "seconds", time.perf_counter() - started, **more)
    latency(name, "≤ 31", queries, within(hashed), **more)


def pairs(path):
    with open(path) as lines:
        values = [int(line) % 2**64 for line in lines]
    for contender, prepare in (("C++ simhash, find_all", find_all), ("hammingbird", bird_pairs)):
        try:
            find = prepare(values)
        except ImportError as missing:
            print(json.dumps({"skipped": contender, "why": str(missing)}), flush=True)
            continue
        started = time.perf_counter()
        found = find()
        seconds = time.perf_counter() - started
        for metric, value in (("pairs ≤ 3, seconds", seconds), ("pairs ≤ 3, found", len(found))):
            note("bulk", contender, metric, value, data="uniform", rows=len(values))


def find_all(values):
    import simhash

    return lambda: simhash.find_all(values, 4, 3)


def bird_pairs(values):
    """The quickest of its three ways for such fingerprints, with its default number of threads."""
    import numpy
    from hammingbird import find_pairs_self

    rows = numpy.array(values, numpy.uint64).view(numpy.uint8).reshape(-1, 8)
    return lambda: find_pairs_self(rows, k=3)


def megabytes_a_second(contender, kind, texts, work, enough=2.0):
    """Works through the texts for two seconds, after a first text has caused one-time loading."""
    work(texts[0])
    started, done = time.perf_counter(), 0
    for text in texts:
        work(text)
        done += len(text.encode())
        if time.perf_counter() - started > enough:
            break
    seconds = time.perf_counter() - started
    note("texts", contender, "MB/s", done / seconds / 1e6, data=kind, rows=0)


def texts(path):
    with open(path, encoding="utf-8") as lines:
        pairs = [json.loads(line) for line in lines]
    libraries = {
        "Python simhash": python_simhash,
        "datasketch MinHash(128), update": datasketch_update,
        "datasketch MinHash(128), update_batch": datasketch_batch,
        "rensa RMinHash(128)": rensa("RMinHash"),
        "rensa CMinHash(128)": rensa("CMinHash"),
        "jieba (Python), words alone": python_jieba,
    }
    for kind in ("zh", "zh, short", "en", "en, short"):
        bodies = [body for text_kind, body in pairs if text_kind == kind]
        for name, make in libraries.items():
            if name.startswith("jieba") and kind.startswith("en"):
                continue
            try:
                work = make()
            except ImportError as why:
                print(json.dumps({"skipped": name, "why": str(why)}), flush=True)
                continue
            megabytes_a_second(name, kind, bodies, work)


def python_simhash():
    from simhash import Simhash

    return Simhash


def five_shingles(text):
    """Of words, or of characters where there are no spaces between words."""
    chinese = any("一" <= c <= "龥" for c in text)
    parts, glue = (list(text), "") if chinese else (text.split(), " ")
    return [glue.join(parts[i:i + 5]).encode() for i in range(max(1, len(parts) - 4))]


def datasketch_update():
    from datasketch import MinHash

    def work(text):
        signature = MinHash(num_perm=128)
        for shingle in five_shingles(text):
            signature.update(shingle)

    return work


def datasketch_batch():
    from datasketch import MinHash

    return lambda text: MinHash(num_perm=128).update_batch(five_shingles(text))


def rensa(kind):
    def make():
        import rensa

        def work(text):
            signature = getattr(rensa, kind)(num_perm=128, seed=42)
            signature.update([shingle.decode() for shingle in five_shingles(text)])

        return work

    return make


def cover(similarity, *command):
    """Considers texts in their order: one is kept unless a kept one is as similar, by the estimate.
    Measures the time from the first row on, and this process's maximum of memory."""
    from rensa import RMinHash, RMinHashLSH

    # With 32 bands of 4 rows 0.9998 of the pairs at 0.7 are candidates.
    similarity, index = float(similarity), RMinHashLSH(float(similarity), 128, 32)
    kept, dropped = [], 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        first = process.stdout.readline()
        started = time.perf_counter()
        sets = filter(None, map(word_pairs, map(copied, chain([first], process.stdout))))
        while some := list(islice(sets, 5000)):
            for sketch in RMinHash.from_token_sets(some, num_perm=128, seed=42):
                if any(sketch.jaccard(kept[n]) >= similarity for n in index.query(sketch)):
                    dropped += 1
                else:
                    index.insert(len(kept), sketch)
                    kept.append(sketch)
        seconds = time.perf_counter() - started
    # getrusage may report the memory of the parent process.
    status = pathlib.Path("/proc/self/status").read_text()
    memory = int(re.search(r"VmHWM:\s*(\d+)", status)[1]) * 1024 / 1e6
    for metric, value in ("together", seconds), ("memory", memory), ("dropped", dropped):
        note("whole texts", "rensa, 128 permutations", metric, value)


def passages(words, *command):
    """The texts that share so many words in a row: by a dictionary of all runs, as decontamination
    scripts do, and by a suffix array of all bytes, up to runs of 100 bytes that occur twice."""
    length = int(words)
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=True)
    texts = [copied(line) for line in done.stdout.splitlines()]
    started = time.perf_counter()
    runs, pairs = {}, set()
    for number, text in enumerate(texts):
        words = re.findall(r"\w+", text.lower())
        starts = range(len(words) - length + 1)
        for run in {hash(tuple(words[start:start + length])) for start in starts}:
            others = runs.setdefault(run, [])
            if len(others) < 1000:
                pairs.update((other, number) for other in others)
                others.append(number)
    note("passages", "runs in a Python dictionary", "all pairs, s", time.perf_counter() - started)
    note("passages", "runs in a Python dictionary", "pairs", len(pairs))
    try:
        import numpy
        from pydivsufsort import divsufsort, kasai
    except ImportError as error:
        return print(json.dumps({"skipped": "suffix array", "why": str(error)}), flush=True)
    whole = numpy.frombuffer("\0".join(texts).encode(), dtype=numpy.uint8).copy()
    started = time.perf_counter()
    suffixes = divsufsort(whole)
    common = kasai(whole, suffixes)
    repeated = int((common >= 100).sum())
    note("passages", "suffix array, divsufsort", "all pairs, s", time.perf_counter() - started)
    note("passages", "suffix array, divsufsort", "repeated runs", repeated)


def copied(line):
    """Decodes a line of COPY's text format."""
    signs = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v"}
    line = line.rstrip("\n")
    if "\\" not in line:
        return line
    return re.sub(r"\\(.)", lambda found: signs.get(found[1], found[1]), line)


def word_pairs(text):
    """Neighbouring words, as close to the extension's as Python's own means allow. A single word
    alone."""
    words = re.findall(r"\w+", text.lower())
    return [f"{a} {b}" for a, b in zip(words, words[1:])] or words


def python_jieba():
    import logging

    import jieba

    jieba.setLogLevel(logging.ERROR)
    return jieba.lcut


if __name__ == "__main__":
    parts = {"fingerprints": fingerprints, "wide": wide, "pairs": pairs, "texts": texts,
             "cover": cover, "passages": passages}
    parts[sys.argv[1]](*sys.argv[2:])
