"""Keys in which documents must agree: tokens with digits, titles, negations, and values of callables."""

import dataclasses
import enum
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore._text import UNICODE_VERSION, NameChoice, TokenChoice
from ndcore.choices import AGREEMENTS
from ndcore.reference import text as reference_text
from ndcore.reference.shingling import tokens
from ndcore.text.agreement import ENDS, Agreement, describe_difference
from ndcore.text.amounts import ZEROS
from ndcore.text.inputs import Extracted, as_texts
from ndcore.text.negations import LANGUAGES

DIGITS = {chr(zero + i) for zero in ZEROS for i in range(10)}
LISTED = {word for words in LANGUAGES.values() for word in words.split()}


def rows(must_agree, *texts):
    return [row.tobytes() for row in Agreement.of(must_agree).digests(texts)]


def agree(must_agree, *texts):
    return len(set(rows(must_agree, *texts))) == 1


@dataclasses.dataclass
class Unhashable:
    number: int

    def __call__(self, text):
        return self.number


def test_the_parameter():
    assert Agreement.of(None) is None
    assert Agreement.of([]) is None
    assert Agreement.of(()) is None
    assert Agreement.of("numbers").names == ("numbers",)
    assert Agreement.of(["title", "numbers"]).names == ("title", "numbers")
    assert Agreement.of((len, "negations")).names == ("callable builtins.len", "negations")
    assert Agreement.of(["numbers", "numbers"]).names == ("numbers",)
    assert len(Agreement.of([Unhashable(1), Unhashable(2), Unhashable(1)]).names) == 2
    assert repr(Agreement.of(["title", len])) == "Agreement(title, callable builtins.len)"


@pytest.mark.parametrize(("given", "error", "words"), [
    ("number", ValueError, "'number'.*'numbers', 'amounts', 'title', 'names', 'negations'"),
    (["numbers", "name"], ValueError, "'name'"),
    ([None], TypeError, "None of type NoneType"),
    (3, TypeError, "3 of type int"),
    (b"numbers", TypeError, "of type bytes"),
    ({"numbers"}, TypeError, "of type set"),
    ([["numbers"]], TypeError, r"\['numbers'\] of type list"),
])
def test_other_parameters_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        Agreement.of(given)


def test_digests_are_rows_of_16_bytes():
    found = Agreement.of([*AGREEMENTS]).digests(["one 1", b"one 1", "two"])
    assert (found.dtype, found.shape) == (np.uint8, (3, 16))
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])
    assert Agreement.of([*AGREEMENTS]).digests([]).shape == (0, 16)


def test_columns_of_arrow_as_lists():
    arrow = pytest.importorskip("pyarrow")
    texts = ["one 1", "", "né 2\nnot"]
    for must_agree in (*AGREEMENTS, len, [*AGREEMENTS, len]):
        found = Agreement.of(must_agree).digests(as_texts(arrow.array(texts)))
        assert np.array_equal(found, Agreement.of(must_agree).digests(texts))


def test_numbers_are_the_sequence_of_tokens_with_a_digit():
    assert agree("numbers", "The 3 files of RFC2119", "the 3 rules in rfc2119!", "3 RFC2119", b"3: Rfc2119")
    assert not agree("numbers", "3 and 4", "4 and 3")
    assert not agree("numbers", "3 and 4", "34")
    assert not agree("numbers", "3 3", "3")
    assert not agree("numbers", "no digit", "0")
    assert agree("numbers", "", "no digit", "Ⅳ ½ ² ①")  # numbers, but not decimal digits
    assert not agree("numbers", "१२", "१३")
    assert not agree("numbers", "٣", "3")
    assert not agree("numbers", "1.5", "15")


def test_all_decimal_digits_of_unicode():
    """Python's tables are older or newer; digits never lose their category."""
    known = {chr(c) for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) == "Nd"}
    assert UNICODE_VERSION == "17.0.0"
    assert {chr(c) for c in reference_text.DECIMAL} == DIGITS
    assert len(DIGITS) == 770
    if unicodedata.unidata_version <= UNICODE_VERSION:
        assert known <= DIGITS
    assert {unicodedata.category(c) for c in DIGITS - known} <= {"Cn"}
    assert all(unicodedata.digit(chr(zero), 0) == 0 for zero in ZEROS)


