"""The main job: verdicts by hand, every way to give texts and parameters, and what is refused."""

from __future__ import annotations

import random

import numpy as np
import pytest
from deduplicated import CORPUS, EVERY_PAIR, TEN, WORDS, Whole, agrees, equal

import ndcore as nd
from ndcore.reference import dedup as reference
from ndcore.text.inputs import Extracted

# ---------------------------------------------------------------------------------------------- literals


def test_verdicts_strongest_first():
    # Width 1: TEN and 'one … nine eleven' share 9 of 11 words.
    texts = [TEN, TEN, TEN.upper() + "!", TEN + " ten", "one two three four five six seven eight nine eleven", "else"]
    result = nd.near_duplicates(texts, shingling=WORDS)
    assert result.labels.tolist() == [0, 0, 0, 0, 0, 5]
    assert result.classes.tolist() == ["kept", "identical", "lexical", "shingle", "near", "kept"]
    assert result.resemblance.tolist() == [1.0, 1.0, 1.0, 1.0, 9 / 11, 1.0]
    assert [column.tolist() for column in result.pairs] == [[0, 0, 0, 0, 3], [1, 2, 3, 4, 4], [1.0] * 3 + [9 / 11] * 2]
    assert result.kept.tolist() == [0, 5] and result.duplicates.tolist() == [1, 2, 3, 4]
    assert result.representatives.tolist() == [0]
    assert repr(result).endswith("2 kept, 1 identical, 1 lexical, 1 shingle, 1 near>")
    assert nd.near_duplicates(texts, shingling=WORDS, threshold=0.82).labels.tolist() == [0, 0, 0, 0, 4, 5]
    assert nd.near_duplicates(texts, shingling=WORDS, threshold=9 / 11).labels.tolist() == [0, 0, 0, 0, 0, 5]


def test_one_document_of_every_label():
    # The newest capture of every page, whatever its text; what it duplicates stands for its older ones too.
    texts = [TEN, "old words", TEN + " and", "new words", "new words"]
    pages = ["a", "b", "a", "b", "c"]
    result = nd.near_duplicates(texts, shingling=WORDS, one_per=pages, keep=lambda: [-4, -1, -5, -2, -3])
    assert result.labels.tolist() == [2, 4, 2, 4, 4]
    assert result.classes.tolist() == ["version", "version", "kept", "identical", "kept"]
    assert np.isnan(result.resemblance[:2]).all()
    assert repr(result).endswith("2 kept, 1 identical, 0 lexical, 0 shingle, 0 near, 2 version>")
    assert result.rethreshold(0.9).labels.tolist() == [2, 4, 2, 4, 4]
    assert result.explain(0, 2).verdict == "version"
    with pytest.raises(ValueError, match=r"one_per has shape \(2,\); there are 5 documents"):
        nd.near_duplicates(texts, one_per=["a", "b"])


def test_labels_are_equal_only_where_their_values_are():
    # NumPy would make 1 and "1" one string, cut zeros off the ends of strings, and take all of NaN for one label.
    texts = ["some words", "other words", "more words", "last words"]
    result = nd.near_duplicates(texts, one_per=[1, "1", "a", "a\0"])
    assert result.labels.tolist() == [0, 1, 2, 3]
    assert nd.near_duplicates(["x y z"] * 4, by=[1, "1", "a", "a\0"]).labels.tolist() == [0, 1, 2, 3]
    for missing in (None, float("nan")):
        for labels in (["a", missing, "b", missing], np.array(["a", missing, "b", missing], object)):
            with pytest.raises(ValueError, match=f"one_per: the label of document 1 is {missing}, a missing value"):
                nd.near_duplicates(texts, one_per=labels)
    with pytest.raises(ValueError, match="by: the label of document 1 is nan"):
        nd.near_duplicates(texts, by=np.array([1.0, np.nan, 2.0, np.nan]))


def test_a_chain_is_merged_by_components_and_not_by_star():
    # A chain of ten-word documents, each with three words changed: neighbours share 7 of 13, the ends 4 of 16.
    words = [f"w{i}" for i in range(16)]
    texts = [" ".join(words[start : start + 10]) for start in (0, 3, 6)]
    merged = nd.near_duplicates(texts, shingling=WORDS, threshold=0.5, cluster="components")
    assert merged.labels.tolist() == [0, 0, 0]
    assert merged.classes.tolist() == ["kept", "near", "chained"]
    assert merged.resemblance.tolist() == [1.0, 7 / 13, 4 / 16]  # below the threshold, and said
    for cluster in ("star", "greedy"):
        apart = nd.near_duplicates(texts, shingling=WORDS, threshold=0.5, cluster=cluster)
        assert apart.labels.tolist() == [0, 0, 2]
        assert apart.resemblance.tolist() == [1.0, 7 / 13, 1.0]


