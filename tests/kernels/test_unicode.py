"""Canonical words and clusters beside those of Unicode (UAX #29), and the generated tables beside their data.

WordBreakTest.txt marks where UAX #29 allows a break. Its words, for this comparison, are the segments that contain a
letter or a number, ignorable code points removed and case folded. Canonical words are the same in every line of the
test that none of the rules in `DIFFERENCES` applies to, and differ in every other line.
"""

import importlib
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import ndcore as nd
from ndcore.reference import text

GENERATOR = Path(__file__).resolve().parents[2] / "tools" / "unicode_tables.py"

# One character per code point: A ALetter, H Hebrew_Letter, N Numeric, each only where also a letter or number (L, N) of
# ours, x where not; K Katakana, _ ExtendNumLet, : MidLetter, "," MidNum, "." MidNumLet, ' Single_Quote, " Double_Quote,
# J a joiner before a pictograph, + an Extend that is no mark. Other joiners, marks and ignorable code points are left
# out (UAX #29 ignores them after WB4, and here they are removed or join the word before), and all else is "-".
DIFFERENCES = {
    # rule: (pattern, lines of the test in which it applies)
    "WB6, WB7: apostrophe, full stop or colon between letters": (r"[AH][:.'][AHx]|x[:.'][AH]", 49),
    "WB7a: single quote after a Hebrew letter": (r"H'", 3),
    "WB7b, WB7c: double quote between Hebrew letters": (r'H"H', 1),
    "WB11, WB12: comma, full stop or apostrophe between numbers": (r"N[,.']N", 31),
    "WB13a, WB13b: underscore beside a letter, number or Katakana": (r"[AHNK]_|_[AHNK]", 110),
    "WB5, WB8-WB10: symbols and format characters taken for letters or numbers": (r"[AHN]x|x[AHN]", 35),
    "WB3c: joiner and pictograph after a letter": (r"[AHNK]J", 1),
}
LINES, COINCIDING = 1944, 1714

# Differences that no line of the test contains: (rule, text, words of UAX #29, canonical words).
UNTESTED_DIFFERENCES = [
    ("WB13: Katakana stay together", "アカ", ["アカ"], ["ア", "カ"]),
    ("WB13 is not for hiragana or Han: a tail is apart", "あー人々", ["あ", "ー", "人", "々"], ["あー", "人々"]),
    ("superscripts and fractions have Word_Break Other", "x²", ["x", "²"], ["x²"]),
    ("letters of Bopomofo and Yi are ALetter", "ㄅㄆꀀ", ["ㄅㄆꀀ"], ["ㄅ", "ㄆ", "ꀀ"]),
    ("WB4 is not for skin tones", "a\U0001f3ff", ["a\U0001f3ff"], ["a"]),
    ("WB4 is not for format characters that are not ignorable", "a\ufff9b", ["a\ufff9b"], ["a", "b"]),
]

# How many code points have a kind here (rows) that has another effect than their Word_Break property (columns).
CODE_POINTS = {
    ("ignorable", "Other"): 3770,  # unassigned, mostly
    ("ignorable", "ALetter"): 4,
    ("letter or number", "Other"): 914,
    ("spaceless", "ALetter"): 1342,
    ("spaceless", "Katakana"): 171,
    ("tail", "Other"): 11,
    ("tail", "ALetter"): 12,
    ("tail", "Katakana"): 22,
    ("tail", "Extend"): 2,
    ("separator", "ALetter"): 195,
    ("separator", "Numeric"): 13,
    ("separator", "Katakana"): 138,
    ("separator", "ExtendNumLet"): 11,
    ("separator", "MidLetter"): 9,
    ("separator", "MidNum"): 13,
    ("separator", "MidNumLet"): 7,
    ("separator", "Single_Quote"): 1,
    ("separator", "Double_Quote"): 1,
    ("separator", "Extend"): 5,
    ("separator", "Format"): 19,
}
SAME_EFFECT = {
    "ignorable": ("Extend", "Format", "ZWJ"),
    "mark": ("Extend",),
    "tail": (),
    "spaceless": ("Other",),
    "letter or number": ("ALetter", "Hebrew_Letter", "Numeric"),
    "separator": ("Other", "WSegSpace", "CR", "LF", "Newline", "Regional_Indicator"),
}


@pytest.fixture(scope="module")
def ucd() -> Path:
    """The folder of the Unicode data that the tables were made from."""
    folder = os.environ.get("NDCORE_DATA")
    if not folder:
        pytest.skip("NDCORE_DATA is not set: no Unicode data")
    pytest.importorskip("zstandard")
    return Path(folder, "vectors", f"unicode-{text.UNICODE_VERSION}")


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """tools/unicode_tables.py, for its reader of UCD files."""
    sys.path.insert(0, str(GENERATOR.parent))
    try:
        return importlib.import_module("unicode_tables")
    finally:
        sys.path.pop(0)


class Properties(NamedTuple):
    word_break: dict[int, str]
    pictographs: set[int]


@pytest.fixture(scope="module")
def properties(ucd: Path, generator: ModuleType) -> Properties:
    word_break: dict[int, str] = defaultdict(lambda: "Other")
    for where, name in generator.fields(generator.read_lines(ucd, "WordBreakProperty.txt")):
        word_break.update((c, name) for c in generator.code_range(where))
    pictographs: set[int] = set()
    for where, name in generator.fields(generator.read_lines(ucd, "emoji-data.txt")):
        if name == "Extended_Pictographic":
            pictographs.update(generator.code_range(where))
    return Properties(word_break, pictographs)


