"""Receipts: a request with an idempotency key is answered once, also after kills, torn writes, compaction and damage."""

from __future__ import annotations

import os
import random
import signal
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from stores import settings

import ndcore as nd
from ndcore.reference.store import BruteForceStore as Reference
from ndcore.storage.container import CorruptFile
from ndcore.store import receipts as module
from ndcore.store.log_files import START
from ndcore.store.receipts import RECEIPT, Receipt, decode_verdict, digest_page, digest_request, encode_verdict, unwrap, wrap
from ndcore.store.records import Document, Removal, decode, encode
from ndcore.store.verdict import CHANGES, VERDICTS, Verdict

HOUR = 3600.0


def opened(place: Path, **options: Any) -> nd.Store:
    return nd.Store.open(place, **settings(), **options)


def asked(store: nd.Store, *requests: tuple[str | None, Any, str], date: float | None = 5.0) -> list[Any]:
    """Decide on (idempotency key, key, text), and put them on disk."""
    pages = store.prepare_requests([(key, text, date) for _, key, text in requests], [own for own, _, _ in requests])
    answers = store.decide_requests(pages, HOUR)
    store.flush()
    return answers


# ---- bytes


@pytest.mark.parametrize("key", ["k", b"\xff", -7, "\ud800", "é" * 400])
def test_a_verdict_as_bytes(key: Any) -> None:
    for judged in VERDICTS:
        for change in CHANGES:
            for scores in ((None, None, None), (0.5, 1.0, 0.25)):
                of = None if judged == "kept" else "of"
                given = Verdict(key, judged, of, None, *scores, change, -12, judged != "near")
                assert decode_verdict(encode_verdict(given)) == given


def test_every_truncation_of_a_frame_is_refused() -> None:
    answer = encode_verdict(Verdict("k", "near", "of", b"equal", 0.5, 0.5, 0.5, None, 1))
    for size in range(len(answer)):
        with pytest.raises(CorruptFile, match="receipt"):
            decode_verdict(answer[:size])
    frame = wrap(Receipt(b"k" * 16, b"b" * 16, 7, answer), b"record")
    assert unwrap(frame) == (Receipt(b"k" * 16, b"b" * 16, 7, answer), b"record")
    for size in range(1, len(frame) - len(b"record") + 1):
        with pytest.raises((ValueError, struct.error)):
            unwrap(frame[:size])


def test_a_receipt_in_a_receipt_and_one_of_a_removal_are_refused() -> None:
    receipt = Receipt(b"k" * 16, b"b" * 16, 7, b"")
    removal = encode(Removal(nd.store.records.Changes((1,))))
    for payload in (wrap(receipt, removal), wrap(receipt, wrap(receipt, removal)), wrap(receipt, b"")):
        with pytest.raises(CorruptFile):
            decode(payload)


def test_no_record_begins_as_a_receipt() -> None:
    firsts = {VERDICTS.index(v) << 2 | CHANGES.index(c) << 5 for v in VERDICTS for c in CHANGES}  # documents
    firsts |= {1 | CHANGES.index(c) << 5 for c in CHANGES} | {2, 3}  # sightings, removals, dictionaries
    assert RECEIPT not in firsts


@pytest.mark.parametrize("key", ["", "x" * 257, "é", "a\nb", "\x00", 7, None, b"x"])
def test_idempotency_keys_that_are_refused(key: Any) -> None:
    with pytest.raises(ValueError, match="idempotency key"):
        digest_request(key, b"secret")


def test_what_a_digest_of_a_page_tells_apart() -> None:
    told = {digest_page(*page) for page in [
        ("a", "b", None), ("a", "b", 0.0), ("a", "b", 1.0), ("ab", "", None), ("", "ab", None), ("a", b"b", None),
        (b"a", "b", None), (1, "b", None), ("1", "b", None), ("a", "bs", None),
    ]}  # fmt: skip
    assert len(told) == 10
    assert digest_page("a", "b", 1.5) == digest_page("a", "b", "1970-01-01T00:00:01.5Z")
    assert digest_request("a", b"x") != digest_request("a", b"y")


# ---- decisions


