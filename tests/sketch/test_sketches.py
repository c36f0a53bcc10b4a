"""Sketches: slices, joins, unions, estimates against the reference."""

from __future__ import annotations

import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from generated import hash_sets
from hypothesis import given
from hypothesis import strategies as st
from sketch_samples import DOCUMENTS, check_same, either, labelled

import ndcore as nd
from ndcore.reference import resemblance
from ndcore.reference import sketches as reference_sketches

# ---------------------------------------------------------------------------------------------- sequences


@either
def test_one_at_a_time_is_the_same_as_a_batch(sketcher):
    many = sketcher.sketch_many(DOCUMENTS)
    assert len(many) == len(DOCUMENTS) and f"<{len(DOCUMENTS)} " in repr(many)
    assert many.valid.tolist() == [True, False, True, True, False, True]
    for i, document in enumerate(DOCUMENTS):
        check_same(sketcher.sketch(document), many[i : i + 1])
        np.testing.assert_array_equal(many[i], sketcher.sketch(document)[0])
    for row, again in zip(many, range(len(many)), strict=True):
        np.testing.assert_array_equal(row, many[again])
        np.testing.assert_array_equal(row, many[again - len(many)])


@either
@pytest.mark.parametrize(
    "which",
    [slice(None), slice(1, 4), slice(None, None, -2), slice(3, 3), [2, 0, 2], np.array([5, -1]), [],
     np.array([True, False, True, False, False, True])],
    ids=str,
)  # fmt: skip
def test_parts(sketcher, which):
    whole = labelled(sketcher)
    part = whole[which]
    rows = [] if isinstance(which, list) and not which else np.arange(len(whole))[which].tolist()
    assert part.ids == [whole.ids[i] for i in rows]
    np.testing.assert_array_equal(part.digests, whole.digests[rows])
    assert len(part) == len(rows)
    for ours, i in zip(part, rows, strict=True):
        np.testing.assert_array_equal(ours, whole[i])
    expected = sketcher.sketch_many([DOCUMENTS[i] for i in rows])
    np.testing.assert_array_equal(part.sizes, expected.sizes)
    np.testing.assert_array_equal(part.valid, expected.valid)


@either
@pytest.mark.parametrize("i", [6, -7, 10**9])
def test_no_such_document(sketcher, i):
    sketches = sketcher.sketch_many(DOCUMENTS)
    for call in (lambda: sketches[i], lambda: sketches.resemblance(0, i), lambda: sketches.containment(i, 0),
                 lambda: sketches.union(i, 0), lambda: sketches.interval(0, i)):  # fmt: skip
        with pytest.raises(IndexError, match=f"document {i} of 6 sketches"):
            call()


@pytest.mark.parametrize("name", ["sizes", "sizes_exact", "valid", "ids", "digests"])
def test_arrays_must_be_of_one_length(name):
    made = labelled(nd.MinHasher(4))
    parts = {key: getattr(made, key) for key in ("sizes", "sizes_exact", "valid", "ids", "digests")}
    parts[name] = parts[name][:4]
    with pytest.raises(ValueError, match=f"{name} has 4 elements; there are 6 sketches"):
        nd.Sketches(made.values, made.recipe, **parts)


@either
def test_concat(sketcher):
    whole = labelled(sketcher)
    for cut in (0, 2, 6):
        check_same(whole[:cut].concat(whole[cut:]), whole)
    without = labelled(sketcher, ids=False, digests=False)
    joined = whole.concat(without)
    assert (len(joined), joined.ids, joined.digests) == (12, None, None)
    np.testing.assert_array_equal(joined[8], whole[2])


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (nd.BottomSketcher(16), "kind is 'minhash' here and 'bottom' there"),
        (nd.MinHasher(17), "num_perm is 16 here and 17 there"),
        (nd.MinHasher(17, 64), "bits is 32 here and 64 there"),
        (nd.MinHasher(16, seed=2), "seed is 1 here and 2 there"),
        (nd.MinHasher(16, shingling=nd.Shingling(width=4)), "shingling.width is 5 here and 4 there"),
        (nd.MinHasher(16, shingling=nd.Shingling(polynomial=0x1DBEF19FC8E7B845F)), "shingling.polynomial is 0x1fd845"),
    ],
)
def test_other_recipes_are_refused(other, difference):
    with pytest.raises(nd.RecipeMismatch, match="cannot combine sketches of different recipes: " + difference):
        nd.MinHasher(16).sketch("a").concat(other.sketch("a"))


