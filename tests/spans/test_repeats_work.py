"""A search that was interrupted goes on where it stopped; what is not its own is refused."""

from __future__ import annotations

import errno
import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest

import ndcore as nd
from ndcore.spans import reading, window_entries
from ndcore.spans.reading import TextReading
from ndcore.spans.repeats_work import FORMS
from ndcore.storage import container
from ndcore.storage.file_shelf import FileShelf
from ndcore.storage.job_description import REPEATS

NAMES = ("documents", "starts", "ends", "sources", "source_starts", "copies", "sizes", "repeated")


def made_up(n: int = 40) -> list[str]:
    rng = np.random.default_rng(7)
    texts: list[str] = []
    for _ in range(n):
        words = [f"w{number}" for number in rng.integers(0, 400, 30)]
        if texts and rng.random() < 0.5:
            words[10:20] = texts[int(rng.integers(len(texts)))].split()[5:15]
        texts.append(" ".join(words))
    return texts


TEXTS = made_up()
IDS = (np.array([int(word[1:]) for text in TEXTS for word in text.split()], np.uint16), np.arange(len(TEXTS) + 1) * 30)


class Corpus:
    """Texts in batches of a few, which differ from one call to the next."""

    calls = 0

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts

    def batches(self):
        Corpus.calls += 1
        size = 3 + Corpus.calls % 3
        return (self.texts[start : start + size] for start in range(0, len(self.texts), size))


def search(work: Path | None, texts=None, **changes):
    how = {"min_tokens": 6, "threads": 1, "work": work} | changes
    return nd.repeats(Corpus(TEXTS) if texts is None else texts, **how)


def check_same(found, expected):
    for name in NAMES:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


@pytest.fixture(scope="module")
def expected():
    return search(None)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(window_entries, "KEPT", 1000)
    monkeypatch.setattr(reading, "PIECE_TOKENS", 200)


class Steps:
    """Files put and dropped, counted; before or after one of them an error is raised."""

    def __init__(self, monkeypatch, at: int, error: BaseException, after: bool) -> None:
        self.names: list[str] = []
        self.made: list[str] = []
        for name in ("put", "drop"):
            monkeypatch.setattr(FileShelf, name, self._counted(getattr(FileShelf, name), at, error, after))

    def _counted(self, done, at, error, after):
        def counted(shelf, name, *what):
            self.names.append(name)
            if len(self.names) == at and not after:
                raise error
            done(shelf, name, *what)
            self.made += [name] if what else []
            if len(self.names) == at and after:
                raise error

        return counted


@pytest.mark.parametrize(("texts", "changes"), [
    (None, {}), (IDS, {"threads": 2}), (None, {"by": np.arange(len(TEXTS)) % 2, "keep": -np.arange(len(TEXTS))}),
    (Corpus(TEXTS[20:]), {"against": Corpus(TEXTS[:20]), "exceptions": [TEXTS[3]], "memory_limit": 1000}),
    (None, {"min_tokens": 1, "by": np.arange(len(TEXTS)) % 2, "keep": -np.arange(len(TEXTS))}),
], ids=["texts", "ids", "labels", "against", "one token"])
def test_an_interruption_at_any_step(tmp_path, texts, changes):
    whole = search(None, texts, **changes)
    assert len(whole)
    with pytest.MonkeyPatch.context() as patch:
        steps = Steps(patch, 0, KeyboardInterrupt(), False)
        check_same(search(tmp_path / "w", texts, **changes), whole)
    assert not (tmp_path / "w").exists()
    slots = set(FORMS) - ({"windows"} if "min_tokens" in changes else set())  # the anchors of one token are its windows
    assert {name.partition("/")[0] for name in steps.made} == slots and len(steps.made) == len(set(steps.made))
    for at in itertools.count(1, 3 if changes else 1):
        work, error = tmp_path / str(at), KeyboardInterrupt()
        with pytest.MonkeyPatch.context() as patch:
            before = Steps(patch, at, error, bool(at % 2))
            try:
                search(work, texts, **changes)
                break
            except KeyboardInterrupt:
                pass
        with pytest.MonkeyPatch.context() as patch:
            again = Steps(patch, 0, error, False)
            check_same(search(work, texts, **changes), whole)
        assert not set(before.made) & set(again.made) and not work.exists()
    assert at > 12


def interrupted(work: Path, slot: str, **changes) -> None:
    """Leave a directory in which this slot has just been put for the second time, or the first if it has no parts."""
    left = 2 if "entries" in FORMS[slot] else 1
    with pytest.MonkeyPatch.context() as patch:
        put = FileShelf.put

        def stopping(shelf, name, *what):
            nonlocal left
            put(shelf, name, *what)
            left -= name.partition("/")[0] == slot
            if not left:
                raise KeyboardInterrupt

        patch.setattr(FileShelf, "put", stopping)
        with pytest.raises(KeyboardInterrupt):
            search(work, **changes)


