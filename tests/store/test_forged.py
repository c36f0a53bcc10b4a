"""Records with right checksums that no writer wrote, and what a store does not read, keep or answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from stores import TEXT, opened, settings

import ndcore as nd
from ndcore.store.log import Log
from ndcore.store.log_files import SHIFT
from ndcore.store.opening import Checkpoints
from ndcore.store.records import DIGESTED, Changes, Dictionary, Document, Removal, Sighting, decode, encode
from ndcore.store.text_codec import FREE, ZSTANDARD, TextCodec
from ndcore.store.verdict import Version


def _forge(place: Path, change: Any) -> None:
    """Write the log of a store anew with changed records, and delete what was made of it."""
    import shutil

    log = Log.open(place / "log-0", read_only=True)
    records = [(position, decode(payload)) for position, payload in log.scan()]
    tag = log.tag
    log.close()
    shutil.rmtree(place / "log-0")
    shutil.rmtree(place / "derived-0")
    made = Log.create(place / "log-0", tag)
    for position, record in records:
        made.append([encode(change(position, record))])
    made.close()


def _self(position: int, record: Any) -> Any:
    changed = isinstance(record, (Document, Sighting)) and record.version.change
    return replace(record, previous=position) if changed else record


def _ahead(position: int, record: Any) -> Any:
    return replace(record, origin=position + 40) if isinstance(record, Sighting) else record


def _changes(number: int, label: int, role: int = 12) -> Any:
    def change(position: int, record: Any) -> Any:
        return replace(record, changes=Changes((0,), ((number, label, role),))) if isinstance(record, Removal) else record
    return change


@pytest.mark.parametrize("change", [
    _self, _ahead, _changes(1, 2), _changes(2**32 - 1, 0), _changes(1, 1, 255), _changes(1, 2**32 - 1),
    lambda at, record: Removal(Changes((2**32 - 1,))) if isinstance(record, Removal) else record,
    lambda at, record: replace(record, label=9) if isinstance(record, Document) and record.number == 2 else record,
    lambda at, record: replace(record, number=0, label=0) if isinstance(record, Document) else record,
    lambda at, record: replace(record, name=b"?") if isinstance(record, Document) and record.number == 2 else record,
])  # fmt: skip
def test_a_forged_record_is_damage(tmp_path, change):
    """Check that what a record says falsely is applied nowhere; where it leaves pages out, opening for writing refuses."""
    with opened(tmp_path, **settings()) as store:
        for key in "abc":
            store.decide(key, f"{TEXT} {key * 3}")
        store.decide("b", f"{TEXT} bbb")
        store.decide("b", f"another text altogether {key * 9} with other words")
        store.remove("a")
    _forge(tmp_path / "store", change)
    with nd.Store.open(tmp_path / "store", read_only=True) as store:
        assert store._directory._checkpoints.problems
    try:
        store = nd.Store.open(tmp_path / "store")
    except nd.CorruptFile as error:  # whole records of pages would be left out
        assert "open it with repair=True" in str(error)
        store = nd.Store.open(tmp_path / "store", repair=True)
    with store:
        assert store.stats()["lost"] > 0
        for members in store.clusters():
            for key in members:
                assert store.history(key)
                assert store.text(key)
        assert store.check() == []


@pytest.mark.parametrize("forged", [
    Dictionary(0, b"words of texts" * 9),
    Sighting(0, 10, 0, Version(1, "lexical", 1.0), bytes(16), 10, b"a text"),
])  # fmt: skip
def test_a_text_where_none_are_kept_is_damage(tmp_path, forged):
    with opened(tmp_path, **settings(evidence="shingles")) as store:
        store.decide("a", TEXT)
        at = store._directory.state.columns.get("last", 0)
        if isinstance(forged, Sighting):
            forged = replace(forged, origin=at, previous=at)
        store._directory.log.append([encode(forged)])
    with opened(tmp_path) as store:
        assert "the store keeps none" in store.check()[0]
        store.compact()
        assert store.check() == []
        assert list(store.clusters()) == [["a"]]


def test_a_document_without_digests_where_no_texts_are_kept_is_damage(tmp_path):
    with opened(tmp_path, **settings(evidence="sketch")) as store:
        store.decide("a", TEXT)
        store.decide("b", "another text than the one of a")
        store.decide("b", TEXT)
    _forge(tmp_path / "store", lambda _, record: replace(record, flags=record.flags & ~DIGESTED))
    with pytest.raises(nd.CorruptFile, match="document 2 has neither a digest nor a text; check the store"):
        opened(tmp_path)


def test_the_last_number_of_all_is_damage(tmp_path):
    with opened(tmp_path, **settings()) as store:
        store.decide("a", TEXT)
        record = store._directory.state.document(0)
        store._directory.log.append([encode(replace(record, number=2**32 - 1, label=2**32 - 1, name=b"sb"))])
        assert "does not follow the others" in store.check()[0]


def test_a_record_that_is_read_later_is_checked_too(tmp_path):
    with opened(tmp_path, **settings()) as store:
        for _ in range(3):
            store.decide("a", TEXT)
        state = store._directory.state
        position = state.columns.get("last", 0)
        state._read[position] = replace(state.at(position), previous=position)
        state._read.clear()
        read = store._directory.log.read
        store._directory.log.read = lambda at: encode(replace(decode(read(at)), previous=at))  # type: ignore[method-assign]
        with pytest.raises(nd.CorruptFile, match="the version before it is at position"):
            store.history("a")
        assert position >> SHIFT == 0


def test_a_small_record_is_no_long_text():
    zstandard = pytest.importorskip("zstandard")
    long = bytes(FREE + 1)
    with pytest.raises(nd.CorruptFile, match="nothing stores such a text"):
        TextCodec().unpack(bytes([ZSTANDARD]) + zstandard.ZstdCompressor(level=3).compress(long))
    with pytest.raises(nd.CorruptFile, match="of -1 bytes"):
        unknown = zstandard.ZstdCompressor(write_content_size=False).compress(b"text" * 100)
        TextCodec().unpack(bytes([ZSTANDARD]) + unknown)
    codec = TextCodec()
    assert codec.unpack(codec.pack(long, True)) == long


def test_a_closed_store_answers_nothing(tmp_path):
    store = opened(tmp_path, **settings())
    store.decide("a", TEXT)
    session = store.session("one")
    store.close()
    for call in (
        lambda: store.peek(TEXT), lambda: "a" in store, lambda: len(store), lambda: store.cluster("a"),
        lambda: list(store.clusters()), lambda: store.locate("a"), lambda: store.history("a"), lambda: store.text("a"),
        lambda: store.collapse(["a"]), lambda: store.stats(),
        lambda: store.check(), lambda: store.refresh(), lambda: store.flush(),
        lambda: session.peek(TEXT), lambda: store.decide("b", TEXT), lambda: store.compact(), lambda: store.expire(0),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="is closed; open it again"):
            call()
    assert "closed" in repr(store)


def test_the_text_before_a_lexical_version_leaves_with_compaction(tmp_path):
    with opened(tmp_path, **settings()) as store:
        store.decide("other", "A text of other words beside it")
        store.decide("page", "SECRET spelling of few words", 1)
        store.decide("copy", "SECRET spelling of few words", 2)
        store.decide("page", "secret spelling of FEW words", 3)
        store.remove("copy")
        for _ in range(2):
            store.compact()
            assert not any(b"SECRET" in path.read_bytes() for path in store.path.rglob("*") if path.is_file())
            assert store.text("page") == "secret spelling of FEW words"
            assert [version.change for version in store.history("page")] == [None, "lexical"]
        assert store.decide("again", "SECRET spelling of few words", 4).verdict == "identical"  # with its first bytes
        assert store.check() == []
        with nd.Store.open(tmp_path / "merged", **settings()) as merged:
            merged.merge(store)
            assert [version.change for version in merged.history("page")] == [None, "lexical"]
            assert merged.text("page") == store.text("page")


def test_texts_with_one_shingle_set_are_told_apart_without_reading_all(tmp_path, monkeypatch):
    n = 120
    texts = ["x " * (6 + i) + "y " + "x " * (6 + n - i) for i in range(n)]
    reads = 0
    unpack = TextCodec.unpack

    def counting(self: TextCodec, packed: bytes) -> Any:
        nonlocal reads
        reads += 1
        return unpack(self, packed)

    monkeypatch.setattr(TextCodec, "unpack", counting)
    with nd.Store.open(tmp_path / "one") as store, nd.Store.open(tmp_path / "many") as other:
        for i, text in enumerate(texts):
            assert store.decide(i, text).verdict == ("shingle" if i else "kept")
        assert [v.verdict for v in other.decide_many(enumerate(texts))] == ["kept"] + ["shingle"] * (n - 1)
        assert reads <= 4 * n
        assert [store.decide(1000 + i, text.upper()).equal for i, text in enumerate(texts)] == [None] * n
        assert [store.peek(text).equal for text in texts] == list(range(n))
        store.remove(0)  # its place in the index stays
        assert store.peek(texts[5]).equal == 5
        assert store.peek(texts[0].upper()).equal == 1000
        assert store.decide("again", texts[0]).of == 1
        reads = 0
        for i in range(2, n):  # the representative stays
            store.remove(i)
        assert reads <= 40 * n
    with nd.Store.open(tmp_path / "one") as store:
        assert store.check() == []
        assert store.peek(texts[7].upper()).equal == 1007


def test_a_follower_holds_what_the_checkpoint_does_not_have(tmp_path, monkeypatch):
    from ndcore.store import store as stores

    monkeypatch.setattr(stores, "CHECKPOINT", 50)
    with opened(tmp_path, **settings()) as store, nd.Store.open(store.path, read_only=True) as reader:
        for first in range(0, 400, 20):
            list(store.decide_many([(i, f"{TEXT} {i}") for i in range(first, first + 20)]))
            reader.refresh()
            assert len(reader) == len(store) == first + 20
            tables = reader._directory.state.indexes.features._tables
            assert sum(map(len, tables)) <= 80
        assert reader.peek(f"{TEXT} 7").equal == 7


def test_a_log_that_was_written_anew_and_cannot_be_opened(tmp_path, monkeypatch):
    """The error says so, and closing the store does not hide it."""
    def refuse(*_: Any) -> Any:
        raise nd.CorruptFile("a record of the store cannot be read")

    with opened(tmp_path, **settings()) as store:
        store.decide("a", TEXT)
    with pytest.raises(nd.CorruptFile, match="a record of the store cannot be read"), opened(tmp_path) as store:
        monkeypatch.setattr(Checkpoints, "load", refuse)
        store.compact()