def test_a_repeated_request_gets_its_first_answer_and_writes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        first = asked(store, ("1", "a", "one two three"), ("2", "b", "one two three"))
        asked(store, (None, "c", "x y z"))
        size = store.stats()["log_bytes"]
        again = asked(store, ("2", "b", "one two three"), ("1", "a", "one two three"))
        assert [answer.verdict for answer in again] == [first[1].verdict, first[0].verdict]
        assert [answer.place for answer in again] == [first[1].place, first[0].place]
        assert all(answer.repeated for answer in again) and not any(answer.repeated for answer in first)
        assert store.stats()["log_bytes"] == size and len(store.history("a")) == 1


def test_a_key_with_another_page_ends_the_answers_before_it(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        asked(store, ("1", "a", "one two three"))
        for other in (("1", "a", "one two four"), ("1", "b", "one two three"), ("1", "a", b"one two three")):
            answers = asked(store, (None, f"before {other}", "p q"), other, (None, "behind", "r s"))
            assert len(answers) == 1 and "behind" not in store and f"before {other}" in store
        assert asked(store, ("1", "a", "one two three"), date=6.0) == []  # another date
        assert asked(store, ("1", "a", "one two three"))[0].repeated


def test_a_key_twice_in_a_batch(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        answers = asked(store, ("1", "a", "one two"), ("1", "a", "one two"), ("2", "a", "one two"), ("1", "x", "one two"))
        assert [answer.repeated for answer in answers] == [False, True, False]
        assert answers[0].verdict == answers[1].verdict and answers[2].verdict.version == "unchanged"


def test_a_key_is_forgotten_after_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / "s") as store:
        asked(store, ("1", "a", "one two"))
        now = time.time_ns()
        monkeypatch.setattr(time, "time_ns", lambda: now + int((HOUR + 1) * 1e9))
        fresh = asked(store, ("1", "b", "other"))
        assert not fresh[0].repeated
        assert asked(store, ("1", "b", "other"))[0] == fresh[0]._replace(repeated=True, measured=0)


@pytest.mark.parametrize("seed", range(12))
def test_random_requests_are_answered_as_the_reference_answers_once(tmp_path: Path, seed: int) -> None:
    """Repeats, conflicts, batches, openings, compactions: answers are those of a store that got each request once."""
    chance = random.Random(seed)
    evidence = chance.choice(["text", "shingles", "sketch"])
    place, sent, store = tmp_path / "s", {}, opened(tmp_path / "s", evidence=evidence)  # type: ignore[var-annotated]
    reference = None if evidence == "sketch" else Reference(threshold=0.5, width=2)
    number = 0
    for _ in range(60):
        batch = []
        for _ in range(chance.choice([1, 1, 3, 8])):
            if sent and chance.random() < 0.3:
                batch.append(chance.choice(list(sent.values()))[0])
            else:
                number += 1
                words = " ".join(chance.choices("abcd", k=chance.randrange(1, 7)))
                batch.append((f"id {number}" if chance.random() < 0.8 else None, f"k{chance.randrange(9)}", words))
        for request, answer in zip(batch, asked(store, *batch), strict=True):
            own = request[0]
            if own in sent:
                assert answer == sent[own][1]._replace(repeated=True, measured=0)
                continue
            assert not answer.repeated
            if reference is not None:
                told = reference.decide(request[1], request[2], 5.0)
                assert (answer.verdict.verdict, answer.verdict.of, answer.verdict.version) == (
                    told.verdict, told.of, told.version)
            if own is not None:
                sent[own] = request, answer
        if chance.random() < 0.1:
            store.close()
            if chance.random() < 0.3:
                for file in (place / store._directory.manifest.state["derived"]).iterdir():  # made again from the log
                    file.unlink()
            store = opened(place, evidence=evidence)
    assert store.check() == []
    places = [answer.place for _, answer in sent.values()]
    assert places == sorted(places)
    store.close()


def test_a_reader_that_becomes_a_writer_knows_them_and_so_does_a_backup(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        first = asked(store, ("1", "a", "one two"))
        store.backup(tmp_path / "copy")
    for place in ("s", "copy"):
        with opened(tmp_path / place) as store:
            assert asked(store, ("1", "a", "one two")) == [first[0]._replace(repeated=True, measured=0)]


def test_compaction_keeps_receipts_but_of_removed_pages(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        first = asked(store, ("1", "representative", "one two three"), ("2", "copy", "one two three"),
                      ("3", "other", "p q r s"), ("4", "other", "p q r s"))  # fmt: skip
        store.remove("representative")
        store.compact()
        assert [answer.verdict for answer in asked(store, ("3", "other", "p q r s"), ("4", "other", "p q r s"))] == [
            first[2].verdict, first[3].verdict]
        log = b"".join(file.read_bytes() for file in (tmp_path / "s").glob("log-*/*"))
        assert b"representative" not in log
        assert not asked(store, ("2", "copy", "one two three"))[0].repeated  # its answer named the removed page


def test_a_damaged_index_is_made_again_with_receipts(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        texts = [f"w{i} v{i} u{i}" for i in range(50)]
        first = asked(store, *((f"id {i}", f"k{i}", text) for i, text in enumerate(texts)))
        first += asked(store, *((f"id {i + 50}", f"k{i}", texts[i]) for i in range(50)))
        index = store._directory.state.indexes.digests
        index._make_again(CorruptFile("the list of a group is damaged"))
        again = asked(store, *((f"id {i}", f"k{i % 50}", texts[i % 50]) for i in range(100)))
        assert [answer.verdict for answer in again] == [answer.verdict for answer in first]
        assert store.check() == []


def test_a_torn_write_leaves_a_decision_with_its_receipt_or_neither(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        before = store._directory.log.end
        asked(store, ("1", "a", "one two three"))
        end = store._directory.log.end
    [log] = (tmp_path / "s").glob("log-*/00000000.log")
    content = log.read_bytes()
    seen = set()
    for size in range(max(before, START), len(content)):
        log.write_bytes(content[:size])
        with opened(tmp_path / "s", read_only=True) as store:
            known = store._directory.state.find_receipt(digest_request("1", store._directory.preparer.secret), 0)
            assert (known is not None) == ("a" in store)
            seen.add("a" in store)
    assert seen == {True, False} and end <= len(content)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_what_was_answered_before_a_kill_is_answered_so_again(tmp_path: Path) -> None:
    chance, told = random.Random(5), {}
    for round_ in range(20):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            store = opened(tmp_path / "s")
            for i in range(1000):
                [answer] = asked(store, (f"{round_} {i}", f"k{i % 7}", f"a b c {i % 3}"))
                os.write(write, f"{i} {answer.place}\n".encode())
        os.close(write)
        with os.fdopen(read) as lines:
            first = lines.readline() if round_ % 4 else ""  # else it may be killed before it has opened the store
            time.sleep(0.1 * chance.random())
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            for line in (first, *lines):
                if line.endswith("\n"):
                    told[round_, int(line.split()[0])] = int(line.split()[1])
    with opened(tmp_path / "s") as store:
        for (round_, i), place in told.items():
            [answer] = asked(store, (f"{round_} {i}", f"k{i % 7}", f"a b c {i % 3}"))
            assert answer.repeated and answer.place == place
        assert store.check() == []
    assert len(told) > 50


def test_the_record_of_a_receipt_is_the_record_of_the_document(tmp_path: Path) -> None:
    with opened(tmp_path / "s") as store:
        [answer] = asked(store, ("1", "a", "one two three"))
        record = decode(store._directory.log.read(answer.place))
        assert isinstance(record, Document) and record.receipt is not None
        assert record.receipt.verdict == answer.verdict and record.receipt.key == digest_request(
            "1", store._directory.preparer.secret)
    assert module.LONGEST == 256


def test_a_forged_answer_is_damage_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path / "s") as store:
        monkeypatch.setattr("ndcore.store.engine.encode_verdict", lambda _: b"no verdict")
        asked(store, ("1", "a", "one two three"))
        monkeypatch.undo()
        with pytest.raises(CorruptFile, match="the answer of a receipt"):
            asked(store, ("1", "a", "one two three"))
        assert asked(store, ("2", "b", "x y z"))[0].verdict.kept
