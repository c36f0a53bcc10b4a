"""``--dry-run`` of a job on Spark: estimate its costs from a sample of the inputs and the model of docs/planning.md.

Tasks read the sample in the same way as the whole input. Files of one kind and compression form a stratum, as in
`ndcore.cli.dry_run`: ranges of JSONL, or other files from their beginning. For Parquet, the numbers of rows come from the
metadata of some files. Nothing is written.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ndcore.dedup.documents import sketch_corpus
from ndcore.files.formats import WHOLE
from ndcore.filters.design import FilterDesign
from ndcore.filters.prefix import PrefixFilter
from ndcore.human import aligned, counted, format_numbers, format_sizes, format_times, human_bytes, printable
from ndcore.phases.columns import Batches, pa, read_column
from ndcore.progress import resolve
from ndcore.sketch.minhash import MinHasher
from ndcore.spark.candidates import MOST_FEATURES
from ndcore.spark.dedup_job import JobFiles
from ndcore.spark.documents import FILE_KEY, type_of
from ndcore.spark.file_ranges import LONGEST, FileRange, list_pieces, read_size, share_among_tasks
from ndcore.spark.functions import F
from ndcore.spark.inputs import find_sources, is_parquet, name_fields, read_parquet
from ndcore.spark.near_duplicates import plan_rules, read_sides
from ndcore.spark.options import FORMATS, JobOptions
from ndcore.spark.read_files import read_documents
from ndcore.spark.work import Work, check_executors
from ndcore.stats.ratio import Range, estimate_total
from ndcore.text.corpus import TextCorpus

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# docs/planning.md, "A model": Parquet, the default filter, AMD EPYC (Zen 4), 2026-11-23. Times are of one core.
START_SECONDS = 15.0  # overhead of a command: its session, Java's first run of each step; ten documents, 2026-11-26
FIXED_SECONDS = 8.0  # overhead of a job in a session that has run one before
DOCUMENT_SECONDS = 107e-6
TEXT_SECONDS = 41e-9  # a byte
LONE_SECONDS, LONE_SHUFFLED = 27e-6, 364  # of a document whose features no other has, within `find_shared` (2026-11-29)
SKETCHING_SECONDS = 7.7e-9  # the part for sketching, with 84 minima (the same kind of machine, 2026-11-26)
SHUFFLED, LARGEST = 628, 271  # bytes a document, without shingle sets: in all, and in the largest shuffle, of features
KEPT, COPIES = 408, 2  # bytes a document in `directory`, without shingle sets; and how often the features are among them
GROUPS = 19  # features a document
FEATURE, FILTERED = 8, 4.5  # bytes of a feature, and of it in the filters of tasks
SHINGLE = 8  # bytes of a shingle of a candidate, kept once and shuffled twice
RESERVE = 2  # for spills, garbage collection, stragglers and the store
MEASURED = 10_000_000  # documents of the largest run
MASKS = 0.17  # bytes a row that the driver holds for `kept`, of Parquet
CORE_MEMORY = "4 GB for each core, of which Java has half"
PARTITION = 128 << 20  # bytes of a partition of a shuffle, at most

PARTITIONS = "spark.sql.shuffle.partitions"
RESULTS = "spark.driver.maxResultSize"
SAMPLING_SECONDS = 2.0  # approximate time of each core to read and sketch the sample
MAX_PIECES = 200  # most pieces of a stratum, and most files of Parquet
MAX_COPIES = 4  # most URLs of a stratum that are copied as a whole, as in the job
MEASURES = ("piece bigint, seen bigint, documents bigint, text bigint, shingles double, kept bigint, written bigint, "
            "reading double, sketching double, ended boolean")
EXTRA = {
    "complete": "--filter complete, which reads the texts once more and looks documents up by more features",
    "contained": "--drop contained, which reads the texts twice more and looks documents up by more features",
    "common": "--drop-common, which reads the texts up to three times more",
    "lost": "--lost, which reads sets of shingles again",
    "reassign": "--reassign, which compares dropped documents with more kept ones",
}

NOTHING = Range(0, 0)


@dataclass
class SampledPiece:
    """Measures of a piece of the input, or of all of it by the sample: columns of MEASURES.

    seen: stored bytes that were read. kept: bytes of its documents as Parquet. written: bytes of them in ``kept/``.
    """

    seen: int = 0
    documents: int = 0
    text: int = 0
    shingles: float = 0.0
    kept: int = 0
    written: int = 0
    reading: float = 0.0
    sketching: float = 0.0
    ended: bool = False


@dataclass
class InputEstimate:
    """Estimates for one input: its size, and the cost of all of it.

    sampled: bytes that were read. kept, written: as in `SampledPiece`. reading, sketching: seconds of one core. longest: the
    largest file that is one task, and is larger than Spark cuts Parquet: (path, bytes). rows: of Parquet; None: other files.
    """

    files: int = 0
    stored: int = 0
    sampled: int = 0
    tasks: int = 0
    documents: Range = NOTHING
    text: Range = NOTHING
    shingles: float = 0.0
    kept: float = 0.0
    written: float = 0.0
    reading: float = 0.0
    sketching: float = 0.0
    longest: tuple[str, int] | None = None
    complete: bool = True
    rows: Any = None


class JobCosts(NamedTuple):
    """The costs of a job: seconds of cores, and bytes shuffled, kept until the end, and in the largest shuffle."""

    core: Range
    shuffled: Range
    kept: Range
    largest: float


def forecast(spark: SparkSession, options: JobOptions) -> list[str]:
    """Estimate the costs of a job from a sample; return the lines to print.

    Raises
    ------
    ValueError, TypeError, RuntimeError, DocumentError
        As for the job: an option, a column, a record of the sample, an executor or the output is not accepted.
    """
    output = options.output.rstrip("/")
    JobFiles(spark).choose_folder(output, options.directory)
    _, sketcher, design = plan_rules(options.by, options.against or None, **options.rules)
    cores = check_executors(spark)
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    given = _measure_input(spark, options, options.input, cores, sketcher, first=True)
    sides = [given]
    if options.against:
        sides.append(_measure_input(spark, options, options.against, cores, sketcher, first=False))
        if given.rows is not None and sides[1].rows is not None:  # keys are of one type
            read_sides(given.rows, options.text_field, options.id_field, sides[1].rows, "first", None, None)
    costs = _estimate_costs(sides, design)
    return list(_tell(spark, options, sides, design, costs, cores))


# ---- the sample


def _measure_input(
    spark: SparkSession, options: JobOptions, paths: list[str], cores: int, sketcher: MinHasher, *, first: bool
) -> InputEstimate:
    """Read a sample of an input, and scale it up; first: its documents are those that are kept or dropped."""
    by, one_per, keep = (options.by, options.one_per, options.keep) if first else (None, None, ("first", ""))
    order = keep[0] if keep[1] else None
    if is_parquet(paths, FORMATS[options.format]):
        rows = read_parquet(spark, paths, by=by, one_per=one_per)
        if order is not None:
            type_of(rows, order, f"--keep {order}")
        read_sides(rows, options.text_field, options.id_field, None, "first", by, one_per)
        return _measure_parquet(rows, options.text_field, cores, sketcher)
    pieces = list_pieces(spark, find_sources(paths))
    reading = name_fields(options.text_field, options.id_field, options.html, by, one_per, order,
                          "title" in options.must_agree)
    tasks_of_job = len(share_among_tasks(spark, pieces, cores))
    side = InputEstimate(files=len({piece.source.path for piece in pieces}), tasks=tasks_of_job)
    strata: dict[tuple[str, str], list[FileRange]] = {}
    for piece in pieces:
        strata.setdefault((piece.source.kind, piece.source.compression), []).append(piece)
    chosen = [(piece, i == 0) for of_stratum in strata.values() for i, piece in enumerate(_choose(of_stratum))]
    tasks = [chosen[i::cores] for i in range(min(cores, len(chosen)))]
    at = spark.range(0, len(tasks), 1, len(tasks)).toDF("at")
    rows = Work.apply(at, measure_files, MEASURES, tasks=tasks, seconds=SAMPLING_SECONDS, reading=reading, sketcher=sketcher)
    measured: dict[tuple[str, str], list[SampledPiece]] = {}
    for row in rows.collect():
        number, *columns = row
        source = chosen[number][0].source
        measured.setdefault((source.kind, source.compression), []).append(SampledPiece(*columns))
    for kind, of_stratum in strata.items():
        _add_stratum(side, of_stratum, measured[kind])
    whole = [(piece.source.path, piece.size) for piece in pieces if piece.lines is None]
    path, size = max(whole, key=lambda file: file[1], default=("", 0))
    side.longest = (path, size) if size > read_size(spark, LONGEST) else None
    return side


def _choose(pieces: list[FileRange]) -> list[FileRange]:
    """Choose pieces to read at random; fewer of those that a task copies as a whole first."""
    copied = pieces[0].source.is_remote and any(piece.lines is None for piece in pieces)
    return random.Random(1).sample(pieces, min(MAX_COPIES if copied else MAX_PIECES, len(pieces)))


def _add_stratum(side: InputEstimate, pieces: list[FileRange], read: list[SampledPiece]) -> None:
    """Scale up the sample of a stratum, by bytes, or by files where the sizes are unknown."""
    stored = sum(piece.size for piece in pieces)
    side.stored += stored
    side.sampled += sum(measure.seen for measure in read)
    complete = len(read) == len(pieces) and all(measure.ended for measure in read)
    sizes = [float(measure.seen) for measure in read]
    total = float(stored)
    if any(piece.state.size is None for piece in pieces):
        sizes, total = [1.0] * len(read), float(len(pieces))

    def scale(name: str) -> Range:
        amounts = [float(getattr(measure, name)) for measure in read]
        return estimate_total(list(zip(sizes, amounts, strict=True)), total, complete)

    counted_files = pieces[0].source.kind in WHOLE
    side.documents = side.documents.plus(Range(len(pieces), len(pieces)) if counted_files else scale("documents"))
    side.text = side.text.plus(scale("text"))
    for name in ("shingles", "kept", "written", "reading", "sketching"):
        setattr(side, name, getattr(side, name) + sum(scale(name)) / 2)
    side.complete &= complete


def _measure_parquet(rows: DataFrame, text: str, cores: int, sketcher: MinHasher) -> InputEstimate:
    """Count the rows of some Parquet files, and read the beginnings of their tasks' texts."""
    files = [re.sub("^file:///", "file:/", file) for file in rows.inputFiles()]  # as _metadata writes it
    chosen = files if len(files) <= MAX_PIECES else random.Random(1).sample(files, MAX_PIECES)
    some = rows if len(chosen) == len(files) else rows.where(F.col(FILE_KEY["file"]).isin(chosen))
    counts = [(float(size), float(number)) for _, size, number in some.groupBy(
        F.col(FILE_KEY["file"]).alias("file"), F.col("_metadata.file_size").alias("size")).count().collect()]
    execution = rows._jdf.queryExecution()
    stored = int(str(execution.analyzed().stats().sizeInBytes()))  # of the files, which Spark has listed
    seconds = SAMPLING_SECONDS * cores / max(1, some._jdf.queryExecution().toRdd().getNumPartitions())
    texts = some.select(F.col(f"`{text}`").alias("text"))
    taken = Work.apply(texts, measure_rows, MEASURES, seconds=seconds, sketcher=sketcher)
    read = [SampledPiece(*row[1:]) for row in taken.collect()]
    documents = estimate_total(counts, stored, some is rows)
    sampled = sum(measure.documents for measure in read)
    complete = some is rows and sampled == documents.high

    def scale(name: str) -> Range:
        parts = [(float(measure.documents), float(getattr(measure, name))) for measure in read if measure.documents]
        low, high = (estimate_total(parts, number, complete) for number in documents)
        return Range(low.low, high.high)

    share = sampled / max(1.0, sum(documents) / 2)
    return InputEstimate(
        files=len(files), stored=stored, sampled=round(min(1.0, share) * stored), tasks=execution.toRdd().getNumPartitions(),
        documents=documents, text=scale("text"), shingles=sum(scale("shingles")) / 2, written=stored,
        sketching=sum(scale("sketching")) / 2, complete=complete, rows=rows)


