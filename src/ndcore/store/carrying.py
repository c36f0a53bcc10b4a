"""Carry back the verdicts of a run over many stores: read them from tables, and match them with the pages of one store.

A verdict is about the text that was exported. So its row has the digest of this text, and is accepted only if the words of
the page have not changed since: the digest belongs to the last version, or to an earlier one with the same words.
"""

from __future__ import annotations

import math
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from ndcore.checks import imported
from ndcore.progress import Progress
from ndcore.store.keys import encode_key
from ndcore.store.log import Log
from ndcore.store.overall import OVERALL, OverallVerdict, checked_name
from ndcore.store.pages import Page
from ndcore.store.records import OverallRecord, Sighting, encode
from ndcore.store.state import State
from ndcore.store.verdict import Key

COLUMNS = ("key", "digest", "representative", "class", "resemblance")
DIGEST = 16  # bytes
ROWS = 256  # rows that are matched together
PARTITION = "store="  # prefix of the name that Spark gives to a directory with the verdicts of one store

Said = list[tuple[int, OverallVerdict]]  # numbers of documents, and the verdicts on them


@dataclass(frozen=True, slots=True)
class CarriedCounts:
    """Counts of the rows of verdicts that were carried back to a store, and of the others by reason.

    Attributes
    ----------
    carried : int
        Pages that now have the verdict.
    repeated : int
        Pages that already had the verdict of this run.
    changed : int
        Pages whose words changed since the export. They keep an earlier verdict on their current words.
    unknown : int
        Rows of pages that are not in the store.
    older : int
        Pages that have the verdict of a run with a later date.
    undecided : int
        Rows without a verdict: these pages were not in the run.
    elsewhere : int
        Rows of other stores.
    """

    carried: int = 0
    repeated: int = 0
    changed: int = 0
    unknown: int = 0
    older: int = 0
    undecided: int = 0
    elsewhere: int = 0


class WrongVerdicts(ValueError):
    """A table does not hold verdicts of a run. place: the file, or "the table"; reason: the fault, and what to do."""

    def __init__(self, place: str, reason: str) -> None:
        self.place, self.reason = place, reason
        super().__init__(f"{place} {reason}")


class VerdictRow(NamedTuple):
    """A row of a table: a key, the digest of the text that was exported, and the verdict."""

    key: Key
    digest: bytes
    said: OverallVerdict


class VerdictRun(NamedTuple):
    """The run whose verdicts are carried back: its name, its date, and its name for the store, if it names stores."""

    run: str
    date: int
    name: str | None

    @classmethod
    def of(cls, run: str, date: int, name: str | None) -> VerdictRun:
        """Make a run from its names. Raises TypeError or ValueError if one is not accepted."""
        return cls(checked_name("run", run), date, None if name is None else checked_name("name", name))


# ---- reading tables


