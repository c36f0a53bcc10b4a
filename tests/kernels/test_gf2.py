"""Irreducible polynomials over GF(2): literals, the reference, refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import rabin


def x(*exponents: int) -> int:
    return sum(1 << e for e in exponents)


# ---------------------------------------------------------------------------------------------- literals


def test_small_polynomials():
    assert [p for p in range(16) if nd.is_irreducible(p)] == [0b10, 0b11, 0b111, 0b1011, 0b1101]


def test_number_of_irreducible_polynomials_of_each_degree():
    """Gauss's count, OEIS A001037."""
    counts = [sum(nd.is_irreducible(p) for p in range(1 << n, 2 << n)) for n in range(1, 14)]
    assert counts == [2, 1, 2, 3, 6, 9, 18, 30, 56, 99, 186, 335, 630]


@pytest.mark.parametrize(
    "exponents",
    [
        (8, 4, 3, 1, 0),  # FIPS 197
        (163, 7, 6, 3, 0), (233, 74, 0), (283, 12, 7, 5, 0), (409, 87, 0), (571, 10, 5, 2, 0),  # FIPS 186-4, D.1.3
        (127, 1, 0), (521, 32, 0),  # Zierler 1969: trinomials whose degree is a Mersenne exponent
    ],
)  # fmt: skip
def test_polynomials_of_standards(exponents):
    p = x(*exponents)
    assert nd.is_irreducible(p)
    assert not nd.is_irreducible(p << 1)  # divisible by x
    assert not nd.is_irreducible(p ^ 1 << 1 ^ 1 << 2 ^ 1)  # no constant term: divisible by x


def test_constants():
    assert [nd.random_irreducible(64, seed) for seed in (1, 2, 3)] == [
        0x1FD845EF300CE2D0B, 0x102FC1EFE0FCCD72D, 0x15F9968BB90FD8193,
    ]  # fmt: skip
    assert nd.POLYNOMIAL == 0x1FD845EF300CE2D0B


def test_vectors(vectors):
    data = vectors("gf2")
    expected = {int(p, 16) for p in data["irreducible_up_to_degree_8"]}
    assert {p for p in range(1 << 9) if nd.is_irreducible(p)} == expected
    for case in data["irreducible"]:
        assert nd.is_irreducible(int(case["f"], 16)) is case["irreducible"], case
    for case in data["random_irreducible"]:
        assert hex(nd.random_irreducible(case["degree"], int(case["seed"], 16))) == case["polynomial"], case


def test_published_vectors(published):
    """restic/chunker, polynomials_test.go."""
    cases = published("gf2_polynomials.json")["polIrredTests"]
    assert {case["irreducible"] for case in cases} == {True, False}
    for case in cases:
        assert nd.is_irreducible(int(case["f"], 16)) is case["irreducible"], case


# ---------------------------------------------------------------------------------------------- oracle

polynomials = st.integers(0, 150).flatmap(lambda degree: st.integers(0, (2 << degree) - 1))


@given(polynomials)
def test_irreducible_as_the_reference(p):
    assert nd.is_irreducible(p) is rabin.is_irreducible(p)
    assert nd.is_irreducible(p | 1) is rabin.is_irreducible(p | 1)


@given(polynomials.filter(lambda p: p > 1), polynomials.filter(lambda p: p > 1))
def test_products_are_reducible(a, b):
    assert not nd.is_irreducible(rabin.mul(a, b))


@given(st.integers(2, 70), st.integers(0, 3))
def test_squares_of_irreducible_polynomials(degree, seed):
    """Rabin's first condition, x^(2^d) = x mod p, catches them only together with the second one."""
    p = nd.random_irreducible(degree, seed)
    assert nd.is_irreducible(p)
    assert not nd.is_irreducible(rabin.mul(p, p))
    assert not nd.is_irreducible(rabin.mul(p, nd.random_irreducible(degree, seed + 1)))


@pytest.mark.parametrize("degree", [1, 2, 63, 64, 65, 127, 128, 129])
@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_random_irreducible_as_the_reference(degree, seed):
    assert nd.random_irreducible(degree, seed) == rabin.random_irreducible(degree, seed)


# ---------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nd.is_irreducible(-5), ValueError, "non-negative int.*got -5"),
        (lambda: nd.is_irreducible("7"), TypeError, "of type str"),
        (lambda: nd.is_irreducible(True), TypeError, "got True of type bool"),
        (lambda: nd.is_irreducible(1 << 65537), ValueError, "degree 65537; at most 65536"),
        (lambda: nd.is_irreducible(7.5), TypeError, "float"),
        (lambda: nd.random_irreducible(8.5, 1), TypeError, "float"),
        (lambda: nd.random_irreducible(8, 1.5), TypeError, "float"),
        (lambda: nd.random_irreducible(0, 1), ValueError, "degree must be 1 to 65536, got 0"),
        (lambda: nd.random_irreducible(65537, 1), ValueError, "got 65537"),
        (lambda: nd.random_irreducible(64, -1), ValueError, "seed must be 0 to 2.64 - 1, got -1"),
        (lambda: nd.random_irreducible(64, 2**64), ValueError, "got 18446744073709551616"),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
