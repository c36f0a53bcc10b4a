"""Open the state of a store: from its last checkpoint and the tail of the log, or from the whole log."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ndcore.checks import is_int
from ndcore.parallel import map_pieces
from ndcore.progress import Progress
from ndcore.storage.container import CorruptFile, peek, read, write
from ndcore.store.columns import Bitmap, DocumentColumns
from ndcore.store.index import GrowingIndex
from ndcore.store.keys import decode_key
from ndcore.store.levels import Bits
from ndcore.store.log import Log
from ndcore.store.pages import Preparer, Sketched
from ndcore.store.receipts import Receipt
from ndcore.store.records import LEADER, VALID, VARIANT, Dictionary, Document, OverallRecord, Removal, Sighting, decode
from ndcore.store.settings import StoreSettings
from ndcore.store.state import Added, Indexes, State

KIND, REVISION = "store checkpoint", 1  # since revision 1, some leaders and all variants are found by their tokens
NAME = "checkpoint.ndc"
RUN = 256  # documents that are read again together
INDEXES = ("features", "digests", "keys")


class OpeningRun(NamedTuple):
    """Records that are applied together, with their positions: one record, or consecutive documents that change no others.

    sketched: the documents' values for the indexes; None: they are applied one by one.
    """

    records: list[tuple[int, Document | Sighting | Removal | OverallRecord]]
    sketched: Sketched | None = None

    def apply(self, state: State) -> None:
        """Apply the records to the state."""
        if self.sketched is None or len(self.records) == 1:
            for position, record in self.records:
                state.apply(record, position)
            return
        made = self.sketched
        documents = [record for _, record in self.records if isinstance(record, Document)]
        for position, record in self.records:
            if isinstance(record, Document) and record.receipt is not None:
                state.index_receipts([(record.number, record.receipt)], position)
        state.add_many(Added(
            documents[0].number, np.array([record.label for record in documents], np.int64),
            np.array([record.flags for record in documents], np.uint8),
            np.array([record.version.date for record in documents], np.int64),
            np.array([state.preparer.hashed(record.name) for record in documents], np.uint64), made.features, made.scopes,
            state.leads(made.row_hashes, made.scopes, made.valid, documents.__getitem__), documents.__getitem__,
        ), [position for position, _ in self.records])


class Checkpoints:
    """The derived files of a store, in one directory, and the part of the log that they cover.

    A checkpoint names the blocks of the columns, and the position of the log up to which they and the indexes are
    complete. Opening reads the log from there on.
    """

    def __init__(self, place: Path, settings: StoreSettings, preparer: Preparer, log: Log, *, read_only: bool) -> None:
        self.place, self.settings, self.preparer, self.log = place, settings, preparer, log
        self.read_only = read_only
        self.generation, self.names = 0, list[str]()
        self.covered = 0  # position in the log
        self.problems: list[str] = []
        self.lost = 0  # number of damaged records among those read
        self.refused: list[str] = []  # problems of versions whose records are intact but could not be applied to the state
        self.read_again = False  # whether records beyond the checkpoint on disk were read
        self.dropped = False
        self._opened_as: tuple[int, int] | None = None

    def load(self, report: Progress) -> State:
        """Load the state. Damaged or missing files are rebuilt from the log."""
        while True:
            self._opened_as = self._identify_checkpoint()
            try:
                state = self._open_last()
            except (OSError, ValueError) as error:  # CorruptFile is a ValueError
                if self.newer:  # for a reader: the writer has replaced these files meanwhile
                    continue
                if not isinstance(error, FileNotFoundError) or self.place.exists():
                    self.problems.append(f"made again from the log: {error}")
                state = self._empty()
            break
        for index in state.indexes:
            index.mend = partial(_mend, state, self.problems)
        start, known = self.covered, len(self.problems)
        self.replay(state, report)
        self.lost = self.log.damaged_since(start) + len(self.problems) - known
        return state

    def replay(self, state: State, report: Progress) -> None:
        """Apply the records of the log after the covered position. Texts are sketched again on all CPUs."""
        stage, end = "reading the log of the store", self.log.end
        for run in map_pieces(partial(self._sketch, state), self._runs(state), None):
            try:
                run.apply(state)
            except CorruptFile as error:
                self.problems.append(str(error))
                if not isinstance(run.records[0][1], Removal):  # a removal that cannot be applied counts as not made
                    self.refused.append(str(error))
            self.read_again = True
            report(stage, run.records[-1][0], end)
        self.covered = end

    @property
    def newer(self) -> bool:
        """Whether the writer has written a checkpoint since a reader opened the last one."""
        return self.read_only and self._identify_checkpoint() != self._opened_as

    def _identify_checkpoint(self) -> tuple[int, int] | None:
        """Return the identity of the checkpoint on disk: its inode and its time."""
        try:
            status = (self.place / NAME).stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    @property
    def behind(self) -> bool:
        """Whether the next opening would have to replay records."""
        return self.read_again or self.log.end > self.covered

    def _runs(self, state: State) -> Iterator[OpeningRun]:
        """Yield the records of the log in runs: consecutive documents that change no others, or one other record."""
        run, following = OpeningRun([]), -1  # the number that the next document of the run must have
        for position, payload in self.log.scan(self.covered):
            try:
                record = decode(payload)
            except CorruptFile as error:
                raise ValueError(f"{self.log.directory}: {error}. Its checksum is right, so another version of ndcore wrote "
                                 "it: open the store with that version. Nothing was changed") from error
            try:
                state.check(record, position)
                if isinstance(record, Dictionary):
                    state.evidence.codec.learn(record.content)
                    continue
            except CorruptFile as error:
                self.problems.append(str(error))
                continue
            number = record.number if isinstance(record, Document) and not record.changes else None
            if run.records and (number is None or number != following or len(run.records) >= RUN):
                yield run
                run = OpeningRun([])
            run.records.append((position, record))
            following = -1 if number is None else number + 1
        if run.records:
            yield run

    def _sketch(self, state: State, run: OpeningRun) -> OpeningRun:
        """Make the index values of the documents of a run, unless the indexes have them."""
        documents = [record for _, record in run.records if isinstance(record, Document) and not record.changes]
        if documents and state.evidence.kind == "text" and run.records[-1][0] >= state.indexes.features.covered:
            try:
                texts = [state.evidence.text(record.evidence) for record in documents]
            except CorruptFile:
                return run  # each is applied alone
            run = OpeningRun(run.records, self.preparer.sketch([decode_key(record.name) for record in documents], texts))
            assert run.sketched is not None
            for record, scope in zip(documents, run.sketched.scopes.tolist(), strict=True):
                record.scope = scope
        return run

    def drop(self) -> None:
        """Delete the last checkpoint, and write no other, so that the next opening reads the whole log."""
        (self.place / NAME).unlink(missing_ok=True)
        self.dropped = True

    def write(self, state: State) -> None:
        """Write the changed blocks and the checkpoint. Everything in the state must already be in the log."""
        if self.dropped:
            return
        assert not state.waiting
        state.cover(self.log.end)
        for index in state.indexes:
            index.flush()
        before, self.generation = list(self.names), self.generation + 1
        self.names = state.columns.write(self.place, self.names, self.generation)
        bits = state.columns.n // 8 + 1
        header: dict[str, Any] = {"end": self.log.end, "documents": state.n, "columns": self.names,
                                  "generation": self.generation}
        write(self.place / NAME, KIND, header, {
            "live": _cut(state.live, bits), "kept": _cut(state.kept, bits),
            "dictionary": np.frombuffer(state.evidence.codec.dictionary, np.uint8),
        }, revision=REVISION)
        self.covered, self.read_again = self.log.end, False
        for name in set(before) - set(self.names):
            (self.place / name).unlink(missing_ok=True)

    def _open_last(self) -> State:
        """Open the files that the last checkpoint names."""
        header, arrays = read(self.place / NAME, KIND, revision=REVISION)
        if peek(self.place / NAME).revision < REVISION:
            raise CorruptFile(f"{self.place / NAME}: of an earlier ndcore")
        try:
            n, end, names = int(header["documents"]), int(header["end"]), [str(name) for name in header["columns"]]
            self.generation = int(header["generation"])
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFile(f"{self.place / NAME}: not a checkpoint: {error}") from error
        if end > self.log.end and self.read_only:
            self.log.refresh()
        if end > self.log.end:
            raise CorruptFile(f"{self.place / NAME}: it covers more than the log has")
        if any("/" in name or not name.startswith("columns-") for name in names):
            raise CorruptFile(f"{self.place / NAME}: a name of columns that is not accepted")
        columns = DocumentColumns.open(self.place, names, n)
        indexes = Indexes(*(self._open_index(name, end) for name in INDEXES))
        live, representatives = (Bitmap(np.array(arrays[name], np.uint8)) for name in ("live", "kept"))
        if any(len(bitmap.bits) != n // 8 + 1 or (bitmap.numbers() >= n).any() for bitmap in (live, representatives)):
            raise CorruptFile(f"{self.place / NAME}: its bitmaps are not of {n} documents")
        self.covered, self.names = end, names
        state = State(self.settings, self.preparer, self.log, columns, live, representatives, indexes)
        if len(arrays["dictionary"]):
            state.evidence.codec.learn(arrays["dictionary"].tobytes())
        return state

    def _empty(self) -> State:
        """Make an empty state."""
        self.covered, self.names = 0, []
        if not self.read_only:
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(self.place)
            self.place.mkdir(parents=True)
        indexes = Indexes(*map(self._create_index, INDEXES))
        return State(self.settings, self.preparer, self.log, DocumentColumns(), Bitmap(), Bitmap(), indexes)

    def _open_index(self, name: str, end: int) -> GrowingIndex:
        """Open an index. Raises CorruptFile if it lacks documents that the checkpoint covers."""
        index = GrowingIndex.open(self.place, name=name, read_only=self.read_only)
        groups, _ = self._shape(name)
        if index.groups != groups or index.covered < end or (index.covered > self.log.end and not self.read_only):
            index.close()
            raise CorruptFile(f"{self.place}: the index of {name} does not belong to the checkpoint")
        return index

    def _create_index(self, name: str) -> GrowingIndex:
        """Make an empty index; for readers, in memory."""
        groups, need = self._shape(name)
        if self.read_only:
            return GrowingIndex.in_memory(groups, need)
        return GrowingIndex.create(self.place, groups, need=need, name=name)

    def _shape(self, name: str) -> tuple[int, int]:
        """Return the number of values of a document in an index, and the number that must agree in a search."""
        return (self.settings.groups, self.settings.need) if name == "features" else (1, 1)


def covered_by(place: Path) -> int:
    """Return the log position that the checkpoint in a directory covers; 0 without an intact one."""
    try:
        end = peek(place / NAME).header["end"]
    except (OSError, ValueError, KeyError):
        return 0
    return end if is_int(end) and end >= 0 else 0


def _cut(bitmap: Bitmap, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Cut a bitmap to its first `size` documents."""
    bits = np.zeros(size, np.uint8)
    bits[: min(size, len(bitmap.bits))] = bitmap.bits[:size]
    return bits


