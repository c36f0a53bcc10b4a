"""Canonical tokens through the kernel: typed vectors, the reference, every code point, seams between pieces."""

from __future__ import annotations

import functools
import hashlib
import random
import subprocess
import sys

import numpy as np
import pytest
from generated import AWKWARD, LENGTHS, texts
from hypothesis import given, settings
from hypothesis import strategies as st

import ndcore as nd
from ndcore import _text
from ndcore._pipeline import Shingler
from ndcore.choices import UNITS
from ndcore.reference import shingling, text
from ndcore.text.shingling import TOKEN_POLYNOMIAL
from ndcore.text.units import kernel_unit, normal_form

KERNEL = "text"
KINDS = [("word", None), ("word", "NFKC"), ("char", None), ("char", "NFKC"), ("grapheme", None), ("grapheme", "NFKC"),
         ("char", "scan"), ("grapheme", "scan"), ("line", None), ("paragraph", None), ("sentence", None), ("line", "words"),
         ("byte", None)]  # fmt: skip


def shingler(unit: str, normalize: str | None) -> Shingler:
    form = normal_form(unit, normalize)
    return Shingler(kernel_unit(unit, normalize), 1, True, False, nd.POLYNOMIAL, TOKEN_POLYNOMIAL, form)


def read(document: str | bytes, unit: str, normalize: str | None) -> tuple[list[bytes], int, bytes]:
    """(tokens, invalid bytes, canonical digest) of a document, by the kernel."""
    ours = shingler(unit, normalize)
    batch = ours.batch([document])
    [tape] = ours.canonical(batch, bytes)
    [digest] = ours.canonical(batch, lambda data: hashlib.blake2b(data, digest_size=16).digest())
    found, at = [], 0
    while at < len(tape):
        end = at + 8 + int.from_bytes(tape[at : at + 8], "big")
        found.append(tape[at + 8 : end])
        at = end
    fingerprints, [_, count], invalid = ours.fingerprints(batch)
    assert count == len(found)
    assert fingerprints.tolist() == expected_fingerprints(found, document, unit)
    return found, invalid, digest


fingerprint = functools.cache(lambda token: shingling.of_tokens([token], 1)[0])


def expected_fingerprints(tokens: list[bytes], document: str | bytes, unit: str) -> list[int]:
    """Of shingles of one token each: the kernel reads text in another way where it keeps no tokens."""
    return shingling.of_bytes(text.to_bytes(document), 1) if unit == "byte" else [fingerprint(token) for token in tokens]


# ---------------------------------------------------------------------------------------------- literals


@pytest.mark.parametrize("stem", ["text", "scan"])
def test_vectors(vectors, variant, stem):
    data = vectors(stem)
    assert data["unicode_version"] == _text.UNICODE_VERSION
    for case in data["vectors"]:
        document = bytes.fromhex(case["input"])
        found, invalid, digest = read(document, case["unit"], case["normalize"])
        assert [token.hex() for token in found] == case["tokens"], case
        assert digest.hex() == case["canonical_digest"], case
        if case["unit"] in ("word", "char", "grapheme"):
            assert invalid == case["invalid_bytes"], case


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("A rose is a ROSE.", ["a", "rose", "is", "a", "rose"]),
        ("人3abc", ["人", "3abc"]),
        ("第3章", ["第", "3", "章"]),
        ("don't snake_case x²", ["don", "t", "snake", "case", "x²"]),
        ("e\u0301te\u0301 \u0301x", ["e\u0301te\u0301", "x"]),
        ("co\u00adope\u200brate", ["cooperate"]),
        ("Straße ẞ ΣΑΣ", ["straße", "ß", "σασ"]),
        ("a\ud800b", ["a", "b"]),
        (b"a\xffb\xc3", ["a", "b"]),
        ("😀!", []),
    ],
)
def test_words_typed_by_hand(variant, document, words):
    assert nd.Shingling().tokens(document) == words


def test_other_units_typed_by_hand(variant):
    assert nd.Shingling(unit="char").tokens("Ab. \u00ad") == ["a", "b", ".", " ", "\u00ad"]
    assert nd.Shingling(unit="char").tokens(b"a\xffb") == ["a", "b"]
    assert nd.Shingling(unit="grapheme").tokens("E\u0301\r\n🇩🇪!") == ["e\u0301", "\r\n", "🇩🇪", "!"]
    assert nd.Shingling(unit="line").tokens("  A b\r\n\r\n\tc\rd\x0b\n e") == [b"A b", b"c", b"d", b"e"]
    assert nd.Shingling(unit="paragraph").tokens("  A\r\nb \r\n\t\r\nc") == [b"A\r\nb", b"c"]
    assert nd.Shingling(unit="sentence").tokens("Is it? It is.\nA") == [b"Is it?", b"It is.", b"A"]
    assert nd.Shingling(unit="sentence", normalize="words").tokens("Is it? IT -- is.\n*") == ["is it", "it is"]
    assert nd.Shingling(unit="byte").tokens("é!") == [b"\xc3", b"\xa9", b"!"]
    assert nd.Shingling(normalize="NFKC").tokens("ﬁne ①") == ["fine", "1"]
    assert "".join(nd.Shingling("char", normalize="scan").tokens("Of-\n Fi\u200bce -\nx-y")) == "office-x-y"
    assert nd.Shingling(unit=str.split).tokens("Kept As-is") == [b"Kept", b"As-is"]


