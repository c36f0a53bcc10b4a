"""Keys as bytes, and the keys that are refused."""

from __future__ import annotations

import json

import pytest

from ndcore.store.keys import decode_key, encode_key, hash_key, host_of, key_as_json, key_of_json, normalise_url


@pytest.mark.parametrize("key", ["", "a", "\ud800", b"", b"a", 0, -1, (1 << 63) - 1])
def test_keys_come_back(key):
    assert decode_key(encode_key(key)) == key and type(decode_key(encode_key(key))) is type(key)


def test_keys_of_other_types_differ():
    names = [encode_key(key) for key in ("1", b"1", 1)]
    assert len(set(names)) == len({hash_key(name, b"secret") for name in names}) == 3
    assert hash_key(names[0], b"one") != hash_key(names[0], b"two")


@pytest.mark.parametrize("key", [1.5, None, True, 1 << 63, ("a",), "k" * (1 << 20)])
def test_other_keys_are_refused(key):
    with pytest.raises((TypeError, ValueError), match="key"):
        encode_key(key)


@pytest.mark.parametrize("name", [b"", b"x1", b"i123"])
def test_bytes_that_are_no_key_are_refused(name):
    with pytest.raises(ValueError, match="not a key"):
        decode_key(name)


def test_hosts_of_urls():
    assert [host_of(url) for url in ("http://A.example:80/x", "no url", "http://[::1", "")] == ["a.example", "", "", ""]
    with pytest.raises(TypeError):
        host_of(b"http://a.example")


def test_urls_in_normal_form():
    pytest.importorskip("w3lib")
    assert normalise_url("HTTP://a.example/%7Ex?b=1&a=2#f") == "http://a.example/~x?a=2&b=1"


@pytest.mark.parametrize("key", ["s", "", "\ud800", -7, 1 << 62, b"", b"\xff\x00"])
def test_keys_as_values_of_json(key):
    assert key_of_json(json.loads(json.dumps(key_as_json(key)))) == key


@pytest.mark.parametrize("value", [None, True, 1.5, [], {"bytes": 1}, {"bytes": "x"}, {"bytes": "ff", "a": 1}, {}])
def test_values_of_json_that_are_not_keys(value):
    with pytest.raises(ValueError):
        key_of_json(value)
