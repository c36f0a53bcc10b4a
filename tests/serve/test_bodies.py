"""Bodies of requests: by their kind, and within their bounds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ndcore.serve import bodies
from ndcore.serve.bodies import FORM, JSON, PLAIN, check_texts, parse_body, parse_object, parse_query, read_body, read_lines
from ndcore.serve.refusal import Refused
from ndcore.serve.routes import ROUTES

PEEK = next(route for route in ROUTES if route.name == "peek")
COMPARE = next(route for route in ROUTES if route.name == "compare" and route.posted)


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def test_a_body_is_joined() -> None:
    assert asyncio.run(read_body(chunks(b"ab", b"", b"c"), "3", 10, 5)) == b"abc"


@pytest.mark.parametrize("declared", [None, "1", "x", "-5", "9" * 40])
def test_a_body_is_bounded(declared: str | None) -> None:
    with pytest.raises(Refused) as refused:
        asyncio.run(read_body(chunks(*[b"x" * (1 << 20)] * 4), declared, 1000, 5))
    assert refused.value.status == 413


def test_queries() -> None:
    assert parse_query(b"a=%41&b=&c=+x") == [("a", "A"), ("b", ""), ("c", " x")]
    assert parse_query("k=\ud800".encode("utf-8", "surrogatepass").replace(b"\xed\xa0\x80", b"%ED%A0%80")) == [
        ("k", "\ud800")
    ]
    for wrong in (b"a=%FF", b"\xff", b"&".join(b"a=1" for _ in range(99))):
        with pytest.raises(Refused):
            parse_query(wrong)


def test_kinds() -> None:
    assert parse_body(PEEK, f"{JSON}; charset=utf-8", b'{"text": "x"}', False) == [("text", "x")]
    assert parse_body(PEEK, FORM.upper(), b"text=a%0D%0Ab", False) == [("text", "a\r\nb")]
    assert parse_body(PEEK, FORM, b"text=a%0D%0Ab", True) == [("text", "a\nb")]
    assert parse_body(PEEK, PLAIN, b"a\r\nb\xff", True) == [("text", b"a\r\nb\xff")]
    with pytest.raises(Refused, match="accepted: application/json") as refused:
        parse_body(COMPARE, PLAIN, b"x", False)
    assert refused.value.status == 415


@pytest.mark.parametrize(
    ("values", "fits"),
    [
        ({"text": "é" * 5}, True),
        ({"text": "é" * 6}, False),
        ({"text": b"x" * 11}, False),
        ({"text_b": "\ud800" * 4}, False),
        ({"key": "x" * 99, "page": 1}, True),
    ],
)
def test_texts_are_bounded_in_bytes(values: dict[str, Any], fits: bool) -> None:
    if fits:
        check_texts(values, 10)
    else:
        with pytest.raises(Refused, match="at most 10"):
            check_texts(values, 10)


def test_many_names_of_which_the_last_is_there_twice_take_linear_time() -> None:
    names = "".join(f'"{i}":0,' for i in range(200_000))
    with pytest.raises(Refused, match="'199999' is given twice"):
        parse_object(f'{{{names}"199999":1}}'.encode(), "it")


def test_a_body_that_does_not_come_is_refused() -> None:
    async def trickle() -> AsyncIterator[bytes]:
        while True:
            yield b"x"
            await asyncio.sleep(0.01)

    with pytest.raises(Refused, match=r"did not come in 0\.1 seconds") as refused:
        asyncio.run(read_body(trickle(), None, 1 << 20, 0.1))
    assert refused.value.status == 408


async def parts_of(*pieces: bytes, sized: bool) -> list[list[bytes]]:
    return [part async for part in read_lines(chunks(*pieces), 10, 5, sized=sized)]


def test_a_body_of_announced_size_comes_in_full_parts_and_another_one_as_it_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "PART", 3)
    pieces = (b"1\n2\n", b"3\n4\n\n5", b"5\n", b"6\n7\n8\n9")
    lines = [b"1", b"2", b"3", b"4", b"55", b"6", b"7", b"8", b"9"]
    arrived = [[b"1", b"2"], [b"3", b"4"], [b"55"], [b"6", b"7", b"8"], [b"9"]]
    assert asyncio.run(parts_of(*pieces, sized=False)) == arrived
    assert asyncio.run(parts_of(*pieces, sized=True)) == [lines[:3], lines[3:6], lines[6:]]
    monkeypatch.setattr(bodies, "PART_BYTES", 3)  # long lines are not collected
    assert asyncio.run(parts_of(*pieces, sized=True)) == [lines[:3], lines[3:5], lines[5:8], lines[8:]]


@pytest.mark.parametrize("sized", [False, True])
def test_lines_before_one_that_is_refused_are_a_part(sized: bool) -> None:
    async def late() -> AsyncIterator[bytes]:
        yield b"1\n2\n3"
        await asyncio.sleep(60)

    async def read(pieces: AsyncIterator[bytes]) -> tuple[list[bytes], int]:
        lines = []
        try:
            async for part in read_lines(pieces, 10, 0.05, sized=sized):
                lines += part
        except Refused as error:
            return lines, error.status
        raise AssertionError("all lines were accepted")

    assert asyncio.run(read(late())) == ([b"1", b"2"], 408)
    assert asyncio.run(read(chunks(b"1\n2\n" + b"x" * (2 << 20) + b"\n3\n"))) == ([b"1", b"2"], 413)
