"""What drops cost: shingles that no kept document has, and runs of words that another document lacks (`max_lost`)."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ndcore as nd
from ndcore.pairs import lost
from ndcore.pairs.lost import LostRuns, count_lost
from ndcore.pairs.shingle_sets import ShingleSets

WORDS = nd.Shingling(width=1)


def sets_of(members: list[set[int]]) -> ShingleSets:
    sets = ShingleSets(WORDS, len(members), tokens=False, threads=1)
    values = np.array([value for each in members for value in sorted(each)], np.uint64)
    sets.append(np.arange(len(members)), values, np.cumsum([0, *map(len, members)]))
    return sets


def test_what_no_kept_document_has_is_lost():
    # 1 is dropped and has x, which nobody keeps, and y, which 2 keeps; 3 is dropped with x as well.
    texts = ["a b c d e f g h", "a b c d e f g h x y", "y z", "a b c d e f g h x"]
    result = nd.near_duplicates(texts, shingling=WORDS, threshold=0.7, lost=True)
    assert result.labels.tolist() == [0, 0, 2, 0] and result.lost.tolist() == [0, 1, 0, 1]
    assert nd.near_duplicates(texts, shingling=WORDS, threshold=0.7).lost is None
    higher = result.rethreshold(0.85)  # 1 is kept, being 8 of 10 with 0; 3 is 9 of 10 with 1, and has nothing of its own
    assert higher.labels.tolist() == [0, 1, 2, 1] and higher.lost.tolist() == [0, 0, 0, 0]


def test_versions_equal_documents_and_the_other_side_count():
    texts = ["a b c d", "p q r s", "A b, c d", "x a b c d"]
    old = ["q", "x a b c d y"]
    result = nd.near_duplicates(texts, shingling=WORDS, one_per=[1, 1, 2, 3], against=old, threshold=0.8, lost=True)
    assert result.classes.tolist() == ["kept", "version", "lexical", "near"]
    assert result.lost.tolist() == [0, 3, 0, 0]  # q is kept on the other side


def test_versions_of_a_document_without_shingles():
    texts = ["...", "a b c", "b c d"]
    alone = nd.near_duplicates(texts[:2], shingling=WORDS, one_per=[1, 1], lost=True)
    assert alone.lost.tolist() == [0, 3]
    result = nd.near_duplicates(texts, shingling=WORDS, one_per=[1, 1, 2], lost=True)
    assert result.classes.tolist() == ["kept", "version", "kept"] and result.lost.tolist() == [0, 1, 0]


@pytest.mark.parametrize("sought", [1 << 25, 40, 7])
def test_as_sets_say(monkeypatch, sought):
    monkeypatch.setattr(lost, "SOUGHT", sought)
    rng = random.Random(5)
    members = [{rng.randrange(300) * 2**55 + 3 for _ in range(rng.randrange(40))} for _ in range(60)]
    state = [rng.choice("kd.") for _ in members]
    dropped, kept = (np.flatnonzero([each == letter for each in state]) for letter in "dk")
    union = set().union(*(members[k] for k in kept))
    wanted = [len(members[d] - union) for d in dropped]
    assert sum(wanted) > 20
    representatives = np.array([rng.choice(kept.tolist()) for _ in dropped])
    assert count_lost(sets_of(members), dropped, representatives, np.isin(np.arange(60), kept)).tolist() == wanted


def longest_lost(dropped, kept, width=5):
    """The definition: words of `dropped` in no shingle of `kept`, and their longest run."""
    dropped, kept = dropped.split(), kept.split()
    shingles = {tuple(kept[i : i + width]) for i in range(len(kept) - width + 1)}
    covered = [False] * len(dropped)
    for i in range(len(dropped) - width + 1):
        if tuple(dropped[i : i + width]) in shingles:
            covered[i : i + width] = [True] * width
    runs = "".join("c" if word else "l" for word in covered).split("c")
    return max(map(len, runs))


def edited(rng, words):
    words = list(words)
    for _ in range(rng.randrange(4)):
        at = rng.randrange(len(words))
        change = rng.randrange(3)
        size = rng.randrange(1, 7)
        if change == 0:
            words[at : at + size] = []
        elif change == 1:
            words[at:at] = [f"n{rng.randrange(1000)}" for _ in range(size)]
        else:
            words[at : at + size] = [f"r{rng.randrange(1000)}" for _ in range(size)]
    return words


def families(seed, n=12):
    rng = random.Random(seed)
    texts = []
    for _ in range(n):
        words = [f"w{rng.randrange(300)}" for _ in range(60)]
        texts += [" ".join(edited(rng, words)) for _ in range(rng.randrange(1, 6))]
    rng.shuffle(texts)
    return texts


@pytest.mark.parametrize("limit", [1 << 20, 0])
def test_runs_are_those_of_the_definition(limit):
    texts = families(1)
    runs = LostRuns(nd.Shingling(), len(texts), limit)
    runs.read([(np.arange(10), texts[:10]), (np.arange(10, len(texts)), texts[10:])], 1)
    a, b = (column.ravel() for column in np.indices((len(texts), len(texts))))
    expected = [longest_lost(texts[i], texts[j]) for i, j in zip(a, b, strict=True)]
    assert runs.longest(a, b).tolist() == expected
    assert len(set(expected)) > 5


def stars(texts, threshold, most, order):
    """Star clustering by brute force: each document joins the representative before it that it resembles most."""
    labels, kept = [0] * len(texts), []
    for i in order:
        scores = [(nd.resemblance(texts[i], texts[j]), -at, j) for at, j in enumerate(kept)
                  if texts[i] == texts[j] or longest_lost(texts[i], texts[j]) <= most]
        best = max(scores, default=(0, 0, i))
        labels[i] = best[2] if best[0] >= threshold else i
        if labels[i] == i:
            kept.append(i)
    return labels


@pytest.mark.parametrize("options", [{"filter": "lsh"}, {"filter": "complete"}, {"filter": "complete", "max_holders": 2}])
@pytest.mark.parametrize("most", [0, 1, 4])
def test_verdicts_equal_brute_force(options, most):
    for seed in range(6):
        texts = families(seed)
        priorities = random.Random(seed).sample(range(len(texts)), len(texts))
        order = np.argsort(priorities).tolist()
        result = nd.near_duplicates(texts, threshold=0.6, max_lost=most, keep=priorities, **options)
        assert result.labels.tolist() == stars(texts, 0.6, most, order)


def test_pages_of_one_template_are_compared_too():
    frame = [f"f{i}" for i in range(60)]
    texts = [" ".join([*frame[:30], *(f"p{i}x{j}" for j in range(6)), *frame[30:]]) for i in range(60)]
    texts += [text.replace("f40 f41", "g40 g41 g42" if i % 2 else "g40") for i, text in enumerate(texts)]
    for name in ("lsh", "complete"):
        result = nd.near_duplicates(texts, threshold=0.7, max_lost=2, filter=name)
        assert result.labels.tolist() == stars(texts, 0.7, 2, range(len(texts)))


def test_the_direction_is_that_of_the_drop():
    short = " ".join(f"w{i}" for i in range(100))
    long = short + " and these six words are new here"
    assert nd.near_duplicates([short, long], max_lost=3).labels.tolist() == [0, 1]
    assert nd.near_duplicates([long, short], max_lost=3).labels.tolist() == [0, 0]
    assert nd.near_duplicates([short, long], max_lost=3, keep="longest").labels.tolist() == [1, 1]
    assert nd.near_duplicates([long], against=[short], max_lost=6).labels.tolist() == [0]
    assert nd.near_duplicates([long], against=[short], max_lost=7).labels.tolist() == [1]


def test_explain_says_it():
    short = " ".join(f"w{i}" for i in range(100))
    told = nd.near_duplicates([short, short + " and these six words are new here"], max_lost=3).explain(0, 1)
    assert told.verdict == "different"
    assert told.apart == "document 1 has a run of 7 words that document 0 lacks; max_lost is 3"


@pytest.mark.parametrize(("options", "words"), [
    ({"max_lost": -1}, "max_lost is a number of words.*-1"), ({"max_lost": 1.5}, "1.5"), ({"max_lost": True}, "True"),
    ({"max_lost": 3, "cluster": "components"}, "cluster='components'"), ({"max_lost": 3, "reassign": True}, "reassign=True"),
])
def test_what_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        nd.near_duplicates(["a b c"], **options)


def test_sketches_cannot_tell():
    sketches = nd.near_duplicates(["a b c d e f"]).sketches
    with pytest.raises(ValueError, match="max_lost=3 needs the texts"):
        nd.near_duplicates(sketches, max_lost=3)
