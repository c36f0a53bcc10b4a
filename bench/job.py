"""The main job on a large corpus (32,000 documents, 280 MB): near_duplicates on a list, and `ndcore dedup` on the same texts
as JSONL, JSONL.gz, JSONL.zst, Parquet, pages of HTML in a gzipped WARC, and a tree of files, half of them HTML (MB/s are of
the texts).

Every run is a process of its own, so that its peak memory is its own; runs of all kinds take turns. All runs must give
the same labels, and the resemblances of a sample of dropped documents are recomputed from the texts.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import html
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from corpus import LARGE_BYTES, LARGE_DOCUMENTS, Corpus, add_options, data_folder, large
from measure import Report, Times, memory_now, options, peak_memory, say, usable_cpus

THRESHOLD = 0.8
FORMS = {"cli": "corpus.jsonl", "gz": "corpus.jsonl.gz", "zst": "corpus.jsonl.zst", "parquet": "corpus.parquet",
         "warc": "corpus.warc.gz", "tree": "tree"}
JUDGED = 300


class Setting(NamedTuple):
    """One kind of run."""

    how: str  # list, or a key of FORMS
    variant: str  # value of NDCORE_VARIANT
    threads: int

    def __str__(self) -> str:
        return f"{self.program}, {self.variant or 'best'}, {self.threads} threads"

    @property
    def program(self) -> str:
        return "near_duplicates" if self.how == "list" else f"ndcore dedup {FORMS[self.how]}"


# ---- in the child


class Stages:
    """A progress callback that adds up the time of each stage, from the report before to its own."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.last = time.perf_counter()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.last
        self.last = now


