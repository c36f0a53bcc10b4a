"""Records as bytes and back; bytes that are none."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndcore.storage.container import CorruptFile
from ndcore.store.records import (
    DIGESTED,
    LEADER,
    STR,
    VALID,
    VARIANT,
    Changes,
    Dictionary,
    Document,
    Removal,
    Sighting,
    decode,
    encode,
)
from ndcore.store.verdict import Version

CHANGES = Changes((1, 7), ((3, 2, LEADER | VARIANT), (9, 9, 0)))
RECORDS = [
    Document(4, 2, VALID | LEADER | STR, "near", Version(-5, None, None), b"", b"", b"skey", evidence=b"text"),
    Document(4, 4, DIGESTED | VALID, "kept", Version(1 << 50, "other", 0.25), b"w" * 16, b"t" * 16, b"b\xff", 77, CHANGES,
             (Version(1, None, None), Version(2, "near", 0.9)), b"\x00"),
    Document(0, 0, DIGESTED, "kept", Version(0, "other", None), b"w" * 16, b"", b"i" + bytes(8), 1),
    Sighting(4, 100, VALID, Version(5, "lexical", 1.0), b"w" * 16, 200, b"text"),
    Sighting(4, 100, 0, Version(5, "unchanged", None), b"w" * 16, 200),
    Document(4, 2, VALID, "identical", Version(1, None, None), b"", b"", b"s" * 254),
    Document(4, 4, VALID, "kept", Version(1, None, None), b"", b"", b"s" * 255),
    Removal(CHANGES), Removal(Changes((0,)), True), Dictionary(0, b"dictionary"),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_records_come_back(record):
    assert decode(encode(record)) == record


@pytest.mark.parametrize("record", RECORDS[:7], ids=lambda record: type(record).__name__)
def test_no_prefix_is_a_crash(record):
    whole = encode(record)
    for end in range(len(whole)):
        try:
            decode(whole[:end])
        except CorruptFile:
            continue


@given(st.binary(max_size=80))
def test_no_bytes_are_a_crash(payload):
    try:
        decode(payload)
    except CorruptFile as error:
        assert "record" in str(error)


def test_a_document_by_hand():
    version = Version(-5, "other", 0.25)
    record = Document(4, 2, VALID | LEADER | STR, "near", version, b"", b"", b"skey", 77, evidence=b"text")
    head = bytes([4 << 2 | 4 << 5, VALID | LEADER | STR | 32]) + struct.pack("<qII", -5, 4, 2)
    assert encode(record) == (head + b"\x04skey" + struct.pack("<Qd", 77, 0.25) + b"text")
    assert len(encode(Document(9, 9, VALID, "kept", Version(0, None, None), b"", b"", b""))) == 15


def test_a_document_has_the_digests_that_its_flags_announce():
    record = Document(1, 1, DIGESTED, "kept", Version(0, None, None), b"w" * 16, b"t" * 16, b"skey", evidence=b"text")
    assert decode(encode(record)) == replace(record, tokens=b"")


@pytest.mark.parametrize("payload", [b"\x06" + bytes(30), b"\x07" + bytes(30), b"\x18" + bytes(40), b"\xa0" + bytes(40),
                                     b"\xc0" + bytes(40),
                                     b"\x01" + bytes(60), b"\x25" + bytes(60)])
def test_kinds_classes_and_changes_that_there_are_not(payload):
    with pytest.raises(CorruptFile):
        decode(payload)
