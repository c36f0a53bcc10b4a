"""Verdicts of runs over many stores, as values and as bytes."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from ndcore.storage.container import CorruptFile
from ndcore.store.overall import LONGEST_NAME, OVERALL, OverallVerdict, checked_name, decode_overall, encode_overall
from ndcore.store.records import OverallRecord, decode, encode

NEAR = OverallVerdict("near", "http://m.example/1", "west", 0.93, "2026-11", 1_700_000_000_000_000, False)
KEPT = OverallVerdict("kept", None, None, None, "é", -5, True)


def test_the_bytes_by_hand():
    assert encode_overall(NEAR) == (struct.pack("<BBqd", 2 | 4, 4, NEAR.date, 0.93)
                                    + b"\x072026-11" + b"\x04west" + b"shttp://m.example/1")
    assert encode_overall(replace(KEPT, run="r")) == struct.pack("<BBqd", 1, 0, -5, float("nan")) + b"\x01r"
    assert encode(OverallRecord(7, NEAR)) == b"\x0a\x07\x00\x00\x00" + encode_overall(NEAR)


@pytest.mark.parametrize("of", ["k", b"\xff", -7, "\ud800", "é" * 400])
def test_what_is_encoded_is_decoded(of):
    for verdict in OVERALL:
        for store in (None, "w", "x" * LONGEST_NAME):
            for score in (None, 0.0, 1.0):
                said = OverallVerdict(verdict, None if verdict == "kept" else of, store, score, "r" * LONGEST_NAME, 3, True)
                assert decode(encode(OverallRecord(2**32 - 1, said))) == OverallRecord(2**32 - 1, said)


def test_every_truncation_is_refused_but_within_the_key():
    content = encode_overall(NEAR)
    end = len(content) - len("http://m.example/1")
    for size in range(end):
        with pytest.raises((ValueError, IndexError, struct.error)):
            decode_overall(content[:size])
    for size in range(5 + end):
        with pytest.raises(CorruptFile):
            decode(encode(OverallRecord(1, NEAR))[:size])


@pytest.mark.parametrize(("at", "value"), [
    (0, 8), (0, 2), (1, 7), (1, 0), (10, struct.pack("<d", 1.5)), (10, struct.pack("<d", -0.1)), (18, 255), (19, 0xFF)])
def test_forged_fields_are_refused(at, value):
    """An unknown flag, no key of a page that does not represent itself, an unknown class, one with a key that represents
    itself, a resemblance beyond 0 and 1, a name that is cut short, and one that is not UTF-8."""
    payload = bytearray(encode(OverallRecord(1, NEAR)))
    made = bytes([value]) if isinstance(value, int) else value
    payload[5 + at : 5 + at + len(made)] = made
    with pytest.raises(CorruptFile):
        decode(bytes(payload))


def test_words_and_json():
    assert (NEAR.place, NEAR.kept, NEAR.datetime.year) == ("west: http://m.example/1", False, 2023)
    assert (replace(NEAR, store=None, of=7).place, KEPT.place, KEPT.kept) == ("7", None, True)
    assert replace(NEAR, of=b"\xff").as_dict() == {
        "verdict": "near", "of": "\ufffd", "store": "west", "resemblance": 0.93, "run": "2026-11",
        "date": "2023-11-14T22:13:20+00:00", "here": False}


def test_what_repeats_what():
    assert NEAR.repeats(replace(NEAR, date=0)) and not NEAR.repeats(None)
    for name, value in (("run", "2026-12"), ("of", "x"), ("store", None), ("resemblance", 0.9), ("verdict", "shingle"),
                        ("here", True)):
        assert not NEAR.repeats(replace(NEAR, **{name: value}))


def test_names():
    assert checked_name("run", "é" * 127) == "é" * 127
    for name in ("", "a\nb", "é" * 128, "\ud800"):
        with pytest.raises(ValueError, match=r"run is .* it has printable characters, of 1 to 255 bytes of UTF-8"):
            checked_name("run", name)
    with pytest.raises(TypeError, match="run is 7 of type int"):
        checked_name("run", 7)