class CommandStages(Stages):
    """The stages of `ndcore dedup`: read and sketch take turns on the main thread, and overlap where there are others."""

    NAMES: ClassVar[dict[str, str]] = {
        "reading": "read", "sketching": "sketch (while not reading)", "pairing": "pair",
        "reading candidates": "read candidates again", "verifying": "verify", "writing": "write",
        "concluding": "clusters, summary",
    }

    def reading(self, batches: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
        """The method `batches` with the time in it counted as reading."""
        def timed(documents: Any) -> Iterator[Any]:
            source = batches(documents)
            while True:
                start = time.perf_counter()
                batch = next(source, None)
                taken = time.perf_counter() - start
                self.seconds["reading"] = self.seconds.get("reading", 0.0) + taken
                self.last += taken
                if batch is None:
                    return
                yield batch

        return timed

    def named(self) -> dict[str, float]:
        """Seconds by the names of NAMES, in their order."""
        order = [*self.NAMES, *(stage for stage in self.seconds if stage not in self.NAMES)]
        return {self.NAMES.get(stage, stage): self.seconds[stage] for stage in order if stage in self.seconds}


def run_list(path: Path, threads: int) -> dict[str, Any]:
    """near_duplicates on the texts of a JSONL file, which are read beforehand."""
    import ndcore as nd

    with path.open(encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    before = memory_now()
    stages = Stages()
    start = time.perf_counter()
    result = nd.near_duplicates(texts, threshold=THRESHOLD, threads=threads, progress=stages)
    seconds = time.perf_counter() - start
    stages("concluding", 1, 1)
    peak = peak_memory()
    dropped = result.duplicates[:: max(1, len(result.duplicates) // JUDGED)].tolist()
    exact = [nd.resemblance(texts[i], texts[int(result.labels[i])]) for i in dropped]
    wrong = sum(r != result.resemblance[i] or r < THRESHOLD for i, r in zip(dropped, exact, strict=True) if r == r)
    return {
        "seconds": seconds, "before": before, "peak": peak, "kept": len(result.kept), "wrong": wrong,
        "labels": hashlib.sha256(result.labels.tobytes()).hexdigest(), "stages": stages.seconds,
        "judged": len(dropped), "result": repr(result),
    }


def position(file: str, line: int | None) -> int:
    """The position in the corpus of a document that is there."""
    return int(Path(file).stem) if line is None else line - 1


def labels_of(clusters: Path, count: int) -> str:
    """The digest of the labels in clusters.jsonl."""
    labels = np.arange(count)
    with clusters.open(encoding="utf-8") as file:
        for found in map(json.loads, file):
            labels[position(found["file"], found["line"])] = position(
                found["representative_file"], found["representative_line"])
    return hashlib.sha256(labels.astype(np.int64).tobytes()).hexdigest()


def run_cli(path: Path, threads: int) -> dict[str, Any]:
    """`ndcore dedup` on a file or a tree, in this process; its progress reports and its reader are timed."""
    from ndcore import progress
    from ndcore.cli.main import main as ndcore_main
    from ndcore.files.documents import FileDocuments

    stages = CommandStages()
    progress.resolve = lambda asked: stages
    FileDocuments.batches = stages.reading(FileDocuments.batches)  # type: ignore[method-assign]
    with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory(dir=path.parent) as folder:
        out = Path(folder) / "out"
        before = memory_now()
        start = stages.last = time.perf_counter()
        code = ndcore_main(["dedup", str(path), "-o", str(out), "--threshold", str(THRESHOLD), "--threads", str(threads)])
        seconds, peak = time.perf_counter() - start, peak_memory()
        stages("concluding", 1, 1)
        counts = json.loads((out / "summary.json").read_text(encoding="utf-8"))["counts"]
        labels = labels_of(out / "clusters.jsonl", counts["read"])
    return {"seconds": seconds, "before": before, "peak": peak, "kept": counts["kept"], "wrong": int(code != 0),
            "labels": labels, "stages": stages.named()}


def child(arguments: argparse.Namespace) -> int:
    """Run one setting and print what it found as JSON."""
    run = run_list if arguments.child == "list" else run_cli
    print(json.dumps(run(Path(arguments.work), arguments.threads)))
    return 0


# ---- in the parent


def write(corpus: Corpus, folder: Path) -> None:
    """The corpus in all FORMS; JSONL has the fields id and text."""
    lines = folder / FORMS["cli"]
    with lines.open("w", encoding="utf-8", newline="\n") as file:
        for name, text in zip(corpus.ids, corpus.texts, strict=True):
            file.write(json.dumps({"id": name, "text": text}) + "\n")
    with lines.open("rb") as given, gzip.open(folder / FORMS["gz"], "wb", 6) as packed:
        shutil.copyfileobj(given, packed)
    columns = pa.table({"id": corpus.ids, "text": [text.encode("utf-8", "replace").decode() for text in corpus.texts]})
    pq.write_table(columns, folder / FORMS["parquet"])
    with lines.open("rb") as given, (folder / FORMS["zst"]).open("wb") as taken:
        zstandard.ZstdCompressor(level=3).copy_stream(given, taken)
    with (folder / FORMS["warc"]).open("wb") as file:
        for i, text in enumerate(corpus.texts):
            file.write(gzip.compress(record(i, page(text)), 6, mtime=0))
    for i, text in enumerate(corpus.texts):
        target = folder / FORMS["tree"] / f"{i // 500:04}" / f"{i:08}.{'html' if i % 2 else 'txt'}"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(page(text) if i % 2 else text.encode("utf-8", "surrogatepass"))


def page(text: str) -> bytes:
    """A page of HTML with a text and as much of a frame as pages have at least."""
    body = html.escape(text).replace("\n", "</p>\n<p>")
    shown = f"<!DOCTYPE html>\n<html><head><title></title></head>\n<body><p>{body}</p></body></html>\n"
    return shown.encode("utf-8", "replace")


def record(i: int, content: bytes) -> bytes:
    """A WARC record with a page."""
    content = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + content
    head = (f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/{i}\r\n"
            "WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"
            f"Content-Length: {len(content)}\r\n\r\n")
    return head.encode() + content + b"\r\n\r\n"


def spawn(setting: Setting, folder: Path) -> dict[str, Any]:
    """A run in a fresh process; {"error": …} where it failed."""
    path = folder / FORMS["cli" if setting.how == "list" else setting.how]
    command = [sys.executable, __file__, "--child", setting.how, "--work", str(path), "--threads", str(setting.threads)]
    environment = {**os.environ, "NDCORE_VARIANT": setting.variant}
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": done.stderr.strip()[-2000:] or f"exit code {done.returncode}"}
    return {**json.loads(done.stdout.splitlines()[-1]), "process": time.perf_counter() - start}


def settings(arguments: argparse.Namespace) -> Iterator[Setting]:
    """Everything that is compared."""
    most = min(2, len(usable_cpus()))
    for how in arguments.how:
        yield Setting(how, "", most)
        if how in ("list", "cli"):
            yield Setting(how, "portable", most)
        if most > 1:
            yield Setting(how, "", 1)


def make_corpus(arguments: argparse.Namespace, report: Report, folder: Path) -> None:
    """Write the input and note its facts; it is not kept in memory."""
    corpus = large(data_folder(arguments.data), arguments.seed, arguments.documents, arguments.bytes)
    report.inputs.append(corpus.facts())
    write(corpus, folder)


def measure(report: Report, folder: Path, arguments: argparse.Namespace) -> None:
    """All settings in turns, then the tables."""
    runs: dict[Setting, list[dict[str, Any]]] = {setting: [] for setting in settings(arguments)}
    for _ in range(arguments.repeats):
        for setting, done in runs.items():
            say(setting)
            found = spawn(setting, folder)
            report.require("error" not in found, f"{setting}: {found.get('error')}")
            if "error" not in found:
                report.require(found["wrong"] == 0, f"{setting}: {found['wrong']} dropped documents are wrong")
                done.append(found)
    every = [found for done in runs.values() for found in done]
    for what in ("kept", "labels"):
        seen = {found[what] for found in every if what in found}
        report.require(len(seen) <= 1, f"{what} depends on variant, threads or program: {sorted(map(str, seen))}")
    report.details["runs"] = [{"setting": str(setting), **found} for setting, done in runs.items() for found in done]
    tabulate(report, {setting: done for setting, done in runs.items() if done})


def tabulate(report: Report, runs: dict[Setting, list[dict[str, Any]]]) -> None:
    """Seconds, memory and stages, by setting."""
    facts = report.inputs[0]
    size = int(str(facts["bytes"]))
    table = report.table("job", f"{facts['documents']} documents, {size / 1e6:.0f} MB, to verified clusters", [
        "program", "variants", "threads", "seconds", "least", "IQR %", "MB/s", "peak MB", "over the start MB",
        "bytes/document over", "kept"])
    stages = report.table("job-stages", "Seconds by stage", ["program", "variants", "threads", "stage", "seconds"])
    for setting, done in runs.items():
        taken = Times([found["seconds"] for found in done])
        peak = max(found["peak"] for found in done)
        over = max(found["peak"] - found["before"] for found in done)
        program = setting.program
        table.add(program, setting.variant or "best",
                  setting.threads, taken.median, taken.least, 100 * taken.spread, size / taken.median / 1e6,
                  peak / 1e6, over / 1e6, over / int(str(facts["documents"])), done[0]["kept"])
        for stage in done[0]["stages"]:
            seconds = Times([found["stages"].get(stage, 0.0) for found in done]).median
            stages.add(program, setting.variant or "best", setting.threads, stage, seconds)


def main() -> int:
    parser = options(__doc__, repeats=3)
    add_options(parser)
    parser.add_argument("--documents", type=int, default=LARGE_DOCUMENTS)
    parser.add_argument("--bytes", type=int, default=LARGE_BYTES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--how", nargs="+", choices=("list", *FORMS), default=["list", *FORMS], help="which programs")
    parser.add_argument("--work", metavar="FOLDER", help="where the input is written (default: the temporary folder)")
    parser.add_argument("--child", choices=("list", *FORMS), help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments)
    if arguments.quick:
        arguments.documents, arguments.bytes, arguments.repeats = 1_500, 12_000_000, 1
    report = Report("job", arguments)
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        make_corpus(arguments, report, Path(folder))
        measure(report, Path(folder), arguments)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