def _mend(state: State, problems: list[str], index: GrowingIndex, error: CorruptFile) -> Bits:
    """Rebuild an emptied index of a state from all live documents; return a bitmap of them.

    An index is derived from the log, and its blocks are verified when they are first read, perhaps long after opening. The
    call that finds a damaged block waits until the index is rebuilt, and is then answered.
    """
    problems.append(f"made again: {error}")
    at, state._at = state._at, -1
    try:
        for number in state.live.numbers().tolist():
            try:
                _add_again(state, index, number)
            except CorruptFile as damage:
                problems.append(str(damage))
    finally:
        state._at = at
    return state.live.bits


def _receipts_of(state: State, number: int) -> Iterator[tuple[int, Receipt]]:
    """Yield the receipts of all versions of a document's key, with the numbers of their documents."""
    record = state.last(number)
    while True:
        if record.receipt is not None:
            yield record.number, record.receipt
        if not record.previous:
            return
        record = state.before(record)


def _add_again(state: State, index: GrowingIndex, number: int) -> None:
    """Add the values of a document to an index."""
    record, role = state.document(number), state.role(number)
    if index is state.indexes.keys:
        state._put(index, number, [state.preparer.hashed(record.name)])
    elif index is state.indexes.digests:
        state.index_receipts(list(_receipts_of(state, number)), None)
        before, record.flags = record.flags, record.flags & ~(LEADER | VARIANT) | role
        state._index_role(record, state.scope(record))
        record.flags = before
    elif role & LEADER and record.flags & VALID:
        state._put_features(number, None)
