"""The metrics of a server that writes, in the text format of Prometheus.

The library is the extra `metrics`. https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from ndcore.checks import imported
from ndcore.serve.counts import Buckets
from ndcore.serve.written_source import WrittenSource

FRESH = 5.0  # seconds for which counts of the store are reused: counting takes its lock, and the sizes of all files
STORE_GAUGES = (  # metric, name in `Store.stats`, help
    ("ndcore_documents", "documents", "Pages of the store that are live"),
    ("ndcore_clusters", "clusters", "Clusters of the store"),
    ("ndcore_log_bytes", "log_bytes", "Bytes of the log"),
    ("ndcore_index_bytes", "derived_bytes", "Bytes of the indexes and columns, which follow from the log"),
    ("ndcore_backlog_segments", "backlog", "Tables and segments of indexes that wait to be merged, or are being merged"),
    ("ndcore_lost_pages", "lost", "Pages that were lost because their records were damaged"),
)


class Metrics:
    """The metrics of one server, in a registry of their own.

    Parameters
    ----------
    source : WrittenSource

    Raises
    ------
    ImportError
        prometheus-client is not installed.
    """

    def __init__(self, source: WrittenSource) -> None:
        self._library = imported("prometheus_client", "/metrics")
        self._families = imported("prometheus_client.core", "/metrics")
        self._source = source
        self._reading = threading.Lock()
        self._figures: dict[str, Any] | None = None
        self._read = 0.0
        self.content_type = str(self._library.CONTENT_TYPE_LATEST)
        self._registry = self._library.CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        """Return all metrics as text."""
        return bytes(self._library.generate_latest(self._registry))

    def describe(self) -> list[Any]:
        """Return no metrics: the registry then does not collect on registration."""
        return []

    def collect(self) -> Iterator[Any]:
        """Yield the families of metrics."""
        counts, made = self._source.counts, self._families
        decisions = made.CounterMetricFamily("ndcore_decisions", "Pages that were decided on and are on disk, by verdict",
                                             labels=["verdict"])
        for verdict, count in counts.decisions.items():
            decisions.add_metric([verdict], count)
        yield decisions
        yield made.CounterMetricFamily("ndcore_repeated_answers", "Answers that were given before: idempotency keys that "
                                       "came again", counts.repeated)
        yield made.GaugeMetricFamily("ndcore_waiting_pages", "Pages that wait to be decided on", self._source.waiting)
        yield self._histogram("ndcore_decision_measured_documents", "Documents against which a page was measured", [],
                              [((), counts.measured)])
        yield self._histogram("ndcore_decision_duration_seconds", "From the queue to the answer: of a page that came "
                              "alone (single), or of a part of a stream (streamed)", ["kind"],
                              [((kind,), buckets) for kind, buckets in counts.deciding.items()])
        yield self._histogram("ndcore_request_duration_seconds", "From a request to the end of its answer",
                              ["route", "status"], [((route, str(status)), buckets)
                                                    for (route, status), buckets in counts.requests.copy().items()])
        figures = self._describe_store()
        if figures is not None:
            for name, key, about in STORE_GAUGES:
                yield made.GaugeMetricFamily(name, about, figures[key])
            yield made.GaugeMetricFamily("ndcore_checkpoint_problem", "1: the last checkpoint could not be written",
                                         int(figures["checkpoint_problem"] is not None))

    def _histogram(self, name: str, about: str, labels: list[str],
                   series: Iterable[tuple[tuple[str, ...], Buckets]]) -> Any:
        family = self._families.HistogramMetricFamily(name, about, labels=labels)
        for values, buckets in series:
            cumulated, total = buckets.cumulated()
            family.add_metric(values, [("+Inf" if bound == float("inf") else str(float(bound)), count)
                                       for bound, count in cumulated], total)
        return family

    def _describe_store(self) -> dict[str, Any] | None:
        """Return the counts of the store, at most some seconds old; None if they could not be read.

        One thread reads the store, which may be busy. Others do not wait, and take the previous counts.
        """
        if time.monotonic() - self._read >= FRESH and self._reading.acquire(blocking=False):
            try:
                self._figures = self._source.describe_store()
            except (OSError, ValueError):  # the store failed or is closed
                self._figures = None
            finally:
                self._read = time.monotonic()
                self._reading.release()
        return self._figures