def measure_files(
    batches: Batches, *, tasks: list[list[tuple[FileRange, bool]]], seconds: float, reading: dict[str, Any],
    sketcher: MinHasher
) -> Iterator[Any]:
    """Read the pieces of the tasks at the positions in the column ``at``, each from its beginning; yield rows of MEASURES.

    A piece gets its share of `seconds`, and at least one batch of it is read. Pieces for which no time is left are skipped,
    unless they are marked as the first of their stratum.

    Raises
    ------
    DocumentError
        A document cannot be read.
    """
    for at in (at for batch in batches for at in batch.column("at").to_pylist()):
        begun = time.perf_counter()
        for i, (piece, needed) in enumerate(tasks[at]):
            if not needed and time.perf_counter() - begun > seconds:
                continue
            number = i * len(tasks) + at
            copied = piece.lines is None and piece.source.is_remote
            piece.source.seen = 0
            documents = read_documents(iter([pa.record_batch({"at": [0]})]), tasks=[[piece]], **reading)
            measure = _measure(documents, sketcher, float("inf") if copied else seconds / len(tasks[at]))
            lines = piece.source.kind == "jsonl" and not piece.source.compression
            seen = measure.written if lines else piece.source.seen
            if measure.ended and (piece.lines is None or seen < piece.size):
                seen = piece.size
            yield _as_row(number, replace(measure, seen=seen))


