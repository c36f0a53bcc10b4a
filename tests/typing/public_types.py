"""The types that users' programs see, read by mypy and pyright. Never run: `.ci/run lint` checks it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, assert_type

import numpy as np
from numpy.typing import NDArray

import ndcore as nd
from ndcore.plots import plot_filter
from ndcore.progress import Progress

Ints = NDArray[np.int64]
UInts = NDArray[np.uint64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Key = str | bytes | int
Judged = Literal["kept", "identical", "lexical", "shingle", "near"]
Change = Literal["unchanged", "lexical", "near", "other", "gone"]

TEXTS: list[str | bytes] = ["a rose is a rose is a rose", b"A rose is a rose"]


def report(stage: str, done: int, total: int | None) -> None:
    """Report progress, as a user's callable."""


def repeated_passages() -> None:
    """Passages of a whole collection."""
    found = nd.repeats(TEXTS, 20, keep="longest", memory_limit="1G")
    assert_type(found, nd.Repeats)
    assert_type(found.starts, Ints)
    assert_type(found.tokens, int)
    assert_type(found.cleaned("none"), Iterator[str | bytes])
    assert_type(found.kept(), tuple[Bools, Ints])


def main_job() -> None:
    """One call, its options and its result."""
    found = nd.near_duplicates(TEXTS, ["a", "b"], threshold=0.9, filter="complete", keep="longest", progress=report)
    assert_type(found, nd.NearDuplicates)
    assert_type(found.kept, Ints)
    assert_type(found.lost, Ints | None)
    assert_type(found.resemblance, Floats)
    assert_type(found.sketches, nd.Sketches)
    assert_type(found.rethreshold(0.95), nd.NearDuplicates)
    nd.near_duplicates(iter(TEXTS), filter=nd.design_filter(0.8), memory_limit="2 GB", by=np.array([1, 2]),
                       must_agree=["year"])
    nd.near_duplicates(found.sketches, against=Path("known.nds"), progress=True)
    nd.near_duplicates(TEXTS, filter="bands")  # type: ignore[arg-type]
    nd.near_duplicates(TEXTS, cluster="stars")  # type: ignore[arg-type]
    nd.near_duplicates(3)  # type: ignore[arg-type]
    collapsed = nd.collapse(TEXTS, drop="contained")
    assert_type(collapsed.drop, Literal["resembling", "contained"])
    assert_type(collapsed.folded, dict[int, list[int]])
    hits = nd.collapse_hits([{"body": text} for text in TEXTS], text="body", best=lambda hit: len(hit["body"]))
    assert_type(hits, nd.CollapsedHits)
    assert_type(hits.kept, list[int])


def sketches() -> None:
    """Each sketcher has its sketches; an index gives a value, a slice gives sketches of the same type."""
    minima = nd.MinHasher(84, bits=64, method="permutations").sketch_many(TEXTS)
    assert_type(minima, nd.Sketches)
    assert_type(minima[0], NDArray[Any])
    assert_type(minima[1:], nd.Sketches)
    assert_type(minima[np.array([0, 1])], nd.Sketches)
    assert_type(minima.concat(minima), nd.Sketches)
    assert_type(minima.compare().resemblance, Floats)
    assert_type(minima.resemblance(0, 1), float)
    assert_type(minima.resemblance(minima), float)
    assert_type(minima.union(minima, minima), nd.Sketches)
    assert_type(minima.union(0, 1, 2), nd.Sketches)
    assert_type(nd.MinHasher().sketch_tokens([["a", b"rose"], {"is"}]), nd.Sketches)
    assert_type(minima.interval(0, 1, method="exact"), tuple[float, float])
    assert_type(minima.compare(0, [1, 2]).interval(), tuple[Floats, Floats])
    assert_type(nd.load("corpus.nds", mmap=True), nd.Sketches)
    hashed = nd.SimHasher(weights=nd.Idf.learn(TEXTS)).sketch_many(TEXTS, progress=report)
    assert_type(hashed, nd.Simhashes)
    assert_type(nd.SimHasher().sketch("a rose"), nd.Simhashes)
    assert_type(nd.SimHasher(weights="distinct").sketch_hashes([1, 2], [0, 2]), nd.Simhashes)
    assert_type(hashed.distance(0, 1), float)
    assert_type(hashed[0], np.uint64 | UInts)
    assert_type(hashed[:1], nd.Simhashes)
    assert_type(list(hashed), list[np.uint64 | UInts])
    assert_type(nd.SimHasher(256).sketch("a rose").cosine(0, 0), float)
    assert_type(nd.ModSketcher("adaptive", size=99).sketch(b"a rose").offsets, Ints | None)
    assert_type(nd.BucketSketcher(4).sketch_many(TEXTS).labels(need=2), Ints)
    assert_type(nd.Winnower(40, nd.Shingling("char", 9)).sketch_many(TEXTS).positions, Ints)
    assert_type(nd.DatasketchHasher(64, scheme="legacy").sketch_tokens([["a", b"rose"]]), nd.Sketches)
    assert_type(nd.DatasketchHasher.read_lean([b"..."], ">"), nd.Sketches)
    assert_type(nd.PackageSimHasher("1e0ng").sketch_many(TEXTS), nd.Simhashes)
    assert_type(nd.PackageSimHasher("seomoz").read_values([1, 2], ids=["a", "b"]), nd.Simhashes)
    assert_type(nd.ScanossWinnower().read_wfp("x.wfp"), nd.Winnowed)
    nd.MinHasher(bits=48)  # type: ignore[arg-type]
    nd.BottomSketcher(bits=32)
    nd.Shingling(unit="words")  # type: ignore[arg-type]
    nd.Shingling(unit=str.split, width=3, short="skip", normalize="NFKC")
    assert_type(nd.Shingling().fingerprints_many(TEXTS), tuple[UInts, Ints])
    assert_type(nd.features(minima), UInts)
    assert_type(nd.passages("a b", "b c").a, list[nd.Passage])


