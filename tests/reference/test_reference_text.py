"""The reference of canonical text against the definitions, the golden vectors and Unicode's normalization test."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ndcore.reference import text

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "text.json").read_text(encoding="utf-8"))


def strings(tokens: list[bytes]) -> list[str]:
    return [token.decode("utf-8") for token in tokens]


# ---------------------------------------------------------------------------- the definitions, clause by clause

WORDS = [
    # a run of letters, marks and numbers that begins with a letter or number
    ("A rose is a rose", ["a", "rose", "is", "a", "rose"]),
    ("x2 2x 007", ["x2", "2x", "007"]),
    ("", []),
    ("... !?", []),
    # a mark joins the word before it and is dropped where there is none
    ("e\u0301t", ["e\u0301t"]),
    ("\u0301et", ["et"]),
    ("e \u0301t", ["e", "t"]),
    # everything else, underscore and apostrophe included, separates
    ("don't snake_case 3.14", ["don", "t", "snake", "case", "3", "14"]),
    ("a\x00b", ["a", "b"]),
    # Default_Ignorable_Code_Point is removed
    ("a\u200bb\u200cc\u200dd\u00ade\ufefff", ["abcdef"]),
    ("e\u200b\u0301", ["e\u0301"]),
    # simple case folding
    ("ΣΊΣΥΦΟΣ", ["σίσυφοσ"]),
    ("STRAẞE Straße", ["straße", "straße"]),
    ("İI ı", ["İi", "ı"]),
    ("\u0345", ["ι"]),
    # spaceless words
    ("人3abc", ["人", "3abc"]),
    ("第3章", ["第", "3", "章"]),
    ("日本語のテスト", ["日", "本", "語", "の", "テ", "ス", "ト"]),
    # ... with the marks and the modifier letters that follow
    ("ที่นี่", ["ที่", "นี่"]),
    ("スーパー人々", ["スー", "パー", "人々"]),
    ("か\u3099ー\u3099", ["か\u3099ー\u3099"]),
    ("ㄇㄚˇ", ["ㄇ", "ㄚˇ"]),
    # ... and where they follow none
    ("aー", ["a", "ー"]),
    ("aˇ", ["aˇ"]),
    ("人 ー", ["人", "ー"]),
    ("人ʰ", ["人", "ʰ"]),
    # number categories other than Nl are not spaceless
    ("人㈠〇", ["人", "㈠", "〇"]),
    # every surrogate code point of a str separates, paired or not
    ("a\ud800b\udc00\ud800c\ud83d\ude00d", ["a", "b", "c", "d"]),
]


@pytest.mark.parametrize(("document", "expected"), WORDS)
def test_words(document: str, expected: list[str]) -> None:
    assert strings(text.tokens(document)) == expected
    assert strings(text.tokens(document.encode("utf-8", "surrogatepass"))) == expected


SPACELESS = {
    "Han": "人", "Hiragana": "あ", "Katakana": "ア", "Bopomofo": "ㄅ", "Yi": "\ua000", "Nushu": "\U0001b170",
    "Tangut": "\U00017000", "Khitan Small Script": "\U00018b00", "Thai": "ก", "Lao": "ກ", "Khmer": "ក",
    "Myanmar": "က", "Tai Le": "\u1950", "New Tai Lue": "\u1980", "Tai Tham": "\u1a20", "Tai Viet": "\uaa80",
    "Ahom": "\U00011700", "Javanese": "\ua984", "Balinese": "\u1b05",
}  # fmt: skip
SPACED = {
    "Latin": "a", "Greek": "α", "Cyrillic": "а", "Hangul": "한", "Devanagari": "क", "Tibetan": "ཀ", "Arabic": "ع",
    "Sundanese": "ᮃ", "Lisu": "ꓐ", "Mongolian": "ᠠ", "Cham": "ꨀ", "Buginese": "ᨀ", "Batak": "ᯀ",
}  # fmt: skip


@pytest.mark.parametrize("script", SPACELESS)
def test_every_listed_script_is_spaceless(script: str) -> None:
    c = SPACELESS[script]
    assert strings(text.tokens(f"{c}{c}x{c}")) == [c, c, "x", c]


@pytest.mark.parametrize("script", SPACED)
def test_other_scripts_run(script: str) -> None:
    c = SPACED[script]
    assert strings(text.tokens(f"{c}{c}x{c}")) == [f"{c}{c}x{c}"]


NFKC_WORDS = [
    ("ﬁne ＦＵＬＬ ① ㎏", ["fine", "full", "1", "kg"]),
    ("cafe\u0301 café", ["café", "café"]),
    ("℡ ᴬ", ["tel", "a"]),  # folded again
    ("e\u200d\u0301", ["é"]),  # removed first
    ("ｶﾞ", ["ガ"]),
    ("½", ["1", "2"]),
    ("\u1112\u1161\u11ab", ["한"]),
    ("İ I\u0307", ["İ", "i\u0307"]),
]


@pytest.mark.parametrize(("document", "expected"), NFKC_WORDS)
def test_words_nfkc(document: str, expected: list[str]) -> None:
    assert strings(text.tokens(document, normalize="NFKC")) == expected


def test_invalid_bytes_bound_nfkc_runs() -> None:
    assert text.tokens(b"e\xff\xcc\x81f", normalize="NFKC") == [b"e", b"f"]
    assert text.tokens(b"e\xff\xcc\x81", "char", "NFKC") == [b"e", b"\xcc\x81"]


ILL_FORMED = [
    (b"", 0),
    ("aé人\U0001f600\U0010ffff\ud7ff\ue000".encode(), 0),
    (b"\xff\xfe", 2),
    (b"\x80", 1),
    (b"a\xc3", 1),
    (b"a\xe2\x82", 2),
    (b"\xe2\x82a", 2),
    (b"\xf0\x9f\x98", 3),
    (b"\xf0\x9f\x98\xc3\xa9", 3),
    (b"\xc0\x80", 2),  # overlong
    (b"\xe0\x9f\xbf", 3),
    (b"\xf0\x8f\xbf\xbf", 4),
    (b"\xed\xa0\x80", 3),  # surrogates
    (b"\xed\xbf\xbf", 3),
    (b"\xf4\x90\x80\x80", 4),  # beyond U+10FFFF
    (b"\xf5\x80\x80\x80", 4),
]


@pytest.mark.parametrize(("data", "count"), ILL_FORMED)
def test_invalid_bytes(data: bytes, count: int) -> None:
    assert text.invalid_bytes(data) == count


def test_surrogates_of_a_str_are_three_invalid_bytes_each() -> None:
    assert text.invalid_bytes("a\ud800") == 3
    assert text.invalid_bytes("\ud83d\ude00") == 6


def test_decode_agrees_with_python_on_well_formed_text() -> None:
    scalars = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000][::37]
    assert text.decode("".join(map(chr, scalars)).encode()) == scalars


def test_chars() -> None:
    expected = ["a", " ", "\u200b", "!", "\r", "\n", "人", "e", "\u0301"]
    assert strings(text.tokens("A \u200b!\r\n人e\u0301", "char")) == expected
    assert text.tokens(b"A\xffB", "char") == [b"a", b"b"]
    assert strings(text.tokens("ﬁ E\u200d\u0301 ℡", "char", "NFKC")) == list("fi e\u200d\u0301 tel")


@pytest.mark.parametrize(("document", "left"), [
    ("Com-\n  PUter\u2010\u2028s", "computers"), ("a-\r\n\r\n1", "a1"), ("e\u0301-\x0bz", "éz"), ("a - b", "a-b"),
    ("a -\nb", "a-b"),
    ("a- b", "a-b"), ("a--\nb", "a--b"), ("a-", "a-"), ("a-\n", "a"), ("-\n-", "--"), ("!-\nb", "!-b"),
    ("co\u00ad\nop\u200b\ufeff", "coop"), ("a\u00a0\u3000\u1680\t\u0085b", "ab"), ("人-\n人", "人人"), ("ﬁ\u2011\nx", "fix"),
])  # fmt: skip
def test_scanned_text(document: str, left: str) -> None:
    assert "".join(strings(text.tokens(document, "char", "scan"))) == left


def test_invalid_bytes_bound_scanned_text() -> None:
    assert text.tokens(b"a-\xff\n-\nb", "char", "scan") == [b"a", b"-", b"-", b"b"]


def test_lines() -> None:
    data = b"\n One \r two\x0b\r\n\t\n\x0c\x0bthree\xff four\x85\x00"
    assert text.tokens(data, "line") == [b"One", b"two", b"three\xff four\x85\x00"]


def test_bytes() -> None:
    assert text.tokens(b"\x00A\xff", "byte") == [b"\x00", b"A", b"\xff"]
    assert text.tokens("é", "byte") == [b"\xc3", b"\xa9"]


@pytest.mark.parametrize(("unit", "normalize"), [("line", "NFKC"), ("byte", "NFKC"), ("word", "scan"), ("char", "words")])
def test_normalize_is_refused(unit: str, normalize: str) -> None:
    with pytest.raises(ValueError, match=unit):
        text.tokens("a", unit, normalize)


def test_unknown_unit_and_normalization() -> None:
    with pytest.raises(ValueError, match=r"'token'.*'word'"):
        text.tokens("a", "token")
    with pytest.raises(ValueError, match=r"'NFD'.*'NFKC'"):
        text.tokens("a", "word", "NFD")


def test_digests() -> None:
    assert text.canonical([b"ab", b""]) == b"\0\0\0\0\0\0\0\x02ab\0\0\0\0\0\0\0\0"
    assert text.digest(b"x") == hashlib.blake2b(b"x", digest_size=16).digest()
    assert text.identical_digest("é") == text.digest(b"\xc3\xa9")
    assert text.identical_digest("\ud83d\ude00") != text.identical_digest("\U0001f600")
    assert text.canonical_digest("A rose, is") == text.canonical_digest("a ROSE is!")
    assert text.canonical_digest("ab c") != text.canonical_digest("a bc")
    assert text.canonical_digest("ab", "char") == text.canonical_digest("a b")


# ---------------------------------------------------------------------------- golden vectors


def test_vectors_are_of_this_unicode_version() -> None:
    assert VECTORS["unicode_version"] == text.UNICODE_VERSION


@pytest.mark.parametrize("vector", VECTORS["vectors"], ids=lambda v: f"{v['unit']}-{v['normalize']}-{v['note']}")
def test_vector(vector: dict[str, object]) -> None:
    data = bytes.fromhex(str(vector["input"]))
    unit, normalize = str(vector["unit"]), vector["normalize"]
    assert normalize is None or isinstance(normalize, str)
    assert [token.hex() for token in text.tokens(data, unit, normalize)] == vector["tokens"]
    assert text.invalid_bytes(data) == vector["invalid_bytes"]
    assert text.identical_digest(data).hex() == vector["digest"]
    assert text.canonical_digest(data, unit, normalize).hex() == vector["canonical_digest"]


# ---------------------------------------------------------------------------- NormalizationTest.txt


@pytest.fixture(scope="module")
def normalization_test() -> list[tuple[bool, list[list[int]]]]:
    """Rows of NormalizationTest.txt: is it in part 1, and the five columns."""
    folder = os.environ.get("NDCORE_DATA")
    if not folder:
        pytest.skip("NDCORE_DATA is not set: no Unicode data")
    zstandard = pytest.importorskip("zstandard")
    path = Path(folder, "vectors", f"unicode-{text.UNICODE_VERSION}", "NormalizationTest.txt.zst")
    with path.open("rb") as stream:
        lines = zstandard.ZstdDecompressor().stream_reader(stream).read().decode("utf-8").splitlines()
    return list(_rows(lines))


def _rows(lines: list[str]) -> Iterator[tuple[bool, list[list[int]]]]:
    part = ""
    for line in lines:
        content = line.split("#")[0].strip()
        if content.startswith("@"):
            part = content
        elif content:
            yield part == "@Part1", [[int(c, 16) for c in column.split()] for column in content.split(";")[:5]]


def test_normalization_test(normalization_test: list[tuple[bool, list[list[int]]]]) -> None:
    assert len(normalization_test) == 20034
    for _, columns in normalization_test:
        for column in columns:
            assert text.nfkc(column) == columns[3]
            assert text.nfkd(column) == columns[4]


def test_code_points_outside_part_1_are_their_own_nfkc(normalization_test: list[tuple[bool, list[list[int]]]]) -> None:
    listed = {columns[0][0] for in_part_1, columns in normalization_test if in_part_1}
    others = [c for c in range(0x110000) if c not in listed and not 0xD800 <= c < 0xE000]
    assert all(text.nfkc([c]) == [c] for c in others)
