"""What who knows the polynomials can forge, and what keeps random polynomials and token verification from being fooled.

Fingerprints are linear over GF(2): which of some choices change a fingerprint by nothing is the kernel of a matrix of 64
rows, which Gaussian elimination finds where there are more than 64 choices.
"""

from __future__ import annotations

import secrets

import numpy as np
import pytest
from generated import forged

import ndcore as nd
from ndcore.recipe import Recipe
from ndcore.reference import rabin, shingling

P, Q = nd.POLYNOMIAL, rabin.TOKEN_POLYNOMIAL


def run_of_words(p: int) -> tuple[str, str]:
    """Forge two texts of five words of eight letters whose only shingle has one fingerprint mod p."""
    a, b = forged(40, lambda change: rabin.mod(change << 64, p))
    joined = [" ".join(text[i : i + 8].decode() for i in range(0, 40, 8)) for text in (a, b)]
    return joined[0], joined[1]


def long_words(q: int) -> tuple[str, str]:
    """Forge two words with one symbol mod q."""
    a, b = forged(30, lambda change: rabin.mod(change, q))
    return a.decode(), b.decode()


def windows(p: int) -> tuple[bytes, bytes]:
    """Forge two strings of 16 bytes that differ by a multiple of p."""
    a = b"sixteen bytes...".ljust(16)
    return a, (int.from_bytes(a, "big") ^ p << 40).to_bytes(16, "big")


def test_who_knows_p_forges_runs_of_words():
    a, b = run_of_words(P)
    assert a != b and nd.Shingling().tokens(a) != nd.Shingling().tokens(b)
    assert shingling.fingerprints(a) == shingling.fingerprints(b)  # by the reference: the definition, no fault of a kernel
    assert nd.resemblance(a, b) == 1
    assert nd.resemblance(a, b, nd.Shingling.random()) == 0


def test_who_knows_q_forges_whole_texts():
    # Wherever the one word stands, the other may: texts of any length, with each other token of the attacker's choice.
    word, twin = long_words(Q)
    assert word != twin and shingling.symbol(word.encode()) == shingling.symbol(twin.encode())
    text = "pay {0} now, or {0} will come; {0} never forgets what {0} is owed"
    a, b = text.format(word), text.format(twin)
    assert nd.resemblance(a, b) == 1
    assert nd.resemblance(a, b, nd.Shingling(polynomial=nd.random_irreducible(64, 4))) == 1  # another P does not help
    assert nd.resemblance(a, b, nd.Shingling.random()) == 0


def test_who_knows_p_forges_windows_of_bytes():
    a, b = windows(P)
    assert rabin.fingerprint(a, P) == rabin.fingerprint(b, P)
    assert nd.resemblance(a, b, nd.Shingling("byte", 16)) == 1
    assert nd.resemblance(a, b, nd.Shingling.random(unit="byte", width=16)) == 0


@pytest.mark.parametrize("forge", [run_of_words, lambda p: [f"{word} " * 9 for word in long_words(Q)]], ids=["P", "Q"])
def test_verdicts_on_forged_texts(forge):
    texts = list(forge(P))
    assert nd.near_duplicates(texts).classes.tolist() == ["kept", "shingle"]  # fooled, but neither identical nor lexical
    assert nd.near_duplicates(texts, verify="tokens").classes.tolist() == ["kept", "kept"]
    found = nd.near_duplicates(texts, shingling=nd.Shingling.random(), seed=secrets.randbits(64))
    assert found.classes.tolist() == ["kept", "kept"]


def test_a_random_shingling_can_be_forged_by_who_reads_its_recipe():
    # So recipes, and what is computed by them, are secrets too.
    sh = nd.Shingling.random(seed=9)
    assert nd.resemblance(*run_of_words(sh.recipe["polynomial"]), sh) == 1
    assert nd.resemblance(*[f"{word} x" for word in long_words(sh.recipe["token_polynomial"])], sh) == 1


def test_random_polynomials_of_vectors(vectors):
    for case in vectors("shingling")["random"]:
        sh = nd.Shingling.random(case["seed"])
        assert [hex(sh.polynomial), hex(sh.token_polynomial)] == case["polynomials"]


def test_random_polynomials():
    made = [nd.Shingling.random() for _ in range(20)]
    drawn = {p for sh in made for p in (sh.polynomial, sh.token_polynomial)}
    assert len(drawn) == 40
    assert all(p.bit_length() == 65 and rabin.is_irreducible(p) for p in list(drawn)[:4])
    assert nd.Shingling.random(np.uint64(5), unit="char", width=3, labelled=True) == nd.Shingling.random(
        5, unit="char", width=3, labelled=True
    )
    with pytest.raises(TypeError, match="polynomial"):
        nd.Shingling.random(polynomial=P)


@pytest.mark.parametrize("seed", [-1, 1 << 64, True, 1.0, "1"])
def test_refused_seeds(seed):
    with pytest.raises(ValueError, match=r"seed must be an int of 0 to 2\^64 - 1, or None for a random one; got"):
        nd.Shingling.random(seed)


def test_polynomials_are_saved_with_sketches(tmp_path):
    hasher = nd.MinHasher(20, seed=secrets.randbits(64), shingling=nd.Shingling.random(width=2))
    hasher.sketch_many(["a rose is a rose"]).save(tmp_path / "a.nds")
    loaded = nd.load(tmp_path / "a.nds")
    again = nd.MinHasher.from_recipe(loaded.recipe)
    assert again == hasher
    np.testing.assert_array_equal(again.sketch("a rose is a rose").values, loaded.values)
    other = nd.MinHasher(20, seed=hasher.seed, shingling=nd.Shingling.random(width=2)).sketch_many(["b"])
    with pytest.raises(nd.RecipeMismatch, match=r"shingling\.polynomial is 0x"):
        loaded.concat(other)


def test_the_recipe_of_the_default_is_unchanged():
    assert nd.Shingling().recipe.id == "54ca8e75044e73f56939d172b818c527"  # as DESIGN prints it
    restored = nd.Shingling.from_recipe(Recipe.from_json(nd.Shingling.random(4).recipe.to_json()))
    assert restored == nd.Shingling.random(4)