def test_the_title_of_a_page_or_the_first_line():
    page = Extracted.of("Home\nbody", "<title>…", page_title="The Title")
    assert agree("title", page, "the title\nanother body", "\r\n --- \n\n¡The: TITLE!\rmore", b"THE title")
    assert agree("title", Extracted.of("Home\nbody", "", page_title=" – "), Extracted.of("home", "", page_title=""), "Home")
    assert not agree("title", page, "Home\nbody")
    assert agree("title", "", " \n--\n", b"")
    assert agree("title", "-\n" * 1000 + "found\nnot this", "found")
    assert not agree("title", "a b", "ab")
    assert agree("title", b"\xff\xfe caf\xc3\xa9", "café")


@given(st.lists(st.text() | st.sampled_from(["not 1", "नहीं १२a", "x" * 300 + "7", "don't", "1\0" + "2"]), max_size=5))
def test_words_agree_with_the_reference(texts):
    for name, chosen in (("numbers", lambda t: DIGITS & set(t)), ("negations", LISTED.__contains__)):
        keys = [[t.decode() for t in tokens(text, "word", None) if chosen(t.decode())] for text in texts]
        found = rows(name, *texts)
        assert [a == b for a in found for b in found] == [a == b for a in keys for b in keys]


def test_names_have_capitals_not_only_where_a_sentence_begins():
    assert agree("names", "He met Smith of Ohio.", "of the men, he met SMITH in Ohio", b"We saw Ohio, Smith and Ohio!")
    assert not agree("names", "He met Smith", "He met Jones")
    assert agree("names", "Rain fell. Snow fell: Hail fell; (Then) it ended? \u00bfQu\u00e9 hora? \u2026Ja", "it rained")
    assert not agree("names", "Rain fell. NATO met", "Rain fell. nato met")
    assert agree("names", "The Software is free; this software too", "no name")  # "software" is a common word
    assert agree("names", "\u65e5\u672c\u8a9e 3 \u05e9\u05dc\u05d5\u05dd", "")  # scripts without case have no names
    assert not agree("names", "THE END", "the end")
    assert agree("names", "he met Smith\nCopyright (c) 2010 Jo Doe, Inc.\nand Jones", "Jones met with Jones of Smith")
    assert not agree("names", "the Copyright of Jo Doe", "the Copyright of Al Doe")


@given(st.text(alphabet="aAbB .!\n\u00df\u1e9e\u03a3\u03c2\u0345\u00ad\u0301\u65e5\u30fc\u01c5\u0561\u0531;1") | st.text())
def test_names_equal_the_reference(text):
    assert NameChoice(ENDS).of(text.encode("utf-8", "surrogatepass")) == reference_text.names(text)


@given(st.binary())
def test_names_of_bytes_equal_the_reference(data):
    assert ENDS == reference_text.ENDS
    assert NameChoice(ENDS).of(data) == reference_text.names(data)


def test_amounts_are_numbers_with_units():
    assert agree("amounts", "It costs 1,500 dollars", "for $1500.00", b"for $ 1500", "for 1\u00a0500 $")
    assert agree("amounts", "the first of 30 days", "the 1st of 30-day spans", "THE FIRST OF 30 DAYS")
    assert not agree("amounts", "30 days", "30 months")
    assert not agree("amounts", "3 and 4", "4 and 3")
    assert agree("amounts", "Copyright 1999-2003 X\n5", "\u00a9 2007 Y, 12 Elm\n5", "5")
    assert not agree("amounts", "It happened in 1999", "It happened in 2003")


@pytest.mark.parametrize(("a", "b", "said"), [
    ("3 kettles", "5 kettles", "numbers (only document 4 has '3', only document 7 has '5')"),
    ("1 2 3 4 5", "", "numbers (only document 4 has '1', '2', '3', '4', '5')"),
    ("1 2", "2 1", "numbers (in another order)"), ("1 2", "1 2", ""), ("1 2 3 4 5 6 7", "", "only document 4 has '1', '2', "
                                                                      "'3', '4', '5' and 2 more)"),
])
def test_the_words_that_keep_two_apart_are_named(a, b, said):
    assert describe_difference("numbers", {4: a, 7: b}).endswith(said)
    assert bool(describe_difference("numbers", {4: a, 7: b})) == bool(said)


def test_words_of_every_key_are_named():
    texts = {0: "Page one\nHe did not meet Smith for 5 dollars", 1: "Page two\nHe did meet Jones for 6 euro"}
    assert [describe_difference(name, texts) for name in AGREEMENTS] == [
        "numbers (only document 0 has '5', only document 1 has '6')",
        "amounts (only document 0 has '5 $', only document 1 has '6 eur')",
        "title (only document 0 has 'one', only document 1 has 'two')",
        "names (only document 0 has 'smith', only document 1 has 'jones')",
        "negations (only document 0 has 'not')",
    ]
    assert describe_difference("callable builtins.len", texts) == "callable builtins.len"


