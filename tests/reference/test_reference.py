"""The reference against literals of the papers, of the contract and of published vectors, typed by hand or read from
the folder that NDCORE_DATA names.  No expectation here was computed by ndcore.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from fractions import Fraction
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from ndcore.reference import clustering, dedup, rabin, resemblance, shingling, sketches

P = 0x1FD845EF300CE2D0B
Q = 0x102FC1EFE0FCCD72D
R = 0x15F9968BB90FD8193
S = 0x1DBEF19FC8E7B845F

ROSE = b"a rose is a rose is a rose".split()
FLOWER = b"a rose is a flower which is a rose".split()


def published(name: str) -> Any:
    folder = os.environ.get("NDCORE_DATA")
    if not folder:
        pytest.skip(f"NDCORE_DATA is not set: {name} is not available")
    path = Path(folder) / "vectors" / name
    if not path.exists():
        pytest.skip(f"NDCORE_DATA has no vectors/{name}")
    return json.loads(path.read_text())


def number(text: str) -> int:
    return int(text, 16)


# ---------------------------------------------------------------------------------------------- polynomials


def test_constants_are_the_first_irreducible_polynomials_of_seeds_1_to_4():
    assert [rabin.random_irreducible(64, seed) for seed in (1, 2, 3, 4)] == [P, Q, R, S]
    assert (rabin.POLYNOMIAL, rabin.TOKEN_POLYNOMIAL) == (P, Q)
    assert (rabin.FEATURE_POLYNOMIAL, rabin.SUPER_FEATURE_POLYNOMIAL) == (R, S)


def test_splitmix64_published_outputs():
    outputs = rabin.splitmix64(1234567)
    assert [next(outputs) for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_products_of_fips_197_section_4_2():
    assert rabin.mulmod(0x57, 0x83, 0x11B) == 0xC1
    assert rabin.mulmod(0x57, 0x13, 0x11B) == 0xFE
    assert rabin.is_irreducible(0x11B)


def test_number_of_irreducible_polynomials_of_each_degree():
    """Gauss's count, OEIS A001037."""
    counts = [sum(rabin.is_irreducible(f) for f in range(1 << n, 2 << n)) for n in range(1, 11)]
    assert counts == [2, 1, 2, 3, 6, 9, 18, 30, 56, 99]


def test_small_polynomials():
    assert [rabin.degree(f) for f in (0, 1, 2, 3, 1 << 64)] == [-1, 0, 1, 1, 64]
    assert not rabin.is_irreducible(0)
    assert not rabin.is_irreducible(1)
    assert rabin.gcd(0, 0) == 0
    assert rabin.powmod(2, 0, 2) == 1
    assert rabin.powmod(2, 0, 1) == 0
    assert rabin.random_irreducible(1, 1) == 3
    assert rabin.random_irreducible(2, 1) == 7


def test_published_gf2_vectors():
    data = published("gf2_polynomials.json")
    for case in data["polAddTests"]:
        assert number(case["x"]) ^ number(case["y"]) == number(case["sum"])
    for case in data["polMulTests"]:
        assert rabin.mul(number(case["x"]), number(case["y"])) == number(case["product"])
    for case in data["polDivTests"]:
        assert rabin.divmod_(number(case["x"]), number(case["y"]))[0] == number(case["quotient"])
    for case in data["polModTests"]:
        assert rabin.mod(number(case["x"]), number(case["y"])) == number(case["remainder"])
    for case in data["polGCDTests"]:
        assert rabin.gcd(number(case["f1"]), number(case["f2"])) == number(case["gcd"])
    for case in data["polMulModTests"]:
        assert rabin.mulmod(number(case["f1"]), number(case["f2"]), number(case["g"])) == number(case["mod"])
    for case in data["polIrredTests"]:
        assert rabin.is_irreducible(number(case["f"])) is case["irreducible"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rabin.divmod_(1, 0), "zero polynomial"),
        (lambda: rabin.degree(-1), "-1"),
        (lambda: rabin.powmod(2, -1, 7), "-1"),
        (lambda: rabin.splitmix64(2**64), "18446744073709551616"),
        (lambda: rabin.random_irreducible(0, 1), "degree is 0"),
        (lambda: rabin.concat(1 << 8, 0, 1, 0x11B), r"fingerprint is 0x100; give one in \[0, 2\*\*8\)"),
    ],
)
def test_gf2_refusals(call, message):
    with pytest.raises((ValueError, ZeroDivisionError), match=message):
        call()


# ---------------------------------------------------------------------------------------------- rabin


def reflected(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2)


