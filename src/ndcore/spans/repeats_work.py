"""The finished steps of a search for repeated passages, in a directory, so that an interrupted search can be resumed.

| file | content | until |
|---|---|---|
| ``repeats.json`` | parameters of the search, and the source that its caller describes | the end |
| ``secrets`` | the polynomial and the random numbers of the search | the end |
| ``anchors/…`` | of the documents read so far: numbers of tokens, checksums, and anchors of the windows | ``ranges`` |
| ``ranges`` | of all documents: numbers of tokens, checksums, and a `RecurringAnchors` | the end |
| ``layout`` | digests of the order of the documents and of their labels | the end |
| ``windows/…`` | fingerprints of the windows in these ranges, in parts | ``runs`` |
| ``runs`` | runs of windows that occur at several places | the end |
| ``confirmed`` | empty; it exists once tokens have confirmed the runs | the end |
| ``rows`` | rows and ranges that cutting removes, and whether places in the same document are sources | the end |

Checksums detect damage but not forgery: anyone can write a file with a correct checksum. So names, types, lengths and
bounds are checked here.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ndcore._rabin import random_irreducible
from ndcore._types import AnyArray, AnyPath, Arrays, Ints, UInts
from ndcore._version import __version__
from ndcore.spans.reading import UInt32s
from ndcore.spans.repeats_layout import (
    MAX_PLACES,
    Layout,
    RepeatedRanges,
    find_ranges_fault,
    find_rows_fault,
    find_runs_fault,
)
from ndcore.spans.window_entries import GROUPS, Grouped, KeptEntries, Put, SpooledEntries, WindowEntries
from ndcore.storage.container import CorruptFile
from ndcore.storage.file_shelf import FileShelf, Form, find_misfit, part_name
from ndcore.storage.job_description import REPEATS

SECRETS, ANCHORS, RANGES, LAYOUT = "secrets", "anchors", "ranges", "layout"
WINDOWS, RUNS, CONFIRMED, ROWS = "windows", "runs", "confirmed", "rows"

ENTRIES: Form = {"entries": (np.uint64, "e 2"), "starts": (np.int64, str(GROUPS + 1))}
DOCUMENTS: Form = {"sizes": (np.int64, "n"), "sums": (np.uint32, "n")}
FORMS: Mapping[str, Form] = {
    SECRETS: {}, ANCHORS: {**DOCUMENTS, **ENTRIES},
    RANGES: {**DOCUMENTS, "ranges": (np.uint64, "r"), "keys": (np.uint64, "k")}, LAYOUT: {}, WINDOWS: ENTRIES,
    RUNS: {"runs": (np.uint64, "r 3")}, CONFIRMED: {},
    ROWS: {"rows": (np.uint64, "r 5"), "everywhere": (np.int64, "3 e")},
}


@dataclass(frozen=True)
class Secrets:
    """The random choices of a search: a seed for the values of tokens, a key for anchors, and an irreducible polynomial."""

    symbols: int
    key: int
    polynomial: int

    @staticmethod
    def drawn() -> Secrets:
        """Draw new secrets."""
        return Secrets(secrets.randbits(64), secrets.randbits(64), random_irreducible(64, secrets.randbits(64)))


class RecurringAnchors(NamedTuple):
    """The anchors that occur more than once.

    Attributes
    ----------
    ranges : ndarray of uint64, shape (n,)
        The windows of each anchor, ascending: see `nd_repeats_anchors`.
    keys : ndarray of uint64, shape (n,) or (0,)
        The anchors, if a window is one token: they are the fingerprints of these windows. Else there are none.
    """

    ranges: UInts
    keys: UInts


class ReadDocuments:
    """The documents read so far: their numbers of tokens, and checksums of their contents if there is a work directory.

    Attributes
    ----------
    known : int
        Number of documents that an earlier call has read.
    places : int
        Number of places of all documents: their tokens, and one more for each document.
    """

    def __init__(self, known: list[dict[str, AnyArray]], whole: bool = False, path: Path | None = None) -> None:
        """Start from the documents that an earlier call has read; `whole`: they are all documents."""
        self._path = path
        self._sizes: list[Ints] = [part["sizes"] for part in known]
        self._sums: list[UInt32s] = [part["sums"] for part in known]
        self._before = np.concatenate([np.empty(0, np.uint32), *self._sums])
        self._whole, self._saved = whole, len(known)
        self.known, self._seen = len(self._before), 0
        self.places = sum(int(sizes.sum()) + len(sizes) for sizes in self._sizes)

    def compare(self, positions: Ints, sums: UInt32s) -> None:
        """Compare known documents with their checksums. Raises ValueError if a document has changed."""
        self._seen += len(positions)
        other = np.flatnonzero(self._before[positions] != sums)
        if len(other):
            raise ValueError(f"document {positions[other[0]]} is not the one that was read before the interruption; "
                             f"go on with the same documents, or remove {self._path}")

    def append(self, sizes: Ints, sums: UInt32s) -> None:
        """Add new documents."""
        if self._whole:
            raise self._others(f"more than {self.known}")
        self._sizes.append(sizes)
        self._sums.append(sums)
        self.places += int(sizes.sum()) + len(sizes)

    def end(self) -> None:
        """End the reading. Raises ValueError if known documents were missing."""
        if self._seen < self.known:
            raise self._others(str(self._seen))

    def _others(self, count: str) -> ValueError:
        """Make the error for another number of documents."""
        return ValueError(f"{self.known} documents were read before the interruption, and {count} are given; go on with the "
                          f"same documents, or remove {self._path}")

    def unsaved(self) -> Arrays:
        """Return the documents that are in no file yet."""
        sizes, sums = self._sizes[self._saved :], self._sums[self._saved :]
        return {"sizes": np.concatenate([np.empty(0, np.int64), *sizes]), "sums": np.concatenate([self._before[:0], *sums])}

    def saved(self) -> None:
        """Note that the documents of `unsaved` are now in a file."""
        self._saved = len(self._sizes)

    @property
    def sizes(self) -> Ints:
        """The number of tokens of each document."""
        return np.concatenate([np.empty(0, np.int64), *self._sizes])

    @property
    def sums(self) -> UInt32s:
        """The checksum of each document."""
        return np.concatenate([self._before[:0], *self._sums])


class RepeatsWork:
    """The finished steps of a search. This class stores nothing, so every step is still to be done."""

    keeps = False

    def secrets(self) -> Secrets:
        """Return the secrets of the search; draw them on the first call."""
        return Secrets.drawn()

    def anchors(self, limit: int | None) -> tuple[WindowEntries, ReadDocuments]:
        """Return the anchors collected so far, and the documents that they come from."""
        return SpooledEntries(64, limit), ReadDocuments([])

    def recurring(self, read: ReadDocuments) -> RecurringAnchors | None:
        """Return the anchors that occur more than once; None until all documents were read."""
        return None

    def put_recurring(self, read: ReadDocuments, anchors: RecurringAnchors) -> None:
        """Store the anchors that occur more than once."""

    def fix(self, layout: Layout) -> None:
        """Store the order and labels of the documents. Raises ValueError if the search was begun with others."""

    def windows(self, layout: Layout, limit: int | None) -> tuple[WindowEntries, int]:
        """Return the entries of windows collected so far, and the first document whose entries are missing."""
        return SpooledEntries(64, limit), 0

    def runs(self, layout: Layout) -> UInts | None:
        """Return the runs of windows that occur at several places; None until they are found."""
        return None

    def put_runs(self, layout: Layout, runs: UInts) -> None:
        """Store the runs."""

    def confirmed(self) -> bool:
        """Tell whether tokens have confirmed the runs."""
        return False

    def put_confirmed(self) -> None:
        """Store that tokens have confirmed the runs."""

    def rows(self, layout: Layout, within: bool, begin: int) -> RepeatedRanges | None:
        """Return the rows of documents from the place `begin` on; None until they are made.

        within: whether a place in the same document is a source.
        """
        return None

    def put_rows(self, rows: RepeatedRanges, within: bool) -> None:
        """Store the rows."""

    def clear(self) -> None:
        """Remove everything, so that the search starts again."""


class KeptWork(RepeatsWork):
    """The finished steps of a search, in the files of a directory.

    Parameters
    ----------
    path : Path
        A directory with the description of this search.
    tokens : int
        Tokens of a window.
    """

    keeps = True

    def __init__(self, path: Path, tokens: int) -> None:
        self._shelf, self._tokens = FileShelf(path, "repeats"), tokens
        self._shelf.mend()
        if not self._shelf.has(SECRETS):
            self._shelf.clear()
        if not self._shelf.has(LAYOUT):
            self._drop(WINDOWS, RUNS)
        self._drop(*[later for earlier, later in ((RANGES, ANCHORS), (RUNS, WINDOWS)) if self._shelf.has(earlier)])
        self._drop(*[] if self._shelf.has(RUNS) else [CONFIRMED])
        self._drop(*[] if self._shelf.has(CONFIRMED) else [ROWS])
        self._secrets: Secrets | None = None

    def secrets(self) -> Secrets:
        if self._secrets is None:
            self._secrets = self._read_secrets() if self._shelf.has(SECRETS) else Secrets.drawn()
        return self._secrets

    def _read_secrets(self) -> Secrets:
        """Read the stored secrets. Raises CorruptFile."""
        header, _ = self._get(SECRETS)
        if header.keys() != {"symbols", "key", "polynomial"} or not all(type(value) is int for value in header.values()):
            raise self._corrupt(SECRETS, "it does not hold three numbers")
        stored = Secrets(**header)
        if not (0 <= stored.symbols < 1 << 64 and 0 <= stored.key < 1 << 64 and 1 << 64 < stored.polynomial < 1 << 65):
            raise self._corrupt(SECRETS, "a number is out of range")
        return stored

    def anchors(self, limit: int | None) -> tuple[WindowEntries, ReadDocuments]:
        if self._shelf.has(RANGES):
            return KeptEntries(64, [], self._put_entries(ANCHORS)), self._read([RANGES], whole=True)
        names = self._shelf.consecutive(ANCHORS)
        read = self._read(names)
        if read.places >= MAX_PLACES:
            raise self._corrupt(names[-1], f"there are more than {MAX_PLACES} tokens")
        return KeptEntries(64, [self._entries(name) for name in names], self._put_entries(ANCHORS)), read

    def _read(self, names: Iterable[str], *, whole: bool = False) -> ReadDocuments:
        """Read the documents of files; `whole`: they are all documents."""
        return ReadDocuments([self._documents(name) for name in names], whole, self._shelf.path)

    def _documents(self, name: str) -> dict[str, AnyArray]:
        """Read and check the documents of a file."""
        _, arrays = self._get(name)
        sizes = arrays["sizes"]
        if len(sizes) and not (sizes.min() >= 0 and sizes.max() < MAX_PLACES):
            raise self._corrupt(name, "a document has an impossible number of tokens")
        return arrays

    def _entries(self, name: str) -> Grouped:
        """Check a file of entries; return a function that maps them, and the starts of their groups."""

        def entries() -> UInts:
            return self._get(name)[1]["entries"]

        n, starts = len(entries()), self._get(name)[1]["starts"].copy()
        if starts[0] != 0 or starts[-1] != n or (np.diff(starts) < 0).any():
            raise self._corrupt(name, f"its groups do not follow each other in {n} entries")
        return entries, starts

    def _put_entries(self, folder: str) -> Put:
        """Make a function that writes the next file of entries to a folder."""

        def put(header: Mapping[str, Any], arrays: Arrays) -> Grouped:
            name = part_name(folder, len(self._shelf.names(folder)))
            self._put(name, header, arrays)
            return self._entries(name)

        return put

    def recurring(self, read: ReadDocuments) -> RecurringAnchors | None:
        if not self._shelf.has(RANGES):
            return None
        arrays = self._get(RANGES)[1]
        stored = RecurringAnchors(arrays["ranges"], arrays["keys"])
        self._refuse(RANGES, find_ranges_fault(read.sizes, stored.ranges, self._tokens))
        if len(stored.keys) != (len(stored.ranges) if self._tokens == 1 else 0):
            raise self._corrupt(RANGES, f"it has {len(stored.keys)} anchors for {len(stored.ranges)} ranges")
        return stored

    def put_recurring(self, read: ReadDocuments, anchors: RecurringAnchors) -> None:
        if self._shelf.names(ANCHORS):  # others come from this search alone
            self._refuse(ANCHORS, find_ranges_fault(read.sizes, anchors.ranges, self._tokens))
        self._put(RANGES, {}, {"sizes": read.sizes, "sums": read.sums, **anchors._asdict()})
        self._drop(ANCHORS)

    def fix(self, layout: Layout) -> None:
        now = {name: hashlib.blake2b(np.ascontiguousarray(values).view(np.uint8).data, digest_size=16).hexdigest()
               for name, values in (("keep", layout.order), ("by", layout.labels))}
        there = self._get(LAYOUT)[0] if self._shelf.has(LAYOUT) else now
        for name, what in (("keep", "another order"), ("by", "other labels")):
            if there.get(name) != now[name]:
                raise ValueError(f"{self._shelf.path} holds an unfinished search in which the documents had {what}; go on "
                                 f"with the same {name}=…, or remove the directory")
        if not self._shelf.has(LAYOUT):
            self._put(LAYOUT, now, {})

    def windows(self, layout: Layout, limit: int | None) -> tuple[WindowEntries, int]:
        n, done, entries = len(layout.sizes), 0, []
        for name in self._shelf.consecutive(WINDOWS):
            entries.append(self._entries(name))
            ends = self._get(name)[0].get("documents")
            if type(ends) is not int or not done < ends <= n:
                raise self._corrupt(name, f"it ends before document {ends!r:.40} of {n}, after {done}")
            done, places = ends, entries[-1][0]()[:, 1]
            if len(places) and places.max() >= layout.bases[-1]:
                raise self._corrupt(name, f"place {places.max()} is not among {layout.bases[-1]}")
        return KeptEntries(64, entries, self._put_entries(WINDOWS)), done

    def runs(self, layout: Layout) -> UInts | None:
        if not self._shelf.has(RUNS):
            return None
        runs: UInts = self._get(RUNS)[1]["runs"]
        self._refuse(RUNS, find_runs_fault(layout, runs, self._tokens))
        return runs

    def put_runs(self, layout: Layout, runs: UInts) -> None:
        if self._shelf.names(WINDOWS):
            self._refuse(WINDOWS, find_runs_fault(layout, runs, self._tokens))
        self._put(RUNS, {}, {"runs": runs})
        self._drop(WINDOWS)

    def confirmed(self) -> bool:
        return self._shelf.has(CONFIRMED)

    def put_confirmed(self) -> None:
        self._put(CONFIRMED, {}, {})

    def rows(self, layout: Layout, within: bool, begin: int) -> RepeatedRanges | None:
        if not self._shelf.has(ROWS):
            return None
        header, arrays = self._get(ROWS)
        ranks, firsts, lasts = arrays["everywhere"]
        stored = RepeatedRanges(arrays["rows"], (ranks, firsts, lasts))
        self._refuse(ROWS, find_rows_fault(layout, stored, begin))
        return stored if header.get("within") is within else None

    def put_rows(self, rows: RepeatedRanges, within: bool) -> None:
        self._put(ROWS, {"within": within}, {"rows": rows.rows, "everywhere": np.stack(rows.everywhere)})

    def clear(self) -> None:
        self._shelf.clear()
        self._secrets = None

    def _put(self, name: str, header: Mapping[str, Any], arrays: Arrays) -> None:
        """Write a file, after the secrets that it depends on."""
        if not self._shelf.has(SECRETS):
            self._shelf.put(SECRETS, asdict(self.secrets()), {})
        self._shelf.put(name, header, arrays)

    def _get(self, name: str) -> tuple[dict[str, Any], dict[str, AnyArray]]:
        """Read the header and the arrays of a file, and check the names, types and dimensions."""
        header, arrays = self._shelf.get(name)
        self._refuse(name, find_misfit(FORMS[name.partition("/")[0]], arrays, {}, "the other arrays"))
        return header, arrays

    def _drop(self, *names: str) -> None:
        """Remove the files of these names, and the files in folders of these names."""
        for name in names:
            for each in (name, *self._shelf.names(name)):
                self._shelf.drop(each)

    def _refuse(self, name: str, fault: str | None) -> None:
        """Raise CorruptFile if a fault is given."""
        if fault is not None:
            raise self._corrupt(name, fault)

    def _corrupt(self, name: str, fault: str) -> CorruptFile:
        """Make the error for a file with a fault."""
        return CorruptFile(f"{self._shelf.where(name)}: {fault}; remove {self._shelf.path} and begin anew")


class WorkPlace(NamedTuple):
    """A work directory that the caller removes after using the result.

    Attributes
    ----------
    path : str or path
    source : dict
        Values of JSON; a search with another source cannot be resumed there.
    """

    path: AnyPath
    source: Any


@contextlib.contextmanager
def working(work: AnyPath | WorkPlace | None, parameters: dict[str, Any]) -> Iterator[RepeatsWork]:
    """Open the work directory of a search with these parameters for a ``with`` block.

    It is removed at the end of the block, unless an exception ends the block and finished steps are there. A `WorkPlace` is
    never removed.

    Raises
    ------
    FileExistsError
        The directory holds something else.
    ValueError
        It holds an unfinished search with other parameters or another source.
    BlockingIOError
        Another process searches there.
    """
    if work is None:
        yield RepeatsWork()
        return
    place = work if isinstance(work, WorkPlace) else WorkPlace(work, None)
    path = Path(place.path)
    with REPEATS.alone(path):
        REPEATS.begin(path, {"ndcore": __version__, **parameters}, place.source)
        try:
            yield KeptWork(path, parameters["min_tokens"])
        except BaseException:
            if not REPEATS.is_begun(path):
                REPEATS.remove(path)
            raise
        if place is not work:
            REPEATS.remove(path)
