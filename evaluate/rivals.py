"""Determines what libraries find in the sets that simhash-evaluate exports, with one thread.

usage: rivals.py rensa|datasketch SETS FOUND SIMILARITY...

SETS has numbers of 64 bits: the number of sets, the end of each, and the hashes of all their
elements. The library sketches the sets by 128 permutations. For each similarity it searches for the
sketches in its own index, and selects the pairs whose estimate reaches the similarity. They are
written to FOUND-SIMILARITY as two numbers of 32 bits each, the smaller one first. Prints a JSON
object for each similarity: the seconds of processor time.
"""

import json
import os
import resource
import sys
import time
from itertools import chain

os.environ["RAYON_NUM_THREADS"] = "1"

import numpy

PERMUTATIONS = 128
CHUNK = 5000
# The limit of memory in bytes. A library that needs more is not measured.
MOST_MEMORY = 6_500_000_000


def read(path):
    numbers = numpy.memmap(path, dtype="<u8", mode="r")
    count = int(numbers[0])
    ends = numpy.concatenate([[0], numbers[1:count + 1]]).astype(numpy.int64)
    return ends, numbers[count + 1:]


def chunks(ends, hashes):
    """The sets, in chunks. An element is the 8 bytes of its hash."""
    count = len(ends) - 1
    for first in range(0, count, CHUNK):
        last = min(count, first + CHUNK)
        some = hashes[ends[first]:ends[last]].astype(">u8").tobytes()
        elements = [some[at:at + 8] for at in range(0, len(some), 8)]
        base = ends[first]
        yield [elements[ends[i] - base:ends[i + 1] - base] for i in range(first, last)]


class Rensa:
    def __init__(self, sets):
        from rensa import RMinHash

        self.sketches = list(chain.from_iterable(
            RMinHash.from_token_sets(some, num_perm=PERMUTATIONS, seed=42) for some in sets))
        self.matrix = numpy.empty((len(self.sketches), PERMUTATIONS), numpy.uint32)
        for i, sketch in enumerate(self.sketches):
            self.matrix[i] = sketch.digest()

    def candidates(self, similarity):
        from rensa import RMinHashLSH

        # With bands of 4 rows 0.87 of the pairs at 0.5 are candidates, and 0.9998 of those at 0.7.
        index = RMinHashLSH(threshold=similarity, num_perm=PERMUTATIONS, num_bands=32)
        index.insert_many(self.sketches)
        for first in range(0, len(self.sketches), CHUNK):
            found = index.query_all(self.sketches[first:first + CHUNK])
            yield from ((first + i, others) for i, others in enumerate(found))


class Datasketch:
    def __init__(self, sets):
        from datasketch import MinHash

        self.matrix = numpy.concatenate([
            [sketch.hashvalues for sketch in MinHash.bulk(some, num_perm=PERMUTATIONS)]
            for some in sets]).astype(numpy.uint32)
        self.example = MinHash(num_perm=PERMUTATIONS)

    def sketch(self, i):
        from datasketch import MinHash

        return MinHash(num_perm=PERMUTATIONS, hashvalues=self.matrix[i],
                       permutations=self.example.permutations, scheme=self.example.scheme)

    def candidates(self, similarity):
        from datasketch import MinHashLSH

        # It chooses the bands itself: 14 of 9 rows for 0.7.
        index = MinHashLSH(threshold=similarity, num_perm=PERMUTATIONS)
        with index.insertion_session() as session:
            for i in range(len(self.matrix)):
                session.insert(i, self.sketch(i), check_duplication=False)
        return ((i, index.query(self.sketch(i))) for i in range(len(self.matrix)))


def take(library, similarity, empty, file):
    """Writes the pairs whose estimate reaches the similarity. Returns how many pairs were
    compared."""
    compared, matrix = 0, library.matrix
    for a, others in library.candidates(similarity):
        others = numpy.array([b for b in others if b < a and a not in empty], numpy.int64)
        if len(others):
            compared += len(others)
            estimates = (matrix[others] == matrix[a]).mean(axis=1)
            near = others[estimates >= similarity]
            pairs = numpy.stack([near, numpy.full(len(near), a)], axis=1)
            file.write(pairs.astype("<u4").tobytes())
    return compared


def main(name, given, found, *similarities):
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    ends, hashes = read(given)
    # A set without elements is near no other.
    empty = set(numpy.flatnonzero(ends[1:] == ends[:-1]).tolist())
    started = time.process_time()
    library = {"rensa": Rensa, "datasketch": Datasketch}[name](chunks(ends, hashes))
    sketch = time.process_time() - started
    for similarity in similarities:
        started = time.process_time()
        with open(f"{found}-{similarity}", "wb") as file:
            compared = take(library, float(similarity), empty, file)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps({
            "name": name, "similarity": float(similarity), "candidates": compared,
            "sketch": round(sketch, 1), "pairs": round(time.process_time() - started, 1),
            "memory": most * 1024 // 10**6}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
