"""Repeated passages of generated text, by `nd.repeats`: seconds, and the memory that it takes of its own; and lines
that are repeated, cut out of records of JSON by `ndcore repeats`.

A file is made first, in the temporary folder: documents of words drawn by Zipf's law, a line each; one in five goes on with
the beginning of an earlier one. It is read three times in batches, so its text is never in memory as a whole. Required, else
the exit code is 1: in the first documents as many tokens are repeated as a table of all windows of words says; of lines the
records are those without all that an earlier record has.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from measure import Option, Report, Watched, own_memory, program

import ndcore as nd

WRITTEN = 2000  # MB; what is more is the same text in other letters
LETTERS = b"abcdefghijklmnopqrstuvwxyz"
VOCABULARY = 50_000
POOL = 20_000  # documents of which beginnings are repeated
CHECKED = 3000  # documents
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


def check(report: Report, texts: Sequence[bytes], found: nd.Repeats) -> None:
    """Require of every document as many repeated tokens as a table of all windows of words has."""
    size, first = found.min_tokens, {}
    for i, text in enumerate(texts):
        words = text.split()
        repeated = np.zeros(len(words), np.bool_)
        for at in range(len(words) - size + 1):
            window = hash(tuple(words[at : at + size]))
            document, start = first.setdefault(window, (i, at))
            if document < i or start + size <= at:
                repeated[at : at + size] = True
        theirs, ours = int(repeated.sum()), int(found.repeated[i])
        report.require(theirs == ours, f"{len(texts):,} documents: {ours} tokens of document {i} are repeated, not {theirs}")


def ask_lines(report: Report, given: Namespace, rng: np.random.Generator) -> None:
    """Measure `ndcore repeats` on records of 48 lines, of which a third are repeated, with one thread and with two."""
    table = report.table("repeats_lines", "Repeated lines, cut out of records of JSON by `ndcore repeats`", [
        "MB", "records", "threads", "seconds", "CPU seconds"])
    source, output = given.folder / "lines.jsonl", given.folder / "without"
    words = np.array([f"w{i}" for i in range(30_000)])
    draw = [" ".join(words[rng.integers(len(words), size=size)]) for size in rng.integers(6, 19, 60_000)]
    seen: set[str] = set()
    expected = []
    with source.open("w") as file:
        for record in range(270 * given.megabytes[0]):
            numbers = rng.integers(len(draw), size=48)
            repeated = rng.random(48) < 1 / 3
            lines = [draw[n] if again else f"{draw[n]} {record} {i}"
                     for i, (n, again) in enumerate(zip(numbers.tolist(), repeated.tolist(), strict=True))]
            file.write(json.dumps({"id": record, "text": "\n".join(lines)}) + "\n")
            left = [line for line in lines if not (line in seen or seen.add(line))]  # type: ignore[func-returns-value]
            expected.append(left)
    for threads in (1, 2) * given.repeats:
        shutil.rmtree(output, ignore_errors=True)
        wall, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        command = f"-m ndcore repeats {source} -o {output} --unit line --min-tokens 1 --quiet --threads {threads}"
        subprocess.run([sys.executable, *command.split()], check=True, stdout=subprocess.DEVNULL)
        wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
        table.add(source.stat().st_size / 1e6, 270 * given.megabytes[0], threads, wall,
                  after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        with (output / "cleaned" / source.name).open() as file:
            records = [json.loads(line)["text"].splitlines() for line in file]
        report.require(records == expected, f"{threads} threads: the records are not those without repeated lines")


def ask(report: Report, given: Namespace) -> None:
    """Measure texts of all sizes."""
    size = given.min_tokens
    table = report.table("repeats", f"Repeated passages of {size} tokens or more in generated text", [
        "MB", "tokens", "repeated tokens", "rows", "seconds", "CPU seconds", "ns of a core per token",
        "memory of its own MB"])
    rng = np.random.default_rng(1)
    ask_lines(report, given, rng)
    corpus = Lines(given.folder / "texts")
    for megabytes in given.megabytes:
        write(corpus.path, min(megabytes, WRITTEN), rng)
        lengthen(corpus.path, megabytes, rng)
        for _ in range(given.repeats):
            before = own_memory()
            with Watched(lambda: {"own": own_memory()}) as memory:
                wall, cpu = time.perf_counter(), time.process_time()
                found = nd.repeats(corpus, size, memory_limit=given.memory)
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            table.add(megabytes, found.total, found.tokens, len(found), wall, cpu, cpu / found.total * 1e9,
                      (memory.peak["own"] - before) / 1e6)
        with corpus.path.open("rb") as file:
            texts = list(islice(file, CHECKED))
            check(report, texts, nd.repeats(texts, size))


if __name__ == "__main__":
    program("repeats", ask, __doc__, megabytes=Option([100, 500, 2000], "of text", [5]), memory=Option(None, "memory_limit"),
        min_tokens=Option(50, "tokens of a window"))
