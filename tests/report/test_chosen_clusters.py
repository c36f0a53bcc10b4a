"""The clusters and pairs that a report shows: the largest, the least alike, the nearest the threshold."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ndcore.report.chosen_clusters import choose_clusters
from ndcore.report.model import MEMBERS, Excerpt

ORDER = {"near": 0, "shingle": 1, "lexical": 2, "identical": 3}


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
        assert [member.name for member in cluster.members] == [str(i) for i in members][: MEMBERS]
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