def test_rabin_reproduces_the_crc_catalogue():
    """A CRC is b(x)·x^d mod p, after init·x^(8n) is added, xorout at the end, bits reversed where the entry says so."""
    algorithms = published("crc_catalogue.json")["algorithms"]
    assert len(algorithms) > 100
    for entry in algorithms:
        width = entry["width"]
        p = 1 << width | number(entry["poly"])
        message = b"123456789"
        if entry["refin"]:
            message = bytes(reflected(byte, 8) for byte in message)
        value = rabin.concat(number(entry["init"]), rabin.fingerprint(message, p), len(message), p)
        if entry["refout"]:
            value = reflected(value, width)
        assert value ^ number(entry["xorout"]) == number(entry["check"]), entry["name"]


def test_rabin_of_one_and_of_p():
    assert rabin.fingerprint(b"\x01", P) == 0xFD845EF300CE2D0B  # x^64 mod P = P - x^64
    assert rabin.fingerprint(P.to_bytes(9, "big"), P) == 0
    assert rabin.fingerprint(b"", P) == 0
    assert rabin.fingerprint(bytes(7) + b"\x01", P) == rabin.fingerprint(b"\x01", P)
    assert rabin.words([1], R) == 0x5F9968BB90FD8193
    assert rabin.words([0, 0], R) == 0


@pytest.mark.parametrize("degree", [1, 2, 8, 13, 16, 32, 53, 63, 64])
def test_rabin_windows_and_concatenations(degree):
    p = rabin.random_irreducible(degree, 1)
    text = bytes(range(40))
    for window in (1, 7, 8, 9, 40):
        assert rabin.sliding(text, window, p) == [
            rabin.fingerprint(text[i : i + window], p) for i in range(41 - window)
        ]
    assert rabin.sliding(text, 41, p) == []
    for cut in (0, 1, 8, 39, 40):
        a, b = text[:cut], text[cut:]
        joined = rabin.concat(rabin.fingerprint(a, p), rabin.fingerprint(b, p), len(b), p)
        assert joined == rabin.fingerprint(text, p)


# ---------------------------------------------------------------------------------------------- shingles of the papers


def labelled(shingles: list[tuple[bytes, ...]]) -> set[Any]:
    return set(zip(shingles, shingling.occurrences(shingles), strict=True))


def test_the_4_shingling_of_broder_1997_section_2():
    bag = shingling.shingles(ROSE, 4)
    first = (b"a", b"rose", b"is", b"a")
    second = (b"rose", b"is", b"a", b"rose")
    third = (b"is", b"a", b"rose", b"is")
    assert bag == [first, second, third, first, second]
    assert labelled(bag) == {(first, 1), (second, 1), (third, 1), (first, 2), (second, 2)}
    assert set(bag) == {first, second, third}


@pytest.mark.parametrize(
    ("width", "option_a", "option_b"),
    [
        (1, Fraction(70, 100), Fraction(60, 100)),
        (2, Fraction(1, 2), Fraction(1, 2)),
        (3, Fraction(30, 100), Fraction(3, 7)),
    ],
)
def test_the_percentages_of_broder_1997_section_2(width, option_a, option_b):
    """70, 50, 30 % under option A and 60, 50, 42.85 % under option B."""
    a, b = shingling.shingles(ROSE, width), shingling.shingles(FLOWER, width)
    assert resemblance.exact_resemblance(labelled(a), labelled(b)) == option_a
    assert resemblance.exact_resemblance(set(a), set(b)) == option_b
    for option, expected in ((True, option_a), (False, option_b)):
        by_fingerprint = [
            set(shingling.fingerprints(text, width=width, labelled=option))
            for text in ("A rose is a rose is a rose.", "A rose is a flower which is a rose.")
        ]
        assert resemblance.exact_resemblance(*by_fingerprint) == expected


def test_a_permutation_that_resembles_100_percent_for_size_2():
    a, b = (
        shingling.shingles([*map(bytes, (b"a", b"c", b"a", b"b", b"a"))], 2),
        shingling.shingles([b"a", b"b", b"a", b"c", b"a"], 2),
    )
    assert resemblance.exact_resemblance(set(a), set(b)) == 1
    assert resemblance.exact_resemblance(labelled(a), labelled(b)) == 1


def test_the_lecture_notes_three_eighths_and_zero():
    d1, d2, d3 = (
        set(shingling.fingerprints(text, width=2))
        for text in (
            "Jack London travelled to Oakland",
            "Jack London travelled to the city of Oakland",
            "Jack travelled from Oakland to London",
        )
    )
    assert resemblance.exact_resemblance(d1, d2) == Fraction(3, 8)
    assert resemblance.resemblance(d1, d2) == 0.375
    assert resemblance.exact_resemblance(d1, d3) == 0
    assert resemblance.exact_containment(d1, d2) == Fraction(3, 4)


# ---------------------------------------------------------------------------------------------- symbols, short, labels


