"""Documents that break other tools, through the library: nothing crashes, every verdict is the one of the definitions."""

from __future__ import annotations

import numpy as np
import pytest

import ndcore as nd
from ndcore.reference import dedup as reference
from ndcore.reference import shingling

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa"
BROKEN = b"caf\xe9 \xff\xfe cr\xc3 \xf0\x9f broken bytes in a row of words"

# name: (document, the earlier one that represents it, class)
DOCUMENTS: dict[str, tuple[str | bytes, str | None, str]] = {
    "empty": ("", None, "kept"),
    "empty bytes": (b"", "empty", "identical"),
    "one word": ("hello", None, "kept"),
    "one word shouted": ("HELLO!", "one word", "lexical"),
    "other word": ("goodbye", None, "kept"),
    "punctuation": ("!!! ... ---", None, "kept"),
    "punctuation again": (b"!!! ... ---", "punctuation", "identical"),
    "other punctuation": ("???", None, "kept"),
    "blanks": (" \t\r\n\u3000\x0b", None, "kept"),
    "emoji": ("😀 😀 🎉", None, "kept"),
    "invalid UTF-8": (BROKEN, None, "kept"),
    "invalid bytes only": (b"\xff\xfe\x80\xc0", None, "kept"),
    "invalid, other bytes": (BROKEN.replace(b"\xff\xfe", b"\x80"), "invalid UTF-8", "lexical"),
    "nul bytes": ("a\0b\0c\0d\0e\0f\0g", None, "kept"),
    "nul bytes as blanks": ("a b c d e f g", "nul bytes", "lexical"),
    "only nuls": ("\0" * 1000, None, "kept"),
    "fewer nuls": ("\0" * 999, None, "kept"),
    "plain": (WORDS, None, "kept"),
    "with a BOM": (b"\xef\xbb\xbf" + WORDS.encode(), "plain", "lexical"),
    "with CRLF": (WORDS.replace(" ", "\r\n") + "\r\n", "plain", "lexical"),
    "the same again": (WORDS, "plain", "identical"),
    "twice": (WORDS + " " + WORDS + " " + WORDS, None, "kept"),
    "thrice": (WORDS + " " + WORDS + " " + WORDS + " " + WORDS, "twice", "shingle"),
    "lone surrogate": (WORDS + " \ud800 a tail", None, "kept"),
    "other surrogate": (WORDS + " \udfff a tail", "lone surrogate", "lexical"),
    "surrogate pair in two halves": (WORDS + " \ud83d\ude00 a tail", "lone surrogate", "lexical"),
    "surrogate bytes": ((WORDS + " \ud800 a tail").encode("utf-8", "surrogatepass"), "lone surrogate", "identical"),
    "only a surrogate": ("\ud800", None, "kept"),
    "only another surrogate": ("\udfff", None, "kept"),
    "mixed scripts": ("Привет мир 你好世界 こんにちは สวัสดี नमस्ते γειά σου مرحبا Straße", None, "kept"),
    "mixed scripts in capitals": (
        "ПРИВЕТ МИР 你好世界 こんにちは สวัสดี नमस्ते ΓΕΙΆ ΣΟΥ مرحبا STRAßE", "mixed scripts", "lexical"
    ),
    "soft hyphens": ("al\u00adpha be\u200bta gam\u2060ma \ufeffdelta epsilon zeta eta theta iota kappa", "plain", "lexical"),
    "separators": ("one\u2028two\u2029three\u0085four\x0bfive", None, "kept"),
    "separators as blanks": ("one two three four five", "separators", "lexical"),
    "UTF-16": ("this was saved as UTF-16".encode("utf-16-le"), None, "kept"),
    "one long word": ("x" * 100_000, None, "kept"),
    "another long word": ("x" * 100_001, None, "kept"),
    "marks without a letter": ("\u0301\u0301 \u0301", None, "kept"),
    "a letter of 10000 marks": ("a" + "\u0301" * 10_000, None, "kept"),
    "last code points": ("\U0010ffff\U0010fffe\ufffe\uffff", None, "kept"),
    "controls": ("".join(map(chr, range(32))), None, "kept"),
}  # fmt: skip


def test_every_verdict():
    names = list(DOCUMENTS)
    texts = [document for document, _, _ in DOCUMENTS.values()]
    result = nd.near_duplicates(texts)
    found = {
        name: (None if label == i else names[label], str(result.classes[i]))
        for i, (name, label) in enumerate(zip(names, result.labels, strict=True))
    }
    assert found == {name: expected for name, (_, *rest) in DOCUMENTS.items() for expected in [tuple(rest)]}
    assert result.invalid_bytes == sum(reference.text.invalid_bytes(text) for text in texts) > 20
    assert not result.valid[names.index("blanks")] and result.valid[names.index("one long word")]


@pytest.mark.parametrize(
    "how", [{"unit": "char"}, {"unit": "grapheme"}, {"unit": "line", "width": 1}, {"unit": "sentence", "normalize": "words"},
            {"unit": "byte"}, {"normalize": "NFKC"},
            {"width": 1}, {"labelled": True}, {"short": "skip"}, {"unit": "char", "normalize": "NFKC", "width": 2}],
    ids=str,
)  # fmt: skip
def test_every_verdict_in_other_shinglings_as_brute_force(how):
    texts = [document for document, _, _ in DOCUMENTS.values() if len(document) < 2000]
    ours = nd.near_duplicates(texts, shingling=nd.Shingling(**how), filter=nd.FilterDesign.of(100, 1, 1, threshold=0.8))
    theirs = reference.near_duplicates(texts, **how)
    assert ours.labels.tolist() == theirs.labels
    assert ours.classes.tolist() == theirs.classes
    assert ours.valid.tolist() == theirs.valid


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_function_takes_it(name):
    document = DOCUMENTS[name][0]
    if len(document) < 2000:
        assert nd.Shingling().fingerprints(document).tolist() == shingling.fingerprints(document)
    shingles = nd.Shingling().shingles(document)
    for sketcher in (nd.MinHasher(8), nd.BottomSketcher(8)):
        assert sketcher.sketch(document).valid.tolist() == [bool(shingles)]
    same = nd.resemblance(document, document)
    assert same == 1 if shingles else np.isnan(same)


def test_twenty_thousand_empty_documents():
    result = nd.near_duplicates([""] * 20_000)
    assert result.kept.tolist() == [0] and set(result.classes[1:]) == {"identical"}


def test_many_equal_documents_are_one_comparison_each():
    result = nd.near_duplicates([WORDS, WORDS.upper()] * 5_000)
    assert result.kept.tolist() == [0] and not result.verified.any()
    assert len(result.pairs.a) == 9_999 and not result.pairs.a.any()
    assert result.classes[:3].tolist() == ["kept", "lexical", "identical"]


@pytest.mark.slow
def test_fifty_megabytes_on_one_line():
    block = " ".join(f"{i:x}" for i in range(100_000)) + " "
    times = 50_000_000 // len(block) + 1
    long = "".join(f"{n}x{block}" for n in range(times))
    assert len(long) > 50_000_000 and "\n" not in long
    result = nd.near_duplicates([long, long.upper(), long + "and a few more words", "something else"], threads=2)
    assert result.classes.tolist() == ["kept", "lexical", "near", "kept"]
    # 5 windows end in the added words or reach over the seam; every other shingle of the longer text is in the shorter
    first = nd.Shingling().fingerprints(long)
    distinct = len(np.unique(first))
    assert len(first) == times * 100_000 - 4
    assert result.resemblance[2] == distinct / (distinct + 5)