# ---------------------------------------------------------------------------------------------- estimates


def of_sets(sketcher, *sets) -> nd.Sketches:
    values = np.array([f for fs in sets for f in fs], np.uint64)
    return sketcher.sketch_hashes(values, np.cumsum([0, *map(len, sets)]))


def test_bottom_estimates_by_hand():
    """Compare (1 3 5 7) with (1 2 5 9): T is 1 2 3 5, both have 1 and 5, A has 1 3 5."""
    recipe = nd.BottomSketcher(4).recipe
    sketches = nd.Sketches(
        np.array([1, 3, 5, 7, 1, 2, 5, 9], np.uint64), recipe, offsets=np.array([0, 4, 8]), sizes=np.array([9.0, 9.0]),
        sizes_exact=np.array([False, False]), valid=np.array([True, True]),
    )  # fmt: skip
    assert sketches.resemblance(0, 1) == 0.5
    assert sketches.containment(0, 1) == sketches.containment(1, 0) == 2 / 3


def test_signature_estimates_by_hand():
    sketches = nd.Sketches(
        np.array([[1, 2, 3, 4], [1, 2, 3, 9]], np.uint32), nd.MinHasher(4).recipe, sizes=np.array([100.0, 40.0]),
        sizes_exact=np.array([True, True]), valid=np.array([True, True]),
    )  # fmt: skip
    assert sketches.resemblance(0, 1) == 0.75
    assert sketches.containment(0, 1) == pytest.approx(0.6)  # 0.75·140 / (1.75·100)
    assert sketches.containment(1, 0) == 1.0
    low, high = sketches.interval(0, 1, 0.95, "exact")
    assert (low, high) == pytest.approx((0.194120, 0.993691), abs=1e-6)  # Clopper and Pearson, 3 of 4
    assert low < sketches.interval(0, 1)[0] < 0.75 < sketches.interval(0, 1)[1] < high


@given(hash_sets, hash_sets, hash_sets, st.integers(1, 30), st.sampled_from([32, 64]))
def test_as_the_reference(common, a, b, size, bits):
    sets = [common + a, common + b]
    found = of_sets(nd.BottomSketcher(size, bits), *sets)
    ours = [reference_sketches.bottom(fs, size, bits) for fs in sets]
    np.testing.assert_equal(found.resemblance(0, 1), resemblance.bottom_resemblance(*ours, size))
    np.testing.assert_equal(found.containment(0, 1), resemblance.bottom_containment(*ours, size))
    found = of_sets(nd.MinHasher(size, bits), *sets)
    ours = [reference_sketches.signature(fs, size, bits) for fs in sets]
    valid = bool(sets[0] and sets[1])
    np.testing.assert_equal(found.resemblance(0, 1), resemblance.signature_resemblance(*ours, valid))
    expected = resemblance.signature_containment(*ours, *found.sizes.tolist(), valid)
    np.testing.assert_allclose(found.containment(0, 1), expected, rtol=1e-14)


@either
def test_documents_without_shingles_resemble_nothing(sketcher):
    sketches = sketcher.sketch_many(DOCUMENTS)
    for i, j in [(1, 0), (0, 1), (1, 4), (1, 1)]:
        assert math.isnan(sketches.resemblance(i, j)) and math.isnan(sketches.containment(i, j))
        assert all(map(math.isnan, sketches.interval(i, j)))
    assert sketches.resemblance(0, 0) == sketches.containment(0, 0) == 1
    assert sketches.sizes[1] == 0 and sketches.sizes_exact[1]