def test_symbols():
    x64 = Q - (1 << 64)  # x^64 mod Q
    assert shingling.symbol(b"cat") == 0x636174
    assert shingling.symbol(b"\xff" * 8) == 2**64 - 1
    assert shingling.symbol(b"\x01" + bytes(7)) == 1 << 56
    assert shingling.symbol(Q.to_bytes(9, "big")) == 0
    assert shingling.symbol(b"") == x64
    assert shingling.symbol(b"\x00") == rabin.mulmod(x64, 1 << 8, Q)
    assert shingling.symbol(b"\x00a") == rabin.mulmod(x64, 1 << 16, Q) ^ ord("a")
    escape = b"\x01" + bytes(8)
    assert shingling.symbol(escape) == rabin.mulmod(x64, rabin.powmod(2, 72, Q), Q) ^ x64
    assert shingling.symbol(b"\x02" + bytes(8)) == rabin.mulmod(x64, 2, Q)


def test_a_long_token_does_not_bleed_into_its_neighbour():
    cat_dogelephant, dog_catelephant = [b"cat", b"dogelephant"], [b"dog", b"catelephant"]
    documents = [cat_dogelephant, dog_catelephant, cat_dogelephant[::-1], dog_catelephant[::-1]]
    for width in (1, 2, 5):
        assert len({tuple(shingling.of_tokens(document, width)) for document in documents}) == 4
    once = [[rabin.mod(int.from_bytes(t, "big"), P) for t in document] for document in documents[:2]]
    assert rabin.words(once[0], P) == rabin.words(once[1], P)


def test_a_shingle_is_the_string_of_its_symbols():
    padded = bytes(5) + b"cat" + bytes(5) + b"dog"
    assert shingling.of_tokens([b"cat", b"dog"], 2) == [rabin.fingerprint(padded, P)]
    assert shingling.of_tokens([b"cat", b"dog"], 1) == [
        rabin.fingerprint(b"cat", P),
        rabin.fingerprint(b"dog", P),
    ]


def test_short_documents():
    two = [b"cat", b"dog"]
    assert shingling.of_tokens(two, 5) == shingling.of_tokens(two, 2)
    assert shingling.of_tokens(two, 5, short="skip") == []
    with pytest.raises(ValueError, match="2 tokens and width is 5"):
        shingling.of_tokens(two, 5, short="error")
    for short in ("whole", "skip", "error"):
        assert shingling.of_tokens([], 5, short=short) == []
        assert shingling.of_bytes(b"", 5, short=short) == []
        assert len(shingling.of_tokens(two, 2, short=short)) == 1
    assert shingling.of_bytes(b"ab", 5) == [rabin.fingerprint(b"\x01\0\0\0\0\0ab", P)]
    assert shingling.of_bytes(b"ab", 5, short="skip") == []
    assert shingling.of_bytes(b"abc", 2) == [rabin.fingerprint(b"ab", P), rabin.fingerprint(b"bc", P)]


def test_labels():
    assert shingling.label(7, 1) == 7
    assert shingling.label(7, 2) == sketches.fmix64((7 + 2 * 0x9E3779B97F4A7C15) % 2**64)
    f = shingling.of_tokens([b"x"], 1)[0]
    assert shingling.of_tokens([b"x"] * 3, 1, labelled=True) == [f, shingling.label(f, 2), shingling.label(f, 3)]


def test_units_and_callables():
    assert shingling.tokens("A-b", "byte") == [b"A", b"-", b"b"]
    assert shingling.tokens("x", lambda document: [document, "", b"\xff"]) == [b"x", b"", b"\xff"]
    assert shingling.fingerprints("\ud800", "byte", 3) == [rabin.fingerprint(b"\xed\xa0\x80", P)]
    assert shingling.fingerprints([b"a"], width=1) == shingling.fingerprints("A", width=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 0}, "width is 0"),
        ({"short": "pad"}, "'pad'"),
        ({"unit": "token"}, "'token'"),
        ({"unit": "byte", "normalize": "NFKC"}, "NFKC"),
        ({"unit": "line", "normalize": "NFKC"}, "NFKC"),
        ({"unit": str.split, "normalize": "NFKC"}, "NFKC"),
        ({"polynomial": Q}, "another"),
        ({"polynomial": R}, "another"),
        ({"polynomial": 0x11B}, "degree 64"),
    ],
)
def test_shingling_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        shingling.fingerprints("some text", **arguments)


# ---------------------------------------------------------------------------------------------- minhash


