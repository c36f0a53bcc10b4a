"""Rabin fingerprints: literals, the reference, every boundary length and offset, refusals."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from generated import LENGTHS, splitmix64
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import rabin

KERNEL = "rabin"
P = 0x1FD845EF300CE2D0B
PATTERN = bytes(i % 251 for i in range(4096 + 64))

# ---------------------------------------------------------------------------------------------- literals


def reflected(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)


def test_of_one_and_of_p(variant):
    assert nd.Rabin(P).fingerprint(b"\x01") == 0xFD845EF300CE2D0B  # x^64 mod P = P - x^64
    assert nd.Rabin(P).fingerprint(P.to_bytes(9, "big")) == 0
    assert nd.Rabin(P).fingerprint(b"") == 0
    assert nd.Rabin().polynomial == P


def test_leading_zero_bytes_coincide_as_documented(variant):
    assert nd.Rabin().fingerprint(bytes(7) + b"\x01") == nd.Rabin().fingerprint(b"\x01")
    assert nd.Rabin().fingerprint(b"\x01\x00") != nd.Rabin().fingerprint(b"\x01")


def test_crc_catalogue(published, variant):
    """A CRC whose polynomial is irreducible is a Rabin fingerprint, after init·x^(8n), xorout and reflections."""
    checked = 0
    for entry in published("crc_catalogue.json")["algorithms"]:
        width = entry["width"]
        p = 1 << width | int(entry["poly"], 16)
        if width > 64 or not rabin.is_irreducible(p):
            continue
        checked += 1
        message = b"123456789"
        if entry["refin"]:
            message = bytes(reflected(byte, 8) for byte in message)
        crc = nd.Rabin(p)
        value = crc.concat(int(entry["init"], 16), crc.fingerprint(message), len(message))
        if entry["refout"]:
            value = reflected(value, width)
        assert value ^ int(entry["xorout"], 16) == int(entry["check"], 16), entry["name"]
    assert checked >= 10


def test_vectors(vectors, same_as, variant):
    data = vectors("rabin")
    inputs = {name: bytes.fromhex(text) for name, text in data["inputs"].items()}
    made = {case["p"]: nd.Rabin(int(case["p"], 16)) for case in data["fingerprint"]}
    for case in data["fingerprint"]:
        for name, value in case["values"].items():
            assert hex(made[case["p"]].fingerprint(inputs[name])) == value, (case["p"], name)
    for case in data["sliding"]:
        same_as(made[case["p"]].sliding(inputs[case["input"]], case["window"]), case["values"])
    for case in data["concat"]:
        assert hex(made[case["p"]].concat(int(case["fa"], 16), int(case["fb"], 16), case["len_b"])) == case["value"]
    for case in data["a_then_zeros"]:
        assert hex(made[case["p"]].concat(int(case["fa"], 16), 0, int(case["len_b"], 16))) == case["value"], case
    for case in data["words"]:
        packed = b"".join(int(word, 16).to_bytes(8, "big") for word in case["words"])
        assert hex(made[case["p"]].fingerprint(packed)) == case["value"]


# ---------------------------------------------------------------------------------------------- oracle

polynomials = st.tuples(st.integers(1, 64), st.integers(0, 2)).map(lambda pair: rabin.random_irreducible(*pair))


@given(polynomials, st.binary(max_size=100), st.integers(1, 40))
def test_as_the_reference(variant, p, data, window):
    ours = nd.Rabin(p)
    assert ours.fingerprint(data) == rabin.fingerprint(data, p)
    found = ours.sliding(data, window)
    assert found.dtype == np.uint64
    assert found.tolist() == rabin.sliding(data, window, p)
    assert ours.degree == p.bit_length() - 1


@given(polynomials, st.lists(st.binary(max_size=20), max_size=6))
def test_updates_and_concatenations(variant, p, parts):
    ours, joined, length = nd.Rabin(p), 0, 0
    for part in parts:
        assert ours.update(part) is ours
        joined = ours.concat(joined, ours.fingerprint(part), len(part))
        length += len(part)
        expected = rabin.fingerprint(b"".join(parts)[:length], p)
        assert ours.digest() == joined == expected
    assert nd.Rabin(p).digest() == 0


def test_copies_and_pickles_are_independent(variant):
    ours = nd.Rabin().update(b"abc")
    for twin in (ours.copy(), pickle.loads(pickle.dumps(ours))):
        assert (twin.polynomial, twin.digest()) == (P, rabin.fingerprint(b"abc", P))
        twin.update(b"d")
        assert twin.digest() == rabin.fingerprint(b"abcd", P)
        assert ours.digest() == rabin.fingerprint(b"abc", P)


# ---------------------------------------------------------------------------------------------- edges


@pytest.mark.parametrize("p", [P, *(rabin.random_irreducible(degree, 1) for degree in (1, 13, 63))])
def test_every_length(variant, p):
    ours = nd.Rabin(p)
    for n in LENGTHS:
        assert ours.fingerprint(PATTERN[:n]) == rabin.fingerprint(PATTERN[:n], p), n


def test_every_offset(variant):
    ours, view = nd.Rabin(), memoryview(PATTERN)
    for offset in range(64):
        for n in (1, 8, 9, 65):
            assert ours.fingerprint(view[offset : offset + n]) == rabin.fingerprint(PATTERN[offset : offset + n], P)


@pytest.mark.parametrize("window", [1, 2, 7, 8, 9, 63, 64, 65, 255, 256, 257])
def test_every_window(variant, window):
    outputs = splitmix64(window)
    data = b"".join(next(outputs).to_bytes(8, "big") for _ in range(window // 8 + 20))
    for n in (0, window - 1, window, window + 1, len(data)):
        assert nd.Rabin().sliding(data[:n], window).tolist() == rabin.sliding(data[:n], window, P)


def test_kinds_of_buffers(variant):
    expected = rabin.fingerprint(b"abcd", P)
    array = np.frombuffer(b"abcd", np.uint8)
    for data in (b"abcd", bytearray(b"abcd"), memoryview(b"abcd"), array, array.view(np.uint32)):
        assert nd.Rabin().fingerprint(data) == expected
        assert nd.Rabin().sliding(data, 4).tolist() == [expected]


# ---------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nd.Rabin(0b101), ValueError, "0x5"),
        (lambda: nd.Rabin(1), ValueError, "degree 0; fingerprints need 1 to 64"),
        (lambda: nd.Rabin(rabin.random_irreducible(65, 1)), ValueError, "degree 65; fingerprints need 1 to 64"),
        (lambda: nd.Rabin(-3), ValueError, "-3"),
        (lambda: nd.Rabin("3"), TypeError, "str"),
        (lambda: nd.Rabin(7.5), TypeError, "float"),
        (lambda: nd.Rabin().sliding(b"abcd", 2.5), TypeError, "float"),
        (lambda: nd.Rabin().concat(1.5, 1, 1), TypeError, "float"),
        (lambda: nd.Rabin().sliding(b"abc", 0), ValueError, "at least 1 byte, got 0"),
        (lambda: nd.Rabin().sliding(b"abc", -1), ValueError, "got -1"),
        (lambda: nd.Rabin().fingerprint("abc"), TypeError, "bytes-like"),
        (lambda: nd.Rabin().sliding("abc", 1), TypeError, "bytes-like"),
        (lambda: nd.Rabin().update(None), TypeError, "bytes-like"),
        (lambda: nd.Rabin(0b111).concat(4, 0, 1), ValueError, "fa = 4 is no fingerprint of 2 bits"),
        (lambda: nd.Rabin().concat(0, 1 << 64, 1), ValueError, "fb = 18446744073709551616"),
        (lambda: nd.Rabin().concat(0, -1, 1), ValueError, "fb = -1"),
        (lambda: nd.Rabin().concat(0, 0, -1), ValueError, "got -1"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
