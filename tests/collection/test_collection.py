"""Collections on disk: what is built, what is asked, what is refused, and what an interruption leaves."""

from __future__ import annotations

import json
import random
import shutil

import numpy as np
import pytest

import ndcore as nd
from ndcore.collection import cluster as collection_cluster
from ndcore.collection import phase1_sketches
from ndcore.collection.manifest import describe
from ndcore.collection.shelf import DirectoryShelf
from ndcore.storage.container import CorruptFile

WORDS = [f"w{i}" for i in range(4000)]


def texts_of(seed: int, families: int = 40) -> list[str]:
    """Families of texts, some of whose members are equal, or passages of others; and some texts without words."""
    rng = random.Random(seed)
    made = ["", "!!", "a"]
    for _ in range(families):
        base = [rng.choice(WORDS) for _ in range(rng.randint(4, 300))]
        for _ in range(rng.randint(1, 4)):
            words = list(base)
            for _ in range(rng.randint(0, 8)):
                words[rng.randrange(len(words))] = rng.choice(WORDS)
            made.append(" ".join(words if rng.random() < 0.8 else words[: len(words) // 2]))
        if rng.random() < 0.3:
            made += [made[-1], made[-1].upper()]
    rng.shuffle(made)
    return made


@pytest.fixture(scope="module")
def texts():
    return texts_of(1)


@pytest.fixture
def made(tmp_path, texts):
    return nd.Collection.build(tmp_path / "c", texts, [f"id {i}" for i in range(len(texts))])


def test_a_collection_has_the_clusters_of_cluster(made, texts):
    found = nd.cluster(texts)
    for one in (made, nd.Collection.open(made.path), nd.Collection.open(made.path, verify=True)):
        assert one.clustering.labels.tolist() == found.labels.tolist()
        assert one.clustering.classes.tolist() == found.classes.tolist()
        np.testing.assert_array_equal(one.clustering.resemblance, found.resemblance)
        np.testing.assert_array_equal(one.clustering.pairs.a, found.pairs.a)
        assert one.common.value.tolist() == found.common.value.tolist()


@pytest.mark.parametrize("method, sketcher", [
    ("shingles", nd.ModSketcher(4)), ("super-shingles", nd.ModSketcher(2)), ("super-shingles", nd.BottomSketcher(64)),
    ("features", None),
])
def test_a_query_finds_what_the_sketches_say(tmp_path, texts, method, sketcher):
    """Against the comparison of all sketches; super-shingles and features may miss, and must not invent."""
    run = 4
    made = nd.Collection.build(tmp_path / "c", texts, sketcher=sketcher, method=method, threshold=0.4, run=run)
    sketcher = sketcher or nd.MinHasher(made.recipe["num_perm"])
    sketches = sketcher.sketch_many(texts)
    outside = [texts[5] + " and some more words", "nothing like it", ""]
    for text in [*texts[:40], *outside]:
        found = {match.id: match for match in made.query(text, threshold=0.4)}
        compared = sketcher.sketch(text).compare(0, None, sketches)
        expected = {i for i, value in enumerate(compared.resemblance.tolist()) if value >= 0.4}
        if method == "shingles":
            assert set(found) == expected
        assert set(found) <= expected
        for i, match in found.items():
            assert match.resemblance == compared.resemblance[i]
            assert match.cluster == made.clustering.labels[i]
            if method != "features":
                assert match.text_in_document == compared.containment[i]
    if method == "shingles":
        by_containment = {match.id for match in made.query(texts[5][: len(texts[5]) // 2], 0.4, "containment")}
        assert by_containment >= {match.id for match in made.query(texts[5][: len(texts[5]) // 2], 0.4)}


def test_matches_are_ordered_and_limited(made, texts):
    at = max(range(len(texts)), key=lambda i: len(made.query(texts[i], 0.1)))
    found = made.query(texts[at], 0.1)
    assert len(found) > 3
    assert found == sorted(found, key=lambda match: -match.resemblance)
    assert made.query(texts[at], 0.1, limit=2) == found[:2]
    assert made.resembling(f"id {at}", 0.1) == found
    for wrong in (0, -1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="threshold"):
            made.query("a", wrong)
    with pytest.raises(ValueError, match="limit"):
        made.query("a", limit=0)


def test_common_values_are_passed_over_in_queries(tmp_path):
    page = "the same long footer on every page of the site and of all others"
    texts = [f"{' '.join(f'{w}{i}' for w in LETTERS)} {page}" for i in range(12)]
    made = nd.Collection.build(tmp_path / "c", texts, sketcher=nd.ModSketcher(1), max_holders=5, threshold=0.1)
    assert len(made.common.value) == 10  # the shingles of the footer's 14 words
    assert (made.common.holders == 12).all() and (made.common.example == 0).all()
    assert [match.id for match in made.query(texts[3], 0.1)] == [3]
    assert made.query(page, 0.1) == []


LETTERS = "abcdefghijklmnopqrstuvwxyz"


def test_ids_and_members(made, texts):
    labels = nd.cluster(texts).labels
    for i in range(len(texts)):
        assert made.cluster_of(f"id {i}") == f"id {labels[i]}"
        assert made.members(f"id {i}") == [f"id {j}" for j in np.flatnonzero(labels == labels[i])]
    with pytest.raises(KeyError, match="'id 9999'"):
        made.members("id 9999")
    with pytest.raises(TypeError, match="ids are str"):
        made.members(3)


def test_positions_are_ids_where_none_are_given(tmp_path, texts):
    made = nd.Collection.build(tmp_path / "c", texts)
    assert made.members(len(texts) - 1)
    for wrong in (len(texts), -1):
        with pytest.raises(KeyError):
            made.members(wrong)


def test_other_clusters_are_made_in_place(made, texts):
    fresh = nd.cluster(texts, threshold=0.8, policy="containment", cluster="components")
    again = made.rethreshold(0.8, "containment", "components")
    for one in (again, nd.Collection.open(made.path)):
        assert one.clustering.labels.tolist() == fresh.labels.tolist()
        assert one.clustering.classes.tolist() == fresh.classes.tolist()
        assert one.clustering.threshold == 0.8 and one.clustering.policy == "containment"
        np.testing.assert_array_equal(one.clustering.chains.representative, fresh.chains.representative)
    with pytest.raises(ValueError, match=r"counted from 0\.5 on"):
        made.rethreshold(0.3)


def small_pieces(batch):
    """What `texts.pieces` gives, of four documents each."""
    return ((i, batch[i : i + 4]) for i in range(0, len(batch), 4))


class Stopped(Exception):
    pass


@pytest.mark.parametrize("error", [Stopped("stopped"), OSError(28, "No space left on device")])
def test_what_is_interrupted_goes_on(tmp_path, texts, monkeypatch, error):
    """Stopped at every file in turn, a build goes on after it, and what is whole is not made again."""
    monkeypatch.setattr("ndcore.collection.phase1_sketches.SEGMENT_DOCUMENTS", 40)
    monkeypatch.setattr("ndcore.collection.phase1_sketches.pieces", small_pieces)
    expected = nd.cluster(texts).labels.tolist()
    put, written, left = DirectoryShelf.put, [], [0]

    def failing(self, name, header, arrays):
        if left[0] == 0:
            raise error
        left[0] -= 1
        written.append(name)
        put(self, name, header, arrays)

    monkeypatch.setattr(DirectoryShelf, "put", failing)
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
    def stop(*_, **__):
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr("ndcore.collection.cluster.sort_entries", stop)
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
    """After a power failure whole names may stand for half contents."""
    def stop(*_, **__):
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr("ndcore.collection.cluster.count_pairs", stop)
        with pytest.raises(Stopped):
            nd.Collection.build(tmp_path / "c", texts)
    for file in (tmp_path / "c").rglob("*.ndc"):
        data = bytearray(file.read_bytes())
        data[-8:] = bytes(8) if data[-8:] != bytes(8) else b"\1" * 8
        file.write_bytes(data)
    made = nd.Collection.build(tmp_path / "c", texts)
    assert made.clustering.labels.tolist() == nd.cluster(texts).labels.tolist()


def test_damage_is_told(made):
    """Any byte of any file: opening with verify, or else a query, says so or gives what it gave."""
    rng = random.Random(3)
    for file in sorted(made.path.rglob("*.ndc")):
        original = file.read_bytes()
        for _ in range(5):
            data = bytearray(original)
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            file.write_bytes(data)
            with pytest.raises(CorruptFile):
                nd.Collection.open(made.path, verify=True)
        file.unlink()
        if file.parent.name not in ("pairs", "entries"):
            with pytest.raises(CorruptFile):
                nd.Collection.open(made.path, verify=True)
        file.write_bytes(original)
    description = made.path / "collection.json"
    whole = json.loads(description.read_text())
    for wrong in ("", "{}", "[]", json.dumps({**whole, "parameters": []}), json.dumps({**whole, "parameters": {}})):
        description.write_text(wrong)
        with pytest.raises(CorruptFile):
            nd.Collection.open(made.path)
    description.write_text(json.dumps({**whole, "ndcore.collection.collection": 2}))
    with pytest.raises(ValueError, match="upgrade"):
        nd.Collection.open(made.path)


def test_documents_that_entries_invent_are_refused(made, texts):
    """Checksums that are right do not make positions right."""
    shelf = DirectoryShelf(made.path)
    arrays = shelf.get("entries/00000000")[1]
    shelf.put("entries/00000000", {}, {"keys": arrays["keys"].copy(), "documents": np.full_like(arrays["documents"], 10**6)})
    with pytest.raises(CorruptFile, match="names document 1000000"):
        nd.Collection.open(made.path, verify=True)
    opened = nd.Collection.open(made.path)
    with pytest.raises(CorruptFile, match="names document 1000000"):
        for text in texts:
            opened.query(text)


def test_nothing_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no collection"):
        nd.Collection.open(tmp_path)
    made = nd.Collection.build(tmp_path / "c", [])
    assert len(made) == 0 and made.query("a text") == []


def test_samples_of_few_members_tell_no_containment(tmp_path):
    """A page whose sample has one member at the modulus of a book, and that one in the book by a shared sentence."""
    rng = random.Random(9)
    book = [rng.choice(WORDS) for _ in range(20_000)]
    sketcher = nd.ModSketcher("adaptive")
    for at in range(10_000):
        page = " ".join(book[at : at + 30] + [f"other{i}" for i in range(90)])
        sketches = sketcher.sketch_many([" ".join(book), page])
        overlap = sketches.compare(1, 0)
        if overlap.in_a == 1 and overlap.common == 1:
            break
    else:
        raise AssertionError("no such page")
    texts = [" ".join(book), page, " ".join(book[:10_000])]
    found = nd.cluster(texts, policy="containment")
    assert found.labels.tolist() == [0, 1, 0]
    assert [columns[:2] for columns in zip(*(c.tolist() for c in found.contained(0.9)), strict=True)] == [(2, 0)]
    assert (found.contained(0.9).sample >= 8).all()
    assert set(found.contained(0.9, least=1).inner.tolist()) == {1, 2}
    assert found.rethreshold(least=1).labels.tolist() == [0, 0, 0]
    made = nd.Collection.build(tmp_path / "c", texts, policy="containment")
    assert made.clustering.labels.tolist() == [0, 1, 0]
    assert [match.id for match in made.query(page, 0.9, "containment")] == [1]
    exact = nd.cluster(["a b c d e f g", "a b c d e"], sketcher=nd.ModSketcher(1, shingling=nd.Shingling(width=3)))
    assert exact.contained(1.0).inner.tolist() == [1]  # whole sets need no least
    for wrong in (0, True, 1.5):
        with pytest.raises(ValueError, match="least"):
            nd.cluster(texts, least=wrong)


def by_commas(text: str) -> list[str]:
    return text.split(",")


def test_tokens_of_a_callable(tmp_path):
    """A recipe does not make the callable again, so such a collection is asked by id."""
    texts = ["a,b,c,d,e,f,g", "a,b,c,d,e,f,g", "x,y"]
    sketcher = nd.ModSketcher(1, shingling=nd.Shingling(unit=by_commas, width=2))
    assert nd.cluster(texts, sketcher=sketcher).classes.tolist() == ["kept", "identical", "kept"]
    assert nd.cluster(sketcher.sketch_many(texts)).labels.tolist() == [0, 0, 2]
    made = nd.Collection.build(tmp_path / "c", texts, sketcher=sketcher)
    assert made.members(1) == [0, 1]
    assert [match.id for match in made.resembling(0)] == [0, 1]
    with pytest.raises(ValueError, match="by_commas"):
        made.query("a,b,c")


def test_a_disk_without_room_is_told_before(tmp_path, texts, monkeypatch):
    """Nothing is written but the description; with room the same call goes on."""
    import shutil

    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("ndcore.collection.shelf.shutil.disk_usage", lambda path: usage._replace(free=10**9))
    with pytest.raises(OSError, match=r"take about \d+\.\d GB, and 1\.0 GB are free"):
        nd.Collection.build(tmp_path / "c", texts, text_bytes=10**11)
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["collection.json"]
    monkeypatch.setattr("ndcore.collection.shelf.shutil.disk_usage", lambda path: usage._replace(free=100))
    with pytest.raises(OSError, match="the sorted entries take about"):
        nd.Collection.build(tmp_path / "c", texts)
    monkeypatch.undo()
    assert nd.Collection.build(tmp_path / "c", texts, text_bytes=10**6).clustering.labels.tolist() == \
        nd.cluster(texts).labels.tolist()


@pytest.mark.parametrize("keys", [
    [], [5], [0, 2**64 - 1], [7] * 900, [1] * 500 + [2**63] * 500 + [2**64 - 1] * 500, [*range(3000), 2**64 - 1],
    sorted(random.Random(1).getrandbits(64) for _ in range(5000)),
])
def test_spans_of_values_spread_in_any_way(keys):
    from bisect import bisect_left, bisect_right

    from ndcore.collection.query import span_of

    array = np.array(keys, np.uint64)
    for value in {0, 1, 5, 7, 2999, 3000, 2**63, 2**64 - 1, *keys[::97]}:
        assert span_of(array, np.uint64(value), 0, 2**64 - 1) == (bisect_left(keys, value), bisect_right(keys, value))


def test_any_file_that_the_disk_lost_is_made_again(tmp_path, texts, monkeypatch):
    """Each file of a collection that is all but finished, lost or damaged; what follows has other memory, so other parts."""
    import shutil

    from ndcore.collection import build, phase2_entries, phase3_pairs
    from ndcore.collection.manifest import describe

    def unfinished(*said, finished):
        if finished:
            raise Stopped
        describe(*said, finished=False)

    for module, name, value in (
        (phase2_entries, "SLAB", 600), (phase3_pairs, "RANGE", 400), (phase1_sketches, "SEGMENT_DOCUMENTS", 40),
    ):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr("ndcore.collection.phase1_sketches.pieces", small_pieces)
    expected = nd.cluster(texts)
    begun = tmp_path / "begun"
    with monkeypatch.context() as patch:
        patch.setattr(build, "describe", unfinished)
        with pytest.raises(Stopped):
            nd.Collection.build(begun, texts)
    files = sorted(path.relative_to(begun) for path in begun.rglob("*.ndc"))
    assert {path.parts[0] for path in files} >= {"sketches", "entries", "pairs", "slabs.ndc", "clusters.ndc", "ids.ndc"}
    assert sum(path.parts[0] == "sketches" for path in files) > 2
    monkeypatch.setattr(phase2_entries, "SLAB", 300)
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
    monkeypatch.setattr(phase1_sketches, "_sketch_rest", None)  # nothing is sketched again
    made = nd.Collection.build(tmp_path / "c", texts, ["p", "q", "r", "s"])
    assert made.members("r") == ["p", "r"]


def test_ids_of_the_last_call_count(tmp_path, texts, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("ndcore.collection.build.save_clusters", stopped)
        with pytest.raises(Stopped):
            nd.Collection.build(tmp_path / "c", texts, [f"wrong {i}" for i in range(len(texts))])
    made = nd.Collection.build(tmp_path / "c", texts, range(1000, 1000 + len(texts)))
    assert made.names[3] == 1003


def stopped(*_, **__):
    raise Stopped


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
            patch.setattr(collection_cluster, "sort_entries", stopped)
            with pytest.raises(Stopped):
                nd.Collection.build(tmp_path / "c", given)
        with pytest.raises(ValueError, match="go on with the same"):
            nd.Collection.build(tmp_path / "c", others)
        again = texts if given is not sketches else sketches
        assert len(nd.Collection.build(tmp_path / "c", again)) == len(texts)
        shutil.rmtree(tmp_path / "c")


def test_fewer_documents_than_were_sketched_are_refused(tmp_path, texts, monkeypatch):
    monkeypatch.setattr(phase1_sketches, "SEGMENT_DOCUMENTS", 10)
    monkeypatch.setattr(phase1_sketches, "pieces", small_pieces)

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
    describe(tmp_path / "d", {"recipe": "another"}, None, finished=False)  # nothing was done but this
    assert len(nd.Collection.build(tmp_path / "d", texts)) == len(texts)