def murmur3_x64_128(key: bytes, seed: int) -> tuple[int, int]:
    """MurmurHash3_x64_128 (Appleby, public domain), on top of the reference's finaliser."""
    mask = 2**64 - 1
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F

    def rotate(x: int, r: int) -> int:
        return (x << r | x >> (64 - r)) & mask

    def mix1(k: int) -> int:
        return rotate(k * c1 & mask, 31) * c2 & mask

    def mix2(k: int) -> int:
        return rotate(k * c2 & mask, 33) * c1 & mask

    h1 = h2 = seed
    whole = len(key) // 16 * 16
    for i in range(0, whole, 16):
        h1 ^= mix1(int.from_bytes(key[i : i + 8], "little"))
        h1 = ((rotate(h1, 27) + h2) * 5 + 0x52DCE729) & mask
        h2 ^= mix2(int.from_bytes(key[i + 8 : i + 16], "little"))
        h2 = ((rotate(h2, 31) + h1) * 5 + 0x38495AB5) & mask
    tail = key[whole:]
    h2 ^= mix2(int.from_bytes(tail[8:], "little"))
    h1 ^= mix1(int.from_bytes(tail[:8], "little"))
    h1 ^= len(key)
    h2 ^= len(key)
    h1 = (h1 + h2) & mask
    h2 = (h2 + h1) & mask
    h1, h2 = sketches.fmix64(h1), sketches.fmix64(h2)
    h1 = (h1 + h2) & mask
    return h1, (h2 + h1) & mask


def murmur3_value(case: dict[str, Any]) -> int:
    """A published 128-bit result as an integer, first 64 bits lowest."""
    result = case["result"]
    if case["function"] == "hash64":
        return result[0] % 2**64 | result[1] % 2**64 << 64
    if case["function"] == "hash_bytes":
        return int.from_bytes(bytes.fromhex(result), "little")
    return int(result) % 2**128


def test_fmix64_makes_the_published_murmur3_x64_128_vectors():
    """The x86 vectors do not use fmix64. Two of them lack their x64arch: they equal the x86 value of the same input."""
    cases = [case for case in published("murmur3.json")["vectors"] if case["function"] != "hash_unsigned"]
    x86 = {(case["key_hex"], case["seed"], murmur3_value(case)) for case in cases if case.get("x64arch") is False}
    x64 = [case for case in cases if (case["key_hex"], case["seed"], murmur3_value(case)) not in x86]
    assert len(x64) >= 10
    for case in x64:
        h1, h2 = murmur3_x64_128(bytes.fromhex(case["key_hex"]), case["seed"])
        assert h2 << 64 | h1 == murmur3_value(case), case


def unmix(z: int) -> int:
    """Inverse of fmix64: the multipliers inverted mod 2^64, each xor-shift by 33 its own inverse."""
    z ^= z >> 33
    z = z * pow(0xC4CEB9FE1A85EC53, -1, 2**64) % 2**64
    z ^= z >> 33
    z = z * pow(0xFF51AFD7ED558CCD, -1, 2**64) % 2**64
    return z ^ z >> 33


def test_fmix64_is_a_bijection_that_keeps_zero():
    assert sketches.fmix64(0) == 0
    for z in (1, 2**32, 2**63, 2**64 - 1, 6457827717110365317):
        assert sketches.fmix64(unmix(z)) == z
        assert unmix(sketches.fmix64(z)) == z


def test_key_and_coefficients_follow_splitmix64():
    key, a, b = sketches.key_and_coefficients(1234567, 2)
    assert key == 6457827717110365317
    assert a == [3203168211198807973, 4593380528125082431]
    assert b == [9817491932198370423, 16408922859458223821]


def test_signature_by_hand():
    key = 6457827717110365317
    assert sketches.permute([key], 1234567) == [0]
    assert sketches.signature([key], 2, 64, 1234567) == [9817491932198370423, 16408922859458223821]
    assert sketches.signature([key], 2, 32, 1234567) == [9817491932198370423 % 2**32, 16408922859458223821 % 2**32]
    one = unmix(1) ^ key
    assert sketches.signature([one], 1, 64, 1234567) == [3203168211198807973 + 9817491932198370423]
    high_one = unmix(1 << 32) ^ key
    assert sketches.signature([high_one], 1, 32, 1234567) == [(3203168211198807973 + 9817491932198370423) % 2**32]
    even = next(seed for seed in range(100) if sketches.key_and_coefficients(seed, 1)[1][0] % 2 == 0)
    key, (a,), (b,) = sketches.key_and_coefficients(even, 1)
    assert sketches.signature([unmix(1) ^ key], 1, 64, even) == [(a + 1 + b) % 2**64]


def test_signatures_are_minima_of_prefixes():
    fs = [sketches.fmix64(i) for i in range(1, 60)]
    for bits in (32, 64):
        long = sketches.signature(fs, 128, bits)
        assert sketches.signature(fs[::-1] + fs, 84, bits) == long[:84]
        singles = [sketches.signature([f], 128, bits) for f in fs]
        assert long == [min(column) for column in zip(*singles, strict=True)]
        assert sketches.signature([], 3, bits) == [2**bits - 1] * 3


