"""A store opens whatever happens to its files, and what it has lost is at most what the damaged record held."""

from __future__ import annotations

import itertools
import random
import shutil

import pytest
from stores import TEXT, opened, settings

import ndcore as nd
from ndcore.reference.store import BruteForceStore as Reference
from ndcore.storage.container import CorruptFile
from ndcore.store import log as log_module
from ndcore.store.keys import decode_key

WORDS = [f"w{i}" for i in range(40)]


def filled(place, **chosen):
    """Make a store with clusters, versions, a removal, and a tail behind its checkpoint. Returns its pages: {key: text}."""
    chance, pages = random.Random(5), {}
    with nd.Store.open(place, **settings(**chosen)) as store:
        for i in range(12):
            pages[i] = " ".join(chance.choices(WORDS, k=12)) if i % 3 == 0 else pages[i - 1] + f" more{i}"
            store.decide(i, pages[i], i)
        store.decide(3, pages[3].upper(), 20)
        pages[3] = pages[3].upper()
        store.decide(6, pages[6] + " again and again", 21)
        pages[6] += " again and again"
    with nd.Store.open(place) as store:
        store.remove(0)
        del pages[0]
        store.decide("last", TEXT, 22)
        pages["last"] = TEXT
        store.flush()
        copy = place.with_name("copy")
        shutil.copytree(place, copy)  # as a crash leaves it
    shutil.rmtree(place)
    copy.rename(place)
    return pages


def assert_definition(store):
    """Check that clusters are the batch result over what is there, in the order of the store."""
    numbers = store._directory.state.live.numbers().tolist()
    order = [decode_key(store._directory.state.document(number).name) for number in numbers]
    documents = [store._directory.state.document(number) for number in numbers]
    live = [store._directory.state.evidence.text(document.evidence) for document in documents]
    reference = Reference(threshold=0.5, width=2)
    for key, text in zip(order, live, strict=True):
        reference.decide(key, text, 0)
    assert list(store.clusters()) == list(reference.clusters().values())


def opened_again(place, pages, lost):
    """Open a store, and check that at most `lost` pages are not there or not whole, and that it goes on."""
    with nd.Store.open(place) as store:
        found = {}
        for key in (*pages, 0):  # 0 was removed, and is back where the record of that is damaged
            if key in store:
                found[key] = store.text(key)
                assert key in store.cluster(key) and store.history(key)
                store.locate(key)
        missing = [key for key, text in pages.items() if found.get(key) != text]
        assert store.stats()["lost"] <= 2 * lost
        assert len(missing) <= lost, missing
        clusters = list(store.clusters())
        assert sorted(map(str, itertools.chain(*clusters))) == sorted(map(str, found))
        assert all(".postings" in problem for problem in store.check())  # of an index, which is made again
        assert store.check() == []
        assert_definition(store)
        assert store.decide("new", "a page of words that nobody has", 30).kept
        assert store.decide("new too", "a page of words that nobody has", 31).of == "new"
        store.remove("new")
    with nd.Store.open(place, read_only=True) as store:
        assert "new too" in store and "new" not in store
    return missing


@pytest.fixture
def no_disk(monkeypatch):
    monkeypatch.setattr(log_module, "_sync_data", lambda descriptor: None)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def files_of(place):
    return sorted(path.relative_to(place) for path in place.rglob("*") if path.is_file() and path.name != "lock")