def test_the_default_threshold_is_inclusive_and_exact():
    # 4 of 5 words: float64(4) / float64(5) >= 0.8.
    result = nd.near_duplicates(["a b c d", "a b c d e"], shingling=WORDS)
    assert result.labels.tolist() == [0, 0] and result.threshold == 0.8
    above = nd.near_duplicates(["a b c d", "a b c d e"], shingling=WORDS, threshold=np.nextafter(0.8, 1))
    assert above.labels.tolist() == [0, 1]


def test_documents_without_shingles_are_only_identical():
    texts = ["", "...", "...", "?!", b"...", "word", ""]
    result = nd.near_duplicates(texts)
    assert result.labels.tolist() == [0, 1, 1, 3, 1, 5, 0]
    assert result.classes.tolist() == ["kept", "kept", "identical", "kept", "identical", "kept", "identical"]
    assert np.isnan(result.resemblance[[2, 4, 6]]).all() and not result.valid[:5].any()
    skipping = nd.Shingling(short="skip")
    assert nd.near_duplicates(["One two", "one two", "one two"], shingling=skipping).labels.tolist() == [0, 1, 1]


def test_documents_without_shingles_are_identical_by_what_they_were_extracted_from():
    # Beside brute force; in one call, against another corpus, from sketches, and in clusters.
    rng = random.Random(7)
    originals = [rng.choice(["<a>", "<b>", "<c>", ""]) for _ in range(60)]
    documents = [rng.choice(["", "...", "a few words", "A few words!"]) for _ in range(60)]
    texts = [Extracted.of(text, original) for text, original in zip(documents, originals, strict=True)]
    agrees(nd.near_duplicates(texts), reference.near_duplicates(documents, threshold=0.8, originals=originals))
    agrees(nd.near_duplicates(Whole(texts)), reference.near_duplicates(documents, threshold=0.8, originals=originals))
    agrees(nd.near_duplicates(iter(texts)), reference.near_duplicates(documents, threshold=0.8, originals=originals))
    agrees(nd.near_duplicates(texts[:30], against=texts[30:]),
           reference.near_duplicates(documents[:30], threshold=0.8, against=documents[30:], originals=originals))
    sketches = nd.near_duplicates(texts).sketches
    assert nd.near_duplicates(sketches).kept.tolist() == nd.near_duplicates(texts).kept.tolist()
    found = nd.cluster(texts)
    assert found.labels.tolist() == nd.near_duplicates(texts).labels.tolist()


def test_an_iterator_of_extracted_texts_keeps_what_they_were_extracted_from():
    pages = [Extracted.of(TEN, "<p>", page_title="Home"), Extracted.of(TEN + ".", b"\xff", True, "Other"),
             Extracted.of(TEN + "!", "<p>", page_title="home"), (TEN + "?").encode(), TEN + "?"]  # fmt: skip
    seen = []
    result = nd.near_duplicates(iter(pages), must_agree=["title", seen.append])
    assert result.labels.tolist() == [0, 1, 0, 3, 3]
    assert seen == pages and [type(page) for page in seen] == [Extracted] * 3 + [bytes, str]
    assert [(page.original, page.fell_back, page.page_title) for page in seen[:3]] == [
        ("<p>", False, "Home"), (b"\xff", True, "Other"), ("<p>", False, "home")]  # fmt: skip


@pytest.mark.parametrize("how", [{"filter": "complete"}, {"drop": "contained"}])
def test_without_signatures_to_pair_any_threshold_will_do(how):
    # LSH with at most 200 minima finds pairs from a resemblance of 0.034 on.
    texts = [TEN, "ten " + " ".join(f"w{i}" for i in range(200)), "else"]
    assert nd.near_duplicates([*texts, TEN[:3] + " more"], shingling=WORDS, threshold=1e-9, **how).kept.tolist() == [0, 2]
    with pytest.raises(ValueError, match="num_perm"):
        nd.near_duplicates(texts, shingling=WORDS, threshold=1e-9)


def test_what_is_there_already_is_not_dropped():
    near = "one two three four five six seven eight nine eleven"
    result = nd.near_duplicates([near, "new words", TEN], shingling=WORDS, against=[TEN, TEN + "."], keep="longest")
    assert result.labels.tolist() == [3, 1, 3]
    assert result.classes.tolist() == ["near", "kept", "identical"]
    assert result.representatives.tolist() == [3]
    assert len(result.sketches) == 3


