"""Changes between two versions: the same as a store gives."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndcore.store.store import Store
from ndcore.store.version_change import TextVersion
from ndcore.text.inputs import Extracted
from ndcore.text.resemblance import resemblance
from ndcore.text.shingling import Shingling

WORDS = Shingling(width=2)


@pytest.mark.parametrize(("before", "after", "change"), [
    ("one two three four", "one two three four", ("unchanged", 1.0)),
    ("one two three four", "One, two: three FOUR!", ("lexical", 1.0)),
    ("a b c d e f g h i j k", "a b c d e f g h i j l", ("near", 9 / 11)),  # 10 shingles each, 9 in common
    ("a b c d", "a b x y", ("other", 1 / 5)),
    ("one two three", "", ("other", None)),
    ("", "one two three", ("other", None)),
    ("", "", ("unchanged", None)),
])
def test_changes(before: str, after: str, change: tuple[str, float | None]) -> None:
    assert TextVersion(after, WORDS).change_from(TextVersion(before, WORDS), 0.8) == change


def test_pages_without_words_are_compared_by_their_originals() -> None:
    pages = [TextVersion(Extracted.of("", f"<img src={i}>"), WORDS) for i in (1, 1, 2)]
    assert pages[1].change_from(pages[0], 0.8) == ("unchanged", None)
    assert pages[2].change_from(pages[1], 0.8) == ("other", None)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**9))
def test_a_store_gives_the_same_changes(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    pytest.importorskip("zstandard", reason="the extra store is not installed")
    draw = random.Random(seed)
    texts: list[str] = ["a b c d e f g h"]
    for _ in range(12):
        words = texts[-1].split()
        for _ in range(draw.choice([0, 0, 1, 4])):
            if words:
                words[draw.randrange(len(words))] = draw.choice("xyzuvw")
        text = " ".join(words)
        texts.append(draw.choice([text, text.upper(), text + ".", "", text]) or draw.choice(["", "a b c d e f g h"]))
    folder: Path = tmp_path_factory.mktemp("store")
    with Store.open(folder / "s", threshold=0.6, shingling=WORDS) as store:
        for text in texts:
            store.decide("page", text)
        history = [(version.change, version.resemblance) for version in store.history("page")]
    versions = [TextVersion(text, WORDS) for text in texts]
    ours = [(None, None), *(after.change_from(before, 0.6) for before, after in itertools.pairwise(versions))]
    assert ours == history
    for (before, after), (change, value) in zip(itertools.pairwise(texts), ours[1:], strict=True):
        if change in ("near", "other") and value is not None:
            assert value == resemblance(before, after, WORDS)
