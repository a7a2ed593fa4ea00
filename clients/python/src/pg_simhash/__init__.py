"""Near-duplicate texts: computes the values of the PostgreSQL extension pg_simhash outside of it.

The functions of this package return the values of the SQL functions of the same names, for one
text, for sequences, and for arrays of numpy and Arrow. `dedup`, `duplicates`, `pairs` and
`clusters` compare many texts. `Fingerprint64`, `Fingerprint128` and `Fingerprint256` are the types
of fingerprints; the modules `psycopg`, `asyncpg`, `sqlalchemy`, `alembic` and `django` adapt them
to the library of the same name, and `spark`, `duckdb` and `polars` provide the functions there.
"""

from ._native import VALUES, set_threads, threads
from ._native import VERSION as __version__
from .config import Config
from .fingerprint import (
    FINGERPRINTS,
    Fingerprint,
    Fingerprint64,
    Fingerprint128,
    Fingerprint256,
    FingerprintLike,
)
from .texts import (
    Passage,
    hamming,
    minhash64,
    minhash128,
    minhash256,
    near_duplicate,
    normalize,
    numbers,
    passage_share,
    reach,
    shared_passages,
    shares_passage,
    shingles,
    simhash,
    simhash128,
    simhash256,
    sketch,
    sketch_law,
    text_similarity,
    tokens,
)
from .values import expect_values, stamped
from .whole import Deduplicated, Duplicate, clusters, dedup, duplicates, pairs

__all__ = [
    "FINGERPRINTS",
    "Config",
    "Deduplicated",
    "Duplicate",
    "Fingerprint",
    "Fingerprint64",
    "Fingerprint128",
    "Fingerprint256",
    "FingerprintLike",
    "Passage",
    "VALUES",
    "__version__",
    "clusters",
    "dedup",
    "duplicates",
    "expect_values",
    "hamming",
    "minhash64",
    "minhash128",
    "minhash256",
    "near_duplicate",
    "normalize",
    "numbers",
    "pairs",
    "passage_share",
    "reach",
    "set_threads",
    "shared_passages",
    "shares_passage",
    "shingles",
    "simhash",
    "simhash128",
    "simhash256",
    "sketch",
    "sketch_law",
    "stamped",
    "text_similarity",
    "threads",
    "tokens",
]