def measure_rows(batches: Batches, *, seconds: float, sketcher: MinHasher) -> Iterator[Any]:
    """Read the first texts of a task, at least a batch; yield a row of MEASURES."""
    yield _as_row(0, _measure(batches, sketcher, seconds))


def _measure(batches: Iterable[Any], sketcher: MinHasher, seconds: float) -> SampledPiece:
    """Read batches with the column ``text`` for some seconds, sketch and count them; shingles are estimated."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    measure, begun = SampledPiece(), time.perf_counter()
    before = begun
    for batch in batches:
        now = time.perf_counter()
        measure.reading += now - before
        measure.documents += batch.num_rows
        measure.text += pc.sum(pc.binary_length(batch.column("text"))).as_py() or 0
        cpu = time.process_time()
        sketches, _ = sketch_corpus(TextCorpus(read_column(batch, "text")), sketcher, threads=1, report=resolve(None))
        measure.sketching += time.process_time() - cpu
        measure.shingles += float(np.nansum(sketches.sizes))
        if "line" in batch.schema.names:
            sink = pa.BufferOutputStream()
            pq.write_table(pa.table(batch), sink, compression="snappy")
            measure.kept += sink.tell()
            lines = pc.sum(pc.binary_length(batch.column("line"))).as_py()
            measure.written += sink.tell() if lines is None else lines + batch.num_rows
        before = time.perf_counter()
        if before - begun > seconds:
            return measure
    measure.ended = True
    return measure


def _as_row(number: int, measure: SampledPiece) -> Any:
    """Make a batch of one row of MEASURES."""
    names = [part.split()[0] for part in MEASURES.split(", ")]
    return pa.record_batch([[value] for value in (number, *vars(measure).values())], names)


# ---- the model


def _estimate_costs(sides: list[InputEstimate], design: FilterDesign | PrefixFilter) -> JobCosts:
    """Apply the model to the estimates: from no near-duplicates to near-duplicates alone, whose shingle sets move."""
    groups = design.groups if isinstance(design, FilterDesign) else GROUPS
    text = sum(sum(side.text) for side in sides) / 2
    documents = _total(side.documents for side in sides)
    sketching = sum(side.sketching for side in sides) - SKETCHING_SECONDS * text
    more = groups - GROUPS
    shuffled = SHUFFLED + (LARGEST / GROUPS + FEATURE) * more  # with keys and digests, and as entries of runs
    seconds, least = DOCUMENT_SECONDS, shuffled
    if isinstance(design, FilterDesign) and groups * documents.high <= MOST_FEATURES:
        seconds, least = LONE_SECONDS, LONE_SHUFFLED + (FEATURE + FILTERED) * more
        shuffled += FILTERED * groups
    core = [FIXED_SECONDS + each * number + TEXT_SECONDS * text + sketching + sum(side.reading for side in sides)
            for each, number in zip((seconds, DOCUMENT_SECONDS), documents, strict=True)]
    kept = KEPT + COPIES * FEATURE * more
    sets, copied = (sum(getattr(side, name) for side in sides) for name in ("shingles", "kept"))
    return JobCosts(
        Range(core[0], RESERVE * core[1]),
        Range(least * documents.low, shuffled * documents.high + 2 * SHINGLE * sets),
        Range(kept * documents.low + copied, kept * documents.high + copied + SHINGLE * sets),
        LARGEST * groups / GROUPS * documents.high,
    )


def _total(estimates: Iterable[Range]) -> Range:
    """Add estimates of several inputs."""
    return reduce(Range.plus, estimates, NOTHING)


# ---- the report


def _tell(
    spark: SparkSession, options: JobOptions, sides: list[InputEstimate], design: FilterDesign | PrefixFilter,
    costs: JobCosts, cores: int
) -> Iterator[str]:
    """Describe the costs of the job in lines for people."""
    stored, sampled = sum(side.stored for side in sides), sum(side.sampled for side in sides)
    documents, text = _total(side.documents for side in sides), _total(side.text for side in sides)
    whole = all(side.complete for side in sides)
    share = "all of it" if whole else f"{min(0.999, sampled / max(1, stored)):.1%} of it"
    files = counted(sum(side.files for side in sides), "file")
    partitions = int(spark.conf.get(PARTITIONS, "200") or 200)
    start = START_SECONDS + FIXED_SECONDS
    times = [start + max(0.0, seconds - FIXED_SECONDS) / cores for seconds in costs.core]
    place = options.directory or f"{options.output.rstrip('/')} until the end"
    yield "A dry run: nothing was written"
    yield from aligned([
        ("input", f"{human_bytes(stored)} in {files}; {share} was read"),
        ("documents", format_numbers(*documents) + (", --against included" if options.against else "")),
        ("text", f"{format_sizes(*text)}, {human_bytes(sum(text) / max(1.0, sum(documents)))} a document"),
        ("tasks", f"{sum(side.tasks for side in sides):,} that read; then {partitions:,} a step ({PARTITIONS})"),
        ("core time", format_times(*costs.core)),
        ("time", f"{format_times(*times)} with {counted(cores, 'core')}; n cores take 1/n of the core time, and some "
                 f"{start:.0f} s"),
        ("shuffled", f"{format_sizes(*costs.shuffled)}, and as much disk for it"),
        ("directory", f"{format_sizes(*costs.kept)} in {printable(place)}"),
        ("output", f"{format_sizes(0, max(1.0, sides[0].written))} in {printable(options.output)}, besides verdicts"),
        ("memory", CORE_MEMORY),
    ])
    for note in _list_notes(spark, options, sides, design, costs, partitions, documents):
        yield f"  note: {note}"
    how = "Documents and text are counted" if whole else "Documents and text are right within the range if the rest is alike"
    yield (f"{how}. Times, shuffle and disk are by the model of docs/planning.md, measured with the default filter; the "
           "longest time is doubled as a reserve.")
    yield "How many documents have near-duplicates decides where in the ranges a job lies; a sample cannot tell."


def _list_notes(
    spark: SparkSession, options: JobOptions, sides: list[InputEstimate], design: FilterDesign | PrefixFilter,
    costs: JobCosts, partitions: int, documents: Range
) -> Iterator[str]:
    """Yield advice on settings, and the limits of the figures."""
    for side in sides:
        if side.longest is not None:
            path, size = side.longest
            alone = size / max(1, side.stored) * (side.reading + TEXT_SECONDS * side.text.high)
            yield (f"{printable(path)} of {human_bytes(size)} is one task of {format_times(alone, alone)}; cut it, or "
                   "convert it to Parquet or JSONL")
    largest = costs.largest / partitions
    if largest > PARTITION:
        yield (f"a partition of the largest shuffle would have {human_bytes(largest)}; set "
               f"{PARTITIONS}={-(-round(costs.largest) // PARTITION)} or more")
    masks = MASKS * documents.high if sides[0].rows is not None else 0.0
    if masks > read_size(spark, RESULTS, "1g") > 0:  # 0: there is no limit
        yield f"the driver and each executor hold {human_bytes(masks)} to leave rows out: raise {RESULTS} and their memory"
    if isinstance(design, FilterDesign) and documents.high > MEASURED:
        of_all = [FilterDesign.of(design.groups, design.group_size, design.need, threshold=design.threshold,
                                  documents=round(documents.high), background=background).collisions_per_document
                  for background in (0.001, 0.01)]
        yield (f"the filter is designed for {design.documents:,} documents: each would share a feature with "
               f"{of_all[0]:,.2g} unrelated ones if these are 0.001 alike, and with {of_all[1]:,.2g} if they are 0.01 "
               "alike. Each is a row that is in none of these figures; see docs/planning.md, The filter")
    beyond = [EXTRA[name] for name, given in (
        ("contained", options.drop == "contained"),
        ("complete", options.drop != "contained" and isinstance(design, PrefixFilter)),
        ("common", options.drop_common is not None), ("lost", options.lost), ("reassign", options.reassign)) if given]
    for what in beyond:
        yield f"not in these figures: {what}"
