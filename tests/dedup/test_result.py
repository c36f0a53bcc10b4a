"""The result of the main job: explanations, other thresholds, tables, masks, and its promises."""

from __future__ import annotations

import hashlib
import re
import sys

import numpy as np
import pytest
from deduplicated import CORPUS, EVERY_PAIR, TEN, WORDS, equal, listed

import ndcore as nd


def test_rethreshold_answers_only_what_was_looked_for():
    result = nd.near_duplicates(CORPUS, threshold=0.6, **EVERY_PAIR)
    equal(result.rethreshold(0.6), result)
    assert result.rethreshold(0.9).threshold == 0.9
    for threshold in (0.59, 1.01, float("nan"), 0):
        with pytest.raises(ValueError, match=f"threshold is {threshold}; this result can answer 0.6 to 1"):
            result.rethreshold(threshold)


def test_to_arrow():
    pytest.importorskip("pyarrow")
    result = nd.near_duplicates([TEN, TEN, "...", "..."], ids=["a", "b", "c", "d"])
    table = result.to_arrow()
    assert table.column_names == ["id", "label", "representative", "class", "resemblance", "cluster_size"]
    assert table["id"].to_pylist() == ["a", "b", "c", "d"]
    assert table["label"].to_pylist() == [0, 0, 2, 2]
    assert table["class"].to_pylist() == ["kept", "identical", "kept", "identical"]
    assert table["representative"].to_pylist() == ["a", "a", "c", "c"] and table["cluster_size"].to_pylist() == [2] * 4
    assert nd.near_duplicates([TEN]).to_arrow().column_names == ["label", "class", "resemblance", "cluster_size"]
    mixed = nd.near_duplicates([TEN, "..."], ids=[1, "b"], against=[TEN]).to_arrow()
    assert mixed["id"].to_pylist() == ["1", "b"] and mixed["representative"].to_pylist() == [None, "b"]


def test_columns_that_options_bring():
    pytest.importorskip("pyarrow")
    long = TEN + " and five words more than that"
    names = ["label", "class", "resemblance", "cluster_size"]
    table = nd.near_duplicates([TEN, long], drop="contained", keep="longest", lost=True).to_arrow()
    assert table.column_names == [*names, "score", "lost"]
    assert (table["class"].to_pylist(), table["score"].to_pylist(), table["lost"].to_pylist()) == (
        ["contained", "kept"], [1.0, 1.0], [0, 0])
    assert nd.near_duplicates([TEN, long], drop_common=0.5).to_arrow().column_names == [*names, "score"]


def test_to_pandas():
    pandas = pytest.importorskip("pandas")
    result = nd.near_duplicates([TEN, TEN + "!", "other"], ids=[7, 8, 9])
    frame = result.to_pandas()
    assert frame["id"].tolist() == [7, 8, 9] and frame["representative"].tolist() == [7, 7, 9]
    assert isinstance(frame, pandas.DataFrame) and frame[result.mask]["cluster_size"].tolist() == [2, 1]
    assert nd.cluster([TEN, TEN + "!", "other"]).to_pandas()["class"].tolist() == ["kept", "lexical", "kept"]


@pytest.mark.parametrize(("method", "package", "advice"), [
    ("to_arrow", "pyarrow", "pip install 'ndcore[parquet]'"), ("to_pandas", "pandas", "pip install 'pandas'"),
])  # fmt: skip
def test_tables_without_their_package(monkeypatch, method, package, advice):
    monkeypatch.setitem(sys.modules, package, None)
    for result in (nd.near_duplicates([TEN]), nd.cluster([TEN])):
        with pytest.raises(ImportError, match=re.escape(f"{method} needs {package}: {advice}")):
            getattr(result, method)()


def test_masks_positions_and_sizes():
    documents = [TEN, "other", TEN, TEN + " eleven", "OTHER", "alone"]
    for result in (nd.near_duplicates(documents, shingling=WORDS, threshold=0.8), nd.cluster(
            documents, sketcher=nd.ModSketcher(1, shingling=WORDS), threshold=0.8)):  # fmt: skip
        assert result.labels.tolist() == [0, 1, 0, 0, 1, 5]
        assert result.mask.tolist() == [True, True, False, False, False, True] and result.mask.dtype == np.bool_
        assert result.keep_indices.tolist() == [0, 1, 5] and result.keep_indices.dtype == np.int64
        assert result.cluster_sizes.tolist() == [3, 2, 3, 3, 2, 1] and result.cluster_sizes.dtype == np.int64
    # a document of against counts where it stands for one, once
    result = nd.near_duplicates(documents, shingling=WORDS, threshold=0.8, against=[TEN, "unlike"])
    assert result.cluster_sizes.tolist() == [4, 2, 4, 4, 2, 1]
    for nothing in (nd.near_duplicates([]), nd.cluster([])):
        assert len(nothing.mask) == len(nothing.keep_indices) == len(nothing.cluster_sizes) == 0
        assert "0 documents" in nothing._repr_html_()


