"""Check a store: its log, and that the state is what the log says."""

from __future__ import annotations

import numpy as np

from ndcore.progress import Progress
from ndcore.storage.container import CorruptFile
from ndcore.store.columns import FIELDS, Bitmap, DocumentColumns
from ndcore.store.records import Dictionary, Document, decode
from ndcore.store.state import State

__all__ = ["problems_of"]


def problems_of(state: State, report: Progress) -> list[str]:
    """Read the whole log, fold it again, and return what is wrong."""
    again = State(state.settings, state.preparer, state.log, DocumentColumns(), Bitmap(), Bitmap(), None)
    found: list[str] = []
    for position, payload in state.log.scan():
        try:
            record = decode(payload)
            state.check(record, position)
            if isinstance(record, Document) and record.evidence and state.settings.evidence == "text":
                state.evidence.text(record.evidence)
            if not isinstance(record, Dictionary):
                again.apply(record, position)
        except CorruptFile as error:
            found.append(f"the record at position {position}: {error}")
        report("checking the store", position, state.log.end)
    found += [problem for problem in state.log.damage if problem not in found]
    if again.n != state.n or again.count != state.count:
        found.append(f"the log has {again.count} live documents of {again.n}, and the columns {state.count} of {state.n}")
        return found
    live = state.live.numbers()
    for name in FIELDS:
        if not np.array_equal(state.columns.column(name)[live], again.columns.column(name)[live]):
            found.append(f"the column {name!r} is not what the log says")
    for name, here, there in (("live", state.live, again.live), ("kept", state.kept, again.kept)):
        if not np.array_equal(here.numbers(), there.numbers()):
            found.append(f"the documents that are {name} differ from the log")
    return found
