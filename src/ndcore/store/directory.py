"""The directory of a store: description, lock, log, derived files, and the state read from them."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ndcore.checks import is_int
from ndcore.progress import Progress, resolve
from ndcore.storage.container import CorruptFile
from ndcore.storage.disk_space import FULL, sync
from ndcore.storage.lock import Lock
from ndcore.store.carrying import Said, VerdictRow, match_pages, write_said
from ndcore.store.compaction import rewrite
from ndcore.store.damage import salvage, says_more
from ndcore.store.engine import Batch, gone_record
from ndcore.store.labels import Plan
from ndcore.store.log import Log
from ndcore.store.log_files import is_log, logs_in, numbers_in, tag_in
from ndcore.store.manifest import COPY, DESCRIPTION, Manifest, is_begun, is_store
from ndcore.store.opening import Checkpoints, covered_by
from ndcore.store.pages import Pages, Preparer
from ndcore.store.receipts import RequestAnswer
from ndcore.store.records import Dictionary, Removal, encode
from ndcore.store.settings import StoreSettings
from ndcore.store.state import State

REPAIR = ("open it with repair=True (ndcore store repair), which saves what can be read in a new log and keeps all logs as "
          "they are")
RESTORE = f"Nothing was deleted. Restore the whole store from one copy, or {REPAIR}"
_DERIVED = re.compile(r"derived-[0-9]+")
ADVICE = ("one process writes a store: wait until it has ended, open the store with read_only=True, or write "
          "through ndcore serve --write or a socket (Store.listen)")


class OwnLock:
    """The lock of an open store, taken by all methods that read or write; it refuses processes that may not use the store.

    A forked process is refused before it waits, because the lock may be held by a thread that it does not have. `bare` is
    the plain lock.
    """

    def __init__(self, directory: Directory) -> None:
        self.bare, self._directory = threading.RLock(), directory

    def __enter__(self) -> None:
        if self._directory.forked:
            self._directory.check_usable()
        self.bare.acquire()
        try:
            self._directory.check_usable()
        except BaseException:
            self.bare.release()
            raise

    def __exit__(self, *exception: object) -> None:
        self.bare.release()


class Directory:
    """An open directory. `state` has the live documents; the caller holds `lock` during all calls."""

    def __init__(
        self, path: Path, manifest: Manifest, settings: StoreSettings, preparer: Preparer, lock: Lock | None
    ) -> None:
        self.path, self.manifest, self.settings, self.preparer = path, manifest, settings, preparer
        self.read_only, self._lock, self.closed = lock is None, lock, False
        self.lock, self._process = OwnLock(self), os.getpid()
        self._failed = ""  # why calls are refused, and what to do
        self.repaired: dict[str, Any] | None = None  # see `Store.repaired`
        self.unwritten: str | None = None  # see `Store.checkpoint_problem`
        self.log: Log
        self.state: State
        self._checkpoints: Checkpoints

    @classmethod
    def open(
        cls, path: Path, given: Mapping[str, Any], *, read_only: bool, report: Progress, repair: bool = False
    ) -> Directory:
        """Open the directory of a store; create it if there is none and it may be written.

        repair: if opening would lose pages, save the readable ones and keep the original.
        """
        if not hasattr(os, "pread"):
            raise OSError(errno.ENOTSUP, "stores need pread and flock: on Windows use WSL, or a Collection", str(path))
        if repair and read_only:
            raise ValueError("repair=True writes to the store; open it without read_only=True")
        if not is_store(path):
            if read_only or repair:
                raise FileNotFoundError(2, "there is no store; open it without read_only=True and repair=True to create one",
                                        str(path))
            if path.exists() and not is_begun(path):
                raise FileExistsError(17, "exists and holds something else than a store", str(path))
            settings = StoreSettings.of(given)
            _make_directory(path)
        lock = None if read_only else Lock(path, ADVICE)
        try:
            if not is_store(path):
                manifest = Manifest.create(path, settings.as_dict(), {"log": "log-0", "derived": "derived-0"})
            else:
                try:
                    made = cls._of(path, Manifest.read(path), given, lock)
                    made._load(report)
                except CorruptFile as error:
                    if not repair:
                        raise
                    made = cls._of(path, newest_readable(path), given, lock)
                    made.repaired = {"reason": str(error), **made._repair(report)}
                if lock is not None:
                    made.manifest.mend(path)
                return made
            made = cls._of(path, manifest, given, lock)
            made._load(report)
        except BaseException:
            if lock is not None:
                lock.release()
            raise
        return made

    @classmethod
    def _of(cls, path: Path, manifest: Manifest, given: Mapping[str, Any], lock: Lock | None) -> Directory:
        """Make the directory for a description, without its log."""
        settings = StoreSettings.from_dict(manifest.settings)
        settings.check(given)
        return cls(path, manifest, settings, Preparer(settings, settings.sketcher(given.get("shingling"))), lock)

    def _load(self, report: Progress) -> None:
        """Open the log and the derived files that the description names.

        Raises CorruptFile if a log has records that the state would lack; that log is neither deleted nor rewritten.
        """
        place = self._place("log")
        if not self.read_only and not (place.is_dir() and any(place.iterdir())):
            others = [other.name for other in logs_in(self.path) if numbers_in(other)]
            if others:
                raise CorruptFile(f"{self.path}: the description names {place.name}, which is not there, and there is "
                                  f"{', '.join(others)}: they are from different times. {RESTORE}")
            if self._place("derived").exists() or self.manifest.serial:  # these are made after the log
                raise CorruptFile(f"{place}: the log of the store is gone, and its pages with it: restore it from a copy, "
                                  f"or remove {self.path} to begin anew")
            log = Log.create(place, self.manifest.tag)
        else:
            try:
                log = Log.open(place, tag=self.manifest.tag, read_only=self.read_only,
                               start=covered_by(self._place("derived")))
            except CorruptFile as error:
                raise CorruptFile(f"{error}, or {REPAIR}") from error
        if log.missing and not self.read_only:
            raise CorruptFile(f"{place}: {', '.join(log.missing[:5])} of the log are missing. {RESTORE}")
        checkpoints = Checkpoints(self._place("derived"), self.settings, self.preparer, log, read_only=self.read_only)
        state = checkpoints.load(report)
        self.log, self._checkpoints, self.state = log, checkpoints, state
        if not self.read_only:
            if checkpoints.refused:
                raise CorruptFile(f"{place}: {len(checkpoints.refused)} records are whole, and what they refer to is lost: "
                                  f"{checkpoints.refused[0]}. {RESTORE}")
            self._check_newer()
            if checkpoints.lost:
                self._write_anew(report, damaged=True, missing=checkpoints.lost)
                return
            self._sweep()

    def _place(self, name: str) -> Path:
        """Return a directory that the description names."""
        given = self.manifest.state.get(name)
        if not isinstance(given, str) or not given.startswith(name + "-") or "/" in given or os.sep in given:
            raise ValueError(f"{self.path}: the description names {given!r:.80} as its {name}; it is damaged")
        return self.path / given

    def _list_kept_logs(self) -> list[str]:
        """Return the names of the logs that a repair kept unchanged."""
        kept_names = self.manifest.state.get("kept", [])
        return [str(name) for name in kept_names] if isinstance(kept_names, list) else []

    def _check_newer(self) -> None:
        """Raise CorruptFile if another log has pages that the state lacks: the description is older than that log.

        An interrupted compaction leaves another log as well, but all its pages are in the state.
        """
        current = self._place("log").name
        for place in logs_in(self.path):
            later = _number(place.name) > _number(current) and place.name not in self._list_kept_logs()
            if later and is_log(place, self.manifest.tag):
                if not numbers_in(place):
                    continue
                log = Log.open(place, tag=self.manifest.tag, read_only=True)
                if says_more(log, self.state):
                    raise CorruptFile(f"{self.path}: the description names {current}, and {place.name} has pages that are "
                                      f"not in it: the description is older. {RESTORE}")

    def _sweep(self) -> None:
        """Delete the files that a compaction replaced or left unfinished, except logs that a repair kept."""
        spared = {self.manifest.state["log"], self.manifest.state["derived"], *self._list_kept_logs()}
        for place in logs_in(self.path):
            if place.name not in spared and is_log(place, self.manifest.tag):
                shutil.rmtree(place, ignore_errors=True)
        for place in self.path.iterdir():
            if _DERIVED.fullmatch(place.name) and place.name not in spared and not place.is_symlink():
                shutil.rmtree(place, ignore_errors=True)

    def decide(self, pages: Pages) -> list[RequestAnswer]:
        """Decide on pages in order; all or none are kept."""
        self._keep_dictionary()
        batch = Batch(self.state, pages)
        with self._whole(batch):
            verdicts = batch.decide()
        return [RequestAnswer(verdict, place, False, measured)
                for verdict, place, measured in zip(verdicts, batch.positions, batch.measured, strict=True)]

    def remove(self, numbers: list[int], *, expired: bool) -> None:
        """Remove documents."""
        with self.trusting():
            plan = Plan(self.state, numbers)
        record = Removal(plan.changes, expired)
        position = self.log.append([encode(record)])[0]
        with self._whole():
            self.state.apply(record, position, features=plan.features)

    def mark_gone(self, number: int, date: int) -> None:
        """Record that the page of a document is gone."""
        with self.trusting():
            record = gone_record(self.state, number, date)
        if record is not None:
            position = self.log.append([encode(record)])[0]
            with self._whole():
                self.state.apply(record, position)

    def carry(self, rows: Sequence[VerdictRow], counts: Counter[str]) -> int:
        """Write the verdicts of a run over many stores on pages, count all rows, and return the number written."""
        with self.trusting():
            said = match_pages(self.state, rows, counts)
        self.note_overall(said)
        return len(said)

    def note_overall(self, said: Said) -> None:
        """Write verdicts of runs over many stores on documents."""
        written = write_said(self.log, said)
        with self._whole():
            for record, position in written:
                self.state.apply(record, position)

    @contextlib.contextmanager
    def _whole(self, batch: Batch | None = None) -> Iterator[None]:
        """Reload the state from the log if the block fails half way through a change."""
        try:
            yield
        except BaseException:
            if batch is None or batch.changed:
                self.reload()
            raise

    def _keep_dictionary(self) -> None:
        """Write a trained dictionary to the log twice, because all later texts need it."""
        trained = self.state.evidence.codec.take_trained()
        if trained is not None:
            self.log.append([encode(Dictionary(0, trained))] * 2)
            self.state.evidence.codec.learn(trained)

    def reload(self) -> None:
        """Reload the state from the log. If that fails too, the directory refuses all later calls."""
        with self._failing("its state could not be made again after an error"):
            for index in self.state.indexes:
                index.close()
            self._checkpoints = Checkpoints(self._place("derived"), self.settings, self.preparer, self.log,
                                            read_only=self.read_only)
            self.state = self._checkpoints.load(resolve(None))

    @contextlib.contextmanager
    def _failing(self, what: str, remedy: str = "close the store and open it again") -> Iterator[None]:
        """Refuse all later calls after an error in the block: the state may differ from the log."""
        try:
            yield
        except BaseException as error:
            self._failed = f"{what} ({error}): {remedy}"
            raise

    @contextlib.contextmanager
    def trusting(self) -> Iterator[None]:
        """If a derived file turns out to be damaged, let the next opening rebuild all of them."""
        try:
            yield
        except CorruptFile as error:
            if self.read_only:
                raise
            self._checkpoints.drop()
            raise CorruptFile(f"{error}; close the store and open it again: then it is made again from its log") from error

    def checkpoint(self) -> None:
        """Sync the log and write the derived files; on a full disk these are tried again later.

        Derived files only save time: decisions and removals are in the log. Raises OSError if writing them fails for
        another reason. `unwritten` has the reason in both cases.
        """
        self.log.seal()
        try:
            self._checkpoints.write(self.state)
        except OSError as error:
            self.unwritten = str(error)
            if error.errno not in FULL:
                error.strerror = (f"{error.strerror}: no checkpoint could be written. All that was acknowledged is in the "
                                  "log, which the next opening reads again; mend the disk or the permissions")
                raise
        else:
            self.unwritten = None

    def refresh(self) -> None:
        """Read the records that the writer has added, if this is a reader."""
        if not self.read_only:
            return
        manifest, before = Manifest.read(self.path), self.manifest
        if self._failed or manifest.state != before.state:
            self.manifest = manifest
            try:
                self._load(resolve(None))
            except BaseException:
                self.manifest = before
                raise
            self._failed = ""
            return
        with self._failing("the last refresh ended half way", "refresh it again"):
            self.log.refresh()
            if not self._checkpoints.newer:
                self._checkpoints.replay(self.state, resolve(None))
                return
        self.reload()  # the checkpoint has these records on disk, which this process would hold in memory

    @property
    def failure(self) -> str | None:
        """The reason why nothing can be decided until the store is reopened; None if it can. Takes no lock."""
        return self._failed or self.log.broken

    @property
    def forked(self) -> bool:
        """Whether this process is a fork of the one that opened the directory for writing."""
        return not self.read_only and self._process != os.getpid()

    def check_usable(self) -> None:
        """Raise ValueError if the store is closed or this is a fork of its writer, OSError if its state is lost."""
        if self.forked:
            raise ValueError(f"the store {os.fspath(self.path)!r} was opened for writing by process {self._process}, and a "
                             "fork of it may not use it; open it in this process with read_only=True, or write through its "
                             "socket")
        self.check_open()
        if self._failed:
            raise OSError(errno.EIO, self._failed, os.fspath(self.path))

    def check_open(self) -> None:
        """Raise ValueError if the store is closed."""
        if self.closed:
            raise ValueError(f"the store {os.fspath(self.path)!r} is closed; open it again")

    def check_writable(self) -> None:
        """Raise ValueError unless the store is open for writing."""
        self.check_usable()
        if self.read_only:
            raise ValueError(f"the store {os.fspath(self.path)!r} was opened with read_only=True; open it without to write")

    def sizes(self) -> dict[str, Any]:
        """Return the bytes on disk, and the number of pages lost because their records were damaged."""
        sizes = {}
        for name in ("log", "derived"):
            total = 0
            for root, _, files in os.walk(self._place(name)):
                for file in files:
                    with contextlib.suppress(OSError):
                        total += Path(root, file).stat().st_size
            sizes[f"{name}_bytes"] = total
        return {**sizes, "lost": self.manifest.state.get("lost", 0)}

    def compact(self, report: Progress) -> None:
        """Rewrite the store with its live documents only, without damaged records."""
        self.check_writable()
        try:
            self._write_anew(report, damaged=False)
        except CorruptFile:
            if self._failed:
                raise
            self._write_anew(report, damaged=True)

    def _repair(self, report: Progress) -> dict[str, Any]:
        """Save the readable records of the described log in a new log. The old log stays unchanged.

        Returns what was lost and what was kept; see `Store.repaired`.
        """
        place, kept = self._place("log"), sorted((log.name for log in logs_in(self.path)), key=_number)
        self.log = Log.open(place, tag=self.manifest.tag, read_only=True)
        checkpoints = Checkpoints(self.path / "none", self.settings, self.preparer, self.log, read_only=True)
        self.state = checkpoints.load(report)
        missing = len(self.log.missing) + checkpoints.lost
        copies = self.path / f"before-repair-{1 + max(map(_number, kept))}"
        copies.mkdir(exist_ok=True)
        for name in (DESCRIPTION, COPY):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy2(self.path / name, copies / name)
        problems = [*self.log.damage, *checkpoints.problems]
        problems += self._write_anew(report, damaged=True, missing=missing, kept=kept)
        return {"problems": problems, "kept": kept, "copies": copies.name}

    def _write_anew(self, report: Progress, *, damaged: bool, missing: int = 0, kept: Sequence[str] = ()) -> list[str]:
        """Write the live pages to a new log, and open it. Returns a line for each page that could not be read.

        damaged: decide again on the pages that can be read; missing: records that are known to be lost; kept: logs that
        must not be deleted. Without `kept`, CorruptFile is raised if a page with an intact record is lost.
        """
        number = 1 + max(_number(place.name) for place in self.path.iterdir())
        names = {"log": f"log-{number}", "derived": f"derived-{number}"}
        lost: list[str] = []
        try:
            log = Log.create(self.path / names["log"], self.manifest.tag)
            if damaged:
                made = Checkpoints(self.path / names["derived"], self.settings, self.preparer, log, read_only=False)
                state = made.load(report)
                try:
                    saved = salvage(self.state, state, report)
                    made.write(state)
                finally:
                    for index in state.indexes:
                        index.close()
                lost = saved.problems
                if saved.whole and (not kept or not state.count):
                    raise CorruptFile(f"{self.path}: the records of {saved.whole} pages are whole, and their texts cannot "
                                      f"be read: {saved.problems[0]}. {RESTORE}")
            else:
                rewrite(self.state, log, report)
            log.close()
        except BaseException:
            for name in names.values():
                shutil.rmtree(self.path / name, ignore_errors=True)
            raise
        before = self.manifest.state.get("lost", 0)
        missing += len(lost) + (before if is_int(before) else 0)
        with self._failing("its log was written anew, and could not be opened"):
            self.manifest = self.manifest.with_state(self.path, **names, lost=missing, kept=[*self._list_kept_logs(), *kept])
            self._release()
            self._load(report)
        self.checkpoint()
        return lost

    def close(self) -> None:
        """Write a checkpoint if the next opening would have to replay records, and close the files."""
        if self.closed or self.forked:
            return
        try:
            if not (self.read_only or self.log.closed):  # closed if a new log could not be opened
                self.log.seal()
                if self._checkpoints.behind and not self._failed:
                    self.checkpoint()
        finally:
            self.closed = True
            self._release()
            if self._lock is not None:
                self._lock.release()

    def _release(self) -> None:
        """Close the log and the indexes."""
        for index in self.state.indexes:
            index.close()
        self.log.close()


def newest_readable(path: Path) -> Manifest:
    """Return a description for the repair of a store: its newest log, with the settings of that log. Writes nothing.

    Raises CorruptFile if no log has a readable tag, or if the settings to read it are lost.
    """
    described = Manifest.all_in(path)
    if not described:
        raise CorruptFile(f"{path}: both descriptions are damaged, and nothing else tells the settings; copy {DESCRIPTION} "
                          "from a backup of this store, of any age")
    for place in sorted(logs_in(path), key=lambda log: _number(log.name), reverse=True):
        tag = tag_in(place)
        if tag is None:
            continue
        own = [each for each in described if each.tag == tag]
        manifest = max(own or described, key=lambda each: each.serial)
        if not own and StoreSettings.from_dict(manifest.settings).evidence != "text":
            raise CorruptFile(f"{path}: the description is of another store than {place.name}, which keeps no texts, so its "
                              f"settings are not known; copy {DESCRIPTION} from a backup of this store, of any age")
        return replace(manifest, tag=tag, state={**manifest.state, "log": place.name})
    raise CorruptFile(f"{path}: there is no log whose first bytes are sound; restore it from a copy")


def _number(name: str) -> int:
    """Parse the number from the name of a log or of derived files; −1 for other names."""
    kind, _, digits = name.rpartition("-")
    return int(digits) if kind in ("log", "derived") and digits.isascii() and digits.isdigit() else -1


def _make_directory(path: Path) -> None:
    """Make a directory and its missing parents, and sync their entries."""
    missing = [place for place in (path, *path.absolute().parents) if not place.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for place in {path, *missing}:
        sync(place.absolute().parent)
