"""Folding: references, letters, accents; places of the original; what may not change."""

from __future__ import annotations

import html
import random
import tracemalloc
import unicodedata

import pytest

from ndcore.text.folding import LOOK_ALIKE, Folding

ALL = ("entities", "letters", "accents")
PIECES = [*"ab éèëаеёсорσςΣİıﬁ&; \u0301\u0308\u200b漢𝛂ä\udc80", "&eacute;", "&#1077;", "&amp;eacute;", "&foo;", "&amp;",
          "&#0;"]


@pytest.mark.parametrize(("kind", "text", "folded"), [
    ("entities", "caf&eacute; &#x43;&#65; &nbsp;R&amp;D", "café CA \xa0R&D"),
    ("entities", "&amp;amp;eacute; &amp;quot; &amp;foo; R&amp;D;", "é \" &foo; R&D;"),
    ("entities", "&foo; &eacute &#xD800; &#0; &#1114112; &; &#;", "&foo; &eacute &#xD800; &#0; &#1114112; &; &#;"),
    ("entities", "&fjlig;", "fj"),
    ("entities", f"&#{'0' * 300}65; &#X0000000042; &#00; &#x000110000;", "A B &#00; &#x000110000;"),
    ("entities", "&#138;&#x9C;&#150; &#129;", "Šœ– \x81"),
    ("letters", "сор Αθήνα ӏӀ 𝛂 ёж", "cop aθh\u0301va ll a ëж"), ("letters", "naïve été 漢字 ﬁ", "naïve été 漢字 ﬁ"),
    ("accents", "Ångström été e\u0301te\u0301 Ἀθῆναι ёлка", "Angstrom ete ete Αθηναι елка"),
    ("accents", "हिन्दी ภาษาไทย שָׁלוֹם がぎ 각", "हिन्दी ภาษาไทย שָׁלוֹם がぎ 각"),
])  # fmt: skip
def test_each_kind(kind, text, folded):
    assert Folding([kind]).fold(text) == folded
    assert Folding([kind]).fold(text.encode()) == folded.encode()


def test_references_are_as_the_standard_library_has_them():
    """Those with a semicolon whose characters exist; of several in a row each is one."""
    text = "&lt;&Auml;&#228;&#xe4;&NotEqualTilde;&hellip;&thinsp;&#0000000000065;"
    text += "".join(f"&#{i};" for i in range(128, 160))
    assert Folding(["entities"]).fold(text) == html.unescape(text)


def test_the_table_has_small_forms_and_letters_of_ascii():
    for letter, look in LOOK_ALIKE.items():
        assert letter.casefold() == letter and look in "abcdefghijklmnopqrstuvwxyz" and not letter.isascii()
        assert unicodedata.name(letter).split()[0] in ("GREEK", "CYRILLIC", "LATIN")
    both = {letter.upper() for letter in LOOK_ALIKE if len(letter.upper()) == 1 and not letter.upper().isascii()}
    assert {unicodedata.name(letter).split()[0] for letter in both} == {"GREEK", "CYRILLIC", "LATIN"}
    for letter in both:
        assert Folding(["letters"]).fold(letter).lower() == Folding(["letters"]).fold(letter.lower())


@pytest.mark.parametrize("kinds", [("entities",), ("letters",), ("accents",), ALL])
def test_characters_know_where_they_come_from(kinds):
    """A thousand texts of awkward pieces, as str and as bytes: each character of the result is a range of the original."""
    rng, folding = random.Random(len(kinds)), Folding(kinds)
    for _ in range(1000):
        text = "".join(rng.choice(PIECES) for _ in range(rng.randrange(12)))
        for given in (text, text.encode("utf-8", "surrogatepass") + b"\xff"):
            traced, folded = folding.trace(given), folding.fold(given)
            points = given.decode("utf-8", "surrogateescape") if isinstance(given, bytes) else given
            if traced is None:
                assert folded == given
                continue
            assert traced.text == (folded.decode("utf-8", "surrogateescape") if isinstance(folded, bytes) else folded)
            ranges = list(zip(traced.starts.tolist(), traced.ends.tolist(), strict=True))
            assert len(ranges) == len(traced.text) and ranges == sorted(ranges)
            for character, (start, end) in zip(traced.text, ranges, strict=True):
                assert start < end <= len(points)
                assert points[start:end] == character or character in Folding(kinds).fold(points[start:end])


@pytest.mark.thread_unsafe(reason="memory of the process")
def test_a_text_of_accents_alone_is_traced_in_memory_of_its_size():
    """At most 100 bytes for each character, however many of them change."""
    folding, text = Folding(ALL), "e\u0301" * 50_000
    folding.trace(text)
    tracemalloc.start()
    traced = folding.trace(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert traced is not None and traced.text == "e" * 50_000 and peak < 100 * len(text)


def test_what_is_equal_stays_equal_and_nothing_is_folded_twice():
    folding = Folding(ALL)
    for point in range(0x80, 0x3000):
        character = chr(point)
        once = folding.fold(character)
        assert folding.fold(once) == once
        if len(character.upper()) == 1:
            assert folding.fold(character.upper()).casefold() == once.casefold() or character.upper().lower() != character


def test_plain_text_is_returned_as_it_is():
    for text in ("a & b; c", b"plain", "漢字"):
        assert Folding(["letters", "accents"]).fold(text) == text
    assert Folding(ALL).trace("plain") is None and Folding(ALL).fold(text := "plain") is text


@pytest.mark.parametrize(("kinds", "error", "message"), [
    ("accents", TypeError, "fold is 'accents'; give a list of entities, letters, accents"),
    (["marks"], ValueError, "fold must be one of entities, letters, accents, got 'marks'"),
    ([1], ValueError, "got 1"),
])
def test_refusals(kinds, error, message):
    with pytest.raises(error, match=message):
        Folding(kinds)


def test_names():
    assert Folding(["accents", "entities"]) == Folding(["entities", "accents"]) != Folding(["letters"])
    assert repr(Folding(["accents", "entities"])) == "Folding(['entities', 'accents'])"
    assert not Folding([]) and hash(Folding([])) == hash(Folding(()))
