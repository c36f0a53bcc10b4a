"""What a crawler would write itself instead of a store: bands of signatures in SQLite or Redis, codes in faiss.

All take their signatures from ndcore, compress texts by zlib, and verify candidates by ndcore's resemblance. They keep
pages and representatives, and have no clusters, versions, removal, or checks of what they read.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import sqlite3
import subprocess
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import ndcore as nd

__all__ = ["FaissCodes", "OwnStore", "RedisBands", "SqliteBands", "available"]

Page = tuple[str, str]
THRESHOLD, BANDS, ROWS = 0.8, 14, 4  # bands of datasketch, of need 1: they miss 6 of 10,000 pairs at the threshold
PIECES, PIECE_BITS, RADIUS = 4, 16, 7  # for faiss: codes of 64 bits; with one flipped bit a piece it finds all within 7 bits


class OwnStore(ABC):
    """Pages that are compared with the kept ones among their candidates. Made of a folder; durable: each page is on disk."""

    name: str
    durable = (False, True)

    @classmethod
    def missing(cls) -> str | None:
        """Name what has to be installed."""
        return None

    @abstractmethod
    def decide(self, page: Page) -> int:
        """Return the page's representative, by its number."""

    def memory(self) -> float | None:
        """Megabytes that the index takes, where it is in memory."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Stop what was started."""


def best(text: str, candidates: Iterable[tuple[int, bytes]]) -> int | None:
    """Find the first of the candidates, ascending, that resembles a text most, at or above the threshold."""
    score, label = THRESHOLD, None
    for number, packed in candidates:
        found = nd.resemblance(text, zlib.decompress(packed).decode())
        if found > score or (found == score and label is None):
            score, label = found, number
    return label


def database(path: Path, durable: bool) -> sqlite3.Connection:
    """Open a table of pages in SQLite."""
    made = sqlite3.connect(path, isolation_level=None)
    made.execute("PRAGMA journal_mode=WAL")
    made.execute(f"PRAGMA synchronous={'FULL' if durable else 'OFF'}")
    made.execute("CREATE TABLE pages (n INTEGER PRIMARY KEY, key TEXT UNIQUE, kept INTEGER, text BLOB)")
    return made


class SqliteBands(OwnStore):
    """Bands in a table of SQLite, with the filter of the store."""

    name = "bands in SQLite"

    def __init__(self, folder: Path, durable: bool) -> None:
        self._db = database(folder / "pages.db", durable)
        self._db.execute("CREATE TABLE bands (value INTEGER, n INTEGER, PRIMARY KEY (value, n)) WITHOUT ROWID")
        self._design = nd.design_filter(THRESHOLD, num_perm=84)
        self._sketcher = nd.MinHasher(84)

    def decide(self, page: Page) -> int:
        key, text = page
        design = self._design
        row = self._sketcher.sketch(text).values[0]
        bands = [hash((i, *row[i * design.group_size : (i + 1) * design.group_size].tolist())) for i in range(design.groups)]
        marks = ",".join("?" * len(bands))
        self._db.execute("BEGIN IMMEDIATE")
        label = best(text, self._db.execute(
            f"SELECT pages.n, text FROM (SELECT n FROM bands WHERE value IN ({marks}) GROUP BY n HAVING count(*) >= ?) AS f "
            "JOIN pages ON pages.n = f.n WHERE kept = 1 ORDER BY pages.n", (*bands, design.need)).fetchall())
        number = self._db.execute("INSERT INTO pages (key, kept, text) VALUES (?, ?, ?)",
                                  (key, label is None, zlib.compress(text.encode(), 1))).lastrowid
        self._db.executemany("INSERT INTO bands VALUES (?, ?)", [(band, number) for band in bands])
        self._db.execute("COMMIT")
        assert number is not None
        return (number if label is None else label) - 1

    def close(self) -> None:
        self._db.close()


