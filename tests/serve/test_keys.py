"""Keys in addresses and in JSON: each address leads back to its key."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import pytest

from ndcore.serve.bodies import parse_query
from ndcore.serve.keys import name_of, read_keys, write_address
from ndcore.serve.refusal import Refused
from ndcore.store.keys import key_as_json

KEYS = [
    "",
    "a",
    "7",
    "-7",
    7,
    -7,
    -(2**63),
    2**63 - 1,
    b"",
    b"\xff\x00",
    "\ud800",
    "é?&=#%/../",
    "\x00\n",
    "00",
    "٣",
    "bytes",
]


@pytest.mark.parametrize("key", KEYS)
def test_addresses(key: Any) -> None:
    made = write_address("document", key=key)
    assert made is not None and made.isascii() and urlsplit(made).path == "/document" and not urlsplit(made).fragment
    values = dict(parse_query(urlsplit(made).query.encode()))
    assert read_keys(values["key"], values.get("kind"))[0] == key
    assert b"/.." not in unquote_to_bytes(urlsplit(made).path)


def test_two_keys_in_an_address() -> None:
    assert write_address("compare", a=7, b="7") == "/compare?a=7&a_kind=int&b=7"
    assert write_address("clusters", page="2", size=None) == "/clusters?page=2"
    assert write_address("about") == "/about"


@pytest.mark.parametrize(
    ("word", "keys"),
    [
        ("7", ["7", 7]),
        ("-7", ["-7", -7]),
        ("x", ["x"]),
        ("9" * 30, ["9" * 30]),
        ("٣", ["٣"]),
        (7, [7]),
        ({"bytes": "ff"}, [b"\xff"]),
    ],
)
def test_words(word: Any, keys: list[Any]) -> None:
    assert read_keys(word) == keys


@pytest.mark.parametrize("word", [None, True, 1.5, [], {}, {"bytes": 5}, {"bytes": "xy"}, {"bytes": "", "x": ""}])
def test_words_that_are_no_keys(word: Any) -> None:
    with pytest.raises(Refused):
        read_keys(word)


def test_names() -> None:
    assert [name_of(key) for key in ("a", 7, "é".encode(), b"\xff")] == ["a", "7", "é", "\\xff"]
    assert [key_as_json(key) for key in ("a", 7, b"\xff")] == ["a", 7, {"bytes": "ff"}]


def test_a_key_that_is_too_long_has_no_address() -> None:
    assert write_address("document", key="x" * 300_000) is None
