"""What is no argument is refused with its value, what is accepted, and what to do."""

import inspect
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ndcore as nd
from ndcore import checks
from ndcore.cli import values
from ndcore.pairs.greedy import greedy_clusters

TEXTS = ["a rose is a rose is a rose", "a rose is a rose is a rose indeed", "something else entirely, by all means"]


@pytest.mark.parametrize(
    ("text", "size"),
    [("2G", 2 << 30), ("512M", 512 << 20), ("1.5k", 1536), (" 3 GiB ", 3 << 30), ("7", 7), ("1TB", 1 << 40)],
)
def test_sizes(text, size):
    assert checks.parsed_size(text) == checks.checked_memory_limit(text) == values.memory(text) == size


@pytest.mark.parametrize("limit", ["", "2X", "-1G", "0", "G", "1e9", "0.0001"])
def test_no_sizes(limit):
    with pytest.raises(ValueError, match=re.escape(f"memory_limit: {limit!r} is not a size; write for instance 512M or 2G")):
        checks.checked_memory_limit(limit)


@pytest.mark.parametrize("limit", [0, -5, float("nan"), float("inf")])
def test_limits_out_of_range(limit):
    with pytest.raises(ValueError, match=f"memory_limit is a number of bytes from 1 on, or a size as '2G', got {limit}"):
        checks.checked_memory_limit(limit)


@pytest.mark.parametrize("limit", [True, [1], b"2G", np.bool_(True)])
def test_limits_of_another_type(limit):
    with pytest.raises(TypeError, match="memory_limit is a number of bytes or a size as '2G', got"):
        checks.checked_memory_limit(limit)


def test_memory_limits_are_sizes_everywhere(tmp_path):
    expected = nd.near_duplicates(TEXTS, threshold=0.5).labels.tolist()
    assert nd.near_duplicates(TEXTS, threshold=0.5, memory_limit="1K").labels.tolist() == expected
    assert nd.near_duplicates(TEXTS, threshold=0.5, memory_limit=np.int64(1024)).labels.tolist() == expected
    made = nd.cluster(TEXTS, threshold=0.5, memory_limit="1M")
    assert nd.Collection.build(tmp_path / "c", TEXTS, memory_limit="1M").clustering.labels.tolist() == made.labels.tolist()
    for call in (nd.near_duplicates, nd.cluster, lambda *a, **k: nd.Collection.build(tmp_path / "d", *a, **k)):
        with pytest.raises(ValueError, match="memory_limit: '2 gigs' is not a size"):
            call(TEXTS, memory_limit="2 gigs")


# ------------------------------------------------------------------------------------------------------------ thresholds


@pytest.mark.parametrize("threshold", [0, -0.1, 1.01, float("nan"), True, "0.8", None, [0.8]])
def test_thresholds(threshold, tmp_path):
    for call in (
        lambda: nd.near_duplicates(TEXTS, threshold=threshold), lambda: nd.cluster(TEXTS, threshold=threshold),
        lambda: nd.Collection.build(tmp_path / "c", TEXTS, threshold=threshold),
        lambda: greedy_clusters([1], [0, 1], threshold=threshold), lambda: nd.design_filter(threshold),
    ):
        message = f"threshold is a resemblance above 0 and at most 1, got {threshold!r}"
        with pytest.raises(ValueError, match=re.escape(message)):
            call()


# ------------------------------------------------------------------------------------------------------------------- ids


def test_a_threshold_in_the_place_of_ids():
    with pytest.raises(TypeError, match=re.escape("got 0.8 of type float; did you mean threshold=0.8?")):
        nd.near_duplicates(TEXTS, 0.8)
    with pytest.raises(TypeError, match=re.escape("got 0.5 of type float; did you mean threshold=0.5?")):
        nd.cluster(TEXTS, 0.5)


@pytest.mark.parametrize("ids", [3, 2.5, "abc", b"abc", {"a": 1, "b": 2, "c": 3}, {"a", "b", "c"}, True])
def test_what_is_no_list_of_ids(ids):
    with pytest.raises(TypeError, match="ids are a list, or another iterable, of an id for each document; got ") as raised:
        nd.near_duplicates(TEXTS, ids)
    assert "threshold" not in str(raised.value)


def test_explain_takes_ids():
    result = nd.near_duplicates(TEXTS, ["a", "b", "a b"], threshold=0.5)
    assert str(result.explain("a", "b")) == str(result.explain(0, 1)) == str(result.explain(np.int64(0), "b"))
    assert str(nd.near_duplicates(TEXTS, [b"x", b"y", b"z"]).explain(b"x", b"y")).startswith("documents 0 and 1")


def test_positions_stay_positions():
    """Ids that are numbers are not looked up: 2 is the third document whatever it is called."""
    result = nd.near_duplicates(TEXTS, [2, 1, 0], threshold=0.5)
    assert (result.explain(0, 2).i, result.explain(0, 2).j) == (0, 2)
    with pytest.raises(IndexError, match="there is no document 3; positions are 0 to 2"):
        result.explain(0, 3)
    with pytest.raises(KeyError, match="no document has the id '2'; ids are as 2"):
        result.explain("2", 0)