def test_bottom_samples():
    key = sketches.key_and_coefficients(1, 0)[0]
    fs = [unmix(z) ^ key for z in (40 << 32, 7 << 32, 7 << 32 | 5, 40 << 32, 9 << 32, 7 << 32, 1 << 62)]
    assert sketches.bottom(fs, 3) == [7 << 32, 7 << 32 | 5, 9 << 32]
    assert sketches.bottom(fs, 3, bits=32) == [7, 9, 40]
    assert sketches.bottom(fs, 3, bits=40) == [7 << 8, 9 << 8, 40 << 8]
    assert sketches.bottom(fs, 9) == sorted({40 << 32, 7 << 32, 7 << 32 | 5, 9 << 32, 1 << 62})
    for order in (fs[::-1], sorted(fs), fs * 3):
        for bits in (32, 40, 64):
            assert all(sketches.bottom(order, size, bits) == sketches.bottom(fs, size, bits) for size in range(1, 9))


def test_mod_samples():
    key = sketches.key_and_coefficients(1, 0)[0]
    fs = [unmix(z) ^ key for z in (50, 0, 24, 25, 50, 26, 100)]
    assert sketches.mod(fs, 25) == [0, 25, 50, 100]
    assert sketches.mod(fs, 1) == [0, 24, 25, 26, 50, 100]
    assert sketches.mod([], 25) == []
    assert sketches.adaptive(fs) == (0, [0, 24, 25, 26, 50, 100])
    assert sketches.adaptive([unmix(z) ^ key for z in range(100)]) == (1, list(range(0, 100, 2)))
    assert sketches.adaptive([unmix(4) ^ key] * 200) == (2, [4])


def test_adaptive_levels():
    expected = {0: 0, 49: 0, 50: 0, 99: 0, 100: 1, 199: 1, 200: 2, 399: 2, 400: 3, 799: 3, 800: 4, 51200: 10}
    assert {n: sketches.adaptive_level(n) for n in expected} == expected
    for n in range(50, 5000):
        assert 50 <= Fraction(n, 2 ** sketches.adaptive_level(n)) < 100


# ---------------------------------------------------------------------------------------------- features


def test_the_figures_of_broder_2000_for_6_14_2():
    p = sketches.pass_probability
    assert p(0.975) == pytest.approx(0.98933, abs=5e-6)
    assert 1 - p(0.99) < 0.00022
    assert 1 - p(0.99) == pytest.approx(2.08e-4, abs=1e-6)  # by hand: q = 0.86875, (1 - q)^6 + 6q(1 - q)^5
    assert p(0.77) < 0.01
    assert p(0.5) < 0.6e-7
    assert p(0.909) == pytest.approx(0.5, abs=0.005)
    assert p(0.909) < 0.5 < p(0.910)
    assert 1 - p(0.8) == pytest.approx(0.97, abs=0.005)


def test_pass_probability_is_exact_in_fractions():
    half = Fraction(1, 2)
    assert sketches.pass_probability(half, 3, 1, 1) == Fraction(7, 8)
    assert sketches.pass_probability(half, 2, 2, 2) == Fraction(1, 16)
    assert sketches.pass_probability(half, 4, 1, 2) == Fraction(11, 16)
    assert sketches.pass_probability(Fraction(0)) == 0
    assert sketches.pass_probability(Fraction(1)) == 1


def test_features_by_hand():
    assert sketches.feature(0, [1]) == 0x5F9968BB90FD8193  # x^64 mod R
    assert sketches.feature(0, [0] * 14) == 0
    string = b"".join(value.to_bytes(8, "big") for value in (2, 40, 50))
    assert sketches.features([0, 10, 20, 30, 40, 50, 60], 3, 2)[2] == rabin.fingerprint(string, R)
    assert len(set(sketches.features([5] * 12, 6, 2))) == 6
    with pytest.raises(ValueError, match="84 minima and the signature has 83"):
        sketches.features([0] * 83)


def test_super_features_by_hand():
    assert sketches.super_feature(0, [1]) == 0xDBEF19FC8E7B845F  # x^64 mod S
    pairs = [(0, 10, 20), (1, 10, 30), (2, 20, 30)]
    strings = [b"".join(value.to_bytes(8, "big") for value in pair) for pair in pairs]
    assert sketches.super_features([10, 20, 30], 2) == [rabin.fingerprint(string, S) for string in strings]
    assert sketches.super_features([10, 20, 30], 3) == [rabin.words([0, 10, 20, 30], S)]
    assert len(sketches.super_features([7] * 6, 2)) == len(set(sketches.super_features([7] * 6, 2))) == 15
    with pytest.raises(ValueError, match=r"need is 4; give an integer in \[1, 3\]"):
        sketches.super_features([10, 20, 30], 4)


