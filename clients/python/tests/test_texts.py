"""One text and many, in every form that Python has them in."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pytest

import pg_simhash
from pg_simhash import Config, Fingerprint64, Fingerprint128, minhash128, simhash, tokens

TEXTS = ["Hello, World!", None, "...", "你好，世界", "the cat sat on the mat " * 40] * 30
ONES = [None if text is None else simhash(text) for text in TEXTS]
WIDE = [None if text is None else minhash128(text) for text in TEXTS]


def test_a_list_gives_what_its_texts_give() -> None:
    assert simhash(TEXTS) == ONES
    assert minhash128(iter(TEXTS)) == WIDE
    assert all(isinstance(one, Fingerprint128) for one in minhash128(TEXTS) if one is not None)
    assert tokens(TEXTS)[:3] == [["hello", "world"], None, []]
    assert simhash([]) == []


def test_none_gives_none() -> None:
    assert simhash(None) is None
    assert tokens(None) is None
    assert pg_simhash.near_duplicate(None, "a") is None


def test_many_threads_give_what_one_gives() -> None:
    texts = [f"text number {i} of {i // 3} and {i // 7}" for i in range(20_000)]
    expected = [simhash(text) for text in texts]
    for threads in (1, 2, 7):
        pg_simhash.set_threads(threads)
        assert pg_simhash.threads() == threads
        assert simhash(texts) == expected
    pg_simhash.set_threads(0)


def test_numpy() -> None:
    array = numpy.array(["Hello, World!", "你好，世界"])
    made = simhash(array)
    assert made.dtype == numpy.uint64
    assert made.tolist() == simhash(array.tolist())
    wide = minhash128(array)
    assert wide.shape == (2, 2)
    assert [high << 64 | low for high, low in wide.tolist()] == minhash128(array.tolist())
    masked = simhash(numpy.array(["Hello", None, "..."], dtype=object))
    assert masked.mask.tolist() == [False, True, True]
    assert tokens(array).tolist() == tokens(array.tolist())
    with pytest.raises(ValueError, match="one dimension"):
        simhash(numpy.array([["a", "b"]]))


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_pyarrow(kind: str) -> None:
    array = pyarrow.array(TEXTS, getattr(pyarrow, kind)())
    made = simhash(array)
    assert made.type == pyarrow.uint64()
    assert made.to_pylist() == ONES
    wide = minhash128(pyarrow.chunked_array([array[:7], array[7:7], array[7:]]))
    assert wide.type == pyarrow.binary(16)
    assert wide.to_pylist() == [None if one is None else one.packed for one in WIDE]
    # A slice begins somewhere in the buffers.
    assert simhash(array[3:11]).to_pylist() == ONES[3:11]
    assert tokens(array).to_pylist() == tokens(TEXTS)
    assert pg_simhash.normalize(array).to_pylist() == pg_simhash.normalize(TEXTS)
    assert pg_simhash.sketch(array, 0.5).to_pylist() == pg_simhash.sketch(TEXTS, 0.5)


def test_other_arrow_arrays() -> None:
    dictionary = pyarrow.array(TEXTS).dictionary_encode()
    assert simhash(dictionary).to_pylist() == ONES
    assert simhash(pyarrow.nulls(3)).to_pylist() == [None] * 3
    with pytest.raises(TypeError, match="type int64|Int64"):
        simhash(pyarrow.array([1]))
    with pytest.raises(TypeError, match="[Bb]inary"):
        simhash(pyarrow.array([b"a"]))


def test_arrow_that_is_not_valid_is_refused() -> None:
    offsets = pyarrow.py_buffer(numpy.array([0, 1, 3], dtype=numpy.int32).tobytes())
    broken = pyarrow.py_buffer(b"a\xff\xfe")
    array = pyarrow.Array.from_buffers(pyarrow.string(), 2, [None, offsets, broken])
    with pytest.raises(ValueError, match="[Uu][Tt][Ff]"):
        simhash(array)


def test_arrow_dictionaries_are_looked_into() -> None:
    offsets = pyarrow.py_buffer(numpy.array([0, 2], dtype=numpy.int32).tobytes())
    values = pyarrow.Array.from_buffers(
        pyarrow.string(), 1, [None, offsets, pyarrow.py_buffer(b"\xff\xfe")]
    )
    array = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 0]), values)
    with pytest.raises(ValueError, match="not valid"):
        simhash(array)


def test_polars() -> None:
    series = polars.Series("body", TEXTS)
    assert simhash(series).to_list() == ONES
    assert simhash(series).name == "body"
    assert minhash128(series).to_list() == [None if one is None else one.packed for one in WIDE]


def test_pandas() -> None:
    series = pandas.Series(TEXTS, index=range(100, 100 + len(TEXTS)), name="body")
    made = simhash(series)
    assert made.tolist() == ONES
    assert made.index.equals(series.index)
    assert simhash(pandas.Series(["a", numpy.nan, pandas.NA])).tolist() == [
        simhash("a"),
        None,
        None,
    ]
    with pytest.raises(TypeError, match="one column"):
        simhash(pandas.DataFrame({"a": ["b"]}))


def test_two_texts() -> None:
    a, b = "one two three four", "one two three five"
    assert pg_simhash.text_similarity(a, b) == 0.5
    assert pg_simhash.text_similarity([a, None, a], [b, b, a]) == [0.5, None, 1.0]
    assert pg_simhash.text_similarity(a, [a, b]) == [1.0, 0.5]
    arrow = pg_simhash.text_similarity(a, pyarrow.array([a, b]))
    assert arrow.to_pylist() == [1.0, 0.5]
    assert pg_simhash.near_duplicate(a, a) is True
    assert pg_simhash.near_duplicate([a, a], [a, b]) == [True, False]
    assert pg_simhash.near_duplicate("", "") is False
    with pytest.raises(ValueError, match="2 texts beside 1"):
        pg_simhash.text_similarity([a, b], [a])


def test_one_text_beside_many() -> None:
    one = "one two three four five six seven"
    many = [one, "zero one two three four five nine", None, "", "something else"] * 2000
    for function, arguments in [
        (pg_simhash.text_similarity, ()),
        (pg_simhash.near_duplicate, (0.5,)),
        (pg_simhash.shares_passage, (5,)),
        (pg_simhash.passage_share, (5,)),
    ]:
        beside: Any = function
        expected = [None if text is None else beside(one, text, *arguments) for text in many]
        assert beside(one, many, *arguments) == expected
        turned = [None if text is None else beside(text, one, *arguments) for text in many]
        assert beside(many, one, *arguments) == turned


def test_passages() -> None:
    a, b = "The cat -- “sat” on a mat.", "A ＣＡＴ sat on a mat"
    [passage] = pg_simhash.shared_passages(a, b, words=5)
    assert a[passage.a_start :][: passage.a_length] == "cat -- “sat” on a mat"
    assert b[passage.b_start :][: passage.b_length] == "ＣＡＴ sat on a mat"
    assert passage.words == 5
    assert pg_simhash.shares_passage(a, b, 5) and not pg_simhash.shares_passage(a, b, 6)
    assert pg_simhash.passage_share(a, b, 5) == 5 / 6
    with pytest.raises(ValueError, match="number of words 4 is out of range"):
        pg_simhash.shares_passage(a, b, 4)


def test_hamming() -> None:
    a, b = Fingerprint64("00000000000000ff"), Fingerprint64("000000000000000f")
    assert pg_simhash.hamming(a, b) == 4
    assert pg_simhash.hamming([a, None], b) == [4, None]
    array = numpy.array([a, b], dtype=numpy.uint64)
    assert pg_simhash.hamming(array, array[::-1]).tolist() == [4, 4]
    made = minhash128(pyarrow.array(["one two three", "one two four", None]))
    distance = pg_simhash.hamming(made, minhash128("one two three"))
    expected = [0, minhash128("one two three").hamming(minhash128("one two four")), None]
    assert distance.to_pylist() == expected


def test_numbers() -> None:
    text = "On 4 March 2024 we paid 1.234,50 € for INV-2024-0017."
    assert pg_simhash.numbers(text, {"numbers": "order"}) == [
        "2024-03-04",
        "1234.5",
        "inv-2024-0017",
    ]


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        (["a", float("nan")], TypeError, "text 1 is of type float: nan. Missing texts are None"),
        (["a", 7], TypeError, "text 1 is of type int: 7"),
        ([b"a"], TypeError, "Decode it first"),
        (b"a", TypeError, "the text is of type bytes"),
        (7, TypeError, "the text is of type int"),
        (["ok", "half \ud800"], ValueError, "text 1 is no Unicode text"),
        ("half \ud800", ValueError, "the text is no Unicode text"),
    ],
)
def test_what_is_no_text(texts: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        simhash(texts)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ('{"shingle": 0}', "shingle"),
        ('{"shingel": 2}', "shingel"),
        ("{", "JSON"),
        ({"model": "docs", "weight": "idf"}, "statistics of model"),
        ({"dictionary": "own"}, "words of dictionary"),
    ],
)
def test_configs_that_are_wrong(config: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simhash("a", config)


def test_similarities_that_have_no_law() -> None:
    for similarity in (0.29, 1.01, float("nan")):
        for call in (pg_simhash.sketch, pg_simhash.dedup):
            with pytest.raises(ValueError, match="no similarity is"):
                call(["a"], similarity)


def test_configs_are_sent_and_compared() -> None:
    config = Config({"dictionary": "own"}, dictionary={"石墨烯": 5})
    again = pickle.loads(pickle.dumps(config))
    assert again == config
    assert tokens("石墨烯", again) == tokens("石墨烯", config) == ["石墨烯"]


def test_other_threads_run_meanwhile() -> None:
    texts = ["the quick brown fox jumps over the lazy dog " * 50] * 4000
    counted, is_done = [0], threading.Event()

    def count() -> None:
        while not is_done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    simhash(texts)
    during = counted[0]
    is_done.set()
    other.join()
    assert during > 5


LONG = """
import pg_simhash
print("begun", flush=True)
pg_simhash.simhash(["a b c d e f " * 20000] * 9000)
"""


def test_a_signal_ends_a_call() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode != 0
    assert "KeyboardInterrupt" in errors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_process_has_threads_of_its_own() -> None:
    texts = ["some text of a few words, over and over " * 20] * 500
    expected = simhash(texts)
    child = os.fork()
    if child == 0:
        os._exit(0 if simhash(texts) == expected else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    pytest.fail("the child process hangs")
