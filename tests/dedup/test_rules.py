"""The rules of a verdict: what is accepted, what excludes what, and their record."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path

import pytest
from deduplicated import CORPUS, WORDS

import ndcore as nd
from ndcore.cli.command import as_dataclass
from ndcore.cli.commands import ClusterOptions, CreateOptions, TokenOptions
from ndcore.dedup.rules import CALLERS, Rules

DESIGN = nd.FilterDesign.of(20, 4, 1, threshold=0.8)
IDF = nd.Idf.learn(["a b c", "a b d"])
SKETCHES = nd.MinHasher(84).sketch_many(["a b c d e f", "a b c d e g"])


@pytest.mark.parametrize(
    ("how", "error", "message"),
    [
        ({"filter": "all"}, ValueError, "filter must be 'auto', 'lsh', 'complete' or a FilterDesign, got 'all'"),
        ({"filter": None}, ValueError, "got None"),
        ({"drop": "similar"}, ValueError, "drop must be one of resembling, contained, got 'similar'"),
        ({"drop": "contained", "cluster": "greedy"}, ValueError, "drop='contained' needs cluster='star', got 'greedy'"),
        ({"drop": "contained", "filter": DESIGN}, ValueError, "drop='contained' needs filter='auto' or 'complete'"),
        ({"min_shingles": -1}, ValueError, "min_shingles must be an int of at least 0, got -1"),
        ({"min_shingles": True}, ValueError, "got True"),
        ({"drop_common": 0}, ValueError, "drop_common is a share of the documents, above 0 and below 1, as 0.05; got 0"),
        ({"drop_common": 1.0}, ValueError, "got 1.0"),
        ({"drop_common": "5%"}, ValueError, "got '5%'"),
        ({"lost": 1}, TypeError, "lost is True or False, got 1"),
        ({"reassign": "yes"}, TypeError, "reassign is True or False, got 'yes'"),
        ({"must_agree": "dates"}, ValueError, "must_agree holds 'dates'"),
        ({"must_agree": 3}, TypeError, "must_agree is 3"),
        ({"weights": {1: 2.0}}, TypeError, "weights must be an Idf or None, got {1: 2.0}"),
        ({"weights": IDF, "filter": "lsh"}, ValueError, "weights need filter='auto' or 'complete': LSH finds documents"),
        ({"weights": IDF, "filter": DESIGN}, ValueError, "weights need filter='auto' or 'complete'"),
        ({"weights": IDF, "verify": "tokens"}, ValueError, "weights need verify='fingerprints'"),
        ({"weights": IDF, "shingling": WORDS}, nd.RecipeMismatch, "weights and shinglings"),
        ({"weights": nd.Idf.learn(["a"], WORDS, min_df=9)}, ValueError,
         r"all shingles weigh -0.5\d* by these weights, learned from 1 documents with min_df=9"),
    ],
    ids=str,
)
def test_refusals(how, error, message):
    with pytest.raises(error, match=message):
        nd.near_duplicates(["a b c", "d e f"], **how)


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ({"filter": "complete"}, "filter='complete'"), ({"drop": "contained"}, "drop='contained'"),
        ({"must_agree": "numbers"}, r"must_agree=\['numbers'\]"), ({"min_shingles": 5}, "min_shingles=5"),
        ({"drop_common": 0.05}, "drop_common=0.05"), ({"lost": True}, "lost=True"), ({"weights": IDF}, "weights=…"),
    ],
    ids=str,
)
def test_sketches_do_not_hold_the_shingles(how, named):
    for texts, against in [(SKETCHES, None), (["a b c d e"], SKETCHES)]:
        with pytest.raises(ValueError, match=f"{named} needs the texts; sketches do not hold the shingles"):
            nd.near_duplicates(texts, against=against, **how)
    assert len(nd.near_duplicates(SKETCHES, reassign=True)) == 2


def test_the_recipe_tells_results_apart():
    given = [
        {}, {"filter": "complete"}, {"filter": DESIGN}, {"drop": "contained"}, {"must_agree": "numbers"},
        {"min_shingles": 3}, {"drop_common": 0.5}, {"lost": True}, {"reassign": True}, {"threshold": 0.9},
        {"shingling": WORDS}, {"weights": IDF}, {"weights": nd.Idf.learn(["a b c"])},
    ]
    recipes = [nd.near_duplicates(CORPUS[:30], **how).recipe for how in given]
    assert len({recipe.id for recipe in recipes}) == len(given)
    for recipe in recipes:
        assert nd.Recipe.from_json(recipe.to_json()) == recipe
    agree = json.loads(nd.near_duplicates(["a"], must_agree=["numbers", len]).recipe.to_json())["must_agree"]
    assert agree == {"numbers": True, "callable builtins:len": True}


def test_rules_of_the_defaults():
    rules = nd.near_duplicates(["a"]).rules
    assert rules == Rules() and rules.prefix is None and not rules.needs_all_sets
    complete = nd.near_duplicates(["a"], filter="complete")
    assert complete.rules.prefix == complete.filter and complete.filter.miss == 0.0


@pytest.mark.thread_unsafe(reason="options of commands become dataclasses at first use")
def test_a_store_takes_the_options_that_the_table_does_not_refuse():
    refused, options = set(CALLERS["store"]), set(inspect.signature(nd.near_duplicates).parameters)
    assert refused - options == {"filter='complete'", "filter='lsh'"}  # values
    taken = set(inspect.signature(nd.Store.open).parameters) & options
    assert taken == options - refused
    as_dataclass(CreateOptions)
    created = {field.name for field in dataclasses.fields(CreateOptions)} - {"json"}
    tokens = {field.name for field in dataclasses.fields(TokenOptions)}
    assert created & taken == taken - {"filter", "threads", "progress", "shingling"} and tokens < created
    page = (Path(__file__).parents[2] / "docs" / "store.md").read_text("utf-8")
    assert all(f"`{name.partition('=')[0]}" in page for name in refused - {"texts", "ids"})


def test_spark_takes_the_options_that_the_table_does_not_refuse():
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    from ndcore.spark import near_duplicates
    from ndcore.spark.options import JobOptions

    refused, options = CALLERS["spark.near_duplicates"], set(inspect.signature(nd.near_duplicates).parameters) - {"texts"}
    assert set(inspect.signature(near_duplicates).parameters) & options == options - set(refused) and set(refused) < options
    of_job = {"clustering" if name == "cluster" else name for name in options - set(refused) - {"shingling"}}
    assert {field.name for field in dataclasses.fields(JobOptions)} >= of_job
    page = (Path(__file__).parents[2] / "docs" / "spark.md").read_text("utf-8")
    assert all(f"`{name}`" in page or f"`{name}=" in page for name in options - {"ids"})


@pytest.mark.thread_unsafe(reason="options of commands become dataclasses at first use")
def test_other_callers_take_the_options_that_the_table_says():
    shared = {"texts", "ids", "threshold", "shingling", "num_perm", "seed", "cluster", "filter", "max_holders",
              "memory_limit", "threads", "progress"}  # fmt: skip
    refused, values = set(CALLERS["collection"]), {"filter='complete'", "filter='lsh'"}
    options = set(inspect.signature(nd.near_duplicates).parameters) - shared
    assert refused - options == values
    as_dataclass(ClusterOptions)
    for caller in (nd.cluster, nd.Collection.build, ClusterOptions):
        assert set(inspect.signature(caller).parameters) & options == options - refused
    page = (Path(__file__).parents[2] / "docs" / "clustering.md").read_text("utf-8")
    assert all(f"`{name}`" in page or f"`{name}=" in page for name in options)
    assert all(f"| `{name}` | {reason} |\n" in page for name, reason in CALLERS["collection"].items())
