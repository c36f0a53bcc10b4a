"""The main job on a large corpus (32,000 documents, 280 MB): near_duplicates on a list, and `ndcore dedup` on the same texts
as JSONL, JSONL.gz, JSONL.zst, Parquet, pages of HTML in a gzipped WARC, and a tree of files, half of them HTML (MB/s are of
the texts).

Every run is a process of its own, so that its peak memory is its own; runs of all kinds take turns. All runs must give
the same labels, and the resemblances of a sample of dropped documents are recomputed from the texts.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import html
import io
import json
import shutil
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from corpus import DATA, LARGE_BYTES, LARGE_DOCUMENTS, Corpus, data_folder, large
from measure import WORK, Option, Report, Times, in_own_process, memory_now, peak_memory, program, say, usable_cpus

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


def settings(hows: Sequence[str]) -> Iterator[Setting]:
    """List everything that is compared."""
    most = min(2, len(usable_cpus()))
    for how in hows:
        yield Setting(how, "", most)
        if how in ("list", "cli"):
            yield Setting(how, "portable", most)
        if most > 1:
            yield Setting(how, "", 1)


def ask(report: Report, given: Namespace) -> None:
    """Run all settings in turns, then tabulate."""
    corpus = large(data_folder(given.data), given.seed, given.documents, given.bytes)
    report.inputs.append(corpus.facts())
    write(corpus, given.folder)
    del corpus
    runs: dict[Setting, list[dict[str, Any]]] = {setting: [] for setting in settings(given.how)}
    for _ in range(given.repeats):
        for setting, done in runs.items():
            say(setting)
            run_one, form = (run_list, "cli") if setting.how == "list" else (run_cli, setting.how)
            found = in_own_process(run_one, given.folder / FORMS[form], setting.threads, NDCORE_VARIANT=setting.variant)
            report.require(found["wrong"] == 0, f"{setting}: {found['wrong']} dropped documents are wrong")
            done.append(found)
    every = [found for done in runs.values() for found in done]
    for what in ("kept", "labels"):
        seen = {found[what] for found in every if what in found}
        report.require(len(seen) <= 1, f"{what} depends on variant, threads or program: {sorted(map(str, seen))}")
    report.details["runs"] = [{"setting": str(setting), **found} for setting, done in runs.items() for found in done]
    tabulate(report, runs)


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


if __name__ == "__main__":
    program("job", ask, __doc__, repeats=3, data=DATA, work=WORK, documents=Option(LARGE_DOCUMENTS, "of the corpus", 1500),
        bytes=Option(LARGE_BYTES, "of the corpus", 12_000_000), seed=Option(1, "of generated text"),
        how=Option(["list", *FORMS], "which programs", choices=["list", *FORMS]))