def test_super_features_need_a_polynomial_of_their_own():
    """Neither of two features is shared, yet their fingerprints modulo R would be: the difference in one cancels that in
    the other, a word further on. Modulo S they differ."""
    one, other = [1, 2, 3, 4], [1, 2 ^ 0xABC, 3 ^ 0xABC, 4]
    first, second = sketches.features(one, 2, 2), sketches.features(other, 2, 2)
    assert first[0] != second[0] and first[1] != second[1]
    assert rabin.words([0, *first], R) == rabin.words([0, *second], R)
    assert sketches.super_features(first, 2) != sketches.super_features(second, 2)


def test_super_shingles_by_hand():
    """Runs of (2, 3, 5, 8): what a shorter sketch has in common with it are the runs of its own members in a row."""
    found = sketches.super_shingles([2, 3, 5, 8], 2)
    assert found == [rabin.words(pair, R) for pair in ([2, 3], [3, 5], [5, 8])]
    assert sketches.super_shingles([3, 5, 9], 2)[0] == found[1]
    assert not set(sketches.super_shingles([2, 5, 9], 2)) & set(found)
    assert sketches.super_shingles([2, 3], 3) == sketches.super_shingles([], 1) == []
    assert sketches.super_shingles([1, 2], 1) == [R - 2**64, rabin.words([2], R)]
    assert sketches.meta_sketch([2, 3, 5, 8], 2, 2) == sorted(sketches.permute(found))[:2]
    for bad, message in (([2, 2], "ascend"), ([3, 2], "ascend")):
        with pytest.raises(ValueError, match=message):
            sketches.super_shingles(bad, 1)
    with pytest.raises(ValueError, match="run is 0"):
        sketches.super_shingles([1], 0)


# ---------------------------------------------------------------------------------------------- estimates


def test_exact_measures():
    assert resemblance.resemblance({1, 2, 3}, {2, 3, 4, 5}) == 2 / 5
    assert resemblance.containment({1, 2, 3}, {2, 3, 4, 5}) == 2 / 3
    assert resemblance.exact_containment({1, 2, 3}, {2, 3, 4, 5}) == Fraction(2, 3)
    for measure in (resemblance.resemblance, resemblance.containment):
        assert isnan(measure(set(), {1}))
        assert isnan(measure({1}, set()))
        assert isnan(measure(set(), set()))
    assert resemblance.exact_resemblance(set(), {1}) is None


def test_bottom_estimates_by_hand():
    """T of the sketches (1 3 5 7) and (1 2 5 9) is 1 2 3 5; both have 1 and 5, A has 1 3 5."""
    a, b = [1, 3, 5, 7], [1, 2, 5, 9]
    assert resemblance.bottom_counts(a, b, 4) == ((2, 4), (2, 3))
    assert resemblance.bottom_resemblance(a, b, 4) == 0.5
    assert resemblance.bottom_containment(a, b, 4) == 2 / 3
    assert resemblance.bottom_resemblance([4], [4, 6], 4) == 0.5
    assert isnan(resemblance.bottom_containment([8, 9], [1, 2], 2))
    assert isnan(resemblance.bottom_resemblance([], [1], 4))


def test_mod_estimates_by_hand():
    assert resemblance.mod_resemblance([0, 25, 50], [25, 75]) == 1 / 4
    assert resemblance.mod_containment([0, 25, 50], [25, 75]) == 1 / 3
    assert isnan(resemblance.mod_resemblance([], []))
    assert resemblance.mod_resemblance([], [25]) == 0
    assert isnan(resemblance.mod_containment([], [25]))
    assert isnan(resemblance.mod_resemblance([], [25], valid=False))
    a, b = (1, [2, 4, 6, 8]), (2, [4, 12])
    assert resemblance.adaptive_counts(a, b) == ((1, 3), (1, 2))
    assert resemblance.adaptive_resemblance(a, b) == 1 / 3
    assert resemblance.adaptive_containment(b, a) == 1 / 2


def test_signature_estimates_by_hand():
    a, b = [1, 2, 3, 4], [1, 2, 3, 9]
    assert resemblance.signature_resemblance(a, b) == 0.75
    assert resemblance.signature_containment(a, b, 100, 40) == pytest.approx(0.6)  # 0.75·140 / (1.75·100)
    assert resemblance.signature_containment(a, b, 40, 100) == 1.0
    assert isnan(resemblance.signature_resemblance(a, b, valid=False))
    assert isnan(resemblance.signature_containment(a, b, 0, 40, valid=False))
    with pytest.raises(ValueError, match="4 and 3"):
        resemblance.signature_counts(a, [1, 2, 3])


