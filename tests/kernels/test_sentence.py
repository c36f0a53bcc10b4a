"""Sentences (UAX #29), paragraphs, and passages by their words: rules, short sequences of kinds, hostile texts, tables."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from generated import texts
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore.reference import rabin, text

KERNEL = "text"
TABLES = Path(nd.get_include(), "sentence_tables.h")
PASSAGES = [(unit, normalize) for unit in text.PASSAGES for normalize in (None, "words")]

# Code points of each kind, of one to four bytes of UTF-8.
MEMBERS = {
    "Other": "\x00#\u2026\U0001f600", "Extend": "\u0301\u00ad\u200d\U000e0020", "Sp": " \t\u00a0\u3000",
    "Sep": "\u0085\u2028", "CR": "\r", "LF": "\n", "Lower": "aé\U00010428", "Upper": "AÉ\U00010400",
    "OLetter": "人\u05d0\U00020000",
    "Numeric": "1\u0660\U0001d7ce", "SContinue": ",\u055d\u3001", "ATerm": ".\u2024", "STerm": "!?\u3002\U00011047",
    "Close": ")\u00bb\u201c\U0001f676",
}  # fmt: skip


def read(document: str | bytes, unit: str, normalize: str | None = None) -> list[bytes]:
    """The tokens by the kernel, as bytes."""
    found = nd.Shingling(unit, 1, normalize=normalize).tokens(document)
    return [token.encode() if isinstance(token, str) else token for token in found]


# ---------------------------------------------------------------------------------------------- sentences


@pytest.mark.parametrize("kind", MEMBERS)
def test_members_have_their_kind(kind):
    assert {text.sentence_break(ord(c)) for c in MEMBERS[kind]} == {kind}
    assert sorted(MEMBERS) == sorted(text.SIGNS)


def test_all_sequences_of_four_kinds_as_the_reference():
    """A third of them, each behind others in one of the texts."""
    members = {kind: itertools.cycle(found) for kind, found in MEMBERS.items()}
    whole = "".join(next(members[kind]) for kinds in itertools.product(MEMBERS, repeat=4) for kind in kinds)
    for start in range(0, len(whole), 1000):
        part = whole[start : start + 300]
        assert read(part, "sentence") == text.tokens(part, "sentence"), part


@pytest.mark.parametrize("before", ["", "A", ".", "A.", "!", ".)", ". ", "! ", ".) ", "\r"])
def test_all_kinds_after_each_state_as_the_reference(before):
    for kinds in itertools.product(MEMBERS, repeat=2):
        for end in ("", "a", "A"):
            document = before + "".join(MEMBERS[kind][0] for kind in kinds) + end
            assert read(document, "sentence") == text.tokens(document, "sentence"), document


PIECES = [c.encode() for members in MEMBERS.values() for c in members] + [
    b". ", b"? ", b"etc. ", b"\xff", b"\xe2\x80", b"\xed\xa0\x80", b"\r\n", b"\n\n", b"word "]


@given(st.lists(st.sampled_from(PIECES), max_size=40))
@settings(max_examples=150)
def test_as_the_reference(variant, parts):
    for unit, normalize in PASSAGES:
        assert read(b"".join(parts), unit, normalize) == text.tokens(b"".join(parts), unit, normalize)


@given(texts)
@settings(max_examples=60)
def test_any_text_as_the_reference(variant, document):
    for unit, normalize in PASSAGES:
        assert read(document, unit, normalize) == text.tokens(document, unit, normalize)


def test_the_table_has_the_kinds_of_the_reference():
    """Of every code point."""
    content = TABLES.read_text(encoding="ascii")
    kinds = [name for name in re.findall(r"ND_SB_(\w+),", content) if name != "KINDS"]
    stages = [[int(n) for n in re.findall(r"\d+", body)] for body in re.findall(r"= \{(.*?)\};", content, re.DOTALL)]
    numbers = [stages[1][stages[0][c >> 8] << 8 | c & 255] for c in range(0x110000)]
    assert [kinds[n] for n in numbers] == [text.sentence_break(c).upper() for c in range(0x110000)]


# ---------------------------------------------------------------------------------------------- hostile texts

N = 200_000


@pytest.mark.parametrize(
    ("document", "count"),
    [
        ("." * N, 1), ("!" * N, 1), ("!?" * N + "A", 2), ("a." * N, 1), ("A. " * N, N), (".1" * N, 1),
        (". " + "1 " * N, 2),                    # the search for a small letter goes to the end, once
        (". " + "1 " * N + "a", 1), ("A. 1) " * N, N + 1), (". (" * N, N + 1), (". " + "( 1" * N + "\n", 2),
        (".)" * N + " " * N + "\u0301" * N + "A", 2),
        (".\u0301" * N + "A", 2), ("\u0301" * N, 1), ("A" + "\u00ad" * N + ".B", 1),
        (" " * N, 0), ("\r" * N, 0), ("\n\r" * N, 0), ("\u2028" * N, 0), ("\u3000" * N + "a" + "\u3000" * N, 1),
        ("a\r" * N, N), ("a\u2028" * N, N), (b"\xff" * N, 1), (b". \xff" * N, N + 1), (b"!\xe2\x80" * N, N + 1),
        ("\ud800" * N, 1),
    ],
    ids=range(26),
)  # fmt: skip
def test_long_runs_take_linear_time(document, count):
    """A quadratic reading of any of them would take hours."""
    sh = nd.Shingling("sentence", 1)
    assert len(sh.fingerprints(document)) == count


@pytest.mark.parametrize(
    ("document", "paragraphs"),
    [(" " * N, 0), ("\n" * N, 0), ("\r" * N + "a", 1), (" \n" * N + "a\n" * N, 1), ("a\n \n" * N, N), ("a\r\n" * N, 1),
     ("a\n\r" * N, N), ("a\u2028" * N, 1), (b"\xff\n" * N, 1)],
    ids=range(9),
)  # fmt: skip
def test_long_runs_of_paragraphs(document, paragraphs):
    assert len(nd.Shingling("paragraph", 1).fingerprints(document)) == paragraphs
    assert len(nd.Shingling("paragraph", 1, normalize="words").fingerprints(document)) <= paragraphs


# ---------------------------------------------------------------------------------------------- by their words


@pytest.mark.parametrize("unit", text.PASSAGES)
def test_words_are_those_of_the_unit_word(variant, unit):
    document = "Tom & JERRY's café\n\n-- 42nd STREET. \u4eba\u4eba, İ?\r\n*** \u0301x\n"
    joined = [token.split(b" ") for token in read(document, unit, "words")]
    assert [word for token in joined for word in token] == read(document, "word")


def test_a_line_without_words_has_no_token():
    sh = nd.Shingling("line", 1, normalize="words")
    assert sh.tokens("A\n---\n\u0301\n b!") == ["a", "b"]
    assert sh.tokens("*\n\n...") == [] and len(sh.fingerprints("*\n\n...")) == 0


def test_invalid_bytes_are_counted_once_by_words_and_kept_without():
    document = b"a\xff. \xff\n\xc3(\n\xed\xa0\x80 B"
    for unit in text.PASSAGES:
        counts = [shingler.fingerprints(shingler.batch([document]))[2]
                  for shingler in (nd.Shingling(unit, normalize=how).shingler for how in ("words", None))]  # fmt: skip
        assert counts == [text.invalid_bytes(document), 0]


def test_a_line_whose_symbol_is_zero_has_a_token():
    """Its words, 80 letters b or c, are a multiple of Q."""
    base = b"b" * 80

    def rest(word: bytes) -> int:
        return rabin.mod(int.from_bytes(word, "big"), rabin.TOKEN_POLYNOMIAL)

    pivots: list[tuple[int, int]] = []  # a change of the rest, and the places of c that make it; distinct highest bits
    for place in range(80):
        change, places = rest(b"\x01" + bytes(place)), 1 << 8 * place
        for pivot, others in pivots:
            if change ^ pivot < change:
                change, places = change ^ pivot, places ^ others
        if change:
            pivots = sorted([*pivots, (change, places)], reverse=True)
    left, word = rest(base), int.from_bytes(base, "big")
    for pivot, places in pivots:
        if left ^ pivot < left:
            left, word = left ^ pivot, word ^ places
    line = word.to_bytes(80, "big")
    assert left == rest(line) == 0
    for normalize in (None, "words"):
        assert read(b"." + line if normalize else line, "line", normalize) == [line]
