"""The numbers of a server that writes: what it decided and answered, and how long that took.

Counting costs less than a microsecond. One thread counts decisions, and another one requests, so no lock is needed. What
reads the numbers meanwhile may miss the last ones.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from ndcore.store.receipts import RequestAnswer
from ndcore.store.verdict import VERDICTS

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
DOCUMENTS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


class Buckets:
    """How many values were up to each of some bounds.

    Parameters
    ----------
    bounds : sequence of float
        Ascending. Values above the last one are counted too.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds, self._counts, self._sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def cumulated(self) -> tuple[list[tuple[float, int]], float]:
        """Return each bound with the number of values up to it, infinity last, and the sum of all values."""
        counts, total = list(self._counts), self._sum
        found, up_to = [], 0
        for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
            up_to += count
            found.append((bound, up_to))
        return found, total


class ServerCounts:
    """All numbers that a server counts itself, since it was started.

    Attributes
    ----------
    decisions : dict
        By verdict: pages that were decided on and are on disk. Answers that were given before are not among them.
    repeated : int
        Answers that were given before.
    measured : Buckets
        Documents against which a page was measured.
    deciding : dict
        By "single" or "streamed": seconds from the queue to the answer, of a page alone or of a part of a stream.
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
        """Count the answers to pages that waited together, and the time from the queue to these answers."""
        self.deciding["streamed" if streamed else "single"].add(seconds)
        for answer in answers:
            if answer.repeated:
                self.repeated += 1
            else:
                self.decisions[answer.verdict.verdict] += 1
                self.measured.add(answer.measured)

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request, and the time until its answer had ended."""
        buckets = self.requests.get((route, status))
        if buckets is None:
            buckets = self.requests[route, status] = Buckets(SECONDS)
        buckets.add(seconds)