def test_estimates_are_unbiased_over_seeds():
    """100 seeds, J = 1/3: the mean lies within five standard errors of each estimator's binomial bound."""
    a, b = list(range(200)), list(range(100, 300))
    bottoms, signatures, mods = [], [], []
    for seed in range(100):
        pair = [sketches.bottom(fs, 50, 64, seed) for fs in (a, b)]
        bottoms.append(resemblance.bottom_resemblance(*pair, 50))
        signatures.append(resemblance.signature_resemblance(*(sketches.signature(fs, 16, 32, seed) for fs in (a, b))))
        mods.append(resemblance.mod_resemblance(*(sketches.mod(fs, 5, seed) for fs in (a, b))))
    variance = 1 / 3 * 2 / 3
    for estimates, samples in ((bottoms, 50), (signatures, 16), (mods, 40)):
        assert abs(sum(estimates) / 100 - 1 / 3) < 5 * (variance / (samples * 100)) ** 0.5


# ---------------------------------------------------------------------------------------------- clustering


def test_star_joins_the_best_and_greedy_the_first():
    """2 resembles 0 by 0.82 and 1 by 0.9; 0 and 1 do not resemble each other; 3 resembles only 2, which is dropped."""
    pairs = [(0, 2, 0.82), (1, 2, 0.9), (2, 3, 0.95)]
    assert clustering.star(4, pairs) == [0, 1, 1, 3]
    assert clustering.greedy(4, pairs) == [0, 1, 0, 3]
    assert clustering.components(4, pairs) == [0, 0, 0, 0]


def test_keep_order_decides_who_represents():
    """In the order 2 3 1 0: 2 starts, 3 and 1 and 0 join it; as each resembles it and no other was kept."""
    pairs = [(0, 2, 0.82), (1, 2, 0.9), (2, 3, 0.95)]
    for cluster in (clustering.star, clustering.greedy, clustering.components):
        assert cluster(4, pairs, [2, 3, 1, 0]) == [2, 2, 2, 2]


def test_ties_go_to_the_first_in_keep_order():
    pairs = [(0, 2, 0.8), (1, 2, 0.8)]
    assert clustering.star(3, pairs, [0, 1, 2]) == [0, 1, 0]
    assert clustering.star(3, pairs, [1, 0, 2]) == [0, 1, 1]
    assert clustering.greedy(3, pairs, [1, 0, 2]) == [0, 1, 1]


def test_union_find():
    sets = clustering.UnionFind(5)
    assert [sets.union(0, 1), sets.union(3, 4), sets.union(1, 0), sets.union(4, 0)] == [True, True, False, True]
    assert len({sets.find(i) for i in (0, 1, 3, 4)}) == 1
    assert sets.find(2) == 2


@pytest.mark.parametrize("pairs", [[(0, 3, 0.9)], [(1, 1, 0.9)], [(0, 1, 0.9), (1, 0, 0.9)], [(-1, 0, 0.9)]])
def test_clustering_refuses_bad_pairs(pairs):
    with pytest.raises(ValueError, match="pair"):
        clustering.star(3, pairs)
    with pytest.raises(ValueError, match="order"):
        clustering.star(3, [], [0, 1, 1])


# ---------------------------------------------------------------------------------------------- the main job

TEN = "one two three four five six seven eight nine ten"


def test_verdicts_strongest_first():
    """Width 1: TEN and 'one … nine eleven' share 9 of 11 words."""
    texts = [TEN, TEN, TEN.upper() + "!", TEN + " ten", "one two three four five six seven eight nine eleven", "else"]
    result = dedup.near_duplicates(texts, width=1)
    assert result.labels == [0, 0, 0, 0, 0, 5]
    assert result.classes == ["kept", "identical", "lexical", "shingle", "near", "kept"]
    assert result.resemblance == [1.0, 1.0, 1.0, 1.0, 9 / 11, 1.0]
    assert result.pairs == [(0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0), (0, 4, 9 / 11), (3, 4, 9 / 11)]
    assert (result.kept, result.duplicates, result.representatives) == ([0, 5], [1, 2, 3, 4], [0])
    assert dedup.near_duplicates(texts, width=1, threshold=0.82).labels == [0, 0, 0, 0, 4, 5]
    assert dedup.near_duplicates(texts, width=1, threshold=9 / 11).labels == result.labels


def test_documents_without_shingles_are_only_identical():
    result = dedup.near_duplicates(["", "...", "...", "?!", b"...", "word"])
    assert result.labels == [0, 1, 1, 3, 1, 5]
    assert result.classes == ["kept", "kept", "identical", "kept", "identical", "kept"]
    assert result.valid == [False] * 5 + [True]
    assert isnan(result.resemblance[2])
    skipped = dedup.near_duplicates(["One two", "one two", "one two"], short="skip")
    assert skipped.labels == [0, 1, 1]
    assert dedup.near_duplicates(["One two", "one two", "one two"]).classes == ["kept", "lexical", "lexical"]


