"""The numbers themselves, without a database."""

import copy
import doctest
import importlib.util
import pickle

import pytest

from pg_simhash import FINGERPRINTS, Fingerprint64, Fingerprint128, Fingerprint256

EDGES = [0, 1, 255]


@pytest.mark.parametrize("kind", FINGERPRINTS)
def test_forms_are_one_number(kind):
    top = 1 << kind.bits - 1
    for number in [*EDGES, top - 1, top, 2 * top - 1]:
        fp = kind(number)
        digits = format(number, "x").zfill(kind.bits // 4)
        packed = number.to_bytes(kind.bits // 8, "big")
        assert str(fp) == f"{fp}" == digits and fp.packed == packed
        for form in [digits, digits.upper(), "0x" + digits, "0X" + digits, "\\x" + digits]:
            assert kind(form) == fp
        for form in [packed, bytearray(packed), memoryview(packed), fp]:
            assert kind(form) == fp and type(kind(form)) is kind
        assert pickle.loads(pickle.dumps(fp)) == copy.deepcopy(fp) == fp == number
        assert repr(fp) == f"{kind.__name__}('{digits}')"
        assert {fp: 1}[number] == 1


@pytest.mark.parametrize("kind", FINGERPRINTS)
def test_what_is_none_is_refused(kind):
    digits = kind.bits // 4
    numbers = [-1, 1 << kind.bits]
    texts = ["", "0x", "f" * (digits - 1), "f" * (digits + 1), "g" * digits]
    texts += ["+" + "f" * (digits - 1)]
    texts += ["f" * digits + "\n", " " + "f" * digits, "_".join(["f"] * (digits // 2)) + "f"]
    texts += ["\u0661" * digits, "0x0x" + "f" * digits]
    for value in [*numbers, *texts, b"", bytes(kind.bits // 8 - 1), bytes(kind.bits // 8 + 1)]:
        with pytest.raises(ValueError):
            kind(value)
    others = [other(5) for other in FINGERPRINTS if other is not kind]
    for value in [1.0, None, [1], *others]:
        with pytest.raises(TypeError):
            kind(value)


def test_signed_has_the_bits_of_a_bigint():
    least = -(2**63)
    for signed, digits in [(-1, "f" * 16), (0, "0" * 16), (least, "8" + "0" * 15)]:
        fp = Fingerprint64.from_signed(signed)
        assert str(fp) == digits and fp.signed == signed
    with pytest.raises(OverflowError):
        Fingerprint64.from_signed(2**63)


@pytest.mark.parametrize("name", ["fingerprint", "config", "texts", "values", "whole", "polars"])
def test_examples(name):
    results = doctest.testmod(importlib.import_module(f"pg_simhash.{name}"))
    assert results.attempted > 0 and results.failed == 0


def test_hamming():
    assert Fingerprint64(0b1011).hamming(0b0010) == 2
    assert Fingerprint128("0" * 32).hamming("f" * 32) == 128
    with pytest.raises(ValueError):
        Fingerprint64(0).hamming("f" * 32)


def test_numpy_numbers():
    numpy = pytest.importorskip("numpy")
    assert str(Fingerprint64(numpy.uint64(2**64 - 1))) == "f" * 16
    assert str(Fingerprint64.from_signed(numpy.int64(-1))) == "f" * 16


def test_hashes_of_images_are_taken_as_they_are():
    numpy = pytest.importorskip("numpy")
    for kind in FINGERPRINTS:
        number = int("9e3779b97f4a7c15" * (kind.bits // 64), 16)
        bits = numpy.array([number >> kind.bits - 1 - i & 1 for i in range(kind.bits)])
        side = 1 << (kind.bits.bit_length() - 1) // 2
        for array in (bits, bits.astype(bool), bits.astype("uint8"), bits.reshape(side, -1)):
            assert kind(array) == number
        if importlib.util.find_spec("pandas"):
            import pandas

            assert kind(pandas.Series(bits)) == number
        for wrong in (bits[1:], bits + 1, bits.astype(float) / 2):
            with pytest.raises(ValueError):
                kind(wrong)
        with pytest.raises(ValueError, match=r"array.tobytes\(\)"):
            kind(numpy.packbits(bits))
        assert kind(numpy.packbits(bits).tobytes()) == number
    with pytest.raises(ValueError, match="a bit is 0 or 1, and not 2.5"):
        Fingerprint64(numpy.full(64, 2.5))
    with pytest.raises(ValueError, match="from_signed"):
        Fingerprint64(-1)


def test_imagehash_and_pdqhash_write_the_same_digits():
    imagehash = pytest.importorskip("imagehash")
    numpy = pytest.importorskip("numpy")
    from PIL import Image

    noise = numpy.random.default_rng(5).integers(0, 256, (64, 64, 3), dtype="uint8")
    picture = Image.fromarray(noise)
    for hashed in (imagehash.phash(picture), imagehash.dhash(picture), imagehash.whash(picture)):
        assert str(Fingerprint64(hashed)) == str(hashed)
    wide = imagehash.phash(picture, hash_size=16)
    assert str(Fingerprint256(wide)) == str(wide)
    with pytest.raises(ValueError, match="not 64 bits, but 256"):
        Fingerprint64(wide)
    other = imagehash.phash(picture.rotate(90))
    assert (
        Fingerprint64(imagehash.phash(picture)).hamming(other) == imagehash.phash(picture) - other
    )
    pdqhash = pytest.importorskip("pdqhash")
    vector, _ = pdqhash.compute(noise)
    assert f"{Fingerprint256(vector):064x}" == f"{int(''.join(map(str, vector)), 2):064x}"


def test_errors_say_what_to_write():
    for wrong, said in (
        ((bytes(8), 100), "an array of 64 bits, and not of a tuple"),
        ([True] * 64, "not of a list"),
        (None, "not of a NoneType"),
        (2.0, "not of a float"),
    ):
        with pytest.raises(TypeError, match=said):
            Fingerprint64(wrong)
    with pytest.raises(ValueError, match=r"digits.zfill\(16\)"):
        Fingerprint64("ff00")
    for wrong in ("-5", "zz", "0xff", ""):
        with pytest.raises(ValueError) as error:
            Fingerprint64(wrong)
        assert "zfill" not in str(error.value)
