"""Queries of collections: by texts, by ids, over values spread in any way."""

from __future__ import annotations

import mmap
import random
from string import ascii_lowercase

import numpy as np
import pytest
from agreement import WORDS, families

import ndcore as nd
from ndcore.collection.shelf import DIRECTORY, SLABS, Shelf
from ndcore.storage.container import CorruptFile


@pytest.fixture(scope="module")
def texts():
    return families(1)


@pytest.fixture
def made(tmp_path, texts):
    return nd.Collection.build(tmp_path / "c", texts, [f"id {i}" for i in range(len(texts))])


@pytest.mark.parametrize("method, sketcher", [
    ("shingles", nd.ModSketcher(4)), ("super-shingles", nd.ModSketcher(2)), ("super-shingles", nd.BottomSketcher(64)),
    ("features", None),
])
def test_a_query_finds_what_the_sketches_say(tmp_path, texts, method, sketcher):
    """Compare with all sketches; super-shingles and features may miss documents, but must not invent any."""
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
    texts = [f"{' '.join(f'{w}{i}' for w in ascii_lowercase)} {page}" for i in range(12)]
    made = nd.Collection.build(tmp_path / "c", texts, sketcher=nd.ModSketcher(1), max_holders=5, threshold=0.1)
    assert len(made.common.value) == 10  # the shingles of the footer's 14 words
    assert (made.common.holders == 12).all() and (made.common.example == 0).all()
    assert [match.id for match in made.query(texts[3], 0.1)] == [3]
    assert made.query(page, 0.1) == []


def test_samples_of_few_members_tell_no_containment(tmp_path):
    """Query a page whose sample has one member at the modulus of a book, which a shared sentence put into the book."""
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
    """Query by id: a recipe does not make the callable again."""
    texts = ["a,b,c,d,e,f,g", "a,b,c,d,e,f,g", "x,y"]
    sketcher = nd.ModSketcher(1, shingling=nd.Shingling(unit=by_commas, width=2))
    assert nd.cluster(texts, sketcher=sketcher).classes.tolist() == ["kept", "identical", "kept"]
    assert nd.cluster(sketcher.sketch_many(texts)).labels.tolist() == [0, 0, 2]
    made = nd.Collection.build(tmp_path / "c", texts, sketcher=sketcher)
    assert made.members(1) == [0, 1]
    assert [match.id for match in made.resembling(0)] == [0, 1]
    with pytest.raises(ValueError, match="by_commas"):
        made.query("a,b,c")


@pytest.fixture
def large(tmp_path):
    """A collection of random samples, some of which share members, over many pages of entries."""
    rng = np.random.default_rng(4)
    n, size = 6000, 20
    rows = np.sort(rng.integers(0, 2**64 // 25, (n, size), dtype=np.uint64) * np.uint64(25), axis=1)
    rows[n // 2 :, ::2] = rows[: n // 2, ::2]
    rows.sort(axis=1)
    sketches = nd.ModSketcher(25).sketch_hashes([], [0] * (n + 1))
    made = nd.Sketches(
        rows.reshape(-1), sketches.recipe, offsets=np.arange(n + 1) * size, sizes=np.full(n, 25.0 * size),
        sizes_exact=np.zeros(n, np.bool_), valid=np.ones(n, np.bool_),
    )
    return made, nd.Collection.build(tmp_path / "large", made, memory_limit="8MB")


def test_a_value_costs_at_most_two_pages(large):
    """Count the pages that a query asks for before it reads any: one of keys and one of documents a value."""
    sketches, made = large
    entries, page = made._stored.entries, mmap.PAGESIZE // 8
    slabs = Shelf(made.path).read(SLABS, len(made))["slabs"]
    assert sum(slabs[:, 2].tolist()) > 100 * page and len(slabs) > 1
    starts = set(made._shelf.read(DIRECTORY, len(made))["first"].tolist())
    for i in range(0, len(sketches), 751):
        values = sketches[i]
        found, counts, of_keys, of_documents = entries.holders(values, 1000)
        expected = [other for other in range(len(sketches)) if np.isin(sketches[other], values).any()]
        assert found.tolist() == expected and counts.sum() == len(values) + (counts[found != i]).sum()
        crossing = sum(value in starts for value in values.tolist())  # their runs may begin on the page before
        assert of_keys <= len(values) + crossing
        assert of_keys + of_documents <= 2 * len(values) + crossing + 1
    absent = sketches[7] + np.uint64(1)
    found, _, of_keys, of_documents = entries.holders(absent, 1000)
    assert len(found) == 0 and of_keys <= len(absent) and of_documents == 0


def test_a_collection_without_a_directory_is_refused(large):
    (large[1].path / "directory.ndc").unlink()
    with pytest.raises(CorruptFile, match=r"directory\.ndc: the file is missing; build the collection again"):
        nd.Collection.open(large[1].path)


def test_a_directory_of_other_entries_is_refused(large):
    made, shelf = large[1], Shelf(large[1].path)
    first = shelf.get("directory")[1]["first"]
    for wrong, message, verify in [
        (first[::-1].copy(), "do not ascend", False), (first[1:].copy(), "not one for 512 entries", False),
        (np.sort(first + np.uint64(1)), "every 512th", True),
    ]:
        shelf.put("directory", {}, {"first": wrong})
        with pytest.raises(CorruptFile, match=f"directory.ndc: .*{message}"):
            nd.Collection.open(made.path, verify=verify)


def test_documents_that_entries_invent_are_refused(made, texts):
    """Forge positions under right checksums."""
    shelf = Shelf(made.path)
    arrays = shelf.get("entries/00000000")[1]
    shelf.put("entries/00000000", {}, {"keys": arrays["keys"].copy(), "documents": np.full_like(arrays["documents"], 10**6)})
    with pytest.raises(CorruptFile, match="names document 1000000"):
        nd.Collection.open(made.path, verify=True)
    opened = nd.Collection.open(made.path)
    with pytest.raises(CorruptFile, match="names document 1000000"):
        for text in texts:
            opened.query(text)