def test_invalid_bytes_are_counted(variant):
    for document, count in [(b"\xff", 1), (b"\xc3", 1), (b"\xe2\x82", 2), (b"\xf0\x9f\x98\x80", 0), (b"\xc0\x80", 2)]:
        assert read(document, "word", None)[1] == count
        assert nd.near_duplicates([document, b"\xfe"]).invalid_bytes == count + 1


# ---------------------------------------------------------------------------------------------- oracle


@pytest.mark.parametrize(("unit", "normalize"), KINDS)
@given(document=texts)
@settings(max_examples=100)
def test_as_the_reference(variant, unit, normalize, document):
    found, invalid, digest = read(document, unit, normalize)
    assert found == text.tokens(document, unit, normalize)
    assert digest == text.canonical_digest(document, unit, normalize)
    if unit in ("word", "char", "grapheme"):
        assert invalid == text.invalid_bytes(document)


@given(st.text("aBz09 _-.\n", max_size=300) | st.text("aB1 é_\u0301人カー😀\u00ad", max_size=200), st.integers(0, 64))
@settings(max_examples=200)
def test_long_texts_as_the_reference(variant, document, offset):
    """ASCII is read 64 bytes at a time: words, blanks and other scripts across those steps."""
    document = "x" * offset + document
    assert read(document, "word", None)[0] == text.tokens(document, "word", None)


SCRIPTS = [
    "Русский ТЕКСТ, слова и ещё слово", "हर व्यक्ति को अधिकार है", "人人生而自由，在尊严上。", "すべてのカードーは々生れ",
    "ŠÉTÉ über garçon œuvre", "Tiếng Việt có dấu ở chữ", "ΑΒΓ ἀρετῆς λόγος", "ไทยเป็นภาษา", "𐐀𐐨 𠀀𠀁 a😀b",
]  # fmt: skip


@pytest.mark.parametrize("sample", SCRIPTS)
def test_damaged_scripts_as_the_reference(variant, sample):
    """Other scripts are read 8 bytes at a time: a byte too many or too few, at every place."""
    document = sample.encode()
    for at in range(len(document)):
        for instead in (b"", b"\xff", b"\x80", b"\xe4\xba", b"\xc0\x80", b"\xed\xa0\x80", b"\xc2\xad", b"z"):
            damaged = document[:at] + instead + document[at + 1 :]
            found, invalid, _ = read(damaged, "word", None)
            assert (found, invalid) == (text.tokens(damaged, "word", None), text.invalid_bytes(damaged)), (at, instead)


@given(st.lists(st.tuples(st.sampled_from(SCRIPTS), st.integers(0, 40), st.integers(0, 40)), max_size=12))
def test_mixed_scripts_as_the_reference(variant, pieces):
    document = "".join(sample[start : start + length] for sample, start, length in pieces)
    assert read(document, "word", None)[0] == text.tokens(document, "word", None)
    assert read(document.encode()[:-1], "word", None)[0] == text.tokens(document.encode()[:-1], "word", None)


@given(st.binary(max_size=40), st.sampled_from([TOKEN_POLYNOMIAL, nd.POLYNOMIAL, nd.random_irreducible(64, 77)]))
def test_symbols_as_the_reference(variant, token, polynomial):
    assert _text.symbol(token, polynomial) == shingling.symbol(token, polynomial)


# ---------------------------------------------------------------------------------------------- edges

PLANES = [range(0x3500), range(0x9F00, 0xAC80), range(0xD780, 0x11800), range(0x16A00, 0x17100), range(0x18C00, 0x19000),
          range(0x1AFE0, 0x1B400), range(0x1D400, 0x1F800), range(0x2F700, 0x2FB00), range(0xDFF00, 0xE0200)]  # fmt: skip


def between_letters(points: range) -> str:
    return " ".join(f"a{chr(c)}b {chr(c)}c" for c in points)


@pytest.mark.parametrize("points", PLANES, ids=lambda points: f"{points.start:X}")
def test_code_points_between_letters(variant, points):
    """Where categories and scripts change: the planes and blocks that have letters, a part of the long ones."""
    for start in range(points.start, points.stop, 64):
        document = between_letters(range(start, min(start + 16, points.stop)))
        assert read(document, "word", None)[0] == text.tokens(document, "word", None), hex(start)


