"""``--dry-run``: estimate the costs of a run from a sample of the inputs. Nothing is written.

Files with the same kind and compression form a stratum. A random sample of its files is read, each from its beginning, for
a time proportional to the size of the stratum. Documents per byte in the sample then estimate the whole: a ratio estimate
(Cochran, Sampling Techniques, 3rd ed., 1977, chapter 6).
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ndcore._batch import Batch
from ndcore.cli.account import Account, Properties, TextBlock, print_json
from ndcore.cli.commands import DocumentOptions
from ndcore.cli.inputs import open_documents
from ndcore.dedup.documents import sketch_corpus
from ndcore.files.errors import Rejected, UsageError
from ndcore.files.formats import COLUMNAR, WHOLE
from ndcore.files.ndcore_files import COLLECTION, SKETCHES
from ndcore.files.outputs import STDOUT
from ndcore.files.provenance import Place
from ndcore.files.sources import Inputs, Source, get_sizes
from ndcore.human import counted, format_numbers, format_sizes, format_times, human_bytes, printable
from ndcore.parallel import thread_count
from ndcore.progress import resolve
from ndcore.report.plain_values import plain
from ndcore.sketch.minhash import MinHasher
from ndcore.sketch.sketcher import Sketcher
from ndcore.stats.ratio import Range, estimate_total
from ndcore.text.corpus import TextCorpus

SAMPLING_SECONDS = 2.0  # approximate time to read and sketch the sample
MAX_FILES = 24  # most files of a stratum that are read
SORTING_SECONDS = 1.5e-7  # time to sort one feature, and to compare the candidates that it yields
USUAL_PROCESS = 48 << 20  # bytes of memory of a process, if the system does not report it
BATCHES = 20 << 20  # bytes of text in batches in progress
CANDIDATES = 64 << 20  # bytes of shingle sets of candidates before they are spooled


@dataclasses.dataclass(frozen=True)
class CostEstimate:
    """The documents, the time, the memory and the disk space that a run would take."""

    documents: Range
    text_bytes: Range
    seconds: Range  # on this machine, with `threads` threads
    memory: Range  # the peak, in bytes
    disk: Range  # bytes of the output; 0 for standard output
    temporary: Range  # bytes of temporary files, without those due to --memory
    stored_bytes: int  # of all inputs
    files: int
    sampled_bytes: int  # of what was read
    sampled_files: int
    threads: int
    rejected: list[Rejected]  # documents of the sample that could not be read


class Costs(NamedTuple):
    """The costs of a command, in addition to sketching every document once.

    `memory` and `disk` return bytes, given the numbers of documents, of stored bytes, and of bytes of a document's sketch.
    `sets` returns the bytes of memory and of temporary files for the shingle sets of all documents, given the numbers of
    shingles and of documents.
    """

    memory: Callable[[float, float, float], float]
    disk: Callable[[float, float, float], Range]
    again: Range  # how often the inputs are read and tokenised again, without near-duplicates and with nothing else
    entries: float  # features or entries that are sorted for each document
    sets: Callable[[float, float], tuple[Range, Range]] | None = None


@dataclasses.dataclass
class _Sample:
    """The sampled files of a stratum, each as (stored bytes, documents, bytes of text), and the time to read them."""

    read: list[tuple[int, int, int]] = dataclasses.field(default_factory=list)
    reading: float = 0.0
    sketching: float = 0.0
    sketch_bytes: int = 0
    shingles: float = 0.0
    rejected: list[Rejected] = dataclasses.field(default_factory=list)
    complete: bool = True


def dry_run(options: DocumentOptions, inputs: Inputs, sketcher: Sketcher, costs: Costs, output: str) -> int:
    """Estimate and print the costs of a command. Returns the exit code 0, even if documents would be rejected."""
    estimate = _estimate(options, inputs, sketcher, costs)
    account = Account(plain(estimate), _tell(estimate, output, options.on_error))
    if options.json:
        print_json(account.data)
    else:  # also with --quiet, and on standard output, where no records are written
        account.print_text(sys.stdout)
    return 0


def _estimate(options: DocumentOptions, inputs: Inputs, sketcher: Sketcher, costs: Costs) -> CostEstimate:
    """Read a sample of the inputs for about `SAMPLING_SECONDS`, and scale it up.

    Raises UsageError for inputs that cannot be sampled: streams, sketches and collections.
    """
    for source in inputs.sources:
        if not source.location:
            whole = f"{source.path} would be copied as a whole; save it first"
            raise UsageError(f"--dry-run reads a sample of files, and {whole}")
        if source.kind in (SKETCHES, COLLECTION):
            what = "holds sketches" if source.kind == SKETCHES else "is a collection"
            raise UsageError(f"--dry-run estimates what documents take, and {source.path} {what}")
    process = _measure_process() + BATCHES
    strata: dict[tuple[str, str], list[tuple[Source, int]]] = {}
    for source, size in zip(inputs.sources, get_sizes(inputs.sources), strict=True):
        strata.setdefault((source.kind, source.compression), []).append((source, size))
    total = sum(size for files in strata.values() for _, size in files)
    samples = {
        key: _take_sample(options, files, sketcher, SAMPLING_SECONDS * sum(size for _, size in files) / max(total, 1))
        for key, files in strata.items()
    }
    return _scale_up(strata, samples, costs, thread_count(options.threads), process)


def _take_sample(options: DocumentOptions, files: list[tuple[Source, int]], sketcher: Sketcher, seconds: float) -> _Sample:
    """Read a sample of files. At least one batch of the first file is read, even if that takes longer."""
    sample = _Sample()
    chosen = random.Random(1).sample(files, min(MAX_FILES, len(files)))
    sample.complete = len(chosen) == len(files)
    share, begun = seconds / len(chosen), time.perf_counter()
    for i, (source, size) in enumerate(chosen):
        if i and time.perf_counter() - begun > seconds:
            sample.complete = False
            break
        sample.complete &= _read(options, source, size, sketcher, share, sample)
    return sample


def _read(options: DocumentOptions, source: Source, size: int, sketcher: Sketcher, seconds: float, sample: _Sample) -> bool:
    """Add a file to a sample, and tell whether it was read to its end."""
    begun, documents_read, text_bytes = time.perf_counter(), 0, 0
    ahead = source.kind in ("jsonl", *COLUMNAR) and not options.html_part  # threads would read beyond what is counted
    threads = 1 if ahead else options.threads
    inputs = Inputs([dataclasses.replace(source)])
    with open_documents(options, inputs, on_error="skip", told=None, threads=threads) as documents:
        batches, ended = documents.batches(), False
        while True:
            start = time.perf_counter()
            batch = next(batches, None)
            between = time.perf_counter()
            sample.reading += between - start
            if batch is None:
                ended = True
                break
            if isinstance(sketcher, MinHasher):  # in the way of a run: together with digests
                sketches = sketch_corpus(TextCorpus(batch), sketcher, threads=options.threads, report=resolve(None))[0]
            else:
                sketches = sketcher.sketch_many(batch, threads=options.threads)
            sample.sketching += time.perf_counter() - between
            arrays = (sketches.values, sketches.offsets, getattr(sketches, "positions", None))
            sample.sketch_bytes += sum(int(array.nbytes) for array in arrays if array is not None)
            sample.shingles += 0.0 if sketches.sizes is None else float(np.nansum(sketches.sizes))
            documents_read += len(batch)
            text_bytes += int(Batch(batch).lengths().sum())
            if time.perf_counter() - begun > seconds:
                break
        place = documents.position()
        seen = size if ended or place is None else place[0]
        sample.rejected += documents.rejected
        ended = ended or seen == size
    sample.read.append((seen, documents_read, text_bytes))
    return ended


def _scale_up(
    strata: dict[tuple[str, str], list[tuple[Source, int]]], samples: dict[tuple[str, str], _Sample], costs: Costs,
    threads: int, process: int,
) -> CostEstimate:
    def estimate(sample: _Sample, stored: int, column: int) -> Range:
        """Estimate a column for all stored bytes; it is exact if everything was read."""
        return estimate_total([(part[0], part[column]) for part in sample.read], stored, sample.complete)

    counts = text = once = Range(0, 0)
    sketch_bytes = sampled_documents = 0
    shingles = 0.0
    for key, files in strata.items():
        sample, stored = samples[key], sum(size for _, size in files)
        seen = sum(read for read, _, _ in sample.read)
        factor = stored / seen if seen else 1.0
        if key[0] in WHOLE:  # each file is a document: counted, not estimated
            rejected = len(sample.rejected) / max(1, len(sample.read))
            readable = len(files) * (1 - rejected)
            documents = Range(readable, readable)
        else:
            documents = estimate(sample, stored, 1)
        counts, text = counts.plus(documents), text.plus(estimate(sample, stored, 2))
        slower, faster = sample.reading + sample.sketching, max(sample.reading, sample.sketching)
        once = once.plus(Range(factor * faster, factor * slower))
        sketch_bytes += sample.sketch_bytes
        shingles += sample.shingles
        sampled_documents += sum(number for _, number, _ in sample.read)
    stored = sum(size for files in strata.values() for _, size in files)
    each = sketch_bytes / max(1, sampled_documents)
    sorting = SORTING_SECONDS * costs.entries * counts[1]
    seconds = Range(once[0] * (1 + costs.again.low), once[1] * (1 + costs.again.high) + sorting)
    held = [costs.memory(number, stored, each) for number in counts]
    disk = [costs.disk(number, stored, each) for number in counts]
    mean = shingles / max(1, sampled_documents)
    sets = [(Range(0, 0), Range(0, 0)) if costs.sets is None else costs.sets(number * mean, number) for number in counts]
    return CostEstimate(
        documents=counts, text_bytes=text, seconds=seconds,
        memory=Range(process + 0.8 * held[0] + sets[0][0].low, process + 1.25 * held[1] + CANDIDATES + sets[1][0].high),
        disk=Range(disk[0].low, disk[1].high),
        temporary=Range(sets[0][1].low, sets[1][1].high),
        stored_bytes=stored, files=sum(map(len, strata.values())),
        sampled_bytes=sum(read for sample in samples.values() for read, _, _ in sample.read),
        sampled_files=sum(len(sample.read) for sample in samples.values()), threads=threads,
        rejected=[item for sample in samples.values() for item in sample.rejected],
    )


def _measure_process() -> int:
    """Measure the peak memory of this process: mostly its modules, before anything is read."""
    with contextlib.suppress(OSError), Path("/proc/self/status").open(encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("VmHWM:"):  # getrusage would include the peak of the parent process
                return 1024 * int(line.split()[1])
    return USUAL_PROCESS


# ---- the report


def _tell(estimate: CostEstimate, output: str, on_error: str) -> Iterator[str | TextBlock]:
    """Describe for people the costs of the run, and the documents that could not be read."""
    rejected = estimate.rejected
    whole = estimate.sampled_bytes >= estimate.stored_bytes
    share = "all of it" if whole else f"{estimate.sampled_bytes / max(1, estimate.stored_bytes):.0%} of it"
    rows = [
        ("input", f"{human_bytes(estimate.stored_bytes)} in {counted(estimate.files, 'file')}; {share} was read"),
        ("documents", format_numbers(*estimate.documents)),
        ("text", format_sizes(*estimate.text_bytes)),
        ("time", f"{format_times(*estimate.seconds)} with {counted(estimate.threads, 'thread')}"),
        ("memory", format_sizes(*estimate.memory)),
    ]
    if output != STDOUT:
        rows.append(("disk", f"{format_sizes(*estimate.disk)} for {printable(output)}"))
    if estimate.temporary.high:
        rows.append(("temporary", f"{format_sizes(*estimate.temporary)} in {printable(tempfile.gettempdir())}"))
    yield "A dry run: nothing was written"
    yield Properties(rows)
    for item in rejected[:3]:
        yield f"  note: cannot be read: {printable(str(Place(item.path, item.number)))}: {printable(item.reason)}"
    if len(rejected) > 3:
        yield f"  note: nor can {counted(len(rejected) - 3, 'other document')} of the sample"
    if rejected and on_error == "stop":
        yield "  note: this would end the run; --on-error skip lists such documents and goes on"
    how = "Documents and text are counted" if whole else "Documents and text are right within the range if the rest is alike"
    yield f"{how}; time and memory, of this machine, by rule of thumb."
    if estimate.seconds.high > 2 * estimate.seconds.low:
        yield "How many near-duplicates there are, which are read once more, decides where in the range the time lies."