def test_callables_get_the_text_as_it_is():
    page = Extracted.of("text", "page", page_title="Title")
    assert page.title() == "Text"  # still a str
    seen = []
    Agreement.of([lambda text: seen.append(text)]).digests([page, b"bytes", "str"])
    assert seen == [page, b"bytes", "str"]
    assert seen[0] is page


class Colour(enum.IntEnum):
    RED = 1


VALUES = [
    None, True, False, 0, 1, -1, 10**5000, 1.0, 0.0, float("inf"), "", "1", b"", b"1", "\ud800", (), (1,), (1, 2), (12,),
    ("a", "b"), ("ab",), ("a", b"b"), (None,), (True,), ("",), ("", ""),
]


def test_values_are_equal_if_type_and_value_are():
    found = rows(lambda text: VALUES[int(text)], *map(str, range(len(VALUES))))
    assert len(set(found)) == len(VALUES)


@pytest.mark.parametrize(("a", "b"), [
    (0.0, -0.0), (1, Colour.RED), (1, np.int64(1)), (1.5, np.float64(1.5)), (True, np.True_), ("a", np.str_("a")),
    ((0.0, 1), (-0.0, np.uint8(1))),
])
def test_values_that_are_equal(a, b):
    assert agree(lambda text: {"a": a, "b": b}[text], "a", "b")


@pytest.mark.parametrize(("key", "error", "words"), [
    (float("nan"), ValueError, "nan"), ((1, float("nan")), ValueError, "nan"), ([1], TypeError, "list is not accepted"),
    (((1,),), TypeError, "tuple is not accepted"), (object, TypeError, "type is not accepted"),
    (np.float64("nan"), ValueError, "nan"), (bytearray(b""), TypeError, "bytearray is not accepted"),
])
def test_other_keys_are_refused(key, error, words):
    with pytest.raises(error, match=f"document 12.*{words}"):
        Agreement.of(lambda text: key if text == "b" else 0).digests(["a", "b"], first=11)


def test_an_error_of_a_callable_names_the_document():
    with pytest.raises(ZeroDivisionError) as error:
        Agreement.of(lambda text: 1 / len(text)).digests(["a", ""], first=5)
    assert "document 6" in error.value.__notes__[0]


def test_several_keys_must_all_agree():
    assert agree(["numbers", "negations"], "3 not", "three? no: 3, not") is False
    assert agree(["numbers", "negations"], "3 not", "not 3")
    assert not agree(["numbers", "negations"], "3 not", "3")
    assert not agree([lambda t: t[0], lambda t: t[1:]], "ab", "abc")
    assert not agree(["title", "numbers", len], "a 1", "b 1")
    assert not agree(["title", "numbers", len], "a 1", "a 1 ")
    assert not agree(["title", "numbers", len], "a\n1", "a\n2")
    assert agree(["title", "numbers", len], "a 1", "A 1")


def test_a_choice_of_tokens_refuses_a_cut_tape():
    choice = TokenChoice([b"ab"], [])
    tape = b"\0\0\0\0\0\0\0\x02ab"
    assert choice.of(tape * 2) == tape * 2
    assert choice.of(b"") == b""
    for length in range(1, len(tape)):
        with pytest.raises(ValueError, match=r"no token at byte 10 of"):
            choice.of(tape + tape[:length])
    for head in (b"\0" * 8, b"\xff" * 8):
        with pytest.raises(ValueError, match=r"no token at byte 0"):
            choice.of(head + b"abcdefgh")
    with pytest.raises(ValueError, match="empty"):
        TokenChoice([b""], [])


pieces = st.sampled_from(["1", "2", "12", "\u0661", "a", "not", "NOT", "kein", "don't", " ", "\n", "\r\n", "\r",
                           ".", "\u00ad", "\u0301", "\xb2"])  # fmt: skip


@given(st.lists(st.lists(pieces, max_size=8).map("".join), min_size=2, max_size=12), st.booleans())
def test_as_the_reference(documents, encoded):
    if encoded:
        documents = [*documents, *(document.encode() + b"\xff" for document in documents)]
    for name, key in [("numbers", reference_text.numbers), ("title", reference_text.title),
                      ("negations", lambda text: reference_text.negations(text, LISTED))]:  # fmt: skip
        found = rows(name, *documents)
        keys = [key(document) for document in documents]
        assert [[x == y for y in found] for x in found] == [[x == y for y in keys] for x in keys]