@pytest.mark.parametrize("size", [5, 10])
def test_small_sets_are_compared_exactly(size):
    """Compare sketches that hold whole sets, also where the union has more than `size` elements."""
    sets = [{1, 2, 3, 4}, {3, 4, 5}, set(), set(range(50, 54))]
    found = of_sets(nd.BottomSketcher(size), *map(sorted, sets[:3]))
    assert of_sets(nd.BottomSketcher(size), *map(sorted, sets)).interval(0, 3) == (0.0, 0.0)
    assert found.sizes.tolist() == [4, 3, 0] and found.sizes_exact.all()
    assert found.resemblance(0, 1) == 2 / 5
    assert found.interval(0, 1) == (2 / 5, 2 / 5)
    assert found.containment(1, 0) == 2 / 3


def test_exact_sizes_of_signatures():
    text = " ".join(f"w{i % 30}" for i in range(100))
    made = nd.MinHasher(8, shingling=nd.Shingling(width=1), exact_sizes=True)
    for sketches in (made.sketch_many([text, "", "a a"]), pickle.loads(pickle.dumps(made)).sketch_many([text, "", "a a"])):
        assert sketches.sizes.tolist() == [30, 0, 1] and sketches.sizes_exact.all()
    assert not nd.MinHasher(8).sketch(text).sizes_exact.any()


# ---------------------------------------------------------------------------------------------- unions


@given(hash_sets, hash_sets, st.integers(1, 30), st.sampled_from([32, 64]))
def test_union_is_the_sketch_of_the_union(a, b, size, bits):
    for sketcher in (nd.MinHasher(size, bits), nd.BottomSketcher(size, bits)):
        union = of_sets(sketcher, a, b).union(0, 1)
        expected = of_sets(sketcher, a + b)
        np.testing.assert_array_equal(union.values, expected.values)
        assert (len(union), union.recipe) == (1, expected.recipe)
        assert union.valid.tolist() == expected.valid.tolist()
        if union.sizes_exact[0]:
            assert union.sizes[0] == len({z >> (64 - bits) for z in reference_sketches.permute(a + b)})
        else:
            np.testing.assert_allclose(union.sizes, expected.sizes, rtol=1e-12)


@given(st.lists(hash_sets, max_size=6), st.integers(1, 30), st.integers(0, 6))
def test_union_of_many_is_the_sketch_of_the_union(sets, size, cut):
    """Of documents here by position, of all here, and of sketches made apart; also of none."""
    everything = [value for each in sets for value in each]
    for sketcher in (nd.MinHasher(size), nd.BottomSketcher(size), nd.ModSketcher(3), nd.ModSketcher("adaptive")):
        found = of_sets(sketcher, *sets)
        unions = [found.union(), found[:cut].union(found[cut:]), found[:0].union(found, found)]
        if sets:
            unions += [found.union(*range(len(found))), found[:1].union(*(found[i : i + 1] for i in range(1, len(found))))]
        for union in unions:
            assert len(union) == 1 and union.valid.tolist() == [bool(everything)]
            check_same(union, unions[0])
        if sketcher != nd.ModSketcher("adaptive"):
            np.testing.assert_array_equal(unions[0].values, of_sets(sketcher, everything).values)


def test_sketches_made_apart_are_compared_and_united_in_one_call():
    sketcher, texts = nd.BottomSketcher(200), ["a b c d e f", "a b c d e f g h", ""]
    together = sketcher.sketch_many(texts)
    one, other, nothing = map(sketcher.sketch, texts)
    assert one.resemblance(other) == together.resemblance(0, 1) == 2 / 4
    assert (one.containment(other), other.containment(one)) == (1.0, 0.5)
    assert one.interval(other) == together.interval(0, 1)
    assert math.isnan(one.resemblance(nothing))
    check_same(one.union(other), sketcher.sketch(texts[1]))