def test_what_was_read_is_not_tokenised_again(tmp_path, monkeypatch, expected):
    interrupted(tmp_path / "w", "anchors")
    kept = sum(len(container.read(file)[1]["sizes"]) for file in (tmp_path / "w" / "anchors").iterdir())
    seen, symbols = [], TextReading.symbols

    def noting(self, piece, secret):
        seen.extend(piece[0].tolist())
        return symbols(self, piece, secret)

    monkeypatch.setattr(TextReading, "symbols", noting)
    check_same(search(tmp_path / "w"), expected)
    first = seen[: len(TEXTS) - kept]  # what follows are documents with passages
    assert 0 < kept < len(TEXTS) and first == list(range(kept, len(TEXTS)))


def test_an_error_leaves_no_directory_of_nothing(tmp_path):
    def stop(stage, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(tmp_path / "w", progress=stop)
    assert not (tmp_path / "w").exists()


def test_two_at_once_are_refused(tmp_path, expected):
    def second(stage, done, total):
        with pytest.raises(BlockingIOError, match="open for writing by this process; another job works there"):
            search(tmp_path / "w")

    check_same(search(tmp_path / "w", progress=second), expected)


def test_a_full_disk(tmp_path, monkeypatch, expected):
    with pytest.MonkeyPatch.context() as patch, pytest.raises(OSError, match="No space"):
        Steps(patch, 4, OSError(errno.ENOSPC, "No space left on device"), False)
        search(tmp_path / "w")
    check_same(search(tmp_path / "w"), expected)


def test_another_thread_count_and_what_comes_after_the_search_may_change(tmp_path):
    interrupted(tmp_path / "w", "runs")
    check_same(search(tmp_path / "w", threads=2, memory_limit="1M", within=False), search(None, within=False))


@pytest.mark.parametrize(("slot", "changes", "message"), [
    ("anchors", {"min_tokens": 7}, "other parameters: min_tokens 6 there, 7 here; go on with the same"),
    ("runs", {"min_copies": 3}, "min_copies 2 there, 3 here"),
    ("ranges", {"max_copies": 9}, "max_copies null there, 9 here"),
    ("ranges", {"shingling": nd.Shingling("char")}, 'shingling unit "word" there, "char" here'),
    ("ranges", {"against": ["x"]}, "against false there, true here"),
    ("layout", {"keep": -np.arange(len(TEXTS))}, "another order; go on with the same keep="),
    ("layout", {"by": np.arange(len(TEXTS))}, "other labels; go on with the same by="),
    ("anchors", {"texts": [*TEXTS[:4], "x", *TEXTS[5:]]}, "document 4 is not the one"),
    ("runs", {"texts": [*TEXTS[:-1], "x"]}, f"document {len(TEXTS) - 1} is not the one"),
    ("ranges", {"texts": TEXTS[:-1]}, f"{len(TEXTS)} documents were read before the interruption, and {len(TEXTS) - 1}"),
    ("ranges", {"texts": [*TEXTS, "x"]}, f"and more than {len(TEXTS)} are given"),
    ("anchors", {"texts": TEXTS[:2]}, "and 2 are given"),
])
def test_another_search_is_refused(tmp_path, slot, changes, message, expected):
    work = tmp_path / "w"
    interrupted(work, slot)
    with pytest.raises(ValueError) as refused:
        search(work, **({"texts": None} | changes))
    assert message in str(refused.value)
    assert str(work) in str(refused.value)
    check_same(search(work), expected)


def test_another_version_is_refused(tmp_path, monkeypatch):
    interrupted(tmp_path / "w", "ranges")
    monkeypatch.setattr("ndcore.spans.repeats_work.__version__", "9.9")
    with pytest.raises(ValueError, match=r'ndcore ".*" there, "9\.9" here'):
        search(tmp_path / "w")


def test_a_directory_of_something_else_stays(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="something else than a search for repeated passages"):
        search(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_what_somebody_else_puts_there_stays(tmp_path, expected):
    interrupted(tmp_path / "w", "ranges")
    (tmp_path / "w" / "mine.txt").write_text("mine")
    check_same(search(tmp_path / "w"), expected)
    assert [path.name for path in (tmp_path / "w").iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("slot", FORMS)
def test_damaged_files_are_made_again(tmp_path, slot, expected):
    interrupted(tmp_path / "w", slot)
    for file in (tmp_path / "w").rglob("*.ndc"):
        if slot in str(file.relative_to(tmp_path)):
            file.write_bytes(file.read_bytes()[:-1] + b"\xff")
    check_same(search(tmp_path / "w"), expected)


def forged(work: Path, slot: str, change) -> None:
    """Change the last file of a slot, with right checksums."""
    file = sorted(path for path in work.rglob("*.ndc") if slot in str(path.relative_to(work)))[-1]
    header, arrays = container.read(file)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header, arrays)
    container.write(file, f"repeats/{slot}", header, arrays)


def putting(name: str, at, value):
    def change(header, arrays):
        arrays[name][at] = value

    return change


def adding(**fields):
    return lambda header, arrays: header.update(fields)


@pytest.mark.parametrize(("slot", "change", "fault"), [
    ("secrets", adding(key="1"), "three numbers"), ("secrets", adding(key=-1), "out of range"),
    ("secrets", adding(polynomial=5), "out of range"), ("secrets", adding(more=1), "three numbers"),
    ("anchors", putting("sizes", 0, -1), "tokens"), ("anchors", putting("sizes", 0, 1 << 62), "tokens"),
    ("anchors", putting("starts", 3, 10**6), "groups"), ("anchors", putting("starts", 0, -1), "groups"),
    ("anchors", lambda header, arrays: arrays.update(starts=arrays["starts"][1:]), "starts has 64 where 65 fit"),
    ("anchors", lambda header, arrays: arrays.update(sums=arrays["sums"][1:]), "sums has"),
    ("anchors", lambda header, arrays: arrays["entries"].fill(1 << 63), "a document"),
    ("ranges", putting("ranges", -1, 2**64 - 1), "a document"), ("ranges", putting("ranges", 0, 2**62), "ascend"),
    ("ranges", lambda header, arrays: arrays.update(more=arrays["sums"]), "it has the arrays"),
    ("ranges", lambda header, arrays: arrays.update(keys=arrays["ranges"]), "anchors for"),
    ("windows", adding(documents=10**9), "ends before document"), ("windows", adding(documents="1"), "ends before document"),
    ("windows", putting("entries", (0, 1), 2**63), "is not among"),
    ("windows", lambda header, arrays: arrays["entries"].__setitem__(slice(None), [1, 28]), "its runs do not"),
    ("runs", putting("runs", (0, 2), 2**60), "a run is not among"), ("runs", putting("runs", (-1, 2), 40), "a document"),
    ("runs", lambda header, arrays: arrays.update(runs=arrays["runs"][::-1]), "follow"),
    ("runs", lambda header, arrays: arrays.update(runs=arrays["runs"].astype(np.int64)), "runs is int64"),
    ("rows", putting("rows", (0, 0), 2**63), "a passage is of none"), ("rows", putting("rows", (0, 2), 31), "within"),
    ("rows", putting("everywhere", (2, 0), 31), "within"), ("rows", putting("rows", (0, 3), 2**64 - 1), "before it"),
    ("rows", lambda header, arrays: arrays.update(rows=arrays["rows"][::-1]), "follow"),
    ("runs", lambda header, arrays: arrays.update(runs=arrays["runs"][1:]), "not the first of its windows"),
])
def test_forged_files_are_refused(tmp_path, slot, change, fault):
    interrupted(tmp_path / "w", "anchors" if slot == "secrets" else slot)
    forged(tmp_path / "w", slot, change)
    with pytest.raises(nd.CorruptFile, match=fault):
        search(tmp_path / "w")


def test_forged_anchors_of_one_token_are_refused(tmp_path):
    interrupted(tmp_path / "w", "ranges", min_tokens=1)
    forged(tmp_path / "w", "ranges", lambda header, arrays: arrays.update(keys=arrays["keys"][1:]))
    with pytest.raises(nd.CorruptFile, match="anchors for"):
        search(tmp_path / "w", min_tokens=1)


@pytest.mark.parametrize("number", [0, 2**64 - 1])
def test_the_least_and_the_greatest_secret_are_accepted(tmp_path, number, expected):
    interrupted(tmp_path / "w", "secrets")
    forged(tmp_path / "w", "secrets", adding(symbols=number, key=number))
    check_same(search(tmp_path / "w"), expected)


def test_forged_runs_that_are_possible_end_in_some_answer(tmp_path):
    """Rows of runs that no search makes: whatever they say, nothing outside of the documents is read."""
    interrupted(tmp_path / "w", "confirmed")
    rng = np.random.default_rng(3)
    for number in range(25):
        work = shutil.copytree(tmp_path / "w", tmp_path / str(number))

        def change(header, arrays):
            runs = arrays["runs"]
            which = rng.integers(0, len(runs), 5)
            runs[which, 1] = np.minimum(runs[which, 0], rng.integers(0, int(runs[-1, 0]), 5).astype(np.uint64))
            arrays["runs"] = runs[rng.random(len(runs)) < 0.9]

        forged(work, "runs", change)
        try:
            found = search(work, min_tokens=6)
        except nd.CorruptFile:
            continue
        assert (found.ends <= found.sizes[found.documents]).all()


def test_the_description_names_the_search(tmp_path):
    interrupted(tmp_path / "w", "ranges")
    there = REPEATS.read(tmp_path / "w")
    assert not there["finished"] and there["parameters"]["ndcore"] == nd.__version__ and there["source"] is None
