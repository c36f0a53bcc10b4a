"""What a server counts: values by bounds, decisions by verdict, requests by route and status."""

from __future__ import annotations

import bisect
import random
from types import SimpleNamespace
from typing import Any

from ndcore.serve.counts import SECONDS, Buckets, ServerCounts
from ndcore.store.receipts import RequestAnswer


def answer(verdict: str, measured: int = 0, repeated: bool = False) -> RequestAnswer:
    judged: Any = SimpleNamespace(verdict=verdict)
    return RequestAnswer(judged, 0, repeated, measured)


def test_values_are_counted_up_to_each_bound() -> None:
    draw = random.Random(1)
    values = [draw.choice((0.5, 1, 1.5, 2, 3, 9)) for _ in range(200)]
    buckets = Buckets((1, 2, 3))
    for value in values:
        buckets.add(value)
    found, total = buckets.cumulated()
    assert found == [(bound, bisect.bisect_right(sorted(values), bound)) for bound in (1, 2, 3, float("inf"))]
    assert total == sum(values)


def test_repeated_answers_are_counted_apart() -> None:
    counts = ServerCounts()
    counts.count_decisions([answer("kept"), answer("near", 3), answer("near", 0, repeated=True)], 0.02, streamed=True)
    counts.count_decisions([answer("kept", 1)], 60, streamed=False)
    assert counts.decisions == {"kept": 2, "identical": 0, "lexical": 0, "shingle": 0, "near": 1} and counts.repeated == 1
    assert counts.measured.cumulated()[0][-1][1] == 3 and counts.measured.cumulated()[1] == 4
    bounds = (*SECONDS, float("inf"))
    assert counts.deciding["streamed"].cumulated() == ([(bound, int(bound >= 0.02)) for bound in bounds], 0.02)
    assert [count for _, count in counts.deciding["single"].cumulated()[0]] == [0] * len(SECONDS) + [1]


def test_requests_have_a_series_for_each_route_and_status() -> None:
    counts = ServerCounts()
    for route, status in (("peek", 200), ("peek", 200), ("peek", 400), ("text", 200)):
        counts.count_request(route, status, 0.1)
    assert {key: buckets.cumulated()[0][-1][1] for key, buckets in counts.requests.items()} == {
        ("peek", 200): 2, ("peek", 400): 1, ("text", 200): 1}  # fmt: skip
