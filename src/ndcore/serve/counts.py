"""Counters of a server that writes: decisions, requests, and how long they took.

Counting costs less than a microsecond. Decisions are counted by one thread and requests by another, so no lock is needed. A
reader may miss the latest counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from ndcore.store.receipts import RequestAnswer
from ndcore.store.verdict import VERDICTS

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
DOCUMENTS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


class Buckets:
    """A histogram: for each bound, the number of values up to it.

    Parameters
    ----------
    bounds : sequence of float
        The upper bounds, ascending. Values above the last bound are counted too.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds, self._counts, self._sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def cumulated(self) -> tuple[list[tuple[float, int]], float]:
        """Return each bound, infinity last, with the number of values up to it; and the sum of all values."""
        counts, total = list(self._counts), self._sum
        cumulated, up_to = [], 0
        for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
            up_to += count
            cumulated.append((bound, up_to))
        return cumulated, total


class ServerCounts:
    """All counters of a server since its start.

    Attributes
    ----------
    decisions : dict
        By verdict: pages that were decided and are on disk, without repeated answers.
    repeated : int
        Requests whose idempotency key had been answered before.
    measured : Buckets
        Documents with which each page was compared.
    deciding : dict
        By "single" or "streamed": seconds from queueing to the answer, for a single page or a part of a stream.
    requests : dict
        By (route, status): seconds to answer a request.
    """

    def __init__(self) -> None:
        self.decisions: dict[str, int] = dict.fromkeys(VERDICTS, 0)
        self.repeated = 0
        self.measured = Buckets(DOCUMENTS)
        self.deciding = {"single": Buckets(SECONDS), "streamed": Buckets(SECONDS)}
        self.requests: dict[tuple[str, int], Buckets] = {}

    def count_decisions(self, answers: Sequence[RequestAnswer], seconds: float, *, streamed: bool) -> None:
        """Count the answers of one job, and the time since it was queued."""
        self.deciding["streamed" if streamed else "single"].add(seconds)
        for answer in answers:
            if answer.repeated:
                self.repeated += 1
            else:
                self.decisions[answer.verdict.verdict] += 1
                self.measured.add(answer.measured)

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request, and the time until its answer was sent."""
        buckets = self.requests.get((route, status))
        if buckets is None:
            buckets = self.requests[route, status] = Buckets(SECONDS)
        buckets.add(seconds)
