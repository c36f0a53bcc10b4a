"""Repeated passages of generated text, by `nd.repeats`: seconds, and the memory that it takes of its own.

A file is made first, in the temporary folder: documents of words drawn by Zipf's law, a line each; one in five goes on with
the beginning of an earlier one. It is read three times in batches, so its text is never in memory as a whole. Required, else
the exit code is 1: on the first documents, or with `--suffix-array` on all, a suffix array (suffixes.py) finds the same
repeated tokens, and every row has the right source, end and copies.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from measure import Report, Watched, options, own_memory
from suffixes import Sorter, by_divsufsort, by_doubling, differences

import ndcore as nd

SIZES = (100, 500, 2000)  # MB
WRITTEN = 2000  # MB; what is more is the same text in other letters
LETTERS = b"abcdefghijklmnopqrstuvwxyz"
VOCABULARY = 50_000
POOL = 20_000  # documents of which beginnings are repeated
CHECKED = 3000  # documents whose suffixes are sorted by prefix doubling
BATCH = 8 << 20


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
    letters = np.frombuffer(LETTERS, np.uint8)
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


def lengthen(path: Path, megabytes: int, rng: np.random.Generator) -> None:
    """Append the text again, each time in other letters, so that its copies have no words in common."""
    letters = np.frombuffer(LETTERS, np.uint8)
    written = size = path.stat().st_size
    with path.open("rb") as source, path.open("ab") as file:
        while written < megabytes * 10**6:
            others = bytes.maketrans(LETTERS, bytes(rng.permutation(letters)))
            source.seek(0)
            left = size
            while left and written < megabytes * 10**6:
                batch = source.read(min(BATCH, left))
                file.write(batch.translate(others))
                left -= len(batch)
                written += len(batch)


def check(report: Report, texts: Iterable[bytes], found: nd.Repeats, sort: Sorter) -> None:
    """Require that a result is what a suffix array finds in the words between blanks."""
    for message in differences((text.split() for text in texts), found, sort):
        report.require(False, f"{len(found.sizes):,} documents: {message}")


def main() -> int:
    parser = options(__doc__, repeats=1)
    parser.add_argument("--megabytes", type=int, action="append", help=f"of text (default {', '.join(map(str, SIZES))})")
    parser.add_argument("--min-tokens", type=int, default=50, metavar="L", help="tokens of a window (default 50)")
    parser.add_argument("--memory", metavar="SIZE", help="memory_limit (default none)")
    parser.add_argument("--suffix-array", action="store_true",
                        help="check all documents, by pydivsufsort; for a byte of text it takes about 10 of memory")
    arguments = parser.parse_args()
    report, size = Report("repeats", arguments), arguments.min_tokens
    table = report.table("repeats", f"Repeated passages of {size} tokens or more in generated text", [
        "MB", "tokens", "repeated tokens", "rows", "seconds", "CPU seconds", "ns of a core per token",
        "memory of its own MB"])
    rng = np.random.default_rng(1)
    for megabytes in (5,) if arguments.quick else arguments.megabytes or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            corpus = Lines(Path(folder) / "texts")
            write(corpus.path, min(megabytes, WRITTEN), rng)
            lengthen(corpus.path, megabytes, rng)
            for _ in range(arguments.repeats):
                before = own_memory()
                with Watched() as watched:
                    wall, cpu = time.perf_counter(), time.process_time()
                    found = nd.repeats(corpus, size, memory_limit=arguments.memory)
                    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                table.add(megabytes, found.total, found.tokens, len(found), wall, cpu, cpu / found.total * 1e9,
                          (watched.peak - before) / 1e6)
            with corpus.path.open("rb") as file:
                if arguments.suffix_array:
                    check(report, file, found, by_divsufsort)
                else:
                    texts = list(islice(file, CHECKED))
                    check(report, texts, nd.repeats(texts, size), by_doubling)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