def test_no_documents_at_all():
    for texts in ([], iter([]), np.array([], "U1")):
        result = nd.near_duplicates(texts)
        assert (len(result.labels), len(result.pairs.a), len(result.sketches)) == (0, 0, 0)
    assert nd.near_duplicates(["a"], against=[]).labels.tolist() == [0]
    assert nd.near_duplicates([], against=["a"]).kept.tolist() == []


# ---------------------------------------------------------------------------------------------- determinism

@pytest.mark.parametrize(
    "how",
    [
        {"threads": 1}, {"threads": 2}, {"threads": 7}, {"memory_limit": 300}, {"memory_limit": 5000}, {"verify": "tokens"},
        {"memory_limit": 300, "threads": 3, "verify": "tokens"}, {"progress": lambda stage, done, total: None},
    ],
    ids=lambda how: str(how).split(" at 0x")[0],  # the same in every process
)  # fmt: skip
@pytest.mark.parametrize("max_holders", [1000, 6])
def test_how_it_is_done_does_not_matter(how, max_holders):
    common = {"threshold": 0.5, "max_holders": max_holders, "shingling": WORDS}
    equal(nd.near_duplicates(CORPUS, **common), nd.near_duplicates(CORPUS, **common, **how))


@pytest.mark.parametrize("given_as", [iter, tuple, lambda texts: (text for text in texts)])
def test_how_texts_are_given_does_not_matter(given_as):
    texts = list(dict.fromkeys(CORPUS))
    equal(nd.near_duplicates(texts, threshold=0.5), nd.near_duplicates(given_as(texts), threshold=0.5))


class Pages:
    """A corpus of the user's own: batches, again and again."""

    def __init__(self, texts, size):
        self.texts, self.size, self.passes = texts, size, 0

    def batches(self):
        self.passes += 1
        return (self.texts[i : i + self.size] for i in range(0, len(self.texts), self.size))


def test_a_corpus_is_read_in_batches():
    expected = nd.near_duplicates(CORPUS, threshold=0.5, against=CORPUS[:7])
    pages = Pages(CORPUS, 13)
    result = nd.near_duplicates(pages, threshold=0.5, against=Pages(CORPUS[:7], 2))
    equal(result, expected)
    assert pages.passes == 2
    assert str(result.explain(3, 125)) == str(expected.explain(3, 125))
    assert pages.passes == 3


def test_str_and_its_bytes_are_the_same_document():
    texts = [text if isinstance(text, str) else text.decode() for text in CORPUS]
    equal(nd.near_duplicates(texts, threshold=0.5), nd.near_duplicates([text.encode() for text in texts], threshold=0.5))


def test_what_is_kept_does_not_depend_on_input_order_by_priorities():
    texts = list(dict.fromkeys(text if isinstance(text, str) else text.decode() for text in CORPUS))
    rank = np.arange(len(texts))
    kept = {texts[i] for i in nd.near_duplicates(texts, threshold=0.5, **EVERY_PAIR).kept}
    shuffled = np.array(random.Random(3).sample(range(len(texts)), len(texts)))
    result = nd.near_duplicates([texts[i] for i in shuffled], threshold=0.5, keep=rank[shuffled], **EVERY_PAIR)
    assert {texts[shuffled[i]] for i in result.kept} == kept


def test_callables_are_asked_after_the_texts_were_read():
    seen: list[str] = []

    def reading():
        for text in (TEN, TEN, "other words than these"):
            seen.append(text)
            yield text

    def asked(answer):
        def call():
            assert len(seen) == 3
            return answer

        return call

    result = nd.near_duplicates(reading(), keep=asked([2, 1, 0]), by=asked(["x", "x", "y"]))
    assert result.labels.tolist() == [1, 1, 2]


def test_the_seed_is_used():
    one, two = (nd.near_duplicates([TEN], seed=seed).sketches for seed in (1, 2))
    assert (one.recipe["seed"], two.recipe["seed"]) == (1, 2) and (one.values != two.values).any()


# ---------------------------------------------------------------------------------------------- errors

SKETCHES = nd.MinHasher(84).sketch_many(["a", "b"])


