"""Building collections: what is refused, what an interruption leaves, and how a build goes on."""

from __future__ import annotations

import shutil

import pytest
from agreement import Stopped, cut_small, families, stopped

import ndcore as nd
from ndcore.collection import cluster
from ndcore.collection.shelf import Shelf
from ndcore.storage.job_description import COLLECTION, JobDescription


@pytest.fixture(scope="module")
def texts():
    return families(1)


@pytest.mark.parametrize("error", [Stopped("stopped"), OSError(28, "No space left on device")])
def test_what_is_interrupted_goes_on(tmp_path, texts, monkeypatch, error):
    """Stop at every file in turn: a build goes on after it, and makes nothing twice."""
    cut_small(monkeypatch, documents=40)
    expected = nd.cluster(texts).labels.tolist()
    put, written, left = Shelf.put, [], [0]

    def failing(self, name, header, arrays):
        if left[0] == 0:
            raise error
        left[0] -= 1
        written.append(name)
        put(self, name, header, arrays)

    monkeypatch.setattr(Shelf, "put", failing)
    calls = 0
    while True:
        left[0] = 1
        calls += 1
        try:
            made = nd.Collection.build(tmp_path / "c", texts, memory_limit=1 << 20, threads=1)
            break
        except type(error):
            with pytest.raises(ValueError, match="not finished"):
                nd.Collection.open(tmp_path / "c")
        assert calls < 200
    assert calls > 5
    assert len(written) == len(set(written)) == calls  # the last call writes one file too
    assert made.clustering.labels.tolist() == expected


def test_a_collection_is_continued_with_the_same_only(tmp_path, texts, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("ndcore.collection.cluster.sort_entries", stopped)
        with pytest.raises(Stopped):
            nd.Collection.build(tmp_path / "c", texts, source={"inputs": ["a"]})
    with pytest.raises(ValueError, match=r"max_holders 1000 there, 5 here"):
        nd.Collection.build(tmp_path / "c", texts, max_holders=5, source={"inputs": ["a"]})
    with pytest.raises(ValueError, match="another source"):
        nd.Collection.build(tmp_path / "c", texts, source={"inputs": ["b"]})
    nd.Collection.build(tmp_path / "c", texts, source={"inputs": ["a"]})
    with pytest.raises(FileExistsError, match="finished collection"):
        nd.Collection.build(tmp_path / "c", texts, source={"inputs": ["a"]})
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "mine").write_text("mine")
    with pytest.raises(FileExistsError, match="something else"):
        nd.Collection.build(tmp_path / "d", texts)


def test_what_the_disk_lost_is_made_again(tmp_path, texts, monkeypatch):
    """Damage contents under complete names, as a power failure does."""
    with monkeypatch.context() as patch:
        patch.setattr("ndcore.collection.cluster.count_pairs", stopped)
        with pytest.raises(Stopped):
            nd.Collection.build(tmp_path / "c", texts)
    for file in (tmp_path / "c").rglob("*.ndc"):
        data = bytearray(file.read_bytes())
        data[-8:] = bytes(8) if data[-8:] != bytes(8) else b"\1" * 8
        file.write_bytes(data)
    made = nd.Collection.build(tmp_path / "c", texts)
    assert made.clustering.labels.tolist() == nd.cluster(texts).labels.tolist()


def test_a_disk_without_room_is_told_before(tmp_path, texts, monkeypatch):
    """Check that only the description is written, and that with room the same call goes on."""
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("ndcore.storage.file_shelf.shutil.disk_usage", lambda path: usage._replace(free=10**9))
    with pytest.raises(OSError, match=r"take about \d+\.\d GB, and 1\.0 GB are free"):
        nd.Collection.build(tmp_path / "c", texts, text_bytes=10**11)
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["collection.json"]
    monkeypatch.setattr("ndcore.storage.file_shelf.shutil.disk_usage", lambda path: usage._replace(free=100))
    with pytest.raises(OSError, match="the sorted entries take about"):
        nd.Collection.build(tmp_path / "c", texts)
    monkeypatch.undo()
    assert nd.Collection.build(tmp_path / "c", texts, text_bytes=10**6).clustering.labels.tolist() == \
        nd.cluster(texts).labels.tolist()


