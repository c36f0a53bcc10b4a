"""Arrays of results are read-only, after copying and pickling too; what kernels rely on is copied where callers give it."""

import copy
import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest

import ndcore as nd
from ndcore.readonly import Frozen, frozen, private

TEXTS = ["a b c d e f", "a b c d e f", "a b c d e g", "h i j k l m n", "", "a b c d e f g h"]


def sketches(kind):
    if kind == "adaptive":
        made = nd.ModSketcher("adaptive").sketch_many(TEXTS)
    else:
        made = {"bottom": nd.BottomSketcher, "minhash": nd.MinHasher, "simhash": nd.SimHasher,
                "winnow": nd.Winnower}[kind]().sketch_many(TEXTS)
    made.ids, made.digests = list(range(len(TEXTS))), np.zeros((len(TEXTS), 32), np.uint8)
    return made


def arrays(result):
    """All arrays that a result holds, by name."""
    if isinstance(result, nd.Sketches):
        names = ("values", "offsets", "moduli", "positions", "sizes", "sizes_exact", "valid", "digests")
    elif dataclasses.is_dataclass(result):
        names = [field.name for field in dataclasses.fields(result) if field.name not in ("sources", "segments", "shelf")]
        names += ["classes"] if hasattr(result, "classes") else []
    else:
        names = result._fields
    for name in names:
        value = getattr(result, name)
        if isinstance(value, np.ndarray):
            yield name, value
        elif hasattr(value, "_fields"):
            yield from arrays(value)


RESULTS = {
    "bottom": lambda: sketches("bottom"), "minhash": lambda: sketches("minhash"), "simhash": lambda: sketches("simhash"),
    "adaptive": lambda: sketches("adaptive"), "winnow": lambda: sketches("winnow"), "part": lambda: sketches("bottom")[1:3],
    "joined": lambda: sketches("bottom").concat(sketches("bottom")), "union": lambda: sketches("bottom").union(0, 3),
    "hashes": lambda: nd.BottomSketcher().sketch_hashes(np.arange(6, dtype=np.uint64), [0, 2, 6]),
    "exact": lambda: nd.MinHasher(exact_sizes=True).sketch_many(TEXTS),
    "comparison": lambda: sketches("bottom").compare(),
    "super-shingles": lambda: nd.super_shingles(sketches("bottom"), run=1),
    "near-duplicates": lambda: nd.near_duplicates(TEXTS),
    "rethresholded": lambda: nd.near_duplicates(TEXTS).rethreshold(0.95),
    "clustering": lambda: nd.cluster(TEXTS),
    "matches": lambda: nd.HammingIndex([1, 3, 7], max_distance=1).query_many([1, 2]),
    "pairs": lambda: nd.HammingIndex([1, 3, 7], max_distance=1).pairs(),
    "no pairs": lambda: nd.HammingIndex([], max_distance=1).pairs(),
    "join": lambda: nd.hamming_join([1, 2], [1, 3, 7], max_distance=1),
    "self-join": lambda: nd.hamming_pairs([1, 3, 7], max_distance=1),
}


@pytest.mark.parametrize("name", RESULTS)
def test_arrays_of_results_cannot_be_written_to(name):
    result = RESULTS[name]()
    held = dict(arrays(result))
    assert held
    for array in held.values():
        assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        next(iter(held.values()))[...] = 0


@pytest.mark.parametrize("name", sorted(RESULTS.keys() - {"near-duplicates", "rethresholded", "clustering"}))
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))])
def test_they_stay_read_only_in_copies(name, copied):
    result = RESULTS[name]()
    other = copied(result)
    assert type(other) is type(result)
    for (name, array), (_, before) in zip(arrays(other), arrays(result), strict=True):
        assert not array.flags.writeable, name
        np.testing.assert_array_equal(array, before)