def test_an_identical_copy_of_a_near_duplicate_follows_it():
    near = "one two three four five six seven eight nine eleven"
    result = dedup.near_duplicates([TEN, near, near], width=1)
    assert result.labels == [0, 0, 0]
    assert result.classes == ["kept", "near", "near"]


def test_keep_longest_and_priorities():
    texts = ["a b c d", "A, b, c, d!", "a b c d"]
    assert dedup.near_duplicates(texts, width=1, keep="longest").labels == [1, 1, 1]
    assert dedup.near_duplicates(texts, width=1, keep=[2, 2, 1]).labels == [2, 2, 2]
    assert dedup.near_duplicates(texts, width=1, keep=[1, 1, 1]).labels == [0, 0, 0]


def test_against_keeps_what_is_there():
    """The second of `against` equals the first in tokens; both stay, and the first is the representative."""
    near = "one two three four five six seven eight nine eleven"
    result = dedup.near_duplicates([near, "new words", TEN], width=1, against=[TEN, TEN + "."], keep="longest")
    assert result.labels == [3, 1, 3]
    assert result.classes == ["near", "kept", "identical"]
    assert result.pairs == [(0, 3, 9 / 11), (2, 3, 1.0)]


def test_components_may_join_what_does_not_resemble():
    """A chain of ten-word documents, each with three words changed: neighbours share 7 of 13, the ends 4 of 16."""
    words = [f"w{i}" for i in range(16)]
    texts = [" ".join(words[start : start + 10]) for start in (0, 3, 6)]
    result = dedup.near_duplicates(texts, width=1, threshold=0.5, cluster="components")
    assert result.labels == [0, 0, 0]
    assert result.classes == ["kept", "near", "chained"]
    assert result.resemblance == result.score == [1.0, 7 / 13, 4 / 16]
    assert dedup.near_duplicates(texts, width=1, threshold=0.5).labels == [0, 0, 2]


def test_by_separates_groups():
    assert dedup.near_duplicates([TEN, TEN, TEN], by=["x", "y", "x"]).labels == [0, 1, 0]
    with pytest.raises(ValueError, match="by has 1 labels"):
        dedup.near_duplicates([TEN, TEN], by=["x"])


@pytest.mark.parametrize("cluster", ["star", "greedy"])
def test_promises_of_star_and_greedy(cluster):
    """Every dropped document resembles what is kept; members of a cluster each other 2t - 1; kept ones do not."""
    outputs = rabin.splitmix64(20)
    texts = [" ".join(f"w{i}" for i in range(12) if next(outputs) % 5) for _ in range(40)]
    threshold = 0.7
    result = dedup.near_duplicates(texts, width=1, threshold=threshold, cluster=cluster)
    sets = [set(text.split()) for text in texts]
    assert 1 < len(result.kept) < 40
    for i, label in enumerate(result.labels):
        assert result.labels[label] == label
        assert resemblance.resemblance(sets[i], sets[label]) >= threshold
        for j in result.kept:
            assert i == j or i not in result.kept or resemblance.resemblance(sets[i], sets[j]) < threshold
        for j, other in enumerate(result.labels):
            assert other != label or resemblance.resemblance(sets[i], sets[j]) >= 2 * threshold - 1


@pytest.mark.parametrize("option", [False, True])
@pytest.mark.parametrize("unit", ["word", "char", "grapheme", "line", "paragraph", "sentence", "byte"])
def test_fingerprints_and_token_tuples_agree(unit, option):
    texts = ["a rose is a rose", "a rose is\na rose", "a rose", "rose a", "", "\n", "a\na\na", "\0\0", "\0", "A ROSE"]
    for short in ("whole", "skip"):
        both = [
            dedup.near_duplicates(texts, threshold=0.4, unit=unit, width=3, labelled=option, short=short, verify=verify)
            for verify in ("fingerprints", "tokens")
        ]
        assert both[0].pairs == both[1].pairs
        assert (both[0].labels, both[0].classes, both[0].valid) == (both[1].labels, both[1].classes, both[1].valid)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": 0}, "threshold is 0"),
        ({"threshold": 1.5}, "threshold is 1.5"),
        ({"cluster": "rings"}, "'rings'"),
        ({"keep": "last"}, "'last'"),
        ({"keep": [1]}, "1 priorities"),
        ({"verify": "hope"}, "'hope'"),
        ({"short": "error"}, "1 tokens"),
    ],
)
def test_dedup_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        dedup.near_duplicates(["a", "b"], **arguments)


# ---------------------------------------------------------------------------------------------- golden vectors


def test_the_golden_vectors_are_what_the_reference_gives():
    program = Path(__file__).resolve().parents[2] / "tools" / "vectors.py"
    if not program.exists():
        pytest.skip("tools/vectors.py is not beside the tests")
    run = subprocess.run([sys.executable, str(program), "--check"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
