"""The result of `repeats`."""

from __future__ import annotations

import numpy as np
import pytest

import ndcore as nd

TEXTS = ["Der Fluß über Zürich, sagt man.", "Ja: der Fluss ist; DER FLUSS ÜBER ZÜRICH!",
         "x der fluß über zürich".encode()]


def found() -> nd.Repeats:
    return nd.repeats(TEXTS, 3)


def test_rows_are_a_table_with_places_in_characters_and_bytes():
    pytest.importorskip("pyarrow")
    rows = found().rows.to_pylist()
    assert [row["document"] for row in rows] == [2]
    row = rows[0]
    names = ("start", "end", "source", "source_start", "source_end", "copies")
    assert [row[name] for name in names] == [1, 5, 0, 0, 4, 2]
    assert TEXTS[0][row["source_start_char"] : row["source_end_char"]] == "Der Fluß über Zürich"
    assert TEXTS[0].encode()[row["source_start_byte"] : row["source_end_byte"]].decode() == "Der Fluß über Zürich"
    assert TEXTS[2][row["start_byte"] : row["end_byte"]].decode() == "der fluß über zürich"
    assert (row["start_char"], row["end_char"]) == (2, 22)


def test_rows_of_token_ids_have_tokens_alone():
    pytest.importorskip("pyarrow")
    table = nd.repeats((np.array([1, 2, 1, 2], np.uint16), [0, 2, 4]), 2).rows
    assert table.column_names == ["document", "start", "end", "source", "source_start", "source_end", "copies"]
    assert table.to_pylist() == [dict(zip(table.column_names, (1, 0, 2, 0, 0, 2, 2), strict=True))]


def test_documents_left_empty_are_listed():
    result = nd.repeats(["a b c", "a b c", "", "x a b c"], 3)
    assert result.empty().tolist() == [1]
    assert result.empty("none").tolist() == [0, 1]
    assert list(result.cleaned()) == ["a b c", "", "", "x "]
    assert list(result.pieces("none")) == [[], [], [], ["x "]]


def test_spans_with_scores_are_what_pieces_leave_out():
    texts = ["a b c d, é", "x! a b  c", "é a b c d é. c d é", "y"]
    result = nd.repeats(texts, 3)
    assert [list(spans) for spans in result.spans()] == [[], [(3, 9, 3)], [(2, 13, 2), (13, 18, 3)], []]
    assert [list(spans) for spans in result.spans("none")] == [[(0, 10, 1)], [(3, 9, 1)], [(2, 18, 1)], []]
    for copies in ("one", "none"):
        for text, spans, pieces in zip(texts, result.spans(copies), result.pieces(copies), strict=True):
            marks = list(text)
            for start, end, _ in spans:
                marks[start:end] = [""] * (end - start)
            assert "".join(marks) == "".join(pieces)
    with pytest.raises(ValueError, match="copies"):
        result.spans("all")
    with pytest.raises(ValueError, match="token ids"):
        nd.repeats((np.array([1, 2, 1, 2], np.uint16), [0, 2, 4]), 2).spans()


def test_pieces_are_bounds_for_later_runs():
    result = nd.repeats(["a b", "x a b y", "x y"], 2)
    assert list(result.cleaned()) == ["a b", "x y", "x y"]
    pieces = [piece for text in result.pieces() for piece in text]
    assert pieces == ["a b", "x ", "y", "x y"]
    assert nd.repeats(pieces, 2).tokens == 0


def test_what_is_cut_is_left_at_an_earlier_place():
    result = nd.repeats(["a b c d e", "c d e f g", "a b c d e f g"], 3)
    left = [" ".join(text.split()) for text in result.cleaned()]
    assert left == ["a b c d e", "f g", ""]


def test_numbers_and_words():
    result = found()
    assert (len(result), result.tokens, result.total) == (1, 4, sum(result.sizes.tolist()))
    assert repr(result) == "<Repeats of 3 documents: 4 of 19 tokens in 1 rows of 3 tokens or more>"
    assert result.repeated.tolist() == [0, 0, 4]
    with pytest.raises(ValueError, match="read-only"):
        result.starts[0] = 1


def test_what_cannot_be_cut_is_refused():
    ids = nd.repeats((np.array([1, 2, 1, 2], np.uint16), [0, 2, 4]), 2)
    with pytest.raises(ValueError, match="use kept"):
        list(ids.cleaned())
    with pytest.raises(ValueError, match="is not known"):
        list(nd.repeats(["a b"], 2, shingling=nd.Shingling(unit=str.split)).pieces())
    with pytest.raises(ValueError, match="copies must be one of one, none"):
        ids.cuts("two")