@pytest.mark.slow
@pytest.mark.parametrize(("unit", "normalize"), [("word", None), ("word", "NFKC")])
def test_every_assigned_code_point(variant, unit, normalize):
    for points in (range(0x3400), range(0xA000, 0xAC00), range(0xF900, 0x12550), range(0x1D000, 0x1F000)):
        for start in range(points.start, points.stop, 1024):
            document = " ".join(f"a{chr(c)}b" for c in range(start, min(start + 1024, points.stop)))
            assert read(document, unit, normalize)[0] == text.tokens(document, unit, normalize), hex(start)


@pytest.mark.parametrize("unit", UNITS)
def test_every_length(variant, unit):
    for n in (n for n in LENGTHS if unit != "sentence" or n < 300):  # of which the reference takes quadratic time
        for letter in ("x", "é", "人", "😀", "\n", " "):
            document = letter * n
            assert read(document, unit, None)[0] == text.tokens(document, unit, None), (letter, n)
            cut = document.encode()[: max(0, len(document.encode()) - 1)]  # the last code point is cut
            assert read(cut, unit, None)[0] == text.tokens(cut, unit, None), (letter, n)


@pytest.mark.parametrize("n", [65534, 65535, 65536, 65537])
def test_normalisation_works_across_its_pieces(variant, n):
    """The kernel normalises pieces of 65536 bytes: marks at a seam compose, reorder and stay with their letter."""
    for tail in ("e\u0323\u0301 x", "\u0301\u0323", "\u1100\u1161\u11a8 y", "é" * 30 + "a"):
        document = "w " * ((n - 3) // 2) + "q" * ((n - 3) % 2) + tail + " end"
        assert read(document, "word", "NFKC")[0][-8:] == text.tokens(document[-200:], "word", "NFKC")[-8:]
        assert nd.Shingling(normalize="NFKC").tokens(document)[:3] == ["w", "w", "w"]


@pytest.mark.parametrize("n", [65533, 65534, 65535, 65536, 65537])
def test_a_hyphen_is_held_back_across_pieces(variant, n):
    for tail in ("a-\nb", "a- b", "a‐\u2028b", "a-b", "a-", "a- \n", "--\nb"):
        expected = [b"w"] * (n - 12) + text.tokens("w" * 10 + tail, "char", "scan")
        assert read("w" * (n - 2) + tail, "char", "scan")[0] == expected, tail


def test_white_space_is_what_the_reference_says(variant):
    for c in {*range(0x21), 0x7F, 0x85, 0xA0, 0x1680, 0x180E, *range(0x2000, 0x2070), 0x3000, 0xFEFF}:
        document = f"a-{chr(c)}b{chr(c)}\u2011\nc"
        assert read(document, "char", "scan")[0] == text.tokens(document, "char", "scan"), hex(c)


def test_normalisation_of_a_long_run_without_ascii(variant):
    document = "か\u3099\u0323é" * 12000
    expected = text.tokens("か\u3099\u0323é" * 3, "word", "NFKC")
    found = read(document, "word", "NFKC")[0]
    assert len(expected) == 6
    assert found == expected[:2] * 12000


@pytest.mark.parametrize("c", AWKWARD, ids=hex)
def test_awkward_neighbours(variant, c):
    """Each awkward code point before and after each other one."""
    for normalize in (None, "NFKC"):
        document = " | ".join(f"{chr(c)}{chr(d)} a{chr(c)}{chr(d)}b {chr(d)}{chr(c)}1" for d in AWKWARD)
        assert read(document, "word", normalize)[0] == text.tokens(document, "word", normalize)


@pytest.mark.parametrize(
    "middle", [" ", "é", "人", "😀", b"\xff", b"\xe2\x82", "\u0301", "\u00ad", "K", "\0", "_", "Z9", " x "], ids=repr
)
def test_every_place_within_steps_of_64_bytes(variant, middle):
    middle = middle if isinstance(middle, bytes) else middle.encode()
    for at in range(131):
        for before, after in ((b"a" * at, b"b" * 70), (b"a " * (at // 2) + b"c" * (at % 2), b" b" * 35), (b" " * at, b"")):
            document = before + middle + after
            assert read(document, "word", None)[0] == text.tokens(document, "word", None), (at, document)


PIECES = [
    *"aZ 7\n\0_é", "\r\n", "\r", "ASCII text ", "of Words, ", "e\u0301", "\u0323", "\u00ad", "\u200d", "가", "각", "\u11a8",
    "\u1100\u1161", "ﬁ", "Å", "①", "К", "слово ", "नि", "\u093c", "ক\u09be", "人", "。", "カ\u3099", "😀", "𐐀",
    "ŒUVRE ", "Việt ", "한국어 ", "-", "-\n", "‐\r\n ", "-\u2028", "\u1680", "\u0085", "\u3000",
]  # fmt: skip
DAMAGE = [b"", b"\xff", b"\xc3", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x9f", b"\x80"]


@pytest.mark.parametrize(("unit", "normalize"), KINDS[:8])
def test_mixed_text_as_the_reference(variant, unit, normalize):
    """ASCII beside marks, jamo, ignorable and invalid bytes, at all places of steps of 8, 16 and 64 bytes."""
    rng = random.Random(20261122)
    for place in range(0, 140, 3):
        mixed = "".join(rng.choices(PIECES, k=rng.randrange(1, 40))).encode()
        document = b"x. " * (place // 3) + b"y" * (place % 3) + mixed + rng.choice(DAMAGE) + b"End" * rng.randrange(30)
        found, invalid, _ = read(document, unit, normalize)
        assert (found, invalid) == (text.tokens(document, unit, normalize), text.invalid_bytes(document)), document


def test_documents_of_ascii_and_others_are_normalized_in_one_batch(variant):
    documents = ["PLAIN ascii", "ﬁne", b"BYTES of ascii", b"\xef\xac\x81ve", "", "é"]
    for batch in (documents, [text.to_bytes(document) for document in documents]):
        assert [nd.Shingling(normalize="NFKC").tokens(document) for document in batch] == [
            ["plain", "ascii"], ["fine"], ["bytes", "of", "ascii"], ["five"], [], ["é"]]  # fmt: skip
    ours = shingler("word", "NFKC")
    tapes = ours.canonical(ours.batch(documents), bytes)
    assert tapes == [text.canonical(text.tokens(document, "word", "NFKC")) for document in documents]


@pytest.mark.parametrize("n", [*range(1, 20), 31, 32, 33, 62, 63, 64, 65, 66, 127, 128, 129, 200])
def test_words_of_every_length_at_every_place(variant, n):
    """Symbols of at most 8 bytes are the bytes, longer ones are reduced; either may lie across a step."""
    for at in range(66):
        document = "." * at + "q" * n + " " + "Rs7" * (n // 3 + 1)
        assert read(document, "word", None)[0] == [b"q" * n, b"rs7" * (n // 3 + 1)]


def test_documents_of_a_batch_do_not_touch(variant):
    documents = ["", "a", b"\xc3", "", "b c", b"\xa9 d"]  # é is cut between two documents
    values, offsets, invalid = shingler("word", None).fingerprints(shingler("word", None).batch(documents))
    assert offsets.tolist() == [0, 0, 1, 1, 1, 3, 4]
    assert invalid == 2
    expected = [shingling.of_tokens([token], 1)[0] for token in (b"a", b"b", b"c", b"d")]
    np.testing.assert_array_equal(values, np.array(expected, np.uint64))


@pytest.mark.parametrize("unit", [
    "\u304b\u3099", "\u1112\u1161\u11ab\u304b\u3099\u3042", "\u4e00\u0301\u0323\ufdfa", "\uac00\u11a8",
])
@pytest.mark.parametrize("before", ["", "\u4e00", "\u00e9"])
def test_nfkc_of_long_text_without_ascii_is_that_of_its_parts(unit, before):
    times = 300_000 // len(unit.encode())
    whole = _text.normalize((before + unit * times).encode(), True)
    assert whole == _text.normalize(before.encode(), True) + _text.normalize(unit.encode(), True) * times


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of address space are tested on Linux")
def test_nfkc_of_long_text_without_ascii_reserves_little():
    script = (
        "import resource\n"
        "from ndcore._text import normalize\n"
        "text = '\\u4e00\\u4e8c'.encode() * 2_000_000\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + 200_000_000,) * 2)\n"
        "assert normalize(text, True) == text\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_canonical_bytes_of_many_documents_are_hashed_in_their_order():
    """Short ones wait for others, long ones do not, and empty ones count."""
    few = ["", "short", "x" * 60_000, "y" * 60_000, "words " * 20_000, ""]
    texts = [*few, *(f"text {i}" for i in range(1500)), "z" * 140_000]
    shingling = nd.Shingling()
    expected = [shingling.shingler.canonical(shingling.batch([text]), bytes)[0] for text in texts]
    assert [len(tape) for tape in expected[:5]] == [0, 13, 60_008, 60_008, 13 * 20_000]
    batch = shingling.batch(texts)
    assert shingling.shingler.canonical(batch, bytes) == expected
    positions = np.array([1509 - 4, 4, 4, 0, 3, *range(1505)])
    assert shingling.shingler.canonical(batch, bytes, positions) == [expected[i] for i in positions]
    for wrong in (-1, len(texts)):
        with pytest.raises(IndexError, match=f"document {wrong} of {len(texts)}"):
            shingling.shingler.canonical(batch, bytes, np.array([0, wrong]))
