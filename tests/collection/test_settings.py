"""What decides which pairs of a collection are counted: written down and read again, and what it takes on disk."""

from __future__ import annotations

import json
import random

import pytest

import ndcore as nd
from ndcore.collection.settings import Settings
from ndcore.sketch.loading import sketcher_of

SKETCHERS = [
    nd.ModSketcher(25, 7), nd.ModSketcher("adaptive", shingling=nd.Shingling(width=3)), nd.BottomSketcher(50, 40, 3),
    nd.ModSketcher(4, size=9), nd.MinHasher(40, 64, 5),
]


@pytest.mark.parametrize("sketcher", SKETCHERS, ids=lambda sketcher: sketcher.recipe.id[:8])
def test_a_recipe_makes_the_sketcher_again(sketcher):
    assert sketcher_of(sketcher.recipe).recipe == sketcher.recipe


@pytest.mark.parametrize("method, sketcher", [
    ("shingles", None), ("super-shingles", nd.BottomSketcher(50)), ("features", None), ("features", nd.MinHasher(40)),
])
def test_settings_come_back_from_json(method, sketcher):
    made = Settings.of([], sketcher=sketcher, method=method, threshold=0.7, max_holders=9, run=5, filter=None)
    plain = json.loads(json.dumps(made.plain()))
    again = Settings.from_plain(plain, made.recipe)
    assert (again.recipe, again.method, again.threshold, again.max_holders, again.run) == (
        made.recipe, method, 0.7, 9, 5)
    assert again.plain() == plain
    with pytest.raises(ValueError, match="the sketches are of the recipe"):
        Settings.from_plain(plain, nd.ModSketcher(3).recipe)
    for missing in ("recipe", "method", "threshold", "max_holders", "run", "filter"):
        with pytest.raises((KeyError, TypeError, ValueError)):
            Settings.from_plain({name: value for name, value in plain.items() if name != missing}, made.recipe)


@pytest.mark.parametrize("modulus", [25, "adaptive"])
def test_the_disk_that_is_foreseen_is_about_what_is_taken(tmp_path, modulus):
    """Compare within a factor of two, for documents of 5 KB that have nothing in common, without fixed costs of files."""
    rng = random.Random(1)
    texts = [" ".join(f"w{rng.randrange(10**5):05d}" for _ in range(720)) for _ in range(400)]
    sketcher = nd.ModSketcher(modulus)
    made = nd.Collection.build(tmp_path / "c", texts, sketcher=sketcher)
    settings = Settings.of(texts, sketcher=sketcher, method="shingles", threshold=0.5, max_holders=1000, run=5, filter=None)
    foreseen = settings.expected_bytes(sum(map(len, texts)))
    taken = 20 * int(made.clustering.segments.members.sum())  # 8 bytes of a sketch and 12 of a sorted entry
    assert taken / 2 < foreseen < 2 * taken