def read_verdicts(
    source: Any, run: VerdictRun, counts: Counter[str], report: Progress
) -> Iterator[list[VerdictRow]]:
    """Yield the rows of a store, at most `ROWS` at a time, and count the rows of other stores and without a verdict.

    source: a Parquet file, a directory of such files, a sequence of both, or an object with `__arrow_c_stream__`. Memory:
    one batch of rows, and what pyarrow decodes of a row group.
    """
    pa = imported("pyarrow", "Store.carry")
    if hasattr(source, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(source)
        table = _VerdictTable(reader.schema, "the table", None, run)
        pieces = (batch.slice(at, ROWS) for batch in reader for at in range(0, batch.num_rows, ROWS))
        yield from table.read(pieces, counts)
        return
    parquet, files = imported("pyarrow.parquet", "Store.carry"), _list_files(source)
    for done, path in enumerate(files, 1):
        try:
            with parquet.ParquetFile(path, buffer_size=1 << 20) as file:  # a buffer makes it read row groups in pieces
                table = _VerdictTable(file.schema_arrow, os.fspath(path), _partition_of(path), run)
                yield from table.read(file.iter_batches(ROWS, columns=table.columns), counts)
        except (pa.ArrowInvalid, OSError) as error:
            if getattr(error, "errno", None) is not None:  # an error of the system, not of the content
                raise
            raise WrongVerdicts(os.fspath(path), f"cannot be read as Parquet: {error}") from error
        report("carrying verdicts", done, len(files))


def _list_files(source: Any) -> list[Path]:
    """List the Parquet files of paths by name, without the files of unfinished jobs."""
    given = [source] if isinstance(source, (str, os.PathLike)) else source
    if not isinstance(given, Sequence) or not given or not all(isinstance(path, (str, os.PathLike)) for path in given):
        raise TypeError(f"verdicts are {source!r:.80}; give paths of Parquet files or directories, or a table of Arrow")
    files = []
    for place in map(Path, given):
        if not stat.S_ISDIR(place.stat().st_mode):
            files.append(place)
            continue
        inside = sorted(path for path in place.rglob("*.parquet")
                        if not any(part[0] in "._" for part in path.relative_to(place).parts))
        if not inside:
            raise FileNotFoundError(2, "the directory has no Parquet files", os.fspath(place))
        files += inside
    return files


def _partition_of(path: Path) -> str | None:
    """Parse the store from the name of a file's directory, as written by ``partitionBy("store")``; None without one."""
    named = [part for part in path.parts[:-1] if part.startswith(PARTITION)]
    return unquote(named[-1].removeprefix(PARTITION)) if named else None


class _VerdictTable:
    """The columns of a table of verdicts, checked, and its rows.

    partition: the store of all rows, if the table has no column for it.
    """

    def __init__(self, schema: Any, what: str, partition: str | None, run: VerdictRun) -> None:
        names, self._what, self._run = schema.names, what, run
        if lacking := [name for name in COLUMNS if name not in names]:
            raise WrongVerdicts(what, f"has no column {lacking[0]!r}, but {', '.join(map(repr, names))}: join the verdicts "
                                "of the run with the export, change.annotate(pages.select('store', 'key', 'digest'))")
        if twice := [name for name in (*COLUMNS, "store") if names.count(name) > 1]:
            raise WrongVerdicts(what, f"has {names.count(twice[0])} columns {twice[0]!r}; select one of them")
        kind = schema.field("representative").type
        fields = [kind.field(i).name for i in range(kind.num_fields)]
        if "key" not in fields:
            raise WrongVerdicts(what, f"has a column 'representative' that is {kind}; it is a struct with a field 'key'")
        self._stored, self._names_stores = "store" in names, "store" in fields
        self._partition = None if self._stored else partition
        if run.name is None and (self._stored or self._names_stores or partition is not None):
            raise WrongVerdicts(what, "names stores; give the name that this store had in its export (name=…, --name)")
        self.columns = [*COLUMNS, *(["store"] if self._stored else [])]

    def read(self, batches: Iterable[Any], counts: Counter[str]) -> Iterator[list[VerdictRow]]:
        """Yield the rows of the store; count the others."""
        for batch in batches:
            if self._partition not in (None, self._run.name):
                counts["elsewhere"] += batch.num_rows
                continue
            try:
                listed = batch.select(self.columns).to_pylist()
            except UnicodeDecodeError as error:
                raise WrongVerdicts(self._what, f"has a string that is not UTF-8: {error.object[:80]!r}") from error
            ours = [row for row in listed if not self._stored or row["store"] == self._run.name]
            decided = [row for row in ours if row["class"] is not None]
            counts["elsewhere"] += len(listed) - len(ours)
            counts["undecided"] += len(ours) - len(decided)
            yield [self._check(row) for row in decided]

    def _check(self, row: dict[str, Any]) -> VerdictRow:
        """Check and return the values of a row. Raises ValueError if no run of ndcore writes such a row."""
        key, digest, verdict, score, of = (row[name] for name in ("key", "digest", "class", "resemblance", "representative"))
        store = of.get("store") if isinstance(of, dict) else None
        wrong: str | None
        if verdict == "version":
            wrong = ("the class is version, which compares no texts: add the exports of a later run with "
                     "repeated='replace', or to a new collection")
        elif verdict not in OVERALL:
            wrong = f"the class is {verdict!r:.80}; accepted are {', '.join(OVERALL)}"
        elif not isinstance(digest, bytes) or len(digest) != DIGEST:
            wrong = f"the digest is {digest!r:.80}; it has the {DIGEST} bytes of the export"
        elif not isinstance(of, dict) or of["key"] is None or (self._names_stores and not isinstance(store, str)):
            wrong = f"the representative is {of!r:.200}; it has a key, and a store where others have one"
        elif score is not None and not (isinstance(score, float) and (math.isnan(score) or 0 <= score <= 1)):
            wrong = (f"the resemblance is {score!r:.80} of type {type(score).__name__}; it is a float between 0 and 1, "
                     "or null")
        else:
            wrong = _say_wrong_names(key, of["key"], store)
        if wrong is not None:
            raise WrongVerdicts(self._what, f"has a wrong row of the page {key!r:.200}: {wrong}")
        name, run = self._run.name, self._run
        if verdict == "kept":
            return VerdictRow(key, digest, OverallVerdict(verdict, None, None, None, run.run, run.date, True))
        return VerdictRow(key, digest, OverallVerdict(
            verdict, of["key"], store, None if score is None or math.isnan(score) else score, run.run, run.date,
            here=store is None or store == name))


def _say_wrong_names(key: Key, of: Key, store: str | None) -> str | None:
    """Say why the keys of a row, or the store of its representative, are not valid; None if they are."""
    try:
        for each in (key, of):
            encode_key(each)
        if store is not None:
            checked_name("the store of a representative", store)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


# ---- matching


def match_pages(state: State, rows: Iterable[VerdictRow], counts: Counter[str]) -> Said:
    """Match rows with documents; return the verdicts to write, and count all rows. O(versions with the same words) each."""
    said: dict[int, OverallVerdict] = {}
    for row in rows:
        try:
            _, name, hashed = state.preparer.name_key(row.key)
        except (TypeError, ValueError):  # a key that no page of the store can have, such as one that is not a URL
            counts["unknown"] += 1
            continue
        number = state.find(name, hashed)
        if number is None:
            counts["unknown"] += 1
        elif not _had_text(state, number, row.digest):
            counts["changed"] += 1
        else:
            outcome = _outcome(row.said, said.get(number) or state.overall(number))
            counts[outcome] += 1
            if outcome == "carried":
                said[number] = row.said
    return list(said.items())


def match_brought(state: State, pages: Iterable[Page]) -> Said:
    """Return the verdicts to write that pages of another store bring along, once these pages are decided."""
    said: Said = []
    for page in pages:
        number = None if page.overall is None else state.find(page.name, page.hashed)
        if number is not None and page.overall is not None and _outcome(page.overall, state.overall(number)) == "carried":
            said.append((number, page.overall))
    return said


def write_said(log: Log, said: Said) -> list[tuple[OverallRecord, int]]:
    """Append the verdicts of runs over many stores to a log; return the records and their positions."""
    records = [OverallRecord(number, verdict) for number, verdict in said]
    return list(zip(records, log.append([encode(record) for record in records]), strict=True))


def _had_text(state: State, number: int, digest: bytes) -> bool:
    """Tell whether a digest belongs to the last version of a document, or to an earlier one with the same words."""
    record = state.last(number)
    while state.whole(record) != digest:
        if not isinstance(record, Sighting):
            return False
        record = state.before(record)
    return True


def _outcome(said: OverallVerdict, before: OverallVerdict | None) -> str:
    """Decide between a new verdict and the page's present one: a later run replaces an earlier one."""
    if said.repeats(before):
        return "repeated"
    return "older" if before is not None and said.date < before.date else "carried"