def test_what_cannot_be_compared_or_united_is_refused():
    found, one = nd.MinHasher(4).sketch_many(["a", "b"]), nd.MinHasher(4).sketch("a")
    with pytest.raises(ValueError, match=r"here are 2 documents and there 1 document: x.compare\(other=y\) compares all"):
        found.resemblance(one)
    with pytest.raises(TypeError, match="give the positions of two documents, or other Sketches"):
        found.resemblance(0)
    with pytest.raises(TypeError, match="j is 0; there is none beside other Sketches"):
        one.containment(one, 0)
    for call in (one.resemblance, one.interval, one.union):
        with pytest.raises(nd.RecipeMismatch, match="num_perm is 4 here and 5 there"):
            call(nd.MinHasher(5).sketch("a"))
    with pytest.raises(TypeError, match="positions of documents here, or other Sketches; 0 is among Sketches"):
        found.union(one, 0)
    with pytest.raises(TypeError, match=r"a position is 0\.5 of type float"):
        found.union(0, 0.5)
    with pytest.raises(ValueError, match="by method='fast' is not known"):
        nd.MinHasher(4, method="fast").sketch("a").union()


def test_no_certainty_from_unions_that_were_cut():
    """Unite 16 known elements twice in sketches of 10: the sizes are exact, the resemblance is not."""
    found = of_sets(nd.BottomSketcher(10), range(8), range(8, 16), range(16, 24))
    unions = found.union(0, 1).concat(found.union(1, 2))
    assert unions.sizes.tolist() == [16, 16]
    low, high = unions.interval(0, 1)
    assert low < 8 / 24 < high


@either
def test_pickles_and_copies(sketcher):
    made = labelled(sketcher)
    check_same(pickle.loads(pickle.dumps(made)), made)
    check_same(copy.deepcopy(made), made)


@pytest.mark.parametrize("offsets", [[0, 9], [1, 3], [0, 2, 1, 3]])
def test_offsets_must_cut_the_values(offsets):
    n = len(offsets) - 1
    with pytest.raises(ValueError, match="offsets do not ascend from 0 to 3, the number of values"):
        nd.Sketches(np.arange(3, dtype=np.uint64), nd.BottomSketcher().recipe, offsets=np.array(offsets), sizes=np.ones(n),
                    sizes_exact=np.zeros(n, np.bool_), valid=np.ones(n, np.bool_))


# ---------------------------------------------------------------------------------------------- arrow


@either
def test_to_arrow(sketcher):
    pytest.importorskip("pyarrow")
    made = labelled(sketcher)
    made.ids = [f"id{i}" for i in range(6)]
    table = made.to_arrow()
    adaptive = ["modulus"] if made.moduli is not None else []
    assert table.column_names == ["id", "sketch", "size", "size_exact", "valid", *adaptive]
    assert [table[name].to_pylist() for name in adaptive] == [[1] * 6 for name in adaptive]
    assert table["id"].to_pylist() == made.ids
    assert table["sketch"].to_pylist() == [row.tolist() for row in made]
    assert table["size"].to_pylist() == made.sizes.tolist()
    assert table["valid"].to_pylist() == made.valid.tolist()
    assert table.schema.metadata[b"ndcore.recipe_id"].decode() == made.recipe.id
    assert nd.Recipe.from_json(table.schema.metadata[b"ndcore.recipe"]) == made.recipe
    assert labelled(sketcher, ids=False).to_arrow().column_names == ["sketch", "size", "size_exact", "valid", *adaptive]