def test_any_file_that_the_disk_lost_is_made_again(tmp_path, texts, monkeypatch):
    """Lose or damage each file of a collection that is almost finished; go on with other memory, so other parts."""
    write = JobDescription.write

    def unfinished(self, *said, finished):
        if finished:
            raise Stopped
        write(self, *said, finished=False)

    cut_small(monkeypatch, slab=600, pairs=400, documents=40)
    expected = nd.cluster(texts)
    begun = tmp_path / "begun"
    with monkeypatch.context() as patch:
        patch.setattr(JobDescription, "write", unfinished)
        with pytest.raises(Stopped):
            nd.Collection.build(begun, texts)
    files = sorted(path.relative_to(begun) for path in begun.rglob("*.ndc"))
    assert {path.parts[0] for path in files} >= {"sketches", "entries", "pairs", "slabs.ndc", "clusters.ndc", "ids.ndc"}
    assert sum(path.parts[0] == "sketches" for path in files) > 2
    cut_small(monkeypatch, slab=300)
    for number, lost in enumerate(files):
        place = tmp_path / str(number)
        shutil.copytree(begun, place)
        if number % 2:
            (place / lost).unlink()
        else:
            data = (place / lost).read_bytes()
            (place / lost).write_bytes(data[:-1])
        made = nd.Collection.build(place, texts, memory_limit=1 << 16)
        assert made.clustering.labels.tolist() == expected.labels.tolist(), lost
        assert made.clustering.classes.tolist() == expected.classes.tolist(), lost
        assert len(made.clustering.pairs.a) == len(expected.pairs.a), lost
        for i in range(0, len(texts), 7):
            assert [match.id for match in made.resembling(i, 0.5)] == [
                match.id for match in made.query(texts[i], 0.5)], lost
        nd.Collection.open(place, verify=True)
        shutil.rmtree(place)


@pytest.mark.parametrize("ids, error", [
    ("abcd", TypeError), (b"abcd", TypeError), ({"a": 1}, TypeError), ({1, 2}, TypeError), (7, TypeError),
    (["a", "b"], ValueError), ([1.5, 2.5, 3.5, 4.5], TypeError), (["a", 1, "b", 2], TypeError), ([None] * 4, TypeError),
    (["a", "b", "c", "x" * 70_000], ValueError),
])
def test_wrong_ids_leave_nothing_behind(tmp_path, ids, error):
    texts = ["a rose is a rose", "is a rose", "a rose is a rose", "something else"]
    with pytest.raises(error, match=r"\bids?\b"):
        nd.Collection.build(tmp_path / "c", texts, ids)
    assert not (tmp_path / "c").exists()
    if error is TypeError and not isinstance(ids, (int, list)):
        with pytest.raises(TypeError, match="ids are a list"):
            nd.cluster(texts, ids)


@pytest.mark.parametrize("wrong", [["a", "b"], ["a"] * 5, ["a", 1, "b", 2]])
def test_wrong_ids_of_an_iterator_leave_what_the_right_call_goes_on_with(tmp_path, monkeypatch, wrong):
    texts = ["a rose is a rose", "is a rose", "a rose is a rose", "something else"]
    with pytest.raises((TypeError, ValueError), match=r"\bids\b"):
        nd.Collection.build(tmp_path / "c", iter(texts), iter(wrong))
    with pytest.raises((TypeError, ValueError), match=r"\bids\b"):
        nd.Collection.build(tmp_path / "c", texts, iter(wrong))
    monkeypatch.setattr(cluster, "sketch_parts", None)  # nothing is sketched again
    made = nd.Collection.build(tmp_path / "c", texts, ["p", "q", "r", "s"])
    assert made.members("r") == ["p", "r"]