def segments_of(lines: list[str]) -> list[list[list[int]]]:
    """The segments of every line of WordBreakTest.txt or GraphemeBreakTest.txt."""
    return [
        [[int(c, 16) for c in segment.replace("×", " ").split()] for segment in line.strip("÷ ").split("÷")]
        for line in (line.split("#")[0].strip() for line in lines)
        if line
    ]


@pytest.fixture(scope="module")
def word_break_test(ucd: Path, generator: ModuleType) -> list[list[list[int]]]:
    return segments_of(generator.read_lines(ucd, "WordBreakTest.txt"))


def kind(c: int) -> str:
    if c in text.IGNORABLE:
        return "ignorable"
    if c in text.MARK:
        return "mark"
    if c in text.TAIL:
        return "tail"
    if c in text.SPACELESS:
        return "spaceless"
    return "letter or number" if c in text.LETTER_OR_NUMBER else "separator"


def code(c: int, following: int, properties: Properties) -> str:
    """The character that stands for `c` in the patterns of DIFFERENCES."""
    name = properties.word_break[c]
    if name == "ZWJ":
        return "J" if following in properties.pictographs else ""
    if kind(c) in ("ignorable", "mark"):
        return ""
    if name in ("ALetter", "Hebrew_Letter", "Numeric"):
        return name[0] if c in text.LETTER_OR_NUMBER else "x"
    codes = {
        "Katakana": "K", "ExtendNumLet": "_", "MidLetter": ":", "MidNum": ",", "MidNumLet": ".",
        "Single_Quote": "'", "Double_Quote": '"', "Extend": "+",
    }  # fmt: skip
    return codes.get(name, "-")


def rules(points: list[int], properties: Properties) -> list[str]:
    """The names of the DIFFERENCES that apply."""
    codes = "".join(code(c, after, properties) for c, after in zip(points, [*points[1:], 0], strict=True))
    return [name for name, (pattern, _) in DIFFERENCES.items() if re.search(pattern, codes)]


def uax29_words(segments: list[list[int]]) -> list[bytes]:
    seen = [[c for c in segment if c not in text.IGNORABLE] for segment in segments]
    return [text.encode(text.fold(word)) for word in seen if any(c in text.LETTER_OR_NUMBER for c in word)]


def test_words_are_those_of_uax29_unless_a_named_rule_applies(
    word_break_test: list[list[list[int]]], properties: Properties
) -> None:
    applied: Counter[str] = Counter()
    coinciding = 0
    for segments in word_break_test:
        points = [c for segment in segments for c in segment]
        names = rules(points, properties)
        applied.update(names)
        coinciding += not names
        same = text.tokens(text.encode(points)) == uax29_words(segments)
        assert same == (not names), (segments, names)
    assert applied == {name: count for name, (_, count) in DIFFERENCES.items()}
    assert (len(word_break_test), coinciding) == (LINES, COINCIDING)


@pytest.mark.parametrize(
    ("document", "canonical"),
    [
        ("can't", ["can", "t"]),
        ("can\u2019t", ["can", "t"]),
        ("a_b", ["a", "b"]),
        ("3.14", ["3", "14"]),
        ("1,000", ["1", "000"]),
        ('צה"ל', ["צה", "ל"]),
        ("u.s", ["u", "s"]),
        ("x\u24d0", ["x"]),
    ],
)
def test_one_word_of_uax29(document: str, canonical: list[str], properties: Properties) -> None:
    assert len(rules([ord(c) for c in document], properties)) == 1
    assert [word.decode() for word in text.tokens(document)] == canonical


@pytest.mark.parametrize(("rule", "document", "uax29", "canonical"), UNTESTED_DIFFERENCES)
def test_untested_differences(rule: str, document: str, uax29: list[str], canonical: list[str]) -> None:
    assert "".join(uax29) == document, rule
    assert [word.decode() for word in text.tokens(document)] == canonical != uax29


def test_effect_of_every_code_point(properties: Properties) -> None:
    differing = Counter(
        (kind(c), properties.word_break[c])
        for c in range(0x110000)
        if properties.word_break[c] not in SAME_EFFECT[kind(c)]
    )
    assert differing == CODE_POINTS


def test_clusters_are_those_of_the_published_test(ucd: Path, generator: ModuleType) -> None:
    """Every line, by the reference and by the kernel; no line holds U+0345 or U+24C2 (the next test)."""
    published = segments_of(generator.read_lines(ucd, "GraphemeBreakTest.txt"))
    assert len(published) == 766
    by_kernel = nd.Shingling("grapheme").tokens
    for segments in published:
        points = [c for segment in segments for c in segment]
        assert text.clusters(points) == segments
        assert by_kernel(text.encode(points)) == ["".join(map(chr, text.fold(segment))) for segment in segments]


def test_folding_changes_the_cluster_kind_of_two_code_points() -> None:
    """So clusters of the folded text are the folded clusters, but for U+0345, which becomes a letter, and U+24C2, the one
    pictograph with case."""
    def kind_of(c: int) -> tuple[str, bool, str | None]:
        return text.cluster_break(c), c in text.PICTOGRAPH, text.CONJUNCT_BREAK.get(c)

    assert [c for c, folded in text.FOLD.items() if kind_of(c) != kind_of(folded)] == [0x345, 0x24C2]


def test_generated_tables_are_up_to_date(ucd: Path) -> None:
    command = [sys.executable, str(GENERATOR), "--ucd", str(ucd), "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_versions_of_the_tables_agree() -> None:
    header = GENERATOR.parent.parent / "src" / "ndcore" / "core" / "unicode_tables.h"
    assert f'#define ND_UNICODE_VERSION "{text.UNICODE_VERSION}"\n' in header.read_text(encoding="ascii")
