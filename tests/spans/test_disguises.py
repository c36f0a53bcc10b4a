"""Disguises of a test question: which are found without options, which with them, and the places of each."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import ndcore as nd
from ndcore.reference import repeats as reference
from ndcore.text.folding import Folding

QUESTION = "which river flows slowly through the old town before it reaches the lower lake again"
ALL = ("entities", "letters", "accents")
NFKC = nd.Shingling(normalize="NFKC")


def inside(mark: str) -> Callable[[str], str]:
    return lambda text: " ".join(f"{word[:2]}{mark}{word[2:]}" for word in text.split())


def letters(table: dict[str, str]) -> Callable[[str], str]:
    return lambda text: text.translate(str.maketrans(table))


WIDE = {chr(c): chr(c + 0xFEE0) for c in range(97, 123)}
BOLD = {chr(c): chr(c - 97 + 0x1D41A) for c in range(97, 123)}
CIRCLED = {chr(c): chr(c - 97 + 0x24D0) for c in range(97, 123)}

# Where each is found: "" without options; "fold" with fold=ALL; "NFKC" with normalize="NFKC"; "both" with both; "never".
DISGUISES: dict[str, tuple[str, Callable[[str], str]]] = {
    "capitals": ("", str.upper), "line breaks": ("", lambda text: text.replace(" ", "\r\n")),
    "punctuation": ("", lambda text: text.replace(" ", " — ")),
    "no-break spaces": ("", lambda text: text.replace(" ", "\xa0")),
    "zero width space": ("", inside("\u200b")), "soft hyphen": ("", inside("\xad")), "word joiner": ("", inside("\u2060")),
    "direction marks": ("", inside("\u202e")), "variation selector": ("", inside("\ufe0f")),
    "tag characters": ("", inside("\U000e0061")), "grapheme joiner": ("", inside("\u034f")),
    "numeric references": ("fold", lambda text: text.replace("r", "&#114;")),
    "hexadecimal references": ("fold", lambda text: text.replace("e", "&#x65;")),
    "named references": ("fold", lambda text: text.replace("o", "&oacute;")),
    "references escaped twice": ("fold", lambda text: text.replace(" ", "&amp;nbsp;").replace("e", "&amp;#101;")),
    "Cyrillic letters": ("fold", letters({"a": "а", "e": "е", "o": "о", "s": "ѕ", "i": "і"})),
    "Greek letters": ("fold", letters({"o": "ο", "v": "ν", "i": "ι", "p": "ρ"})),
    "Latin letters that look alike": ("fold", letters({"i": "ı", "g": "ɡ", "a": "ɑ"})),
    "accents": ("fold", letters({"e": "é", "o": "ö", "a": "å"})),
    "combining accents": ("fold", lambda text: text.replace("o", "o\u0308").replace("e", "e\u0301")),
    "many marks": ("fold", lambda text: text.replace("t", "t\u0336\u0301\u0323")),
    "Cyrillic letters with accents": ("fold", letters({"e": "ё", "y": "ў"})),
    "wide letters": ("NFKC", letters(WIDE)), "bold letters of mathematics": ("NFKC", letters(BOLD)),
    "circled letters": ("NFKC", letters(CIRCLED)), "ligatures": ("NFKC", lambda text: text.replace("fl", "ﬂ")),
    "wide letters with accents": ("both", lambda text: letters(WIDE)(text).replace("ｏ", "ｏ\u0308")),
    "spaced letters": ("never", " ".join), "digits for letters": ("never", letters({"o": "0", "e": "3", "i": "1"})),
    "hyphenated at line ends": ("never", inside("-\n")), "tags of HTML inside words": ("never", inside("<b></b>")),
    "Cherokee and Armenian letters": ("never", letters({"o": "օ", "h": "Ꮒ"})),
}


@pytest.mark.parametrize("name", DISGUISES)
def test_where_a_disguise_is_found(name):
    where, disguise = DISGUISES[name]
    page = f"Quiz night. {disguise(QUESTION)} — the end."
    options = {"": {}, "fold": {"fold": ALL}, "NFKC": {"shingling": NFKC}, "both": {"fold": ALL, "shingling": NFKC}}
    found = {key: bool(nd.contamination([QUESTION], [page], **how).contaminated()[0]) for key, how in options.items()}
    expected = {"": set(options), "fold": {"fold", "both"}, "NFKC": {"NFKC", "both"}, "both": {"both"}}.get(where, set())
    assert {key for key, is_found in found.items() if is_found} == expected
    for kind in ("str", "bytes"):
        given = page if kind == "str" else page.encode()
        if where != "never":
            result = nd.contamination([QUESTION], [given], **options[where or "fold"])
            left = next(result.cleaned([given]))
            left = left if isinstance(left, str) else left.decode()
            assert left.split() == ["Quiz", "night.", "—", "the", "end."]


def test_items_are_folded_too():
    assert nd.contamination(["caf&eacute; crème"], ["cafe creme"], fold=["entities", "accents"]).covered.tolist() == [2]
    assert nd.contamination(["cafe creme"], [b"caf&eacute; cr\xc3\xa8me \xff"], fold=ALL).covered.tolist() == [2]


def test_as_the_reference_on_folded_texts():
    """A thousand cases: what is found equals what is found in texts that were folded before."""
    rng, folding = random.Random(5), Folding(ALL)
    words = ["а", "a", "é", "e", "&eacute;", "e\u0301", "b", "&amp;eacute;", "с", "&foo;"]
    for _ in range(1000):
        texts = [" ".join(rng.choice(words) for _ in range(rng.randrange(9))) for _ in range(5)]
        found = nd.contamination(texts[:2], texts[2:], 2, fold=ALL, threads=1)
        tokens = [nd.Shingling().tokens(folding.fold(text)) for text in texts]
        expected = reference.contamination(tokens[:2], tokens[2:], 2)
        assert [row.covered for row in expected] == found.covered.tolist()


@pytest.mark.parametrize(("given", "error", "message"), [
    ({"fold": "letters"}, TypeError, "give a list"), ({"fold": ["case"]}, ValueError, "got 'case'"),
    ({"fold": ["letters"], "shingling": nd.Shingling("char")}, ValueError, "fold=… is for words, and unit is 'char'"),
])
def test_refusals(given, error, message):
    with pytest.raises(error, match=message):
        nd.contamination(["a"], ["a"], **given)