@pytest.mark.thread_unsafe(reason="arguments are iterators")
@pytest.mark.parametrize(
    ("texts", "how", "error", "message"),
    [
        (["a"], {"threshold": 0}, ValueError, "threshold is a resemblance above 0 and at most 1, got 0"),
        (["a"], {"threshold": 1.01}, ValueError, "got 1.01"),
        (["a"], {"threshold": float("nan")}, ValueError, "got nan"),
        (["a"], {"threshold": "0.8"}, ValueError, "got '0.8'"),
        (["a"], {"cluster": "single"}, ValueError, "cluster must be one of star, components, greedy, got 'single'"),
        (["a"], {"verify": "no"}, ValueError, "verify must be one of fingerprints, tokens, got 'no'"),
        (["a"], {"verify": np.zeros(2)}, ValueError, "verify must be one of fingerprints, tokens, got array"),
        (["a"], {"max_holders": 1}, ValueError, "max_holders must be an int of at least 2, got 1"),
        (["a"], {"max_holders": 2.0}, ValueError, "got 2.0"),
        (["a"], {"memory_limit": 0}, ValueError, "memory_limit is a number of bytes from 1 on, or a size as .2G., got 0"),
        (["a"], {"threads": 0}, ValueError, "threads must be None or an int of at least 1, got 0"),
        (["a"], {"num_perm": 0}, ValueError, "num_perm"),
        (["a"], {"seed": -1}, ValueError, "seed must be an int of 0 to 2.64 - 1, got -1"),
        (["a"], {"filter": "none"}, ValueError, "filter must be 'auto', 'lsh', 'complete' or a FilterDesign, got 'none'"),
        (["a"], {"filter": (6, 14, 2)}, ValueError, r"got \(6, 14, 2\)"),
        (["a"], {"keep": "last"}, ValueError, "keep must be 'first', 'longest' or priorities, got 'last'"),
        (["a"], {"keep": [1, 2]}, ValueError, r"keep has shape \(2,\); there are 1 documents"),
        (["a", "b"], {"keep": [1.0, float("nan")]}, ValueError, "priority of document 1 is nan"),
        (["a", "b"], {"keep": ["2021-05-01", None]}, ValueError, "priority of document 1 is None"),
        (["a", "b"], {"keep": np.array(["NaT", "2021"], "datetime64[D]")}, ValueError, "priority of document 0 is NaT"),
        (["a", "b"], {"keep": [object(), 3]}, TypeError, "priorities of keep cannot be compared"),
        (["a"], {"keep": lambda: [1, 2, 3]}, ValueError, r"keep has shape \(3,\)"),
        (["a"], {"by": ["x", "y"]}, ValueError, r"by has shape \(2,\); there are 1 documents"),
        (["a"], {"by": ["x"], "against": ["b"]}, ValueError, "by=… cannot be combined with against=…"),
        (["a"], {"ids": ["x", "y"]}, ValueError, "there are 2 ids and 1 documents"),
        (["a"], {"progress": 3}, TypeError, "progress is True, False, None or a callable"),
        ("text", {}, TypeError, r"texts is one str; give a list of documents, \[text\] for a single one"),
        (b"text", {}, TypeError, "texts is one bytes"),
        (["a"], {"against": "no file"}, FileNotFoundError, "no file"),
        (None, {}, TypeError, "texts is None"),
        (["a", None], {}, TypeError, r"document 1 is None \(a missing value\); texts are str or bytes"),
        (iter(["a", 5]), {}, TypeError, "document 1 is 5 of type int; texts are str or bytes"),
        (["a"], {"against": iter(["a", "b", None])}, TypeError, "document 2 is None"),
        (SKETCHES, {"keep": "longest"}, ValueError, "keep='longest' needs the texts; sketches do not know"),
        (SKETCHES, {"filter": nd.FilterDesign.of(100, 1, 1, threshold=0.5)}, ValueError, "84"),
        (SKETCHES, {"threshold": 0.05}, ValueError, "num_perm"),
        (nd.BottomSketcher().sketch_many(["a"]), {}, ValueError, "signatures are needed, the sketches are 'bottom'"),
    ],
    ids=lambda value: str(value).split(" at 0x")[0][:40] if isinstance(value, dict) else None,
)  # fmt: skip
def test_refusals(texts, how, error, message):
    with pytest.raises(error, match=message):
        nd.near_duplicates(texts, **how)


def test_an_iterator_of_late_errors_names_the_position_in_all():
    def texts():
        yield from ["x" * 5_000_000] * 4  # more than one batch
        yield 3.5

    with pytest.raises(TypeError, match=r"document 4 is 3\.5 of type float"):
        nd.near_duplicates(texts(), shingling=nd.Shingling("line"))


@pytest.mark.parametrize("against", [None, ["an earlier text of some words", "and a second one of as many words"]])
def test_with_a_limit_what_is_known_of_each_document_is_in_files(against):
    texts = [f"text number {i} of a few words that differ in the number alone" for i in range(40)]
    with_limit, without = (nd.near_duplicates(texts, against=against, memory_limit=limit) for limit in (1, None))
    for name in ("rows", "digests"):
        assert isinstance(getattr(with_limit.sources, name), np.memmap), name
        assert (getattr(with_limit.sources, name) == getattr(without.sources, name)).all()
    assert with_limit.labels.tolist() == without.labels.tolist() and with_limit.score.tolist() == without.score.tolist()
