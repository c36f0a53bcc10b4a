"""What a report is made of: chosen clusters and pairs, and excerpts of texts."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from commands import text
from hypothesis import given
from hypothesis import strategies as st

from ndcore.report import model as reports
from ndcore.report.model import (
    Excerpt,
    choose_clusters,
    truncate,
)
from ndcore.text.corpus import TextCorpus

ORDER = {"near": 0, "shingle": 1, "lexical": 2, "identical": 3}


@given(st.binary(max_size=40), st.integers(0, 45))
def test_beginning_of_bytes(data: bytes, limit: int) -> None:
    cut = truncate(data, limit)
    assert data.startswith(cut)
    assert min(len(data), limit) - 3 <= len(cut) <= limit


@given(st.text(alphabet="aé人\U0001f600", max_size=30), st.integers(0, 60))
def test_beginning_cuts_no_character(whole: str, limit: int) -> None:
    assert whole.startswith(truncate(whole.encode(), limit).decode())
    assert truncate(whole, limit) == whole[:limit]


@given(st.lists(st.integers(0, 7), max_size=40), st.randoms(use_true_random=False))
def test_shown_clusters(choice: list[int], random: Any) -> None:
    n = len(choice)
    firsts = {c: i for i, c in reversed(list(enumerate(choice)))}  # the first of a colour represents it; of colour 0, n + 0
    labels = [n if c == 0 else firsts[c] for c in choice]
    kept = [label == i for i, label in enumerate(labels)]
    classes = ["kept" if k else random.choice(["identical", "lexical", "near"]) for k in kept]
    resemblance = [1.0 if k else random.choice([0.5, 0.7, 1.0, float("nan")]) for k in kept]
    asked: list[int] = []

    def excerpts(positions: Any) -> dict[int, Excerpt]:
        asked.extend(positions.tolist())
        return {int(p): Excerpt(str(p), 9) for p in positions}

    found, nearest = choose_clusters(
        np.array(labels, np.int64), lambda positions: np.array(classes)[positions], np.array(resemblance), name=str,
        note=lambda i: "old" if i >= n else "", estimated=lambda a, b: b >= n, excerpts=excerpts, limit=3, views=1,
        threshold=0.6,
    )
    groups = {label: [i for i in range(n) if labels[i] == label != i] for label in labels}
    expected = sorted((label for label in groups if groups[label]), key=lambda label: (-len(groups[label]), label))[:3]
    assert [cluster.name for cluster in found] == [str(label) for label in expected]
    for cluster, label in zip(found, expected, strict=True):
        members = sorted(groups[label], key=lambda i: (np.nan_to_num(resemblance[i], nan=1.0), ORDER[classes[i]], i))
        assert [member.name for member in cluster.members] == [str(i) for i in members][: reports.MEMBERS]
        assert cluster.documents == len(members) + 1
        assert cluster.verdicts == Counter(classes[i] for i in members)
        assert cluster.note == ("old" if label == n else "")
        assert [m.estimated for m in cluster.members] == [label == n and m.verdict == "near" for m in cluster.members]
        assert cluster.excerpt == Excerpt(str(label), 9)
        assert cluster.view in (None, Excerpt(str(members[0]), 9))
    views = [cluster for cluster in found if cluster.view is not None]
    different = [cluster for cluster in found if cluster.members[0].verdict != "identical"]
    assert views == different[:1]
    viewed = {int(cluster.members[0].name) for cluster in views}
    above = [i for i in range(n) if not kept[i] and 0.6 <= resemblance[i] < 1.0 and i not in viewed]
    assert [(int(view.name), int(view.member.name)) for view in nearest] == [
        (labels[i], i) for i in sorted(above, key=lambda i: (resemblance[i], i))[:1]
    ]
    pairs = {int(name) for view in nearest for name in (view.name, view.member.name)}
    assert sorted(asked) == sorted({*expected, *viewed, *pairs})


def test_long_texts_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "EXCERPT", 50)
    long = ("é " + text(1)).encode()
    found = reports.read_excerpts([TextCorpus([long, "b", "c" * 60])], [0], 3)(np.array([2, 0]))
    assert found == {0: Excerpt(long[:50], len(long)), 2: Excerpt("c" * 50, 60)}


def test_documents_are_visited_in_the_same_pass() -> None:
    class Counted(TextCorpus):
        passes = 0

        def selected(self, wanted: Any) -> Any:
            self.passes += 1
            return super().selected(wanted)

    corpus, seen = Counted(["a", "b" * 30_000, "c", "d"]), list[str]()
    excerpts = reports.read_excerpts([corpus], [0], 4, {1: seen.append, 2: seen.append})
    assert excerpts(np.array([0, 2])) == {0: Excerpt("a", 1), 2: Excerpt("c", 1)}
    assert seen == ["b" * 30_000, "c"]
    assert corpus.passes == 1