def test_ids_that_name_no_document():
    result = nd.near_duplicates(TEXTS, ["a", "b", "b"], threshold=0.5)
    with pytest.raises(KeyError, match="no document has the id 'c'; ids are as 'a'"):
        result.explain("a", "c")
    with pytest.raises(ValueError, match=r"2 documents have the id 'b', at positions 1, 2: name one by its position"):
        result.explain("a", "b")
    with pytest.raises(TypeError, match=r"a document is named by its position or, .*; got 1.5"):
        result.explain(1.5, 0)
    with pytest.raises(TypeError, match="got True"):
        result.explain(True, 0)
    with pytest.raises(TypeError, match="the document is named 'a', but no ids were given: name it by its position"):
        nd.near_duplicates(TEXTS).explain("a", 0)


# ----------------------------------------------------------------------------------------------------------------- texts


class Table:
    """As a DataFrame of a pandas that does not speak Arrow."""

    ndim = 2
    columns = ("id", "text")

    def __iter__(self):
        return iter(self.columns)


NO_TEXTS = [
    ("one text", "texts is one str; give a list of documents, [text] for a single one, ndcore.load(path) for saved "),
    (b"one text", "texts is one bytes; give a list of documents"),
    (Path("some.nds"), "texts is the path 'some.nds'; give the documents, or sketches by ndcore.load(path)"),
    (dict.fromkeys(TEXTS), "texts is a dict, whose keys would be taken for documents; give list(d.values()), and list(d)"),
    (set(TEXTS), "texts is a set, which has no order to tell its documents apart by; give sorted(…), a list"),
    (frozenset(TEXTS), "texts is a frozenset, which has no order"),
    (Table(), "texts is a table with the columns 'id', 'text'; give the column of the texts, as table['text']"),
    ([*TEXTS, None], "document 3 is None (a missing value); texts are str or bytes"),
    ([*TEXTS, 1.5], "document 3 is 1.5 of type float; texts are str or bytes"),
    ([TEXTS], "document 0 is ['a rose is a rose is a rose"),
    (5, "texts is 5 of type int; give a list or another iterable of str or bytes"),
]


@pytest.mark.parametrize(("texts", "message"), NO_TEXTS, ids=lambda value: type(value).__name__)
def test_what_is_no_list_of_texts(texts, message, tmp_path):
    for call in (
        nd.near_duplicates, nd.cluster, lambda texts: nd.Collection.build(tmp_path / "c", texts),
        nd.MinHasher().sketch_many, nd.SimHasher().sketch_many, nd.Shingling().fingerprints_many,
    ):
        with pytest.raises(TypeError, match=re.escape(message)):
            call(texts)


@pytest.mark.parametrize("wrong", [None, 1.5, ["a"]])
def test_an_iterator_that_yields_something_else(wrong, tmp_path):
    for call in (nd.near_duplicates, nd.cluster, lambda texts: nd.Collection.build(tmp_path / "c", texts)):
        with pytest.raises(TypeError, match=r"document 3 is .*; texts are str or bytes"):
            call(iter([*TEXTS, wrong]))


def test_against_takes_the_path_of_sketches(tmp_path):
    path = tmp_path / "old.nds"
    nd.near_duplicates(TEXTS[:1]).sketches.save(path)
    expected = nd.near_duplicates(TEXTS[1:], against=nd.load(path), threshold=0.5).labels.tolist()
    for given in (path, str(path)):
        assert nd.near_duplicates(TEXTS[1:], against=given, threshold=0.5).labels.tolist() == expected
    with pytest.raises(FileNotFoundError, match=r"missing\.nds"):
        nd.near_duplicates(TEXTS, against=str(tmp_path / "missing.nds"))
    (tmp_path / "text.txt").write_text("no sketches", "utf-8")
    with pytest.raises(ValueError, match=r"text\.txt"):
        nd.near_duplicates(TEXTS, against=tmp_path / "text.txt")
    with pytest.raises(TypeError, match="against is a dict, whose keys would be taken for documents"):
        nd.near_duplicates(TEXTS, against=dict.fromkeys(TEXTS))


# ---------------------------------------------------------------------------------------------------------------- extras


def test_missing_extras_say_what_to_install(monkeypatch):
    result = nd.near_duplicates(TEXTS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    for call in (result.to_arrow, result.sketches.to_arrow):
        with pytest.raises(ImportError, match=re.escape("to_arrow needs pyarrow: pip install 'ndcore[parquet]'")):
            call()
    with pytest.raises(ImportError, match="to_pandas needs pandas: pip install 'pandas'"):
        result.to_pandas()


def test_a_module_of_a_missing_package_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "w3lib.url", None)
    with pytest.raises(ImportError, match=re.escape("this needs w3lib: pip install 'ndcore[store]'")):
        checks.imported("w3lib.url", "this")


def test_a_late_module_is_imported_at_its_first_use():
    code = "import sys; from ndcore.checks import Late; late = Late('colorsys', 'it'); assert 'colorsys' not in sys.modules;"
    subprocess.run([sys.executable, "-c", f"{code} late.rgb_to_hsv(0, 0, 0); assert 'colorsys' in sys.modules"], check=True)
    again = pickle.loads(pickle.dumps(checks.Late("colorsys", "it")))
    assert again.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    nothing = checks.Late("no_such_package", "this")
    assert inspect.unwrap(nothing) is nothing  # asks for __wrapped__
    with pytest.raises(ImportError, match="this needs no-such-package: pip install 'no-such-package'"):
        _ = nothing.name
