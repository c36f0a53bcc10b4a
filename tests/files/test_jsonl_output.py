"""New texts in records of JSON: all other bytes stay."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcore.files.jsonl_output import with_text

BLANK = st.text(" \t\r", max_size=2)
PATHS = [("text", []), ("x.b", ["x"]), ("x.y.b", ["x.y"]), ("x.y.b", ["x", "y"])]
TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
SCALARS = st.sampled_from(["-0", "0.10000000000000000000000001", "1e400", "12345678901234567890123", "NaN", "1.50E+2",
                           "null", "true", '"\\u00e9\\ud800 \\" {"', '"}"', '""'])


def strings(draw: st.DrawFn, value: str) -> str:
    """Write a string in one of the ways of JSON."""
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@st.composite
def values(draw: st.DrawFn, depth: int = 2) -> str:
    kind = draw(st.integers(0, 4)) if depth else 0
    if kind == 3:
        return "[" + ",".join(draw(BLANK) + draw(values(depth - 1)) for _ in range(draw(st.integers(0, 2)))) + "]"
    if kind == 4:
        return "{" + ",".join(f"{strings(draw, draw(TEXT))}:{draw(BLANK)}{draw(values(depth - 1))}"
                              for _ in range(draw(st.integers(0, 2)))) + draw(BLANK) + "}"
    return draw(SCALARS)


@settings(max_examples=300, deadline=None)
@given(st.data(), TEXT, TEXT, st.sampled_from(PATHS))
def test_all_bytes_around_the_text_stay(data, old, new, path):
    draw, (field, outer) = data.draw, path
    head, tail = "", draw(st.sampled_from(["", "\n", " \r\n"]))
    names = [*outer, field.rpartition(".")[2]]
    for name in names:
        others = draw(st.lists(st.sampled_from(["a", "m", "", "é", "A"]), max_size=3))
        before = [name] * draw(st.integers(0, 1)) + others  # the last of a name counts
        pairs = [(each, draw(values())) for each in before]
        members = [f"{draw(BLANK)}{strings(draw, each)}{draw(BLANK)}:{value}{draw(BLANK)}," for each, value in pairs]
        head += draw(BLANK) + "{" + "".join(members) + draw(BLANK) + strings(draw, name) + draw(BLANK) + ":" + draw(BLANK)
        tail = draw(BLANK) + draw(st.sampled_from(["", ',"z":-0', ', "z":{"text":"a"},"z" :[1]'])) + draw(BLANK) + "}" + tail
    record = (head + strings(draw, old) + tail).encode()
    assert with_text(record, field, new) == (head + json.dumps(new, ensure_ascii=False) + tail).encode()


@pytest.mark.parametrize("record", [b"", b"[]", b"{", b'{"text" 1}', b'{"text":}', b'{"text":"a" "b"}', b'{"other":1}',
                                    b'{"text":"a",}', b"{[]:1}", b'{"x":{"text":"a"}}', b'\xff{"text":"a"}'])
def test_what_is_no_record_with_a_text_is_refused(record):
    with pytest.raises(ValueError, match=r"no |Expecting|decode"):
        with_text(record, "text", "b")