class RedisBands(OwnStore):
    """datasketch's MinHashLSH with Redis, which keeps the texts too and writes all to its append-only file."""

    name = "datasketch with Redis"

    @classmethod
    def missing(cls) -> str | None:
        packages = [name for name in ("datasketch", "redis") if importlib.util.find_spec(name) is None]
        return " and ".join([*packages, *([] if shutil.which("redis-server") else ["redis-server"])]) or None

    def __init__(self, folder: Path, durable: bool) -> None:
        import redis
        from datasketch import LeanMinHash, MinHashLSH

        socket = folder / "redis.sock"
        self._server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", socket, "--dir", folder, "--save", "", "--appendonly", "yes",
             "--appendfsync", "always" if durable else "everysec"], stdout=subprocess.DEVNULL)
        self._redis: Any = redis.Redis(unix_socket_path=str(socket))
        for _ in range(100):
            with contextlib.suppress(redis.ConnectionError):
                self._redis.ping()
                break
            time.sleep(0.05)
        self._lsh = MinHashLSH(num_perm=BANDS * ROWS, params=(BANDS, ROWS), storage_config={
            "type": "redis", "basename": b"bands", "redis": {"unix_socket_path": str(socket)}})
        self._signature = LeanMinHash
        self._sketcher = nd.MinHasher(BANDS * ROWS)
        self._n = 0

    def decide(self, page: Page) -> int:
        key, text = page
        row = self._sketcher.sketch(text).values[0].astype(np.uint64)
        signature = self._signature(seed=1, hashvalues=row, scheme="legacy")  # minima that are not of datasketch
        found = sorted(self._lsh.query(signature))
        texts = self._redis.mget([b"text%d" % number for number in found]) if found else []
        label = best(text, zip(found, texts, strict=True))
        number, self._n = self._n, self._n + 1
        self._redis.mset({b"text%d" % number: zlib.compress(text.encode(), 1), b"key%d" % number: key})
        if label is None:
            self._lsh.insert(number, signature)  # only kept pages are asked for
        return number if label is None else label

    def memory(self) -> float:
        return float(self._redis.info("memory")["used_memory"]) / 1e6

    def close(self) -> None:
        self._server.terminate()
        self._server.wait()


class FaissCodes(OwnStore):
    """Simhashes in faiss's IndexBinaryMultiHash, in memory and lost with the process; texts in SQLite."""

    name = "faiss MultiHash, texts in SQLite"
    durable = (False,)

    @classmethod
    def missing(cls) -> str | None:
        return None if importlib.util.find_spec("faiss") else "faiss-cpu"

    def __init__(self, folder: Path, durable: bool) -> None:
        import faiss

        self._index = faiss.IndexBinaryMultiHash(64, PIECES, PIECE_BITS)
        self._index.nflip = 1
        self._db = database(folder / "pages.db", durable)
        self._sketcher = nd.SimHasher()
        self._numbers: list[int] = []  # of the kept pages, in the order in which the index has them

    def decide(self, page: Page) -> int:
        key, text = page
        code = self._sketcher.sketch(text).values[:1].view(np.uint8).reshape(1, 8)
        _, _, found = self._index.range_search(code, RADIUS + 1)
        numbers = sorted(self._numbers[i] for i in found.tolist())
        marks = ",".join("?" * len(numbers))
        label = best(text, self._db.execute(
            f"SELECT n, text FROM pages WHERE n IN ({marks}) ORDER BY n", numbers).fetchall())
        number = self._db.execute("INSERT INTO pages (key, kept, text) VALUES (?, ?, ?)",
                                  (key, label is None, zlib.compress(text.encode(), 1))).lastrowid
        assert number is not None
        if label is None:
            self._index.add(code)
            self._numbers.append(number)
        return (number if label is None else label) - 1

    def close(self) -> None:
        self._db.close()


def available() -> tuple[list[type[OwnStore]], list[str]]:
    """Return what can be measured here, and what cannot, with what has to be installed."""
    kinds: list[type[OwnStore]] = [SqliteBands, RedisBands, FaissCodes]
    return ([kind for kind in kinds if kind.missing() is None],
            [f"{kind.name} (needs {kind.missing()})" for kind in kinds if kind.missing()])
