#!/usr/bin/env python3
"""Checks golden.jsonl without the crate: hashes by PyPI's xxhash, the rest by code of its own.

From the tokens on, every vector is computed: shingles, distinct features, weights (level weights
are taken from the vector), positions, sums and signs. For texts of ASCII, and of letters of some
scripts and spaces, normalisation and tokens are computed too. Prints 'N passed, N failed'. Exits 1
when one failed.
"""
import json
import math
import pathlib
import re
import sys
import unicodedata

import xxhash

HASHES = {
    64: lambda feature: xxhash.xxh3_64_intdigest(feature, seed=0),
    128: lambda feature: xxhash.xxh3_128_intdigest(feature, seed=0),
    256: lambda feature: xxhash.xxh3_128_intdigest(feature, seed=0) << 128
    | xxhash.xxh3_128_intdigest(feature, seed=0x9E3779B97F4A7C15),
}
DEFAULT_STEPS = ["nfkc", "lower", "simplified", "punctuation", "space"]


def normalize_ascii(text):
    text = text.lower()
    text = re.sub(
        r"(?<=[a-z])[.'](?=[a-z])|(?<=[0-9])[,'](?=[0-9]{3}(?![0-9]))|(?<=[a-z0-9])_+(?=[a-z0-9])",
        "",
        text,
    )
    return " ".join(re.findall(r"[a-z0-9]+(?:(?<=[0-9])[.](?=[0-9])[a-z0-9]+)*", text))


def normalize_letters(text):
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def tokens_of(normalized):
    """A token ends where a letter and a digit meet."""
    return re.findall(r"[^\W\d_]+|[0-9]+(?:[.][0-9]+)*", normalized)


def is_letters(text):
    """Whether the text is of spaces and letters of scripts that put spaces between words."""
    scripts = ("LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC", "HANGUL")
    return all(
        c == " " or unicodedata.category(c)[0] == "L" and unicodedata.name(c).startswith(scripts)
        for c in text
    )


def normalized_of(text):
    """The normalised text, if it is computed for such texts."""
    if text.isascii():
        return normalize_ascii(text)
    return normalize_letters(text) if is_letters(text) else None


def features_of(tokens, shingle):
    """Distinct features and their counts, in order of their last tokens, shorter ones first."""
    sizes = sorted(set(shingle)) if isinstance(shingle, list) else [shingle]
    if tokens and len(tokens) < sizes[0]:
        sizes = [len(tokens)]
    counts = {}
    for end in range(1, len(tokens) + 1):
        for size in (size for size in sizes if size <= end):
            feature = " ".join(tokens[end - size : end])
            counts[feature] = counts.get(feature, 0) + 1
    return counts


def weight_of(scheme, count, cap):
    if scheme == "uniform":
        weight = 1
    elif scheme == "tf":
        weight = count
    else:
        weight = round(1024 * (1 + math.log(count))) / 1024
    return min(weight, cap)


def simhash(features, weights, position, width):
    if not features:
        return None
    components = [0] * width
    for rank, (feature, weight) in enumerate(zip(features, weights)):
        value = HASHES[width](feature.encode())
        value ^= {"none": 0, "paper": rank, "bucket": 16 * rank // len(features)}[position]
        for bit in range(width):
            components[bit] += weight if value >> bit & 1 else -weight
    fingerprint = sum(1 << bit for bit in range(width) if components[bit] > 0)
    return f"{fingerprint:0{width // 4}x}"


def murmur3_finalizer(x):
    x = (x ^ x >> 16) * 0x85EBCA6B % 2**32
    x = (x ^ x >> 13) * 0xC2B2AE35 % 2**32
    return x ^ x >> 16


def minhash(features, width):
    """One bit of each component.

    It is a bit of the least value b + (a i + q i^2) 2^(32 - log2 width) of any feature, mixed.
    """
    if not features:
        return None
    scale = 2**32 // width
    fingerprint = 0
    for i in range(width):
        values = []
        for feature in features:
            value = HASHES[64](feature.encode())
            b, a, q = value % 2**32, (value >> 32) % 2**16 // 2 * 2 + 1, (value >> 48) // 2 * 2
            values.append((b + (a * i + q * i * i) * scale) % 2**32)
        fingerprint |= murmur3_finalizer(min(values)) >> 31 << i
    return f"{fingerprint:0{width // 4}x}"


def problems_of(vector):
    text, config = vector["text"], vector["config"]
    tokenizer = config.get("tokenizer", "auto")
    has_default_steps = config.get("normalize", DEFAULT_STEPS) == DEFAULT_STEPS
    if has_default_steps and config.get("stopwords", "none") == "none":
        normalized = normalized_of(text)
        if normalized is not None and tokenizer in ("auto", "word"):
            if vector["normalized"] != normalized:
                yield f"normalized should be {normalized!r}"
            if vector["tokens"] != tokens_of(normalized):
                yield f"tokens should be {tokens_of(normalized)!r}"
    counts = features_of(vector["tokens"], config.get("shingle", 1))
    scheme = config.get("weight", "uniform")
    weights = vector["weights"]
    if scheme != "level":
        cap = config.get("cap", math.inf)
        expected = [weight_of(scheme, count, cap) for count in counts.values()]
        if weights != expected:
            yield f"weights should be {expected}"
        weights = expected
    for key, width in (("simhash", 64), ("simhash128", 128), ("simhash256", 256)):
        expected = simhash(list(counts), weights, config.get("position", "none"), width)
        if vector[key] != expected:
            yield f"{key} should be {expected}"
    for key, width in (("minhash64", 64), ("minhash128", 128), ("minhash256", 256)):
        expected = minhash(list(counts), width)
        if vector[key] != expected:
            yield f"{key} should be {expected}"


def worked_example():
    """The published example of six bits: 100101 weighs 4, 101011 weighs 5."""
    hashes = ((0b100101, 4), (0b101011, 5))
    components = [
        sum(weight if value >> bit & 1 else -weight for value, weight in hashes)
        for bit in range(5, -1, -1)
    ]
    return components == [9, -9, 1, -1, 1, 9]


def main():
    passed, failed = int(worked_example()), int(not worked_example())
    vectors = pathlib.Path(__file__).with_name("golden.jsonl")
    for line in vectors.read_text(encoding="utf-8").splitlines():
        vector = json.loads(line)
        problems = list(problems_of(vector))
        passed, failed = passed + (not problems), failed + bool(problems)
        for problem in problems:
            print(f"{vector['text'][:40]!r} {vector['config']}: {problem}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
