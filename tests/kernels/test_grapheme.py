"""Grapheme clusters through the kernel: scripts that readers know, hostile runs, seams between blocks, n-grams."""

from __future__ import annotations

import itertools

import pytest

import ndcore as nd
from ndcore.reference import shingling, text

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
# Typed: what a reader of the script takes for one character.
READ = {
    "Chinese": ["近", "似", "重", "复", "文", "档", "。"],
    "Thai": ["ภ", "า", "ษ", "า", "ไ", "ท", "ย", "ที่", "นี่", "นํ้", "า"],
    "Hindi": ["हि", "न्दी", " ", "में", " ", "क्ष", "त्रि", "य"],
    "Arabic": ["ا", "ل", "عَ", "رَ", "بِ", "يَّ", "ة"],
    "Korean": ["한", "국", "\u1112\u1161\u11ab", "\u1100\u116e\u11a8"],
    "emoji": [FAMILY, "👩🏽\u200d🚀", "❤\ufe0f", "👍🏿", "1\ufe0f\u20e3", "🏴\u200d☠\ufe0f", "😀"],
    "flags": ["🇩🇪", "🇫🇷", "🇹🇭", "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"],
}
KINDS = ["a", "\r", "\n", "\0", "\u0301", "\u200d", "\u200c", "\u094d", "क", "\u0903", "\u0600", "😀", "🇩", "ᄀ", "ᅡ", "ᆨ",
         "가", "각"]  # fmt: skip


def tokens(document: str | bytes) -> list[str]:
    return nd.Shingling("grapheme").tokens(document)


@pytest.mark.parametrize("script", READ)
def test_what_readers_take_for_characters(script):
    assert tokens("".join(READ[script])) == READ[script]


@pytest.mark.parametrize("script", READ)
@pytest.mark.parametrize("width", [1, 2, 3])
def test_n_grams_of_characters(script, width):
    """Shingles are the n-grams of clusters; of chars, those of code points."""
    clusters = READ[script]
    document = "".join(clusters)
    for unit, characters in (("grapheme", clusters), ("char", list(document))):
        sh = nd.Shingling(unit, width)
        grams = [tuple(characters[i : i + width]) for i in range(len(characters) - width + 1)]
        assert sh.shingles(document) == grams
        assert sh.fingerprints(document).tolist() == shingling.of_tokens([c.encode() for c in characters], width)
        assert len(set(sh.fingerprints(document).tolist())) == len(set(grams))


def test_an_edit_of_one_character_is_one_edit():
    """Another member of the family is one cluster of eight, but other code points are the same."""
    before, after = "".join(READ["emoji"]), "".join(READ["emoji"]).replace("👦", "👶")
    grams = nd.Shingling("grapheme", 1)
    assert nd.resemblance(before, after, grams) == 6 / 8
    assert nd.resemblance(before, after, nd.Shingling("char", 1)) > 6 / 8


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_every_sequence_of_kinds(length):
    """A code point of each kind, in every order up to four."""
    documents = ["".join(parts) for parts in itertools.product(KINDS, repeat=length)]
    documents = documents[:: 1 if length < 4 else 17]
    for document in documents:
        expected = ["".join(map(chr, cluster)) for cluster in text.clusters([ord(c) for c in document])]
        assert tokens(document) == expected, ascii(document)


@pytest.mark.parametrize("n", [0, 1, 2, 1023, 1024, 1025, 300_001])
def test_long_runs(n):
    """One cluster of n marks, n / 2 flags, n linked consonants: in time linear in n, or this does not end."""
    assert tokens("a" + "\u0301" * n) == ["a" + "\u0301" * n]
    assert tokens("🇩" * n) == ["🇩🇩"] * (n // 2) + ["🇩"] * (n % 2)
    assert tokens("क\u094d" * n) == (["क\u094d" * n] if n else [])
    assert tokens("😀" + "\u200d😀" * n) == ["😀" + "\u200d😀" * n]
    assert tokens("\u0600" * n + "a") == ["\u0600" * n + "a"]
    assert tokens("\u094d" * n + "क") == (["\u094d" * n] if n else []) + ["क"]


@pytest.mark.parametrize("pad", [0, 1022, 1023, 1024, 1025])
def test_seams_between_blocks_of_1024_symbols(pad):
    """A call of the kernel stops after a cluster and the next goes on."""
    clusters = ["x"] * pad + list(itertools.chain(*READ.values())) * 3
    sh = nd.Shingling("grapheme", 1)
    expected = shingling.of_tokens([c.encode() for c in clusters], 1)
    assert sh.fingerprints("".join(clusters)).tolist() == expected


def test_a_long_cluster_has_the_symbol_of_a_long_token():
    q = nd.random_irreducible(64, 99)
    sh = nd.Shingling("grapheme", 1, token_polynomial=q)
    assert sh.fingerprints(FAMILY).tolist() == shingling.of_tokens([FAMILY.encode()], 1, token_polynomial=q)
    assert sh.fingerprints("\0").tolist() == shingling.of_tokens([b"\0"], 1, token_polynomial=q)


def test_lexical_equivalence_of_clusters():
    a, b = f"Straße {FAMILY}", f"STRAẞE {FAMILY}"
    assert nd.near_duplicates([a, b], shingling=nd.Shingling("grapheme")).classes.tolist() == ["kept", "lexical"]
    assert text.canonical_digest(a, "grapheme") == text.canonical_digest(b, "grapheme")
