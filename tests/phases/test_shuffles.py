"""The main job in shuffles has the result of near_duplicates, however an engine cuts and orders the rows."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from generated import corpus
from record_batches import pa

import ndcore as nd
from ndcore.phases.shuffles import EQUAL, LONG, NEAR, Shuffles, check_ids

TEXTS = [text if isinstance(text, str) else text.decode() for text in corpus(random.Random(4), 150)]


def pages_of(texts, ids=None, seed=5):
    """Return a table of pages in any order, and the rows of each in the order of ids."""
    order = random.Random(seed).sample(range(len(texts)), len(texts))
    ids = pa.array(range(len(texts)), pa.int64()) if ids is None else ids
    return pa.table({"id": ids, "text": pa.array(texts, pa.string())}).take(pa.array(order, pa.int64()))


def shuffled(rng, rows, step, parts):
    """Apply a step to rows as engines do: by key, in any order, some parts without rows."""
    rows = rows.take(pa.array(rng.sample(range(len(rows)), len(rows)), pa.int64()))
    part = rows["key"].to_numpy() % np.uint64(parts)
    pieces = [rows.filter(pa.array(part == number)) for number in rng.sample(range(parts), parts)]
    return pa.concat_tables([step(piece) for piece in pieces])


def answers_of(job, pages, parts=5, seed=1, again=None):
    """Run all steps but the last. again: the pages of the second reading."""
    rng = random.Random(seed)
    cuts = sorted(rng.choices(range(len(pages) + 1), k=4))

    def tasks(step, pages):
        bounds = [0, *cuts, len(pages)]
        return [step(pages.slice(first, last - first)) for first, last in itertools.pairwise(bounds)]

    rows = pa.concat_tables(tasks(job.sketch, pages))
    for step in (job.find_equal, job.find_pairs):
        rows = shuffled(rng, rows, step, parts)
    rows = pa.concat_tables([rows, *tasks(job.list_texts, pages if again is None else again)])
    for step in (job.form_sets, job.compare):
        rows = shuffled(rng, rows, step, parts)
    return rows


def labels_of(job, pages, asked=None, **how):
    """Return the label of each id; asked: gets the ids whose texts one place reads."""

    def read(ids):
        if asked is not None:
            asked.append(ids.to_pylist())
        return pages.filter(pa.compute.is_in(pages["id"], ids))

    dropped = job.choose(answers_of(job, pages, **how), read)
    ids = sorted(pages["id"].to_pylist())
    return dict(zip(ids, ids, strict=True)) | dict(zip(*dropped.to_pydict().values(), strict=True))


def expected(pages, **options):
    """Return the label of each id by near_duplicates of the documents in the order of their ids."""
    pages = pages.sort_by("id")
    ids = pages["id"].to_pylist()
    whole = nd.near_duplicates(pages["text"].to_pylist(), filter="lsh", **options)
    return {id: ids[label] for id, label in zip(ids, whole.labels.tolist(), strict=True)}


def edited(seed, n, places, drift=0.0):
    """Return n texts of 100 words: in few places each differs from the first, or, as often as `drift`, from one before."""
    rng = random.Random(seed)
    texts = [[f"w{i}" for i in range(100)]]
    for i in range(1, n):
        other = texts[rng.randrange(i) if rng.random() < drift else 0][:]
        for place in rng.sample(range(100), places):
            other[place] = f"x{seed}y{i}z{place}"
        texts.append(other)
    return [" ".join(words) for words in texts]


@pytest.mark.parametrize("cluster", ["star", "greedy", "components"])
@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8, 1.0])
def test_the_result_is_the_local_one(threshold, cluster):
    pages = pages_of(TEXTS)
    whole = expected(pages, threshold=threshold, cluster=cluster)
    assert 0 < sum(id != label for id, label in whole.items()) < len(TEXTS)
    for parts, seed in ((1, 1), (3, 2), (40, 3)):
        assert labels_of(Shuffles(threshold, cluster=cluster), pages, parts=parts, seed=seed) == whole


@pytest.mark.parametrize("options", [
    {"shingling": nd.Shingling("char", 9)}, {"seed": 7}, {"num_perm": 120}, {"min_shingles": 30}], ids=str)
def test_options(options):
    pages = pages_of(TEXTS)
    assert labels_of(Shuffles(0.7, **options), pages) == expected(pages, threshold=0.7, **options)


@pytest.mark.parametrize("cluster", ["star", "greedy", "components"])
def test_reassign(cluster):
    """Documents that drift away from the first ones move to nearer representatives, within long runs and outside of them."""
    pages, options = pages_of(TEXTS + edited(2, 60, 5, drift=0.7)), {"threshold": 0.6, "cluster": cluster}
    whole = expected(pages, reassign=True, **options)
    assert (whole != expected(pages, **options)) == (cluster != "components")
    for max_holders in (8, 1000):
        assert labels_of(Shuffles(max_holders=max_holders, reassign=True, **options), pages) == whole


@pytest.mark.parametrize("ids", [
    [f"page/{i}" for i in range(150)], [f"é{i}".encode() for i in range(150)], [2**62 - i for i in range(150)],
    [-i / 7 for i in range(150)]], ids=["str", "bytes", "int", "float"])
def test_ids_of_any_type(ids):
    for kind in {pa.array(ids).type, pa.large_string() if isinstance(ids[0], str) else pa.array(ids).type}:
        pages = pages_of(TEXTS, pa.array(ids, kind))
        assert labels_of(Shuffles(0.7), pages) == expected(pages, threshold=0.7)


def test_equal_documents():
    texts = ["", "&&", "", "One text, of a few words!", "one TEXT of a few words", "&& "] * 30 + edited(1, 20, 2) * 3
    pages = pages_of(texts)
    job = Shuffles(0.7, max_holders=25)
    assert labels_of(job, pages) == expected(pages, threshold=0.7)
    answers = answers_of(job, pages)
    assert not (answers["kind"].to_numpy() == LONG).any()  # copies make no run long
    assert (answers["kind"].to_numpy() == EQUAL).sum() == len(texts) - 4 - 20


def test_accepted_pairs_are_all_that_one_place_gets():
    pages = pages_of(TEXTS + [" ".join(f"alone{i}of{j}" for i in range(20)) for j in range(50)])
    answers = answers_of(Shuffles(0.7), pages)
    near = answers.filter(pa.array(answers["kind"].to_numpy() == NEAR)).sort_by([("a", "ascending"), ("b", "ascending")])
    whole = nd.near_duplicates(pages.sort_by("id")["text"].to_pylist(), threshold=0.7, filter="lsh")
    first = ~np.isin(whole.classes, ["identical", "lexical"])
    pairs = whole.pairs.where(first[whole.pairs.a] & first[whole.pairs.b])
    assert near["a"].to_pylist() == pairs.a.tolist() != [] and near["b"].to_pylist() == pairs.b.tolist()
    np.testing.assert_array_equal(near["resemblance"].to_numpy(), pairs.resemblance)
    assert answers["data"].null_count == len(answers)
    long = answers_of(Shuffles(0.7, max_holders=2), pages)
    holders = long.filter(pa.array(long["kind"].to_numpy() == LONG))["a"].to_pylist()
    assert len(holders) == len(set(holders)) > 0


@pytest.mark.parametrize("cluster", ["star", "components"])
@pytest.mark.parametrize("max_holders", [2, 5, 39, 59, 60])
def test_long_runs(max_holders, cluster):
    chain = edited(2, 60, 4)
    outside = [text.replace(" w5 ", f" v{i} ").replace(" w60 ", f" v{i} ") for i, text in enumerate(chain[:7])]
    pages = pages_of(TEXTS + chain + outside)
    asked = []
    job = Shuffles(0.7, max_holders=max_holders, cluster=cluster)
    whole = expected(pages, threshold=0.7, cluster=cluster)
    assert labels_of(job, pages, asked) == whole == expected(pages, threshold=0.7, cluster=cluster, max_holders=max_holders)
    texts = pages.sort_by("id")["text"].to_pylist()
    assert bool(asked) == bool(nd.near_duplicates(texts, threshold=0.7, filter="lsh", max_holders=max_holders).common)
    for ids in asked:
        assert len(set(ids)) == len(ids) < len(pages)
        assert all((label in ids) == (id in ids) for id, label in whole.items())


@pytest.mark.parametrize("cluster", ["star", "components"])
def test_near_duplicates_of_documents_of_long_runs(cluster):
    asked = beyond = 0
    for seed in range(4):
        pages = pages_of(edited(seed, 60, 5, drift=0.7), seed=seed)
        job, read = Shuffles(0.7, max_holders=8, cluster=cluster), []
        assert labels_of(job, pages, read) == expected(pages, threshold=0.7, cluster=cluster)
        answers = answers_of(job, pages)
        holders = answers.filter(pa.array(answers["kind"].to_numpy() == LONG))["a"].to_pylist()
        asked, beyond = asked + len(read), beyond + sum(len(set(ids) - set(holders)) for ids in read)
    assert asked and beyond


@pytest.mark.parametrize(("ids", "message"), [
    (["a", "b", "a"], "2 documents have the id 'a'; ids are unique"),
    (["a", None, "b"], "1 ids are missing (null); give every document an id"),
])
def test_ids_that_repeat_or_are_missing(ids, message):
    pages = pa.table({"id": ids, "text": ["one text", "two texts", "three texts"]})
    for seed in range(10):  # ids repeat within a task, or in two
        with pytest.raises(ValueError) as caught:
            answers_of(Shuffles(0.8), pages, seed=seed)
        assert str(caught.value).startswith(message)
    with pytest.raises(ValueError) as caught:
        check_ids(pages["id"])
    assert str(caught.value).startswith(message)
    check_ids(pa.array(["a", "b"]))


def test_repeated_ids_of_near_duplicates():
    pages = pages_of(edited(3, 10, 1), pa.array([*range(9), 0]))
    for seed in range(5):
        with pytest.raises(ValueError, match="2 documents have the id 0"):
            answers_of(Shuffles(0.5), pages, seed=seed)


def test_missing_texts():
    pages = pa.table({"id": [1, 2], "text": ["a b", None]})
    with pytest.raises(ValueError, match="a text is missing"):
        answers_of(Shuffles(0.8), pages)


def test_a_second_reading_without_a_document():
    pages = pages_of(edited(3, 10, 1))
    with pytest.raises(ValueError, match=r"rows of the document 3 are missing: the pages are other ones"):
        answers_of(Shuffles(0.5), pages, again=pages.filter(pa.compute.field("id") != 3))
    job = Shuffles(0.5, max_holders=2)
    with pytest.raises(ValueError, match="rows of the document 3 are missing"):
        job.choose(answers_of(job, pages), lambda ids: pages.filter(pa.compute.field("id") != 3))


@pytest.mark.parametrize("last", ["form_sets", "compare"])
def test_a_shuffle_that_parts_the_rows_of_a_key_loses_nothing_silently(last):
    pages, job = pages_of(edited(3, 10, 1)), Shuffles(0.5)
    rows = job.find_pairs(job.find_equal(job.sketch(pages)))
    rows = pa.concat_tables([rows, job.list_texts(pages)])
    rows = rows if last == "form_sets" else job.form_sets(rows)
    wrong = rows.sort_by([("kind", "ascending")])
    with pytest.raises(ValueError, match="a step did not get all rows of a key"):
        getattr(job, last)(wrong.slice(0, len(rows) // 2))


@pytest.mark.parametrize("texts", [[], [""], ["one text alone"], ["", "a b c d e f", "g h i j k l"]], ids=str)
def test_pages_without_near_duplicates(texts):
    pages, job = pages_of(texts), Shuffles(0.8)
    answers = answers_of(job, pages)
    assert job.choose(answers, None).num_rows == 0
    assert bool(len(answers)) == bool(texts)  # an engine that forgets columns where there are no rows sees some in each step


def test_columns_and_rows_of_steps():
    job, pages = Shuffles(0.8), pages_of(TEXTS)
    rows = job.sketch(pages)
    assert rows["a"].to_pylist() == job.list_texts(pages)["a"].to_pylist() == pages["id"].to_pylist()
    assert {step(rows.slice(0, 0)).schema for step in (job.find_equal, job.find_pairs, job.form_sets, job.compare)} == {
        rows.schema}
    assert job.sketch(pages.slice(0, 0)).schema == job.list_texts(pages.slice(0, 0)).schema == rows.schema


def test_refusals():
    with pytest.raises(ValueError, match="threshold"):
        Shuffles(1.5)
    with pytest.raises(ValueError, match="cluster"):
        Shuffles(cluster="centre")
    with pytest.raises(ValueError, match="max_holders must be an int of at least 2"):
        Shuffles(max_holders=1)
