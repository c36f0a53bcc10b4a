"""Repeated passages of generated text, by `nd.repeats`: seconds, and the memory that it takes of its own.

A file is made first, in the temporary folder: documents of words drawn by Zipf's law, a line each; one in five goes on with
the beginning of an earlier one. It is read three times in batches, so its text is never in memory as a whole. Required, else
the exit code is 1: on the first documents sorted windows (prefix doubling over the numbers of the words, without
fingerprints) find the same repeated tokens, and every row equals its source.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from measure import Report, Watched, options, own_memory
from numpy.typing import NDArray

import ndcore as nd

SIZES = (100, 500, 2000)  # MB
VOCABULARY = 50_000
POOL = 20_000  # documents of which beginnings are repeated
CHECKED = 3000  # documents whose windows are sorted
BATCH = 8 << 20
Bools = NDArray[np.bool_]


class Lines:
    """Documents in a file, one a line, as a corpus."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def batches(self) -> Iterator[Sequence[bytes]]:
        """Yield the lines in batches of about 8 MB."""
        with self.path.open("rb") as file:
            while batch := file.readlines(BATCH):
                yield batch


def write(path: Path, megabytes: int, rng: np.random.Generator) -> None:
    """Write documents of 100 to 1000 words each."""
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
    names = [bytes(rng.choice(letters, length)) for length in rng.integers(2, 11, VOCABULARY).tolist()]
    chances = np.cumsum(1 / np.arange(1, VOCABULARY + 1))
    pool: list[bytes] = []
    written = 0
    with path.open("wb") as file:
        while written < megabytes * 10**6:
            drawn = np.searchsorted(chances, rng.random(200_000) * chances[-1]).tolist()
            words = iter(drawn)
            for length in rng.integers(100, 1000, 300).tolist():
                text = b" ".join(names[word] for word in islice(words, length))
                if pool and rng.random() < 0.2:
                    text += b" " + pool[int(rng.integers(len(pool)))][: len(text)]
                if len(pool) < POOL:
                    pool.append(text)
                file.write(text + b"\n")
                written += len(text) + 1


def repeated(documents: Sequence[Sequence[str]], size: int) -> list[Bools]:
    """Mark the repeated tokens of documents, by sorting windows."""
    numbers: dict[str, int] = {}
    sizes = np.array([len(tokens) for tokens in documents])
    starts = np.cumsum(sizes + 1) - sizes - 1
    rank = np.empty(int((sizes + 1).sum()), np.int64)
    for i, (tokens, start) in enumerate(zip(documents, starts.tolist(), strict=True)):
        rank[start : start + len(tokens)] = [numbers.setdefault(token, len(numbers)) for token in tokens]
        rank[start + len(tokens)] = -1 - i
    n, length = len(rank), 1
    rank = np.unique(rank, return_inverse=True)[1]
    while length < size:  # rank: the number of the window of `length` tokens from each place on
        step = min(length, size - length)
        behind = np.zeros(n, np.int64)
        behind[: n - step] = rank[step:] + 1
        rank = np.unique(rank * (n + 2) + behind, return_inverse=True)[1]
        length += step
    document = np.repeat(np.arange(len(sizes)), sizes + 1)
    places = np.flatnonzero(np.arange(n) - starts[document] + size <= sizes[document])
    first = np.full(int(rank.max(initial=0)) + 1, n)
    np.minimum.at(first, rank[places], places)
    source = first[rank[places]]
    earlier = (document[source] != document[places]) | (source + size <= places)
    change = np.zeros(n + 1, np.int64)
    np.add.at(change, places[earlier], 1)
    np.add.at(change, places[earlier] + size, -1)
    marks = np.cumsum(change) > 0
    return [marks[start : start + count] for start, count in zip(starts.tolist(), sizes.tolist(), strict=True)]


def check(report: Report, texts: Sequence[bytes], found: nd.Repeats, size: int) -> None:
    """Compare a result with sorted windows, and its rows with their sources."""
    documents = [nd.Shingling().tokens(text) for text in texts]
    expected = repeated(documents, size)
    marks = [np.zeros(len(tokens), np.bool_) for tokens in documents]
    columns = (found.documents, found.starts, found.ends, found.sources, found.source_starts)
    wrong = 0
    for document, start, end, source, at in zip(*(column.tolist() for column in columns), strict=True):
        marks[document][start:end] = True
        wrong += documents[document][start:end] != documents[source][at : at + end - start]
    report.require(all(map(np.array_equal, marks, expected)), f"{len(texts)} documents: sorted windows find other tokens")
    report.require(wrong == 0, f"{len(texts)} documents: {wrong} rows differ from their sources")


def main() -> int:
    parser = options(__doc__, repeats=1)
    parser.add_argument("--megabytes", type=int, action="append", help=f"of text (default {', '.join(map(str, SIZES))})")
    parser.add_argument("--min-tokens", type=int, default=50, metavar="L", help="tokens of a window (default 50)")
    parser.add_argument("--memory", metavar="SIZE", help="memory_limit (default none)")
    arguments = parser.parse_args()
    report, size = Report("repeats", arguments), arguments.min_tokens
    table = report.table("repeats", f"Repeated passages of {size} tokens or more in generated text", [
        "MB", "tokens", "repeated tokens", "rows", "seconds", "CPU seconds", "ns of a core per token",
        "memory of its own MB"])
    rng = np.random.default_rng(1)
    for megabytes in (5,) if arguments.quick else arguments.megabytes or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            corpus = Lines(Path(folder) / "texts")
            write(corpus.path, megabytes, rng)
            for _ in range(arguments.repeats):
                before = own_memory()
                with Watched() as watched:
                    wall, cpu = time.perf_counter(), time.process_time()
                    found = nd.repeats(corpus, size, memory_limit=arguments.memory)
                    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                table.add(megabytes, found.total, found.tokens, len(found), wall, cpu, cpu / found.total * 1e9,
                          (watched.peak - before) / 1e6)
            with corpus.path.open("rb") as file:
                texts = list(islice(file, CHECKED))
            check(report, texts, nd.repeats(texts, size), size)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