def test_notebooks_get_a_table_of_escaped_names():
    ids = ["<script>alert(1)</script>", "b", "\u202eevil" + "x" * 100]
    result = nd.near_duplicates([TEN, TEN, "other"], ids=ids)
    shown = result._repr_html_()
    assert "<script" not in shown and "&lt;script&gt;" in shown and "<td>identical</td><td>1</td>" in shown
    hidden = nd.near_duplicates([TEN, TEN], ids=ids[2:] * 2)._repr_html_()
    assert "\u202e" not in hidden and "\\u202e" in hidden and "x" * 60 not in hidden
    against = nd.near_duplicates([TEN], against=["other", TEN])._repr_html_()
    assert "document 1 of against" in against
    many = nd.near_duplicates([f"{i} {i}" for i in range(17)] * 2)._repr_html_()
    assert "Largest clusters: the first 10 of 17" in many and many.count("</td><td>1</td>") == 10


def test_every_dropped_document_is_among_the_pairs():
    # Identical and lexically equivalent ones with the first of their class, by 1.0, or nan where they have no shingles.
    documents = [TEN, "...", TEN, TEN + " eleven", TEN.upper(), "...", "alone"]
    result = nd.near_duplicates(documents, shingling=WORDS, threshold=0.8)
    assert listed(result.pairs) == [(0, 2, 1.0), (0, 3, 10 / 11), (0, 4, 1.0), (1, 5, None)]
    assert result.pair_classes.tolist() == ["identical", "near", "lexical", "identical"]
    assert result.verified.tolist() == [False, True, False, False] and not result.estimated.any()
    assert set(result.duplicates.tolist()) <= {*result.pairs.a.tolist(), *result.pairs.b.tolist()}
    higher = result.rethreshold(0.95)
    assert listed(higher.pairs) == [(0, 2, 1.0), (0, 4, 1.0), (1, 5, None)]
    # documents of against are not paired with each other
    against = nd.near_duplicates(["...", TEN], against=[TEN, TEN, "..."])
    assert list(zip(against.pairs.a.tolist(), against.pairs.b.tolist(), strict=True)) == [(0, 4), (1, 2)]


def test_dtypes():
    result = nd.near_duplicates(CORPUS)
    assert result.labels.dtype == result.kept.dtype == result.duplicates.dtype == np.int64
    assert result.pairs.a.dtype == result.pairs.b.dtype == np.int64
    assert result.resemblance.dtype == result.pairs.resemblance.dtype == np.float64
    assert result.classes.dtype.kind == "U" and result.valid.dtype == result.estimated.dtype == np.bool_


def test_sketches_of_a_result_are_those_of_the_sketcher():
    result = nd.near_duplicates(CORPUS)
    expected = nd.MinHasher(result.filter.num_perm).sketch_many(CORPUS)
    assert result.sketches.recipe == expected.recipe
    np.testing.assert_array_equal(result.sketches.values, expected.values)
    documents = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in CORPUS]
    tokens = [b"".join(len(token.encode()).to_bytes(8, "big") + token.encode() for token in nd.Shingling().tokens(text))
              for text in CORPUS]
    assert result.sketches.digests is not None
    for row, *both in zip(result.sketches.digests, documents, tokens, strict=True):
        assert bytes(row) == b"".join(hashlib.blake2b(data, digest_size=16).digest() for data in both)


def test_progress_tells_every_stage():
    told: list[tuple[str, int, int | None]] = []
    nd.near_duplicates([*CORPUS, TEN, TEN], threshold=0.5, progress=lambda *state: told.append(state))
    assert {stage for stage, _, _ in told} == {
        "sketching", "comparing equal signatures", "pairing", "reading candidates", "verifying"}
    for stage in ("comparing equal signatures", "pairing", "reading candidates", "verifying"):
        last = [state for state in told if state[0] == stage][-1]
        assert last[1] == last[2]


def test_clusters_have_their_representative_first():
    texts = ["x y z u v w q", "a b c d e f g", "a b c d e f g", "a b c d e f g", "x y z u v w q"]
    assert [c.tolist() for c in nd.near_duplicates(texts).clusters()] == [[1, 2, 3], [0, 4]]
    assert [c.tolist() for c in nd.near_duplicates(texts, keep=[1, 1, 1, 0, 1]).clusters()] == [[3, 1, 2], [0, 4]]
    assert [c.tolist() for c in nd.near_duplicates(texts, against=["a b c d e f g"]).clusters()] == [[5, 1, 2, 3], [0, 4]]
    assert list(nd.near_duplicates(texts[:2]).clusters()) == []
