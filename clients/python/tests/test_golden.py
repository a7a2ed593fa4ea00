"""The golden vectors, which the crate, a second implementation and the extension are held to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import xxhash

import pg_simhash
from pg_simhash import Config

VECTORS = Path(__file__).parents[3] / "crates/simhash-core/tests/golden.jsonl"


def vectors() -> Iterator[dict[str, Any]]:
    with VECTORS.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def model() -> dict[str, Any]:
    """The corpus of the model that vectors name, and the model's bytes."""
    given: dict[str, Any] = json.loads(VECTORS.with_name("golden_model.json").read_text("utf-8"))
    return given


def config_of(vector: dict[str, Any]) -> Config:
    dictionary = vector.get("dictionary")
    return Config(
        vector["config"],
        model=bytes.fromhex(model()["model"]) if "model" in vector["config"] else None,
        dictionary=None if dictionary is None else dict(dictionary),
        stopwords=vector.get("stopwords"),
    )


@pytest.mark.parametrize("vector", list(vectors()), ids=lambda vector: vector["text"][:20])
def test_vector(vector: dict[str, Any]) -> None:
    text, config = vector["text"], config_of(vector)
    assert pg_simhash.normalize(text, config) == vector["normalized"]
    assert pg_simhash.tokens(text, config) == vector["tokens"]
    for name in ("simhash", "simhash128", "simhash256", "minhash64", "minhash128", "minhash256"):
        made = getattr(pg_simhash, name)(text, config)
        assert (None if made is None else str(made)) == vector[name]
    for similarity, expected in vector["keys"].items():
        keys = pg_simhash.sketch(text, float(similarity), config)
        if keys is None:
            assert expected is None
        else:
            digits = "".join(f"{key:010x}" for key in keys)
            assert xxhash.xxh3_64_hexdigest(digits.encode()) == expected