COLUMNS = {
    "near-duplicates": (lambda: nd.near_duplicates(TEXTS).pairs, ("a", "b", "resemblance")),
    "matches": (RESULTS["matches"], ("query", "id", "distance")),
    "fingerprints": (RESULTS["pairs"], ("a", "b", "distance")),
    "no pairs": (RESULTS["no pairs"], ("a", "b", "distance")),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_length_of_columns_is_the_number_of_their_rows(name):
    made, names = COLUMNS[name]
    columns, again = made(), made()
    first, second, third = columns
    assert all(column is getattr(columns, name) for column, name in zip((first, second, third), names, strict=True))
    rows = list(columns.rows())
    assert rows == list(zip(first.tolist(), second.tolist(), third.tolist(), strict=True))
    assert len(columns) == columns.count == len(rows) == len(first)
    assert bool(columns) == (len(rows) > 0)
    assert columns == columns == again
    assert (columns != again) is False
    assert len(columns._replace(**{names[0]: second})) == len(rows)
    if rows:
        assert columns != columns._replace(**{names[2]: third + 1})
    assert columns != tuple(columns)
    assert f"{len(rows)} row" in repr(columns)
    assert ", ".join(names) in repr(columns)


def test_undefined_resemblances_are_equal():
    one, other = (nd.near_duplicates(["", ""]).pairs for _ in range(2))
    assert np.isnan(one.resemblance).all()
    assert one == other


def test_pairs_of_a_collection_list_what_is_in_common():
    pairs = nd.cluster(["a b c d e f", "a b c d e f g"], sketcher=nd.ModSketcher(1)).pairs
    assert list(pairs.rows()) == [(0, 1, 2, 2, 3, 2 / 3)]
    assert pairs == pairs
    assert len(pairs) == 1


def frozen_classes(base=Frozen):
    for cls in base.__subclasses__():
        yield from (cls, *frozen_classes(cls))


@pytest.mark.parametrize("name", ["comparison", "near-duplicates", "clustering", "collapsed", "contamination"])
def test_results_are_equal_to_themselves_only(name):
    """Arrays have no truth value, so comparing two results by their fields raises."""
    made = {**RESULTS, "collapsed": lambda: nd.collapse(TEXTS), "contamination": lambda: nd.contamination(TEXTS, TEXTS)}
    result, other = made[name](), made[name]()
    assert result == result
    assert result != other
    assert len({result, other}) == 2


def test_every_frozen_result_compares_by_identity():
    assert {cls.__name__ for cls in frozen_classes()} >= {"NearDuplicates", "Clustering", "Comparison"}
    assert [cls.__name__ for cls in frozen_classes() if cls.__eq__ is not object.__eq__] == []


def test_completion_leaves_internal_fields_out():
    result, clustering = nd.near_duplicates(TEXTS), nd.cluster(TEXTS)
    assert not {"leaders", "found", "sources"} & set(dir(result))
    assert not {"segments", "shelf"} & set(dir(clustering))
    assert {"labels", "clusters", "pairs", "rethreshold", "ids"} <= set(dir(result)) & set(dir(clustering))


def test_what_may_be_replaced_in_sketches_and_what_not():
    made = sketches("bottom")
    made.ids = ["x"] * len(TEXTS)
    made.sizes = np.ones(len(TEXTS))
    made.valid = np.ones(len(TEXTS), np.bool_)
    assert not made.sizes.flags.writeable
    assert not made.valid.flags.writeable
    for name in ("ids", "sizes", "valid", "sizes_exact", "digests"):
        with pytest.raises(ValueError, match=f"{name} has 2 elements; there are 6 sketches"):
            setattr(made, name, np.zeros(2))
    with pytest.raises(ValueError, match="values has 2 elements; there are"):
        made.values = np.zeros(2, np.uint64)
    for name in ("offsets", "moduli"):
        with pytest.raises(AttributeError, match=f"{name} cannot be replaced"):
            setattr(made, name, np.zeros(2))


def test_offsets_that_a_caller_gives_are_copied_and_values_are_not():
    values, offsets = np.arange(4, dtype=np.uint64), np.array([0, 2, 4])
    one = np.ones(2)
    hidden = offsets.view()
    hidden.flags.writeable = False
    for given in (offsets, hidden):
        made = nd.Sketches(values, nd.BottomSketcher().recipe, offsets=given, sizes=one, sizes_exact=one > 0, valid=one > 0)
        given_before = made.offsets.copy()
        offsets[1] = 1 << 40
        assert (made.offsets == given_before).all()
        offsets[1] = 2
        assert np.shares_memory(made.values, values)


def test_what_is_mapped_stays_mapped(tmp_path):
    sketches("adaptive").save(tmp_path / "s.nds")
    made = nd.load(tmp_path / "s.nds", mmap=True)
    for name in ("values", "offsets", "moduli", "digests"):
        base = getattr(made, name)
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        assert type(base).__name__ in ("mmap", "memmap", "memoryview"), (name, type(base))


def test_helpers():
    array = np.arange(3)
    view = frozen(array)
    assert np.shares_memory(array, view)
    assert array.flags.writeable
    assert frozen(view) is view
    assert private(view) is not view
    assert not np.shares_memory(private(array), array)
    closed = np.frombuffer(b"12345678", np.uint64)
    assert private(closed) is closed
    assert frozen("text") == "text"


RACE = """
import sys, threading
import numpy as np
import ndcore as nd
values, offsets = np.arange(20000, dtype=np.uint64), np.arange(0, 20001, 4)
sound, wild = offsets.copy(), offsets.copy()
wild[1:-1:2] = 1 << 44
done = False


def change():
    while not done:
        offsets[:] = wild
        offsets[:] = sound


thread = threading.Thread(target=change)
thread.start()
sketcher = {"bottom": nd.BottomSketcher, "fast": lambda: nd.MinHasher(method="fast"), "simhash": nd.SimHasher,
            "distinct": lambda: nd.SimHasher(weights="distinct"), "mod": nd.ModSketcher, "minhash": nd.MinHasher}
taken = 0
for _ in range(60):
    try:
        sketcher[sys.argv[1]]().sketch_hashes(values, offsets)
        taken += 1
    except ValueError as error:
        assert "offsets must ascend" in str(error), error
done = True
thread.join()
print("alive")
"""


@pytest.mark.parametrize("kind", ["bottom", "fast", "simhash", "distinct", "mod", "minhash"])
def test_offsets_that_another_thread_changes_are_refused_or_taken_as_they_were(kind):
    done = subprocess.run([sys.executable, "-c", RACE, kind], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "alive", (done.returncode, done.stderr[-400:])
