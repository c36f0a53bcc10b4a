"""Open the state of a store: from its last checkpoint and the tail of the log, or from the whole log."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from ndcore.progress import Progress
from ndcore.storage.container import CorruptFile
from ndcore.store.columns import Bitmap, Columns
from ndcore.store.log import Log
from ndcore.store.pages import Preparer
from ndcore.store.records import Dictionary, decode
from ndcore.store.settings import Settings
from ndcore.store.state import Indexes, State
from ndcore.store.tail import TailedIndex

__all__ = ["Checkpoints"]

KIND = "store checkpoint"
NAME = "checkpoint.ndc"
INDEXES = ("features", "digests", "keys")


class Checkpoints:
    """The derived files of a store, in one directory, and what they cover of the log.

    A checkpoint names the blocks of the columns and the position of the log up to which they, and the indexes, know
    everything. The tail behind it is read again on opening.
    """

    def __init__(self, place: Path, settings: Settings, preparer: Preparer, log: Log, *, read_only: bool) -> None:
        self.place, self.settings, self.preparer, self.log = place, settings, preparer, log
        self.read_only = read_only
        self.generation, self.names = 0, list[str]()
        self.covered = 0  # position of the log
        self.problems: list[str] = []

    def load(self, report: Progress) -> State:
        """Make the state. Damaged or missing files are made again from the log."""
        state = self._empty()
        self.replay(state, report)
        return state

    def replay(self, state: State, report: Progress) -> None:
        """Apply what the log has since the position that is covered."""
        stage, end = "reading the log of the store", self.log.end
        for position, payload in self.log.scan(self.covered):
            try:
                record = decode(payload)
                if isinstance(record, Dictionary):
                    state.evidence.learn(record.number, record.content)
                else:
                    state.apply(record, position)
            except CorruptFile as error:
                self.problems.append(str(error))
            report(stage, position, end)
        self.covered = end

    def write(self, state: State) -> None:
        """Note what is in the log. Nothing else is kept on disk yet."""
        self.covered = self.log.end

    def _empty(self) -> State:
        """Begin with nothing."""
        self.covered, self.names = 0, []
        if not self.read_only:
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(self.place)
            self.place.mkdir(parents=True)
        indexes = Indexes(TailedIndex(), TailedIndex(), TailedIndex())
        return State(self.settings, self.preparer, self.log, Columns(), Bitmap(), Bitmap(), indexes)