def test_ids_of_the_last_call_count(tmp_path, texts, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("ndcore.collection.collection._save_clusters", stopped)
        with pytest.raises(Stopped):
            nd.Collection.build(tmp_path / "c", texts, [f"wrong {i}" for i in range(len(texts))])
    made = nd.Collection.build(tmp_path / "c", texts, range(1000, 1000 + len(texts)))
    assert made.names[3] == 1003


def test_wrong_parameters_leave_nothing_behind(tmp_path, texts):
    for wrong in ({"policy": "anything"}, {"cluster": "anything"}, {"guard": 2.0}, {"threads": 0}, {"memory_limit": 0},
                  {"least": 0}, {"method": "features", "policy": "containment"}):
        with pytest.raises(ValueError, match=r"\w"):
            nd.Collection.build(tmp_path / "c", texts, **wrong)
        assert not (tmp_path / "c").exists()
    for not_texts in ("one text", 7, [1, 2]):
        with pytest.raises(TypeError, match="texts"):
            nd.Collection.build(tmp_path / "c", not_texts)
        assert not (tmp_path / "c").exists()


def test_other_texts_are_not_taken_for_those_of_before(tmp_path, texts, monkeypatch):
    sketches = nd.ModSketcher("adaptive").sketch_many(texts)
    for given, others in ((texts, texts[:-1]), (texts, [*texts, "one more"]), (iter(texts), texts[:-1]),
                          (sketches, sketches[::-1])):
        with monkeypatch.context() as patch:
            patch.setattr(cluster, "sort_entries", stopped)
            with pytest.raises(Stopped):
                nd.Collection.build(tmp_path / "c", given)
        with pytest.raises(ValueError, match="go on with the same"):
            nd.Collection.build(tmp_path / "c", others)
        again = texts if given is not sketches else sketches
        assert len(nd.Collection.build(tmp_path / "c", again)) == len(texts)
        shutil.rmtree(tmp_path / "c")


def test_fewer_documents_than_were_sketched_are_refused(tmp_path, texts, monkeypatch):
    cut_small(monkeypatch, documents=10)

    def failing():
        yield from texts[:60]
        raise Stopped

    class Batches:
        def __init__(self, source):
            self.source = source

        def batches(self):
            return ([text] for text in self.source)

    with pytest.raises(Stopped):
        nd.Collection.build(tmp_path / "c", Batches(failing()), threads=1)
    with pytest.raises(ValueError, match="sketches of 60 documents are there, and 20"):
        nd.Collection.build(tmp_path / "c", Batches(texts[:20]))
    assert len(nd.Collection.build(tmp_path / "c", Batches(texts))) == len(texts)


def test_ids_of_sketches_are_those_of_the_collection(tmp_path, texts):
    sketches = nd.ModSketcher("adaptive").sketch_many(texts)
    sketches.ids = [f"id {i}" for i in range(len(texts))]
    made = nd.Collection.build(tmp_path / "c", sketches)
    assert made.names[5] == "id 5"
    with pytest.raises(ValueError, match="leave ids out"):
        nd.Collection.build(tmp_path / "d", made, ["x"] * len(texts))


def test_a_description_half_written_is_no_obstacle(tmp_path, texts):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "collection.json.new").write_text('{"ndcore')
    assert len(nd.Collection.build(tmp_path / "c", texts)) == len(texts)
    (tmp_path / "d").mkdir()
    COLLECTION.write(tmp_path / "d", {"recipe": "another"}, None, finished=False)  # nothing was done but this
    assert len(nd.Collection.build(tmp_path / "d", texts)) == len(texts)


def test_a_second_job_in_the_directory_is_refused(tmp_path):
    pytest.importorskip("fcntl")
    made = nd.Collection.build(tmp_path / "c", ["one text of some words", "another text"])
    with COLLECTION.alone(tmp_path / "c"), pytest.raises(BlockingIOError, match="another job works there"):
        made.rethreshold(0.9)
    with COLLECTION.alone(tmp_path / "d"), pytest.raises(BlockingIOError, match="another job works there"):
        nd.Collection.build(tmp_path / "d", ["one text of some words"])
    assert not list(tmp_path.rglob("*.lock"))