def probabilities() -> None:
    """A number gives a number, an array may give an array."""
    assert_type(nd.pass_probability(0.5), float)
    assert_type(nd.pass_probability(np.array([0.5])), float | Floats)
    assert_type(nd.ALTAVISTA.pass_probability(0.5), float)
    assert_type(nd.ALTAVISTA.pass_probability([0.1, 0.2]), float | Floats)
    assert_type(nd.super_shingle_probability(0.5), float)
    assert_type(nd.sample_size(0.8, 0.05), int)
    assert_type(nd.jaccard("a", b"b"), float)
    plot_filter(nd.ALTAVISTA, scale="log")


def collections(progress: Progress) -> None:
    """Clusters of a collection, in memory and in a directory."""
    found = nd.cluster(TEXTS, method="features", policy="containment", progress=progress)
    assert_type(found, nd.Clustering)
    assert_type(found.policy, Literal["resemblance", "containment"])
    assert_type(found.cluster, Literal["star", "components", "greedy", "popular"])
    assert_type(found.clusters(), Iterator[Ints])
    assert_type(found.rethreshold(cluster="components", guard=0.3), nd.Clustering)
    built = nd.Collection.build(Path("web"), TEXTS, range(2))
    assert_type(built.extend("web2", TEXTS), nd.Collection)
    assert_type(nd.collapse_hits([{"id": 1}], by=built, best="representative").response, Any)
    assert_type(built.collapse([1, 0], [0.5, 0.1], earlier=[3]), nd.CollapsedKeys)
    assert_type([each.resemblance for each in built.query("a rose", limit=3)], list[float])
    nd.cluster(TEXTS, method="minima")  # type: ignore[arg-type]


def texts_in_memory() -> None:
    """An index of texts finds texts by their keys, and is saved."""
    index = nd.Index(0.8)
    index.add_many([("a", "a rose"), (2, b"is a rose")])
    assert_type(index.query("a rose", limit=3), list[nd.SimilarText])
    assert_type(index.query_many(TEXTS), list[list[nd.SimilarText]])
    index.save("texts.ndt")
    assert_type(nd.Index.load(Path("texts.ndt")), nd.Index)


def hamming() -> None:
    """Searches of fingerprints give arrays under names."""
    index = nd.HammingIndex([1, 2, 3], compress=True)
    assert_type(index.query(7), tuple[NDArray[Any], Ints])
    assert_type(index.query_many([7]).distance, Ints)
    assert_type(nd.hamming_pairs([1, 2], plan="auto"), nd.Pairs)
    assert_type(nd.hamming_join([1], "fingerprints.u64").query, Ints)
    assert_type(nd.Rabin().fingerprint(b"roses"), int)
    assert_type(nd.Rabin().fingerprint(np.zeros(8, np.uint8)), int)
    assert_type(nd.Rabin().update(b"a"), nd.Rabin)


def stores(client: nd.StoreClient) -> None:
    """A store says one of five verdicts; a client of it has the same types."""
    with nd.Store.open("seen", evidence="shingles", scope="host", keys="url", durability="each") as store:
        assert_type(store, nd.Store)
        assert_type(store.collapse(["a", "b"], "latest"), nd.CollapsedKeys)
        assert_type(nd.collapse_hits([{"id": "a"}], by=store).unknown, list[Any])
        assert_type(nd.collapse_hits([{"id": "a"}], by=client).unknown, list[Any])
        verdict = store.decide("https://a.example", "a rose", dt.date(2026, 1, 31))
        assert_type(verdict.verdict, Judged)
        assert_type(verdict.version, Change | None)
        assert_type(verdict.of, Key | None)
        assert_type([each.kept for each in store.decide_many([("k", "text"), (b"l", b"text", 0.0)])], list[bool])
        assert_type(store.history("k")[0].change, Change | None)
        assert_type(store.clusters(), Iterator[list[Key]])
        assert_type(store.text("k"), str | bytes)
    assert_type(client.decide("k", "text"), nd.Verdict)
    assert_type(client.cluster("k"), list[Key])
    nd.Store.open("seen", durability="always")  # type: ignore[arg-type]
    if verdict.verdict == "exact":  # type: ignore[comparison-overlap]
        raise AssertionError


def the_rest() -> None:
    """Names without overloads: their results."""
    assert_type(nd.__version__, str)
    assert_type(nd.get_include(), str)
    assert_type(nd.variants(), dict[str, dict[str, str]])
    assert_type(nd.plan_tables().prefixes, tuple[int, ...])
    with nd.using(minhash="portable"):
        pass
    nd.nearduplicates(TEXTS)  # type: ignore[attr-defined]