@pytest.mark.slow
def test_a_flipped_byte_in_any_file(tmp_path, no_disk):
    pages = filled(tmp_path / "store")
    for name in files_of(tmp_path / "store"):
        if name.suffix == ".log":
            continue
        content = (tmp_path / "store" / name).read_bytes()
        for i in range(0, len(content), max(1, len(content) // 8)):
            place = tmp_path / "damaged"
            shutil.copytree(tmp_path / "store", place)
            (place / name).write_bytes(content[:i] + bytes([content[i] ^ 0x41]) + content[i + 1 :])
            try:
                opened_again(place, pages, 0)
            except Exception as error:
                raise AssertionError(f"byte {i} of {name}") from error
            shutil.rmtree(place)


@pytest.mark.slow
@pytest.mark.parametrize("derived", [True, False])
def test_a_flipped_byte_in_the_log(tmp_path, no_disk, derived):
    """One page is lost at most. Without derived files the store is made anew on opening, else by `compact`."""
    pages = filled(tmp_path / "store")
    log = next((tmp_path / "store").glob("log-*/00000000.log")).relative_to(tmp_path / "store")
    content = (tmp_path / "store" / log).read_bytes()
    for i in range(0, len(content), 59):
        place = tmp_path / "damaged"
        shutil.copytree(tmp_path / "store", place)
        (place / log).write_bytes(content[:i] + bytes([content[i] ^ 0x41]) + content[i + 1 :])
        if not derived:
            shutil.rmtree(next(place.glob("derived-*")))
        try:
            with nd.Store.open(place) as store:
                if derived:
                    store.compact()
                assert store.check() == []
            opened_again(place, pages, 1)
        except Exception as error:
            raise AssertionError(f"byte {i}") from error
        shutil.rmtree(place)


@pytest.mark.slow
def test_a_file_that_is_missing_or_cut_short(tmp_path, no_disk):
    pages = filled(tmp_path / "store")
    for name in files_of(tmp_path / "store"):
        if name.suffix == ".log":
            continue
        for size in (None, 0, 40):
            place = tmp_path / "damaged"
            shutil.copytree(tmp_path / "store", place)
            if size is None:
                (place / name).unlink()
            else:
                (place / name).write_bytes((place / name).read_bytes()[:size])
            assert opened_again(place, pages, 0) == [], (name, size)
            shutil.rmtree(place)
    shutil.rmtree(next((tmp_path / "store").glob("derived-*")))
    assert opened_again(tmp_path / "store", pages, 0) == []


@pytest.mark.slow
def test_what_a_loss_of_power_leaves(tmp_path, no_disk):
    """The log ends earlier than what derived files know: these are made again."""
    pages = filled(tmp_path / "store")
    log = next((tmp_path / "store").glob("log-*/00000000.log"))
    size = log.stat().st_size
    for cut in range(0, size, 97):
        place = tmp_path / "cut"
        shutil.copytree(tmp_path / "store", place)
        (place / log.relative_to(tmp_path / "store")).write_bytes(log.read_bytes()[: size - cut])
        with nd.Store.open(place) as store:
            assert store.check() == []
            for key, text in pages.items():
                store.decide(key, text, 50)
        with nd.Store.open(place) as store:
            assert {key: store.text(key) for key in pages} == pages and store.check() == []
        shutil.rmtree(place)


@pytest.fixture
def store(tmp_path):
    with opened(tmp_path, **settings()) as made:
        list(made.decide_many([(i, f"{TEXT} {i % 4}", i) for i in range(12)]))
        made.flush()
        yield made


def test_a_sound_store_has_no_problems(store):
    assert store.check() == []


def test_columns_that_differ_are_named(store):
    store._directory.state.columns.set("date", 3, 7)
    assert store.check() == ["the column 'date' is not what the log says"]
    store._directory.state.kept.discard(0)
    assert "the documents that are kept differ from the log" in store.check()


def test_a_damaged_record_costs_its_page_alone(store, tmp_path):
    position = store._directory.state.columns.get("last", 5)
    path = store.path / "log-0" / "00000000.log"
    with path.open("r+b") as file:
        file.seek((position & (1 << 32) - 1) + 40)
        file.write(b"\xaa\xbb")
    problems = store.check()
    assert problems and any("damaged" in problem for problem in problems)
    store._directory._checkpoints.place.joinpath("checkpoint.ndc").unlink(missing_ok=True)
    store._directory.reload()
    assert 5 not in store and all(i in store for i in range(12) if i != 5)


def test_members_of_a_lost_representative_are_decided_on_again(store):
    position = store._directory.state.columns.get("last", 0)
    path = store.path / "log-0" / "00000000.log"
    with path.open("r+b") as file:
        file.seek((position & (1 << 32) - 1) + 40)
        file.write(b"\xaa\xbb")
    with pytest.raises(CorruptFile, match="open it again"):
        store.peek(f"{TEXT} 0")
    store.close()
    with nd.Store.open(store.path, read_only=True) as reader:  # which mends nothing: they stand alone
        assert list(reader.clusters()) == [[key] for key in range(1, 12)]
    with nd.Store.open(store.path) as again:
        assert list(again.clusters()) == [list(range(1, 12))]
        assert again.stats()["lost"] == 1 and again.check() == []


def damage(store, key):
    """Flip a byte in the record of the last version of a key."""
    state, log = store._directory.state, store._directory.log
    position = state.columns.get("last", store._number(key))
    path = log._files.path(position >> 40)
    content = bytearray(path.read_bytes())
    content[(position & (1 << 40) - 1) + 20] ^= 1
    path.write_bytes(content)


def test_a_representative_that_is_lost(tmp_path):
    with opened(tmp_path, **settings()) as store:
        for key, text in (("a", TEXT), ("b", TEXT + " x"), ("c", TEXT + " x"), ("d", "else")):
            store.decide(key, text, 1)
        assert store.cluster("b") == ["a", "b", "c"]
        damage(store, "a")
    with opened(tmp_path) as store:
        with pytest.raises(nd.CorruptFile, match=r"Store\.compact goes on without it"):
            store.cluster("b")
        assert store.text("d") == "else" and store.decide("e", "else", 2).of == "d"
        store.compact()
        assert list(store.clusters()) == [["b", "c"], ["d", "e"]] and store.check() == [] and store.stats()["lost"] == 1
    with opened(tmp_path) as store:
        assert "a" not in store and store.decide("a", TEXT, 3).of == "b" and store.stats()["lost"] == 1


def test_a_version_that_is_lost(tmp_path):
    with opened(tmp_path, **settings()) as store:
        store.decide("a", TEXT, 1)
        damage(store, "a")
        store.decide("b", "else", 1)
    with opened(tmp_path) as store:
        with pytest.raises(nd.CorruptFile):
            store.decide("a", TEXT + " x", 2)
        store.compact()
        assert store.decide("a", TEXT + " x", 2).version is None and len(store) == 2


def test_damage_behind_the_checkpoint_is_mended_on_opening(tmp_path):
    with opened(tmp_path, **settings()) as store:
        store.decide("first", "of all", 0)
    with opened(tmp_path) as store:
        store.decide("a", TEXT, 1)
        store.decide("b", TEXT + " x", 1)
        store.decide("b", TEXT + " x", 2)
        store.flush()
        damage(store, "a")
        store._directory._checkpoints.write = lambda state: None  # as if the process was killed
    with opened(tmp_path) as store:
        assert list(store.clusters()) == [["first"], ["b"]] and store.stats()["lost"] == 1 and store.check() == []
        assert [version.change for version in store.history("b")] == [None, "unchanged"]


def test_check_reads_the_files_of_indexes(tmp_path):
    """A flipped byte in a list would hide a page, or find another."""
    with opened(tmp_path, **settings()) as store:
        for i in range(300):
            store.decide(i, " ".join(f"w{i}x{j}" for j in range(12)), 0)
    with opened(tmp_path) as store:
        assert store.check() == []
        files = [next(store.path.glob(f"derived-*/{name}.*.postings")) for name in ("features", "digests", "keys")]
        for file in files:
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1
            with file.open("r+b") as written:
                written.write(content)
        problems = store.check()
        assert len(problems) == 3 and all(file.name in line for file, line in zip(files, problems, strict=True))
        assert store.check() == []  # they were made again
    with opened(tmp_path) as store:
        assert store.check() == [] and store.decide("again", " ".join(f"w7x{j}" for j in range(12)), 1).of == 7
