"""Ranked lists folded by clusters, beside the definition."""

from __future__ import annotations

import datetime as dt
import json
import random

import pytest

from ndcore.pairs.folding import CollapsedKeys, check_best, fold, group_positions, list_keys


@pytest.mark.parametrize("seed", range(20))
def test_labels_are_as_defined(seed):
    """Of each cluster that no earlier page showed, the first place with the greatest value is shown for all its places."""
    rng = random.Random(seed)
    clusters = [rng.choice([0, 1, 2, ("unknown",), "four"]) for _ in range(rng.randrange(12))]
    earlier = set(rng.sample([0, 1, "four", 77], rng.randrange(3)))
    values = [rng.randrange(3) for _ in clusters]
    for given in (values, None):
        labels = fold(clusters, earlier, given)
        assert len(labels) == len(clusters)
        for i, cluster in enumerate(clusters):
            others = [j for j, other in enumerate(clusters) if other == cluster]
            if cluster in earlier:
                assert labels[i] == -1
            elif given is None:
                assert labels[i] == others[0]
            else:
                greatest = max(values[j] for j in others)
                assert labels[i] == next(j for j in others if values[j] == greatest)


def test_the_shown_place_takes_the_rank_of_the_first_of_its_cluster():
    result = CollapsedKeys([*"pqrst"], fold("abacc", "c", [1, 5, 2, 0, 0]), ["p", "q", "p", None, None])
    assert result.labels == [2, 1, 2, -1, -1]
    assert (result.kept, result.shown, result.folded) == ([2, 1], ["r", "q"], {2: [0], 1: []})
    assert (result.repeated, result.unknown, len(result)) == ([3, 4], ["s", "t"], 5)
    assert repr(result) == "<CollapsedKeys: 2 of 5 shown>"
    assert json.loads(json.dumps(result.shown)) == ["r", "q"]
    assert group_positions([]) == {}


def test_values_that_cannot_be_compared_are_refused():
    assert check_best("rank", 3, ("rank", "other")) is None
    assert check_best((dt.date(2026, 1, 1), dt.date(2026, 1, 2)), 2, ()) == [dt.date(2026, 1, 1), dt.date(2026, 1, 2)]
    assert check_best([], 0, ()) == []
    for best, message in (
        ("first", "best must be one of rank, other, got 'first'"), ([1, 2], "best has 2 values for a list of 3"),
        ([1, float("nan"), 2], "value 1 of best is nan"), ([1, 2, None], "value 2 of best is None"),
    ):
        with pytest.raises(ValueError, match=message):
            check_best(best, 3, ("rank", "other"))
    for best, message in ((7, "got 7"), ([1, "2", 3], "cannot be compared")):
        with pytest.raises(TypeError, match=message):
            check_best(best, 3, ("rank", "other"))


@pytest.mark.parametrize("keys", ["key", b"key", {"a": 1}, {"a"}, 7, None])
def test_what_is_no_list_is_refused(keys):
    with pytest.raises(TypeError, match="keys is a list, or another iterable in order"):
        list_keys("keys", keys)
    assert list_keys("keys", iter([1, "b"])) == [1, "b"]