@pytest.mark.parametrize("sketcher", [nd.MinHasher(32), nd.MinHasher(32, method="fast"), nd.BottomSketcher(4)], ids=repr)
def test_sizes_are_estimated_when_they_are_asked_for(sketcher):
    texts = ["one two three four five six " * 9, "", " ".join(map(str, range(300)))]
    made = sketcher.sketch_many(texts)
    copied = pickle.loads(pickle.dumps(made))
    assert made.sizes is made.sizes
    np.testing.assert_array_equal(copied.sizes, made.sizes)
    np.testing.assert_array_equal(np.concatenate([sketcher.sketch(text).sizes for text in texts]), made.sizes)
    assert made.sizes[1] == 0
    assert 100 < made.sizes[2] < 600  # 296
    with pytest.raises(ValueError, match="sizes has 1 elements; there are 3 sketches"):
        made.sizes = np.ones(1)


def fields(made: nd.Sketches) -> list[list[float]]:
    return [getattr(made, name).tolist() for name in ("valid", "sizes_exact", "sizes")]


@either
def test_fields_are_computed_once_in_any_order_and_after_copying(sketcher):
    expected = fields(labelled(sketcher))
    for copied in (copy.copy, copy.deepcopy, lambda made: pickle.loads(pickle.dumps(made))):
        assert fields(copied(sketcher.sketch_many(DOCUMENTS))) == expected
    for name in ("sizes", "valid", "sizes_exact"):
        made = sketcher.sketch_many(DOCUMENTS)
        assert getattr(made, name) is getattr(made, name)
        assert not getattr(made, name).flags.writeable and fields(made) == expected
    joined = sketcher.sketch_many(DOCUMENTS).concat(sketcher.sketch_many(DOCUMENTS)[2:4])
    assert fields(joined) == [column + column[2:4] for column in expected]


@either
def test_fields_that_are_replaced_before_they_are_asked_for(sketcher):
    made, expected = sketcher.sketch_many(DOCUMENTS), fields(sketcher.sketch_many(DOCUMENTS))
    made.valid = np.zeros(len(DOCUMENTS), np.bool_)
    made.sizes = np.ones(len(DOCUMENTS))
    assert fields(made) == [[False] * len(DOCUMENTS), expected[1], [1.0] * len(DOCUMENTS)]
    with pytest.raises(AttributeError, match="'Sketches' object has no attribute 'size'"):
        made.size  # noqa: B018


@either
def test_threads_ask_for_the_fields_of_one_object_at_once(sketcher):
    expected = fields(sketcher.sketch_many(DOCUMENTS))
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            made = sketcher.sketch_many(DOCUMENTS)
            assert list(pool.map(fields, [made] * 8)) == [expected] * 8


def test_another_thread_estimates_the_sizes_between_two_looks(monkeypatch):
    """A thread keeps the function that it saw, although the estimates of another thread take its place."""
    made = nd.MinHasher(32).sketch_many(DOCUMENTS)
    expected = nd.MinHasher(32).sketch_many(DOCUMENTS).sizes
    looks = []

    def look(sketches):
        looks.append(vars(sketches)["_sizes"])
        vars(sketches)["_sizes"] = expected  # by the other thread, after this look
        return looks[-1]

    assert callable(made._sizes)
    monkeypatch.setattr(nd.Sketches, "_sizes", property(look, lambda *_: None), raising=False)
    assert made.sizes is expected
    assert callable(looks[0]) and looks[-1] is expected


@either
def test_threads_share_a_sketcher(sketcher):
    texts = DOCUMENTS + [f"{k} " * 3000 + "of many words" for k in range(8)]
    expected = [sketcher.sketch(text)[0].tolist() for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert [made[0].tolist() for made in pool.map(sketcher.sketch, texts * 4)] == expected * 4


@either
def test_sketches_of_no_documents(sketcher):
    made = sketcher.sketch_many([])
    assert len(made) == 0 and fields(made) == [[], [], []] and len(made.values) == 0
    check_same(made, sketcher.sketch_many(DOCUMENTS)[:0])
