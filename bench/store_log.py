"""The log of a store against SQLite: one record made durable at a time, batches, and reading, on this machine.

    python bench/store_log.py [DIRECTORY]

Records of 2,000 random bytes, the compressed text of a page. SQLite is the version that Python links, in WAL mode.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ndcore.store.log import Log

SINGLE, BATCH, BATCHES, READS = 1000, 1000, 30, 20_000
RECORD = os.urandom(2000)


def timed(call: Callable[[], object], times: int) -> list[float]:
    """Return the seconds of each call, ascending."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return sorted(found)


def show(name: str, seconds: list[float], records: int) -> None:
    """Print quantiles of one call, and records a second."""
    n = len(seconds)
    print(f"{name:42} p50 {seconds[n // 2] * 1e3:7.3f} ms  p99 {seconds[n * 99 // 100] * 1e3:7.3f} ms  "
          f"{records * n / sum(seconds):10,.0f} records/s", flush=True)


def bare(place: Path) -> None:
    """Time what no store can avoid: a write at the end of a file, and fdatasync."""
    descriptor = os.open(place / "bare", os.O_RDWR | os.O_CREAT)

    def once() -> None:
        os.write(descriptor, RECORD)
        os.fdatasync(descriptor)

    show("write and fdatasync", timed(once, SINGLE), 1)
    os.close(descriptor)


def of_log(place: Path) -> None:
    """Time the log."""
    log = Log.create(place / "log", b"test")
    positions: list[int] = []

    def append(count: int) -> None:
        positions.extend(log.append([RECORD] * count))
        log.sync()

    show("log, each record on disk", timed(lambda: append(1), SINGLE), 1)
    show(f"log, batches of {BATCH}", timed(lambda: append(BATCH), BATCHES), BATCH)
    some = iter(random.Random(1).choices(positions, k=READS))
    show("log, read", timed(lambda: log.read(next(some)), READS), 1)
    show("log, scan", timed(lambda: sum(1 for _ in log.scan()), 3), len(positions))
    log.close()


def of_sqlite(place: Path, synchronous: str) -> None:
    """Time SQLite with rows numbered by itself."""
    base = sqlite3.connect(place / f"{synchronous}.db", isolation_level=None)
    base.execute("PRAGMA journal_mode = WAL")
    base.execute(f"PRAGMA synchronous = {synchronous}")
    base.execute("CREATE TABLE record (id INTEGER PRIMARY KEY, payload BLOB)")

    def append(count: int) -> None:
        base.execute("BEGIN IMMEDIATE")
        base.executemany("INSERT INTO record (payload) VALUES (?)", ((RECORD,) for _ in range(count)))
        base.execute("COMMIT")

    name = f"SQLite {sqlite3.sqlite_version} {synchronous}"
    show(f"{name}, each record committed", timed(lambda: append(1), SINGLE), 1)
    show(f"{name}, batches of {BATCH}", timed(lambda: append(BATCH), BATCHES), BATCH)
    rows = SINGLE + BATCH * BATCHES
    some = iter(random.Random(1).choices(range(1, rows + 1), k=READS))
    show(f"{name}, read", timed(lambda: base.execute("SELECT payload FROM record WHERE id = ?", (next(some),)).fetchone(),
                                READS), 1)
    show(f"{name}, scan", timed(lambda: sum(1 for _ in base.execute("SELECT id, payload FROM record ORDER BY id")), 3), rows)
    base.close()


def main() -> None:
    """Run all of it in a temporary directory."""
    place = Path(tempfile.mkdtemp(dir=sys.argv[1] if len(sys.argv) > 1 else None))
    try:
        bare(place)
        of_log(place)
        of_sqlite(place, "FULL")
        of_sqlite(place, "NORMAL")
    finally:
        shutil.rmtree(place)


if __name__ == "__main__":
    main()
